r"""A side view (r, z) that reaches across the axis it turns about: its points at -r lie half a turn farther.

With the side view R, its mirror image M and the range of angles :math:`[a, b]` of the turn, the solid has R at angles
in :math:`[a, b]` and M at angles in :math:`[a + \pi, b + \pi]`, both where the ranges overlap.

A plane at the distance d beside the axis, turned to :math:`\theta`, has its point at r at the azimuth
:math:`\theta + \varphi` and its point at -r at :math:`\theta + \pi - \varphi`, with
:math:`\varphi = \mathrm{atan}(d/r)`. For d > 0 and points that both R and M have, the second range begins by

.. math:: s(r) = \pi - 2\varphi = 2\,\mathrm{atan}(r/d)                                       (eq:beside-axis)

after the first. With :math:`w = b - a` they overlap in front where s < w, and behind, too, where s > 2 pi - w.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.design.workspace.arrangement import Region, difference, intersection, polygons_of, union
from servotwin.mechanism.model import Array, IntArray

FULL = 2.0 * np.pi - 1e-12
NARROW = 1e-9  # rad: narrower sectors are left out
SLIVER = 1e-5  # m: width of rings that a region and its mirror image leave between two polygons of one curve


@dataclass(frozen=True)
class Sector:
    """A part of the solid: a region (r, z), its angles [rad], and which end of the turn each of them is (0 or 1).

    The azimuths of a point go from ``low`` to ``high``, each plus its way (1 or -1) times atan2(d, r).
    """

    region: Region
    low: float
    high: float
    ends: tuple[int, int] | None  # None: a full turn has no ends
    ways: tuple[int, int] = (1, 1)


def mirrored(region: Region) -> Region:
    """The region with -r in place of r."""
    rings = tuple((ring * [-1.0, 1.0])[::-1] for ring in region.rings)
    return Region(rings, tuple(np.roll(labels[::-1], -1) for labels in region.labels))


def with_mirror(region: Region) -> Region:
    """The region and its mirror image together."""
    pieces = [polygons_of(part) for part in (region, mirrored(region))]
    return union(pieces, least_width=SLIVER)


def right_half(region: Region) -> Region:
    """The part of a region with r >= 0; its edges on the axis bound nothing once it is turned."""
    return _beyond(region, 0.0)


def _beyond(region: Region, least: float) -> Region:
    """The part of a region with r at least as large as given."""
    shift = np.array([least, 0.0])
    cut = [
        (points + shift, labels)
        for points, labels in (
            _clipped(ring - shift, labels) for ring, labels in zip(region.rings, region.labels, strict=True)
        )
    ]
    kept = [(ring, labels) for ring, labels in cut if len(ring) > 2]
    return Region(tuple(ring for ring, _ in kept), tuple(labels for _, labels in kept))


def _clipped(ring: Array, labels: IntArray) -> tuple[Array, IntArray]:
    """A ring cut along r = 0 (Sutherland and Hodgman)."""
    points: list[Array] = []
    owners: list[int] = []
    for p, q, label in zip(ring, np.roll(ring, -1, axis=0), labels, strict=True):
        if p[0] >= 0.0:
            points.append(p)
            owners.append(int(label))
        if (p[0] >= 0.0) != (q[0] >= 0.0):
            points.append(np.array([0.0, p[1] + p[0] / (p[0] - q[0]) * (q[1] - p[1])]))
            owners.append(int(label))
    return np.array(points).reshape(-1, 2), np.array(owners, dtype=np.int64)


def sectors(region: Region, turn: tuple[float, float]) -> list[Sector]:
    """The solid of a side view in parts of r >= 0 that do not overlap."""
    low, high = turn
    full = high - low >= FULL
    ends = None if full else (0, 1)
    if region.extent[0][0] >= 0.0:
        return [Sector(region, low, high, ends)]
    if region.extent[1][0] <= 0.0:
        return [Sector(mirrored(region), low + np.pi, high + np.pi, ends)]
    both = right_half(with_mirror(region))
    if full:
        return [Sector(both, low, high, None)]
    parts = {
        (True, False): right_half(region),
        (False, True): right_half(mirrored(region)),
        (True, True): both,
    }
    return [Sector(parts[which], a, b, sides) for a, b, sides, which in _overlaps(low, high) if any(which)]


def sectors_beside(region: Region, turn: tuple[float, float], distance: float) -> list[Sector]:
    """The solid of a side view beside the axis that does not turn once around, in parts that do not overlap.

    ``distance`` [m] as in eq:beside-axis, not zero; the azimuths of the parts are those of its size.
    """
    low, high = turn
    first, second = right_half(region), right_half(mirrored(region))
    if distance < 0.0:  # the points at -r come first: they stand at +d half a turn farther
        first, second, low, high = second, first, low + np.pi, high + np.pi
    opposite = low + np.pi, high + np.pi
    found = [Sector(first, low, high, (0, 1))]
    if first.empty or second.empty:
        found.append(Sector(second, *opposite, (0, 1), (-1, -1)))
    else:
        common = intersection(first, second, SLIVER)
        inner, outer = _parted(common, _parting(high - low, abs(distance)))
        found += [
            Sector(difference(second, first, SLIVER), *opposite, (0, 1), (-1, -1)),
            Sector(inner, high, high + np.pi, (1, 1), (1, -1)),
            Sector(outer, high, low + 2.0 * np.pi, (1, 0))
            if high - low > np.pi
            else Sector(outer, *opposite, (0, 1), (-1, -1)),
        ]
    return [sector for sector in found if not sector.region.empty]


def _parting(width: float, distance: float) -> float:
    """The r [m] beyond which both ranges are apart, or cover the circle; infinite at half a turn (eq:beside-axis)."""
    least = min(width, 2.0 * np.pi - width)
    return distance * float(np.tan(0.5 * least)) if np.pi - least > NARROW else np.inf


def _parted(region: Region, r: float) -> tuple[Region, Region]:
    """The parts of a region on the near and on the far side of r."""
    if not np.isfinite(r) or region.empty or region.extent[1][0] <= r:
        return region, Region((), ())
    return mirrored(_beyond(mirrored(region), -r)), _beyond(region, r)


def _overlaps(low: float, high: float) -> list[tuple[float, float, tuple[int, int], tuple[bool, bool]]]:
    """Ranges of a circle, the ends of the turn that bound each, and whether it and its opposite are turned through."""
    span = high - low
    marks = sorted({(x - low) % (2.0 * np.pi): side for x, side in (
        (low, 0), (high, 1), (low + np.pi, 0), (high + np.pi, 1))}.items())  # fmt: skip
    found = []
    for (a, one), (b, other) in zip(
        marks, [*marks[1:], (marks[0][0] + 2.0 * np.pi, marks[0][1])], strict=True
    ):
        middle = 0.5 * (a + b)
        which = (middle % (2.0 * np.pi) <= span, (middle - np.pi) % (2.0 * np.pi) <= span)
        if b - a > NARROW:
            found.append((low + a, low + b, (one, other), which))
    return found


def turned_twice(turn: tuple[float, float]) -> list[tuple[float, float]]:
    """Ranges of angles [rad] that a plane turns through with its points at r and with those at -r."""
    if turn[1] - turn[0] >= FULL:
        return [turn]
    return [(a, b) for a, b, _, which in _overlaps(*turn) if all(which)]
