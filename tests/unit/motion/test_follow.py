"""Inverse kinematics along curves: exact, on one branch, for every kind of arm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import servotwin as st
from own_robots import ARM, RAIL_SCARA, TRACK, written
from servotwin.motion.curves import line
from servotwin.motion.errors import PathError
from servotwin.motion.follow import ACCURACY, Tracker, follow

STARTS = {
    "gsis-scara": [0.3, 0.9, 0.05, 0.2],
    "palletizer-4": [0.2, 1.4, -1.5, 0.3],
    "puma560": [0.1, 0.8, -2.6, 0.3, 0.9, 0.0],
    "delta-4": None,
    "met-two-link": [0.3, 0.9],
    "daiv-1": [0.3, 0.9, 0.05],
}


@pytest.mark.parametrize("name", STARTS)
def test_path_is_met_between_its_points_with_matching_rates(name) -> None:
    robot = st.load_robot(name)
    start = robot.q_home if STARTS[name] is None else np.array(STARTS[name])
    tracker = Tracker(robot, oriented=robot.n > 3)
    X_to = robot.fkine(start + 0.2 * np.resize([1.0, -0.5, 0.1, 0.3], robot.n))
    curve = line(robot.fkine(start), X_to)
    path = follow(tracker, curve, start)
    s = np.linspace(0.0, curve.length, 333)
    q, dq, ddq = path.at(s)
    np.testing.assert_allclose(robot.fkine(q)[:, :3, 3], curve.pose(s)[:, :3, 3], rtol=0, atol=5 * ACCURACY)
    h = 1e-5 * curve.length
    before, after = path.at(s[1:-1] - h), path.at(s[1:-1] + h)
    np.testing.assert_allclose((after[0] - before[0]) / (2 * h), dq[1:-1], atol=1e-5 * np.abs(dq).max())
    np.testing.assert_allclose((after[1] - before[1]) / (2 * h), ddq[1:-1], atol=1e-3 * np.abs(ddq).max())


@pytest.mark.parametrize("way", [(0.3, 0.0, 0.0), (0.1, 0.25, -0.05), (0.9, 0.1, 0.1), (0.0, 0.0, 0.04)])
def test_a_scara_on_a_rail_follows_lines_with_the_shortest_motion(
    tmp_path: Path, way: tuple[float, float, float]
) -> None:
    # Five joints, four ways to move the tool: at every position one motion of the joints leaves it where it is.
    robot = st.load_robot(written(tmp_path, "rail.yaml", RAIL_SCARA))
    start, tracker = robot.q_home, Tracker(robot)
    X_to = robot.fkine(start)
    X_to[:3, 3] += way
    curve = line(robot.fkine(start), X_to)
    path = follow(tracker, curve, start)
    s = np.linspace(0.0, curve.length, 99)
    q, _, _ = path.at(s)
    np.testing.assert_allclose(robot.fkine(q), curve.pose(s), rtol=0, atol=5 * ACCURACY)
    twist = np.concatenate([np.array(way) / np.linalg.norm(way), np.zeros(3)])
    shortest = np.linalg.pinv(robot.jacob0(path.q), rcond=1e-9) @ twist
    np.testing.assert_allclose(path.dq, shortest, atol=1e-6)
    # An adaptive integration of q' = J^+ x' ends at the same joints: the path is one smooth motion.
    ended = solve_ivp(
        lambda _, at: np.linalg.pinv(robot.jacob0(at), rcond=1e-9) @ twist,
        (0.0, curve.length),
        start,
        rtol=1e-10,
        atol=1e-12,
    )
    np.testing.assert_allclose(path.q[-1], ended.y[:, -1], atol=2e-5)


def test_a_stretched_scara_on_a_rail_is_singular(tmp_path: Path) -> None:
    robot = st.load_robot(written(tmp_path, "rail.yaml", RAIL_SCARA))
    start = np.array(
        [0.1, np.pi / 2, 0.0, 0.05, 0.0]
    )  # across the rail: neither rail nor arm moves the tool outwards
    X_to = robot.fkine(start)
    X_to[1, 3] -= 0.1
    with pytest.raises(PathError) as caught:
        follow(Tracker(robot), line(robot.fkine(start), X_to), start)
    assert caught.value.what == "singularity"


def test_both_branches_of_a_scara_stay_apart() -> None:
    robot = st.load_robot("gsis-scara")
    start = np.array([0.3, 0.9, 0.05, 0.2])
    X_from, X_to = robot.fkine(start), robot.fkine(start + np.array([0.4, 0.3, 0.0, 0.1]))
    for q in robot.ikine_all(X_from):
        path = follow(Tracker(robot), line(X_from, X_to), q)
        assert np.all(np.sign(path.q[:, 1]) == np.sign(q[1]))
        assert np.abs(np.diff(path.q, axis=0)).max() < 0.2


def test_wrist_keeps_turning_beyond_half_a_turn() -> None:
    robot = st.load_robot("gsis-scara")
    start = np.array([0.3, 0.9, 0.05, 3.0])
    X_to = robot.fkine(start + np.array([0.1, 0.0, 0.0, 1.0]))
    path = follow(Tracker(robot), line(robot.fkine(start), X_to), start)
    assert path.q[-1, 3] == pytest.approx(4.0, abs=1e-9)


def test_start_at_a_singular_position_is_refused_there() -> None:
    robot = st.load_robot("gsis-scara")
    X = robot.fkine(robot.q_home)
    X_to = X.copy()
    X_to[0, 3] -= 0.2
    with pytest.raises(PathError) as caught:
        follow(Tracker(robot), line(X, X_to), robot.q_home)
    assert caught.value.what == "singularity"
    assert caught.value.place < 0.01


def test_line_on_which_five_joints_cannot_hold_the_turn_of_the_tool_names_the_way_round(
    tmp_path: Path,
) -> None:
    robot = st.load_robot(written(tmp_path, "arm.yaml", ARM.replace("TRACK", TRACK)))
    start, tracker = np.array([0.1, 0.4, 1.0, -1.5, -0.5]), Tracker(robot)
    X = robot.fkine(start)
    yaw, tilt = np.array([0.2, -0.5, 0.0, 0.0, 0.0]), np.array([0.1, 0.0, 0.1, -0.2, 0.5])
    for change in (yaw, tilt):
        follow(tracker, line(X, robot.fkine(start + change)), start)
    with pytest.raises(
        PathError, match=r"its 5 joints cannot hold the even turn .* \(MOVEJ\), or points"
    ) as refused:
        follow(tracker, line(X, robot.fkine(start + yaw + tilt)), start)
    assert refused.value.what == "workspace"
    assert "mask" not in str(refused.value)
