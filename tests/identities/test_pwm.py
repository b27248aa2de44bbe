"""Pulse patterns: whatever is commanded, the mean is right, and the edges lie where the carrier says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as draw
from numba import njit

from servotwin.drives.pwm import carrier, h_bridge, leg_edges, leg_mean, three_phase, three_phase_mean

MODULATION = draw.floats(-1.0, 1.0)
INSIDE = draw.floats(
    -1.0 + 1e-9, 1.0 - 1e-9
)  # at full command a pulse has no length, so its edges have no place
PERIOD = draw.floats(1e-5, 1e-2)
ROUND = 1e-12  # parts of a period: sums and differences of a few rounded numbers


@njit
def _bridge(m: float, T: float, i: float, dead: float, storage: float, two: int, times: Any, a: Any) -> int:
    return h_bridge(m, T, i, dead, storage, two, times, a, 0)


@njit
def _three(m: Any, T: float, i: Any, dead: float, storage: float, times: Any, a: Any, b: Any) -> int:
    return three_phase(m[0], m[1], T, i[0], i[1], dead, storage, times, a, b, 0)


@njit
def _three_mean(m: Any, T: float, i: Any, dead: float, storage: float) -> tuple[float, float]:
    return three_phase_mean(m[0], m[1], T, i[0], i[1], dead, storage)


@njit
def _leg_mean(m: float, T: float, i: float, dead: float, storage: float) -> float:
    return leg_mean(m, T, i, dead, storage)


@njit
def _leg(m: float, T: float, i: float, dead: float, storage: float) -> tuple[float, float]:
    return leg_edges(m, T, i, dead, storage)


@njit
def _carrier(part: float) -> float:
    return carrier(part)


def pattern(
    m: float, T: float, *, i: float = 0.0, dead: float = 0.0, storage: float = 0.0, two_level: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the intervals and the voltages in them, in bus voltages."""
    times, a = np.zeros((1, 6)), np.zeros((1, 7))
    edges = _bridge(m, T, i, dead, storage, int(two_level), times, a)
    lengths = np.diff(np.concatenate([[0.0], times[0, :edges], [T]]))
    return lengths, a[0, : edges + 1]


