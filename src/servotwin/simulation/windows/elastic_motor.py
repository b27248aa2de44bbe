r"""A motor behind an elastic gear through one window, from edge to edge, with its events.

Of the arm such a motor sees only how its load turns, which over a window is a polynomial. It goes through its own edges
alone: where an interval begins, acceleration and jerk of the rotor are known,

.. math:: J \alpha = \tau_e - \tau_f - \tau_s, \qquad J j = \dot\tau_e - \tau_f' \alpha - \dot\tau_s  (eq:rotor-jerk)

the currents under that speed are exact, and what the torques do to the rotor is exact too but for terms of fourth
order in the interval,

.. math:: J (\omega_1 - \omega_0) = \int \tau_e - \int (\tau_f + \tau_s), \qquad
          J (\theta_1 - \theta_0 - \omega_0 \tau) = \int (\tau - t)\,(\tau_e - \tau_f - \tau_s)         (eq:rotor-step)

An interval in which the shaft would turn round or break away is cut there.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.drives.friction import breakaway_direction, friction_series, holding_slack
from servotwin.drives.gears import spring_torque
from servotwin.drives.records import FREE, STUCK
from servotwin.simulation.plant.actuators import (
    CHARGED,
    COS,
    ENERGY,
    I_Q,
    IMPULSE,
    MOMENT,
    SIN,
    SQUARE,
    I,
    late_speed,
    motor_interval,
    motor_torque,
    torque_rate,
)
from servotwin.simulation.plant.event_steps import FAR, SHORTEST, inside_bracket, next_trial, turned_twice
from servotwin.simulation.windows.motor_coordinates import at_motor

MOST_EVENTS = 60  # and trials of them and of kinks, of a motor in a window
SAME = 1e-12  # rad/s, N m: an event that is missed by less is met
CLOSE_TWIST = 1e-10  # rad at the motor: so little beyond a kink of its stiffness a gear is met
THETA, W, SPRING, SPRING_MOMENT, FRICTION, GEAR, MARGIN, ALPHA, JERK = range(9, 18)


@helper
def middle_speed(w: float, alpha: float, jerk: float, end: float, tau: float) -> float:
    """Speed in the middle of an interval, on the cubic with this beginning and this end."""
    rest = end - w - tau * (alpha + 0.5 * tau * jerk)
    return w + 0.5 * tau * (alpha + 0.25 * tau * jerk) + 0.125 * rest


@helper
def friction_work(
    friction: float, slope: float, bend: float, w: float, middle: float, end: float, tau: float
) -> float:
    """What friction takes in an interval [J], by Simpson's rule, with the series of ``friction_series`` at w."""
    more, most = middle - w, end - w
    at_middle = friction + more * (slope + 0.5 * more * bend)
    at_end = friction + most * (slope + 0.5 * most * bend)
    return tau / 6.0 * (friction * w + 4.0 * at_middle * middle + at_end * end)


@helper
def tangent_stiffness(motor: Any, twist: float) -> float:
    """Stiffness of the gear where it is twisted by so much [N m/rad] (eq:gear-stiffening)."""
    k = motor.stiffness
    if motor.bend_1 > 0.0:
        size = abs(twist)
        k += (motor.added_1 if size > motor.bend_1 else 0.0) + (motor.added_2 if size > motor.bend_2 else 0.0)
    return k  # type: ignore[no-any-return]


@helper
def part_of_curve(motor: Any, twist: float) -> int:
    """On which straight part of its curve a gear is, -2 to 2, with the sign of the twist (eq:gear-stiffening)."""
    size = abs(twist)
    part = (1 if size > motor.bend_1 else 0) + (1 if motor.added_2 > 0.0 and size > motor.bend_2 else 0)
    return part if twist > 0.0 else -part


@helper
def end_of_part(motor: Any, part: int) -> float:
    """The larger twist at which a straight part of the gear's curve ends [rad]."""
    if part <= 0:
        return motor.bend_1 if part == 0 else -(motor.bend_1 if part == -1 else motor.bend_2)  # type: ignore[no-any-return]
    return motor.bend_2 if part == 1 and motor.added_2 > 0.0 else FAR


