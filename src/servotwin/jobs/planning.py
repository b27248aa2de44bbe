"""From the interpreter's motions to the requests of the planner."""

from __future__ import annotations

from typing import Any, get_args

from servotwin.description.display import DEG
from servotwin.description.frames import Array
from servotwin.dynamics.ik.pose import POSITION_ALONE
from servotwin.errors import InputError, ServotwinError, UnreachableError
from servotwin.jobs.points import Pose
from servotwin.jobs.requests import Motion, Rate, Target
from servotwin.motion import requests as m
from servotwin.motion.ramps import ProfileKind
from servotwin.robot.robot import Robot

ANGLES = ("roll", "pitch", "yaw")
_SPEEDS = {"share": "fraction", "tool": "m/s", "time": "s"}


def planner_request(motion: Motion, robot: Robot, q: Array) -> m.Request:
    """The planner's request for a motion that begins at q (n,).

    A MOVEJ to a pose takes the joint position nearest to q.
    """
    kind = _SPEEDS[motion.speed.kind]
    speed = m.Speed(kind, motion.speed.value)  # type: ignore[arg-type]
    profile = _profile(motion.profile)
    tool = None if motion.tool is None else motion.X_tool
    tips = [target.X @ motion.X_tool for target in motion.targets]
    best: dict[str, Any] = {"optimal": motion.optimal, "energy_weight": motion.energy_weight}
    if motion.kind == "MOVEJ":
        share = motion.acceleration.value if motion.acceleration is not None else None
        target = joint_target(motion.targets[0], robot, q)
        return m.MoveJ(target, speed, share, motion.blend, profile, tool, **best)
    acceleration, share = _tool_acceleration(motion.acceleration)
    how = (speed, acceleration, motion.blend, profile, tool)
    if motion.kind == "MOVEL":
        return m.MoveL(tips[0], *how, acceleration_share=share, **best)
    if motion.kind == "MOVEC":
        return m.MoveC(tips[0], tips[1], *how, acceleration_share=share)
    return m.Spline(tips, *how, acceleration_share=share)


def joint_target(target: Target, robot: Robot, q: Array) -> Array:
    """The joint position of a target: as taught, or the one nearest to q that reaches its pose."""
    if target.q is not None:
        return target.q
    try:
        return robot.ikine(target.X, q0=q)
    except UnreachableError as error:
        reason = str(error).removesuffix(POSITION_ALONE)  # a job has no mask
        raise UnreachableError(f"{target.name}: {reason}{_other_orientation(target, robot, q)}") from None


def target_problem(motion: Motion, robot: Robot, q: Array) -> str | None:
    """What is wrong with a point that a path leads to or through, if the arm cannot be there at all."""
    for target in motion.targets:
        try:
            joint_target(target, robot, q)
        except UnreachableError as error:
            return str(error)
        except ServotwinError:
            continue
    return None


def _other_orientation(target: Target, robot: Robot, q: Array) -> str:
    """The orientation with which the arm reaches the position of a target; nothing if it does not reach it."""
    try:
        there = robot.fkine(robot.ikine(target.X, q0=q, mask=(1, 1, 1, 0, 0, 0)))
    except ServotwinError:
        return ""
    wanted, possible = (
        ", ".join(f"{name} {DEG * getattr(Pose.of(X), name) + 0.0:.4g}" for name in ANGLES)
        for X in (target.X, there)
    )
    return f" (asked for {wanted} deg; there the tool can have {possible} deg)"


def _profile(name: str | None) -> ProfileKind | None:
    for known in get_args(ProfileKind):
        if name == known:
            return known  # type: ignore[no-any-return]
    if name is not None:
        raise InputError(f"no profile '{name}'; expected one of {', '.join(get_args(ProfileKind))}")
    return None


def _tool_acceleration(rate: Rate | None) -> tuple[float | None, float]:
    """Acceleration [m/s2] of a tool move, if it is stated so, and else the share of what axes and tool allow."""
    if rate is None:
        return None, 1.0
    return (None, rate.value) if rate.kind == "share" else (rate.value, 1.0)
