r"""Three legs with dead time and no storage time, from edge to edge of their transistors.

The currents are those of eq:pwm-prediction, and so is all that diodes do (``dead_time``). But a current that is larger
when a leg is commanded to switch than any voltages can bring to zero within the dead time t_d,

.. math:: |x_k| > (\tfrac23 + |e_k|/u_{bus})\,(e^{t_d R/L} - 1)                                    (eq:pwm-safe-current)

decides at once when the leg does switch (eq:pwm-dead-time): there is nothing to look for in between. Two thirds of the
bus is what a phase has at most against the star point. Only near zero a leg is followed through its rest.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.drives.dead_time import (
    HIGH,
    LOW,
    OFF,
    SAME,
    begin_vector,
    carried,
    three_levels,
    zero_within,
)
from servotwin.drives.pwm import FULL, NEVER, leg_edges, leg_modulations, phases, vector
from servotwin.drives.winding_window import decayed

SHORT = 0.05  # time constants up to which ``quick_decay`` is a series
MOST_OF_BUS = 0.6667  # that a phase has against the star point
# what a leg does: before its rise, commanded to rise but late or resting, after its rise, and so on to its last state
BEFORE, RISES_LATE, RISES_RESTING, RAISED, FALLS_LATE, FALLS_RESTING, FALLEN, BEGINS_RESTING = range(8)


@helper
def quick_decay(x: float) -> float:
    """exp(-x) for x >= 0; what the series leaves out is below 2e-13."""
    if x > SHORT:
        return decayed(x)
    x2 = x * x
    return (1.0 - x) + x2 * ((1.0 / 2.0 - x / 6.0) + x2 * ((1.0 / 24.0 - x / 120.0) + x2 / 720.0))


@helper
def fits(m: float, T: float, dead: float) -> bool:
    """Whether a leg switches on and off in a period, each of its rests over before the next one begins."""
    rise, fall = leg_edges(m, T)
    return abs(m) < FULL and rise + dead < fall * (1.0 - SAME) and fall + dead < T + rise * (1.0 - SAME)


@helper
def first_state(rise: float, fall: float, T: float, dead: float) -> tuple[int, float]:
    """What a leg does as the period begins and up to when; its last rest may reach into the period."""
    over = fall + dead - T
    if over > SAME * T:
        return BEGINS_RESTING, over
    return BEFORE, rise


@helper
def next_state(
    state: int, rise: float, fall: float, dead: float, x: float, safe: float
) -> tuple[int, float, float]:
    """What a leg does after the end of its present state, up to when, and its level unless it rests."""
    if state == BEFORE:
        if x < -safe:
            return RAISED, fall, 1.0  # the upper diode takes the current
        return (RISES_LATE if x > safe else RISES_RESTING), rise + dead, 0.0
    if state == RAISED:
        if x > safe:
            return FALLEN, NEVER, 0.0
        return (FALLS_LATE if x < -safe else FALLS_RESTING), fall + dead, 1.0
    if state in (RISES_LATE, RISES_RESTING):
        return RAISED, fall, 1.0
    return (BEFORE, rise, 0.0) if state == BEGINS_RESTING else (FALLEN, NEVER, 0.0)


@helper
def rests(state: int) -> bool:
    """Whether diodes decide about a leg's level, by a current near zero."""
    return state in (RISES_RESTING, FALLS_RESTING, BEGINS_RESTING)


@helper
def side(state: int, level: float) -> int:
    """The transistor of a leg that conducts, or could."""
    if rests(state):
        return OFF
    return HIGH if level > 0.5 else LOW


@helper
def first_zero(side: int, x: float, final: float, slow: float, t: float, end: float) -> float:
    """When the current of a leg that rests comes to zero, NEVER if not up to ``end``."""
    return t + zero_within(x, final, slow, end - t) if side == OFF else NEVER


