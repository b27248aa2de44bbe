r"""DC servo motor (Lee 1989, eq 8 to 10), with the resistance of the bridge in series.

.. math:: L\,\dot i_a = u_a - (R + R_b)\,i_a - K \omega_m, \qquad \tau_e = K i_a     (eq:dc-motor)

K is torque and voltage constant at once: in SI they are one number, and two would create or destroy
energy.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper
from servotwin.drives.dc.interval import dc_interval


@helper
def dc_current_rate(motor: Any, u: float, i: float, w: float) -> float:
    """Time derivative of the armature current [A/s]."""
    return (u - (motor.R + motor.R_bridge) * i - motor.K * w) / motor.L  # type: ignore[no-any-return]  # eq:dc-motor


@helper
def dc_rates(motor: Any, u_bus: float, w: float, y: Any, dy: Any) -> tuple[float, float, float, float]:
    """Torque, power from the bridge, i^2 and current from the bus; the rate of the current."""
    k = motor.current_at
    u, i = motor.s_a * u_bus, y[k]
    dy[k] = 0.0 if motor.open else dc_current_rate(motor, u, i, w)
    return motor.K * i, u * i, i * i, motor.s_a * i


@helper
def dc_window_interval(
    motor: Any, u: float, i: float, w: float, slope: float, tau: float
) -> tuple[float, float, float, float, float]:
    """Current after an interval without an edge, impulse and moment of the torque, integral of i^2, energy."""
    if motor.open:
        return i, 0.0, 0.0, 0.0, 0.0
    i, charge, lever, square = dc_interval(
        motor.R + motor.R_bridge, motor.L, motor.K, u, i, w, slope, motor.w_ddot, tau
    )
    return i, motor.K * charge, motor.K * lever, square, u * charge


@helper
def dc_speed_gain(motor: Any, span: float) -> float:
    """Speed of the rotor by the current that a missed acceleration makes in a window [s]."""
    return motor.K * motor.K * span**3 / (6 * motor.L * motor.J)  # type: ignore[no-any-return]
