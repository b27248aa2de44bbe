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

BRIEF = 0.25  # lambda tau up to which the current of an interval is a power series
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
NODES, WEIGHTS = (1.0 + _NODES) / 2.0, _WEIGHTS / 2.0  # in 0..1
MOST_TERMS = 11
PER = 1.0 / np.arange(1.0, MOST_TERMS + 3.0)
POWERS = NODES ** np.arange(1, MOST_TERMS + 1)[:, None]


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
def series_terms(x: float) -> int:
    """Terms of the series of a current for lambda tau = x: what is left out, x^n / (n + 1)!, is below 1e-15 of it."""
    return 7 + int(x > 0.02) + int(x > 0.05) + 2 * int(x > 0.1)


@helper
def dc_series(
    x: float, slope: float, K: float, u: float, i0: float, w0: float, alpha: float, jerk: float, tau: float
) -> tuple[float, float, float, float]:
    """``dc_interval`` for lambda tau = ``x`` up to ``BRIEF``; ``slope`` is tau / L."""
    force = slope * (u - K * w0)
    force_1, force_2 = -slope * tau * K * alpha, -0.5 * slope * tau * tau * K * jerk
    c = i0
    end, first, moment = c, c, 0.5 * c
    p0, p1, p2, p3, p4 = c, c, c, c, c
    for k in range(series_terms(x)):
        c = (force - x * c) * PER[k]  # eq:current-series
        force, force_1, force_2 = force_1, force_2, 0.0
        end, first, moment = end + c, first + c * PER[k + 1], moment + c * PER[k + 2]
        p0, p1, p2 = p0 + c * POWERS[k, 0], p1 + c * POWERS[k, 1], p2 + c * POWERS[k, 2]
        p3, p4 = p3 + c * POWERS[k, 3], p4 + c * POWERS[k, 4]
    square = WEIGHTS[0] * (p0 * p0 + p4 * p4) + WEIGHTS[1] * (p1 * p1 + p3 * p3) + WEIGHTS[2] * p2 * p2
    return end, tau * first, tau * tau * moment, tau * square
