r"""Rotations, placements and inertial parameters of rigid bodies, as small numpy arrays.

Placements ``X_a_b`` (4x4) map coordinates of frame b to frame a. Inertial
parameters ``phi`` (10,) are mass, first moments and the inertia about the
frame's origin, in the order of ``model.PARAMETERS``.
"""

from __future__ import annotations

import numpy as np

from servotwin.description.frames import (
    SNAP,
    chain,
    placement,
    rot_rpy,
    rot_x,
    rot_y,
    rot_z,
    snapped,
    transform,
)
from servotwin.mechanism.model import Array

__all__ = [
    "add_payload",
    "chain",
    "inertia_tensor",
    "inverse",
    "mass_center_inertia",
    "parallel_axis",
    "phi_from",
    "placement",
    "rot_rpy",
    "rot_x",
    "rot_y",
    "rot_z",
    "rotation_from_z",
    "snapped",
    "transform",
    "transform_phi",
]

_ROWS, _COLUMNS = np.array([0, 0, 1, 0, 1, 2]), np.array([0, 1, 1, 2, 2, 2])


def inverse(X: Array) -> Array:
    """X_b_a of X_a_b."""
    R = X[:3, :3]
    return transform(R.T, -R.T @ X[:3, 3])


def rotation_from_z(direction: Array) -> Array:
    """The rotation (3, 3) whose z column is the unit vector ``direction`` (3,).

    Coordinate axes give signed permutations, exact to the bit; any other
    direction the smallest rotation that turns z (or -z, if that is nearer) into it.
    """
    a = np.where(np.abs(direction) < SNAP, 0.0, direction)
    if np.count_nonzero(a) == 1:
        return _signed_permutation(int(np.flatnonzero(a)[0]), float(np.sign(a[a != 0.0][0])))
    if a[2] < 0.0:
        flip = np.diag([1.0, -1.0, -1.0])
        return np.asarray(flip @ _smallest_rotation(flip @ a))
    return _smallest_rotation(a)


def _signed_permutation(axis: int, sign: float) -> Array:
    """x, y, z of the frame on the axes after ``axis``; with sign -1, turned half about its x."""
    R = np.zeros((3, 3))
    R[axis, 2] = sign
    R[(axis + 1) % 3, 0] = 1.0
    R[(axis + 2) % 3, 1] = sign
    return R


def _smallest_rotation(a: Array) -> Array:
    """Rodrigues' formula for the turn of z into a, with a_z >= 0."""
    v = np.array([-a[1], a[0], 0.0])  # z x a
    V = skew(v)
    return np.asarray(np.eye(3) + V + V @ V / (1.0 + a[2]))


def skew(v: Array) -> Array:
    """The matrix (3, 3) of the cross product v x."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def parallel_axis(mass: float, r: Array) -> Array:
    r"""What a shift r (3,) adds to an inertia about the mass centre: :math:`m (|r|^2 E - r r^T)`."""
    return np.asarray(mass * (r @ r * np.eye(3) - np.outer(r, r)))


def phi_from(mass: float, center: Array, inertia: Array) -> Array:
    """Parameters (10,) of a body with ``mass`` [kg], ``center`` (3,) [m] and ``inertia`` (3, 3) about it."""
    c = np.asarray(center, dtype=np.float64)
    I = np.asarray(inertia, dtype=np.float64) + parallel_axis(mass, c)
    return np.concatenate(([mass], mass * c, I[_ROWS, _COLUMNS]))


def inertia_tensor(phi: Array) -> Array:
    """The inertia (3, 3) about the frame's origin."""
    I = np.empty((3, 3))
    I[_ROWS, _COLUMNS] = phi[4:]
    I[_COLUMNS, _ROWS] = phi[4:]
    return I


def mass_center_inertia(phi: Array) -> tuple[float, Array, Array]:
    """Mass, mass centre (3,) and inertia about it (3, 3); a massless body has its centre at the origin."""
    mass = float(phi[0])
    center = phi[1:4] / mass if mass else np.zeros(3)
    return mass, center, inertia_tensor(phi) - parallel_axis(mass, center)


def transform_phi(X: Array, phi: Array) -> Array:
    r"""The parameters in frame a of a body whose parameters in frame b are ``phi``; X is X_a_b.

    .. math:: I_a = R I_b R^T + 2 (p \cdot R h) E - p (R h)^T - (R h) p^T + m (|p|^2 E - p p^T)

    with h the first moments in frame b.
    """
    R, p = X[:3, :3], X[:3, 3]
    mass = float(phi[0])
    h = R @ phi[1:4]
    cross = np.outer(p, h)
    I = R @ inertia_tensor(phi) @ R.T + 2.0 * (p @ h) * np.eye(3) - cross - cross.T + parallel_axis(mass, p)
    return np.concatenate(([mass], h + mass * p, I[_ROWS, _COLUMNS]))


def add_payload(phi: Array, X_body_tool: Array, mass: float, center: Array, inertia: Array) -> Array:
    """``phi`` of a body that also carries a payload given in the tool frame."""
    return np.asarray(phi + transform_phi(X_body_tool, phi_from(mass, center, inertia)))
