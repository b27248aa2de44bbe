"""What a URDF import keeps, says and computes: names, the root's mass, shapes, inertias at a density, xacro."""

from __future__ import annotations

import math
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from servotwin.cli.main import main
from servotwin.description.inertia import link_inertia
from servotwin.description.load import read_description
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError
from servotwin.mechanism.build import build_mechanism
from servotwin.robot.load import load_robot

# As vendors write them: a root base_link, a massless frame base fixed to it, shapes, friction, a transmission.
VENDOR = """<robot name="vendor_arm">
  <link name="base_link">
    <inertial><origin xyz="0 0 0.1"/><mass value="12"/>
      <inertia ixx="0.2" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.1"/></inertial>
    <visual><origin xyz="0 0 0.05"/>
      <geometry><mesh filename="package://arm/meshes/base.stl" scale="0.001 0.001 0.001"/></geometry>
      <material name="orange"/></visual>
    <collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision>
  </link>
  <link name="base"/>
  <link name="link_1">
    <inertial><mass value="5"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
    <visual><origin xyz="0 0 0.2" rpy="0 0.5 0"/><geometry><cylinder radius="0.06" length="0.4"/></geometry></visual>
  </link>
  <link name="tool0"/>
  <joint name="base_link-base" type="fixed"><origin xyz="0 0 -0.3"/>
    <parent link="base_link"/><child link="base"/></joint>
  <joint name="joint_1" type="revolute"><origin xyz="0 0 0.3"/><parent link="base_link"/><child link="link_1"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" velocity="3" effort="0"/>
    <dynamics damping="0.7" friction="0"/></joint>
  <joint name="joint_1-tool0" type="fixed"><origin xyz="0.5 0 0"/><parent link="link_1"/><child link="tool0"/></joint>
  <transmission name="t1"/>
  <gazebo/><gazebo reference="link_1"/>
</robot>
"""


def written(tmp_path: Path, text: str, name: str = "arm.urdf") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def described(tmp_path: Path, text: str, **how: float) -> RobotDescription:
    return read_description(written(tmp_path, text), **how)


def shaped(geometry: str, origin: str = "", tag: str = "collision") -> str:
    """A robot with one moving link that has a shape and no inertia."""
    shape = f"<{tag}>{origin}<geometry>{geometry}</geometry></{tag}>"
    joint = '<joint name="j" type="revolute"><parent link="a"/><child link="b"/></joint>'
    return f'<robot name="r"><link name="a"/><link name="b">{shape}</link>{joint}</robot>'


# --- names ------------------------------------------------------------------------------------------


def test_root_and_a_frame_called_base_keep_their_names(tmp_path: Path) -> None:
    robot = load_robot(written(tmp_path, VENDOR))
    frames = robot.fkine_all(np.zeros(1))
    assert list(frames) == ["base_link", "base", "link_1", "tool0", "tool"]
    np.testing.assert_array_equal(frames["base_link"], np.eye(4))
    np.testing.assert_allclose(
        frames["base"][:3, 3], (0.0, 0.0, -0.3), atol=1e-15
    )  # the vendor's, not the root
    assert robot.joint_names == ("joint_1",)


