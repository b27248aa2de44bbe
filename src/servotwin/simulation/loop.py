"""One robot with its controller, instant by instant, in the order of the hardware.

Main controller, axis controller, servo driver, PWM, motors, gears, arm, record: ``run`` is the table of
contents of the simulator. Time is counted in whole nanoseconds. Everything is compiled once for all robots;
robot, drives and controller are data.
"""

from __future__ import annotations

from typing import Any

from servotwin.control.axis_controller import interpolate, position_loop
from servotwin.control.model_based import computed_torque, feed_forward
from servotwin.control.records import Law, Level, Saturation, Sensing
from servotwin.control.servo_driver import current_loop, field_oriented_loop, measure_speed, speed_loop
from servotwin.drives.motors import stator_currents
from servotwin.drives.pwm import h_bridge, three_phase
from servotwin.drives.sensors import (
    inverse_time_rate,
    quantise,
    read_count,
    read_current,
    read_phase_currents,
    uniform,
)
from servotwin.dynamics.recursive.jit import allocator, helper, kernel, part
from servotwin.kernels.address import call_law, call_piece
from servotwin.simulation.march import count_intervals, next_edge
from servotwin.simulation.plant import IDEAL, PMSM
from servotwin.simulation.recording import (
    NANO,
    book,
    close_record,
    log_motion,
    look_closer,
    record,
    watch_peaks,
)
from servotwin.simulation.steps import ASKING, NO_NUMBER, SINGULAR, WANTING

SPEED, CURRENT, VOLTAGE = int(Level.SPEED), int(Level.CURRENT), int(Level.VOLTAGE)
CASCADE, COMPUTED = int(Law.CASCADE), int(Law.COMPUTED_TORQUE)
EXTERNAL, COMPILED = int(Law.EXTERNAL), int(Law.COMPILED)
MOST_VOLTAGE, MOST_CURRENT = int(Saturation.VOLTAGE), int(Saturation.CURRENT)
MOST_SPEED = int(Saturation.SPEED_COMMAND)
INVERSE_TIME = int(Sensing.INVERSE_TIME)
MAIN, AXIS, DRIVER, BRIDGE, LAW = range(5)


@kernel
def run(
    worlds: Any, timings: Any, power: Any, motors: Any, sensors: Any, axes: Any, stops: Any,
    tasks: Any, table: Any, inverse: Any, random: Any, rows_out: Any, log_out: Any, zoom_out: Any, until: int,
) -> None:  # fmt: skip
    """Simulate up to the instant ``until`` [ns], or until something stops the run (``world.status``)."""
    world, timing = worlds[0], timings[0]
    while world.now < until and world.status == 0:
        now = world.now
        if now == tasks[MAIN, 0]:
            main_command(timing, axes, table, tasks, random)
        if now == tasks[AXIS, 0]:
            axis_controller(world, timing, axes, sensors, motors, inverse, tasks, random)
        if now == tasks[LAW, 0]:
            user_law(world, timing, axes, sensors, motors, tasks)
            if timing.law == EXTERNAL:
                world.status = ASKING
            if world.status != 0:
                return
        if now == tasks[DRIVER, 0]:
            speed_controller(timing, axes, sensors, motors, tasks, random, now)
        if now == tasks[BRIDGE, 0]:
            current_controller(world, timing, power, axes, sensors, motors, tasks, random)
        end = min(until, tasks[BRIDGE, 0], tasks[LAW, 0], tasks[MAIN, 0], tasks[AXIS, 0], tasks[DRIVER, 0])
        if world.zoom_from <= now < world.zoom_to:
            show_edges(worlds, power, motors, stops, axes, timing, zoom_out, end)
        plant(world, motors, end)
        if world.closure_piece != 0 and world.status != WANTING:
            call_piece(
                world.closure_piece, world.world_at, world.power_at, world.motors_at, world.stops_at, 0.0, 0.0
            )
        if world.status in (WANTING, SINGULAR):
            return
        world.now = end
        book(world, power, motors, sensors, stops, axes, now)
        if end == world.log_next:
            log_motion(world, log_out)
        if end == world.row_next:
            record(world, motors, sensors, axes, rows_out)
    if world.closing:
        close_record(world, motors, sensors, axes, rows_out, log_out)


