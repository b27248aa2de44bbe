"""The pose test of ISO 9283: poses reached again and again, in cycles; accuracy, repeatability, distance, settling.

Cycles are split into units of a few, each a continuous run with a seed of its own, so that the numbers do not depend
on how many processes share them. A unit begins at rest at the last but one pose and moves to the last one, which is
not counted: the first counted move comes from a move, as all others do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from servotwin.design.accuracy.drive_runs import MEASURING, DriveRun, Leg, LegResult
from servotwin.design.accuracy.iso9283 import (
    distance_accuracy,
    distance_repeatability,
    orientation_accuracy,
    orientation_repeatability,
    overshoot,
    position_accuracy,
    position_repeatability,
    stabilisation_time,
)
from servotwin.design.accuracy.poses import MeasuredPoses
from servotwin.design.accuracy.true_kinematics import TrueKinematics
from servotwin.errors import InputError
from servotwin.mechanism.model import Array

UNIT = 5  # cycles of a run
SETTLING_CYCLES = 3  # whose way into P1 is looked at
LEAST_CYCLES, MOST_CYCLES = 2, 1000


@dataclass(frozen=True)
class Machine:
    """What all runs of a test share: the robot as text, sources that are off, which robot of the series, how warm."""

    robot: str
    off: tuple[str, ...] = ()
    trial: int = 0
    trial_seed: int = 1
    elapsed: float | None = None
    measuring: float = MEASURING
    pwm: str = "switched"

    def run(
        self, poses: MeasuredPoses, legs: Sequence[Leg], *, start: int, seed: int, force: Sequence[float] = ()
    ) -> DriveRun:
        """A run of this machine."""
        joints = tuple(tuple(float(v) for v in row) for row in poses.joints)
        return DriveRun(
            self.robot, joints, tuple(legs), start, seed, self.off, self.trial, self.trial_seed, self.elapsed,
            force=tuple(force), measuring=self.measuring, pwm=self.pwm,
        )  # fmt: skip


def unit_seed(seed: int, *place: int) -> int:
    """The seed of a unit of work at its place within a test."""
    return int(np.random.SeedSequence([seed, *place]).generate_state(1)[0] >> 1)


def check_cycles(name: str, cycles: int) -> None:
    """Refuse a number of cycles that has no spread, or that nobody waits for."""
    if not LEAST_CYCLES <= cycles <= MOST_CYCLES:
        raise InputError(
            f"{cycles}; expected {LEAST_CYCLES} to {MOST_CYCLES} (ISO 9283: 30): one cycle has no spread",
            field=name,
        )


@dataclass(frozen=True)
class PoseTest:
    """Cycles through all poses, last to first, at one speed (part of the limits); seeds differ by ``number``."""

    machine: Machine
    poses: MeasuredPoses
    speed: float
    cycles: int
    rest: float
    seed: int
    number: int = 0
    settling: bool = True

    def __post_init__(self) -> None:
        check_cycles("cycles", self.cycles)

    def runs(self) -> list[DriveRun]:
        """The units of work."""
        order = range(len(self.poses.names) - 1, -1, -1)
        units = []
        for k, first in enumerate(range(0, self.cycles, UNIT)):
            legs = [Leg(0, self.speed, self.rest, keep="")]
            for cycle in range(first, min(first + UNIT, self.cycles)):
                looked = self.settling and cycle < SETTLING_CYCLES
                legs += [
                    Leg(i, self.speed, self.rest, keep="path" if looked and i == 0 else "pose") for i in order
                ]
            units.append(
                self.machine.run(self.poses, legs, start=1, seed=unit_seed(self.seed, self.number, k))
            )
        return units

    def evaluate(self, results: Sequence[Sequence[LegResult]], band: float) -> PoseResult:
        """The characteristics from the results of the units; ``band`` [m] of stabilisation."""
        legs = [leg for unit in results for leg in unit]
        m = len(self.poses.names)
        attained = np.stack([leg.pose for leg in legs]).reshape(self.cycles, m, 4, 4)[:, ::-1]
        states = np.stack([leg.state for leg in legs]).reshape(self.cycles, m, -1)[:, ::-1]
        settled = [
            (
                stabilisation_time(leg.time, leg.poses[:, :3, 3], leg.pose[:3, 3], band),
                overshoot(leg.poses[:, :3, 3], leg.pose[:3, 3], band),
            )
            for leg in legs
            if len(leg.time)
        ]
        unrest = max(leg.unrest for leg in legs)
        return PoseResult(self.speed, self.poses, attained, states, band, tuple(settled), unrest)


@dataclass(frozen=True)
class PoseResult:
    """Attained poses (cycles, m, 4, 4) at one speed with the plant's coordinates, and how P1 was reached.

    ``settled``: stabilisation time [s] and overshoot [m] of the first cycles, for a band [m]; ``unrest``: how far the
    tool was at most from an attained pose while that was measured [m].
    """

    speed: float
    poses: MeasuredPoses
    attained: Array
    states: Array
    band: float
    settled: tuple[tuple[float, float], ...] = ()
    unrest: float = 0.0

    def seen_by(self, truth: TrueKinematics) -> PoseResult:
        """The same motion of the drives on an arm with other kinematics."""
        flat = truth.poses(self.states.reshape(-1, self.states.shape[-1]))
        return replace(self, attained=flat.reshape(self.attained.shape))

    @property
    def positions(self) -> Array:
        """(cycles, m, 3) [m]"""
        return np.asarray(self.attained[..., :3, 3])

    @property
    def errors(self) -> Array:
        """Attained less commanded positions (cycles, m, 3) [m]."""
        return np.asarray(self.positions - self.poses.poses[:, :3, 3])

    @property
    def accuracy_components(self) -> Array:
        """(m, 3) [m]"""
        commanded = self.poses.poses[:, :3, 3]
        return np.stack([position_accuracy(self.positions[:, k], p) for k, p in enumerate(commanded)])

    @property
    def accuracy(self) -> Array:
        """AP (m,) [m]."""
        return np.asarray(np.linalg.norm(self.accuracy_components, axis=1))

    @property
    def repeatability(self) -> Array:
        """RP (m,) [m]."""
        return np.array([position_repeatability(self.positions[:, k]) for k in range(len(self.poses.names))])

    @property
    def orientation_accuracy(self) -> Array:
        """Turns (m, 3) [rad] about x, y, z of the base."""
        R = self.attained[..., :3, :3]
        return np.stack([orientation_accuracy(R[:, k], X[:3, :3]) for k, X in enumerate(self.poses.poses)])

    @property
    def orientation_repeatability(self) -> Array:
        """Three standard deviations of turns (m, 3) [rad]."""
        R = self.attained[..., :3, :3]
        return np.stack([orientation_repeatability(R[:, k]) for k in range(R.shape[1])])

    @property
    def distance(self) -> tuple[float, float] | None:
        """AD and RD [m] between P2 and P4; None without five poses."""
        if len(self.poses.names) != 5:
            return None
        one, two = self.positions[:, 1], self.positions[:, 3]
        commanded = float(np.linalg.norm(self.poses.poses[1, :3, 3] - self.poses.poses[3, :3, 3]))
        return distance_accuracy(one, two, commanded), distance_repeatability(one, two)

    @property
    def distance_components(self) -> tuple[Array, Array] | None:
        """AD and RD along x, y, z (3,) [m] between P2 and P4; None without five poses."""
        if len(self.poses.names) != 5:
            return None
        D = np.abs(self.positions[:, 1] - self.positions[:, 3])
        D_c = np.abs(self.poses.poses[1, :3, 3] - self.poses.poses[3, :3, 3])
        return np.asarray(D.mean(axis=0) - D_c), np.asarray(3.0 * D.std(axis=0, ddof=1))

    @property
    def covariance(self) -> Array:
        """Covariance of the attained positions, mean over the poses (3, 3) [m2]."""
        away = self.positions - self.positions.mean(axis=0)
        return np.asarray(np.einsum("jki,jkl->il", away, away) / (self.positions.shape[1] * (len(away) - 1)))

    @property
    def mean_square(self) -> Array:
        """Second moment of the mean errors over the poses (3, 3) [m2]."""
        mean = self.errors.mean(axis=0)
        return np.asarray(np.einsum("ki,kl->il", mean, mean) / len(mean))

    def data(self) -> dict[str, Any]:
        """As plain data (SI)."""
        rows = zip(
            self.poses.names, self.poses.poses, self.accuracy, self.accuracy_components, self.repeatability,
            self.orientation_accuracy, self.orientation_repeatability, strict=True,
        )  # fmt: skip
        distance, along = self.distance, self.distance_components
        return {
            "speed": self.speed,
            "cycles": len(self.attained),
            "poses": [
                {
                    "name": name, "commanded_m": X[:3, 3].tolist(), "AP_m": float(ap), "AP_xyz_m": d.tolist(),
                    "RP_m": float(rp), "AP_abc_rad": turn.tolist(), "RP_abc_rad": spread.tolist(),
                }
                for name, X, ap, d, rp, turn, spread in rows
            ],
            "AD_m": None if distance is None else distance[0],
            "RD_m": None if distance is None else distance[1],
            "AD_xyz_m": None if along is None else along[0].tolist(),
            "RD_xyz_m": None if along is None else along[1].tolist(),
            "unrest_m": self.unrest,
            "band_m": self.band,
            "stabilisation_time_s": float(np.mean([t for t, _ in self.settled])) if self.settled else None,
            "overshoot_m": float(max(o for _, o in self.settled)) if self.settled else None,
        }  # fmt: skip
