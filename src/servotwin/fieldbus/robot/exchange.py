r"""Between the ports of the drives and the records of the servo, once a period: commands in, measurements out.

A drive stands in for a current that is too large for a while, by its thermal state x, whose time constant lets the peak
current :math:`I_p` flow for the time T from cold:

.. math:: \dot x = \frac{(i/I_r)^2 - x}{\tau}, \quad x < 1 \quad\text{is allowed},\quad
          \tau = T / \ln\frac{(I_p/I_r)^2}{(I_p/I_r)^2 - 1}                                        (eq:drive-load)

with the rated current :math:`I_r`. Theory: docs/theory/power.md.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any

from servotwin.compiled.jit import helper, kernel, part
from servotwin.compiled.native_calls import records_at
from servotwin.control.servo.ports import DriveFault
from servotwin.control.servo.records import Law, Level, Saturation
from servotwin.fieldbus.cia402.axis_port import PortMode
from servotwin.fieldbus.cia402.states import AXIS_ERRORS
from servotwin.fieldbus.objects.drive_profile import AXIS_OBJECTS

OFF, POSITION, VELOCITY, TORQUE = (int(mode) for mode in PortMode)
COMMANDED, SPEED, CURRENT = int(Law.COMMANDED), int(Level.SPEED), int(Level.CURRENT)
AT_LIMIT = int(Saturation.VOLTAGE | Saturation.CURRENT | Saturation.SPEED_COMMAND)
HOT = int(DriveFault.OVER_TEMPERATURE)
PARTS = 65536.0  # of an increment: so fine are set-points
STALL_TIME, STALL_SPEED, STALL_SHARE = (
    0.5,
    0.5,
    0.95,
)  # s, rad/s, of the current limit: a shaft that is blocked
OPEN_TIME, OPEN_ASKED, OPEN_FOUND = (
    0.01,
    0.1,
    0.01,
)  # s, shares of the current limit: a winding without current
NEGATIVE_LIMIT, POSITIVE_LIMIT, HOME = 1, 2, 4  # bits of 60FD
OVER_CURRENT, OVERVOLTAGE, UNDERVOLTAGE = (
    AXIS_ERRORS["over-current"],
    AXIS_ERRORS["overvoltage"],
    AXIS_ERRORS["undervoltage"],
)
HOT_MOTOR, OVERSPEED, LOAD = (
    AXIS_ERRORS["over-temperature of the motor"],
    AXIS_ERRORS["overspeed"],
    AXIS_ERRORS["overload of the drive"],
)
BLOCKED, NO_CURRENT = AXIS_ERRORS["motor blocked"], AXIS_ERRORS["winding without current"]


class SwitchForm(IntEnum):
    """Where a home switch is closed."""

    CAM = 0  # around its place
    POSITIVE = 1  # from its place to the positive end
    NEGATIVE = 2


@helper
def _change_mode(axis: Any, port: Any, mode: int, count: int) -> None:
    """Another loop takes over: that of the position where the axis is, that of the speed with the present current."""
    if mode == POSITION:
        axis.law, axis.level = port.law, port.level
        axis.from_counts = axis.to_counts = axis.counts_ref = count
        axis.sum_x, axis.acc_x = 0.0, 0
        port.begun = 0
    else:
        axis.law, axis.level = COMMANDED, SPEED if mode == VELOCITY else CURRENT
        axis.w_offset = 0.0
    if port.mode == TORQUE and axis.fixed == 0:
        axis.sum_n = axis.i_ref
    port.mode = mode


@part
def _follow_position(axis: Any, port: Any, command: Any, setpoints: Any, j: int, T: float) -> None:
    """The set-point at the end of the next period, with the speed and acceleration of the path."""
    counts = math.floor(command.position * axis.counts_per_rad * PARTS + 0.5) / PARTS
    speed, axis.w_offset = command.velocity_offset, 0.0
    if port.path_speed == 0:
        axis.w_offset = command.velocity_offset
        speed = (counts - port.last_counts) / (axis.counts_per_rad * T) if port.begun else 0.0
    setpoints[0, j, 0], setpoints[0, j, 1] = counts, speed
    setpoints[0, j, 2] = (speed - port.last_speed) / T if port.begun else 0.0
    port.last_counts, port.last_speed, port.begun = counts, speed, 1


@helper
def _limit_current(axis: Any, command: Any) -> None:
    """Torque limits as a part of the current limit."""
    high = min(max(command.torque_high / axis.K_hat, 0.0), axis.i_max)
    low = min(max(-command.torque_low / axis.K_hat, 0.0), axis.i_max)
    axis.i_cut_high, axis.i_cut_low = axis.i_max - high, axis.i_max - low


@kernel
def give_commands(
    drives: Any, axes: Any, ports: Any, feedbacks: Any, setpoints: Any, lines: Any, T: float
) -> bool:
    """Give the servo what the drives command for the next period T [s]; whether an enable line has changed."""
    changed = False
    for j in range(axes.shape[0]):
        axis, port, command = axes[j], ports[j], drives[j].command
        objects = records_at(drives[j].objects_at, 1, AXIS_OBJECTS)[0]
        port.path_speed, port.switch_form = objects.path_speed, objects.switch_form
        port.forced_inputs = objects.simulated_inputs
        count = feedbacks[0].count[j]
        on = 1 if command.enable != 0 and port.fault == 0 else 0
        mode = command.mode if on else OFF
        if on != lines[j]:
            lines[j], changed = on, True
        if mode == OFF:
            setpoints[0, j, 0], setpoints[0, j, 1], setpoints[0, j, 2] = count, 0.0, 0.0
            axis.w_offset = axis.i_offset = axis.w_command = axis.i_ref = 0.0
            port.mode, port.begun = OFF, 0
            continue
        if mode != port.mode:
            _change_mode(axis, port, mode, count)
        _limit_current(axis, command)
        axis.i_offset = 0.0 if mode == TORQUE else command.torque / axis.K_hat
        if mode == POSITION:
            _follow_position(axis, port, command, setpoints, j, T)
            continue
        setpoints[0, j, 0], setpoints[0, j, 1], setpoints[0, j, 2] = count, 0.0, 0.0
        if mode == VELOCITY:
            axis.w_command = min(max(command.velocity, -axis.w_max), axis.w_max)
        else:
            wanted = command.torque / axis.K_hat
            axis.i_ref = min(max(wanted, axis.i_cut_low - axis.i_max), axis.i_max - axis.i_cut_high)
    return changed


@part
def _supervise(  # noqa: PLR0911 -- one for each code
    axis: Any, port: Any, feedback: Any, on: bool, j: int, T: float
) -> int:
    """What the electronics of a drive finds wrong now: a code of 603F, or 0."""
    current = math.hypot(axis.i_meas, axis.i_d_meas)
    asked = abs(axis.i_ref)
    ratio = current / port.i_rated
    peak = (axis.i_max / port.i_rated) ** 2
    if peak > 1.0:
        tau = port.load_time / math.log(peak / (peak - 1.0))
        port.load += (ratio * ratio - port.load) * min(T / tau, 1.0)  # eq:drive-load
    stalled = on and asked >= STALL_SHARE * axis.i_max and abs(axis.w_meas) < STALL_SPEED
    port.stalled = port.stalled + T if stalled else 0.0
    no_current = on and asked > OPEN_ASKED * axis.i_max and current < OPEN_FOUND * axis.i_max
    port.open = port.open + T if no_current else 0.0
    if port.reported != 0:
        return port.reported  # type: ignore[no-any-return]
    if current > port.i_trip:
        return OVER_CURRENT
    if feedback.bus_voltage > port.u_high:
        return OVERVOLTAGE
    if on and (feedback.bus_voltage < port.u_low or port.lost != 0):
        return UNDERVOLTAGE
    if feedback.fault[j] == HOT:
        return HOT_MOTOR
    if abs(axis.w_meas) > port.w_trip:
        return OVERSPEED
    if port.open > OPEN_TIME:
        return NO_CURRENT
    if port.stalled > STALL_TIME:
        return BLOCKED
    return LOAD if port.load > 1.0 else 0


@part
def _switches(port: Any, q: float) -> int:
    """Limit and home switches at a joint position, bits of 60FD."""
    inputs = 0
    if q <= port.low:
        inputs |= NEGATIVE_LIMIT
    if q >= port.high:
        inputs |= POSITIVE_LIMIT
    if port.switch_form == SwitchForm.POSITIVE:
        closed = q >= port.home
    elif port.switch_form == SwitchForm.NEGATIVE:
        closed = q <= port.home
    else:
        closed = abs(q - port.home) <= port.cam
    return inputs | (HOME if closed else 0) | port.forced_inputs  # type: ignore[no-any-return]


@kernel
def take_measurements(
    drives: Any, axes: Any, ports: Any, feedbacks: Any, motors: Any, inverse: Any, T: float
) -> None:
    """Give the drives what their sensors show after a period T [s], and what their supervision finds."""
    feedback = feedbacks[0]
    for j in range(axes.shape[0]):
        axis, port, drive, motor = axes[j], ports[j], drives[j], motors[j]
        count = feedback.count[j]
        drive.feedback.position = count / axis.counts_per_rad
        drive.feedback.velocity = axis.w_meas
        drive.feedback.current = axis.i_meas
        drive.feedback.torque = axis.K_hat * axis.i_meas
        drive.feedback.bus_voltage = feedback.bus_voltage
        drive.feedback.limited = 1 if port.mode != OFF and axis.saturation & AT_LIMIT != 0 else 0
        port.temperature = motor.T_w
        q = 0.0
        for k in range(axes.shape[0]):
            q += inverse[j, k] * motors[k].theta
        drive.feedback.digital_inputs = _switches(port, q)
        found = _supervise(axis, port, feedback, port.mode != OFF, j, T)
        if drive.command.reset != 0:
            port.fault = 0
        if port.fault == 0:
            port.fault = found
        drive.feedback.fault = port.fault
        objects = records_at(drive.objects_at, 1, AXIS_OBJECTS)[0]
        objects.temperature = round(min(max(10.0 * port.temperature, -32767.0), 32767.0))
        objects.load = round(min(max(1000.0 * port.load, 0.0), 65535.0))