@helper
def to_kink(motor: Any, part: int, twist: float) -> float:
    """How far a twist is from the ends of a straight part of the gear's curve [rad]; negative beyond."""
    return min(end_of_part(motor, part) - twist, twist + end_of_part(motor, -part))


@helper
def twist_at(world: Any, j: int, t: float, theta: float) -> float:
    """Twist of the gear of motor j, at a time of the window and with this angle of the motor [rad]."""
    return theta - load_motion(world, j, t)[0]


@helper
def load_motion(world: Any, j: int, t: float) -> tuple[float, float, float, float]:
    """Angle of the load of motor j, counted at the motor, and its three derivatives, at a time of the window."""
    y, load = world.state.y, world.elastic_window.load
    angle, w = at_motor(world, j, y, 0), at_motor(world, j, y, world.n_x)
    a, jerk = at_motor(world, j, load[:, 0], 0), at_motor(world, j, load[:, 1], 0)
    angle += t * (w + t * (a / 2.0 + t * jerk / 6.0))
    return angle, w + t * (a + t * jerk / 2.0), a + t * jerk, jerk


@helper
def holding_torque(world: Any, motor: Any, j: int, t: float) -> float:
    """Torque of the gear of a motor that stands still [N m]."""
    load, load_w, _, _ = load_motion(world, j, t)
    return spring_torque(motor, world.elastic_window.theta[j] - load) - motor.damping * load_w  # type: ignore[no-any-return]


@part
def elastic_step(
    world: Any, motor: Any, j: int, u: float, t: float, tau: float
) -> tuple[
    float, float, float, float, float, float, float, float, float,
    float, float, float, float, float, float, float, float, float,
]:  # fmt: skip
    """Motor j after ``tau`` seconds without an edge in its present mode, ``t`` after the window began.

    Gives what ``motor_interval`` does, then angle and speed, impulse and moment of the spring's torque, work of
    friction and damper, how far the end is from an event, and acceleration and jerk at the beginning.
    """
    elastic, d, per_J = world.elastic_window, motor.damping, 1.0 / motor.J
    i, i_q, cos, sin = elastic.i[j], elastic.i_q[j], elastic.cos[j], elastic.sin[j]
    theta, w, place = elastic.theta[j], elastic.w[j], elastic.place[j]
    u_a, u_b = world.pattern.level_a[j, place] * u, world.pattern.level_b[j, place] * u
    load, load_w, load_a, load_j = load_motion(world, j, t)
    slip, k = w - load_w, tangent_stiffness(motor, theta - load)
    s0 = spring_torque(motor, theta - load) + d * slip
    alpha = jerk = friction = slope = bend = 0.0
    if motor.mode != STUCK:
        tau_e = motor_torque(motor, i, i_q)
        friction, slope, bend = friction_series(motor, w, w + (tau_e - s0) * per_J * tau)
        alpha = (tau_e - friction - s0) * per_J
    s1 = k * slip + d * (alpha - load_a)
    if motor.mode != STUCK:
        jerk = (
            torque_rate(motor, u_a, u_b, i, i_q, cos, sin, w) - slope * alpha - s1
        ) * per_J  # eq:rotor-jerk
    s2 = k * (alpha - load_a) + d * (jerk - load_j)
    got = motor_interval(world, motor, u_a, u_b, i, i_q, cos, sin, w, alpha, jerk, tau)
    spring = tau * (s0 + tau * (s1 / 2.0 + tau * (s2 / 6.0)))
    lever = tau * tau * (s0 / 2.0 + tau * (s1 / 3.0 + tau * (s2 / 8.0)))
    load_1, load_m = (
        load_w + tau * (load_a + 0.5 * tau * load_j),
        load_w + 0.5 * tau * (load_a + 0.25 * tau * load_j),
    )
    more = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if motor.mode == STUCK:
        held = holding_torque(world, motor, j, t + tau)
        margin = holding_slack(motor, motor_torque(motor, got[I], got[I_Q]), held)
        theta_1, w_1, middle, rubbed = theta, 0.0, 0.0, 0.0
    else:
        f1, f2 = slope * alpha, slope * jerk + bend * alpha * alpha
        rubbing = tau * (friction + tau * (f1 / 2.0 + tau * (f2 / 6.0)))
        rubbing_lever = tau * tau * (friction / 2.0 + tau * (f1 / 3.0 + tau * (f2 / 8.0)))
        whole = got[IMPULSE] - rubbing - spring
        w_1 = w + whole * per_J  # eq:rotor-step
        theta_1 = theta + w * tau + (tau * whole - (got[MOMENT] - rubbing_lever - lever)) * per_J
        rest = w_1 - w - tau * (alpha + 0.5 * tau * jerk)
        more = late_speed(motor, u_a, u_b, got[I], got[I_Q], got[COS], got[SIN], rest, tau)
        w_1 += more[2] * per_J
        middle = middle_speed(w, alpha, jerk, w_1, tau)
        rubbed = friction_work(friction, slope, bend, w, middle, w_1, tau)
        margin = FAR if motor.mode == FREE else motor.mode * w_1
    slip_m, slip_1 = middle - load_m, w_1 - load_1
    damped = d * tau / 6.0 * (slip * slip + 4.0 * slip_m * slip_m + slip_1 * slip_1)
    return (
        got[I] + more[0], got[I_Q] + more[1], got[COS], got[SIN], got[IMPULSE] + more[2], got[MOMENT],
        got[SQUARE] + more[3], got[ENERGY] + more[4], got[CHARGED] + more[5],
        theta_1, w_1, spring, lever, rubbed, damped, margin, alpha, jerk,
    )  # fmt: skip


