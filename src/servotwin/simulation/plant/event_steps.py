r"""Runge-Kutta steps of the plant, cut exactly where something happens.

A step that would carry a sliding shaft through standstill, a joint beyond its stop, a stuck shaft beyond what
stiction holds or a gear through the edge of its play is cut at that instant, which is closed in on; there the
mode changes and the next step begins. Steps end too where a force of the environment begins or ends.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, part, piece
from servotwin.compiled.native_calls import call_address, call_piece, numbers_at, records_at
from servotwin.drives.friction import breakaway_direction
from servotwin.drives.gears import flank_loss, flank_margin, next_contact
from servotwin.drives.records import (
    AT_HIGH,
    AT_LOW,
    BETWEEN,
    FREE,
    MOTOR,
    POWER,
    SLIDES_BACKWARD,
    SLIDES_FORWARD,
    STOP,
    STUCK,
)
from servotwin.simulation.plant.joint_friction import (
    joint_margin,
    release_joints,
    slide_joints_on,
    switch_joint,
)
from servotwin.simulation.plant.rates import (
    GEAR,
    accelerate,
    assemble,
    constraints,
    gear_twist,
    rates,
    rotor,
    shaft,
)
from servotwin.simulation.plant.records import WORLD
from servotwin.simulation.plant.status import DIVERGED, PIECE_MISSING, STALLED
from servotwin.simulation.plant.stuck_shafts import solve
from servotwin.simulation.windows.choice import select_window

SLOWEST = 1e-9  # rad/s at the motor: slower than this is rest
SHORTEST = 1e-12  # s: events closer than this are one
FAR = 1e9  # from all events
LARGEST = 1e6  # rad, rad/s, A: beyond, a run has diverged,
LARGEST_PRESSURE = 1e12  # Pa, where there is oil or an own actuator
LONGEST = 0.3  # of the time constants of hydraulic axes and own actuators: longest step of the methods of fixed step,
LONGEST_ADAPTIVE = 2.0  # and of the adaptive one, which watches its error
ROUNDING = 1e-6  # of a slope: what is left of the torques of a shaft that has just been let go
MOST_ROUNDS = 400  # events and rejected steps in one interval,
MOST_STEPS = 4000  # and steps that stiff oil, a quick actuator or a quick winding takes
NANO = 1e-9


@helper
def step(world: Any, power: Any, motors: Any, stops: Any, t: float, h: float) -> float:
    """From y, z to y1, z1 in one step; the estimated error, largest entry relative to 1 + |y|."""
    state, scratch = world.state, world.scratch
    which = scratch.exact_currents
    scratch.middle, scratch.no_number = t + 0.5 * h, 0
    for i in range(world.n_z):
        scratch.z1[i] = state.z[i]
    scratch.fixed_step = 0.0 if world.adaptive else h
    stages = world.rk_n[which]
    # adaptive steps watch the errors of own actuators, and windows are not longer than these allow
    scratch.fastest = 0.0 if world.adaptive or which else state.own_fastest
    for s in range(stages):
        for i in range(world.n_y):
            scratch.ys[i] = state.y[i]
        for r in range(s):
            a = h * world.rk_a[which, s, r]
            if a != 0.0:
                for i in range(world.n_y):
                    scratch.ys[i] += a * scratch.k[r, i]
        rates(
            world,
            power,
            motors,
            stops,
            t + world.rk_c[which, s] * h,
            scratch.ys,
            scratch.dy,
            scratch.dz,
        )
        if s == 0 and not world.choice.smooth:
            for j in range(world.m):
                scratch.slack[j] = motors[j].slack
            for i in range(world.n):
                scratch.slack[world.m + i] = stops[i].slack
        weight = h * world.rk_b[which, s]
        for i in range(world.n_y):
            scratch.k[s, i] = scratch.dy[i]
        for i in range(world.n_z):
            scratch.z1[i] += weight * scratch.dz[i]
    for i in range(world.n_y):
        scratch.y1[i] = state.y[i]
        scratch.ys[i] = 0.0
    for s in range(stages):
        weight, part = h * world.rk_b[which, s], h * world.rk_e[which, s]
        for i in range(world.n_y):
            scratch.y1[i] += weight * scratch.k[s, i]
            scratch.ys[i] += part * scratch.k[s, i]
    worst = 0.0
    for i in range(world.n_y):
        worst = max(worst, abs(scratch.ys[i]) / (1.0 + abs(scratch.y1[i])))
    return worst


@helper
def until_jump(world: Any, t: float, h: float) -> float:
    """``h``, or less: up to the instant at which a force of the environment or the base's acceleration jumps."""
    instants = numbers_at(world.code.instants_at, np.float64)
    for k in range(world.code.instants):
        left = (instants[k] - world.state.now * NANO) - t
        if left > SHORTEST:
            return min(h, left)  # type: ignore[no-any-return]
    return h


