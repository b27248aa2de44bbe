r"""The fast method in one pass for synchronous motors with dry friction, coupled transmissions, a bus with a capacitor.

Currents, torque lines and predicted speeds are those of ``pmsm_window``; all of them stand at the motors, so that a
transmission :math:`\theta_m = N q` of any form changes only how the arm is moved. With the accelerations of the joints
per torque of a motor, :math:`\Gamma = M^{-1} N^T` and :math:`B = N \Gamma` (eq:motor-inverse-inertia), motors s that
stick take part by what their gears pass on,

.. math:: \ddot q = \ddot q_0 + \Gamma_s\,p_s, \qquad B_{ss}\,p_s = -N_s\,\ddot q_0, \qquad
          B' = B - B_{:s}\,B_{ss}^{-1}\,B_{s:}                                                (eq:held-motors)

with :math:`\ddot q_0` the accelerations without them and B' the inverse inertia that the others see. :math:`\Gamma` is
computed now and then and goes on along a straight line. The arm is asked with :math:`p_s` as it was a stage ago, and
:math:`\Gamma` serves for what has changed since, so that its error counts with that change only. A window in which a
shaft may come to rest or break away is carried by ``elastic_window``, which sees the events of every edge.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part, piece
from servotwin.compiled.native_calls import call_piece, records_at
from servotwin.drives.friction import friction_torque, holding_slack, joint_friction_torque
from servotwin.drives.pmsm.model import pmsm_torque
from servotwin.drives.records import FREE, MOTOR, POWER, STOP, STUCK
from servotwin.simulation.plant.rates import FRICTION
from servotwin.simulation.plant.records import WORLD
from servotwin.simulation.plant.status import PIECE_MISSING
from servotwin.simulation.plant.stuck_shafts import solve
from servotwin.simulation.windows.choice import Window
from servotwin.simulation.windows.dc_window import REFRESH
from servotwin.simulation.windows.elastic_arm import extrapolate_gain, refresh_gain
from servotwin.simulation.windows.elastic_window import settle_motors
from servotwin.simulation.windows.general_window import bus_voltage, bus_window
from servotwin.simulation.windows.held_joints import call_arm
from servotwin.simulation.windows.motor_coordinates import at_joint, at_motor, joint_from_motors
from servotwin.simulation.windows.motor_inverse_inertia import (
    begin_window,
    past_stop,
    torque_line,
    update_drift,
)
from servotwin.simulation.windows.pmsm_window import accept, predict, update_guess_error
from servotwin.simulation.windows.stiff_motors import factor_stuck

ELASTIC = int(Window.ELASTIC)


@helper
def solve_stuck(world: Any, motors: Any, values: Any) -> None:
    """Solve B_ss x = -values for the motors that stick; x stands in ``values`` at their places, 0 at the others."""
    scratch, count = world.scratch, 0
    for j in range(world.m):
        if motors[j].mode == STUCK:
            scratch.reaction[count] = -values[j]
            count += 1
    solve(scratch.S, count, scratch.reaction, 0)
    count = 0
    for j in range(world.m):
        values[j] = 0.0
        if motors[j].mode == STUCK:
            values[j] = scratch.reaction[count]
            count += 1


@part
def inverse_inertia(world: Any, motors: Any) -> None:
    """B at all motors, the factor of B_ss, and B' of those that move (eq:held-motors)."""
    elastic, prediction, m = world.elastic_window, world.prediction, world.m
    for j in range(m):
        for k in range(m):
            elastic.B[j, k] = prediction.B[j, k] = at_motor(world, j, elastic.gain[:, k], 0)
    factor_stuck(world, motors)
    if elastic.stuck_count == 0:
        return
    for k in range(m):
        moves = motors[k].mode != STUCK
        for j in range(m):
            elastic.held[j] = elastic.B[j, k]
        solve_stuck(world, motors, elastic.held)
        for j in range(m):
            total = 0.0
            if moves and motors[j].mode != STUCK:
                total = elastic.B[j, k]
                for s in range(m):
                    total += elastic.B[j, s] * elastic.held[s]
            prediction.B[j, k] = total  # eq:held-motors


