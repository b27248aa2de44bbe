r"""Transmissions between motor and joint: stiff with losses, or elastic with play.

A stiff gear ties the motor to the joints, :math:`\theta_m = N q`. The torque p that it passes on to
the load (counted at the motor) costs the motor :math:`g\,p`:

.. math:: g = 1/\eta \text{ if } p\,\omega_m > 0 \text{ (motor drives)}, \qquad
          g = \eta \text{ if } p\,\omega_m < 0 \text{ (load drives)}                 (eq:gear-efficiency)

An elastic gear (harmonic drive) twists by :math:`\delta = \theta_m - N q` and passes

.. math:: \tau_s = k\,\mathrm{dz}(\delta) + d\,\dot\delta                             (eq:gear-torsion)

where the stiffness may change with the twist, without play, by :math:`\Delta k_i` from :math:`\delta_i` on,

.. math:: \tau_k = k\,\delta + \mathrm{sgn}\,\delta \sum_i \Delta k_i \max(|\delta| - \delta_i, 0), \qquad
          E_k = \tfrac12 k\,\delta^2 + \tfrac12 \sum_i \Delta k_i \max(|\delta| - \delta_i, 0)^2  (eq:gear-stiffening)

with dz the part of the twist beyond half of the play, 2 b; in the play nothing is passed. With play the flanks push
and never pull. Flank :math:`\sigma = \pm1` touches from the instant at which both the twist is beyond the play and

.. math:: p_\sigma = k\,(\sigma\delta - b) + d\,\sigma\dot\delta                      (eq:flank-push)

is positive, until p is zero again. There :math:`k\,(\sigma\delta - b) = -d\,\sigma\dot\delta`: the spring is still
twisted, and what it holds is lost with the flank,

.. math:: E_\sigma = \frac{(d\,\dot\delta)^2}{2 k} \text{ if } \sigma\dot\delta < 0, \text{ else } 0   (eq:flank-loss)

which also says what a flank holds that touches again before its spring is straight. A torsion with hysteresis has an
element of Dahl's in parallel to its spring, which on a reversal begins with the stiffness k_h and slips beyond the
twist z_h,

.. math:: \tau_h = k_h z, \qquad \dot z = \dot\delta - |\dot\delta|\,z/z_h, \qquad
          \tau_h \dot\delta = \frac{d}{dt}\tfrac12 k_h z^2 + k_h \frac{z^2}{z_h}\,|\dot\delta|          (eq:hysteresis)

so that it stores and loses and never gives (docs/theory/error-sources.md). Methods of a fixed step T follow it up to
the pace of their steps,

.. math:: \dot z = (\pm z_h - z)/T \quad \text{where } |\dot\delta|\, T > z_h                       (eq:hysteresis-pace)
 A gear with a transmission error e twists
by

.. math:: \delta = \theta_m + e(\theta_m) - N q, \qquad
          \tau_m = (1 + e'(\theta_m))\,\tau_s                                          (eq:transmission-error)

and takes tau_m from its motor for the tau_s that it passes. Its losses act on the load's side as friction proportional
to the torque, so that they never drive:

.. math:: \tau_l = \tau_s - \mu\,|\tau_s| \tanh(\omega_l/\omega_0), \quad
          \mu = 1 - \eta \text{ or } 1/\eta - 1                                      (eq:gear-loss)
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper
from servotwin.drives.harmonics import wave_and_slope
from servotwin.drives.records import NO_CONTACT

LOSS_SPEED = 0.5  # rad/s at the motor within which the direction of the loss turns over


@helper
def torsion_torque(motor: Any, twist: float, rate: float) -> float:
    """Torque of an elastic gear on the load, counted at the motor [N m]; with play that of the flank that touches."""
    if motor.half_play > 0.0 and motor.contact == NO_CONTACT:
        return 0.0
    return spring_torque(motor, twist) + motor.damping * rate  # type: ignore[no-any-return]  # eq:gear-torsion


@helper
def hysteresis_rate(motor: Any, z: float, rate: float, step: float) -> float:
    """Rate of the twist z of the hysteresis [rad/s] while the gear twists with ``rate``.

    ``step``: length of the fixed steps that follow it [s], 0 where they adapt. Within one a twist may pass the whole
    width many times over: z then goes to its limit in the time of a step (eq:hysteresis-pace).
    """
    limit = motor.hysteresis_limit
    if abs(rate) * step > limit:
        return (math.copysign(limit, rate) - z) / step  # eq:hysteresis-pace
    return rate - abs(rate) * z / limit  # type: ignore[no-any-return]  # eq:hysteresis


@helper
def gear_error(motor: Any, theta: float) -> tuple[float, float]:
    """Transmission error of an elastic gear at the angle of its motor [rad], and 1 + its change per angle."""
    if motor.gear_waves == 0:
        return 0.0, 1.0
    error, slope = wave_and_slope(
        motor.gear_order, motor.gear_amplitude, motor.gear_phase, motor.gear_start, motor.gear_waves, theta
    )
    return error, 1.0 + slope  # eq:transmission-error


@helper
def spring_torque(motor: Any, twist: float) -> float:
    """Torque of the spring alone [N m], which may stiffen with its twist."""
    torque = motor.stiffness * wound(motor, twist)
    if motor.bend_1 > 0.0:  # eq:gear-stiffening
        size = abs(twist)
        more = motor.added_1 * max(size - motor.bend_1, 0.0) + motor.added_2 * max(size - motor.bend_2, 0.0)
        torque += math.copysign(more, twist)
    return torque  # type: ignore[no-any-return]


@helper
def wound(motor: Any, twist: float) -> float:
    """Part of the twist that winds the spring [rad]; none where no flank touches."""
    if motor.half_play > 0.0:
        return twist - motor.contact * motor.half_play if motor.contact != NO_CONTACT else 0.0
    return twist


@helper
def flank_push(motor: Any, side: int, twist: float, rate: float) -> float:
    """Torque with which a flank, +1 or -1, pushes if it touches [N m]; negative where it would pull."""
    beyond = side * twist - motor.half_play
    return motor.stiffness * beyond + motor.damping * side * rate  # type: ignore[no-any-return]  # eq:flank-push


@helper
def flank_margin(motor: Any, twist: float, rate: float) -> float:
    """How far a gear with play is from the instant at which a flank touches or parts; negative beyond it."""
    if motor.contact != NO_CONTACT:
        return flank_push(motor, motor.contact, twist, rate)
    plus = max(motor.half_play - twist, -flank_push(motor, 1, twist, rate))
    minus = max(motor.half_play + twist, -flank_push(motor, -1, twist, rate))
    return min(plus, minus)  # type: ignore[no-any-return]


@helper
def next_contact(motor: Any, twist: float, rate: float) -> int:
    """The flank that touches, -1 or 1, or 0: from the one that touched before and the state now."""
    if flank_margin(motor, twist, rate) >= 0.0:
        return motor.contact  # type: ignore[no-any-return]
    if motor.contact != NO_CONTACT:
        return 0
    return 1 if twist > 0.0 else -1


@helper
def flank_loss(motor: Any, side: int, rate: float) -> float:
    """Energy in the spring of a flank as it parts, which is lost, or as it touches again [J]."""
    if side * rate >= 0.0:
        return 0.0
    return 0.5 * (motor.damping * rate) ** 2 / motor.stiffness  # type: ignore[no-any-return]  # eq:flank-loss


@helper
def lossy_torque(motor: Any, tau_s: float, w_load: float) -> float:
    """What of the torsion torque reaches the load [N m]."""
    if motor.eta >= 1.0:
        return tau_s
    mu = 1.0 - motor.eta if tau_s * w_load > 0.0 else 1.0 / motor.eta - 1.0
    return tau_s - mu * abs(tau_s) * math.tanh(w_load / LOSS_SPEED)  # type: ignore[no-any-return]  # eq:gear-loss
