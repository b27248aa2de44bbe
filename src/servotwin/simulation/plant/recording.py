"""What is written down of a run: extremes, heat, saturation after every window, rows of the result, the zoom.

The rows are for pictures; numbers of the summary come from what is kept after every window, and from the log of
the motion at instants of its own. So nothing depends on how often rows are recorded.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.compiled.native_calls import call_piece
from servotwin.control.servo.records import Saturation
from servotwin.control.tuning.gains import FULL_SCALE, GAIN_SHIFT
from servotwin.drives.peaks import update_peaks
from servotwin.drives.pwm import carrier, leg_modulations
from servotwin.drives.records import BETWEEN, STUCK
from servotwin.drives.sensors import shown_count
from servotwin.drives.thermal import heat
from servotwin.simulation.plant import signal_table as signal
from servotwin.simulation.plant.actuators import (
    COMMAND,
    H_BRIDGE,
    THREE_PHASE,
    charge_integral,
    current_and_torque,
    heat_loss,
    shown_current,
    torque_voltage,
)
from servotwin.simulation.plant.limit_log import (
    OF_LOOPS,
    check_joint_limits,
    exceeded_ratings,
    log_limits,
    update_braking_voltage,
    update_bus_extremes,
)
from servotwin.simulation.plant.rates import ELECTRIC, SQUARE, TORQUE, rotor
from servotwin.simulation.plant.records import PER_MOTOR
from servotwin.simulation.plant.signal_table import HEAD
from servotwin.simulation.plant.status import DIVERGED
from servotwin.simulation.windows.choice import select_window
from servotwin.simulation.windows.general_window import bus_voltage

NANO = 1e-9
NEVER = 1 << 62
MOST_SPEED = 1e7  # rad/s, m/s: nothing mechanical turns faster, so the run has diverged
MOST_TORQUE = 1e100  # N m: far below where powers and energies overflow
AT_STOP, IS_STUCK = int(Saturation.END_STOP), int(Saturation.STUCK)
PER_LOG = 2  # columns of the log of the motion before the coordinates of the arm: time, energy of the source
LOG_PERIOD = 1_000_000  # ns between two rows of that log, rounded down to whole current periods
WHOLE = 1 << GAIN_SHIFT


@part
def sample_peaks(world: Any, motors: Any) -> None:
    """Extremes of currents and torques at this instant; the current of a synchronous motor is its amplitude."""
    u = bus_voltage(world)
    for j in range(world.m):
        motor = motors[j]
        theta, w = rotor(world, motors, world.state.y, j)
        i, tau = current_and_torque(world, motor, u, theta, w, world.state.y)
        update_peaks(motor, i, tau)


@part
def zoom_row(world: Any, motors: Any, command: Any, servo: Any, zoom_out: Any, since: float) -> None:
    """A row of the zoom: time, carrier, and voltage, current, modulation of every motor.

    A synchronous motor shows its phase a: voltage to the star point, current, command of the leg.
    """
    row = world.record.zoom_rows
    if row >= zoom_out.shape[0]:
        return
    zoom_out[row, 0] = world.state.period_start * NANO + since
    zoom_out[row, 1] = carrier(since / servo.T_current)
    u = bus_voltage(world)
    for j in range(world.m):
        motor, modulation = motors[j], command.modulation_a[j]
        if motor.feed == THREE_PHASE:
            modulation = leg_modulations(modulation, command.modulation_b[j])[0]
        theta, w = rotor(world, motors, world.state.y, j)
        i = shown_current(world, motor, u, theta, w, world.state.y)
        zoom_out[row, 2 + 3 * j] = 0.0 if motor.open else motor.s_a * u
        zoom_out[row, 3 + 3 * j] = i
        zoom_out[row, 4 + 3 * j] = modulation
    world.record.zoom_rows += 1


@helper
def mean_voltage(world: Any, motor: Any, j: int, dt: float) -> float:
    """Voltage that the bridge gives in the mean of the present period [V]; of three phases the q component."""
    middle = motor.theta - 0.5 * dt * motor.w
    return torque_voltage(motor, middle, world.pattern.mean_a[j], world.pattern.mean_b[j], bus_voltage(world))


@helper
def flag_end_stops(world: Any, stops: Any, logs: Any) -> None:
    """Tell every motor that turns a joint at its stop."""
    for i in range(world.n):
        if stops[i].state == BETWEEN and not stops[i].touched:
            continue
        stops[i].touched = 0
        for j in range(world.m):
            if world.N[j, i] != 0.0:
                logs[j].active_limits |= AT_STOP


@helper
def flag_stuck_joints(world: Any, stops: Any, logs: Any) -> None:
    """Tell every motor that turns a joint which its own friction holds."""
    for i in range(world.n):
        if stops[i].has_friction and stops[i].mode == STUCK:
            for j in range(world.m):
                if world.N[j, i] != 0.0:
                    logs[j].active_limits |= IS_STUCK


@helper
def supervise_bus(world: Any, power: Any, start: int) -> None:
    """Extremes of the bus voltage since ``start`` [ns]; the braking resistor is switched by it."""
    u = bus_voltage(world)
    update_bus_extremes(power, u, start, world.state.now)
    if world.at_bus >= 0 and power.R_brake > 0.0:
        if u > power.u_on:
            power.braking = 1
        elif u < power.u_off:
            power.braking = 0
    update_braking_voltage(power, u)


@helper
def electric_energy(world: Any, motors: Any, z: Any) -> float:
    """Energy that all electrical sources have given up to an instant with the integrals ``z`` [J].

    That of the bus gives what it feeds into the capacitor, or without one what the bridges take; ideal and own
    actuators, which have no bridge, take theirs from a supply of their own.
    """
    has_bus = world.at_bus >= 0
    energy = z[PER_MOTOR * world.m] if has_bus else 0.0
    for j in range(world.m):
        if not has_bus or motors[j].feed == COMMAND:
            energy += z[ELECTRIC * world.m + j]
    return energy


@helper
def from_source(world: Any, motors: Any, z: Any) -> float:
    """``electric_energy``, and what a supply of their kind gave to actuators [J]."""
    return electric_energy(world, motors, z) + supplied_energy(world, motors, z)


@helper
def supplied_energy(world: Any, motors: Any, z: Any) -> float:
    """Energy that actuators took from a supply of their kind, or that its pump took [J]."""
    if world.supplied_at >= 0:
        return z[world.supplied_at]  # type: ignore[no-any-return]
    energy = 0.0
    for j in range(world.m):
        if motors[j].supplied_at >= 0:
            energy += z[motors[j].supplied_at]
    return energy


@helper
def check_divergence(world: Any) -> None:
    """End a run in which a joint has left all bounds of speed: behind an elastic gear its motor may stand still.

    A stuck shaft stands still at any angle, one that is no number as well.
    """
    y = world.state.y
    for i in range(world.n):
        if not (abs(y[world.n_x + i]) < MOST_SPEED and abs(y[i]) < math.inf):  # true of NaN as well
            world.state.status = DIVERGED


@helper
def account_window(world: Any, power: Any, motors: Any, stops: Any, axes: Any, logs: Any, start: int) -> None:
    """After a window since ``start`` [ns]: shafts as the sensors see them, heat, bus, extremes, limits met."""
    dt = (world.state.now - start) * NANO
    # loops whose bridges are off limit nothing; what limits loops elsewhere is not known here
    in_force = 0 if power[0].off or world.servo_elsewhere else OF_LOOPS
    for j in range(world.m):
        motor, axis, log = motors[j], axes[j], logs[j]
        motor.theta, w = rotor(world, motors, world.state.y, j)
        if not world.scratch.exact_currents:
            motor.w_dot, motor.w_ddot = (w - motor.w) / dt, 0.0
        motor.w = w
        i2 = world.state.z[SQUARE * world.m + j] - world.state.z_mark[SQUARE * world.m + j]
        world.state.heat[j, 0] += motor.R * i2
        world.state.heat[j, 1] += motor.R_bridge * i2
        heat(motor, heat_loss(world, motor, i2), dt)
        mean = (world.state.z[TORQUE * world.m + j] - world.state.z_mark[TORQUE * world.m + j]) / dt
        if motor.feed == H_BRIDGE and motor.width == 0:
            motor.tau = mean  # without inductance the current jumps at every edge: the sensor sees its mean
        motor.tau_mean = mean
        motor.tau_mean_peak = max(motor.tau_mean_peak, abs(mean))
        if motor.feed == H_BRIDGE and motor.width == 1:
            motor.tau_peak = motor.i_peak * motor.K  # the DC windows note the current alone
        if motor.feed == COMMAND:
            motor.torque_square += mean * mean * dt  # its torque is constant in a window
        log.charge_ref += (motor.current_command if world.servo_elsewhere else axis.i_ref) * dt
        if not motor.open:
            motor.volt_seconds += mean_voltage(world, motor, j, dt) * dt
        motor.w_peak = max(motor.w_peak, abs(w))
        world.dc.decay[j] = (motor.R + motor.R_bridge) * world.dc.inverse_L[j]
        log.active_limits = (axis.saturation & in_force) | exceeded_ratings(motor, w, mean)
        if motor.mode == STUCK:
            log.active_limits |= IS_STUCK
        if not (abs(w) < MOST_SPEED and abs(mean) < MOST_TORQUE):  # true of NaN as well
            world.state.status = DIVERGED
    check_divergence(world)
    code = world.code
    if code.after_window != 0:
        call_piece(code.after_window, code.world_at, code.power_at, code.motors_at, start, 0.0, 0.0)
    world.state.flowed += abs(
        from_source(world, motors, world.state.z) - from_source(world, motors, world.state.z_mark)
    )
    for i in range(world.n_z):
        world.state.z_mark[i] = world.state.z[i]
    if world.joint_friction:
        flag_stuck_joints(world, stops, logs)
    flag_end_stops(world, stops, logs)
    check_joint_limits(world, motors, stops, logs)
    log_limits(logs, start, world.state.now)
    select_window(world, motors, stops)
    supervise_bus(world, power[0], start)


@part
def record(world: Any, motors: Any, sensors: Any, axes: Any, logs: Any, columns: Any, rows_out: Any) -> None:
    """A row of the result: the signals of ``signal_table``, each in the column that ``row_layout`` gave it."""
    row, n_x, m = world.record.rows, world.n_x, world.m
    dt = (world.state.now - world.record.row_from) * NANO
    energy = electric_energy(world, motors, world.state.z)
    rows_out[row, signal.TIME] = world.state.now * NANO
    rows_out[row, signal.BUS_VOLTAGE] = bus_voltage(world)
    rows_out[row, signal.BUS_ENERGY] = energy
    rows_out[row, signal.BUS_POWER] = (energy - electric_energy(world, motors, world.record.z_row)) / dt
    for i in range(n_x + world.n):
        rows_out[row, HEAD + i] = world.state.y[i]
    for j in range(m):
        record_motor(world, motors[j], sensors[j], logs[j], columns, rows_out, j, dt)
        record_loops(world, axes[j], columns, rows_out, j)
        if motors[j].signals != 0:
            record_more(world, motors[j], columns, rows_out, j, dt)
        logs[j].charge_ref = motors[j].volt_seconds = 0.0
        logs[j].limits_since_row = 0
    for i in range(world.n_z):
        world.record.z_row[i] = world.state.z[i]
    world.record.rows += 1
    world.record.row_from = world.state.now
    world.record.row_next += world.record.row_every
    if world.record.rows >= rows_out.shape[0]:
        world.record.row_next = NEVER


@helper
def enter(world: Any, rows_out: Any, columns: Any, j: int, number: int, value: float) -> None:
    """Enter the value of a signal of motor j, by its number in the table, where it has a column."""
    if columns[j, number] >= 0:
        rows_out[world.record.rows, columns[j, number]] = value


@helper
def since_last_row(world: Any, integral: int) -> float:
    """Growth of an integral of the state since the last recorded row."""
    return world.state.z[integral] - world.record.z_row[integral]  # type: ignore[no-any-return]


@helper
def record_motor(
    world: Any, motor: Any, sensor: Any, log: Any, columns: Any, rows_out: Any, j: int, dt: float
) -> None:
    """Signals of the motor, its sensors and its supply; means are those over ``dt`` [s]."""
    torque = since_last_row(world, TORQUE * world.m + j) / dt
    current = torque / motor.K
    charge = charge_integral(motor)
    if charge >= 0:
        current = since_last_row(world, charge) / dt
    enter(world, rows_out, columns, j, signal.ANGLE, motor.theta)
    enter(world, rows_out, columns, j, signal.SPEED, motor.w)
    enter(world, rows_out, columns, j, signal.CURRENT, current)
    enter(world, rows_out, columns, j, signal.CURRENT_REF, log.charge_ref / dt)
    enter(world, rows_out, columns, j, signal.TORQUE, torque)
    enter(world, rows_out, columns, j, signal.VOLTAGE, motor.volt_seconds / dt)
    enter(world, rows_out, columns, j, signal.WINDING_TEMPERATURE, motor.T_w)
    enter(world, rows_out, columns, j, signal.COUNT, shown_count(sensor, motor.theta))
    enter(world, rows_out, columns, j, signal.SATURATION, log.limits_since_row)


@helper
def record_more(world: Any, motor: Any, columns: Any, rows_out: Any, j: int, dt: float) -> None:
    """Signals that only the motor's kind has; means are those over ``dt`` [s]."""
    code = world.code
    call_piece(motor.signals, code.world_at, code.power_at, code.motors_at, j, dt, 0.0)
    for k in range(signal.OF_CHAMBERS):
        enter(world, rows_out, columns, j, signal.PRESSURE_A + k, world.scratch.signals[k])


