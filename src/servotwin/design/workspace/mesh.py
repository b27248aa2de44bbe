r"""Surfaces of workspaces as triangles, followed on a lattice.

A lattice whose nodes are known to be inside or outside is cut into tetrahedra; the surface crosses the edges between
inner and outer nodes, and bisection finds where. Then triangles are quartered and the new corners put on the surface,
until edges are within a tolerance of it or the mesh is as fine as asked.

.. math:: V = \tfrac16 \sum_\triangle p_1 \cdot (p_2 \times p_3)                              (eq:mesh-volume)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from servotwin.design.workspace.trace import Margins, root_between
from servotwin.mechanism.model import Array, BoolArray, IntArray

ACCURACY = 1e-5  # m: corners are this near to the surface
PARTS = 3  # points of a cell near the surface, each way, for the volume
HALVINGS = 6  # of a step between two of them: a hundredth of it
CHANCE = 0.2  # cells by which a crossing errs at random, found with turned balls, boxes, octahedra and lenses


@dataclass(frozen=True)
class Mesh:
    """A closed surface: corners (k, 3), triangles (t, 3) counter-clockwise seen from outside, and their labels."""

    points: Array
    triangles: IntArray
    labels: IntArray
    deviation: float = 0.0  # m: 99 % of the edges are nearer to the surface than this

    @property
    def volume(self) -> float:
        """Enclosed volume [m3]."""
        p = self.points[self.triangles]
        return float(np.einsum("ki,ki->", p[:, 0], np.cross(p[:, 1], p[:, 2])) / 6.0)  # eq:mesh-volume

    @property
    def extent(self) -> tuple[Array, Array]:
        """Least and largest coordinates."""
        return self.points.min(axis=0), self.points.max(axis=0)

    def shifted(self, by: Array) -> Mesh:
        """The surface moved by a vector (3,) [m]."""
        return replace(self, points=self.points + by)


def _tetrahedra() -> IntArray:
    """The six tetrahedra of a cube (Kuhn): corners as shifts (6, 4, 3)."""
    found = []
    for order in permutations(range(3)):
        corner, path = np.zeros(3, dtype=int), [np.zeros(3, dtype=int)]
        for axis in order:
            corner = corner + np.eye(3, dtype=int)[axis]
            path.append(corner)
        found.append(path)
    return np.array(found)


def lattice_mesh(nodes: dict[tuple[int, ...], int], spacing: float, margins: Margins) -> Mesh:
    """The surface between the inner nodes of a lattice and the others, its corners where the margins vanish."""
    inner = np.array(list(nodes), dtype=np.int64)
    low = inner.min(axis=0) - 1
    shape = inner.max(axis=0) - low + 2
    inside = np.zeros(shape, dtype=bool)
    inside[tuple((inner - low).T)] = True
    pairs, triangles = _march(inside, shape)
    keys, number = np.unique(pairs[:, 0] * np.int64(inside.size) + pairs[:, 1], return_inverse=True)
    ends = [
        np.stack(np.unravel_index(part, shape), axis=1) for part in (keys // inside.size, keys % inside.size)
    ]
    a, b = ((end + low) * spacing for end in ends)

    def smallest(p: Array) -> Array:
        return np.asarray(margins(p).min(axis=1))

    points = root_between(smallest, a, b, ACCURACY)
    faces = number[triangles]
    kept = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    return Mesh(points, faces[kept], np.zeros(int(kept.sum()), dtype=np.int64))


def lattice_volume(
    nodes: dict[tuple[int, ...], int],
    spacing: float,
    margins: Margins,
    parts: int = PARTS,
    show: Callable[[float], None] | None = None,
    also: IntArray | None = None,
) -> tuple[float, float]:
    r"""Volume [m3] by columns along x, y and z, and its error by that of lattices with a quarter of the columns.

    .. math:: V_k = h^3 \sum_{\text{columns along } k} \Bigl(n + \sum_\text{crossings} (t - \tfrac12)\Bigr), \qquad
              V = \tfrac13 (V_x + V_y + V_z)                                            (eq:column-volume)

    h: ``spacing`` / ``parts``; n: points of a column that are inside; t: part of the way from an inner point to the
    next, outer one, at which the set ends. Cells whose node and 26 neighbours are inside count as wholly inside. A set
    is looked for about the inner nodes and about the nodes ``also`` (k, 3), where a part thinner than a cell lies. The
    error is the root mean square of what the twelve lattices with every other column differ from V, and beside it
    ``CHANCE`` cells times the root of the number of crossings: symmetric lattices agree by chance.
    """
    inside, low = _fine_lattice(nodes, spacing, margins, parts, show, also)
    h, found, quarters = spacing / parts, [], []
    for axis in range(3):
        columns = h**3 * _columns(inside, axis, h, low, margins)  # eq:column-volume
        found.append(float(columns.sum()))
        quarters += [4.0 * float(columns[i::2, j::2].sum()) for i in (0, 1) for j in (0, 1)]
        if show is not None:
            show(0.5 + (axis + 1) / 6.0)
    volume = float(np.mean(found))
    spread = float(np.sqrt(np.mean((np.array(quarters) - volume) ** 2)))
    ends = sum(int(np.count_nonzero(np.diff(inside, axis=axis))) for axis in range(3))
    return volume, float(np.hypot(spread, CHANCE * h**3 * np.sqrt(ends)))


def _columns(inside: BoolArray, axis: int, h: float, low: Array, margins: Margins) -> Array:
    """Lengths of the columns along an axis within the set, in steps of the lattice (a, b)."""
    length = inside.astype(np.float64)
    step = h * np.eye(3)[axis]
    for way in (1, -1):
        last = inside & ~np.roll(inside, -way, axis=axis)
        length[last] += _crossing_parts(h * (np.argwhere(last) + low), way * step, margins) - 0.5
    alone = inside & ~np.roll(inside, 1, axis=axis) & ~np.roll(inside, -1, axis=axis)
    # a chord shorter than a step meets a point of the lattice only so often as it is long: it counts as a step
    length[alone] = np.maximum(length[alone], 1.0)
    return np.asarray(length.sum(axis=axis))


def _fine_lattice(
    nodes: dict[tuple[int, ...], int],
    spacing: float,
    margins: Margins,
    parts: int,
    show: Callable[[float], None] | None,
    also: IntArray | None,
) -> tuple[BoolArray, Array]:
    """Which points of a lattice ``parts`` times as fine are inside, and where it starts, in its steps."""
    places = np.array(list(nodes), dtype=np.int64)
    known = places if also is None else np.concatenate([places, also])
    low = known.min(axis=0) - 2
    inside = np.zeros(known.max(axis=0) - low + 3, dtype=bool)
    met = inside.copy()
    inside[tuple((places - low).T)] = met[tuple((known - low).T)] = True
    around, near = np.ones_like(inside), np.zeros_like(inside)
    for shift in np.ndindex(3, 3, 3):
        around &= np.roll(inside, np.array(shift) - 1, axis=(0, 1, 2))
        near |= np.roll(met, np.array(shift) - 1, axis=(0, 1, 2))
    fine = np.repeat(np.repeat(np.repeat(around, parts, axis=0), parts, axis=1), parts, axis=2)
    cells = np.argwhere(near & ~around)
    start = low - 0.5 + 0.5 / parts  # a cell lies about its node
    for number, offset in enumerate(np.ndindex(parts, parts, parts)):
        at = parts * cells + offset
        fine[tuple(at.T)] = margins((start + at / parts) * spacing).min(axis=1) >= 0.0
        if show is not None:
            show(0.5 * (number + 1) / parts**3)
    return fine, start * parts


def _crossing_parts(inner: Array, step: Array, margins: Margins) -> Array:
    """Parts (k,) of a step from inner points (k, 3) to outer ones at which the set ends, to 1 / 2^(HALVINGS + 1)."""
    low, high = np.zeros(len(inner)), np.ones(len(inner))
    for _ in range(HALVINGS):
        t = 0.5 * (low + high)
        within = margins(inner + t[:, None] * step).min(axis=1) >= 0.0
        low, high = np.where(within, t, low), np.where(within, high, t)
    return 0.5 * (low + high)


def _march(inside: Array, shape: Array) -> tuple[IntArray, IntArray]:
    """Edges (inner, outer node) of all triangles' corners, and the triangles as triples of rows of them."""
    pairs: list[Array] = []
    total, triangles = 0, []
    cells = np.stack(np.meshgrid(*(np.arange(n - 1) for n in shape), indexing="ij"), axis=-1).reshape(-1, 3)
    for tetrahedron in _tetrahedra():
        corners = cells[:, None, :] + tetrahedron
        flat = np.ravel_multi_index(tuple(np.moveaxis(corners, -1, 0)), tuple(shape))
        within = inside.ravel()[flat]
        mixed = within.any(axis=1) & ~within.all(axis=1)
        flat, within = flat[mixed], within[mixed]
        positive = _positive(tetrahedron)
        for pattern in range(1, 15):
            chosen = (within * (1, 2, 4, 8)).sum(axis=1) == pattern
            if not chosen.any():
                continue
            for triangle in _faces(pattern, positive):
                corner = [np.stack([flat[chosen, i], flat[chosen, o]], axis=1) for i, o in triangle]
                count = int(chosen.sum())
                triangles.append(total + np.arange(count)[:, None] + count * np.arange(3))
                pairs += corner
                total += 3 * count
    return np.concatenate(pairs), np.concatenate(triangles)


