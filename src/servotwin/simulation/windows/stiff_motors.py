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

from servotwin.compiled.jit import helper, part
from servotwin.drives.friction import breakaway_direction, friction_series, holding_slack
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
from servotwin.simulation.plant.stuck_shafts import factor, solve
from servotwin.simulation.windows.elastic_motor import (
    MOST_EVENTS,
    SAME,
    first_guess,
    friction_work,
    interval_end,
    middle_speed,
    note_peaks,
)
from servotwin.simulation.windows.motor_coordinates import at_motor


@helper
def hold(world: Any, motors: Any, torque: Any, column: int, beta_0: float, beta_1: float, out: Any) -> None:
    """Accelerations of the moving motors in ``out``, and what the stuck ones pass on in ``torque`` (eq:stuck-motors).

    ``torque[:, column]`` holds the torques of those that move; beta is ``beta_0`` drift + ``beta_1`` its rate.
    """
    elastic = world.elastic_window
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        total = beta_0 * elastic.answer_drift[j, 0] + beta_1 * elastic.answer_drift[j, 1]
        for q in range(elastic.stiff_count):
            k = elastic.stiff[q]
            total += elastic.answer[j, k] * torque[k, column]
        out[j, column] = total
        if motors[j].mode == STUCK:
            out[j, column], torque[j, column] = 0.0, total


@part
def factor_stuck(world: Any, motors: Any) -> None:
    """Number of the motors that stick, and the factor of their B_ss."""
    elastic, scratch = world.elastic_window, world.scratch
    row = 0
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        if motors[j].mode != STUCK:
            continue
        column = 0
        for q in range(r + 1):
            k = elastic.stiff[q]
            if motors[k].mode == STUCK:
                scratch.S[row, column] = 0.5 * (elastic.B[j, k] + elastic.B[k, j])
                column += 1
        row += 1
    elastic.stuck_count = row
    factor(scratch.S, row)


@helper
def answer_column(world: Any, motors: Any, column: Any, k: int, out: Any, at: int) -> None:
    """What accelerations ``column[:, k]`` of all motors become where some stick, and the torques that hold those."""
    elastic, scratch = world.elastic_window, world.scratch
    count = 0
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        if motors[j].mode == STUCK:
            scratch.reaction[count] = -column[j, k]
            count += 1
    solve(scratch.S, count, scratch.reaction, 0)
    for r in range(elastic.stiff_count):
        j, total, count = elastic.stiff[r], 0.0, 0
        for q in range(elastic.stiff_count):
            s = elastic.stiff[q]
            if motors[s].mode == STUCK:
                total += elastic.B[j, s] * scratch.reaction[count]
                out[s, at] = scratch.reaction[count]
                count += 1
        if motors[j].mode != STUCK:
            out[j, at] = column[j, k] + total


@part
def answer_motors(world: Any, motors: Any) -> None:
    """Make eq:stuck-motors one matrix for the torques of those that move, and two columns for the drift."""
    elastic = world.elastic_window
    factor_stuck(world, motors)
    for r in range(elastic.stiff_count):
        k = elastic.stiff[r]
        if motors[k].mode != STUCK:
            answer_column(world, motors, elastic.B, k, elastic.answer, k)
        else:
            for q in range(elastic.stiff_count):
                elastic.answer[elastic.stiff[q], k] = 0.0
    for k in range(2):
        answer_column(world, motors, elastic.motor_drift, k, elastic.answer_drift, k)


@part
def motion_now(world: Any, motors: Any, u: float, t: float, tau: float) -> None:
    """Torques and accelerations at the beginning of an interval, and their rates, in columns 0 and 1."""
    elastic, pattern = world.elastic_window, world.pattern
    torque, motion = elastic.torque, elastic.motion
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        motor = motors[j]
        if motor.mode != STUCK:
            w, tau_e = elastic.w[j], motor_torque(motor, elastic.i[j], elastic.i_q[j])
            friction, slope, bend = friction_series(motor, w, w + elastic.B[j, j] * tau_e * tau)
            elastic.rubbing[j, 0], elastic.rubbing[j, 1], elastic.rubbing[j, 2] = friction, slope, bend
            torque[j, 0] = tau_e - friction
    hold(world, motors, torque, 0, 1.0, t, motion)
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        motor = motors[j]
        if motor.mode != STUCK:
            place, w, alpha = elastic.place[j], elastic.w[j], motion[j, 0]
            u_a, u_b = pattern.level_a[j, place] * u, pattern.level_b[j, place] * u
            rate = torque_rate(
                motor, u_a, u_b, elastic.i[j], elastic.i_q[j], elastic.cos[j], elastic.sin[j], w
            )
            torque[j, 1] = rate - elastic.rubbing[j, 1] * alpha
    hold(world, motors, torque, 1, 0.0, 1.0, motion)


