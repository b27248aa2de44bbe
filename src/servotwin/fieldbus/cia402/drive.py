"""One cycle of a drive: controlword to state, mode to demands, feedback to statusword and actual values."""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import callback, helper, part
from servotwin.compiled.native_calls import records_at
from servotwin.fieldbus.cia402.axis_port import PortMode
from servotwin.fieldbus.cia402.homing import Phase
from servotwin.fieldbus.cia402.modes import run_mode, units_per_radian, wrapped
from servotwin.fieldbus.cia402.ramps import brake_down, stop_deceleration
from servotwin.fieldbus.cia402.records import DRIVE, DRIVES
from servotwin.fieldbus.cia402.setpoints import forget_setpoints, is_off_path
from servotwin.fieldbus.cia402.states import (
    COMMANDS,
    FOLLOWS,
    HALT,
    INTERNAL_LIMIT,
    MODE_ERROR,
    NEXT_STATE,
    REMOTE,
    STATUS_BITS,
    TARGET_REACHED,
    VOLTAGE_ENABLED,
    Command,
    ErrorCode,
    Mode,
    State,
)
from servotwin.fieldbus.cia402.touch_probe import watch_probes
from servotwin.fieldbus.ethercat.slave.records import Outputs
from servotwin.fieldbus.objects.drive_profile import AXIS_OBJECTS
from servotwin.realtime.cycle_call import call_cycle

RESET = 0x80
RESET_PERIODS = 3  # that an axis has to clear its fault after a reset
OFF_LIMIT = 0xFFFFFFFF  # 6065: no following error is too large
NO_RAMP = 0
OFF, POSITION, VELOCITY, TORQUE = (int(mode) for mode in PortMode)
MILLISECOND = 1_000_000  # ns


@helper
def command_of(control: int, before: int, state: int) -> int:
    """What a controlword asks for; a fault is reset by the rising edge of bit 7, which means nothing elsewhere."""
    if state == State.FAULT and control & RESET != 0 and before & RESET == 0:
        return Command.FAULT_RESET
    if control & 0x02 == 0:
        return Command.DISABLE_VOLTAGE
    if control & 0x04 == 0:
        return Command.QUICK_STOP
    if control & 0x01 == 0:
        return Command.SHUTDOWN
    return Command.ENABLE if control & 0x08 != 0 else Command.SWITCH_ON


@helper
def _next(state: int, command: int) -> int:
    return NEXT_STATE[state * COMMANDS + command]


@helper
def raise_fault(drive: Any, objects: Any, code: int) -> None:
    """Transition 13: the first code stays until it is reset; a fault of the axis ends a ramp that is under way."""
    if drive.state in (State.FAULT_REACTION, State.FAULT):
        if drive.feedback.fault != 0:
            drive.leaving = NO_RAMP
        return
    moving = drive.state in (State.ENABLED, State.QUICK_STOP)
    objects.error_code = code
    drive.faults += 1
    drive.state = State.FAULT_REACTION
    # without power, or by option 0, there is no ramp
    drive.leaving = (
        State.FAULT if moving and objects.fault_option > 0 and drive.feedback.fault == 0 else NO_RAMP
    )


@part
def _watch(drive: Any, objects: Any, operational: bool, span: int) -> None:
    """Faults of the axis, lost outputs, following error."""
    powered = drive.state in (State.ENABLED, State.QUICK_STOP)
    if drive.feedback.fault != 0:
        raise_fault(drive, objects, drive.feedback.fault)
    elif powered and not operational:
        raise_fault(drive, objects, ErrorCode.COMMUNICATION)
    position_mode = drive.mode in (Mode.CSP, Mode.PP, Mode.HM)
    too_far = abs(objects.following_error) > objects.following_window
    if not (powered and position_mode and too_far) or objects.following_window == OFF_LIMIT:
        drive.following_since = 0
        return
    drive.following_since += span
    if drive.following_since > objects.following_time * MILLISECOND:
        raise_fault(drive, objects, ErrorCode.FOLLOWING_ERROR)