@part
def three_phase_with_dead_time(
    m_a: float, m_b: float, T: float, x_a: float, x_b: float, e_a: float, e_b: float, slow: float,
    dead: float, times: Any, a: Any, b: Any, row: int,
) -> tuple[int, float, float]:  # fmt: skip
    """``three_phase_with_diodes`` without storage time, and the mean of the vector over the period.

    -1 edges for commands whose pulses or pauses the gaps eat up, and for dead times beyond ``SHORT``.
    """
    m_0, m_1, m_2 = leg_modulations(m_a, m_b)
    fit = fits(m_0, T, dead) and fits(m_1, T, dead) and fits(m_2, T, dead)
    if not (fit and slow > 0.0 and dead < SHORT * slow):
        return -1, 0.0, 0.0
    x_0, x_1, x_2 = phases(x_a, x_b)
    e = phases(e_a, e_b)
    per_slow = 1.0 / slow
    reach = dead * per_slow * (1.0 + dead * per_slow)  # eq:pwm-safe-current, from above
    safe_0, safe_1 = (MOST_OF_BUS + abs(e[0])) * reach, (MOST_OF_BUS + abs(e[1])) * reach
    safe_2 = (MOST_OF_BUS + abs(e[2])) * reach
    rise_0, fall_0 = leg_edges(m_0, T)
    rise_1, fall_1 = leg_edges(m_1, T)
    rise_2, fall_2 = leg_edges(m_2, T)
    state_0, next_0 = first_state(rise_0, fall_0, T, dead)
    state_1, next_1 = first_state(rise_1, fall_1, T, dead)
    state_2, next_2 = first_state(rise_2, fall_2, T, dead)
    t, edges, s_0, s_1, s_2, sum_a, sum_b = 0.0, 0, 0.0, 0.0, 0.0, 0.0, 0.0
    while t < T:
        end = min(next_0, next_1, next_2, T)
        resting = rests(state_0) or rests(state_1) or rests(state_2)
        if resting:
            sides = (side(state_0, s_0), side(state_1, s_1), side(state_2, s_2))
            s_0, s_1, s_2 = three_levels(sides, (x_0, x_1, x_2), e)
        star = (s_0 + s_1 + s_2) / 3.0
        to_0, to_1, to_2 = s_0 - star - e[0], s_1 - star - e[1], s_2 - star - e[2]
        if resting:
            end = min(
                end,
                first_zero(sides[0], x_0, to_0, slow, t, end),
                first_zero(sides[1], x_1, to_1, slow, t, end),
                first_zero(sides[2], x_2, to_2, slow, t, end),
            )
        if end > t + SAME * T:
            level_a, level_b = vector(s_0, s_1, s_2)
            edges = begin_vector(t, level_a, level_b, edges, times, a, b, row)
            sum_a, sum_b = sum_a + level_a * (end - t), sum_b + level_b * (end - t)
        decay = quick_decay((end - t) * per_slow)
        if resting:
            x_0 = carried(sides[0], x_0, s_0, to_0, slow, decay, end - t, SAME * T)
            x_1 = carried(sides[1], x_1, s_1, to_1, slow, decay, end - t, SAME * T)
            x_2 = carried(sides[2], x_2, s_2, to_2, slow, decay, end - t, SAME * T)
        else:
            x_0, x_1, x_2 = (
                to_0 + (x_0 - to_0) * decay,
                to_1 + (x_1 - to_1) * decay,
                to_2 + (x_2 - to_2) * decay,
            )  # eq:pwm-prediction
        t = end
        now = t + SAME * T
        if next_0 <= now:
            state_0, next_0, s_0 = next_state(state_0, rise_0, fall_0, dead, x_0, safe_0)
        if next_1 <= now:
            state_1, next_1, s_1 = next_state(state_1, rise_1, fall_1, dead, x_1, safe_1)
        if next_2 <= now:
            state_2, next_2, s_2 = next_state(state_2, rise_2, fall_2, dead, x_2, safe_2)
    return edges, sum_a / T, sum_b / T
