r"""Currents from the controller's model of the robot: feed-forward and computed torque.

The model is a function called by address, :math:`\tau = \mathrm{rne}(q, \dot q, \ddot q)`, rotors included.
What it gives at the joints becomes motor torque through the inverse transmission,
:math:`\tau_m = N^{-T} \tau`. Computed torque replaces position and speed loop:

.. math::

    \tau = \mathrm{rne}\bigl(q, \dot q, \ddot q_d + K_d (\dot q_d - \dot q) + K_p (q_d - q)\bigr)   (eq:computed-torque)
"""

from __future__ import annotations

from typing import Any

from servotwin.control.records import Saturation
from servotwin.dynamics.recursive.jit import helper, part
from servotwin.kernels.address import call_address

CURRENT = int(Saturation.CURRENT)


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


@helper
def add_torque(timing: Any, axes: Any, inverse: Any, share: float, buffer: Any, at: int) -> None:
    """Evaluate the model on ``buffer`` (q, qd, qdd, then tau; at the address ``at``); add its torque to the rest."""
    n, m = inverse.shape
    call_address(timing.model, at, at + 24 * n, timing.model_data)
    for j in range(m):
        axis = axes[j]
        total = 0.0
        for i in range(n):
            total += inverse[i, j] * buffer[3 * n + i]
        axis.i_feedforward += share * total / axis.K_hat


@part
def feed_forward(timing: Any, axes: Any, inverse: Any, buffer: Any, at: int) -> None:
    """Currents that the reference needs: reflected inertia, inverse dynamics, gravity."""
    n, m = inverse.shape
    for j in range(m):
        axis = axes[j]
        axis.i_feedforward = axis.share_acceleration * axis.J_hat * axis.a_path / axis.K_hat
    if timing.share_torque > 0.0:
        to_joints(inverse, axes, 0, buffer, 0)
        to_joints(inverse, axes, 1, buffer, n)
        to_joints(inverse, axes, 2, buffer, 2 * n)
        add_torque(timing, axes, inverse, timing.share_torque, buffer, at)
        for j in range(m):
            axes[j].i_feedforward += timing.share_torque * axes[j].f_hat * axes[j].w_path / axes[j].K_hat
    if timing.share_gravity > 0.0:
        to_joints(inverse, axes, 3, buffer, 0)
        for i in range(n, 3 * n):
            buffer[i] = 0.0
        add_torque(timing, axes, inverse, timing.share_gravity, buffer, at)


@part
def computed_torque(timing: Any, axes: Any, inverse: Any, buffer: Any, at: int) -> None:
    """Current commands that give the error the dynamics of a damped second-order system."""
    n, m = inverse.shape
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
        buffer[2 * n + i] += timing.K_d * rate + timing.K_p * buffer[4 * n + i]  # eq:computed-torque
    for j in range(m):
        axes[j].i_feedforward = axes[j].f_hat * axes[j].w_meas / axes[j].K_hat
    add_torque(timing, axes, inverse, 1.0, buffer, at)
    for j in range(m):
        axis = axes[j]
        axis.i_ref = min(max(axis.i_feedforward, -axis.i_max), axis.i_max)
        if axis.i_ref != axis.i_feedforward:
            axis.saturation |= CURRENT
