r"""The servo of a joint and its motor: PI on the shaft's rate, limits, back-EMF, friction (paper: rigid gearbox).

.. math:: u = \mathrm{sat}\Bigl(K_p e + K_i \int e\,dt\Bigr), \quad e = \omega^* - \omega, \qquad
          \tau_d = \mathrm{sat}\Bigl(K\,\frac{u - K_e \omega}{R}\Bigr)                       (eq:rate-servo)

K_e is K of a motor with brushes, and two thirds of the torque per amplitude of one with three phases. The gear
passes :math:`N (\tau_d - f\,\omega - s\,\tau_c)` on; one that gives passes on

.. math:: \tau = k (\theta/N - q) + d (\omega/N - \dot q)                                  (eq:gear-spring)

Everything at the shaft but q and :math:`\tau` of the last equation, which are the joint's.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper
from servotwin.control.servo.integrator import integrated
from servotwin.hil.records import FREE


@helper
def commanded(joint: Any, time: float) -> float:
    """The value of a joint's table that holds at a time; 0 before the first."""
    value = 0.0
    for k in range(joint.points):
        if joint.times[k] <= time:
            value = joint.values[k]
    return value


@helper
def control_voltage(joint: Any, w: float, period: float) -> None:
    """One sample of the PI controller at the shaft rate w: ``u``, then its integrator (eq:rate-servo)."""
    error = joint.w_ref - w
    wanted = joint.Kp * error + joint.integral
    joint.u = min(max(wanted, -joint.u_limit), joint.u_limit)
    joint.integral = integrated(joint.integral, joint.Ki * period * error, error, wanted, joint.u)


@helper
def motor_torque(joint: Any, u: float, w: float) -> float:
    """Torque of the motor at the voltage u and the rate w, within its limit [N m]."""
    tau = joint.K * (u - joint.K_e * w) / joint.R  # eq:rate-servo
    return min(max(tau, -joint.tau_limit), joint.tau_limit)  # type: ignore[no-any-return]


@helper
def sliding_friction(joint: Any, w: float) -> float:
    """Friction of the shaft in its present mode [N m]."""
    tau = joint.f * w
    if joint.mode != FREE:
        tau += joint.mode * joint.tau_c
    return tau  # type: ignore[no-any-return]


@helper
def spring_torque(joint: Any, theta: float, w: float, q: float, qd: float) -> float:
    """What a gear that gives passes on to its joint [N m] (eq:gear-spring)."""
    return joint.stiffness * (theta / joint.N - q) + joint.damping * (w / joint.N - qd)  # type: ignore[no-any-return]


@helper
def joint_friction(joint: Any, qd: float) -> float:
    """Friction of the joint itself, smooth around rest [N m]: its shaft does not stick for it."""
    if joint.c_joint <= 0.0:
        return joint.f_joint * qd  # type: ignore[no-any-return]
    return joint.f_joint * qd + joint.c_joint * math.tanh(qd * abs(joint.N) / joint.rest_rate)  # type: ignore[no-any-return]
