"""Known errors injected into the plant, and whether the test of ISO 9283 gives them back.

The GSIS SCARA repeats a move on the drive-level simulator. Its base is shifted by a known vector, which is AP, and in
every cycle by a further draw from a known normal distribution, which makes RP = 3.616 sigma for many cycles. For 30
cycles both scatter; the limits are those that 99 % of such samples keep: of AP from the chi distribution, of RP from a
brute-force simulation of the formula on normal numbers.

    python benchmarks/iso9283_recovery.py [SEEDS] [CYCLES]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi

from servotwin.description.load import read_description
from servotwin.description.write import yaml_text
from servotwin.design.accuracy.drive_runs import Leg, run_legs, truth_of
from servotwin.design.accuracy.iso9283 import position_accuracy, position_repeatability
from servotwin.design.accuracy.pose_test import Machine
from servotwin.design.accuracy.poses import MeasuredPoses, given_poses
from servotwin.design.accuracy.tolerances import stacked_draws
from servotwin.design.accuracy.true_kinematics import TrueKinematics
from servotwin.robot.complete_model import robot_of

SIGMA = 1e-4  # m
SHIFT = np.array([3e-4, -2e-4, 1e-4])  # m
LEVEL = 0.99
NAMES = ("P1", "P2")


@dataclass(frozen=True)
class Injected:
    """The machine with injected errors, and its two poses."""

    machine: Machine
    poses: MeasuredPoses


def injected() -> Injected:
    """The SCARA with nothing but its encoders and loops, and a tolerance of three sigma of its base's place."""
    changes = {
        "payload.mass": "4 kg",
        "error_sources": None,
        "error_sources.geometry.base_position": f"{3.0 * SIGMA} m",
    }
    description = read_description("gsis-scara", changes)
    robot = robot_of(read_description("gsis-scara", {"payload.mass": "4 kg"}))
    q = np.array([[0.6, -1.2, 0.05, 0.3], [0.9, -1.5, 0.08, 0.1]])
    return Injected(Machine(yaml_text(description)), given_poses(robot, robot.fkine(q), NAMES))


def attained(case: Injected, seed: int, cycles: int) -> np.ndarray:
    """Positions (cycles, 3) of P1: one run of the drives, in every cycle on a base that stands elsewhere."""
    legs = [leg for _ in range(cycles) for leg in (Leg(1, 1.0, 0.05, keep=""), Leg(0, 1.0, 0.3))]
    run = case.machine.run(case.poses, legs, start=0, seed=seed)
    states = np.stack([leg.state for leg in run_legs(run)])
    known, _ = truth_of(case.machine.robot, (), 0, 1 + seed, None)
    robot = TrueKinematics.of(known).robot
    moved = stacked_draws(known, range(1, cycles + 1))
    moved["base"]["position"] = moved["base"]["position"] + SHIFT  # a draw takes the place of what was stated
    poses = robot.fkine_draws(states[:, None], moved)
    return np.asarray(poses[:, 0, :3, 3])


def limits(cycles: int) -> tuple[float, float, float]:
    """Largest distance of the mean [m], least and largest RP [m], of LEVEL of the samples."""
    rng = np.random.default_rng(0)
    samples = SIGMA * rng.standard_normal((20_000, cycles, 3))
    RP = [position_repeatability(sample) for sample in samples]
    tail = 0.5 * (1.0 - LEVEL)
    low, high = np.quantile(RP, [tail, 1.0 - tail])
    return float(chi.ppf(LEVEL, 3) * SIGMA / np.sqrt(cycles)), float(low), float(high)


def recovered(
    case: Injected, seed: int, cycles: int, bounds: tuple[float, float, float]
) -> tuple[bool, bool]:
    """Whether AP and RP come back within the limits."""
    p = attained(case, seed, cycles)
    mean = position_accuracy(p, case.poses.poses[0, :3, 3])
    RP = position_repeatability(p)
    return bool(np.linalg.norm(mean - SHIFT) <= bounds[0]), bool(bounds[1] <= RP <= bounds[2])


def main() -> None:
    """Count the seeds."""
    seeds, cycles = (int(v) for v in (*sys.argv[1:], *("100", "30")[len(sys.argv) - 1 :]))
    case, bounds = injected(), limits(cycles)
    good = np.zeros(2, dtype=int)
    for seed in range(seeds):
        good += recovered(case, seed, cycles, bounds)
        print(
            f"\r{seed + 1} of {seeds} seeds: AP {good[0]}, RP {good[1]} within {LEVEL:.0%} limits",
            end="",
            flush=True,
        )
    print()


if __name__ == "__main__":
    main()
