r"""The quantities of ISO 9283 that are measured at poses, as formulas of attained and commanded poses.

From attained positions :math:`p_j`, j = 1 .. n, and the commanded one :math:`p_c`:

.. math:: AP = \lVert \bar p - p_c \rVert                                                 (eq:pose-accuracy)
.. math:: l_j = \lVert p_j - \bar p \rVert, \quad RP = \bar l + 3 S_l, \quad
          S_l^2 = \sum (l_j - \bar l)^2 / (n - 1)                               (eq:pose-repeatability)

Theory: docs/theory/accuracy.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.display import MM
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.rotations import turned

LEAST = 2  # cycles from which a spread exists
MEAN_ROUNDS = 50  # of the geodesic mean; each multiplies its error by the square of the spread
MEAN_CLOSE = 1e-15  # rad


def checked_cloud(p: ArrayLike, least: int = LEAST) -> Array:
    """Positions (n, 3), at least ``least`` of them and all finite."""
    cloud = np.asarray(p, dtype=np.float64)
    if cloud.ndim != 2 or cloud.shape[1] != 3 or not np.isfinite(cloud).all():
        raise InputError(f"positions of shape {cloud.shape}; expected (n, 3), finite")
    if len(cloud) < least:
        raise InputError(f"{len(cloud)} attained positions; expected at least {least}")
    return cloud


def position_accuracy(p: ArrayLike, p_c: ArrayLike) -> Array:
    """Components (3,) of the mean position error [m]; their norm is AP of eq:pose-accuracy."""
    return np.asarray(checked_cloud(p, 1).mean(axis=0) - np.asarray(p_c))  # eq:pose-accuracy


def position_repeatability(p: ArrayLike) -> float:
    """RP of eq:pose-repeatability [m].

    >>> round(position_repeatability([[1e-3, 0.0, 0.0], [-1e-3, 0.0, 0.0]]), 9)
    0.001
    """
    cloud = checked_cloud(p)
    distance = np.linalg.norm(cloud - cloud.mean(axis=0), axis=1)
    return float(distance.mean() + 3.0 * distance.std(ddof=1))  # eq:pose-repeatability


def rotation_vectors(R: Array) -> Array:
    """Rotation vectors (n, 3) [rad] of rotations (n, 3, 3), with angles up to pi."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(R).as_rotvec())


def mean_rotation(R: Array) -> Array:
    r"""The geodesic mean (3, 3) of rotations (n, 3, 3): the one about which their rotation vectors have no mean.

    .. math:: \sum_j \log(R_j \bar R^T) = 0                                                  (eq:mean-rotation)

    It knows no wrap of angles. Defined where all rotations are within a right angle of the mean.
    """
    mean = R[0]
    for _ in range(MEAN_ROUNDS):
        step = rotation_vectors(R @ mean.T).mean(axis=0)
        mean = turned(step) @ mean  # eq:mean-rotation
        if float(np.linalg.norm(step)) < MEAN_CLOSE:
            break
    return np.asarray(mean)


def orientation_accuracy(R: Array, R_c: Array) -> Array:
    r"""Turn (3,) [rad] about the base's x, y, z from the commanded orientation to the mean one.

    .. math:: AP_{abc} = \log(\bar R R_c^T)                                           (eq:orientation-accuracy)
    """
    return np.asarray(rotation_vectors((mean_rotation(R) @ R_c.T)[None])[0])  # eq:orientation-accuracy


def orientation_repeatability(R: Array) -> Array:
    r"""Three standard deviations (3,) [rad] of the turns about the base's x, y, z from the mean orientation.

    .. math:: RP_{abc} = 3\, S(\log(R_j \bar R^T))                               (eq:orientation-repeatability)
    """
    if len(R) < LEAST:
        raise InputError(f"{len(R)} attained orientations; expected at least {LEAST}")
    turns = rotation_vectors(R @ mean_rotation(R).T)
    return np.asarray(3.0 * turns.std(axis=0, ddof=1))  # eq:orientation-repeatability


def multidirectional_variation(clouds: Sequence[ArrayLike]) -> float:
    r"""Largest distance [m] between the mean positions of clouds (n, 3) that were reached from different directions.

    .. math:: vAP = \max_{h,k} \lVert \bar p_h - \bar p_k \rVert                    (eq:multidirectional)
    """
    means = np.stack([checked_cloud(cloud, 1).mean(axis=0) for cloud in clouds])
    return float(np.linalg.norm(means[:, None] - means[None], axis=-1).max())  # eq:multidirectional


