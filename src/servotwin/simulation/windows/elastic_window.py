r"""The fast method for robots with elastic gears: every motor through its own edges, the arm once per window.

Between motor and arm stands a spring, which lets no ripple of the current through but what its damper passes. A window
goes in three steps, each once:

1. The arm's accelerations at the beginning, without the torques of motors behind stiff gears, and their rate from the
   windows before: how loads turn, and what moves the motors behind stiff gears beside themselves.
2. Every motor through its own edges and events (``elastic_motor``, ``stiff_motors``).
3. The arm, one classic step of fourth order under the torques that the motors and springs gave it: lines with the same
   impulse and moment (eq:moment-match), of springs the parabola that begins with the torque of the spring,

.. math:: a_2 = \frac{36}{S^4} \Bigl(Q - \tfrac23 S P\Bigr), \quad a_1 = \frac{2}{S^2} P - \tfrac23 S a_2, \quad
          P = \int (\tau - \tau_0)\,dt, \quad Q = \int (\tau - \tau_0)\,t\,dt                     (eq:spring-parabola)

The arm's step shows the rate of the loads' accelerations that would have been right,

.. math:: \dot a = \frac{2}{S} (a_m - a)                                                              (eq:seen-rate)

with a_m those in its middle. Where the loads end elsewhere than the motors saw, all is computed again with it.

A window in which a joint meets its stop is rejected and left to the steps from edge to edge.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, part, piece
from servotwin.compiled.native_calls import call_address, records_at
from servotwin.drives.friction import joint_friction_torque
from servotwin.drives.gears import spring_torque
from servotwin.drives.peaks import update_peaks
from servotwin.drives.records import FREE, MOTOR, POWER, STOP, STUCK
from servotwin.simulation.plant.rates import ELECTRIC, FRICTION, GEAR, SQUARE, TORQUE
from servotwin.simulation.plant.records import WORLD
from servotwin.simulation.windows.dc_window import REFRESH
from servotwin.simulation.windows.elastic_motor import elastic_motor
from servotwin.simulation.windows.general_window import bus_voltage, bus_window, restore_modes, save_modes
from servotwin.simulation.windows.motor_coordinates import at_joint, at_motor, joint_from_motors
from servotwin.simulation.windows.motor_inverse_inertia import (
    begin_window,
    past_stop,
    refresh_rate,
    reject,
)
from servotwin.simulation.windows.motors_side_by_side import elastic_lanes
from servotwin.simulation.windows.pmsm_elastic_lanes import begin_electrical_angle
from servotwin.simulation.windows.stiff_motors import stiff_motors

# what a prediction may miss before the window is computed again with what was found:
MISSED_ANGLE = 1.5e-9  # rad between the end of a load and where its motor saw it,
MISSED_VOLTAGE = 4e-6  # and of the voltage of a bus, in its change
ATTEMPTS = 4
# beyond, steps from edge to edge carry the window:
MOST_BENT = 3e-8  # rad by which the path of a load bends otherwise than a cubic
MOST_OF_BUS = 3e-4  # of its voltage by which a bus changes


@helper
def call_arm(world: Any) -> None:
    """Accelerations of the arm under ``inputs``."""
    code = world.code
    call_address(code.accel, code.inputs_at, code.outputs_at, code.accel_data)


@helper
def drift_of_stiff(world: Any) -> None:
    """Accelerations of the motors behind stiff gears without their own torques, and their rate."""
    elastic = world.elastic_window
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        world.stiff_lanes.drift[0, r] = at_motor(world, j, elastic.drift, 0)
        world.stiff_lanes.drift[1, r] = at_motor(world, j, elastic.drift_rate, 0)


@part
def begin_motion(world: Any, motors: Any, stops: Any) -> None:
    """Accelerations of the joints without motors behind stiff gears, their rate, and the springs' torques now."""
    state, scratch, elastic = world.state, world.scratch, world.elastic_window
    n = world.n
    for j in range(world.m):
        motor, e = motors[j], motors[j].flexible
        elastic.begins[j] = 0.0
        if e >= 0:
            twist = state.y[world.at_theta + e] - at_motor(world, j, state.y, 0)
            slip = state.y[world.at_w + e] - at_motor(world, j, state.y, n)
            elastic.begins[j] = spring_torque(motor, twist) + motor.damping * slip
    for i in range(n):
        v = state.y[n + i]
        scratch.inputs[i], scratch.inputs[n + i] = state.y[i], v
        scratch.inputs[2 * n + i] = at_joint(world, i, elastic.begins)
        if stops[i].has_friction:
            scratch.inputs[2 * n + i] -= joint_friction_torque(stops[i], v)
    call_arm(world)
    windows, per = world.prediction.windows, elastic.per_last
    for i in range(n):
        elastic.drift[i] = scratch.outputs[i]
        rate = (elastic.drift[i] - elastic.drift_last[i]) * per if windows > 0 else 0.0
        # from the middles of the two windows before to that of this one
        elastic.drift_rate[i] = 2.0 * rate - elastic.rate_last[i] if windows > 1 else rate
        elastic.drift_last[i], elastic.rate_last[i] = elastic.drift[i], rate
        scratch.k[1, i], scratch.k[1, n + i] = state.y[n + i], elastic.drift[i]
    drift_of_stiff(world)