@helper
def next_instant(tasks: Any, task: int, random: Any) -> None:
    """When a task runs next: its period later, late by a random part of the jitter."""
    tasks[task, 3] += 1
    late = int(uniform(random) * tasks[task, 2]) if tasks[task, 2] > 0 else 0
    tasks[task, 0] = tasks[task, 3] * tasks[task, 1] + late


@part
def main_command(timing: Any, axes: Any, table: Any, tasks: Any, random: Any) -> None:
    """The main controller hands the next position in pulses, with its speed and acceleration."""
    row = min(tasks[MAIN, 3], table.shape[0] - 1)
    for j in range(axes.shape[0]):
        axis = axes[j]
        axis.from_counts, axis.to_counts = axis.to_counts, table[row, j, 0]
        axis.from_speed, axis.to_speed = axis.to_speed, table[row, j, 1]
        axis.from_acceleration, axis.to_acceleration = axis.to_acceleration, table[row, j, 2]
    # runs of the axis controller since this instant was due; a late main controller must not set it back
    timing.tick = max(0, tasks[AXIS, 3] - tasks[MAIN, 3] * timing.ratio)
    next_instant(tasks, MAIN, random)


@part
def axis_controller(
    world: Any, timing: Any, axes: Any, sensors: Any, motors: Any, inverse: Any, tasks: Any, random: Any
) -> None:
    """Interpolate, close the position loop, feed forward what the model knows."""
    part = min(timing.tick / timing.ratio, 1.0)
    timing.tick += 1
    for j in range(axes.shape[0]):
        interpolate(axes[j], part)
        axes[j].count = read_count(sensors[j], motors[j].theta)
        if timing.law == CASCADE:
            axes[j].saturation &= ~MOST_SPEED
            position_loop(axes[j], timing.T_axis)
        elif timing.law == COMPUTED:
            axes[j].saturation &= ~MOST_CURRENT
    if timing.feeds:
        feed_forward(timing, axes, inverse, world.model_buffer, world.model_at)
    if timing.law == COMPUTED:
        computed_torque(timing, axes, inverse, world.model_buffer, world.model_at)
    if timing.axis_delay:
        for j in range(axes.shape[0]):
            let_wait(timing, axes[j])
    next_instant(tasks, AXIS, random)


@helper
def let_wait(timing: Any, axis: Any) -> None:
    """What the axis controller computed a period ago acts; what it has computed now waits."""
    if timing.law == CASCADE:
        axis.w_command, axis.next_w = axis.next_w, axis.w_command
    elif timing.law == COMPUTED:
        axis.i_ref, axis.next_i = axis.next_i, axis.i_ref
    if timing.feeds:
        axis.i_feedforward, axis.next_feedforward = axis.next_feedforward, axis.i_feedforward


@part
def user_law(world: Any, timing: Any, axes: Any, sensors: Any, motors: Any, tasks: Any) -> None:
    """A compiled control law: reads references and measurements, writes one command per motor."""
    m = axes.shape[0]
    for j in range(m):
        axis = axes[j]
        axis.count = read_count(sensors[j], motors[j].theta)
        world.signals[j] = axis.counts_ref / axis.counts_per_rad
        world.signals[m + j] = axis.w_path
        world.signals[2 * m + j] = axis.a_path
        world.signals[3 * m + j] = axis.count / axis.counts_per_rad
        world.signals[4 * m + j] = axis.w_meas
        world.signals[5 * m + j] = axis.i_meas
    if timing.law == COMPILED:
        call_law(timing.law_at, world.now * NANO, world.signals_at, world.memory_at, world.command_at)
        for j in range(m):
            if world.command[j] != world.command[j]:
                world.status = NO_NUMBER
                return
            give_command(timing, axes[j], world.command[j])
    tasks[LAW, 3] += 1
    tasks[LAW, 0] = tasks[LAW, 3] * tasks[LAW, 1]


