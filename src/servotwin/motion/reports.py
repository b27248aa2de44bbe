r"""What a planned motion does: duration, limits reached, and how well the commands describe the path.

Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits
from servotwin.motion.rotations import cross
from servotwin.motion.trajectory import PathSegment, Trajectory
from servotwin.robot.robot import Robot

SUBSTEPS = 10  # axis controller periods in one of the main controller: 16 ms / 1.6 ms


@dataclass(frozen=True)
class Reached:
    """The largest share of a limit during a request: of what, and by which axis (None: the tool)."""

    what: str
    axis: str | None
    share: float


@dataclass(frozen=True)
class SegmentReport:
    """One request: when, how long, what it asks and how exact its commands are.

    ``length_m``: way of the tool point; ``top_tool_speed`` [m/s]; ``deviation_m``: of the commanded points from
    the line, circle, spline or blend; ``chord_error_m``: of the points in between, which the axis controllers
    interpolate linearly in the joints; ``slowed``: factor of the time if the move was made to fit.
    """

    index: int
    kind: str
    start: float
    duration: float
    length_m: float
    top_tool_speed: float
    reached: tuple[Reached, ...]
    deviation_m: float
    chord_error_m: float
    slowed: float


def report(
    trajectory: Trajectory,
    robot: Robot,
    limits: MotionLimits,
    period: float = 0.016,
    substeps: int = SUBSTEPS,
) -> list[SegmentReport]:
    """One report for every request that has a segment, in order.

    ``period`` [s] of the main controller; ``substeps`` of the axis controller within it.
    """
    fine = period / substeps
    count = max(1, math.ceil(trajectory.duration / period - 1e-9))
    t: Array = np.arange(count * substeps + 1, dtype=np.float64) * fine
    q, qd, qdd = trajectory.sample(t)
    which = _owner(trajectory, t)
    points, rates = _points(trajectory, robot, t, q, qd)
    across = _chord_errors(trajectory, robot, t, q, points, rates, substeps)
    speeds = np.linalg.norm(rates, axis=1)
    ways = np.concatenate([[0.0], np.linalg.norm(np.diff(points, axis=0), axis=1)])
    deviations = _deviations(trajectory, robot, period)
    out = []
    for index, (start, end) in enumerate(trajectory.spans()):
        if math.isnan(start):
            continue
        here = which == index
        out.append(
            SegmentReport(
                index=index,
                kind=_kind(trajectory, index),
                start=start,
                duration=end - start,
                length_m=float(ways[here].sum()),
                top_tool_speed=float(speeds[here].max(initial=0.0)),
                reached=_reached(robot.joint_names, qd[here], qdd[here], speeds[here], limits),
                deviation_m=deviations.get(index, 0.0),
                chord_error_m=float(across[here].max(initial=0.0)),
                slowed=trajectory.slowed[index] if index < len(trajectory.slowed) else 1.0,
            )
        )
    return out


def _owner(trajectory: Trajectory, t: Array) -> Array:
    i = np.clip(np.searchsorted(trajectory.starts, t, side="right") - 1, 0, None)
    return np.asarray(trajectory.owners)[i]


def _kind(trajectory: Trajectory, index: int) -> str:
    kinds = [s.kind for s, k in zip(trajectory.segments, trajectory.owners, strict=True) if k == index]
    return next((kind for kind in kinds if kind != "blend"), kinds[0])


def _tools(trajectory: Trajectory, t: Array) -> Array:
    """The tool points (k, 3) in the robot's tool frame at the times t."""
    offsets = np.array(
        [
            np.zeros(3) if getattr(segment, "tool", None) is None else segment.tool[:3, 3]  # type: ignore[attr-defined]
            for segment in trajectory.segments
        ]
    )
    i = np.clip(np.searchsorted(trajectory.starts, t, side="right") - 1, 0, None)
    return np.asarray(offsets[i])


def _points(trajectory: Trajectory, robot: Robot, t: Array, q: Array, qd: Array) -> tuple[Array, Array]:
    """The tool points (k, 3) and their velocities."""
    X, twist = robot.fkine(q), np.einsum("kij,kj->ki", robot.jacob0(q), qd)
    arm = np.einsum("kij,kj->ki", X[:, :3, :3], _tools(trajectory, t))
    return X[:, :3, 3] + arm, twist[:, :3] + cross(twist[:, 3:], arm)


def _chord_errors(
    trajectory: Trajectory, robot: Robot, t: Array, q: Array, points: Array, rates: Array, substeps: int
) -> Array:
    r"""Distance (k,) across the path of the linearly interpolated joints from the path.

    .. math:: e = \left| (I - t t^T) \left(p(q_k + \lambda (q_{k+1} - q_k)) - p(t_k + \lambda T)\right) \right|
                                                                                      (eq:chord-error)
    """
    share = (np.arange(t.size) % substeps)[:, None] / substeps
    k = np.minimum(np.arange(t.size) // substeps, (t.size - 1) // substeps - 1) * substeps
    share = np.where(np.arange(t.size)[:, None] == t.size - 1, 1.0, share)
    between = q[k] + share * (q[k + substeps] - q[k])
    X = robot.fkine(between)
    gap: Array = X[:, :3, 3] + np.einsum("kij,kj->ki", X[:, :3, :3], _tools(trajectory, t)) - points
    speed = np.linalg.norm(rates, axis=1, keepdims=True)
    tangent = np.where(speed > 1e-9, rates / np.where(speed > 1e-9, speed, 1.0), 0.0)
    across = gap - np.sum(gap * tangent, axis=1, keepdims=True) * tangent
    return np.asarray(np.linalg.norm(across, axis=1), dtype=np.float64)  # eq:chord-error


def _deviations(trajectory: Trajectory, robot: Robot, period: float) -> dict[int, float]:
    """Per request the largest distance [m] of a commanded point from its curve."""
    out: dict[int, float] = {}
    for segment, start, owner in zip(trajectory.segments, trajectory.starts, trajectory.owners, strict=True):
        if not isinstance(segment, PathSegment) or segment.curve is None:
            continue
        first = math.ceil(start / period - 1e-9)
        t = np.arange(first, math.floor((start + segment.duration) / period + 1e-9) + 1) * period - start
        t = np.append(np.clip(t, 0.0, segment.duration), segment.duration)
        s = segment.law.sample(t)[0]
        X = robot.fkine(segment.path.at(s)[0])
        X = X if segment.tool is None else X @ segment.tool
        gap = np.linalg.norm(X[:, :3, 3] - segment.curve.pose(segment.offset + s)[:, :3, 3], axis=1)
        out[owner] = max(out.get(owner, 0.0), float(gap.max()))
    return out


def _reached(
    names: Sequence[str], qd: Array, qdd: Array, speeds: Array, limits: MotionLimits
) -> tuple[Reached, ...]:
    out = []
    if qd.size:
        for what, shares in (
            ("speed", np.abs(qd) / limits.speed),
            ("acceleration", np.abs(qdd) / limits.acceleration),
        ):
            k = int(np.argmax(shares.max(axis=0)))
            out.append(Reached(what, names[k], float(shares[:, k].max())))
        if math.isfinite(limits.tool_speed):
            out.append(Reached("tool speed", None, float(speeds.max() / limits.tool_speed)))
    return tuple(out)
