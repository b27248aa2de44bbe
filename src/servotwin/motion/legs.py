r"""From a request to a leg: its path in joint space and how quickly it may be traversed.

Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from servotwin.dynamics.ik.pose import checked_poses
from servotwin.errors import InputError, ShapeError
from servotwin.mechanism.model import Array
from servotwin.motion.curves import Curve, circle, line
from servotwin.motion.errors import PathError
from servotwin.motion.follow import Tracker, follow
from servotwin.motion.joint_path import JointPath, straight
from servotwin.motion.laws import SHAPES, ProfileKind
from servotwin.motion.limits import MotionLimits
from servotwin.motion.ramps import RampLimits
from servotwin.motion.requests import Cartesian, MoveC, MoveJ, MoveL, Request, Rest, Speed, in_base
from servotwin.motion.rotations import cross
from servotwin.motion.spline_curve import spline
from servotwin.robot.robot import Robot

NOWHERE = 1e-12  # rad, m: a joint move this short takes no time
BEND_SHARE = 0.5  # of the acceleration that the bend of a path may take where speed and ramps are free


@dataclass(frozen=True)
class Leg:
    """The path of one request and its pace, in units of the path's parameter (1 for a joint move, m for a curve).

    ``free``: the pace is what the axes allow rather than a number that was asked for, so that it may be
    lowered without complaint. ``time`` [s] if the duration was asked for.
    """

    index: int
    kind: str
    path: JointPath
    speed: float
    ramp: RampLimits
    profile: ProfileKind
    blend: float
    tracker: Tracker
    curve: Curve | None = None
    free: bool = True
    time: float | None = None
    slowed: float = 1.0

    @property
    def length(self) -> float:
        """Of its path."""
        return self.path.length

    def slower(self, factor: float) -> Leg:
        """The same at 1/factor of the speed, accelerations and jerk to match."""
        ramp = replace(
            self.ramp, acceleration=self.ramp.acceleration / factor**2, jerk=self.ramp.jerk / factor**3
        )
        slowed = 1.0 if self.free else self.slowed * factor
        return replace(self, speed=self.speed / factor, ramp=ramp, slowed=slowed)


def leg_of(
    robot: Robot, request: Request, index: int, q: Array, limits: MotionLimits, fit: bool
) -> Leg | None:
    """The leg of a request from q (n,), its ends checked; None if it goes nowhere."""
    if isinstance(request, Rest):
        return None
    oriented = robot.n > 3
    tool = np.eye(4) if request.tool is None else checked_poses(request.tool)
    tracker = Tracker(robot, tool, oriented)
    if isinstance(request, MoveJ):
        return _joint_leg(request, index, q, limits, tracker)
    curve = _curve(request, index, robot.fkine(q) @ tool)
    if curve.length == 0.0:
        return None
    path = follow(tracker, curve, q, index)
    return _curve_leg(request, index, curve, path, limits, tracker, fit)


def _joint_leg(move: MoveJ, index: int, q: Array, limits: MotionLimits, tracker: Tracker) -> Leg | None:
    r"""All joints in the same time: the scarcest limit bounds the common parameter.

    .. math:: \dot s \le \min_i \frac{V_i}{|\Delta q_i|}, \quad \ddot s \le \min_i \frac{a_i}{|\Delta q_i|}
                                                                                         (eq:joint-pace)
    """
    target = np.asarray(move.target, dtype=np.float64)
    if target.shape != q.shape or not np.isfinite(target).all():
        raise ShapeError(f"move {index + 1} has a target of shape {target.shape}; expected {q.shape}, finite")
    step = np.abs(target - q)
    if step.max() < NOWHERE:
        return None
    path = straight(q, target)
    speed, acceleration, jerk = (
        float(1.0 / np.max(step / most)) if (step / most).any() else math.inf  # eq:joint-pace
        for most in (limits.speed, limits.acceleration, limits.jerk)
    )
    share = 1.0 if move.acceleration is None else _share(move.acceleration, index)
    speed, time = _joint_speed(move.speed, speed, path, limits, tracker)
    ramp = _ramp(move.profile, speed, acceleration * share, jerk)
    return Leg(index, "joint", path, speed, ramp, move.profile, move.blend, tracker, time=time)


def _joint_speed(
    speed: Speed, most: float, path: JointPath, limits: MotionLimits, tracker: Tracker
) -> tuple[float, float | None]:
    """Rate of the parameter [1/s] and the time asked for [s], if any."""
    tool_speed = min(limits.tool_speed, speed.value if speed.kind == "m/s" else math.inf)
    if math.isfinite(tool_speed):
        q, dq, _ = path.at(np.linspace(0.0, 1.0, 33))
        rate = np.linalg.norm(point_rates(tracker, q, dq), axis=1).max()
        most = min(most, 0.999 * tool_speed / rate) if rate > 0.0 else most
    return (most * speed.value if speed.kind == "fraction" else most), (
        speed.value if speed.kind == "s" else None
    )


def point_rates(tracker: Tracker, q: Array, dq: Array) -> Array:
    """Rates (k, 3) of the tool point for rates dq (k, n) of the joints."""
    twist = np.einsum("kij,kj->ki", tracker.robot.jacob0(q), dq)
    offset = tracker.X_tool[:3, 3]
    if not offset.any():
        return np.asarray(twist[:, :3])
    arm = tracker.robot.fkine(q)[:, :3, :3] @ offset
    return np.asarray(twist[:, :3] + cross(twist[:, 3:], arm))


def _curve(move: Cartesian, index: int, X_from: Array) -> Curve:
    try:
        if isinstance(move, MoveL):
            return line(X_from, in_base(checked_poses(move.target), move.work))
        if isinstance(move, MoveC):
            via, target = (in_base(checked_poses(X), move.work) for X in (move.via, move.target))
            return circle(X_from, via[:3, 3], target)
        return spline([X_from, *(in_base(checked_poses(X), move.work) for X in move.targets)])
    except InputError as error:
        raise InputError(f"move {index + 1}: {error.message}") from None


def _curve_leg(
    move: Cartesian,
    index: int,
    curve: Curve,
    path: JointPath,
    limits: MotionLimits,
    tracker: Tracker,
    fit: bool,
) -> Leg:
    r"""The pace along a curve: what is asked for, or what the axes allow.

    .. math:: \dot s \le \min_{i,s} \frac{V_i}{|q_i'|}, \quad
              \ddot s \le \min_{i,s} \frac{a_i - |q_i''| \dot s^2}{|q_i'|}               (eq:curve-pace)
    """
    s = np.union1d(path.s, 0.5 * (path.s[:-1] + path.s[1:]))
    _, dq, ddq = (np.abs(x) for x in path.at(s))
    tool_speed = limits.tool_speed if curve.metric else math.inf
    tool_acceleration = limits.tool_acceleration if curve.metric else math.inf
    asked, free = move.speed, move.speed.kind != "m/s" or not curve.metric
    if free:
        by_axes, by_bend = float((dq / limits.speed).max()), float((ddq / limits.acceleration).max())
        speed = min(1.0 / by_axes, math.sqrt(BEND_SHARE / by_bend) if by_bend > 0.0 else math.inf, tool_speed)
        speed *= asked.value if asked.kind == "fraction" else 1.0
    else:
        speed = asked.value
    if speed > tool_speed * (1.0 + 1e-9):
        if not fit:
            text = f"{speed:g} m/s is more than the tool's {tool_speed:g} m/s"
            raise PathError(text, index=index, what="tool speed", place_m=0.0)
        speed = tool_speed
    room = np.maximum(limits.acceleration - ddq * speed**2, 0.1 * limits.acceleration)
    by_axes = float(1.0 / (dq / room).max())  # eq:curve-pace
    acceleration = min(by_axes, tool_acceleration) if move.acceleration is None else move.acceleration
    _check_acceleration(acceleration, tool_acceleration, index, fit)
    jerk = float(1.0 / (dq / limits.jerk).max()) if np.isfinite(limits.jerk).any() else math.inf
    ramp = _ramp(move.profile, speed, min(acceleration, tool_acceleration), jerk)
    time = asked.value if asked.kind == "s" else None
    return Leg(
        index,
        curve.kind,
        path,
        speed,
        ramp,
        move.profile,
        move.blend,
        tracker,
        curve,
        free or time is not None,
        time,
    )


def _check_acceleration(acceleration: float, most: float, index: int, fit: bool) -> None:
    if not acceleration > 0.0:
        raise InputError(
            f"move {index + 1}: an acceleration of {acceleration:g} m/s2; expected more than zero"
        )
    if acceleration > most * (1.0 + 1e-9) and not fit:
        text = f"{acceleration:g} m/s2 is more than the tool's {most:g} m/s2"
        raise PathError(text, index=index, what="tool acceleration", place_m=0.0)


def _ramp(profile: ProfileKind, speed: float, acceleration: float, jerk: float) -> RampLimits:
    if profile == "trapezoid":
        jerk = math.inf
    elif profile == "s-curve" and math.isinf(jerk):
        jerk = 2.0 * acceleration**2 / speed  # eq:usual-jerk
    return RampLimits(SHAPES[profile], acceleration, jerk)


def _share(value: float, index: int) -> float:
    if not 0.0 < value <= 1.0:
        raise InputError(
            f"move {index + 1}: an acceleration of {100 * value:g} %; expected above 0 and at most 100 %"
        )
    return value