def test_names_survive_the_way_through_yaml_and_urdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = described(tmp_path, VENDOR)
    assert main(["convert", "arm.urdf", "arm.yaml"]) == 0
    assert read_description("arm.yaml") == first
    assert main(["convert", "arm.yaml", "again.urdf"]) == 0
    again = read_description("again.urdf")
    assert again.base_name == "base_link"
    assert again.base is not None
    assert first.base is not None
    assert again.base.shapes == first.base.shapes
    assert set(again.link_names.values()) == set(first.link_names.values())
    # "tool" is a frame of its own in the file that was written; the links carry what they did
    shapes = {again.link_names[name]: axis.link.shapes for name, axis in again.axes.items()}
    assert shapes["link_1"] == first.axes["joint_1"].link.shapes
    mine, theirs = build_mechanism(first), build_mechanism(again)
    np.testing.assert_allclose(theirs.phi_base, mine.phi_base, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(theirs.phi, mine.phi, rtol=1e-14, atol=1e-16)


def test_name_that_cannot_stay_is_said(tmp_path: Path) -> None:
    text = VENDOR.replace('"joint_1"', '"joint.1"').replace('"link_1"', '"link 1"')
    notes = described(tmp_path, text).notes
    assert any("joint 'joint.1' is called 'joint-1' here" in note for note in notes)
    assert any("link 'link 1' is called 'link-1' here" in note for note in notes)


# --- what is kept, what is said --------------------------------------------------------------------


def test_mass_of_the_root_and_of_what_is_fixed_to_it_is_kept(tmp_path: Path) -> None:
    description = described(tmp_path, VENDOR)
    assert description.base is not None
    assert (description.base.mass, description.base.center) == (12.0, (0.0, 0.0, 0.1))
    mechanism = build_mechanism(description)
    # about the origin of the base frame: I + m |c|^2 across the axis of c
    expected = [12.0, 0.0, 0.0, 1.2, 0.2 + 12.0 * 0.01, 0.0, 0.2 + 12.0 * 0.01, 0.0, 0.0, 0.1]
    np.testing.assert_allclose(mechanism.phi_base, expected, rtol=1e-14, atol=1e-16)
    assert mechanism.phi[:, 0].sum() == 5.0  # the base does not move


def test_shapes_are_kept_as_the_file_refers_to_them(tmp_path: Path) -> None:
    description = described(tmp_path, VENDOR)
    assert description.base is not None
    [base] = description.base.shapes
    assert base.mesh == "package://arm/meshes/base.stl"
    assert (base.scale, base.xyz) == ((0.001, 0.001, 0.001), (0.0, 0.0, 0.05))
    [link] = description.axes["joint_1"].link.shapes
    assert link.cylinder is not None
    assert (link.cylinder.radius, link.cylinder.length, link.rpy) == (0.06, 0.4, (0.0, 0.5, 0.0))


def test_what_is_left_out_is_one_line_each(tmp_path: Path) -> None:
    description = described(tmp_path, VENDOR)
    told = [note.removeprefix(f"{tmp_path}/") for note in description.notes]
    assert told == [
        "arm.urdf: <gazebo> left out, 2 times: settings of a simulator",
        "arm.urdf: <transmission> left out, once: state gear and motor of the axes instead",
        "arm.urdf: <material> left out, once: colours",
        "arm.urdf: <collision> left out of base_link: pictures use the visual shapes",
    ]
    [lost] = [line for line in description.warnings if "dynamics" in line]
    assert lost.endswith(
        "<dynamics> left out: damping of joint joint_1; state friction: {viscous: ..., coulomb: ...} of the axis"
    )
    line = VENDOR[: VENDOR.index("<dynamics")].count("\n") + 1
    assert lost.startswith(f"{tmp_path}/arm.urdf:{line}: ")


def test_dynamics_and_colours_of_many_elements_are_one_line_each(tmp_path: Path) -> None:
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    look = '<visual><geometry><box size="1 1 1"/></geometry><material name="m"/></visual>'
    text = '<robot name="r"><material name="m"/><origin xyz="0 0 0"/><link name="l0"/>'
    for i in range(3):
        text += f'<link name="l{i + 1}">{mass}{look}</link><joint name="j{i}" type="continuous">'
        text += (
            f'<parent link="l{i}"/><child link="l{i + 1}"/><dynamics damping="{i}" friction="0.1"/></joint>'
        )
    description = described(tmp_path, text + "</robot>")
    [lost] = description.warnings
    assert "friction and damping of joints j0, j1, j2; state friction:" in lost
    told = [note.partition("arm.urdf: ")[2] for note in description.notes]
    assert told == ["<material> left out, 4 times: colours", "<origin> in <robot> left out, once"]


def test_links_without_inertia_are_warned_of_in_one_line(tmp_path: Path) -> None:
    links = "".join(f'<link name="l{i}"/>' for i in range(4))
    joints = "".join(
        f'<joint name="j{i}" type="revolute"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(3)
    )
    description = described(tmp_path, f'<robot name="r">{links}{joints}</robot>')
    [line] = description.warnings
    assert line.endswith(
        "without inertia, and so massless: l1, l2, l3; expected <inertial>, or a conversion with --density"
    )


def test_frame_without_mass_on_a_link_that_has_some_is_no_reason_to_warn(tmp_path: Path) -> None:
    assert not [line for line in described(tmp_path, VENDOR).warnings if "massless" in line]


# --- inertias from shapes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("geometry", "volume", "moments_per_mass"),
    [
        ('<box size="0.1 0.2 0.3"/>', 0.006, (0.13 / 12.0, 0.10 / 12.0, 0.05 / 12.0)),
        (
            '<cylinder radius="0.1" length="0.4"/>',
            math.pi * 0.004,
            (0.01 / 4 + 0.16 / 12, 0.01 / 4 + 0.16 / 12, 0.01 / 2),
        ),
        ('<sphere radius="0.1"/>', 4.0 / 3.0 * math.pi * 1e-3, (0.004, 0.004, 0.004)),
    ],
)
def test_inertia_of_a_primitive_is_that_of_the_textbook(
    tmp_path: Path, geometry: str, volume: float, moments_per_mass: tuple[float, float, float]
) -> None:
    """Closed forms of homogeneous bodies, e.g. Featherstone 2008, appendix."""
    link = described(tmp_path, shaped(geometry), density=2700.0).axes["j"]
    mass, center, inertia = link_inertia(link)
    assert mass == pytest.approx(2700.0 * volume, rel=1e-14)
    np.testing.assert_allclose(center, np.zeros(3), atol=1e-16)
    np.testing.assert_allclose(inertia, mass * np.diag(moments_per_mass), rtol=1e-13, atol=1e-16)


