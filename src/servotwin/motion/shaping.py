r"""Shaped motions: what a main controller commands is delayed in parts, period by period, so that modes stay at rest.

An impulse of a shaper lies at a phase :math:`\theta_i` of the swing behind the command. With the phase
:math:`\varphi(t) = \int \omega_d\,dt` of the mode along the motion,

.. math:: y(t) = \sum_i A_i\, u(g_i(t)), \qquad \varphi(g_i(t)) = \varphi(t) - \theta_i            (eq:followed-shaper)

so that a frequency that changes with the pose is followed; with a constant one it is the convolution with the shaper.
Samples are the periods of the main controller: an instant :math:`g_i` between two of them takes a part of each
(eq:split-impulse). Rates follow with :math:`\dot g_i = \omega_d(t)/\omega_d(g_i)`.
Theory: docs/theory/input-shaping.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from servotwin.linear.shapers import Shaper
from servotwin.mechanism.model import Array

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]
Frequency = Callable[[float], float]  # natural frequency [rad/s] of a mode after a part (0 to 1) of the way
ROOM = 256  # samples
MOST_SAMPLES = 10_000_000
POSES = 25  # of a motion that tell how frequencies change along it


@dataclass(frozen=True)
class ShapedMode:
    """A shaper and, if it follows the pose, the frequency of its mode there."""

    shaper: Shaper
    follow: Frequency | None = None

    def frequency(self, part: float) -> float:
        """Damped frequency [rad/s] that counts after a part of the way."""
        shaper = self.shaper
        natural = shaper.frequency if self.follow is None else self.follow(part)
        return natural * math.sqrt(1.0 - shaper.damping**2)


class ImpulseFilter:
    """One shaper on a sampled command: ``step`` takes its next sample and gives the shaped one.

    A sample is an array (3, d): values, rates and second rates. Before the first one the command was at rest there.
    """

    def __init__(self, mode: ShapedMode, T: float, first: Array, w: float) -> None:
        self.mode, self.T = mode, T
        self._signals = np.zeros((ROOM, *first.shape))
        self._phases, self._speeds = np.zeros(ROOM), np.zeros(ROOM)
        self._signals[0], self._speeds[0] = first, w
        self._signals[0, 1:] = 0.0
        self._last = 0
        self._weights = self._split_weights(w)

    def _split_weights(self, w: float) -> Array:
        """Amplitudes (k,), raised by what splitting between samples takes from the mode; a followed one has its own."""
        amplitudes = self.mode.shaper.amplitudes
        if self.mode.follow is not None:
            return amplitudes
        place = self.mode.shaper.phases / (w * self.T)
        f = place - np.floor(place + 1e-9)
        left = np.abs(1.0 - f + f * np.exp(-1j * w * self.T))
        return np.asarray((amplitudes / left) / (amplitudes / left).sum())

    @property
    def settled(self) -> bool:
        """Whether the command has stood still for so long that nothing is to come any more."""
        k = self._last
        if self._signals[k, 1:].any():
            return False
        first = self._at(self._phases[k] - self.mode.shaper.phases[-1])[0]
        here = self._signals[max(first, 0) : k + 1]
        return bool((here[:, 1:] == 0.0).all() and (here[:, 0] == here[-1, 0]).all())

    def step(self, signal: Array, w: float) -> Array:
        """The shaped sample (3, d) for the next one, at which the mode swings with w [rad/s]."""
        k = self._last = self._last + 1
        self._make_room()
        self._signals[k], self._speeds[k] = signal, w
        self._phases[k] = self._phases[k - 1] + 0.5 * (w + self._speeds[k - 1]) * self.T
        growth = (w - self._speeds[k - 1]) / self.T
        out = np.zeros_like(signal)
        for weight, phase in zip(self._weights, self.mode.shaper.phases, strict=True):
            out += weight * self._delayed(self._phases[k] - phase, w, growth)  # eq:followed-shaper
        return out

    def _make_room(self) -> None:
        while self._last >= len(self._phases):
            self._signals, self._phases, self._speeds = (
                np.concatenate([kept, np.zeros_like(kept)])
                for kept in (self._signals, self._phases, self._speeds)
            )

    def rewind(self, count: int) -> None:
        """Be where it was so many samples ago."""
        self._last -= count

    def block(self, signals: Array) -> tuple[Array, BoolArray]:
        """What ``step`` gives for samples (k, 3, d) one after the other, and after which it has ``settled`` (k,).

        Of a shaper that follows no frequency.
        """
        k, w = self._last, self.mode.frequency(0.0)
        self._last += len(signals)
        self._make_room()
        here = slice(k + 1, self._last + 1)
        self._signals[here], self._speeds[here] = signals, w
        steps = np.full(len(signals) + 1, 0.5 * (w + w) * self.T)
        steps[0] = self._phases[k]
        self._phases[here] = np.cumsum(steps)[1:]
        out = np.zeros_like(signals)
        for weight, phase in zip(self._weights, self.mode.shaper.phases, strict=True):
            i, f = self._places(self._phases[here] - phase)
            f = f[:, None, None]
            onward = self._signals[np.minimum(i + 1, self._last)]
            found = np.where(f == 0.0, self._signals[i], (1.0 - f) * self._signals[i] + f * onward)
            out += weight * found  # eq:followed-shaper, eq:split-impulse
        return out, self._rests(k + 1, i)

    def _rests(self, begin: int, last: IntArray) -> BoolArray:
        """Whether it has settled at samples from ``begin`` on; ``last`` (k,): where their last impulses are."""
        low = int(last[0])
        known = self._signals[low : self._last + 1]
        changes = (known[1:] != known[:-1]).any(axis=(1, 2))
        since = low + np.maximum.accumulate(np.append(0, np.where(changes, np.arange(1, len(known)), 0)))
        moves = known[begin - low :, 1:].any(axis=(1, 2))
        return np.asarray(~moves & (last >= since[begin - low :]))

    def _places(self, phases: Array) -> tuple[IntArray, Array]:
        """As ``_at``, of phases (k,) up to that of the last sample; before all of them: the first."""
        known = self._phases[: self._last + 1]
        i = np.clip(np.searchsorted(known, phases, side="right") - 1, 0, self._last)
        after = np.minimum(i + 1, self._last)
        gap = np.where(after > i, known[after] - known[i], 1.0)
        return i, np.where((phases < 0.0) | (after == i), 0.0, (phases - known[i]) / gap)

    def _at(self, phase: float) -> tuple[int, float]:
        """The sample before a phase, and the part of the way to the next one; -1: before all of them."""
        if phase < 0.0:
            return -1, 0.0
        i = int(np.searchsorted(self._phases[: self._last + 1], phase, side="right")) - 1
        if i >= self._last:
            return self._last, 0.0
        return i, (phase - self._phases[i]) / (self._phases[i + 1] - self._phases[i])

    def _delayed(self, phase: float, w: float, growth: float) -> Array:
        """The command at an earlier phase (3, d), its rates those of now."""
        i, f = self._at(phase)
        if i < 0:
            return np.asarray(self._signals[0])
        if f == 0.0:
            found, then, slope = self._signals[i].copy(), float(self._speeds[i]), 0.0
        else:
            found = (1.0 - f) * self._signals[i] + f * self._signals[i + 1]  # eq:split-impulse
            then = float((1.0 - f) * self._speeds[i] + f * self._speeds[i + 1])
            slope = float(self._speeds[i + 1] - self._speeds[i]) / self.T
        if self.mode.follow is not None:
            rate = w / then
            found[2] = rate * rate * found[2] + (growth - slope * rate * rate) / then * found[1]
            found[1] *= rate
        return np.asarray(found)


class ShapingFilter:
    """The shapers of several modes one behind the other; see ``ImpulseFilter``."""

    def __init__(self, modes: Sequence[ShapedMode], T: float, first: Array) -> None:
        self.modes = tuple(modes)
        self._stages = [ImpulseFilter(mode, T, first, mode.frequency(0.0)) for mode in modes]

    @property
    def settled(self) -> bool:
        """Whether nothing is to come any more."""
        return all(stage.settled for stage in self._stages)

    def step(self, signal: Array, part: float) -> Array:
        """The shaped sample (3, d) for the next one, after a part of the way."""
        for mode, stage in zip(self.modes, self._stages, strict=True):
            signal = stage.step(signal, mode.frequency(part))
        return signal

    def rewind(self, count: int) -> None:
        """Be where it was so many samples ago."""
        for stage in self._stages:
            stage.rewind(count)

    def block(
        self, signals: Array, part: float, part_of: Callable[[Array], float]
    ) -> tuple[Array, BoolArray]:
        """What ``step`` gives for samples (k, 3, d) one after the other, and after which it has ``settled`` (k,).

        ``part`` of the way before the first one, ``part_of``: that of a shaped sample.
        """
        if any(mode.follow is not None for mode in self.modes):
            rows, rests = np.zeros_like(signals), np.zeros(len(signals), dtype=bool)
            for k, signal in enumerate(signals):
                rows[k] = self.step(signal, part)
                rests[k], part = self.settled, part_of(rows[k])
            return rows, rests
        settled = np.ones(len(signals), dtype=bool)
        for stage in self._stages:
            signals, rests = stage.block(signals)
            settled &= rests
        return signals, settled


def longest(modes: Sequence[ShapedMode]) -> float:
    """By how much shapers delay the end of a motion [s], at the frequencies that they are made for."""
    return sum(mode.shaper.duration for mode in modes)


@dataclass(frozen=True)
class ShapedMotion:
    """A motion from rest whose joints are all shaped alike: samples (k, 3, n) every ``T`` [s] from zero on.

    In between it is the polynomial of fifth order that meets positions, speeds and accelerations of both ends.
    ``start_times``, ``durations``, ``arrivals`` (m,) [s]: of its moves, as shaped; ``added`` [s]: how much longer all
    of it is than planned.
    """

    T: float
    samples: Array
    start_times: Array
    durations: Array
    duration: float
    added: float = 0.0

    @property
    def arrivals(self) -> Array:
        """When each move has reached its target (m,) [s]."""
        return self.start_times + self.durations

    def sample(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration (k, n) at the times t (k,) [s]; at rest before and after."""
        times = np.clip(np.atleast_1d(np.asarray(t, dtype=np.float64)) / self.T, 0.0, len(self.samples) - 1.0)
        nearest = np.round(times)
        times = np.where(np.abs(times - nearest) < 1e-6, nearest, times)  # on a sample it is that sample
        i = np.minimum(times.astype(np.int64), len(self.samples) - 2)
        x, T = (times - i)[:, None], self.T
        q0, v0, a0 = (self.samples[i, k] for k in range(3))
        q1, v1, a1 = (self.samples[i + 1, k] for k in range(3))
        v0, v1, a0, a1 = v0 * T, v1 * T, a0 * T * T, a1 * T * T
        gap = q1 - q0 - v0 - 0.5 * a0
        c3 = 10.0 * gap - 4.0 * (v1 - v0 - a0) + 0.5 * (a1 - a0)
        c4 = -15.0 * gap + 7.0 * (v1 - v0 - a0) - (a1 - a0)
        c5 = 6.0 * gap - 3.0 * (v1 - v0 - a0) + 0.5 * (a1 - a0)
        q = q0 + x * (v0 + x * (0.5 * a0 + x * (c3 + x * (c4 + x * c5))))
        qd = (v0 + x * (a0 + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))) / T
        qdd = (a0 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5))) / (T * T)
        return q, qd, qdd


