"""Articulated-body algorithm: forward dynamics (RBDA, table 7.1)."""

from __future__ import annotations

import numpy as np

from servotwin.dynamics.recursive.articulated import (
    ARTICULATED,
    add_articulated_to_parent,
    articulated_times,
    column_of_joint,
    reduce_by_joint,
    start_from_rigid,
)
from servotwin.dynamics.recursive.common import (
    MOTION,
    POSE,
    Tree,
    add_force_to_parent,
    body_velocity,
    gyroscopic_force,
    joint_bias,
    place,
    store,
)
from servotwin.dynamics.recursive.jit import helper, kernel
from servotwin.dynamics.recursive.rnea import add_acceleration, start_at_base, subtract_external
from servotwin.mechanism.model import Array

Work = tuple[Array, Array, Array, Array, Array, Array, Array]


@helper
def workspace(n: int) -> Work:
    """Poses, velocities, accelerations, articulated inertias, bias forces, U, and (1/D, u) per body."""
    rows = n + 1
    return (
        np.empty((rows, POSE)),
        np.empty((rows, MOTION)),
        np.empty((rows, MOTION)),
        np.empty((rows, ARTICULATED)),
        np.empty((rows, MOTION)),
        np.empty((rows, MOTION)),
        np.empty((rows, 2)),
    )


@helper
def start_bodies(tree: Tree, q: Array, qd: Array, f_ext: Array, work: Work) -> None:
    """First pass: poses, velocities, and for every body alone its inertia and bias force v x* I v - f_ext."""
    pose, vel, acc, art, force, _, _ = work
    start_at_base(tree, vel, acc)
    for i in range(1, q.shape[0] + 1):
        place(tree, i, q[i - 1], pose)
        body_velocity(tree, i, pose, qd[i - 1], vel)
        start_from_rigid(tree.inertia, i, art)
        store(force, i, gyroscopic_force(tree.inertia, i, vel))
        subtract_external(f_ext, i, force)


@helper
def free_joint(
    tree: Tree, i: int, armature_i: float, qd_i: float, tau_i: float, work: Work
) -> float:
    """Second pass at a joint of given torque: D, u, and what the parent feels of body i; returns D.

    I^a = I^A - U U^T / D and p^a = p^A + I^a c + U u / D (RBDA eq. 7.38, 7.39) replace rows i.
    """
    pose, vel, _, art, force, U, joint = work
    axis, p = tree.axis[i], tree.parent[i]
    column_of_joint(art, i, axis, U)
    D = U[i, axis] + armature_i
    u = tau_i - force[i, axis]
    joint[i, 0], joint[i, 1] = 1.0 / D, u
    if p > 0:
        reduce_by_joint(art, i, U, 1.0 / D)
        cx, cy, dx, dy = joint_bias(axis, vel[i, 0], vel[i, 1], vel[i, 3], vel[i, 4], qd_i)
        f = articulated_times(art, i, cx, cy, 0.0, dx, dy, 0.0)
        for k in range(MOTION):
            force[i, k] += f[k] + U[i, k] * (u / D)
        add_articulated_to_parent(pose, i, art, p)
        add_force_to_parent(pose, i, force, p)
    return D


@helper
def free_acceleration(tree: Tree, i: int, qd_i: float, work: Work) -> float:
    """Third pass at a joint of given torque: qdd = (u - U^T a') / D with a' = X a_parent + c; a_i = a' + S qdd."""
    pose, vel, acc, _, _, U, joint = work
    add_acceleration(tree, i, pose, vel, qd_i, 0.0, acc)
    u = joint[i, 1]
    for k in range(MOTION):
        u -= U[i, k] * acc[i, k]
    qdd_i = u * joint[i, 0]
    acc[i, tree.axis[i]] += qdd_i
    return qdd_i


@helper
def aba_state(
    tree: Tree, armature: Array, q: Array, qd: Array, tau: Array, f_ext: Array, work: Work, qdd: Array
) -> int:
    """qdd = FD(q, qd, tau, f_ext) for one state; returns the last joint without inertia, or 0."""
    n = q.shape[0]
    singular = 0
    start_bodies(tree, q, qd, f_ext, work)
    for i in range(n, 0, -1):
        D = free_joint(tree, i, armature[i - 1], qd[i - 1], tau[i - 1], work)
        if D <= 0.0:
            singular = max(singular, i)
    for i in range(1, n + 1):
        qdd[i - 1] = free_acceleration(tree, i, qd[i - 1], work)
    return singular


@kernel
def aba_batch(tree: Tree, armature: Array, q: Array, qd: Array, tau: Array, f_ext: Array, qdd: Array) -> int:
    """``aba_state`` for N states: q, qd, tau, qdd (N, n); f_ext (N, n, 6) or (N, 0, 6)."""
    work = workspace(q.shape[1])
    singular = 0
    for k in range(q.shape[0]):
        singular = max(singular, aba_state(tree, armature, q[k], qd[k], tau[k], f_ext[k], work, qdd[k]))
    return singular