@part
def refresh_gain(world: Any) -> None:
    """Accelerations of all joints per torque of a motor behind a stiff gear, and how fast they change."""
    scratch, elastic = world.scratch, world.elastic_window
    n, per = world.n, refresh_rate(world)
    for i in range(2 * n):
        scratch.inputs[i] = world.state.y[i]
    for i in range(n):
        scratch.inputs[2 * n + i] = 0.0
    call_arm(world)
    for i in range(n):
        scratch.qdd[i] = scratch.outputs[i]
    for r in range(elastic.stiff_count):
        k = elastic.stiff[r]
        for i in range(n):
            scratch.inputs[2 * n + i] = world.N[k, i]
        call_arm(world)
        for i in range(n):
            value = scratch.outputs[i] - scratch.qdd[i]
            elastic.gain_rate[i, k] = (value - elastic.gain_last[i, k]) * per
            elastic.gain[i, k] = elastic.gain_last[i, k] = value


@helper
def extrapolate_gain(world: Any, span: float) -> None:
    """Carry the gains on to the next window at their last rate of change."""
    elastic = world.elastic_window
    for i in range(world.n):
        for r in range(elastic.stiff_count):
            k = elastic.stiff[r]
            elastic.gain[i, k] += elastic.gain_rate[i, k] * span


@helper
def begin_motors(world: Any, motors: Any) -> None:
    """Currents and electrical angles of all motors, integrals at zero; B in the middle of the gains."""
    state, elastic = world.state, world.elastic_window
    elastic.events = 0
    for j in range(world.m):
        motor, k = motors[j], motors[j].current_at
        elastic.i[j] = state.y[k]
        elastic.i_q[j] = state.y[k + 1] if motor.charge_at >= 0 else 0.0
        if motor.charge_at >= 0:
            begin_electrical_angle(world, motor, j)
        elastic.impulse[j] = elastic.square[j] = elastic.electric[j] = elastic.charge[j] = 0.0
        elastic.friction[j] = elastic.gear[j] = elastic.passed[j, 0] = elastic.passed[j, 1] = 0.0
        elastic.peak[j, 0] = elastic.i[j] * elastic.i[j] + elastic.i_q[j] * elastic.i_q[j]
        elastic.peak[j, 1], elastic.place[j] = 0.0, 0
        if motor.flexible >= 0:
            elastic.theta[j] = state.y[world.at_theta + motor.flexible]
            elastic.w[j] = state.y[world.at_w + motor.flexible]
    for r in range(elastic.stiff_count):
        for q in range(elastic.stiff_count):
            gain = elastic.gain[:, elastic.stiff[q]]
            elastic.B[r, q] = at_motor(world, elastic.stiff[r], gain, 0)  # eq:motor-inverse-inertia


