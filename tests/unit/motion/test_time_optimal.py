"""Time-optimal motion: closed-form cases, limits everywhere, one of them always in use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
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
