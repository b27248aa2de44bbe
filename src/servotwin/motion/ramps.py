r"""How a speed changes: the shapes of a ramp, all of them symmetric about their middle.

With the share :math:`\sigma = t/T` of the ramp time and the change :math:`\Delta` of the speed

.. math:: v = v_0 + \Delta\, f(\sigma), \quad s = T (v_0 \sigma + \Delta\, F(\sigma)), \quad F' = f     (eq:ramp-shape)

``linear`` has :math:`f = \sigma`; ``cubic`` the third-order rise of ``profiles``; ``jerk-limited`` an
acceleration that rises during the share ``beta``, stays, and falls. Theory: docs/theory/motion.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Shape = Literal["linear", "cubic", "jerk-limited"]


@dataclass(frozen=True)
class RampLimits:
    """What a ramp may use: ``acceleration`` [m/s2] above zero, ``jerk`` [m/s3], infinite if unlimited."""

    shape: Shape
    acceleration: float
    jerk: float = math.inf


def ramp_time(change: float, limits: RampLimits) -> float:
    r"""The shortest time [s] in which the speed changes by ``change``.

    .. math::
        T_\mathrm{linear} = \frac{\Delta}{a}, \quad
        T_\mathrm{cubic} = \max\left(\frac{3\Delta}{2a}, \sqrt{\frac{6\Delta}{j}}\right), \quad
        T_\mathrm{jerk} = \begin{cases} \Delta/a + a/j & \Delta > a^2/j \\ 2\sqrt{\Delta/j} \end{cases}
                                                                                      (eq:ramp-time)

    >>> ramp_time(1.0, RampLimits("jerk-limited", acceleration=2.0, jerk=8.0))
    0.75
    """
    step, a, j = abs(change), limits.acceleration, limits.jerk
    if limits.shape == "linear":
        return step / a
    if limits.shape == "cubic":
        return max(1.5 * step / a, math.sqrt(6.0 * step / j))
    return step / a + a / j if step * j > a * a else 2.0 * math.sqrt(step / j)  # eq:ramp-time


def jerk_share(change: float, limits: RampLimits) -> float:
    """The share (0 to 1/2] of a jerk-limited ramp during which the acceleration rises."""
    step, a, j = abs(change), limits.acceleration, limits.jerk
    if limits.shape != "jerk-limited" or step * j <= a * a:
        return 0.5
    return (a / j) / (step / a + a / j)


def ramp_length(v_from: float, v_to: float, limits: RampLimits) -> float:
    r"""The way [m] of a ramp, :math:`s = T (v_0 + v_1)/2` whatever its shape   (eq:ramp-way)."""
    return 0.5 * (v_from + v_to) * ramp_time(v_to - v_from, limits)  # eq:ramp-way


def reachable_speed(v_from: float, length: float, v_most: float, limits: RampLimits) -> float:
    """The largest speed up to ``v_most`` that a ramp from ``v_from`` reaches within ``length`` [m]."""
    return _largest(lambda v: ramp_length(v_from, v, limits), v_from, v_most, length)


def peak_speed(length: float, v_from: float, v_to: float, v_most: float, limits: RampLimits) -> float:
    """The largest speed up to ``v_most`` between two ramps that fit into ``length`` [m]."""
    least = max(v_from, v_to)
    if v_from == v_to == 0.0 and math.isinf(
        limits.jerk
    ):  # both ramps together: top^2 / a, 1.5 times for cubic
        return min(
            v_most, math.sqrt(length * limits.acceleration / (1.5 if limits.shape == "cubic" else 1.0))
        )

    def used(v: float) -> float:
        return ramp_length(v_from, v, limits) + ramp_length(v_to, v, limits)

    return _largest(used, least, v_most, length)


def _largest(used: Callable[[float], float], least: float, most: float, length: float) -> float:
    """The largest v in least .. most with used(v) <= length; ``used`` grows with v. Regula falsi with halving."""
    if most <= least or used(most) <= length:
        return max(most, least)
    low, high = least, most
    f_low, f_high = used(low) - length, used(high) - length
    if f_low >= 0.0:
        return least
    side = 0
    for _ in range(100):
        v = high - f_high * (high - low) / (f_high - f_low)
        f = used(v) - length
        if f <= 0.0:
            if high - v <= 1e-15 * high or -f <= 1e-15 * length:
                return v
            low, f_low = v, f
            f_high = 0.5 * f_high if side < 0 else f_high
            side = -1
        else:
            high, f_high = v, f
            f_low = 0.5 * f_low if side > 0 else f_low
            side = 1
        if high - low <= 1e-15 * high:
            break
    return low