def multidirectional_turn(orientations: Sequence[Array]) -> float:
    """Largest angle [rad] between the mean orientations of groups (n, 3, 3)."""
    means = np.stack([mean_rotation(R) for R in orientations])
    between = (means[:, None] @ np.swapaxes(means, -1, -2)[None]).reshape(-1, 3, 3)
    return float(np.linalg.norm(rotation_vectors(between), axis=1).max())


def distances(p_1: ArrayLike, p_2: ArrayLike) -> Array:
    """Distances D_j (n,) [m] between positions (n, 3) that were attained one after the other."""
    one, two = checked_cloud(p_1, 1), checked_cloud(p_2, 1)
    if len(one) != len(two):
        raise InputError(f"{len(one)} and {len(two)} positions; expected as many of both")
    return np.asarray(np.linalg.norm(one - two, axis=1))


def distance_accuracy(p_1: ArrayLike, p_2: ArrayLike, D_c: float) -> float:
    r"""Mean distance less the commanded one [m].

    .. math:: AD = \bar D - D_c, \quad D_j = \lVert p_{1j} - p_{2j} \rVert              (eq:distance-accuracy)
    """
    return float(distances(p_1, p_2).mean() - D_c)  # eq:distance-accuracy


def distance_repeatability(p_1: ArrayLike, p_2: ArrayLike) -> float:
    r"""Three standard deviations of the distance [m].

    .. math:: RD = \pm 3\, S(D_j)                                                   (eq:distance-repeatability)
    """
    return float(3.0 * distances(checked_cloud(p_1), p_2).std(ddof=1))  # eq:distance-repeatability


def stabilisation_time(t: ArrayLike, p: ArrayLike, attained: ArrayLike, band: float) -> float:
    """Time [s] from the first entry of p (k, 3) into the ball of radius ``band`` [m] until it is not left again.

    ``attained`` (3,): where it comes to rest. A path that never comes in raises an InputError.
    """
    times = np.asarray(t, dtype=np.float64)
    inside = np.linalg.norm(np.asarray(p) - np.asarray(attained), axis=1) <= band
    if not inside[-1]:
        raise _restless(band)
    outside = np.flatnonzero(~inside)
    stays = outside[-1] + 1 if len(outside) else 0
    return float(times[stays] - times[int(np.argmax(inside))])


def overshoot(p: ArrayLike, attained: ArrayLike, band: float) -> float:
    """Largest distance [m] from the attained pose beyond it, after the first entry into the band; 0 if overdamped.

    Beyond: ahead of the attained pose as seen from where the path (k, 3) first enters the ball of radius ``band``
    [m]. Without that a path that creeps in would have an overshoot of the band's radius.
    """
    offset = np.asarray(p, dtype=np.float64) - np.asarray(attained)
    distance = np.linalg.norm(offset, axis=1)
    first = int(np.argmax(distance <= band))
    beyond = offset[first:] @ offset[first] < 0.0
    return float(distance[first:][beyond].max(initial=0.0))


def drift(values: ArrayLike) -> float:
    r"""Largest change of a characteristic from its first value, cold.

    .. math:: dAP = \max_t |AP(t) - AP(0)|, \quad dRP = \max_t |RP(t) - RP(0)|                    (eq:drift)
    """
    series = np.asarray(values, dtype=np.float64)
    return float(np.abs(series - series[0]).max())  # eq:drift


def posing_time(t: ArrayLike, p: ArrayLike, target: ArrayLike, band: float, begin: float) -> float:
    """Time [s] from ``begin``, when the command leaves, until p (k, 3) stays within ``band`` [m] of where it ends.

    ``target`` (3,): the attained pose, at the end of the rest.
    """
    times = np.asarray(t, dtype=np.float64)
    outside = np.flatnonzero(np.linalg.norm(np.asarray(p) - np.asarray(target), axis=1) > band)
    stays = outside[-1] + 1 if len(outside) else 0
    if stays >= len(times):
        raise _restless(band)
    return float(times[stays] - begin)


def _restless(band: float) -> InputError:
    return InputError(
        f"at the end of its rest the tool is not yet within {MM * band:g} mm of where it was measured; "
        "expected a longer rest or a wider band",
        field="band",
    )
