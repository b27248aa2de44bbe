"""The palletizer with ideal axes on a segment in this process, in lock-step, and its controller over it."""

from __future__ import annotations

from functools import cache
from typing import Any

import servotwin as st
from servotwin.fieldbus.cia402.application import Drives, ideal_plant
from servotwin.fieldbus.controller.robot import BusRobot, BusSettings
from servotwin.fieldbus.ethercat.master.port import SegmentPort
from servotwin.fieldbus.ethercat.slave.records import ClockKind
from servotwin.fieldbus.ethercat.slave.segment import Segment

ROBOT = "palletizer-4"
LOCK_STEP = BusSettings(lock_step=True)


@cache
def home() -> Any:
    robot = st.load_robot(ROBOT)
    return robot.mechanism.rotors.N @ robot.q_home


def segment(axes: tuple[int, ...] = (1, 1, 1, 1), **settings: Any) -> tuple[Segment, Drives]:
    drives = Drives(axes)
    drives.attach(ideal_plant(drives))
    drives.drives["feedback"]["position"] = home()
    return Segment(drives.application(), clock=ClockKind.LOCK_STEP, **settings), drives


def on_the_bus(axes: tuple[int, ...] = (1, 1, 1, 1)) -> tuple[BusRobot, Drives]:
    line, drives = segment(axes)
    robot = BusRobot(ROBOT, SegmentPort(line), settings=LOCK_STEP)
    robot.start()
    return robot, drives