@helper
def give_command(timing: Any, axis: Any, value: float) -> None:
    """Hand the command of a user's law to the loop below it."""
    if timing.level == SPEED:
        axis.w_command = min(max(value, -axis.w_max), axis.w_max)
        bit, limited = MOST_SPEED, axis.w_command != value
    elif timing.level == CURRENT:
        axis.i_ref = min(max(value, -axis.i_max), axis.i_max)
        bit, limited = MOST_CURRENT, axis.i_ref != value
    else:
        axis.u_ref = min(max(value, -axis.u_max), axis.u_max)
        bit, limited = MOST_VOLTAGE, axis.u_ref != value
    axis.saturation = (axis.saturation & ~bit) | (bit if limited else 0)


@part
def speed_controller(
    timing: Any, axes: Any, sensors: Any, motors: Any, tasks: Any, random: Any, now: int
) -> None:
    """A/D of the command, speed from pulses, PI speed loop."""
    for j in range(axes.shape[0]):
        axis, motor = axes[j], motors[j]
        axis.count = read_count(sensors[j], motor.theta)
        timed = 0.0
        if axis.sensing == INVERSE_TIME:
            timed = inverse_time_rate(sensors[j], motor.theta, motor.w, now * NANO) / axis.counts_per_rad
        measure_speed(axis, timing.T_speed, timed)
        axis.last_count = axis.count
        if timing.level == SPEED and timing.law != COMPUTED:
            axis.w_ref = quantise(axis.w_command, axis.w_max, axis.command_bits)
            axis.saturation &= ~MOST_CURRENT
            speed_loop(axis, timing.T_speed)
            if timing.speed_delay:
                axis.i_ref, axis.next_i = axis.next_i, axis.i_ref
    next_instant(tasks, DRIVER, random)


@helper
def believed_current(axis: Any, sensor: Any, i: float) -> float:
    """What the driver takes a reading for [A]: it knows the part of the full scale, and believes in a range."""
    if sensor.current_full_scale <= 0.0 or axis.current_range_hat <= 0.0:
        return i
    return i * (axis.current_range_hat / sensor.current_full_scale)  # type: ignore[no-any-return]


@part
def current_controller(
    world: Any, timing: Any, power: Any, axes: Any, sensors: Any, motors: Any, tasks: Any, random: Any
) -> None:
    """Current loop of every motor and the edges of its bridge for the coming period."""
    T = timing.T_current
    world.period_start = world.now
    for j in range(axes.shape[0]):
        axis, motor, sensor = axes[j], motors[j], sensors[j]
        k = motor.current_at
        if motor.kind == PMSM:
            i_a, i_b = stator_currents(motor, motor.theta, world.y[k], world.y[k + 1])
            angle = axis.pole_pairs_hat * read_count(sensor, motor.theta) / axis.counts_per_rad
            i_d, i_q = read_phase_currents(sensor, i_a, i_b, angle, random)
            axis.i_d_meas, axis.i_meas = (
                believed_current(axis, sensor, i_d),
                believed_current(axis, sensor, i_q),
            )
            ahead = axis.pole_pairs_hat * axis.w_meas * T * (0.5 + timing.delay)
            axis.saturation &= ~MOST_VOLTAGE
            u_a, u_b = field_oriented_loop(axis, T, angle + ahead)
            m_a, m_b = u_a / axis.u_max, u_b / axis.u_max
        else:
            i_a, i_b = world.y[k] if k >= 0 else motor.tau / motor.K, 0.0
            axis.i_meas = believed_current(axis, sensor, read_current(sensor, i_a, random))
            if timing.level != VOLTAGE:
                axis.saturation &= ~MOST_VOLTAGE
                current_loop(axis, T)
            m_a, m_b = axis.u_ref / axis.u_max, 0.0
        if timing.delay:
            m_a, axis.next_a = axis.next_a, m_a
            m_b, axis.next_b = axis.next_b, m_b
        axis.m_a, axis.m_b = m_a, m_b
        motor.torque_command = motor.K * axis.i_ref  # the wire carries a current
        switch_pattern(world, power, motor, j, m_a, m_b, i_a, i_b, T)
    count_intervals(world, T)
    tasks[BRIDGE, 3] += 1
    tasks[BRIDGE, 0] = tasks[BRIDGE, 3] * tasks[BRIDGE, 1]


