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
from typing import NamedTuple

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.law_sampling import CLOSEST, ROOM, LawNumbers, fill_cells
from servotwin.motion.peaks import NODES, SLOPES, X, largest_peak


class Peak(NamedTuple):
    """The largest size of a function: ``size`` at ``place``, in which column; ``doubt`` is the part of it that bounds
    the error of the polynomial."""

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
        return np.asarray((self.edges[:-1, None] + half * (1.0 + X)).ravel())

    def halved(self) -> Cells:
        """Twice as many of them."""
        middles = 0.5 * (self.edges[:-1] + self.edges[1:])
        return Cells(np.sort(np.concatenate([self.edges, middles])))

    def slopes(self, values: Array) -> Array:
        """The rate (m * NODES, k) of a function given by its values there."""
        half = 0.5 * np.diff(self.edges)[:, None, None]
        return np.asarray((SLOPES @ self._split(values) / half).reshape(values.shape))

    def largest(self, values: Array, ignore: float = 0.0) -> Peak:
        """The peak of the size of a function (m * NODES, k); a peak surely below ``ignore`` is only sampled."""
        return self.peak(*largest_peak(np.ascontiguousarray(values), ignore))

    def peak(self, size: float, column: int, cell: int, x: float, doubt: float) -> Peak:
        """The peak that ``largest_peak`` found."""
        low, high = self.edges[cell], self.edges[cell + 1]
        x = x if x <= 1.0 else X[int(x) - 2]
        return Peak(size, column, float(low + 0.5 * (high - low) * (1.0 + x)), doubt)

    def _split(self, values: Array) -> Array:
        return values.reshape(self.edges.size - 1, NODES, values.shape[1])


def cells_of_law(numbers: LawNumbers, s: Array) -> Cells:
    """The time of a law in cells in which it is smooth along a path that is so between the parameters s (k,)."""
    edges, at = np.empty(s.size + ROOM), np.empty(NODES * (s.size + ROOM))
    count = fill_cells(*numbers, s, edges, at)
    return cells_with_nodes(edges[: count + 1], at[: NODES * count])


def cells_with_nodes(edges: Array, at: Array) -> Cells:
    """Cells between ``edges`` (m + 1,) whose nodes (m * NODES,) are known."""
    cells = Cells(edges)
    cells.__dict__["at"] = at
    return cells


def cells_between(*edges: Array) -> Cells:
    """Cells between all the edges, those that coincide taken as one."""
    points = np.sort(np.concatenate(edges))
    keep = np.append(np.diff(points) > CLOSEST * (points[-1] - points[0]), True)
    keep[0] = True
    points = points[keep]
    if points.size > 2 and points[1] - points[0] <= CLOSEST * (points[-1] - points[0]):
        points = np.delete(points, 1)
    return Cells(points)
