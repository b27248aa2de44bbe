r"""Encoders, current and pressure sensors.

An encoder shows the angle of its shaft with an error that comes again in every turn, and with noise. Behind a stiff
gear the state is that of the joint: the shaft stands where the joint, with the transmission error e_g, makes it stand,

.. math:: \theta_m + e_g(\theta_m) = N q, \qquad \theta_s = \theta_m + e_s(\theta_m) + \nu            (eq:sensed-angle)

so that the inertia of the rotor is carried as if its speed were that of the joint: a quasi-static reading.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper
from servotwin.compiled.numeric import normal, quantise
from servotwin.drives.harmonics import wave, wave_and_slope, wave_slope

SQRT3 = math.sqrt(3.0)
CLOSE = 1e-15  # of an angle: beyond it a step of Newton's method changes nothing
ROUNDS = 5  # of Newton's method, to the angle of a shaft whose gear has an error


@helper
def sensed_angle(sensor: Any, theta: float) -> float:
    """The angle that the encoder shows, before it is counted [rad]."""
    shaft = shaft_angle(sensor, theta)
    if sensor.encoder_waves > 0:
        shaft += wave(
            sensor.encoder_order, sensor.encoder_amplitude, sensor.encoder_phase, sensor.encoder_start,
            sensor.encoder_waves, shaft,
        )  # fmt: skip
    if sensor.angle_noise > 0.0:
        shaft += sensor.jitter
    return shaft  # eq:sensed-angle


@helper
def shaft_angle(sensor: Any, theta: float) -> float:
    """Angle of the encoder's shaft, behind a stiff gear with an error [rad]."""
    if sensor.gear_waves == 0:
        return theta
    shaft = theta
    for _ in range(ROUNDS):
        error, slope = wave_and_slope(
            sensor.gear_order, sensor.gear_amplitude, sensor.gear_phase, sensor.gear_start, sensor.gear_waves, shaft
        )  # fmt: skip
        step = (theta - shaft - error) / (1.0 + slope)
        shaft += step
        if abs(step) <= CLOSE * (1.0 + abs(theta)):
            break
    return shaft


@helper
def sensed_speed(sensor: Any, theta: float, w: float) -> float:
    """The speed with which the shown angle changes [rad/s]."""
    if sensor.gear_waves > 0:
        shaft = shaft_angle(sensor, theta)
        w /= 1.0 + wave_slope(
            sensor.gear_order, sensor.gear_amplitude, sensor.gear_phase, sensor.gear_waves, shaft
        )
        theta = shaft
    if sensor.encoder_waves > 0:
        w *= 1.0 + wave_slope(
            sensor.encoder_order, sensor.encoder_amplitude, sensor.encoder_phase, sensor.encoder_waves, theta
        )
    return w


@helper
def draw_jitter(sensor: Any, random: Any) -> None:
    """Noise of the angle for the readings of one instant."""
    if sensor.angle_noise > 0.0:
        sensor.jitter = sensor.angle_noise * normal(random)


@helper
def read_count(sensor: Any, theta: float) -> int:
    r"""Encoder count, zero being the middle of a count: floor(theta counts/rad + 1/2)  (eq:encoder)."""
    sensor.count = shown_count(sensor, theta)
    return sensor.count  # type: ignore[no-any-return]


@helper
def shown_count(sensor: Any, theta: float) -> int:
    """The count that a reading would give, without one: an encoder that is stuck shows what was read last."""
    if sensor.stuck:
        return sensor.count  # type: ignore[no-any-return]
    angle = sensed_angle(sensor, theta)
    return math.floor(angle * sensor.counts_per_rad + 0.5) - sensor.lost  # type: ignore[no-any-return]  # eq:encoder


@helper
def read_current(sensor: Any, i: float, random: Any) -> float:
    """Current as the driver sees it: offset, noise, range and bits."""
    if sensor.current_noise > 0.0:
        i += sensor.current_noise * normal(random)
    return quantise(i + sensor.current_offset, sensor.current_range, sensor.current_bits)


@helper
def read_pressure(sensor: Any, p: float, random: Any) -> float:
    """Pressure of a chamber as the driver sees it [Pa]: offset, noise, range and bits."""
    if sensor.pressure_noise > 0.0:
        p += sensor.pressure_noise * normal(random)
    return quantise(p + sensor.pressure_offset, sensor.pressure_range, sensor.pressure_bits)


@helper
def read_phase_currents(sensor: Any, i_alpha: float, i_beta: float, random: Any) -> tuple[float, float]:
    """Currents of the phases a and b of a synchronous motor, each by a sensor with the errors of ``sensor``."""
    i_a = read_current(sensor, i_alpha, random)
    i_b = read_current(sensor, 0.5 * (SQRT3 * i_beta - i_alpha), random)
    return i_a, i_b


@helper
def edge_time(sensor: Any, theta: float, w: float, time: float) -> float:
    """Instant of the last edge before ``time`` [s]: it follows from how far the shaft has turned since.

    An encoder that is stuck gives no edge: minus infinity.
    """
    if sensor.stuck:
        return -math.inf
    w = sensed_speed(sensor, theta, w)
    counts = sensed_angle(sensor, theta) * sensor.counts_per_rad + 0.5 - sensor.lost
    count = math.floor(counts)
    edge = float(count) if w >= 0.0 else float(count + 1)
    passed = (counts - edge) / sensor.counts_per_rad / w if w != 0.0 else 0.0
    return time - passed
