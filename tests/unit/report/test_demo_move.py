"""The full-range move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import servotwin as st
from servotwin.errors import UnsupportedError
from servotwin.report.demo_move import full_range_move, ramped_stroke, stroke_time

SIZES = some.floats(0.01, 10.0)


@given(stroke=SIZES, speed=SIZES, ramp=some.floats(0.05, 2.0))
def test_stroke_starts_and_ends_at_rest(stroke: float, speed: float, ramp: float) -> None:
    total = stroke_time(stroke, speed, ramp)
    s, v, a = ramped_stroke(np.array([-1.0, 0.0, total, total + 1.0]), stroke, speed, ramp)
    # Rounding of times is scaled by the speed.
    assert s == pytest.approx([0.0, 0.0, stroke, stroke], abs=1e-12 * (1.0 + speed * total))
    assert v == pytest.approx(np.zeros(4), abs=1e-12 * speed)
    assert a == pytest.approx(np.zeros(4), abs=1e-9 * speed / ramp)


@given(stroke=SIZES, speed=SIZES, ramp=some.floats(0.05, 2.0))
def test_stroke_velocity_and_acceleration_are_derivatives(stroke: float, speed: float, ramp: float) -> None:
    total = stroke_time(stroke, speed, ramp)
    t = np.linspace(0.0, total, 2001)
    s, v, a = ramped_stroke(t, stroke, speed, ramp)
    # The trapezoidal rule is off by h^2/12 times the change of the slope.
    h, top = t[1], v.max()
    jerk = top / 2 * (np.pi / ramp) ** 2
    assert np.cumsum((v[1:] + v[:-1]) / 2 * h) == pytest.approx(s[1:], abs=h**2 * jerk * total)
    assert np.cumsum((a[1:] + a[:-1]) / 2 * h) == pytest.approx(v[1:], abs=h * jerk * ramp)
    assert top <= speed * (1 + 1e-12)


@given(stroke=SIZES, speed=SIZES, ramp=some.floats(0.05, 2.0))
def test_long_stroke_reaches_the_speed(stroke: float, speed: float, ramp: float) -> None:
    total = stroke_time(stroke, speed, ramp)
    _, v, _ = ramped_stroke(np.array([total / 2]), stroke, speed, ramp)
    assert v[0] == pytest.approx(min(speed, stroke / ramp), rel=1e-9)


def test_full_range_move_covers_the_limits_at_full_speed() -> None:
    robot = st.load_robot("gsis-scara")
    move = full_range_move(robot)
    assert move.q.min(axis=0) == pytest.approx(robot.limits.q_min, abs=1e-12)
    assert move.q.max(axis=0) == pytest.approx(robot.limits.q_max, rel=1e-12)
    assert np.abs(move.qd).max(axis=0) == pytest.approx(robot.limits.qd_max, rel=1e-12)
    assert move.q[0] == pytest.approx(move.q[-1], abs=1e-12)
    assert move.qd[[0, -1]] == pytest.approx(np.zeros((2, 4)), abs=1e-9)


def test_full_range_move_without_limits_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="limits"):
        full_range_move(st.load_robot("met-two-link"))
