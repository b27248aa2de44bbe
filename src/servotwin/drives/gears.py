r"""Transmissions between motor and joint: stiff with losses, or elastic with play.

A stiff gear ties the motor to the joints, :math:`\theta_m = N q`. The torque p that it passes on to
the load (counted at the motor) costs the motor :math:`g\,p`:

.. math:: g = 1/\eta \text{ if } p\,\omega_m > 0 \text{ (motor drives)}, \qquad
          g = \eta \text{ if } p\,\omega_m < 0 \text{ (load drives)}                 (eq:gear-efficiency)

An elastic gear (harmonic drive) twists by :math:`\delta = \theta_m - N q` and passes

.. math:: \tau_s = k\,\mathrm{dz}(\delta) + d\,\dot\delta                             (eq:gear-torsion)

with dz the part of the twist beyond half of the play; in the play nothing is passed. Its losses act on
the load's side as friction proportional to the torque, so that they never drive:

.. math:: \tau_l = \tau_s - \mu\,|\tau_s| \tanh(\omega_l/\omega_0), \quad
          \mu = 1 - \eta \text{ or } 1/\eta - 1                                      (eq:gear-loss)
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.dynamics.recursive.jit import helper

LOSS_SPEED = 0.5  # rad/s at the motor within which the direction of the loss turns over


@helper
def torsion_torque(motor: Any, twist: float, rate: float) -> float:
    """Torque of an elastic gear on the load, counted at the motor [N m]."""
    beyond = twist - motor.half_play if twist > 0.0 else twist + motor.half_play
    if motor.half_play > 0.0 and beyond * twist <= 0.0:
        return 0.0
    tau = motor.stiffness * beyond + motor.damping * rate  # eq:gear-torsion
    # with play the flanks push only
    if motor.half_play > 0.0 and tau * twist < 0.0:
        return 0.0
    return tau  # type: ignore[no-any-return]


@helper
def lossy_torque(motor: Any, tau_s: float, w_load: float) -> float:
    """What of the torsion torque reaches the load [N m]."""
    if motor.eta >= 1.0:
        return tau_s
    mu = 1.0 - motor.eta if tau_s * w_load > 0.0 else 1.0 / motor.eta - 1.0
    return tau_s - mu * abs(tau_s) * math.tanh(w_load / LOSS_SPEED)  # type: ignore[no-any-return]  # eq:gear-loss
