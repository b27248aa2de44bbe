r"""Runge-Kutta steps of the plant, cut exactly where something happens.

A step that would carry a sliding shaft through standstill, a joint beyond its stop, a stuck shaft beyond what
stiction holds or a gear through the edge of its play is cut at that instant, which is closed in on; there the
mode changes and the next step begins.
"""

from __future__ import annotations

from typing import Any

from servotwin.drives.friction import breakaway_direction
from servotwin.drives.gears import flank_loss, flank_margin, next_contact
from servotwin.drives.records import FREE, MOTOR, POWER, STOP, STUCK
from servotwin.dynamics.recursive.jit import helper, part, piece
from servotwin.kernels.address import call_address, call_piece, records_at
from servotwin.simulation.held import solve
from servotwin.simulation.joint_friction import joint_margin, loosen_joints, slide_joints_on, switch_joint
from servotwin.simulation.plant import GEAR, accelerate, assemble, constraints, rates, rotor, shaft
from servotwin.simulation.work import WORLD

SLOWEST = 1e-9  # rad/s at the motor: slower than this is rest
SHORTEST = 1e-12  # s: events closer than this are one
FAR = 1e9  # from all events
LARGEST = 1e6  # rad, rad/s, A: beyond, a run has diverged
ROUNDING = 1e-6  # of a slope: what is left of the torques of a shaft that has just been let go
MOST_ROUNDS = 400  # events and rejected steps in one interval
# why a run stops: it has; a law in Python, or a piece that is not compiled yet, is wanted; a law gave no number;
# a closed chain came to a singularity
DIVERGED, STALLED, ASKING, WANTING, NO_NUMBER, SINGULAR = 1, 2, 3, 4, 5, 6


@helper
def step(world: Any, power: Any, motors: Any, stops: Any, t: float, h: float) -> float:
    """From y, z to y1, z1 in one step; the estimated error, largest entry relative to 1 + |y|."""
    which = world.exact
    for i in range(world.n_z):
        world.z1[i] = world.z[i]
    stages = world.rk_n[which]
    for s in range(stages):
        for i in range(world.n_y):
            world.ys[i] = world.y[i]
        for r in range(s):
            a = h * world.rk_a[which, s, r]
            if a != 0.0:
                for i in range(world.n_y):
                    world.ys[i] += a * world.k[r, i]
        rates(world, power, motors, stops, t + world.rk_c[which, s] * h, world.ys, world.dy, world.dz)
        if s == 0 and not world.smooth:
            for j in range(world.m):
                world.slack[j] = motors[j].slack
            for i in range(world.n):
                world.slack[world.m + i] = stops[i].slack
        weight = h * world.rk_b[which, s]
        for i in range(world.n_y):
            world.k[s, i] = world.dy[i]
        for i in range(world.n_z):
            world.z1[i] += weight * world.dz[i]
    for i in range(world.n_y):
        world.y1[i] = world.y[i]
        world.ys[i] = 0.0
    for s in range(stages):
        weight, part = h * world.rk_b[which, s], h * world.rk_e[which, s]
        for i in range(world.n_y):
            world.y1[i] += weight * world.k[s, i]
            world.ys[i] += part * world.k[s, i]
    worst = 0.0
    for i in range(world.n_y):
        worst = max(worst, abs(world.ys[i]) / (1.0 + abs(world.y1[i])))
    return worst