@part
def _obey(drive: Any, objects: Any, command: int) -> None:
    """Change the state as the table says; a ramp is started where an option code asks for one."""
    state = drive.state
    if state == State.QUICK_STOP and command == Command.ENABLE and objects.quick_stop_option < 5:
        return
    following = _next(state, command)
    if following == state:
        if state == State.ENABLED and drive.leaving != NO_RAMP and command == Command.ENABLE:
            drive.leaving = NO_RAMP  # enabled again while it slowed down
        return
    ramped = (state == State.ENABLED and following == State.READY and objects.shutdown_option == 1) or (
        state == State.ENABLED and following == State.SWITCHED_ON and objects.disable_option == 1
    )
    if ramped:
        drive.leaving = following
        return
    drive.leaving = NO_RAMP
    drive.state = following
    if following == State.QUICK_STOP:
        if objects.quick_stop_option == 0:
            drive.state = State.SWITCH_ON_DISABLED
        else:
            drive.leaving = State.SWITCH_ON_DISABLED


@helper
def _reset(drive: Any, objects: Any, command: int) -> None:
    """Transition 15, if the axis has no fault; it gets some periods to clear its own."""
    if command == Command.FAULT_RESET:
        drive.resetting = RESET_PERIODS
    if drive.resetting > 0 and drive.feedback.fault == 0:
        drive.state = _next(drive.state, Command.FAULT_RESET)
        objects.error_code = 0
        drive.resetting = 0
    if drive.resetting == 1:
        objects.error_code = drive.feedback.fault  # what is in the way now may be another one
    drive.resetting = max(drive.resetting - 1, 0)


@part
def _advance(drive: Any, objects: Any, command: int, operational: bool, before: int) -> None:
    """Transitions of this period: by themselves, by the controlword, or because nobody commands any more.

    A fault reaction lasts at least one period, so that a master sees it.
    """
    state = drive.state
    if state in (State.START, State.NOT_READY):
        drive.state = _next(state, Command.AUTOMATIC)
    elif state == State.FAULT_REACTION:
        if drive.leaving == NO_RAMP and before == state:
            drive.state = _next(state, Command.AUTOMATIC)
    elif state == State.FAULT:
        _reset(drive, objects, command)
    elif operational:
        _obey(drive, objects, command)
    elif state in (State.READY, State.SWITCHED_ON):
        drive.state = State.SWITCH_ON_DISABLED


@part
def _ramp(drive: Any, objects: Any, dt: float, before: int) -> None:
    """One period of a stop; at its end, in a later period, the state changes. A quick stop by options 5 to 7 stays."""
    option = 1
    if drive.state == State.QUICK_STOP:
        option = objects.quick_stop_option
    elif drive.state == State.FAULT_REACTION:
        option = objects.fault_option
    if not brake_down(drive, stop_deceleration(objects, option), dt) or before != drive.state:
        return
    if drive.state == State.QUICK_STOP and option >= 5:
        return
    drive.state = drive.leaving
    drive.leaving = NO_RAMP


@helper
def _choose_mode(drive: Any, objects: Any) -> None:
    """A mode that the drive has comes into force; another one leaves the last in force."""
    asked = int(objects.mode)
    known = asked == 0 or (1 <= asked <= 32 and (objects.supported_modes >> (asked - 1)) & 1 != 0)
    if known and asked != drive.mode:
        drive.mode = asked
        drive.setpoint_taken = drive.setpoint_asked = 0
        drive.homed = drive.homing_failed = drive.homing_phase = 0
        drive.target = drive.position
        forget_setpoints(drive)
    objects.mode_display = drive.mode
    if drive.mode not in (Mode.CST, Mode.TQ):
        drive.torque = 0.0  # a torque mode that comes later begins without what an earlier one left