@part
def stiff_step(world: Any, motors: Any, u: float, t: float, tau: float) -> float:
    """All motors after ``tau`` seconds without an edge in their present modes; how far the end is from an event."""
    elastic, pattern = world.elastic_window, world.pattern
    torque, motion, got = elastic.torque, elastic.motion, elastic.got
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        motor, place = motors[j], elastic.place[j]
        new = motor_interval(
            world, motor, pattern.level_a[j, place] * u, pattern.level_b[j, place] * u, elastic.i[j], elastic.i_q[j],
            elastic.cos[j], elastic.sin[j], elastic.w[j], motion[j, 0], motion[j, 1], tau,
        )  # fmt: skip
        for k in range(9):
            got[j, k] = new[k]
        if motor.mode != STUCK:
            slope, alpha = elastic.rubbing[j, 1], motion[j, 0]
            f0, f1 = elastic.rubbing[j, 0], slope * alpha
            f2 = slope * motion[j, 1] + elastic.rubbing[j, 2] * alpha * alpha
            torque[j, 2] = new[IMPULSE] - tau * (f0 + tau * (f1 / 2.0 + tau * (f2 / 6.0)))
            torque[j, 3] = new[MOMENT] - tau * tau * (f0 / 2.0 + tau * (f1 / 3.0 + tau * (f2 / 8.0)))
    hold(world, motors, torque, 2, tau, tau * (t + 0.5 * tau), motion)
    if elastic.stuck_count > 0:
        hold(world, motors, torque, 3, 0.5 * tau * tau, tau * tau * (0.5 * t + tau / 3.0), motion)
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        motor = motors[j]
        elastic.w_end[j] = elastic.w[j] + motion[j, 2] if motor.mode != STUCK else 0.0
        if motor.mode != STUCK:
            more = motion[j, 2]
            friction = elastic.rubbing[j, 0] + more * (
                elastic.rubbing[j, 1] + 0.5 * more * elastic.rubbing[j, 2]
            )
            torque[j, 4] = motor_torque(motor, got[j, I], got[j, I_Q]) - friction
    if elastic.dry:
        hold(world, motors, torque, 4, 1.0, t + tau, motion)
    margin = FAR
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        motor = motors[j]
        if motor.mode == STUCK:
            margin = min(
                margin, holding_slack(motor, motor_torque(motor, got[j, I], got[j, I_Q]), torque[j, 4])
            )
        elif motor.mode != FREE:
            margin = min(margin, motor.mode * elastic.w_end[j])
    return margin


@helper
def add_late_speed(world: Any, motor: Any, j: int, u: float, tau: float) -> None:
    """Add to currents and integrals what the end of the speed changes in them (eq:late-speed)."""
    elastic, pattern = world.elastic_window, world.pattern
    got, motion, place = elastic.got, elastic.motion, elastic.place[j]
    rest = elastic.w_end[j] - elastic.w[j] - tau * (motion[j, 0] + 0.5 * tau * motion[j, 1])
    u_a, u_b = pattern.level_a[j, place] * u, pattern.level_b[j, place] * u
    more = late_speed(motor, u_a, u_b, got[j, I], got[j, I_Q], got[j, COS], got[j, SIN], rest, tau)
    got[j, I] += more[0]
    got[j, I_Q] += more[1]
    got[j, IMPULSE] += more[2]
    got[j, SQUARE] += more[3]
    got[j, ENERGY] += more[4]
    got[j, CHARGED] += more[5]


@helper
def keep_step(world: Any, motors: Any, u: float, t: float, tau: float) -> None:
    """Take the step that was computed last."""
    elastic = world.elastic_window
    got, torque, motion = elastic.got, elastic.torque, elastic.motion
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        motor = motors[j]
        if motor.mode != STUCK:
            add_late_speed(world, motor, j, u, tau)
            w, end = elastic.w[j], elastic.w_end[j]
            middle = middle_speed(w, motion[j, 0], motion[j, 1], end, tau)
            f0, f1, f2 = elastic.rubbing[j, 0], elastic.rubbing[j, 1], elastic.rubbing[j, 2]
            elastic.friction[j] += friction_work(f0, f1, f2, w, middle, end, tau)
        elastic.impulse[j] += got[j, IMPULSE]
        elastic.square[j] += got[j, SQUARE]
        elastic.electric[j] += got[j, ENERGY]
        elastic.charge[j] += got[j, CHARGED]
        elastic.passed[j, 0] += torque[j, 2]
        elastic.passed[j, 1] += torque[j, 3] + t * torque[j, 2]
        elastic.i[j], elastic.i_q[j] = got[j, I], got[j, I_Q]
        elastic.cos[j], elastic.sin[j], elastic.w[j] = got[j, COS], got[j, SIN], elastic.w_end[j]
        note_peaks(world, motor, j)


@helper
def change_stuck(world: Any, motors: Any, column: int) -> bool:
    """Let go what does not hold, by the torques in ``column`` of the record; true if one did."""
    elastic = world.elastic_window
    changed = False
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        motor = motors[j]
        if motor.mode == STUCK:
            tau_e = motor_torque(motor, elastic.i[j], elastic.i_q[j])
            if holding_slack(motor, tau_e, elastic.torque[j, column]) < 0.0:
                motor.mode = breakaway_direction(motor, tau_e, elastic.torque[j, column])
                elastic.events += 1
                changed = True
    return changed


