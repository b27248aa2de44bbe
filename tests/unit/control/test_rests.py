"""Rests on the way of a planned motion: the same path within the limits, and times there and back."""

from __future__ import annotations

from functools import cache

import numpy as np

from servotwin.control.main.rests import Rested
from servotwin.control.main.time_scaling import Planned, ToolLimit
from servotwin.description.load import read_description
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits, limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveJ
from servotwin.robot.robot import Robot


@cache
def motion() -> tuple[Robot, MotionLimits, Planned]:
    description = read_description("gsis-scara")
    robot = Robot(build_mechanism(description))
    limits = limits_of(robot, description)
    targets = np.array([[0.5, 0.3, 0.02, 0.4], [0.1, 0.9, 0.0, 0.2], [0.0, 0.0, 0.01, 0.0]])
    moves = [MoveJ(target, blend=0.03) for target in targets]
    return robot, limits, plan(robot, np.zeros(4), moves, limits, fit=True)


def rested(tool: ToolLimit | None = None) -> Rested:
    _, limits, trajectory = motion()
    times = [0.31 * trajectory.duration, 0.33 * trajectory.duration, 0.7 * trajectory.duration]
    return Rested(trajectory, times, limits.acceleration, tool)


def test_rests_stand_and_leave_path_and_limits_as_they_are() -> None:
    _, limits, trajectory = motion()
    with_rests = rested()
    t = np.linspace(0.0, with_rests.duration, 20_001)
    q, qd, qdd = with_rests.sample(t)
    times = with_rests.planned_times(t)[0]
    np.testing.assert_array_equal(q, trajectory.sample(times)[0])
    assert (np.diff(times) >= 0.0).all()
    assert (np.abs(qd) <= limits.speed * (1.0 + 1e-6)).all()
    assert (np.abs(qdd) <= limits.acceleration * 1.02).all()  # between the nodes of the time law
    h = t[1] - t[0]
    np.testing.assert_allclose(np.diff(q, axis=0) / h, 0.5 * (qd[1:] + qd[:-1]), atol=1e-3)
    for share in (0.31, 0.33, 0.7):
        at = with_rests.own_times(np.array([share * trajectory.duration]))
        assert not with_rests.sample(at)[1].any()
    assert trajectory.duration < with_rests.duration < trajectory.duration + 1.0


def test_own_times_and_planned_times_are_inverse() -> None:
    _, _, trajectory = motion()
    with_rests = rested()
    t = np.linspace(0.0, trajectory.duration, 997)
    np.testing.assert_allclose(with_rests.planned_times(with_rests.own_times(t))[0], t, atol=1e-12)
    assert with_rests.own_times(np.array([0.0, trajectory.duration])).tolist() == [0.0, with_rests.duration]
    assert (np.diff(with_rests.starts) > 0.0).all()


def test_rests_are_longer_where_the_tool_is_limited() -> None:
    robot, _, _ = motion()

    def pace(q: Array, qd: Array) -> float:
        return float(np.linalg.norm(robot.jacob0(q)[:3] @ qd))

    assert rested(ToolLimit(pace, 1.0)).duration > rested().duration + 0.1
