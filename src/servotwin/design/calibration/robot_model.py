"""The robot that is calibrated, with the parameters that may differ from its drawing, on the gears of its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from servotwin.description.drive_data import drives_of, gear_compliance
from servotwin.description.placed import override_mapping
from servotwin.description.schema import RobotDescription
from servotwin.design.calibration.model import CalibrationModel
from servotwin.design.calibration.observation import Measured
from servotwin.design.calibration.parameters import LENGTH, parameters_of
from servotwin.robot.robot import Robot


def robot_and_description(
    robot: Robot | RobotDescription | str | Path, changes: Mapping[str, str] | None
) -> tuple[RobotDescription | None, Robot]:
    """The description, if there is one, and the robot."""
    if isinstance(robot, Robot):
        return None, robot
    from servotwin.description.load import read_description
    from servotwin.robot.complete_model import robot_of

    description = (
        robot if isinstance(robot, RobotDescription) else read_description(robot, override_mapping(changes))
    )
    return description, robot_of(description)


def model_of(
    robot: Robot, measured: Measured, families: Sequence[str], description: RobotDescription | None = None
) -> CalibrationModel:
    """The robot with all parameters of the families, on the gears that its file states."""
    own = measured.base and measured.position is not None
    load = max(float(np.abs(robot.gravload(robot.q_home)).max(initial=0.0)), 1.0)
    found = parameters_of(robot.mechanism, families, load / LENGTH, base=own)
    return CalibrationModel(robot, tuple(found), stated_compliance(description, robot.n))


def stated_compliance(description: RobotDescription | None, n: int) -> tuple[float, ...]:
    """Compliances (n,) of the gears of a file, in the order of ``Actuators``; nothing where all are stiff."""
    if description is None:
        return ()
    drives = drives_of(description)
    owners = [drive.owner for drive in drives] if len(drives) == n else list(description.joint_names)
    found = tuple(gear_compliance(description, name) for name in owners)
    return found if any(found) else ()
