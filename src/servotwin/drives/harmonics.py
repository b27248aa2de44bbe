r"""Periodic errors of encoders and gears, as sums of harmonics of a shaft's angle.

.. math:: e(\theta) = \sum_i a_i\,\bigl(\sin(o_i\,\theta + \varphi_i) - \sin\varphi_i\bigr)             (eq:harmonics)

with the order o per turn. It is zero at zero, where counters are homed: what is constant in it is part of the zero of
the joint, not of this error. An encoder on an eccentric disc has the orders 1 and 2, a strain-wave gear 2 per
turn of its generator.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from servotwin.compiled.waves import wave, wave_and_slope, wave_slope

__all__ = ["angle_of_reading", "fill_waves", "slope_at", "wave", "wave_and_slope", "wave_at", "wave_slope"]

ROUNDS = 60  # of a fixed point that each round brings nearer by the slope of the error
CLOSE = 1e-15  # rad


def fill_waves(record: Any, name: str, harmonics: Iterable[tuple[float, float, float]]) -> None:
    """Enter harmonics (order, amplitude, phase) into the fields ``name`` of a record."""
    found = list(harmonics)
    record[f"{name}_waves"] = len(found)
    for i, (order, amplitude, phase) in enumerate(found):
        record[f"{name}_order"][i], record[f"{name}_amplitude"][i] = order, amplitude
        record[f"{name}_phase"][i], record[f"{name}_start"][i] = phase, math.sin(phase)


def wave_at(record: Any, name: str, angle: float) -> float:
    """The error of the fields ``name`` of a record at an angle [rad], uncompiled."""
    order, amplitude, phase = (record[f"{name}_{part}"] for part in ("order", "amplitude", "phase"))
    return float((amplitude * (np.sin(order * angle + phase) - np.sin(phase))).sum())  # eq:harmonics


def slope_at(record: Any, name: str, angle: float) -> float:
    """Change of that error per angle [-]."""
    order, amplitude, phase = (record[f"{name}_{part}"] for part in ("order", "amplitude", "phase"))
    return float((amplitude * order * np.cos(order * angle + phase)).sum())


def angle_of_reading(record: Any, name: str, reading: float) -> float:
    """The angle whose reading, angle + error, is given [rad]."""
    angle = reading
    for _ in range(ROUNDS if record[f"{name}_waves"] else 0):
        better = reading - wave_at(record, name, angle)
        if abs(better - angle) <= CLOSE * (1.0 + abs(reading)):
            return better
        angle = better
    return angle
