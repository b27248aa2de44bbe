r"""Friction of a shaft: viscous, Coulomb, Stribeck, stiction and a closed brake.

While the shaft slides in direction s = +-1 (its *mode*)

.. math:: \tau_f = f\,\omega + s\,\bigl(\tau_c + (\tau_s - \tau_c)\,e^{-(\omega/\omega_s)^2}\bigr)   (eq:stribeck)

opposes the motion. The mode is a state, not the sign of a small number: at zero speed the shaft sticks
(mode 0), holds still exactly, and lets go when the torque it must hold leaves the range that stiction and
gear allow. So there is nothing that could chatter.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.drives.records import FREE, STUCK
from servotwin.dynamics.recursive.jit import helper


@helper
def dry_torque(motor: Any, w: float) -> float:
    """Size of the dry friction torque at speed w [N m]."""
    tau = motor.tau_c
    if motor.tau_s > motor.tau_c:
        ratio = w / motor.w_stribeck
        tau += (motor.tau_s - motor.tau_c) * math.exp(-ratio * ratio)  # eq:stribeck
    if motor.brake_closed:
        tau += motor.brake_torque
    return tau  # type: ignore[no-any-return]


@helper
def friction_torque(motor: Any, w: float) -> float:
    """Torque that opposes the motion in the present mode [N m]; a stuck shaft has its own equation."""
    viscous = motor.f * w
    if motor.mode in (FREE, STUCK):
        return viscous  # type: ignore[no-any-return]
    return viscous + motor.mode * dry_torque(motor, w)  # type: ignore[no-any-return]


@helper
def holding_slack(motor: Any, tau_e: float, load: float) -> float:
    r"""How far a stuck shaft is from moving [N m]; negative: it moves.

    With p the torque that the gear passes on to hold the load, the shaft stays where

    .. math:: p\,g_- - \tau_s \le \tau_e \le p\,g_+ + \tau_s                     (eq:stiction-cone)

    with :math:`g_\pm` the factor of the gear for motion in either direction (eq:gear-efficiency).
    """
    tau_s = max(motor.tau_s, motor.tau_c)
    if motor.brake_closed:
        tau_s += motor.brake_torque
    up = 1.0 / motor.eta if load > 0.0 else motor.eta
    down = motor.eta if load > 0.0 else 1.0 / motor.eta
    return min(load * up + tau_s - tau_e, tau_e + tau_s - load * down)  # type: ignore[no-any-return]


@helper
def breakaway_direction(motor: Any, tau_e: float, load: float) -> int:
    """Direction in which a stuck shaft starts to move."""
    return 1 if tau_e > load else -1
