"""Ideal axes: they do at once what they are told, within their torque limits; the first plant behind the port."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import callback
from servotwin.compiled.native_calls import records_at
from servotwin.fieldbus.cia402.axis_port import PortMode
from servotwin.fieldbus.cia402.records import DRIVE

IDEAL_AXES: np.dtype[Any] = np.dtype(
    [
        ("drives_at", np.int64),
        ("count", np.int64),
        ("inertia", np.float64),  # kg m2 at the shaft
        ("damping", np.float64),  # N m s/rad
        ("bus_voltage", np.float64),  # V
        ("fault", np.int64, (64,)),  # codes that the axes report until they are reset
        ("permanent", np.int64, (64,)),  # 1: a reset does not clear the fault
        ("stuck", np.int64, (64,)),  # 1: the shaft does not turn
    ],
    align=True,
)


@callback("int64", "int64", "int64", result="int64")
def ideal_axes(context_at: int, index: int, span: int) -> int:
    """Carry all axes on by a span [ns]: J w' = tau - b w where a torque is given, the command itself elsewhere."""
    context = records_at(context_at, 1, IDEAL_AXES)[0]
    drives = records_at(context.drives_at, context.count, DRIVE)
    dt = span * 1e-9
    for i in range(context.count):
        command, feedback = drives[i].command, drives[i].feedback
        before = feedback.velocity
        if command.reset != 0 and context.permanent[i] == 0:
            context.fault[i] = 0
        feedback.fault, feedback.bus_voltage = context.fault[i], context.bus_voltage
        if context.stuck[i] != 0:
            feedback.velocity = feedback.torque = 0.0
            continue
        if command.mode == PortMode.POSITION:
            feedback.velocity = command.velocity + command.velocity_offset
            feedback.position = command.position
        elif command.mode == PortMode.VELOCITY:
            feedback.velocity = command.velocity
            feedback.position += 0.5 * (before + command.velocity) * dt
        else:
            torque = min(max(command.torque, command.torque_low), command.torque_high)
            torque = torque if command.mode == PortMode.TORQUE else 0.0
            feedback.velocity += (torque - context.damping * before) / context.inertia * dt
            feedback.position += 0.5 * (before + feedback.velocity) * dt
        feedback.torque = (
            context.inertia * (feedback.velocity - before) / dt + context.damping * feedback.velocity
        )
    return 0
