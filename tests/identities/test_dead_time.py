"""Bridges with dead time: patterns against a bridge with diodes that is followed in fine steps, and the known loss."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as draw
from numba import njit

from servotwin.drives.dead_time import h_bridge_with_diodes, mean_level, three_phase_with_diodes
from servotwin.drives.dead_time_three_phase import three_phase_with_dead_time
from servotwin.simulation.plant.records import MAX_EDGES

T, SLOW = 200e-6, 364e-6  # the W motor of the GSIS SCARA: 0.39 mH, 1.07 ohm
ROUND = 1e-12  # parts of a period: sums and differences of a few rounded numbers
FINE = 20_000  # steps of the bridge that is followed: 10 ns
EVEN = 1e-4  # current within which the diodes of three legs share it, times R / u
BIG = 50.0  # current that no voltage brings to zero within a period, times R / u


@njit
def _bridge(
    m: float,
    T: float,
    x: float,
    e: float,
    slow: float,
    dead: float,
    storage: float,
    two: int,
    times: Any,
    a: Any,
) -> tuple[int, float]:
    edges = h_bridge_with_diodes(m, T, x, e, slow, dead, storage, two, times, a, 0)
    return edges, mean_level(times, a, 0, edges, T)


@njit
def _three(
    m: Any, T: float, x: Any, e: Any, slow: float, dead: float, storage: float, times: Any, a: Any, b: Any
) -> int:
    return three_phase_with_diodes(m[0], m[1], T, x[0], x[1], e[0], e[1], slow, dead, storage, times, a, b, 0)


@njit
def _three_followed_near_zero(
    m: Any, T: float, x: Any, e: Any, slow: float, dead: float, times: Any, a: Any, b: Any
) -> tuple[int, float, float]:
    return three_phase_with_dead_time(m[0], m[1], T, x[0], x[1], e[0], e[1], slow, dead, times, a, b, 0)


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


@njit
def follow_three(m: Any, e: Any, dead: float, periods: int) -> tuple[float, float, float, float]:
    """Mean vector and current of three legs; a resting leg goes from rail to rail while its current is within EVEN."""
    x, s, mean, h = np.zeros(3), np.zeros(3), np.zeros(3), T / FINE
    for _ in range(periods):
        mean[:] = 0.0
        for k in range(FINE):
            for leg in range(3):
                g = gate((k + 0.5) * h, m[leg], dead)
                s[leg] = max(g, 0.0) if g != 0 else min(max(0.5 - 0.5 * x[leg] / EVEN, 0.0), 1.0)
            u = s - s.mean()
            x += h / SLOW * (u - e - x)
            mean += u / FINE
    return mean[0], (mean[1] - mean[2]) / math.sqrt(3.0), x[0], (x[1] - x[2]) / math.sqrt(3.0)


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


def spread(size: float, angle: float) -> np.ndarray:
    """The three phases of a vector."""
    return size * np.cos(angle - 2.0 * np.pi / 3.0 * np.arange(3))


@pytest.mark.parametrize("turned", [0.1, 1.3, 2.9, -2.0])
@pytest.mark.parametrize("size", [0.0, 0.004, 0.015, 0.03, 0.1])
@pytest.mark.parametrize("e", [0.0, 0.2])
def test_three_legs_do_what_legs_with_diodes_do(e: float, size: float, turned: float) -> None:
    """Commands of a size about that of the dead time's loss, 0.015 of the bus a leg, beside a standing back-EMF."""
    dead = 3e-6
    emf = np.array([e * math.cos(0.6), e * math.sin(0.6)])
    m = emf + np.array([size * math.cos(turned), size * math.sin(turned)])
    legs = spread(float(np.hypot(*m)), math.atan2(m[1], m[0]))
    legs = 2.0 * (legs - 0.5 * (legs.max() + legs.min()))
    wanted = follow_three(legs, spread(e, 0.6), dead, 20)
    x = np.zeros(2)
    for _ in range(20):
        lengths, a, b = three_pattern(tuple(m), tuple(x), e=tuple(emf), dead=dead)
        for tau, level in zip(lengths, np.column_stack([a, b]), strict=True):
            x = (level - emf) + (x - level + emf) * math.exp(-tau / SLOW)
    mean = np.array([lengths @ a, lengths @ b]) / T
    np.testing.assert_allclose([*mean, *x], wanted, atol=5e-4)  # a step, and what the diodes share


