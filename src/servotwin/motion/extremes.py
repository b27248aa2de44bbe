r"""The largest values of a smooth function between its samples.

The time of a motion, or the parameter of a path, is cut into cells in which everything is smooth. In every cell
the function is sampled at Chebyshev's nodes :math:`x_j = \cos((2j + 1)\pi/(2N))` and replaced by its polynomial

.. math:: f(x) \approx \sum_{k=0}^{N-1} c_k T_k(x), \quad
          |f| \le \max_x \Big|\sum_k c_k T_k(x)\Big| + \tfrac17 (|c_{N-2}| + |c_{N-1}|)         (eq:extreme)

which is true where the coefficients fall at least four times from one to the next: the error of the polynomial is
at most twice the sum of those that it leaves out. Theory: docs/theory/paths.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import chebyshev

from servotwin.mechanism.model import Array

NODES = 7  # of a cell
DENSE = 25  # points of a cell at which the polynomial is looked at; Newton's method finds the peak in between
STRIDE = 2.0 / (DENSE - 1)
NEAR = 0.01  # of the largest: how much a cell may be lower at those points
FALL = 7.0  # the last two coefficients are at least this many times what is left out
CLOSEST = 1e-10  # of the whole: edges nearer to each other are one

_X = -np.cos((2 * np.arange(NODES) + 1) * np.pi / (2 * NODES))
_COEFFICIENTS = np.linalg.inv(chebyshev.chebvander(_X, NODES - 1))  # (coefficient, node)
_GRID = np.linspace(-1.0, 1.0, DENSE)
_DENSE = chebyshev.chebvander(_GRID, NODES - 1)
_SLOPES = chebyshev.chebvander(_X, NODES - 2) @ chebyshev.chebder(_COEFFICIENTS)  # (node, node)
_ORDER = np.arange(NODES)
_POWERS = np.zeros((NODES, NODES))  # (Chebyshev's polynomial, coefficients of its powers)
for _k in range(NODES):
    _POWERS[_k, : _k + 1] = chebyshev.cheb2poly(np.eye(NODES)[_k, : _k + 1])


@dataclass(frozen=True)
class Peak:
    """The largest size of a function: ``size`` at ``place``, in which column; ``doubt`` is the part of it added
    for what the polynomial does not show."""

    size: float
    column: int
    place: float
    doubt: float


@dataclass(frozen=True)
class Cells:
    """Cells between ``edges`` (m + 1,), sampled at ``at`` (m * NODES,)."""

    edges: Array

    @cached_property
    def at(self) -> Array:
        """Where to sample."""
        half = 0.5 * np.diff(self.edges)[:, None]
        return np.asarray((self.edges[:-1, None] + half * (1.0 + _X)).ravel())

    def halved(self) -> Cells:
        """Twice as many of them."""
        middles = 0.5 * (self.edges[:-1] + self.edges[1:])
        return Cells(np.sort(np.concatenate([self.edges, middles])))

    def slopes(self, values: Array) -> Array:
        """The rate (m * NODES, k) of a function given by its values there."""
        half = 0.5 * np.diff(self.edges)[:, None, None]
        return np.asarray((_SLOPES @ self._split(values) / half).reshape(values.shape))

    def largest(self, values: Array, ignore: float = 0.0) -> Peak:
        """The peak of the size of a function (m * NODES, k); one surely below ``ignore`` is only sampled."""
        size = np.abs(values)
        k, column = np.unravel_index(int(np.argmax(size)), size.shape)
        least = float(size[k, column])
        peak = Peak(least, int(column), float(self.at[k]), 0.0)
        c = _COEFFICIENTS @ self._split(values)
        # Few cells can hold more than the largest sample: those whose coefficients add up to more.
        most = np.abs(c).sum(axis=1)
        cells, columns = np.nonzero(most > max(least * (1.0 + 1e-12), ignore))
        if not cells.size:
            return peak
        c = c[cells, :, columns]
        y = np.abs(c @ _DENSE.T)
        i = np.argmax(y, axis=1)
        top, doubt = y[np.arange(i.size), i], np.abs(c[:, -2:]).sum(axis=1) / FALL
        close = np.nonzero(top + doubt > (1.0 - NEAR) * (top + doubt).max())[0]
        x, highest = _summits(c[close], _GRID[i[close]])
        bound = np.maximum(highest, top[close]) + doubt[close]  # eq:extreme
        best = int(np.argmax(bound))
        if bound[best] <= least:
            return peak
        which = close[best]
        low, high = self.edges[cells[which]], self.edges[cells[which] + 1]
        place = low + 0.5 * (high - low) * (1.0 + x[best])
        return Peak(float(bound[best]), int(columns[which]), float(place), float(doubt[which]))

    def _split(self, values: Array) -> Array:
        return values.reshape(self.edges.size - 1, NODES, values.shape[1])


def _summits(c: Array, x: Array) -> tuple[Array, Array]:
    """Where the polynomials c (k, NODES) are largest in size near x (k,), and how large: Newton's method."""
    value = c @ _POWERS
    first = value[:, 1:] * _ORDER[1:]
    second = first[:, 1:] * _ORDER[1:-1]
    at = x
    for _ in range(3):
        slope, bend = _horner(first, at), _horner(second, at)
        step = np.divide(-slope, bend, out=np.zeros_like(slope), where=bend != 0.0)
        at = np.minimum(np.maximum(at + step, np.maximum(x - STRIDE, -1.0)), np.minimum(x + STRIDE, 1.0))
    return at, np.abs(_horner(value, at))


def _horner(c: Array, x: Array) -> Array:
    """Polynomials with coefficients c (k, n) of rising powers, at x (k,)."""
    total = c[:, -1]
    for i in range(c.shape[1] - 2, -1, -1):
        total = total * x + c[:, i]
    return total


def cells_between(*edges: Array) -> Cells:
    """Cells between all the edges, those that coincide taken as one."""
    points = np.sort(np.concatenate(edges))
    keep = np.append(np.diff(points) > CLOSEST * (points[-1] - points[0]), True)
    keep[0] = True
    points = points[keep]
    if points.size > 2 and points[1] - points[0] <= CLOSEST * (points[-1] - points[0]):
        points = np.delete(points, 1)
    return Cells(points)
