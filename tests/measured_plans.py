"""What tests measure of a plan: how fast its tool is, how far its commands are from the curves they follow."""

from __future__ import annotations

import math

import numpy as np

from servotwin.motion.trajectory import PathSegment, Trajectory
from servotwin.robot.robot import Robot

MAIN, AXIS = 0.016, 0.0016  # s: periods of main and axis controller


def top_tool_speed(way: Trajectory, robot: Robot) -> float:
    """Largest speed of the robot's own tool point [m/s] at the periods of the axis controller."""
    t = np.append(np.arange(0.0, way.duration, AXIS), way.duration)
    q, qd, _ = way.sample(t)
    return float(np.linalg.norm(np.einsum("kij,kj->ki", robot.jacob0(q)[:, :3], qd), axis=1).max())


def deviation(way: Trajectory, robot: Robot, period: float = MAIN) -> float:
    """Largest distance [m] of a commanded point from the line, circle, spline or blend that it belongs to."""
    worst = 0.0
    for segment, start in zip(way.segments, way.starts, strict=True):
        if not isinstance(segment, PathSegment) or segment.curve is None:
            continue
        first = math.ceil(start / period - 1e-9)
        t = np.arange(first, math.floor((start + segment.duration) / period + 1e-9) + 1) * period - start
        s = segment.law.sample(np.append(np.clip(t, 0.0, segment.duration), segment.duration))[0]
        X = robot.fkine(segment.path.at(s)[0])
        X = X if segment.tool is None else X @ segment.tool
        gap = np.linalg.norm(X[:, :3, 3] - segment.curve.pose(segment.offset + s)[:, :3, 3], axis=1)
        worst = max(worst, float(gap.max()))
    return worst
