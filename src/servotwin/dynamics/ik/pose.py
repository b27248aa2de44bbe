"""Poses: the check of what comes in, turns, and the difference of two poses."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import InputError, ShapeError
from servotwin.mechanism.model import Array

NEARLY = 1e-9  # deviation whose square is below the last digit
RIGID = 1e-6  # largest deviation of a given rotation matrix from orthonormality
POSITION_ALONE = "; mask the orientation to ask for the position alone"  # advice to who calls ikine


NOT_RIGID = (
    "the pose is not a rigid transform: its upper left 3 x 3 block must be a rotation matrix "
    "and its last row 0 0 0 1"
)


def checked_poses(T: ArrayLike) -> Array:
    """Finite homogeneous transforms of shape (..., 4, 4) with their rotations made exactly orthonormal."""
    try:
        poses = np.array(T, dtype=np.float64)
    except (ValueError, TypeError):
        raise ShapeError("a pose is a 4 x 4 matrix of real numbers") from None
    if poses.ndim < 2 or poses.shape[-2:] != (4, 4):
        raise ShapeError(f"a pose is a 4 x 4 matrix, got an array of shape {poses.shape}")
    if not np.all(np.isfinite(poses)):
        raise InputError("the pose has entries that are not finite numbers")
    if poses.ndim == 2:
        return _checked_pose(poses)
    R = poses[..., :3, :3]
    skewness = np.abs(np.swapaxes(R, -1, -2) @ R - np.eye(3)).max(initial=0.0)
    bottom = np.abs(poses[..., 3, :] - np.array([0.0, 0.0, 0.0, 1.0])).max(initial=0.0)
    if skewness > RIGID or bottom > RIGID or np.any(np.linalg.det(R) < 0.0):
        raise InputError(NOT_RIGID)
    for _ in range(
        2 if skewness > NEARLY else 1
    ):  # Newton's method for the nearest rotation squares the error
        R = 0.5 * (3.0 * R - R @ (np.swapaxes(R, -1, -2) @ R))
    poses[..., :3, :3] = R
    poses[..., 3, :] = (0.0, 0.0, 0.0, 1.0)
    return poses


def _checked_pose(pose: Array) -> Array:
    """``checked_poses`` of one finite pose (4, 4), by its numbers: several times as fast as by arrays."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z), (u, v, w, one) = pose.tolist()
    bottom = max(abs(u), abs(v), abs(w), abs(one - 1.0))
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    for step in range(2):  # Newton's method for the nearest rotation squares the error
        aa, ab, ac = a * a + d * d + g * g, a * b + d * e + g * h, a * c + d * f + g * i
        bb, bc, cc = b * b + e * e + h * h, b * c + e * f + h * i, c * c + f * f + i * i
        skewness = max(abs(aa - 1.0), abs(bb - 1.0), abs(cc - 1.0), abs(ab), abs(ac), abs(bc))
        if step == 0 and (skewness > RIGID or bottom > RIGID or determinant < 0.0):
            raise InputError(NOT_RIGID)
        last = skewness <= NEARLY
        a, b, c = (
            0.5 * (3.0 * a - (a * aa + b * ab + c * ac)),
            0.5 * (3.0 * b - (a * ab + b * bb + c * bc)),
            0.5 * (3.0 * c - (a * ac + b * bc + c * cc)),
        )
        d, e, f = (
            0.5 * (3.0 * d - (d * aa + e * ab + f * ac)),
            0.5 * (3.0 * e - (d * ab + e * bb + f * bc)),
            0.5 * (3.0 * f - (d * ac + e * bc + f * cc)),
        )
        g, h, i = (
            0.5 * (3.0 * g - (g * aa + h * ab + i * ac)),
            0.5 * (3.0 * h - (g * ab + h * bb + i * bc)),
            0.5 * (3.0 * i - (g * ac + h * bc + i * cc)),
        )
        if last:
            break
    return np.array([[a, b, c, x], [d, e, f, y], [g, h, i, z], [0.0, 0.0, 0.0, 1.0]])


def cross(a: Array, b: Array) -> Array:
    """Cross product of two vectors (3,); several times as fast as the general one of numpy."""
    a0, a1, a2 = a.tolist()
    b0, b1, b2 = b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def rotation(u: Array, angle: float) -> Array:
    """Turn about the unit vector u, (3, 3) (Rodrigues' formula)."""
    c, s = math.cos(angle), math.sin(angle)
    x, y, z = u.tolist()
    v = 1.0 - c
    return np.array(
        [
            [c + v * x * x, v * x * y - s * z, v * x * z + s * y],
            [v * x * y + s * z, c + v * y * y, v * y * z - s * x],
            [v * x * z - s * y, v * y * z + s * x, c + v * z * z],
        ]
    )


def rotation_vector(R: Array) -> Array:
    """Axis times angle of a turn, (3,), angle in 0 .. pi; accurate at both ends."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R.tolist()
    x, y, z = 0.5 * (zy - yz), 0.5 * (xz - zx), 0.5 * (yx - xy)
    axis = np.array([x, y, z])
    sine, cosine = math.sqrt(x * x + y * y + z * z), 0.5 * (xx + yy + zz - 1.0)
    angle = math.atan2(sine, cosine)
    if sine > 1e-6 or cosine > 0.0:
        return axis * (angle / sine) if sine > 0.0 else axis
    # Near half a turn the antisymmetric part vanishes; the symmetric part is 2 a a^T - I.
    outer = 0.5 * (R + R.T) + np.eye(3)
    k = int(np.argmax(np.diag(outer)))
    direction = outer[:, k] / np.linalg.norm(outer[:, k])
    return np.asarray(angle * direction * (-1.0 if direction @ axis < 0.0 else 1.0), dtype=np.float64)


def pose_error(T: Array, X: Array) -> Array:
    """From pose X to pose T: shift [m] and rotation vector [rad] in base axes, (6,)."""
    return np.concatenate([T[:3, 3] - X[:3, 3], rotation_vector(T[:3, :3] @ X[:3, :3].T)])


def turn_errors(R_goal: Array, R: Array) -> Array:
    """Small rotation vectors (k, 3) in base axes from R to R_goal (k, 3, 3); sin(angle) long, for Newton steps."""
    E = R_goal @ R.swapaxes(-1, -2)
    out = np.empty((E.shape[0], 3))
    out[:, 0], out[:, 1], out[:, 2] = (
        E[:, 2, 1] - E[:, 1, 2],
        E[:, 0, 2] - E[:, 2, 0],
        E[:, 1, 0] - E[:, 0, 1],
    )
    return 0.5 * out
