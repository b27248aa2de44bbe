r"""Reachability along a path on a grid: the compiled part of ``time_optimal``.

At point i, with u = sdd constant up to point i + 1 and x = sd^2,

.. math:: x_{i+1} = x_i + 2 (s_{i+1} - s_i) u                                       (eq:grid-step)

and the rows :math:`\alpha u + \beta x \le \gamma` of both ends of the interval and of its middle hold.
"""

from __future__ import annotations

import math

import numpy as np

from servotwin.compiled.jit import strict_kernel
from servotwin.mechanism.model import Array

STEPS = 60


@strict_kernel
def _bounds(x: float, alpha: Array, beta: Array, gamma: Array) -> tuple[float, float, float, float, float]:
    """Least and largest u at x, their slopes over x, and by how much x violates a row without u."""
    low, high, d_low, d_high, broken = -math.inf, math.inf, 0.0, 0.0, 0.0
    for k in range(alpha.size):
        rest = gamma[k] - beta[k] * x
        if alpha[k] > 1e-12:
            u = rest / alpha[k]
            if u < high:
                high, d_high = u, -beta[k] / alpha[k]
        elif alpha[k] < -1e-12:
            u = rest / alpha[k]
            if u > low:
                low, d_low = u, -beta[k] / alpha[k]
        elif -rest > broken:
            broken = -rest
    return low, high, d_low, d_high, broken


@strict_kernel
def _largest(x: float, alpha: Array, beta: Array, gamma: Array) -> float:
    """The largest feasible x below the given one, -1 if there is none.

    low(x) - high(x) is convex: Newton's method from the right comes down to its root in a few steps.
    """
    for k in range(alpha.size):
        if abs(alpha[k]) <= 1e-12 and beta[k] > 1e-12:
            x = min(x, gamma[k] / beta[k])
    for _ in range(STEPS):
        if x < 0.0:
            return -1.0
        low, high, d_low, d_high, broken = _bounds(x, alpha, beta, gamma)
        gap, slope = low - high, d_low - d_high
        if gap <= 1e-12 * (1.0 + abs(low) + abs(high)) or math.isinf(gap):
            return x if broken <= 1e-9 else -1.0
        if slope <= 0.0:
            return -1.0
        x -= gap / slope
    return x if x >= 0.0 else -1.0


@strict_kernel
def _interval(
    i: int,
    s: Array,
    rows: Array,
    room: Array,
    x_max: Array,
    reach: float,
    alpha: Array,
    beta: Array,
    gamma: Array,
) -> None:
    """The rows of point i, of the middle and of point i + 1 seen from i, and 0 <= x_{i+1} <= reach."""
    r, at = rows.shape[1], 0
    for part in range(3):
        f = 2 * i + part
        way = 2.0 * (s[f] - s[2 * i])
        for k in range(r):
            alpha[at] = rows[f, k, 0] + way * rows[f, k, 1]  # eq:grid-step
            beta[at], gamma[at] = rows[f, k, 1], room[f, k]
            at += 1
        alpha[at], beta[at], gamma[at] = way, 1.0, x_max[f]
        at += 1
    whole = 2.0 * (s[2 * i + 2] - s[2 * i])
    alpha[at], beta[at], gamma[at] = whole, 1.0, reach
    alpha[at + 1], beta[at + 1], gamma[at + 1] = -whole, -1.0, 0.0


@strict_kernel
def fastest(s: Array, rows: Array, room: Array, x_max: Array) -> tuple[Array, int]:
    """The largest sd^2 (m,) from rest to rest, and the point where there is none, else -1.

    ``s`` (2 m - 1,) are the points of the grid and the middles between them; there ``rows`` (2 m - 1, r, 2)
    times (sdd, sd^2) are at most ``room`` (2 m - 1, r), and sd^2 alone at most ``x_max`` (2 m - 1,).
    """
    m, count = (s.size + 1) // 2, 3 * (rows.shape[1] + 1) + 2
    alpha, beta, gamma = np.empty(count), np.empty(count), np.empty(count)
    reach, x = np.zeros(m), np.zeros(m)
    for i in range(m - 2, -1, -1):
        _interval(i, s, rows, room, x_max, reach[i + 1], alpha, beta, gamma)
        reach[i] = _largest(x_max[2 * i], alpha, beta, gamma)
        if reach[i] < 0.0:
            return x, i
    for i in range(m - 1):
        _interval(i, s, rows, room, x_max, reach[i + 1], alpha, beta, gamma)
        low, high, _, _, broken = _bounds(x[i], alpha, beta, gamma)
        if low - high > 1e-6 * (1.0 + abs(low) + abs(high)) or broken > 1e-9:
            return x, i
        step = s[2 * i + 2] - s[2 * i]
        x[i + 1] = min(max(x[i] + 2.0 * step * high, 0.0), reach[i + 1])  # eq:grid-step
    return x, -1
