"""Forward kinematics, the Jacobian of a frame in base axes and its time derivative.

A frame is given by the ``chain`` of bodies that carry it (from the base
outwards, without the base) and its ``offset``, a pose row in the last of them.
"""

from __future__ import annotations

import numpy as np

from servotwin.compiled.jit import helper, kernel
from servotwin.dynamics.recursive.common import (
    MOTION,
    POSE,
    REVOLUTE_AXIS,
    Scalars3,
    Tree,
    cross,
    fill,
    place,
)
from servotwin.mechanism.model import Array, IntArray


@helper
def start_world(world: Array) -> None:
    """Pose row 0, the base: identity."""
    fill(world, 0, 0.0)
    world[0, 0] = world[0, 4] = world[0, 8] = 1.0


@helper
def compose(p: int, pose: Array, i: int, world: Array) -> None:
    """Row i of ``world`` = row p of ``world`` times row i of ``pose``."""
    for k in range(3):
        a, b, c = world[p, 3 * k], world[p, 3 * k + 1], world[p, 3 * k + 2]
        for j in range(3):
            world[i, 3 * k + j] = a * pose[i, j] + b * pose[i, 3 + j] + c * pose[i, 6 + j]
        world[i, 9 + k] = a * pose[i, 9] + b * pose[i, 10] + c * pose[i, 11] + world[p, 9 + k]


@helper
def write_matrix(world: Array, i: int, X: Array) -> None:
    """Pose row i as a 4 x 4 matrix."""
    for r in range(3):
        for c in range(3):
            X[r, c] = world[i, 3 * r + c]
        X[r, 3] = world[i, 9 + r]
        X[3, r] = 0.0
    X[3, 3] = 1.0


@kernel
def fkine_batch(tree: Tree, q: Array, X: Array) -> None:
    """X_base_body of all bodies for N states: q (N, n), X (N, n, 4, 4)."""
    n = q.shape[1]
    pose, world = np.empty((n + 1, POSE)), np.empty((n + 1, POSE))
    start_world(world)
    for k in range(q.shape[0]):
        for i in range(1, n + 1):
            place(tree, i, q[k, i - 1], pose)
            compose(tree.parent[i], pose, i, world)
            write_matrix(world, i, X[k, i - 1])


@helper
def chain_poses(tree: Tree, chain: IntArray, offset: Array, q: Array, pose: Array, world: Array) -> None:
    """World poses of the bodies of a chain; the frame itself goes to the last row (n + 1)."""
    start_world(world)
    last = 0
    for i in chain:
        place(tree, i, q[i - 1], pose)
        compose(tree.parent[i], pose, i, world)
        last = i
    tip = world.shape[0] - 1
    for k in range(POSE):
        pose[tip, k] = offset[k]
    compose(last, pose, tip, world)


@kernel
def frame_batch(tree: Tree, chain: IntArray, offset: Array, q: Array, X: Array) -> None:
    """X_base_frame for N states: q (N, n), X (N, 4, 4)."""
    n = q.shape[1]
    pose, world = np.empty((n + 2, POSE)), np.empty((n + 2, POSE))
    for k in range(q.shape[0]):
        chain_poses(tree, chain, offset, q[k], pose, world)
        write_matrix(world, n + 1, X[k])


@helper
def arm(world: Array, i: int, tip: int) -> Scalars3:
    """From the origin of row i to the origin of row ``tip``, base axes."""
    return world[tip, 9] - world[i, 9], world[tip, 10] - world[i, 10], world[tip, 11] - world[i, 11]


@helper
def write_column(jac: Array, i: int, linear: Scalars3, angular: Scalars3) -> None:
    """Column of joint i of a (6, n) Jacobian."""
    jac[0, i - 1], jac[1, i - 1], jac[2, i - 1] = linear
    jac[3, i - 1], jac[4, i - 1], jac[5, i - 1] = angular


