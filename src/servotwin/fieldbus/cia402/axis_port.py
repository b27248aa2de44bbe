"""The port between a drive and the axis behind it: two records without addresses, at the motor shaft, in SI.

Whatever turns the shaft, an ideal axis, a servo unit with its coupled arm or a real one, reads AXIS_COMMAND and fills
AXIS_FEEDBACK. A position is that of the motor shaft, counted on over many turns.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np


class PortMode(IntEnum):
    """What the loops of the axis follow."""

    OFF = 0  # no torque
    POSITION = 1
    VELOCITY = 2
    TORQUE = 3


AXIS_COMMAND: np.dtype[Any] = np.dtype(
    [
        ("mode", np.int64),  # a ``PortMode``
        ("enable", np.int64),  # 1: the power stage is on
        ("brake", np.int64),  # 1: the holding brake is to be released
        ("quick_stop", np.int64),  # 1: a stop by ramp is under way
        ("reset", np.int64),  # 1: the faults of the axis are to be cleared, in this cycle
        ("position", np.float64),  # rad
        ("velocity", np.float64),  # rad/s: target, or the speed of a position that moves
        ("velocity_offset", np.float64),  # rad/s: what a master adds to the speed that a position asks for
        ("torque", np.float64),  # N m: target, or feed-forward
        ("torque_high", np.float64),  # N m: limits
        ("torque_low", np.float64),
    ]
)

AXIS_FEEDBACK: np.dtype[Any] = np.dtype(
    [
        ("position", np.float64),  # rad
        ("velocity", np.float64),  # rad/s
        ("torque", np.float64),  # N m
        ("current", np.float64),  # A
        ("bus_voltage", np.float64),  # V
        ("fault", np.int64),  # a code of 603F; 0: none
        ("digital_inputs", np.int64),  # bits as in 60FD: 0 negative limit, 1 positive limit, 2 home switch
        ("limited", np.int64),  # 1: the axis cannot give what is asked
    ]
)
