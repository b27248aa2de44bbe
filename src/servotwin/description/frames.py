"""Rotations and placements as 4x4 arrays, and the frames that an axis defines.

``X_a_b`` maps coordinates of frame b to frame a. Angles whose sine or cosine
is zero up to rounding give exact zeros and ones, so that zeros of a mechanism
stay zeros in its equations.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from servotwin.description.schema import Axis, Placement

Array = NDArray[np.float64]
SNAP = 1e-11


def cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine; exact where one of them vanishes."""
    c, s = math.cos(angle), math.sin(angle)
    if abs(s) < SNAP:
        return math.copysign(1.0, c), 0.0
    if abs(c) < SNAP:
        return 0.0, math.copysign(1.0, s)
    return c, s


def rot_x(angle: float) -> Array:
    """Rotation about x, 3x3."""
    c, s = cos_sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rot_y(angle: float) -> Array:
    """Rotation about y, 3x3."""
    c, s = cos_sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rot_z(angle: float) -> Array:
    """Rotation about z, 3x3."""
    c, s = cos_sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rot_rpy(rpy: tuple[float, float, float]) -> Array:
    """Rz(yaw) Ry(pitch) Rx(roll), 3x3, for (roll, pitch, yaw)."""
    roll, pitch, yaw = rpy
    return snapped(rot_z(yaw) @ rot_y(pitch) @ rot_x(roll))


def snapped(R: Array) -> Array:
    """The rotation with entries that are 0 or +-1 up to rounding made exact."""
    # nine numbers: quicker one by one than as arrays
    rows = [[0.0 if abs(x) < SNAP else x for x in row] for row in R.tolist()]
    columns = list(zip(*rows, strict=True))
    for row in rows:
        for j, x in enumerate(row):
            # an entry close to 1 is 1 only if the rest of its row and column has vanished
            if abs(abs(x) - 1.0) < SNAP and row.count(0.0) == columns[j].count(0.0) == 2:
                row[j] = math.copysign(1.0, x)
    return np.array(rows)


def transform(R: Array | None = None, p: tuple[float, float, float] | Array = (0.0, 0.0, 0.0)) -> Array:
    """The 4x4 placement with rotation R (default none) and position p."""
    X = np.eye(4)
    if R is not None:
        X[:3, :3] = R
    X[:3, 3] = p
    return X


def chain(*placements: Array) -> Array:
    """The product of placements, rotation entries snapped."""
    X = placements[0]
    for Y in placements[1:]:
        X = X @ Y
    X[:3, :3] = snapped(X[:3, :3])
    return X


def placement(place: Placement) -> Array:
    """X_parent_frame of an xyz/rpy placement."""
    return transform(rot_rpy(place.rpy), place.xyz)


def joint_frame(axis: Axis) -> Array:
    """X_parentlink_joint at q = 0: the joint frame in the link frame of the parent.

    For standard DH the joint frame stands after the motion and its offset:
    after Rz(theta + q) of a revolute, after Rz(theta) Tz(d + q) of a prismatic
    joint. For modified DH and origin it is the link frame itself.
    """
    if axis.dh is not None:
        d = axis.dh.d if axis.prismatic else 0.0
        return transform(rot_z(axis.dh.theta), (0.0, 0.0, d))
    if axis.mdh is not None:
        row = axis.mdh
        before = transform(rot_x(row.alpha), (row.a, 0.0, 0.0))
        return chain(before, transform(rot_z(row.theta), (0.0, 0.0, row.d)))
    return placement(axis.origin) if axis.origin is not None else np.eye(4)


def link_frame(axis: Axis) -> Array:
    """X_joint_link: the link frame in the joint frame, both moving with the link."""
    if axis.dh is None:
        return np.eye(4)
    d = 0.0 if axis.prismatic else axis.dh.d
    return transform(rot_x(axis.dh.alpha), (axis.dh.a, 0.0, d))


def joint_direction(axis: Axis) -> Array:
    """Unit vector of positive motion in the joint frame, shape (3,)."""
    if axis.axis is None:
        return np.array([0.0, 0.0, float(axis.direction)])
    direction = np.array(axis.axis, dtype=np.float64)
    direction /= np.abs(direction).max()
    return np.asarray(direction / np.linalg.norm(direction))
