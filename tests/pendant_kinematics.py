"""Speeds of points of an arm by plain numpy: placements multiplied joint by joint, points on lines between joints."""

from __future__ import annotations

import numpy as np

from servotwin.mechanism.model import Array, Mechanism


def placements(mechanism: Mechanism, q: Array) -> list[Array]:
    """Placement of every body of an open tree in the base at q (n,)."""
    x = mechanism.coupling.G @ q + mechanism.coupling.q0
    found: list[Array] = []
    for i, (X, slides) in enumerate(zip(mechanism.X_tree, mechanism.prismatic, strict=True)):
        step = np.eye(4)
        if slides:
            step[2, 3] = x[i]
        else:
            step[:2, :2] = [[np.cos(x[i]), -np.sin(x[i])], [np.sin(x[i]), np.cos(x[i])]]
        parent = mechanism.parent[i]
        found.append((np.eye(4) if parent < 0 else found[parent]) @ X @ step)
    return found


def points_of(mechanism: Mechanism, tool: Array | None = None) -> list[Array]:
    """Points (k, 4) on every body: along the lines from its joint to all that hangs on it, and around its tool."""
    found = []
    for body in range(mechanism.n_tree):
        ends = [
            X[:3, 3] for X, parent in zip(mechanism.X_tree, mechanism.parent, strict=True) if parent == body
        ]
        ends += [frame.X_body_frame[:3, 3] for frame in mechanism.frames if frame.body == body]
        if tool is not None and mechanism.frame().body == body:
            X = mechanism.frame().X_body_frame
            ends += list(tool @ X[:3, :3].T + X[:3, 3])
        along = [share * end for end in ends for share in np.linspace(0.0, 1.0, 9)]
        found.append(np.column_stack([np.array(along or [np.zeros(3)]), np.ones(max(len(along), 1))]))
    return found


def fastest(mechanism: Mechanism, q: Array, then: Array, seconds: float, points: list[Array]) -> float:
    """Mean speed [m/s] of the fastest point on the way from q (n,) to ``then`` (n,) within a time."""
    before, after = placements(mechanism, q), placements(mechanism, then)
    ways = [
        np.linalg.norm((p @ (b - a).T)[:, :3], axis=1).max()
        for p, a, b in zip(points, before, after, strict=True)
    ]
    return float(max(ways)) / seconds
