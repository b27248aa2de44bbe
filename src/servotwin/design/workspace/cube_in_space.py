r"""The largest cube in a solid that is known by a surface's points and by whether a point is inside.

A cube of edge s about c holds no surface point p if

.. math:: s \le 2 \min_p \lVert p - c \rVert_\infty                                          (eq:empty-cube)

The largest such s is searched over c. Then the faces of the cube are sampled; where a sample is outside, the surface
crosses the way from the middle to it, that crossing becomes a point of the surface, and the search goes on, until the
samples of all faces are inside.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from servotwin.design.workspace.inscribed import Cube
from servotwin.design.workspace.trace import root_between
from servotwin.mechanism.model import Array, BoolArray

Inside = Callable[[Array], BoolArray]
BEST = 40  # places that the first search goes on from
KEPT = 12  # of them stay in the later ones
TRIES = 24  # random steps at a time
COARSE = 2e-3  # m: where the first search ends
ROUNDS = 30  # of samples and searches
FACE = 13  # samples along an edge while the search goes on
FINE = 33  # samples along an edge of the cube that is found
WORST = 120  # samples outside that become surface points in a round
ACCURACY = 1e-5  # m
CLOSE = 2e-4  # m: what samples may still take from an edge when the search ends


def cube_in_space(
    surface: Array, known: Array, inside: Inside, show: Callable[[float], None] | None = None
) -> Cube:
    """The largest cube in a solid with points (k, 3) on its surface, searched from points (j, 3) ``known`` inside."""
    starts, samples = known, FACE
    for k in range(ROUNDS):
        if show is not None:
            show(k / ROUNDS)
        step = max(ACCURACY, COARSE * 0.25**k)
        cube, starts, passed = _empty_cube(surface, starts, inside, BEST if k == 0 else KEPT, step)
        crossings = _crossings(cube, inside, samples)
        room = 2.0 * float(np.abs(crossings - cube.center).max(axis=1).min(initial=0.5 * cube.edge))
        if cube.edge - room < CLOSE and step <= CLOSE and (cube.edge > 0.0 or not len(passed)):
            if samples == FINE:
                return _shrunk(Cube(cube.center, room), inside)
            samples = FINE
        surface = np.concatenate([surface, crossings, passed])
    return _shrunk(cube, inside)


def _empty_cube(
    surface: Array, starts: Array, inside: Inside, count: int, least: float
) -> tuple[Cube, Array, Array]:
    """The largest cube without surface points, eq:empty-cube, by pattern searches; and where the searches ended.

    Between its points the surface of a thin solid may be passed. A search that ends outside stays where it began, and
    the third answer are points (k, 3) at which such searches have passed the surface.
    """
    from scipy.spatial import cKDTree

    tree = cKDTree(surface)
    rng = np.random.default_rng(0)

    def room(c: Array) -> Array:
        return np.asarray(tree.query(c, p=np.inf)[0], dtype=np.float64)

    value = room(starts)
    order = np.argsort(-value)[:count]
    at, value = starts[order], value[order]
    low, high = surface.min(axis=0), surface.max(axis=0)  # beyond them there would be room without end
    step = 0.25 * value
    while (step > least).any():
        around = rng.normal(size=(len(at), TRIES, 3))
        around /= np.linalg.norm(around, axis=2, keepdims=True)
        tried = at[:, None] + step[:, None, None] * around * rng.uniform(0.1, 1.0, (len(at), TRIES, 1))
        tried = np.clip(tried, low, high)
        rooms = room(tried.reshape(-1, 3)).reshape(len(at), -1)
        best = rooms.argmax(axis=1)
        gained = rooms[np.arange(len(at)), best]
        better = gained > value
        at = np.where(better[:, None], tried[np.arange(len(at)), best], at)
        value = np.maximum(value, gained)
        step = np.where(better, step, 0.7 * step)
    within = inside(at)
    left = ~within
    passed = _between(inside, starts[order][left], at[left])
    at = np.where(within[:, None], at, starts[order])
    if not within.any():
        return Cube(at[0], 0.0), at, passed
    k = int(np.where(within, value, 0.0).argmax())
    return Cube(at[k], 2.0 * float(value[k])), at, passed


def _between(inside: Inside, inner: Array, outer: Array) -> Array:
    """Points of the surface (k, 3) on the ways from points inside to points outside."""
    if not len(inner):
        return inner
    return root_between(lambda s: np.where(inside(s), 1.0, -1.0), inner, outer, ACCURACY)


def face_points(cube: Cube, count: int) -> Array:
    """Points (6 count^2, 3) of the faces, edges and corners included."""
    t = np.linspace(-0.5, 0.5, count)
    u, v = (part.ravel() for part in np.meshgrid(t, t))
    faces = []
    for axis in range(3):
        for side in (-0.5, 0.5):
            face = np.empty((len(u), 3))
            face[:, axis], face[:, axis - 1], face[:, axis - 2] = side, u, v
            faces.append(face)
    return np.asarray(cube.center + cube.edge * np.concatenate(faces))


def _crossings(cube: Cube, inside: Inside, count: int) -> Array:
    """Points of the surface (k, 3) between the middle of a cube and samples of its faces that are outside."""
    p = face_points(Cube(cube.center, cube.edge - 2.0 * ACCURACY), count)
    p = p[~inside(p)]
    if len(p) > WORST:
        p = p[np.random.default_rng(0).choice(len(p), WORST, replace=False)]
    middle = np.broadcast_to(cube.center, p.shape)
    return _between(inside, middle, p)


def _shrunk(cube: Cube, inside: Inside) -> Cube:
    """The cube, made smaller about its middle until the samples of its faces are inside."""
    edge = cube.edge
    while edge > 0.0:
        outside = _crossings(Cube(cube.center, edge), inside, FINE)
        if not len(outside):
            return Cube(cube.center, max(edge - 2.0 * ACCURACY, 0.0))
        edge = min(2.0 * float(np.abs(outside - cube.center).max(axis=1).min()), edge - ACCURACY)
    return Cube(cube.center, 0.0)
