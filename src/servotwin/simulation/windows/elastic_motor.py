r"""A motor behind an elastic gear through one window, from edge to edge, with its events.

Of the arm such a motor sees only how its load turns, which over a window is a polynomial. It goes through its own edges
alone: where an interval begins, acceleration and jerk of the rotor are known,

.. math:: J \alpha = \tau_e - \tau_f - \tau_s, \qquad J j = \dot\tau_e - \tau_f' \alpha - \dot\tau_s      (eq:rotor-jerk)

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
    motor_interval,
    motor_torque,
    torque_rate,
)
from servotwin.simulation.plant.event_steps import FAR, SHORTEST, turned_twice

MOST_EVENTS = 60  # and trials of them, of a motor in a window
SAME = 1e-12  # rad/s, N m: an event that is missed by less is met
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


@part
def elastic_step(
    world: Any, motor: Any, u_a: float, u_b: float, i: float, i_q: float, cos: float, sin: float,
    theta: float, w: float, load: float, load_w: float, load_a: float, load_j: float, tau: float,
) -> tuple[
    float, float, float, float, float, float, float, float, float,
    float, float, float, float, float, float, float, float, float,
]:  # fmt: skip
    """A motor after ``tau`` seconds without an edge in its present mode, and integrals over them.

    ``load`` to ``load_j``: angle of the load, counted at the motor, and its derivatives. Gives what ``motor_interval``
    does, then angle and speed, impulse and moment of the spring's torque, work of friction and damper, how far
    the end is from an event, and acceleration and jerk at the beginning.
    """
    slip, d, J = w - load_w, motor.damping, motor.J
    k = tangent_stiffness(motor, theta - load)
    s0 = spring_torque(motor, theta - load) + d * slip
    alpha = jerk = friction = slope = bend = 0.0
    if motor.mode != STUCK:
        tau_e = motor_torque(motor, i, i_q)
        friction, slope, bend = friction_series(motor, w, w + (tau_e - s0) / J * tau)
        alpha = (tau_e - friction - s0) / J
    s1 = k * slip + d * (alpha - load_a)
    if motor.mode != STUCK:
        jerk = (torque_rate(motor, u_a, u_b, i, i_q, cos, sin, w) - slope * alpha - s1) / J  # eq:rotor-jerk
    s2 = k * (alpha - load_a) + d * (jerk - load_j)
    got = motor_interval(world, motor, u_a, u_b, i, i_q, cos, sin, w, alpha, jerk, tau)
    spring = tau * (s0 + tau * (s1 / 2.0 + tau * (s2 / 6.0)))
    lever = tau * tau * (s0 / 2.0 + tau * (s1 / 3.0 + tau * (s2 / 8.0)))
    if motor.mode == STUCK:
        load_1 = load + tau * (load_w + tau * (load_a / 2.0 + tau * load_j / 6.0))
        slip_1 = -load_w - tau * (load_a + tau * load_j / 2.0)
        held = spring_torque(motor, theta - load_1) + d * slip_1
        margin = holding_slack(motor, motor_torque(motor, got[I], got[I_Q]), held)
        slip_m, theta_1, w_1, rubbed = -load_w - 0.5 * tau * (load_a + 0.25 * tau * load_j), theta, 0.0, 0.0
    else:
        f1, f2 = slope * alpha, slope * jerk + bend * alpha * alpha
        rubbing = tau * (friction + tau * (f1 / 2.0 + tau * (f2 / 6.0)))
        rubbing_lever = tau * tau * (friction / 2.0 + tau * (f1 / 3.0 + tau * (f2 / 8.0)))
        whole = got[IMPULSE] - rubbing - spring
        w_1 = w + whole / J  # eq:rotor-step
        theta_1 = theta + w * tau + (tau * whole - (got[MOMENT] - rubbing_lever - lever)) / J
        middle = middle_speed(w, alpha, jerk, w_1, tau)
        rubbed = friction_work(friction, slope, bend, w, middle, w_1, tau)
        slip_m = middle - load_w - 0.5 * tau * (load_a + 0.25 * tau * load_j)
        slip_1 = w_1 - load_w - tau * (load_a + 0.5 * tau * load_j)
        margin = FAR if motor.mode == FREE else motor.mode * w_1
    damped = d * tau / 6.0 * (slip * slip + 4.0 * slip_m * slip_m + slip_1 * slip_1)
    return (
        got[I], got[I_Q], got[COS], got[SIN], got[IMPULSE], got[MOMENT], got[SQUARE], got[ENERGY], got[CHARGED],
        theta_1, w_1, spring, lever, rubbed, damped, margin, alpha, jerk,
    )  # fmt: skip


@helper
def next_guess(low: float, inside: float, high: float, outside: float) -> float:
    """Where a margin that is positive at ``low`` and negative at ``high`` vanishes, on the line, inside of both."""
    part = inside / (inside - outside)
    return low + (high - low) * min(max(part, 1e-3), 1.0 - 1e-3)


@part
def elastic_motor(world: Any, motor: Any, j: int, u: float, start: float, span: float) -> bool:
    """Carry motor j over the window; true if that went well. Its end state and integrals are left in the record."""
    pattern, state, elastic = world.pattern, world.state, world.elastic_window
    e = motor.flexible
    i, i_q, cos, sin = elastic.i[j], elastic.i_q[j], elastic.cos[j], elastic.sin[j]
    theta, w = state.y[world.at_theta + e], state.y[world.at_w + e]
    ratio, n_x = world.ratio[j], world.n_x
    load_0, load_w0 = ratio * state.y[j], ratio * state.y[n_x + j]
    load_a0, load_j = ratio * elastic.load[j, 0], ratio * elastic.load[j, 1]
    t, place, rounds, edges = 0.0, 0, 0, pattern.edges[j]
    while span - t > SHORTEST:
        rounds += 1
        if rounds > MOST_EVENTS:
            return False
        while place < edges and pattern.times[j, place] - start - t <= SHORTEST:
            place += 1
        end = span if place == edges else min(span, pattern.times[j, place] - start)
        u_a, u_b = pattern.level_a[j, place] * u, pattern.level_b[j, place] * u
        load = load_0 + t * (load_w0 + t * (load_a0 / 2.0 + t * load_j / 6.0))
        load_w, load_a = load_w0 + t * (load_a0 + t * load_j / 2.0), load_a0 + t * load_j
        inside = motor.mode * w
        if motor.mode == STUCK:
            held = spring_torque(motor, theta - load) - motor.damping * load_w
            tau_e = motor_torque(motor, i, i_q)
            inside = holding_slack(motor, tau_e, held)
            if inside < 0.0:
                motor.mode = breakaway_direction(motor, tau_e, held)
                elastic.events += 1
                inside = 0.0
        tau = end - t
        new = elastic_step(
            world, motor, u_a, u_b, i, i_q, cos, sin, theta, w, load, load_w, load_a, load_j, tau
        )
        if new[MARGIN] >= 0.0 and motor.mode not in (STUCK, FREE):
            way, later = motor.mode, new[ALPHA] + new[JERK] * tau
            dip = turned_twice(way * w, way * new[W], way * new[ALPHA] * tau, way * later * tau)
            if dip < 1.0:
                between = elastic_step(
                    world,
                    motor,
                    u_a,
                    u_b,
                    i,
                    i_q,
                    cos,
                    sin,
                    theta,
                    w,
                    load,
                    load_w,
                    load_a,
                    load_j,
                    dip * tau,
                )
                if between[MARGIN] < 0.0:
                    tau, new = dip * tau, between
        happens = new[MARGIN] < 0.0
        if happens:
            low, high, outside = 0.0, tau, new[MARGIN]
            at_once = motor.mode != STUCK and inside <= 0.0 and motor.mode * new[ALPHA] <= 0.0
            if at_once:  # it stands still and is pushed back
                motor.mode, w = STUCK, 0.0
                elastic.events += 1
                continue
            for trial in range(MOST_EVENTS):
                if high - low <= SHORTEST or -outside <= SAME:
                    break
                if inside > 0.0:
                    tau = next_guess(low, inside, high, outside) if trial % 3 < 2 else 0.5 * (low + high)
                else:  # it has just begun to move and comes back
                    tau = 0.5 * (low + high)
                new = elastic_step(
                    world, motor, u_a, u_b, i, i_q, cos, sin, theta, w, load, load_w, load_a, load_j, tau
                )
                if new[MARGIN] < 0.0:
                    high, outside = tau, new[MARGIN]
                else:
                    low, inside = tau, new[MARGIN]
            tau = high
            new = elastic_step(
                world, motor, u_a, u_b, i, i_q, cos, sin, theta, w, load, load_w, load_a, load_j, tau
            )
        i, i_q, cos, sin, theta, w = new[I], new[I_Q], new[COS], new[SIN], new[THETA], new[W]
        elastic.impulse[j] += new[IMPULSE]
        elastic.square[j] += new[SQUARE]
        elastic.electric[j] += new[ENERGY]
        elastic.charge[j] += new[CHARGED]
        elastic.passed[j, 0] += new[SPRING]
        elastic.passed[j, 1] += new[SPRING_MOMENT] + t * new[SPRING]
        elastic.friction[j] += new[FRICTION]
        elastic.gear[j] += new[GEAR]
        elastic.peak[j, 0] = max(elastic.peak[j, 0], i * i + i_q * i_q)
        elastic.peak[j, 1] = max(elastic.peak[j, 1], abs(motor_torque(motor, i, i_q)))
        t += tau
        if happens:
            elastic.events += 1
            if motor.mode == STUCK:
                load = load_0 + t * (load_w0 + t * (load_a0 / 2.0 + t * load_j / 6.0))
                load_w = load_w0 + t * (load_a0 + t * load_j / 2.0)
                held = spring_torque(motor, theta - load) - motor.damping * load_w
                motor.mode = breakaway_direction(motor, motor_torque(motor, i, i_q), held)
            else:
                motor.mode, w = STUCK, 0.0
    elastic.i[j], elastic.i_q[j], elastic.theta[j], elastic.w[j] = i, i_q, theta, w
    return True
