r"""A base that gives way under the arm it carries, read quasi-statically.

The arm moves as on a base at rest. What the ground must hold against it is the wrench w on joints of the base that
stand still; the base moves under the opposite of it by

.. math:: u = -K^{-1}\, w(q, \dot q, \ddot q), \qquad X_\mathrm{true} = D(u)\, X(q)          (eq:base-deflection)

with a shift and a small turn about the origin of the base's frame. It holds as long as the arm's motion is slow against
the natural frequency of the robot on its base; the mass of the base itself is part of where it was set up.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from servotwin.mechanism.deviation import displacement
from servotwin.mechanism.model import Array
from servotwin.mechanism.moving_base import with_moving_base
from servotwin.robot.robot import Robot

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


@lru_cache(maxsize=8)
def _on_joints(robot: Robot) -> Robot:
    """The robot behind six joints of its base."""
    return Robot(
        with_moving_base(robot.mechanism, DIRECTIONS), engine="auto" if robot.closed else "recursive"
    )


def base_wrench(robot: Robot, q: Array, qd: Array | None = None, qdd: Array | None = None) -> Array:
    """Force [N] and moment [N m] about the base's origin (..., 6) that hold the base of a moving arm, in its axes."""
    q = np.asarray(q, dtype=np.float64)
    still = np.zeros((*q.shape[:-1], len(DIRECTIONS)))
    states = [
        np.concatenate([np.zeros_like(q) if part is None else np.asarray(part), still], axis=-1)
        for part in (q, qd, qdd)
    ]
    return np.asarray(_on_joints(robot).rne(*states)[..., robot.n :])


def base_deflection(
    robot: Robot, compliance: Array, q: Array, qd: Array | None = None, qdd: Array | None = None
) -> Array:
    """Shift [m] and rotation vector [rad] of the base (..., 6) under a moving arm, by its compliance (6, 6)."""
    return np.asarray(-base_wrench(robot, q, qd, qdd) @ np.asarray(compliance).T)  # eq:base-deflection


def displaced(X: Array, deflection: Array) -> Array:
    """Poses (..., 4, 4) as they are on a base that has moved by ``deflection`` (..., 6)."""
    return np.asarray(displacement(deflection[..., :3], deflection[..., 3:]) @ X)