@helper
def crossed(world: Any, motors: Any, stops: Any) -> bool:
    """True if the state y1 lies beyond an event."""
    scratch = world.scratch
    for i in range(world.n):
        stop = stops[i]
        if stop.state == BETWEEN:
            if scratch.y1[i] < stop.low or scratch.y1[i] > stop.high:
                return True
        elif stop.state * stop.reaction > 0.0:
            return True
    if world.choice.smooth:
        return False
    for i in range(world.n):
        if joint_margin(stops[i], scratch.y1[world.n_x + i]) < 0.0:
            return True
    for j in range(world.m):
        motor = motors[j]
        if motor.mode == STUCK:
            if motor.slack < 0.0:
                return True
        elif motor.mode != FREE and motor.mode * speed(world, motors, scratch.y1, j) < 0.0:
            return True
        if motor.half_play > 0.0 and to_next_flank(world, motors, scratch.y1, j) < 0.0:
            return True
    return False


@helper
def margin(world: Any, motors: Any, stops: Any, y: Any) -> float:
    """How far the state y is from the next event, in its own unit; negative beyond one.

    What stuck shafts and stops must hold is that of the last evaluation.
    """
    least = FAR
    for i in range(world.n):
        stop = stops[i]
        if stop.state == BETWEEN:
            least = min(least, y[i] - stop.low, stop.high - y[i])
        else:
            least = min(least, -stop.state * stop.reaction)
        least = min(least, joint_margin(stop, y[world.n_x + i]))
    for j in range(world.m):
        motor = motors[j]
        if motor.mode == STUCK:
            least = min(least, motor.slack)
        elif motor.mode != FREE:
            least = min(least, motor.mode * speed(world, motors, y, j))
        if motor.half_play > 0.0:
            least = min(least, to_next_flank(world, motors, y, j))
    return least


@part
def first_guess(world: Any, motors: Any, stops: Any, outside: float, h: float) -> tuple[float, float]:
    """The margin at the beginning of a step that went too far, and where to look for the event first.

    On the line between the margins at both ends. A shaft that started from rest in this step is on its way back: its
    speed is taken for a parabola.
    """
    state, scratch = world.state, world.scratch
    for j in range(world.m):
        motor = motors[j]
        if motor.mode == STUCK:
            motor.slack = scratch.slack[j]
    for i in range(world.n):
        if stops[i].mode == STUCK:
            stops[i].slack = scratch.slack[world.m + i]
    inside = margin(world, motors, stops, state.y)
    if inside > 0.0 and outside < 0.0:
        return inside, inside_bracket(0.0, h, h * inside / (inside - outside))
    soonest = h if inside >= 0.0 else 0.5 * SHORTEST  # an edge, or another shaft, made it so at once
    for j in range(world.m):
        way = motors[j].mode
        if way not in (FREE, STUCK):
            start, end = speed(world, motors, state.y, j), speed(world, motors, scratch.y1, j)
            rate = acceleration_in(world, motors[j], j, 0)
            soonest = min(soonest, back_at_rest(way * start, way * end, way * rate, h))
    for i in range(world.n):
        way = stops[i].mode
        if stops[i].has_friction and way not in (FREE, STUCK) and stops[i].state == BETWEEN:
            at = world.n_x + i
            turn = back_at_rest(way * state.y[at], way * scratch.y1[at], way * scratch.k[0, at], h)
            soonest = min(soonest, turn)
    return inside, inside_bracket(0.0, h, soonest if soonest < h else 0.5 * h)


@helper
def back_at_rest(start: float, end: float, rate: float, h: float) -> float:
    """When a speed that begins at rest with ``rate`` is back there, on the parabola to its end, or h."""
    if start > 0.0:
        return h
    if rate <= 0.0:
        return 0.5 * SHORTEST
    return rate * h * h / (rate * h - end) if end < 0.0 else h


