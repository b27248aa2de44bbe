r"""A path in joint space: positions and their rates over a parameter, joined by quintics.

Theory: docs/theory/paths.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.curves import polynomial, quintic_through


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
    def _coefficients(self) -> Array:
        """(m - 1, 6, n)"""
        if self.s.size == 2:
            one, two = ((self.q[k], self.dq[k], self.ddq[k]) for k in (0, 1))
            return quintic_through(one, two, float(self.s[1] - self.s[0]))[None]
        from servotwin.motion.tracking import quintics

        c = np.empty((self.s.size - 1, 6, self.q.shape[1]))
        q, dq, ddq = (np.ascontiguousarray(x) for x in (self.q, self.dq, self.ddq))
        quintics(self.s, q, dq, ddq, c)
        return c

    def at(self, s: Array) -> tuple[Array, Array, Array]:
        """q, q' and q'' (k, n) at s (k,)."""
        if self.s.size == 2:
            return polynomial(self._coefficients[0], s - self.s[0])
        from servotwin.motion.tracking import polynomials_at

        out = np.empty((3, len(s), self.q.shape[1]))
        polynomials_at(self.s, self._coefficients, np.asarray(s, dtype=np.float64), out[0], out[1], out[2])
        return out[0], out[1], out[2]

    def part(self, s_from: float, s_to: float) -> JointPath:
        """The same path between two parameters, counted from zero."""
        inside = self.s[(self.s > s_from) & (self.s < s_to)]
        s = np.concatenate([[s_from], inside, [s_to]])
        return JointPath(s - s_from, *self.at(s))


def straight(q_from: Array, q_to: Array) -> JointPath:
    """The straight line in joint space, s from 0 to 1."""
    step = q_to - q_from
    zero = np.zeros((2, step.size))
    return JointPath(np.array([0.0, 1.0]), np.array([q_from, q_to]), np.array([step, step]), zero)
