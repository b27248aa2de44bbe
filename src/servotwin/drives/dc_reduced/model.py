r"""DC servo motor with negligible inductance.

.. math:: i_a = (u_a - K \omega_m) / (R + R_b)                                  (eq:dc-reduced)
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper


@helper
def dc_reduced_current(motor: Any, u: float, w: float) -> float:
    """Armature current [A]."""
    return (u - motor.K * w) / (motor.R + motor.R_bridge)  # type: ignore[no-any-return]  # eq:dc-reduced


@helper
def dc_reduced_rates(motor: Any, u_bus: float, w: float) -> tuple[float, float, float, float]:
    """Torque, power from the bridge, i^2 and current from the bus."""
    u = motor.s_a * u_bus
    i = 0.0 if motor.open else dc_reduced_current(motor, u, w)
    return motor.K * i, u * i, i * i, motor.s_a * i


@helper
def dc_reduced_window_interval(
    motor: Any, u: float, w: float, slope: float, tau: float
) -> tuple[float, float, float, float, float, float]:
    """Current at the end and at the start of an interval, impulse and moment of the torque, integral of i^2, energy."""
    if motor.open:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    R, K = motor.R + motor.R_bridge, motor.K
    i, rate, bend = (u - K * w) / R, -K * slope / R, -K * motor.w_ddot / R
    first = tau * (i + tau * (rate / 2 + tau * bend / 6))
    lever = tau * tau * (i / 2 + tau * (rate / 3 + tau * bend / 8))
    third = (rate * rate + i * bend) / 3 + tau * (rate * bend / 4 + tau * bend * bend / 20)
    square = tau * (i * i + tau * (i * rate + tau * third))
    return i + tau * (rate + tau * bend / 2), i, K * first, K * lever, square, u * first


@helper
def dc_reduced_speed_gain(motor: Any, span: float) -> float:
    """Speed of the rotor by the current that a missed acceleration makes in a window [s]."""
    return motor.K * motor.K * span**2 / (2 * motor.R * motor.J)  # type: ignore[no-any-return]
