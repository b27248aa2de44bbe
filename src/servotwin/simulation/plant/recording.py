"""What is written down of a run: extremes, heat, saturation after every window, rows of the result, the zoom.

The rows are for pictures; numbers of the summary come from what is kept after every window, and from the log of
the motion at instants of its own. So nothing depends on how often rows are recorded.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.control.servo.records import Saturation
from servotwin.control.tuning.gains import FULL_SCALE, GAIN_SHIFT
from servotwin.drives.hydraulic.model import PUMP_ENERGY, SUPPLIED
from servotwin.drives.peaks import note_peaks
from servotwin.drives.pmsm.model import rotor_voltage
from servotwin.drives.pwm import carrier, leg_modulations
from servotwin.drives.records import BETWEEN, STUCK
from servotwin.drives.sensors import shown_count
from servotwin.drives.thermal import heat
from servotwin.simulation.plant.actuators import (
    COMMAND,
    H_BRIDGE,
    HYDRAULIC,
    THREE_PHASE,
    current_and_torque,
    shown_current,
    watch_hydraulics,
)
from servotwin.simulation.plant.event_steps import speed
from servotwin.simulation.plant.limit_log import (
    OF_LOOPS,
    note_limits,
    too_much,
    watch_bus,
    watch_joints,
    watch_resistor,
)
from servotwin.simulation.plant.rates import ELECTRIC, SQUARE, TORQUE, rotor
from servotwin.simulation.plant.records import PER_MOTOR
from servotwin.simulation.plant.status import DIVERGED
from servotwin.simulation.windows.choice import select_window
from servotwin.simulation.windows.general_window import bus_voltage

NANO = 1e-9
NEVER = 1 << 62
MOST_SPEED = 1e7  # rad/s, m/s: nothing mechanical turns faster, so the run has diverged
MOST_TORQUE = 1e100  # N m: far below where powers and energies overflow
AT_STOP, IS_STUCK = int(Saturation.END_STOP), int(Saturation.STUCK)
# columns of a recorded row: time, bus voltage, energy of the source, bus power; per joint x and qd; per motor:
PER_ROW = 17
HEAD = 4
PER_LOG = 2  # columns of the log of the motion before the coordinates of the arm: time, energy of the source
LOG_PERIOD = 1_000_000  # ns between two rows of that log, rounded down to whole current periods
WHOLE = 1 << GAIN_SHIFT


@part
def watch_peaks(world: Any, motors: Any) -> None:
    """Extremes of currents and torques at this instant; the current of a synchronous motor is its amplitude."""
    u = bus_voltage(world)
    for j in range(world.m):
        motor = motors[j]
        i, tau = current_and_torque(motor, u, speed(world, motors, world.state.y, j), world.state.y)
        note_peaks(motor, i, tau)


@part
def look_closer(world: Any, motors: Any, axes: Any, servo: Any, zoom_out: Any, since: float) -> None:
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
        motor, axis = motors[j], axes[j]
        modulation = leg_modulations(axis.m_a, axis.m_b)[0] if motor.feed == THREE_PHASE else axis.m_a
        theta, w = rotor(world, motors, world.state.y, j)
        i = shown_current(motor, u, theta, w, world.state.y)
        zoom_out[row, 2 + 3 * j] = 0.0 if motor.open else motor.s_a * u
        zoom_out[row, 3 + 3 * j] = i
        zoom_out[row, 4 + 3 * j] = modulation
    world.record.zoom_rows += 1


@helper
def mean_voltage(world: Any, motor: Any, j: int, dt: float) -> float:
    """Voltage that the bridge gives in the mean of the present period [V]; of three phases the q component."""
    u = bus_voltage(world)
    if motor.feed == THREE_PHASE:
        middle = motor.theta - 0.5 * dt * motor.w
        return rotor_voltage(motor, middle, world.pattern.mean_a[j], world.pattern.mean_b[j], u)[1]
    return world.pattern.mean_a[j] * u  # type: ignore[no-any-return]


@helper
def look_at_stops(world: Any, stops: Any, logs: Any) -> None:
    """Tell every motor that turns a joint at its stop."""
    for i in range(world.n):
        if stops[i].state == BETWEEN and not stops[i].touched:
            continue
        stops[i].touched = 0
        for j in range(world.m):
            if world.N[j, i] != 0.0:
                logs[j].met |= AT_STOP


@helper
def look_at_stuck_joints(world: Any, stops: Any, logs: Any) -> None:
    """Tell every motor that turns a joint which its own friction holds."""
    for i in range(world.n):
        if stops[i].has_friction and stops[i].mode == STUCK:
            for j in range(world.m):
                if world.N[j, i] != 0.0:
                    logs[j].met |= IS_STUCK


@helper
def look_at_bus(world: Any, power: Any, start: int) -> None:
    """Extremes of the bus voltage since ``start`` [ns]; the braking resistor is switched by it."""
    u = bus_voltage(world)
    watch_bus(power, u, start, world.state.now)
    if world.at_bus >= 0 and power.R_brake > 0.0:
        if u > power.u_on:
            power.braking = 1
        elif u < power.u_off:
            power.braking = 0
    watch_resistor(power, u)


@helper
def source_energy(world: Any, z: Any) -> float:
    """Energy that the source has given up to an instant with the integrals ``z`` [J]."""
    if world.at_bus >= 0:
        return z[PER_MOTOR * world.m]  # type: ignore[no-any-return]
    energy = 0.0
    for j in range(world.m):
        energy += z[ELECTRIC * world.m + j]
    return energy


@helper
def from_source(world: Any, motors: Any, z: Any) -> float:
    """``source_energy``, and what ideal motors took, which have no bridge on a bus, and hydraulic axes [J]."""
    energy = source_energy(world, z)
    if world.supply.axes:
        energy += hydraulic_energy(world, motors, z)
    if world.at_bus >= 0:
        for j in range(world.m):
            if motors[j].feed == COMMAND:
                energy += z[ELECTRIC * world.m + j]
    return energy


@helper
def hydraulic_energy(world: Any, motors: Any, z: Any) -> float:
    """Energy that hydraulic axes took from their supply, or that its pump took [J]."""
    if world.at_supply >= 0:
        return z[world.supply_z + PUMP_ENERGY]  # type: ignore[no-any-return]
    energy = 0.0
    for j in range(world.m):
        if motors[j].kind == HYDRAULIC:
            energy += z[motors[j].loss_at + SUPPLIED]
    return energy


@helper
def watch_speeds(world: Any) -> None:
    """End a run in which a joint has left all bounds of speed: behind an elastic gear its motor may stand still."""
    for i in range(world.n):
        if not abs(world.state.y[world.n_x + i]) < MOST_SPEED:  # true of NaN as well
            world.state.status = DIVERGED


@part
def book(world: Any, power: Any, motors: Any, stops: Any, axes: Any, logs: Any, start: int) -> None:
    """After a window since ``start`` [ns]: shafts as the sensors see them, heat, bus, extremes, limits met."""
    dt = (world.state.now - start) * NANO
    in_force = 0 if power[0].off else OF_LOOPS  # loops whose bridges are off limit nothing
    for j in range(world.m):
        motor, axis, log = motors[j], axes[j], logs[j]
        motor.theta = rotor(world, motors, world.state.y, j)[0]
        w = speed(world, motors, world.state.y, j)
        if not world.scratch.exact_currents:
            motor.w_dot, motor.w_ddot = (w - motor.w) / dt, 0.0
        motor.w = w
        i2 = world.state.z[SQUARE * world.m + j] - world.state.z_mark[SQUARE * world.m + j]
        world.state.heat[j, 0] += motor.R * i2
        world.state.heat[j, 1] += motor.R_bridge * i2
        heat(motor, motor.R * i2, dt)
        mean = (world.state.z[TORQUE * world.m + j] - world.state.z_mark[TORQUE * world.m + j]) / dt
        if motor.feed == H_BRIDGE and motor.width == 0:
            motor.tau = mean  # without inductance the current jumps at every edge: the sensor sees its mean
        motor.tau_mean = mean
        motor.tau_mean_peak = max(motor.tau_mean_peak, abs(mean))
        if motor.feed == H_BRIDGE and motor.width == 1:
            motor.tau_peak = motor.i_peak * motor.K  # the DC windows note the current alone
        if motor.feed == COMMAND:
            motor.torque_square += mean * mean * dt  # its torque is constant in a window
        log.charge_ref += axis.i_ref * dt
        if not motor.open:
            motor.volt_seconds += mean_voltage(world, motor, j, dt) * dt
        motor.w_peak = max(motor.w_peak, abs(w))
        world.dc.decay[j] = (motor.R + motor.R_bridge) * world.dc.inverse_L[j]
        log.met = (axis.saturation & in_force) | too_much(motor, w, mean)
        if motor.mode == STUCK:
            log.met |= IS_STUCK
        if not (abs(w) < MOST_SPEED and abs(mean) < MOST_TORQUE):  # true of NaN as well
            world.state.status = DIVERGED
    watch_speeds(world)
    if world.supply.axes:
        watch_hydraulics(world, motors, start)
    world.state.flowed += abs(
        from_source(world, motors, world.state.z) - from_source(world, motors, world.state.z_mark)
    )
    for i in range(world.n_z):
        world.state.z_mark[i] = world.state.z[i]
    if world.joint_friction:
        look_at_stuck_joints(world, stops, logs)
    look_at_stops(world, stops, logs)
    watch_joints(world, motors, stops, logs)
    note_limits(logs, start, world.state.now)
    select_window(world, motors, stops)
    look_at_bus(world, power[0], start)


@part
def record(world: Any, motors: Any, sensors: Any, axes: Any, logs: Any, rows_out: Any) -> None:
    """A row of the result; torques, currents, their references, voltages and power are means since the row before."""
    row, n_x, m = world.record.rows, world.n_x, world.m
    dt = (world.state.now - world.record.row_from) * NANO
    energy = source_energy(world, world.state.z)
    rows_out[row, 0] = world.state.now * NANO
    rows_out[row, 1] = bus_voltage(world)
    rows_out[row, 2], rows_out[row, 3] = energy, (energy - source_energy(world, world.record.z_row)) / dt
    for i in range(n_x + world.n):
        rows_out[row, HEAD + i] = world.state.y[i]
    for j in range(m):
        motor, axis, log = motors[j], axes[j], logs[j]
        c = HEAD + n_x + world.n + PER_ROW * j
        torque = (world.state.z[TORQUE * world.m + j] - world.record.z_row[TORQUE * world.m + j]) / dt
        rows_out[row, c] = motor.theta
        rows_out[row, c + 1] = motor.w
        rows_out[row, c + 2] = torque / motor.K
        if motor.charge_at >= 0:
            rows_out[row, c + 2] = (world.state.z[motor.charge_at] - world.record.z_row[motor.charge_at]) / dt
        rows_out[row, c + 3] = log.charge_ref / dt
        rows_out[row, c + 4] = torque
        rows_out[row, c + 5] = motor.volt_seconds / dt
        log.charge_ref = motor.volt_seconds = 0.0
        rows_out[row, c + 6] = motor.T_w
        rows_out[row, c + 7] = shown_count(sensors[j], motor.theta)
        rows_out[row, c + 8] = log.seen_saturation
        log.seen_saturation = 0
        record_loops(axis, rows_out, row, c + 9)
    for i in range(world.n_z):
        world.record.z_row[i] = world.state.z[i]
    world.record.rows += 1
    world.record.row_from = world.state.now
    world.record.row_next += world.record.row_every
    if world.record.rows >= rows_out.shape[0]:
        world.record.row_next = NEVER


@helper
def record_loops(axis: Any, rows_out: Any, row: int, c: int) -> None:
    """References, measured speed and integrators of the loops of one motor, in SI whatever they compute with."""
    rows_out[row, c] = axis.counts_ref / axis.counts_per_rad
    rows_out[row, c + 1] = axis.w_path
    rows_out[row, c + 2] = axis.w_meas
    rows_out[row, c + 3] = axis.w_ref / axis.w_max * axis.command_voltage  # eq:speed-command
    x, n, i, d = axis.sum_x, axis.sum_n, axis.sum_i, axis.sum_d
    if axis.fixed:
        x = axis.acc_x / WHOLE
        n = axis.acc_n / WHOLE * axis.i_max / FULL_SCALE
        i, d = axis.acc_i / WHOLE * axis.u_max / FULL_SCALE, axis.acc_d / WHOLE * axis.u_max / FULL_SCALE
    rows_out[row, c + 4] = x / axis.counts_per_rad
    rows_out[row, c + 5], rows_out[row, c + 6], rows_out[row, c + 7] = n, i, d


@part
def log_motion(world: Any, log_out: Any) -> None:
    """A row of the log of the motion; a log that is full keeps every second row and goes on half as often."""
    row = world.record.log_rows
    log_out[row, 0] = world.state.now * NANO
    log_out[row, 1] = source_energy(world, world.state.z)
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
    world: Any, motors: Any, sensors: Any, axes: Any, logs: Any, rows_out: Any, log_out: Any
) -> None:
    """The last rows, at the end of a run wherever it falls; means are those of the shorter time."""
    if world.state.now > world.record.row_from and world.record.rows < rows_out.shape[0]:
        record(world, motors, sensors, axes, logs, rows_out)
    if world.state.now > world.record.log_next - world.record.log_every:
        log_motion(world, log_out)
