"""Campaigns of simulated calibrations: errors held out against the noise bound, selected against random poses.

python benchmarks/calibration_campaign.py [robot ...] [--seeds 100]
"""

from __future__ import annotations

import argparse

import numpy as np

import servotwin as st
from servotwin.design.calibration.plan import random_positions, simulated


def ratios(name: str, seeds: int, poses: int = 60, held: int = 100) -> np.ndarray:
    """White error held out over its prediction, seed by seed; the truth deviates everywhere."""
    plan = st.plan_calibration(name, 30, noise=st.Tracker())
    model, found = plan.model, []
    typical = np.array([p.typical for p in model.parameters])
    for seed in range(seeds):
        rng = np.random.default_rng(1000 + seed)
        theta = 0.3 * typical * rng.standard_normal(len(typical))
        sets = [
            simulated(model, theta, random_positions(model.robot, rng, count), plan.noise, plan.setup, rng)
            for count in (poses, held)
        ]
        found.append(st.calibrate(model.robot, sets[0], noise=plan.noise, validate=sets[1]).ratio)
    return np.array(found)


def selected_against_random(name: str, seeds: int) -> tuple[float, float, float]:
    """True error of the tool [m, rms] after 25 selected poses, the same with four readings, 100 random ones."""
    plan = st.plan_calibration(name, 25, noise=st.Tracker(), criterion="prediction")
    model = plan.model
    typical = np.array([p.typical for p in model.parameters])
    squares = np.zeros(3)
    for seed in range(seeds):
        rng = np.random.default_rng(5000 + seed)
        theta = 0.3 * typical * rng.standard_normal(len(typical))
        q = random_positions(model.robot, rng, 200)
        truth = model.poses(theta, q)[:, :3, 3]
        for k, poses in enumerate(
            (plan.q, np.repeat(plan.q, 4, axis=0), random_positions(model.robot, rng, 100))
        ):
            made = simulated(model, theta, poses, plan.noise, plan.setup, rng)
            found = st.calibrate(model.robot, made, noise=plan.noise, held_out=0.0)
            guess = found.poses(q)[:, :3, 3]
            squares[k] += _distance(guess, truth)
    once, four, random = np.sqrt(squares / seeds)
    return float(once), float(four), float(random)


def _distance(guess: np.ndarray, truth: np.ndarray) -> float:
    """Mean square after the best fit of both as rigid sets: where the base stands is the station's affair."""
    a, b = guess - guess.mean(axis=0), truth - truth.mean(axis=0)
    U, _, Vt = np.linalg.svd(a.T @ b)
    R = Vt.T @ np.diag([1.0, 1.0, np.sign(np.linalg.det(Vt.T @ U.T))]) @ U.T
    return float(((a @ R.T - b) ** 2).sum(axis=1).mean())


def main() -> None:
    """Print one line for each robot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "robots",
        nargs="*",
        default=["palletizer-4", "gsis-scara", "sixaxis-5kg", "delta", "palletizer-4-loops"],
    )
    parser.add_argument("--seeds", type=int, default=100)
    options = parser.parse_args()
    for name in options.robots:
        found = ratios(name, options.seeds)
        good = int((found <= 1.1).sum())
        once, four, random = selected_against_random(name, max(options.seeds // 5, 1))
        print(
            f"{name}: error held out at most 1.1 times its prediction in {good} of {len(found)} seeds (median "
            f"{np.median(found):.3f}, worst {found.max():.3f}); 25 selected poses {1e6 * once:.1f} um, "
            f"read four times each {1e6 * four:.1f} um, 100 random ones {1e6 * random:.1f} um",
            flush=True,
        )


if __name__ == "__main__":
    main()
