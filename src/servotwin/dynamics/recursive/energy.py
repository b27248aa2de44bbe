"""Kinetic and potential energy of a tree."""

from __future__ import annotations

import numpy as np

from servotwin.compiled.jit import allocator, helper, kernel
from servotwin.dynamics.recursive.common import (
    MOTION,
    POSE,
    Tree,
    body_velocity,
    fill,
    inertia_times,
    load,
    place,
    rotate,
)
from servotwin.dynamics.recursive.kinematics import compose, start_world
from servotwin.mechanism.model import Array

Work = tuple[Array, Array, Array]


@allocator
def workspace(n: int) -> Work:
    """Poses in the parent, poses in the base and velocities of n bodies and the base."""
    return np.empty((n + 1, POSE)), np.empty((n + 1, POSE)), np.empty((n + 1, MOTION))


@helper
def energy_state(tree: Tree, armature: Array, q: Array, qd: Array, work: Work) -> tuple[float, float]:
    """T = sum v^T I v / 2 + sum armature qd^2 / 2 and V = -sum g.(m p + R h), zero at the base origin [J]."""
    pose, world, vel = work
    g, inertia = tree.gravity, tree.inertia
    kinetic, potential = 0.0, 0.0
    start_world(world)
    fill(vel, 0, 0.0)
    for i in range(1, q.shape[0] + 1):
        place(tree, i, q[i - 1], pose)
        compose(tree.parent[i], pose, i, world)
        body_velocity(tree, i, pose, qd[i - 1], vel)
        vx, vy, vz, wx, wy, wz = load(vel, i)
        f = inertia_times(inertia, i, vx, vy, vz, wx, wy, wz)
        kinetic += 0.5 * (vx * f[0] + vy * f[1] + vz * f[2] + wx * f[3] + wy * f[4] + wz * f[5])
        kinetic += 0.5 * armature[i - 1] * qd[i - 1] ** 2
        m = inertia[i, 0]
        hx, hy, hz = rotate(world, i, inertia[i, 1], inertia[i, 2], inertia[i, 3])
        potential -= g[0] * (m * world[i, 9] + hx)
        potential -= g[1] * (m * world[i, 10] + hy)
        potential -= g[2] * (m * world[i, 11] + hz)
    return kinetic, potential


@kernel
def energy_batch(tree: Tree, armature: Array, q: Array, qd: Array, kinetic: Array, potential: Array) -> None:
    """``energy_state`` for N states: q, qd (N, n), kinetic and potential (N,)."""
    work = workspace(q.shape[1])
    for k in range(q.shape[0]):
        kinetic[k], potential[k] = energy_state(tree, armature, q[k], qd[k], work)
