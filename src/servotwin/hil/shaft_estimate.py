r"""Angle, rate and acceleration of a substituted shaft from what the rig shows.

As the paper does: a second-order Butterworth low pass, discretised by the bilinear transform with its cut-off
prewarped, then integrated and differentiated,

.. math:: \hat\theta_k = \hat\theta_{k-1} + \tfrac T2 (\hat\omega_k + \hat\omega_{k-1}), \qquad
          \hat\alpha_k = (\hat\omega_k - \hat\omega_{k-1}) / T                           (eq:difference)

or an observer, which knows the torques that were commanded and needs no difference: it predicts, then corrects,

.. math:: \hat x_k^- = A \hat x_{k-1} + B \tau_{k-1}, \quad \hat x_k = \hat x_k^- + L\,(y_k - C \hat x_k^-), \quad
          \hat\alpha = (\tau - d\,\hat\omega + \hat\tau_x) / J                           (eq:observer)

with :math:`\hat\tau_x` the torque that nobody commanded, as a random walk. Samples that are ``delay`` periods old when
they are used are carried on to now: by the model, or along :math:`\hat\alpha` of the filter; the age is one for all,
or that of each sample by the rig's time stamps. Gains:
``observer_design.py``; torque over a period: ``observer_torque.py``.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper
from servotwin.hil.harmonic_observer import harmonic_torque, observe_harmonics
from servotwin.hil.joint_servo import motor_torque
from servotwin.hil.records import FLOW, OBSERVED, Estimator

OBSERVER = int(Estimator.OBSERVER)
ANGLE_STATE = 2  # place of the angle in an observer of the encoder; of the rate 0, of the disturbance 1


@helper
def filtered(joint: Any, rate: float) -> float:
    """One sample of the Butterworth filter (transposed direct form 2)."""
    out = joint.b0 * rate + joint.z1
    joint.z1 = joint.b1 * rate - joint.a1 * out + joint.z2
    joint.z2 = joint.b2 * rate - joint.a2 * out
    return out  # type: ignore[no-any-return]


@helper
def settle_filter(joint: Any, rate: float) -> None:
    """The filter's state for a rate that has always been so."""
    joint.z2 = (joint.b2 - joint.a2) * rate
    joint.z1 = (joint.b1 - joint.a1) * rate + joint.z2


@helper
def estimate_by_filter(joint: Any, rate: float, period: float) -> None:
    """Filter, integrate, differentiate (eq:difference)."""
    last, last_filtered = joint.w_hat, joint.w_filtered
    joint.w_filtered = filtered(joint, rate)
    joint.alpha_hat = (joint.w_filtered - last_filtered) / period
    joint.w_hat = joint.w_filtered
    if joint.delay > 0.0:
        joint.w_hat += joint.delay * period * joint.alpha_hat
    joint.theta += 0.5 * period * (joint.w_hat + last)  # eq:difference


@helper
def damping(joint: Any) -> float:
    """Torque per rate of back-EMF and viscous friction [N m s/rad]."""
    return joint.K * joint.K_e / joint.R + joint.f  # type: ignore[no-any-return]


@helper
def observe(joint: Any, measured: float) -> None:
    """Carry the observer to the sample, correct it there, and carry it on to now (eq:observer)."""
    shown = 0.0
    for i in range(OBSERVED):
        total = joint.B[i] * joint.tau_given + joint.B_before[i] * joint.tau_before
        for k in range(OBSERVED):
            total += joint.A[i, k] * joint.x[k]
        joint.x_next[i] = total
        shown += joint.C[i] * total
    for i in range(OBSERVED):
        joint.x[i] = joint.x_next[i] + joint.L[i] * (measured - shown)  # eq:observer
    for i in range(OBSERVED):
        joint.x_now[i] = joint.x[i]
        if joint.delay > 0.0:
            joint.x_now[i] = joint.B_ahead[i] * joint.tau_given
            for k in range(OBSERVED):
                joint.x_now[i] += joint.A_ahead[i, k] * joint.x[k]


