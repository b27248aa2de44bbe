"""What encoders show of the angles of motors, and the angles behind what they show, uncompiled (eq:sensed-angle)."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.drives.harmonics import angle_of_reading, wave_at
from servotwin.mechanism.model import Array


def sensed_angles(sensors: Any, theta: Array) -> Array:
    """Angles (m,) that the encoders show without noise, of the motors' angles ``theta`` (m,) in the state."""
    if not has_waves(sensors):
        return theta
    found = []
    for sensor, angle in zip(sensors, theta, strict=True):
        shaft = angle_of_reading(sensor, "gear", float(angle))
        found.append(shaft + wave_at(sensor, "encoder", shaft))
    return np.array(found)


def angles_behind(sensors: Any, shown: Array) -> Array:
    """Angles (m,) in the state of motors whose encoders show the angles ``shown`` (m,)."""
    if not has_waves(sensors):
        return shown
    found = []
    for sensor, reading in zip(sensors, shown, strict=True):
        shaft = angle_of_reading(sensor, "encoder", float(reading))
        found.append(shaft + wave_at(sensor, "gear", shaft))
    return np.array(found)


def has_waves(sensors: Any) -> bool:
    """Whether an encoder or a stiff gear has an error that comes again in every turn."""
    return bool(sensors["encoder_waves"].any() or sensors["gear_waves"].any())