@part
def joint_acceleration(world: Any, motors: Any, after: float) -> None:
    """Accelerations of the joints in ``outputs`` under ``inputs``, ``after`` seconds into the window.

    ``held`` is what the gears of stuck motors pass on: near enough in ``inputs`` that gains of before serve for the
    rest, and right when it is left.
    """
    elastic, scratch, n, m = world.elastic_window, world.scratch, world.n, world.m
    call_arm(world)
    if elastic.stuck_count == 0:
        return
    for _ in range(2):  # the second time for what the gains have changed since the window began
        for j in range(m):
            elastic.settled[j] = at_motor(world, j, scratch.outputs, 0)
        solve_stuck(world, motors, elastic.settled)
        for j in range(m):
            if motors[j].mode == STUCK:
                p = elastic.settled[j]
                elastic.held[j] += p
                for i in range(n):
                    scratch.outputs[i] += (elastic.gain[i, j] + after * elastic.gain_rate[i, j]) * p


@part
def move_arm_with_friction(world: Any, motors: Any, stops: Any, h: float) -> None:
    """Classic step of the arm under torque lines and friction; leaves y1, the stages' slopes, the work of friction."""
    state, scratch, elastic, line = world.state, world.scratch, world.elastic_window, world.line
    n, m = world.n, world.m
    for j in range(m):
        elastic.friction[j] = elastic.joint_friction[j] = 0.0
        elastic.held[j] = elastic.held_ends[j, 1] if motors[j].mode == STUCK else 0.0
    for s in range(4):
        a = 0.0 if s == 0 else (h if s == 3 else 0.5 * h)
        weight = h / 6.0 if s in (0, 3) else h / 3.0
        for i in range(n):
            scratch.inputs[i] = state.y[i] + a * scratch.k[s, i]
            scratch.inputs[n + i] = scratch.k[s + 1, i] = state.y[n + i] + a * scratch.k[s, n + i]
        for j in range(m):
            elastic.torque_now[j] = elastic.held[j]
            if motors[j].mode != STUCK:
                w = at_motor(world, j, scratch.inputs, n)
                friction = friction_torque(motors[j], w)
                elastic.friction[j] += weight * friction * w
                elastic.torque_now[j] = line.a0[j] + line.a1[j] * a - friction
        for i in range(n):
            scratch.inputs[2 * n + i] = at_joint(world, i, elastic.torque_now)
            if stops[i].has_friction:
                friction = joint_friction_torque(stops[i], scratch.inputs[n + i])
                scratch.inputs[2 * n + i] -= friction
                elastic.joint_friction[i] += weight * friction * scratch.inputs[n + i]
        joint_acceleration(world, motors, a)
        for i in range(n):
            scratch.k[s + 1, n + i] = scratch.outputs[i]
        if s in (0, 3):
            for j in range(m):
                elastic.held_ends[j, 0 if s == 0 else 1] = elastic.held[j]
    for i in range(n):
        A1, A23, A4 = scratch.k[1, n + i], scratch.k[2, n + i] + scratch.k[3, n + i], scratch.k[4, n + i]
        scratch.y1[i] = state.y[i] + h * (scratch.k[1, i] + h * (A1 + A23) / 6.0)
        scratch.y1[n + i] = state.y[n + i] + h * (A1 + 2.0 * A23 + A4) / 6.0


