r"""What a motor may have to give while its shaft rests: friction and gear loss hold with it or against it.

.. math:: \max\Bigl(0, \frac{\eta |T|}{n} - \tau_s\Bigr) \le |\tau_m| \le \frac{|T|}{\eta\,n} + \tau_s
                                                                                          (eq:stick-band)

T output torque that the load asks for, n gear ratio, eta efficiency, tau_s static friction at the motor. Any torque of
this band keeps the shaft where it is; which one a servo gives depends on how it came to rest and on its integrator. RMS
torque and heat count the most of it.
"""

from __future__ import annotations

import numpy as np

from servotwin.design.sizing.actuators import Actuator
from servotwin.design.sizing.load import Load
from servotwin.mechanism.model import Array, BoolArray

STILL = 1e-6  # rad/s2, m/s2 at the output: below it a shaft without speed rests


def resting(load: Load, j: int) -> BoolArray:
    """Samples (k,) in which actuator j rests."""
    return np.asarray((load.speed[:, j] == 0.0) & (np.abs(load.acceleration[:, j]) < STILL))


def stick_band(load: Load, j: int, actuator: Actuator, torque: Array) -> tuple[Array, Array]:
    """Least and most motor torque (k,) [N m] by size; ``torque`` (k,) where the shaft moves (eq:stick-band)."""
    n, eta = actuator.gear.ratio, min(actuator.gear.efficiency, 1.0)
    static = max(actuator.friction.static) + max(load.friction[j].static) / n
    T, rest = np.abs(load.arm.torque[:, j]) / n, resting(load, j)
    least, most = np.maximum(eta * T - static, 0.0), T / eta + static  # eq:stick-band
    return np.where(rest, least, torque), np.where(rest, most, torque)
