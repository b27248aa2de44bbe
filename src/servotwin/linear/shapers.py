r"""Input shapers: a command is replaced by a few copies of itself, delayed and weighted so that a mode is left at rest.

A shaper is a sequence of impulses :math:`A_i` at times :math:`t_i`, with which a command is convolved. Of the vibration
that the command alone would leave, a mode of natural frequency :math:`\omega` and damping :math:`\zeta` keeps the part

.. math:: V(\omega, \zeta) = \Bigl| \sum_i A_i\, e^{-\zeta\omega (t_n - t_i)}\, e^{j \omega_d t_i} \Bigr|,
          \quad \omega_d = \omega \sqrt{1 - \zeta^2}                                    (eq:shaper-residual)

at the time :math:`t_n` of the last impulse. The weights are positive and add up to one: the shaped command ends where
the command does, and a limit that the command keeps is kept. Theory: docs/theory/input-shaping.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import InputError
from servotwin.linear.system import Array
from servotwin.linear.tolerant_shapers import tolerant_impulses

ShaperKind = Literal["zv", "zvd", "ei", "two-hump"]
KINDS: tuple[ShaperKind, ...] = get_args(ShaperKind)
TOLERANCE = 0.05  # residual vibration that EI shapers allow
MOST_DAMPING = 0.9  # beyond it nothing swings that would have to be shaped


@dataclass(frozen=True)
class Shaper:
    """Impulses (k,) of a shaper for one mode: ``amplitudes`` [-] at damped ``phases`` [rad], the first at zero.

    ``frequency`` natural [rad/s] and ``damping`` of the mode it is made for.
    """

    kind: str
    frequency: float
    damping: float
    phases: Array
    amplitudes: Array

    @property
    def damped_frequency(self) -> float:
        """Frequency with which the mode swings [rad/s]."""
        return self.frequency * math.sqrt(1.0 - self.damping**2)

    @property
    def times(self) -> Array:
        """Times of the impulses (k,) [s]."""
        return np.asarray(self.phases / self.damped_frequency)

    @property
    def duration(self) -> float:
        """By how much a command gets longer [s]."""
        return float(self.times[-1])

    def residual(self, frequency: ArrayLike, damping: float | None = None) -> Array:
        """Part of the vibration that is left of modes of these natural frequencies [rad/s] (eq:shaper-residual)."""
        return residual(self.times, self.amplitudes, frequency, self.damping if damping is None else damping)

    def taps(self, T: float) -> Array:
        """Weights (m,) of the command at this sample, the one before, ...: the impulses, split (``split_impulses``)."""
        return split_impulses(self.times, self.amplitudes, T)


def residual(times: Array, amplitudes: Array, frequency: ArrayLike, damping: float) -> Array:
    """Part of the vibration that impulses (k,) leave of modes of natural ``frequency`` [rad/s] (eq:shaper-residual)."""
    w = np.asarray(frequency, dtype=np.float64)[..., None]
    pole = w * (damping + 1j * math.sqrt(1.0 - damping**2))
    decayed = np.exp(pole * times - (w * damping) * times[-1])
    return np.asarray(np.abs((amplitudes * decayed).sum(axis=-1)))  # eq:shaper-residual


def shaper(kind: str, frequency: float, damping: float = 0.0, *, tolerance: float = TOLERANCE) -> Shaper:
    r"""The shaper of a kind for a mode of natural ``frequency`` [rad/s] and ``damping`` [-].

    With :math:`K = e^{-\zeta\pi/\sqrt{1-\zeta^2}}`, impulses half a swing apart, their weights divided by their sum:

    .. math::

        \text{ZV: } & 1,\ K                                                                             \\
        \text{ZVD: } & 1,\ 2K,\ K^2                                                                     \\
        \text{EI, } \zeta = 0\text{: } & 1 + V,\ 2 (1 - V),\ 1 + V                                      \\
        \text{two-hump, } \zeta = 0\text{: } & a,\ \tfrac12 - a,\ \tfrac12 - a,\ a, \quad
            a = \frac{3 X^2 + 2 X + 3 V^2}{16 X},\ X = \sqrt[3]{V^2 (\sqrt{1 - V^2} + 1)}        (eq:shapers)

    ZV leaves nothing of the mode, ZVD nothing to first order around it. EI allows the part V = ``tolerance`` at the
    mode, and leaves nothing to both sides of it; two-hump leaves nothing at the mode and allows the part to both
    sides. Of damped modes these two solve eq:tolerant-shaper.

    >>> shaper("zvd", 60.0).amplitudes.tolist()
    [0.25, 0.5, 0.25]
    """
    if kind not in KINDS:
        raise InputError(f"'{kind}'; expected one of {', '.join(KINDS)}", field="shaper")
    if not (math.isfinite(frequency) and frequency > 0.0):
        raise InputError(f"{frequency:g} rad/s; expected more than zero", field="frequency")
    if not 0.0 <= damping <= MOST_DAMPING:
        raise InputError(f"{damping:g}; expected 0 to {MOST_DAMPING:g}", field="damping")
    if not 0.0 < tolerance <= 0.5:
        raise InputError(f"{tolerance:g}; expected above 0, and 0.5 at most", field="tolerance")
    if kind in ("ei", "two-hump"):
        amplitudes, phases = tolerant_impulses(3 if kind == "ei" else 4, damping, tolerance)
        return Shaper(kind, frequency, damping, phases, amplitudes)
    K = math.exp(-damping * math.pi / math.sqrt(1.0 - damping**2))
    weights = np.array([1.0, K] if kind == "zv" else [1.0, 2.0 * K, K * K])  # eq:shapers
    return Shaper(
        kind, frequency, damping, np.arange(len(weights)) * np.float64(math.pi), weights / weights.sum()
    )


def convolved(*shapers: Shaper) -> tuple[Array, Array]:
    """Times (k,) [s] and amplitudes (k,) of shapers one after the other: for several modes."""
    times, amplitudes = np.zeros(1), np.ones(1)
    for one in shapers:
        times = np.add.outer(times, one.times).ravel()
        amplitudes = np.multiply.outer(amplitudes, one.amplitudes).ravel()
    order = np.argsort(times, kind="stable")
    return times[order], amplitudes[order]


def split_impulses(times: Array, amplitudes: Array, T: float) -> Array:
    r"""Weights (m,) of samples a period T [s] apart, the newest first, for impulses (k,) that fall between them.

    An impulse A at the time :math:`(i + f) T`, :math:`0 \le f < 1`, becomes two, so that its sum and its first moment
    are kept:

    .. math:: A_i = (1 - f) A, \quad A_{i+1} = f A                                  (eq:split-impulse)

    Both are positive. Of a mode the pair keeps :math:`1 - f(1-f)(\omega T)^2/2` of the impulse.

    >>> split_impulses(np.array([0.0, 0.0025]), np.array([0.5, 0.5]), 0.001).tolist()
    [0.5, 0.0, 0.25, 0.25]
    """
    if not T > 0.0:
        raise InputError(f"{T:g} s; expected more than zero", field="T")
    place = np.asarray(times, dtype=np.float64) / T
    whole = np.floor(place + 1e-9).astype(np.int64)  # rounding does not make two of one
    f = np.maximum(place - whole, 0.0)
    taps = np.zeros(int(whole.max()) + 2)
    np.add.at(taps, whole, (1.0 - f) * amplitudes)  # eq:split-impulse
    np.add.at(taps, whole + 1, f * amplitudes)
    last = int(np.flatnonzero(taps > 0.0)[-1])
    return np.asarray(taps[: last + 1])
