"""The linear model of a hydraulic axis of a robot, at any operating point."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from servotwin.description.drive_data import drive_of
from servotwin.description.hydraulic_data import hydraulic_axis, hydraulic_supply, is_hydraulic
from servotwin.description.load import read_description
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription
from servotwin.drives.hydraulic.linear import LinearAxis, linear_axis
from servotwin.drives.hydraulic.steady import operating_point
from servotwin.mechanism.build import build_mechanism
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia


def hydraulic_model(
    robot: str | Path | RobotDescription,
    motor: str,
    *,
    position: float | None = None,
    speed: float = 0.0,
    force: float = 0.0,
    mass: float | None = None,
) -> LinearAxis:
    """Linear model of a hydraulic axis of a robot (catalogue name, file or description) at an operating point.

    ``position`` [m] of the piston, default the middle of its stroke; ``speed`` [m/s] and ``force`` [N] that it carries
    evenly; ``mass`` [kg] that it moves, default that of the robot at home. For a hydraulic motor in rad, rad/s, N m,
    kg m2. An operating point beyond stroke, valve or supply is an InputError.
    """
    description = robot if isinstance(robot, RobotDescription) else read_description(robot)
    drive = drive_of(description, motor)
    if not is_hydraulic(drive):
        raise refuse(
            description, f"axes.{drive.owner}.motor.kind", f"'{drive.kind}'; expected a hydraulic axis"
        )
    axis, supply = hydraulic_axis(description, drive), hydraulic_supply(description)
    if mass is None:
        whole = Robot(build_mechanism(description))
        inertia = motor_inertia(whole, np.asarray(whole.q_home), held=True)
        mass = float(inertia[list(whole.mechanism.rotors.names).index(motor)])
    middle = 0.0 if axis.rotary else 0.5 * (axis.end_a + axis.end_b)
    point = operating_point(axis, supply, middle if position is None else position, speed, force)
    return linear_axis(axis, supply, point, mass, drive.viscous_friction)
