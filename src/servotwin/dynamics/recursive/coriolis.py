r"""The Coriolis matrix that belongs to the Christoffel symbols, in O(n d) for trees of depth d.

S. Echeandia and P. M. Wensing, "Numerical Methods to Compute the Coriolis Matrix
and Christoffel Symbols for Rigid-Body Systems", J. Comput. Nonlinear Dynam.,
2021, doi:10.1115/1.4051169, factorise the bias force of a body as

.. math:: v \times^* I v = B(I, v)\,v, \qquad
   B(I, v) = \tfrac12 [(v\times^*) I - I (v\times) + (I v)\,\bar\times^*]

and show that C = sum J^T (I J' + B J) makes M' - 2 C skew. For a rigid body with
mass m, first moment h, inertia J about the origin, velocity (v, w) and linear
momentum f = m v + w x h, the blocks of B (linear part first) come out as

.. math:: B = \begin{bmatrix} 0 & -[f\times] \\ 0 & K \end{bmatrix}, \qquad
   K = -[h\times][v\times] + [w\times](J - \tfrac12 \mathrm{tr}(J)\,1),

by [Jw x] = tr(J) [w x] - J [w x] - [w x] J. The zeros survive a change of frame,
so twelve numbers per body are enough: f and K.
"""

from __future__ import annotations

import numpy as np

from servotwin.compiled.jit import allocator, helper, kernel
from servotwin.dynamics.recursive.common import (
    MOTION,
    POSE,
    REVOLUTE_AXIS,
    RIGID,
    Scalars6,
    Tree,
    body_velocity,
    copy_row,
    cross,
    fill,
    force_to_parent,
    inertia_times,
    joint_bias,
    load,
    place,
    rotate,
)
from servotwin.dynamics.recursive.crba import along, inertia_column
from servotwin.dynamics.recursive.rotations import add_rigid_to_parent, rotate_general
from servotwin.mechanism.model import Array

FACTOR = 12  # f (3), K (9, row by row)
K_BLOCK = 3
Work = tuple[Array, Array, Array, Array]


@allocator
def workspace(n: int) -> Work:
    """Poses, velocities, composite inertias and composite factors B of n bodies and the base."""
    rows = n + 1
    return np.empty((rows, POSE)), np.empty((rows, MOTION)), np.empty((rows, RIGID)), np.empty((rows, FACTOR))


@helper
def body_factor(inertia: Array, i: int, vel: Array, B: Array) -> None:
    """f and K of body i alone."""
    vx, vy, vz, wx, wy, wz = load(vel, i)
    hx, hy, hz = inertia[i, 1], inertia[i, 2], inertia[i, 3]
    xx, xy, yy = inertia[i, 4], inertia[i, 5], inertia[i, 6]
    xz, yz, zz = inertia[i, 7], inertia[i, 8], inertia[i, 9]
    t = 0.5 * (xx + yy + zz)
    B[i, 0], B[i, 1], B[i, 2], _, _, _ = inertia_times(inertia, i, vx, vy, vz, wx, wy, wz)
    ax, bx, cx = cross(wx, wy, wz, xx - t, xy, xz)  # columns of [w x] (J - t 1)
    ay, by, cy = cross(wx, wy, wz, xy, yy - t, yz)
    az, bz, cz = cross(wx, wy, wz, xz, yz, zz - t)
    hv = hx * vx + hy * vy + hz * vz  # -[h x][v x] = (h.v) 1 - v h^T
    B[i, 3], B[i, 4], B[i, 5] = ax + hv - vx * hx, ay - vx * hy, az - vx * hz
    B[i, 6], B[i, 7], B[i, 8] = bx - vy * hx, by + hv - vy * hy, bz - vy * hz
    B[i, 9], B[i, 10], B[i, 11] = cx - vz * hx, cy - vz * hy, cz + hv - vz * hz


