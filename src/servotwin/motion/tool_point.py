r"""How the tool point moves when the joints move.

.. math:: v = J \dot q, \quad a = J \ddot q + \dot J \dot q                              (eq:tool-rates)
"""

from __future__ import annotations

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.follow import Tracker
from servotwin.motion.rotations import cross


def point_places(tracker: Tracker, q: Array) -> Array:
    """Places (k, 3) of the tool point."""
    X = tracker.robot.fkine(q)
    return np.asarray((X if tracker.plain else X @ tracker.X_tool)[:, :3, 3])


def point_rates(tracker: Tracker, q: Array, qd: Array) -> Array:
    """Velocities (k, 3) of the tool point for velocities qd (k, n) of the joints."""
    return _point(tracker, q, np.einsum("kij,kj->ki", tracker.robot.jacob0(q), qd))[0]


def point_motion(tracker: Tracker, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
    """Velocities and accelerations (k, 3) of the tool point."""
    J = tracker.robot.jacob0(q)
    twist = np.einsum("kij,kj->ki", J, qd)
    turning = np.einsum("kij,kj->ki", tracker.robot.jacob0_dot(q, qd), qd)
    rates = np.einsum("kij,kj->ki", J, qdd) + turning  # eq:tool-rates
    v, arm = _point(tracker, q, twist)
    if arm is None:
        return v, np.asarray(rates[:, :3])
    w = twist[:, 3:]
    return v, np.asarray(rates[:, :3] + cross(rates[:, 3:], arm) + cross(w, cross(w, arm)))


def _point(tracker: Tracker, q: Array, twist: Array) -> tuple[Array, Array | None]:
    """Velocity of the tool point and the way (k, 3) to it from the robot's tool frame, None if they coincide."""
    offset = tracker.X_tool[:3, 3]
    if tracker.plain or not offset.any():
        return np.asarray(twist[:, :3]), None
    arm = tracker.robot.fkine(q)[:, :3, :3] @ offset
    return np.asarray(twist[:, :3] + cross(twist[:, 3:], arm)), arm
