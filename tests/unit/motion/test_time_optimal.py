"""Time-optimal motion: closed-form cases, limits everywhere, one of them always in use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
from servotwin.description.load import read_description
from servotwin.errors import InputError
from servotwin.motion.errors import PathError
from servotwin.motion.joint_path import straight
from servotwin.motion.limits import limits_of
from servotwin.motion.time_optimal import path_through, time_optimal


@pytest.fixture(scope="module")
def puma():
    return st.load_robot("puma560")


def only_torques(robot):
    limits = limits_of(robot, torque=True)
    return replace(limits, acceleration=np.full(robot.n, np.inf))


def test_one_joint_against_its_inertia_is_bang_bang() -> None:
    """The quill of the SCARA upwards: M qdd = f - M g up, M qdd = f + M g down to rest."""
    robot = st.load_robot("gsis-scara")
    limits = replace(only_torques(robot), speed=np.full(4, 100.0))
    f, way = 60.0, 0.1
    q = np.array([[0.3, 0.9, 0.12, 0.2], [0.3, 0.9, 0.02, 0.2]])
    M = robot.inertia(q[0], drives=True)[2, 2]
    g = robot.gravload(q[0])[2]
    plan = time_optimal(robot, straight(*q), limits, [np.inf, np.inf, f, np.inf], grid=400)
    # from rest to rest: v^2 = 2 a1 s1 = 2 a2 s2, T = v/a1 + v/a2
    a1, a2 = (f - g * -1.0) / M, (f + g * -1.0) / M
    v = np.sqrt(2 * way * a1 * a2 / (a1 + a2))
    assert plan.duration == pytest.approx(v / a1 + v / a2, rel=2e-3)


def test_limits_hold_everywhere_and_one_is_always_in_use(puma) -> None:
    rng = np.random.default_rng(3)
    limits = only_torques(puma)
    for _ in range(3):
        points = puma.q_home + 0.6 * rng.uniform(-1, 1, (5, 6))
        plan = time_optimal(puma, points, limits)
        t = np.linspace(0.0, plan.duration, 4001)
        q, qd, qdd = plan.sample(t)
        torques = np.abs(puma.rne(q, qd, qdd, drives=True)) / limits.torque
        speeds = np.abs(qd) / limits.speed
        assert torques.max() <= 1.0 + 1e-3
        assert speeds.max() <= 1.0 + 1e-4
        used = np.maximum(torques.max(axis=1), speeds.max(axis=1))
        assert np.mean(used > 0.97) > 0.97
        np.testing.assert_allclose(q[[0, -1]], points[[0, -1]], atol=1e-12)
        np.testing.assert_allclose(qd[[0, -1]], 0.0, atol=1e-6)


def test_finer_grid_agrees(puma) -> None:
    points = puma.q_home + 0.5 * np.random.default_rng(1).uniform(-1, 1, (4, 6))
    limits = only_torques(puma)
    coarse, fine = (time_optimal(puma, points, limits, grid=n).duration for n in (200, 1000))
    assert coarse == pytest.approx(fine, rel=5e-3)


def test_accelerations_hold_too(puma) -> None:
    limits = limits_of(puma, torque=True)
    points = puma.q_home + 0.6 * np.random.default_rng(2).uniform(-1, 1, (4, 6))
    plan = time_optimal(puma, points, limits)
    _, _, qdd = plan.sample(np.linspace(0.0, plan.duration, 4001))
    assert (np.abs(qdd) / limits.acceleration).max() <= 1.0 + 1e-3


def test_torque_that_cannot_hold_the_arm_is_refused(puma) -> None:
    points = np.array([[0, 0, -1.6, 0, 0, 0], [0, 0.3, -1.6, 0, 0, 0.0]])
    with pytest.raises(PathError, match="cannot hold or follow the path") as caught:
        time_optimal(puma, points, only_torques(puma), [97, 1.0, 89, 24, 20, 21])
    assert caught.value.what == "torque"


def test_waypoints_are_checked() -> None:
    with pytest.raises(InputError, match="at least two rows"):
        path_through(np.zeros((1, 3)))
    with pytest.raises(InputError, match="waypoints 0 and the next coincide"):
        path_through(np.zeros((2, 3)))


def test_waypoint_beyond_a_position_limit_is_refused_with_place_and_axis(puma) -> None:
    points = np.tile(puma.q_home, (3, 1))
    points[1, 0], points[2, 0] = puma.limits.q_max[0] + 0.5, 1.0
    with pytest.raises(PathError, match=r"axis j1 would stand at 18[0-9.]+ deg, beyond its limits") as caught:
        time_optimal(puma, points, only_torques(puma))
    assert (caught.value.what, caught.value.axis) == ("position", "j1")
    assert 0.3 < caught.value.place < 0.8


def test_spline_that_overshoots_a_limit_between_waypoints_is_refused(puma) -> None:
    """All waypoints are inside; the spline through them is not."""
    q = np.tile(puma.q_home, (4, 1))
    q[:, 0] = puma.limits.q_max[0] - np.array([0.8, 1e-4, 1e-4, 0.8])
    q[:, 3] += np.array([0.0, 0.5, 1.0, 1.5])
    with pytest.raises(PathError, match="axis j1 would stand at 16") as caught:
        time_optimal(puma, q, only_torques(puma))
    assert caught.value.place == pytest.approx(0.5, abs=0.05)


def test_position_on_its_limit_is_allowed(puma) -> None:
    q = np.array([puma.q_home, puma.q_home])
    q[1, 0] = puma.limits.q_max[0]
    assert time_optimal(puma, straight(*q), only_torques(puma)).duration > 0.5


def test_force_that_only_just_holds_is_refused_as_a_stop() -> None:
    """The quill upwards with exactly its weight: it never leaves."""
    robot = st.load_robot("gsis-scara")
    q = np.array([[0.3, 0.9, 0.12, 0.2], [0.3, 0.9, 0.02, 0.2]])
    weight = abs(robot.gravload(q[0])[2])
    with pytest.raises(PathError, match="come to a stop there") as caught:
        time_optimal(robot, straight(*q), only_torques(robot), [np.inf, np.inf, weight, np.inf])
    assert caught.value.what == "torque"


def test_tool_limits_hold_and_are_used(puma) -> None:
    limits = replace(only_torques(puma), tool_speed=0.6, tool_acceleration=3.0)
    points = puma.q_home + 0.4 * np.random.default_rng(5).uniform(-1, 1, (4, 6))
    plan = time_optimal(puma, points, limits)
    t, h = np.linspace(0.01, plan.duration - 0.01, 3001), 1e-5
    p = [puma.fkine(plan.sample(x)[0])[:, :3, 3] for x in (t - h, t, t + h)]
    v = np.linalg.norm((p[2] - p[0]) / (2 * h), axis=1)
    a = np.linalg.norm((p[2] - 2 * p[1] + p[0]) / h**2, axis=1)
    assert v.max() <= 0.6 * (1 + 1e-4)
    assert np.quantile(a, 0.995) <= 3.0 * (1 + 1e-3)  # the differences are wrong across a jump of sdd
    assert max(v.max() / 0.6, np.quantile(a, 0.9) / 3.0) > 0.9
    assert plan.duration > time_optimal(puma, points, only_torques(puma)).duration


@pytest.mark.parametrize("name", ["gsis-scara", "puma560", "palletizer-4"])
def test_motors_hold_and_are_used(name: str) -> None:
    """One of joint speed and motor is always at its limit, and none beyond."""
    robot = st.load_robot(name)
    full = limits_of(robot, read_description(name), torque=False)
    limits = replace(full, acceleration=np.full(robot.n, np.inf))
    middle = 0.5 * (limits.q_min + limits.q_max)
    points = middle + 0.1 * (limits.q_max - limits.q_min) * np.random.default_rng(7).uniform(
        -1, 1, (4, robot.n)
    )
    plan = time_optimal(robot, points, limits)
    q, qd, qdd = plan.sample(np.linspace(0.0, plan.duration, 4001)[1:-1])
    used = np.hstack([np.abs(qd) / limits.speed, limits.motors.shares(q, qd, qdd)]).max(axis=1)
    assert used.max() <= 1.0 + 2e-3
    assert np.mean(used > 0.95) > 0.95
