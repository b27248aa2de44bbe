"""The servo of one robot: its tasks, their order, delays and limits.

At every instant of its clock the servo runs the tasks that are due, in the order of the hardware: it takes the main
controller's setpoint, closes the position loops, asks the law of the user, closes the speed loops and then the
innermost loops. It sees FEEDBACK and its own records, and writes DRIVE_COMMAND (``ports``); nothing here knows what
stands behind them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from servotwin.compiled.jit import callback, helper, kernel, part
from servotwin.compiled.native_calls import call_law, call_wholes, records_at, table_at
from servotwin.compiled.numeric import quantise, uniform
from servotwin.control.servo.axis_controller import correct_reading, interpolate, position_loop
from servotwin.control.servo.model_based import computed_torque, feed_forward, turn_ahead
from servotwin.control.servo.ports import DRIVE_COMMAND, Sample
from servotwin.control.servo.ports import FEEDBACK as FEEDBACK_PORT
from servotwin.control.servo.records import (
    AXIS as AXIS_RECORD,
)
from servotwin.control.servo.records import SERVO, InnerLoop, Law, Level, Saturation, Sensing, Task
from servotwin.control.servo.servo_driver import (
    current_loop,
    edge_rate,
    field_oriented_loop,
    measure_speed,
    speed_loop,
)
from servotwin.control.servo.state_feedback import state_feedback
from servotwin.control.servo.valve_loop import valve_current, watch_load_pressure

NANO = 1e-9
SQRT3 = math.sqrt(3.0)
SPEED, CURRENT, VOLTAGE = int(Level.SPEED), int(Level.CURRENT), int(Level.VOLTAGE)
CASCADE, COMPUTED = int(Law.CASCADE), int(Law.COMPUTED_TORQUE)
EXTERNAL, COMPILED, FEEDBACK = int(Law.EXTERNAL), int(Law.COMPILED), int(Law.STATE_FEEDBACK)
AT_VOLTAGE, AT_CURRENT, AT_SPEED = (
    int(Saturation.VOLTAGE),
    int(Saturation.CURRENT),
    int(Saturation.SPEED_COMMAND),
)
INVERSE_TIME = int(Sensing.INVERSE_TIME)
FIELD_ORIENTED, VALVE = int(InnerLoop.FIELD_ORIENTED), int(InnerLoop.VALVE)
MAIN, AXIS, DRIVER, BRIDGE, LAW = (
    int(task) for task in (Task.MAIN, Task.AXIS, Task.SPEED, Task.CURRENT, Task.LAW)
)
TASKS = len(Task)
COUNT, EDGE, CURRENTS = int(Sample.COUNT), int(Sample.EDGE), int(Sample.CURRENT)
COLUMNS = 4  # of the table of tasks
PERIOD, JITTER, RUNS = 1, 2, 3  # columns of the table of tasks; column 0: the next instant [ns]


@helper
def run_tasks(
    servo: Any, axes: Any, tasks: Any, setpoints: Any, inverse: Any, random: Any,
    feedback: Any, command: Any, now: int,
) -> None:  # fmt: skip
    """Run the tasks that are due at ``now`` [ns]; stop before the loops below a Python law, which answers first."""
    if servo.due == 0:
        take_due(servo, tasks, random, now)
    if runs(servo, MAIN):
        take_setpoints(servo, axes, setpoints, tasks)
    if runs(servo, AXIS):
        axis_controller(servo, axes, inverse, feedback, now)
    if runs(servo, LAW):
        user_law(servo, axes, feedback, now)
        if servo.asking or servo.no_number:
            return
    if runs(servo, DRIVER):
        speed_controller(servo, axes, feedback, now)
    if runs(servo, BRIDGE):
        current_controller(servo, axes, feedback, command)
        command.period_start = now
    plan_samples(servo, tasks, command)


@callback(*("int64",) * 12, result="void")
def servo_tasks(
    servo_at: int, axes_at: int, m: int, tasks_at: int, setpoints_at: int, rows: int, inverse_at: int, n: int,
    random_at: int, feedback_at: int, command_at: int, now: int,
) -> None:  # fmt: skip
    """``run_tasks`` on records that are given by their addresses: compiled once, for plants and for wires."""
    run_tasks(
        records_at(servo_at, 1, SERVO)[0],
        records_at(axes_at, m, AXIS_RECORD),
        table_at(tasks_at, (TASKS, COLUMNS), np.int64),
        table_at(setpoints_at, (rows, m, 3), np.float64),
        table_at(inverse_at, (n, m), np.float64),
        table_at(random_at, (1,), np.uint64),
        records_at(feedback_at, 1, FEEDBACK_PORT)[0],
        records_at(command_at, 1, DRIVE_COMMAND)[0],
        now,
    )


@helper
def call_servo(
    address: int, servos: Any, axes: Any, tasks: Any, setpoints: Any, inverse: Any, random: Any,
    feedbacks: Any, commands: Any, now: int,
) -> None:  # fmt: skip
    """Call ``servo_tasks``, which stands at an address, with these arrays."""
    call_wholes(
        address,
        (
            servos.ctypes.data, axes.ctypes.data, axes.shape[0], tasks.ctypes.data,
            setpoints.ctypes.data, setpoints.shape[0], inverse.ctypes.data, inverse.shape[0],
            random.ctypes.data, feedbacks.ctypes.data, commands.ctypes.data, now,
        ),
    )  # fmt: skip


@kernel
def step_servo(
    address: int, servos: Any, axes: Any, tasks: Any, setpoints: Any, inverse: Any, random: Any,
    feedbacks: Any, commands: Any, now: int,
) -> None:  # fmt: skip
    """``run_tasks`` for a servo that runs by itself, beside a plant in another process or on a wire."""
    call_servo(address, servos, axes, tasks, setpoints, inverse, random, feedbacks, commands, now)


# --- the clock ------------------------------------------------------------------------------------------


@helper
def take_due(servo: Any, tasks: Any, random: Any, now: int) -> None:
    """Note which tasks run now, and when each of them runs next: its period later, late by a part of its jitter."""
    for task in range(TASKS):
        if tasks[task, 0] == now:
            servo.due |= 1 << task
            tasks[task, RUNS] += 1
            late = int(uniform(random) * tasks[task, JITTER]) if tasks[task, JITTER] > 0 else 0
            tasks[task, 0] = tasks[task, RUNS] * tasks[task, PERIOD] + late


@helper
def runs(servo: Any, task: int) -> bool:
    """Whether a task is due; it is not any more then."""
    if not (servo.due >> task) & 1:
        return False
    servo.due &= ~(1 << task)
    return True


@helper
def plan_samples(servo: Any, tasks: Any, command: Any) -> None:
    """Tell when the servo samples next, and what."""
    following = tasks[0, 0]
    for task in range(1, TASKS):
        following = min(following, tasks[task, 0])
    wanted = 0
    for task in range(1, TASKS):
        if tasks[task, 0] == following:
            wanted |= COUNT
    if tasks[DRIVER, 0] == following or (servo.closes_speed and tasks[AXIS, 0] == following):
        wanted |= EDGE
    if tasks[BRIDGE, 0] == following:
        wanted |= CURRENTS
    command.next, command.samples = following, wanted


# --- axis controller ------------------------------------------------------------------------------------


@part
def take_setpoints(servo: Any, axes: Any, setpoints: Any, tasks: Any) -> None:
    """The main controller hands the next position in pulses, with its speed and acceleration."""
    run = tasks[MAIN, RUNS] - 1
    row = min(run, setpoints.shape[0] - 1)
    for j in range(axes.shape[0]):
        axis = axes[j]
        axis.from_counts, axis.to_counts = axis.to_counts, setpoints[row, j, 0]
        axis.from_speed, axis.to_speed = axis.to_speed, setpoints[row, j, 1]
        axis.from_acceleration, axis.to_acceleration = axis.to_acceleration, setpoints[row, j, 2]
    # runs of the axis controller since this instant was due; a late main controller must not set it back
    done = tasks[AXIS, RUNS] - ((servo.due >> AXIS) & 1)
    servo.tick = max(0, done - run * servo.ratio)


@part
def axis_controller(servo: Any, axes: Any, inverse: Any, feedback: Any, now: int) -> None:
    """Interpolate, close the position loop, feed forward what the model knows; close speed loops of its own."""
    share = min(servo.tick / servo.ratio, 1.0)
    servo.tick += 1
    for j in range(axes.shape[0]):
        axis = axes[j]
        interpolate(axis, share)
        correct_reading(axis)
        axis.count = feedback.count[j]
    if servo.twists:
        turn_ahead(servo, axes, inverse)
    close_position_loops(servo, axes)
    if servo.feeds:
        feed_forward(servo, axes, inverse)
    if servo.computed:
        computed_torque(servo, axes, inverse)
    if servo.closes_speed:
        for j in range(axes.shape[0]):
            if closes_speed(axes[j]):
                find_speed(axes[j], feedback, j, servo.T_axis, now)
                close_speed_loop(axes[j], axes[j].w_command, servo.T_axis)
    if servo.state_feedback:
        state_feedback(servo, axes)
    if servo.axis_delay:
        for j in range(axes.shape[0]):
            delay_axis_commands(servo, axes[j])


@helper
def close_position_loops(servo: Any, axes: Any) -> None:
    """Speed commands of the cascades."""
    for j in range(axes.shape[0]):
        axis = axes[j]
        if axis.law == CASCADE:
            axis.saturation &= ~AT_SPEED
            position_loop(axis, servo.T_axis)
        elif axis.law == COMPUTED:
            axis.saturation &= ~AT_CURRENT


@helper
def closes_speed(axis: Any) -> bool:
    """Whether the axis controller closes the speed loop: a cascade whose servo driver takes a current."""
    return axis.law == CASCADE and axis.level == CURRENT  # type: ignore[no-any-return]


@helper
def delay_axis_commands(servo: Any, axis: Any) -> None:
    """What the axis controller computed a period ago acts; what it has computed now waits."""
    if closes_speed(axis):
        axis.i_ref, axis.next_i = axis.next_i, axis.i_ref
        return
    if axis.law == CASCADE:
        axis.w_command, axis.next_w = axis.next_w, axis.w_command
    elif axis.law in (COMPUTED, FEEDBACK):
        axis.i_ref, axis.next_i = axis.next_i, axis.i_ref
    if servo.feeds and axis.law != FEEDBACK:  # whose current contains it already
        axis.i_feedforward, axis.next_feedforward = axis.next_feedforward, axis.i_feedforward


# --- law of the user ------------------------------------------------------------------------------------


@part
def user_law(servo: Any, axes: Any, feedback: Any, now: int) -> None:
    """A law of the user: reads references and measurements of all motors, commands those that are its own."""
    m = axes.shape[0]
    for j in range(m):
        axis = axes[j]
        axis.count = feedback.count[j]
        servo.signals[j] = axis.counts_ref / axis.counts_per_rad
        servo.signals[m + j] = axis.w_path
        servo.signals[2 * m + j] = axis.a_path
        servo.signals[3 * m + j] = axis.count / axis.counts_per_rad
        servo.signals[4 * m + j] = axis.w_meas
        servo.signals[5 * m + j] = axis.i_meas
    if servo.user_law == EXTERNAL:
        servo.asking = 1
        return
    call_law(servo.law_at, now * NANO, servo.signals_at, servo.memory_at, servo.command_at)
    for j in range(m):
        if axes[j].law != COMPILED:
            continue
        if servo.command[j] != servo.command[j]:
            servo.no_number = 1
            return
        give_command(axes[j], servo.command[j])


@helper
def give_command(axis: Any, value: float) -> None:
    """Hand the command of a user's law to the loop below it."""
    if axis.level == SPEED:
        axis.w_command = min(max(value, -axis.w_max), axis.w_max)
        bit, limited = AT_SPEED, axis.w_command != value
    elif axis.level == CURRENT:
        axis.i_ref = min(max(value, -axis.i_max), axis.i_max)
        bit, limited = AT_CURRENT, axis.i_ref != value
    else:
        axis.u_ref = min(max(value, -axis.u_max), axis.u_max)
        bit, limited = AT_VOLTAGE, axis.u_ref != value
    axis.saturation = (axis.saturation & ~bit) | (bit if limited else 0)


