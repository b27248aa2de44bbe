"""Pulse patterns: whatever is commanded, the mean is right, and the edges lie where the carrier says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as draw
from numba import njit

from servotwin.drives.pwm import carrier, h_bridge, leg_edges, three_phase

MODULATION = draw.floats(-1.0, 1.0)
INSIDE = draw.floats(
    -1.0 + 1e-9, 1.0 - 1e-9
)  # at full command a pulse has no length, so its edges have no place
PERIOD = draw.floats(1e-5, 1e-2)
ROUND = 1e-12  # parts of a period: sums and differences of a few rounded numbers


@njit
def _bridge(m: float, T: float, two: int, times: Any, a: Any) -> int:
    return h_bridge(m, T, two, times, a, 0)


@njit
def _three(m: Any, T: float, times: Any, a: Any, b: Any) -> int:
    return three_phase(m[0], m[1], T, times, a, b, 0)


@njit
def _leg(m: float, T: float) -> tuple[float, float]:
    return leg_edges(m, T)


@njit
def _carrier(part: float) -> float:
    return carrier(part)


def pattern(m: float, T: float, *, two_level: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the intervals and the voltages in them, in bus voltages."""
    times, a = np.zeros((1, 6)), np.zeros((1, 7))
    edges = _bridge(m, T, int(two_level), times, a)
    lengths = np.diff(np.concatenate([[0.0], times[0, :edges], [T]]))
    return lengths, a[0, : edges + 1]


def three_pattern(m: tuple[float, float], T: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Instants of the six edges, and the voltage vectors between them, in bus voltages."""
    times, a, b = np.zeros((1, 6)), np.zeros((1, 7)), np.zeros((1, 7))
    assert _three(m, T, times, a, b) == 6
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
    for edge in _leg(m, T):
        assert abs(_carrier(edge / T) - m) <= 10 * ROUND  # the carrier's slope is 4 per period


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


@pytest.mark.parametrize("m", [-1.0, 1.0])
@pytest.mark.parametrize("two_level", [False, True])
def test_a_bridge_at_full_command_does_not_switch(m: float, two_level: bool) -> None:
    rise, fall = _leg(m, 200e-6)
    assert (fall - rise) / 200e-6 == (1.0 if m > 0 else 0.0)
    lengths, levels = pattern(m, 200e-6, two_level=two_level)
    assert set(levels[lengths > 0.0]) == {m}
