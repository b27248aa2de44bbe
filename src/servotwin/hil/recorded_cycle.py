"""The cycle of an arm with a row for every servo period, as a piece that real-time loops call, and its rehearsal."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, piece
from servotwin.compiled.native_calls import call_piece, records_at, table_at
from servotwin.hil.ports import SHAFT_FEEDBACK
from servotwin.hil.records import ARM, JOINT
from servotwin.hil.rig_record import RIG
from servotwin.hil.run import record_row
from servotwin.realtime.libc import copy_bytes
from servotwin.simulation.plant.link_forces import LINK_FORCE, USER, WRENCH

RECORDED: np.dtype[Any] = np.dtype(
    [
        (name, np.int64)
        for name in (
            "cycle_at",
            "arm_at",
            "rig_at",
            "rig_shafts",
            "rows_at",
            "room",
            "columns",
            "done",
            "status",
            "recorded_at",
            "spare_row_at",
        )
    ]
)


@piece
def recorded_cycle(at: int, feedback_at: int, command_at: int, shafts: int, t: float, span: float) -> None:
    """One servo period (``cycle_piece``), ``t`` later than due, and its row; ``status`` is that of the arm."""
    record = records_at(at, 1, RECORDED)[0]
    arm = records_at(record.arm_at, 1, ARM)[0]
    joints = records_at(arm.joints_at, arm.n, JOINT)
    call_piece(record.cycle_at, record.arm_at, feedback_at, command_at, 0, t, 0.0)
    time = (arm.tick - 1) * arm.period
    record.status = arm.status
    if record.done >= record.room:
        return
    size = record.columns * arm.n
    row = table_at(record.rows_at + 8 * size * record.done, (record.columns, arm.n), np.float64)
    for i in range(arm.n):
        row[0, i] = time
        feedback = records_at(feedback_at, 1, SHAFT_FEEDBACK)[0]
        record_row(row, i, arm, joints[i], records_at(record.rig_at, record.rig_shafts, RIG), feedback)
    record.done += 1


@helper
def _mute_functions(arm: Any) -> None:
    """Functions of the user's become a wrench of nothing: whatever else they change, a rehearsal cannot put back."""
    forces = records_at(arm.forces_at, arm.forces, LINK_FORCE)
    for e in range(arm.forces):
        if forces[e].kind == USER:
            forces[e].kind = WRENCH


@piece
def rehearsed_cycle(at: int, feedback_at: int, command_at: int, shafts: int, t: float, span: float) -> None:
    """``recorded_cycle`` as a rehearsal: the next row is put back, its records by the caller (``KeptMemory``)."""
    record = records_at(at, 1, RECORDED)[0]
    arm = records_at(record.arm_at, 1, ARM)[0]
    if record.done >= record.room:
        return
    size = 8 * record.columns * arm.n
    row_at = record.rows_at + size * record.done
    copy_bytes(record.spare_row_at, row_at, size)
    _mute_functions(arm)
    call_piece(record.recorded_at, at, feedback_at, command_at, shafts, t, span)
    copy_bytes(row_at, record.spare_row_at, size)
