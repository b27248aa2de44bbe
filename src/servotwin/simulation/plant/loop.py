"""One robot with its controller, instant by instant, in the order of the hardware.

Sensors, servo, power stage, plant, record: ``run`` is the table of contents of the simulator. Time is counted in
whole nanoseconds. Everything is compiled once for all robots;
robot, drives and controller are data.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import allocator, helper, kernel, part
from servotwin.compiled.native_calls import call_piece
from servotwin.control.servo.tasks import call_servo
from servotwin.drives.pwm import h_bridge, three_phase
from servotwin.simulation.plant.actuators import COMMAND, THREE_PHASE, true_currents
from servotwin.simulation.plant.generated_rk4 import CLOSE, count_intervals, next_edge
from servotwin.simulation.plant.rates import call_on_plant
from servotwin.simulation.plant.recording import (
    NANO,
    account_window,
    close_record,
    log_motion,
    record,
    sample_peaks,
    zoom_row,
)
from servotwin.simulation.plant.sensing import report_faults, sense
from servotwin.simulation.plant.status import (
    LAW_NOT_A_NUMBER,
    LAW_WANTED,
    PIECE_MISSING,
    SERVO_WANTED,
    SINGULAR,
)
from servotwin.simulation.windows.choice import FIRST_FAST, Window

ELASTIC, EVENT_STEPS = int(Window.ELASTIC), int(Window.EVENT_STEPS)


@kernel
def run(
    worlds: Any, power: Any, motors: Any, sensors: Any, stops: Any, logs: Any, noise: Any,
    servos: Any, axes: Any, tasks: Any, setpoints: Any, inverse: Any, jitter: Any, feedbacks: Any, commands: Any,
    columns: Any, rows_out: Any, log_out: Any, zoom_out: Any, until: int,
) -> None:  # fmt: skip
    """Simulate up to the instant ``until`` [ns], or until something stops the run (``world.state.status``)."""
    world, servo, feedback, command = worlds[0], servos[0], feedbacks[0], commands[0]
    while world.state.now < until and world.state.status == 0:
        now = world.state.now
        if now == command.next:
            if feedback.time != now:
                sense(world, motors, sensors, feedback, command.samples, noise)
            if world.servo_elsewhere:
                world.state.status = SERVO_WANTED
                return
            call_servo(
                world.code.servo, servos, axes, tasks, setpoints, inverse, jitter, feedbacks, commands, now
            )
            if servo.asking or servo.no_number:
                world.state.status = LAW_NOT_A_NUMBER if servo.no_number else LAW_WANTED
                return
        if now == command.period_start != world.state.period_start:
            power_stage(world, power, motors, servo, command)
        end = min(until, command.next)
        if world.code.own_bound != 0:
            call_on_plant(world, world.code.own_bound, 0.0, servo.T_current)
        if world.record.zoom_from <= now < world.record.zoom_to:
            zoom_window(worlds, power, motors, stops, command, servo, zoom_out, end)
            if world.state.status == PIECE_MISSING:
                return
        plant(world, motors, end)
        if world.code.loop_closure != 0 and world.state.status != PIECE_MISSING:
            call_on_plant(world, world.code.loop_closure, 0.0, 0.0)
        if world.state.status in (PIECE_MISSING, SINGULAR):
            return
        world.state.now = end
        account_window(world, power, motors, stops, axes, logs, now)
        if end == world.record.log_next:
            log_motion(world, motors, log_out)
        if end == world.record.row_next:
            record(world, motors, sensors, axes, logs, columns, rows_out)
    report_faults(world, motors, feedback)
    if world.record.closing:
        close_record(world, motors, sensors, axes, logs, columns, rows_out, log_out)


@helper
def power_stage(world: Any, power: Any, motors: Any, servo: Any, command: Any) -> None:
    """Make the edges of every bridge for the period that begins now, as the servo commands."""
    world.state.period_start = world.state.now
    for j in range(world.m):
        motor = motors[j]
        # the wire carries a current
        motor.current_command = command.valve_current[j] if motor.valve else command.current[j]
        motor.torque_command = motor.K * motor.current_command
        switch_pattern(
            world, power, motor, j, command.modulation_a[j], command.modulation_b[j], servo.T_current
        )
    count_intervals(world, servo.T_current)


@helper
def switch_pattern(world: Any, power: Any, motor: Any, j: int, m_a: float, m_b: float, T: float) -> None:
    """Edges and levels of motor j over the period that begins now, and their mean."""
    pattern, code = world.pattern, world.code
    pattern.place[j] = 0
    pattern.mean_a[j], pattern.mean_b[j] = m_a, m_b
    without_edges = world.averaged or motor.feed == COMMAND
    if motor.feed != COMMAND and (power[0].dead_time > 0.0 or power[0].storage_time > 0.0):
        i_a, i_b = true_currents(world, motor)
        pattern.asked[0], pattern.asked[1], pattern.asked[2], pattern.asked[3] = m_a, m_b, i_a, i_b
        call_piece(code.dead_time_pattern, code.world_at, code.power_at, code.motors_at, j, 0.0, T)
    elif without_edges:
        pass
    elif motor.feed == THREE_PHASE:
        pattern.edges[j] = three_phase(m_a, m_b, T, pattern.times, pattern.level_a, pattern.level_b, j)
    else:
        pattern.edges[j] = h_bridge(m_a, T, power[0].two_level, pattern.times, pattern.level_a, j)
    if without_edges:
        pattern.edges[j] = 0
        pattern.level_a[j, 0], pattern.level_b[j, 0] = pattern.mean_a[j], pattern.mean_b[j]
    motor.s_a, motor.s_b = pattern.level_a[j, 0], pattern.level_b[j, 0]


@part
def plant(world: Any, motors: Any, end: int) -> None:
    """Motors, gears and arm from now to the instant ``end``; nothing happens where a piece is still to be compiled.

    A window of elastic gears that was left before such a piece came is not tried again: without what the windows
    before it told it, it might be accepted.
    """
    state, scratch, window = world.state, world.scratch, world.choice.window
    left = scratch.rejected if scratch.carrier == ELASTIC else 0
    start, span = (state.now - state.period_start) * NANO, (end - state.now) * NANO
    scratch.exact_currents = 1 if window >= FIRST_FAST else 0
    scratch.rejected, scratch.reached, scratch.carrier = left, 0.0, window
    if window != EVENT_STEPS and left == 0:
        if world.code.windows[window] == 0:
            state.status = PIECE_MISSING
            return
        call_on_plant(world, world.code.windows[window], start, span)
        if state.status == PIECE_MISSING:
            return
        if scratch.exact_currents and not scratch.rejected:
            world.counts.carried[scratch.carrier] += 1
            return
    scratch.exact_currents = 0
    world.prediction.windows = 0
    t = scratch.reached
    if span - t > CLOSE and (world.code.change_modes == 0 or world.code.windows[EVENT_STEPS] == 0):
        state.status = PIECE_MISSING
        return
    world.counts.carried[EVENT_STEPS if span - t > CLOSE else window] += 1
    world.counts.rejected[scratch.rejected] += 1
    scratch.rejected = 0
    while span - t > CLOSE:
        following = next_edge(world, motors, start, t, span)
        sample_peaks(world, motors)
        call_on_plant(world, world.code.windows[EVENT_STEPS], t, following - t)
        sample_peaks(world, motors)
        t = following


@allocator
def zoom_window(
    worlds: Any, power: Any, motors: Any, stops: Any, command: Any, servo: Any, zoom_out: Any, end: int
) -> None:
    """Rows of the zoom up to the instant ``end``, edge by edge; then all is put back: to look changes nothing."""
    world = worlds[0]
    if world.code.windows[EVENT_STEPS] == 0:
        world.state.status = PIECE_MISSING
        return
    kept, kept_power, kept_motors, kept_stops = worlds.copy(), power.copy(), motors.copy(), stops.copy()
    start = (world.state.now - world.state.period_start) * NANO
    span = (end - world.state.now) * NANO
    world.scratch.exact_currents = 0
    t = 0.0
    while span - t > CLOSE and world.state.status == 0:
        following = next_edge(world, motors, start, t, span)
        zoom_row(world, motors, command, servo, zoom_out, start + t)
        call_on_plant(world, world.code.windows[EVENT_STEPS], t, following - t)
        zoom_row(world, motors, command, servo, zoom_out, start + following)
        t = following
    rows, missing = world.record.zoom_rows, world.state.status == PIECE_MISSING
    worlds[0], power[0] = kept[0], kept_power[0]
    for j in range(motors.shape[0]):
        motors[j] = kept_motors[j]
    for i in range(stops.shape[0]):
        stops[i] = kept_stops[i]
    if missing:
        world.state.status = PIECE_MISSING  # the same rows come again when it is there
    else:
        world.record.zoom_rows = rows
