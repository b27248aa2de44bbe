"""The joint position behind a tool pose that is set by hand; short arms turn the tool as near to it as they can."""

from __future__ import annotations

import numpy as np

from servotwin.dynamics.ik.pose import rotation_vector
from servotwin.errors import UnreachableError
from servotwin.mechanism.model import Array
from servotwin.mechanism.spatial import rot_rpy, transform
from servotwin.robot.robot import Robot

ROUNDS = 200
PRECISION = 1e-14  # rad^2: a round that gains less is the last
SAME_PLACE, SAME_TURN = 1e-5, 1e-7  # m, rad: less than the page shows
SLACK = 1e-9  # rad, m


def position_for(robot: Robot, xyz: Array, rpy: Array, q0: Array) -> tuple[Array, float]:
    """The joint position (n,) nearest to q0 with the tool at a place and turn, and by how much it is turned away [rad].

    An arm with fewer than six joints holds the place and turns the tool as near to what is asked as it can. All others
    raise UnreachableError with the reason.
    """
    target = transform(rot_rpy((float(rpy[0]), float(rpy[1]), float(rpy[2]))), xyz)
    try:
        return robot.ikine(target, q0=q0), 0.0
    except UnreachableError:
        if robot.n >= 6:
            raise
        found = nearest_turn(robot, target, q0)
        if found is None:
            raise
        turned = float(np.linalg.norm(_turn(robot.fkine(found), target)))
        return found, turned if turned > SAME_TURN else 0.0


def nearest_turn(robot: Robot, target: Array, q0: Array) -> Array | None:
    r"""The position (n,) within the limits that holds the place of a pose (4, 4), least turned from it near q0.

    .. math:: \min_q e_o^T e_o \quad\text{with}\quad e_p = 0,\; q_\mathrm{min} \le q \le q_\mathrm{max}

    with e_p and e_o the missing way and turn, by sequential quadratic programming with the gradients -2 J_o^T e_o and
    -J_p. Where the arm is stretched at the answer, as short arms often are, it converges too. None if the place is out
    of reach that way.
    """
    from scipy.optimize import (
        Bounds,
        minimize,
    )  # only arms with few joints, where the turn asked for is not reached

    low, high = robot.limits.q_min, robot.limits.q_max
    found = minimize(
        lambda q: float(np.sum(_turn(robot.fkine(q), target) ** 2)),
        np.clip(q0, low, high),
        jac=lambda q: -2.0 * robot.jacob0(q)[3:].T @ _turn(robot.fkine(q), target),
        bounds=Bounds(low, high),
        constraints={
            "type": "eq",
            "fun": lambda q: target[:3, 3] - robot.fkine(q)[:3, 3],
            "jac": lambda q: -robot.jacob0(q)[:3],
        },
        method="SLSQP",
        options={"maxiter": ROUNDS, "ftol": PRECISION},
    )
    q = np.clip(found.x, low, high)
    missed = float(np.linalg.norm(target[:3, 3] - robot.fkine(q)[:3, 3]))
    bound = float(np.max(robot.quantities.beyond(q), initial=0.0))
    bound = max(bound, float(np.max(robot.frame_quantities_beyond(q), initial=0.0)))
    return q if missed < SAME_PLACE and bound <= SLACK else None


def _turn(pose: Array, target: Array) -> Array:
    """The rotation vector (3,) from a pose to another, in the base [rad]."""
    return rotation_vector(target[:3, :3] @ pose[:3, :3].T)
