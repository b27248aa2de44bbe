r"""Time shift between two records of one motion, finer than their samples.

A measured record whose clock started earlier or later than the simulated one
is the same curve moved in time:

.. math:: y(t) \approx a\, s(t - \delta) + c

The shift is found coarsely at the peak of the cross-correlation of the rates,
which vanish at rest so that records may begin and end anywhere in a standstill,
and then by least squares over delta, a and c. Freeing a and c, the zero of an
encoder and an error of the simulated amplitude do not pass for a delay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.errors import ServotwinError
from servotwin.mechanism.model import Array

GRID = 1 << 14  # most points of the coarse search
REACH = 25  # steps of the coarse grid that the fine search looks to either side
FINE = 1e-9  # s, a thousandth of a microsecond is far below any sampling
GOLDEN = 0.6180339887498949  # (sqrt(5) - 1) / 2
LEAST_SHARE = 0.25  # of the shorter record that must overlap


@dataclass(frozen=True)
class Pair:
    """One quantity twice: simulated at ``t_s`` (j,), measured at ``t_m`` (k,); ``rate`` if it vanishes at rest."""

    t_s: Array
    s: Array
    t_m: Array
    m: Array
    rate: bool = False

    @property
    def moves(self) -> bool:
        """Whether both curves change."""
        return bool(np.ptp(self.s) > 0.0 and np.ptp(self.m) > 0.0)


def estimate_shift(pairs: Sequence[Pair]) -> float:
    """The shift delta [s] that all pairs share; a measured record that lags has a positive one."""
    moving = [pair for pair in pairs if pair.moves]
    if not moving:
        raise ServotwinError("nothing that was measured moves, so that the shift in time cannot be found")
    step = _step(moving)
    return refine_shift(moving, _coarse(moving, step), REACH * step)


def _step(pairs: Sequence[Pair]) -> float:
    """Step of the coarse grid: the coarser sampling, but not more points than GRID."""
    sampling = max(max(float(np.median(np.diff(p.t_s))), float(np.median(np.diff(p.t_m)))) for p in pairs)
    span = max(float(np.ptp(p.t_s) + np.ptp(p.t_m)) for p in pairs)
    return max(sampling, span / GRID)


def _coarse(pairs: Sequence[Pair], step: float) -> float:
    start_s, end_s = min(p.t_s[0] for p in pairs), max(p.t_s[-1] for p in pairs)
    start_m, end_m = min(p.t_m[0] for p in pairs), max(p.t_m[-1] for p in pairs)
    grid_s = np.arange(start_s, end_s + step, step)
    grid_m = np.arange(start_m, end_m + step, step)
    total = np.zeros(len(grid_s) + len(grid_m) - 1)
    for pair in pairs:
        a, b = np.interp(grid_s, pair.t_s, pair.s), np.interp(grid_m, pair.t_m, pair.m)
        if not pair.rate:
            a, b = np.gradient(a), np.gradient(b)
        size = float(np.linalg.norm(a) * np.linalg.norm(b))
        if size > 0.0:
            total += _correlation(b, a) / size
    lag = int(np.argmax(total)) - (len(grid_s) - 1)
    return float(lag * step + start_m - start_s)


def _correlation(b: Array, a: Array) -> Array:
    """Sums of b[k + lag] a[k] for the lags from 1 - len(a) to len(b) - 1.

    >>> np.round(_correlation(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0])), 12).tolist()
    [1.0, 2.0, 3.0, 0.0]
    """
    room = 1 << (len(a) + len(b) - 2).bit_length()  # from there on the sums do not wrap round
    found = np.fft.irfft(np.fft.rfft(b, room) * np.conj(np.fft.rfft(a, room)), room)
    return np.concatenate([found[room - len(a) + 1 :], found[: len(b)]])


def refine_shift(pairs: Sequence[Pair], start: float, reach: float) -> float:
    """The minimum of the misfit within ``reach`` of ``start``."""
    moving = [pair for pair in pairs if pair.moves]
    if not moving or reach <= 0.0:
        return start
    trials = start + np.linspace(-reach, reach, 4 * REACH + 1)
    misfits = [_misfit(moving, float(trial)) for trial in trials]
    best = int(np.argmin(misfits))
    if not np.isfinite(misfits[best]):
        return start
    width = float(trials[1] - trials[0])
    centre = float(trials[best])
    found, misfit = _least(lambda shift: _misfit(moving, shift), centre - width, centre + width)
    return found if misfit <= misfits[best] else centre


def _least(function: Callable[[float], float], a: float, b: float) -> tuple[float, float]:
    """Place and value of the minimum of a function between a and b, by golden sections."""
    c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    at_c, at_d = function(c), function(d)
    while b - a > FINE:
        if at_c <= at_d:
            b, d, at_d = d, c, at_c
            c = b - GOLDEN * (b - a)
            at_c = function(c)
        else:
            a, c, at_c = c, d, at_d
            d = a + GOLDEN * (b - a)
            at_d = function(d)
        if not a < c < d < b:  # times so large that they have no digits left
            break
    return (c, at_c) if at_c <= at_d else (d, at_d)


def _misfit(pairs: Sequence[Pair], shift: float) -> float:
    """What is left of the measured variance after the best a s + c, as a share; where the records overlap."""
    total = 0.0
    for pair in pairs:
        at = pair.t_m - shift
        inside = (at >= pair.t_s[0]) & (at <= pair.t_s[-1])
        shorter = min(float(np.ptp(pair.t_m)), float(np.ptp(pair.t_s)))
        if inside.sum() < 4 or float(np.ptp(at[inside])) < LEAST_SHARE * shorter:
            return float("inf")
        y, x = pair.m[inside], np.interp(at[inside], pair.t_s, pair.s)
        spread = float(np.var(y) * np.var(x))
        if spread <= 0.0:
            return float("inf")
        total += 1.0 - float(np.mean((y - y.mean()) * (x - x.mean()))) ** 2 / spread
    return total / len(pairs)
