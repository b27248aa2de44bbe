r"""A spline of the tool through poses: cubic in place and turn, measured by its own length.

Theory: docs/theory/paths.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.curves import STILL

# Gauss-Legendre nodes and weights on 0 .. 1 for the length of a part of a cubic
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS
PARTS = 8  # of each span between two points, for the length, halved where that is not exact enough
HALVINGS = 30
EXACT = 1e-14  # of the length


@dataclass(frozen=True)
class SplineCurve:
    r"""Cubic splines p(u) and R(u), traversed by the length of p.

    .. math:: s(u) = \int_0^u |p'|\,du, \quad \frac{dp}{ds} = \frac{p'}{|p'|}, \quad
              \frac{d^2p}{ds^2} = \frac{p'' - (p'' \cdot t)\, t}{|p'|^2}                (eq:spline-length)
    """

    place: Any  # scipy CubicSpline
    turn: Any  # scipy RotationSpline
    u_table: Array
    s_table: Array
    knots: Array
    length: float
    metric: bool = True
    kind: str = "spline"

    def pose(self, s: Array) -> Array:
        """See ``Curve``."""
        u = self._parameter(s)
        X = np.zeros((s.size, 4, 4))
        X[:, :3, :3], X[:, :3, 3], X[:, 3, 3] = self.turn(u).as_matrix(), self.place(u), 1.0
        return X

    def rates(self, s: Array) -> tuple[Array, Array]:
        """See ``Curve``."""
        u = self._parameter(s)
        d, dd = self.place(u, 1), self.place(u, 2)
        speed = np.linalg.norm(d, axis=1, keepdims=True)
        tangent = d / speed
        along = np.sum(dd * tangent, axis=1, keepdims=True)
        R = self.turn(u).as_matrix()
        # scipy gives the rates in the turned axes.
        omega = np.einsum("kij,kj->ki", R, self.turn(u, 1))
        alpha = np.einsum("kij,kj->ki", R, self.turn(u, 2))
        bend = (dd - along * tangent) / speed**2  # eq:spline-length
        spin = alpha / speed**2 - omega * along / speed**3
        return np.hstack([tangent, omega / speed]), np.hstack([bend, spin])

    def _parameter(self, s: Array) -> Array:
        """u at the lengths s: from the table, then Newton steps on the integral from the table's point."""
        i = np.clip(np.searchsorted(self.s_table, s, side="right") - 1, 0, self.s_table.size - 2)
        u0, s0 = self.u_table[i], self.s_table[i]
        u = u0 + (s - s0) * (self.u_table[i + 1] - u0) / (self.s_table[i + 1] - s0)
        for _ in range(4):
            u = u - (_length(self.place, u0, u) - (s - s0)) / np.linalg.norm(self.place(u, 1), axis=1)
        return np.asarray(np.clip(u, self.u_table[0], self.u_table[-1]))


def spline(poses: Sequence[Array]) -> SplineCurve:
    """The curve through the poses (4, 4), the first of them its start; at least three."""
    from scipy.interpolate import CubicSpline
    from scipy.spatial.transform import Rotation, RotationSpline

    X = np.array(poses)
    if X.shape[0] < 3:
        raise InputError(f"a spline leads through at least two further points, not {X.shape[0] - 1}")
    p = X[:, :3, 3]
    chords = np.linalg.norm(np.diff(p, axis=0), axis=1)
    if chords.min() < STILL:
        k = int(np.argmin(chords))
        raise InputError(f"points {k} and {k + 1} of the spline coincide; expected different points")
    u = np.concatenate([[0.0], np.cumsum(chords)])
    place = CubicSpline(u, p, bc_type="natural" if X.shape[0] == 3 else "not-a-knot")
    turn = RotationSpline(u, Rotation.from_matrix(X[:, :3, :3]))
    table = _table(place, u)
    s = np.concatenate([[0.0], np.cumsum(_length(place, table[:-1], table[1:]))])
    knots = s[np.searchsorted(table, u)]
    return SplineCurve(place, turn, table, s, knots, float(s[-1]))


def _table(place: Any, u: Array) -> Array:
    """Parameters between which the quadrature of the length is exact, closer where the curve turns sharply."""
    table = np.concatenate([np.linspace(a, b, PARTS, endpoint=False) for a, b in pairwise(u)])
    table = np.append(table, u[-1])
    for _ in range(HALVINGS):
        left, right = table[:-1], table[1:]
        middle = 0.5 * (left + right)
        gap = _length(place, left, right) - _length(place, left, middle) - _length(place, middle, right)
        rough = np.abs(gap) > EXACT * u[-1]
        if not rough.any():
            break
        table = np.sort(np.concatenate([table, middle[rough]]))
    return table


def _length(place: Any, u_from: Array, u_to: Array) -> Array:
    span = u_to - u_from
    u = u_from[:, None] + span[:, None] * _NODES
    speed = np.linalg.norm(place(u, 1), axis=-1)
    return np.asarray(span * (speed @ _WEIGHTS))