@helper
def add_factor_to_parent(pose: Array, i: int, B: Array, p: int) -> None:
    """Add B of body i, carried over to the parent, to row p: f_p = R f, K_p = R K R^T - [p x][f_p x]."""
    x, y, z = pose[i, 9], pose[i, 10], pose[i, 11]
    fx, fy, fz = rotate(pose, i, B[i, 0], B[i, 1], B[i, 2])
    K = rotate_general(pose, i, B, K_BLOCK)
    pf = x * fx + y * fy + z * fz  # -[p x][f x] = (p.f) 1 - f p^T
    B[p, 0] += fx
    B[p, 1] += fy
    B[p, 2] += fz
    B[p, 3] += K[0] + pf - fx * x
    B[p, 4] += K[1] - fx * y
    B[p, 5] += K[2] - fx * z
    B[p, 6] += K[3] - fy * x
    B[p, 7] += K[4] + pf - fy * y
    B[p, 8] += K[5] - fy * z
    B[p, 9] += K[6] - fz * x
    B[p, 10] += K[7] - fz * y
    B[p, 11] += K[8] + pf - fz * z


@helper
def joint_forces(axis: int, i: int, vel: Array, inertia: Array, B: Array) -> tuple[Scalars6, Scalars6]:
    """I S' + B S and B^T S of joint i, with S' = v x S."""
    cx, cy, dx, dy = joint_bias(axis, vel, i, 1.0)
    f = inertia_times(inertia, i, cx, cy, 0.0, dx, dy, 0.0)
    if axis == REVOLUTE_AXIS:
        column = (f[0] - B[i, 1], f[1] + B[i, 0], f[2], f[3] + B[i, 5], f[4] + B[i, 8], f[5] + B[i, 11])
        return column, (0.0, 0.0, 0.0, B[i, 9], B[i, 10], B[i, 11])
    return f, (0.0, 0.0, 0.0, B[i, 1], -B[i, 0], 0.0)


@helper
def along_rate(axis: int, j: int, vel: Array, f: Scalars6) -> float:
    """S'^T f of joint j."""
    cx, cy, dx, dy = joint_bias(axis, vel, j, 1.0)
    return cx * f[0] + cy * f[1] + dx * f[3] + dy * f[4]


@helper
def up(pose: Array, i: int, f: Scalars6) -> Scalars6:
    """Force on body i in its parent."""
    return force_to_parent(pose, i, f[0], f[1], f[2], f[3], f[4], f[5])


@helper
def coriolis_state(tree: Tree, q: Array, qd: Array, work: Work, C: Array) -> None:
    """C(q, qd) for one state; C is (n, n), zero on entry or from another state of the tree."""
    pose, vel, composite, B = work
    n = q.shape[0]
    fill(vel, 0, 0.0)
    for i in range(1, n + 1):
        place(tree, i, q[i - 1], pose)
        body_velocity(tree, i, pose, qd[i - 1], vel)
        body_factor(tree.inertia, i, vel, B)
        copy_row(tree.inertia, i, composite)
    for i in range(n, 0, -1):
        axis, j = tree.axis[i], i
        f1, f3 = joint_forces(axis, i, vel, composite, B)
        f2 = inertia_column(composite, i, axis)
        C[i - 1, i - 1] = along(axis, f1)
        while tree.parent[j] > 0:
            f1, f2, f3 = up(pose, j, f1), up(pose, j, f2), up(pose, j, f3)
            j = tree.parent[j]
            C[j - 1, i - 1] = along(tree.axis[j], f1)
            C[i - 1, j - 1] = along_rate(tree.axis[j], j, vel, f2) + along(tree.axis[j], f3)
        if tree.parent[i] > 0:
            add_rigid_to_parent(pose, i, composite, tree.parent[i])
            add_factor_to_parent(pose, i, B, tree.parent[i])


@kernel
def coriolis_batch(tree: Tree, q: Array, qd: Array, C: Array) -> None:
    """``coriolis_state`` for N states: q, qd (N, n), C (N, n, n), zero on entry."""
    work = workspace(q.shape[1])
    for k in range(q.shape[0]):
        coriolis_state(tree, q[k], qd[k], work, C[k])
