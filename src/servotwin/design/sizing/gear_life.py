"""Torque that a gear holds at rest, and its life as sizing tells it: with 90 % and with 50 % probability."""

from __future__ import annotations

import math

import numpy as np

from servotwin.description.sheets.gear_life import L10_OVER_L50
from servotwin.design.sizing.actuators import GearChoice
from servotwin.mechanism.model import Array


def holding_torque(torque: Array, speed: Array) -> float:
    """Largest torque that is held at rest; it vanishes from the average and is judged by itself."""
    return float(np.abs(torque[speed == 0.0]).max(initial=0.0))


def lives(gear: GearChoice, torque: float, speed: float) -> tuple[float | None, float | None]:
    """L10 and L50 of a gear [s] at an average torque and input speed (eq:gear-life); None where data are missing."""
    if gear.rated_life is None or gear.rated_speed is None or gear.rated_torque is None:
        return None, None
    if torque <= 0.0 or speed <= 0.0:
        return math.inf, math.inf
    try:
        load = math.pow(gear.rated_torque / torque, gear.exponent)
    except OverflowError:  # next to no torque
        return math.inf, math.inf
    own = gear.rated_life * (gear.rated_speed / speed) * load  # eq:gear-life
    return (own, own / L10_OVER_L50) if gear.life_quantile == 10 else (own * L10_OVER_L50, own)
