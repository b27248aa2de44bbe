"""The surface around all places that the tool reaches within the limits, from many random positions, for pictures.

Every joint takes part, turning wrists too, and all branches; cells of a grid that a position falls into are inside. It
is as accurate as the grid, about a hundredth of its length; ``servotwin workspace`` follows the boundary itself.
"""

from __future__ import annotations

import numpy as np

from servotwin.errors import KinematicsError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.scene.mesh_read import Mesh

CELLS = 48  # along the longest side of the surface; places are sorted into a grid twice as fine
DRAWS, BATCH = 3_000_000, 250_000  # positions of an open chain, and how many are computed at a time
CLOSED_DRAWS, CLOSED_CELLS = 8_000, 14  # of a closed chain, whose loops are solved one by one
AT_LIMIT = 0.3  # the chance of a joint to stand at one of its limits, where most of the boundary is
LEVEL = 0.62  # of a cell's filled share: a place fills its whole cell, which is half a fine cell too much on average
FEWEST = 10  # places that span something
ROOM = 3  # empty cells around the places
THIN = 0.4  # of the marked cells: a surface that encloses fewer has lost them
FLAT = 1e-6  # of the longest side: a reach that is thinner is a plane or a line
Grid = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def reach_surface(robot: Robot) -> Mesh | None:
    """The surface around what the tool reaches, in the base; None if hardly any position is within the limits."""
    rng = np.random.default_rng(1)
    first = _places(robot, rng, CLOSED_DRAWS if robot.closed else BATCH)
    if len(first) < FEWEST:
        return None
    low, high = first.min(axis=0), first.max(axis=0)
    long = float((high - low).max())
    if long <= 0.0:
        return None
    cell = long / (CLOSED_CELLS if robot.closed else CELLS)
    flat = high - low < FLAT * long
    corner = np.where(flat, low - (ROOM + 1) * cell, low - ROOM * cell)
    shape = tuple(2 * (int(np.ceil(side / cell)) + 2 * ROOM) for side in np.where(flat, 2 * cell, high - low))
    inside = np.zeros(shape, dtype=bool)
    _mark(inside, first, corner, 0.5 * cell)
    draws = 0 if robot.closed else DRAWS // 4 if _bound(robot) else DRAWS
    for _ in range(draws // BATCH):
        _mark(inside, _places(robot, rng, BATCH), corner, 0.5 * cell)
    for axis in np.flatnonzero(flat).tolist():  # a plane has a thickness while its outline is looked for
        middle = np.arange(shape[axis]) // 2
        thick = np.abs(middle - middle.mean()) < 1.5
        inside = inside.any(axis=axis, keepdims=True) & thick.reshape(
            [-1 if a == axis else 1 for a in range(3)]
        )
    found = _outline(inside)
    if not len(found.triangles):
        return None
    points = corner + (found.points + 0.5) * cell
    points[:, flat] = (0.5 * (low + high))[flat]
    return Mesh(points.astype(np.float32), found.triangles)


def reach_box(robot: Robot) -> tuple[Array, Array] | None:
    """Least and largest coordinates (3,) of the tool over random positions of an open chain, with some room [m]."""
    places = np.zeros((0, 3)) if robot.closed else _places(robot, np.random.default_rng(1), 2000)
    if len(places) < FEWEST:
        return None
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.maximum(0.05 * (high - low), 0.01 * float((high - low).max()) + 1e-3)
    return low - room, high + room


def _places(robot: Robot, rng: np.random.Generator, count: int) -> Array:
    """Places (k, 3) of the tool at those of ``count`` random positions that are within all limits."""
    wide = np.where(np.array(robot.joint_units) == "m", 1.0, np.pi)
    low = np.where(np.isfinite(robot.limits.q_min), robot.limits.q_min, -wide)
    high = np.where(np.isfinite(robot.limits.q_max), robot.limits.q_max, wide)
    q = rng.uniform(low, high, (count, robot.n))
    end = np.where(rng.random(q.shape) < 0.5, low, high)
    q = np.where(rng.random(q.shape) < AT_LIMIT, end, q)
    if _bound(robot):
        out = (robot.quantities.beyond(q) > 0.0).any(axis=-1)
        out |= (robot.frame_quantities_beyond(q) > 0.0).any(axis=-1)
        q = q[~out]
    if robot.closed:
        return np.array([place for one in q if (place := _place(robot, one)) is not None]).reshape(-1, 3)
    return np.asarray(robot.fkine(q)[:, :3, 3])


def _bound(robot: Robot) -> bool:
    """Whether more than the joints' own limits bind."""
    return bool(robot.quantities.names or robot.frame_quantities.names)


def _place(robot: Robot, q: Array) -> Array | None:
    try:
        return np.asarray(robot.fkine(q)[:3, 3])
    except KinematicsError:
        return None  # the loops do not close there


def _mark(inside: Grid, places: Array, corner: Array, cell: float) -> None:
    at = ((places - corner) / cell).astype(np.intp)
    at = np.clip(at, 0, np.array(inside.shape) - 1)
    inside[at[:, 0], at[:, 1], at[:, 2]] = True


def _outline(inside: Grid) -> Mesh:
    """The surface around marked cells; a shell or a curve, which fills no cell, is given a thickness."""
    field = _field(inside)
    for _ in range(ROOM):
        if 8 * np.count_nonzero(field > LEVEL) >= THIN * np.count_nonzero(inside):
            break
        inside = _grown(inside)
        field = _field(inside)
    return surface_net(field, LEVEL)


def _field(inside: Grid) -> Array:
    """The filled share of every cell of the coarse grid, holes between places closed, smoothed by its neighbours."""
    closed = ~_grown(~_grown(inside))
    share = closed.astype(np.float64)
    for axis in range(3):  # two fine cells are one
        n = share.shape[axis]
        share = 0.5 * (np.take(share, range(0, n, 2), axis) + np.take(share, range(1, n, 2), axis))
    for axis in range(3):
        padded = np.pad(share, [(1, 1) if a == axis else (0, 0) for a in range(3)])
        parts = [np.take(padded, range(k, k + share.shape[axis]), axis) for k in range(3)]
        share = 0.25 * parts[0] + 0.5 * parts[1] + 0.25 * parts[2]
    return share


def _grown(inside: Grid) -> Grid:
    """A set of cells with all cells that touch it."""
    found = inside
    for axis in range(3):
        padded = np.pad(found, [(1, 1) if a == axis else (0, 0) for a in range(3)], mode="edge")
        parts = [np.take(padded, range(k, k + found.shape[axis]), axis) for k in range(3)]
        found = parts[0] | parts[1] | parts[2]
    return found


def surface_net(field: Array, level: float) -> Mesh:
    """The surface on which a field at the nodes of a grid has a level, in units of the grid (Gibson 1998).

    Every cell that the surface passes has one point, the mean of where it cuts the edges; every edge that it cuts has
    two triangles between the points of the four cells around it, turned outwards, to where the field is less.
    """
    cells = tuple(n - 1 for n in field.shape)
    total, count = np.zeros((*cells, 3)), np.zeros(cells)
    for axis in range(3):
        a, b = _ends(field, axis)
        cut = (a > level) != (b > level)
        share = np.where(cut, (level - a) / np.where(cut, b - a, 1.0), 0.0)
        place = np.stack(
            np.meshgrid(*(np.arange(n, dtype=np.float64) for n in a.shape), indexing="ij"), axis=-1
        )
        place[..., axis] += share
        others = [other for other in range(3) if other != axis]
        for step in ((0, 0), (0, 1), (1, 0), (1, 1)):
            part = [slice(None)] * 3
            for other, k in zip(others, step, strict=True):
                part[other] = slice(k, cells[other] + k)
            total += np.where(cut[tuple(part)][..., None], place[tuple(part)], 0.0)
            count += cut[tuple(part)]
    used = count > 0
    number = np.full(cells, -1, dtype=np.int64)
    number[used] = np.arange(int(used.sum()))
    triangles = [_quads(field > level, number, axis) for axis in range(3)]
    return Mesh(
        (total[used] / count[used][:, None]).astype(np.float32), np.concatenate(triangles).astype(np.uint32)
    )


def _ends(field: Array, axis: int) -> tuple[Array, Array]:
    n = field.shape[axis]
    return np.take(field, range(n - 1), axis), np.take(field, range(1, n), axis)


def _quads(inside: Grid, number: np.ndarray[tuple[int, ...], np.dtype[np.int64]], axis: int) -> Array:
    """Triangles (k, 3) of all cut edges along an axis, edges on the rim of the grid left out."""
    n = inside.shape[axis]
    a, b = np.take(inside, range(n - 1), axis), np.take(inside, range(1, n), axis)
    u, v = (axis + 1) % 3, (axis + 2) % 3
    at = np.argwhere(a != b)
    at = at[(at[:, u] > 0) & (at[:, v] > 0) & (at[:, u] < a.shape[u] - 1) & (at[:, v] < a.shape[v] - 1)]
    leaving = a[tuple(at.T)]
    corners = []
    for du, dv in ((1, 1), (0, 1), (0, 0), (1, 0)):
        cell = at.copy()
        cell[:, u] -= du
        cell[:, v] -= dv
        corners.append(number[tuple(cell.T)])
    p, q, r, s = corners
    q, s = np.where(leaving, q, s), np.where(leaving, s, q)
    return np.concatenate([np.stack([p, q, r], axis=1), np.stack([p, r, s], axis=1)])
