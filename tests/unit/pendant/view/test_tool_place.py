"""The tool set by hand: exact where the arm can, least turned where it has fewer than six joints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from own_robots import FIVE, RAIL, written
from servotwin.dynamics.ik.pose import rotation_vector
from servotwin.errors import UnreachableError
from servotwin.mechanism.urdf_export import roll_pitch_yaw
from servotwin.pendant.view.tool_place import position_for
from servotwin.robot.load import load_robot
from servotwin.robot.robot import Robot


@pytest.fixture
def five(tmp_path: Path) -> Robot:
    return load_robot(written(tmp_path, "five.yaml", FIVE))


def away(robot: Robot, q: np.ndarray, R: np.ndarray) -> float:
    return float(np.linalg.norm(rotation_vector(R @ robot.fkine(q)[:3, :3].T)))


@pytest.mark.parametrize("shift", [(0.0, 0.085, 0.0), (-0.1, 0.1, 0.2), (-0.2, -0.15, 0.1)])
def test_five_joints_hold_the_place_and_turn_the_tool_as_little_as_can_be(
    five: Robot, shift: tuple[float, float, float]
) -> None:
    home = five.q_home
    X = five.fkine(home)
    place = X[:3, 3] + shift
    q, turned = position_for(five, place, np.array(roll_pitch_yaw(X[:3, :3])), home)
    np.testing.assert_allclose(five.fkine(q)[:3, 3], place, rtol=0, atol=1e-9)
    assert (q >= five.limits.q_min).all()
    assert (q <= five.limits.q_max).all()
    assert turned == pytest.approx(away(five, q, X[:3, :3]), rel=1e-9)
    # Sequential quadratic programming from the same start finds the same least turn.
    best = minimize(
        lambda v: away(five, v, X[:3, :3]) ** 2,
        home + 0.05,
        constraints={"type": "eq", "fun": lambda v: five.fkine(v)[:3, 3] - place},
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert turned == pytest.approx(np.sqrt(best.fun), rel=1e-5)
    assert turned > np.radians(1.0)


def test_what_five_joints_can_reach_is_reached_exactly(five: Robot) -> None:
    goal = five.q_home + np.array([0.2, -0.1, 0.15, -0.3, 0.4])
    X = five.fkine(goal)
    q, turned = position_for(five, X[:3, 3], np.array(roll_pitch_yaw(X[:3, :3])), five.q_home)
    assert turned == 0.0
    np.testing.assert_allclose(five.fkine(q), X, rtol=0, atol=1e-8)


def test_places_out_of_reach_and_turns_of_six_joints_are_refused(five: Robot) -> None:
    with pytest.raises(UnreachableError, match="links in a row"):
        position_for(five, np.array([3.0, 0.0, 0.5]), np.zeros(3), five.q_home)
    six = load_robot("sixaxis-5kg")
    with pytest.raises(UnreachableError):
        position_for(six, np.array([9.0, 0.0, 0.5]), np.zeros(3), six.q_home)


def test_a_stretched_scara_turns_about_its_axis_where_it_cannot_tilt() -> None:
    scara = load_robot("gsis-scara")
    X = scara.fkine(scara.q_home)
    q, turned = position_for(scara, X[:3, 3], np.array([0.3, 0.0, np.pi / 2]), scara.q_home)
    assert turned == pytest.approx(0.3, rel=1e-3)
    np.testing.assert_allclose(scara.fkine(q)[:3, 3], X[:3, 3], rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("place", "rpy"),
    [
        ((0.65, 0.15, 0.7), (180, 30, 180)),
        ((0.65, 0.15, 0.7), (180, 90, 180)),
        ((0.4, -0.3, 0.9), (0, 60, 0)),
    ],
)
def test_an_arm_that_stretches_to_turn_least_holds_the_place(
    tmp_path: Path, place: tuple[float, float, float], rpy: tuple[float, float, float]
) -> None:
    # The tool stands in the plane of the arm: beside the rail it turns least with the arm stretched, that is singular.
    robot = load_robot(written(tmp_path, "rail.yaml", RAIL))
    q, turned = position_for(robot, np.array(place), np.radians(rpy), robot.q_home)
    np.testing.assert_allclose(robot.fkine(q)[:3, 3], place, rtol=0, atol=1e-9)
    assert (q >= robot.limits.q_min).all()
    assert (q <= robot.limits.q_max).all()
    # By geometry: the yaw of the arm is the least turn, asin(|y| / longest arm beside the turn of the tool).
    goal = np.radians(rpy[1] if rpy[0] == 0 else 180 - rpy[1])
    tip = np.array([0.015, 0.14])  # of the tool, turned by 20 deg against the last link
    slope = goal - np.radians(20)
    along = np.cos(slope) * tip[0] + np.sin(slope) * tip[1]
    up = -np.sin(slope) * tip[0] + np.cos(slope) * tip[1]
    rise = place[2] - 0.52 - up  # of upper arm and forearm in one line
    longest = 0.05 + np.sqrt(0.78**2 - rise**2) + along
    swing = np.arcsin(abs(place[1]) / longest)
    assert abs(q[1]) == pytest.approx(
        swing, rel=0.03
    )  # the least turn tilts the tool a little, for a longer arm
    assert turned <= swing * (1.0 + 1e-9)
