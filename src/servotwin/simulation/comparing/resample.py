r"""Recorded signals at other instants: means over a row against means, instants against instants.

A row k of a mean stands for the time since the row before, :math:`(t_{k-1}, t_k]`; the first begins with the run.
So its value belongs to the middle of that time, and means over other intervals (a, b] follow from the integral:

.. math:: \bar x(a, b) = \frac{X(b) - X(a)}{b - a}, \quad X(t_k) = \sum_{j \le k} x_j (t_j - t_{j-1})   (eq:row-means)

An instantaneous value is read from the line through the middles; its error is of second order in the row's length.
"""

from __future__ import annotations

import numpy as np

from servotwin.mechanism.model import Array


def interpolate(t: Array, x: Array, at: Array, rate: Array | None = None) -> Array:
    """``x`` at other instants: cubic with its known ``rate``, linear without; held beyond the ends."""
    if rate is None or len(t) < 2:
        return np.interp(at, t, x)
    k = np.clip(np.searchsorted(t, at, side="right") - 1, 0, len(t) - 2)
    h = t[k + 1] - t[k]
    u = np.clip((at - t[k]) / np.where(h > 0.0, h, 1.0), 0.0, 1.0)
    rest = 1.0 - u
    known = rest**2 * (1.0 + 2.0 * u) * x[k] + u**2 * (1.0 + 2.0 * rest) * x[k + 1]
    return np.asarray(known + h * u * rest * (rest * rate[k] - u * rate[k + 1]), dtype=np.float64)


def row_starts(t: Array, first: float) -> Array:
    """When the rows that end at ``t`` (k,) began [s]; the first one at ``first``."""
    return np.concatenate([[first], t[:-1]])


def middles(t: Array, first: float) -> Array:
    """The middles of the rows that end at ``t`` (k,) [s]; the first row begins at ``first``.

    >>> middles(np.array([1.0, 2.0, 4.0]), 0.0).tolist()
    [0.5, 1.5, 3.0]
    """
    return 0.5 * (t + row_starts(t, first))


def mean_of_means(t: Array, x: Array, a: Array, b: Array) -> Array:
    """Means over (a, b] of a signal whose rows x (k,) are means up to t (k,), the first from zero on."""
    edges = np.concatenate([[0.0], t])
    total = np.concatenate([[0.0], np.cumsum(x * np.diff(edges))])
    return np.asarray((np.interp(b, edges, total) - np.interp(a, edges, total)) / (b - a))  # eq:row-means


def mean_of_instants(t: Array, x: Array, a: Array, b: Array) -> Array:
    """Means over (a, b] of a signal whose rows x (k,) are values at the instants t (k,)."""
    total = np.concatenate([[0.0], np.cumsum(0.5 * (x[1:] + x[:-1]) * np.diff(t))])
    return (interpolate(t, total, b, x) - interpolate(t, total, a, x)) / (b - a)  # eq:row-means