# --- servo driver ---------------------------------------------------------------------------------------


@part
def speed_controller(servo: Any, axes: Any, feedback: Any, now: int) -> None:
    """A/D of the command, speed from pulses, PI speed loop."""
    for j in range(axes.shape[0]):
        axis = axes[j]
        if closes_speed(axis):
            continue
        find_speed(axis, feedback, j, servo.T_speed, now)
        if axis.level == SPEED and axis.law != COMPUTED:
            command = quantise(axis.w_command, axis.w_max, axis.command_bits)
            close_speed_loop(axis, command, servo.T_speed)
            if servo.speed_delay:
                axis.i_ref, axis.next_i = axis.next_i, axis.i_ref


@helper
def find_speed(axis: Any, feedback: Any, j: int, T: float, now: int) -> None:
    """Speed of an axis from the pulses since the last sample of its speed loop, a period T [s] ago."""
    axis.count = feedback.count[j]
    timed = 0.0
    if axis.sensing == INVERSE_TIME:
        timed = edge_rate(axis, feedback.edge_time[j], now * NANO) / axis.counts_per_rad
    measure_speed(axis, T, timed)
    axis.last_count = axis.count


@helper
def close_speed_loop(axis: Any, w_ref: float, T: float) -> None:
    """PI speed loop, wherever it runs."""
    axis.w_ref = w_ref
    axis.saturation &= ~AT_CURRENT
    if axis.inner == VALVE and axis.flow_share > 0.0:
        axis.i_feedforward = axis.flow_share * w_ref  # eq:valve-loop
    speed_loop(axis, T)


