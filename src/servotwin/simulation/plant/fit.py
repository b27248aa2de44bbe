"""Whether a robot as it is and as its controller knows it can be put together to a machine at all."""

from __future__ import annotations

import numpy as np

from servotwin.control.servo.axis_data import bus_voltage_of, controller_of
from servotwin.description.checks import motor_names
from servotwin.description.drive_checks import check_drives
from servotwin.description.error_sources import error_sources
from servotwin.description.friction_data import joint_curves
from servotwin.description.motors import required_drives
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription
from servotwin.errors import UnsupportedError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot


def check_alike(belief: RobotDescription, truth: RobotDescription) -> None:
    """Complain about a robot that its controller could not be wired to: other joints, motors or kinds of motors."""
    for what, known, true in (
        ("joints", belief.joint_names, truth.joint_names),
        ("motors", tuple(motor_names(belief)), tuple(motor_names(truth))),
    ):
        if known != true:
            raise refuse(
                truth,
                "axes",
                f"the robot as it is has the {what} {', '.join(true)}; expected those that its controller knows, "
                f"{', '.join(known)}",
            )
    finer = ["resolution" in error_sources(description).off for description in (belief, truth)]
    if finer[0] != finer[1]:
        raise refuse(
            truth,
            "error_sources.off",
            "resolution is switched for one of robot and controller, which must count alike; expected it for both",
        )
    for true_drive, believed in zip(required_drives(truth), required_drives(belief), strict=True):
        kind, driver = true_drive.actuator, believed.actuator
        if (kind.bridge or kind.valve or driver.valve) and kind.driver != driver.driver:
            expected = "a servovalve" if driver.valve else "a motor that the driver feeds, or ideal"
            raise refuse(
                truth,
                f"axes.{true_drive.owner}.motor.kind",
                f"'{kind.name}' in truth, at a driver for '{driver.name}'; expected {expected}",
            )


def check_machine(belief: RobotDescription, truth: RobotDescription) -> None:
    """Complain about what no run accepts of the drives of both robots, and of the joints' friction."""
    controller_of(belief)
    check_alike(belief, truth)
    for description in (belief, truth):
        check_drives(description)
        joint_curves(description)
    bus_voltage_of(belief)


def square_transmission(robot: Robot) -> Array:
    """N of theta_m = N q; every joint must have its motor."""
    N = robot.mechanism.rotors.N
    still = [name for name, column in zip(robot.joint_names, N.T, strict=True) if not column.any()]
    if still:
        raise UnsupportedError(
            f"{robot.name}: no motor moves joint {', '.join(still[:12])}; a simulation needs one motor for each joint, "
            "at a sliding joint with gear: {lead: ...} or {ratio: ... rad/m}"
        )
    if N.shape[0] != N.shape[1] or abs(np.linalg.det(N / np.abs(N).max())) < 1e-12:
        raise UnsupportedError(
            f"{robot.name}: {N.shape[0]} motors for {N.shape[1]} joints; a simulation needs one motor for each "
            "joint (gear ratios, or a square transmission matrix)"
        )
    return np.ascontiguousarray(N, dtype=np.float64)
