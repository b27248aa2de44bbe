"""What the axes and the tool may do, as a planner wants it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.point_moves import RAMP
from servotwin.motion.profiles import PEAK
from servotwin.robot.robot import Robot


@dataclass(frozen=True)
class MotionLimits:
    """Per joint (n,) in rad, m and s, infinite where there is no limit; of the tool point in m and s.

    ``torque`` [N m, N] is checked along a path where it is finite.
    """

    q_min: Array
    q_max: Array
    speed: Array
    acceleration: Array
    jerk: Array
    torque: Array
    tool_speed: float = math.inf
    tool_acceleration: float = math.inf


def limits_of(
    robot: Robot,
    description: RobotDescription | None = None,
    *,
    ramp: float = RAMP,
    tool_speed: float = math.inf,
    tool_acceleration: float = math.inf,
    torque: bool = False,
) -> MotionLimits:
    r"""The limits of a robot; ``description``, its file, adds those of jerk.

    A joint without limit of acceleration gets the one with which a cubic ramp to full speed lasts ``ramp`` [s]:

    .. math:: a = 1.5 V / T_r                                                         (eq:usual-acceleration)

    ``torque``: also check the joint torques against the effort limits of the robot file.
    """
    limits = robot.limits
    for name, speed in zip(robot.joint_names, limits.qd_max, strict=True):
        if not math.isfinite(speed):
            text = f"axis {name} has no speed limit; expected axes.{name}.limits.speed in the robot file"
            raise InputError(text, field=f"axes.{name}.limits.speed")
    a = np.where(
        np.isfinite(limits.qdd_max), limits.qdd_max, PEAK * limits.qd_max / ramp
    )  # eq:usual-acceleration
    jerk = np.full(robot.n, np.inf)
    if description is not None:
        for k, name in enumerate(robot.joint_names):
            axis = description.axes[name].limits
            if axis.jerk is not None:
                jerk[k] = axis.jerk
    effort = limits.tau_max if torque else np.full(robot.n, np.inf)
    return MotionLimits(
        limits.q_min, limits.q_max, limits.qd_max, a, jerk, effort, tool_speed, tool_acceleration
    )
