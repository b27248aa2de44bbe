r"""The motors behind stiff gears of a robot that has elastic ones too, through one window, with their events.

They turn with the arm, and with each other: with the inverse inertia B at these motors (eq:motor-inverse-inertia) and
the accelerations :math:`\beta_0 + \beta_1 t` that they would have without their own torques, a set f of them moves and
a set s sticks by

.. math::

    p_s = -B_{ss}^{-1} (\beta_s + B_{sf}\,\tau_f), \qquad
    \alpha_f = \beta_f + B_{ff}\,\tau_f + B_{fs}\,p_s                                  (eq:stuck-motors)

where :math:`\tau_f` is torque less friction and p what the gear passes on to hold a joint. From one edge of any of
them to the next, and cut where one turns round or breaks away, currents and impulses follow as in ``elastic_motor``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, part
from servotwin.drives.friction import breakaway_direction, holding_slack, part_on_curve
from servotwin.drives.records import FREE, STUCK
from servotwin.simulation.plant.event_steps import FAR, SHORTEST, inside_bracket, next_trial, turned_twice
from servotwin.simulation.plant.stuck_shafts import factor, solve
from servotwin.simulation.windows.dc_stiff_lanes import BRIEF
from servotwin.simulation.windows.elastic_motor import (
    CUTS_ON_CURVE,
    MOST_DECAYED,
    MOST_EVENTS,
    MOST_ON_CURVE,
    SAME,
    crossing,
    first_guess,
    just_beyond,
    middle_speed,
    nearer_trial,
)
from servotwin.simulation.windows.stiff_lanes import (
    answer_to,
    begin_interval,
    begin_stiff_lanes,
    end_stiff_lanes,
    fill_mode,
    keep_step,
    least,
    stiff_step,
)


@part
def factor_stuck(world: Any, motors: Any) -> None:
    """Number of the motors that stick, and the factor of their B_ss."""
    elastic, scratch = world.elastic_window, world.scratch
    row = 0
    for r in range(elastic.stiff_count):
        if motors[elastic.stiff[r]].mode != STUCK:
            continue
        column = 0
        for q in range(r + 1):
            if motors[elastic.stiff[q]].mode == STUCK:
                scratch.S[row, column] = 0.5 * (elastic.B[r, q] + elastic.B[q, r])
                column += 1
        row += 1
    elastic.stuck_count = row
    factor(scratch.S, row)


@helper
def answer_column(world: Any, column: Any, out: Any) -> None:
    """What accelerations ``column`` of all motors become where some stick, and the torques that hold those."""
    elastic, scratch, sticks = world.elastic_window, world.scratch, world.stiff_lanes.sticks
    count = 0
    for r in range(elastic.stiff_count):
        if sticks[r] > 0.0:
            scratch.reaction[count] = -column[r]
            count += 1
    solve(scratch.S, count, scratch.reaction, 0)
    for r in range(elastic.stiff_count):
        total, count = column[r], 0
        for q in range(elastic.stiff_count):
            if sticks[q] > 0.0:
                total += elastic.B[r, q] * scratch.reaction[count]
                count += 1
        out[r] = total
    count = 0
    for r in range(elastic.stiff_count):
        if sticks[r] > 0.0:
            out[r] = scratch.reaction[count]
            count += 1


@part
def answer_motors(world: Any, motors: Any) -> None:
    """Make eq:stuck-motors one matrix for the torques of those that move, and two columns for the drift."""
    elastic, lanes = world.elastic_window, world.stiff_lanes
    factor_stuck(world, motors)
    for k in range(elastic.stiff_count):
        for r in range(elastic.stiff_count):
            lanes.answer[k, r] = elastic.B[r, k] if lanes.sticks[k] == 0.0 else 0.0
        if elastic.stuck_count > 0 and lanes.sticks[k] == 0.0:
            answer_column(world, elastic.B[:, k], lanes.answer[k])
    for k in range(2):
        for r in range(elastic.stiff_count):
            lanes.answer_drift[k, r] = lanes.drift[k, r]
        if elastic.stuck_count > 0:
            answer_column(world, lanes.drift[k], lanes.answer_drift[k])


@helper
def change_mode(world: Any, motor: Any, r: int, mode: int) -> None:
    """Let a shaft stick or slide."""
    motor.mode = mode
    if mode == STUCK:
        world.stiff_lanes.w[r] = 0.0
    fill_mode(world, motor, r)


@helper
def change_stuck(world: Any, motors: Any, held: Any) -> bool:
    """Let go what does not hold against what it passes on; true if one did."""
    lanes = world.stiff_lanes
    changed = False
    for r in range(lanes.count):
        motor = motors[world.elastic_window.stiff[r]]
        if motor.mode == STUCK and holding_slack(motor, lanes.tau[r], held[r]) < 0.0:
            change_mode(world, motor, r, breakaway_direction(motor, lanes.tau[r], held[r]))
            changed = True
    return changed


@helper
def change_sliding(world: Any, motors: Any) -> bool:
    """Let stick what has come to rest or is pushed back from it; true if one did."""
    lanes = world.stiff_lanes
    changed = False
    for r in range(lanes.count):
        motor = motors[world.elastic_window.stiff[r]]
        if motor.mode not in (STUCK, FREE) and motor.mode * lanes.w[r] < 0.0:
            change_mode(world, motor, r, STUCK)
            changed = True
    return changed


@helper
def margin_now(world: Any, motors: Any) -> float:
    """How far the motors are from an event where an interval begins."""
    lanes = world.stiff_lanes
    margin = FAR
    for r in range(lanes.count):
        motor = motors[world.elastic_window.stiff[r]]
        if motor.mode == STUCK:
            margin = min(margin, holding_slack(motor, lanes.tau[r], lanes.now[r]))
        elif motor.mode != FREE:
            margin = min(margin, motor.mode * lanes.w[r])
    return margin


@helper
def pushed_back(world: Any, motors: Any) -> bool:
    """Let stick what stands still and is pushed back; true if one was."""
    lanes = world.stiff_lanes
    changed = False
    for r in range(lanes.count):
        motor = motors[world.elastic_window.stiff[r]]
        at_rest = motor.mode not in (STUCK, FREE) and motor.mode * lanes.w[r] <= 0.0
        if at_rest and motor.mode * lanes.now[r] <= 0.0 and motor.mode * lanes.w_end[r] < 0.0:
            change_mode(world, motor, r, STUCK)
            changed = True
    return changed


@part
def first_dip(world: Any, motors: Any, t: float, tau: float) -> float:
    """When one that slides on at both ends of an interval may have turned round twice between, or ``tau``."""
    lanes = world.stiff_lanes
    answer_to(world, lanes.torque_end, 1.0, t + tau, lanes.end, np.uint64(lanes.width))
    dip = 1.0
    for r in range(lanes.count):
        way = motors[world.elastic_window.stiff[r]].mode
        if way not in (STUCK, FREE):
            fall, rise = way * lanes.now[r] * tau, way * lanes.end[r] * tau
            dip = min(dip, turned_twice(way * lanes.w[r], way * lanes.w_end[r], fall, rise))
    return dip * tau


@helper
def lowest_margin(world: Any, motors: Any, tau: float) -> tuple[float, float, float, float]:
    """The margin that ends lowest as a cubic of time: its value at the beginning, and three coefficients.

    The acceleration of what slides and its rate are known at the beginning; of what sticks, the rate of its load is.
    """
    lanes, lowest = world.stiff_lanes, 0
    for r in range(1, lanes.count):
        lowest = r if lanes.margin[r] < lanes.margin[lowest] else lowest
    motor = motors[world.elastic_window.stiff[lowest]]
    end, per = lanes.margin[lowest], 1.0 / tau
    if motor.mode == STUCK:
        begin = holding_slack(motor, lanes.tau[lowest], lanes.now[lowest])
        slope = lanes.now_rate[lowest] - lanes.rate[lowest]
        slope = slope if lanes.tau_end[lowest] > lanes.end[lowest] else -slope
        return begin, slope, (end - begin - slope * tau) * per * per, 0.0
    begin, slope = motor.mode * lanes.w[lowest], motor.mode * lanes.now[lowest]
    bend = 0.5 * motor.mode * lanes.now_rate[lowest]
    return begin, slope, bend, ((end - begin) * per - slope - bend * tau) * per * per


@part
def locate(world: Any, motors: Any, t: float, tau: float, outside: float) -> float:
    """Close in on the first event of an interval whose end lies beyond one; when it happens."""
    low, high, inside, last, before = 0.0, tau, margin_now(world, motors), tau, -outside
    begin, slope, bend, twist = lowest_margin(world, motors, tau)
    x = crossing(begin, slope, bend, twist, tau)
    if not 0.0 < x < tau:
        x = first_guess(inside, outside, tau)
    x = inside_bracket(low, high, x)
    for _ in range(MOST_EVENTS):
        if high - low <= SHORTEST or -outside <= SAME:
            break
        here, last = stiff_step(world, motors, t, x), x
        fall = -(slope + x * (2.0 * bend + 3.0 * twist * x))
        if here < 0.0:
            following = next_trial(x, here, low, inside, high, outside)
            high, outside = x, here
            if just_beyond(here, fall):
                break
        else:
            following = next_trial(x, here, high, outside, low, inside)
            low, inside = x, here
        x = nearer_trial(x, here, fall, before, low, high, following)
        before = abs(here)
    if last != high:
        stiff_step(world, motors, t, high)
    return high


@helper
def part_followed(world: Any, motors: Any, tau: float) -> float:
    """How much of the step that was computed last follows the Stribeck curves of all that slides, 0 to 1."""
    lanes, part = world.stiff_lanes, 1.0
    for r in range(lanes.count):
        way, w, end = lanes.way[r], lanes.w[r], lanes.w_end[r]
        if way != 0.0:
            middle = middle_speed(w, lanes.now[r], lanes.now_rate[r], end, tau)
            slowest, change = min(way * w, way * middle, way * end), max(abs(middle - w), abs(end - w))
            part = min(part, part_on_curve(motors[world.elastic_window.stiff[r]], slowest, change))
    return part


@helper
def try_step(world: Any, motors: Any, t: float, tau: float) -> tuple[float, float]:
    """A step up to the next edge, or to where one may have turned round twice; its length and its margin.

    It ends sooner where the series of friction would leave a Stribeck curve.
    """
    lanes = world.stiff_lanes
    margin = stiff_step(world, motors, t, tau)
    for _ in range(CUTS_ON_CURVE if lanes.falls else 0):
        followed = part_followed(world, motors, tau)
        if not followed < 1.0:
            break
        tau *= followed
        margin = stiff_step(world, motors, t, tau)
    if lanes.dry and margin >= 0.0 and least(world, lanes.slowest) < 0.0:
        dip = first_dip(world, motors, t, tau)
        if dip < tau:
            margin = stiff_step(world, motors, t, dip)
            if margin < 0.0:
                return dip, margin
            margin = stiff_step(world, motors, t, tau)
    return tau, margin


@helper
def first_of_all(world: Any, motors: Any, t: float, tau: float) -> float:
    """An event of an interval, or an earlier one of a shaft that has turned round twice before it; when it happens."""
    lanes = world.stiff_lanes
    if least(world, lanes.slowest) >= 0.0:
        return tau
    dip = first_dip(world, motors, t, tau)
    if dip < tau:
        between = stiff_step(world, motors, t, dip)
        if between < 0.0:
            return locate(world, motors, t, dip, between)
        stiff_step(world, motors, t, tau)
    return tau


@helper
def next_edges(world: Any, u: float, start: float, t: float, span: float) -> float:
    """When the interval of all bridges that begins at the time t ends; the voltages of the bridges in it."""
    lanes, elastic, pattern, end = world.stiff_lanes, world.elastic_window, world.pattern, span
    for r in range(lanes.count):
        if lanes.next_edge[r] - t <= SHORTEST:
            j = elastic.stiff[r]
            place, edges = elastic.place[j], pattern.edges[j]
            while place < edges and pattern.times[j, place] - start - t <= SHORTEST:
                place += 1
            elastic.place[j] = place
            lanes.next_edge[r] = span if place == edges else min(span, pattern.times[j, place] - start)
            lanes.u_a[r], lanes.u_b[r] = pattern.level_a[j, place] * u, pattern.level_b[j, place] * u
        end = min(end, lanes.next_edge[r])
    return end


@helper
def modes_changed(world: Any, motors: Any) -> None:
    """Count an event, one for all that happens at an instant, and let the motors answer in their modes."""
    world.elastic_window.events += 1
    answer_motors(world, motors)


@helper
def interval(world: Any, motors: Any, t: float, end: float) -> float:
    """One interval, or its part up to an event; when it ended. 0 s long where a mode changes as it begins."""
    elastic, lanes = world.elastic_window, world.stiff_lanes
    begin_interval(world, motors, t)
    if elastic.stuck_count > 0 and change_stuck(world, motors, lanes.now):
        modes_changed(world, motors)
        return t
    tau, margin = try_step(world, motors, t, min(end - t, lanes.longest))
    if margin < 0.0:
        if pushed_back(world, motors):
            modes_changed(world, motors)
            return t
        tau = first_of_all(world, motors, t, locate(world, motors, t, tau, margin))
    keep_step(world, motors, t, tau)
    if margin < 0.0:
        # what lets go is judged by the torques that the step ended with
        let_go, came_to_rest = change_stuck(world, motors, lanes.end), change_sliding(world, motors)
        if let_go or came_to_rest:
            modes_changed(world, motors)
    return t + tau


@part
def stiff_motors(world: Any, motors: Any, u: float, start: float, span: float) -> bool:
    """Carry them over the window; true if that went well. Their end states and integrals are left in the record."""
    lanes = world.stiff_lanes
    t, rounds = 0.0, 0
    begin_stiff_lanes(world, motors, span)
    answer_motors(world, motors)
    if not span * BRIEF < MOST_DECAYED * lanes.longest:
        return False
    most_rounds = 4 * MOST_EVENTS + int(span / lanes.longest) + (MOST_ON_CURVE if lanes.falls else 0)
    for r in range(lanes.count):
        lanes.next_edge[r] = 0.0
    while span - t > SHORTEST:
        rounds += 1
        if rounds > most_rounds:
            return False
        t = interval(world, motors, t, next_edges(world, u, start, t, span))
    end_stiff_lanes(world)
    return True