def test_inertia_of_a_turned_and_shifted_box_is_that_of_its_points(tmp_path: Path) -> None:
    """Against the sum over a fine grid of points in the box."""
    origin = '<origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.4 0.5"/>'
    link = described(tmp_path, shaped('<box size="0.1 0.2 0.3"/>', origin), density=1000.0).axes["j"]
    mass, center, inertia = link_inertia(link)
    n = 60
    grid = (np.stack(np.meshgrid(*[np.arange(n)] * 3), -1).reshape(-1, 3) + 0.5) / n - 0.5
    cr, sr, cp, sp, cy, sy = (f(a) for a in (0.3, -0.4, 0.5) for f in (math.cos, math.sin))
    Rx = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    Ry = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    Rz = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    points = (grid * (0.1, 0.2, 0.3)) @ (Rz @ Ry @ Rx).T + (0.1, -0.2, 0.3)
    d = points - points.mean(axis=0)
    second = d.T @ d * (6.0 / len(d))
    assert mass == pytest.approx(6.0, rel=1e-13)
    np.testing.assert_allclose(center, points.mean(axis=0), atol=1e-12)
    # the grid misses a share 1/n^2 of the moments
    np.testing.assert_allclose(inertia, np.trace(second) * np.eye(3) - second, rtol=2 / n**2, atol=1e-5)


