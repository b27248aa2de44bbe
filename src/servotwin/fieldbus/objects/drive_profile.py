"""Objects of one axis after CiA 402 (IEC 61800-7-201), as a table with the standard's numbers.

Positions are in user units, which 6091 and 6092 define; 608F tells the increments of the encoder that is there, and is
not written. Speeds are in user units per second, torques and currents in thousandths of the motor's rated ones. The
numbers of an axis lie in one record, which compiled code reads by the names of its fields.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.fieldbus.objects.tables import Access, DataType, Entry, ObjectCode, ObjectLine, Pdo, group, var

I8, I16, I32 = DataType.INTEGER8, DataType.INTEGER16, DataType.INTEGER32
U8, U16, U32 = DataType.UNSIGNED8, DataType.UNSIGNED16, DataType.UNSIGNED32
RO, RW = Access.RO, Access.RW
RX, TX, BOTH, NO = Pdo.RX, Pdo.TX, Pdo.BOTH, Pdo.NO

COUNTS = 1 << 20  # increments of the encoder in one turn of the motor, by default
MOST = 2**31 - 1
PU, PU_S, PU_S2 = "user unit", "user unit/s", "user unit/s2"
TORQUE, CURRENT = "0.1 % of rated torque", "0.1 % of rated current"

AXIS_TABLE: tuple[ObjectLine, ...] = (
    var(0x2001, "Path speed by 60B1", U8, RW, 0, low=0, high=1, field="path_speed"),
    var(0x2002, "Form of the home switch", U8, RW, 0, low=0, high=2, field="switch_form"),
    var(0x2003, "Winding temperature", I16, RO, 0, TX, "0.1 degC", field="temperature"),
    var(0x2004, "Thermal state of the drive", U16, RO, 0, TX, "0.1 %", field="load"),
    var(0x2005, "Simulated inputs", U32, RW, 0, RX, field="simulated_inputs"),
    var(0x2006, "Periods extrapolated", U8, RW, 3, field="extrapolated"),
    var(0x2007, "Set-points missed", U32, RO, 0, TX, field="setpoints_missed"),
    group(
        0x2010,
        "Injected fault",
        Entry(1, "Kind", U16, RW, 0, field="injected_kind"),
        Entry(2, "Value", I32, RW, 0, field="injected_value"),
    ),
    var(0x603F, "Error code", U16, RO, 0, TX, field="error_code"),
    var(0x6040, "Controlword", U16, RW, 0, RX, field="controlword"),
    var(0x6041, "Statusword", U16, RO, 0, TX, field="statusword"),
    var(0x605A, "Quick stop option code", I16, RW, 2, low=0, high=7, field="quick_stop_option"),
    var(0x605B, "Shutdown option code", I16, RW, 0, low=0, high=1, field="shutdown_option"),
    var(0x605C, "Disable operation option code", I16, RW, 1, low=0, high=1, field="disable_option"),
    var(0x605D, "Halt option code", I16, RW, 1, low=1, high=3, field="halt_option"),
    var(0x605E, "Fault reaction option code", I16, RW, 2, low=0, high=3, field="fault_option"),
    var(0x6060, "Modes of operation", I8, RW, 0, RX, field="mode"),
    var(0x6061, "Modes of operation display", I8, RO, 0, TX, field="mode_display"),
    var(0x6062, "Position demand value", I32, RO, 0, TX, PU, field="position_demand"),
    var(0x6064, "Position actual value", I32, RO, 0, TX, PU, field="position_actual"),
    var(0x6065, "Following error window", U32, RW, COUNTS, NO, PU, field="following_window"),
    var(0x6066, "Following error time out", U16, RW, 10, NO, "ms", field="following_time"),
    var(0x6067, "Position window", U32, RW, COUNTS // 360, NO, PU, field="position_window"),
    var(0x6068, "Position window time", U16, RW, 10, NO, "ms", field="position_window_time"),
    var(0x606C, "Velocity actual value", I32, RO, 0, TX, PU_S, field="velocity_actual"),
    var(0x606D, "Velocity window", U16, RW, 20000, NO, PU_S, field="velocity_window"),
    var(0x6071, "Target torque", I16, RW, 0, RX, TORQUE, field="target_torque"),
    var(0x6072, "Max torque", U16, RW, 3000, BOTH, TORQUE, field="max_torque"),
    var(0x6073, "Max current", U16, RW, 3000, NO, CURRENT, field="max_current"),
    var(0x6074, "Torque demand value", I16, RO, 0, TX, TORQUE, field="torque_demand"),
    var(0x6075, "Motor rated current", U32, RW, 1000, NO, "mA", low=1, field="rated_current"),
    var(0x6076, "Motor rated torque", U32, RW, 1000, NO, "mN m", low=1, field="rated_torque"),
    var(0x6077, "Torque actual value", I16, RO, 0, TX, TORQUE, field="torque_actual"),
    var(0x6078, "Current actual value", I16, RO, 0, TX, CURRENT, field="current_actual"),
    var(0x6079, "DC link circuit voltage", U32, RO, 0, TX, "mV", field="bus_voltage"),
    var(0x607A, "Target position", I32, RW, 0, RX, PU, field="target_position"),
    var(0x607C, "Home offset", I32, RW, 0, NO, PU, field="home_offset"),
    group(
        0x607D,
        "Software position limit",
        Entry(1, "Min position limit", I32, RW, -MOST - 1, NO, PU, field="position_limit_low"),
        Entry(2, "Max position limit", I32, RW, MOST, NO, PU, field="position_limit_high"),
        code=ObjectCode.ARRAY,
    ),
    var(0x607F, "Max profile velocity", U32, RW, 100 * COUNTS, NO, PU_S, field="max_profile_velocity"),
    var(0x6080, "Max motor speed", U32, RW, 6000, NO, "rpm", field="max_motor_speed"),
    var(0x6081, "Profile velocity", U32, RW, 10 * COUNTS, RX, PU_S, field="profile_velocity"),
    var(
        0x6083, "Profile acceleration", U32, RW, 100 * COUNTS, RX, PU_S2, low=1, field="profile_acceleration"
    ),
    var(
        0x6084, "Profile deceleration", U32, RW, 100 * COUNTS, RX, PU_S2, low=1, field="profile_deceleration"
    ),
    var(
        0x6085, "Quick stop deceleration", U32, RW, 1000 * COUNTS, NO, PU_S2, low=1, field="stop_deceleration"
    ),
    var(0x6087, "Torque slope", U32, RW, 100_000, RX, f"{TORQUE}/s", low=1, field="torque_slope"),
    group(
        0x608F,
        "Position encoder resolution",
        Entry(1, "Encoder increments", U32, RO, COUNTS, NO, "increments", low=1, field="encoder_increments"),
        Entry(2, "Motor revolutions", U32, RO, 1, NO, "turns", low=1, field="encoder_turns"),
        code=ObjectCode.ARRAY,
    ),
    group(
        0x6091,
        "Gear ratio",
        Entry(1, "Motor revolutions", U32, RW, 1, NO, "turns", low=1, field="gear_motor_turns"),
        Entry(2, "Shaft revolutions", U32, RW, 1, NO, "turns", low=1, field="gear_shaft_turns"),
        code=ObjectCode.ARRAY,
    ),
    group(
        0x6092,
        "Feed constant",
        Entry(1, "Feed", U32, RW, COUNTS, NO, PU, low=1, field="feed"),
        Entry(2, "Shaft revolutions", U32, RW, 1, NO, "turns", low=1, field="feed_turns"),
        code=ObjectCode.ARRAY,
    ),
    var(0x6098, "Homing method", I8, RW, 37, field="homing_method"),
    group(
        0x6099,
        "Homing speeds",
        Entry(1, "Speed during search for switch", U32, RW, COUNTS, NO, PU_S, field="homing_speed_switch"),
        Entry(2, "Speed during search for zero", U32, RW, COUNTS // 10, NO, PU_S, field="homing_speed_zero"),
        code=ObjectCode.ARRAY,
    ),
    var(0x609A, "Homing acceleration", U32, RW, 100 * COUNTS, NO, PU_S2, low=1, field="homing_acceleration"),
    var(0x60B0, "Position offset", I32, RW, 0, RX, PU, field="position_offset"),
    var(0x60B1, "Velocity offset", I32, RW, 0, RX, PU_S, field="velocity_offset"),
    var(0x60B2, "Torque offset", I16, RW, 0, RX, TORQUE, field="torque_offset"),
    var(0x60B8, "Touch probe function", U16, RW, 0, RX, field="probe_function"),
    var(0x60B9, "Touch probe status", U16, RO, 0, TX, field="probe_status"),
    var(0x60BA, "Touch probe 1 positive edge", I32, RO, 0, TX, PU, field="probe_1_rising"),
    var(0x60BB, "Touch probe 1 negative edge", I32, RO, 0, TX, PU, field="probe_1_falling"),
    var(0x60BC, "Touch probe 2 positive edge", I32, RO, 0, TX, PU, field="probe_2_rising"),
    var(0x60BD, "Touch probe 2 negative edge", I32, RO, 0, TX, PU, field="probe_2_falling"),
    group(
        0x60C2,
        "Interpolation time period",
        Entry(1, "Interpolation time period value", U8, RW, 1, low=1, field="interpolation_time"),
        Entry(2, "Interpolation time index", I8, RW, -3, low=-6, high=0, field="interpolation_exponent"),
    ),
    var(0x60C5, "Max acceleration", U32, RW, 4000 * COUNTS, NO, PU_S2, field="max_acceleration"),
    var(0x60C6, "Max deceleration", U32, RW, 4000 * COUNTS, NO, PU_S2, field="max_deceleration"),
    var(0x60E0, "Positive torque limit value", U16, RW, 3000, BOTH, TORQUE, field="torque_limit_positive"),
    var(0x60E1, "Negative torque limit value", U16, RW, 3000, BOTH, TORQUE, field="torque_limit_negative"),
    var(0x60F4, "Following error actual value", I32, RO, 0, TX, PU, field="following_error"),
    var(0x60FD, "Digital inputs", U32, RO, 0, TX, field="digital_inputs"),
    group(
        0x60FE,
        "Digital outputs",
        Entry(1, "Physical outputs", U32, RW, 0, RX, field="digital_outputs"),
        Entry(2, "Bit mask", U32, RW, 0, field="digital_output_mask"),
        code=ObjectCode.ARRAY,
    ),
    var(0x60FF, "Target velocity", I32, RW, 0, RX, PU_S, field="target_velocity"),
    var(0x6502, "Supported drive modes", U32, RO, 0, field="supported_modes"),
    var(0x67FF, "Single device type", U32, RO, 0x00020192, field="device_type"),
)

_FIELDS = [(entry.field, entry.type.code) for line in AXIS_TABLE for entry in line.entries if entry.field]
AXIS_OBJECTS: np.dtype[Any] = np.dtype(_FIELDS, align=True)


def default_axis() -> Any:
    """The record of an axis with the defaults of the table, (1,)."""
    record = np.zeros(1, AXIS_OBJECTS)
    for line in AXIS_TABLE:
        for entry in line.entries:
            if entry.field:
                record[entry.field] = entry.default
    return record