@helper
def crossed(world: Any, motors: Any, stops: Any) -> bool:
    """True if the state y1 lies beyond an event."""
    for i in range(world.n):
        stop = stops[i]
        if stop.state == 0:
            if world.y1[i] < stop.low or world.y1[i] > stop.high:
                return True
        elif stop.state * stop.reaction > 0.0:
            return True
    if world.smooth:
        return False
    for i in range(world.n):
        if joint_margin(stops[i], world.y1[world.n_x + i]) < 0.0:
            return True
    for j in range(world.m):
        motor = motors[j]
        if motor.mode == STUCK:
            if motor.slack < 0.0:
                return True
        elif motor.mode != FREE and motor.mode * speed(world, motors, world.y1, j) < 0.0:
            return True
        if motor.half_play > 0.0 and to_next_flank(world, motors, world.y1, j) < 0.0:
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
        if stop.state == 0:
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
    for j in range(world.m):
        motor = motors[j]
        if motor.mode == STUCK:
            motor.slack = world.slack[j]
    for i in range(world.n):
        if stops[i].mode == STUCK:
            stops[i].slack = world.slack[world.m + i]
    inside = margin(world, motors, stops, world.y)
    if inside > 0.0 and outside < 0.0:
        return inside, off_the_ends(0.0, h, h * inside / (inside - outside))
    soonest = h if inside >= 0.0 else 0.5 * SHORTEST  # an edge, or another shaft, made it so at once
    for j in range(world.m):
        way = motors[j].mode
        if way not in (FREE, STUCK):
            start, end = speed(world, motors, world.y, j), speed(world, motors, world.y1, j)
            rate = acceleration_in(world, motors[j], j, 0)
            soonest = min(soonest, back_at_rest(way * start, way * end, way * rate, h))
    for i in range(world.n):
        way = stops[i].mode
        if stops[i].rubs and way not in (FREE, STUCK) and stops[i].state == 0:
            at = world.n_x + i
            turn = back_at_rest(way * world.y[at], way * world.y1[at], way * world.k[0, at], h)
            soonest = min(soonest, turn)
    return inside, off_the_ends(0.0, h, soonest if soonest < h else 0.5 * h)


@helper
def back_at_rest(start: float, end: float, rate: float, h: float) -> float:
    """When a speed that begins at rest with ``rate`` is back there, on the parabola to its end, or h."""
    if start > 0.0:
        return h
    if rate <= 0.0:
        return 0.5 * SHORTEST
    return rate * h * h / (rate * h - end) if end < 0.0 else h


@part
def lowest(world: Any, motors: Any, stops: Any, h: float) -> float:
    """When a shaft or joint that slides on at both ends of a step has turned round twice in between, or h."""
    last = world.rk_n[world.exact] - 1
    for j in range(world.m):
        way = motors[j].mode
        if way not in (FREE, STUCK):
            start, end = speed(world, motors, world.y, j), speed(world, motors, world.y1, j)
            first, then = acceleration_in(world, motors[j], j, 0), acceleration_in(world, motors[j], j, last)
            dip = turned_twice(way * start, way * end, way * first * h, way * then * h)
            if dip < 1.0:
                return dip * h
    for i in range(world.n):
        way = stops[i].mode
        if stops[i].rubs and way not in (FREE, STUCK) and stops[i].state == 0:
            at = world.n_x + i
            first, then = world.k[0, at], world.k[last, at]
            dip = turned_twice(way * world.y[at], way * world.y1[at], way * first * h, way * then * h)
            if dip < 1.0:
                return dip * h
    return h