def stl_tetrahedron(path: Path, *, faces: int = 4, inwards: int = 0) -> None:
    """A binary STL of the tetrahedron with corners 0, a e_x, a e_y, a e_z, a = 100 (millimetres); 3 faces: open.

    So many faces look ``inwards``.
    """
    corners = np.vstack([np.zeros(3), 100.0 * np.eye(3)])
    sides = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)][:faces]
    data = b"\0" * 80 + struct.pack("<I", len(sides))
    for face in [*(side[::-1] for side in sides[:inwards]), *sides[inwards:]]:
        data += struct.pack("<12fH", *np.zeros(3), *corners[list(face)].ravel(), 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@pytest.mark.parametrize(
    "address", ["package://arm/meshes/link.stl", "meshes/link.stl", "file://meshes/link.stl"]
)
def test_inertia_of_a_mesh_is_that_of_the_body_it_encloses(tmp_path: Path, address: str) -> None:
    """The right-angled tetrahedron: V = a^3/6, c = a/4, and about c, I_xx = 3 m a^2/40, I_xy = m a^2/80."""
    folder = tmp_path / "arm"
    stl_tetrahedron(folder / "meshes" / "link.stl")
    mesh = f'<mesh filename="{address}" scale="0.001 0.001 0.001"/>'
    description = read_description(written(folder, shaped(mesh)), density=6000.0)
    mass, center, inertia = link_inertia(description.axes["j"])
    assert mass == pytest.approx(1.0, rel=1e-6)  # the file holds single precision
    np.testing.assert_allclose(center, np.full(3, 0.025), rtol=1e-6)
    expected = np.full((3, 3), 0.01 / 80.0)
    np.fill_diagonal(expected, 3.0 * 0.01 / 40.0)
    np.testing.assert_allclose(inertia, expected, rtol=1e-6)
    assert not description.warnings


@pytest.mark.parametrize("inwards", [1, 2, 4])
def test_mesh_with_faces_turned_inwards_encloses_the_same_body(tmp_path: Path, inwards: int) -> None:
    """All of them turned: the same volume, exactly. Some: the hull, which the note says."""
    stl_tetrahedron(tmp_path / "link.stl", inwards=inwards)
    mesh = '<mesh filename="link.stl" scale="0.001 0.001 0.001"/>'
    description = read_description(written(tmp_path, shaped(mesh)), density=6000.0)
    mass, center, inertia = link_inertia(description.axes["j"])
    assert mass == pytest.approx(1.0, rel=1e-6)
    np.testing.assert_allclose(center, np.full(3, 0.025), rtol=1e-6)
    np.testing.assert_allclose(np.diag(inertia), np.full(3, 3.0 * 0.01 / 40.0), rtol=1e-6)
    assert [("hull" in note, "turned inwards" in note) for note in description.notes] == (
        [] if inwards == 4 else [(True, True)]
    )


def test_inertia_of_an_open_mesh_is_that_of_its_hull_and_says_so(tmp_path: Path) -> None:
    stl_tetrahedron(tmp_path / "link.stl", faces=3)  # its hull is the whole tetrahedron
    mesh = '<mesh filename="link.stl" scale="0.001 0.001 0.001"/>'
    description = read_description(written(tmp_path, shaped(mesh)), density=6000.0)
    assert description.axes["j"].link.mass == pytest.approx(1.0, rel=1e-6)
    [note] = description.notes
    assert re.search(r"arm\.urdf:\d+: link '\w+': the convex hull of 'link.stl' was filled", note)
    assert {why for _, _, why in description.assumptions()} == {
        "the shapes of the URDF file, convex hulls of open meshes, filled with 6000 kg/m^3"
    }
    stl_tetrahedron(tmp_path / "link.stl")
    assert not read_description(written(tmp_path, shaped(mesh)), density=6000.0).notes


def test_computed_inertia_is_marked_as_assumed_and_a_stated_one_stays(tmp_path: Path) -> None:
    description = described(tmp_path, VENDOR, density=2700.0)
    assert not description.assumptions()  # both bodies state theirs
    assumed = described(tmp_path, shaped('<sphere radius="0.1"/>'), density=2700.0).assumptions()
    assert "axes.j.link.mass" in {field for field, _, _ in assumed}
    assert {why for _, _, why in assumed} == {"the shapes of the URDF file filled with 2700 kg/m^3"}


def test_density_on_the_command_line_writes_the_inertias(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, shaped('<box size="0.1 0.1 0.1"/>'))
    assert main(["convert", "arm.urdf", "arm.yaml", "--density", "2.7 g/cm^3"]) == 0
    assert read_description("arm.yaml").axes["j"].link.mass == pytest.approx(2.7, rel=1e-14)
    assert main(["convert", "arm.urdf", "b.yaml", "--density", "2700 kg"]) == 2
    assert "--density: '2700 kg' is a mass; expected" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["dae", "zip", "stl", "obj"])
