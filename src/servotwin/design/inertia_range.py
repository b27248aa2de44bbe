"""The least and the largest inertia that each motor turns, over all regular poses and loads of a robot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from servotwin.errors import KinematicsError
from servotwin.mechanism.model import Array
from servotwin.robot.regular import REGULAR, closed_poses, joint_ranges
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia

SAMPLES = 4000  # poses of the first look
CLOSED_SAMPLES = 600  # the same where every pose has to be closed by a walk from home
ROUNDS, ROUND_SAMPLES = 8, 200  # then closer and closer around the best pose


@dataclass(frozen=True)
class Extreme:
    """An inertia at a motor, and where the robot shows it."""

    J: float  # rotor and load [kg m2]
    q: Array  # (n,) pose
    payload: float  # [kg]
    regularity: float | None = None  # closed chains: 1 at the best pose, 0 at a parallel singularity


@dataclass(frozen=True)
class Poses:
    """Poses to judge a robot by: in its joint ranges, and not too near to a parallel singularity."""

    q: Array  # (k, n)
    best: float  # largest measure of ``Robot.singularity(q).passive`` among all poses that were tried
    least: float  # part of it that a regular pose has
    left_out: float  # share of the poses in which the loops close that are not regular

    @classmethod
    def of(cls, robot: Robot, least: float = REGULAR) -> Poses:
        """Home, corners of the joint ranges and random poses."""
        rng = np.random.default_rng(1989)
        low, high = joint_ranges(robot)
        poses = np.vstack([robot.q_home, _corners(low, high), rng.uniform(low, high, (SAMPLES, robot.n))])
        if robot.closed:
            poses = poses[:: max(1, len(poses) // CLOSED_SAMPLES)]
        tried = len(poses)
        poses, firm = closed_poses(robot, poses)
        best = float(firm.max(initial=0.0))
        if best == 0.0:
            raise KinematicsError(
                f"{robot.name}: in none of {tried} poses in the joint ranges the loops close, quantities are in their "
                "ranges and the actuated joints hold the passive ones; expected a home pose for which all this holds"
            )
        regular = firm >= least * best
        return cls(poses[regular], best, least, 1.0 - float(np.mean(regular)))

    def regular(self, robot: Robot, q: Array) -> tuple[Array, Array]:
        """Those of the poses (k, n) that are regular, and how much (k,)."""
        kept, firm = closed_poses(robot, q)
        good = firm >= self.least * self.best
        return kept[good], firm[good] / self.best

    def regularity(self, robot: Robot, q: Array) -> float | None:
        """How regular one pose (n,) is: 1 at the best pose, 0 at a parallel singularity; None for open chains."""
        if not robot.closed:
            return None
        return float(robot.singularity(q).passive) / self.best


def lightest(robot: Robot, payload: float, poses: Poses | None = None) -> list[Extreme]:
    """For every motor the least inertia in the joint ranges, the other motors let go."""
    return _search(robot, payload, lambda q: motor_inertia(robot, q, held=False), -1.0, poses)


def heaviest(robot: Robot, payload: float, poses: Poses | None = None) -> list[Extreme]:
    """For every motor the largest inertia in the joint ranges, the other motors held."""
    return _search(robot, payload, lambda q: motor_inertia(robot, q, held=True), 1.0, poses)


def _search(
    robot: Robot, payload: float, inertia: Callable[[Array], Array], sign: float, given: Poses | None
) -> list[Extreme]:
    """Random poses and corners of the joint ranges, then random steps of falling width around the best."""
    poses = Poses.of(robot) if given is None else given
    rng = np.random.default_rng(1989)
    low, high = joint_ranges(robot)
    values = inertia(poses.q)
    found = []
    for i in range(values.shape[1]):
        q = poses.q[int(np.argmax(sign * values[:, i]))]
        for k in range(ROUNDS):
            steps = (high - low) * 0.5 ** (k + 2) * rng.uniform(-1.0, 1.0, (ROUND_SAMPLES, robot.n))
            near = np.vstack([q, poses.regular(robot, np.clip(q + steps, low, high))[0]])
            q = near[int(np.argmax(sign * inertia(near)[:, i]))]
        found.append(Extreme(float(inertia(q)[i]), q, payload, poses.regularity(robot, q)))
    return found


def _corners(low: Array, high: Array) -> Array:
    """Poses with every joint at an end or the middle of its range; ends alone for many joints."""
    few = len(low) <= 6
    levels = [np.array([a, 0.5 * (a + b), b] if few else [a, b]) for a, b in zip(low, high, strict=True)]
    if len(low) > 10:
        return np.array([low, high])
    return np.stack([grid.ravel() for grid in np.meshgrid(*levels, indexing="ij")], axis=-1)
