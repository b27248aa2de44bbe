"""The joint position behind a tool pose that is set by hand; short arms turn the tool as near to it as they can."""

from __future__ import annotations

import numpy as np

from servotwin.dynamics.ik.pose import rotation_vector
from servotwin.errors import UnreachableError
from servotwin.mechanism.model import Array
from servotwin.mechanism.spatial import rot_rpy, transform
from servotwin.robot.robot import Robot

ROUNDS = 300
LONGEST_STEP = 0.2  # rad, m
SAME_PLACE, SAME_TURN = 1e-5, 1e-7  # m, rad: less than the page shows
AT_REST = 1e-8  # rad, m: a step that changes nothing
WEAK = 1e-3  # of the largest singular value: directions that are left alone
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

    Newton's method on the place, and on the turn in what that leaves free:

    .. math:: \Delta q = J_p^+ e_p + (J_o N)^+ (e_o - J_o J_p^+ e_p), \quad N = 1 - J_p^+ J_p

    with e_p and e_o the missing way and turn. Joints at a limit that a step would pass stand still. None if the
    place is out of reach that way.
    """
    low, high = robot.limits.q_min, robot.limits.q_max
    q = np.clip(q0, low, high)
    for _ in range(ROUNDS):
        pose = robot.fkine(q)
        step = _step(robot.jacob0(q), target[:3, 3] - pose[:3, 3], _turn(pose, target), q, low, high)
        if float(np.abs(step).max()) < AT_REST:
            break
        step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        q = np.clip(q + step, low, high)
    missed = float(np.linalg.norm(target[:3, 3] - robot.fkine(q)[:3, 3]))
    bound = float(np.max(robot.quantities.beyond(q), initial=0.0))
    bound = max(bound, float(np.max(robot.frame_quantities_beyond(q), initial=0.0)))
    return q if missed < SAME_PLACE and bound <= SLACK else None


def _step(jac: Array, way: Array, turn: Array, q: Array, low: Array, high: Array) -> Array:
    """The step of all joints that can still move in its direction."""
    free = np.ones(len(q), dtype=bool)
    step = np.zeros(len(q))
    for _ in range(len(q)):
        J_p, J_o = np.where(free, jac[:3], 0.0), np.where(free, jac[3:], 0.0)
        inverse = np.linalg.pinv(J_p, rcond=WEAK)
        first = inverse @ way
        left = np.eye(len(q)) - inverse @ J_p
        step = first + left @ np.linalg.pinv(J_o @ left, rcond=WEAK) @ (turn - J_o @ first)
        stuck = free & (((q <= low) & (step < 0.0)) | ((q >= high) & (step > 0.0)))
        if not stuck.any():
            break
        free &= ~stuck
    return np.where(free, step, 0.0)


def _turn(pose: Array, target: Array) -> Array:
    """The rotation vector (3,) from a pose to another, in the base [rad]."""
    return rotation_vector(target[:3, :3] @ pose[:3, :3].T)
