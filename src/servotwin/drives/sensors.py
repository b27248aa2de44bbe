r"""Encoders, current and pressure sensors."""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper
from servotwin.compiled.numeric import normal, quantise

SQRT3 = math.sqrt(3.0)


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
    counts = theta * sensor.counts_per_rad + 0.5 - sensor.lost
    count = math.floor(counts)
    edge = float(count) if w >= 0.0 else float(count + 1)
    passed = (counts - edge) / sensor.counts_per_rad / w if w != 0.0 else 0.0
    return time - passed
