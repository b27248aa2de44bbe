r"""The length of a planned motion's path as a parameter of it: the joints as a function of the way they have gone.

.. math:: \sigma(t) = \int_0^t |W \dot q|\,dt, \qquad
          q' = \frac{\dot q}{\dot\sigma}, \quad
          q'' = \frac{\ddot q - q'\,\ddot\sigma}{\dot\sigma^2}, \quad
          \ddot\sigma = \frac{(W \dot q)\cdot(W \ddot q)}{\dot\sigma}                              (eq:path-length)

with W one over the largest speeds of the joints. A clock that reads :math:`\sigma` otherwise than planned leaves the
path as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from servotwin.mechanism.model import Array

FINEST = 20_000  # intervals of a motion
SLOWEST = 1e-7  # of the largest rate: below, a motion stands, and its tangent is that beside it
HALVINGS = 60


class Sampled(Protocol):
    """A planned motion from rest to rest."""

    @property
    def duration(self) -> float:
        """[s]"""

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration (k, n) at t (k,)."""


@dataclass(frozen=True)
class PathLength:
    """Table of eq:path-length over the time of a motion: nodes ``t`` (k,) [s], ``s`` and ``rate`` (k,) there.

    ``stops`` (m,) [s]: where the motion stands on its way, its end the last; ``bends`` (l,) [s]: where it is slower
    than before and after.
    """

    motion: Sampled
    weights: Array  # W (n,)
    t: Array
    s: Array
    rate: Array
    stops: Array
    bends: Array

    @classmethod
    def of(cls, motion: Sampled, speeds: Array, step: float, nodes: Array) -> PathLength:
        """``speeds`` (n,): largest of the joints; ``step`` [s] of the table at most; ``nodes`` (m,) [s]: are in it."""
        finite = np.isfinite(speeds) & (speeds > 0.0)
        weights = np.where(finite, 1.0 / np.where(finite, speeds, 1.0), 1.0)
        end = motion.duration
        count = int(min(max(np.ceil(end / step), 2), FINEST))
        t = np.union1d(np.linspace(0.0, end, count + 1), nodes[(nodes >= 0.0) & (nodes <= end)])
        both = np.sort(np.concatenate([t, 0.5 * (t[1:] + t[:-1])]))
        bends = slowest_times(motion, weights, both)
        if bends.size:
            t = np.union1d(t, bends)
            both = np.sort(np.concatenate([t, 0.5 * (t[1:] + t[:-1])]))
        rates = np.linalg.norm(motion.sample(both)[1] * weights, axis=1)
        rates[0] = rates[-1] = 0.0
        ends, middles = rates[::2], rates[1::2]
        s = np.append(0.0, np.cumsum(np.diff(t) * (ends[:-1] + 4.0 * middles + ends[1:]) / 6.0))
        stands = ends <= SLOWEST * max(float(ends.max()), 1e-300)
        stands[0], stands[-1] = False, True
        stops = t[stands & np.append(True, np.diff(s) >= 0.0)]
        return cls(motion, weights, t, s, ends, stops, bends)

    @property
    def length(self) -> float:
        """Of the whole path."""
        return float(self.s[-1])

    def lengths(self, times: Array) -> Array:
        """Lengths (k,) at times (k,) [s], as ``at`` gives them."""
        i = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.t) - 2)
        h = self.t[i + 1] - self.t[i]
        x = np.clip((times - self.t[i]) / h, 0.0, 1.0)
        v0, v1, gap = h * self.rate[i], h * self.rate[i + 1], self.s[i + 1] - self.s[i]
        return np.asarray(self.s[i] + x * (v0 + x * (3.0 * gap - 2.0 * v0 - v1 + x * (v0 + v1 - 2.0 * gap))))

    def at(self, time: float) -> float:
        """Length at a time [s]: a cubic between the nodes."""
        i = int(np.clip(np.searchsorted(self.t, time, side="right") - 1, 0, len(self.t) - 2))
        h = float(self.t[i + 1] - self.t[i])
        x = min(max((time - float(self.t[i])) / h, 0.0), 1.0)
        return self._cubic(i, h, x)

    def _cubic(self, i: int, h: float, x: float) -> float:
        s0, s1 = float(self.s[i]), float(self.s[i + 1])
        v0, v1 = h * float(self.rate[i]), h * float(self.rate[i + 1])
        gap = s1 - s0
        return s0 + x * (v0 + x * (3.0 * gap - 2.0 * v0 - v1 + x * (v0 + v1 - 2.0 * gap)))

    def time(self, s: float) -> float:
        """Time [s] at which a length is reached; of a stop its begin."""
        if s <= 0.0:
            return 0.0
        if s >= self.length:
            return float(self.t[-1])
        i = int(np.searchsorted(self.s, s, side="left")) - 1
        h = float(self.t[i + 1] - self.t[i])
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            x = 0.5 * (low + high)
            if self._cubic(i, h, x) < s:
                low = x
            else:
                high = x
        return float(self.t[i]) + h * high

    def times(self, lengths: Array) -> Array:
        """Times (k,) [s] at which lengths (k,) are reached, as ``time`` gives them."""
        i = np.clip(np.searchsorted(self.s, lengths, side="left") - 1, 0, len(self.t) - 2)
        h = self.t[i + 1] - self.t[i]
        s0, v0, v1 = self.s[i], h * self.rate[i], h * self.rate[i + 1]
        gap = self.s[i + 1] - s0
        c2, c3 = 3.0 * gap - 2.0 * v0 - v1, v0 + v1 - 2.0 * gap
        low, high = np.zeros_like(h), np.ones_like(h)
        for _ in range(HALVINGS):
            x = 0.5 * (low + high)
            before = s0 + x * (v0 + x * (c2 + x * c3)) < lengths
            low, high = np.where(before, x, low), np.where(before, high, x)
        inside = np.where(lengths >= self.length, self.t[-1], self.t[i] + h * high)
        return np.asarray(np.where(lengths <= 0.0, 0.0, inside))

    def rates(self, time: float) -> tuple[float, float]:
        """First and second rate of the length at a time of the motion."""
        _, qd, qdd = self.motion.sample(np.array([time]))
        v, a = qd[0] * self.weights, qdd[0] * self.weights
        rate = float(np.linalg.norm(v))
        if rate <= SLOWEST * float(self.rate.max()):  # from rest: along the acceleration
            return 0.0, float(np.linalg.norm(a))
        return rate, float(v @ a) / rate  # eq:path-length

    def many_rates(self, times: Array) -> tuple[Array, Array]:
        """First and second rates (k,) of the length at times (k,) [s]."""
        _, qd, qdd = self.motion.sample(times)
        v, a = qd * self.weights, qdd * self.weights
        rate = np.linalg.norm(v, axis=1)
        slow = rate <= SLOWEST * float(self.rate.max())
        growth = np.where(slow, np.linalg.norm(a, axis=1), (v * a).sum(axis=1) / np.where(slow, 1.0, rate))
        return np.where(slow, 0.0, rate), growth  # eq:path-length

    def many_motions(self, places: Array) -> tuple[Array, Array]:
        """qd, qdd (k, n) on the way through lengths with their first and second rates (k, 3).

        qdd only where the motion as planned is not too slow to tell how the path bends.
        """
        times = self.times(places[:, 0])
        _, qd, qdd = self.motion.sample(times)
        rate, growth = (x[:, None] for x in self.many_rates(times))
        slow = rate <= 1e-3 * float(self.rate.max())
        first = qd / np.where(rate > 0.0, rate, 1.0)
        second = np.where(slow, 0.0, (qdd - first * growth) / np.where(slow, 1.0, rate) ** 2)
        v, a = places[:, 1:2], places[:, 2:3]
        return first * v, np.where(slow, 0.0, second * v * v + first * a)

    def motion_at(self, time: float, rate: float, growth: float) -> tuple[Array, Array, Array]:
        """q, qd, qdd (n,) at a place of the path that is passed with these first and second rates of the length."""
        q, first, second = self.tangent(time)
        return q, first * rate, second * rate * rate + first * growth

    def motions_at(self, times: Array, rates: Array, growths: Array) -> tuple[Array, Array, Array]:
        """As ``motion_at``, of places (k,)."""
        q, qd, qdd = self.motion.sample(times)
        rate = np.linalg.norm(qd * self.weights, axis=1)
        slow = rate <= SLOWEST * float(self.rate.max())
        rate = np.where(slow, 1.0, rate)[:, None]
        first = qd / rate
        growth = ((qd * self.weights) * (qdd * self.weights)).sum(axis=1, keepdims=True) / rate
        second = (qdd - first * growth) / rate**2  # eq:path-length
        for k in np.flatnonzero(slow):
            _, first[k], second[k] = self.tangent(float(times[k]))
        v, a = rates[:, None], growths[:, None]
        return q, first * v, second * v * v + first * a

    def tangent(self, time: float) -> tuple[Array, Array, Array]:
        """q, q', q'' (n,) by the length at a time of the motion."""
        q, qd, qdd = (x[0] for x in self.motion.sample(np.array([time])))
        rate = float(np.linalg.norm(qd * self.weights))
        if rate > SLOWEST * float(self.rate.max()):
            first = qd / rate
            growth = float((qd * self.weights) @ (qdd * self.weights)) / rate
            return q, first, (qdd - first * growth) / (rate * rate)  # eq:path-length
        size = float(np.linalg.norm(qdd * self.weights))
        if size == 0.0:
            return q, np.zeros_like(q), np.zeros_like(q)
        onward = qdd / size if time < 0.5 * (self.t[0] + self.t[-1]) else -qdd / size
        return q, onward, np.zeros_like(q)


def slowest_times(motion: Sampled, weights: Array, t: Array) -> Array:
    """Times (m,) [s] between ``t`` at which a motion is slower than before and after: its sharpest bends.

    Where it goes back the way that it came it stands there for an instant only.
    """
    _, qd, qdd = motion.sample(t)
    v, a = qd * weights, qdd * weights
    least = SLOWEST * float(np.linalg.norm(v, axis=1).max())
    slows = (v * a).sum(axis=1) < 0.0
    turned = (v[1:] * v[:-1]).sum(axis=1) < -(least**2)
    k = np.flatnonzero((slows[:-1] & ~slows[1:]) | turned)
    low, high = t[k], t[k + 1]
    for _ in range(HALVINGS if k.size else 0):
        middle = 0.5 * (low + high)
        _, qd, qdd = motion.sample(middle)
        before = ((qd * weights) * (qdd * weights)).sum(axis=1) < 0.0
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return 0.5 * (low + high)
