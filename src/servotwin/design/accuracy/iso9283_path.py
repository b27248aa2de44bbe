r"""The quantities of ISO 9283 that are measured on a path: accuracy and repeatability, speed, corners.

Attained paths :math:`p_j(t)`, j = 1 .. n, are cut with planes normal to the commanded path at its points
:math:`p_{ci}`; with the crossings :math:`p_{ij}` of plane i

.. math:: AT = \max_i \lVert \bar p_i - p_{ci} \rVert, \quad
          RT = \max_i (\bar l_i + 3 S_{l,i})                                                (eq:path-accuracy)

Theory: docs/theory/accuracy.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from servotwin.design.accuracy.iso9283 import (
    mean_rotation,
    orientation_accuracy,
    position_repeatability,
    rotation_vectors,
)
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.rotations import turned


@dataclass(frozen=True)
class Planes:
    """Points (m, 3) [m] of a commanded path, its unit tangents there (m, 3), and orientations (m, 3, 3)."""

    points: Array
    tangents: Array
    orientations: Array

    @classmethod
    def of_line(cls, begin: Array, end: Array, count: int) -> Planes:
        """``count`` planes, evenly spaced strictly within the line between two poses (4, 4) of one orientation."""
        part = (np.arange(count) + 0.5) / count
        along = end[:3, 3] - begin[:3, 3]
        points = begin[:3, 3] + part[:, None] * along
        tangents = np.tile(along / np.linalg.norm(along), (count, 1))
        return cls(points, tangents, np.tile(begin[:3, :3], (count, 1, 1)))


@dataclass(frozen=True)
class PathCharacteristics:
    """AT and RT [m] of eq:path-accuracy, the same about x, y, z [rad], and both in every plane."""

    accuracy: float
    repeatability: float
    orientation_accuracy: Array  # (3,)
    orientation_repeatability: Array  # (3,)
    deviation: Array  # (m, 3): mean crossing less commanded point
    spread: Array  # (m,): l + 3 S


def crossing(path: Array, turns: Array, point: Array, tangent: Array) -> tuple[Array, Array]:
    """Where a path (k, 3) crosses the plane through ``point`` normal to ``tangent``, forwards; and its turn there.

    ``turns`` (k, 3): rotation vectors of the orientations from the commanded one. Of several crossings the one
    nearest to the point.
    """
    s = (path - point) @ tangent
    steps = np.flatnonzero((s[:-1] <= 0.0) & (s[1:] > 0.0))
    if not len(steps):
        raise InputError("a path does not cross a plane normal to the commanded one")
    part = -s[steps] / (s[steps + 1] - s[steps])
    places = path[steps] + part[:, None] * (path[steps + 1] - path[steps])
    k = int(np.argmin(np.linalg.norm(places - point, axis=1)))
    i = steps[k]
    return places[k], np.asarray(turns[i] + part[k] * (turns[i + 1] - turns[i]))


def path_characteristics(
    paths: Sequence[Array], orientations: Sequence[Array], planes: Planes
) -> PathCharacteristics:
    """AT and RT from attained paths (k_j, 3) [m] with their orientations (k_j, 3, 3)."""
    if len(paths) < 2:
        raise InputError(f"{len(paths)} attained paths; expected at least 2")
    deviation, spread, mean_turn, turn_spread = [], [], [], []
    for point, tangent, R_c in zip(planes.points, planes.tangents, planes.orientations, strict=True):
        cut = [
            crossing(path, rotation_vectors(R @ R_c.T), point, tangent)
            for path, R in zip(paths, orientations, strict=True)
        ]
        places = np.stack([place for place, _ in cut])
        R_cut = turned(np.stack([turn for _, turn in cut])) @ R_c
        deviation.append(places.mean(axis=0) - point)
        spread.append(position_repeatability(places))
        mean_turn.append(orientation_accuracy(R_cut, R_c))
        turn_spread.append(3.0 * rotation_vectors(R_cut @ mean_rotation(R_cut).T).std(axis=0, ddof=1))
    d = np.stack(deviation)
    return PathCharacteristics(
        float(np.linalg.norm(d, axis=1).max()),  # eq:path-accuracy
        float(np.max(spread)),
        np.abs(mean_turn).max(axis=0),
        np.max(turn_spread, axis=0),
        d,
        np.asarray(spread),
    )


@dataclass(frozen=True)
class VelocityCharacteristics:
    """AV and RV as parts of the commanded speed, FV [m/s], of eq:path-velocity."""

    accuracy: float
    repeatability: float
    fluctuation: float


def velocity_characteristics(speeds: Sequence[ArrayLike], v_c: float) -> VelocityCharacteristics:
    r"""Of speeds (k_j,) [m/s] along a path within the part that is measured, one array for each cycle.

    .. math:: AV = \frac{\bar v - v_c}{v_c}, \quad RV = \frac{3\,S(\bar v_j)}{v_c}, \quad
              FV = \max_j (\max_i v_{ij} - \min_i v_{ij})                                  (eq:path-velocity)
    """
    if len(speeds) < 2:
        raise InputError(f"{len(speeds)} cycles; expected at least 2")
    rows = [np.asarray(v, dtype=np.float64) for v in speeds]
    means = np.array([v.mean() for v in rows])
    return VelocityCharacteristics(
        float((means.mean() - v_c) / v_c),
        float(3.0 * means.std(ddof=1) / v_c),
        max(float(v.max() - v.min()) for v in rows),
    )  # eq:path-velocity


@dataclass(frozen=True)
class Cornering:
    """CR: least distance [m] from the corner to the path; CO: largest deviation [m] beyond the second leg."""

    round_off: float
    overshoot: float


def cornering(path: ArrayLike, before: ArrayLike, corner: ArrayLike, after: ArrayLike) -> Cornering:
    r"""A path (k, 3) about the ``corner`` (3,) of two legs, from ``before`` to it and on to ``after``.

    With :math:`u_2` along the second leg and n normal to it in the plane of both legs, along the first leg's sense,

    .. math:: CR = \min_t \lVert p - p_e \rVert, \quad CO = \max_t\,(0, (p - p_e) \cdot n)        (eq:cornering)
    """
    p, a, e, b = (np.asarray(x, dtype=np.float64) for x in (path, before, corner, after))
    u_2 = (b - e) / np.linalg.norm(b - e)
    n = (e - a) - ((e - a) @ u_2) * u_2
    if np.linalg.norm(n) < 1e-9 * np.linalg.norm(e - a):
        raise InputError("the legs of the corner are in line; expected an angle between them")
    n = n / np.linalg.norm(n)
    least = np.linalg.norm(_nearest_on(p, e) - e)
    return Cornering(float(least), float(max(0.0, ((p - e) @ n).max())))  # eq:cornering


def _nearest_on(path: Array, point: Array) -> Array:
    """The point (3,) of a polygon (k, 3) that is nearest to a point."""
    a, b = path[:-1], path[1:]
    edge = b - a
    length = np.einsum("ij,ij->i", edge, edge)
    part = np.einsum("ij,ij->i", point - a, edge) / np.where(length > 0.0, length, 1.0)
    places = a + np.clip(part, 0.0, 1.0)[:, None] * edge
    return np.asarray(places[int(np.argmin(np.linalg.norm(places - point, axis=1)))])
