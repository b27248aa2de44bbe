"""Modes of operation: from objects of an axis to demands, one period at a time, in user units."""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.fieldbus.cia402.axis_port import PortMode
from servotwin.fieldbus.cia402.homing import homing
from servotwin.fieldbus.cia402.ramps import brake_down, stop_deceleration, toward, trapezoid
from servotwin.fieldbus.cia402.setpoints import demand_step
from servotwin.fieldbus.cia402.states import HALT, Mode

TURN = 6.283185307179586
NEW_SETPOINT, IMMEDIATELY, RELATIVE, START_HOMING = 0x10, 0x20, 0x40, 0x10
SPAN = 4294967296.0
POSITION, VELOCITY, TORQUE = int(PortMode.POSITION), int(PortMode.VELOCITY), int(PortMode.TORQUE)


@helper
def units_per_radian(objects: Any) -> float:
    """User units of a radian of the motor shaft, after 6091 and 6092.

    Position = turns of the motor / gear ratio x feed constant.
    """
    gear = objects.gear_motor_turns / objects.gear_shaft_turns
    return objects.feed / objects.feed_turns / gear / TURN  # type: ignore[no-any-return]


@helper
def wrapped(value: float) -> int:
    """A whole number of 32 bits with sign; positions count on over its ends."""
    whole = round(value)
    return ((whole + 0x80000000) & 0xFFFFFFFF) - 0x80000000


@helper
def _top_speed(objects: Any) -> float:
    """The most that the motor's speed allows [user units/s]."""
    return objects.max_motor_speed / 60.0 * TURN * units_per_radian(objects)  # type: ignore[no-any-return]


@helper
def _cut(drive: Any, value: float, low: float, high: float) -> float:
    """Within limits; a cut shows in the statusword."""
    if value > high:
        drive.limited = 1
        return high
    if value < low:
        drive.limited = 1
        return low
    return value


@helper
def _within_software_limits(drive: Any, objects: Any, position: float) -> float:
    low, high = float(objects.position_limit_low), float(objects.position_limit_high)
    return _cut(drive, position, low, high) if low < high else position


@part
def _cyclic_position(drive: Any, objects: Any, fresh: bool, dt: float) -> None:
    """CSP: the target moves the demand by the shorter way round of 32 bits, never faster than the motor can."""
    step = demand_step(drive, objects, fresh, _way_to_target(drive, objects), dt)
    reach = _top_speed(objects) * dt
    goal = drive.position + _cut(drive, step, -reach, reach)
    low, high = float(objects.position_limit_low), float(objects.position_limit_high)
    if low < high:  # an axis that is outside may come back, and is not thrown to its limit
        goal = _cut(drive, goal, min(low, drive.position), max(high, drive.position))
    drive.velocity = (goal - drive.position) / dt
    drive.position = goal


@helper
def _way_to_target(drive: Any, objects: Any) -> float:
    """From the demand to the target by the shorter way round of 32 bits [user units]."""
    wanted = float(objects.target_position) + float(objects.position_offset)
    return (wanted - drive.position + 0.5 * SPAN) % SPAN - 0.5 * SPAN  # type: ignore[no-any-return]


@part
def _profile_position(drive: Any, objects: Any, control: int, dt: float) -> None:
    """PP: a rising edge of the new set-point bit takes a target; it is answered by bit 12."""
    asked = control & NEW_SETPOINT != 0
    if asked and drive.controlword_before & NEW_SETPOINT == 0:
        drive.setpoint_asked = 1
    arrived = drive.position == drive.target
    if asked and drive.setpoint_asked != 0 and (arrived or control & IMMEDIATELY != 0):
        start = drive.target if control & RELATIVE != 0 else 0.0
        drive.target = _within_software_limits(drive, objects, start + float(objects.target_position))
        drive.setpoint_taken, drive.setpoint_asked = 1, 0
    elif not asked:
        drive.setpoint_taken = drive.setpoint_asked = 0
    if control & HALT != 0:
        brake_down(drive, stop_deceleration(objects, objects.halt_option), dt)
        return
    top = min(float(objects.profile_velocity), float(objects.max_profile_velocity))
    trapezoid(drive, objects, _cut(drive, top, 0.0, _top_speed(objects)), dt)


@part
def _profile_velocity(drive: Any, objects: Any, control: int, dt: float) -> None:
    """PV: the speed follows its target by the ramps."""
    if control & HALT != 0:
        brake_down(drive, stop_deceleration(objects, objects.halt_option), dt)
        return
    top = min(_top_speed(objects), float(objects.max_profile_velocity))
    wanted = _cut(drive, float(objects.target_velocity), -top, top)
    speeding = abs(wanted) > abs(drive.velocity) and wanted * drive.velocity >= 0.0
    rate = float(objects.profile_acceleration) if speeding else float(objects.profile_deceleration)
    before = drive.velocity
    drive.velocity = toward(before, wanted, rate * dt)


@helper
def _torque(drive: Any, objects: Any, control: int, dt: float, cyclic: bool) -> None:
    """CST follows its target at once, TQ by the torque slope."""
    if cyclic:
        drive.torque = float(objects.target_torque) + float(objects.torque_offset)
    else:
        goal = 0.0 if control & HALT != 0 else float(objects.target_torque)
        drive.torque = toward(drive.torque, goal, float(objects.torque_slope) * dt)
    most = float(objects.max_torque)
    high, low = (
        min(most, float(objects.torque_limit_positive)),
        min(most, float(objects.torque_limit_negative)),
    )
    drive.torque = _cut(drive, drive.torque, -low, high)


@part
def run_mode(drive: Any, objects: Any, control: int, fresh: bool, actual: float, dt: float) -> int:
    """The demands of this period, by the mode in force; returns the ``PortMode`` that follows them.

    ``fresh``: the master's outputs came anew for this period.
    """
    mode = drive.mode
    if mode == Mode.CSP:
        _cyclic_position(drive, objects, fresh, dt)
    elif mode == Mode.PP:
        _profile_position(drive, objects, control, dt)
    elif mode == Mode.CSV:
        top = _top_speed(objects)
        drive.velocity = _cut(
            drive, float(objects.target_velocity) + float(objects.velocity_offset), -top, top
        )
        drive.position = actual
        return VELOCITY
    elif mode == Mode.PV:
        _profile_velocity(drive, objects, control, dt)
        drive.position = actual  # a shaft that lags behind has nothing to catch up with in another mode
        return VELOCITY
    elif mode in (Mode.CST, Mode.TQ):
        _torque(drive, objects, control, dt, mode == Mode.CST)
        drive.position, drive.velocity = actual, drive.feedback.velocity * units_per_radian(objects)
        return TORQUE
    elif mode == Mode.HM:
        asked = control & START_HOMING != 0
        began = asked and drive.controlword_before & START_HOMING == 0
        homing(drive, objects, asked, began, control & HALT != 0, units_per_radian(objects), dt)
    else:
        drive.velocity = 0.0  # enabled without a mode: the axis is held
    return POSITION