@helper
def change_sliding(world: Any, motors: Any) -> bool:
    """Let stick what has come to rest or is pushed back from it; true if one did."""
    elastic = world.elastic_window
    changed = False
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        motor = motors[j]
        if motor.mode not in (STUCK, FREE) and motor.mode * elastic.w[j] < 0.0:
            motor.mode, elastic.w[j] = STUCK, 0.0
            elastic.events += 1
            changed = True
    return changed


@helper
def margin_now(world: Any, motors: Any) -> float:
    """How far the motors are from an event where an interval begins."""
    elastic = world.elastic_window
    margin = FAR
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        motor = motors[j]
        if motor.mode == STUCK:
            tau_e = motor_torque(motor, elastic.i[j], elastic.i_q[j])
            margin = min(margin, holding_slack(motor, tau_e, elastic.torque[j, 0]))
        elif motor.mode != FREE:
            margin = min(margin, motor.mode * elastic.w[j])
    return margin


@helper
def pushed_back(world: Any, motors: Any) -> bool:
    """Let stick what stands still and is pushed back; true if one was."""
    elastic = world.elastic_window
    changed = False
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        motor = motors[j]
        at_rest = motor.mode not in (STUCK, FREE) and motor.mode * elastic.w[j] <= 0.0
        if at_rest and motor.mode * elastic.motion[j, 0] <= 0.0 and motor.mode * elastic.w_end[j] < 0.0:
            motor.mode, elastic.w[j] = STUCK, 0.0
            elastic.events += 1
            changed = True
    return changed


@helper
def first_dip(world: Any, motors: Any, tau: float) -> float:
    """When one that slides on at both ends of an interval may have turned round twice between, or ``tau``."""
    elastic = world.elastic_window
    dip = 1.0
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        way = motors[j].mode
        if way not in (STUCK, FREE):
            fall, rise = way * elastic.motion[j, 0] * tau, way * elastic.motion[j, 4] * tau
            dip = min(dip, turned_twice(way * elastic.w[j], way * elastic.w_end[j], fall, rise))
    return dip * tau


@part
def locate(world: Any, motors: Any, u: float, t: float, tau: float, outside: float) -> float:
    """Close in on the first event of an interval whose end lies beyond one; when it happens."""
    low, high, inside, last = 0.0, tau, margin_now(world, motors), tau
    x = inside_bracket(low, high, first_guess(inside, outside, tau))
    for _ in range(MOST_EVENTS):
        if high - low <= SHORTEST or -outside <= SAME:
            break
        here, last = stiff_step(world, motors, u, t, x), x
        if here < 0.0:
            following = next_trial(x, here, low, inside, high, outside)
            high, outside = x, here
        else:
            following = next_trial(x, here, high, outside, low, inside)
            low, inside = x, here
        x = following
    if last != high:
        stiff_step(world, motors, u, t, high)
    return high


@helper
def try_step(world: Any, motors: Any, u: float, t: float, tau: float) -> tuple[float, float]:
    """A step up to the next edge, or to where one may have turned round twice; its length and its margin."""
    margin = stiff_step(world, motors, u, t, tau)
    if world.elastic_window.dry and margin >= 0.0:
        dip = first_dip(world, motors, tau)
        if dip < tau:
            margin = stiff_step(world, motors, u, t, dip)
            if margin < 0.0:
                return dip, margin
            margin = stiff_step(world, motors, u, t, tau)
    return tau, margin


@helper
def begin_stiff(world: Any, motors: Any) -> None:
    """Speeds of the motors as the window begins, and whether some of them have dry friction."""
    elastic = world.elastic_window
    elastic.dry = 0
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        elastic.w[j] = at_motor(world, j, world.state.y, world.n_x)
        elastic.dry = 1 if motors[j].mode != FREE else elastic.dry
    answer_motors(world, motors)


@part
def stiff_motors(world: Any, motors: Any, u: float, start: float, span: float) -> bool:
    """Carry them over the window; true if that went well. Their end states and integrals are left in the record."""
    elastic = world.elastic_window
    t, rounds = 0.0, 0
    begin_stiff(world, motors)
    while span - t > SHORTEST:
        rounds += 1
        if rounds > 4 * MOST_EVENTS:
            return False
        end = span
        for r in range(elastic.stiff_count):
            end = min(end, interval_end(world, elastic.stiff[r], start, t, span))
        tau = end - t
        motion_now(world, motors, u, t, tau)
        if elastic.stuck_count > 0 and change_stuck(world, motors, 0):
            answer_motors(world, motors)
            continue
        tau, margin = try_step(world, motors, u, t, tau)
        if margin < 0.0:
            if pushed_back(world, motors):
                answer_motors(world, motors)
                continue
            tau = locate(world, motors, u, t, tau, margin)
        keep_step(world, motors, u, t, tau)
        t += tau
        if margin < 0.0:
            # what lets go is judged by the torques that the step ended with
            let_go, came_to_rest = change_stuck(world, motors, 4), change_sliding(world, motors)
            if let_go or came_to_rest:
                answer_motors(world, motors)
    return True
