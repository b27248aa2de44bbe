r"""The reachable set of a robot whose tool pose gives the joints, on one branch and with one orientation.

At a tool pose the closed loops and the pose are solved together for all coordinates x,

.. math:: \phi(x) = 0, \qquad T(x) = T_\mathrm{wanted}                                   (eq:pose-closure)

from the nearest pose that is known, so that the robot stays on the branch of its home pose. A pose belongs to the set
if the solution exists, no limit is passed, and neither the determinant of eq:pose-closure (arms stretched) nor that of
the passive joints' part of the loops (the actuators lose their hold) has changed its sign.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from servotwin.design.workspace.limits import Limit, LimitSet
from servotwin.design.workspace.planar import STRETCHED
from servotwin.errors import UnsupportedError
from servotwin.mechanism.model import Array, BoolArray, IntArray
from servotwin.robot.robot import Robot

ITERATIONS = 12  # of Newton's method
FEWER = 7  # of them on a part of the way
LONGEST = 0.3  # rad or m: most that a coordinate changes in an iteration
SOLVED = 1e-10  # m and rad
UNHELD = "platform not held by the actuators"
NODES = 60_000  # most nodes of a flooded lattice


@dataclass
class TaskSpace:
    """Poses of the tool that differ from the home pose by a shift in ``basis`` (d, 3) from ``origin``."""

    robot: Robot
    limits: LimitSet
    frame: str
    basis: Array
    origin: Array
    rotation: Array  # (3, 3) orientation that is kept
    rows: tuple[int, ...]  # components of the pose that are asked for: x, y, z, turns about x, y, z
    x_home: Array
    points: Array = field(default_factory=lambda: np.zeros((0, 3)))  # known poses (k, d)
    x: Array = field(default_factory=lambda: np.zeros((0, 0)))  # their coordinates
    _signs: tuple[float, float] = (1.0, 1.0)
    _nearest: Any = None

    @property
    def names(self) -> tuple[Limit, ...]:
        """What the margins are called."""
        held = (Limit("singular", UNHELD),) if self.robot.closed else ()
        return (*self.limits.limits, Limit("singular", STRETCHED), *held)

    # --- closure ----------------------------------------------------------------------------------
    def _system(self, x: Array, target: Array) -> tuple[Array, Array, Array | None]:
        """Residual (k, m), its gradient (k, m, n_x), and the part of the loops that the passive joints have."""
        engine: Any = self.robot._engine
        rows = list(self.rows)
        if not self.robot.closed:
            return (
                self._pose_gap(engine.fkine(x, self.frame), target),
                engine.jacob0(x, self.frame)[:, rows],
                None,
            )
        used = list(engine.rows)
        gap, slope = engine.loops.gap(x)[:, used], engine.loops.gradient(x)[:, used]
        pose = self._pose_gap(engine.tree.fkine(x, self.frame), target)
        J = engine.tree.jacob0(x, self.frame)[:, rows]
        return (
            np.concatenate([gap, pose], axis=1),
            np.concatenate([slope, J], axis=1),
            slope[:, :, self.robot.n :],
        )

    def _pose_gap(self, T: Array, target: Array) -> Array:
        gap = np.empty((len(T), 6))
        gap[:, :3] = T[:, :3, 3] - target
        error = T[:, :3, :3] @ self.rotation.T  # a small turn: its skew part
        gap[:, 3] = 0.5 * (error[:, 2, 1] - error[:, 1, 2])
        gap[:, 4] = 0.5 * (error[:, 0, 2] - error[:, 2, 0])
        gap[:, 5] = 0.5 * (error[:, 1, 0] - error[:, 0, 1])
        return gap[:, list(self.rows)]

    def target(self, points: Array) -> Array:
        """Places in the base (k, 3) of points (k, d)."""
        return self.origin + points @ self.basis

    def solve(self, points: Array, start: Array, iterations: int = ITERATIONS) -> tuple[Array, BoolArray]:
        """Coordinates (k, n_x) at points (k, d) by Newton's method from ``start``, and where it converged."""
        target, x = self.target(points), start.copy()
        active = np.arange(len(x))
        solved = np.zeros(len(x), dtype=bool)
        for _ in range(iterations):
            gap, slope, _ = self._system(x[active], target[active])
            done = np.abs(gap).max(axis=1) < SOLVED
            solved[active[done]] = True
            active, gap, slope = active[~done], gap[~done], slope[~done]
            if not len(active):
                break
            step = newton_step(slope, gap)
            longest = np.abs(step).max(axis=1)
            step *= np.minimum(1.0, LONGEST / np.maximum(longest, 1e-300))[:, None]
            x[active] -= step
            sane = np.isfinite(x[active]).all(axis=1)
            active = active[sane]
        return x, solved

    # --- margins ----------------------------------------------------------------------------------
    def margins_at(self, points: Array, x: Array) -> Array:
        """Margins (k, m) of all limits at solved coordinates."""
        n = self.robot.n
        _, slope, passive = self._system(x, self.target(points))
        found = [self._limit_margins(x[:, :n]), self._signs[0] * relative_determinant(slope)[:, None]]
        if passive is not None:
            found.append(self._signs[1] * relative_determinant(passive)[:, None])
        return np.concatenate(found, axis=1)

    def _limit_margins(self, q: Array) -> Array:
        found = self.limits.margins(q)
        found[:, [limit.kind == "seam" for limit in self.limits.limits]] = (
            np.pi
        )  # a turn further is the same place
        return found

    def margins(self, points: Array) -> Array:
        """Margins (k, m) at points (k, d); where there is no solution the arm counts as stretched beyond its length."""
        x, solved = self.reached(points)
        out = np.ones((len(points), len(self.names)))
        out[~solved, len(self.limits.limits)] = -1.0
        if solved.any():
            out[solved] = self.margins_at(points[solved], x[solved])
        return out

    def reached(self, points: Array) -> tuple[Array, BoolArray]:
        """Coordinates at points (k, d) on the branch of the home pose, and where there are such."""
        near = self.nearest(points)
        x, solved = self.solve(points, self.x[near])
        left = np.flatnonzero(~solved)
        if len(left):  # in four steps from the nearest known point
            start, begin = self.x[near[left]], self.points[near[left]]
            for part in (0.25, 0.5, 0.75, 1.0):
                start, good = self.solve(begin + part * (points[left] - begin), start, FEWER)
                left, start, begin = left[good], start[good], begin[good]
            x[left], solved[left] = start, True
        return x, solved

    def nearest(self, points: Array) -> IntArray:
        """Number of the nearest known point of each."""
        from scipy.spatial import cKDTree

        if self._nearest is None:
            self._nearest = cKDTree(self.points)
        return np.asarray(self._nearest.query(points)[1])

    # --- flood ------------------------------------------------------------------------------------
    def flood(
        self, spacing: float, progress: Callable[[int], None] | None = None
    ) -> dict[tuple[int, ...], int]:
        """Fill the set from home over a lattice; numbers of the inner nodes by lattice place."""
        d = len(self.basis)
        numbers: dict[tuple[int, ...], int] = {(0,) * d: 0}
        tried = {(0,) * d}
        self.points, self.x, self._nearest = np.zeros((1, d)), self.x_home[None].copy(), None
        front = [(0,) * d]
        steps = [
            tuple(int(v) for v in row)
            for row in np.concatenate([np.eye(d, dtype=int), -np.eye(d, dtype=int)])
        ]
        while front:
            wanted = [
                (tuple(a + b for a, b in zip(node, step, strict=True)), numbers[node])
                for node in front
                for step in steps
            ]
            fresh = {node: start for node, start in wanted if node not in tried}
            tried.update(fresh)
            if not fresh:
                break
            places = np.array(list(fresh), dtype=np.float64) * spacing
            x, solved = self.solve(places, self.x[list(fresh.values())])
            inner = solved.copy()
            if solved.any():
                inner[solved] = self.margins_at(places[solved], x[solved]).min(axis=1) >= 0.0
            front = [node for node, ok in zip(fresh, inner, strict=True) if ok]
            numbers.update({node: len(self.points) + k for k, node in enumerate(front)})
            self.points = np.concatenate([self.points, places[inner]])
            self.x = np.concatenate([self.x, x[inner]])
            if len(self.points) > NODES:
                raise UnsupportedError(f"{self.robot.name}: the workspace has no end within its limits")
            if progress is not None:
                progress(len(self.points))
        return numbers

    def fill(self, numbers: dict[tuple[int, ...], int], spacing: float) -> dict[tuple[int, ...], int]:
        """The inner nodes of a lattice over the box of a flooded set: thin parts that the flood passed by as well."""
        known = np.array(list(numbers))
        axes = [np.arange(a - 2, b + 3) for a, b in zip(known.min(axis=0), known.max(axis=0), strict=True)]
        nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        fresh = np.array([tuple(node) not in numbers for node in nodes.tolist()])
        places = nodes[fresh] * spacing
        x, solved = self.reached(places)
        inner = solved.copy()
        inner[solved] = self.margins_at(places[solved], x[solved]).min(axis=1) >= 0.0
        found = dict(numbers)
        found.update(
            {tuple(node): len(self.points) + k for k, node in enumerate(nodes[fresh][inner].tolist())}
        )
        self.points = np.concatenate([self.points, places[inner]])
        self.x, self._nearest = np.concatenate([self.x, x[inner]]), None
        return found


