r"""The path of a planned motion, traversed as quickly as torques and speeds allow.

Pieces that meet without a corner become one path over

.. math:: \sigma = \int |W q'|\, ds, \quad \frac{dq}{d\sigma} = \frac{q'}{|W q'|}, \quad
          \frac{d^2 q}{d\sigma^2} = \frac{q'' - \sigma''\, dq/d\sigma}{|W q'|^2}              (eq:path-measure)

with W the reciprocal speed limits. It does not depend on how the pieces were measured. Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.joint_path import JointPath
from servotwin.motion.limits import MotionLimits
from servotwin.motion.path_limits import shares_of
from servotwin.motion.time_optimal import time_optimal
from servotwin.motion.trajectory import PathSegment, Segment, Trajectory, joined
from servotwin.robot.robot import Robot

CORNER = 1e-3  # of a unit tangent: pieces that differ more are passed at rest
PER_INTERVAL = 4  # points of the new path between two of the old one
LEAST = 64  # points of a piece
GAUSS = tuple(np.polynomial.legendre.leggauss(4))


@dataclass(frozen=True)
class Limiting:
    """A limit that bounds the pace: of what, by which axis or motor (None: the tool), for which share of the time."""

    what: str
    axis: str | None
    share: float


def quickest(robot: Robot, trajectory: Trajectory, limits: MotionLimits) -> Trajectory:
    """The same path as quickly as the limits (except those of jerk) allow, at rest where it rested and at its corners.

    Rests keep their time. The segments belong to the first request of the pieces that they join.
    """
    segments: list[Segment] = []
    owners: list[int] = []
    for pieces, owner in _groups(trajectory, limits):
        if isinstance(pieces, list):
            segments += time_optimal(robot, _joined_path(pieces, limits), limits).segments
        else:
            segments.append(pieces)
        owners.append(owner)
    return joined(segments, owners)


def limiting(
    robot: Robot, trajectory: Trajectory, limits: MotionLimits, samples: int = 1000
) -> list[Limiting]:
    """The limits that bound the motion, the one that does so for the longest time first."""
    t = (np.arange(samples) + 0.5) / samples * trajectory.duration
    used = shares_of(robot, *trajectory.sample(t), limits)
    counts = np.bincount(np.argmax(used.values, axis=1), minlength=len(used.names)) / samples
    order = np.argsort(-counts, kind="stable")
    return [Limiting(used.names[k][0], used.names[k][1], float(counts[k])) for k in order if counts[k] > 0.0]


def _groups(
    trajectory: Trajectory, limits: MotionLimits
) -> list[tuple[list[tuple[JointPath, Array]] | Segment, int]]:
    """Runs of pieces without a corner, and the rests between them, each with its owner."""
    out: list[tuple[list[tuple[JointPath, Array]] | Segment, int]] = []
    for segment, owner in zip(trajectory.segments, trajectory.owners, strict=True):
        if not isinstance(segment, PathSegment):
            if segment.duration > 0.0:
                out.append((segment, owner))
            continue
        s = _points(segment)
        last = out[-1][0] if out else None
        if isinstance(last, list) and _smooth(last[-1], (segment.path, s), limits):
            last.append((segment.path, s))
        else:
            out.append(([(segment.path, s)], owner))
    return out


def _points(segment: PathSegment) -> Array:
    """Parameters at which a piece is sampled: the points of its path, and points between them."""
    s = segment.path.s
    count = max(PER_INTERVAL, math.ceil(LEAST / (s.size - 1)))
    inner = s[:-1, None] + np.diff(s)[:, None] * (np.arange(count) / count)
    return np.append(inner.ravel(), s[-1])


def _smooth(one: tuple[JointPath, Array], two: tuple[JointPath, Array], limits: MotionLimits) -> bool:
    before, after = (path.at(s[[end]])[1][0] / limits.speed for (path, s), end in ((one, -1), (two, 0)))
    turn = before / np.linalg.norm(before) - after / np.linalg.norm(after)
    return bool(np.linalg.norm(turn) < CORNER)


def _joined_path(pieces: Sequence[tuple[JointPath, Array]], limits: MotionLimits) -> JointPath:
    """One path over sigma (eq:path-measure)."""
    nodes, weights = GAUSS
    rows: list[tuple[Array, ...]] = []
    begin = 0.0
    for path, s in pieces:
        h = np.diff(s)[:, None]
        at = s[:-1, None] + 0.5 * h * (1.0 + nodes)
        rate = np.linalg.norm(path.at(at.ravel())[1] / limits.speed, axis=1).reshape(at.shape)
        sigma = begin + np.append(0.0, np.cumsum((0.5 * h * weights * rate).sum(axis=1)))
        q, dq, ddq = path.at(s)
        size = np.linalg.norm(dq / limits.speed, axis=1, keepdims=True)
        growth = np.sum(dq * ddq / limits.speed**2, axis=1, keepdims=True) / size
        tangent = dq / size
        first = 1 if rows else 0  # where two pieces meet they agree
        rows.append(tuple(x[first:] for x in (sigma, q, tangent, (ddq - growth * tangent) / size**2)))
        begin = float(sigma[-1])
    return JointPath(*(np.concatenate(column) for column in zip(*rows, strict=True)))
