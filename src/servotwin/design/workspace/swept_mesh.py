"""Surfaces of solids that a region sweeps, for pictures and files: turned about an axis, or drawn along one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from servotwin.design.workspace.arrangement import Region
from servotwin.design.workspace.mesh import Mesh
from servotwin.design.workspace.two_sides import FULL, Sector, mirrored, right_half, sectors
from servotwin.mechanism.model import Array, IntArray

AROUND = 72  # facets of a full turn
THIN = 1e-9  # m: lower strips of an end face are left out
Piece = tuple[Array, IntArray, IntArray]  # corners (k, 3), triangles (t, 3) and their labels


def turned(region: Region, turn: tuple[float, float], offset: float, end_labels: tuple[int, int]) -> Mesh:
    """A region in (r, z), ``offset`` [m] beside the axis, turned about z from an angle to another [rad].

    ``end_labels`` are those of both end faces. Beside the axis, r and -r that are reached at one place are both drawn.
    """
    if offset == 0.0 or turn[1] - turn[0] >= FULL:
        parts = [(part, offset) for part in sectors(region, turn)]
    else:  # a point at (-r, d) is that at (r, -d) half a turn farther
        opposite = (turn[0] + np.pi, turn[1] + np.pi)
        halves = ((right_half(region), turn, offset), (right_half(mirrored(region)), opposite, -offset))
        parts = [(Sector(half, *angles, (0, 1)), d) for half, angles, d in halves if not half.empty]
    return _joined([piece for part, d in parts for piece in _turned_part(part, d, end_labels)])


def _turned_part(part: Sector, offset: float, end_labels: tuple[int, int]) -> list[Piece]:
    angles = np.linspace(
        part.low, part.high, max(2, int(np.ceil(AROUND * (part.high - part.low) / (2.0 * np.pi))) + 1)
    )

    def at(p: Array, angle: float) -> Array:
        c, s = np.cos(angle), np.sin(angle)
        return np.stack([c * p[:, 0] - s * offset, s * p[:, 0] + c * offset, p[:, 1]], axis=1)

    rings = _thin_rings(part.region, 240)
    # r, angle and z are left-handed: the bands of counter-clockwise rings show their inner sides
    found = [_flipped(_band(np.stack([at(ring, x) for x in angles]), labels)) for ring, labels in rings]
    if part.ends is not None:
        p, triangles = _face([ring for ring, _ in rings])
        for angle, end, flip in ((part.low, part.ends[0], False), (part.high, part.ends[1], True)):
            cap = (at(p, angle), triangles, np.full(len(triangles), end_labels[end]))
            found.append(_flipped(cap) if flip else cap)
    return found


def drawn(region: Region, heights: tuple[float, float], end_labels: tuple[int, int]) -> Mesh:
    """A region in (x, y) drawn along z from a height to another [m]; ``end_labels`` of the lower and upper face."""
    rings = _thin_rings(region, 400)
    p, triangles = _face([ring for ring, _ in rings])

    def at(q: Array, z: float) -> Array:
        return np.column_stack([q, np.full(len(q), z)])

    found = [_band(np.stack([at(ring, z) for z in heights]), labels) for ring, labels in rings]
    faces = [
        (at(p, z), triangles, np.full(len(triangles), label))
        for z, label in zip(heights, end_labels, strict=True)
    ]
    return _joined([*found, _flipped(faces[0]), faces[1]])


def _thin_rings(region: Region, most: int) -> list[tuple[Array, IntArray]]:
    """Rings and labels with at most about ``most`` points, spread by length."""
    found = []
    for ring, labels in zip(region.rings, region.labels, strict=True):
        keep: IntArray = np.arange(len(ring))
        if len(ring) > most:
            length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(ring, axis=0), axis=1))])
            keep = np.unique(np.searchsorted(length, np.linspace(0.0, length[-1], most)))
        found.append((ring[keep], labels[keep]))
    return found


def _band(grid: Array, owner: IntArray) -> Piece:
    """The surface between copies (rows, k, 3) of a ring."""
    rows, columns = grid.shape[:2]
    i, j = (part.ravel() for part in np.meshgrid(np.arange(rows - 1), np.arange(columns), indexing="ij"))
    a, b = i * columns + j, i * columns + (j + 1) % columns
    c, d = a + columns, b + columns
    triangles = np.concatenate([np.stack([a, b, d], 1), np.stack([a, d, c], 1)])
    return grid.reshape(-1, 3), triangles, np.tile(owner[j], 2)


def _face(rings: list[Array]) -> tuple[Array, IntArray]:
    """What rings enclose, in triangles counter-clockwise: strips between the heights of their corners."""
    a = np.concatenate(rings)
    b = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings])
    corners: list[Array] = []
    for low, high in pairwise(np.unique(a[:, 1])):
        across = (np.minimum(a[:, 1], b[:, 1]) <= low) & (np.maximum(a[:, 1], b[:, 1]) >= high)
        if high - low < THIN or not across.any():
            continue
        p, d = a[across], b[across] - a[across]
        x = np.stack([p[:, 0] + (z - p[:, 1]) / d[:, 1] * d[:, 0] for z in (low, high)])
        x = x[:, np.argsort(x.sum(axis=0), kind="stable")]
        for k in range(0, x.shape[1] - 1, 2):
            corners.append(
                np.array([[x[0, k], low], [x[0, k + 1], low], [x[1, k + 1], high], [x[1, k], high]])
            )
    first = 4 * np.arange(len(corners))[:, None]
    triangles = np.concatenate([first + np.array([0, 1, 2]), first + np.array([0, 2, 3])])
    return np.array(corners).reshape(-1, 2), triangles.astype(np.int64)


def _flipped(piece: Piece) -> Piece:
    return piece[0], piece[1][:, ::-1], piece[2]


def _joined(pieces: list[Piece]) -> Mesh:
    starts = np.cumsum([0, *(len(points) for points, _, _ in pieces)])[:-1]
    return Mesh(
        np.concatenate([points for points, _, _ in pieces]),
        np.concatenate([start + faces for start, (_, faces, _) in zip(starts, pieces, strict=True)]),
        np.concatenate([labels for _, _, labels in pieces]).astype(np.int64),
    )