def _positive(tetrahedron: Array) -> bool:
    return float(np.linalg.det(tetrahedron[1:] - tetrahedron[0])) > 0.0


def _faces(pattern: int, positive: bool) -> list[list[tuple[int, int]]]:
    """Triangles of one tetrahedron, corners as (inner, outer) vertices, counter-clockwise seen from outside."""
    inner = [k for k in range(4) if pattern >> k & 1]
    outer = [k for k in range(4) if k not in inner]
    if len(inner) == 1 or len(outer) == 1:
        triangle = [(i, o) for i in inner for o in outer]
        found = [triangle]
    else:
        (a, b), (c, d) = inner, outer
        found = [[(a, c), (a, d), (b, d)], [(a, c), (b, d), (b, c)]]
    return [_outward(triangle, inner, positive) for triangle in found]


def _outward(triangle: list[tuple[int, int]], inner: list[int], positive: bool) -> list[tuple[int, int]]:
    """The triangle turned so that its normal leaves the inner vertices."""
    reference = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    p = [0.5 * (reference[i] + reference[o]) for i, o in triangle]
    normal = np.cross(p[1] - p[0], p[2] - p[0])
    leaving = float(normal @ (np.mean(p, axis=0) - reference[inner].mean(axis=0))) > 0.0
    return triangle if leaving == positive else [triangle[0], triangle[2], triangle[1]]