@part
def _command_axis(drive: Any, objects: Any, port_mode: int, scale: float) -> None:
    """Demands in user units to the port in SI."""
    command = drive.command
    rated = objects.rated_torque * 1e-6  # N m for 0.1 %
    powered = port_mode != OFF
    command.mode, command.enable = port_mode, 1 if powered else 0
    command.brake = command.enable
    command.quick_stop = 1 if powered and drive.leaving != NO_RAMP else 0
    command.position = (drive.position - drive.offset) / scale
    command.velocity = drive.velocity / scale
    cyclic = drive.mode in (Mode.CSP, Mode.CSV) and drive.leaving == NO_RAMP
    if port_mode == TORQUE:
        command.torque = drive.torque * rated
    else:
        command.torque = float(objects.torque_offset) * rated if cyclic else 0.0
    command.velocity_offset = 0.0
    if drive.mode == Mode.CSP and cyclic:
        command.velocity_offset = float(objects.velocity_offset) / scale
        if is_off_path(drive, objects):  # the speed of the demand is its own
            command.velocity_offset = command.velocity if objects.path_speed != 0 else 0.0
    most = float(objects.max_torque)
    command.torque_high = min(most, float(objects.torque_limit_positive)) * rated
    command.torque_low = -min(most, float(objects.torque_limit_negative)) * rated


@part
def command_drive(drive: Any, objects: Any, outputs: int, span: int) -> None:
    """The first half of a cycle: from objects to the command of the axis; ``outputs``: an ``Outputs``."""
    operational = outputs != Outputs.NONE
    dt, scale = span * 1e-9, units_per_radian(objects)
    actual = drive.feedback.position * scale + drive.offset
    control = int(objects.controlword) if operational else 0
    command = command_of(control, drive.controlword_before, drive.state)
    drive.limited = 0
    before = drive.state
    drive.command.reset = 1 if command == Command.FAULT_RESET else 0
    _watch(drive, objects, operational, span)
    _advance(drive, objects, command, operational, before)
    powered = drive.state in (State.ENABLED, State.QUICK_STOP) or (
        drive.state == State.FAULT_REACTION and drive.leaving != NO_RAMP
    )
    port_mode = OFF
    if drive.state != State.ENABLED:
        drive.homing_phase = 0
    if not powered:
        drive.position, drive.velocity, drive.torque = actual, 0.0, 0.0
        drive.target, drive.leaving = actual, NO_RAMP
        _choose_mode(drive, objects)
    else:
        if before != State.ENABLED and drive.state == State.ENABLED:
            drive.position, drive.target, drive.velocity = actual, actual, 0.0
            forget_setpoints(drive)
        if drive.state == State.ENABLED and drive.leaving == NO_RAMP:
            _choose_mode(drive, objects)
            port_mode = run_mode(drive, objects, control, outputs == Outputs.FRESH, actual, dt)
        else:
            if drive.command.mode in (VELOCITY, TORQUE):  # a ramp begins where the axis is
                drive.position, drive.target = actual, actual
                drive.velocity = drive.feedback.velocity * scale
            port_mode = POSITION
            _ramp(drive, objects, dt, before)
    _command_axis(drive, objects, port_mode, scale)
    drive.controlword_before = control


@helper
def _is_reached(drive: Any, objects: Any, span: int) -> bool:
    """Bit 10: the target of a profile is reached and has been for its time, no homing is under way, or the axis
    stands after a stop or a halt.
    """
    if drive.leaving != NO_RAMP:
        return drive.velocity == 0.0  # type: ignore[no-any-return]
    if drive.mode in (Mode.PP, Mode.PV, Mode.HM) and drive.controlword_before & HALT != 0:
        drive.reached_since = 0
        return drive.velocity == 0.0  # type: ignore[no-any-return]
    if drive.mode == Mode.PP:
        near = (
            abs(drive.target - drive.position) < 0.5
            and abs(objects.following_error) <= objects.position_window
        )
        drive.reached_since = drive.reached_since + span if near else 0
        return drive.reached_since >= objects.position_window_time * MILLISECOND and near  # type: ignore[no-any-return]
    if drive.mode == Mode.PV:
        return abs(float(objects.target_velocity) - float(objects.velocity_actual)) <= objects.velocity_window  # type: ignore[no-any-return]
    if drive.mode == Mode.TQ:
        return drive.torque == float(objects.target_torque)  # type: ignore[no-any-return]
    return drive.mode != Mode.HM or drive.homing_phase == Phase.IDLE  # type: ignore[no-any-return]


