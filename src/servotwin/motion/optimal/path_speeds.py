"""Which joint, motor or tool bounds the speed along a path at each of its points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.drive_model import DriveModel
from servotwin.motion.optimal.task import Task
from servotwin.robot.robot import Robot


class PathPoints(Protocol):
    """Positions and rates (N + 1, n) of a path at its points."""

    @property
    def q(self) -> Array:
        """Joint positions."""
        ...

    @property
    def dq(self) -> Array:
        """Their rates over the path parameter."""
        ...


@dataclass(frozen=True, eq=False)
class SpeedLimit:
    """A limit of speed of a joint, a motor or the tool: ``share`` (N + 1,) of it at one unit of the path's speed."""

    what: str
    who: str
    value: float
    unit: str
    share: Array


def speed_limits(
    robot: Robot, drives: DriveModel, limits: MotionLimits, task: Task, points: PathPoints
) -> list[SpeedLimit]:
    """All limits of speed that count along a path."""
    found = []
    if task.speed:
        for k, (name, unit) in enumerate(zip(robot.joint_names, robot.joint_units, strict=True)):
            most = float(limits.speed[k])
            if math.isfinite(most):
                share = np.abs(points.dq[:, k]) / most
                found.append(SpeedLimit("speed", name, most, f"{unit}/s", share))
        turning = np.abs(points.dq @ drives.N.T)
        for j in np.flatnonzero(np.isfinite(drives.speed)):
            most = float(drives.speed[j])
            found.append(SpeedLimit("motor speed", drives.names[j], most, "rad/s", turning[:, j] / most))
    if math.isfinite(limits.tool_speed):
        v = (robot.jacob0(points.q)[:, :3] @ points.dq[..., None])[..., 0]
        share = np.linalg.norm(v, axis=1) / limits.tool_speed
        found.append(SpeedLimit("tool speed", "tool", limits.tool_speed, "m/s", share))
    return found


def speed_uses(
    bounds: list[SpeedLimit], speed: Array, top: Array, price: Array
) -> list[tuple[str, str, float, str, Array, float]]:
    """What, who, value, unit, share (N + 1,) and gain of every limit of speed.

    ``speed`` (N + 1,) of the path parameter, ``top`` its bound, ``price`` the multiplier of that bound, both scaled.
    A bound belongs to the limit that is the narrowest at its point; one more unit of that lets it rise by top/value.
    """
    if not bounds:
        return []
    shares = np.stack([bound.share for bound in bounds], axis=1)
    owner = np.argmax(shares, axis=1)
    worth = np.where(np.isfinite(top), price * np.where(np.isfinite(top), top, 0.0), 0.0)
    return [
        (
            bound.what, bound.who, bound.value, bound.unit, bound.share * speed,
            float(worth[owner == k].sum()) / bound.value,
        )
        for k, bound in enumerate(bounds)
    ]  # fmt: skip
