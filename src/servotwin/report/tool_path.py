"""The path of the tool against the one that was commanded, whatever the lateness along it."""

from __future__ import annotations

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot


def tip_of(robot: Robot, q: Array, X_tool: Array | None) -> Array:
    """Tool points (k, 3) at q (k, n); ``X_tool``: the tool in the robot's tool frame, None for the robot's own."""
    X = robot.fkine(q)
    return np.asarray((X if X_tool is None else X @ X_tool)[:, :3, 3])


def path_distance(points: Array, path: Array) -> Array:
    """Distance (k,) of points (k, 3) from a polyline (m, 3)."""
    times = np.zeros(len(points)), np.zeros(len(path))
    return np.asarray(np.linalg.norm(points - nearest_on_path(points, times[0], path, times[1]), axis=1))


def nearest_on_path(points: Array, t: Array, path: Array, t_path: Array, lag: float = 0.5) -> Array:
    r"""The points (k, 3) of a path's polyline (m, 3) that are nearest to ``points`` (k, 3).

    .. math:: p_\perp = \arg\min_{p \in \text{path}} \lVert p - p_i \rVert

    Only the stretch within ``lag`` [s] of the same instant counts, so that a path that crosses itself is
    not mistaken for its other branch.
    """
    if len(path) == 1:
        return np.broadcast_to(path[0], points.shape).copy()
    first = np.clip(np.searchsorted(t_path, t - lag) - 1, 0, len(path) - 2)
    last = np.clip(np.searchsorted(t_path, t + lag), 1, len(path) - 1)
    nearest = np.empty_like(points)
    for i, (a, b) in enumerate(zip(first, last, strict=True)):
        start, step = path[a:b], np.diff(path[a : b + 1], axis=0)
        length = np.einsum("ij,ij->i", step, step)
        along = np.einsum("ij,ij->i", points[i] - start, step)
        share = np.clip(np.divide(along, length, out=np.zeros_like(along), where=length > 0.0), 0.0, 1.0)
        feet = start + share[:, None] * step
        gaps = np.einsum("ij,ij->i", points[i] - feet, points[i] - feet)
        nearest[i] = feet[int(np.argmin(gaps))]
    return nearest


def path_deviation(t: Array, actual: Array, wanted: Array, lag: float = 0.5) -> Array:
    """Distance (k,) [m] of the tool from the commanded path, both (k, 3) [m] at the instants t (k,) [s]."""
    return np.asarray(np.linalg.norm(actual - nearest_on_path(actual, t, wanted, t, lag), axis=1))