def three_pattern(
    m: tuple[float, float],
    T: float,
    *,
    i: tuple[float, float] = (0.0, 0.0),
    dead: float = 0.0,
    storage: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Instants of the six edges, and the voltage vectors between them, in bus voltages."""
    times, a, b = np.zeros((1, 6)), np.zeros((1, 7)), np.zeros((1, 7))
    assert _three(m, T, i, dead, storage, times, a, b) == 6
    return times[0], a[0], b[0]


def mean(lengths: np.ndarray, levels: np.ndarray, T: float) -> float:
    return float(lengths @ levels) / T


@given(MODULATION, PERIOD, draw.booleans())
def test_intervals_fill_the_period_and_their_mean_is_the_command(m: float, T: float, two_level: bool) -> None:
    lengths, levels = pattern(m, T, two_level=two_level)
    assert np.all(lengths >= -ROUND * T)
    assert abs(lengths.sum() - T) <= ROUND * T
    assert abs(mean(lengths, levels, T) - m) <= ROUND


@given(INSIDE, PERIOD)
def test_three_level_intervals_are_those_of_the_paper(m: float, T: float) -> None:
    # Lee 1989, Fig. 4: nothing, pulse, nothing, pulse, nothing (eq:pwm-intervals)
    lengths, levels = pattern(m, T)
    wanted = np.array([(1 - abs(m)) / 4, abs(m) / 2, (1 - abs(m)) / 2, abs(m) / 2, (1 - abs(m)) / 4]) * T
    np.testing.assert_allclose(lengths, wanted, atol=ROUND * T)
    if abs(m) > 1e-9:
        assert levels.tolist() == [0.0, math.copysign(1.0, m), 0.0, math.copysign(1.0, m), 0.0]


@given(INSIDE, PERIOD)
def test_legs_switch_where_the_modulation_meets_the_carrier(m: float, T: float) -> None:
    for edge in _leg(m, T, 0.0, 0.0, 0.0):
        assert abs(_carrier(edge / T) - m) <= 10 * ROUND  # the carrier's slope is 4 per period


@given(
    draw.floats(-0.9, 0.9),
    PERIOD,
    draw.floats(0.0, 0.02),
    draw.floats(0.0, 0.02),
    draw.sampled_from([-1.0, 1.0]),
    draw.booleans(),
)
def test_dead_and_storage_time_shift_the_mean_against_the_current(
    m: float, T: float, dead: float, storage: float, sign: float, two_level: bool
) -> None:
    # eq:pwm-dead-time for both legs; no pulse is so short that it would vanish: (1 - 0.9) / 4 > 0.02
    lengths, levels = pattern(m, T, i=sign, dead=dead * T, storage=storage * T, two_level=two_level)
    assert np.all(lengths >= -ROUND * T)
    assert abs(mean(lengths, levels, T) - (m - 2.0 * (dead - storage) * sign)) <= ROUND


@given(
    MODULATION, PERIOD, draw.floats(0.0, 0.6), draw.floats(0.0, 0.6), draw.floats(-1.0, 1.0), draw.booleans()
)
def test_swallowed_pulses_leave_a_pattern_that_still_fills_the_period(
    m: float, T: float, dead: float, storage: float, i: float, two_level: bool
) -> None:
    lengths, levels = pattern(m, T, i=i, dead=dead * T, storage=storage * T, two_level=two_level)
    assert np.all(lengths >= -ROUND * T)
    assert abs(lengths.sum() - T) <= ROUND * T
    assert np.all(np.abs(levels) <= 1.0)


@given(draw.floats(0.0, 2.0 / 3.0), draw.floats(-math.pi, math.pi), PERIOD)
def test_three_phase_mean_is_the_command_within_the_hexagon(size: float, angle: float, T: float) -> None:
    m_a, m_b = size * math.cos(angle), size * math.sin(angle)
    phases = [size * math.cos(angle - k * 2 * math.pi / 3) for k in range(3)]
    assume(max(phases) - min(phases) <= 1.0)
    times, a, b = three_pattern((m_a, m_b), T)
    lengths = np.diff(np.concatenate([[0.0], times, [T]]))
    assert np.all(lengths >= -ROUND * T)
    assert abs(lengths.sum() - T) <= ROUND * T
    assert abs(mean(lengths, a, T) - m_a) <= ROUND
    assert abs(mean(lengths, b, T) - m_b) <= ROUND
    moving = times[(times > ROUND * T) & (times < T - ROUND * T)]  # a leg at full command has no edges
    np.testing.assert_allclose(moving + moving[::-1], T, atol=ROUND * T)  # symmetric about T/2


@given(draw.floats(-math.pi, math.pi))
def test_a_circle_of_the_bus_over_root_three_lies_within_the_hexagon(angle: float) -> None:
    size = 1.0 / math.sqrt(3.0)
    times, a, b = three_pattern((size * math.cos(angle), size * math.sin(angle)), 1.0)
    lengths = np.diff(np.concatenate([[0.0], times, [1.0]]))
    assert mean(lengths, a, 1.0) == pytest.approx(size * math.cos(angle), abs=ROUND)
    assert mean(lengths, b, 1.0) == pytest.approx(size * math.sin(angle), abs=ROUND)


def test_three_phase_levels_are_the_eight_vectors_of_the_bridge() -> None:
    _, a, b = three_pattern((0.3, 0.1), 1.0)
    sizes = np.hypot(a, b)
    assert sizes[[0, 3, 6]].tolist() == pytest.approx([0.0, 0.0, 0.0], abs=ROUND)
    assert sizes[[1, 2, 4, 5]].tolist() == pytest.approx([2 / 3] * 4, abs=ROUND)


# --- delays of the legs -----------------------------------------------------------------------------

T_US, DEAD, STORAGE = 200e-6, 4e-6, 1e-6


@pytest.mark.parametrize("i", [-3.0, 0.0, 3.0])
@pytest.mark.parametrize("m", [-1.0, 1.0])
@pytest.mark.parametrize("two_level", [False, True])
def test_a_bridge_at_full_command_does_not_switch_and_loses_nothing(
    m: float, i: float, two_level: bool
) -> None:
    high = 1.0 if m > 0 else 0.0
    rise, fall = _leg(m, T_US, i, DEAD, STORAGE)
    assert (fall - rise) / T_US == high
    lengths, levels = pattern(m, T_US, i=i, dead=DEAD, storage=STORAGE, two_level=two_level)
    assert set(levels[lengths > 0.0]) == {m}


@pytest.mark.parametrize("i", [-3.0, 3.0])
@pytest.mark.parametrize("m", [-0.999, 0.999])
@pytest.mark.parametrize(("dead", "storage"), [(DEAD, 0.0), (DEAD, STORAGE), (0.0, DEAD)])
def test_a_leg_that_switches_for_a_moment_is_late_in_full(
    m: float, i: float, dead: float, storage: float
) -> None:
    """Its pulse or pause of 0.1 us becomes longer or shorter by t_d - t_s, down to nothing."""
    rise, fall = _leg(m, T_US, i, dead, storage)
    wanted = 0.5 * (1.0 + m) * T_US - math.copysign(1.0, i) * (dead - storage)
    assert fall - rise == pytest.approx(min(max(wanted, 0.0), T_US), abs=ROUND * T_US)


@given(MODULATION, draw.floats(-1.0, 1.0), draw.floats(0.0, 0.3), draw.floats(0.0, 0.3))
def test_mean_of_a_leg_is_that_of_its_edges(m: float, i: float, dead: float, storage: float) -> None:
    # eq:pwm-mean
    rise, fall = _leg(m, 1.0, i, dead, storage)
    assert 0.0 <= rise <= fall <= 1.0
    assert _leg_mean(m, 1.0, i, dead, storage) == pytest.approx(2.0 * (fall - rise) - 1.0, abs=10 * ROUND)


SIGNS = draw.floats(-math.pi, math.pi)


@given(SIGNS, draw.floats(0.0, 0.5), SIGNS, draw.floats(0.0, 0.02), draw.floats(0.0, 0.02))
def test_three_phases_lose_the_dead_time_of_every_leg(
    at: float, size: float, turned: float, dead: float, storage: float
) -> None:
    """Each leg gives sign(i) (t_d - t_s) / T of the bus less, the mean over the period of eq:pwm-dead-time."""
    m, i = (size * math.cos(at), size * math.sin(at)), (math.cos(turned), math.sin(turned))
    phases = np.array([math.cos(turned - k * 2 * math.pi / 3) for k in range(3)])
    assume(np.abs(phases).min() > 1e-9)
    lost = np.sign(phases) * (dead - storage)
    wanted = np.array(m) - [(2 * lost[0] - lost[1] - lost[2]) / 3, (lost[1] - lost[2]) / math.sqrt(3)]
    times, a, b = three_pattern(m, 1.0, i=i, dead=dead, storage=storage)
    lengths = np.diff(np.concatenate([[0.0], times, [1.0]]))
    assert np.all(lengths >= -ROUND)
    assert [mean(lengths, a, 1.0), mean(lengths, b, 1.0)] == pytest.approx(list(wanted), abs=10 * ROUND)
    assert _three_mean(m, 1.0, i, dead, storage) == pytest.approx(tuple(wanted), abs=10 * ROUND)


@given(SIGNS, draw.floats(0.0, 0.5), SIGNS, draw.floats(0.0, 0.02))
def test_three_phases_with_equal_delays_give_what_is_commanded(
    at: float, size: float, turned: float, delay: float
) -> None:
    m, i = (size * math.cos(at), size * math.sin(at)), (math.cos(turned), math.sin(turned))
    times, a, b = three_pattern(m, 1.0, i=i, dead=delay, storage=delay)
    lengths = np.diff(np.concatenate([[0.0], times, [1.0]]))
    assert [mean(lengths, a, 1.0), mean(lengths, b, 1.0)] == pytest.approx(list(m), abs=10 * ROUND)
