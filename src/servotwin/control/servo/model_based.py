r"""Currents from the controller's model of the robot: feed-forward and computed torque.

The model is a function called by address, :math:`\tau = \mathrm{rne}(q, \dot q, \ddot q)`, rotors included.
What it gives at the joints becomes motor torque through the inverse transmission,
:math:`\tau_m = N^{-T} \tau`. Computed torque replaces position and speed loop:

.. math::

    \tau = \mathrm{rne}\bigl(q, \dot q, \ddot q_d + K_d (\dot q_d - \dot q) + K_p (q_d - q)\bigr)   (eq:computed-torque)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, part
from servotwin.compiled.native_calls import call_address, records_at
from servotwin.control.servo.records import Law, Saturation

CURRENT, COMPUTED = int(Saturation.CURRENT), int(Law.COMPUTED_TORQUE)
NUMBER = np.dtype([("value", np.float64)])
CORRECTIONS = 10  # Newton steps of the passive joints in one evaluation
CLOSED = 1e-11  # rad, m: the last of them


@helper
def to_joints(inverse: Any, axes: Any, field: int, out: Any, at: int) -> None:
    """Joint values q = N^-1 theta of one of the motors' quantities."""
    n, m = inverse.shape
    for i in range(n):
        total = 0.0
        for j in range(m):
            axis = axes[j]
            if field == 0:
                value = axis.counts_ref / axis.counts_per_rad
            elif field == 1:
                value = axis.w_path
            elif field == 2:
                value = axis.a_path
            elif field == 3:
                value = axis.count / axis.counts_per_rad
            else:
                value = axis.w_meas
            total += inverse[i, j] * value
        out[at + i] = total


@part
def closed_model(servo: Any, n: int) -> None:
    """Inverse dynamics of a closed chain on the model's buffer: the loops are closed first, from where they were last.

    Beside each other at ``closure_at``: coordinates x (actuated joints, then passive ones) and dq = 0, what the kernel
    says about them (Newton step of the passive joints first), and the arguments x, qd, qdd of the dynamics.
    """
    p, count = servo.passive, 2 * n + servo.passive
    x = records_at(servo.closure_at, count, NUMBER)
    said = records_at(servo.closure_at + 8 * count, servo.track_n, NUMBER)
    given = records_at(servo.closure_at + 8 * (count + servo.track_n), 3 * n + p, NUMBER)
    for i in range(n):
        x[i].value = servo.model_buffer[i]
    for _ in range(CORRECTIONS):
        call_address(servo.track, servo.closure_at, servo.closure_at + 8 * count, servo.track_data)
        largest = 0.0
        for i in range(p):
            largest = max(largest, abs(said[i].value))
        if not largest < 1.0:  # beyond a singularity: the last sound coordinates stay
            break
        for i in range(p):
            x[n + i].value += said[i].value
        if largest < CLOSED:
            break
    for i in range(n + p):
        given[i].value = x[i].value
    for i in range(2 * n):
        given[n + p + i].value = servo.model_buffer[n + i]
    inputs = servo.closure_at + 8 * (count + servo.track_n)
    call_address(servo.model, inputs, servo.model_at + 24 * n, servo.model_data)


@helper
def model_torque(servo: Any, n: int) -> None:
    """Torques of the model at its buffer (q, qd, qdd), written behind them."""
    if servo.passive > 0:
        closed_model(servo, n)
    else:
        call_address(servo.model, servo.model_at, servo.model_at + 24 * n, servo.model_data)


@helper
def add_torque(servo: Any, axes: Any, inverse: Any, share: float, computed: bool) -> None:
    """Evaluate the model on its buffer (q, qd, qdd, then tau); add its torque to what is fed forward.

    ``computed``: at the axes under computed torque only.
    """
    n, m = inverse.shape
    model_torque(servo, n)
    for j in range(m):
        axis = axes[j]
        if computed and axis.law != COMPUTED:
            continue
        total = 0.0
        for i in range(n):
            total += inverse[i, j] * servo.model_buffer[3 * n + i]
        axis.i_feedforward += share * total / axis.K_hat


