"""Conventions and small vector helpers of the recursive algorithms.

Numbering is Featherstone's (RBDA, section 4.1): bodies 1..n, the base is body 0,
joint i connects body ``parent[i]`` with body i, and ``parent[i] < i``. All
arrays "per body" have n + 1 rows; arrays "per joint" (q, qd, tau, armature)
have n entries, so joint i owns entry i - 1.

- *Pose row*, 12 numbers: rotation R row by row, then translation p. It maps
  body to parent (or base) coordinates: ``x_parent = R x_body + p``.
- *Motion row*, 6 numbers in body coordinates: linear velocity of the body
  origin, then angular velocity. *Force row*: force, then moment about the body
  origin. (RBDA writes the angular part first; the order here is that of the
  public wrenches and Jacobians.)
- *Rigid inertia row*, 10 numbers: ``m, h = m c, I`` about the body origin in the
  order of ``mechanism.model.PARAMETERS``.
- The joint axis is z, so the motion subspace S has a single one: in column 5
  (revolute) or column 2 (prismatic) of a motion row. ``axis[i]`` is that column.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from servotwin.compiled.jit import helper
from servotwin.mechanism.model import Array, IntArray, Mechanism

Scalars3 = tuple[float, float, float]
Scalars4 = tuple[float, float, float, float]
Scalars6 = tuple[float, float, float, float, float, float]
Scalars9 = tuple[float, float, float, float, float, float, float, float, float]

POSE, MOTION, RIGID = 12, 6, 10
PRISMATIC_AXIS, REVOLUTE_AXIS = 2, 5


class Tree(NamedTuple):
    """What the compiled algorithms read; n + 1 rows each, row 0 is the base."""

    parent: IntArray  # (n+1,)
    axis: IntArray  # (n+1,) column of the joint axis in a motion row
    placement: Array  # (n+1, 12) pose rows of X_tree
    inertia: Array  # (n+1, 10) rigid inertia rows
    gravity: Array  # (3,) acceleration of free fall, base axes


def tree_of(mechanism: Mechanism) -> Tree:
    """The arrays of a mechanism in the numbering of the algorithms (own, writable copies)."""
    n = mechanism.n_tree
    parent = np.zeros(n + 1, dtype=np.int64)
    parent[1:] = mechanism.parent + 1
    axis = np.full(n + 1, REVOLUTE_AXIS, dtype=np.int64)
    axis[1:][mechanism.prismatic] = PRISMATIC_AXIS
    placement = np.zeros((n + 1, POSE))
    placement[1:, :9] = mechanism.X_tree[:, :3, :3].reshape(n, 9)
    placement[1:, 9:] = mechanism.X_tree[:, :3, 3]
    inertia = np.zeros((n + 1, RIGID))
    inertia[1:] = mechanism.phi
    return Tree(parent, axis, placement, inertia, np.array(mechanism.gravity, dtype=np.float64))


@helper
def cross(ax: float, ay: float, az: float, bx: float, by: float, bz: float) -> Scalars3:
    """a x b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@helper
def rotate(pose: Array, i: int, x: float, y: float, z: float) -> Scalars3:
    """R a: from body i to its parent."""
    return (
        pose[i, 0] * x + pose[i, 1] * y + pose[i, 2] * z,
        pose[i, 3] * x + pose[i, 4] * y + pose[i, 5] * z,
        pose[i, 6] * x + pose[i, 7] * y + pose[i, 8] * z,
    )


@helper
def rotate_back(pose: Array, i: int, x: float, y: float, z: float) -> Scalars3:
    """R^T a: from the parent of body i to body i."""
    return (
        pose[i, 0] * x + pose[i, 3] * y + pose[i, 6] * z,
        pose[i, 1] * x + pose[i, 4] * y + pose[i, 7] * z,
        pose[i, 2] * x + pose[i, 5] * y + pose[i, 8] * z,
    )


@helper
def place(tree: Tree, i: int, q_i: float, pose: Array) -> None:
    """Pose row of body i in its parent: X_tree[i] Rz(q_i), or X_tree[i] Tz(q_i)."""
    X = tree.placement
    if tree.axis[i] == REVOLUTE_AXIS:
        s, c = math.sin(q_i), math.cos(q_i)
        for k in range(0, 9, 3):
            x, y = X[i, k], X[i, k + 1]
            pose[i, k] = c * x + s * y
            pose[i, k + 1] = c * y - s * x
            pose[i, k + 2] = X[i, k + 2]
        for k in range(3):
            pose[i, 9 + k] = X[i, 9 + k]
    else:
        for k in range(9):
            pose[i, k] = X[i, k]
        for k in range(3):
            pose[i, 9 + k] = X[i, 9 + k] + q_i * X[i, 3 * k + 2]


@helper
def motion_to_body(pose: Array, i: int, motion: Array, p: int) -> Scalars6:
    """Motion row p of the parent, seen from the origin and in the axes of body i."""
    vx, vy, vz, wx, wy, wz = load(motion, p)
    tx, ty, tz = cross(wx, wy, wz, pose[i, 9], pose[i, 10], pose[i, 11])
    ax, ay, az = rotate_back(pose, i, vx + tx, vy + ty, vz + tz)
    bx, by, bz = rotate_back(pose, i, wx, wy, wz)
    return ax, ay, az, bx, by, bz


