r"""Closed curves on which the smallest of several margins is zero, followed to a tolerance.

The set :math:`\{s : \min_k c_k(s) \ge 0\}` of a rectangle is bounded by pieces of the curves
:math:`c_k(s) = 0`. A grid finds every curve that is larger than a cell; roots on the
edges of its cells lie on the curves to rounding. From there each chord is halved, its middle put back on
the curve, until it is within a tolerance of it; corners, where another margin takes over, are
approached in the same way and met by Newton's method on both margins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from servotwin.mechanism.model import Array, BoolArray, IntArray

Margins = Callable[[Array], Array]  # (k, 2) -> (k, m): inside where all are >= 0
Image = Callable[[Array], Array]  # (k, 2) -> (k, 2): where the tolerance counts

EXACT = 1e-15  # roots to rounding, in parts of the rectangle
CUTS = 16  # most halvings of a chord: from a cell of centimetres to below a micrometre


@dataclass(frozen=True)
class Loop:
    """A closed curve: points (k, 2), the set on its left, and the margin that is zero from each point to the next."""

    points: Array
    labels: IntArray


def trace(
    margins: Margins,
    low: Array,
    high: Array,
    cells: tuple[int, int],
    image: Image,
    tolerance: float,
    accuracy: float = EXACT,
) -> list[Loop]:
    """The boundary of {min margins >= 0} in a rectangle that contains it, one loop for each closed curve.

    Corners are ``accuracy`` from the curve, chords ``tolerance`` where ``image`` puts them.
    """

    def smallest(s: Array) -> Array:
        return np.asarray(margins(s).min(axis=1))

    grid = [np.linspace(low[i], high[i], cells[i] + 1) for i in range(2)]
    nodes = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1)
    inside: BoolArray = np.asarray(smallest(nodes.reshape(-1, 2)) >= 0.0).reshape(nodes.shape[:2])
    inside[[0, -1], :] = False
    inside[:, [0, -1]] = False
    starts, ends, loops = _crossings(nodes, inside, smallest)
    roots = root_between(smallest, starts, ends, accuracy)
    return [
        refined(margins, roots[np.array(loop)], image, tolerance, accuracy) for loop in loops if len(loop) > 2
    ]


def root_between(smallest: Callable[[Array], Array], inner: Array, outer: Array, accuracy: float) -> Array:
    """Points between ``inner`` (inside) and ``outer`` (outside) where a set ends, each (k, d); on its inner side."""
    a, b = inner.copy(), outer.copy()
    longest = float(np.linalg.norm(b - a, axis=1).max(initial=0.0))
    for _ in range(max(1, math.ceil(math.log2(max(longest / accuracy, 2.0))))):
        middle = 0.5 * (a + b)
        within = (smallest(middle) >= 0.0)[:, None]
        a, b = np.where(within, middle, a), np.where(within, b, middle)
    return a


def _crossings(
    nodes: Array, inside: BoolArray, smallest: Callable[[Array], Array]
) -> tuple[Array, Array, list[list[int]]]:
    """Edges of the grid that the boundary crosses, from inner to outer nodes, and chains of their numbers."""
    numbers: dict[tuple[int, int, int], int] = {}
    starts: list[Array] = []
    ends: list[Array] = []

    def crossing(i: int, j: int, along: int) -> int:
        key = (i, j, along)
        if key not in numbers:
            one, other = (i, j), (i + 1, j) if along == 0 else (i, j + 1)
            inner, outer = (one, other) if inside[one] else (other, one)
            numbers[key] = len(starts)
            starts.append(nodes[inner])
            ends.append(nodes[outer])
        return numbers[key]

    square = inside[:-1, :-1] * 1 + inside[1:, :-1] * 2 + inside[1:, 1:] * 4 + inside[:-1, 1:] * 8
    following: dict[int, int] = {}
    cut = np.argwhere((square > 0) & (square < 15))
    saddle = {5: 0, 10: 0}
    centres = [tuple(c) for c in cut if int(square[tuple(c)]) in saddle]
    middle = np.array([0.5 * (nodes[i, j] + nodes[i + 1, j + 1]) for i, j in centres]).reshape(-1, 2)
    filled = dict(zip(centres, (smallest(middle) >= 0.0) if len(middle) else (), strict=True))
    for i, j in cut:
        sides = (
            lambda i=i, j=j: crossing(i, j, 0),
            lambda i=i, j=j: crossing(i + 1, j, 1),
            lambda i=i, j=j: crossing(i, j + 1, 0),
            lambda i=i, j=j: crossing(i, j, 1),
        )
        for start, end in _cell_segments(int(square[i, j]), bool(filled.get((i, j), False))):
            following[sides[start]()] = sides[end]()
    return np.array(starts).reshape(-1, 2), np.array(ends).reshape(-1, 2), _chained(following)


# sides of a cell: 0 below, 1 right, 2 above, 3 left; the set lies to the left of each step
_STEPS = {
    1: ((0, 3),), 2: ((1, 0),), 3: ((1, 3),), 4: ((2, 1),), 6: ((2, 0),), 7: ((2, 3),),
    8: ((3, 2),), 9: ((0, 2),), 11: ((1, 2),), 12: ((3, 1),), 13: ((0, 1),), 14: ((3, 0),),
}  # fmt: skip


def _cell_segments(square: int, filled: bool) -> tuple[tuple[int, int], ...]:
    """Steps of the boundary through a cell; two opposite corners inside join through a filled centre."""
    if square == 5:
        return ((0, 1), (2, 3)) if filled else ((0, 3), (2, 1))
    if square == 10:
        return ((3, 0), (1, 2)) if filled else ((1, 0), (3, 2))
    return _STEPS[square]


def _chained(following: dict[int, int]) -> list[list[int]]:
    loops = []
    left = dict(following)
    while left:
        first, step = next(iter(left.items()))
        loop = [first]
        del left[first]
        while step != first:
            loop.append(step)
            step = left.pop(step)
        loops.append(loop)
    return loops


def refined(margins: Margins, points: Array, image: Image, tolerance: float, accuracy: float = EXACT) -> Loop:
    """A loop whose chords are within ``tolerance`` of the curve, measured where ``image`` puts them."""
    points = with_corners(margins, points)
    shown = image(points)
    open_chords = np.ones(len(points), dtype=bool)
    for _ in range(CUTS):
        k = np.flatnonzero(open_chords)
        if not len(k):
            break
        after: IntArray = (k + 1) % len(points)
        middle, found = _back_on_curve(margins, points[k], points[after], accuracy)
        there = image(middle)
        off = _chord_distance(there, shown[k], shown[after])
        split = found & (off > tolerance)
        points, shown, open_chords = _inserted(points, shown, open_chords, k, split, middle, there)
    middle, _ = _back_on_curve(margins, points, np.roll(points, -1, axis=0), accuracy)
    return Loop(points, np.argmin(margins(middle), axis=1))


def _inserted(
    points: Array,
    shown: Array,
    open_chords: BoolArray,
    k: IntArray,
    split: BoolArray,
    middle: Array,
    there: Array,
) -> tuple[Array, Array, BoolArray]:
    """The loop with the middles of chords k that are to be split; the others of k are closed."""
    open_chords = open_chords.copy()
    open_chords[k[~split]] = False
    where = k[split] + 1
    return (
        np.insert(points, where, middle[split], axis=0),
        np.insert(shown, where, there[split], axis=0),
        np.insert(open_chords, where, True),
    )


def _back_on_curve(margins: Margins, a: Array, b: Array, accuracy: float) -> tuple[Array, BoolArray]:
    """The curve's point beside the middle of each chord, and whether it was found within the chord's length of it."""
    chord = b - a
    left = np.stack([-chord[:, 1], chord[:, 0]], axis=1)
    middle = 0.5 * (a + b)
    inner, outer = middle.copy(), middle.copy()
    found = np.zeros(len(a), dtype=bool)

    def smallest(s: Array) -> Array:
        return np.asarray(margins(s).min(axis=1))

    within = smallest(middle) >= 0.0
    for reach in (0.02, 0.1, 0.5, 1.0):
        side = np.where(within, -reach, reach)[:, None]  # the set is to the left
        trial = middle + side * left
        other = (smallest(trial) >= 0.0) != within
        fresh = other & ~found
        inner[fresh] = np.where(within[fresh, None], middle[fresh], trial[fresh])
        outer[fresh] = np.where(within[fresh, None], trial[fresh], middle[fresh])
        found |= other
    k = np.flatnonzero(found)
    if len(k):
        middle[k] = root_between(smallest, inner[k], outer[k], accuracy)
    return middle, found


def _chord_distance(p: Array, a: Array, b: Array) -> Array:
    """Distance of points from chords."""
    chord = b - a
    square = np.maximum(np.einsum("ki,ki->k", chord, chord), 1e-300)  # ends may be one point
    part = np.clip(np.einsum("ki,ki->k", p - a, chord) / square, 0.0, 1.0)
    gap = p - a - part[:, None] * chord
    return np.asarray(np.hypot(gap[:, 0], gap[:, 1]))


def with_corners(margins: Margins, points: Array) -> Array:
    """The points of a loop, and between two on different curves the point where both margins are zero."""
    values = margins(points)
    label = np.argmin(np.abs(values), axis=1)
    k = np.flatnonzero(label != np.roll(label, -1))
    if not len(k):
        return points
    after = (k + 1) % len(points)
    one, other = label[k], label[after]
    corner = 0.5 * (points[k] + points[after])
    size = np.linalg.norm(points[after] - points[k], axis=1)
    pick = np.arange(len(k))

    def both(s: Array) -> Array:
        c = margins(s)
        return np.stack([c[pick, one], c[pick, other]], axis=1)

    for _ in range(12):
        value = both(corner)
        slope = np.stack([(both(corner + h) - both(corner - h)) / 2e-6 for h in 1e-6 * np.eye(2)], axis=2)
        step = np.einsum("kij,kj->ki", np.linalg.pinv(slope), value)
        corner = corner - step
    ok = (np.abs(both(corner)).max(axis=1) < 1e-9) & (margins(corner).min(axis=1) > -1e-9)
    ok &= np.linalg.norm(corner - 0.5 * (points[k] + points[after]), axis=1) < 2.0 * size
    return np.insert(points, k[ok] + 1, corner[ok], axis=0)
