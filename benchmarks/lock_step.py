"""Six axes in lock-step beside the clock: EtherCAT frames, drives, loops, motors and the coupled arm in one process."""

from __future__ import annotations

import math
import struct
import time
from typing import Any

from benchmarks.timing import EFFORT, Row
from servotwin.fieldbus.controller.axes import TARGET
from servotwin.fieldbus.controller.robot import BusRobot, BusSettings
from servotwin.fieldbus.ethercat.master.exchange import Outcome
from servotwin.fieldbus.ethercat.master.port import SegmentPort
from servotwin.fieldbus.robot.build import robot_drives

ROBOT = "sixaxis-5kg"
PERIODS = 1000  # of 1 ms, there and back
STROKE = 2_000_000  # counts of every motor: 6 deg to 14 deg of its joint
ROUNDS = 9


def enabled_robot() -> BusRobot:
    """The six-axis arm under power, its drives and a master in this process."""
    drives = robot_drives(ROBOT, lock_step=True)
    robot = BusRobot(ROBOT, SegmentPort(drives.segment), settings=BusSettings(lock_step=True))
    robot.start()
    if not robot.enable():
        raise RuntimeError(f"{ROBOT}: {robot.plant.fault}")
    return robot


def stroke(robot: BusRobot) -> float:
    """Seconds for all axes to go there and back, one frame a period."""
    image, outputs = robot.plant.image, memoryview(robot.plant.image.outputs).cast("B")
    starts: list[tuple[Any, int]] = [
        (axis.outputs[TARGET], int(place))
        for axis, place in zip(robot.plant.axes, robot.plant.positions, strict=True)
    ]
    began = time.perf_counter()
    for k in range(1, PERIODS + 1):
        way = round(STROKE * math.sin(math.pi * k / PERIODS) ** 2)
        for field, place in starts:
            struct.pack_into(field.format, outputs, field.at, place + way)
        if image.cycle() is not Outcome.WELL:
            raise RuntimeError(f"cycle {k}: the answer is not as expected")
    return time.perf_counter() - began


def lock_step() -> list[Row]:
    """One simulated second, frames included, against the clock."""
    robot = enabled_robot()
    best = min(stroke(robot) for _ in range(EFFORT.rounds(ROUNDS)))
    what = "1 s of six axes on EtherCAT in lock-step, master included"
    return [Row(what, best / (PERIODS * 1e-3), "the clock", 1.0, 5.0)]
