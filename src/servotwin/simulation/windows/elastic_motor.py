r"""A motor behind an elastic gear through one window, from edge to edge, with its events.

Of the arm such a motor sees only how its load turns, which over a window is a polynomial. It goes through its own edges
alone: where an interval begins, acceleration and jerk of the rotor are known,

.. math:: J \alpha = \tau_e - \tau_f - \tau_s, \qquad J j = \dot\tau_e - \tau_f' \alpha - \dot\tau_s  (eq:rotor-jerk)

the currents under that speed are exact, and what the torques do to the rotor is exact too but for terms of fourth
order in the interval,

.. math:: J (\omega_1 - \omega_0) = \int \tau_e - \int (\tau_f + \tau_s), \qquad
          J (\theta_1 - \theta_0 - \omega_0 \tau) = \int (\tau - t)\,(\tau_e - \tau_f - \tau_s)         (eq:rotor-step)

An interval in which the shaft would turn round or break away is cut there, and so is the window of all motors where
a flank of a gear with play touches or parts. Along a Stribeck curve intervals end where the speed has changed by a part
of its Stribeck speed, up to which the series of friction follows it.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.drives.friction import (
    breakaway_direction,
    friction_moments,
    friction_series,
    holding_slack,
    part_on_curve,
)
from servotwin.drives.gears import torsion_torque
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
    winding_decay,
)
from servotwin.simulation.plant.event_steps import FAR, SHORTEST, inside_bracket, next_trial, turned_twice
from servotwin.simulation.windows.dc_stiff_lanes import BRIEF
from servotwin.simulation.windows.gear_events import (
    close_margin,
    gear_margin,
    gear_slopes,
    part_of_curve,
)
from servotwin.simulation.windows.motor_coordinates import at_motor

MOST_EVENTS = 60  # and trials of them and of kinks, of a motor in a window
MOST_ON_CURVE = 400  # further intervals of a window in which a shaft goes along its Stribeck curve,
CUTS_ON_CURVE = 3  # and times that one is cut to follow it: a speed may change most at its beginning
MOST_DECAYED = 2000.0  # times that the current of a winding falls to 1/e in a window that is parted by it
SAME = 1e-12  # rad/s, N m: an event that is missed by less is met
NEAR = 1e-11  # s: a flank that touches or parts so shortly before a window ends does so at its end
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
    return torsion_torque(motor, world.elastic_window.theta[j] - load, -load_w)


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
    elastic, per_J = world.elastic_window, 1.0 / motor.J
    i, i_q, cos, sin = elastic.i[j], elastic.i_q[j], elastic.cos[j], elastic.sin[j]
    theta, w, place = elastic.theta[j], elastic.w[j], elastic.place[j]
    u_a, u_b = world.pattern.level_a[j, place] * u, world.pattern.level_b[j, place] * u
    load, load_w, load_a, load_j = load_motion(world, j, t)
    slip, (k, d) = w - load_w, gear_slopes(motor, theta - load)
    s0 = torsion_torque(motor, theta - load, slip)
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
        rubbing, rubbing_lever = friction_moments(friction, slope, bend, alpha, jerk, tau)
        whole = got[IMPULSE] - rubbing - spring
        w_1 = w + whole * per_J  # eq:rotor-step
        theta_1 = theta + w * tau + (tau * whole - (got[MOMENT] - rubbing_lever - lever)) * per_J
        rest = w_1 - w - tau * (alpha + 0.5 * tau * jerk)
        more = late_speed(motor, u_a, u_b, i, i_q, got[I], got[I_Q], got[COS], got[SIN], rest, tau)
        w_1 += (more[2] - 0.25 * tau * (d + slope) * rest) * per_J  # eq:late-torques
        theta_1 -= 0.05 * tau * tau * (d + slope) * rest * per_J
        spring += 0.25 * tau * d * rest
        lever += 0.2 * tau * tau * d * rest
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
def crossing(begin: float, slope: float, bend: float, twist: float, tau: float) -> float:
    """Where the cubic of a margin, positive at first and negative at ``tau``, is zero; a first trial only.

    What has just begun to move has no margin at first: there the cubic divided by the time is a parabola.
    """
    if begin <= 0.0:
        root = bend * bend - 4.0 * twist * slope
        return 2.0 * slope / (math.sqrt(root) - bend) if slope > 0.0 and root > 0.0 else 0.0
    curve = bend + twist * tau  # the parabola with the same beginning and end
    root = slope * slope - 4.0 * curve * begin
    x = 2.0 * begin / (math.sqrt(root) - slope) if root > 0.0 else 0.0
    for _ in range(2):
        x -= (begin + x * (slope + x * (bend + x * twist))) / (slope + x * (2.0 * bend + x * 3.0 * twist))
    return x


@helper
def just_beyond(here: float, fall: float) -> bool:
    """True if a margin that falls at this rate passed zero less than half of ``SHORTEST`` ago."""
    return -here <= 0.5 * SHORTEST * fall


@helper
def nearer_trial(
    x: float, here: float, fall: float, before: float, low: float, high: float, following: float
) -> float:
    """Newton's step to just beyond the event where the margin obeys its curve, ``following`` elsewhere."""
    newton = x + here / fall + 0.25 * SHORTEST
    good = fall > 0.0 and abs(here) < 0.25 * before and low < newton < high
    return newton if good else following


