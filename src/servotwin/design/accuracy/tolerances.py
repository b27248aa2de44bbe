r"""Monte-Carlo over the tolerances of the geometry: how AP and RP differ from robot to robot of a series.

Deviations of the geometry act on where the tool is for given joints. The joints are those that the drives attained in
the pose test; every drawn robot sees them with its own geometry (``Robot.fkine_draws``), so that a thousand robots cost
no further run of the drives. Trial k has the deviations that a run with ``trial: k`` would have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.description.error_sources import error_sources, with_error_sources
from servotwin.description.geometry_draws import drawn_geometry
from servotwin.description.schema import RobotDescription
from servotwin.design.accuracy.drive_runs import truth_of
from servotwin.design.accuracy.iso9283 import position_repeatability
from servotwin.design.accuracy.pose_test import Machine, PoseResult
from servotwin.design.accuracy.true_kinematics import TrueKinematics
from servotwin.design.studies.workers import Workers, carry_out
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.robot.base_deflection import displaced

UNIT = 50  # robots of a task
MOST = 1_000_000
PERCENTILES = (5, 50, 95)


@dataclass(frozen=True)
class Tolerances:
    """AP and RP (trials, m) [m] at the poses for every drawn robot."""

    names: tuple[str, ...]
    accuracy: Array
    repeatability: Array

    @property
    def worst_accuracy(self) -> Array:
        """Largest AP over the poses of each robot (trials,) [m]."""
        return np.asarray(self.accuracy.max(axis=1))

    def percentiles(self, values: Array) -> dict[str, float]:
        """5, 50 and 95 % of the robots are below."""
        return {f"p{p}": float(np.percentile(values, p)) for p in PERCENTILES}

    def data(self) -> dict[str, Any]:
        """As plain data (SI)."""
        return {
            "trials": len(self.accuracy),
            "worst_AP_m": self.percentiles(self.worst_accuracy),
            "poses": [
                {
                    "name": name, "AP_m": self.percentiles(self.accuracy[:, k]),
                    "RP_m": self.percentiles(self.repeatability[:, k]),
                }
                for k, name in enumerate(self.names)
            ],
        }  # fmt: skip


def check_tolerances(description: RobotDescription, trials: int, off: Sequence[str]) -> None:
    """Refuse to draw robots where nothing is there to draw from."""
    if not 2 <= trials <= MOST:
        raise InputError(f"{trials}; expected 2 to {MOST} robots", field="monte_carlo")
    section = error_sources(description)
    if section.geometry is None or "geometry" in (*section.off, *off):
        raise InputError(
            "the robot file states no tolerances that are on; expected error_sources.geometry",
            field="monte_carlo",
        )


def vary(
    result: PoseResult, machine: Machine, trials: int, workers: Workers, progress: Callable[[float], None]
) -> Tolerances:
    """AP and RP of ``trials`` robots, drawn from the tolerances of the file, for the motion of one pose test."""
    common = {
        "robot": machine.robot, "off": list(machine.off), "seed": machine.trial_seed, "elapsed": machine.elapsed,
        "states": result.states.tolist(), "commanded": result.poses.poses[:, :3, 3].tolist(),
    }  # fmt: skip
    tasks = [
        {**common, "first": first, "last": min(first + UNIT, trials + 1)}
        for first in range(1, trials + 1, UNIT)
    ]
    rows = carry_out(draw, tasks, workers, progress)
    found = np.concatenate([np.asarray(part) for part in rows])
    return Tolerances(result.poses.names, found[:, 0], found[:, 1])


def draw(task: Mapping[str, Any]) -> list[list[list[float]]]:
    """AP and RP (trials, 2, m) [m] of the robots ``first`` to before ``last``, as plain data."""
    states = np.array(task["states"])
    cycles, m, n_x = states.shape
    known, _ = truth_of(
        task["robot"], tuple(task["off"]), 0, task["seed"], task["elapsed"]
    )  # trial 0: geometry as drawn on paper
    truth = TrueKinematics.of(known)
    x = states.reshape(-1, n_x)
    deviations = stacked_draws(known, range(task["first"], task["last"]))
    poses = truth.robot.fkine_draws(x[:, : truth.robot.n], deviations)
    deflection = truth.deflection(x)
    if deflection is not None:
        poses = displaced(poses, deflection)
    p = poses[..., :3, 3].reshape(-1, cycles, m, 3)
    AP = np.linalg.norm(p.mean(axis=1) - np.array(task["commanded"]), axis=-1)
    RP = [[position_repeatability(robot[:, k]) for k in range(m)] for robot in p]
    return np.stack([AP, np.array(RP)], axis=1).tolist()  # type: ignore[no-any-return]


def stacked_draws(known: RobotDescription, trials: range) -> dict[str, dict[str, Array]]:
    """The deviations of many trials, by place and field, each with a leading axis of trials."""
    rows = [drawn_geometry(with_error_sources(known, trial=trial)) for trial in trials]
    return {
        name: {
            key: np.array([getattr(row[name], key) for row in rows])
            for key in ("position", "rotation", *(("offset",) if name in known.joint_names else ()))
        }
        for name in rows[0]
    }
