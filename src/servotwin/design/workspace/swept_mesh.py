"""Surfaces of solids that a region sweeps, for pictures and files: turned about an axis, or drawn along one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from servotwin.design.workspace.arrangement import Region
from servotwin.design.workspace.mesh import Mesh
from servotwin.design.workspace.two_sides import FULL, Sector, sectors, sectors_beside
from servotwin.mechanism.model import Array, IntArray

AROUND = 72  # facets of a full turn
CORNERS = 480  # of the longest rings of all parts together; pages hold every facet
LONG = 0.01  # of a ring: longest edge where azimuths change with r
Ring = tuple[Array, IntArray]  # corners (k, 2) and the labels of the edges that leave them
Piece = tuple[Array, IntArray, IntArray]  # corners (k, 3), triangles (t, 3) and their labels


def turned(region: Region, turn: tuple[float, float], offset: float, end_labels: tuple[int, int]) -> Mesh:
    """A region in (r, z), ``offset`` [m] beside the axis, turned about z from an angle to another [rad].

    ``end_labels`` are those of both end faces. The surface is that of parts which are closed and do not overlap; where
    two of them touch, it has both their faces.
    """
    if offset == 0.0 or turn[1] - turn[0] >= FULL:
        parts, distance = sectors(region, turn), offset
    else:
        parts, distance = sectors_beside(region, turn, offset), abs(offset)
    most = CORNERS // max(2, len(parts))
    return _joined([piece for part in parts for piece in _turned_part(part, distance, end_labels, most)])


def _turned_part(part: Sector, offset: float, end_labels: tuple[int, int], most: int) -> list[Piece]:
    rings = _thin_rings(part.region, most)
    if part.ways[0] != part.ways[1]:
        rings = [_split_edges(*pair, LONG) for pair in rings]

    def azimuths(p: Array) -> tuple[Array, Array]:
        phi = np.arctan2(offset, p[:, 0])
        return part.low + part.ways[0] * phi, part.high + part.ways[1] * phi

    def at(p: Array, share: float) -> Array:
        low, high = azimuths(p)
        angle, far = low + share * (high - low), np.hypot(p[:, 0], offset)
        return np.stack([far * np.cos(angle), far * np.sin(angle), p[:, 1]], axis=1)

    width = max(float(np.max(np.subtract(*azimuths(ring)[::-1]))) for ring, _ in rings)
    shares = np.linspace(0.0, 1.0, max(2, int(np.ceil(AROUND * width / (2.0 * np.pi))) + 1))
    # r, angle and z are left-handed: the bands of counter-clockwise rings show their inner sides
    if part.ends is None:
        return [_flipped(_band([at(ring, x) for x in shares], labels)) for ring, labels in rings]
    found = [_flipped(piece) for piece in _bands_with_ends(rings, at, shares.tolist())]
    p, triangles = _face([ring for ring, _ in rings])
    for share, end, flip in ((0.0, part.ends[0], False), (1.0, part.ends[1], True)):
        cap = (at(p, share), triangles, np.full(len(triangles), end_labels[end]))
        found.append(_flipped(cap) if flip else cap)
    return found


def drawn(region: Region, heights: tuple[float, float], end_labels: tuple[int, int]) -> Mesh:
    """A region in (x, y) drawn along z from a height to another [m]; ``end_labels`` of the lower and upper face."""
    rings = _thin_rings(region, 400)
    p, triangles = _face([ring for ring, _ in rings])

    def at(q: Array, z: float) -> Array:
        return np.column_stack([q, np.full(len(q), z)])

    found = _bands_with_ends(rings, at, list(heights))
    faces = [
        (at(p, z), triangles, np.full(len(triangles), label))
        for z, label in zip(heights, end_labels, strict=True)
    ]
    return _joined([*found, _flipped(faces[0]), faces[1]])


def _thin_rings(region: Region, most: int) -> list[Ring]:
    """Rings and labels with at most about ``most`` points, spread by length, and those where the label changes."""
    found = []
    for ring, labels in zip(region.rings, region.labels, strict=True):
        keep: IntArray = np.arange(len(ring))
        if len(ring) > most:
            length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(ring, axis=0), axis=1))])
            even = np.searchsorted(length, np.linspace(0.0, length[-1], most))
            keep = np.union1d(even, np.flatnonzero(labels != np.roll(labels, 1)))
        found.append((ring[keep], labels[keep]))
    return found


def _split_edges(ring: Array, labels: IntArray, part: float) -> Ring:
    """A ring whose edges are at most a part of it all; what bends with r is followed by short edges."""
    along = np.roll(ring, -1, axis=0) - ring
    length = np.linalg.norm(along, axis=1)
    counts = np.maximum(np.ceil(length / (part * length.sum())), 1.0).astype(np.int64)
    edge = np.repeat(np.arange(len(ring)), counts)
    within = np.arange(len(edge)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ring[edge] + (within / counts[edge])[:, None] * along[edge], labels[edge]


def _band(grid: Sequence[Array], owner: IntArray) -> Piece:
    """The surface between copies (k, 3) of a ring, one after the other."""
    rows, columns = len(grid), len(grid[0])
    i, j = (part.ravel() for part in np.meshgrid(np.arange(rows - 1), np.arange(columns), indexing="ij"))
    a, b = i * columns + j, i * columns + (j + 1) % columns
    c, d = a + columns, b + columns
    triangles = np.concatenate([np.stack([a, b, d], 1), np.stack([a, d, c], 1)])
    return np.concatenate(grid), triangles, np.tile(owner[j], 2)


def _bands_with_ends(
    rings: Sequence[Ring], at: Callable[[Array, float], Array], shares: Sequence[float]
) -> list[Piece]:
    """Bands of rings put at several places, with the corners of the end faces on their first and last edges."""
    levels = np.unique(np.concatenate([ring[:, 1] for ring, _ in rings]))
    found = []
    for ring, labels in rings:
        fine, edge = _cut_at_levels(ring, levels)
        if len(shares) > 2:
            found.append(_band([at(ring, x) for x in shares[1:-1]], labels))
            ends = ((shares[1], shares[0]), (shares[-2], shares[-1]))
        else:
            middle = 0.5 * (shares[0] + shares[1])
            ends = ((middle, shares[0]), (middle, shares[1]))
        for number, (inner, outer) in enumerate(ends):
            piece = _seam(at(ring, inner), at(fine, outer), edge, labels)
            found.append(_flipped(piece) if number == 0 else piece)
    return found


def _seam(coarse: Array, fine: Array, edge: IntArray, owner: IntArray) -> Piece:
    """The band from a ring (k, 3) to a copy with more corners, each on an edge of the ring or at its start."""
    k, m = len(coarse), len(fine)
    after = (edge + 1) % k
    here = k + np.arange(m)
    there = k + (np.arange(m) + 1) % m
    last = edge != np.roll(edge, -1) if k > 1 else np.ones(m, dtype=bool)
    sides = np.stack([edge, there, here], axis=1)
    closing = np.stack([edge[last], after[last], there[last]], axis=1)
    triangles = np.concatenate([sides, closing])
    return np.concatenate([coarse, fine]), triangles, np.concatenate([owner[edge], owner[edge[last]]])


def _cut_at_levels(ring: Array, levels: Array) -> tuple[Array, IntArray]:
    """A ring with corners wherever it passes one of the levels of its second coordinate, and the edge each is of."""
    points, edges = [], []
    for k, (p, q) in enumerate(zip(ring, np.roll(ring, -1, axis=0), strict=True)):
        low, high = sorted((p[1], q[1]))
        first, last = np.searchsorted(levels, low, side="right"), np.searchsorted(levels, high, side="left")
        z = levels[first:last] if p[1] < q[1] else levels[first:last][::-1]
        points += [p[None], np.column_stack([_across(p, q, z), z])]
        edges += [k] * (1 + len(z))
    return np.concatenate(points), np.array(edges, dtype=np.int64)


def _across(p: Array, q: Array, z: Array | float) -> Array:
    """Where an edge passes a level; the same number for both directions of the edge."""
    a, b = (p, q) if p[1] < q[1] else (q, p)
    return np.asarray(a[0] + (z - a[1]) / (b[1] - a[1]) * (b[0] - a[0]))


def _face(rings: list[Array]) -> tuple[Array, IntArray]:
    """What rings enclose, in triangles counter-clockwise: strips between the heights of their corners.

    Neighbouring strips have all corners on the level between them in common.
    """
    a = np.concatenate(rings)
    b = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings])
    low, high = np.minimum(a[:, 1], b[:, 1]), np.maximum(a[:, 1], b[:, 1])
    levels = np.unique(a[:, 1])
    on_level = [_on_level(a, b, low, high, z) for z in levels]
    corners: list[Array] = []
    for k in range(len(levels) - 1):
        crossing = np.flatnonzero((low <= levels[k]) & (high >= levels[k + 1]))
        x = np.array([[float(_across(a[e], b[e], z)) for e in crossing] for z in levels[k : k + 2]])
        if not len(crossing):
            continue
        x = x[:, np.argsort(x.sum(axis=0), kind="stable")]
        for left, right in zip(x[:, ::2].T, x[:, 1::2].T, strict=True):
            chains = [
                [lo, *(v for v in points if lo < v < hi), hi] if lo < hi else [lo]
                for lo, hi, points in zip(left, right, on_level[k : k + 2], strict=True)
            ]
            corners += _strip(chains, levels[k], levels[k + 1])
    points = np.array(corners).reshape(-1, 2)
    return points, np.arange(len(points), dtype=np.int64).reshape(-1, 3)


def _on_level(a: Array, b: Array, low: Array, high: Array, z: float) -> list[float]:
    """First coordinates of all edges that reach a level."""
    reach = np.flatnonzero((low <= z) & (high >= z))
    flat = low[reach] == high[reach]
    passed = [float(_across(a[e], b[e], z)) for e in reach[~flat]]
    return sorted({*passed, *a[reach[flat], 0].tolist(), *b[reach[flat], 0].tolist()})


def _strip(chains: list[list[float]], low: float, high: float) -> list[Array]:
    """Triangles (3, 2) between a chain of corners on a level and one on the next."""
    below, above = ([np.array([x, z]) for x in chain] for chain, z in zip(chains, (low, high), strict=True))
    found = [np.array([p, q, above[0]]) for p, q in pairwise(below)]
    return found + [np.array([below[-1], q, p]) for p, q in pairwise(above)]


def _flipped(piece: Piece) -> Piece:
    return piece[0], piece[1][:, ::-1], piece[2]


def _joined(pieces: list[Piece]) -> Mesh:
    starts = np.cumsum([0, *(len(points) for points, _, _ in pieces)])[:-1]
    return Mesh(
        np.concatenate([points for points, _, _ in pieces]),
        np.concatenate([start + faces for start, (_, faces, _) in zip(starts, pieces, strict=True)]),
        np.concatenate([labels for _, _, labels in pieces]).astype(np.int64),
    )
