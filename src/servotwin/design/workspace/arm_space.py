r"""The set that three joints of an open arm reach in space, by all branches and with any orientation of the tool.

A place p belongs to it if joint positions within all limits put the tool there,

.. math:: f(q_a, q_b, q_c) = p, \qquad c_k(q) \ge 0                                            (eq:arm-places)

Newton's method starts from a grid of the joints' ranges. Its positions are grouped by the sign of det J and by the half
of each joint's range: the nearest of each group is a start, so that all branches are tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from servotwin.design.workspace.limits import LimitSet
from servotwin.design.workspace.section import moving_joints, samples
from servotwin.design.workspace.task_space import TaskSpace, newton_step, relative_determinant
from servotwin.errors import InputError, UnsupportedError
from servotwin.mechanism.model import Array, BoolArray, IntArray
from servotwin.robot.robot import Robot

GRID = 41  # positions of each joint from which places are searched
ITERATIONS = 12  # of Newton's method
LONGEST = 0.5  # rad or m: most that a joint changes in an iteration
SOLVED = 1e-9  # m
KEPT = 1e-9  # rad, m: rounding of a limit
SPATIAL = 1e-6  # relative: smaller volumes of three velocities lie in a plane


@dataclass
class ArmSpace(TaskSpace):
    """Places of the tool that ``joints`` reach while the others stand as in ``x_home``."""

    joints: tuple[int, int, int] = (0, 1, 2)
    starts: list[tuple[Any, Array]] = field(
        default_factory=list
    )  # trees of places, and positions there (k, n)
    reach: float = np.inf  # m: no place is farther from its start

    # --- closure ----------------------------------------------------------------------------------
    def _system(self, x: Array, target: Array) -> tuple[Array, Array, Array | None]:
        engine: Any = self.robot._engine
        gap = engine.fkine(x, self.frame)[:, :3, 3] - target
        return gap, engine.jacob0(x, self.frame)[:, :3][:, :, list(self.joints)], None

    def solve(self, points: Array, start: Array, iterations: int = ITERATIONS) -> tuple[Array, BoolArray]:
        """Joint positions (k, n) at points (k, d) by Newton's method from ``start``, and where it converged."""
        target, x = self.target(points), start.copy()
        active, solved = np.arange(len(x)), np.zeros(len(x), dtype=bool)
        for _ in range(iterations):
            gap, slope, _ = self._system(x[active], target[active])
            done = np.abs(gap).max(axis=1) < SOLVED
            solved[active[done]] = True
            active, gap, slope = active[~done], gap[~done], slope[~done]
            if not len(active):
                break
            step = newton_step(slope, gap)
            step *= np.minimum(1.0, LONGEST / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
            x[active[:, None], list(self.joints)] -= step
            active = active[np.isfinite(x[active]).all(axis=1)]
        return self._within_a_turn(x), solved

    def _within_a_turn(self, x: Array) -> Array:
        """Positions whose turning joints, where beyond their range, are full turns nearer to its middle."""
        for k in self.joints:
            low, high = self.limits.joints[:, k]
            if self.robot.joint_units[k] == "rad":
                turns = np.round((x[:, k] - 0.5 * (low + high)) / (2.0 * np.pi))
                x[:, k] -= np.where((x[:, k] < low) | (x[:, k] > high), 2.0 * np.pi * turns, 0.0)
        return x

    # --- margins ----------------------------------------------------------------------------------
    def margins_at(self, points: Array, x: Array) -> Array:
        """Margins (k, m) of all limits at solved positions; both signs of det J count."""
        _, slope, _ = self._system(x, self.target(points))
        margins = self._limit_margins(x)
        margins[np.abs(margins) < KEPT] = 0.0
        return np.concatenate([margins, np.abs(relative_determinant(slope))[:, None]], axis=1)

    def margins(self, points: Array) -> Array:
        """Margins (k, m) at points (k, d), of the best branch; an arm without a branch is too short."""
        return self._best(points)[1]

    def reached(self, points: Array) -> tuple[Array, BoolArray]:
        """Positions at points (k, d) of the best branch, and where there is one within all limits."""
        x, margins = self._best(points)
        return x, np.asarray(margins.min(axis=1) >= 0.0)

    def _best(self, points: Array) -> tuple[Array, Array]:
        """Positions (k, n) and margins (k, m): the first branch within all limits, or the one nearest to them."""
        x = np.tile(self.x_home, (len(points), 1))
        margins = np.ones((len(points), len(self.names)))
        margins[:, -1] = -np.inf
        left = np.arange(len(points))
        for tree, known in self.starts:
            if not len(left):
                break
            far, near = tree.query(self.target(points[left]), distance_upper_bound=self.reach)
            tried, near = left[np.isfinite(far)], near[np.isfinite(far)]
            found, solved = self.solve(points[tried], known[near])
            tried, found = tried[solved], found[solved]
            if len(tried):
                value = self.margins_at(points[tried], found)
                better = value.min(axis=1) > margins[tried].min(axis=1)
                x[tried[better]], margins[tried[better]] = found[better], value[better]
                left = left[margins[left].min(axis=1) < 0.0]
        margins[np.isinf(margins[:, -1]), -1] = -1.0
        return x, margins

    # --- lattice ----------------------------------------------------------------------------------
    def flood(
        self, spacing: float, progress: Callable[[int], None] | None = None
    ) -> dict[tuple[int, ...], int]:
        """Numbers of the inner nodes by lattice place, over the box of all starts."""
        shifts = np.concatenate([(tree.data - self.origin) @ self.basis.T for tree, _ in self.starts])
        low, high = np.floor(shifts.min(axis=0) / spacing) - 1, np.ceil(shifts.max(axis=0) / spacing) + 1
        axes = [np.arange(a, b + 1, dtype=np.int64) for a, b in zip(low, high, strict=True)]
        nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        x, inner = self.reached(nodes * spacing)
        if self._limit_margins(self.x_home[None]).min() >= -KEPT:  # a singular home is reached, too
            start = ~nodes.any(axis=1)
            x[start], inner[start] = self.x_home, True
        if not inner.any():
            raise UnsupportedError(f"{self.robot.name}: the workspace is thinner than {1e3 * spacing:.3g} mm")
        self.points, self.x, self._nearest = nodes[inner] * spacing, x[inner], None
        return {tuple(node): k for k, node in enumerate(nodes[inner].tolist())}

    def start_nodes(self, spacing: float) -> IntArray:
        """The nodes (k, d) nearest to all starts: what is reached there may be thinner than the lattice is wide."""
        shifts = np.concatenate([(tree.data - self.origin) @ self.basis.T for tree, _ in self.starts])
        return np.unique(np.round(shifts / spacing).astype(np.int64), axis=0)

    def fill(self, numbers: dict[tuple[int, ...], int], spacing: float) -> dict[tuple[int, ...], int]:
        """The inner nodes: all of them are known."""
        return numbers


def arm_space(robot: Robot, limits: LimitSet, frame: str, joints: tuple[int, int, int], q: Array) -> ArmSpace:
    """The places that three joints reach; the others stand at ``q`` (n,)."""
    home = robot.fkine(q, frame)
    space = ArmSpace(
        robot, limits, frame, np.eye(3), home[:3, 3], home[:3, :3], (0, 1, 2), np.asarray(q, dtype=np.float64),
        joints=joints,
    )  # fmt: skip
    low, high = limits.joints[:, list(joints)]
    grid = np.stack(
        np.meshgrid(*(np.linspace(low[i], high[i], GRID) for i in range(3)), indexing="ij"), axis=-1
    )
    x = np.tile(space.x_home, (GRID**3, 1))
    x[:, list(joints)] = grid.reshape(-1, 3)
    p, J = robot.fkine(x, frame)[:, :3, 3], robot.jacob0(x, frame)[:, :3][:, :, list(joints)]
    speeds = np.linalg.norm(J, axis=1).max(axis=0)
    space.reach = float(np.sum(speeds * (high - low)) / (GRID - 1))  # twice what half a step moves the tool
    half = np.zeros(len(x), dtype=np.int64)
    for i in range(3):
        half = 2 * half + (grid.reshape(-1, 3)[:, i] > 0.5 * (low[i] + high[i]))
    group = 2 * half + (np.linalg.det(J) > 0.0)
    within = (limits.margins(x) >= -KEPT).all(axis=1)
    if not within.any():
        names = ", ".join(robot.joint_names[k] for k in joints)
        raise InputError(f"{robot.name}: the workspace is empty: no position of {names} is within all limits")
    space.starts = _starts(p[within], x[within], group[within])
    return space


def _starts(p: Array, x: Array, group: Array) -> list[tuple[Any, Array]]:
    """Trees of the places of each group and its positions, the largest group first."""
    from scipy.spatial import cKDTree

    numbers, counts = np.unique(group, return_counts=True)
    return [(cKDTree(p[group == k]), x[group == k]) for k in numbers[np.argsort(-counts)]]


def spatial_joints(robot: Robot, frame: str) -> tuple[int, int, int]:
    """The first three joints of an open arm that move a frame in all directions."""
    J = robot.jacob0(samples(robot, 3), frame)[:, :3]
    size = max(float(np.linalg.norm(J, axis=1).max()), 1e-300)
    for a, b, c in combinations(moving_joints(robot, frame), 3):
        columns = J[:, :, [a, b, c]]
        speeds = np.linalg.norm(columns, axis=1).max(axis=0)
        if np.abs(np.linalg.det(columns)).max() > SPATIAL * max(float(np.prod(speeds)), (1e-6 * size) ** 3):
            return a, b, c
    raise UnsupportedError(
        f"{robot.name}: its joints do not move '{frame}' in all directions, and not in a plane"
    )
