r"""Electrical side of the motors.

DC servo motor (Lee 1989, eq 8 to 10), with the resistance of the bridge in series:

.. math:: L\,\dot i_a = u_a - (R + R_b)\,i_a - K \omega_m, \qquad \tau_e = K i_a     (eq:dc-motor)

K is torque and voltage constant at once: in SI they are one number, and two would create or destroy
energy. With negligible inductance

.. math:: i_a = (u_a - K \omega_m) / (R + R_b)                                  (eq:dc-reduced)

Permanent-magnet synchronous motor in rotor coordinates, amplitudes, p pole pairs:

.. math::

    L_d\,\dot i_d &= u_d - R i_d + p\,\omega_m L_q i_q \\
    L_q\,\dot i_q &= u_q - R i_q - p\,\omega_m (L_d i_d + \psi), \qquad
    \tau_e = \tfrac32 p\,(\psi i_q + (L_d - L_q) i_d i_q)                        (eq:pmsm)
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.dynamics.recursive.jit import helper


@helper
def dc_current_rate(motor: Any, u: float, i: float, w: float) -> float:
    """Time derivative of the armature current [A/s]."""
    return (u - (motor.R + motor.R_bridge) * i - motor.K * w) / motor.L  # type: ignore[no-any-return]  # eq:dc-motor


@helper
def dc_reduced_current(motor: Any, u: float, w: float) -> float:
    """Armature current where the inductance does not count [A]."""
    return (u - motor.K * w) / (motor.R + motor.R_bridge)  # type: ignore[no-any-return]  # eq:dc-reduced


@helper
def pmsm_torque(motor: Any, i_d: float, i_q: float) -> float:
    """Torque at the rotor [N m]."""
    flux = motor.psi + (motor.L_d - motor.L_q) * i_d
    return 1.5 * motor.pole_pairs * flux * i_q  # type: ignore[no-any-return]  # eq:pmsm


@helper
def rotor_voltage(motor: Any, theta: float, s_a: float, s_b: float, u_bus: float) -> tuple[float, float]:
    """Voltage vector of the bridge, seen from the rotor: d and q components [V]."""
    angle = motor.pole_pairs * theta
    c, s = math.cos(angle), math.sin(angle)
    return u_bus * (c * s_a + s * s_b), u_bus * (c * s_b - s * s_a)


@helper
def stator_currents(motor: Any, theta: float, i_d: float, i_q: float) -> tuple[float, float]:
    """Current vector seen from the stator: alpha, which is the current of phase a, and beta [A]."""
    angle = motor.pole_pairs * theta
    c, s = math.cos(angle), math.sin(angle)
    return c * i_d - s * i_q, s * i_d + c * i_q


@helper
def note_peaks(motor: Any, i: float, tau: float) -> None:
    """Keep the largest current [A] and torque [N m] so far."""
    motor.i_peak = max(motor.i_peak, abs(i))
    motor.tau_peak = max(motor.tau_peak, abs(tau))


@helper
def pmsm_current_rates(
    motor: Any, u_d: float, u_q: float, i_d: float, i_q: float, w: float
) -> tuple[float, float]:
    """Time derivatives of the d and q currents [A/s]."""
    w_e = motor.pole_pairs * w
    R = motor.R + motor.R_bridge
    di_d = (u_d - R * i_d + w_e * motor.L_q * i_q) / motor.L_d  # eq:pmsm
    di_q = (u_q - R * i_q - w_e * (motor.L_d * i_d + motor.psi)) / motor.L_q
    return di_d, di_q
