r"""Pulse-width modulation: from a command to the instants at which transistors switch.

The carrier is a triangle over one period T of the current loop, 1 at its ends and
-1 in its middle. Leg A of an H-bridge is high while the modulation m exceeds the
carrier, leg B while -m does; the motor sees the bus voltage times A - B. For m > 0
that is nothing, bus, nothing, bus, nothing during

.. math:: T_1 = T_5 = (1-|m|)\,T/4, \quad T_2 = T_4 = |m|\,T/2, \quad T_3 = (1-|m|)\,T/2   (eq:pwm-intervals)

(Lee 1989, figure 4). Bipolar modulation (``two_level``) drives leg B by the complement of leg A. Transistors switch at
once here; ``dead_time`` makes the patterns of those that do not.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper

SQRT3 = math.sqrt(3.0)
FULL = 1.0 - 1e-12  # a modulation that reaches this is full but for rounding: its leg does not switch
NEVER = math.inf


@helper
def carrier(part: float) -> float:
    """The triangle at ``part`` (0..1) of the period."""
    return 1.0 - 4.0 * part if part < 0.5 else 4.0 * part - 3.0


@helper
def leg_edges(m: float, T: float) -> tuple[float, float]:
    """When a leg rises and falls (eq:pwm-intervals); at full command it is high (0, T) or low (T, T) throughout."""
    if m >= FULL:
        return 0.0, T
    if m <= -FULL:
        return T, T
    return (1.0 - m) * T / 4, T - (1.0 - m) * T / 4  # eq:pwm-intervals


@helper
def due(done: int, rise: float, fall: float) -> float:
    """The next edge of a leg that has ``done`` so many of its two."""
    return rise if done == 0 else (fall if done == 1 else NEVER)


@helper
def h_bridge(m: float, T: float, two_level: int, times: Any, a: Any, row: int) -> int:
    """Edges of one motor in ``times[row]``, the voltage (in bus voltages) between them in ``a[row]``; their number."""
    if two_level:
        times[row, 0], times[row, 1] = leg_edges(m, T)
        a[row, 0], a[row, 1], a[row, 2] = -1.0, 1.0, -1.0
        return 2
    # the leg that is high for longer is high around the other
    level = 1.0 if m > 0.0 else -1.0
    times[row, 0], times[row, 3] = leg_edges(abs(m), T)
    times[row, 1], times[row, 2] = leg_edges(-abs(m), T)
    a[row, 0], a[row, 1], a[row, 2], a[row, 3], a[row, 4] = 0.0, level, 0.0, level, 0.0
    return 4


@helper
def phases(a: float, b: float) -> tuple[float, float, float]:
    """The three phases of a vector with the components alpha and beta."""
    return a, -0.5 * a + 0.5 * SQRT3 * b, -0.5 * a - 0.5 * SQRT3 * b


@helper
def vector(x_0: float, x_1: float, x_2: float) -> tuple[float, float]:
    """Components alpha and beta of three phases; what they have in common drops out."""
    return (2.0 * x_0 - x_1 - x_2) / 3.0, (x_1 - x_2) / SQRT3


@helper
def leg_modulations(m_a: float, m_b: float) -> tuple[float, float, float]:
    r"""Modulations (-1 to 1) of three legs for a voltage vector in bus voltages.

    The phases' commands are shifted by the mean of their extremes, which uses the whole bus
    (space-vector modulation): amplitudes up to :math:`u/\sqrt 3`.
    """
    p_0, p_1, p_2 = phases(m_a, m_b)
    shift = 0.5 * (max(p_0, p_1, p_2) + min(p_0, p_1, p_2))
    m_0 = min(max(2.0 * (p_0 - shift), -1.0), 1.0)
    m_1 = min(max(2.0 * (p_1 - shift), -1.0), 1.0)
    m_2 = min(max(2.0 * (p_2 - shift), -1.0), 1.0)
    return m_0, m_1, m_2


@helper
def three_phase(m_a: float, m_b: float, T: float, times: Any, a: Any, b: Any, row: int) -> int:
    """Edges of a three-phase bridge for a voltage vector (in bus voltages)."""
    m_0, m_1, m_2 = leg_modulations(m_a, m_b)
    rise_0, fall_0 = leg_edges(m_0, T)
    rise_1, fall_1 = leg_edges(m_1, T)
    rise_2, fall_2 = leg_edges(m_2, T)
    done_0, done_1, done_2 = 0, 0, 0
    a[row, 0] = b[row, 0] = 0.0
    for k in range(6):
        next_0, next_1 = due(done_0, rise_0, fall_0), due(done_1, rise_1, fall_1)
        next_2 = due(done_2, rise_2, fall_2)
        times[row, k] = min(next_0, next_1, next_2)
        if next_0 <= next_1 and next_0 <= next_2:
            done_0 += 1
        elif next_1 <= next_2:
            done_1 += 1
        else:
            done_2 += 1
        a[row, k + 1], b[row, k + 1] = vector(
            1.0 if done_0 == 1 else 0.0, 1.0 if done_1 == 1 else 0.0, 1.0 if done_2 == 1 else 0.0
        )
    return 6
