"""Recursive Newton-Euler algorithm: inverse dynamics (RBDA, table 5.1)."""

from __future__ import annotations

import numpy as np

from servotwin.dynamics.recursive.common import (
    MOTION,
    POSE,
    Tree,
    add_force_to_parent,
    body_velocity,
    fill,
    gyroscopic_force,
    inertia_times,
    joint_bias,
    motion_to_body,
    place,
    store,
)
from servotwin.dynamics.recursive.jit import allocator, helper, kernel
from servotwin.mechanism.model import Array

Work = tuple[Array, Array, Array, Array]


@allocator
def workspace(n: int) -> Work:
    """Poses, velocities, accelerations and forces of n bodies and the base."""
    rows = n + 1
    return np.empty((rows, POSE)), np.empty((rows, MOTION)), np.empty((rows, MOTION)), np.empty((rows, MOTION))


@helper
def add_acceleration(tree: Tree, i: int, pose: Array, vel: Array, qd_i: float, qdd_i: float, acc: Array) -> None:
    """a_i = X a_parent + S qdd_i + v_i x S qd_i (RBDA eq. 5.15)."""
    axis = tree.axis[i]
    cx, cy, dx, dy = joint_bias(axis, vel[i, 0], vel[i, 1], vel[i, 3], vel[i, 4], qd_i)
    ax, ay, az, bx, by, bz = motion_to_body(pose, i, acc, tree.parent[i])
    store(acc, i, (ax + cx, ay + cy, az, bx + dx, by + dy, bz))
    acc[i, axis] += qdd_i


@helper
def start_at_base(tree: Tree, vel: Array, acc: Array) -> None:
    """The base rests; accelerating it by -g stands for gravity on every body."""
    g = tree.gravity
    fill(vel, 0, 0.0)
    store(acc, 0, (-g[0], -g[1], -g[2], 0.0, 0.0, 0.0))


@helper
def subtract_external(f_ext: Array, i: int, force: Array) -> None:
    """Take the external wrench of body i (if there are any wrenches) out of the force it needs."""
    if f_ext.shape[0] > 0:
        for k in range(MOTION):
            force[i, k] -= f_ext[i - 1, k]


@helper
def rnea_state(
    tree: Tree, armature: Array, q: Array, qd: Array, qdd: Array, f_ext: Array, work: Work, tau: Array
) -> None:
    """tau = ID(q, qd, qdd, f_ext) + armature qdd for one state; f_ext is (n, 6) or (0, 6)."""
    pose, vel, acc, force = work
    n = q.shape[0]
    start_at_base(tree, vel, acc)
    for i in range(1, n + 1):
        place(tree, i, q[i - 1], pose)
        body_velocity(tree, i, pose, qd[i - 1], vel)
        add_acceleration(tree, i, pose, vel, qd[i - 1], qdd[i - 1], acc)
        fx, fy, fz, nx, ny, nz = inertia_times(
            tree.inertia, i, acc[i, 0], acc[i, 1], acc[i, 2], acc[i, 3], acc[i, 4], acc[i, 5]
        )
        gx, gy, gz, kx, ky, kz = gyroscopic_force(tree.inertia, i, vel)
        store(force, i, (fx + gx, fy + gy, fz + gz, nx + kx, ny + ky, nz + kz))  # RBDA eq. 5.16
        subtract_external(f_ext, i, force)
    for i in range(n, 0, -1):
        tau[i - 1] = force[i, tree.axis[i]] + armature[i - 1] * qdd[i - 1]
        if tree.parent[i] > 0:
            add_force_to_parent(pose, i, force, tree.parent[i])  # RBDA eq. 5.20


@kernel
def rnea_batch(tree: Tree, armature: Array, q: Array, qd: Array, qdd: Array, f_ext: Array, tau: Array) -> None:
    """``rnea_state`` for N states: q, qd, qdd, tau (N, n); f_ext (N, n, 6) or (N, 0, 6)."""
    work = workspace(q.shape[1])
    for k in range(q.shape[0]):
        rnea_state(tree, armature, q[k], qd[k], qdd[k], f_ext[k], work, tau[k])
