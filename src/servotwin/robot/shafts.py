r"""The inertia that each motor turns.

.. math:: D = \mathrm{diag}(J_m) + N^{-T} M(q) N^{-1}                      (eq:motor-inertia)

is the mass matrix at the motor shafts; M counts the coupling of rotors on moving
links where there is one. Motor i turns D_ii while the other motors hold still,
and 1 / (D^-1)_ii, which is less, while they let go.
"""

from __future__ import annotations

import numpy as np

from servotwin.errors import UnsupportedError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot


def motor_inertia(robot: Robot, q: Array, *, held: bool) -> Array:
    """Inertia at the motors (..., motors) [kg m2], rotors included; other motors held or let go."""
    rotors = robot.mechanism.rotors
    if rotors.N.shape != (robot.n, robot.n) or np.linalg.matrix_rank(rotors.N) < robot.n:
        raise UnsupportedError(
            f"{robot.name}: {rotors.N.shape[0]} motors for {robot.n} joints; expected one motor for every joint"
        )
    to_motor = np.linalg.inv(rotors.N)
    D = to_motor.T @ robot.inertia(q, drives=True) @ to_motor  # eq:motor-inertia
    if held:
        return np.asarray(np.diagonal(D, axis1=-2, axis2=-1))
    return np.asarray(1.0 / np.diagonal(np.linalg.inv(D), axis1=-2, axis2=-1))