@part
def switch_pattern(
    world: Any, power: Any, motor: Any, j: int, m_a: float, m_b: float, i_a: float, i_b: float, T: float
) -> None:
    """Edges and levels of motor j over the period that begins now, and their mean."""
    world.place[j] = 0
    world.mean_a[j], world.mean_b[j] = m_a, m_b
    if motor.kind != IDEAL and (power[0].dead_time > 0.0 or power[0].storage_time > 0.0):
        world.asked[0], world.asked[1], world.asked[2], world.asked[3] = m_a, m_b, i_a, i_b
        call_piece(world.late_piece, world.world_at, world.power_at, world.motors_at, j, 0.0, T)
    elif motor.kind == PMSM:
        world.edges[j] = three_phase(m_a, m_b, T, world.times, world.level_a, world.level_b, j)
    else:
        world.edges[j] = h_bridge(m_a, T, power[0].two_level, world.times, world.level_a, j)
    if world.averaged or motor.kind == IDEAL:
        world.edges[j] = 0
        world.level_a[j, 0], world.level_b[j, 0] = world.mean_a[j], world.mean_b[j]
    motor.s_a, motor.s_b = world.level_a[j, 0], world.level_b[j, 0]


@part
def plant(world: Any, motors: Any, end: int) -> None:
    """Motors, gears and arm from now to the instant ``end``; nothing happens where a piece is still to be compiled."""
    start = (world.now - world.period_start) * NANO
    span = (end - world.now) * NANO
    world.exact = 1 if world.method == 1 else 0
    if world.exact:
        world.redo = 0
        if world.plain and world.simple:
            piece = world.plain_piece
        elif world.rubs and not world.held:
            piece = world.rubbing_piece
        else:
            piece, world.windows = world.fast_piece, 0
        if piece == 0:
            world.status = WANTING
            return
        call_piece(piece, world.world_at, world.power_at, world.motors_at, world.stops_at, start, span)
        if not world.redo:
            return
        world.exact = 0
    world.windows = 0  # of the plain window in a row
    t = 0.0
    if world.plain and world.simple and world.march_piece != 0:
        call_piece(
            world.march_piece, world.world_at, world.power_at, world.motors_at, world.stops_at, start, span
        )
        t = world.reached
    elif world.advance_piece == 0:
        world.status = WANTING
    if world.status == WANTING:
        return
    while span - t > 1e-15:
        following = next_edge(world, motors, start, t, span)
        watch_peaks(world, motors)
        advance_by(world, t, following - t)
        watch_peaks(world, motors)
        t = following


@helper
def advance_by(world: Any, t: float, span: float) -> None:
    """Carry the plant over ``span`` seconds without an edge, ``t`` seconds after now."""
    call_piece(world.advance_piece, world.world_at, world.power_at, world.motors_at, world.stops_at, t, span)


@allocator
def show_edges(
    worlds: Any, power: Any, motors: Any, stops: Any, axes: Any, timing: Any, zoom_out: Any, end: int
) -> None:
    """Rows of the zoom up to the instant ``end``, edge by edge; then all is put back: to look changes nothing."""
    world = worlds[0]
    kept, kept_power, kept_motors, kept_stops = worlds.copy(), power.copy(), motors.copy(), stops.copy()
    start = (world.now - world.period_start) * NANO
    span = (end - world.now) * NANO
    world.exact = 0
    t = 0.0
    while span - t > 1e-15 and world.status == 0:
        following = next_edge(world, motors, start, t, span)
        look_closer(world, motors, axes, timing, zoom_out, start + t)
        advance_by(world, t, following - t)
        look_closer(world, motors, axes, timing, zoom_out, start + following)
        t = following
    rows = world.zoom_rows
    worlds[0], power[0] = kept[0], kept_power[0]
    for j in range(motors.shape[0]):
        motors[j] = kept_motors[j]
    for i in range(stops.shape[0]):
        stops[i] = kept_stops[i]
    world.zoom_rows = rows
