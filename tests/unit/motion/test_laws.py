"""Time laws: limits, tightness, rates and exact ends of every kind, short strokes included."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from servotwin.errors import InputError
from servotwin.motion.laws import Ramped, Slowed, Uniform, make_profile, ramped
from servotwin.motion.ramps import RampLimits, ramp_length, reachable_speed

KINDS = ("cubic-ramp", "trapezoid", "s-curve", "quintic")
NUMBERS = st.floats(0.02, 20.0)


def times(law) -> np.ndarray:
    """Instants that resolve every part of a law, however short."""
    parts = law.times if isinstance(law, Ramped) else (law.duration,)
    edges = np.cumsum([0.0, *parts])
    spans = [np.linspace(a, b, 801) for a, b in pairwise(edges)]
    return np.unique(np.concatenate(spans))


@pytest.mark.parametrize("kind", KINDS)
@given(length=NUMBERS, speed=NUMBERS, acceleration=NUMBERS, jerk=st.none() | NUMBERS)
def test_law_holds_its_limits_and_uses_one_of_them_up(kind, length, speed, acceleration, jerk) -> None:
    law = make_profile(kind, length, speed, acceleration, jerk)
    t = times(law)
    s, v, a = law.sample(t)
    assert s[0] == 0.0
    assert law.sample(np.array([law.duration, law.duration + 1.0]))[0].tolist() == [length, length]
    assert np.all(np.diff(s) >= -1e-12 * length)
    shares = [v.max() / speed, np.abs(a).max() / acceleration]
    gaps = np.diff(t)
    smooth = gaps > 1e-7 * law.duration
    if kind != "trapezoid" or jerk is not None:  # with a jerk a trapezoid is an S-curve
        rate = np.abs(np.diff(a)[smooth] / gaps[smooth]).max()
        usual = 2.0 * acceleration**2 / speed if kind == "s-curve" else np.inf
        shares.append(rate / (usual if jerk is None else jerk))
    assert max(shares) <= 1.0 + 1e-6
    assert max(shares) >= 0.98  # the jerk of a quintic is largest in one instant only


@pytest.mark.parametrize("kind", KINDS)
@given(length=NUMBERS, speed=NUMBERS, acceleration=NUMBERS, jerk=st.none() | NUMBERS)
def test_speed_is_the_rate_of_the_way_and_acceleration_of_the_speed(
    kind, length, speed, acceleration, jerk
) -> None:
    law = make_profile(kind, length, speed, acceleration, jerk)
    T = law.duration
    parts = law.times if isinstance(law, Ramped) else (T,)
    edges = np.cumsum([0.0, *parts])
    for start, span in zip(edges[:-1], parts, strict=True):
        if span < 1e-9 * T:
            continue
        t = start + span * np.linspace(0.05, 0.95, 41)
        h = 1e-4 * span
        (s0, v0, _), (_, v, a), (s1, v1, _) = (law.sample(x) for x in (t - h, t, t + h))
        np.testing.assert_allclose((s1 - s0) / (2 * h), v, rtol=0, atol=1e-6 * speed + 1e-11 * length / h)
        slope = (v1 - v0) / (2 * h)
        kinks = np.abs(slope - a) > 1e-4 * np.abs(a).max() + 1e-10 * speed / h
        assert np.sum(kinks) <= 2  # corners of the acceleration of an S-curve


def test_trapezoid_takes_the_textbook_time() -> None:
    assert make_profile("trapezoid", 1.0, 0.5, 1.0).duration == pytest.approx(2.5, rel=1e-15)
    assert make_profile("trapezoid", 0.16, 0.5, 1.0).duration == pytest.approx(0.8, rel=1e-15)  # 2 sqrt(L/a)


def test_s_curve_of_every_length_takes_the_textbook_time() -> None:
    # V = 1, a = 2, j = 8: a ramp lasts V/a + a/j = 0.75 s
    assert make_profile("s-curve", 2.0, 1.0, 2.0, 8.0).duration == pytest.approx(2.75)
    # too short for the acceleration: four phases of jerk, T = (32 L / j)^(1/3)
    assert make_profile("s-curve", 0.02, 1.0, 2.0, 8.0).duration == pytest.approx((32 * 0.02 / 8) ** (1 / 3))
    # in between the acceleration is reached, the speed is not: V (V/a + a/j) = L
    V = np.roots([0.5, 0.25, -0.5]).max()
    assert make_profile("s-curve", 0.5, 1.0, 2.0, 8.0).duration == pytest.approx(2 * (V / 2 + 0.25))


def test_cubic_ramp_with_a_ramp_is_the_stroke_of_the_paper() -> None:
    law = make_profile("cubic-ramp", 1.0, 2.0, 100.0, ramp=0.25)
    assert law.duration == pytest.approx(1.0 / 2.0 + 0.25)
    short = make_profile("cubic-ramp", 0.1, 2.0, 100.0, ramp=0.25)
    assert short.duration == pytest.approx(0.5)
    assert short.sample(np.array([0.25]))[1] == pytest.approx(0.4)


@given(
    length=NUMBERS,
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    speed=NUMBERS,
    acceleration=NUMBERS,
    jerk=NUMBERS | st.just(np.inf),
    shape=st.sampled_from(["linear", "cubic", "jerk-limited"]),
)
def test_law_between_two_speeds_meets_both(length, shares, speed, acceleration, jerk, shape) -> None:
    if shape == "jerk-limited" and np.isinf(jerk):
        jerk = 1e3
    limits = RampLimits(shape, acceleration, np.inf if shape == "linear" else jerk)
    v_from = shares[0] * speed
    least = reachable_speed(0.0, length, v_from, limits)
    v_from = min(v_from, least)  # so that it can stop
    v_to = shares[1] * reachable_speed(v_from, length, speed, limits)
    v_to = v_to if ramp_length(v_from, v_to, limits) <= length else v_from
    law = ramped(length, v_from, v_to, speed, limits)
    s, v, a = law.sample(times(law))
    assert s[0] == 0.0
    assert s[-1] == length
    assert v[0] == pytest.approx(v_from, abs=1e-12 * speed)
    assert v[-1] == pytest.approx(v_to, abs=1e-12 * speed)
    assert v.max() <= speed * (1 + 1e-9)
    assert np.abs(a).max() <= acceleration * (1 + 1e-9)
    way = np.sum(0.5 * (v[1:] + v[:-1]) * np.diff(times(law)))
    assert way == pytest.approx(length, rel=1e-4)


def test_slowed_law_scales_its_rates() -> None:
    law = make_profile("quintic", 1.0, 1.0, 1.0)
    slow = Slowed(law, 2.0)
    t = np.linspace(0.0, slow.duration, 11)
    for one, other, factor in zip(slow.sample(t), law.sample(t / 2), (1.0, 2.0, 4.0), strict=True):
        np.testing.assert_allclose(one, other / factor, rtol=1e-15)


def test_uniform_law_has_one_speed() -> None:
    s, v, a = Uniform(1.0, 0.5).sample(np.array([0.0, 1.0, 2.0]))
    np.testing.assert_array_equal(s, [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(v, 0.5)
    assert not a.any()


@pytest.mark.parametrize("shape", ["linear", "cubic", "jerk-limited"])
def test_ramps_are_symmetric(shape) -> None:
    x = (np.arange(101) + 0.5) / 101
    law = Ramped(0.5, 0.0, 1.0, 1.0, shape, (1.0, 0.0, 0.0), (0.3, 0.5))
    _, f, rate = law.sample(x)
    assert law.sample(np.array([1.0]))[0] == pytest.approx(0.5)
    np.testing.assert_allclose(f + f[::-1], 1.0, rtol=1e-14)
    np.testing.assert_allclose(rate, rate[::-1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("linear", 1, 1, 1), "'linear' is no profile; expected cubic-ramp, trapezoid, s-curve, quintic"),
        (("quintic", -1, 1, 1), "the length is -1"),
        (("quintic", 1, 0, 1), "the speed is 0; expected a number above zero"),
        (("s-curve", 1, 1, 1, float("nan")), "the jerk is nan"),
    ],
)
def test_impossible_numbers_are_refused(arguments, text) -> None:
    with pytest.raises(InputError, match=text):
        make_profile(*arguments)
