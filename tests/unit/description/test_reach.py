"""How far files reach: whatever a file names lies below the folder of the first file, or ships with the package."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.main import main
from servotwin.description.load import CATALOGUE, catalogue_names, read_description
from servotwin.description.reach import Reach, outside
from servotwin.errors import InputError
from servotwin.jobs.program import job_names, load_program
from servotwin.simulation.scenario.scenario import read_scenario, scenario_names

ROBOT = """\
format: servotwin/1
name: arm
axes:
  A:
    type: revolute
    mdh: {d: 0 m}
    limits: {position: [-90 deg, 90 deg], speed: 90 deg/s, acceleration: 5 rad/s^2}
    link: {mass: 1 kg, center: [100 mm, 0 mm, 0 mm]}
"""
SCENARIO = """\
format: servotwin-scenario/1
name: run
robot: gsis-scara
move:
  - {to: {A: 10 deg}}
"""
POINTS = "format: servotwin-points/1\nrobot: {robot}\npoints:\n  P1: {{joints: {{A: 1 deg}}}}\n"
MESH = (
    '<robot name="x"><link name="a"/><link name="b"><collision><geometry><mesh filename="{mesh}"/></geometry>'
    '</collision></link><joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>'
    "</joint></robot>"
)


def robot(text: str, at: Path) -> None:
    (at / "arm.yaml").write_text(text)


def stl(path: Path) -> None:
    corners = np.vstack([np.zeros(3), np.eye(3)])
    sides = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    faces = (struct.pack("<12fH", *np.zeros(3), *corners[list(side)].ravel(), 0) for side in sides)
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(sides)) + b"".join(faces))


# --- every place where a file names another one: what is written, what reads it, where the message points --------


def extends(path: str, home: Path) -> Any:
    robot(f"extends: {path}/arm.yaml\nname: mine\n", home)
    return lambda allow: read_description(home / "arm.yaml", allow_outside=allow)


def include(path: str, home: Path) -> Any:
    robot(ROBOT.replace("link: {", f"link: {{include: '{path}/parts.yaml#link'}}  # "), home)
    return lambda allow: read_description(home / "arm.yaml", allow_outside=allow)


def variables_include(path: str, home: Path) -> Any:
    robot(ROBOT + f"variables: {{include: '{path}/parts.yaml#variables'}}\n", home)
    return lambda allow: st.load_robot(home / "arm.yaml", allow_outside=allow)


def scenario_extends(path: str, home: Path) -> Any:
    (home / "run.yaml").write_text(f"extends: {path}/run.yaml\nname: mine\n")
    return lambda allow: read_scenario(home / "run.yaml", allow_outside=allow)


def scenario_include(path: str, home: Path) -> Any:
    (home / "run.yaml").write_text(SCENARIO + f"solver: {{include: '{path}/parts.yaml#solver'}}\n")
    return lambda allow: read_scenario(home / "run.yaml", allow_outside=allow)


def scenario_robot(path: str, home: Path) -> Any:
    (home / "run.yaml").write_text(SCENARIO.replace("gsis-scara", f"{path}/arm.yaml"))
    return lambda allow: read_scenario(home / "run.yaml", allow_outside=allow)


def scenario_set(path: str, home: Path) -> Any:
    text = SCENARIO.replace("gsis-scara", "own.yaml")
    (home / "own.yaml").write_text(ROBOT)
    (home / "run.yaml").write_text(text + f"set: {{axes.A.link.include: '{path}/parts.yaml#link'}}\n")
    return lambda allow: read_scenario(home / "run.yaml", allow_outside=allow)


def scenario_plant_set(path: str, home: Path) -> Any:
    text = SCENARIO.replace("gsis-scara", "own.yaml")
    (home / "own.yaml").write_text(ROBOT)
    (home / "run.yaml").write_text(
        text + f"plant: {{set: {{axes.A.link.include: '{path}/parts.yaml#link'}}}}\n"
    )
    return lambda allow: read_scenario(home / "run.yaml", allow_outside=allow)


def robot_of_the_scenarios_robot(path: str, home: Path) -> Any:
    """The first file is the scenario, also for what its robot names."""
    (home / "sub").mkdir(exist_ok=True)
    there = path if Path(path).is_absolute() else f"../{path}"
    (home / "sub" / "arm.yaml").write_text(f"extends: {there}/arm.yaml\nname: mine\n")
    (home / "run.yaml").write_text(SCENARIO.replace("gsis-scara", "sub/arm.yaml"))
    return lambda allow: read_scenario(home / "run.yaml", allow_outside=allow)


def scenario_law(path: str, home: Path) -> Any:
    text = f"controller: {{law: '{path}/law.py:follow', period: 1 ms, level: current}}\n"
    (home / "run.yaml").write_text(SCENARIO + text)
    return lambda allow: read_scenario(home / "run.yaml", allow_outside=allow)


def job_call(path: str, home: Path) -> Any:
    (home / "main.job").write_text(f'CALL "{path}/other.job"\n')
    return lambda allow: load_program(home / "main.job", allow_outside=allow)


def call_of_a_called_job(path: str, home: Path) -> Any:
    (home / "sub").mkdir(exist_ok=True)
    there = path if Path(path).is_absolute() else f"../{path}"
    (home / "sub" / "inner.job").write_text(f'CALL "{there}/other.job"\n')
    (home / "main.job").write_text('CALL "sub/inner.job"\n')
    return lambda allow: load_program(home / "main.job", allow_outside=allow)


def points_robot(path: str, home: Path) -> Any:
    (home / "main.job").write_text("MOVEJ P1\n")
    (home / "main.points.yaml").write_text(POINTS.format(robot=f"{path}/arm.yaml"))
    return lambda allow: load_program(home / "main.job", allow_outside=allow).robot


def robot_of_the_points_robot(path: str, home: Path) -> Any:
    (home / "sub").mkdir(exist_ok=True)
    there = path if Path(path).is_absolute() else f"../{path}"
    (home / "sub" / "arm.yaml").write_text(f"extends: {there}/arm.yaml\nname: mine\n")
    (home / "main.job").write_text("MOVEJ P1\n")
    (home / "main.points.yaml").write_text(POINTS.format(robot="sub/arm.yaml"))
    return lambda allow: read_description(load_program(home / "main.job", allow_outside=allow).robot)


def urdf_mesh(path: str, home: Path) -> Any:
    pytest.importorskip("trimesh")
    (home / "arm.urdf").write_text(MESH.format(mesh=f"{path}/link.stl"))
    return lambda allow: read_description(home / "arm.urdf", density=1000.0, allow_outside=allow)


PLACES: list[tuple[Callable[[str, Path], Any], str]] = [
    (extends, r"arm\.yaml:1: extends"),
    (include, r"arm\.yaml:8: axes\.A\.link\.include"),
    (variables_include, r"arm\.yaml:9: variables\.include"),
    (scenario_extends, r"run\.yaml:1: extends"),
    (scenario_include, r"run\.yaml:6: solver\.include"),
    (scenario_robot, r"run\.yaml:3: robot"),
    (scenario_set, r"run\.yaml:6: \S*axes\.A\.link\.include"),
    (scenario_plant_set, r"run\.yaml:6: \S*axes\.A\.link\.include"),
    (robot_of_the_scenarios_robot, r"arm\.yaml:1: extends"),
    (scenario_law, r"run\.yaml:6: controller\.law"),
    (job_call, r"main\.job:1:6"),
    (call_of_a_called_job, r"inner\.job:1:6"),
    (points_robot, r"main\.points\.yaml:2: robot"),
    (robot_of_the_points_robot, r"arm\.yaml:1: extends"),
    (urdf_mesh, r"arm\.urdf:1: link 'b'"),
]
IDS = [place.__name__ for place, _ in PLACES]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """The folder of the first file, and one beside it with everything that can be named."""
    home, other = tmp_path / "home", tmp_path / "other"
    for folder in (home, other, home / "below"):
        folder.mkdir()
    for folder in (other, home / "below"):
        robot(ROBOT, folder)
        (folder / "run.yaml").write_text(SCENARIO)
        (folder / "other.job").write_text("WAIT 1 s\n")
        (folder / "law.py").write_text("def follow(signals):\n    return signals\n")
        (folder / "parts.yaml").write_text(
            "link: {mass: 2 kg, center: [1 mm, 0 mm, 0 mm]}\nvariables: {length: 1 m}\nsolver: {method: rk4}\n"
        )
        stl(folder / "link.stl")
    return home, other


@pytest.mark.parametrize(("place", "at"), PLACES, ids=IDS)
@pytest.mark.parametrize("way", ["up", "absolute", "link"])
def test_file_outside_is_refused_with_place_and_remedy_unless_allowed(
    place: Callable[[str, Path], Any], at: str, way: str, folders: tuple[Path, Path]
) -> None:
    home, other = folders
    (home / "linked").symlink_to(other)
    read = place({"up": "../other", "absolute": str(other), "link": "linked"}[way], home)
    with pytest.raises(InputError) as caught:
        read(False)
    said = str(caught.value)
    assert re.search(at + ": ", said), said
    assert "\n" not in said
    if place is scenario_law:  # code lies beside the scenario, whatever data is allowed
        assert "leads out of the folder of the scenario" in said
        with pytest.raises(InputError, match="leads out of the folder"):
            read(True)
        return
    assert f"leads to {other}/" in said
    assert f"outside of {home}, the folder of the first file" in said
    assert "--allow-outside (allow_outside=True)" in said
    read(True)
    with outside():
        place({"up": "../other", "absolute": str(other), "link": "linked"}[way], home)(False)


@pytest.mark.parametrize(("place", "at"), PLACES, ids=IDS)
def test_file_below_the_first_one_is_read(
    place: Callable[[str, Path], Any], at: str, folders: tuple[Path, Path]
) -> None:
    place("below", folders[0])(False)


def test_points_beside_a_job_may_not_be_a_link_to_elsewhere(folders: tuple[Path, Path]) -> None:
    home, other = folders
    (other / "p.yaml").write_text(POINTS.format(robot="gsis-scara"))
    (home / "main.job").write_text("MOVEJ P1\n")
    (home / "main.points.yaml").symlink_to(other / "p.yaml")
    with pytest.raises(InputError, match=r"'main\.points\.yaml' leads to"):
        load_program(home / "main.job")
    assert load_program(home / "main.job", allow_outside=True).robot == "gsis-scara"


def test_user_names_any_file_himself(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    home, _ = folders
    robot(ROBOT, home)
    monkeypatch.chdir(home)
    changes = {"axes.A.link.include": "../other/parts.yaml#link"}
    assert read_description("../other/arm.yaml").name == "arm"
    assert read_description("arm.yaml", changes).axes["A"].link.mass == 1.0
    (home / "run.yaml").write_text(SCENARIO)
    assert read_scenario("run.yaml", {"robot": "../other/arm.yaml"}).description.name == "arm"


def test_link_that_the_user_names_does_not_open_the_folder_it_leads_to(folders: tuple[Path, Path]) -> None:
    home, other = folders
    (other / "mine.yaml").write_text("extends: arm.yaml\nname: mine\n")
    (home / "mine.yaml").symlink_to(other / "mine.yaml")
    with pytest.raises(InputError, match=r"no such file 'arm\.yaml'"):
        read_description(home / "mine.yaml")


def test_description_read_with_permission_is_not_given_out_without(folders: tuple[Path, Path]) -> None:
    read = extends("../other", folders[0])
    path = folders[0] / "arm.yaml"
    st.load_robot(path, allow_outside=True)
    st.load_robot(path, allow_outside=True)  # from the store
    with pytest.raises(InputError, match="outside of"):
        st.load_robot(path)
    read(True)


def test_meshes_of_the_ros_package_around_the_file_are_read(folders: tuple[Path, Path]) -> None:
    pytest.importorskip("trimesh")
    home, _ = folders
    (home / "package.xml").write_text("<package/>")
    (home / "meshes").mkdir()
    (home / "urdf").mkdir()
    stl(home / "meshes" / "link.stl")
    (home / "urdf" / "arm.urdf").write_text(MESH.format(mesh="package://home/meshes/link.stl"))
    assert read_description(home / "urdf" / "arm.urdf", density=1000.0).axes["j"].link.mass > 0.0
    (home / "package.xml").unlink()
    with pytest.raises(InputError, match="outside of"):
        read_description(home / "urdf" / "arm.urdf", density=1000.0)


def test_mesh_that_is_no_regular_file_or_of_no_mesh_format_is_one_line(folders: tuple[Path, Path]) -> None:
    pytest.importorskip("trimesh")
    home, _ = folders
    (home / "arm.urdf").write_text(MESH.format(mesh="link.stl"))
    (home / "link.stl").mkdir()
    with pytest.raises(InputError, match=r"arm\.urdf:1: link 'b': 'link\.stl' is a folder; expected a mesh"):
        read_description(home / "arm.urdf", density=1000.0)
    (home / "arm.urdf").write_text(MESH.format(mesh="link.zip"))
    (home / "link.zip").write_bytes(b"PK")
    with pytest.raises(InputError, match="expected one of stl, obj"):
        read_description(home / "arm.urdf", density=1000.0)


def test_mesh_cannot_name_further_files(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    trimesh = pytest.importorskip("trimesh")
    home, _ = folders
    box = trimesh.creation.box()
    lines = [f"v {x} {y} {z}" for x, y, z in box.vertices] + [
        f"f {a + 1} {b + 1} {c + 1}" for a, b, c in box.faces
    ]
    (home / "link.obj").write_text("\n".join(["mtllib secret.mtl", "usemtl m", *lines]) + "\n")
    (home / "secret.mtl").write_text("newmtl m\nmap_Kd /etc/hostname\n")
    (home / "arm.urdf").write_text(MESH.format(mesh="link.obj"))
    read: list[str] = []
    import builtins

    opened = builtins.open
    monkeypatch.setattr(
        builtins, "open", lambda name, *a, **k: (read.append(str(name)), opened(name, *a, **k))[1]
    )
    assert read_description(home / "arm.urdf", density=1000.0).axes["j"].link.mass == pytest.approx(1000.0)
    assert not [name for name in read if name.endswith((".mtl", "hostname"))]


def test_everything_that_ships_is_read_without_permission() -> None:
    for name in catalogue_names():
        read_description(name)
    for name in scenario_names():
        read_scenario(name)
    for name in job_names():
        assert load_program(name).robot


def test_file_elsewhere_extends_and_includes_the_catalogue(tmp_path: Path) -> None:
    robot("extends: gsis-scara\nname: mine\n", tmp_path)
    assert read_description(tmp_path / "arm.yaml").name == "mine"
    part = sorted((CATALOGUE / "parts").glob("*.yaml"))[0]
    assert Reach.of(tmp_path / "arm.yaml").problem(part, "x") is None


COMMANDS = [
    ["info", "arm.yaml"],
    ["check", "arm.yaml"],
    ["fkine", "arm.yaml", "--q", "0 deg"],
    ["ikine", "arm.yaml", "--xyz", "0 mm, 0 mm, 0 mm"],
    ["rne", "arm.yaml", "--q", "0 deg"],
    ["equations", "arm.yaml"],
    ["convert", "arm.yaml", "out.yaml", "--force"],
    ["jog", "arm.yaml", "--joint", "A", "--by", "1 deg"],
    ["job", "check", "main.job", "--robot", "arm.yaml"],
    ["job", "plan", "main.job", "--robot", "arm.yaml"],
    ["simulate", "run.yaml"],
    ["teach", "new.points.yaml", "record", "P1", "--q", "0 deg", "--robot", "arm.yaml"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_every_command_refuses_and_has_the_option(
    words: list[str],
    folders: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home, _ = folders
    monkeypatch.chdir(home)
    extends("../other", home)
    (home / "main.job").write_text("WAIT 1 s\n")
    (home / "run.yaml").write_text(SCENARIO.replace("gsis-scara", "../other/arm.yaml"))
    assert main(words) == 2
    assert "outside of" in capsys.readouterr().err
    main([*words, "--allow-outside"])
    assert "outside of" not in capsys.readouterr().err
    assert main(words) == 2  # the permission ends with the command
    assert "outside of" in capsys.readouterr().err