def shaped_joints(
    sample: Callable[[Array], tuple[Array, Array, Array]],
    starts: Array,
    durations: Array,
    duration: float,
    modes: Callable[[Array], Sequence[ShapedMode]],
    T: float,
) -> ShapedMotion:
    """Moves (m,) one after the other with all joints shaped alike, so that straight lines of joints stay straight.

    ``sample``: positions, speeds and accelerations (k, n) of the moves at times (k,) [s]; ``modes``: shapers for a move
    through joints (25, n). Every move begins after the one before has come to rest, and its dwell is kept.
    """
    rows: list[Array] = []
    begins, lasts = np.zeros(len(starts)), np.zeros(len(starts))
    ends = np.append(starts[1:], duration)
    for k, (start, last, following) in enumerate(zip(starts, durations, ends, strict=True)):
        begins[k] = (len(rows) - 1) * T if rows else 0.0
        count = math.ceil(last / T - 1e-9)
        times = np.minimum(start + T * np.arange(count + 1), start + last)
        signals = np.stack(sample(times), axis=1)  # (count + 1, 3, n)
        signals[-1, 1:] = 0.0
        if last > 0.0:
            poses = sample(start + last * np.linspace(0.0, 1.0, POSES))[0]
            shaped = _shaped(signals, modes(by_way(poses)), T)
        else:
            shaped = signals
        rows += list(shaped if not rows else shaped[1:])
        lasts[k] = (len(rows) - 1) * T - begins[k]
        dwell = math.ceil((following - start - last) / T - 1e-9)
        rest = np.zeros_like(rows[-1])
        rest[0] = rows[-1][0]
        rows += [rest] * max(dwell, 0)
    samples = np.array(rows if len(rows) > 1 else rows * 2)
    whole = (len(rows) - 1) * T
    return ShapedMotion(T, samples, begins, lasts, whole, max(whole - duration, 0.0))


def by_way(poses: Array, count: int = POSES) -> Array:
    """Joints (count, n) after equal parts of the way through poses (k, n)."""
    lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(poses, axis=0), axis=1)))
    if lengths[-1] == 0.0:
        return np.repeat(poses[-1:], count, axis=0)
    places = np.linspace(0.0, lengths[-1], count)
    return np.stack([np.interp(places, lengths, column) for column in poses.T], axis=1)


def _shaped(signals: Array, modes: Sequence[ShapedMode], T: float) -> Array:
    """Samples (k, 3, n) of a move from rest to rest, shaped, until it is at rest."""
    first, last = signals[0].copy(), signals[-1]
    first[1:] = 0.0
    way = last[0] - first[0]
    square = float(way @ way)
    chain = ShapingFilter(modes, T, first)
    out = [first]
    for k in range(1, MOST_SAMPLES):
        part = float((out[-1][0] - first[0]) @ way) / square if square > 0.0 else 1.0
        out.append(chain.step(signals[min(k, len(signals) - 1)], part))
        if k >= len(signals) - 1 and chain.settled:
            break
    out[-1] = last
    return np.array(out)