@helper
def first_guess(inside: float, outside: float, tau: float) -> float:
    """Where to look first for an event: on the line between both margins; what has just begun to move has none yet."""
    return tau * inside / (inside - outside) if inside > 0.0 else 0.5 * tau


@helper
def locate(
    world: Any, motor: Any, j: int, u: float, t: float, tau: float, inside: float, outside: float
) -> float:
    """Close in on the event of an interval whose end lies beyond one; when it happens."""
    low, high = 0.0, tau
    x = inside_bracket(low, high, first_guess(inside, outside, tau))
    for _ in range(MOST_EVENTS):
        if high - low <= SHORTEST or -outside <= SAME:
            break
        here = elastic_step(world, motor, j, u, t, x)[MARGIN]
        if here < 0.0:
            following = next_trial(x, here, low, inside, high, outside)
            high, outside = x, here
        else:
            following = next_trial(x, here, high, outside, low, inside)
            low, inside = x, here
        x = following
    return high


@part
def first_kink(world: Any, motor: Any, j: int, u: float, t: float, tau: float, new: Any) -> float:
    """When a gear leaves the straight part of its curve on which an interval begins, or ``tau``; ``new``: its end."""
    begin = twist_at(world, j, t, world.elastic_window.theta[j])
    part = part_of_curve(motor, begin)
    inside = to_kink(motor, part, begin)
    outside = to_kink(motor, part, twist_at(world, j, t + tau, new[THETA]))
    if not outside < 0.0:
        return tau
    low, high = 0.0, tau
    x = inside_bracket(low, high, first_guess(inside, outside, tau))
    for _ in range(MOST_EVENTS):
        if high - low <= SHORTEST or -outside <= CLOSE_TWIST:
            break
        theta = elastic_step(world, motor, j, u, t, x)[THETA]
        here = to_kink(motor, part, twist_at(world, j, t + x, theta))
        if here < 0.0:
            following = next_trial(x, here, low, inside, high, outside)
            high, outside = x, here
        else:
            following = next_trial(x, here, high, outside, low, inside)
            low, inside = x, here
        x = following
    return high


@helper
def turns_between(world: Any, motor: Any, j: int, tau: float, new: Any) -> float:
    """When a shaft that slides on at both ends of an interval may have turned round twice between, or ``tau``."""
    if new[MARGIN] < 0.0 or motor.mode in (STUCK, FREE):
        return tau
    way, later = motor.mode, new[ALPHA] + new[JERK] * tau
    start = way * world.elastic_window.w[j]
    return tau * turned_twice(start, way * new[W], way * new[ALPHA] * tau, way * later * tau)


