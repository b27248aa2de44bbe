r"""Average torque of a gear over a cycle, and its life.

.. math:: T_{av} = \left(\frac{\sum |n_i|\,t_i\,|T_i|^e}{\sum |n_i|\,t_i}\right)^{1/e}, \qquad
          n_{av} = \frac{\sum |n_i|\,t_i}{\sum t_i}                                       (eq:average-torque)

.. math:: L = L_N\,\frac{n_N}{n_{av}}\left(\frac{T_N}{T_{av}}\right)^e                    (eq:gear-life)

e = 3 for strain-wave gears (Harmonic Drive, engineering data), 10/3 for roller bearings of RV and planetary gears. A
torque that is held at rest turns nothing and does not count; it is compared with the peak limits by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from servotwin.description.sheets.gear_sheet import GearSheet

L10_OVER_L50 = 0.2  # of strain-wave gears (Harmonic Drive, engineering data)


def average_torque(
    torques: Sequence[float] | Any,
    speeds: Sequence[float] | Any,
    times: Sequence[float] | Any,
    exponent: float = 3.0,
) -> float:
    """Average torque [N m] of sections of a cycle: torques [N m], speeds (any unit, one for all), durations [s].

    >>> round(average_torque([150, 82, 130], [10, 20, 10], [0.2, 3, 0.3]), 1)
    89.4
    """
    T, n, t = (np.abs(np.asarray(values, float)) for values in (torques, speeds, times))
    turned = float(np.sum(n * t))
    if turned == 0.0:
        return 0.0
    largest = float(np.max(T, initial=0.0))
    if largest == 0.0:
        return 0.0
    mean = float(np.sum(n * t * (T / largest) ** exponent)) / turned
    return largest * math.pow(mean, 1.0 / exponent)  # eq:average-torque


def average_speed(speeds: Sequence[float] | Any, times: Sequence[float] | Any) -> float:
    """Mean size of the speed over the whole cycle, pauses included (eq:average-torque)."""
    n, t = np.abs(np.asarray(speeds, float)), np.asarray(times, float)
    return float(np.sum(n * t) / np.sum(t))  # eq:average-torque


def gear_life(sheet: GearSheet, torque: float, speed: float) -> float | None:
    """Life [s] at an average output torque [N m] and an average input speed [rad/s]; None if the sheet has none.

    It is the life of which the sheet speaks (``life_percentile``); infinite without motion or torque.
    """
    if sheet.life is None or sheet.rated_torque is None or sheet.rated_speed is None:
        return None
    if torque <= 0.0 or speed <= 0.0:
        return math.inf
    shares = sheet.rated_speed / speed, sheet.rated_torque / torque
    try:
        return sheet.life * shares[0] * math.pow(shares[1], sheet.exponent)  # eq:gear-life
    except OverflowError:  # next to no torque
        return math.inf


def life_10(sheet: GearSheet, life: float) -> float:
    """Life that nine of ten gears reach, of a life by the sheet's own percentile."""
    return life * (L10_OVER_L50 if sheet.life_percentile == "L50" else 1.0)