@helper
def turned_twice(start: float, end: float, fall: float, rise: float) -> float:
    """Where in a step a speed is lowest and below zero, 0 to 1; 1 if it is not.

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
def closer(x1: float, f1: float, x2: float, f2: float, x3: float, f3: float) -> float:
    """Where to look next: x1 is the last point, x2 the other side of the event, x3 the point that x1 replaced.

    On the parabola through the three as a function of the margin, where that is safe, else in the middle (rule of
    Chandrupatla).
    """
    part = 0.5
    xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
    if f1 * f2 < 0.0 and phi * phi < xi and (1.0 - phi) ** 2 < 1.0 - xi:
        part = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
    return off_the_ends(min(x1, x2), max(x1, x2), x1 + part * (x2 - x1))


@helper
def hit(inside: float, here: float, apart: float) -> bool:
    """True if the line from a margin inside, ``apart`` seconds ago, was crossed less than SHORTEST ago."""
    return inside > 0.0 and -here * apart <= 0.25 * SHORTEST * (inside - here)


@helper
def off_the_ends(low: float, high: float, x: float) -> float:
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
    if motor.flexible >= 0:
        return world.k[stage, world.at_w + motor.flexible]  # type: ignore[no-any-return]
    if world.diagonal:
        return world.N[j, j] * world.k[stage, world.n_x + j]  # type: ignore[no-any-return]
    total = 0.0
    for i in range(world.n):
        total += world.N[j, i] * world.k[stage, world.n_x + i]
    return total


@helper
def to_next_flank(world: Any, motors: Any, y: Any, j: int) -> float:
    """How far the gear of motor j is from the instant at which a flank touches or parts."""
    theta, w = rotor(world, motors, y, j)
    theta_l, w_l = shaft(world, motors, y, j)
    return flank_margin(motors[j], theta - theta_l, w - w_l)


@part
def change_flank(world: Any, motors: Any, j: int) -> None:
    """Let a flank touch or part; what its spring holds is lost, or there again (eq:flank-loss)."""
    motor = motors[j]
    theta, w = rotor(world, motors, world.y, j)
    theta_l, w_l = shaft(world, motors, world.y, j)
    contact = next_contact(motor, theta - theta_l, w - w_l)
    if contact != motor.contact:
        lost = flank_loss(motor, motor.contact, w - w_l) - flank_loss(motor, contact, w - w_l)
        world.z[GEAR * world.m + j] += lost
        motor.contact = contact


@piece
def switch(world_at: int, power_at: int, motors_at: int, stops_at: int, t: float, span: float) -> None:
    """Change the modes of everything that lies beyond its event, at the state y."""
    world = records_at(world_at, 1, WORLD)[0]
    motors, stops = records_at(motors_at, world.m, MOTOR), records_at(stops_at, world.n, STOP)
    world.events += 1
    for i in range(world.n):
        stop = stops[i]
        if stop.state == 0 and (world.y[i] < stop.low or world.y[i] > stop.high):
            stop.state = -1 if world.y[i] < stop.low else 1
            stop.touched = 1
            stop.reaction = 0.0
            world.y[i] = stop.low if stop.state < 0 else stop.high
            world.simple = 0
            for j in range(world.m):  # an impulse is more than any friction holds
                if motors[j].flexible < 0 and motors[j].mode == STUCK:
                    motors[j].mode = 1
            loosen_joints(world, stops)
            impact(world, motors, stops)
            slide_on(world, motors)
            slide_joints_on(world, stops)
        elif stop.state * stop.reaction > 0.0:
            stop.state = 0
        elif switch_joint(stop, world.y[world.n_x + i]):
            world.simple = 0
            if world.diagonal:
                world.y[world.n_x + i] = 0.0
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
            w = speed(world, motors, world.y, j)
            if motor.mode * w <= 0.0:
                motor.mode, motor.slack = STUCK, 0.0
                world.simple = 0
                if motor.flexible >= 0:
                    world.y[world.at_w + motor.flexible] = 0.0
                elif world.diagonal:
                    world.y[world.n_x + j] = 0.0
                else:
                    impact(world, motors, stops)


@helper
def slide_on(world: Any, motors: Any) -> None:
    """After an impact every shaft with dry friction slides the way it moves, or sticks."""
    for j in range(world.m):
        motor = motors[j]
        if motor.flexible < 0 and motor.mode != FREE:
            w = speed(world, motors, world.y, j)
            motor.mode = 1 if w > SLOWEST else (-1 if w < -SLOWEST else STUCK)
            motor.slack = 0.0
            if motor.mode == STUCK and world.diagonal:
                world.y[world.n_x + j] = 0.0


@part
def impact(world: Any, motors: Any, stops: Any) -> None:
    r"""Plastic impact: the speeds along all constraints vanish, :math:`\Delta\dot q = A^{-1} C^T \Lambda`.

    The energy that goes is half of what the impulse undoes, (eq:impact)

    .. math:: \Delta E = \tfrac12\, \dot q^T C^T (C A^{-1} C^T)^{-1} C \dot q            (eq:impact)
    """
    n, n_x = world.n, world.n_x
    for i in range(n_x + n):
        world.inputs[i] = world.y[i]
    call_address(world.motion, world.inputs_at, world.outputs_at, world.motion_data)
    for j in range(world.m):
        motors[j].g = 1.0  # an impulse passes the gears without loss; the next evaluation finds g again
    assemble(world, motors)
    count = constraints(world, motors, stops)
    accelerate(world, count)  # leaves the factor of A, A^-1 C^T and the factor of C A^-1 C^T
    for r in range(count):
        total = 0.0
        for i in range(n):
            total += world.C[r, i] * world.y[n_x + i]
        world.reaction[r] = -total
        world.force[r] = total
    solve(world.S, count, world.reaction, 0)
    for r in range(count):
        world.impact_J -= 0.5 * world.force[r] * world.reaction[r]  # eq:impact
        for i in range(n):
            world.y[n_x + i] += world.X[n * r + i] * world.reaction[r]


@helper
def finite(world: Any) -> bool:
    """False if a state has left all bounds."""
    for i in range(world.n_y):
        if not abs(world.y1[i]) < LARGEST:
            return False
    return True


@helper
def accept(world: Any) -> None:
    """Take the step."""
    for i in range(world.n_y):
        world.y[i] = world.y1[i]
    for i in range(world.n_z):
        world.z[i] = world.z1[i]


@piece
def advance(world_at: int, power_at: int, motors_at: int, stops_at: int, t: float, span: float) -> None:
    """Carry y and z over ``span`` seconds, beginning ``t`` seconds after the window."""
    world = records_at(world_at, 1, WORLD)[0]
    power, motors = records_at(power_at, 1, POWER), records_at(motors_at, world.m, MOTOR)
    stops = records_at(stops_at, world.n, STOP)
    done, rounds = 0.0, 0
    low, high, searching = 0.0, 0.0, False
    inside, outside, looked = 0.0, 0.0, False
    regular = span if world.exact else span / world.steps
    h = regular
    while span - done > SHORTEST:
        rounds += 1
        if rounds > MOST_ROUNDS * world.steps:
            world.status = STALLED if finite(world) else DIVERGED
            return
        h = min(h, span - done)
        error = step(world, power, motors, stops, t + done, h)
        if world.adaptive and not searching and error > world.tolerance and h > SHORTEST:
            h *= max(0.2, 0.9 * (world.tolerance / error) ** 0.2)
            continue
        beyond = crossed(world, motors, stops)
        if searching:
            here = margin(world, motors, stops, world.y1)
            if beyond:
                following = closer(h, here, low, inside, high, outside)
                high, outside = h, here
            else:
                following = closer(h, here, high, outside, low, inside)
                low, inside = h, here
            if high - low > SHORTEST and not (beyond and hit(inside, here, h - low)):
                h = following
                continue
            if not beyond:
                h = high
                low = high
                continue
            searching = False
        elif beyond:
            low, high, searching, looked = 0.0, h, True, False
            outside = margin(world, motors, stops, world.y1)
            inside, h = first_guess(world, motors, stops, outside, h)
            continue
        elif not (world.smooth or looked):
            dip = lowest(world, motors, stops, h)
            if dip < h:  # a shaft may have turned round twice: look there
                h, looked = dip, True
                continue
        looked = False
        accept(world)
        world.error = max(world.error, error)
        done += h
        if beyond:
            call_piece(world.switch_piece, world_at, power_at, motors_at, stops_at, 0.0, 0.0)
            h = span - done
        elif world.adaptive:
            h *= min(4.0, 0.9 * (world.tolerance / max(error, 1e-300)) ** 0.2)
        else:
            h = regular
