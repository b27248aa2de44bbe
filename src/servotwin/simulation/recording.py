"""What is written down of a run: extremes, heat, saturation after every window, rows of the result, the zoom.

The rows are for pictures; numbers of the summary come from what is kept after every window, and from the log of
the motion at instants of its own. So nothing depends on how often rows are recorded.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.control.gains import FULL_SCALE, GAIN_SHIFT
from servotwin.control.records import Saturation
from servotwin.drives.motors import (
    dc_reduced_current,
    note_peaks,
    pmsm_torque,
    rotor_voltage,
    stator_currents,
)
from servotwin.drives.pwm import carrier, leg_modulations
from servotwin.drives.records import STUCK
from servotwin.drives.sensors import shown_count
from servotwin.drives.thermal import heat
from servotwin.dynamics.recursive.jit import helper, part
from servotwin.simulation.fast import bus_voltage
from servotwin.simulation.plant import DC, ELECTRIC, IDEAL, PMSM, REDUCED, SQUARE, TORQUE, rotor
from servotwin.simulation.steps import DIVERGED, speed
from servotwin.simulation.watch import (
    OF_LOOPS,
    note_limits,
    too_much,
    watch_bus,
    watch_joints,
    watch_resistor,
)
from servotwin.simulation.work import PER_MOTOR

NANO = 1e-9
NEVER = 1 << 62
MOST_SPEED = 1e7  # rad/s, m/s: nothing mechanical turns faster, so the run has diverged
MOST_TORQUE = 1e100  # N m: far below where powers and energies overflow
AT_STOP, HELD = int(Saturation.END_STOP), int(Saturation.STUCK)
# columns of a recorded row: time, bus voltage, energy of the source, bus power; per joint x and qd; per motor:
PER_ROW = 17
HEAD = 4
PER_LOG = 2  # columns of the log of the motion before the coordinates of the arm: time, energy of the source
LOG_PERIOD = 1_000_000  # ns between two rows of that log, rounded down to whole current periods
WHOLE = 1 << GAIN_SHIFT


@helper
def reduced_current(world: Any, motors: Any, j: int) -> float:
    """Current of a motor without inductance at this instant [A]."""
    motor = motors[j]
    if motor.open:
        return 0.0
    return dc_reduced_current(motor, motor.s_a * bus_voltage(world), speed(world, motors, world.y, j))


@part
def watch_peaks(world: Any, motors: Any) -> None:
    """Extremes of currents and torques at this instant; the current of a synchronous motor is its amplitude."""
    for j in range(world.m):
        motor = motors[j]
        k = motor.current_at
        if motor.kind == DC:
            note_peaks(motor, world.y[k], motor.K * world.y[k])
        elif motor.kind == PMSM:
            i_d, i_q = world.y[k], world.y[k + 1]
            note_peaks(motor, math.hypot(i_d, i_q), pmsm_torque(motor, i_d, i_q))
        elif motor.kind == REDUCED:
            i = reduced_current(world, motors, j)
            note_peaks(motor, i, motor.K * i)
        elif not motor.open:
            note_peaks(motor, motor.torque_command / motor.K, motor.torque_command)


@part
def look_closer(world: Any, motors: Any, axes: Any, timing: Any, zoom_out: Any, since: float) -> None:
    """A row of the zoom: time, carrier, and voltage, current, modulation of every motor.

    A synchronous motor shows its phase a: voltage to the star point, current, command of the leg.
    """
    row = world.zoom_rows
    if row >= zoom_out.shape[0]:
        return
    zoom_out[row, 0] = world.period_start * NANO + since
    zoom_out[row, 1] = carrier(since / timing.T_current)
    u = bus_voltage(world)
    for j in range(world.m):
        motor, axis = motors[j], axes[j]
        k, modulation = motor.current_at, axis.m_a
        if motor.kind == PMSM:
            theta = rotor(world, motors, world.y, j)[0]
            i = stator_currents(motor, theta, world.y[k], world.y[k + 1])[0]
            modulation = leg_modulations(axis.m_a, axis.m_b)[0]
        elif motor.kind == DC:
            i = world.y[k]
        elif motor.kind == REDUCED:
            i = reduced_current(world, motors, j)
        else:
            i = 0.0 if motor.open else motor.torque_command / motor.K
        zoom_out[row, 2 + 3 * j] = 0.0 if motor.open else motor.s_a * u
        zoom_out[row, 3 + 3 * j] = i
        zoom_out[row, 4 + 3 * j] = modulation
    world.zoom_rows += 1


@helper
def mean_voltage(world: Any, motor: Any, j: int, dt: float) -> float:
    """Voltage that the bridge gives in the mean of the present period [V]; of three phases the q component."""
    u = bus_voltage(world)
    if motor.kind == PMSM:
        middle = motor.theta - 0.5 * dt * motor.w
        return rotor_voltage(motor, middle, world.mean_a[j], world.mean_b[j], u)[1]
    return world.mean_a[j] * u  # type: ignore[no-any-return]


@helper
def look_at_stops(world: Any, stops: Any, axes: Any) -> bool:
    """Tell every motor that turns a joint at its stop; true if there is one."""
    held = False
    for i in range(world.n):
        if stops[i].state == 0 and not stops[i].touched:
            continue
        held = held or stops[i].state != 0
        stops[i].touched = 0
        for j in range(world.m):
            if world.N[j, i] != 0.0:
                axes[j].met |= AT_STOP
    return held


@helper
def look_at_stuck_joints(world: Any, stops: Any, axes: Any) -> None:
    """Tell every motor that turns a joint which its own friction holds."""
    for i in range(world.n):
        if stops[i].rubs and stops[i].mode == STUCK:
            for j in range(world.m):
                if world.N[j, i] != 0.0:
                    axes[j].met |= HELD


@helper
def look_at_bus(world: Any, power: Any, start: int) -> None:
    """Extremes of the bus voltage since ``start`` [ns]; the braking resistor is switched by it."""
    u = bus_voltage(world)
    watch_bus(power, u, start, world.now)
    if world.at_bus >= 0 and power.R_brake > 0.0:
        if u > power.u_on:
            power.braking = 1
        elif u < power.u_off:
            power.braking = 0
    watch_resistor(power, u)


@helper
def sliding(world: Any, motors: Any, stops: Any) -> bool:
    """True if no joint and no motor behind a stiff gear sticks or loses in its gear.

    The arm obeys its equation as it stands.
    """
    for i in range(world.n):
        if stops[i].rubs and stops[i].mode == STUCK:
            return False
    for j in range(world.m):
        if motors[j].flexible < 0 and (motors[j].mode == STUCK or motors[j].eta < 1.0):
            return False
    return True


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
    """``source_energy``, and what ideal motors took, which have no bridge on a bus [J]."""
    energy = source_energy(world, z)
    if world.at_bus >= 0:
        for j in range(world.m):
            if motors[j].kind == IDEAL:
                energy += z[ELECTRIC * world.m + j]
    return energy


@helper
def watch_speeds(world: Any) -> None:
    """End a run in which a joint has left all bounds of speed: behind an elastic gear its motor may stand still."""
    for i in range(world.n):
        if not abs(world.y[world.n_x + i]) < MOST_SPEED:  # true of NaN as well
            world.status = DIVERGED


@part
def book(world: Any, power: Any, motors: Any, sensors: Any, stops: Any, axes: Any, start: int) -> None:
    """After a window since ``start`` [ns]: shafts as the sensors see them, heat, bus, extremes, limits met."""
    dt = (world.now - start) * NANO
    in_force = 0 if power[0].off else OF_LOOPS  # loops whose bridges are off limit nothing
    for j in range(world.m):
        motor, axis = motors[j], axes[j]
        motor.theta = rotor(world, motors, world.y, j)[0]
        w = speed(world, motors, world.y, j)
        if not world.exact:
            motor.w_dot, motor.w_ddot = (w - motor.w) / dt, 0.0
        motor.w = w
        i2 = world.z[SQUARE * world.m + j] - world.z_mark[SQUARE * world.m + j]
        world.heat[j, 0] += motor.R * i2
        world.heat[j, 1] += motor.R_bridge * i2
        heat(motor, motor.R * i2, dt)
        mean = (world.z[TORQUE * world.m + j] - world.z_mark[TORQUE * world.m + j]) / dt
        if motor.kind == REDUCED:
            motor.tau = mean  # without inductance the current jumps at every edge: the sensor sees its mean
        motor.tau_mean = mean
        motor.tau_mean_peak = max(motor.tau_mean_peak, abs(mean))
        if motor.kind == DC:
            motor.tau_peak = motor.i_peak * motor.K  # plain roads note the current alone
        if motor.kind == IDEAL:
            motor.torque_square += mean * mean * dt  # its torque is constant in a window
        axis.charge_ref += axis.i_ref * dt
        if not motor.open:
            motor.volt_seconds += mean_voltage(world, motor, j, dt) * dt
        motor.w_peak = max(motor.w_peak, abs(w))
        world.decay[j] = (motor.R + motor.R_bridge) * world.slope[j]
        axis.met = (axis.saturation & in_force) | too_much(motor, w, mean)
        if motor.mode == STUCK:
            axis.met |= HELD
        if not (abs(w) < MOST_SPEED and abs(mean) < MOST_TORQUE):  # true of NaN as well
            world.status = DIVERGED
    watch_speeds(world)
    world.flowed += abs(from_source(world, motors, world.z) - from_source(world, motors, world.z_mark))
    for i in range(world.n_z):
        world.z_mark[i] = world.z[i]
    if world.joint_rubs:
        look_at_stuck_joints(world, stops, axes)
    held = look_at_stops(world, stops, axes)
    watch_joints(world, motors, stops, axes)
    note_limits(axes, start, world.now)
    world.held = 1 if held else 0
    world.simple = 1 if sliding(world, motors, stops) and not held else 0
    look_at_bus(world, power[0], start)


@part
def record(world: Any, motors: Any, sensors: Any, axes: Any, rows_out: Any) -> None:
    """A row of the result; torques, currents, their references, voltages and power are means since the row before."""
    row, n_x, m = world.rows, world.n_x, world.m
    dt = (world.now - world.row_from) * NANO
    energy = source_energy(world, world.z)
    rows_out[row, 0] = world.now * NANO
    rows_out[row, 1] = bus_voltage(world)
    rows_out[row, 2], rows_out[row, 3] = energy, (energy - source_energy(world, world.z_row)) / dt
    for i in range(n_x + world.n):
        rows_out[row, HEAD + i] = world.y[i]
    for j in range(m):
        motor, axis = motors[j], axes[j]
        c = HEAD + n_x + world.n + PER_ROW * j
        torque = (world.z[TORQUE * world.m + j] - world.z_row[TORQUE * world.m + j]) / dt
        rows_out[row, c] = motor.theta
        rows_out[row, c + 1] = motor.w
        rows_out[row, c + 2] = torque / motor.K
        if motor.kind == PMSM:
            rows_out[row, c + 2] = (world.z[motor.charge_at] - world.z_row[motor.charge_at]) / dt
        rows_out[row, c + 3] = axis.charge_ref / dt
        rows_out[row, c + 4] = torque
        rows_out[row, c + 5] = motor.volt_seconds / dt
        axis.charge_ref = motor.volt_seconds = 0.0
        rows_out[row, c + 6] = motor.T_w
        rows_out[row, c + 7] = shown_count(sensors[j], motor.theta)
        rows_out[row, c + 8] = axis.seen_saturation
        axis.seen_saturation = 0
        record_loops(axis, rows_out, row, c + 9)
    for i in range(world.n_z):
        world.z_row[i] = world.z[i]
    world.rows += 1
    world.row_from = world.now
    world.row_next += world.row_every
    if world.rows >= rows_out.shape[0]:
        world.row_next = NEVER


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
    row = world.log_rows
    log_out[row, 0] = world.now * NANO
    log_out[row, 1] = source_energy(world, world.z)
    for i in range(world.n_x):
        log_out[row, PER_LOG + i] = world.y[i]
    world.log_rows += 1
    if world.log_rows == log_out.shape[0]:
        world.log_rows //= 2
        for k in range(world.log_rows):
            for i in range(PER_LOG + world.n_x):
                log_out[k, i] = log_out[2 * k + 1, i]
        world.log_every *= 2
    world.log_next = world.now + world.log_every


@part
def close_record(world: Any, motors: Any, sensors: Any, axes: Any, rows_out: Any, log_out: Any) -> None:
    """The last rows, at the end of a run wherever it falls; means are those of the shorter time."""
    if world.now > world.row_from and world.rows < rows_out.shape[0]:
        record(world, motors, sensors, axes, rows_out)
    if world.now > world.log_next - world.log_every:
        log_motion(world, log_out)