@helper
def locate(world: Any, motor: Any, j: int, u: float, t: float, tau: float, inside: float, new: Any) -> float:
    """Close in on the event of an interval whose end ``new`` lies beyond one; when it happens."""
    low, high, outside, before = 0.0, tau, new[MARGIN], -new[MARGIN]
    slope = bend = twist = x = 0.0  # of what sticks no rate is known
    if motor.mode != STUCK:
        slope, bend, per = motor.mode * new[ALPHA], 0.5 * motor.mode * new[JERK], 1.0 / tau
        twist = ((outside - inside) * per - slope - bend * tau) * per * per
        x = crossing(inside, slope, bend, twist, tau)
    if not 0.0 < x < tau:
        x = first_guess(inside, outside, tau)
    x = inside_bracket(low, high, x)
    for _ in range(MOST_EVENTS):
        if high - low <= SHORTEST or -outside <= SAME:
            break
        here = elastic_step(world, motor, j, u, t, x)[MARGIN]
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
    return high


@helper
def gear_margin_at(world: Any, motor: Any, j: int, part: int, t: float, theta: float, w: float) -> float:
    """``gear_margin`` at a time of the window, with this angle and speed of the motor."""
    load, load_w, _, _ = load_motion(world, j, t)
    return gear_margin(motor, part, theta - load, w - load_w)


@part
def first_change(
    world: Any, motor: Any, j: int, u: float, t: float, tau: float, new: Any
) -> tuple[float, bool]:
    """When the law of a gear changes in an interval, and whether it does; else ``tau``. ``new``: its end."""
    elastic = world.elastic_window
    part = part_of_curve(motor, elastic.theta[j] - load_motion(world, j, t)[0])
    inside = gear_margin_at(world, motor, j, part, t, elastic.theta[j], elastic.w[j])
    outside = gear_margin_at(world, motor, j, part, t + tau, new[THETA], new[W])
    if not outside < 0.0:
        return tau, False
    low, high, close = 0.0, tau, close_margin(motor)
    x = inside_bracket(low, high, first_guess(inside, outside, tau))
    for _ in range(MOST_EVENTS):
        if high - low <= SHORTEST or -outside <= close:
            break
        trial = elastic_step(world, motor, j, u, t, x)
        here = gear_margin_at(world, motor, j, part, t + x, trial[THETA], trial[W])
        if here < 0.0:
            following = next_trial(x, here, low, inside, high, outside)
            high, outside = x, here
        else:
            following = next_trial(x, here, high, outside, low, inside)
            low, inside = x, here
        x = following
    return high, True


@helper
def turns_between(world: Any, motor: Any, j: int, tau: float, new: Any) -> float:
    """When a shaft that slides on at both ends of an interval may have turned round twice between, or ``tau``."""
    if new[MARGIN] < 0.0 or motor.mode in (STUCK, FREE):
        return tau
    way, later = motor.mode, new[ALPHA] + new[JERK] * tau
    start = way * world.elastic_window.w[j]
    return tau * turned_twice(start, way * new[W], way * new[ALPHA] * tau, way * later * tau)


@helper
def part_followed(motor: Any, w: float, new: Any, tau: float) -> float:
    """How much of an interval that begins with the speed w follows the Stribeck curves of its motor, 0 to 1."""
    if motor.mode in (STUCK, FREE):
        return 1.0
    way, middle = motor.mode, middle_speed(w, new[ALPHA], new[JERK], new[W], tau)
    slowest = min(way * w, way * middle, way * new[W])
    return part_on_curve(motor, slowest, max(abs(middle - w), abs(new[W] - w)))


@helper
def first_trial(world: Any, motor: Any, j: int, u: float, t: float, tau: float) -> Any:
    """An interval up to its end, or to where the shaft has turned round if it does so twice: its length and end.

    It ends sooner where the series of friction would leave the Stribeck curve.
    """
    new = elastic_step(world, motor, j, u, t, tau)
    for _ in range(CUTS_ON_CURVE):
        followed = part_followed(motor, world.elastic_window.w[j], new, tau)
        if not followed < 1.0:
            break
        tau *= followed
        new = elastic_step(world, motor, j, u, t, tau)
    dip = turns_between(world, motor, j, tau, new)
    if dip < tau:
        between = elastic_step(world, motor, j, u, t, dip)
        if between[MARGIN] < 0.0:
            return dip, between
    return tau, new


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
    decay = winding_decay(motor)
    if not decay * span < MOST_DECAYED:
        return False
    longest = BRIEF / decay if decay * span > BRIEF else span
    most_rounds = MOST_EVENTS + int(span / longest) + (MOST_ON_CURVE if motor.tau_fall[0] > 0.0 else 0)
    while span - t > SHORTEST:
        rounds += 1
        if rounds > most_rounds:
            return False
        tau = min(interval_end(world, j, start, t, span) - t, longest)
        inside = motor.mode * elastic.w[j]
        if motor.mode == STUCK:
            tau_e = motor_torque(motor, elastic.i[j], elastic.i_q[j])
            inside = holding_slack(motor, tau_e, holding_torque(world, motor, j, t))
            if inside < 0.0:
                change_mode(world, motor, j, t)
                inside = 0.0
        tau, new = first_trial(world, motor, j, u, t, tau)
        touches = False
        if motor.bend_1 > 0.0 or (motor.half_play > 0.0 and span - t > NEAR):
            change, touches = first_change(world, motor, j, u, t, tau, new)
            if change < tau:
                tau, new = change, elastic_step(world, motor, j, u, t, change)
        happens = new[MARGIN] < 0.0
        if happens:
            if motor.mode != STUCK and inside <= 0.0 and motor.mode * new[ALPHA] <= 0.0:
                change_mode(world, motor, j, t)  # it stands still and is pushed back
                continue
            tau = locate(world, motor, j, u, t, tau, inside, new)
            new = elastic_step(world, motor, j, u, t, tau)
        keep_step(world, motor, j, t, new)
        t += tau
        if happens:
            change_mode(world, motor, j, t)
        elif touches and motor.half_play > 0.0 and span - t > NEAR:
            elastic.until = t  # the window ends here, and the next one begins with another contact
            return True
    return True