@part
def reversal_between(world: Any, motors: Any, stops: Any, h: float) -> float:
    """When a shaft or joint that slides on at both ends of a step has turned round twice in between, or h."""
    scratch = world.scratch
    last = world.rk_n[scratch.exact_currents] - 1
    for j in range(world.m):
        way = motors[j].mode
        if way not in (FREE, STUCK):
            start, end = speed(world, motors, world.state.y, j), speed(world, motors, scratch.y1, j)
            first, then = acceleration_in(world, motors[j], j, 0), acceleration_in(world, motors[j], j, last)
            dip = turned_twice(way * start, way * end, way * first * h, way * then * h)
            if dip < 1.0:
                return dip * h
    for i in range(world.n):
        way = stops[i].mode
        if stops[i].has_friction and way not in (FREE, STUCK) and stops[i].state == BETWEEN:
            at = world.n_x + i
            first, then = scratch.k[0, at], scratch.k[last, at]
            dip = turned_twice(way * world.state.y[at], way * scratch.y1[at], way * first * h, way * then * h)
            if dip < 1.0:
                return dip * h
    return h


@helper
def turned_twice(start: float, end: float, fall: float, rise: float) -> float:
    """Where in a step a speed that is positive at both ends falls below zero, 0 to 1; 1 if it does not.

    On the cubic with the speeds at both ends and the slopes there, both per step. What has just been let go may
    stand still with a slope that is rounding: it is on its way.
    """
    if not fall < 0.0 < rise or (start <= 0.0 and -fall < ROUNDING * rise):
        return 1.0
    part = fall / (fall - rise)
    back = 1.0 - part
    ends = start * back * back * (1.0 + 2.0 * part) + end * part * part * (3.0 - 2.0 * part)
    return part if ends + part * back * (back * fall - part * rise) < 0.0 else 1.0


@helper
def next_trial(x1: float, f1: float, x2: float, f2: float, x3: float, f3: float) -> float:
    """Where to look next: x1 is the last point, x2 the other side of the event, x3 the point that x1 replaced.

    On the parabola through the three as a function of the margin, where that is safe, else in the middle (rule of
    Chandrupatla).
    """
    part = 0.5
    xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
    if f1 * f2 < 0.0 and phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi:
        part = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
    return inside_bracket(min(x1, x2), max(x1, x2), x1 + part * (x2 - x1))


@helper
def close_enough(inside: float, here: float, apart: float) -> bool:
    """True if the line from a margin inside, ``apart`` seconds ago, was crossed less than SHORTEST ago."""
    return inside > 0.0 and -here * apart <= 0.25 * SHORTEST * (inside - here)


@helper
def inside_bracket(low: float, high: float, x: float) -> float:
    """Not on an end: the event is soon between two points that close."""
    near = 0.4 * SHORTEST
    return min(max(x, low + near), high - near)


@helper
def speed(world: Any, motors: Any, y: Any, j: int) -> float:
    """Speed of motor j."""
    return rotor(world, motors, y, j)[1]


@helper
def acceleration_in(world: Any, motor: Any, j: int, stage: int) -> float:
    """Acceleration of a motor in a stage of the last step."""
    return acceleration_of(world, motor, j, world.scratch.k[stage])


@helper
def acceleration_of(world: Any, motor: Any, j: int, rates: Any) -> float:
    """Acceleration of a motor by the rates of the state."""
    if motor.flexible >= 0:
        return rates[world.at_w + motor.flexible]  # type: ignore[no-any-return]
    if world.diagonal:
        return world.N[j, j] * rates[world.n_x + j]  # type: ignore[no-any-return]
    total = 0.0
    for i in range(world.n):
        total += world.N[j, i] * rates[world.n_x + i]
    return total


@helper
def to_next_flank(world: Any, motors: Any, y: Any, j: int) -> float:
    """How far the gear of motor j is from the instant at which a flank touches or parts."""
    theta, w = rotor(world, motors, y, j)
    theta_l, w_l = shaft(world, motors, y, j)
    twist, rate, _ = gear_twist(motors[j], theta, w, theta_l, w_l)
    return flank_margin(motors[j], twist, rate)


@part
def change_flank(world: Any, motors: Any, j: int) -> None:
    """Let a flank touch or part; what its spring holds is lost, or there again (eq:flank-loss)."""
    state = world.state
    motor = motors[j]
    theta, w = rotor(world, motors, state.y, j)
    theta_l, w_l = shaft(world, motors, state.y, j)
    twist, rate, _ = gear_twist(motor, theta, w, theta_l, w_l)
    contact = next_contact(motor, twist, rate)
    if contact != motor.contact:
        lost = flank_loss(motor, motor.contact, rate) - flank_loss(motor, contact, rate)
        state.z[GEAR * world.m + j] += lost
        motor.contact = contact


