r"""What a winding makes of pulses and of a changing speed over a window: exponentials, and the shape of the ripple.

What a current makes of a polynomial speed over a whole window of length S is, with :math:`\lambda = R/L`, made of

.. math:: G_k = \int_0^S e^{-\lambda (S-t)} \frac{t^k}{k!}\,dt, \qquad
          G_{k-1} = \frac{S^k}{k!} - \lambda G_k                                        (eq:window-functions)
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper

SMALL = 0.75  # lambda S up to which series are used


@helper
def window_series(rate: float, span: float) -> tuple[float, float, float, float, float, float, float, float]:
    """G_0 to G_7 of eq:window-functions for lambda S up to ``SMALL``, the last by its series."""
    # 8! G_7 / S^8 = sum (-x)^k 8! / (k + 8)! to the 10th power, what is left out is below 1e-15
    x = rate * span
    x2 = x * x
    x4 = x2 * x2
    low = (1.0 - x / 9.0) + x2 * (1.0 / 90.0 - x / 990.0)
    mid = (1.0 / 11880.0 - x / 154440.0) + x2 * (1.0 / 2162160.0 - x / 32432400.0)
    top = 1.0 / 518918400.0 - x / 8821612800.0 + x2 / 158789030400.0
    p = low + x4 * (mid + x4 * top)
    s2 = span * span
    s4 = s2 * s2
    g7 = s4 * s4 / 40320.0 * p
    g6 = s4 * s2 * span / 5040.0 - rate * g7
    g5 = s4 * s2 / 720.0 - rate * g6
    g4 = s4 * span / 120.0 - rate * g5
    g3 = s4 / 24.0 - rate * g4
    g2 = s2 * span / 6.0 - rate * g3
    g1 = s2 / 2.0 - rate * g2
    return span - rate * g1, g1, g2, g3, g4, g5, g6, g7


@helper
def window_functions(G: Any, j: int, rate: float, span: float) -> None:
    """G_0 to G_7 of eq:window-functions in row j; the last by its series or from the exponential."""
    x = rate * span
    if x < SMALL:
        G[j, 0], G[j, 1], G[j, 2], G[j, 3], G[j, 4], G[j, 5], G[j, 6], G[j, 7] = window_series(rate, span)
    else:
        G[j, 0] = -math.expm1(-x) / rate
        power = 1.0
        for k in range(1, 8):
            power *= span / k
            G[j, k] = (power - G[j, k - 1]) / rate


@helper
def window_functions_of(G: Any, known: Any, j: int, rate: float, span: float) -> None:
    """The same in column j, unless it holds them for this rate and span already, as ``known`` says."""
    if known[0, j] == rate and known[1, j] == span:
        return
    known[0, j], known[1, j] = rate, span
    x = rate * span
    if x < SMALL:
        G[0, j], G[1, j], G[2, j], G[3, j], G[4, j], G[5, j], G[6, j], G[7, j] = window_series(rate, span)
    else:
        G[0, j] = -math.expm1(-x) / rate
        power = 1.0
        for k in range(1, 8):
            power *= span / k
            G[k, j] = (power - G[k - 1, j]) / rate


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
def one_pulse_shape(mean: float) -> float:
    """c_1 of eq:ripple-shape."""
    d = 0.5 * (1.0 + mean)
    below = (1.0 + d) * (1.0 + d)
    return 1920.0 * (1.0 + d * (4.0 + d)) / (below * below)


@helper
def two_pulse_shape(mean: float) -> float:
    """c_2 of eq:ripple-shape."""
    d = abs(mean)
    d2 = d * d
    below = (1.0 + d) * (3.0 + d2)
    return 7680.0 * (11.0 + d * (22.0 - 20.0 * d + 2.0 * d2) + d2 * d2) / (below * below)


@helper
def ripple_shape(mean: float, pulses: int) -> float:
    r"""How much a ripple of straight lines swings beyond its third moment, for this mean voltage in bus voltages.

    With :math:`\rho` the ripple beside its line, over a window of length 1 about its middle, and d the share of time
    under the higher voltage, c is :math:`\int (\int \rho)^2 / (\int \tfrac{t^3}{6} \rho)^2`:

    .. math:: c_2(d) = \frac{7680\,(11 + 22 d - 20 d^2 + 2 d^3 + d^4)}{(1 + d)^2 (3 + d^2)^2}, \qquad
              c_1(d) = \frac{1920\,(1 + 4 d + d^2)}{(1 + d)^4}                                 (eq:ripple-shape)

    for two equal pulses in a window (three levels) and for one in its middle (two levels).
    """
    return one_pulse_shape(mean) if pulses == 1 else two_pulse_shape(mean)
