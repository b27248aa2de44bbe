"""The least and the largest inertia that each motor turns, over all poses and loads of a robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from servotwin.errors import KinematicsError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia

SAMPLES = 4000  # poses of the first look
ROUNDS, ROUND_SAMPLES = 8, 200  # then closer and closer around the best pose


@dataclass(frozen=True)
class Extreme:
    """An inertia at a motor, and where the robot shows it."""

    J: float  # rotor and load [kg m2]
    q: Array  # (n,) pose
    payload: float  # [kg]


def lightest(robot: Robot, payload: float) -> list[Extreme]:
    """For every motor the least inertia in the joint ranges, the other motors let go."""
    return _search(robot, payload, lambda q: motor_inertia(robot, q, held=False), sign=-1.0)


def heaviest(robot: Robot, payload: float) -> list[Extreme]:
    """For every motor the largest inertia in the joint ranges, the other motors held."""
    return _search(robot, payload, lambda q: motor_inertia(robot, q, held=True), sign=1.0)


def _search(robot: Robot, payload: float, inertia: Callable[[Array], Array], sign: float) -> list[Extreme]:
    """Random poses and corners of the joint ranges, then random steps of falling width around the best."""
    rng = np.random.default_rng(1989)
    low, high = _ranges(robot)
    poses = np.vstack([robot.q_home, _corners(low, high), rng.uniform(low, high, (SAMPLES, robot.n))])
    values, poses = _evaluate(robot, inertia, poses)
    found = []
    for i in range(values.shape[1]):
        best = int(np.argmax(sign * values[:, i]))
        J, q = values[best, i], poses[best]
        for k in range(ROUNDS):
            steps = (high - low) * 0.5 ** (k + 2) * rng.uniform(-1.0, 1.0, (ROUND_SAMPLES, robot.n))
            near, at = _evaluate(robot, inertia, np.vstack([q, np.clip(q + steps, low, high)]))
            better = int(np.argmax(sign * near[:, i]))
            J, q = near[better, i], at[better]
        found.append(Extreme(float(J), q, payload))
    return found


def _ranges(robot: Robot) -> tuple[Array, Array]:
    wide = np.where(np.array(robot.joint_units) == "m", 1.0, np.pi)
    low = np.where(np.isfinite(robot.limits.q_min), robot.limits.q_min, -wide)
    high = np.where(np.isfinite(robot.limits.q_max), robot.limits.q_max, wide)
    return low, high


def _corners(low: Array, high: Array) -> Array:
    """Poses with every joint at an end or the middle of its range; ends alone for many joints."""
    few = len(low) <= 6
    levels = [np.array([a, 0.5 * (a + b), b] if few else [a, b]) for a, b in zip(low, high, strict=True)]
    if len(low) > 10:
        return np.array([low, high])
    return np.stack([grid.ravel() for grid in np.meshgrid(*levels, indexing="ij")], axis=-1)


def _evaluate(robot: Robot, inertia: Callable[[Array], Array], poses: Array) -> tuple[Array, Array]:
    """Inertias (k, motors) and their poses (k, n); poses in which a closed chain cannot be are left out."""
    if not robot.mechanism.loops:
        return inertia(poses), poses
    kept, values = [], []
    for q in poses[:: max(1, len(poses) // 600)]:
        try:
            values.append(inertia(q))
        except KinematicsError:
            continue
        kept.append(q)
    return np.array(values), np.array(kept)
