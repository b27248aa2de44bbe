"""Poses of the standard: where they lie in the cube, that the joints reach them on one branch, tables of poses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from servotwin.description.load import read_description
from servotwin.design.accuracy.iso9283 import posing_time, stabilisation_time
from servotwin.design.accuracy.other_tests import _with_more
from servotwin.design.accuracy.pose_table import parse_poses
from servotwin.design.accuracy.poses import cube_points, cube_poses, find_cube, given_poses, random_poses
from servotwin.design.accuracy.predict import Question, _refuse_lines
from servotwin.design.workspace.inscribed import Cube
from servotwin.errors import InputError, UnsupportedError
from servotwin.robot.load import load_robot

CUBE = Cube(np.array([0.4, 0.0, -0.075]), 0.1)


@pytest.mark.parametrize("plane", [1, 2, 3, 4])
def test_poses_lie_in_a_diagonal_plane_a_tenth_of_the_diagonal_from_its_ends(plane: int) -> None:
    p = cube_points(CUBE, plane)
    np.testing.assert_allclose(p[0], CUBE.center)
    away = p[1:] - p[0]
    diagonal = np.sqrt(3.0) * CUBE.edge
    np.testing.assert_allclose(np.linalg.norm(away, axis=1), 0.4 * diagonal)  # half of it less a tenth
    assert np.linalg.matrix_rank(away, tol=1e-12) == 2
    np.testing.assert_allclose(away[0], -away[2], atol=1e-15)  # P2 and P4 are the ends of one diagonal
    np.testing.assert_allclose(away[1], -away[3], atol=1e-15)


def test_joints_reach_the_poses_on_one_branch() -> None:
    robot = load_robot("gsis-scara")
    found = cube_poses(robot, CUBE)
    np.testing.assert_allclose(robot.fkine(found.joints), found.poses, atol=1e-12)
    assert len(set(np.sign(found.joints[:, 1]))) == 1  # the elbow stays on its side


def test_a_given_cube_out_of_reach_is_refused_with_the_pose() -> None:
    with pytest.raises(InputError, match=r"pose P\d at \(.*\) mm is out of reach"):
        cube_poses(load_robot("gsis-scara"), Cube(np.array([0.6, 0.0, -0.075]), 0.14), given=True)


def test_random_poses_are_within_the_cube_and_repeat_with_their_seed() -> None:
    robot = load_robot("gsis-scara")
    one, two = (random_poses(robot, CUBE, 20, 7) for _ in range(2))
    np.testing.assert_array_equal(one.poses, two.poses)
    assert np.abs(one.poses[:, :3, 3] - CUBE.center).max() <= 0.5 * CUBE.edge
    np.testing.assert_allclose(robot.fkine(one.joints), one.poses, atol=1e-12)


def test_a_single_pose_is_refused() -> None:
    robot = load_robot("gsis-scara")
    with pytest.raises(InputError, match="1 pose; expected at least 2"):
        given_poses(robot, robot.fkine(robot.q_home)[None])


def test_a_table_of_poses_is_read_in_its_units(tmp_path: Path) -> None:
    file = tmp_path / "poses.csv"
    file.write_text(
        "name,x_mm,y_m,z_mm,roll_deg,pitch_deg,yaw_deg\nA,400,0.1,-50,10,20,30\nB,300,0,-60,0,0,0\n"
    )
    names, poses = parse_poses(file)
    assert names == ("A", "B")
    np.testing.assert_allclose(poses[0, :3, 3], [0.4, 0.1, -0.05])
    want = Rotation.from_euler("xyz", [10.0, 20.0, 30.0], degrees=True).as_matrix()  # about fixed axes
    np.testing.assert_allclose(poses[0, :3, :3], want, atol=1e-14)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("x_mm,y_mm\n1,2\n", "no column for z"),
        ("x_mm,y_mm,z_in\n1,2,3\n", "column 'z_in'"),
        ("x_mm,y_mm,z_mm\n1,2\n", ":2: 2 values; expected 3"),
        ("x_mm,y_mm,z_mm\n1,2,a\n", ":2: z: 'a'; expected a number"),
        ("x_mm,y_mm,z_mm\n1,2,nan\n", ":2: z: 'nan'; expected a number"),
        ("x_mm,y_mm,z_mm\n1,2,3\n", "1 poses; expected at least 2"),
    ],
)
def test_a_table_that_is_none_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "poses.csv"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        parse_poses(file)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_table_without_angles_has_the_orientation_that_is_given(tmp_path: Path) -> None:
    file = tmp_path / "poses.csv"
    file.write_text("x_m,y_m,z_m\n0,0,0\n1,0,0\n", encoding="utf-8")
    R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(parse_poses(file, R)[1][:, :3, :3], [R, R])
    file.write_text("x_m,y_m,z_m,yaw_deg\n0,0,0,0\n1,0,0,0\n", encoding="utf-8")
    np.testing.assert_array_equal(parse_poses(file, R)[1][:, :3, :3], [np.eye(3)] * 2)


def test_a_given_cube_is_taken_where_no_solid_of_the_workspace_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Flat:
        def require_cube(self, *_: object) -> None:
            raise UnsupportedError("there is no solid to ask for a point in space")

    monkeypatch.setattr("servotwin.design.workspace.workspace.workspace", lambda *_, **__: Flat())
    found = find_cube(read_description("gsis-scara"), (0.4, 0.0, 0.1, 0.2), lambda words, part: None)
    assert found.edge == 0.2


FIVE = """format: servotwin/1
name: five
axes:
  J1: {type: revolute, dh: {theta: 0 deg, d: 350 mm, a: 0 mm, alpha: -90 deg}, limits: {position: [-160 deg, 160 deg]}}
  J2: {type: revolute, dh: {theta: -90 deg, d: 0 mm, a: 400 mm, alpha: 0 deg}, limits: {position: [-90 deg, 110 deg]}}
  J3: {type: revolute, dh: {theta: 90 deg, d: 0 mm, a: 380 mm, alpha: 0 deg}, limits: {position: [-120 deg, 120 deg]}}
  J4: {type: revolute, dh: {theta: 0 deg, d: 0 mm, a: 0 mm, alpha: 90 deg}, limits: {position: [-120 deg, 120 deg]}}
  J5: {type: revolute, dh: {theta: 0 deg, d: 200 mm, a: 0 mm, alpha: 0 deg}, limits: {position: [-350 deg, 350 deg]}}
