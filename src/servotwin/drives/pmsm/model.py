r"""Permanent-magnet synchronous motor in rotor coordinates, amplitudes, p pole pairs.

.. math::

    L_d\,\dot i_d &= u_d - R i_d + p\,\omega_m L_q i_q \\
    L_q\,\dot i_q &= u_q - R i_q - p\,\omega_m (L_d i_d + \psi), \qquad
    \tau_e = \tfrac32 p\,(\psi i_q + (L_d - L_q) i_d i_q)                        (eq:pmsm)
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper


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
def electrical_turn(motor: Any) -> tuple[float, float]:
    """Cosine and sine of the electrical angle now; the motor keeps them, for several ask at one instant."""
    if motor.theta != motor.turn_theta or (motor.turn_cos == 0.0 and motor.turn_sin == 0.0):
        angle = motor.pole_pairs * motor.theta
        motor.turn_theta, motor.turn_cos, motor.turn_sin = motor.theta, math.cos(angle), math.sin(angle)
    return motor.turn_cos, motor.turn_sin


@helper
def currents_now(motor: Any, i_d: float, i_q: float) -> tuple[float, float]:
    """``stator_currents`` where the rotor stands now."""
    c, s = electrical_turn(motor)
    return c * i_d - s * i_q, s * i_d + c * i_q


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


@helper
def pmsm_rates(
    motor: Any, u_bus: float, theta: float, w: float, y: Any, dy: Any
) -> tuple[float, float, float, float]:
    """Torque, power from the bridge, 3/2 i^2 and current from the bus; the rates of both currents."""
    k = motor.current_at
    i_d, i_q = y[k], y[k + 1]
    u_d, u_q = rotor_voltage(motor, theta, motor.s_a, motor.s_b, u_bus)
    dy[k], dy[k + 1] = pmsm_current_rates(motor, u_d, u_q, i_d, i_q, w)
    if motor.open:
        dy[k] = dy[k + 1] = 0.0
    power = 1.5 * (u_d * i_d + u_q * i_q)
    return pmsm_torque(motor, i_d, i_q), power, 1.5 * (i_d * i_d + i_q * i_q), power / u_bus


@helper
def pmsm_speed_gain(motor: Any, span: float) -> float:
    """Speed of the rotor by the current that a missed acceleration makes in a window [s]."""
    return motor.K * motor.psi * motor.pole_pairs * span**3 / (6 * motor.L_q * motor.J)  # type: ignore[no-any-return]
