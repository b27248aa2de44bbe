"""The compiled part of ``extremes``: the largest value of polynomials through samples, cell by cell."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import chebyshev

from servotwin.compiled.jit import helper, kernel
from servotwin.mechanism.model import Array, BoolArray

NODES = 7  # samples of a cell
DENSE = 25  # points of a cell at which the polynomial is evaluated; Newton's method finds the peak in between
STRIDE = 2.0 / (DENSE - 1)
FALL = 7.0  # the sum of the last two coefficients is at least this many times the error of the polynomial

X = -np.cos((2 * np.arange(NODES) + 1) * np.pi / (2 * NODES))  # Chebyshev's nodes
COEFFICIENTS = np.linalg.inv(chebyshev.chebvander(X, NODES - 1))  # (coefficient, node)
SLOPES = chebyshev.chebvander(X, NODES - 2) @ chebyshev.chebder(
    COEFFICIENTS
)  # (node, node): rates in -1 .. 1
POWERS = np.zeros((NODES, NODES))  # (Chebyshev's polynomial, coefficients of its powers)
for _k in range(NODES):
    POWERS[_k, : _k + 1] = chebyshev.cheb2poly(np.eye(NODES)[_k, : _k + 1])


@helper
def horner(p: Array, x: float) -> tuple[float, float, float]:
    """Value, first and second derivative of a polynomial with coefficients p (NODES,) of rising powers."""
    value, slope, bend = p[NODES - 1], 0.0, 0.0
    for i in range(NODES - 2, -1, -1):
        bend = bend * x + slope
        slope = slope * x + value
        value = value * x + p[i]
    return value, slope, 2.0 * bend


@helper
def summit(p: Array) -> tuple[float, float]:
    """Where a polynomial is largest in size within -1 .. 1, and how large: a grid, then Newton's method."""
    x, size = -1.0, -1.0
    for g in range(DENSE):
        at = -1.0 + STRIDE * g
        y = abs(horner(p, at)[0])
        if y > size:
            x, size = at, y
    low, high = max(x - STRIDE, -1.0), min(x + STRIDE, 1.0)
    at = x
    for _ in range(3):
        _, slope, bend = horner(p, at)
        if bend != 0.0:
            at = min(max(at - slope / bend, low), high)
    y = abs(horner(p, at)[0])
    return (at, y) if y > size else (x, size)


@kernel
def largest_peak(values: Array, ignore: float) -> tuple[float, int, int, float, float]:
    """Bound (eq:extreme) of a function (m * NODES, k), column, cell, place in it (-1 .. 1), doubt.

    Where no polynomial is larger than the largest sample, or all are surely below ``ignore``, it is that
    sample: the place is then beyond 1 by the number of the sample in its cell.
    """
    least, column, row = -1.0, 0, 0
    for k in range(values.shape[0]):
        for j in range(values.shape[1]):
            if abs(values[k, j]) > least:
                least, column, row = abs(values[k, j]), j, k
    size, cell, place, doubt = least, row // NODES, 2.0 + row % NODES, 0.0
    c, p = np.empty(NODES), np.empty(NODES)
    enough = max(least * (1.0 + 1e-12), ignore)
    for m in range(values.shape[0] // NODES):
        for j in range(values.shape[1]):
            # Few cells can hold more than the largest sample: those whose coefficients add up to more.
            most = 0.0
            for i in range(NODES):
                c[i] = 0.0
                for n in range(NODES):
                    c[i] += COEFFICIENTS[i, n] * values[NODES * m + n, j]
                most += abs(c[i])
            if not most > enough:
                continue
            for i in range(NODES):
                p[i] = 0.0
                for n in range(NODES):
                    p[i] += c[n] * POWERS[n, i]
            unseen = (abs(c[NODES - 2]) + abs(c[NODES - 1])) / FALL
            x, top = summit(p)
            if top + unseen > size:  # eq:extreme
                size, column, cell, place, doubt = top + unseen, j, m, x, unseen
    return size, column, cell, place, doubt


@kernel
def farthest_outside(stands: Array, low: Array, high: Array, reach: BoolArray) -> tuple[float, int, int]:
    """How far points (m, n) are outside of low .. high (n,) at most, negative inside; which column, which row.

    ``reach`` (n,) becomes true where a column may pass a limit between two points: one that is further from its limits
    than it moves between two of them does not.
    """
    worst, axis, row = -np.inf, 0, 0
    for j in range(stands.shape[1]):
        nearest, longest = -np.inf, 0.0
        for k in range(stands.shape[0]):
            beyond = max(low[j] - stands[k, j], stands[k, j] - high[j])
            nearest = max(nearest, beyond)
            if k > 0:
                longest = max(longest, abs(stands[k, j] - stands[k - 1, j]))
            if beyond > worst or (beyond == worst and k < row):
                worst, axis, row = beyond, j, k
        reach[j] = -nearest <= longest
    return worst, axis, row
