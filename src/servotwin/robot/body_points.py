"""Points that span the moving bodies of a robot: ends of links, tool, and the boxes that their inertias stand for."""

from __future__ import annotations

from itertools import product

import numpy as np

from servotwin.mechanism.model import Array, Mechanism
from servotwin.robot.robot import Robot

CORNERS = np.array(list(product((-1.0, 1.0), repeat=3)))
LARGEST_BOX = 3.0  # of the distance between a body's own points: beyond it an inertia says nothing of a shape


def body_points(robot: Robot) -> dict[str, Array]:
    """Points (k, 3) fixed to each moving body, by the name of a frame of that body, in the axes of that frame [m].

    They are the frames of the body, the joints that hang on it, its centre of mass, and the corners of the box with
    its mass and inertia, payload included. The fastest point of their convex hull is one of them.
    """
    mechanism = robot.mechanism
    found: dict[str, Array] = {}
    for body in range(mechanism.n_tree):
        named = next((frame for frame in mechanism.frames if frame.body == body), None)
        if named is None:
            continue
        X = np.linalg.inv(named.X_body_frame)
        found[named.name] = _places(mechanism, body) @ X[:3, :3].T + X[:3, 3]
    return found


def _places(mechanism: Mechanism, body: int) -> Array:
    """Points of a body in its own frame."""
    places = [np.zeros(3)]
    places += [frame.X_body_frame[:3, 3] for frame in mechanism.frames if frame.body == body]
    places += [
        X[:3, 3] for X, parent in zip(mechanism.X_tree, mechanism.parent, strict=True) if parent == body
    ]
    ends = np.array(places)
    size = float(np.linalg.norm(ends - ends.mean(axis=0), axis=1).max())
    return np.concatenate([ends, _box(mechanism.phi[body], size)])


def _box(phi: Array, size: float) -> Array:
    r"""Centre of mass and corners (9, 3) of the solid box with the inertia of a body; none without mass.

    .. math:: a_i = \sqrt{\tfrac{3}{2 m} (I_j + I_k - I_i)}                                    (eq:inertia-box)

    Half edges along the principal axes. A box that is much larger than what else is known of the body is cut to
    ``size`` [m]: files state inertias that no body of theirs has.
    """
    m = float(phi[0])
    if not m > 0.0:
        return np.zeros((0, 3))
    c = phi[1:4] / m
    I_o = np.array(
        [[phi[4], phi[5], phi[7]], [phi[5], phi[6], phi[8]], [phi[7], phi[8], phi[9]]], dtype=np.float64
    )
    I_c = I_o - m * (float(c @ c) * np.eye(3) - np.outer(c, c))
    moments, axes = np.linalg.eigh(0.5 * (I_c + I_c.T))
    half = np.sqrt(np.maximum(1.5 / m * (moments.sum() - 2.0 * moments), 0.0))  # eq:inertia-box
    half = np.minimum(half, LARGEST_BOX * max(size, 0.05))
    return np.concatenate([c[None], c + (CORNERS * half) @ axes.T])
