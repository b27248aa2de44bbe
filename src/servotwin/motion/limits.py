"""The limits within which a motion is planned: of the joints, the motors and the tool."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from servotwin.description.display import of_joint
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError
from servotwin.mechanism.model import Array, Quantities
from servotwin.motion.motor_limits import MotorLimits, motor_limits_of
from servotwin.motion.point_moves import RAMP
from servotwin.motion.ramps import PEAK
from servotwin.robot.robot import Robot


@dataclass(frozen=True)
class MotionLimits:
    """Per joint (n,) in rad, m and s, infinite where there is no limit; of the tool point in m and s.

    ``torque`` [N m, N] of the joints is checked along a path where it is finite, the torques and speeds of the
    motors where ``motors`` is known. ``quantities`` are angles and lengths that follow from the joints.
    ``description``: the robot file, where optimal motions find windings and heat.
    """

    q_min: Array
    q_max: Array
    speed: Array
    acceleration: Array
    jerk: Array
    torque: Array
    tool_speed: float = math.inf
    tool_acceleration: float = math.inf
    tool_jerk: float = math.inf
    motors: MotorLimits | None = None
    quantities: Quantities = field(default_factory=Quantities)
    description: RobotDescription | None = field(default=None, compare=False, repr=False)

    @cached_property
    def low(self) -> Array:
        """Least joint positions, then least values of the quantities (n + k,)."""
        return np.append(self.q_min, self.quantities.low)

    @cached_property
    def high(self) -> Array:
        """Largest joint positions, then largest values of the quantities (n + k,)."""
        return np.append(self.q_max, self.quantities.high)

    @cached_property
    def joint_rates(self) -> tuple[list[float], list[float], list[float]]:
        """Largest speeds, accelerations and jerks of the joints as lists: quicker than arrays for a single move."""
        return self.speed.tolist(), self.acceleration.tolist(), self.jerk.tolist()

    @cached_property
    def joint_table(self) -> Array:
        """Least and largest positions, largest speeds, accelerations and jerks of the joints (5, n), contiguous.

        InputError where a rate is not above zero: compiled code does not look again.
        """
        for name in ("speed", "acceleration", "jerk"):
            worst = float(np.min(getattr(self, name)))  # nan, if there is one
            if not worst > 0.0:
                text = f"the {name} of a joint is limited to {worst:g}; expected a number above zero"
                raise InputError(text, field="limits")
        return np.array([self.q_min, self.q_max, self.speed, self.acceleration, self.jerk], dtype=np.float64)

    @cached_property
    def jerk_limited(self) -> bool:
        """Whether the jerk of a joint is limited."""
        return bool(np.isfinite(self.jerk).any())

    @cached_property
    def torque_limited(self) -> bool:
        """Whether torques of joints or motors are limited, which no law keeps by construction."""
        return self.joint_torque_limited or self.motors is not None

    @cached_property
    def joint_torque_limited(self) -> bool:
        """Whether the torque of a joint is limited."""
        return bool(np.isfinite(self.torque).any())

    def without_torques(self) -> MotionLimits:
        """The same without limits of torques, and of what motors give."""
        return replace(self, torque=np.full_like(self.torque, math.inf), motors=None)

    @cached_property
    def tool_limited(self) -> bool:
        """Whether the speed, acceleration or jerk of the tool point is limited."""
        return math.isfinite(min(self.tool_speed, self.tool_acceleration, self.tool_jerk))

    def positions(self, q: Array) -> Array:
        """Joint positions, then values of the quantities (..., n + k) at q (..., n): what ``low``, ``high`` bound."""
        return np.concatenate([q, self.quantities.values(q)], axis=-1) if self.quantities.names else q

    def beyond(self, q: Array) -> Array:
        """How far (..., n + k) joints and quantities are outside of their ranges; negative inside."""
        z = self.positions(q)
        return np.maximum(self.low - z, z - self.high)

    def range_text(self, robot: Robot, q: Array, k: int) -> tuple[str, str]:
        """Name of joint or quantity k, and in words where it would stand at q (n,) and what is allowed."""
        if k < robot.n:
            name, length = robot.joint_names[k], robot.joint_units[k] == "m"
            begin = f"axis {name} would stand at"
        else:
            name, length = self.quantities.names[k - robot.n], self.quantities.lengths[k - robot.n]
            begin = f"{name} would be"
        scale, unit = of_joint(length)
        stands, low, high = (scale * float(x) for x in (self.positions(q)[k], self.low[k], self.high[k]))
        allowed = f"allowed are {low:.6g} to {high:.6g} {unit}"
        return name, f"{begin} {stands:.6g} {unit}, beyond its limits; {allowed}"


def limits_of(
    robot: Robot,
    description: RobotDescription | None = None,
    *,
    ramp: float = RAMP,
    tool_speed: float = math.inf,
    tool_acceleration: float = math.inf,
    tool_jerk: float = math.inf,
    torque: bool | None = None,
    motors: bool = True,
) -> MotionLimits:
    r"""The limits of a robot; ``description``, its file, adds those of jerk, of the tool and of the motors.

    A joint without limit of acceleration gets the one with which a cubic ramp to full speed lasts ``ramp`` [s]:

    .. math:: a = 1.5 V / T_r                                                         (eq:usual-acceleration)

    The tool may do what both its file and the arguments allow. ``torque``: the joint torques are checked
    against the effort limits of the robot, by default if its file is given; ``motors``: torques and speeds of the
    motors are checked against what they and their supply can give, if the file states it.
    """
    torque = description is not None if torque is None else torque
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
    tool = np.array([tool_speed, tool_acceleration, tool_jerk])
    if description is not None and description.tool is not None:
        stated = description.tool.limits
        own = (stated.speed, stated.acceleration, stated.jerk)
        tool = np.minimum(tool, [math.inf if value is None else value for value in own])
    return MotionLimits(
        limits.q_min,
        limits.q_max,
        limits.qd_max,
        a,
        jerk,
        limits.tau_max if torque else np.full(robot.n, np.inf),
        float(tool[0]),
        float(tool[1]),
        float(tool[2]),
        motor_limits_of(robot, description) if motors and description is not None else None,
        robot.quantities,
        description,
    )
