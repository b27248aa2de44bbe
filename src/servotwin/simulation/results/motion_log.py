"""Where joints and tool were and should have been, at instants that the record has no part in.

The compiled loop keeps the joints every millisecond (``recording.log_motion``) and at the end of the run. Following
errors, settling, repeatability and the energy of instructions come from here, so that ``record.every`` changes none
of them. A run of more than a million such instants keeps every second one, then every fourth, and so on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from servotwin.errors import KinematicsError
from servotwin.mechanism.model import Array, BoolArray
from servotwin.robot.base_deflection import base_deflection, displaced
from servotwin.simulation.plant.recording import PER_LOG

if TYPE_CHECKING:
    from servotwin.robot.robot import Robot
    from servotwin.simulation.plant.machine import Machine

SMALL = 10_000_000  # pairs of points that are compared directly, sooner than SciPy is imported
BLOCK = 16  # corners of a path that are looked at together
ROUNDING = 1e-12  # of a distance
STANDS = 1e-12  # m: commands nearer to each other are one


class CommandedMotion(Protocol):
    """A motion that was commanded: planned as a whole, or handed out by a main controller."""

    @property
    def duration(self) -> float:
        """[s]"""

    @property
    def arrivals(self) -> Array:
        """When its moves have reached their targets (m,) [s]."""

    def sample(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration (k, n) at t (k,) [s]."""


@dataclass(frozen=True)
class MotionLog:
    """Instants (k,) [s], joints and tool with their commands, (k, n) [rad, m] and (k, 3) [m], energy given (k,) [J].

    ``deflection``: shift and turn of the base (k, 6) [m, rad], which the tool has; None on a stiff one.
    """

    time: Array
    q: Array
    q_ref: Array
    tip: Array
    tip_ref: Array
    energy: Array
    deflection: Array | None = None

    @cached_property
    def tip_error(self) -> Array:
        """Distance of the tool from where it should be at that instant (k,) [m]."""
        return np.asarray(np.linalg.norm(self.tip - self.tip_ref, axis=1))

    @cached_property
    def across(self) -> Array:
        """Distance of the tool from the commanded path of its stroke (k,) [m]."""
        return self.distances(self.tip, np.arange(len(self.time))) if len(self.time) else np.zeros(0)

    @cached_property
    def moved(self) -> BoolArray:
        """Whether the command has moved the tool in the step that ends at each instant (k,)."""
        steps = np.diff(self.tip_ref, axis=0, prepend=self.tip_ref[:1])
        return np.asarray(np.linalg.norm(steps, axis=1) > STANDS)

    @cached_property
    def stroke(self) -> NDArray[np.int64]:
        """Number of the stroke at each instant (k,): one begins where the command moves on after a rest.

        A rest belongs to the stroke before it, that at the beginning to the first.
        """
        begins = self.moved & ~np.concatenate([[False], self.moved[:-1]])
        return np.asarray(np.maximum(np.cumsum(begins), 1) - 1, dtype=np.int64)

    def distances(self, points: Array, steps: NDArray[np.int64]) -> Array:
        """Distances (j,) of points (j, 3), seen at the steps (j,), from the commanded path of the stroke at hand.

        The ends of a stroke go on straight: what overshoots is ahead of its path, not beside it.
        """
        strokes, out = self.stroke[steps], np.zeros(len(points))
        order = np.argsort(strokes, kind="stable")
        kinds, begins = np.unique(strokes[order], return_index=True)
        moving = np.flatnonzero(self.moved)
        of = self.stroke[moving]
        first, last = np.searchsorted(of, kinds), np.searchsorted(of, kinds, side="right")
        for here, a, b in zip(np.split(order, begins[1:]), first, last, strict=True):
            ends = moving[a:b]
            corners = self.tip_ref[[ends[0] - 1, *ends]] if len(ends) else self.tip_ref[:1]
            out[here] = distance_to_path(points[here], corners)
        return out

    def tip_signals(self) -> Mapping[str, Array]:
        """Instants and places of the tool under the names of signals."""
        places = (("tip", self.tip), ("tip_ref", self.tip_ref))
        named = {f"{name}_{a}_m": values[:, i] for name, values in places for i, a in enumerate("xyz")}
        return {"time_s": self.time, **named}

    def path_errors(self, t: Array, tip: Array, wanted: Array) -> tuple[Array, Array]:
        """Lead along the tangent of the commanded path, and distance from the nearest point of that path (j,).

        ``tip`` and ``wanted`` (j, 3) at any instants t (j,). The tangent is that of the step of the log that ends
        then or next; while the command rests, it is the last one. The distance is measured to the polygon through
        the commanded points of the stroke in the log, so that lagging behind on the path is no distance from it.
        """
        if not len(self.time):
            return np.zeros(len(t)), np.asarray(np.linalg.norm(tip - wanted, axis=1))
        steps = np.diff(self.tip_ref, axis=0, prepend=self.tip_ref[:1])
        lengths = np.linalg.norm(steps, axis=1)
        first = int(np.argmax(self.moved))  # before the first motion its tangent counts
        last = np.maximum.accumulate(np.where(self.moved, np.arange(len(steps)), first))
        unit = np.divide(steps, lengths[:, None], out=np.zeros_like(steps), where=self.moved[:, None])
        step = np.minimum(np.searchsorted(self.time, t), len(steps) - 1)
        along = np.einsum("ij,ij->i", tip - wanted, unit[last][step])
        return along, self.distances(tip, step)


