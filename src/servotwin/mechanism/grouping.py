r"""Inertial parameters in the form the equations need, and only those that matter.

A body enters the equations of motion through its mass m, first moment
:math:`\int r\,dm` and second moment :math:`J = \int r r^T dm` (here called the
moment form; the usual tensor is :math:`I = \mathrm{tr}(J)\,1 - J`). Mass that
lies on a revolute axis does the same work whether it belongs to the body or to
its parent, so (m, m_z, J_zz) move to the parent; behind a prismatic joint all
of J does (base parameters, Gautier and Khalil 1990). The joint torques are
unchanged, with far fewer operations; only internal forces would differ.
"""

from __future__ import annotations

import numpy as np

from servotwin.mechanism.canonical import CanonicalTree, exact_cos_sin, rot_z, shift_z
from servotwin.mechanism.model import BASE, Array, Mechanism

MOMENTS = ("m", "mx", "my", "mz", "Jxx", "Jxy", "Jyy", "Jxz", "Jyz", "Jzz")


def pseudo_inertia(phi: Array) -> Array:
    """4x4 pseudo-inertia [[J, mc], [mc^T, m]] of the ten standard parameters (..., 10)."""
    m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz = np.moveaxis(np.asarray(phi, dtype=np.float64), -1, 0)
    half = (Ixx + Iyy + Izz) / 2
    rows = [
        [half - Ixx, -Ixy, -Ixz, mx],
        [-Ixy, half - Iyy, -Iyz, my],
        [-Ixz, -Iyz, half - Izz, mz],
        [mx, my, mz, m],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def placement(tree: CanonicalTree, i: int) -> Array:
    """Placement of canonical body i in its parent at q = 0, 4x4 (eq:tree-dh)."""
    c, s = exact_cos_sin(float(tree.alpha[i]))
    tilt = np.array([[1.0, 0, 0, tree.d[i]], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])
    if tree.twist[i]:
        turn = rot_z(float(tree.twist[i]))
        tilt = (
            np.array([[1.0, 0, 0, tree.d[i]], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
            @ turn
            @ np.array([[1.0, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])
        )
    left = rot_z(float(tree.gamma[i])) @ shift_z(float(tree.b[i]))
    right = rot_z(float(tree.theta[i])) @ shift_z(float(tree.r[i]))
    return np.asarray(left @ tilt @ right, dtype=np.float64)


def moments(mechanism: Mechanism, tree: CanonicalTree, *, grouped: bool = True) -> Array:
    """Moment-form parameters (n, 10) of the bodies in their canonical frames, grouped or as they are."""
    n = mechanism.n_tree
    P = np.zeros((n, 4, 4))
    for i in range(n):
        X = np.linalg.inv(tree.X_old_new[i])
        P[i] = X @ pseudo_inertia(mechanism.phi[i]) @ X.T
    if grouped:
        for i in reversed(range(n)):
            _give_to_parent(P, tree, i)
    return np.array([_tidy(_pack(P[i]), P[i]) for i in range(n)]).reshape(n, 10)


def _give_to_parent(P: Array, tree: CanonicalTree, i: int) -> None:
    moved = np.zeros((4, 4))
    if tree.prismatic[i]:
        moved[:3, :3] = P[i, :3, :3]
    else:
        moved[2:, 2:] = P[i, 2:, 2:]
    P[i] = np.where(moved != 0, 0.0, P[i])
    parent = int(tree.parent[i])
    if parent != BASE:
        X = placement(tree, i)
        P[parent] += X @ moved @ X.T


def _pack(P: Array) -> Array:
    return np.array([P[3, 3], *P[:3, 3], P[0, 0], P[0, 1], P[1, 1], P[0, 2], P[1, 2], P[2, 2]])


def _tidy(values: Array, P: Array) -> Array:
    """Exact zeros where a rotation by a right angle or a difference left rounding."""
    size = np.abs(P).max()
    return np.where(np.abs(values) < 1e-16 * size, 0.0, values)
