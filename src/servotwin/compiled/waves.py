"""Sums of harmonics of an angle (eq:harmonics), for plant and controller."""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper


@helper
def wave(order: Any, amplitude: Any, phase: Any, start: Any, count: int, angle: float) -> float:
    """The error at an angle [rad]; ``start``: sines of the phases."""
    total = 0.0
    for i in range(count):
        total += amplitude[i] * (math.sin(order[i] * angle + phase[i]) - start[i])  # eq:harmonics
    return total


@helper
def wave_and_slope(
    order: Any, amplitude: Any, phase: Any, start: Any, count: int, angle: float
) -> tuple[float, float]:
    """The error at an angle [rad] and its change per angle: sine and cosine of one argument come together."""
    total = slope = 0.0
    for i in range(count):
        turned = order[i] * angle + phase[i]
        total += amplitude[i] * (math.sin(turned) - start[i])  # eq:harmonics
        slope += amplitude[i] * order[i] * math.cos(turned)
    return total, slope


@helper
def wave_slope(order: Any, amplitude: Any, phase: Any, count: int, angle: float) -> float:
    """Change of the error per angle [-]."""
    total = 0.0
    for i in range(count):
        total += amplitude[i] * order[i] * math.cos(order[i] * angle + phase[i])
    return total