@helper
def in_amperes(axis: Any, feedback: Any, j: int, reading: float) -> float:
    """What the driver takes a reading for [A]: of a sensor that shows parts it believes in a full scale."""
    if feedback.per_unit[j] and axis.current_range_hat > 0.0:
        return reading * axis.current_range_hat  # type: ignore[no-any-return]
    return reading


@helper
def current_controller(servo: Any, axes: Any, feedback: Any, command: Any) -> None:
    """Innermost loop of every axis, for the coming period: one function for each kind of it (``InnerLoop``).

    Each gives two numbers, which wait for a period where the servo computes that long: the modulation of a bridge, or
    the current of a valve.
    """
    T = servo.T_current
    for j in range(axes.shape[0]):
        axis = axes[j]
        if axis.inner == FIELD_ORIENTED:
            m_a, m_b = phases_loop(servo, axis, feedback, j, T)
        elif axis.inner == VALVE:
            m_a, m_b = valve_loop(axis, feedback, j), 0.0
        else:
            m_a, m_b = winding_loop(axis, feedback, j, T), 0.0
        if servo.delay:
            m_a, axis.next_a = axis.next_a, m_a
            m_b, axis.next_b = axis.next_b, m_b
        axis.m_a, axis.m_b = m_a, m_b
        if axis.inner == VALVE:
            command.valve_current[j] = m_a
        else:
            command.modulation_a[j], command.modulation_b[j] = m_a, m_b
            command.current[j] = axis.i_ref


