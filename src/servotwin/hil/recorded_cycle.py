"""The cycle of an arm with a row for every servo period, as one piece: what a real-time loop calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import piece
from servotwin.compiled.native_calls import call_piece, records_at, table_at
from servotwin.hil.ports import SHAFT_FEEDBACK
from servotwin.hil.records import ARM, JOINT
from servotwin.hil.rig_record import RIG
from servotwin.hil.run import record_row

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
        )
    ]
)


@piece
def recorded_cycle(at: int, feedback_at: int, command_at: int, shafts: int, t: float, span: float) -> None:
    """One servo period (``cycle_piece``), and its row; ``status`` is that of the arm."""
    record = records_at(at, 1, RECORDED)[0]
    arm = records_at(record.arm_at, 1, ARM)[0]
    joints = records_at(arm.joints_at, arm.n, JOINT)
    time = arm.time
    call_piece(record.cycle_at, record.arm_at, feedback_at, command_at, 0, 0.0, 0.0)
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