@kernel
def jacobian_batch(tree: Tree, chain: IntArray, offset: Array, q: Array, jac: Array) -> None:
    """Frame Jacobian for N states: q (N, n), jac (N, 6, n), zero on entry (columns off the chain stay)."""
    n = q.shape[1]
    pose, world = np.empty((n + 2, POSE)), np.empty((n + 2, POSE))
    for k in range(q.shape[0]):
        chain_poses(tree, chain, offset, q[k], pose, world)
        for i in chain:
            z = (world[i, 2], world[i, 5], world[i, 8])
            if tree.axis[i] == REVOLUTE_AXIS:
                rx, ry, rz = arm(world, i, n + 1)
                write_column(jac[k], i, cross(z[0], z[1], z[2], rx, ry, rz), z)
            else:
                write_column(jac[k], i, z, (0.0, 0.0, 0.0))


@helper
def world_velocity(tree: Tree, p: int, i: int, qd_i: float, world: Array, vel: Array) -> None:
    """Velocity of the origin of row i and angular velocity, base axes, from those of row p."""
    rx, ry, rz = arm(world, p, i)
    tx, ty, tz = cross(vel[p, 3], vel[p, 4], vel[p, 5], rx, ry, rz)
    vel[i, 0], vel[i, 1], vel[i, 2] = vel[p, 0] + tx, vel[p, 1] + ty, vel[p, 2] + tz
    vel[i, 3], vel[i, 4], vel[i, 5] = vel[p, 3], vel[p, 4], vel[p, 5]
    first = tree.axis[i] - 2  # column of x of the part in which the joint moves
    for k in range(3):
        vel[i, first + k] += world[i, 3 * k + 2] * qd_i


@helper
def column_rate(tree: Tree, i: int, tip: int, world: Array, vel: Array, jac_dot: Array) -> None:
    """d/dt of column i: z' = w x z; revolute linear part z' x r + z x r'."""
    zx, zy, zz = world[i, 2], world[i, 5], world[i, 8]
    dx, dy, dz = cross(vel[i, 3], vel[i, 4], vel[i, 5], zx, zy, zz)
    if tree.axis[i] == REVOLUTE_AXIS:
        rx, ry, rz = arm(world, i, tip)
        ax, ay, az = cross(dx, dy, dz, rx, ry, rz)
        vx, vy, vz = vel[tip, 0] - vel[i, 0], vel[tip, 1] - vel[i, 1], vel[tip, 2] - vel[i, 2]
        bx, by, bz = cross(zx, zy, zz, vx, vy, vz)
        write_column(jac_dot, i, (ax + bx, ay + by, az + bz), (dx, dy, dz))
    else:
        write_column(jac_dot, i, (dx, dy, dz), (0.0, 0.0, 0.0))


@kernel
def jacobian_dot_batch(
    tree: Tree, chain: IntArray, offset: Array, q: Array, qd: Array, jac_dot: Array
) -> None:
    """d/dt of the frame Jacobian for N states: q, qd (N, n), jac_dot (N, 6, n), zero on entry."""
    n = q.shape[1]
    pose, world, vel = np.empty((n + 2, POSE)), np.empty((n + 2, POSE)), np.empty((n + 2, MOTION))
    fill(vel, 0, 0.0)
    for k in range(q.shape[0]):
        chain_poses(tree, chain, offset, q[k], pose, world)
        last = 0
        for i in chain:
            world_velocity(tree, tree.parent[i], i, qd[k, i - 1], world, vel)
            last = i
        rx, ry, rz = arm(world, last, n + 1)
        tx, ty, tz = cross(vel[last, 3], vel[last, 4], vel[last, 5], rx, ry, rz)
        vel[n + 1, 0], vel[n + 1, 1], vel[n + 1, 2] = vel[last, 0] + tx, vel[last, 1] + ty, vel[last, 2] + tz
        for i in chain:
            column_rate(tree, i, n + 1, world, vel, jac_dot[k])
