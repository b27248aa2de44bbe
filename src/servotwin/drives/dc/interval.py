r"""Currents between two edges of the bridge, exactly, with the moments that the arm feels.

Between edges the voltage u is constant; the speed is taken as :math:`\omega_0 + \alpha t + \tfrac12 j t^2`. Then
the current of a DC motor is, with :math:`\lambda = R/L`,

.. math::

    i(t) &= a_0 + a_1 t + a_2 t^2 + (i_0 - a_0)\,e^{-\lambda t}, \\
    a_2 &= -\frac{K j}{2 R}, \quad a_1 = -\frac{K\alpha + 2 L a_2}{R}, \quad
    a_0 = \frac{u - K\omega_0 - L a_1}{R}                                                (eq:exact-current)

and its integrals over the interval, of i, i t and i^2, are made of powers and exponentials too. Where
:math:`\lambda\tau` is small those differ by little and their difference loses all digits; the power series of the same
current does not divide by R and holds down to R = 0, with :math:`s = t/\tau`,

.. math::

    i = \sum_k c_k s^k, \quad c_0 = i_0, \quad (k + 1)\,c_{k+1} = F_k - \lambda\tau\,c_k, \quad
    F = \frac\tau L \Bigl(u - K\omega_0,\; -K\alpha\tau,\; -\tfrac12 K j \tau^2\Bigr)          (eq:current-series)

and i^2 is integrated by five points of Gauss.
"""

from __future__ import annotations

import math

import numpy as np

from servotwin.compiled.jit import helper

BRIEF = 0.5  # lambda tau up to which the current of an interval is a power series
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
S_0, S_1, S_2, S_3, S_4 = (float(node) for node in (1.0 + _NODES) / 2.0)  # in 0..1
G_0, G_1, G_2 = (float(weight) for weight in _WEIGHTS[:3] / 2.0)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)
F_0, F_1, F_2, F_3 = (float(node) for node in (1.0 + _NODES) / 2.0)
H_0, H_1 = (float(weight) for weight in _WEIGHTS[:2] / 2.0)


@helper
def dc_interval(
    R: float, L: float, K: float, u: float, i0: float, w0: float, alpha: float, jerk: float, tau: float
) -> tuple[float, float, float, float]:
    """Current at the end and the integrals of i, i t and i^2 over an interval of length ``tau``."""
    if R * tau < BRIEF * L:
        return dc_series(R * tau / L, tau / L, K, u, i0, w0, alpha, jerk, tau)
    conductance, time = 1.0 / R, L / R
    a2 = -0.5 * K * jerk * conductance
    a1 = -(K * alpha + 2.0 * L * a2) * conductance
    a0 = (u - K * w0 - L * a1) * conductance
    c = i0 - a0
    decay = math.exp(-tau / time)
    E0 = (1.0 - decay) * time
    E1 = (E0 - tau * decay) * time
    E2 = (2.0 * E1 - tau * tau * decay) * time
    t2 = tau * tau
    end = a0 + (a1 + a2 * tau) * tau + c * decay  # eq:exact-current
    first = tau * (a0 + tau * (a1 / 2 + tau * (a2 / 3))) + c * E0
    moment = t2 * (a0 / 2 + tau * (a1 / 3 + tau * (a2 / 4))) + c * E1
    powers = a0 * a0 + tau * (
        a0 * a1 + tau * ((a1 * a1 + 2 * a0 * a2) / 3 + tau * (a1 * a2 / 2 + tau * (a2 * a2 / 5)))
    )
    square = tau * powers + 2 * c * (a0 * E0 + a1 * E1 + a2 * E2) + c * c * E0 * (1.0 + decay) / 2
    return end, first, moment, square


@helper
def tail(y: float) -> float:
    """Sum of 3! (-y)^k / (k + 3)! for y up to ``BRIEF``: the series from its third power on, by which it begins."""
    y2 = y * y
    y4 = y2 * y2
    low = (1.0 - y / 4) + y2 * (1 / 20 - y / 120)
    return low + y4 * (
        (1 / 840 - y / 6720) + y2 * (1 / 60480 - y / 604800) + y4 * (1 / 6652800 - y / 79833600)
    )


