r"""What was measured, and its residuals: poses, positions, distances from fixed points or between pairs.

Poses and positions are told in the frame of the device (the station), whose place is unknown; a ball bar turns about a
centre whose place is unknown. Residuals are measured minus predicted, made white by the noise,

.. math:: r = W \begin{pmatrix} p - \hat p \\ \log(R \hat R^T) \end{pmatrix}, \qquad
          r = \frac{d - \|\hat p - c\|}{\sigma_d}, \qquad r = \frac{d - \|\hat p_1 - \hat p_2\|}{\sigma_d}
                                                                                   (eq:calibration-residual)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from servotwin.design.calibration.noise import Noise
from servotwin.mechanism.deviation import displacement
from servotwin.mechanism.model import Array, IntArray


@dataclass(frozen=True)
class Measured:
    """K measured positions of a robot: commanded joints q, and what was seen of the tool there.

    Either ``position`` (K, 3), with ``rotation`` (K, 3, 3) if orientations were measured, or ``distance``: of the
    tool from the centre of its ``bar`` (K,), or between the two rows of a ``pair`` (K / 2, 2).
    """

    q: Array
    position: Array | None = None
    rotation: Array | None = None
    distance: Array | None = None
    bar: IntArray | None = None
    pair: IntArray | None = None
    file: str = ""
    lines: tuple[int, ...] = ()
    base: bool = False  # told in the robot's base frame: no station is unknown
    bars: tuple[str, ...] = ()  # names of the fixed points, as ``bar`` numbers them

    @property
    def units(self) -> int:
        """What can be held out: rows, or pairs."""
        return len(self.q) if self.pair is None else len(self.pair)

    @property
    def words(self) -> str:
        """What was measured."""
        if self.position is not None:
            return "poses" if self.rotation is not None else "positions"
        return "distances from fixed points" if self.pair is None else "distances between pairs"

    def part(self, units: IntArray) -> Measured:
        """Some of the rows, or pairs."""
        rows = np.asarray(units) if self.pair is None else self.pair[units].ravel()
        pair = None if self.pair is None else np.arange(2 * len(units)).reshape(-1, 2)

        def of(values: Any) -> Any:
            return None if values is None else values[rows]

        distance = self.distance
        if distance is not None:
            distance = distance[rows] if self.pair is None else distance[units]
        lines = tuple(self.lines[k] for k in rows) if self.lines else ()
        return replace(
            self, q=self.q[rows], position=of(self.position), rotation=of(self.rotation), distance=distance,
            bar=of(self.bar), pair=pair, lines=lines,
        )  # fmt: skip


@dataclass(frozen=True)
class Setup:
    """What is unknown of the measurement: where the station stands (4, 4), and the centres (B, 3) of bars."""

    station: Array
    centres: Array
    pivot: Array = field(default_factory=lambda: np.zeros(3))  # the point about which the station is turned

    def moved(self, step: Array) -> Setup:
        """After a step of the unknowns: a displacement of the station about its pivot, shifts of centres."""
        if len(self.centres):
            return replace(self, centres=self.centres + step.reshape(-1, 3))
        if not len(step):
            return self
        there, back = np.eye(4), np.eye(4)
        there[:3, 3], back[:3, 3] = self.pivot, -self.pivot
        return replace(self, station=there @ displacement(step[:3], step[3:]) @ back @ self.station)


def setup_names(measured: Measured, setup: Setup) -> list[str]:
    """Names of the unknowns of the measurement."""
    if measured.position is not None:
        parts = ("x", "y", "z", "turn x", "turn y", "turn z")
        return [] if measured.base else [f"station {part}" for part in parts]
    return [f"bar {b + 1} centre {axis}" for b in range(len(setup.centres)) for axis in "xyz"]


def start(measured: Measured, T: Array) -> Setup:
    """The setup that fits poses T (K, 4, 4) of the robot as drawn, in its base."""
    none = np.zeros((0, 3))
    p = T[:, :3, 3]
    if measured.position is not None:
        station = np.eye(4) if measured.base else aligned(p, measured.position, measured.rotation, T)
        return Setup(station, none, measured.position.mean(axis=0))
    if measured.pair is not None or measured.distance is None or measured.bar is None:
        return Setup(np.eye(4), none)
    centres = []
    for b in range(max(int(measured.bar.max()) + 1, len(measured.bars))):
        own = measured.bar == b
        # |p|^2 - d^2 = 2 p . c - |c|^2 is linear in c and |c|^2
        A = np.hstack([2.0 * p[own], -np.ones((int(own.sum()), 1))])
        rhs = (p[own] ** 2).sum(axis=1) - measured.distance[own] ** 2
        centres.append(np.linalg.lstsq(A, rhs, rcond=1e-9)[0][:3])
    return Setup(np.eye(4), np.array(centres))


def aligned(p: Array, seen: Array, rotations: Array | None, T: Array) -> Array:
    """The station (4, 4) that brings points p (K, 3) nearest to those seen; orientations count with one metre."""
    a, b = p - p.mean(axis=0), seen - seen.mean(axis=0)
    H = a.T @ b
    if rotations is not None:
        H = H + np.einsum("kij,klj->il", T[:, :3, :3], rotations)
    U, _, Vt = np.linalg.svd(H)
    mirror = np.diag([1.0, 1.0, np.sign(np.linalg.det(Vt.T @ U.T))])
    S = np.eye(4)
    S[:3, :3] = Vt.T @ mirror @ U.T
    S[:3, 3] = seen.mean(axis=0) - S[:3, :3] @ p.mean(axis=0)
    return S


def residuals(measured: Measured, noise: Noise, setup: Setup, T: Array, J: Array) -> tuple[Array, Array]:
    """White residuals (M,) and derivatives (M, U + P) of what is predicted, unknowns of the measurement first."""
    if measured.position is not None:
        return _of_poses(measured, noise, setup, T, J)
    assert measured.distance is not None
    p = T[:, :3, 3]
    if measured.pair is not None:
        first, second = measured.pair[:, 0], measured.pair[:, 1]
        gap, J_gap = p[first] - p[second], J[first, :3] - J[second, :3]
        own = np.zeros((len(gap), 0))
    else:
        assert measured.bar is not None
        gap, J_gap = p - setup.centres[measured.bar], J[:, :3]
        own = np.zeros((len(gap), 3 * len(setup.centres)))
    length = np.linalg.norm(gap, axis=1)
    along = gap / length[:, None]
    if measured.bar is not None:
        for k, b in enumerate(measured.bar.tolist()):
            own[k, 3 * b : 3 * b + 3] = -along[k]
    model = np.einsum("ki,kip->kp", along, J_gap)
    return (measured.distance - length) / noise.distance, np.hstack([own, model]) / noise.distance


def _of_poses(measured: Measured, noise: Noise, setup: Setup, T: Array, J: Array) -> tuple[Array, Array]:
    assert measured.position is not None
    R, shift = setup.station[:3, :3], setup.station[:3, 3]
    p = T[:, :3, 3] @ R.T + shift
    moves, turns = R @ J[:, :3], R @ J[:, 3:]
    if not measured.base:
        lever = p - setup.pivot
        own = np.zeros((len(p), 6, 6))
        own[:, 0, 0] = own[:, 1, 1] = own[:, 2, 2] = 1.0
        own[:, 3:, 3:] = np.eye(3)
        own[:, :3, 3:] = -_cross(lever)
        moves, turns = (
            np.concatenate([own[:, :3], moves], axis=2),
            np.concatenate([own[:, 3:], turns], axis=2),
        )
    W = noise.position_roots(measured.position)
    r, D = (W @ (measured.position - p)[..., None])[..., 0], W @ moves
    if measured.rotation is not None:
        turn = turn_between(R @ T[:, :3, :3], measured.rotation) / noise.angle
        r, D = np.concatenate([r, turn], axis=1), np.concatenate([D, turns / noise.angle], axis=1)
    return r.ravel(), D.reshape(-1, D.shape[-1])


def turn_between(R: Array, R_goal: Array) -> Array:
    """Rotation vectors (K, 3) from R to R_goal (K, 3, 3), in the axes that both are told in."""
    E = R_goal @ np.swapaxes(R, -1, -2)
    half = 0.5 * np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)
    sine = np.linalg.norm(half, axis=1)
    angle = np.arctan2(sine, 0.5 * (np.trace(E, axis1=1, axis2=2) - 1.0))
    return np.asarray(half * np.where(sine > 1e-12, angle / np.maximum(sine, 1e-300), 1.0)[:, None])


def _cross(v: Array) -> Array:
    out = np.zeros((*v.shape, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -v[:, 2], v[:, 1], -v[:, 0]
    return out - np.swapaxes(out, 1, 2)
