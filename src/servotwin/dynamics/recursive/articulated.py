"""Articulated-body inertias: how ABA and hybrid dynamics keep, reduce and carry them (RBDA, chapter 7).

An articulated inertia is a symmetric 6 x 6 matrix in three blocks,
``f = A v + H w`` and ``n = H^T v + J w``, kept as a row of 21 numbers:
A (xx xy yy xz yz zz), H (row by row), J (xx xy yy xz yz zz).
"""

from __future__ import annotations

from servotwin.compiled.jit import helper
from servotwin.dynamics.recursive.common import REVOLUTE_AXIS, Scalars6, cross
from servotwin.dynamics.recursive.rotations import rotate_general, rotate_symmetric
from servotwin.mechanism.model import Array

ARTICULATED = 21
H_BLOCK, J_BLOCK = 6, 15


@helper
def start_from_rigid(inertia: Array, i: int, art: Array) -> None:
    """Articulated row i = rigid inertia of body i alone: A = m 1, H = -[h x], J = I."""
    m, hx, hy, hz = inertia[i, 0], inertia[i, 1], inertia[i, 2], inertia[i, 3]
    for k in range(J_BLOCK):
        art[i, k] = 0.0
    art[i, 0] = art[i, 2] = art[i, 5] = m
    art[i, 7], art[i, 8] = hz, -hy
    art[i, 9], art[i, 11] = -hz, hx
    art[i, 12], art[i, 13] = hy, -hx
    for k in range(6):
        art[i, J_BLOCK + k] = inertia[i, 4 + k]


@helper
def column_of_joint(art: Array, i: int, axis: int, U: Array) -> None:
    """U = I^A S, a column of the articulated inertia, to row i of U."""
    if axis == REVOLUTE_AXIS:
        U[i, 0], U[i, 1], U[i, 2] = art[i, 8], art[i, 11], art[i, 14]
        U[i, 3], U[i, 4], U[i, 5] = art[i, 18], art[i, 19], art[i, 20]
    else:
        U[i, 0], U[i, 1], U[i, 2] = art[i, 3], art[i, 4], art[i, 5]
        U[i, 3], U[i, 4], U[i, 5] = art[i, 12], art[i, 13], art[i, 14]


@helper
def reduce_by_joint(art: Array, i: int, U: Array, d_inverse: float) -> None:
    """I^a = I^A - U U^T / D: what the parent feels through a joint of given torque."""
    a, b, c = U[i, 0] * d_inverse, U[i, 1] * d_inverse, U[i, 2] * d_inverse
    d, e, f = U[i, 3] * d_inverse, U[i, 4] * d_inverse, U[i, 5] * d_inverse
    art[i, 0] -= a * U[i, 0]
    art[i, 1] -= a * U[i, 1]
    art[i, 2] -= b * U[i, 1]
    art[i, 3] -= a * U[i, 2]
    art[i, 4] -= b * U[i, 2]
    art[i, 5] -= c * U[i, 2]
    for k in range(3):
        art[i, H_BLOCK + k] -= a * U[i, 3 + k]
        art[i, H_BLOCK + 3 + k] -= b * U[i, 3 + k]
        art[i, H_BLOCK + 6 + k] -= c * U[i, 3 + k]
    art[i, 15] -= d * U[i, 3]
    art[i, 16] -= d * U[i, 4]
    art[i, 17] -= e * U[i, 4]
    art[i, 18] -= d * U[i, 5]
    art[i, 19] -= e * U[i, 5]
    art[i, 20] -= f * U[i, 5]


@helper
def articulated_times(
    art: Array, i: int, vx: float, vy: float, vz: float, wx: float, wy: float, wz: float
) -> Scalars6:
    """I^A times a motion."""
    return (
        art[i, 0] * vx + art[i, 1] * vy + art[i, 3] * vz + art[i, 6] * wx + art[i, 7] * wy + art[i, 8] * wz,
        art[i, 1] * vx + art[i, 2] * vy + art[i, 4] * vz + art[i, 9] * wx + art[i, 10] * wy + art[i, 11] * wz,
        art[i, 3] * vx
        + art[i, 4] * vy
        + art[i, 5] * vz
        + art[i, 12] * wx
        + art[i, 13] * wy
        + art[i, 14] * wz,
        art[i, 6] * vx
        + art[i, 9] * vy
        + art[i, 12] * vz
        + art[i, 15] * wx
        + art[i, 16] * wy
        + art[i, 18] * wz,
        art[i, 7] * vx
        + art[i, 10] * vy
        + art[i, 13] * vz
        + art[i, 16] * wx
        + art[i, 17] * wy
        + art[i, 19] * wz,
        art[i, 8] * vx
        + art[i, 11] * vy
        + art[i, 14] * vz
        + art[i, 18] * wx
        + art[i, 19] * wy
        + art[i, 20] * wz,
    )


@helper
def add_articulated_to_parent(pose: Array, i: int, art: Array, p: int) -> None:
    """Add articulated row i, carried over to the parent, to row p.

     With rotated blocks and P = [p x]: A_p = A, H_p = H - A P, J_p = J + P H_p + (P H)^T
    .
    """
    x, y, z = pose[i, 9], pose[i, 10], pose[i, 11]
    axx, axy, ayy, axz, ayz, azz = rotate_symmetric(
        pose, i, art[i, 0], art[i, 1], art[i, 2], art[i, 3], art[i, 4], art[i, 5]
    )
    hxx, hxy, hxz, hyx, hyy, hyz, hzx, hzy, hzz = rotate_general(pose, i, art, H_BLOCK)
    jxx, jxy, jyy, jxz, jyz, jzz = rotate_symmetric(
        pose, i, art[i, 15], art[i, 16], art[i, 17], art[i, 18], art[i, 19], art[i, 20]
    )
    ux, uy, uz = cross(x, y, z, axx, axy, axz)  # rows of -A P
    vx, vy, vz = cross(x, y, z, axy, ayy, ayz)
    wx, wy, wz = cross(x, y, z, axz, ayz, azz)
    gxx, gxy, gxz = hxx + ux, hxy + uy, hxz + uz  # H_p
    gyx, gyy, gyz = hyx + vx, hyy + vy, hyz + vz
    gzx, gzy, gzz = hzx + wx, hzy + wy, hzz + wz
    art[p, 0] += axx
    art[p, 1] += axy
    art[p, 2] += ayy
    art[p, 3] += axz
    art[p, 4] += ayz
    art[p, 5] += azz
    art[p, 6] += gxx
    art[p, 7] += gxy
    art[p, 8] += gxz
    art[p, 9] += gyx
    art[p, 10] += gyy
    art[p, 11] += gyz
    art[p, 12] += gzx
    art[p, 13] += gzy
    art[p, 14] += gzz
    art[p, 15] += jxx + y * (gzx + hzx) - z * (gyx + hyx)
    art[p, 16] += jxy + y * gzy - z * gyy + z * hxx - x * hzx
    art[p, 17] += jyy + z * (gxy + hxy) - x * (gzy + hzy)
    art[p, 18] += jxz + y * gzz - z * gyz + x * hyx - y * hxx
    art[p, 19] += jyz + z * gxz - x * gzz + x * hyy - y * hxy
    art[p, 20] += jzz + x * (gyz + hyz) - y * (gxz + hxz)
