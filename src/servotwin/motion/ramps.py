r"""Ramps: how a speed changes, and strokes from rest to rest with cubic ramps.

All shapes are symmetric about their middle. With the share :math:`\sigma = t/T` of the ramp time and the
change :math:`\Delta` of the speed

.. math:: v = v_0 + \Delta\, f(\sigma), \quad s = T (v_0 \sigma + \Delta\, F(\sigma)), \quad F' = f     (eq:ramp-shape)

``linear`` has :math:`f = \sigma`; ``jerk-limited`` an acceleration that rises during the share ``beta`` of the
ramp, stays constant, and falls; ``cubic``, from rest to the speed V within :math:`T_r`,

.. math:: v = V (3\sigma^2 - 2\sigma^3)                           (eq:ramp-velocity)
.. math:: s = V T_r (\sigma^3 - \tfrac12 \sigma^4)                (eq:ramp-position)
.. math:: a = \frac{6 V}{T_r} (\sigma - \sigma^2)                 (eq:ramp-acceleration)

so that the acceleration is zero at both ends of the ramp and largest, 1.5 V / T_r, in its middle. Falling ramps
are rising ones backwards in time. ``laws`` samples ramps of every shape; the functions of strokes here work on
arrays, one entry per joint. Nothing here needs a compiler, so that reading a scenario stays quick.
Theory: docs/theory/motion.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from servotwin.mechanism.model import Array

ProfileKind = Literal["cubic-ramp", "trapezoid", "s-curve", "quintic"]
Shape = Literal["linear", "cubic", "jerk-limited"]
PEAK = 1.5  # largest acceleration of a cubic ramp over its mean V / T_r


class RampLimits(NamedTuple):
    """Shape and limits of a ramp: ``acceleration`` [m/s2] above zero, ``jerk`` [m/s3], infinite if unlimited."""

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
        return max(PEAK * step / a, math.sqrt(6.0 * step / j))
    return step / a + a / j if step * j > a * a else 2.0 * math.sqrt(step / j)  # eq:ramp-time


def jerk_share(change: float, limits: RampLimits) -> float:
    """The share (0 to 1/2] of a jerk-limited ramp during which the acceleration rises."""
    step, a, j = abs(change), limits.acceleration, limits.jerk
    if limits.shape != "jerk-limited" or step * j <= a * a:
        return 0.5
    return (a / j) / (step / a + a / j)


def ramp_length(v_from: float, v_to: float, limits: RampLimits) -> float:
    r"""The length [m] of a ramp, :math:`s = T (v_0 + v_1)/2` for every shape   (eq:ramp-way)."""
    return 0.5 * (v_from + v_to) * ramp_time(v_to - v_from, limits)  # eq:ramp-way


def reachable_speed(v_from: float, length: float, v_most: float, limits: RampLimits) -> float:
    r"""The largest speed up to ``v_most`` that a ramp from ``v_from`` reaches within ``length`` [m].

    Ramps whose time grows with the change of speed, :math:`T = c\,\Delta/a` (linear: c = 1; cubic without a limit of
    jerk: c = 3/2), have it in closed form:

    .. math:: v^2 = v_0^2 + 2 a L / c                                                (eq:ramp-reach)
    """
    if math.isinf(limits.jerk) and limits.shape != "jerk-limited":
        reached = math.sqrt(v_from * v_from + 2.0 * _mean(limits) * length)  # eq:ramp-reach
        return max(v_from, min(v_most, reached))
    return _largest(lambda v: ramp_length(v_from, v, limits), v_from, v_most, length)


def peak_speed(length: float, v_from: float, v_to: float, v_most: float, limits: RampLimits) -> float:
    r"""The largest speed up to ``v_most`` between two ramps that fit into ``length`` [m].

    In closed form for the ramps of ``reachable_speed`` that have it:

    .. math:: v^2 = \tfrac12 (v_0^2 + v_1^2) + a L / c                                  (eq:ramp-peak)
    """
    if v_from == v_to == 0.0:
        return min(v_most, rest_peak(length, limits))
    least = max(v_from, v_to)
    if math.isinf(limits.jerk) and limits.shape != "jerk-limited":
        peak = math.sqrt(0.5 * (v_from * v_from + v_to * v_to) + _mean(limits) * length)  # eq:ramp-peak
        return max(least, min(v_most, peak))

    def used(v: float) -> float:
        return ramp_length(v_from, v, limits) + ramp_length(v_to, v, limits)

    return _largest(used, least, v_most, length)


def rest_peak(length: float, limits: RampLimits) -> float:
    r"""The speed at which two ramps, from rest and back to rest, just fit into ``length`` [m]: :math:`v\,T(v) = L`.

    .. math::
        v_\mathrm{linear} = \sqrt{aL}, \quad
        v_\mathrm{cubic} = \min\left(\sqrt{\tfrac23 aL}, \sqrt[3]{\tfrac16 jL^2}\right), \quad
        v_\mathrm{jerk} = \begin{cases} \sqrt[3]{jL^2/4} & L < 2a^3/j^2 \\
        \tfrac12 (\sqrt{c^2 + 4aL} - c), \quad c = a^2/j \end{cases}                     (eq:rest-peak)

    >>> rest_peak(0.125, RampLimits("jerk-limited", acceleration=2.0, jerk=8.0))
    0.3149802624737183
    """
    a, j = limits.acceleration, limits.jerk
    if length == 0.0:  # also within limits that are infinite
        return 0.0
    if limits.shape == "linear":
        return math.sqrt(a * length)
    if limits.shape == "cubic":
        return min(math.sqrt(a * length / PEAK), float((j / 6.0 * length * length) ** (1.0 / 3.0)))
    c = a * a / j
    if length * j < 2.0 * a * c:
        return float((0.25 * j * length * length) ** (1.0 / 3.0))
    return 0.5 * (math.sqrt(c * c + 4.0 * a * length) - c)  # eq:rest-peak


def _mean(limits: RampLimits) -> float:
    """Mean acceleration of a linear ramp, or of a cubic one without a limit of jerk."""
    return limits.acceleration / (PEAK if limits.shape == "cubic" else 1.0)


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


# --- strokes with cubic ramps ---------------------------------------------------------------------------
def top_speed(stroke: Array, speed: Array, ramp: Array) -> Array:
    r"""The speed that a stroke reaches: ``speed``, or less where it ends before the ramp does.

    .. math:: V = \min(V_\max, |s| / T_r)                         (eq:top-speed)

    ``stroke`` [rad, m], of any sign; ``speed`` [rad/s, m/s] and ``ramp`` [s], above zero.

    >>> float(top_speed(np.array(1.0), np.array(2.0), np.array(0.25)))
    2.0
    """
    return np.asarray(np.minimum(speed, np.abs(stroke) / ramp))  # eq:top-speed


def stroke_time(stroke: Array, top: Array, ramp: Array) -> Array:
    r"""Duration [s] of a stroke with the top speed ``top`` of ``top_speed``; zero for no stroke.

    .. math:: T = |s| / V + T_r                                   (eq:stroke-time)
    """
    moving = top > 0.0
    cruise = np.abs(stroke) / np.where(moving, top, 1.0)
    return np.where(moving, cruise + ramp, 0.0)  # eq:stroke-time


def ramp_within(stroke: Array, speed: Array, acceleration: Array) -> Array:
    r"""The shortest ramp [s] that keeps the acceleration of a stroke at or below ``acceleration``.

    .. math::
        T_r = \min\left(\frac{3 V_\max}{2 a_\max}, \sqrt{\frac{3 |s|}{2 a_\max}}\right)   (eq:ramp-within)

    The first where the stroke reaches ``speed``, the second where it does not; zero where the
    acceleration is not limited (infinite).
    """
    return np.asarray(
        np.minimum(PEAK * speed / acceleration, np.sqrt(PEAK * np.abs(stroke) / acceleration))
    )  # eq:ramp-within


def ramp_within_jerk(stroke: Array, speed: Array, jerk: Array) -> Array:
    r"""The shortest ramp [s] that keeps the jerk of a stroke, largest at the ends of the ramp, at or below ``jerk``.

    .. math::
        T_r = \min\left(\sqrt{\frac{6 V_\max}{j_\max}}, \sqrt[3]{\frac{6 |s|}{j_\max}}\right)  (eq:ramp-within-jerk)

    The first where the stroke reaches ``speed``, the second where it does not; zero for an infinite ``jerk``.
    """
    return np.asarray(
        np.minimum(np.sqrt(6.0 * speed / jerk), np.cbrt(6.0 * np.abs(stroke) / jerk))
    )  # eq:ramp-within-jerk


def stroke_motion(t: Array, stroke: Array, top: Array, ramp: Array) -> tuple[Array, Array, Array, Array]:
    """Distance done, distance left, velocity and acceleration at the times ``t`` after the start of a stroke.

    All arguments broadcast. Before its start and after its end the stroke is at rest. Of the two
    distances the shorter one is computed and the other is the rest, so that both ends are met exactly.
    """
    total = stroke_time(stroke, top, ramp)
    # Mirrored about half the time, the fall is the rise.
    late = t > total / 2
    side = np.clip(np.where(late, total - t, t), 0.0, None)
    rising = np.minimum(side, ramp)
    x = rising / ramp
    s = top * ramp * x**3 * (1.0 - x / 2) + top * (side - rising)  # eq:ramp-position
    v = top * x**2 * (3.0 - 2.0 * x)  # eq:ramp-velocity
    a = 6.0 * top / ramp * x * (1.0 - x)  # eq:ramp-acceleration
    sign, length = np.sign(stroke), np.abs(stroke)
    done, left = np.where(late, length - s, s), np.where(late, s, length - s)
    return sign * done, sign * left, sign * v, sign * np.where(late, -a, a)
