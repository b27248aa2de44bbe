r"""The largest upright rectangle in a region, and the largest cube of a solid, edges parallel to the base.

A band of heights has ranges of x that no boundary enters; in them every rectangle of that height fits. A cube of edge s
in a solid of revolution, its near face at radius :math:`r_0`, covers radii from :math:`r_0` to
:math:`\sqrt{(r_0 + s)^2 + s^2/4}` at every height it has (eq:cube-radius): it lies in the solid if that rectangle of
the side view does, and if the joint that turns the plane covers :math:`\pm\arctan(s / 2 r_0)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from servotwin.design.workspace.arrangement import Region
from servotwin.design.workspace.two_sides import mirrored, turned_twice, with_mirror
from servotwin.mechanism.model import Array

HEIGHTS = 41  # heights between which a search tries all bands
PLACES = 81  # heights about which a search tries a cube
BEST = 6  # of the tries are followed
STEP = 1e-7  # m: least step of a search
SIDEWAYS = 1e-5  # m of a cube's edge given up for a metre nearer to home
HALVINGS = 24  # of an edge: a metre to a tenth of a micrometre


@dataclass(frozen=True)
class Rectangle:
    """An upright rectangle: least and largest coordinates, each (2,) [m]."""

    low: Array
    high: Array

    @property
    def area(self) -> float:
        """Its area [m2]."""
        return float(np.prod(self.high - self.low))


@dataclass(frozen=True)
class Cube:
    """A cube with edges parallel to the base: centre (3,) in the base and edge [m]."""

    center: Array
    edge: float


def rectangle_fits(region: Region, low: Array, high: Array) -> bool:
    """True if no boundary crosses the rectangle and its middle is inside."""
    return any(a <= low[0] and high[0] <= b for a, b in free_ranges(region, float(low[1]), float(high[1])))


def free_ranges(region: Region, low: float, high: float) -> list[tuple[float, float]]:
    """Ranges of the first coordinate, the widest first, where a band of heights is inside and free of boundary."""
    a, b = region.edges
    touched = (np.minimum(a[:, 1], b[:, 1]) < high) & (np.maximum(a[:, 1], b[:, 1]) > low)
    a, b = a[touched], b[touched]
    if not len(a):
        return []
    d = b - a
    flat = d[:, 1] == 0.0
    rise = np.where(flat, 1.0, d[:, 1])
    t = np.sort(np.stack([(low - a[:, 1]) / rise, (high - a[:, 1]) / rise]), axis=0)
    t0, t1 = np.where(flat, 0.0, np.maximum(t[0], 0.0)), np.where(flat, 1.0, np.minimum(t[1], 1.0))
    x = np.sort(np.stack([a[:, 0] + t0 * d[:, 0], a[:, 0] + t1 * d[:, 0]]), axis=0)
    order = np.argsort(x[0])
    start, end = np.maximum.accumulate(x[1, order])[:-1], x[0, order][1:]
    free = np.flatnonzero(end > start)
    free = free[np.argsort(start[free] - end[free])]
    middle = np.stack([0.5 * (start + end)[free], np.full(len(free), 0.5 * (low + high))], axis=1)
    inside = region.contains(middle)
    return [(float(start[k]), float(end[k])) for k, ok in zip(free, inside, strict=True) if ok]


def _climbed(value: Callable[[Array], float], start: Array, step: float) -> tuple[Array, float]:
    """The largest value that a pattern search finds: steps along all axes and diagonals, halved where none helps."""
    ways = (np.array(offset, dtype=np.float64) - 1.0 for offset in np.ndindex(*len(start) * (3,)))
    offsets = [way for way in ways if way.any()]
    at, most = start, value(start)
    while step > STEP:
        tried = [(value(at + step * offset), at + step * offset) for offset in offsets]
        best, place = max(tried, key=lambda pair: pair[0])
        if best > most:
            at, most = place, best
        else:
            step *= 0.5
    return at, most


def _largest(value: Callable[[Array], float], starts: list[Array], step: float) -> Array:
    """The place of the largest value, climbed to from the best starts."""
    scores = [value(start) for start in starts]
    chosen = sorted(range(len(starts)), key=lambda k: -scores[k])[:BEST]
    return max((_climbed(value, starts[k], step) for k in chosen), key=lambda pair: pair[1])[0]


def largest_rectangle(region: Region) -> Rectangle:
    """The largest upright rectangle: every pair of heights on a grid, then a search of both heights."""

    def area(band: Array) -> float:
        low, high = float(min(band)), float(max(band))
        free = free_ranges(region, low, high) if high > low else []
        return (free[0][1] - free[0][0]) * (high - low) if free else 0.0

    bottom, top = (float(side[1]) for side in region.extent)
    z = np.linspace(bottom, top, HEIGHTS)
    starts = [np.array([z[i], z[j]]) for i in range(HEIGHTS) for j in range(i + 1, HEIGHTS)]
    low, high = sorted(_largest(area, starts, z[1] - z[0]).tolist())
    free = free_ranges(region, low, high)
    if not free:  # no band of the grid is free: a region of slits
        return Rectangle(np.array([0.0, low]), np.array([0.0, low]))
    return Rectangle(np.array([free[0][0], low]), np.array([free[0][1], high]))


def _largest_edge(fits: Callable[[float], bool], most: float) -> float:
    """The largest edge that fits, if every smaller one does too."""
    good, bad = 0.0, most
    if fits(most):
        return most
    for _ in range(HALVINGS):
        s = 0.5 * (good + bad)
        good, bad = (s, bad) if fits(s) else (good, s)
    return good


def cube_in_turned(region: Region, turn: tuple[float, float]) -> Cube:
    """The largest cube in the solid that a side view (r, z) makes when it turns from an angle to another [rad].

    Its middle lies on the vertical axis, or in the direction of x or y that has most room on both sides. It stands in
    what r > 0 reaches, or r < 0, or both together where both ranges of angles have it.
    """
    found = [_cube_in_turned(region, turn)]
    if region.extent[0][0] < 0.0:
        found.append(_cube_in_turned(mirrored(region), (turn[0] + np.pi, turn[1] + np.pi)))
        if region.extent[1][0] > 0.0:
            whole = with_mirror(region)
            found += [_cube_in_turned(whole, angles) for angles in turned_twice(turn)]
    return max(found, key=lambda cube: cube.edge)


def _cube_in_turned(region: Region, turn: tuple[float, float]) -> Cube:
    angle, half = _direction(turn)
    low, high = region.extent
    most = float((high - low).max())

    def best(z: float) -> tuple[float, float]:
        s = _largest_edge(lambda s: _radius(region, z, s, half, turn) is not None, most)
        r = _radius(region, z, s, half, turn) if s > 0.0 else None
        return s, 0.0 if r is None else r

    starts = [np.array([z]) for z in np.linspace(low[1], high[1], PLACES)[1:-1]]
    (z,) = _largest(lambda v: best(float(v[0]))[0], starts, float(high[1] - low[1]) / PLACES)
    s, r = best(float(z))
    away = r + 0.5 * s
    return Cube(np.array([away * math.cos(angle), away * math.sin(angle), z]), s)


def _direction(turn: tuple[float, float]) -> tuple[float, float]:
    """The direction along x or y with most room on both sides, and that room [rad]; negative: it is not covered."""
    if turn[1] - turn[0] >= 2.0 * np.pi - 1e-12:
        return 0.0, np.pi
    angles = 0.5 * np.pi * np.arange(-8, 9)
    room = np.minimum(angles - turn[0], turn[1] - angles)
    room[np.abs(angles - 0.0) < 1e-9] += 1e-12  # x itself where others have as much
    k = int(np.argmax(room))
    return float(angles[k]), float(room[k])


def _radius(region: Region, z: float, s: float, half: float, turn: tuple[float, float]) -> float | None:
    """Radius of the near face of a cube of edge s about height z that fits; -s/2 for one about the axis."""
    span, reach = turn[1] - turn[0], s / math.sqrt(2.0)
    for a, b in free_ranges(region, z - 0.5 * s, z + 0.5 * s):
        full, both = span >= 2.0 * np.pi - 1e-12, span >= np.pi - 1e-12
        if b >= reach and ((full and a <= 0.0) or (both and a <= -reach)):
            return -0.5 * s
        if half <= 0.0:
            continue
        least = 0.5 * s / math.tan(half) if half < 0.5 * np.pi else 0.0
        r = max(a, least, 1e-9)
        if math.hypot(r + s, 0.5 * s) <= b:  # eq:cube-radius
            return r
    return None


def cube_in_drawn(region: Region, heights: tuple[float, float], near: Array) -> Cube:
    """The largest cube in the solid that a top view (x, y) makes between two heights.

    It stands in the middle of the largest square; among equal squares in the one nearest to ``near`` (2,) [m].
    """
    low, high = region.extent
    stroke = heights[1] - heights[0]
    most = float((high - low).max())

    def middle(y: float, s: float) -> float | None:
        free = [0.5 * (a + b) for a, b in free_ranges(region, y - 0.5 * s, y + 0.5 * s) if b - a >= s]
        return min(free, key=lambda x: abs(x - near[0]), default=None)

    def square(y: float) -> float:
        return _largest_edge(lambda s: middle(y, s) is not None, most)

    def preferred(v: Array) -> float:
        y = float(v[0])
        s = square(y)
        x = middle(y, s) if s > 0.0 else None
        return 0.0 if x is None else s - SIDEWAYS * math.hypot(x - near[0], y - near[1])

    grid = np.linspace(low[1], high[1], PLACES)[1:-1]
    starts = _peaks(grid, [preferred(np.array([y])) for y in grid])
    (y,) = _largest(preferred, starts, float(high[1] - low[1]) / PLACES).tolist()
    side = square(y)
    x = middle(y, side) if side > 0.0 else None
    center = np.array([near[0] if x is None else x, y, 0.5 * (heights[0] + heights[1])])
    return Cube(center, min(stroke, side))


def _peaks(places: Array, values: list[float]) -> list[Array]:
    """Places (1,) whose value is not below that of either neighbour."""
    v = np.array([-np.inf, *values, -np.inf])
    return [places[k : k + 1] for k in np.flatnonzero((v[1:-1] >= v[:-2]) & (v[1:-1] >= v[2:]))]
