"""Two curves at the same instants: how far they are apart, summed up piece by piece so that long records fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from servotwin.mechanism.model import Array

PIECE = 50_000  # instants that are compared at once
KEPT = 200_000  # most instants of a signal that are kept for page and table; the numbers are those of all
TOGETHER = 1_200_000  # the same of all signals

Piece = Callable[[int, int], tuple[Array, Array, Array]]  # rows from a to b: instants, measured, simulated


@dataclass(frozen=True)
class Metrics:
    """How far two curves are from each other; ``nrmse`` is the RMS over the range of the measured one."""

    samples: int
    rms: float
    max: float
    max_at_s: float
    mean: float
    nrmse: float | None
    correlation: float | None


@dataclass
class _Moments:
    """Sums over the pieces so far: of the difference, and about their means of both curves and their product."""

    count: int = 0
    total: float = 0.0
    square: float = 0.0
    worst: float = -1.0
    worst_at: float = math.nan
    low: float = math.inf
    high: float = -math.inf
    means: Array = field(default_factory=lambda: np.zeros(2))
    spread: Array = field(default_factory=lambda: np.zeros((2, 2)))

    def add(self, t: Array, measured: Array, simulated: Array) -> None:
        """Take in one more piece."""
        difference = simulated - measured
        k, n = int(np.argmax(np.abs(difference))), len(t)
        if abs(difference[k]) > self.worst:
            self.worst, self.worst_at = float(abs(difference[k])), float(t[k])
        self.total += float(difference.sum())
        self.square += float((difference**2).sum())
        self.low, self.high = min(self.low, float(measured.min())), max(self.high, float(measured.max()))
        means = np.array([measured.mean(), simulated.mean()])
        y, s = measured - means[0], simulated - means[1]
        gap, both = means - self.means, self.count + n
        self.spread += np.array([[y @ y, y @ s], [y @ s, s @ s]]) + np.outer(gap, gap) * self.count * n / both
        self.means, self.count = self.means + gap * n / both, both

    def metrics(self) -> Metrics:
        """The numbers of all pieces."""
        root, span = math.sqrt(self.square / self.count), self.high - self.low
        spread = math.sqrt(self.spread[0, 0]) * math.sqrt(self.spread[1, 1])
        joint = float(self.spread[0, 1])
        return Metrics(
            samples=self.count,
            rms=root,
            max=self.worst,
            max_at_s=self.worst_at,
            mean=self.total / self.count,
            nrmse=root / span if span > 0.0 else None,
            correlation=min(1.0, max(-1.0, joint / spread)) if spread > 0.0 else None,
        )


def share(signals: int) -> int:
    """How many instants of a signal are kept, if there are so many signals.

    >>> share(3), share(60)
    (200000, 20000)
    """
    return min(KEPT, max(1, TOGETHER // max(1, signals)))


def differences(rows: int, piece: Piece, most: int) -> tuple[Metrics, Array, Array, Array]:
    """The numbers of all rows; instants, measured and simulated values of ``most`` of them, evenly taken."""
    moments, step = _Moments(), -(-rows // most)
    kept: list[tuple[Array, ...]] = []
    for a in range(0, rows, PIECE):
        found = piece(a, min(a + PIECE, rows))
        if len(found[0]):
            moments.add(*found)
        kept.append(tuple(values[-a % step :: step].copy() for values in found))
    t, measured, simulated = (np.concatenate(part) for part in zip(*kept, strict=True))
    return moments.metrics(), t, measured, simulated


def derived(t: Array, window: float, piece: Piece) -> Piece:
    """The central differences over ``window`` [s] of curves at t (k,), where half of it lies on both sides."""
    half = 0.5 * window

    def rates(a: int, b: int) -> tuple[Array, Array, Array]:
        first = int(np.searchsorted(t, t[a] - window))
        last = int(np.searchsorted(t, t[b - 1] + window, side="right"))
        around, measured, simulated = piece(first, last)
        inside = around[a - first : b - first]
        begin, end = piece(0, 1)[0][0], piece(len(t) - 1, len(t))[0][0]
        inside = inside[(inside >= begin + half) & (inside <= end - half)]
        before, after = inside - half, inside + half
        y, s = (
            (np.interp(after, around, values) - np.interp(before, around, values)) / window
            for values in (measured, simulated)
        )
        return inside, y, s

    return rates
