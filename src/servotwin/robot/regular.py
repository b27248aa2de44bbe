"""Poses of a robot that are far enough from a parallel singularity to be judged by.

Where the actuated joints of a closed chain no longer hold the passive ones, the inertia at the motors grows
without bound. Nobody runs a robot there, so questions about all poses are asked of the regular ones.
"""

from __future__ import annotations

import numpy as np

from servotwin.errors import KinematicsError
from servotwin.mechanism.model import Array, BoolArray
from servotwin.robot.robot import Robot

REGULAR = 0.25  # of the best value found; a five-bar then keeps transmission angles above 28 deg
TRIES = 400  # poses that are drawn at a time, at least
ROUNDS = 16  # halvings of the range; what is left, 1.5e-5 of it, is one pose for all purposes


def joint_ranges(robot: Robot) -> tuple[Array, Array]:
    """Least and largest joint positions (n,); a full turn, or +-1 m, where none are given."""
    wide = np.where(np.array(robot.joint_units) == "m", 1.0, np.pi)
    low = np.where(np.isfinite(robot.limits.q_min), robot.limits.q_min, -wide)
    high = np.where(np.isfinite(robot.limits.q_max), robot.limits.q_max, wide)
    return low, high


def closed_poses(robot: Robot, poses: Array) -> tuple[Array, Array]:
    """Poses (k, n) in which the loops close, and how firmly the actuated joints hold the passive ones (k,).

    The measure is ``Robot.singularity(q).passive``: 0 at a parallel singularity, 1 at best; 1 for an open chain.
    Poses outside the ranges of the robot's quantities are left out.
    """
    poses = poses[(robot.quantities.beyond(poses) <= 0.0).all(axis=-1)]
    if not robot.closed:
        return poses, np.ones(len(poses))
    kept, firm = [], []
    for q in poses:
        try:
            firm.append(float(robot.singularity(q).passive))
        except KinematicsError:
            continue
        kept.append(q)
    return np.array(kept).reshape(-1, robot.n), np.array(firm)


def regular_poses(robot: Robot, rng: np.random.Generator, count: int, least: float = REGULAR) -> Array:
    """Random poses (count, n) in the joint ranges, home among them, ``least`` of the best in ``closed_poses``.

    Where too few are, the search narrows around home, or around the best pose where home is not regular itself.
    KinematicsError where that finds too few as well.
    """
    low, high = joint_ranges(robot)
    tries = max(TRIES, count)
    poses, firm = closed_poses(robot, np.vstack([robot.q_home, rng.uniform(low, high, (tries, robot.n))]))
    for halvings in range(1, ROUNDS + 1):
        regular = _regular(firm, least)
        if np.count_nonzero(regular) >= count or not regular.any():
            break
        at_home = (poses[regular] == robot.q_home).all(axis=-1).any()
        centre = robot.q_home if at_home else poses[np.argmax(firm)]
        near = centre + 0.5**halvings * rng.uniform(low - high, high - low, (tries, robot.n))
        more, measure = closed_poses(robot, np.clip(near, low, high))
        poses, firm = np.vstack([poses, more]), np.append(firm, measure)
    chosen = poses[_regular(firm, least)]
    if len(chosen) < count:
        raise KinematicsError(
            f"{robot.name}: of {count} poses that are needed, {len(chosen)} were found in which the loops close, "
            "quantities are in their ranges and the actuated joints hold the passive ones; expected a home pose away "
            "from singularities, with room around it"
        )
    return np.asarray(chosen[:count])


def _regular(firm: Array, least: float) -> BoolArray:
    """Which poses are firm enough; none where all are singular."""
    best = firm.max(initial=0.0)
    return np.asarray((firm >= least * best) & (firm > 0.0))
