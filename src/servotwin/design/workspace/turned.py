r"""Solids of a plane: a side view turned about the vertical axis, a top view drawn along it; views and volumes.

A point (r, z) of the plane at distance d beside the axis moves on a circle; the volume element is
:math:`|r|\,dr\,dz\,d\theta`. Where r and -r are both reached, their ranges of angles may overlap:

.. math:: V = \int |r| [\Delta\theta\,(\ell_+ + \ell_- - 2\ell_\pm) + \mu(r)\,\ell_\pm] dr          (eq:turned-volume)

with :math:`\ell_+, \ell_-, \ell_\pm` the heights reached at r, at -r and at both, and :math:`\mu` the size of the
union of the two ranges of angles.
"""

from __future__ import annotations

import numpy as np

from servotwin.design.workspace.arrangement import Polygon, Region, union
from servotwin.mechanism.model import Array, IntArray

RADII = 6000  # of the integral over r


def turned_volume(region: Region, offset: float, turn: tuple[float, float]) -> float:
    """Volume [m3] of a side view (r, z) that turns from an angle to another [rad]."""
    low, high = region.extent
    span = min(turn[1] - turn[0], 2.0 * np.pi)
    if low[0] >= 0.0 or high[0] <= 0.0:
        return span * region.moment()
    return _integral(region, offset, turn, span)


def _integral(region: Region, offset: float, turn: tuple[float, float], span: float) -> float:
    low, high = region.extent
    most = max(abs(low[0]), abs(high[0]))
    r = (np.arange(RADII) + 0.5) * most / RADII
    total = 0.0
    for radius in r:
        plus, minus = heights(region, float(radius)), heights(region, -float(radius))
        both = _common(plus, minus)
        mu = _union_of_angles(turn, float(np.arctan2(offset, radius)), span) if both else 0.0
        single = _length(plus) + _length(minus) - 2.0 * both
        total += float(radius) * (span * single + mu * both)  # eq:turned-volume
    return float(total * most / RADII)


def heights(region: Region, r: float) -> Array:
    """Intervals of z (k, 2) that a region has at r."""
    a, b = region.edges
    cut = (a[:, 0] <= r) != (b[:, 0] <= r)
    a, b = a[cut], b[cut]
    z = np.sort(a[:, 1] + (r - a[:, 0]) / (b[:, 0] - a[:, 0]) * (b[:, 1] - a[:, 1]))
    return z.reshape(-1, 2)


def _length(intervals: Array) -> float:
    return float(np.sum(intervals[:, 1] - intervals[:, 0]))


def _common(one: Array, other: Array) -> float:
    if not len(one) or not len(other):
        return 0.0
    low = np.maximum(one[:, None, 0], other[None, :, 0])
    high = np.minimum(one[:, None, 1], other[None, :, 1])
    return float(np.maximum(high - low, 0.0).sum())


def _union_of_angles(turn: tuple[float, float], phi: float, span: float) -> float:
    """Size of the union of [a + phi, b + phi] and [a + pi - phi, b + pi - phi] on the circle [rad]."""
    if span >= 2.0 * np.pi:
        return 2.0 * np.pi
    shift = (np.pi - 2.0 * phi) % (2.0 * np.pi)
    overlap = max(0.0, span - shift) + max(0.0, span - (2.0 * np.pi - shift))
    return float(min(2.0 * span - overlap, 2.0 * np.pi))


def top_view(
    region: Region, offset: float, turn: tuple[float, float], joint_labels: tuple[int, int], chord: float
) -> Region:
    """What is reached in the plan at some height or other; ``joint_labels`` number the limits of the turning joint."""
    pieces: list[list[Polygon]] = []
    for a, b, label_a, label_b in first_ranges(region):
        for low, high in ((a, min(b, 0.0)), (max(a, 0.0), b)):
            if high - low > 1e-9:
                pieces.append([_sector(low, high, label_a, label_b, offset, turn, joint_labels, chord)])
    return union(pieces, least_width=0.5 * chord)


def first_ranges(region: Region) -> list[tuple[float, float, int, int]]:
    """Ranges of the first coordinate that a region has, with the labels of its boundary at their ends."""
    found = []
    for ring, labels in zip(region.rings, region.labels, strict=True):
        i, j = int(ring[:, 0].argmin()), int(ring[:, 0].argmax())
        found.append((float(ring[i, 0]), float(ring[j, 0]), int(labels[i]), int(labels[j])))
    found.sort()
    joined = found[:1]
    for a, b, label_a, label_b in found[1:]:
        if a <= joined[-1][1]:
            if b > joined[-1][1]:
                joined[-1] = (joined[-1][0], b, joined[-1][2], label_b)
        else:
            joined.append((a, b, label_a, label_b))
    return joined


def side_of_drawn(region: Region, heights: tuple[float, float], slide_labels: tuple[int, int]) -> Region:
    """What a top view drawn along z reaches in (x, z) at some y or other; ``slide_labels``: limits at both heights."""
    low, high = heights
    rings, labels = [], []
    for a, b, label_a, label_b in first_ranges(region):
        rings.append(np.array([[a, low], [b, low], [b, high], [a, high]]))
        labels.append(np.array([slide_labels[0], label_b, slide_labels[1], label_a]))
    return Region(tuple(rings), tuple(labels))


def _sector(
    low: float,
    high: float,
    label_low: int,
    label_high: int,
    offset: float,
    turn: tuple[float, float],
    joint_labels: tuple[int, int],
    chord: float,
) -> Polygon:
    """The sector that radii from ``low`` to ``high`` sweep."""
    most = max(abs(low), abs(high), abs(offset), 1e-6)
    count = max(8, int(np.ceil((turn[1] - turn[0]) / np.sqrt(8.0 * chord / most))))
    angles = np.linspace(*turn, count + 1)
    sides = [
        (np.full(count, low), angles[::-1][:-1], label_low),
        (np.array([low]), np.array([turn[0]]), joint_labels[0]),
        (np.full(count, high), angles[:-1], label_high),
        (np.array([high]), np.array([turn[1]]), joint_labels[1]),
    ]
    r, theta = (np.concatenate([side[k] for side in sides]) for k in (0, 1))
    labels: IntArray = np.concatenate([np.full(len(side[0]), side[2]) for side in sides])
    x = r * np.cos(theta) - offset * np.sin(theta)
    y = r * np.sin(theta) + offset * np.cos(theta)
    return Polygon(np.stack([x, y], axis=1), labels)