# --- away from zero current -------------------------------------------------------------------------

PARTS = draw.floats(0.0, 0.02)
SIGN = draw.sampled_from([-1.0, 1.0])
ANGLE = draw.floats(-math.pi, math.pi)


@given(draw.floats(-0.9, 0.9), draw.floats(1e-5, 1e-2), PARTS, PARTS, SIGN, draw.booleans())
def test_dead_and_storage_time_shift_the_mean_against_the_current(
    m: float, T: float, dead: float, storage: float, sign: float, two_level: bool
) -> None:
    # eq:pwm-dead-time for both legs, eq:pwm-mean; no pulse is so short that it would vanish: (1 - 0.9) / 4 > 0.02
    lengths, levels, mean = pattern(
        m, sign * BIG, T=T, slow=10 * T, dead=dead * T, storage=storage * T, two_level=two_level
    )
    assert np.all(lengths >= 0.0)
    assert float(lengths @ levels) / T == pytest.approx(mean, abs=ROUND)
    assert mean == pytest.approx(m - 2.0 * (dead - storage) * sign, abs=ROUND)


@given(draw.floats(-1.0, 1.0), draw.floats(0.0, 0.2), draw.floats(0.0, 0.2), draw.floats(-2.0, 2.0),
       draw.floats(-1.2, 1.2), draw.floats(0.0, 10.0), draw.booleans())  # fmt: skip
def test_pattern_fills_the_period_whatever_the_current_does(
    m: float, dead: float, storage: float, x: float, e: float, slow: float, two_level: bool
) -> None:
    lengths, levels, _ = pattern(m, x, e=e, slow=slow, T=1.0, dead=dead, storage=storage, two_level=two_level)
    assert np.all(lengths >= 0.0)
    assert abs(lengths.sum() - 1.0) <= ROUND
    assert np.all(np.abs(levels) <= 1.0)


@pytest.mark.parametrize("x", [-3.0, 0.0, 3.0])
@pytest.mark.parametrize("m", [-1.0, 1.0])
@pytest.mark.parametrize("two_level", [False, True])
def test_a_bridge_at_full_command_loses_nothing(m: float, x: float, two_level: bool) -> None:
    _, levels, mean = pattern(m, x, dead=4e-6, storage=1e-6, two_level=two_level)
    assert levels.tolist() == [m]
    assert mean == m


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("m", [-0.999, 0.999])
@pytest.mark.parametrize(("dead", "storage"), [(4e-6, 0.0), (4e-6, 1e-6), (0.0, 4e-6)])
def test_legs_that_switch_for_a_moment_are_late_in_full(
    m: float, sign: float, dead: float, storage: float
) -> None:
    """A pulse or pause of 0.1 us becomes longer or shorter by t_d - t_s in each leg, down to nothing."""
    _, _, mean = pattern(m, sign * BIG, slow=1.0, dead=dead, storage=storage)
    leg_a = min(max(m - 2.0 * sign * (dead - storage) / T, -1.0), 1.0)
    leg_b = min(max(-m + 2.0 * sign * (dead - storage) / T, -1.0), 1.0)
    assert mean == pytest.approx(0.5 * (leg_a - leg_b), abs=ROUND)  # eq:pwm-mean


@given(ANGLE, draw.floats(0.0, 0.5), ANGLE, PARTS, PARTS)
def test_three_phases_lose_the_dead_time_of_every_leg(
    at: float, size: float, turned: float, dead: float, storage: float
) -> None:
    """Each leg gives sign(i) (t_d - t_s) / T of the bus less, the mean over the period of eq:pwm-dead-time."""
    phases = spread(1.0, turned)
    assume(np.abs(phases).min() > 0.1)
    m, x = (size * math.cos(at), size * math.sin(at)), (BIG * math.cos(turned), BIG * math.sin(turned))
    lost = np.sign(phases) * (dead - storage)
    wanted = np.array(m) - [(2 * lost[0] - lost[1] - lost[2]) / 3, (lost[1] - lost[2]) / math.sqrt(3)]
    lengths, a, b = three_pattern(m, x, slow=10.0, T=1.0, dead=dead, storage=storage)
    assert np.all(lengths >= 0.0)
    assert [lengths @ a, lengths @ b] == pytest.approx(list(wanted), abs=10 * ROUND)


