r"""Average torque and life of a gear.

.. math:: T_{av} = \Bigl(\frac{\sum |n_i|\,t_i\,|T_i|^p}{\sum |n_i|\,t_i}\Bigr)^{1/p}, \qquad
          n_{av} = \frac{\sum |n_i|\,t_i}{\sum t_i}                                       (eq:gear-average)

.. math:: L = L_N\,\frac{n_N}{n_{av}} \Bigl(\frac{T_N}{T_{av}}\Bigr)^p, \qquad L_{10} = L_{50}/5     (eq:gear-life)

with p = 3 for strain-wave gears (Harmonic Drive engineering data); 10/3, usual for cycloidal (RV) gears, is a
setting of the gear. Torque held at rest vanishes from the average and is judged by itself.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from servotwin.mechanism.model import Array

L50_OVER_L10 = 5.0
RESTS = 1e-6  # of the largest speed: slower is at rest


def average_torque(torque: ArrayLike, speed: ArrayLike, seconds: ArrayLike, exponent: float = 3.0) -> float:
    """Average torque (eq:gear-average); torque, speed and time (k,) in any units, zero for a gear that rests.

    >>> round(average_torque([150.0, 82.0, 130.0], [10.0, 20.0, 10.0], [0.2, 3.0, 0.3]), 1)
    89.4
    """
    way = np.abs(np.asarray(speed, dtype=np.float64)) * np.asarray(seconds, dtype=np.float64)
    size = np.abs(np.asarray(torque, dtype=np.float64))
    most = float(size.max(initial=0.0))
    if most == 0.0 or not way.sum() > 0.0:
        return 0.0
    mean = float(np.sum(way * (size / most) ** exponent) / way.sum())
    return most * mean ** (1.0 / exponent)  # eq:gear-average


def average_speed(speed: Array, seconds: Array) -> float:
    """Mean size of a speed (eq:gear-average)."""
    return float(np.sum(np.abs(speed) * seconds) / np.sum(seconds))


def holding_torque(torque: Array, speed: Array) -> float:
    """Largest torque that is held at rest."""
    still = np.abs(speed) <= RESTS * max(float(np.abs(speed).max(initial=0.0)), 1e-300)
    return float(np.abs(torque[still]).max(initial=0.0))


def life(
    rated_life: float, rated_speed: float, rated_torque: float, speed: float, torque: float, exponent: float
) -> float:
    """Life at an average speed and torque, in the unit of ``rated_life`` (eq:gear-life); infinite without load."""
    if speed <= 0.0 or torque <= 0.0:
        return math.inf
    return rated_life * (rated_speed / speed) * (rated_torque / torque) ** exponent  # eq:gear-life


def both_lives(life_at: float, quantile: int) -> tuple[float, float]:
    """L10 and L50 of a life that holds for one of them."""
    return (life_at, life_at * L50_OVER_L10) if quantile == 10 else (life_at / L50_OVER_L10, life_at)