@helper
def compare_with_joints(world: Any) -> None:
    """Take the motors' derivatives from the arm's step (eq:arm-acceleration); note the error of the prediction."""
    n, k, line, prediction = world.n, world.scratch.k, world.line, world.prediction
    per = line.per_span
    for j in range(world.m):
        A1, A4 = at_motor(world, j, k[1], n), at_motor(world, j, k[4], n)
        rise = 0.5 * (at_motor(world, j, k[2], n) + at_motor(world, j, k[3], n)) - A1  # eq:arm-acceleration
        whole = A4 - A1
        jerk = (4.0 * rise - whole) * per
        prediction.d_alpha[j], prediction.d_jerk[j] = A1 - prediction.alpha[j], jerk - prediction.jerk[j]
        prediction.alpha[j], prediction.jerk[j] = A1, jerk
        prediction.snap[j] = 4.0 * (whole - 2.0 * rise) * per * per
        line.before[j, 0], line.before[j, 1] = line.a0[j], line.a1[j]


@helper
def correct(world: Any, motors: Any, span: float) -> None:
    """Torque lines under the speeds that the arm took, and what their change does to speeds and angles."""
    pmsm, prediction, line, elastic, G = (
        world.pmsm, world.prediction, world.line, world.elastic_window, world.pmsm.G,
    )  # fmt: skip
    compare_with_joints(world)
    n, m, y1 = world.n, world.m, world.scratch.y1
    for j in range(m):
        d_alpha, d_jerk, snap = prediction.d_alpha[j], prediction.d_jerk[j], prediction.snap[j]
        I1 = pmsm.stiffness[j] * (d_alpha * G[j, 2] + d_jerk * G[j, 3] + snap * G[j, 4])
        I2 = pmsm.stiffness[j] * (d_alpha * G[j, 3] + d_jerk * G[j, 4] + snap * G[j, 5])
        pmsm.impulse[j] -= I1
        pmsm.moment[j] -= span * I1 - I2
        torque_line(world, j, 1.0, pmsm.impulse[j], pmsm.moment[j], span)
    for j in range(m):
        alpha = jerk = 0.0
        for k in range(m):
            alpha += prediction.B[j, k] * (line.a0[k] - line.before[k, 0])
            jerk += prediction.B[j, k] * (line.a1[k] - line.before[k, 1])
        prediction.alpha[j] += alpha
        prediction.jerk[j] += jerk
        elastic.settled[j] = span * (alpha + 0.5 * span * jerk)
        elastic.held[j] = span * span * (alpha / 2.0 + span * jerk / 6.0)
    for i in range(n):
        y1[n + i] += joint_from_motors(world, i, elastic.settled)
        y1[i] += joint_from_motors(world, i, elastic.held)


@helper
def acceleration_swing(world: Any, i: int) -> float:
    """How far the ripple of all torques can shake the acceleration of motor i [rad/s2]."""
    pmsm, total = world.pmsm, 0.0
    for k in range(world.m):
        total += abs(world.prediction.B[i, k]) * (pmsm.extremes[k, 1] - pmsm.extremes[k, 0])
    return total


@part
def keeps_modes(world: Any, motors: Any, span: float) -> bool:
    """True if stiction holds whatever sticks at every edge, and what slides is faster than the ripple shakes it.

    What the ripple of moving motors adds to the load of a stuck one: B_ss p = -B_sf tau_f, by the sizes of all terms.
    """
    elastic, pmsm, n, m = world.elastic_window, world.pmsm, world.n, world.m
    for j in range(m):
        motor = motors[j]
        if motor.mode == STUCK:
            sway = 0.0
            for k in range(m):
                if motors[k].mode != STUCK:
                    sway += elastic.sway[j, k] * (pmsm.extremes[k, 1] - pmsm.extremes[k, 0])
            for end in range(2):
                load = elastic.held_ends[j, end]
                low = holding_slack(motor, pmsm.extremes[j, 0], load)
                high = holding_slack(motor, pmsm.extremes[j, 1], load)
                if min(low, high) < sway:
                    return False
        elif motor.mode != FREE:
            drift = span * abs(world.prediction.drift[j, 1])
            shaken = 0.25 * span * (drift + acceleration_swing(world, j))
            first, middle = at_motor(world, j, world.state.y, n), at_motor(world, j, world.scratch.k[2], 0)
            last = at_motor(world, j, world.scratch.y1, n)
            if min(motor.mode * first, motor.mode * middle, motor.mode * last) < shaken:
                return False
    return True