@given(ANGLE, draw.floats(0.0, 0.7), ANGLE, draw.floats(0.0, 2.0), ANGLE, draw.floats(0.0, 0.8), PARTS, PARTS,
       draw.floats(0.0, 10.0))  # fmt: skip
def test_three_legs_fill_the_period_whatever_their_currents_do(
    at: float,
    size: float,
    turned: float,
    x: float,
    ahead: float,
    e: float,
    dead: float,
    storage: float,
    slow: float,
) -> None:
    lengths, a, b = three_pattern(
        (size * math.cos(at), size * math.sin(at)), (x * math.cos(turned), x * math.sin(turned)),
        e=(e * math.cos(ahead), e * math.sin(ahead)), slow=slow, T=1.0, dead=dead, storage=storage,
    )  # fmt: skip
    assert np.all(lengths >= 0.0)
    assert abs(lengths.sum() - 1.0) <= ROUND
    assert np.all(np.hypot(a, b) <= 2.0 / 3.0 + ROUND)


def vectors(times: np.ndarray, a: np.ndarray, b: np.ndarray, edges: int, at: np.ndarray) -> np.ndarray:
    """The voltage vectors of a pattern at these instants."""
    place = np.searchsorted(times[0, :edges], at, side="right")
    return np.stack([a[0, place], b[0, place]])


@given(ANGLE, draw.floats(0.0, 0.6), ANGLE, draw.sampled_from([0.0, 0.003, 0.03, 0.3]), ANGLE,
       draw.floats(0.0, 0.5), draw.floats(0.001, 0.06), draw.floats(1.3, 40.0))  # fmt: skip
def test_legs_followed_near_zero_only_switch_as_legs_followed_throughout(
    at: float, size: float, turned: float, current: float, ahead: float, emf: float, dead: float, slow: float
) -> None:
    """``three_phase_with_dead_time`` makes the pattern of ``three_phase_with_diodes``, and its mean."""
    m, x = (
        (size * math.cos(at), size * math.sin(at)),
        (current * math.cos(turned), current * math.sin(turned)),
    )
    e = (emf * math.cos(ahead), emf * math.sin(ahead))
    one = np.zeros((1, MAX_EDGES)), np.zeros((1, MAX_EDGES + 1)), np.zeros((1, MAX_EDGES + 1))
    other = np.zeros((1, MAX_EDGES)), np.zeros((1, MAX_EDGES + 1)), np.zeros((1, MAX_EDGES + 1))
    edges, mean_a, mean_b = _three_followed_near_zero(m, 1.0, x, e, slow, dead, *one)
    assume(edges >= 0)  # no pulse or pause that the gaps eat up
    others = _three(m, 1.0, x, e, slow, dead, 0.0, *other)
    instants = np.unique(np.concatenate([[0.0, 1.0], one[0][0, :edges], other[0][0, :others]]))
    middles, lengths = 0.5 * (instants[1:] + instants[:-1]), np.diff(instants)
    u, v = vectors(*one, edges, middles), vectors(*other, others, middles)
    assert np.abs(u - v).sum(axis=0) @ lengths <= 10 * ROUND
    assert [mean_a, mean_b] == pytest.approx(list(v @ lengths), abs=10 * ROUND)


@pytest.mark.parametrize(("m", "slow"), [((0.66, 0.0), 10.0), ((0.2, 0.1), 0.0), ((0.2, 0.1), 0.5)])
def test_pulses_eaten_by_gaps_and_quick_windings_are_left_to_the_legs_followed_throughout(
    m: tuple[float, float], slow: float
) -> None:
    room = np.zeros((1, MAX_EDGES)), np.zeros((1, MAX_EDGES + 1)), np.zeros((1, MAX_EDGES + 1))
    assert _three_followed_near_zero(m, 1.0, (0.1, 0.0), (0.0, 0.0), slow, 0.03, *room)[0] == -1