home: {J1: 0 deg, J2: 10 deg, J3: 20 deg, J4: 60 deg, J5: 0 deg}
"""


def test_an_arm_of_five_joints_turns_its_tool_with_the_poses(tmp_path: Path) -> None:
    (tmp_path / "five.yaml").write_text(FIVE)
    robot = load_robot(tmp_path / "five.yaml")
    found = cube_poses(robot, Cube(np.array([0.0, -0.5, 0.35]), 0.2))
    assert found.turned
    assert found.cube is not None
    assert found.cube.edge == 0.2
    assert "turns about z of the base" in found.notes[0]
    np.testing.assert_allclose(robot.fkine(found.joints), found.poses, atol=1e-8)
    home = robot.fkine(robot.q_home)
    np.testing.assert_allclose(
        found.poses[:, 2, :3], np.tile(home[2, :3], (5, 1)), atol=1e-12
    )  # tilted as at home
    drawn = random_poses(robot, Cube(np.array([0.0, -0.5, 0.35]), 0.2), 4, 1)
    assert drawn.turned
    np.testing.assert_allclose(robot.fkine(drawn.joints), drawn.poses, atol=1e-8)


def test_tests_that_need_one_orientation_are_refused_before_the_runs(tmp_path: Path) -> None:
    (tmp_path / "five.yaml").write_text(FIVE)
    robot = load_robot(tmp_path / "five.yaml")
    poses = cube_poses(robot, Cube(np.array([0.5, 0.0, 0.4]), 0.2))
    with pytest.raises(InputError, match="tests: path: five does not reach the poses with one orientation"):
        _refuse_lines(robot, poses, Question(tests=("pose", "path")))
    beside = poses.poses[:2].copy()
    beside[:, 1, 3] += 0.02
    more = _with_more(robot, poses, list(beside))
    np.testing.assert_allclose(more.poses[5:, :3, 3], beside[:, :3, 3])
    np.testing.assert_allclose(robot.fkine(more.joints), more.poses, atol=1e-8)


def test_a_tool_that_is_not_at_rest_is_told_with_the_band() -> None:
    t, p = np.linspace(0.0, 0.3, 4), np.array([[3e-3, 0, 0], [2e-3, 0, 0], [1e-3, 0, 0], [5e-4, 0, 0]])
    for measure, more in ((stabilisation_time, ()), (posing_time, (0.0,))):
        with pytest.raises(InputError, match=r"^band: .* not yet within 0.1 mm .*; expected a longer rest"):
            measure(t, p, np.zeros(3), 1e-4, *more)
