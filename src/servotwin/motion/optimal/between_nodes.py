"""A solved motion in SI, at its nodes and between them: the currents that it needs there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.optimal.drive_model import DriveModel
from servotwin.motion.optimal.friction_signs import signs_between
from servotwin.motion.optimal.result import SplineSegment
from servotwin.motion.optimal.transcription import Program
from servotwin.robot.robot import Robot

FINE = 9  # samples between two nodes, one of them half-way


@dataclass(frozen=True, eq=False)
class Motion:
    """The physical variables of a solved program."""

    t: Array
    q: Array
    v: Array
    a: Array
    i: Array
    rise: dict[int, float]


def motion_of(program: Program, x: Array) -> Motion:
    """Variables in SI."""
    form = program.form
    z = program.nodes(x) * program.scales()
    n, m = form.n, form.m
    T = float(x[program.T_index]) * program.table["oZT"]
    hot = x[program.T_index + 1 :]
    rise = {j: float(h) * program.table[f"oTh{j}"] for j, h in zip(form.heated, hot, strict=True)}
    return Motion(
        program.mesh * T, z[:, :n], z[:, n : 2 * n], z[:, 2 * n : 3 * n], z[:, 3 * n : 3 * n + m], rise
    )


def needed_currents(
    robot: Robot,
    drives: DriveModel,
    program: Program,
    motion: Motion,
    at: Array,
) -> Array:
    """Currents (k, m) that a motion needs at instants ``at`` (k,) [s], friction as in ``signs_between``."""
    q, v, a = SplineSegment(motion.t, motion.q, motion.v, motion.a).sample(at)
    w, wd = v @ drives.N.T, a @ drives.N.T
    way = signs_between(motion.t, program.signs, program.eps, at, w, wd)
    tau = robot.rne(q, v, a, drives=True) @ drives.N_inverse
    passed, eta = tau - drives.J_m * wd, drives.efficiency
    soft = np.array([program.table[f"oSoft{k}"] for k in range(drives.m)])
    size = np.sqrt(passed**2 + soft**2)
    lossy = drives.J_m * wd + 0.5 * (1.0 / eta + eta) * passed + way * 0.5 * (1.0 / eta - eta) * size
    tau = np.where(eta < 1.0, lossy, tau)
    return np.asarray((tau + drives.viscous * w + drives.coulomb * way - drives.offset) / drives.K)


def model_error(robot: Robot, drives: DriveModel, program: Program, motion: Motion) -> float:
    """Largest difference of currents between nodes from what the motion there needs, as part of their scales."""
    scale = np.array([program.table[f"oZsi{k}"] for k in range(drives.m)])

    def needed(at: Array) -> Array:
        return needed_currents(robot, drives, program, motion, at)

    return current_gap(motion.t, motion.i, needed, scale)


def current_gap(t: Array, i: Array, needed: Callable[[Array], Array], scale: Array) -> float:
    """Largest difference between nodes of straight lines of current (N + 1, m) from those needed, over scales (m,)."""
    part = (np.arange(FINE) + 0.5) / FINE
    at = (t[:-1, None] + np.diff(t)[:, None] * part).ravel()
    given = np.stack([np.interp(at, t, column) for column in i.T], axis=1)
    return float((np.abs(needed(at) - given) / scale).max())


def excess_currents(robot: Robot, drives: DriveModel, program: Program, motion: Motion) -> Array:
    """By how much (N + 1, m) [A] the currents needed on either side of a node exceed their limits."""
    part = np.linspace(0.0, 1.0, FINE)
    at = motion.t[:-1, None] + np.diff(motion.t)[:, None] * part
    # The ends of an interval belong to its own polynomial only in the limit.
    at[:, 0] += 1e-9 * motion.t[-1]
    at[:, -1] -= 1e-9 * motion.t[-1]
    at = at.ravel()
    needed = needed_currents(robot, drives, program, motion, at)
    most = np.abs(needed).reshape(-1, FINE, drives.m).max(axis=1)
    over = np.maximum(most - drives.current, 0.0)
    nothing = np.zeros((1, drives.m))
    return np.asarray(np.maximum(np.vstack([over, nothing]), np.vstack([nothing, over])))
