r"""Body frames chosen so that the equations get short.

Every joint placement of a tree can be written with the modified
Denavit-Hartenberg parameters of Khalil and Kleinfinger (1986),

.. math:: X_\mathrm{tree} = R_z(\gamma) T_z(b) R_x(\alpha) T_x(d) R_z(\theta) T_z(r)   (eq:tree-dh)

and for one child of every body the frame of that body can be turned and
shifted along its own joint axis until gamma = 0 and b = 0. What is left, six
numbers of which many are 0 or right angles, is what the generated code pays
for. ``canonical_tree`` does this for any mechanism; nothing about the
mechanism changes but the frames in which its bodies are written down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.mechanism.model import BASE, Array, BoolArray, IntArray, Mechanism

# Below this sine, the common normal of two axes is too ill defined to use: its feet lie so far away (link length
# over sine) that inertias about them lose digits with the square of that distance.
PARALLEL = 0.02
EXACT = 1e-13  # rounding of a rotation that was written as a right angle


@dataclass(frozen=True)
class CanonicalTree:
    """A tree in modified DH frames; ``twist`` is a further constant Rz before Rx (almost parallel axes)."""

    parent: IntArray
    prismatic: BoolArray
    gamma: Array
    b: Array
    twist: Array  # constant turn between T_x(d) and R_x(alpha); zero unless the axes are almost parallel
    alpha: Array
    d: Array
    theta: Array
    r: Array
    X_old_new: Array  # (n, 4, 4): the canonical body frame seen from the mechanism's body frame


def rot_z(angle: float) -> Array:
    """Turn about z, 4x4, exact at right angles."""
    c, s = exact_cos_sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def shift_z(length: float) -> Array:
    """Shift along z, 4x4."""
    X = np.eye(4)
    X[2, 3] = length
    return X


def exact_cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine, exactly 0 or +-1 where the angle is a right angle up to rounding."""
    c, s = float(np.cos(angle)), float(np.sin(angle))
    if abs(s) < EXACT:
        return (1.0 if c > 0 else -1.0), 0.0
    if abs(c) < EXACT:
        return 0.0, (1.0 if s > 0 else -1.0)
    return c, s


def _tidy_angle(angle: float) -> float:
    quarter = round(angle / (np.pi / 2))
    return quarter * np.pi / 2 if abs(angle - quarter * np.pi / 2) < EXACT else angle


def _tidy_length(length: float, scale: float) -> float:
    return 0.0 if abs(length) < 1e-15 * max(scale, 1e-3) else length


def modified_dh(X: Array) -> tuple[float, float, float, float, float, float, float]:
    """Parameters (gamma, b, twist, alpha, d, theta, r) of one placement (eq:tree-dh)."""
    R, p = X[:3, :3], X[:3, 3]
    u = R[:, 2]
    scale = float(np.linalg.norm(p))
    sine = float(np.hypot(u[0], u[1]))
    twist = 0.0
    if sine > PARALLEL:
        normal = np.array([-u[1], u[0], 0.0]) / sine
        if normal[0] < -EXACT or (abs(normal[0]) <= EXACT and normal[1] < 0):
            normal, sine = -normal, -sine
        gamma = _tidy_angle(float(np.arctan2(normal[1], normal[0])))
        alpha = _tidy_angle(float(np.arctan2(sine, u[2])))
        c = float(np.cos(alpha))
        r = float(p @ u - c * p[2]) / sine**2
        b = float(p[2]) - r * c
        d = float(p @ normal)
    else:
        radius = float(np.hypot(p[0], p[1]))
        gamma = _tidy_angle(float(np.arctan2(p[1], p[0]))) if radius > 1e-15 else 0.0
        b, d, r = float(p[2]), radius, 0.0
        if sine < EXACT:
            alpha = 0.0 if u[2] > 0 else float(np.pi)
        else:
            turned = rot_z(-gamma)[:3, :3] @ u
            twist = float(np.arctan2(turned[0], -turned[1]))
            alpha = float(np.arctan2(sine, u[2]))
    before = rot_z(gamma + twist)[:3, :3] @ _rot_x(alpha)
    rest = before.T @ R
    theta = _tidy_angle(float(np.arctan2(rest[1, 0], rest[0, 0])))
    return gamma, _tidy_length(b, scale), twist, alpha, _tidy_length(d, scale), theta, _tidy_length(r, scale)


def _rot_x(angle: float) -> Array:
    c, s = exact_cos_sin(angle)
    return np.array([[1.0, 0, 0], [0, c, -s], [0, s, c]])


def canonical_tree(mechanism: Mechanism) -> CanonicalTree:
    """Give every body the frame that makes the placement of its first child sparse."""
    n = mechanism.n_tree
    first_child: dict[int, int] = {}
    for i in range(n):
        first_child.setdefault(int(mechanism.parent[i]), i)
    own = np.tile(np.eye(4), (n, 1, 1))
    turn, shift = np.zeros(n), np.zeros(n)
    for p, i in first_child.items():
        if p != BASE:
            turn[p], shift[p], *_ = modified_dh(mechanism.X_tree[i])
            own[p] = rot_z(turn[p]) @ shift_z(shift[p])
    rows = []
    for i in range(n):
        p = int(mechanism.parent[i])
        gives_frame = p != BASE and first_child[p] == i
        before = np.eye(4) if p == BASE or gives_frame else np.linalg.inv(own[p])
        gamma, b, twist, alpha, d, theta, r = modified_dh(before @ mechanism.X_tree[i])
        if gives_frame:
            gamma, b = 0.0, 0.0
        # R_z(theta) T_z(r) commutes with the body's own turn and shift about the same axis.
        rows.append((gamma, b, twist, alpha, d, _tidy_angle(theta + turn[i]), r + shift[i]))
    table = np.array(rows).reshape(n, 7)
    return CanonicalTree(
        parent=mechanism.parent,
        prismatic=mechanism.prismatic,
        gamma=table[:, 0],
        b=table[:, 1],
        twist=table[:, 2],
        alpha=table[:, 3],
        d=table[:, 4],
        theta=table[:, 5],
        r=table[:, 6],
        X_old_new=own,
    )
