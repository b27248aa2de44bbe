r"""Currents between two edges of the bridge, exactly, with the moments that the arm feels.

Between edges the voltage u is constant; the speed is taken as :math:`\omega_0 + \alpha t + \tfrac12 j t^2`. Then
the current of a DC motor is, with :math:`\lambda = R/L`,

.. math::

    i(t) &= a_0 + a_1 t + a_2 t^2 + (i_0 - a_0)\,e^{-\lambda t}, \\
    a_2 &= -\frac{K j}{2 R}, \quad a_1 = -\frac{K\alpha + 2 L a_2}{R}, \quad
    a_0 = \frac{u - K\omega_0 - L a_1}{R}                                                (eq:exact-current)

and its integrals over the interval, of i, i t and i^2, are made of powers and exponentials too.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.drives.motors import pmsm_current_rates, pmsm_torque, rotor_voltage
from servotwin.dynamics.recursive.jit import helper

ELECTRICAL_STEP = 5e-6  # s: longest step of the dq currents between edges


@helper
def dc_interval(
    R: float, L: float, K: float, u: float, i0: float, w0: float, alpha: float, jerk: float, tau: float
) -> tuple[float, float, float, float]:
    """Current at the end and the integrals of i, i t and i^2 over an interval of length ``tau``."""
    conductance, time = 1.0 / R, L / R
    a2 = -0.5 * K * jerk * conductance
    a1 = -(K * alpha + 2.0 * L * a2) * conductance
    a0 = (u - K * w0 - L * a1) * conductance
    c = i0 - a0
    decay = math.exp(-tau / time)
    E0 = (1.0 - decay) * time
    E1 = (E0 - tau * decay) * time
    E2 = (2.0 * E1 - tau * tau * decay) * time
    t2 = tau * tau
    end = a0 + (a1 + a2 * tau) * tau + c * decay  # eq:exact-current
    first = tau * (a0 + tau * (a1 / 2 + tau * (a2 / 3))) + c * E0
    moment = t2 * (a0 / 2 + tau * (a1 / 3 + tau * (a2 / 4))) + c * E1
    powers = a0 * a0 + tau * (
        a0 * a1 + tau * ((a1 * a1 + 2 * a0 * a2) / 3 + tau * (a1 * a2 / 2 + tau * (a2 * a2 / 5)))
    )
    square = tau * powers + 2 * c * (a0 * E0 + a1 * E1 + a2 * E2) + c * c * E0 * (1.0 + decay) / 2
    return end, first, moment, square


@helper
def pmsm_interval(
    motor: Any, s_a: float, s_b: float, u_bus: float, i_d: float, i_q: float, start: float, tau: float
) -> tuple[float, float, float, float, float, float, float]:
    """The same for dq currents, by RK4 in short steps; ``start`` is the time since the window began.

    Returns i_d, i_q, the integrals of torque, torque x time since ``start``, i^2, electrical power, i_q.
    """
    steps = int(tau / ELECTRICAL_STEP) + 1
    h = tau / steps
    torque = moment = square = power = charge = 0.0
    for k in range(steps):
        x_d, x_q = i_d, i_q
        new_d, new_q = i_d, i_q
        for stage in range(4):
            c = 0.0 if stage == 0 else (1.0 if stage == 3 else 0.5)
            weight = h / 6.0 if stage in (0, 3) else h / 3.0
            local = (k + c) * h
            t = start + local
            theta = motor.theta + t * (motor.w + t * (motor.w_dot / 2 + t * motor.w_ddot / 6))
            w = motor.w + t * (motor.w_dot + t * motor.w_ddot / 2)
            u_d, u_q = rotor_voltage(motor, theta, s_a, s_b, u_bus)
            r_d, r_q = pmsm_current_rates(motor, u_d, u_q, x_d, x_q, w)
            turn = pmsm_torque(motor, x_d, x_q)
            torque += weight * turn
            moment += weight * turn * local
            square += weight * 1.5 * (x_d * x_d + x_q * x_q)
            power += weight * 1.5 * (u_d * x_d + u_q * x_q)
            charge += weight * x_q
            new_d += weight * r_d
            new_q += weight * r_q
            ahead = 0.5 * h if stage < 2 else h
            x_d, x_q = i_d + ahead * r_d, i_q + ahead * r_q
        i_d, i_q = new_d, new_q
    return i_d, i_q, torque, moment, square, power, charge