@helper
def force_to_parent(
    pose: Array, i: int, fx: float, fy: float, fz: float, nx: float, ny: float, nz: float
) -> Scalars6:
    """Force on body i, about the origin and in the axes of its parent."""
    ax, ay, az = rotate(pose, i, fx, fy, fz)
    bx, by, bz = rotate(pose, i, nx, ny, nz)
    tx, ty, tz = cross(pose[i, 9], pose[i, 10], pose[i, 11], ax, ay, az)
    return ax, ay, az, bx + tx, by + ty, bz + tz


@helper
def add_force_to_parent(pose: Array, i: int, force: Array, p: int) -> None:
    """Add force row i, carried over to the parent, to force row p."""
    fx, fy, fz, nx, ny, nz = load(force, i)
    add(force, p, force_to_parent(pose, i, fx, fy, fz, nx, ny, nz))


@helper
def load(rows: Array, i: int) -> Scalars6:
    """Six numbers from row i."""
    return rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4], rows[i, 5]


@helper
def store(rows: Array, i: int, a: Scalars6) -> None:
    """Write six numbers to row i."""
    rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3], rows[i, 4], rows[i, 5] = a


@helper
def add(rows: Array, i: int, a: Scalars6) -> None:
    """Add six numbers to row i."""
    rows[i, 0] += a[0]
    rows[i, 1] += a[1]
    rows[i, 2] += a[2]
    rows[i, 3] += a[3]
    rows[i, 4] += a[4]
    rows[i, 5] += a[5]


@helper
def add_scaled(rows: Array, i: int, other: Array, factor: float) -> None:
    """Add a multiple of row i of another array to row i."""
    for k in range(MOTION):
        rows[i, k] += other[i, k] * factor


@helper
def dot(a: Array, b: Array, i: int) -> float:
    """Scalar product of rows i of a motion and a force array."""
    total = 0.0
    for k in range(MOTION):
        total += a[i, k] * b[i, k]
    return total


@helper
def fill(rows: Array, i: int, value: float) -> None:
    """Set all of row i."""
    for k in range(rows.shape[1]):
        rows[i, k] = value


@helper
def copy_row(source: Array, i: int, target: Array) -> None:
    """Row i of ``target`` = row i of ``source``."""
    for k in range(source.shape[1]):
        target[i, k] = source[i, k]


@helper
def joint_bias(axis: int, vel: Array, i: int, qd_i: float) -> Scalars4:
    """v x S qd of row i, the non-zero entries (x, y of the linear part, x, y of the angular part)."""
    vx, vy, wx, wy = vel[i, 0], vel[i, 1], vel[i, 3], vel[i, 4]
    if axis == REVOLUTE_AXIS:
        return vy * qd_i, -vx * qd_i, wy * qd_i, -wx * qd_i
    return wy * qd_i, -wx * qd_i, 0.0, 0.0


@helper
def inertia_times(
    inertia: Array, i: int, vx: float, vy: float, vz: float, wx: float, wy: float, wz: float
) -> Scalars6:
    """I v for rigid inertia row i: f = m v + w x h, n = I w + h x v."""
    m, hx, hy, hz = inertia[i, 0], inertia[i, 1], inertia[i, 2], inertia[i, 3]
    xx, xy, yy = inertia[i, 4], inertia[i, 5], inertia[i, 6]
    xz, yz, zz = inertia[i, 7], inertia[i, 8], inertia[i, 9]
    return (
        m * vx + (wy * hz - wz * hy),
        m * vy + (wz * hx - wx * hz),
        m * vz + (wx * hy - wy * hx),
        xx * wx + xy * wy + xz * wz + (hy * vz - hz * vy),
        xy * wx + yy * wy + yz * wz + (hz * vx - hx * vz),
        xz * wx + yz * wy + zz * wz + (hx * vy - hy * vx),
    )


@helper
def gyroscopic_force(inertia: Array, i: int, motion: Array) -> Scalars6:
    """v x* I v of body i: w x f, then w x n + v x f."""
    vx, vy, vz, wx, wy, wz = load(motion, i)
    fx, fy, fz, nx, ny, nz = inertia_times(inertia, i, vx, vy, vz, wx, wy, wz)
    ax, ay, az = cross(wx, wy, wz, fx, fy, fz)
    bx, by, bz = cross(wx, wy, wz, nx, ny, nz)
    cx, cy, cz = cross(vx, vy, vz, fx, fy, fz)
    return ax, ay, az, bx + cx, by + cy, bz + cz


@helper
def body_velocity(tree: Tree, i: int, pose: Array, qd_i: float, vel: Array) -> None:
    """v_i = X v_parent + S qd_i."""
    store(vel, i, motion_to_body(pose, i, vel, tree.parent[i]))
    vel[i, tree.axis[i]] += qd_i
