"""Articulated-body algorithm: forward dynamics (RBDA, table 7.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from servotwin.compiled.jit import allocator, helper, kernel
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
    add,
    add_force_to_parent,
    add_scaled,
    body_velocity,
    dot,
    gyroscopic_force,
    joint_bias,
    place,
    store,
)
from servotwin.dynamics.recursive.rnea import add_acceleration, start_at_base, subtract_external
from servotwin.mechanism.model import Array


class Work(NamedTuple):
    """Work arrays of articulated-body algorithms, n + 1 rows each."""

    pose: Array  # (n+1, 12) X_parent_body
    vel: Array  # (n+1, 6)
    acc: Array  # (n+1, 6)
    art: Array  # (n+1, 21) articulated inertia
    force: Array  # (n+1, 6) bias force
    U: Array  # (n+1, 6) column of the articulated inertia along the joint axis
    joint: Array  # (n+1, 2) 1/D and u of a joint of given torque


@allocator
def workspace(n: int) -> Work:
    """Work arrays for n joints."""
    rows = n + 1
    return Work(
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
    start_at_base(tree, work.vel, work.acc)
    for i in range(1, q.shape[0] + 1):
        place(tree, i, q[i - 1], work.pose)
        body_velocity(tree, i, work.pose, qd[i - 1], work.vel)
        start_from_rigid(tree.inertia, i, work.art)
        store(work.force, i, gyroscopic_force(tree.inertia, i, work.vel))
        subtract_external(f_ext, i, work.force)


@helper
def free_joint(tree: Tree, i: int, armature_i: float, qd_i: float, tau_i: float, work: Work) -> float:
    """Second pass at a joint of given torque: D, u, and what the parent feels of body i; returns D.

    I^a = I^A - U U^T / D and p^a = p^A + I^a c + U u / D replace rows i.
    """
    axis, p = tree.axis[i], tree.parent[i]
    column_of_joint(work.art, i, axis, work.U)
    D: float = work.U[i, axis] + armature_i
    u = tau_i - work.force[i, axis]
    work.joint[i, 0], work.joint[i, 1] = 1.0 / D, u
    if p > 0:
        reduce_by_joint(work.art, i, work.U, 1.0 / D)
        cx, cy, dx, dy = joint_bias(axis, work.vel, i, qd_i)
        add(work.force, i, articulated_times(work.art, i, cx, cy, 0.0, dx, dy, 0.0))
        add_scaled(work.force, i, work.U, u / D)
        add_articulated_to_parent(work.pose, i, work.art, p)
        add_force_to_parent(work.pose, i, work.force, p)
    return D


@helper
def free_acceleration(tree: Tree, i: int, qd_i: float, work: Work) -> float:
    """Third pass at a free joint: a' = X a_parent + c, qdd = (u - U^T a') / D, a_i = a' + S qdd."""
    add_acceleration(tree, i, work.pose, work.vel, qd_i, 0.0, work.acc)
    qdd_i: float = (work.joint[i, 1] - dot(work.U, work.acc, i)) * work.joint[i, 0]
    work.acc[i, tree.axis[i]] += qdd_i
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
