r"""The set that closed polygons cover, its boundary as rings, and which curve each edge belongs to.

A map of the plane with a Jacobian determinant of one sign on a piece takes each point p as often as the image
of the piece's boundary winds about p (the degree of the map):

.. math:: \#\{s \in \text{piece} : f(s) = p\} = |w(f(\partial\,\text{piece}), p)|        (eq:covering-degree)

so a point belongs to the image exactly where the winding number is not zero. All edges are cut
where they cross; a part is boundary of the union if one of its sides is covered and the other not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from servotwin.errors import KinematicsError
from servotwin.mechanism.model import Array, BoolArray, IntArray

QUANTUM = (
    2.0**-30
)  # m: corners are put on a grid of a nanometre, so that curves which two polygons share are one
ASIDE = 1e-12  # m: how far beside an edge its sides are looked at
LEAST = 1e-12  # m: shorter parts of edges are left out
OPEN = 1e-6  # m: longest piece of a boundary that may be left over where curves touch within rounding
CHUNK = 4_000_000  # pairs of points and edges at a time
Rule = Callable[[BoolArray], BoolArray]  # of which sets cover points (pieces, k): which points count


class Polygon(NamedTuple):
    """A closed polygon (k, 2), and the label of the edge from each point to the next."""

    points: Array
    labels: IntArray


@dataclass(frozen=True)
class Region:
    """A set of the plane: rings (k, 2) with the set on their left, a label for the edge from each point to the next."""

    rings: tuple[Array, ...]
    labels: tuple[IntArray, ...]

    @property
    def area(self) -> float:
        """Its area [m2]."""
        return float(sum(_shoelace(ring) for ring in self.rings))

    @property
    def empty(self) -> bool:
        """True if there is no point in it."""
        return not self.rings

    @property
    def extent(self) -> tuple[Array, Array]:
        """Least and largest coordinates, each (2,)."""
        points = np.concatenate(self.rings)
        return points.min(axis=0), points.max(axis=0)

    @cached_property
    def edges(self) -> tuple[Array, Array]:
        """Starts and ends of all edges, each (e, 2)."""
        if self.empty:
            return np.zeros((0, 2)), np.zeros((0, 2))
        return np.concatenate(self.rings), np.concatenate([np.roll(ring, -1, axis=0) for ring in self.rings])

    def shifted(self, by: tuple[float, float]) -> Region:
        """The set moved by a vector [m]."""
        return Region(tuple(ring + np.array(by) for ring in self.rings), self.labels)

    def contains(self, points: Array) -> BoolArray:
        """Which points (k, 2) belong to the set."""
        return np.asarray(winding(np.asarray(points, dtype=np.float64).reshape(-1, 2), *self.edges) != 0)

    def distance(self, points: Array) -> Array:
        """Distance of points (k, 2) from the boundary [m]."""
        a, b = self.edges
        out = np.empty(len(points))
        for part in _chunks(len(points), len(a)):
            p = points[part][:, None, :]
            chord = (b - a)[None]
            along = np.einsum("kei,kei->ke", p - a, np.broadcast_to(chord, (len(p), *chord.shape[1:])))
            along = np.clip(along / np.maximum((chord**2).sum(axis=-1), 1e-300), 0.0, 1.0)
            out[part] = np.linalg.norm(p - a - along[..., None] * chord, axis=-1).min(axis=1)
        return out

    def moment(self) -> float:
        r"""First moment :math:`\iint |x|\,dx\,dy` of a set on one side of x = 0 [m3]."""
        a, b = self.edges
        cross = a[:, 0] * b[:, 1] - b[:, 0] * a[:, 1]
        return abs(float(np.sum(cross * (a[:, 0] + b[:, 0])) / 6.0))


def _shoelace(ring: Array) -> float:
    after = np.roll(ring, -1, axis=0)
    return 0.5 * float(np.sum(ring[:, 0] * after[:, 1] - after[:, 0] * ring[:, 1]))


def _chunks(points: int, edges: int) -> list[slice]:
    step = max(1, CHUNK // max(edges, 1))
    return [slice(k, k + step) for k in range(0, points, step)]


def winding(points: Array, a: Array, b: Array) -> IntArray:
    """How often closed polygons with edges a -> b (e, 2) wind about points (k, 2)."""
    out = np.zeros(len(points), dtype=np.int64)
    for part in _chunks(len(points), len(a)):
        x, y = points[part, 0][:, None], points[part, 1][:, None]
        left = (b[:, 0] - a[:, 0]) * (y - a[:, 1]) - (x - a[:, 0]) * (b[:, 1] - a[:, 1])
        up = (a[:, 1] <= y) & (b[:, 1] > y) & (left > 0.0)
        down = (a[:, 1] > y) & (b[:, 1] <= y) & (left < 0.0)
        out[part] = up.sum(axis=1) - down.sum(axis=1)
    return out


def union(pieces: list[list[Polygon]], least_width: float = 0.0) -> Region:
    """What several sets cover together; each is a list of polygons, and covers where their winding is not zero.

    Rings that are narrower than ``least_width`` [m], left between two polygons of one curve, are left out.
    """
    return _combined(pieces, least_width, _some)


def intersection(one: Region, other: Region, least_width: float = 0.0) -> Region:
    """What two sets have in common."""
    return _combined([polygons_of(one), polygons_of(other)], least_width, _every)


def difference(one: Region, other: Region, least_width: float = 0.0) -> Region:
    """What the first of two sets has and the second has not."""
    return _combined([polygons_of(one), polygons_of(other)], least_width, _first_alone)


def polygons_of(region: Region) -> list[Polygon]:
    """The rings of a region."""
    return [Polygon(ring, labels) for ring, labels in zip(region.rings, region.labels, strict=True)]


def _some(covers: BoolArray) -> BoolArray:
    return np.asarray(covers.any(axis=0))


def _every(covers: BoolArray) -> BoolArray:
    return np.asarray(covers.all(axis=0))


def _first_alone(covers: BoolArray) -> BoolArray:
    return np.asarray(covers[0] & ~covers[1:].any(axis=0))


def _combined(pieces: list[list[Polygon]], least_width: float, rule: Rule) -> Region:
    """The points for which a rule says yes, given which of several sets cover them."""
    pieces = [[_on_grid(polygon) for polygon in piece] for piece in pieces]
    polygons = [polygon for piece in pieces for polygon in piece]
    if not polygons:
        return Region((), ())
    a = np.concatenate([polygon.points for polygon in polygons])
    b = np.concatenate([np.roll(polygon.points, -1, axis=0) for polygon in polygons])
    labels = np.concatenate([polygon.labels for polygon in polygons])
    once = _different(a, b)
    starts, ends, owner = _cut_edges(a[once], b[once], labels[once])
    kept, flipped = _boundary(starts, ends, pieces, rule)
    starts, ends, owner = starts[kept], ends[kept], owner[kept]
    turned = flipped[kept][:, None]
    return _rings(np.where(turned, ends, starts), np.where(turned, starts, ends), owner, least_width)


def _on_grid(polygon: Polygon) -> Polygon:
    """The polygon with its corners on the grid, each once."""
    points = np.round(polygon.points / QUANTUM) * QUANTUM
    kept = (points != np.roll(points, -1, axis=0)).any(axis=1)
    return Polygon(points[kept], polygon.labels[kept])


def _different(a: Array, b: Array) -> IntArray:
    """Numbers of edges a-b (e, 2) that are not one edge, in either direction.

    Pieces on both sides of a singular curve have its edges in common. Cut twice, their parts would end in points that
    differ by rounding.
    """
    swapped = (a[:, 0] > b[:, 0]) | ((a[:, 0] == b[:, 0]) & (a[:, 1] > b[:, 1]))
    ends = np.where(swapped[:, None], np.hstack([b, a]), np.hstack([a, b]))
    return np.sort(np.unique(ends, axis=0, return_index=True)[1])


def _cut_edges(a: Array, b: Array, labels: IntArray) -> tuple[Array, Array, IntArray]:
    """All edges, cut where they cross another one."""
    cuts: list[list[tuple[float, float, float]]] = [[] for _ in range(len(a))]
    low, high = np.minimum(a, b), np.maximum(a, b)
    order = np.argsort(low[:, 0])
    for place, i in enumerate(order):
        last = np.searchsorted(low[order, 0], high[i, 0], side="right")
        near = order[place + 1 : last]
        near = near[(low[near, 1] <= high[i, 1]) & (high[near, 1] >= low[i, 1])]
        for j, t, u in zip(near, *_crossing(a[i], b[i], a[near], b[near]), strict=True):
            if 0.0 <= t <= 1.0 and 0.0 <= u <= 1.0:
                x, y = _snapped(a[i], b[i], t, a[j], b[j], u)
                cuts[i].append((t, x, y))
                cuts[j].append((u, x, y))
        for j in near[_on_one_line(a[i], b[i], a[near], b[near])]:
            cuts[i] += _corners_within(a[i], b[i], (a[j], b[j]))
            cuts[j] += _corners_within(a[j], b[j], (a[i], b[i]))
    starts, ends, owner = [], [], []
    for i, found in enumerate(cuts):
        points = [tuple(a[i]), *((x, y) for t, x, y in sorted(found) if 1e-12 < t < 1.0 - 1e-12), tuple(b[i])]
        starts += points[:-1]
        ends += points[1:]
        owner += [labels[i]] * (len(points) - 1)
    first, last = np.array(starts).reshape(-1, 2), np.array(ends).reshape(-1, 2)
    once = _different(first, last)
    return first[once], last[once], np.array(owner, dtype=np.int64)[once]


def _on_one_line(a: Array, b: Array, c: Array, d: Array) -> BoolArray:
    """Which edges c-d (k, 2) lie on the line of the edge a-b, to rounding."""
    p = (b - a) / max(float(np.linalg.norm(b - a)), 1e-300)
    gaps = [np.abs(p[0] * (end[:, 1] - a[1]) - p[1] * (end[:, 0] - a[0])) for end in (c, d)]
    return np.asarray(np.maximum(*gaps) < LEAST)


def _corners_within(a: Array, b: Array, corners: tuple[Array, Array]) -> list[tuple[float, float, float]]:
    """Cuts of an edge a-b at those of two corners on its line that lie between its ends."""
    along = b - a
    parts = [
        (float((corner - a) @ along / max(float(along @ along), 1e-300)), *corner.tolist())
        for corner in corners
    ]
    return [(t, x, y) for t, x, y in parts if 0.0 < t < 1.0]


def _snapped(a: Array, b: Array, t: float, c: Array, d: Array, u: float) -> Array:
    """The point where two edges meet: a corner of one of them if it is that to rounding."""
    for corner, part in ((a, t), (b, 1.0 - t), (c, u), (d, 1.0 - u)):
        if abs(part) < 1e-9:
            return corner
    return a + t * (b - a)


def _crossing(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    """Where lines a-b and c-d (k, 2) meet, as parts of both; NaN for parallel ones."""
    p, q = b - a, d - c
    cross = p[0] * q[:, 1] - p[1] * q[:, 0]
    r = c - a
    with np.errstate(all="ignore"):
        t = (r[:, 0] * q[:, 1] - r[:, 1] * q[:, 0]) / cross
        u = (r[:, 0] * p[1] - r[:, 1] * p[0]) / cross
    return t, u


def _boundary(
    starts: Array, ends: Array, pieces: list[list[Polygon]], rule: Rule
) -> tuple[BoolArray, BoolArray]:
    """Which parts of edges bound the set, and which of them have it on their right."""
    along = ends - starts
    length = np.hypot(along[:, 0], along[:, 1])
    step = np.minimum(ASIDE, 1e-3 * length) / np.maximum(length, 1e-300)
    left = np.stack([-along[:, 1], along[:, 0]], axis=1) * step[:, None]
    middle = 0.5 * (starts + ends)
    sides = [rule(_covers(points, pieces)) for points in (middle + left, middle - left)]
    return (sides[0] != sides[1]) & (length > LEAST), sides[1] & ~sides[0]


def _covers(points: Array, pieces: list[list[Polygon]]) -> BoolArray:
    """Which of the sets cover points (k, 2): (pieces, k)."""
    out = np.zeros((len(pieces), len(points)), dtype=bool)
    for row, piece in zip(out, pieces, strict=True):
        if piece:
            a = np.concatenate([polygon.points for polygon in piece])
            b = np.concatenate([np.roll(polygon.points, -1, axis=0) for polygon in piece])
            row[:] = winding(points, a, b) != 0
    return out


def _rings(starts: Array, ends: Array, labels: IntArray, least_width: float) -> Region:
    """Directed edges put one after the other."""
    leaving: dict[tuple[float, float], list[int]] = {}
    for k, start in enumerate(starts.tolist()):
        leaving.setdefault(_key(start), []).append(k)
    rings, owners, lost = [], [], 0.0
    while leaving:
        first = next(iter(leaving))
        chain, at = [], first
        while at in leaving:
            k = leaving[at].pop()
            if not leaving[at]:
                del leaving[at]
            chain.append(k)
            at = _key(ends[k])
            if at == first:
                break
        ring = starts[chain]
        around = float(np.linalg.norm(ends[chain] - ring, axis=1).sum())
        if at != first:
            lost = max(lost, around)
        elif abs(_shoelace(ring)) > least_width * around:
            rings.append(ring)
            owners.append(labels[chain])
    if lost > max(OPEN, least_width):
        raise KinematicsError(
            f"the boundary of a region does not close: a piece of {lost:.3g} m is left over; "
            "another tolerance may help"
        )
    order = np.argsort([-abs(_shoelace(ring)) for ring in rings])
    return Region(tuple(rings[k] for k in order), tuple(owners[k] for k in order))


def _key(point: Array | list[float]) -> tuple[float, float]:
    return float(point[0]), float(point[1])
