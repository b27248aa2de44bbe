"""How far shapes reach: corners of boxes around them, so that a picture has room for all of them."""

from __future__ import annotations

import base64

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.scene.body_shapes import Shape
from servotwin.scene.looks import Looks


def drawn_room(shapes: dict[int, list[Shape]], looks: Looks, poses: dict[int, Array]) -> list[Array]:
    """Corners (k, 3) in the base of the shapes of bodies; ``poses`` of the bodies from ``body_poses``."""
    boxes = [_mesh_corners(mesh["positions"]) for mesh in looks.meshes]
    found = []
    for body, own in shapes.items():
        X = poses[body][0]
        corners = np.concatenate([np.zeros((0, 3)), *(_corners(shape, boxes) for shape in own)])
        found.append(corners @ X[:3, :3].T + X[:3, 3])
    return found


def _corners(shape: Shape, boxes: list[Array]) -> Array:
    """Corners (k, 3) around a shape in the frame of its body."""
    if shape["kind"] in ("box", "mesh"):
        X = np.array(shape["pose"]).reshape(3, 4)
        corners = boxes[shape["mesh"]] if shape["kind"] == "mesh" else _box(0.5 * np.array(shape["size"]))
        return np.asarray(corners @ X[:, :3].T + X[:, 3])
    around = _box(np.full(3, float(shape["r"])))
    places = (
        shape["points"] if shape["kind"] == "plate" else [shape[end] for end in ("a", "b") if end in shape]
    )
    return np.concatenate([np.array(place) + around for place in places])


def _box(half: Array) -> Array:
    return np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half


def _mesh_corners(positions: str) -> Array:
    points = np.frombuffer(base64.b64decode(positions), dtype="<f4").reshape(-1, 3).astype(np.float64)
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray(0.5 * (low + high) + _box(0.5 * (high - low)))
