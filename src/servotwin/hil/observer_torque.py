r"""The torque that an observer takes as held over the coming period: limits and friction as their means over it.

The observer's model is linear; what a period adds to it is found with its end. Friction is implicit (Moreau's step):
with :math:`\omega^-` the rate at the end of the period without it and :math:`\Gamma` that of a unit of torque,

.. math:: \bar\tau_f = \min(\max(\omega^- / \Gamma,\ -\tau_c),\ \tau_c), \qquad
          \omega_{k+1} = \omega^- - \Gamma\,\bar\tau_f                                        (eq:implicit-friction)

so that friction stops a shaft within a period or slows it, but never turns it round, whatever the period; a shaft at
rest stays there until more than :math:`\tau_c` acts. Back-EMF does not damp a motor that is at its torque limit: by
how much the limited torque is more than the linear one is a mean over the period too,

.. math:: \bar\tau_m = \tfrac16 \bigl(m(\omega_k) + 4 m(\tfrac{\omega_k + \omega_{k+1}}2) + m(\omega_{k+1})\bigr),
          \quad m(\omega) = \tau_d(\omega) - K (u - K_e \omega)/R                           (eq:limited-torque)

found with :math:`\omega_{k+1}` by repetition, which halves its error at least: m has a slope of 0 to K K_e/R, and
:math:`\Gamma K K_e/R < 1`.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper
from servotwin.hil.harmonic_observer import harmonic_torque
from servotwin.hil.joint_servo import motor_torque
from servotwin.hil.records import FLOW, OBSERVED
from servotwin.hil.shaft_estimate import limited_more, observed_acceleration

ROUNDS = 30  # halvings of an error of the rate


@helper
def mean_limited_more(joint: Any, w_0: float, w_1: float) -> float:
    """Mean of ``limited_more`` over a period between two rates [N m] (eq:limited-torque)."""
    middle = limited_more(joint, 0.5 * (w_0 + w_1))
    return (limited_more(joint, w_0) + 4.0 * middle + limited_more(joint, w_1)) / 6.0


@helper
def rate_ahead(joint: Any, tau: float, period: float) -> float:
    """Rate at the end of the coming period under a torque, without friction [rad/s]."""
    if joint.harmonics > 0:
        tau += harmonic_torque(joint, joint.theta + 0.5 * period * joint.x_now[0])
    total = joint.flow[FLOW, 0, OBSERVED] * tau
    for k in range(OBSERVED):
        total += joint.flow[FLOW, 0, k] * joint.x_now[k]
    return total  # type: ignore[no-any-return]


@helper
def hold_torque(joint: Any, period: float) -> None:
    """``tau_given`` of the coming period, and whether the shaft rests at its end."""
    w_0 = joint.x_now[0]
    sensed = joint.tau_d - motor_torque(joint, joint.u, joint.w)
    tau = joint.K * joint.u / joint.R + sensed + joint.tau_l
    gain = joint.flow[FLOW, 0, OBSERVED]
    free, w_1 = rate_ahead(joint, tau, period), w_0
    more = friction = 0.0
    for _ in range(ROUNDS):
        last = w_1
        more = mean_limited_more(joint, w_0, w_1)
        end = free + gain * more
        friction = min(max(end / gain, -joint.tau_c), joint.tau_c)  # eq:implicit-friction
        w_1 = end - gain * friction
        if w_1 == last:
            break
    rested = joint.rests
    joint.rests = 1 if abs(friction) < joint.tau_c else 0
    joint.still = 1 if rested and joint.rests else 0
    joint.tau_before, joint.tau_given = joint.tau_given, tau + more - friction
    joint.tau_more = more


@helper
def prepare_observer(joint: Any, period: float, begins: bool) -> None:
    """The torque that acts over the coming period; where a step of the arm ``begins``, its acceleration there."""
    hold_torque(joint, period)
    if begins:
        joint.qdd_last = observed_acceleration(joint) / joint.N