@helper
def record_loops(world: Any, axis: Any, columns: Any, rows_out: Any, j: int) -> None:
    """Speed command and integrators of the loops of one motor, in SI whatever they compute with."""
    x, n, i, d = axis.sum_x, axis.sum_n, axis.sum_i, axis.sum_d
    if axis.fixed:
        x = axis.acc_x / WHOLE
        n = axis.acc_n / WHOLE * axis.i_max / FULL_SCALE
        i, d = axis.acc_i / WHOLE * axis.u_max / FULL_SCALE, axis.acc_d / WHOLE * axis.u_max / FULL_SCALE
    command = axis.w_ref / axis.w_max * axis.command_voltage  # eq:speed-command
    enter(world, rows_out, columns, j, signal.SPEED_COMMAND, command)
    enter(world, rows_out, columns, j, signal.POSITION_INTEGRATOR, x / axis.counts_per_rad)
    enter(world, rows_out, columns, j, signal.SPEED_INTEGRATOR, n)
    enter(world, rows_out, columns, j, signal.CURRENT_INTEGRATOR, i)
    enter(world, rows_out, columns, j, signal.D_CURRENT_INTEGRATOR, d)


@part
def log_motion(world: Any, motors: Any, log_out: Any) -> None:
    """A row of the log of the motion; a log that is full keeps every second row and goes on half as often."""
    row = world.record.log_rows
    log_out[row, 0] = world.state.now * NANO
    log_out[row, 1] = from_source(world, motors, world.state.z)
    for i in range(world.n_x):
        log_out[row, PER_LOG + i] = world.state.y[i]
    world.record.log_rows += 1
    if world.record.log_rows == log_out.shape[0]:
        world.record.log_rows //= 2
        for k in range(world.record.log_rows):
            for i in range(PER_LOG + world.n_x):
                log_out[k, i] = log_out[2 * k + 1, i]
        world.record.log_every *= 2
    world.record.log_next = world.state.now + world.record.log_every


@part
def close_record(
    world: Any, motors: Any, sensors: Any, axes: Any, logs: Any, columns: Any, rows_out: Any, log_out: Any
) -> None:
    """The last rows, at the end of a run wherever it falls; means are those of the shorter time."""
    if world.state.now > world.record.row_from and world.record.rows < rows_out.shape[0]:
        record(world, motors, sensors, axes, logs, columns, rows_out)
    if world.state.now > world.record.log_next - world.record.log_every:
        log_motion(world, motors, log_out)
