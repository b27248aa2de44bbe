"""Points around everything of an arm that moves: what its frames and inertias say, and what is drawn of it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from servotwin.mechanism.model import BASE, Array
from servotwin.robot.body_points import body_points
from servotwin.robot.robot import Robot
from servotwin.scene.describe import describe

SIGNS = np.array(list(product((-1.0, 1.0), repeat=3)))


def outline(robot: Robot) -> dict[str, Array]:
    """Points (k, 3) by the frame of each moving body, in its axes [m]; all of arm and tool lies between them."""
    found = body_points(robot)
    drawn = describe(robot)["bodies"]
    for body in range(robot.mechanism.n_tree):
        frame = next((f for f in robot.mechanism.frames if f.body == body), None)
        shapes = drawn[body - BASE]["shapes"]
        if frame is None or not shapes:
            continue
        X = np.linalg.inv(frame.X_body_frame)
        corners = np.concatenate([_corners(shape) for shape in shapes]) @ X[:3, :3].T + X[:3, 3]
        found[frame.name] = np.concatenate([found[frame.name], _box(corners)])
    return found


def _corners(shape: dict[str, Any]) -> Array:
    """Points (k, 3) around a drawn shape, in the frame of its body."""
    if shape["kind"] == "box":
        X = np.array(shape["pose"]).reshape(3, 4)
        return np.asarray((0.5 * SIGNS * np.array(shape["size"])) @ X[:, :3].T + X[:, 3])
    ends = np.array(shape["points"] if "points" in shape else [shape["a"], shape.get("b", shape["a"])])
    return np.concatenate([end + float(shape["r"]) * SIGNS for end in ends])


def _box(points: Array) -> Array:
    """The corners (8, 3) of the box around points."""
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray(0.5 * (low + high) + 0.5 * (high - low) * SIGNS)
