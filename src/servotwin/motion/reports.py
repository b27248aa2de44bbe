r"""What a planned motion does: duration, limits reached, and how well the commands describe the path.

Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits
from servotwin.motion.rotations import cross
from servotwin.motion.trajectory import PathSegment, Trajectory
from servotwin.robot.robot import Robot

SUBSTEPS = 10  # axis controller periods in one of the main controller, where none are stated: 16 ms / 1.6 ms
CHUNK = 500  # periods of the main controller that are looked at together


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
    interpolate linearly in the joints; ``slowed``: factor of the time if the move was made to fit; ``blend_m``:
    the radius of its blend, 0 if it ends at rest; ``note``: what else became of what was asked for.
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
    blend_m: float = 0.0
    note: str = ""


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
    count = max(1, math.ceil(trajectory.duration / period - 1e-9))
    seen: dict[int, _Seen] = {}
    for first in range(0, count, CHUNK):
        _look(trajectory, robot, limits, period / substeps, substeps, first, min(first + CHUNK, count), seen)
    deviations = _deviations(trajectory, robot, period)
    out = []
    for index, (start, end) in enumerate(trajectory.spans()):
        if math.isnan(start):
            continue
        what = seen.get(index, _Seen())
        out.append(
            SegmentReport(
                index=index,
                kind=_kind(trajectory, index),
                start=start,
                duration=end - start,
                length_m=what.length,
                top_tool_speed=what.speed,
                reached=tuple(what.reached.values()),
                deviation_m=deviations.get(index, 0.0),
                chord_error_m=what.chord,
                slowed=trajectory.slowed[index] if trajectory.slowed else 1.0,
                blend_m=trajectory.blends[index] if trajectory.blends else 0.0,
                note=trajectory.notes[index] if trajectory.notes else "",
            )
        )
    return out


@dataclass
class _Seen:
    """What was seen of a request so far."""

    length: float = 0.0
    speed: float = 0.0
    chord: float = 0.0
    reached: dict[str, Reached] = field(default_factory=dict)


def _look(
    trajectory: Trajectory,
    robot: Robot,
    limits: MotionLimits,
    fine: float,
    substeps: int,
    first: int,
    last: int,
    seen: dict[int, _Seen],
) -> None:
    """Look at the periods ``first`` to ``last`` of the main controller."""
    t: Array = np.arange(first * substeps, last * substeps + 1, dtype=np.float64) * fine
    which = _segment_at(trajectory, t)
    if all(trajectory.segments[i].kind == "rest" for i in np.unique(which)):
        return
    q, qd, qdd = trajectory.sample(t)
    points, rates, pushes = _points(trajectory, robot, t, q, qd, qdd, limits)
    across = _chord_errors(trajectory, robot, t, q, points, rates, substeps)
    speeds = np.linalg.norm(rates, axis=1)
    ways = np.concatenate([[0.0], np.linalg.norm(np.diff(points, axis=0), axis=1)])
    owners = np.asarray(trajectory.owners)[which]
    for index in np.unique(owners):
        here = owners == index
        what = seen.setdefault(int(index), _Seen())
        what.length += float(ways[here].sum())
        what.speed = max(what.speed, float(speeds[here].max()))
        what.chord = max(what.chord, float(across[here].max()))
        for item in _reached(robot.joint_names, qd[here], qdd[here], speeds[here], pushes[here], limits):
            held = what.reached.get(item.what)
            what.reached[item.what] = item if held is None or item.share > held.share else held


def _segment_at(trajectory: Trajectory, t: Array) -> Array:
    return np.clip(np.searchsorted(trajectory.starts, t, side="right") - 1, 0, None)


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
    return np.asarray(offsets[_segment_at(trajectory, t)])


def _points(
    trajectory: Trajectory, robot: Robot, t: Array, q: Array, qd: Array, qdd: Array, limits: MotionLimits
) -> tuple[Array, Array, Array]:
    """The tool points (k, 3), their velocities, and their accelerations if those are limited, else zero."""
    X, J = robot.fkine(q), robot.jacob0(q)
    twist = np.einsum("kij,kj->ki", J, qd)
    arm = np.einsum("kij,kj->ki", X[:, :3, :3], _tools(trajectory, t))
    spin = cross(twist[:, 3:], arm)
    points, rates = X[:, :3, 3] + arm, twist[:, :3] + spin
    if not math.isfinite(limits.tool_acceleration):
        return points, rates, np.zeros_like(points)
    turning = np.einsum("kij,kj->ki", robot.jacob0_dot(q, qd), qd)
    push = np.einsum("kij,kj->ki", J, qdd) + turning  # eq:tool-rates
    return points, rates, push[:, :3] + cross(push[:, 3:], arm) + cross(twist[:, 3:], spin)


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
    names: Sequence[str], qd: Array, qdd: Array, speeds: Array, pushes: Array, limits: MotionLimits
) -> tuple[Reached, ...]:
    out = []
    for what, shares in (
        ("speed", np.abs(qd) / limits.speed),
        ("acceleration", np.abs(qdd) / limits.acceleration),
    ):
        k = int(np.argmax(shares.max(axis=0)))
        out.append(Reached(what, names[k], float(shares[:, k].max())))
    if math.isfinite(limits.tool_speed):
        out.append(Reached("tool speed", None, float(speeds.max() / limits.tool_speed)))
    if math.isfinite(limits.tool_acceleration):
        most = float(np.linalg.norm(pushes, axis=1).max())
        out.append(Reached("tool acceleration", None, most / limits.tool_acceleration))
    return tuple(out)
