r"""The servo driver: speed loop, current loop and modulation of one motor.

Both loops are PI with the integrator updated after the output, from the error that the realised
(limited) output stands for, so that it never winds up:

.. math:: y_k = K_p e_k + x_k, \quad \bar y_k = \mathrm{sat}(y_k), \quad
          x_{k+1} = x_k + K_i T \Bigl(e_k + \frac{\bar y_k - y_k}{K_p}\Bigr)              (eq:anti-windup)
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.control.records import Saturation, Sensing
from servotwin.dynamics.recursive.jit import helper

VOLTAGE, CURRENT = int(Saturation.VOLTAGE), int(Saturation.CURRENT)
FILTERED = int(Sensing.FILTERED)
INVERSE_TIME = int(Sensing.INVERSE_TIME)
FULL = 32768  # integer of the current limit and of the bus voltage
GAIN_SHIFT = 8
SPEED_SHIFT = 4
# Integer speeds count in parts of a pulse per period: with whole pulses an axis near its target would stop
# where the position loop asks for less than half a pulse in a period, a dozen pulses away.
SPEED_PARTS = 1 << SPEED_SHIFT
SQRT3 = math.sqrt(3.0)


@helper
def measure_speed(axis: Any, T: float, timed: float) -> None:
    """Speed [rad/s] from the counts of one period, or from the time between pulses (``timed``)."""
    counted = (axis.count - axis.last_count) / (axis.counts_per_rad * T)
    if axis.sensing == INVERSE_TIME:
        axis.w_meas = timed
    elif axis.sensing == FILTERED:
        axis.w_meas += axis.filter * (counted - axis.w_meas)
    else:
        axis.w_meas = counted


@helper
def part_of(product: int) -> int:
    """A gain times parts of a pulse, in whole pulses, rounded."""
    return (product + SPEED_PARTS // 2) >> SPEED_SHIFT


@helper
def speed_loop(axis: Any, T: float) -> None:
    """Current command [A] from commanded and measured speed."""
    if axis.fixed:
        scale = axis.counts_per_rad * T * SPEED_PARTS
        error = math.floor(axis.w_ref * scale + 0.5) - math.floor(axis.w_meas * scale + 0.5)
        ahead = math.floor(axis.i_feedforward / axis.i_max * FULL)
        wanted = ((part_of(axis.kp_n * error) + axis.acc_n) >> GAIN_SHIFT) + ahead
        given = min(max(wanted, -FULL), FULL)
        if given == wanted or error * wanted < 0:
            axis.acc_n += part_of(axis.ki_n * error)
        axis.i_ref = given * axis.i_max / FULL
        if given != wanted:
            axis.saturation |= CURRENT
        return
    error = axis.w_ref - axis.w_meas
    i = axis.K_n * error + axis.sum_n + axis.i_feedforward
    axis.i_ref = min(max(i, -axis.i_max), axis.i_max)
    back = (axis.i_ref - i) / axis.K_n if axis.K_n > 0.0 else 0.0
    axis.sum_n += axis.K_ni * T * (error + back)  # eq:anti-windup
    if axis.i_ref != i:
        axis.saturation |= CURRENT


@helper
def current_loop(axis: Any, T: float) -> None:
    """Voltage command [V] of a DC motor from commanded and measured current."""
    error = axis.i_ref - axis.i_meas
    if axis.fixed:
        e = math.floor(error / axis.i_max * FULL + 0.5)
        wanted = (axis.kp_i * e + axis.acc_i) >> GAIN_SHIFT
        given = min(max(wanted, -FULL), FULL)
        if given == wanted or e * wanted < 0:
            axis.acc_i += axis.ki_i * e
        axis.u_ref = given * axis.u_max / FULL
        if given != wanted:
            axis.saturation |= VOLTAGE
        return
    u = axis.K_i * error + axis.sum_i
    axis.u_ref = min(max(u, -axis.u_max), axis.u_max)
    back = (axis.u_ref - u) / axis.K_i if axis.K_i > 0.0 else 0.0
    axis.sum_i += axis.K_ii * T * (error + back)  # eq:anti-windup
    if axis.u_ref != u:
        axis.saturation |= VOLTAGE


@helper
def field_oriented_loop(axis: Any, T: float, angle: float) -> tuple[float, float]:
    r"""Voltage vector (alpha, beta) [V] of a synchronous motor: i_d to zero, i_q to the command.

    PI in rotor coordinates with the cross-coupling and the back-EMF taken out,

    .. math:: u_d = \mathrm{PI}(-i_d) - \omega_e L_q i_q, \quad
              u_q = \mathrm{PI}(i_q^* - i_q) + \omega_e (L_d i_d + \psi)                   (eq:foc)

    limited to the circle of radius :math:`u/\sqrt 3`; ``angle`` is the electrical angle when the
    voltage acts.
    """
    w_e = axis.pole_pairs_hat * axis.w_meas
    e_d, e_q = -axis.i_d_meas, axis.i_ref - axis.i_meas
    u_d = axis.K_i * e_d + axis.sum_d - w_e * axis.L_q_hat * axis.i_meas  # eq:foc
    u_q = axis.K_i * e_q + axis.sum_i + w_e * (axis.L_d_hat * axis.i_d_meas + axis.psi_hat)
    size, most = math.hypot(u_d, u_q), axis.u_max / SQRT3
    factor = most / size if size > most else 1.0
    if factor < 1.0:
        axis.saturation |= VOLTAGE
    v_d, v_q = factor * u_d, factor * u_q
    back_d = (v_d - u_d) / axis.K_i if axis.K_i > 0.0 else 0.0
    back_q = (v_q - u_q) / axis.K_i if axis.K_i > 0.0 else 0.0
    axis.sum_d += axis.K_ii * T * (e_d + back_d)  # eq:anti-windup
    axis.sum_i += axis.K_ii * T * (e_q + back_q)
    axis.u_ref = v_q
    c, s = math.cos(angle), math.sin(angle)
    return c * v_d - s * v_q, s * v_d + c * v_q