@piece
def change_modes(world_at: int, power_at: int, motors_at: int, stops_at: int, t: float, span: float) -> None:
    """Change the modes of everything that lies beyond its event, at the state y."""
    world = records_at(world_at, 1, WORLD)[0]
    state, choice = world.state, world.choice
    motors, stops = records_at(motors_at, world.m, MOTOR), records_at(stops_at, world.n, STOP)
    state.events += 1
    unconstrained, came_to_rest = choice.unconstrained, False
    for i in range(world.n):
        stop = stops[i]
        if stop.state == BETWEEN and (state.y[i] < stop.low or state.y[i] > stop.high):
            stop.state = AT_LOW if state.y[i] < stop.low else AT_HIGH
            stop.touched = 1
            stop.reaction = 0.0
            state.y[i] = stop.low if stop.state < 0 else stop.high
            for j in range(world.m):  # an impulse is more than any friction holds
                if motors[j].flexible < 0 and motors[j].mode == STUCK:
                    motors[j].mode = SLIDES_FORWARD
            release_joints(world, stops)
            impact(world, motors, stops)
            slide_on(world, motors)
            slide_joints_on(world, stops)
        elif stop.state * stop.reaction > 0.0:
            stop.state = BETWEEN
        elif switch_joint(stop, state.y[world.n_x + i]):
            came_to_rest = True
            if world.diagonal:
                state.y[world.n_x + i] = 0.0
            else:
                impact(world, motors, stops)
    for j in range(world.m):
        motor = motors[j]
        if motor.half_play > 0.0:
            change_flank(world, motors, j)
        if motor.mode == STUCK and motor.slack < 0.0:
            motor.mode = breakaway_direction(motor, motor.tau, motor.transmitted)
            motor.slack = 0.0
        elif motor.mode not in (FREE, STUCK):
            w = speed(world, motors, state.y, j)
            if motor.mode * w <= 0.0:
                motor.mode, motor.slack = STUCK, 0.0
                came_to_rest = True
                if motor.flexible >= 0:
                    state.y[world.at_w + motor.flexible] = 0.0
                elif world.diagonal:
                    state.y[world.n_x + j] = 0.0
                else:
                    impact(world, motors, stops)
    select_window(world, motors, stops)
    if came_to_rest or not unconstrained:
        choice.unconstrained = 0  # one equation for the rest of the window, whatever lets go in it


@helper
def slide_on(world: Any, motors: Any) -> None:
    """After an impact every shaft with dry friction slides the way it moves, or sticks."""
    for j in range(world.m):
        motor = motors[j]
        if motor.flexible < 0 and motor.mode != FREE:
            w = speed(world, motors, world.state.y, j)
            motor.mode = SLIDES_FORWARD if w > SLOWEST else (SLIDES_BACKWARD if w < -SLOWEST else STUCK)
            motor.slack = 0.0
            if motor.mode == STUCK and world.diagonal:
                world.state.y[world.n_x + j] = 0.0


@part
def impact(world: Any, motors: Any, stops: Any) -> None:
    r"""Plastic impact: the speeds along all constraints vanish, :math:`\Delta\dot q = A^{-1} C^T \Lambda`.

    The energy that goes is half of what the impulse undoes, (eq:impact)

    .. math:: \Delta E = \tfrac12\, \dot q^T C^T (C A^{-1} C^T)^{-1} C \dot q            (eq:impact)
    """
    state, scratch, code = world.state, world.scratch, world.code
    n, n_x = world.n, world.n_x
    for i in range(n_x + n):
        scratch.inputs[i] = state.y[i]
    call_address(code.motion, code.inputs_at, code.outputs_at, code.motion_data)
    for j in range(world.m):
        motors[j].g = 1.0  # an impulse passes the gears without loss; the next evaluation finds g again
    assemble(world, motors)
    count = constraints(world, motors, stops)
    accelerate(world, count)  # leaves the factor of A, A^-1 C^T and the factor of C A^-1 C^T
    for r in range(count):
        total = 0.0
        for i in range(n):
            total += scratch.C[r, i] * state.y[n_x + i]
        scratch.reaction[r] = -total
        scratch.closing_speed[r] = total
    solve(scratch.S, count, scratch.reaction, 0)
    for r in range(count):
        state.impact_J -= 0.5 * scratch.closing_speed[r] * scratch.reaction[r]  # eq:impact
        for i in range(n):
            state.y[n_x + i] += scratch.X[n * r + i] * scratch.reaction[r]