def make_log(
    machine: Machine,
    plant: Robot,
    model: Robot,
    reference: CommandedMotion,
    compliance: Array | None = None,
) -> MotionLog:
    """The log that the compiled loop has kept, with the commands at its instants; ``compliance`` (6, 6) of the base."""
    rows = machine.log[: int(machine.world["record"]["log_rows"][0])].copy()
    t, x = rows[:, 0], rows[:, PER_LOG:]
    q = x[:, : int(machine.world["n"][0])]
    if not len(t):
        return MotionLog(t, q, q, np.zeros((0, 3)), np.zeros((0, 3)), rows[:, 1])
    q_ref = reference.sample(t)[0]
    deflection = None if compliance is None else base_motion(plant, compliance, t, q)
    tip = tool_poses(plant, x, deflection)[:, :3, 3]
    return MotionLog(t, q, q_ref, tip, commanded_tip(model, q_ref), rows[:, 1], deflection)


def base_motion(plant: Robot, compliance: Array, t: Array, q: Array) -> Array:
    """Shift and turn (k, 6) of a base that gives way under an arm at q (k, n), instants t (k,) (eq:base-deflection)."""
    if len(t) < 3:
        return base_deflection(plant, compliance, q)
    qd = np.gradient(q, t, axis=0)
    return base_deflection(plant, compliance, q, qd, np.gradient(qd, t, axis=0))


def tool_poses(plant: Robot, x: Array, deflection: Array | None = None) -> Array:
    """Poses (k, 4, 4) of the tool as it is at the coordinates x (k, n_x), on a base that has moved (k, 6)."""
    X = plant.fkine_at(x)
    return X if deflection is None else displaced(X, deflection)


def commanded_tip(model: Robot, q_ref: Array) -> Array:
    """Where the tool should be (k, 3) [m].

    A command that no closed loops can follow leaves the tool where it was commanded last.
    """
    try:
        return model.fkine(q_ref)[:, :3, 3]
    except KinematicsError:
        places: list[Array] = []
        for q in q_ref:
            try:
                places.append(model.fkine(q)[:3, 3])
            except KinematicsError:
                if not places:
                    raise
                places.append(places[-1])
        return np.array(places)


def distance_to_path(points: Array, corners: Array) -> Array:
    """Distance (k,) of points (k, 3) from the polygon through ``corners``, whose first and last edge go on straight."""
    if len(corners) < 2:
        return np.asarray(np.linalg.norm(points - corners[0], axis=1))
    nearest = nearest_corner(points, corners)
    best = np.full(len(points), np.inf)
    last = len(corners) - 2
    for shift in (-1, 0):
        edge_of = np.clip(nearest + shift, 0, last)
        a, b = corners[edge_of], corners[edge_of + 1]
        edge = b - a
        part = np.einsum("ij,ij->i", points - a, edge) / np.einsum("ij,ij->i", edge, edge)
        part = np.where(edge_of > 0, np.maximum(part, 0.0), part)
        part = np.where(edge_of < last, np.minimum(part, 1.0), part)
        best = np.minimum(best, np.linalg.norm(points - a - part[:, None] * edge, axis=1))
    return best


def nearest_corner(points: Array, corners: Array) -> Array:
    """Index of the corner nearest to each point (k,).

    Corners that follow each other lie close together: only those of blocks that may hold the nearest are compared.
    A point that is no number, as after divergence, gets the corner nearest to the origin.
    """
    points = np.where(np.isfinite(points), points, 0.0)
    if len(points) * len(corners) > SMALL:
        from scipy.spatial import cKDTree

        return np.asarray(cKDTree(corners).query(points)[1])
    blocks = -(-len(corners) // BLOCK)
    last = len(corners) - 1
    members = np.minimum(np.arange(blocks * BLOCK), last).reshape(blocks, BLOCK)  # the last corner fills up
    held = corners[members]
    middles = 0.5 * (held.min(axis=1) + held.max(axis=1))
    radii = np.sqrt(np.square(held - middles[:, None]).sum(axis=2).max(axis=1))
    away = points[:, None] - middles
    far = np.sqrt(np.einsum("ijk,ijk->ij", away, away))
    # in the nearest of all blocks a corner is no further than this; what rounds may let a block in too many
    reach = (far + radii).min(axis=1, keepdims=True) * (1.0 + ROUNDING)
    of, block = np.nonzero(far - radii <= reach)
    between = points[of, None] - held[block]
    squares = np.einsum("ijk,ijk->ij", between, between)
    within = np.argmin(squares, axis=1)
    least = squares[np.arange(len(of)), within]
    # of each point the nearest first, of equal ones that which comes first
    order = np.lexsort((block, least, of))
    best = order[np.searchsorted(of, np.arange(len(points)))]
    return np.asarray(members[block[best], within[best]])
