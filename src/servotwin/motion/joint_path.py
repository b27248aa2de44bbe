r"""A path in joint space: positions and their rates over a parameter, joined by quintics.

Theory: docs/theory/paths.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from servotwin.compiled.jit import kernel
from servotwin.mechanism.model import Array

ENDS = (0.0, 1.0)


@dataclass(frozen=True)
class JointPath:
    r"""Positions q (m, n) at s (m,), with q' and q''; between them the quintic that meets all six.

    .. math:: \dot q = q' \dot s, \quad \ddot q = q'' \dot s^2 + q' \ddot s              (eq:path-rates)
    """

    s: Array
    q: Array
    dq: Array
    ddq: Array

    @property
    def length(self) -> float:
        """The last s."""
        return float(self.s[-1])

    @cached_property
    def coefficients(self) -> Array:
        """Of the quintics (m - 1, 6, n), by rising powers of the way from the knot before."""
        c = np.empty((self.s.size - 1, 6, self.q.shape[1]))
        like = np.ascontiguousarray
        quintics(self.s, like(self.q), like(self.dq), like(self.ddq), c)
        return c

    def at(self, s: Array) -> tuple[Array, Array, Array]:
        """q, q' and q'' (k, n) at s (k,)."""
        out = np.empty((3, len(s), self.q.shape[1]))
        polynomials_at(self.s, self.coefficients, np.asarray(s, dtype=np.float64), out[0], out[1], out[2])
        return out[0], out[1], out[2]

    def part(self, s_from: float, s_to: float) -> JointPath:
        """The same path between two parameters, counted from zero."""
        inside = self.s[(self.s > s_from) & (self.s < s_to)]
        s = np.concatenate([[s_from], inside, [s_to]])
        return JointPath(s - s_from, *self.at(s))


def straight(q_from: Array, q_to: Array) -> JointPath:
    """The straight line in joint space, s from 0 to 1."""
    rows = np.zeros((6, q_to.size))
    rows[0], rows[1] = q_from, q_to
    rows[2:4] = q_to - q_from
    return path_of_rows(rows)


def path_of_rows(rows: Array) -> JointPath:
    """The path from s = 0 to 1 with these positions, first and second rates at both ends (6, n)."""
    return JointPath(np.array(ENDS), rows[:2], rows[2:4], rows[4:])


# --- compiled: paths with many points ---------------------------------------------------------------------
@kernel
def quintics(knots: Array, q: Array, dq: Array, ddq: Array, c: Array) -> None:
    """Coefficients c (m - 1, 6, n) of the quintics with values, first and second rates (m, n) at knots (m,)."""
    for i in range(len(knots) - 1):
        h = knots[i + 1] - knots[i]
        for j in range(q.shape[1]):
            p = q[i + 1, j] - q[i, j] - h * (dq[i, j] + 0.5 * h * ddq[i, j])
            v = h * (dq[i + 1, j] - dq[i, j] - h * ddq[i, j])
            a = h * h * (ddq[i + 1, j] - ddq[i, j])
            c[i, 0, j], c[i, 1, j], c[i, 2, j] = q[i, j], dq[i, j], 0.5 * ddq[i, j]
            c[i, 3, j] = (10.0 * p - 4.0 * v + 0.5 * a) / h**3  # eq:blend
            c[i, 4, j] = (-15.0 * p + 7.0 * v - a) / h**4
            c[i, 5, j] = (6.0 * p - 3.0 * v + 0.5 * a) / h**5


@kernel
def polynomials_at(knots: Array, c: Array, s: Array, q: Array, dq: Array, ddq: Array) -> None:
    """Values, first and second rates (k, n) at s (k,) of the quintics c (m - 1, 6, n) between knots (m,)."""
    for k in range(len(s)):
        i, beyond = 0, len(knots) - 1
        while beyond - i > 1:
            middle = (i + beyond) // 2
            if s[k] >= knots[middle]:
                i = middle
            else:
                beyond = middle
        u = s[k] - knots[i]
        for j in range(q.shape[1]):
            c0, c1, c2, c3, c4, c5 = c[i, 0, j], c[i, 1, j], c[i, 2, j], c[i, 3, j], c[i, 4, j], c[i, 5, j]
            q[k, j] = ((((c5 * u + c4) * u + c3) * u + c2) * u + c1) * u + c0
            dq[k, j] = (((5.0 * c5 * u + 4.0 * c4) * u + 3.0 * c3) * u + 2.0 * c2) * u + c1
            ddq[k, j] = ((20.0 * c5 * u + 12.0 * c4) * u + 6.0 * c3) * u + 2.0 * c2
