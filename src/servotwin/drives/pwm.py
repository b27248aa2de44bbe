r"""Pulse-width modulation: from a command to the instants at which transistors switch.

The carrier is a triangle over one period T of the current loop, 1 at its ends and
-1 in its middle. Leg A of an H-bridge is high while the modulation m exceeds the
carrier, leg B while -m does; the motor sees the bus voltage times A - B. For m > 0
that is nothing, bus, nothing, bus, nothing during

.. math:: T_1 = T_5 = (1-|m|)\,T/4, \quad T_2 = T_4 = |m|\,T/2, \quad T_3 = (1-|m|)\,T/2   (eq:pwm-intervals)

(Lee 1989, figure 4). The two-level bridge drives leg B by the complement of leg A.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.dynamics.recursive.jit import helper

SQRT3 = math.sqrt(3.0)


@helper
def carrier(part: float) -> float:
    """The triangle at ``part`` (0..1) of the period."""
    return 1.0 - 4.0 * part if part < 0.5 else 4.0 * part - 3.0


@helper
def leg_edges(m: float, T: float, i: float, dead: float, storage: float) -> tuple[float, float]:
    r"""When a leg rises and falls; ``i`` is the current that leaves it.

    A transistor that carries the current conducts on for its storage time after it is switched off; the
    other current path waits for the dead time to end. So an edge that takes the current from a transistor
    to a diode comes late by the storage time, one from a diode to a transistor late by the dead time:

    .. math:: t_\mathrm{rise} = (1-m)\,T/4 + (t_d, i > 0;\ t_s, i < 0), \quad
              t_\mathrm{fall} = T - (1-m)\,T/4 + (t_s, i > 0;\ t_d, i < 0)          (eq:pwm-dead-time)
    """
    rise, fall = (1.0 - m) * T / 4, T - (1.0 - m) * T / 4  # eq:pwm-intervals
    if i > 0.0:
        rise, fall = rise + dead, fall + storage  # eq:pwm-dead-time
    elif i < 0.0:
        rise, fall = rise + storage, fall + dead
    # a pulse shorter than the delays is swallowed
    fall = min(fall, T)
    return (rise, fall) if rise < fall else (T, T)


@helper
def h_bridge(
    m: float, T: float, i: float, dead: float, storage: float, two_level: int, times: Any, a: Any, row: int
) -> int:
    """Edges of one motor in ``times[row]``, the voltage (in bus voltages) between them in ``a[row]``; their number."""
    rise_a, fall_a = leg_edges(m, T, i, dead, storage)
    if two_level:
        times[row, 0], times[row, 1] = rise_a, fall_a
        a[row, 0], a[row, 1], a[row, 2] = -1.0, 1.0, -1.0
        return 2
    rise_b, fall_b = leg_edges(-m, T, -i, dead, storage)
    done_a, done_b = 0, 0  # edges behind: 1 while the leg is high
    a[row, 0] = 0.0
    for k in range(4):
        next_a = rise_a if done_a == 0 else fall_a
        next_b = rise_b if done_b == 0 else fall_b
        if done_b == 2 or (done_a < 2 and next_a <= next_b):
            times[row, k] = next_a
            done_a += 1
        else:
            times[row, k] = next_b
            done_b += 1
        a[row, k + 1] = (1.0 if done_a == 1 else 0.0) - (1.0 if done_b == 1 else 0.0)
    return 4


@helper
def three_phase(m_a: float, m_b: float, T: float, times: Any, a: Any, b: Any, row: int) -> int:
    r"""Edges of a three-phase bridge for a voltage vector (in bus voltages), symmetric about T/2.

    The phases' commands are shifted by the mean of their extremes, which uses the whole bus
    (space-vector modulation): amplitudes up to :math:`u/\sqrt 3`.
    """
    p0 = m_a
    p1 = -0.5 * m_a + 0.5 * SQRT3 * m_b
    p2 = -0.5 * m_a - 0.5 * SQRT3 * m_b
    shift = 0.5 - 0.5 * (max(p0, p1, p2) + min(p0, p1, p2))
    d0 = min(max(p0 + shift, 0.0), 1.0)
    d1 = min(max(p1 + shift, 0.0), 1.0)
    d2 = min(max(p2 + shift, 0.0), 1.0)
    # phases in falling order of duty: the longest pulse rises first and falls last
    o0, o1, o2 = 0, 1, 2
    if d1 > d0:
        d0, d1, o0, o1 = d1, d0, o1, o0
    if d2 > d1:
        d1, d2, o1, o2 = d2, d1, o2, o1
    if d1 > d0:
        d0, d1, o0, o1 = d1, d0, o1, o0
    times[row, 0], times[row, 1], times[row, 2] = (1.0 - d0) * T / 2, (1.0 - d1) * T / 2, (1.0 - d2) * T / 2
    times[row, 3], times[row, 4], times[row, 5] = (1.0 + d2) * T / 2, (1.0 + d1) * T / 2, (1.0 + d0) * T / 2
    h0 = h1 = h2 = 0.0
    for k in range(7):
        a[row, k] = (2.0 * h0 - h1 - h2) / 3.0
        b[row, k] = (h1 - h2) / SQRT3
        if k < 6:
            phase = (o0, o1, o2, o2, o1, o0)[k]
            level = 1.0 if k < 3 else 0.0
            if phase == 0:
                h0 = level
            elif phase == 1:
                h1 = level
            else:
                h2 = level
    return 6
