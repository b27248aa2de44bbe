r"""The largest upright rectangle in a region, and the largest cube of a solid, edges parallel to the base.

A cube of edge s in a solid of revolution, its near face at radius :math:`r_0`, covers radii from :math:`r_0` to
:math:`\sqrt{(r_0 + s)^2 + s^2/4}` at every height it has (eq:cube-radius): it lies in the solid if that rectangle of
the side view does, and if the joint that turns the plane covers :math:`\pm\arctan(s / 2 r_0)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from servotwin.design.workspace.arrangement import Region
from servotwin.mechanism.model import Array, BoolArray

GRID = 14  # places a search starts from, either way
BEST = 4  # of them are followed
RESTARTS = 3
HALVINGS = 20  # of an edge: a metre to a micrometre


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
    if not bool(region.contains(0.5 * (low + high)[None])[0]):
        return False
    a, b = region.edges
    return not bool(_crosses(a, b, low, high).any())


def _crosses(a: Array, b: Array, low: Array, high: Array) -> BoolArray:
    """Which edges have a point in the open rectangle (Liang and Barsky)."""
    start, end = np.zeros(len(a)), np.ones(len(a))
    d = b - a
    for k in range(2):
        with np.errstate(all="ignore"):
            t1, t2 = (low[k] - a[:, k]) / d[:, k], (high[k] - a[:, k]) / d[:, k]
        flat = d[:, k] == 0.0
        between = (a[:, k] > low[k]) & (a[:, k] < high[k])
        start = np.maximum(start, np.where(flat, np.where(between, 0.0, 2.0), np.minimum(t1, t2)))
        end = np.minimum(end, np.where(flat, 1.0, np.maximum(t1, t2)))
    return np.asarray(start < end - 1e-12)


def _reach(region: Region, x: float, low: float, high: float) -> tuple[float, float] | None:
    """How far left and right of x a band of heights is free of boundary; None if x is not inside."""
    a, b = region.edges
    y = (a[:, 1], b[:, 1])
    touched = (np.minimum(*y) < high) & (np.maximum(*y) > low)
    a, b = a[touched], b[touched]
    d = b - a
    with np.errstate(all="ignore"):
        t = np.sort(np.stack([(low - a[:, 1]) / d[:, 1], (high - a[:, 1]) / d[:, 1]]), axis=0)
    flat = d[:, 1] == 0.0
    t0, t1 = np.where(flat, 0.0, np.maximum(t[0], 0.0)), np.where(flat, 1.0, np.minimum(t[1], 1.0))
    xs = np.stack([a[:, 0] + t0 * d[:, 0], a[:, 0] + t1 * d[:, 0]])
    least, most = xs.min(axis=0), xs.max(axis=0)
    if ((least < x) & (most > x)).any() or not region.contains(np.array([[x, 0.5 * (low + high)]]))[0]:
        return None
    left, right = most[most <= x], least[least >= x]
    return (float(left.max()), float(right.min())) if len(left) and len(right) else None


def largest_rectangle(region: Region) -> Rectangle:
    """The largest upright rectangle, by searches from many places."""

    def value(v: Array) -> float:
        free = _reach(region, v[0], min(v[1], v[2]), max(v[1], v[2]))
        return 0.0 if free is None else -(free[1] - free[0]) * abs(v[2] - v[1])

    low, high = region.extent
    starts = [
        np.array([x, y - h, y + h])
        for x in np.linspace(low[0], high[0], GRID)[1:-1]
        for y in np.linspace(low[1], high[1], GRID)[1:-1]
        for h in (high[1] - low[1]) * np.array([0.05, 0.15, 0.25, 0.35])
    ]
    best = _best(value, starts)
    free = _reach(region, best[0], min(best[1:]), max(best[1:]))
    assert free is not None
    return Rectangle(np.array([free[0], min(best[1:])]), np.array([free[1], max(best[1:])]))


def _best(value: Callable[[Array], float], starts: list[Array]) -> Array:
    """The least point that Nelder and Mead find from the best of many starts."""
    from scipy.optimize import minimize

    options = {"xatol": 1e-6, "fatol": 1e-7, "maxiter": 300}
    best, least = starts[0], math.inf
    for start in sorted(starts, key=value)[:BEST]:
        at = start
        for _ in range(RESTARTS):  # a corner of the function can stop the simplex early
            found = minimize(value, at, method="Nelder-Mead", options=options)
            at = found.x
        if found.fun < least:
            best, least = np.asarray(found.x), float(found.fun)
    return best


def cube_in_turned(region: Region, turn: tuple[float, float]) -> Cube:
    """The largest cube in the solid that a side view (r, z) makes when it turns from an angle to another [rad]."""
    half = min(0.5 * (turn[1] - turn[0]), np.pi)

    def fits(r: float, z: float, s: float) -> bool:
        if r <= 0.0 or math.atan2(0.5 * s, r) > half:
            return False
        far = math.hypot(r + s, 0.5 * s)  # eq:cube-radius
        return rectangle_fits(region, np.array([r, z - 0.5 * s]), np.array([far, z + 0.5 * s]))

    low, high = region.extent
    most = float((high - low).max())

    def edge(v: Array) -> float:
        good, bad = 0.0, most
        for _ in range(HALVINGS):
            s = 0.5 * (good + bad)
            good, bad = (s, bad) if fits(v[0], v[1], s) else (good, s)
        return -good

    starts = [
        np.array([r, z])
        for r in np.linspace(max(low[0], 1e-6), high[0], GRID)
        for z in np.linspace(low[1], high[1], GRID)
    ]
    r, z = _best(edge, starts)
    s = -edge(np.array([r, z]))
    middle = 0.5 * (turn[0] + turn[1])
    away = r + 0.5 * s
    return Cube(np.array([away * math.cos(middle), away * math.sin(middle), z]), s)


def cube_in_drawn(region: Region, heights: tuple[float, float]) -> Cube:
    """The largest cube in the solid that a top view (x, y) makes between two heights."""
    low, high = region.extent
    stroke = heights[1] - heights[0]

    def edge(v: Array) -> float:
        good, bad = 0.0, stroke
        if rectangle_fits(region, v - 0.5 * stroke, v + 0.5 * stroke):
            return -stroke - float(
                region.distance(v[None])[0]
            )  # the stroke is the edge: stay away from the boundary
        for _ in range(HALVINGS):
            s = 0.5 * (good + bad)
            good, bad = (s, bad) if rectangle_fits(region, v - 0.5 * s, v + 0.5 * s) else (good, s)
        return -good

    starts = [
        np.array([x, y])
        for x in np.linspace(low[0], high[0], GRID)[1:-1]
        for y in np.linspace(low[1], high[1], GRID)[1:-1]
    ]
    place = _best(edge, starts)
    s = min(stroke, -edge(place))
    return Cube(np.array([place[0], place[1], 0.5 * (heights[0] + heights[1])]), s)


def cube_in_mesh(points: Array, inside: Callable[[Array], BoolArray], low: Array, high: Array) -> Cube:
    """The largest cube that holds none of a surface's points (k, 3); its middle is inside."""

    def edge(c: Array) -> float:
        if not bool(inside(c[None])[0]):
            return 0.0
        return -2.0 * float(np.abs(points - c).max(axis=1).min())

    grid = [np.linspace(low[k], high[k], 8)[1:-1] for k in range(3)]
    starts = list(np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 3))
    center = _best(edge, starts)
    return Cube(center, -edge(center))
