r"""The axis controller: interpolates the main controller's points and closes the position loop.

In encoder pulses (Lee 1989, eq 17), every ``T_axis``:

.. math:: \omega_d = K_p\,(\theta_d - \theta) + K_i \int (\theta_d - \theta)\,dt        (eq:position-loop)
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper
from servotwin.compiled.waves import wave, wave_slope
from servotwin.control.servo.integrator import integrated
from servotwin.control.servo.records import Saturation
from servotwin.control.tuning.gains import GAIN_SHIFT

SPEED_COMMAND = int(Saturation.SPEED_COMMAND)


@helper
def interpolate(axis: Any, part: float) -> None:
    """Reference at ``part`` (0..1] of the way to the main controller's next point."""
    axis.counts_ref = axis.from_counts + (axis.to_counts - axis.from_counts) * part
    axis.w_path = axis.from_speed + (axis.to_speed - axis.from_speed) * part
    axis.a_path = axis.from_acceleration + (axis.to_acceleration - axis.from_acceleration) * part


@helper
def correct_reading(axis: Any) -> None:
    r"""Where the encoder must stand for the joint to be at the reference, by the harmonics that are known.

    .. math:: \theta_d \to \theta_d - e(\theta_d - e(\theta_d)), \qquad
              \omega_d \to (1 - e'(\theta_d))\,\omega_d                             (eq:corrected-reading)

    Two rounds of the fixed point leave the error times the square of its slope.
    """
    if axis.known_waves == 0:
        return
    order, amplitude, phase, count = (
        axis.known_order,
        axis.known_amplitude,
        axis.known_phase,
        axis.known_waves,
    )
    theta = axis.counts_ref / axis.counts_per_rad
    first = wave(order, amplitude, phase, axis.known_start, count, theta)
    again = wave(order, amplitude, phase, axis.known_start, count, theta - first)
    axis.counts_ref -= again * axis.counts_per_rad
    axis.w_path *= 1.0 - wave_slope(order, amplitude, phase, count, theta)  # eq:corrected-reading


@helper
def position_loop(axis: Any, T: float) -> None:
    """Speed command [rad/s] from the counted position, limited to the driver's range."""
    if axis.fixed:
        error = math.floor(axis.counts_ref + 0.5) - axis.count
        counts_per_s = (axis.kp_x * error + axis.acc_x) >> GAIN_SHIFT
        w = counts_per_s / axis.counts_per_rad
    else:
        error = axis.counts_ref - axis.count
        w = (axis.K_x * error + axis.sum_x) / axis.counts_per_rad  # eq:position-loop
    w += axis.share_velocity * axis.w_path + axis.w_offset
    axis.w_command = min(max(w, -axis.w_max), axis.w_max)
    if axis.w_command != w:
        axis.saturation |= SPEED_COMMAND
    if axis.fixed:
        axis.acc_x = integrated(axis.acc_x, axis.ki_x * int(error), error, w, axis.w_command)
    else:
        axis.sum_x = integrated(axis.sum_x, axis.K_xi * T * error, error, w, axis.w_command)
