"""All ways in which the loops of a closed chain can be put together at one position of the actuated joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from servotwin.errors import KinematicsError
from servotwin.mechanism.grouping import pseudo_inertia
from servotwin.mechanism.model import Array, Mechanism
from servotwin.robot.closure import CLOSED, size_of, start_spread

if TYPE_CHECKING:
    from servotwin.robot.closed_engine import ClosedEngine

ITERATIONS = 80
LARGEST = 0.5  # rad, m: change of a joint in one Newton step
SAME = 1e-6  # difference of places (in sizes of the mechanism) below which two assemblies are one


def find_assemblies(engine: ClosedEngine, q: Array, starts: int) -> Array:
    """Coordinates (k, n_x) of all assemblies at q (n,) that Newton's method finds from random passive joints.

    Two are the same if all masses lie alike, and the tool, joints and cuts are at the same places: a universal
    joint can be written with two pairs of angles. Of those the coordinates nearest to home are kept, and the
    assembly nearest to home comes first.
    """
    mechanism, n = engine.mechanism, engine.n
    home = engine.closure.x_home
    spread = start_spread(mechanism)
    rng = np.random.default_rng(0)
    x = np.tile(np.append(q, home[n:]), (starts, 1))
    x[1:, n:] += rng.uniform(-spread, spread, (starts - 1, len(spread)))
    x = _wrapped(mechanism, home, _closed(engine, _newton(engine, x)))
    x = x[np.argsort(np.abs(x - home).max(axis=1), kind="stable")]
    if not len(x):
        raise KinematicsError(
            f"{mechanism.name}: the loops cannot be assembled at q = "
            f"({', '.join(f'{value:.6g}' for value in q)}): none of {starts} starts closes them"
        )
    return x[_first_of_each(_signature(engine, x))]


def _newton(engine: ClosedEngine, x: Array) -> Array:
    track, still = engine.kernel("track").call, np.zeros(engine.n)
    with np.errstate(all="ignore"):
        for _ in range(ITERATIONS):
            step = track(x, still)[:, : engine.n_x - engine.n]
            largest = np.abs(step).max(axis=1, initial=0.0)
            x[:, engine.n :] += step * np.minimum(1.0, LARGEST / np.maximum(largest, 1e-300))[:, None]
            x = x[np.isfinite(x).all(axis=1)]
    return x


def _closed(engine: ClosedEngine, x: Array) -> Array:
    gap = np.abs(engine.loops.gap(x)).max(axis=1, initial=0.0)
    good = [
        point
        for point in x[gap < CLOSED * size_of(engine.mechanism)]
        if engine.loops.reversed_cut(point) is None
    ]
    return np.array(good).reshape(-1, engine.n_x)


def _wrapped(mechanism: Mechanism, home: Array, x: Array) -> Array:
    """Full turns taken out of the passive joints, as far as nothing but full turns follows from it."""
    turning = np.array([not slide for slide in mechanism.prismatic])
    whole = np.all(np.round(mechanism.coupling.G) == mechanism.coupling.G, axis=0)
    slides = np.any(mechanism.coupling.G[~turning] != 0, axis=0)
    free = whole & ~slides
    free[: mechanism.n_q] = False
    turns = np.round((x - home) / (2 * np.pi))
    return np.where(free, x - 2 * np.pi * turns, x)


def _signature(engine: ClosedEngine, x: Array) -> Array:
    """Numbers (k, ...) that differ if and only if something that matters stands elsewhere."""
    mechanism, size = engine.mechanism, size_of(engine.mechanism)
    poses = engine.tree.fkine_all(x)
    tool = poses[mechanism.tool][:, :3].copy()
    tool[:, :, 3] /= size
    parts = [tool.reshape(len(x), -1)]
    parts += [poses[loop.frame_b][:, :3, 3] / size for loop in mechanism.loops]
    for frame in mechanism.frames:
        if frame.body < 0:
            continue
        X = poses[frame.name] @ np.linalg.inv(frame.X_body_frame)
        parts.append(X[:, :3, 3] / size)
        mass = mechanism.phi[frame.body, 0]
        if mass > 0:
            # how the mass of the body lies in space: a round rod may be turned about itself
            spread = X @ pseudo_inertia(mechanism.phi[frame.body]) @ np.swapaxes(X, 1, 2) / (mass * size**2)
            parts.append(spread.reshape(len(x), -1))
    return np.concatenate(parts, axis=1)


def _first_of_each(signature: Array) -> list[int]:
    kept: list[int] = []
    for k, row in enumerate(signature):
        if all(np.abs(row - signature[other]).max() > SAME for other in kept):
            kept.append(k)
    return kept