@helper
def lines_of_stiff(world: Any, span: float) -> None:
    """Torque lines of the motors behind stiff gears (eq:moment-match), and how all loads turn under them."""
    elastic, line = world.elastic_window, world.line
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        slope = line.per_cube * (elastic.passed[j, 1] - 0.5 * span * elastic.passed[j, 0])
        elastic.torque_line[j, 1], elastic.torque_line[j, 2] = slope, 0.0
        elastic.torque_line[j, 0] = elastic.passed[j, 0] * line.per_span - 0.5 * span * slope
    for i in range(world.n):
        a, jerk = elastic.drift[i], elastic.drift_rate[i]
        for r in range(elastic.stiff_count):
            k = elastic.stiff[r]
            a += elastic.gain[i, k] * elastic.torque_line[k, 0]
            jerk += elastic.gain[i, k] * elastic.torque_line[k, 1]
        elastic.load[i, 0], elastic.load[i, 1] = a, jerk


@helper
def spring_parabola(world: Any, j: int, span: float) -> None:
    """The torque of an elastic gear over the window (eq:spring-parabola)."""
    elastic = world.elastic_window
    begins, s2 = elastic.begins[j], span * span
    P, Q = elastic.passed[j, 0] - begins * span, elastic.passed[j, 1] - begins * s2 / 2.0
    a2 = 36.0 / (s2 * s2) * (Q - 2.0 / 3.0 * span * P)  # eq:spring-parabola
    elastic.torque_line[j, 0], elastic.torque_line[j, 2] = begins, a2
    elastic.torque_line[j, 1] = 2.0 / s2 * P - 2.0 / 3.0 * span * a2


@part
def move_joints(world: Any, stops: Any, h: float) -> None:
    """Classic step of the arm under the torques of the window; leaves y1, and the stages' slopes in k[1] to k[4].

    Without motors behind stiff gears its first stage is known already.
    """
    state, scratch, elastic = world.state, world.scratch, world.elastic_window
    n, line = world.n, elastic.torque_line
    for i in range(n):
        elastic.joint_friction[i] = 0.0
    for s in range(4):
        a = 0.0 if s == 0 else (h if s == 3 else 0.5 * h)
        known = s == 0 and elastic.stiff_count == 0
        for j in range(world.m):
            elastic.torque_now[j] = line[j, 0] + a * (line[j, 1] + a * line[j, 2])
        for i in range(n):
            v = state.y[n + i] + a * scratch.k[s, n + i] if s > 0 else state.y[n + i]
            scratch.inputs[i] = state.y[i] + a * scratch.k[s, i] if s > 0 else state.y[i]
            scratch.inputs[n + i] = v
            scratch.inputs[2 * n + i] = at_joint(world, i, elastic.torque_now)
            if stops[i].has_friction:
                friction = joint_friction_torque(stops[i], v)
                scratch.inputs[2 * n + i] -= friction
                elastic.joint_friction[i] += (h / 6.0 if s in (0, 3) else h / 3.0) * friction * v
            scratch.k[s + 1, i] = v
        if not known:
            call_arm(world)
            for i in range(n):
                scratch.k[s + 1, n + i] = scratch.outputs[i]
    for i in range(n):
        A1, A23, A4 = scratch.k[1, n + i], scratch.k[2, n + i] + scratch.k[3, n + i], scratch.k[4, n + i]
        scratch.y1[i] = state.y[i] + h * (scratch.k[1, i] + h * (A1 + A23) / 6.0)
        scratch.y1[n + i] = state.y[n + i] + h * (A1 + 2.0 * A23 + A4) / 6.0


