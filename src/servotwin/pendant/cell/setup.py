"""What a cell is made of: robot, plant, folder; as plain data on the way to its process, as objects within it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from servotwin.description.motors import required_drives
from servotwin.description.placed import override_text
from servotwin.errors import InputError
from servotwin.motion.limits import limits_of

if TYPE_CHECKING:
    from servotwin.description.schema import RobotDescription
    from servotwin.robot.robot import Robot
    from servotwin.simulation.live_robot import LiveRobot

PLANTS = ("ideal", "drives", "bus")
KEPT_CYCLES = 4096  # rows of the log of a bus


@dataclass(frozen=True)
class CellSettings:
    """``robot``: name or path; ``plant``: one of ``PLANTS``; ``folder`` of jobs; ``lease_ms`` of what is held.

    ``stop_ms`` after its page was lost the arm stands; jobs are slowed down as far as that takes.
    """

    robot: str
    plant: str = "ideal"
    folder: str = ""
    overrides: dict[str, str] = field(default_factory=dict)
    lease_ms: int = 80
    allow_code: bool = False
    stop_ms: int = 200

    def __post_init__(self) -> None:
        if self.plant not in PLANTS:
            raise InputError(f"{self.plant!r}; expected one of {', '.join(PLANTS)}", field="plant")
        if not 40 <= self.lease_ms <= 200:
            raise InputError(f"{self.lease_ms}; expected 40 to 200 ms", field="lease")
        if not 150 <= self.stop_ms <= 5000:
            raise InputError(f"{self.stop_ms} ms; expected 150 ms to 5 s", field="stop-within")

    def text(self) -> str:
        """For the command line of the cell's process."""
        plain = {key: override_text(value) for key, value in self.overrides.items()}  # their places stay here
        return json.dumps({**vars(self), "overrides": plain})

    @staticmethod
    def of(text: str) -> CellSettings:
        """From the command line."""
        return CellSettings(**json.loads(text))


def absolute_robot(robot: str) -> str:
    """A robot as a process in another folder finds it: names of the catalogue stay names."""
    path = Path(robot)
    return str(path.absolute()) if path.suffix else robot


def check_plant(description: RobotDescription, robot: Robot, plant: str) -> None:
    """Complain about a robot whose file lacks what the plant needs, before a process is started for it."""
    from servotwin.fieldbus.robot.build import check_drivable
    from servotwin.simulation.live_robot import make_controller

    make_controller(robot, limits_of(robot, description), description)
    if plant == "drives":
        required_drives(description)
    if plant == "bus":
        check_drivable(description)


def make_live(settings: CellSettings) -> LiveRobot:
    """Controller and plant; drives on the bus are slaves in this process, a frame for each period."""
    from servotwin.simulation.live_robot import LiveRobot
    from servotwin.simulation.stepping import Beside

    if settings.plant == "ideal":
        return LiveRobot(settings.robot, settings.overrides, planning=Beside())
    if settings.plant == "drives":
        from servotwin.fieldbus.robot.build import (
            with_brakes,
        )  # an arm without brakes falls whenever power is off

        return LiveRobot(
            settings.robot, settings.overrides, drives=True, allow_code=settings.allow_code, planning=Beside(),
            completed=lambda description: with_brakes(description)[0],
        )  # fmt: skip
    from servotwin.fieldbus.controller.robot import BusRobot, BusSettings
    from servotwin.fieldbus.ethercat.master.port import SegmentPort
    from servotwin.fieldbus.robot.build import robot_drives

    drives = robot_drives(settings.robot, settings.overrides, lock_step=True, allow_code=settings.allow_code)
    live = BusRobot(
        settings.robot, SegmentPort(drives.segment), settings.overrides,
        settings=BusSettings(lock_step=True, watchdog_ms=1000), planning=Beside(),
    )  # fmt: skip
    live.plant.log.most = KEPT_CYCLES
    live.start()
    return live
