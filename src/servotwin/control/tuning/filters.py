r"""Filters of the torque command: notches and low-passes, sampled by the bilinear rule.

.. math:: s = \frac{\omega}{\tan(\omega T/2)}\,\frac{z - 1}{z + 1}                       (eq:prewarped)

maps the frequency :math:`\omega` of a filter onto itself: the middle of a notch lies where it was asked for, whatever
the period T of the loop. Theory: docs/theory/servo-loops.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from servotwin.errors import InputError
from servotwin.linear.system import Array

if TYPE_CHECKING:
    from servotwin.linear.response import Complex


@dataclass(frozen=True)
class Biquad:
    r"""A sampled filter of second order, gain 1 for what does not change.

    .. math:: F(z) = \frac{b_0 + b_1 z^{-1} + b_2 z^{-2}}{1 + a_1 z^{-1} + a_2 z^{-2}}       (eq:biquad)
    """

    b0: float
    b1: float
    b2: float
    a1: float
    a2: float

    def response(self, w: Array, T: float) -> Complex:
        """Gain (k,) at frequencies w (k,) [rad/s] with samples T [s] apart (eq:biquad)."""
        z = np.exp(-1j * np.asarray(w) * T)
        return np.asarray((self.b0 + self.b1 * z + self.b2 * z * z) / (1.0 + self.a1 * z + self.a2 * z * z))

    def matrices(self) -> tuple[Array, Array, Array, float]:
        """A, B, C, D of its transposed direct form (eq:sampled-filter)."""
        A = np.array([[-self.a1, 1.0], [-self.a2, 0.0]])
        B = np.array([self.b1 - self.a1 * self.b0, self.b2 - self.a2 * self.b0])
        return A, B, np.array([1.0, 0.0]), self.b0


def notch(w: float, width: float, depth: float, T: float) -> Biquad:
    r"""A notch at w [rad/s] that leaves the part ``depth`` there; ``width``: that of its poles over w.

    .. math:: F(s) = \frac{s^2 + d\,b\,\omega s + \omega^2}{s^2 + b\,\omega s + \omega^2}        (eq:notch)

    >>> abs(notch(300.0, 0.7, 0.1, 1e-3).response(np.array([300.0]), 1e-3)[0]).round(12)
    np.float64(0.1)
    """
    return _second_order((1.0, depth * width), width, w, T)  # eq:notch


def low_pass(w: float, order: int, damping: float, T: float) -> Biquad:
    r"""A lag with its corner at w [rad/s], of first or second order.

    .. math:: F(s) = \frac{1}{1 + s/\omega} \quad\text{or}\quad
              \frac{\omega^2}{s^2 + 2\zeta\omega s + \omega^2}                                 (eq:torque-filter)
    """
    if order == 2:
        return _second_order((0.0, 0.0), 2.0 * damping, w, T)
    t = _tangent(w, T)
    return Biquad(t / (1.0 + t), t / (1.0 + t), 0.0, (t - 1.0) / (1.0 + t), 0.0)  # eq:torque-filter


def _second_order(top: tuple[float, float], width: float, w: float, T: float) -> Biquad:
    """(top0 s2 + top1 w s + w2) / (s2 + width w s + w2), sampled (eq:prewarped)."""
    t = _tangent(w, T)
    square, middle = top
    size = 1.0 + width * t + t * t
    return Biquad(
        (square + middle * t + t * t) / size,
        2.0 * (t * t - square) / size,
        (square - middle * t + t * t) / size,
        2.0 * (t * t - 1.0) / size,
        (1.0 - width * t + t * t) / size,
    )


def _tangent(w: float, T: float) -> float:
    if not 0.0 < w * T < math.pi:
        raise InputError(
            f"{w / (2.0 * math.pi):.4g} Hz; expected above zero, and below {0.5 / T:.4g} Hz, half of the loop's rate",
            field="frequency",
        )
    return math.tan(0.5 * w * T)  # eq:prewarped


def chained(filters: Sequence[Biquad]) -> tuple[Array, Array, Array, float]:
    """A, B, C, D of filters one after the other."""
    A, B, C, D = np.zeros((0, 0)), np.zeros(0), np.zeros(0), 1.0
    for one in filters:
        a, b, c, d = one.matrices()
        A = np.block([[A, np.zeros((len(A), 2))], [np.outer(b, C), a]])
        B, C, D = np.append(B, b * D), np.append(d * C, c), d * D
    return A, B, C, D
