r"""Encoders, current sensors, converters, and the random numbers of their noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from servotwin.dynamics.recursive.jit import helper

UNIT = 2.0**-53
SQRT3 = math.sqrt(3.0)


@helper
def uniform(state: Any) -> float:
    """A number in [0, 1) from a counter hashed by splitmix64; ``state`` is an array of one uint64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x = x ^ (x >> np.uint64(31))
    return float(x >> np.uint64(11)) * UNIT


@helper
def normal(state: Any) -> float:
    """A number of the standard normal distribution (Box and Muller)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(state)))
    return radius * math.cos(2.0 * math.pi * uniform(state))


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
    return math.floor(theta * sensor.counts_per_rad + 0.5) - sensor.lost  # type: ignore[no-any-return]  # eq:encoder


@helper
def quantise(value: float, span: float, bits: int) -> float:
    """A converter with ``bits`` over -span..span; 0 bits: only the range counts, 1 bit: only the sign."""
    value = min(max(value, -span), span)
    if bits <= 0:
        return value
    if bits == 1:
        return span if value >= 0.0 else -span
    steps = 2.0 ** (bits - 1) - 1.0
    return math.floor(value / span * steps + 0.5) * span / steps


@helper
def read_current(sensor: Any, i: float, random: Any) -> float:
    """Current as the driver sees it: offset, noise, range and bits."""
    if sensor.current_noise > 0.0:
        i += sensor.current_noise * normal(random)
    return quantise(i + sensor.current_offset, sensor.current_range, sensor.current_bits)


@helper
def read_phase_currents(
    sensor: Any, i_alpha: float, i_beta: float, angle: float, random: Any
) -> tuple[float, float]:
    r"""Currents d and q [A] of a synchronous motor as its driver sees them.

    Two sensors stand in the phases a and b, each with the errors of ``sensor``; phase c follows from the
    star point, and the controller's own electrical ``angle`` turns the vector to the rotor:

    .. math:: i_\alpha = i_a, \quad i_\beta = (i_a + 2 i_b)/\sqrt 3                  (eq:phase-currents)
    """
    i_a = read_current(sensor, i_alpha, random)
    i_b = read_current(sensor, 0.5 * (SQRT3 * i_beta - i_alpha), random)
    i_beta = (i_a + 2.0 * i_b) / SQRT3  # eq:phase-currents
    c, s = math.cos(angle), math.sin(angle)
    return c * i_a + s * i_beta, c * i_beta - s * i_a


@helper
def inverse_time_rate(sensor: Any, theta: float, w: float, time: float) -> float:
    """Pulses per second from the time between the last pulses of two samples [1/s].

    The instant of the last pulse follows from how far the shaft has turned since; when no pulse came, the
    rate is at most one count in the time that passed. What angle a pulse is, the controller must know.
    """
    counts = theta * sensor.counts_per_rad + 0.5 - sensor.lost
    count = math.floor(counts)
    edge = float(count) if w >= 0.0 else float(count + 1)
    passed = (counts - edge) / sensor.counts_per_rad / w if w != 0.0 else 0.0
    at = time - passed
    pulses = 0 if sensor.stuck else count - sensor.edge_count
    if pulses != 0 and at > sensor.last_edge_time:
        sensor.last_rate = pulses / (at - sensor.last_edge_time)
        sensor.last_edge_time, sensor.edge_count = at, count
    else:
        most = 1.0 / max(time - sensor.last_edge_time, 1e-9)
        sensor.last_rate = min(max(sensor.last_rate, -most), most)
    return sensor.last_rate  # type: ignore[no-any-return]
