r"""The velocity profile of a stroke: a third-order rise, constant speed, a third-order fall.

With the share :math:`\sigma = t/T_r` of the ramp time the velocity rises as

.. math:: v = V (3\sigma^2 - 2\sigma^3)                           (eq:ramp-velocity)
.. math:: s = V T_r (\sigma^3 - \tfrac12 \sigma^4)                (eq:ramp-position)
.. math:: a = \frac{6 V}{T_r} (\sigma - \sigma^2)                 (eq:ramp-acceleration)

so that the acceleration is zero at both ends of the ramp and largest, 1.5 V / T_r,
in its middle. The fall is the rise backwards in time. Theory: docs/theory/motion.md.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from servotwin.mechanism.model import Array

ProfileKind = Literal["cubic-ramp", "trapezoid", "s-curve", "quintic"]
PEAK = 1.5  # largest acceleration of a ramp over its mean V / T_r


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
    """The way done, the way left, velocity and acceleration at the times ``t`` after its start.

    All arguments broadcast. Before its start and after its end the stroke is at rest. Of the way done
    and the way left one is computed and the other is the rest, so that both ends are met exactly.
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
