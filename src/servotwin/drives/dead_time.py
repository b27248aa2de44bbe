r"""Legs whose transistors rest for the dead time: what the diodes do with the current of each edge.

While neither transistor of a leg conducts, the current i that leaves it decides its voltage: i > 0 flows through the
lower diode and the leg is low, i < 0 through the upper one and it is high. Where the current reaches zero both diodes
block, and the leg floats at the voltage that keeps it zero, the back-EMF e, as long as this lies between the rails:

.. math:: s = s_{low}\ (i > 0), \quad s_{high}\ (i < 0), \quad
              \min(\max(e / u_{bus}, s_{low}), s_{high})\ (i = 0)                          (eq:pwm-diodes)

The pattern of a period is made at its beginning, with the current that the winding will have at every edge,

.. math:: x(t) = x_\infty + (x_0 - x_\infty)\,e^{-t R/L}, \qquad x = R\,i/u_{bus}, \quad x_\infty = s - e/u_{bus}
                                                                                           (eq:pwm-prediction)

which reaches zero after :math:`(L/R) \ln(1 - x_0/x_\infty)`. The back-EMF e is constant within the period. A leg
stays on its side for the storage time after its conducting transistor is switched off. Away from zero current so

.. math:: t_\mathrm{rise} = (1-m)\,T/4 + (t_d, i > 0;\ t_s, i < 0), \quad
          t_\mathrm{fall} = T - (1-m)\,T/4 + (t_s, i > 0;\ t_d, i < 0)                     (eq:pwm-dead-time)

and the mean of a leg, from -1 (low) to 1 (high), is

.. math:: \bar m = m - 2\,\mathrm{sign}(i)\,(t_d - t_s)/T, \quad |\bar m| \le 1               (eq:pwm-mean)

Theory: docs/theory/pwm.md.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.drives.pwm import FULL, NEVER, leg_edges, leg_modulations, phases, vector
from servotwin.drives.winding_window import decayed

HIGH, OFF, LOW = 1, 0, -1
SAME = 1e-13  # parts of a period: instants that differ by less are one
Leg = tuple[
    float, float, float, float
]  # commanded rise and fall, and for how long its side is kept after each


@helper
def leg_of(m: float, T: float, i: float, dead: float, storage: float) -> Leg:
    """A leg at the beginning of a period; ``i``: sign of the current that leaves it.

    What of the last fall reaches beyond the period is taken to be that of this period's.
    """
    if m >= FULL:
        return -NEVER, NEVER, 0.0, 0.0
    if m <= -FULL:
        return NEVER, -NEVER, 0.0, 0.0
    rise, fall = leg_edges(m, T)
    kept = storage if i > 0.0 and rise + dead < fall else 0.0
    return rise, fall, 0.0, kept


@helper
def side_of(leg: Leg, t: float, T: float, dead: float) -> int:
    """Which transistor of a leg conducts, or could, just after the instant t."""
    rise, fall, kept_low, kept_high = leg
    t += SAME * T
    if rise <= t < rise + kept_low:
        return LOW
    if fall <= t < fall + kept_high or t < fall - T + kept_high:
        return HIGH
    if rise <= t < fall:
        return OFF if t < rise + dead else HIGH
    return OFF if t < (fall - T if t < rise else fall) + dead else LOW


@helper
def sooner(at: float, t: float, best: float) -> float:
    """The earlier of two instants, if the first is still to come."""
    return at if t < at < best else best


@helper
def next_change(leg: Leg, t: float, T: float, dead: float) -> float:
    """When a leg is commanded to switch, or switches, next after the instant t; T if not in this period."""
    rise, fall, kept_low, kept_high = leg
    t, best = t + SAME * T, T
    for at in (rise, rise + kept_low, rise + dead, fall, fall + kept_high, fall + dead):
        best = sooner(at, t, best)
    return sooner(fall - T + dead, t, sooner(fall - T + kept_high, t, best))


@helper
def switched_off(leg: Leg, t: float, T: float, side: int, i: float, storage: float) -> Leg:
    """The leg with what it keeps of its ``side`` if the instant t switches a transistor off that carries i."""
    rise, fall, kept_low, kept_high = leg
    if abs(t - rise) <= SAME * T:
        kept_low = storage if side == LOW and i < 0.0 else 0.0
    if abs(t - fall) <= SAME * T:
        kept_high = storage if side == HIGH and i > 0.0 else 0.0
    return rise, fall, kept_low, kept_high


@helper
def leg_after(
    leg: Leg, side: int, following: float, t: float, T: float, i: float, dead: float, storage: float
) -> tuple[Leg, int, float]:
    """The leg just after the instant t, its side and when it changes next; the same again if that is later than t.

    ``following``: when it was to change next; ``i``: current that leaves it.
    """
    if following > t + SAME * T:
        return leg, side, following
    leg = switched_off(leg, t, T, side, i, storage)
    return leg, side_of(leg, t, T, dead), next_change(leg, t, T, dead)


@helper
def after(x: float, final: float, slow: float, t: float) -> float:
    """A current that tends to ``final``, t later (eq:pwm-prediction)."""
    return final + (x - final) * math.exp(-t / slow) if slow > 0.0 else final


@helper
def zero_within(x: float, final: float, slow: float, span: float) -> float:
    """When a current that tends to ``final`` reaches zero; NEVER where that clearly lies beyond ``span``.

    ln(1 + z) >= z / (1 + z) with z = -x / final, and most currents are far from zero.
    """
    if x * final >= 0.0 or slow * abs(x) > span * (abs(final) + abs(x)):
        return NEVER
    return slow * math.log1p(-x / final)


@helper
def begin_level(t: float, level: float, edges: int, times: Any, a: Any, row: int) -> int:
    """Let ``level`` hold from the instant t on; the number of edges then."""
    if t <= 0.0:
        a[row, 0] = level
        return 0
    if level == a[row, edges] or edges == times.shape[1]:
        return edges
    times[row, edges], a[row, edges + 1] = t, level
    return edges + 1


@helper
def begin_vector(t: float, s_a: float, s_b: float, edges: int, times: Any, a: Any, b: Any, row: int) -> int:
    """``begin_level`` for a voltage vector."""
    if t <= 0.0:
        a[row, 0], b[row, 0] = s_a, s_b
        return 0
    if (s_a == a[row, edges] and s_b == b[row, edges]) or edges == times.shape[1]:
        return edges
    times[row, edges], a[row, edges + 1], b[row, edges + 1] = t, s_a, s_b
    return edges + 1


@helper
def mean_level(times: Any, a: Any, row: int, edges: int, T: float) -> float:
    """Mean of a pattern over its period."""
    total: float = 0.0
    begin: float = 0.0
    for k in range(edges):
        total += a[row, k] * (times[row, k] - begin)
        begin = times[row, k]
    total += a[row, edges] * (T - begin)
    return total / T


@part
def h_bridge_with_diodes(
    m: float, T: float, x: float, e: float, slow: float, dead: float, storage: float, two_level: int,
    times: Any, a: Any, row: int,
) -> int:  # fmt: skip
    """``h_bridge`` with dead and storage time.

    ``x``: current at the beginning, times R / u_bus; ``e``: back-EMF in bus voltages; ``slow``: L / R [s].
    """
    leg_a, leg_b = leg_of(m, T, x, dead, storage), leg_of(-m, T, -x, dead, storage)
    t, edges = 0.0, 0
    side_a, side_b = side_of(leg_a, t, T, dead), side_of(leg_b, t, T, dead)
    next_a, next_b = next_change(leg_a, t, T, dead), next_change(leg_b, t, T, dead)
    while t < T:
        end = min(next_a, next_b)
        if two_level:  # leg B is the mirror of leg A
            side_b = -side_a
        low = (1.0 if side_a == HIGH else 0.0) - (0.0 if side_b == LOW else 1.0)
        high = (0.0 if side_a == LOW else 1.0) - (1.0 if side_b == HIGH else 0.0)
        level = low if x > 0.0 else (high if x < 0.0 else min(max(e, low), high))  # eq:pwm-diodes
        zero = t + zero_within(x, level - e, slow, end - t) if low < high else NEVER
        if zero < end:
            if zero > t + SAME * T:
                edges = begin_level(t, level, edges, times, a, row)
            t, x, level = zero, 0.0, min(max(e, low), high)  # eq:pwm-diodes
        edges = begin_level(t, level, edges, times, a, row)
        x, t = after(x, level - e, slow, end - t), end
        leg_a, side_a, next_a = leg_after(leg_a, side_a, next_a, t, T, x, dead, storage)
        leg_b, side_b, next_b = leg_after(leg_b, side_b, next_b, t, T, -x, dead, storage)
    return edges


@helper
def floating(side: int, x: float) -> bool:
    """True for a leg that neither a transistor nor a diode ties to a rail."""
    return side == OFF and x == 0.0


@helper
def tied(side: int, x: float) -> float:
    """Level of a leg that does not float (eq:pwm-diodes)."""
    return 1.0 if side == HIGH or (side == OFF and x < 0.0) else 0.0


@helper
def three_levels(
    sides: tuple[int, int, int], x: tuple[float, float, float], e: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Levels of three legs: the floating ones stand as far above their back-EMF as the others in the mean."""
    s_0, s_1, s_2 = tied(sides[0], x[0]), tied(sides[1], x[1]), tied(sides[2], x[2])
    free_0, free_1, free_2 = floating(sides[0], x[0]), floating(sides[1], x[1]), floating(sides[2], x[2])
    if not (free_0 or free_1 or free_2):
        return s_0, s_1, s_2
    for _ in range(2):  # a floating leg that meets a rail stays there, and counts for the others
        bound = (0 if free_0 else 1) + (0 if free_1 else 1) + (0 if free_2 else 1)
        star = (
            (0.0 if free_0 else s_0 - e[0]) + (0.0 if free_1 else s_1 - e[1]) + (0.0 if free_2 else s_2 - e[2])
        ) / bound if bound else 0.5  # fmt: skip
        s_0, free_0 = (min(max(e[0] + star, 0.0), 1.0), 0.0 < e[0] + star < 1.0) if free_0 else (s_0, False)
        s_1, free_1 = (min(max(e[1] + star, 0.0), 1.0), 0.0 < e[1] + star < 1.0) if free_1 else (s_1, False)
        s_2, free_2 = (min(max(e[2] + star, 0.0), 1.0), 0.0 < e[2] + star < 1.0) if free_2 else (s_2, False)
    return s_0, s_1, s_2


