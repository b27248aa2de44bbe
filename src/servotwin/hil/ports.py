"""The border between a simulated arm and a rig: SHAFT_FEEDBACK comes in, SHAFT_COMMAND goes out.

A rig carries one shaft for each substituted joint: a drive motor, which is the joint's motor, and a load motor, which
gives it the torque that the arm would. Both records have no addresses, for all shafts side by side, so that they can
lie in shared memory or travel on a wire. Everything is at the motor shaft. Instants are whole nanoseconds.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

MAX_SHAFTS = 8
_REAL, _WHOLE = np.float64, np.int64


class RigFault(IntEnum):
    """What a rig reports about one of its shafts (``SHAFT_FEEDBACK.fault``)."""

    NONE = 0
    WATCHDOG = 1  # no valid command within the time that the rig allows; it went to its safe state by itself
    OVER_SPEED = 2
    OVER_CURRENT = 3
    SENSOR = 4


SHAFT_FEEDBACK: np.dtype[Any] = np.dtype(
    [
        ("time", _WHOLE),  # instant of the samples by the rig's clock [ns]
        ("applied", _WHOLE),  # instant at which their command took effect, by the same clock [ns]
        ("rate", _REAL, (MAX_SHAFTS,)),  # of the tachometer, or differences of the encoder [rad/s]
        ("angle", _REAL, (MAX_SHAFTS,)),  # of the encoder, unwrapped [rad]; NaN: the rig has none
        ("drive_current", _REAL, (MAX_SHAFTS,)),  # A
        ("load_current", _REAL, (MAX_SHAFTS,)),  # A
        ("fault", _WHOLE, (MAX_SHAFTS,)),  # a ``RigFault``
    ]
)

SHAFT_COMMAND: np.dtype[Any] = np.dtype(
    [
        ("time", _WHOLE),  # instant of the command by the simulation's clock [ns]
        ("drive_voltage", _REAL, (MAX_SHAFTS,)),  # V, to the voltage-controlled amplifier
        ("load_torque", _REAL, (MAX_SHAFTS,)),  # N m on the shaft, made of a current by the rig
        ("enable", _WHOLE, (MAX_SHAFTS,)),  # 0: both amplifiers off
        ("brake_released", _WHOLE, (MAX_SHAFTS,)),  # 0: the brake of the shaft is closed
    ]
)