@helper
def flow(joint: Any, x: Any, out: Any, share: float, period: float) -> None:
    """States x carried over a share of a period under the given torque, from the nearest part by a Taylor series."""
    j = int(share * FLOW + 0.5)
    h = (share - j / FLOW) * period
    for i in range(OBSERVED):
        total = joint.flow[j, i, OBSERVED] * joint.tau_given
        for k in range(OBSERVED):
            total += joint.flow[j, i, k] * x[k]
        joint.x_next[i] = out[i] = joint.x_term[i] = total
    torque, scale = joint.tau_given, 1.0
    for order in range(1, joint.terms + 1):
        scale *= h / order
        for i in range(OBSERVED):
            total = joint.F[i, OBSERVED] * torque
            for k in range(OBSERVED):
                total += joint.F[i, k] * joint.x_term[k]
            joint.x_next[i] = total
        for i in range(OBSERVED):
            joint.x_term[i] = joint.x_next[i]
            out[i] += scale * joint.x_next[i]
        torque = 0.0  # held: it has no derivative


@helper
def observe_stamped(joint: Any, measured: float, period: float) -> None:
    """The same for samples each of which has an age of its own: from the last instant to the sample, and on to now."""
    flow(joint, joint.x_now, joint.x, 1.0 - joint.delay, period)
    shown = 0.0
    for i in range(OBSERVED):
        shown += joint.C[i] * joint.x[i]
    for i in range(OBSERVED):
        joint.x[i] += joint.L[i] * (measured - shown)  # eq:observer
    flow(joint, joint.x, joint.x_now, joint.delay, period)


@helper
def limited_more(joint: Any, w: float) -> float:
    """By how much the motor's torque at its limit is more than the linear one [N m]; 0 within the limit."""
    return motor_torque(joint, joint.u, w) - joint.K * (joint.u - joint.K_e * w) / joint.R  # type: ignore[no-any-return]


@helper
def observed_acceleration(joint: Any) -> float:
    """Acceleration under the given torque, less back-EMF and friction, with the disturbance [rad/s2] (eq:observer).

    None of a shaft that rests at both ends of the period: what its rate shows there is noise.
    """
    if joint.still:
        return 0.0
    tau = joint.tau_given - joint.tau_more + limited_more(joint, joint.x_now[0]) + joint.x_now[1]
    if joint.harmonics > 0:
        tau += harmonic_torque(joint, joint.theta)
    return (tau - damping(joint) * joint.x_now[0]) / joint.J  # type: ignore[no-any-return]


@helper
def estimate_by_observer(joint: Any, rate: float, angle: float, period: float) -> None:
    """Rate and acceleration from the observer, and the angle: seen by the encoder, or the rate integrated."""
    last = joint.w_hat
    measured = angle if joint.angle_measured else rate
    if joint.harmonics > 0:
        observe_harmonics(joint, measured, period)
    elif joint.stamped:
        observe_stamped(joint, measured, period)
    else:
        observe(joint, measured)
    joint.w_hat = joint.x_now[0]
    if joint.angle_measured:
        joint.theta = joint.x_now[ANGLE_STATE]
    else:
        joint.theta += 0.5 * period * (joint.w_hat + last)
    joint.alpha_hat = observed_acceleration(joint)


@helper
def begin_estimate(joint: Any, rate: float, angle: float) -> None:
    """The first sample: the shaft has always turned so."""
    joint.w_hat = joint.w_filtered = rate
    joint.alpha_hat = 0.0
    settle_filter(joint, rate)
    for i in range(OBSERVED):
        joint.x[i] = 0.0
    joint.x[0] = rate
    if joint.angle_measured:
        joint.x[ANGLE_STATE] = angle
    else:
        joint.x[ANGLE_STATE] = joint.C[ANGLE_STATE] * rate
    for i in range(OBSERVED):
        joint.x_now[i] = joint.x[i]
    joint.started = 1


@helper
def estimate(joint: Any, rate: float, angle: float, period: float) -> None:
    """``w_hat``, ``alpha_hat`` and ``theta`` of a substituted shaft at a sample."""
    if not joint.started:
        begin_estimate(joint, rate, angle)
    elif joint.estimator == OBSERVER:
        estimate_by_observer(joint, rate, angle, period)
    else:
        estimate_by_filter(joint, rate, period)
