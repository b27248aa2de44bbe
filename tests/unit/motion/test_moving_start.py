"""Motions that begin with speed: where they begin, what they keep, what they are refused for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from servotwin.errors import InputError
from servotwin.mechanism.model import Limits
from servotwin.motion.moving_start import MovingStart, check_moving_start, rest_after, run_out_time
from servotwin.motion.point_moves import PointMove, plan_moves

FREE = np.array([np.inf])
NO_JERK = FREE


def begun(
    q: float, speed: float, target: float, limits: Limits, jerk: np.ndarray = NO_JERK, ramp: float = 0.25
) -> MovingStart:
    """A move from q [rad] with a speed [rad/s] and a ramp [s], longer where a limit demands it."""
    v = np.array([speed])
    ramp = run_out_time(v, ramp, limits, jerk)
    rest = rest_after(np.array([q]), v, ramp)
    plan = plan_moves(rest, [PointMove(np.array([target]), ramp=ramp)], limits, jerk=jerk, speed=v)
    return MovingStart(plan, v, ramp)


@pytest.mark.parametrize(("end", "speed"), [(0.3, 0.2), (0.6, 0.4), (0.9, 0.4), (1.2, 0.8), (1.8, 0.8)])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_start_at_a_limit_with_a_speed_away_from_it_is_accepted(
    end: float, speed: float, sign: float
) -> None:
    """With T = 0.3 s and these numbers q_0 + v T/2 - v T/2 is a digit beyond q_0, which is no reason to refuse it."""
    span = np.sort([sign * end, -sign * 9.0])
    limits = Limits(span[:1], span[1:], np.array([3.0]), FREE, FREE)
    motion = begun(sign * end, -sign * speed, -sign * 1.0, limits, ramp=0.3)
    assert 0.0 < sign * motion.sample([0.0])[0][0, 0] - end < 1e-15
    check_moving_start(motion, limits, NO_JERK, ["A"], [False])


def test_start_that_runs_beyond_a_limit_before_it_turns_back_is_refused() -> None:
    wide = Limits(np.array([-2.0]), np.array([1.0]), np.array([3.0]), FREE, FREE)
    motion = begun(0.8, 1.0, -1.0, wide)
    turn = float(motion.sample(np.linspace(0.0, motion.ramp, 100_001))[0].max())
    assert turn > 0.81
    check_moving_start(motion, replace(wide, q_max=np.array([turn])), NO_JERK, ["A"], [False])
    with pytest.raises(
        InputError, match=r"axis A would run to .* deg; expected -114.6 to 46.41 deg"
    ) as refused:
        check_moving_start(motion, replace(wide, q_max=np.array([0.81])), NO_JERK, ["A"], [False])
    assert refused.value.field == "initial.speed.A"


@pytest.mark.parametrize("jerk", [4.0, 20.0])
@pytest.mark.parametrize("growth", [np.inf, 2.0])
def test_speed_runs_out_within_the_limits_of_acceleration_and_jerk(jerk: float, growth: float) -> None:
    """A move that goes on at the speed of the start asks for nothing more."""
    limits = Limits(-FREE, FREE, np.array([1.0]), np.array([growth]), FREE)
    v, j = np.array([1.0]), np.array([jerk])
    ramp = run_out_time(v, 0.01, limits, j)
    motion = MovingStart(plan_moves([0.0], [PointMove(np.zeros(1), dwell=3.0)], limits), v, ramp)
    t = np.linspace(0.0, ramp, 20_001)
    _, _, qdd = motion.sample(t)
    used = np.abs(qdd).max() / growth, np.abs(np.diff(qdd[:, 0])).max() / t[1] / jerk
    assert max(used) == pytest.approx(1.0, rel=1e-3)
    check_moving_start(motion, limits, j, ["A"], [False])
    check_moving_start(begun(0.0, 1.0, 5.0, limits, j), limits, j, ["A"], [False])


def test_start_whose_jerk_adds_to_that_of_the_first_move_is_refused() -> None:
    limits, j = Limits(-FREE, FREE, np.array([1.0]), FREE, FREE), np.array([20.0])
    motion = begun(0.0, 1.0, -5.0, limits, j)  # back: both change the speed the same way
    with pytest.raises(
        InputError, match=r"would go to 2291 deg/s3 .*; expected at most 1146 deg/s3"
    ) as refused:
        check_moving_start(motion, limits, j, ["A"], [False])
    assert refused.value.field == "initial.speed.A"