@part
def feed_forward(servo: Any, axes: Any, inverse: Any) -> None:
    """Currents that the reference needs: reflected inertia, inverse dynamics, gravity."""
    n, m = inverse.shape
    buffer = servo.model_buffer
    for j in range(m):
        axis = axes[j]
        axis.i_feedforward = axis.share_acceleration * axis.J_hat * axis.a_path / axis.K_hat
    if servo.share_torque > 0.0:
        to_joints(inverse, axes, 0, buffer, 0)
        to_joints(inverse, axes, 1, buffer, n)
        to_joints(inverse, axes, 2, buffer, 2 * n)
        add_torque(servo, axes, inverse, servo.share_torque, False)
        for j in range(m):
            axes[j].i_feedforward += servo.share_torque * axes[j].f_hat * axes[j].w_path / axes[j].K_hat
    if servo.share_gravity > 0.0:
        to_joints(inverse, axes, 3, buffer, 0)
        for i in range(n, 3 * n):
            buffer[i] = 0.0
        add_torque(servo, axes, inverse, servo.share_gravity, False)


@part
def turn_ahead(servo: Any, axes: Any, inverse: Any) -> None:
    r"""Turn the references of the motors ahead by the twist of their gears, so that the joints are where they shall be.

    .. math:: \delta_j = \bigl( (N^{-T} \tau)_j - J_{m,j}\,\ddot\theta_j \bigr) / k_j, \qquad
              \theta_{d,j} \to \theta_{d,j} + \delta_j                                     (eq:turned-ahead)

    The torque of the model at the reference, without what turns the rotor itself, is what the gear passes on. Speeds
    of the reference follow by differences.
    """
    n, m = inverse.shape
    buffer = servo.model_buffer
    moving = servo.share_twist > 0.0
    share = servo.share_twist if moving else servo.share_gravity_twist
    to_joints(inverse, axes, 0, buffer, 0)
    if moving:
        to_joints(inverse, axes, 1, buffer, n)
        to_joints(inverse, axes, 2, buffer, 2 * n)
    else:
        for i in range(n, 3 * n):
            buffer[i] = 0.0
    model_torque(servo, n)
    for j in range(m):
        axis = axes[j]
        if axis.k_hat <= 0.0:
            continue
        torque = -axis.J_rotor_hat * axis.a_path if moving else 0.0
        for i in range(n):
            torque += inverse[i, j] * buffer[3 * n + i]
        axis.twist = share * torque / axis.k_hat  # eq:turned-ahead
        axis.counts_ref += axis.twist * axis.counts_per_rad
        axis.w_path += (axis.twist - axis.twist_before) / servo.T_axis
        axis.twist_before = axis.twist


@part
def computed_torque(servo: Any, axes: Any, inverse: Any) -> None:
    """Current commands that give the error the dynamics of a damped second-order system."""
    n, m = inverse.shape
    buffer = servo.model_buffer
    to_joints(inverse, axes, 0, buffer, 0)  # q_d, for a moment
    to_joints(inverse, axes, 3, buffer, 4 * n)  # q
    for i in range(n):
        error = buffer[i] - buffer[4 * n + i]
        buffer[i] = buffer[4 * n + i]
        buffer[4 * n + i] = error
    to_joints(inverse, axes, 4, buffer, n)
    to_joints(inverse, axes, 1, buffer, 5 * n)
    to_joints(inverse, axes, 2, buffer, 2 * n)
    for i in range(n):
        rate = buffer[5 * n + i] - buffer[n + i]
        buffer[2 * n + i] += servo.K_d * rate + servo.K_p * buffer[4 * n + i]  # eq:computed-torque
    for j in range(m):
        if axes[j].law == COMPUTED:
            axes[j].i_feedforward = axes[j].f_hat * axes[j].w_meas / axes[j].K_hat
    add_torque(servo, axes, inverse, 1.0, True)
    for j in range(m):
        axis = axes[j]
        if axis.law != COMPUTED:
            continue
        axis.i_ref = min(max(axis.i_feedforward, -axis.i_max), axis.i_max)
        if axis.i_ref != axis.i_feedforward:
            axis.saturation |= CURRENT
