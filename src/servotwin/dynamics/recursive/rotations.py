"""Rotations of 3 x 3 matrices that are kept as scalars: symmetric (6 numbers) and general (9 numbers)."""

from __future__ import annotations

from servotwin.compiled.jit import helper
from servotwin.dynamics.recursive.common import Scalars6, Scalars9, rotate
from servotwin.mechanism.model import Array


@helper
def rotate_symmetric(
    pose: Array, i: int, xx: float, xy: float, yy: float, xz: float, yz: float, zz: float
) -> Scalars6:
    """R A R^T of a symmetric A; entries in the order xx xy yy xz yz zz."""
    ax, bx, cx = rotate(pose, i, xx, xy, xz)  # columns of R A
    ay, by, cy = rotate(pose, i, xy, yy, yz)
    az, bz, cz = rotate(pose, i, xz, yz, zz)
    r = pose
    return (
        ax * r[i, 0] + ay * r[i, 1] + az * r[i, 2],
        ax * r[i, 3] + ay * r[i, 4] + az * r[i, 5],
        bx * r[i, 3] + by * r[i, 4] + bz * r[i, 5],
        ax * r[i, 6] + ay * r[i, 7] + az * r[i, 8],
        bx * r[i, 6] + by * r[i, 7] + bz * r[i, 8],
        cx * r[i, 6] + cy * r[i, 7] + cz * r[i, 8],
    )


@helper
def rotate_general(pose: Array, i: int, rows: Array, k: int) -> Scalars9:
    """R A R^T of the 3 x 3 matrix that starts at column k of row i; row by row."""
    ax, bx, cx = rotate(pose, i, rows[i, k], rows[i, k + 3], rows[i, k + 6])  # columns of R A
    ay, by, cy = rotate(pose, i, rows[i, k + 1], rows[i, k + 4], rows[i, k + 7])
    az, bz, cz = rotate(pose, i, rows[i, k + 2], rows[i, k + 5], rows[i, k + 8])
    axx, axy, axz = rotate(pose, i, ax, ay, az)  # rows of (R A) R^T
    ayx, ayy, ayz = rotate(pose, i, bx, by, bz)
    azx, azy, azz = rotate(pose, i, cx, cy, cz)
    return axx, axy, axz, ayx, ayy, ayz, azx, azy, azz


@helper
def add_rigid_to_parent(pose: Array, i: int, inertia: Array, p: int) -> None:
    """Add rigid inertia row i, carried over to the parent, to row p.

    With h rotated into the parent: I_p = R I R^T + 2 (p.h) 1 - p h^T - h p^T + m (p.p 1 - p p^T).
    """
    m, x, y, z = inertia[i, 0], pose[i, 9], pose[i, 10], pose[i, 11]
    hx, hy, hz = rotate(pose, i, inertia[i, 1], inertia[i, 2], inertia[i, 3])
    xx, xy, yy, xz, yz, zz = rotate_symmetric(
        pose, i, inertia[i, 4], inertia[i, 5], inertia[i, 6], inertia[i, 7], inertia[i, 8], inertia[i, 9]
    )
    gx, gy, gz = hx + m * x, hy + m * y, hz + m * z  # first moment about the parent's origin
    px, py, pz = x * (gx + hx), y * (gy + hy), z * (gz + hz)
    inertia[p, 0] += m
    inertia[p, 1] += gx
    inertia[p, 2] += gy
    inertia[p, 3] += gz
    inertia[p, 4] += xx + py + pz
    inertia[p, 5] += xy - x * gy - y * hx
    inertia[p, 6] += yy + px + pz
    inertia[p, 7] += xz - x * gz - z * hx
    inertia[p, 8] += yz - y * gz - z * hy
    inertia[p, 9] += zz + px + py