@helper
def settle_motors(world: Any, motors: Any) -> None:
    """Let motors that stick stand still, and none that slides go backward by what the arm rounds."""
    y1, n, elastic = world.scratch.y1, world.n, world.elastic_window
    changed = False
    for j in range(world.m):
        motor = motors[j]
        w = at_motor(world, j, y1, n)
        elastic.settled[j] = w
        if motor.flexible < 0 and (motor.mode == STUCK or (motor.mode != FREE and motor.mode * w < 0.0)):
            elastic.settled[j] = 0.0
            changed = changed or w != 0.0
    if changed:
        for i in range(n):
            y1[n + i] = joint_from_motors(world, i, elastic.settled)
    stays = elastic.events == 0 and elastic.stiff_count > 0
    if not stays:
        return
    changed = False
    for j in range(world.m):
        motor = motors[j]
        elastic.settled[j] = at_motor(world, j, y1, 0)
        if motor.flexible < 0 and motor.mode == STUCK and at_motor(world, j, world.state.y, n) == 0.0:
            elastic.settled[j] = at_motor(world, j, world.state.y, 0)
            changed = True
    if changed:
        for i in range(n):
            y1[i] = joint_from_motors(world, i, elastic.settled)


@part
def accept_window(world: Any, power: Any, motors: Any, span: float) -> None:
    """Accept the window: state, currents, energies."""
    state, scratch, elastic = world.state, world.scratch, world.elastic_window
    n, m = world.n, world.m
    if elastic.stiff_count > 0:
        settle_motors(world, motors)
    for j in range(m):
        motor, k, e = motors[j], motors[j].current_at, motors[j].flexible
        state.y[k] = elastic.i[j]
        if motor.charge_at >= 0:
            state.y[k + 1] = elastic.i_q[j]
            state.z[motor.charge_at] += elastic.charge[j]
        if e >= 0:
            state.y[world.at_theta + e], state.y[world.at_w + e] = elastic.theta[j], elastic.w[j]
        update_peaks(motor, math.sqrt(elastic.peak[j, 0]), elastic.peak[j, 1])
        world.general.z_window[ELECTRIC * m + j] = elastic.electric[j]
        state.z[ELECTRIC * m + j] += elastic.electric[j]
        state.z[SQUARE * m + j] += elastic.square[j]
        state.z[TORQUE * m + j] += elastic.impulse[j]
        state.z[FRICTION * m + j] += elastic.friction[j] + elastic.joint_friction[j]
        state.z[GEAR * m + j] += elastic.gear[j]
        motor.w_dot, motor.w_ddot = (elastic.w[j] - motor.w) * world.line.per_span, 0.0
        state.y[j], state.y[n + j] = scratch.y1[j], scratch.y1[n + j]
        # against the midpoint rule that the step of the arm contains
        fast = scratch.k[1, j] - scratch.k[2, j] - scratch.k[3, j] + scratch.k[4, j]
        bent = scratch.k[1, n + j] - scratch.k[2, n + j] - scratch.k[3, n + j] + scratch.k[4, n + j]
        state.error = max(state.error, span * max(abs(fast), abs(bent)) / 6.0)
    state.events += elastic.events
    if world.at_bus >= 0:
        bus_window(world, power, motors, span)


@part
def missed_motion(world: Any, span: float) -> tuple[float, float]:
    """How far a load ends from where its motor saw it, and how far its path is from a cubic [rad], the most of all.

    Leaves the rates of the drift under which the loads would have ended as the arm has them (eq:seen-rate).
    """
    elastic, k, n = world.elastic_window, world.scratch.k, world.n
    worst = bent = 0.0
    for i in range(n):
        middle = 0.5 * (k[2, n + i] + k[3, n + i])
        bent = max(bent, abs(k[1, n + i] - 2.0 * middle + k[4, n + i]))
        for r in range(elastic.stiff_count):
            j = elastic.stiff[r]
            middle -= elastic.gain[i, j] * (
                elastic.torque_line[j, 0] + 0.5 * span * elastic.torque_line[j, 1]
            )
        rate = 2.0 * (middle - elastic.drift[i]) * world.line.per_span  # eq:seen-rate
        worst = max(worst, abs(rate - elastic.drift_rate[i]))
        elastic.rate_seen[i] = rate
    return worst * span * span * span / 6.0, bent * span * span


@helper
def see_motion(world: Any) -> None:
    """Let the motors see loads as the arm has moved them."""
    elastic = world.elastic_window
    for i in range(world.n):
        elastic.drift_rate[i] = elastic.rate_seen[i]
    drift_of_stiff(world)