def newton_step(slope: Array, gap: Array) -> Array:
    """What Newton's method takes from the coordinates (k, n), the least step where a slope (k, m, n) is singular."""
    try:
        return np.asarray(np.linalg.solve(slope, gap[..., None])[..., 0], dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.einsum("kij,kj->ki", np.linalg.pinv(slope), gap))


def relative_determinant(matrices: Array) -> Array:
    """Determinants (k,) over the product of the rows' lengths: 1 at best, 0 if singular."""
    lengths = np.maximum(np.linalg.norm(matrices, axis=2), 1e-300)
    return np.asarray(np.linalg.det(matrices / lengths[:, :, None]))


def task_space(robot: Robot, limits: LimitSet, frame: str, basis: Array) -> TaskSpace:
    """Poses about the home pose; as many components of the pose are kept as the robot has joints."""
    home = robot.fkine(robot.q_home, frame)
    x_home = robot.coordinates(robot.q_home)
    J = robot.jacob0(robot.q_home, frame)
    rows = _independent(J)
    if len(rows) != robot.n:
        raise UnsupportedError(
            f"{robot.name}: {robot.n} joints move '{frame}' in {len(rows)} directions at home; expected as many"
        )
    asked = np.flatnonzero(np.abs(basis).max(axis=0) > 0.0)
    if not set(asked.tolist()) <= set(rows):
        raise UnsupportedError(
            f"{robot.name}: its joints do not move '{frame}' in all directions at home, and not in a plane"
        )
    space = TaskSpace(robot, limits, frame, basis, home[:3, 3], home[:3, :3], rows, x_home)
    _, slope, passive = space._system(x_home[None], home[None, :3, 3])
    signs = [
        float(np.sign(relative_determinant(part)[0])) if part is not None else 1.0
        for part in (slope, passive)
    ]
    if 0.0 in signs:
        raise UnsupportedError(f"{robot.name}: the home pose is singular; a workspace is followed from there")
    space._signs = (signs[0], signs[1])
    return space


def _independent(J: Array) -> tuple[int, ...]:
    """The first rows of a Jacobian that are independent, positions before turns."""
    kept: list[int] = []
    for row in range(6):
        trial = [*kept, row]
        values = np.linalg.svd(J[trial], compute_uv=False)
        if len(trial) <= J.shape[1] and values[-1] > 1e-9 * max(values[0], 1e-300):
            kept = trial
    return tuple(kept)
