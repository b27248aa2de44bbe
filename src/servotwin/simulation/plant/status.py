"""Why a run stops."""

from __future__ import annotations

from enum import IntEnum


class RunStatus(IntEnum):
    """What the compiled loop tells its caller in ``world.state.status``."""

    RUNNING = 0
    DIVERGED = 1
    STALLED = 2  # too many events in one interval
    LAW_WANTED = 3  # a control law in Python shall compute its command
    PIECE_MISSING = 4  # a piece that is not compiled yet is needed
    LAW_NOT_A_NUMBER = 5  # a compiled control law returned NaN
    SINGULAR = 6  # a closed chain came to a singularity
    SERVO_WANTED = 7  # a servo elsewhere shall answer to the feedback


RUNNING, DIVERGED, STALLED = int(RunStatus.RUNNING), int(RunStatus.DIVERGED), int(RunStatus.STALLED)
LAW_WANTED, PIECE_MISSING = int(RunStatus.LAW_WANTED), int(RunStatus.PIECE_MISSING)
LAW_NOT_A_NUMBER, SINGULAR = int(RunStatus.LAW_NOT_A_NUMBER), int(RunStatus.SINGULAR)
SERVO_WANTED = int(RunStatus.SERVO_WANTED)
