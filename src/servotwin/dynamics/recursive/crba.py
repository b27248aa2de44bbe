"""Composite-rigid-body algorithm: the joint-space mass matrix (RBDA, table 6.2)."""

from __future__ import annotations

import numpy as np

from servotwin.compiled.jit import allocator, helper, kernel
from servotwin.dynamics.recursive.common import (
    POSE,
    REVOLUTE_AXIS,
    RIGID,
    Scalars6,
    Tree,
    copy_row,
    force_to_parent,
    place,
)
from servotwin.dynamics.recursive.rotations import add_rigid_to_parent
from servotwin.mechanism.model import Array

Work = tuple[Array, Array]


@allocator
def workspace(n: int) -> Work:
    """Poses and composite inertias of n bodies and the base."""
    return np.empty((n + 1, POSE)), np.empty((n + 1, RIGID))


@helper
def inertia_column(inertia: Array, i: int, axis: int) -> Scalars6:
    """I S: the force row of a unit acceleration of joint i."""
    if axis == REVOLUTE_AXIS:
        return -inertia[i, 2], inertia[i, 1], 0.0, inertia[i, 7], inertia[i, 8], inertia[i, 9]
    return 0.0, 0.0, inertia[i, 0], inertia[i, 2], -inertia[i, 1], 0.0


@helper
def along(axis: int, f: Scalars6) -> float:
    """S^T f."""
    if axis == REVOLUTE_AXIS:
        return f[5]
    return f[2]


@helper
def crba_state(tree: Tree, armature: Array, q: Array, work: Work, M: Array) -> None:
    """M(q) + diag(armature) for one state; M is (n, n), zero on entry or from another state of the tree."""
    pose, composite = work
    n = q.shape[0]
    for i in range(1, n + 1):
        place(tree, i, q[i - 1], pose)
        copy_row(tree.inertia, i, composite)
    for i in range(n, 0, -1):
        if tree.parent[i] > 0:
            add_rigid_to_parent(pose, i, composite, tree.parent[i])
        f = inertia_column(composite, i, tree.axis[i])
        M[i - 1, i - 1] = along(tree.axis[i], f) + armature[i - 1]
        j = i
        while tree.parent[j] > 0:
            f = force_to_parent(pose, j, f[0], f[1], f[2], f[3], f[4], f[5])
            j = tree.parent[j]
            M[i - 1, j - 1] = M[j - 1, i - 1] = along(tree.axis[j], f)


@kernel
def crba_batch(tree: Tree, armature: Array, q: Array, M: Array) -> None:
    """``crba_state`` for N states: q (N, n), M (N, n, n), zero on entry."""
    work = workspace(q.shape[1])
    for k in range(q.shape[0]):
        crba_state(tree, armature, q[k], work, M[k])