@helper
def carried(
    side: int, x: float, s: float, final: float, slow: float, decay: float, t: float, close: float
) -> float:
    """Current of a phase after the time t; zero where its diodes end it, or while its leg floats."""
    if side == OFF and (zero_within(x, final, slow, t + close) <= t + close or (x == 0.0 and 0.0 < s < 1.0)):
        return 0.0
    return final + (x - final) * decay  # eq:pwm-prediction


@part
def three_phase_with_diodes(
    m_a: float, m_b: float, T: float, x_a: float, x_b: float, e_a: float, e_b: float, slow: float,
    dead: float, storage: float, times: Any, a: Any, b: Any, row: int,
) -> int:  # fmt: skip
    """``three_phase`` with dead and storage time; vectors of current (times R / u_bus) and back-EMF as above."""
    m_0, m_1, m_2 = leg_modulations(m_a, m_b)
    x_0, x_1, x_2 = phases(x_a, x_b)
    e = phases(e_a, e_b)
    leg_0 = leg_of(m_0, T, x_0, dead, storage)
    leg_1 = leg_of(m_1, T, x_1, dead, storage)
    leg_2 = leg_of(m_2, T, x_2, dead, storage)
    side_0, next_0 = side_of(leg_0, 0.0, T, dead), next_change(leg_0, 0.0, T, dead)
    side_1, next_1 = side_of(leg_1, 0.0, T, dead), next_change(leg_1, 0.0, T, dead)
    side_2, next_2 = side_of(leg_2, 0.0, T, dead), next_change(leg_2, 0.0, T, dead)
    t, edges, per_slow = 0.0, 0, 1.0 / slow if slow > 0.0 else 0.0
    while t < T:
        s_0, s_1, s_2 = three_levels((side_0, side_1, side_2), (x_0, x_1, x_2), e)
        star = (s_0 + s_1 + s_2) / 3.0
        to_0, to_1, to_2 = s_0 - star - e[0], s_1 - star - e[1], s_2 - star - e[2]
        end = min(next_0, next_1, next_2)
        if OFF in (side_0, side_1, side_2):
            end = min(
                end,
                t + zero_within(x_0, to_0, slow, end - t) if side_0 == OFF else NEVER,
                t + zero_within(x_1, to_1, slow, end - t) if side_1 == OFF else NEVER,
                t + zero_within(x_2, to_2, slow, end - t) if side_2 == OFF else NEVER,
            )
        if end > t + SAME * T:
            level_a, level_b = vector(s_0, s_1, s_2)
            edges = begin_vector(t, level_a, level_b, edges, times, a, b, row)
        decay = decayed((end - t) * per_slow) if slow > 0.0 else 0.0
        x_0 = carried(side_0, x_0, s_0, to_0, slow, decay, end - t, SAME * T)
        x_1 = carried(side_1, x_1, s_1, to_1, slow, decay, end - t, SAME * T)
        x_2 = carried(side_2, x_2, s_2, to_2, slow, decay, end - t, SAME * T)
        t = end
        leg_0, side_0, next_0 = leg_after(leg_0, side_0, next_0, t, T, x_0, dead, storage)
        leg_1, side_1, next_1 = leg_after(leg_1, side_1, next_1, t, T, x_1, dead, storage)
        leg_2, side_2, next_2 = leg_after(leg_2, side_2, next_2, t, T, x_2, dead, storage)
    return edges