@helper
def winding_loop(axis: Any, feedback: Any, j: int, T: float) -> float:
    """Modulation of the bridge of one winding."""
    axis.i_meas = in_amperes(axis, feedback, j, feedback.current_a[j])
    if axis.level != VOLTAGE:
        axis.saturation &= ~AT_VOLTAGE
        current_loop(axis, T)
    return axis.u_ref / axis.u_max  # type: ignore[no-any-return]


@helper
def phases_loop(servo: Any, axis: Any, feedback: Any, j: int, T: float) -> tuple[float, float]:
    """Modulation of the bridge of three phases, its alpha and beta component."""
    angle = axis.pole_pairs_hat * feedback.count[j] / axis.counts_per_rad
    i_d, i_q = rotor_currents(feedback.current_a[j], feedback.current_b[j], angle)
    axis.i_d_meas, axis.i_meas = in_amperes(axis, feedback, j, i_d), in_amperes(axis, feedback, j, i_q)
    ahead = axis.pole_pairs_hat * axis.w_meas * T * (0.5 + servo.delay)
    axis.saturation &= ~AT_VOLTAGE
    u_a, u_b = field_oriented_loop(axis, T, angle + ahead)
    return u_a / axis.u_max, u_b / axis.u_max


@helper
def valve_loop(axis: Any, feedback: Any, j: int) -> float:
    """Current of a servovalve [A]: what the loop above asks for, the load and its swing taken into account."""
    axis.i_meas = in_amperes(axis, feedback, j, feedback.current_a[j])
    watch_load_pressure(axis, feedback.pressure_a[j], feedback.pressure_b[j])
    return valve_current(axis)


@helper
def rotor_currents(i_a: float, i_b: float, angle: float) -> tuple[float, float]:
    r"""Currents d and q of a synchronous motor from those of the phases a and b.

    Phase c follows from the star point, and the electrical ``angle`` turns the vector to the rotor:

    .. math:: i_\alpha = i_a, \quad i_\beta = (i_a + 2 i_b)/\sqrt 3                  (eq:phase-currents)
    """
    i_beta = (i_a + 2.0 * i_b) / SQRT3  # eq:phase-currents
    c, s = math.cos(angle), math.sin(angle)
    return c * i_a + s * i_beta, c * i_beta - s * i_a
