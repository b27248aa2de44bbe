"""Meshes and shapes of robot files: read as they are, reduced for pictures, refused in one line."""

from __future__ import annotations

import base64
import struct
from pathlib import Path

import numpy as np
import pytest

from servotwin.errors import InputError
from servotwin.robot.load import load_robot
from servotwin.scene import describe, looks_of
from servotwin.scene.mesh_read import Mesh, read_mesh, reduced

TRIANGLES = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 0, 0], [0, 1, 0], [0, 0, 1]]], dtype=np.float32)
URDF = """<robot name="arm"><link name="base"><visual><geometry><box size="0.2 0.2 0.1"/></geometry></visual></link>
<link name="upper"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><origin xyz="0.1 0 0" rpy="0 1.5707963267948966 0"/>
<geometry><cylinder radius="0.02" length="0.2"/></geometry></visual>
<visual><geometry><sphere radius="0.03"/></geometry></visual>
<visual><geometry><mesh filename="{mesh}" scale="0.001 0.001 0.001"/></geometry></visual></link>
<joint name="j" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.3"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>
"""


def binary_stl(triangles: np.ndarray) -> bytes:
    rows = b"".join(struct.pack("<12fH", 0, 0, 1, *triangle.ravel().tolist(), 0) for triangle in triangles)
    return bytes(80) + struct.pack("<I", len(triangles)) + rows


def ascii_stl(triangles: np.ndarray) -> bytes:
    lines = ["solid a"]
    for triangle in triangles:
        lines += ["facet normal 0 0 1", "outer loop"]
        lines += [f"  vertex {x} {y} {z}" for x, y, z in triangle] + ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid a"]).encode()


OBJ = b"# a square\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\nf 1//1 2//1 3//1 4//1\nf -4 -3 -2\n"


@pytest.mark.parametrize("write", [binary_stl, ascii_stl])
def test_stl_is_read_in_both_forms(write: object) -> None:
    mesh = read_mesh(write(TRIANGLES), "stl")  # type: ignore[operator]
    assert len(mesh.points) == 4  # corners at one place are one
    np.testing.assert_array_equal(mesh.points[mesh.triangles], TRIANGLES)


def test_obj_is_read_with_faces_of_four_corners_and_counts_from_the_end() -> None:
    mesh = read_mesh(OBJ, "obj")
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3], [0, 1, 2]]


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (b"", "stl", "no STL file"),
        (bytes(80) + struct.pack("<I", 4_000_000_000), "stl", "no STL file"),
        (binary_stl(TRIANGLES)[:-1], "stl", "no STL file"),
        (b"solid\n vertex a b c\n vertex 1 2 3\n vertex 1 2 3\n", "stl", "cannot be read as STL"),
        (binary_stl(TRIANGLES * np.float32(np.nan)), "stl", "not finite"),
        (b"v 0 0 0\nf 1 2 3\n", "obj", "corners that are not there"),
        (b"v 0 0\nv 1\nf 1 2 1\n", "obj", "cannot be read as OBJ"),
        (b"hello", "obj", "no triangles"),
        (b"hello", "exe", "is no mesh"),
    ],
)
def test_what_is_no_mesh_is_refused_in_one_line(data: bytes, kind: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_mesh(data, kind)


def test_large_meshes_are_reduced_and_keep_their_extent() -> None:
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 200), np.linspace(-1, 1, 200), indexing="ij")
    points = np.stack([np.cos(u), np.sin(u), v], axis=-1).reshape(-1, 3).astype(np.float32)
    i, j = np.meshgrid(np.arange(199), np.arange(199), indexing="ij")
    corner = (200 * i + j).ravel()
    triangles = np.concatenate(
        [
            np.stack([corner, corner + 1, corner + 200], 1),
            np.stack([corner + 1, corner + 201, corner + 200], 1),
        ]
    ).astype(np.uint32)
    mesh = Mesh(points, triangles)
    few = reduced(mesh, 3_000)
    assert 300 < len(few.triangles) <= 3_000
    np.testing.assert_allclose(np.ptp(few.points, axis=0), np.ptp(points, axis=0), atol=0.1)
    assert reduced(mesh, len(triangles)) is mesh


def arm(tmp_path: Path, mesh: str) -> Path:
    (tmp_path / "arm.urdf").write_text(URDF.format(mesh=mesh), encoding="utf-8")
    return tmp_path / "arm.urdf"


def test_shapes_of_a_urdf_stand_in_the_frames_of_their_bodies(tmp_path: Path) -> None:
    (tmp_path / "link.stl").write_bytes(binary_stl(1000 * TRIANGLES))
    robot = load_robot(arm(tmp_path, "link.stl"))
    looks = looks_of(robot)
    assert looks.notes == []
    assert [shape["kind"] for shape in looks.shapes[-1]] == ["box"]
    cylinder, sphere, mesh = looks.shapes[0]
    np.testing.assert_allclose([cylinder["a"], cylinder["b"]], [[0, 0, 0], [0.2, 0, 0]], atol=1e-12)
    assert (sphere["r"], mesh["mesh"]) == (0.03, 0)
    points = np.frombuffer(base64.b64decode(looks.meshes[0]["positions"]), "<f4").reshape(-1, 3)
    np.testing.assert_allclose(points.max(axis=0), 1.0)  # millimetres of the mesh are metres by its scale
    scene = describe(robot, looks=looks)
    assert scene["bodies"][1]["shapes"] == looks.shapes[0]


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        ("missing.stl", "is not there"),
        ("broken.stl", "no STL file"),
        ("../outside.stl", "outside of"),
        ("link.exe", "is no mesh"),
    ],
)
def test_meshes_that_cannot_be_read_are_said_and_the_rest_is_drawn(
    tmp_path: Path, mesh: str, message: str
) -> None:
    place = tmp_path / "inner"
    place.mkdir()
    for name in ("broken.stl", "link.exe"):
        (place / name).write_bytes(b"x")
    (tmp_path / "outside.stl").write_bytes(binary_stl(TRIANGLES))
    looks = looks_of(load_robot(arm(place, mesh)))
    assert len(looks.notes) == 1
    assert message in looks.notes[0]
    assert "\n" not in looks.notes[0]
    assert [shape["kind"] for shape in looks.shapes[0]] == ["cylinder", "sphere"]


def test_a_robot_without_a_file_has_no_looks() -> None:
    robot = load_robot("gsis-scara")
    assert robot.source == ""
    assert looks_of(robot).shapes == {}


def test_robots_made_from_a_robot_keep_its_looks(tmp_path: Path) -> None:
    (tmp_path / "link.stl").write_bytes(binary_stl(TRIANGLES))
    robot = load_robot(arm(tmp_path, "link.stl"))
    assert looks_of(robot.with_payload(1.0)).shapes.keys() == looks_of(robot).shapes.keys()


def test_mesh_that_its_scale_makes_infinite_is_left_out_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "far.stl").write_bytes(binary_stl(TRIANGLES * np.float32(1e20)))
    text = URDF.format(mesh="far.stl").replace("0.001 0.001 0.001", "1e20 1e20 1e20")
    (tmp_path / "arm.urdf").write_text(text, encoding="utf-8")
    robot = load_robot(tmp_path / "arm.urdf")
    looks = looks_of(robot)
    assert looks.meshes == []
    assert looks.notes == ["mesh 'far.stl' has corners that are not finite in its scale"]
    assert np.isfinite(describe(robot, looks=looks)["size"])