@helper
def finite(world: Any) -> bool:
    """False if a state has left all bounds."""
    most = LARGEST_PRESSURE if world.runge_kutta else LARGEST
    for i in range(world.n_y):
        if not abs(world.scratch.y1[i]) < most:
            return False
    return True


@helper
def accept(world: Any) -> None:
    """Take the step, and what it found."""
    world.state.no_number = max(world.state.no_number, world.scratch.no_number)
    for i in range(world.n_y):
        world.state.y[i] = world.scratch.y1[i]
    for i in range(world.n_z):
        world.state.z[i] = world.scratch.z1[i]


@helper
def steps_between(world: Any, span: float) -> int:
    """Steps of the methods of fixed step in ``span``: those asked for, or more where a winding is quick.

    A winding beyond all machines gets ``MOST_STEPS``, in which its current diverges or does not.
    """
    quick = span * world.step_rate
    return max(int(world.steps), math.ceil(quick) if quick < MOST_STEPS else MOST_STEPS)


@piece
def event_steps(world_at: int, power_at: int, motors_at: int, stops_at: int, t: float, span: float) -> None:
    """Carry y and z over ``span`` seconds, beginning ``t`` seconds after the window.

    A zoom of a robot that moves freely calls it before the pieces for events are there, and then it ends at the first.
    """
    world = records_at(world_at, 1, WORLD)[0]
    state, scratch = world.state, world.scratch
    if world.code.change_modes == 0 and not world.choice.unconstrained:
        state.status = PIECE_MISSING
        return
    power, motors = records_at(power_at, 1, POWER), records_at(motors_at, world.m, MOTOR)
    stops = records_at(stops_at, world.n, STOP)
    done, rounds = 0.0, 0
    low, high, searching = 0.0, 0.0, False
    inside, outside, looked = 0.0, 0.0, False
    regular_steps = 1 if scratch.exact_currents else steps_between(world, span)
    regular = span / regular_steps
    h = regular
    most = LONGEST_ADAPTIVE if world.adaptive else LONGEST
    most_rounds = (MOST_STEPS if world.runge_kutta else MOST_ROUNDS) * world.steps + regular_steps
    while span - done > SHORTEST:
        rounds += 1
        if rounds > most_rounds:
            state.status = STALLED if finite(world) else DIVERGED
            return
        h = until_jump(world, t + done, min(h, span - done))
        if h * scratch.fastest > most and not searching:
            h = most / scratch.fastest
        error = step(world, power, motors, stops, t + done, h)
        if h * scratch.fastest > 1.5 * most and not searching:  # oil that has become stiffer on the way
            continue
        if world.adaptive and not searching and error > world.tolerance and h > SHORTEST:
            h *= max(0.2, 0.9 * (world.tolerance / error) ** 0.2)
            continue
        beyond = crossed(world, motors, stops)
        if searching:
            here = margin(world, motors, stops, scratch.y1)
            if beyond:
                following = next_trial(h, here, low, inside, high, outside)
                high, outside = h, here
            else:
                following = next_trial(h, here, high, outside, low, inside)
                low, inside = h, here
            if high - low > SHORTEST and not (beyond and close_enough(inside, here, h - low)):
                h = following
                continue
            if not beyond:
                h = high
                low = high
                continue
            searching = False
        elif beyond:
            low, high, searching, looked = 0.0, h, True, False
            outside = margin(world, motors, stops, scratch.y1)
            inside, h = first_guess(world, motors, stops, outside, h)
            continue
        elif not (world.choice.smooth or looked):
            dip = reversal_between(world, motors, stops, h)
            if dip < h:  # a shaft may have turned round twice: look there
                h, looked = dip, True
                continue
        looked = False
        if world.runge_kutta and done == 0.0:
            for i in range(world.n_y):
                scratch.k_first[i] = scratch.k[0, i]
        accept(world)
        if world.code.after_step != 0:
            call_piece(world.code.after_step, world_at, power_at, motors_at, 0, 0.0, 0.0)
        state.error = max(state.error, error)
        done += h
        if beyond and world.code.change_modes == 0:
            state.status = PIECE_MISSING
            return
        if beyond:
            call_piece(world.code.change_modes, world_at, power_at, motors_at, stops_at, 0.0, 0.0)
            h = span - done if world.adaptive else regular
        elif world.adaptive:
            h *= min(4.0, 0.9 * (world.tolerance / max(error, 1e-300)) ** 0.2)
        else:
            h = regular
