r"""Rotors that spin on moving links: their angular momentum couples motor and arm.

A rotor of inertia J_m about its axis a, fixed to body c, turns by :math:`\dot\theta_m = N \dot q` against it.
Its mass and its inertia as if it stood still belong to the body; what is left of its kinetic energy is

.. math:: T_m = \tfrac12 J_m \dot\theta_m^2 + J_m \dot\theta_m\, (a \cdot \omega_c)                (eq:rotor-energy)

The first term is the reflected inertia. The second gives the body a moment, and the motor a torque,

.. math:: n_c = J_m (\ddot\theta_m a + \dot\theta_m\, \omega_c \times a), \qquad
          \tau = N^T J_m\, a \cdot \dot\omega_c                                              (eq:rotor-moment)

and the mass matrix :math:`J_m (N^T \beta + \beta^T N)` with :math:`\beta \dot q = a \cdot \omega_c`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from servotwin.dynamics.chain import Chain
from servotwin.dynamics.rnea import Motion
from servotwin.dynamics.vector import Scalar, Vec, add, cross, dot, scale


@dataclass(frozen=True)
class Spin:
    """A rotor on a moving body: axis in the body's frame, inertia, motor turns per coordinate."""

    body: int
    axis: Vec
    J_m: Scalar
    N: Sequence[Scalar]

    def turn(self, rates: Sequence[Scalar]) -> Scalar:
        """N times rates (or accelerations) of the coordinates."""
        total: Scalar = 0.0
        for n, rate in zip(self.N, rates, strict=False):
            total = total + n * rate
        return total


def rotor_moment(spin: Spin, motion: Motion, qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> Vec:
    """Moment that the body must receive to change the direction and size of the rotor's momentum."""
    faster = scale(spin.turn(qdd), spin.axis)
    turning = scale(spin.turn(qd), cross(motion.w, spin.axis))
    return scale(spin.J_m, add(faster, turning))  # eq:rotor-moment


def rotor_torque(spin: Spin, motion: Motion) -> Scalar:
    """Torque at the motor that takes the rotor along with its body, J_m a . wd."""
    return spin.J_m * dot(spin.axis, motion.wd)  # eq:rotor-moment


def spin_row(spin: Spin, chain: Chain) -> list[Scalar]:
    """beta over the tree joints: the body's angular velocity about the rotor's axis per rate of every joint."""
    row: list[Scalar] = [0.0] * len(chain.joints)
    axis, i = spin.axis, spin.body
    while i >= 0:
        joint = chain.joints[i]
        if not joint.prismatic:
            row[i] = axis[2]
        axis, i = joint.to_parent(axis), joint.parent
    return row