@helper
def change_of_bus(world: Any, power: Any, step: float, span: float) -> float:
    """By how much the voltage of the bus changes in the window, by its middle; motors saw a change by ``step`` [V].

    What the supply gives and the resistor takes depends on the change itself, so that a stiff supply, whose time
    constant is shorter than the window, is met at once.
    """
    p, u, spent = power[0], bus_voltage(world), 0.0
    for j in range(world.m):
        spent += world.elastic_window.electric[j]
    drawn = spent / (u + 0.5 * step)  # A s
    gives, takes = 1.0 / p.R_supply, 1.0 / p.R_brake if p.braking else 0.0
    change = ((gives * p.u_source - (gives + takes) * u) * span - drawn) / (
        p.C + 0.5 * span * (gives + takes)
    )
    if u + 0.5 * change > p.u_source:  # the rectifier blocks
        change = -(takes * u * span + drawn) / (p.C + 0.5 * span * takes)
    return change  # type: ignore[no-any-return]


@helper
def carry_motors(world: Any, motors: Any, u: float, start: float, span: float) -> bool:
    """Every motor over the window; true if that went well."""
    steady = True
    begin_motors(world, motors)
    if world.elastic_window.stiff_count > 0:
        steady = stiff_motors(world, motors, u, start, span)
    lines_of_stiff(world, span)
    elastic_lanes(world, motors, u, start, span)
    for j in range(world.m):
        if motors[j].flexible >= 0:
            if not world.lanes.margin[j] >= 0.0:  # NaN after divergence is no motor in its lane either
                steady = steady and elastic_motor(world, motors[j], j, u, start, span)
            spring_parabola(world, j, span)
    return steady


@helper
def carry_on_bus(world: Any, power: Any, motors: Any, stops: Any, start: float, span: float) -> bool:
    """Every motor over the window at the voltage in its middle; again where that was not the voltage assumed."""
    u = bus_voltage(world)
    if world.at_bus < 0:
        return carry_motors(world, motors, u, start, span)
    step = world.state.bus_step  # as the bus went in the last window
    for attempt in range(ATTEMPTS):
        if attempt > 0:
            restore_modes(world, motors, stops)
        if not carry_motors(world, motors, u + 0.5 * step, start, span):
            return False
        better = change_of_bus(world, power, step, span)
        if not abs(better) <= MOST_OF_BUS * u:
            return False
        if abs(better - step) <= MISSED_VOLTAGE * u:
            break
        step = better
    return True


@part
def carry_all(world: Any, power: Any, motors: Any, stops: Any, start: float, span: float) -> bool:
    """Motors and arm over the window, twice where loads turn otherwise than motors saw; true if that went well."""
    bent = 0.0
    for attempt in range(2):
        if not carry_on_bus(world, power, motors, stops, start, span):
            return False
        move_joints(world, stops, span)
        if world.elastic == 0:
            break
        missed, bent = missed_motion(world, span)
        if attempt > 0 or missed <= MISSED_ANGLE or bent > MOST_BENT:
            break
        restore_modes(world, motors, stops)
        see_motion(world)
    return bent <= MOST_BENT


@piece
def elastic_window(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """Carry the plant over a window of motors of which some have elastic gears."""
    world = records_at(world_at, 1, WORLD)[0]
    power, motors = records_at(power_at, 1, POWER), records_at(motors_at, world.m, MOTOR)
    stops = records_at(stops_at, world.n, STOP)
    elastic, prediction = world.elastic_window, world.prediction
    save_modes(world, motors, stops)
    if elastic.stiff_count > 0 and prediction.windows % REFRESH == 0:
        if prediction.windows == 0:
            prediction.since = 0.0
        refresh_gain(world)
    begin_motion(world, motors, stops)
    begin_window(world, span)
    if not carry_all(world, power, motors, stops, start, span) or past_stop(world, stops):
        restore_modes(world, motors, stops)
        reject(world)
        return
    accept_window(world, power, motors, span)
    elastic.per_last = world.line.per_span
    prediction.since += span
    if elastic.stiff_count > 0:
        extrapolate_gain(world, span)
