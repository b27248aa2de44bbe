"""The servo driver: speed loop, current loop and modulation of one motor.

All loops are PI; what their integrators do at a limit: ``integrator``.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper
from servotwin.control.servo.integrator import integrated
from servotwin.control.servo.records import Saturation, Sensing
from servotwin.control.tuning.gains import FULL_SCALE, GAIN_SHIFT

VOLTAGE, CURRENT = int(Saturation.VOLTAGE), int(Saturation.CURRENT)
FILTERED = int(Sensing.FILTERED)
INVERSE_TIME = int(Sensing.INVERSE_TIME)
SPEED_SHIFT = 4
# Integer speeds count in parts of a pulse per period: with whole pulses an axis near its target would stop
# where the position loop asks for less than half a pulse in a period, a dozen pulses away.
SPEED_PARTS = 1 << SPEED_SHIFT
SQRT3 = math.sqrt(3.0)
FULL_CIRCLE = int(FULL_SCALE / SQRT3)  # integer of the largest voltage vector


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
def edge_rate(axis: Any, edge_time: float, time: float) -> float:
    """Pulses per second from the time between the last edges of two samples [1/s].

    When no edge came, the rate is at most one count in the time that passed.
    """
    pulses = axis.count - axis.edge_count
    if pulses != 0 and edge_time > axis.edge_time:
        axis.edge_rate = pulses / (edge_time - axis.edge_time)
        axis.edge_time, axis.edge_count = edge_time, axis.count
    else:
        most = 1.0 / max(time - axis.edge_time, 1e-9)
        axis.edge_rate = min(max(axis.edge_rate, -most), most)
    return axis.edge_rate  # type: ignore[no-any-return]


@helper
def part_of(product: int) -> int:
    """A gain times parts of a pulse, in whole pulses, rounded."""
    return (product + SPEED_PARTS // 2) >> SPEED_SHIFT


@helper
def whole(value: float, full: float) -> int:
    """A quantity as the integer that counts in parts of its full scale, rounded."""
    return math.floor(value / full * FULL_SCALE + 0.5)


@helper
def speed_loop(axis: Any, T: float) -> None:
    """Current command [A] from commanded and measured speed."""
    if axis.fixed:
        scale = axis.counts_per_rad * T * SPEED_PARTS
        e = math.floor(axis.w_ref * scale + 0.5) - math.floor(axis.w_meas * scale + 0.5)
        ahead = math.floor((axis.i_feedforward + axis.i_offset) / axis.i_max * FULL_SCALE)
        wanted = ((part_of(axis.kp_n * e) + axis.acc_n) >> GAIN_SHIFT) + ahead
        most = FULL_SCALE - whole(axis.i_cut_high, axis.i_max)
        given = min(max(wanted, whole(axis.i_cut_low, axis.i_max) - FULL_SCALE), most)
        axis.acc_n = integrated(axis.acc_n, part_of(axis.ki_n * e), e, wanted, given)
        axis.i_ref = given * axis.i_max / FULL_SCALE
        if given != wanted:
            axis.saturation |= CURRENT
        return
    error = axis.w_ref - axis.w_meas
    i = axis.K_n * error + axis.sum_n + axis.i_feedforward + axis.i_offset
    axis.i_ref = min(max(i, axis.i_cut_low - axis.i_max), axis.i_max - axis.i_cut_high)
    axis.sum_n = integrated(axis.sum_n, axis.K_ni * T * error, error, i, axis.i_ref)
    if axis.i_ref != i:
        axis.saturation |= CURRENT


@helper
def current_loop(axis: Any, T: float) -> None:
    """Voltage command [V] of a DC motor from commanded and measured current."""
    error = axis.i_ref - axis.i_meas
    if axis.fixed:
        e = whole(error, axis.i_max)
        wanted = (axis.kp_i * e + axis.acc_i) >> GAIN_SHIFT
        given = min(max(wanted, -FULL_SCALE), FULL_SCALE)
        axis.acc_i = integrated(axis.acc_i, axis.ki_i * e, e, wanted, given)
        axis.u_ref = given * axis.u_max / FULL_SCALE
        if given != wanted:
            axis.saturation |= VOLTAGE
        return
    u = axis.K_i * error + axis.sum_i
    axis.u_ref = min(max(u, -axis.u_max), axis.u_max)
    axis.sum_i = integrated(axis.sum_i, axis.K_ii * T * error, error, u, axis.u_ref)
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
    ahead_d = -w_e * axis.L_q_hat * axis.i_meas
    ahead_q = w_e * (axis.L_d_hat * axis.i_d_meas + axis.psi_hat)
    if axis.fixed:
        v_d, v_q = whole_vector(axis, e_d, e_q, ahead_d, ahead_q)
    else:
        u_d = axis.K_i * e_d + axis.sum_d + ahead_d  # eq:foc
        u_q = axis.K_i * e_q + axis.sum_i + ahead_q
        size, most = math.hypot(u_d, u_q), axis.u_max / SQRT3
        factor = most / size if size > most else 1.0
        v_d, v_q = factor * u_d, factor * u_q
        axis.sum_d = integrated(axis.sum_d, axis.K_ii * T * e_d, e_d, u_d, v_d)
        axis.sum_i = integrated(axis.sum_i, axis.K_ii * T * e_q, e_q, u_q, v_q)
        if factor < 1.0:
            axis.saturation |= VOLTAGE
    axis.u_ref = v_q
    c, s = math.cos(angle), math.sin(angle)
    return c * v_d - s * v_q, s * v_d + c * v_q


@helper
def whole_vector(
    axis: Any, error_d: float, error_q: float, ahead_d: float, ahead_q: float
) -> tuple[float, float]:
    """Voltages d and q [V] of eq:foc from integers; only the length of the vector is a floating-point root."""
    e_d, e_q = whole(error_d, axis.i_max), whole(error_q, axis.i_max)
    u_d = ((axis.kp_i * e_d + axis.acc_d) >> GAIN_SHIFT) + whole(ahead_d, axis.u_max)  # eq:foc
    u_q = ((axis.kp_i * e_q + axis.acc_i) >> GAIN_SHIFT) + whole(ahead_q, axis.u_max)
    size = math.ceil(math.hypot(u_d, u_q))
    v_d, v_q = u_d, u_q
    if size > FULL_CIRCLE:
        v_d, v_q = u_d * FULL_CIRCLE // size, u_q * FULL_CIRCLE // size
        axis.saturation |= VOLTAGE
    axis.acc_d = integrated(axis.acc_d, axis.ki_i * e_d, e_d, u_d, v_d)
    axis.acc_i = integrated(axis.acc_i, axis.ki_i * e_q, e_q, u_q, v_q)
    return v_d * axis.u_max / FULL_SCALE, v_q * axis.u_max / FULL_SCALE