def quartered(mesh: Mesh, margins: Margins) -> Mesh:
    """The mesh with every triangle in four, the new corners on the surface, and how far the old edges were off it."""
    edges = np.concatenate([mesh.triangles[:, [i, (i + 1) % 3]] for i in range(3)])
    ordered = np.sort(edges, axis=1)
    unique, number = np.unique(ordered, axis=0, return_inverse=True)
    a, b = mesh.points[unique[:, 0]], mesh.points[unique[:, 1]]
    normals = _point_normals(mesh)
    direction = normals[unique[:, 0]] + normals[unique[:, 1]]
    direction /= np.maximum(np.linalg.norm(direction, axis=1, keepdims=True), 1e-300)
    middle, off = on_surface(margins, 0.5 * (a + b), direction, np.linalg.norm(b - a, axis=1))
    count, t = len(mesh.points), len(mesh.triangles)
    ab, bc, ca = (count + number[k * t : (k + 1) * t] for k in range(3))
    A, B, C = mesh.triangles.T
    triangles = np.concatenate(
        [np.stack(part, axis=1) for part in ((A, ab, ca), (ab, B, bc), (ca, bc, C), (ab, bc, ca))]
    )
    deviation = float(np.quantile(off, 0.99)) / 4.0  # halving an edge quarters its sagitta
    return Mesh(np.concatenate([mesh.points, middle]), triangles, np.tile(mesh.labels, 4), deviation)


def _point_normals(mesh: Mesh) -> Array:
    p = mesh.points[mesh.triangles]
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    out = np.zeros_like(mesh.points)
    for k in range(3):
        np.add.at(out, mesh.triangles[:, k], normal)
    return np.asarray(out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-300))


def on_surface(margins: Margins, points: Array, direction: Array, length: Array) -> tuple[Array, Array]:
    """Points moved along outward directions onto the surface, by their length at most, and by how much."""

    def smallest(p: Array) -> Array:
        return np.asarray(margins(p).min(axis=1))

    within = smallest(points) >= 0.0
    inner, outer, found = points.copy(), points.copy(), np.zeros(len(points), dtype=bool)
    for reach in (0.05, 0.25, 1.0):
        k = np.flatnonzero(~found)
        if not len(k):
            break
        trial = points[k] + np.where(within[k], reach, -reach)[:, None] * length[k, None] * direction[k]
        other = (smallest(trial) >= 0.0) != within[k]
        fresh = k[other]
        inner[fresh] = np.where(within[fresh, None], points[fresh], trial[other])
        outer[fresh] = np.where(within[fresh, None], trial[other], points[fresh])
        found[fresh] = True
    moved = points.copy()
    k = np.flatnonzero(found)
    if len(k):
        moved[k] = root_between(smallest, inner[k], outer[k], ACCURACY)
    return moved, np.linalg.norm(moved - points, axis=1)


def labelled(mesh: Mesh, margins: Margins) -> Mesh:
    """The mesh with the number of the smallest margin on each triangle."""
    middle = mesh.points[mesh.triangles].mean(axis=1)
    return Mesh(mesh.points, mesh.triangles, np.argmin(margins(middle), axis=1), mesh.deviation)
