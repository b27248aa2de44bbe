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

and i^2 is integrated by five points of Gauss. What a current
makes of a polynomial speed over a whole window of length S is made of

.. math:: G_k = \int_0^S e^{-\lambda (S-t)} \frac{t^k}{k!}\,dt, \qquad
          G_{k-1} = \frac{S^k}{k!} - \lambda G_k                                        (eq:window-functions)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper

SMALL = 0.75  # lambda S up to which series are used
BRIEF = 0.25  # lambda tau up to which the current of an interval is a power series
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
NODES, WEIGHTS = (1.0 + _NODES) / 2.0, _WEIGHTS / 2.0  # in 0..1


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
def dc_series(
    x: float, slope: float, K: float, u: float, i0: float, w0: float, alpha: float, jerk: float, tau: float
) -> tuple[float, float, float, float]:
    """``dc_interval`` for lambda tau = ``x`` up to ``BRIEF``; ``slope`` is tau / L."""
    force = slope * (u - K * w0)
    force_1, force_2 = -slope * tau * K * alpha, -0.5 * slope * tau * tau * K * jerk
    c = i0
    end, first, moment = c, c, 0.5 * c
    p0, p1, p2, p3, p4 = c, c, c, c, c
    s0, s1, s2, s3, s4 = 1.0, 1.0, 1.0, 1.0, 1.0
    for k in range(9 if x < 0.05 else 13):  # what is left out is below 1e-15 of the current
        c = (force - x * c) / (k + 1)  # eq:current-series
        force, force_1, force_2 = force_1, force_2, 0.0
        power = k + 1.0
        end, first, moment = end + c, first + c / (power + 1.0), moment + c / (power + 2.0)
        s0, s1, s2, s3, s4 = s0 * NODES[0], s1 * NODES[1], s2 * NODES[2], s3 * NODES[3], s4 * NODES[4]
        p0, p1, p2, p3, p4 = p0 + c * s0, p1 + c * s1, p2 + c * s2, p3 + c * s3, p4 + c * s4
    square = WEIGHTS[0] * (p0 * p0 + p4 * p4) + WEIGHTS[1] * (p1 * p1 + p3 * p3) + WEIGHTS[2] * p2 * p2
    return end, tau * first, tau * tau * moment, tau * square


@helper
def window_functions(G: Any, j: int, rate: float, span: float) -> None:
    """G_0 to G_7 of eq:window-functions in row j; the last by its series or from the exponential."""
    x = rate * span
    if x < SMALL:
        # 8! G_7 / S^8 = sum (-x)^k 8! / (k + 8)! to the 10th power, what is left out is below 1e-15
        x2 = x * x
        x4 = x2 * x2
        low = (1.0 - x / 9.0) + x2 * (1.0 / 90.0 - x / 990.0)
        mid = (1.0 / 11880.0 - x / 154440.0) + x2 * (1.0 / 2162160.0 - x / 32432400.0)
        top = 1.0 / 518918400.0 - x / 8821612800.0 + x2 / 158789030400.0
        p = low + x4 * (mid + x4 * top)
        s2 = span * span
        s4 = s2 * s2
        G[j, 7] = s4 * s4 / 40320.0 * p
        G[j, 6] = s4 * s2 * span / 5040.0 - rate * G[j, 7]
        G[j, 5] = s4 * s2 / 720.0 - rate * G[j, 6]
        G[j, 4] = s4 * span / 120.0 - rate * G[j, 5]
        G[j, 3] = s4 / 24.0 - rate * G[j, 4]
        G[j, 2] = s2 * span / 6.0 - rate * G[j, 3]
        G[j, 1] = s2 / 2.0 - rate * G[j, 2]
        G[j, 0] = span - rate * G[j, 1]
    else:
        G[j, 0] = -math.expm1(-x) / rate
        power = 1.0
        for k in range(1, 8):
            power *= span / k
            G[j, k] = (power - G[j, k - 1]) / rate


@helper
def decayed(x: float) -> float:
    """exp(-x) for x >= 0."""
    if x > SMALL:
        return math.exp(-x)
    # Taylor series of exp(-x / 2) to the 12th power (what is left out is below 1e-15), summed in pairs, squared
    h = 0.5 * x
    h2 = h * h
    h4 = h2 * h2
    low = (1.0 - h) + h2 * (1.0 / 2.0 - h / 6.0)
    mid = (1.0 / 24.0 - h / 120.0) + h2 * (1.0 / 720.0 - h / 5040.0)
    top = (1.0 / 40320.0 - h / 362880.0) + h2 * (1.0 / 3628800.0 - h / 39916800.0) + h4 / 479001600.0
    p = low + h4 * (mid + h4 * top)
    return p * p


@helper
def ripple_shape(mean: float, pulses: int) -> float:
    r"""How much a ripple of straight lines swings beyond its third moment, for this mean voltage in bus voltages.

    With :math:`\rho` the ripple beside its line, over a window of length 1 about its middle, and d the share of time
    under the higher voltage, c is :math:`\int (\int \rho)^2 / (\int \tfrac{t^3}{6} \rho)^2`:

    .. math:: c_2(d) = \frac{7680\,(11 + 22 d - 20 d^2 + 2 d^3 + d^4)}{(1 + d)^2 (3 + d^2)^2}, \qquad
              c_1(d) = \frac{1920\,(1 + 4 d + d^2)}{(1 + d)^4}                                 (eq:ripple-shape)

    for two equal pulses in a window (three levels) and for one in its middle (two levels).
    """
    if pulses == 1:
        d = 0.5 * (1.0 + mean)
        below = (1.0 + d) * (1.0 + d)
        return 1920.0 * (1.0 + d * (4.0 + d)) / (below * below)
    d = abs(mean)
    d2 = d * d
    below = (1.0 + d) * (3.0 + d2)
    return 7680.0 * (11.0 + d * (22.0 - 20.0 * d + 2.0 * d2) + d2 * d2) / (below * below)