@helper
def short_tail(y: float) -> float:
    """``tail`` to 1e-9."""
    y2 = y * y
    low = (1.0 - y / 4) + y2 * (1 / 20 - y / 120)
    return low + y2 * y2 * ((1 / 840 - y / 6720) + y2 * (1 / 60480 - y / 604800))


@helper
def current_terms(
    x: float, slope: float, K: float, u: float, i0: float, w0: float, alpha: float, jerk: float, tau: float
) -> tuple[float, float, float]:
    """The first three terms of eq:current-series behind i0, for lambda tau = ``x``; ``slope`` is tau / L."""
    c1 = slope * (u - K * w0) - x * i0  # eq:current-series
    c2 = (-slope * tau * K * alpha - x * c1) / 2.0
    return c1, c2, (-0.5 * slope * tau * tau * K * jerk - x * c2) / 3.0


@helper
def series_tails(x: float) -> tuple[float, float]:
    """Sums of 3! (-x)^k / (k + 5)! and of 3! (-x)^k / (k + 4)!: with them the third term becomes its series."""
    x2 = x * x
    x4 = x2 * x2
    low = (1 / 20 - x / 120) + x2 * (1 / 840 - x / 6720)
    last = low + x4 * ((1 / 60480 - x / 604800) + x2 * (1 / 6652800 - x / 79833600))
    return last, 1 / 4 - x * last


@helper
def mean_square(i0: float, c1: float, c2: float, c3: float, x: float) -> float:
    """Mean of i^2 over an interval, by five points of Gauss on eq:current-series."""
    p0 = i0 + S_0 * (c1 + S_0 * (c2 + S_0 * c3 * tail(S_0 * x)))
    p1 = i0 + S_1 * (c1 + S_1 * (c2 + S_1 * c3 * tail(S_1 * x)))
    p2 = i0 + S_2 * (c1 + S_2 * (c2 + S_2 * c3 * tail(S_2 * x)))
    p3 = i0 + S_3 * (c1 + S_3 * (c2 + S_3 * c3 * tail(S_3 * x)))
    p4 = i0 + S_4 * (c1 + S_4 * (c2 + S_4 * c3 * tail(S_4 * x)))
    return G_0 * (p0 * p0 + p4 * p4) + G_1 * (p1 * p1 + p3 * p3) + G_2 * p2 * p2


@helper
def quick_mean_square(i0: float, c1: float, c2: float, c3: float, x: float) -> float:
    """The same by four points: less than 1e-10 of the square of the current's change is left out."""
    p0 = i0 + F_0 * (c1 + F_0 * (c2 + F_0 * c3 * short_tail(F_0 * x)))
    p1 = i0 + F_1 * (c1 + F_1 * (c2 + F_1 * c3 * short_tail(F_1 * x)))
    p2 = i0 + F_2 * (c1 + F_2 * (c2 + F_2 * c3 * short_tail(F_2 * x)))
    p3 = i0 + F_3 * (c1 + F_3 * (c2 + F_3 * c3 * short_tail(F_3 * x)))
    return H_0 * (p0 * p0 + p3 * p3) + H_1 * (p1 * p1 + p2 * p2)


@helper
def dc_series(
    x: float, slope: float, K: float, u: float, i0: float, w0: float, alpha: float, jerk: float, tau: float
) -> tuple[float, float, float, float]:
    """``dc_interval`` for lambda tau = ``x`` up to ``BRIEF``; ``slope`` is tau / L.

    From the third term on, where nothing drives it any more, a series is that term times ``tail``.
    """
    c1, c2, c3 = current_terms(x, slope, K, u, i0, w0, alpha, jerk, tau)
    last, middle = series_tails(x)
    end = i0 + c1 + c2 + c3 * (1.0 - x * middle)
    first = i0 + c1 / 2.0 + c2 / 3.0 + c3 * middle
    moment = i0 / 2.0 + c1 / 3.0 + c2 / 4.0 + c3 * (middle - last)
    return end, tau * first, tau * tau * moment, tau * mean_square(i0, c1, c2, c3, x)
