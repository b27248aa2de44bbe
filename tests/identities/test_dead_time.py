"""Bridges with dead time: patterns against a bridge with diodes that is followed in fine steps, and the known loss."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as draw
from numba import njit

from servotwin.drives.dead_time import h_bridge_with_diodes, mean_level, three_phase_with_diodes
from servotwin.simulation.work import MAX_EDGES

T, SLOW = 200e-6, 364e-6  # the W motor of the GSIS SCARA: 0.39 mH, 1.07 ohm
ROUND = 1e-12  # parts of a period: sums and differences of a few rounded numbers
FINE = 20_000  # steps of the bridge that is followed: 10 ns


@njit
def _bridge(
    m: float, T: float, x: float, e: float, slow: float, dead: float, storage: float, two: int, times: Any, a: Any
) -> tuple[int, float]:
    edges = h_bridge_with_diodes(m, T, x, e, slow, dead, storage, two, times, a, 0)
    return edges, mean_level(times, a, 0, edges, T)


@njit
def _three(
    m: Any, T: float, x: Any, e: Any, slow: float, dead: float, storage: float, times: Any, a: Any, b: Any
) -> int:
    return three_phase_with_diodes(
        m[0], m[1], T, x[0], x[1], e[0], e[1], slow, dead, storage, times, a, b, 0
    )


def pattern(
    m: float, x: float = 0.0, *, e: float = 0.0, slow: float = SLOW, T: float = T, dead: float = 0.0,
    storage: float = 0.0, two_level: bool = False,
) -> tuple[np.ndarray, np.ndarray, float]:  # fmt: skip
    """Lengths of the intervals, the voltages in them and their mean, in bus voltages."""
    times, a = np.zeros((1, MAX_EDGES)), np.zeros((1, MAX_EDGES + 1))
    edges, mean = _bridge(m, T, x, e, slow, dead, storage, int(two_level), times, a)
    assert edges <= 14  # two for each of four edges of the legs, and the zeros of the current between them
    lengths = np.diff(np.concatenate([[0.0], times[0, :edges], [T]]))
    return lengths, a[0, : edges + 1], mean


def three_pattern(
    m: tuple[float, float], x: tuple[float, float], *, e: tuple[float, float] = (0.0, 0.0), slow: float = SLOW,
    T: float = T, dead: float = 0.0, storage: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Lengths of the intervals and the voltage vectors in them."""
    times, a, b = np.zeros((1, MAX_EDGES)), np.zeros((1, MAX_EDGES + 1)), np.zeros((1, MAX_EDGES + 1))
    edges = _three(m, T, x, e, slow, dead, storage, times, a, b)
    assert edges < MAX_EDGES
    return np.diff(np.concatenate([[0.0], times[0, :edges], [T]])), a[0, : edges + 1], b[0, : edges + 1]


# --- a bridge with diodes, followed in fine steps ---------------------------------------------------


@njit
def gate(t: float, m: float, dead: float) -> int:
    """1: upper transistor on, -1: lower one, 0: none; the carrier is a triangle, and what turns on waits."""
    now = 1.0 if m > (1.0 - 4.0 * t / T if t < T / 2 else 4.0 * t / T - 3.0) else -1.0
    back = (t - dead) % T
    then = 1.0 if m > (1.0 - 4.0 * back / T if back < T / 2 else 4.0 * back / T - 3.0) else -1.0
    return int(now) if now == then else 0


@njit
def rails(g: int, i: float) -> tuple[float, float]:
    """Lowest and highest voltage of a leg that the current i leaves."""
    if g != 0:
        return max(g, 0.0), max(g, 0.0)
    return (0.0 if i >= 0.0 else 1.0), (1.0 if i <= 0.0 else 0.0)


@njit
def follow(m: float, e: float, dead: float, two: int, periods: int) -> tuple[float, float]:
    """Mean voltage of the last period and the current (times R / u) at its end, from rest, in steps of T / FINE."""
    x, mean, h = 0.0, 0.0, T / FINE
    for _ in range(periods):
        mean = 0.0
        for k in range(FINE):
            t = (k + 0.5) * h
            g_a = gate(t, m, dead)
            g_b = -g_a if two else gate(t, -m, dead)
            low_a, high_a = rails(g_a, x)
            low_b, high_b = rails(g_b, -x)
            u = min(max(e, low_a - high_b), high_a - low_b)  # both diodes block between the rails
            new = x + h / SLOW * (u - e - x)
            if new * x < 0.0 and (g_a == 0 or g_b == 0):
                u, new = u * x / (x - new) + e * new / (new - x), 0.0  # it ends within the step
            x, mean = new, mean + u / FINE
    return mean, x


def settled(m: float, e: float, dead: float, two_level: bool, periods: int) -> tuple[float, float]:
    """The same by the patterns, each made with the current that the one before left."""
    x, mean = 0.0, 0.0
    for _ in range(periods):
        lengths, levels, mean = pattern(m, x, e=e, dead=dead, two_level=two_level)
        for tau, level in zip(lengths, levels, strict=True):
            x = (level - e) + (x - level + e) * math.exp(-tau / SLOW)
    return mean, x


@pytest.mark.parametrize("two_level", [False, True])
@pytest.mark.parametrize("e", [0.0, 0.2, -0.45])
@pytest.mark.parametrize("dead", [1e-6, 3e-6, 5e-6])
def test_dead_zone_is_that_of_a_bridge_with_diodes(dead: float, e: float, two_level: bool) -> None:
    """Mean voltage and current over commands that carry the current through zero; a step of 10 ns is 1e-4 of T."""
    wide = 4.0 * dead / T
    for m in e + np.linspace(-wide, wide, 33):
        wanted, i_wanted = follow(m, e, dead, int(two_level), 25)
        mean, i = settled(m, e, dead, two_level, 25)
        assert mean == pytest.approx(wanted, abs=2e-4), m
        assert i == pytest.approx(i_wanted, abs=2e-4), m