@part
def load_sway(world: Any, motors: Any) -> None:
    """Size of what a torque of motor k adds to the load of the stuck motor j: B_ss^-1 B_sk."""
    elastic = world.elastic_window
    for k in range(world.m):
        for j in range(world.m):
            elastic.held[j] = elastic.B[j, k]
        solve_stuck(world, motors, elastic.held)
        for j in range(world.m):
            elastic.sway[j, k] = abs(elastic.held[j])


@part
def first_window(world: Any, motors: Any, stops: Any) -> None:
    """First window, also after an event: accelerations from the currents that flow now."""
    state, scratch, elastic, n = world.state, world.scratch, world.elastic_window, world.n
    for i in range(n):
        scratch.inputs[i], scratch.inputs[n + i] = state.y[i], state.y[n + i]
    for j in range(world.m):
        k, w = motors[j].current_at, at_motor(world, j, state.y, n)
        torque = pmsm_torque(motors[j], state.y[k], state.y[k + 1])
        world.line.a0[j], world.line.a1[j] = torque, 0.0
        elastic.torque_now[j] = elastic.held[j] = 0.0
        if motors[j].mode != STUCK:
            elastic.torque_now[j] = torque - friction_torque(motors[j], w)
    for i in range(n):
        scratch.inputs[2 * n + i] = at_joint(world, i, elastic.torque_now)
        if stops[i].has_friction:
            scratch.inputs[2 * n + i] -= joint_friction_torque(stops[i], state.y[n + i])
    joint_acceleration(world, motors, 0.0)
    for j in range(world.m):
        world.prediction.alpha[j], world.prediction.jerk[j] = at_motor(world, j, scratch.outputs, 0), 0.0
        elastic.held_ends[j, 1] = elastic.held[j]
    update_drift(world, 0.0)


@piece
def pmsm_friction_window(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """Carry the plant over a window of synchronous motors behind stiff gears with dry friction."""
    world = records_at(world_at, 1, WORLD)[0]
    prediction, state = world.prediction, world.state
    power, motors = records_at(power_at, 1, POWER), records_at(motors_at, world.m, MOTOR)
    stops = records_at(stops_at, world.n, STOP)
    if world.code.windows[ELASTIC] == 0:
        state.status = PIECE_MISSING
        return
    if world.at_bus >= 0:  # in the middle of the window, as the bus went in the last one
        state.u_bus = bus_voltage(world) + 0.5 * state.bus_step
    if prediction.windows == 0:
        prediction.since = 0.0
        refresh_gain(world)
        inverse_inertia(world, motors)
        load_sway(world, motors)
        first_window(world, motors, stops)
    begin_window(world, span)
    predict(world, motors, start, span)
    move_arm_with_friction(world, motors, stops, span)
    correct(world, motors, span)
    if past_stop(world, stops) or not keeps_modes(world, motors, span):
        prediction.windows = 0
        call_piece(world.code.windows[ELASTIC], world_at, power_at, motors_at, stops_at, start, span)
        prediction.windows = 0
        return
    world.elastic_window.events = 0
    settle_motors(world, motors)
    accept(world, motors, span)
    for j in range(world.m):
        state.z[FRICTION * world.m + j] += (
            world.elastic_window.friction[j] + world.elastic_window.joint_friction[j]
        )
    if world.at_bus >= 0:
        bus_window(world, power, motors, span)
    update_guess_error(world)
    prediction.since += span
    looks = prediction.windows % REFRESH == 0
    if looks:
        refresh_gain(world)
    else:
        extrapolate_gain(world, span)
    inverse_inertia(world, motors)
    if looks:
        load_sway(world, motors)
    update_drift(world, span)
