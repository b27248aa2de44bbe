"""What the plant knows of each axis beside the servo's record: limits of supervision, switches, faults."""

from __future__ import annotations

from typing import Any

import numpy as np

SUPERVISED: np.dtype[Any] = np.dtype(
    [
        ("law", np.int64),  # of the position loop, as the robot file has it
        ("level", np.int64),
        ("mode", np.int64),  # a ``PortMode`` of the last period
        ("fault", np.int64),  # a code of 603F, kept until it is reset
        ("reported", np.int64),  # a code that the hardware reports by itself; 0: none
        ("lost", np.int64),  # 1: the supply of the bridges is gone
        ("path_speed", np.int64),  # 1: 60B1 is the speed of the path; 0: differences of the set-points are
        ("begun", np.int64),  # 1: the last set-point is known
        ("last_counts", np.float64),  # set-point of the last period
        ("last_speed", np.float64),  # rad/s
        ("i_rated", np.float64),  # A
        ("i_trip", np.float64),  # A: more is an over-current
        ("w_trip", np.float64),  # rad/s: more is an overspeed
        ("u_high", np.float64),  # V: more is an overvoltage
        ("u_low", np.float64),  # V: less is an undervoltage, of an enabled drive
        ("load", np.float64),  # thermal state of the bridge, share of what it stands (eq:drive-load)
        ("load_time", np.float64),  # s that the peak current may flow
        ("stalled", np.float64),  # s of full current at standstill
        ("open", np.float64),  # s without the current that is asked for
        ("low", np.float64),  # joint positions [rad, m] of the limit switches
        ("high", np.float64),
        ("home", np.float64),  # of the home switch
        ("cam", np.float64),  # half its width, where it is a cam
        ("forced_inputs", np.int64),  # bits of 60FD that somebody else sets
        ("switch_form", np.int64),  # a ``SwitchForm``
        ("temperature", np.float64),  # degC, of the winding
    ],
    align=True,
)
