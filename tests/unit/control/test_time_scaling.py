"""The pace along a planned motion: how long a stop takes that is as hard as it can be."""

from __future__ import annotations

import numpy as np
import pytest

from servotwin.control.main.time_scaling import GENTLE, HARD, Cursor
from servotwin.description.load import read_description
from servotwin.mechanism.build import build_mechanism
from servotwin.motion.limits import limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveJ
from servotwin.robot.robot import Robot

T = 1e-3


@pytest.mark.parametrize("begin", [140, 220, 260, 300, 340, 500, 580, 700])
def test_hard_stop_takes_as_long_as_the_limits_say_though_the_motion_speeds_up(begin: int) -> None:
    """Whoever waits for a page counts on it; a fifth less braking on every such path made the stop 28 % longer."""
    description = read_description("sixaxis-5kg")
    robot = Robot(build_mechanism(description))
    limits = limits_of(robot, description)
    end = robot.q_home + np.array([2.5, -0.7, 0.0, 0.0, 0.0, 0.0])
    cursor = Cursor(plan(robot, robot.q_home, [MoveJ(end)], limits, fit=True), limits.acceleration)
    for _ in range(begin):
        _, qd, _ = cursor.advance(T, 1.0, GENTLE)[0]
    most = HARD.share * limits.acceleration
    braking, periods = float((np.abs(qd) / most).max()), 0
    while not cursor.at_rest:
        _, _, qdd = cursor.advance(T, 0.0, HARD)[0]
        assert (np.abs(qdd) <= most * (1.0 + 1e-5)).all()
        periods += 1
    assert periods * T <= braking + 2 * T
