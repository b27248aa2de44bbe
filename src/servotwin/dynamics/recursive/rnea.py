"""Recursive Newton-Euler algorithm: inverse dynamics (RBDA, table 5.1)."""

from __future__ import annotations

import numpy as np

from servotwin.compiled.jit import allocator, helper, kernel
from servotwin.dynamics.recursive.common import (
    MOTION,
    POSE,
    Tree,
    add,
    add_force_to_parent,
    body_velocity,
    fill,
    gyroscopic_force,
    inertia_times,
    joint_bias,
    load,
    motion_to_body,
    place,
    store,
)
from servotwin.mechanism.model import Array

Work = tuple[Array, Array, Array, Array]


@allocator
def workspace(n: int) -> Work:
    """Poses, velocities, accelerations and forces of n bodies and the base."""
    rows = n + 1
    return (
        np.empty((rows, POSE)),
        np.empty((rows, MOTION)),
        np.empty((rows, MOTION)),
        np.empty((rows, MOTION)),
    )


@helper
def add_acceleration(
    tree: Tree, i: int, pose: Array, vel: Array, qd_i: float, qdd_i: float, acc: Array
) -> None:
    """a_i = X a_parent + S qdd_i + v_i x S qd_i."""
    axis = tree.axis[i]
    cx, cy, dx, dy = joint_bias(axis, vel, i, qd_i)
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
        ax, ay, az, bx, by, bz = load(acc, i)
        store(force, i, inertia_times(tree.inertia, i, ax, ay, az, bx, by, bz))
        add(force, i, gyroscopic_force(tree.inertia, i, vel))
        subtract_external(f_ext, i, force)
    for i in range(n, 0, -1):
        tau[i - 1] = force[i, tree.axis[i]] + armature[i - 1] * qdd[i - 1]
        if tree.parent[i] > 0:
            add_force_to_parent(pose, i, force, tree.parent[i])


@kernel
def rnea_batch(
    tree: Tree, armature: Array, q: Array, qd: Array, qdd: Array, f_ext: Array, tau: Array
) -> None:
    """``rnea_state`` for N states: q, qd, qdd, tau (N, n); f_ext (N, n, 6) or (N, 0, 6)."""
    work = workspace(q.shape[1])
    for k in range(q.shape[0]):
        rnea_state(tree, armature, q[k], qd[k], qdd[k], f_ext[k], work, tau[k])
