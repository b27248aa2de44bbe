"""Strokes with cubic ramps, by numerical integration and differentiation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from servotwin.motion.ramps import ramp_within, stroke_motion, stroke_time, top_speed

STROKES = st.floats(1e-4, 10.0)
SPEEDS = st.floats(1e-2, 20.0)
RAMPS = st.floats(1e-2, 2.0)


def sampled(stroke: float, speed: float, ramp: float, samples: int = 20_001):
    """Times and motion over a little more than the stroke."""
    s, v, T_r = (np.array(x) for x in (stroke, speed, ramp))
    top = top_speed(s, v, T_r)
    total = float(stroke_time(s, top, T_r))
    t = np.linspace(-0.1 * total, 1.1 * total, samples)
    return t, total, stroke_motion(t, s, top, T_r)


@given(STROKES, SPEEDS, RAMPS)
def test_velocity_is_the_rate_of_the_position_and_acceleration_of_the_velocity(stroke, speed, ramp) -> None:
    t, _, (done, _, v, a) = sampled(stroke, speed, ramp)
    step = t[1] - t[0]
    # the trapezoidal rule errs by the largest second derivative: 6 top/ramp^2 for the velocity
    top = v.max()
    bound = 6.0 * top / ramp**2 * step**2 * (t[-1] - t[0]) / 12 + 1e-9 * stroke
    integral = np.concatenate(([0.0], np.cumsum((v[1:] + v[:-1]) / 2) * step))
    assert np.abs(integral - done).max() <= 1.01 * bound
    integral = np.concatenate(([0.0], np.cumsum((a[1:] + a[:-1]) / 2) * step))
    # the acceleration has kinks, where the rule errs by the jump of its slope
    assert np.abs(integral - v).max() <= 12.0 * top / ramp**3 * step**2 * (t[-1] - t[0]) + 1e-2 * top


@given(STROKES, SPEEDS, RAMPS)
def test_stroke_is_met_within_its_limits(stroke, speed, ramp) -> None:
    _, total, (done, left, v, a) = sampled(stroke, speed, ramp)
    assert done[0] == 0.0
    assert left[-1] == 0.0
    assert v.max() <= speed * (1.0 + 1e-12)
    assert v.min() >= 0.0
    assert np.abs(a).max() <= 1.5 * min(speed, stroke / ramp) / ramp * (1.0 + 1e-12)
    assert np.all(np.diff(done) >= -1e-12 * stroke)
    np.testing.assert_allclose(done + left, stroke, rtol=1e-12)
    assert total >= 2.0 * ramp * (1.0 - 1e-12)


def test_rise_is_the_third_order_curve_of_the_paper() -> None:
    t = np.linspace(0.0, 0.25, 11)
    _, _, v, a = stroke_motion(t, np.array(1.0), np.array(2.0), np.array(0.25))
    x = t / 0.25
    np.testing.assert_allclose(v, 2.0 * (3 * x**2 - 2 * x**3), rtol=1e-14, atol=1e-15)
    assert a[0] == 0.0
    assert a[-1] == pytest.approx(0.0, abs=1e-14)
    assert a[5] == pytest.approx(1.5 * 2.0 / 0.25)


def test_stroke_to_the_negative_side_is_the_mirror_image() -> None:
    t = np.linspace(0.0, 1.0, 101)
    forth = stroke_motion(t, np.array(1.0), np.array(2.0), np.array(0.25))
    back = stroke_motion(t, np.array(-1.0), np.array(2.0), np.array(0.25))
    for one, other in zip(forth, back, strict=True):
        np.testing.assert_array_equal(one, -other)


def test_no_stroke_takes_no_time_and_does_not_move() -> None:
    zero = np.array(0.0)
    assert stroke_time(zero, top_speed(zero, np.array(1.0), np.array(0.2)), np.array(0.2)) == 0.0
    done, left, v, a = stroke_motion(np.linspace(-1.0, 1.0, 5), zero, zero, np.array(0.2))
    assert not np.any([done, left, v, a])


@given(STROKES, SPEEDS, st.floats(0.1, 100.0))
def test_ramp_within_uses_the_acceleration_up(stroke, speed, acceleration) -> None:
    s, v = np.array(stroke), np.array(speed)
    ramp = ramp_within(s, v, np.array(acceleration))
    *_, a = stroke_motion(np.linspace(0.0, ramp, 1001), s, top_speed(s, v, ramp), ramp)
    assert np.abs(a).max() == pytest.approx(acceleration, rel=1e-12)


def test_ramp_without_limit_is_zero() -> None:
    assert ramp_within(np.array(1.0), np.array(2.0), np.array(np.inf)) == 0.0
