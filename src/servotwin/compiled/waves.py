"""Sums of harmonics of an angle (eq:harmonics), for plant and controller."""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper


@helper
def wave(order: Any, amplitude: Any, phase: Any, count: int, angle: float) -> float:
    """The error at an angle [rad]."""
    total = 0.0
    for i in range(count):
        total += amplitude[i] * (math.sin(order[i] * angle + phase[i]) - math.sin(phase[i]))  # eq:harmonics
    return total


@helper
def wave_slope(order: Any, amplitude: Any, phase: Any, count: int, angle: float) -> float:
    """Change of the error per angle [-]."""
    total = 0.0
    for i in range(count):
        total += amplitude[i] * order[i] * math.cos(order[i] * angle + phase[i])
    return total