@helper
def _within(value: float, low: float, high: float) -> int:
    """The nearest whole number that an object can hold."""
    return round(min(max(value, low), high))


@part
def report_drive(drive: Any, objects: Any, operational: bool, span: int) -> None:
    """The second half of a cycle: from the feedback of the axis to objects."""
    feedback, scale = drive.feedback, units_per_radian(objects)
    actual = feedback.position * scale + drive.offset
    enabled = drive.state == State.ENABLED
    watch_probes(drive, objects, scale)
    objects.position_actual = wrapped(actual)
    objects.position_demand = wrapped(drive.position)
    error = drive.position - actual if drive.command.mode == POSITION else 0.0
    objects.following_error = _within(error, -2147483647.0, 2147483647.0)
    objects.velocity_actual = _within(feedback.velocity * scale, -2147483647.0, 2147483647.0)
    rated, current = objects.rated_torque * 1e-6, objects.rated_current * 1e-6
    objects.torque_actual = _within(feedback.torque / rated, -32767.0, 32767.0)
    objects.torque_demand = _within(drive.command.torque / rated, -32767.0, 32767.0)
    objects.current_actual = _within(feedback.current / current, -32767.0, 32767.0)
    objects.bus_voltage = _within(feedback.bus_voltage * 1e3, 0.0, 4294967295.0)
    objects.digital_inputs = feedback.digital_inputs & 0xFFFFFFFF
    word = STATUS_BITS[drive.state]
    word |= VOLTAGE_ENABLED if drive.state >= State.READY and drive.state != State.FAULT else 0
    word |= REMOTE if operational else 0
    word |= INTERNAL_LIMIT if drive.limited != 0 or feedback.limited != 0 else 0
    if enabled or drive.state == State.QUICK_STOP:
        word |= TARGET_REACHED if _is_reached(drive, objects, span) else 0
    if enabled:
        if drive.mode in (Mode.CSP, Mode.CSV, Mode.CST):
            off = drive.mode == Mode.CSP and is_off_path(drive, objects)
            word |= FOLLOWS if drive.leaving == NO_RAMP and not off else 0
        elif (drive.mode == Mode.PP and drive.setpoint_taken != 0) or (
            drive.mode == Mode.HM and drive.homed != 0
        ):
            word |= FOLLOWS
        elif drive.mode == Mode.PV:
            word |= FOLLOWS if abs(float(objects.velocity_actual)) <= objects.velocity_window else 0
        word |= MODE_ERROR if drive.mode == Mode.HM and drive.homing_failed != 0 else 0
    # 6066 has passed by then: an error that is shorter is none
    if objects.error_code == ErrorCode.FOLLOWING_ERROR and drive.mode in (Mode.CSP, Mode.PP):
        word |= MODE_ERROR
    objects.statusword = word


@callback("int64", "int64", "int64", result="int64")
def drives_cycle(context_at: int, index: int, now: int) -> int:
    """One cycle of all drives: commands, then the plant, then reports; 1 if a fault has come or gone."""
    context = records_at(context_at, 1, DRIVES)[0]
    drives = records_at(context.drives_at, context.count, DRIVE)
    span = min(max(now - context.last, 1000), context.longest)
    context.last = now
    news = 0
    for i in range(context.count):
        drive = drives[i]
        objects = records_at(drive.objects_at, 1, AXIS_OBJECTS)[0]
        code = objects.error_code
        command_drive(drive, objects, context.operational[drive.slave], span)
        if objects.error_code != code:
            news = 1
    if context.plant_at != 0:
        call_cycle(context.plant_at, context.plant_context_at, index, span)
    for i in range(context.count):
        drive = drives[i]
        objects = records_at(drive.objects_at, 1, AXIS_OBJECTS)[0]
        report_drive(drive, objects, context.operational[drive.slave] != 0, span)
    return news