@helper
def keep_step(world: Any, motor: Any, j: int, t: float, new: Any) -> None:
    """Take a step that began ``t`` after the window."""
    elastic = world.elastic_window
    elastic.i[j], elastic.i_q[j], elastic.cos[j], elastic.sin[j] = new[I], new[I_Q], new[COS], new[SIN]
    elastic.theta[j], elastic.w[j] = new[THETA], new[W]
    elastic.impulse[j] += new[IMPULSE]
    elastic.square[j] += new[SQUARE]
    elastic.electric[j] += new[ENERGY]
    elastic.charge[j] += new[CHARGED]
    elastic.passed[j, 0] += new[SPRING]
    elastic.passed[j, 1] += new[SPRING_MOMENT] + t * new[SPRING]
    elastic.friction[j] += new[FRICTION]
    elastic.gear[j] += new[GEAR]
    note_peaks(world, motor, j)


@helper
def note_peaks(world: Any, motor: Any, j: int) -> None:
    """Keep the largest current and torque of the window: they stand at edges."""
    elastic = world.elastic_window
    i, i_q = elastic.i[j], elastic.i_q[j]
    elastic.peak[j, 0] = max(elastic.peak[j, 0], i * i + i_q * i_q)
    elastic.peak[j, 1] = max(elastic.peak[j, 1], abs(motor_torque(motor, i, i_q)))


@helper
def change_mode(world: Any, motor: Any, j: int, t: float) -> None:
    """Let a shaft go that sticks, or stick that slides."""
    elastic = world.elastic_window
    elastic.events += 1
    if motor.mode == STUCK:
        tau_e = motor_torque(motor, elastic.i[j], elastic.i_q[j])
        motor.mode = breakaway_direction(motor, tau_e, holding_torque(world, motor, j, t))
    else:
        motor.mode, elastic.w[j] = STUCK, 0.0


@helper
def interval_end(world: Any, j: int, start: float, t: float, span: float) -> float:
    """When the interval of bridge j at the time t ends; its number is left in ``place``."""
    place, times, edges = world.elastic_window.place, world.pattern.times, world.pattern.edges[j]
    while place[j] < edges and times[j, place[j]] - start - t <= SHORTEST:
        place[j] += 1
    return span if place[j] == edges else min(span, times[j, place[j]] - start)


@part
def elastic_motor(world: Any, motor: Any, j: int, u: float, start: float, span: float) -> bool:
    """Carry motor j over the window; true if that went well. Its end state and integrals are left in the record."""
    elastic = world.elastic_window
    t, rounds = 0.0, 0
    while span - t > SHORTEST:
        rounds += 1
        if rounds > MOST_EVENTS:
            return False
        tau = interval_end(world, j, start, t, span) - t
        inside = motor.mode * elastic.w[j]
        if motor.mode == STUCK:
            tau_e = motor_torque(motor, elastic.i[j], elastic.i_q[j])
            inside = holding_slack(motor, tau_e, holding_torque(world, motor, j, t))
            if inside < 0.0:
                change_mode(world, motor, j, t)
                inside = 0.0
        new = elastic_step(world, motor, j, u, t, tau)
        dip = turns_between(world, motor, j, tau, new)
        if dip < tau:
            between = elastic_step(world, motor, j, u, t, dip)
            if between[MARGIN] < 0.0:
                tau, new = dip, between
        if motor.bend_1 > 0.0:
            kink = first_kink(world, motor, j, u, t, tau, new)
            if kink < tau:
                tau, new = kink, elastic_step(world, motor, j, u, t, kink)
        happens = new[MARGIN] < 0.0
        if happens:
            if motor.mode != STUCK and inside <= 0.0 and motor.mode * new[ALPHA] <= 0.0:
                change_mode(world, motor, j, t)  # it stands still and is pushed back
                continue
            tau = locate(world, motor, j, u, t, tau, inside, new[MARGIN])
            new = elastic_step(world, motor, j, u, t, tau)
        keep_step(world, motor, j, t, new)
        t += tau
        if happens:
            change_mode(world, motor, j, t)
    return True
