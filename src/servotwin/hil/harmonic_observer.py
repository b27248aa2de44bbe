r"""The observer of a shaft whose unknown torque repeats with its turns: misalignment, ripple, eccentric couplings.

Amplitudes that change slowly stand in shaft angle, beside the random walk of eq:shaft-model,

.. math:: \tau_x = \tau_0 + \sum_{k \in H} (a_k \cos k\theta + b_k \sin k\theta), \quad
          \dot a_k = n_a, \; \dot b_k = n_b                                                (eq:harmonic-torque)

so that they are known ahead once a few turns have been seen, and the acceleration that they cause shows without delay.
Over a period the columns of the amplitudes are integrals by Gauss's rule,

.. math:: \Gamma = \int_0^T e^{F (T - s)} G\,[\cos k(\theta + \omega s),\ \sin k(\theta + \omega s)]\,ds
                                                                                           (eq:harmonic-columns)

and as these change from sample to sample, so does the gain: a Kalman filter with its covariance (Joseph's form).
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.hil.records import NODES, OBSERVED


@helper
def harmonic_torque(joint: Any, theta: float) -> float:
    """The torque that repeats, at a shaft angle [N m] (eq:harmonic-torque)."""
    total = 0.0
    for k in range(joint.harmonics):
        phase = joint.orders[k] * theta
        total += joint.amplitudes[2 * k] * math.cos(phase) + joint.amplitudes[2 * k + 1] * math.sin(phase)
    return total


@helper
def harmonic_columns(joint: Any, nodes: Any, weights: Any, theta: float, w: float) -> None:
    """``columns`` of the amplitudes over an interval that begins at ``theta`` (eq:harmonic-columns)."""
    for i in range(OBSERVED):
        for c in range(2 * joint.harmonics):
            joint.columns[i, c] = 0.0
    for j in range(NODES):
        angle = theta + w * nodes[j]
        for k in range(joint.harmonics):
            cosine, sine = math.cos(joint.orders[k] * angle), math.sin(joint.orders[k] * angle)
            for i in range(OBSERVED):
                joint.columns[i, 2 * k] += weights[j, i] * cosine  # eq:harmonic-columns
                joint.columns[i, 2 * k + 1] += weights[j, i] * sine


@helper
def add_amplitudes(joint: Any, x: Any) -> None:
    """What the torque that repeats does to states over the interval of ``columns``."""
    for i in range(OBSERVED):
        for c in range(2 * joint.harmonics):
            x[i] += joint.columns[i, c] * joint.amplitudes[c]


@part
def predict_covariance(joint: Any) -> None:  # noqa: C901 -- two products of matrices with blocks
    """P = Phi P Phi^T + W with Phi = [A, Gamma; 0, 1]."""
    m = 2 * joint.harmonics
    n = OBSERVED + m
    P, Q = joint.P, joint.P_next
    for i in range(n):
        for c in range(n):
            if i < OBSERVED:
                total = 0.0
                for k in range(OBSERVED):
                    total += joint.A[i, k] * P[k, c]
                for k in range(m):
                    total += joint.columns[i, k] * P[OBSERVED + k, c]
                Q[i, c] = total
            else:
                Q[i, c] = P[i, c]
    for i in range(n):
        for c in range(n):
            total = Q[i, c]
            if c < OBSERVED:
                total = 0.0
                for k in range(OBSERVED):
                    total += Q[i, k] * joint.A[c, k]
                for k in range(m):
                    total += Q[i, OBSERVED + k] * joint.columns[c, k]
            P[i, c] = total
    for i in range(OBSERVED):
        for c in range(OBSERVED):
            P[i, c] += joint.W[i, c]
    for i in range(OBSERVED, n):
        P[i, i] += joint.W_harmonic


@part
def correct_covariance(joint: Any) -> None:
    """Gain of a sample, and P = (1 - K C) P (1 - K C)^T + K V K^T."""
    n = OBSERVED + 2 * joint.harmonics
    P, Q, gain, row = joint.P, joint.P_next, joint.gain, joint.P_row
    shown = joint.V
    for i in range(n):
        row[i] = 0.0
        for k in range(OBSERVED):
            row[i] += joint.C[k] * P[k, i]
    for i in range(OBSERVED):
        shown += row[i] * joint.C[i]
    for i in range(n):
        gain[i] = row[i] / shown
    for i in range(n):
        for c in range(n):
            Q[i, c] = P[i, c] - gain[i] * row[c]
    for i in range(n):
        back = 0.0
        for k in range(OBSERVED):
            back += Q[i, k] * joint.C[k]
        row[i] = back
    for i in range(n):
        for c in range(i + 1):
            value = Q[i, c] - row[i] * gain[c] + joint.V * gain[i] * gain[c]
            other = Q[c, i] - row[c] * gain[i] + joint.V * gain[i] * gain[c]
            P[i, c] = P[c, i] = 0.5 * (value + other)


@part
def observe_harmonics(joint: Any, measured: float, period: float) -> None:
    """Carry the observer to the sample, correct it with its amplitudes, and carry it on to now."""
    age = joint.delay * period
    theta, w = joint.theta - joint.w_hat * age, joint.w_hat
    harmonic_columns(joint, joint.nodes, joint.weights, theta, w)
    for i in range(OBSERVED):
        total = joint.B[i] * joint.tau_given + joint.B_before[i] * joint.tau_before
        for k in range(OBSERVED):
            total += joint.A[i, k] * joint.x[k]
        joint.x_next[i] = total
    add_amplitudes(joint, joint.x_next)
    predict_covariance(joint)
    correct_covariance(joint)
    shown = 0.0
    for i in range(OBSERVED):
        shown += joint.C[i] * joint.x_next[i]
    for i in range(OBSERVED):
        joint.x[i] = joint.x_next[i] + joint.gain[i] * (measured - shown)
    for c in range(2 * joint.harmonics):
        joint.amplitudes[c] += joint.gain[OBSERVED + c] * (measured - shown)
    for i in range(OBSERVED):
        joint.x_now[i] = joint.B_ahead[i] * joint.tau_given
        for k in range(OBSERVED):
            joint.x_now[i] += joint.A_ahead[i, k] * joint.x[k]
    harmonic_columns(joint, joint.nodes_ahead, joint.weights_ahead, theta + w * period, joint.x[0])
    add_amplitudes(joint, joint.x_now)
