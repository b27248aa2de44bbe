"""Records of drives: what compiled code keeps from cycle to cycle."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.fieldbus.cia402.axis_port import AXIS_COMMAND, AXIS_FEEDBACK

MOST_DRIVES = 64

DRIVE: np.dtype[Any] = np.dtype(
    [
        ("objects_at", np.int64),  # its AXIS_OBJECTS
        ("slave", np.int64),  # whose outputs command it
        ("state", np.int64),  # a ``State``
        ("leaving", np.int64),  # state that follows a ramp under way; 0: none
        ("controlword_before", np.int64),
        ("mode", np.int64),  # a ``Mode`` in force
        ("missed", np.int64),  # CSP: set-points in a row that did not come
        ("catching_up", np.int64),  # CSP: 1 while the demand comes back to set-points after some were missing
        ("periods_left", np.int64),  # CSP: until the set-point is reached, as 60C2 says
        ("wanted", np.float64),  # CSP: the last set-point [user units]
        ("wanted_speed", np.float64),  # CSP: speed of the set-points [user units/s]
        ("following_since", np.int64),  # ns that the following error has been too large
        ("reached_since", np.int64),  # ns within the position window
        ("limited", np.int64),  # 1: a command was cut in this cycle
        ("setpoint_asked", np.int64),  # PP: the new set-point bit rose and has not been answered
        ("setpoint_taken", np.int64),  # PP: the new set-point bit was answered
        ("homed", np.int64),
        ("homing_failed", np.int64),
        ("homing_phase", np.int64),  # a ``homing.Phase``
        ("homing_method", np.int64),
        ("homing_direction", np.int64),  # 1 or -1
        ("turns_round", np.int64),  # at limit switches, while searching
        ("inputs_before", np.int64),  # digital inputs a period ago
        ("shaft_before", np.float64),  # rad, a period ago
        ("index_from", np.float64),  # rad, from where the index pulse is looked for
        ("home_latched", np.float64),  # rad, where switch or index pulse was
        ("resetting", np.int64),  # periods that a reset is still waited for
        ("faults", np.int64),  # counted, for emergency messages
        ("offset", np.float64),  # user units at the shaft's zero
        ("position", np.float64),  # demand [user units], counted on
        ("velocity", np.float64),  # demand [user units/s]
        ("torque", np.float64),  # demand [0.1 %]
        ("target", np.float64),  # PP: where the motion goes [user units]
        ("command", AXIS_COMMAND),
        ("feedback", AXIS_FEEDBACK),
    ],
    align=True,
)

DRIVES: np.dtype[Any] = np.dtype(
    [
        ("operational", np.int64, (16,)),  # of each slave: its ``Outputs``
        ("drives_at", np.int64),
        ("count", np.int64),
        ("plant_at", np.int64),  # address of ``int64 plant(context, index, span_ns)``: carries all axes on
        ("plant_context_at", np.int64),
        ("last", np.int64),  # instant of the last cycle [ns]
        ("longest", np.int64),  # ns that a cycle counts at most
    ],
    align=True,
)