def test_broken_mesh_of_any_format_is_one_line(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"link.{suffix}").write_bytes(b"<COLLADA></x>")
    with pytest.raises(InputError, match=rf"link 'b': 'link.{suffix}' cannot be read as a mesh"):
        described(tmp_path, shaped(f'<mesh filename="link.{suffix}"/>'), density=1000.0)


@pytest.mark.parametrize(
    ("geometry", "expected"),
    [
        (
            '<mesh filename="package://none/link.stl"/>',
            "no mesh file 'package://none/link.stl'; expected it beside",
        ),
        ('<mesh filename="arm.urdf"/>', "'arm.urdf' cannot be read as a mesh"),
        ('<box size="0 1 1"/>', "<box> has no volume; expected sizes above zero"),
    ],
)
def test_shape_that_gives_no_mass_is_one_line_with_place(
    tmp_path: Path, geometry: str, expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        described(tmp_path, shaped(geometry), density=1000.0)
    assert f"arm.urdf:1: link 'b': {expected}" in str(caught.value)


# --- xacro ------------------------------------------------------------------------------------------

XACRO = """<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="length" default="0.5"/>
  <xacro:property name="half" value="${float($(arg length))/2}"/>
  <link name="a"/>
  <link name="b"><inertial><origin xyz="0 0 ${half}"/><mass value="${2*3}"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
</robot>
"""


def test_xacro_file_runs_only_where_it_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, XACRO, "arm.urdf.xacro")
    for words in (
        ["convert", "arm.urdf.xacro", "arm.yaml"],
        ["info", "arm.urdf.xacro"],
        ["check", "arm.urdf.xacro"],
    ):
        assert main(words) == 2
        assert "--allow-code" in capsys.readouterr().err
    with pytest.raises(InputError, match="a program that makes a URDF"):
        load_robot("arm.urdf.xacro")
    assert not Path("arm.yaml").exists()
    assert main(["convert", "arm.urdf.xacro", "arm.yaml", "--allow-code", "--arg", "length=0.8"]) == 0
    link = read_description("arm.yaml").axes["j"].link
    assert (link.mass, link.center[2]) == (6.0, 0.4)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--arg", "length=1"], "--arg: belongs to a xacro file, which is run; expected --allow-code"),
        (["--allow-code", "--arg", "length"], "--arg: 'length' is not name=value"),
    ],
)
def test_arguments_of_xacro_files_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    path = written(tmp_path, XACRO, "arm.urdf.xacro")
    assert main(["convert", str(path), str(tmp_path / "arm.yaml"), *words]) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("<xacro:macro/>", "missing attribute 'name'"),
        (
            '<xacro:macro name="a"><xacro:a/></xacro:macro><xacro:a/>',
            "a macro or property calls itself without end",
        ),
        ('<link name="$(find nowhere)"/>', "PackageNotFoundError: Package not found: nowhere"),
    ],
)
def test_xacro_program_that_fails_is_one_line_with_its_file(tmp_path: Path, part: str, said: str) -> None:
    path = written(tmp_path, XACRO.replace("</robot>", f"{part}</robot>"), "arm.urdf.xacro")
    with pytest.raises(InputError) as caught:
        read_description(path, allow_code={})
    assert str(caught.value).startswith(f"{path}: cannot be expanded: ")
    assert said in str(caught.value)
    assert "<class" not in str(caught.value)


def test_xacro_file_that_cannot_be_expanded_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, XACRO.replace("${2*3}", "${unknown}"), "arm.urdf.xacro")
    assert main(["convert", str(path), str(tmp_path / "arm.yaml"), "--allow-code"]) == 2
    said = capsys.readouterr().err.strip()
    assert "\n" not in said
    assert "arm.urdf.xacro: cannot be expanded: " in said
