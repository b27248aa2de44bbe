r"""Time laws: the distance along a path over time.

A law runs from 0 to ``length``. ``make_profile`` gives those that rest at both ends; ``Ramped`` also
begins and ends at a given speed, as the pieces between blends do. Theory: docs/theory/motion.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.law_sampling import (
    CUBIC,
    JERK_LIMITED,
    LINEAR,
    NEWTON,
    SETTLED,
    TABLE,
    LawNumbers,
    sample_ramps,
)
from servotwin.motion.quickest import QUINTIC_ACCELERATION, QUINTIC_SPEED
from servotwin.motion.ramps import (
    ProfileKind,
    RampLimits,
    Shape,
    jerk_share,
    peak_speed,
    ramp_time,
    rest_peak,
)

SHAPES: dict[ProfileKind, Shape] = {
    "cubic-ramp": "cubic",
    "trapezoid": "linear",
    "s-curve": "jerk-limited",
    "quintic": "cubic",  # where a quintic does not rest at both ends
}
KINDS: dict[Shape, int] = {"linear": LINEAR, "cubic": CUBIC, "jerk-limited": JERK_LIMITED}
SHAPE_OF: dict[int, Shape] = {kind: shape for shape, kind in KINDS.items()}
QUINTIC_JERK = 60.0  # largest third rate of 10 x^3 - 15 x^4 + 6 x^5


class Profile(Protocol):
    """The distance along a path over time, from 0 to ``length`` within ``duration`` [s]."""

    @property
    def length(self) -> float:
        """The whole distance [m, rad or a plain number]."""

    @property
    def duration(self) -> float:
        """The whole time [s]."""

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        """Distance, speed and acceleration at the times t (k,) [s]; times before and after count as the ends."""


@dataclass(frozen=True)
class Ramped:
    """A ramp from ``v_from`` to ``top``, constant speed, a ramp to ``v_to``; both ends are met exactly."""

    length: float
    v_from: float
    top: float
    v_to: float
    shape: Shape
    times: tuple[float, float, float]  # rise, cruise, fall
    betas: tuple[float, float]

    @property
    def duration(self) -> float:
        """The whole time [s]."""
        return sum(self.times)

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        """See ``Profile``."""
        t = np.ascontiguousarray(t, dtype=np.float64)
        s, v, a = np.empty_like(t), np.empty_like(t), np.empty_like(t)
        sample_ramps(*self.numbers, t, s, v, a)
        return s, v, a

    @cached_property
    def numbers(self) -> LawNumbers:
        """The law for compiled code."""
        given = (self.length, self.v_from, self.top, self.v_to, *self.times, *self.betas)
        return KINDS[self.shape], np.array(given)


def ramped(length: float, v_from: float, v_to: float, v_most: float, limits: RampLimits) -> Ramped:
    """The quickest law over ``length`` with given end speeds, at most ``v_most``, within ``limits``.

    The end speeds must be reachable from each other within the length (``reachable_speed``).
    """
    top = peak_speed(length, v_from, v_to, v_most, limits)
    T_up, T_down = ramp_time(top - v_from, limits), ramp_time(top - v_to, limits)
    flat = length - 0.5 * (v_from + top) * T_up - 0.5 * (v_to + top) * T_down
    T_flat = max(flat, 0.0) / top if top > 0.0 else 0.0
    betas = jerk_share(top - v_from, limits), jerk_share(top - v_to, limits)
    return Ramped(length, v_from, top, v_to, limits.shape, (T_up, T_flat, T_down), betas)


def rest_ramps(length: float, v_most: float, limits: RampLimits) -> Ramped:
    """``ramped`` from rest to rest, whose two ramps are alike."""
    top = min(v_most, rest_peak(length, limits))
    T = ramp_time(top, limits)
    flat = length - top * T
    T_flat = flat / top if flat > 0.0 and top > 0.0 else 0.0
    beta = jerk_share(top, limits)
    return Ramped(length, 0.0, top, 0.0, limits.shape, (T, T_flat, T), (beta, beta))


def ramps_of_numbers(kind: int, given: Array) -> Ramped:
    """The law whose ``LawNumbers`` these are."""
    length, v_from, top, v_to, rise, flat, fall, up, down = given.tolist()
    return Ramped(length, v_from, top, v_to, SHAPE_OF[kind], (rise, flat, fall), (up, down))


@dataclass(frozen=True)
class Quintic:
    r"""The fifth-order polynomial at rest, without acceleration, at both ends.

    .. math:: s = L (10 x^3 - 15 x^4 + 6 x^5), \quad x = t/T                         (eq:quintic)
    """

    length: float
    duration: float

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        """See ``Profile``."""
        T, L = self.duration or 1.0, self.length
        x = np.clip(t / T, 0.0, 1.0)
        y = np.minimum(x, 1.0 - x)
        part = y**3 * (10.0 - 15.0 * y + 6.0 * y * y)  # eq:quintic
        s = np.where(x > 0.5, L - L * part, L * part)
        curve = 60.0 * L / T**2 * y * (1.0 - y) * (1.0 - 2.0 * y)
        return s, 30.0 * L / T * (y * (1.0 - y)) ** 2, np.where(x > 0.5, -curve, curve)


@dataclass(frozen=True)
class Uniform:
    """Constant speed from the first to the last instant, as in a blend."""

    length: float
    speed: float

    @property
    def duration(self) -> float:
        """The whole time [s]."""
        return self.length / self.speed

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        """See ``Profile``."""
        s = np.clip(t * self.speed, 0.0, self.length)
        return s, np.full_like(s, self.speed), np.zeros_like(s)


@dataclass(frozen=True)
class Slowed:
    r"""A law that takes ``factor`` times as long: :math:`s(t/k)`, speeds by 1/k, accelerations by 1/k^2."""

    law: Profile
    factor: float

    @property
    def length(self) -> float:
        """The whole distance."""
        return self.law.length

    @property
    def duration(self) -> float:
        """The whole time [s]."""
        return self.law.duration * self.factor

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        """See ``Profile``."""
        k = self.factor
        s, sd, sdd = self.law.sample(t / k)
        return s, sd / k, sdd / (k * k)


@dataclass(frozen=True)
class Zoned:
    """Laws one after the other, each begins at the distance and with the speed at which the one before ends."""

    laws: tuple[Ramped, ...]

    @cached_property
    def ways(self) -> Array:
        """Where each begins, and the last one ends (m + 1,)."""
        return np.concatenate([[0.0], np.cumsum([law.length for law in self.laws])])

    @cached_property
    def times(self) -> Array:
        """When each begins, and the last one ends (m + 1,) [s]."""
        return np.concatenate([[0.0], np.cumsum([law.duration for law in self.laws])])

    @property
    def length(self) -> float:
        """The whole distance."""
        return float(self.ways[-1])

    @property
    def duration(self) -> float:
        """The whole time [s]."""
        return float(self.times[-1])

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        """See ``Profile``."""
        t = np.asarray(t, dtype=np.float64)
        which = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.laws) - 1)
        s, v, a = np.empty_like(t), np.empty_like(t), np.empty_like(t)
        for k in np.unique(which):
            here = which == k
            s[here], v[here], a[here] = self.laws[k].sample(t[here] - self.times[k])
            s[here] += self.ways[k]
        return s, v, a


def numbers_of(law: Profile) -> LawNumbers | None:
    """A law for compiled code; None for one that is not made of two ramps."""
    if isinstance(law, Ramped):
        return law.numbers
    if isinstance(law, Uniform):
        v = law.speed
        return LINEAR, np.array([law.length, v, v, v, 0.0, law.duration, 0.0, 0.5, 0.5])
    if isinstance(law, Slowed):
        return slowed_numbers(numbers_of(law.law), law.factor)
    return None


def slowed_numbers(numbers: LawNumbers | None, factor: float) -> LawNumbers | None:
    """The numbers of a law that takes ``factor`` times as long."""
    if numbers is None:
        return None
    kind, given = numbers[0], numbers[1].copy()
    given[1:4] /= factor
    given[4:7] *= factor
    return kind, given


def breaks(law: Profile) -> Array:
    """The instants (m,) [s] between which a law is smooth, its begin and end included."""
    if isinstance(law, Slowed):
        return law.factor * breaks(law.law)
    if isinstance(law, Zoned):
        parts = [begin + breaks(part) for begin, part in zip(law.times, law.laws, strict=False)]
        return np.unique(np.concatenate(parts))
    if not isinstance(law, Ramped):
        return np.array([0.0, law.duration])
    rise, flat, fall = law.times
    if law.shape != "jerk-limited":
        return np.array([0.0, rise, rise + flat, law.duration])
    up, down = (T * beta for T, beta in zip((rise, fall), law.betas, strict=True))
    end = law.duration
    return np.array([0.0, up, rise - up, rise, rise + flat, rise + flat + down, end - down, end])


def times_at(law: Profile, s: Array) -> Array:
    """The instants (k,) [s] at which a law reaches the distances s (k,), which lie between its ends."""
    if isinstance(law, Uniform):
        return s / law.speed
    if isinstance(law, Slowed):
        return law.factor * times_at(law.law, s)
    if isinstance(law, Zoned):
        return _times_in_zones(law, s)
    grid = np.linspace(0.0, law.duration, TABLE)
    ways = law.sample(grid)[0]
    k = np.clip(np.searchsorted(ways, s) - 1, 0, TABLE - 2)
    t, low, high = np.interp(s, ways, grid), grid[k], grid[k + 1]
    for _ in range(NEWTON):
        way, speed, _ = law.sample(t)
        low, high = np.where(way < s, t, low), np.where(way < s, high, t)
        step = np.where(speed > 0.0, (s - way) / np.where(speed > 0.0, speed, 1.0), np.inf)
        after = np.where((t + step >= low) & (t + step <= high), t + step, 0.5 * (low + high))
        settled = np.abs(after - t).max(initial=0.0) <= SETTLED * law.duration
        t = after
        if settled:
            break
    return np.asarray(t)


def _times_in_zones(law: Zoned, s: Array) -> Array:
    which = np.clip(np.searchsorted(law.ways, s, side="right") - 1, 0, len(law.laws) - 1)
    t = np.empty_like(s)
    for k in np.unique(which):
        here = which == k
        t[here] = law.times[k] + times_at(law.laws[k], s[here] - law.ways[k])
    return t


def make_profile(
    kind: ProfileKind,
    length: float,
    speed: float,
    acceleration: float,
    jerk: float | None = None,
    ramp: float | None = None,
) -> Profile:
    r"""The quickest law of its kind from rest to rest along ``length`` within the limits.

    ``speed``, ``acceleration`` and ``jerk`` are in units of the length and above zero. A trapezoid with a limit
    of jerk is an S-curve; without one the jerk is unlimited, except that of the S-curve, which then takes

    .. math:: j = 2 a^2 / V                                                           (eq:usual-jerk)

    and so has ramps as long as the cubic one. With ``ramp`` [s] the cubic ramp takes at least that long,
    and a stroke too short for it keeps it and lowers the top (Lee 1989).

    >>> make_profile("trapezoid", length=1.0, speed=0.5, acceleration=1.0).duration
    2.5
    """
    _check_numbers(kind, length, speed, acceleration, jerk, ramp)
    if kind == "quintic":
        return _quintic(length, speed, acceleration, math.inf if jerk is None else jerk)
    law = rest_ramps(length, speed, ramp_limits(kind, speed, acceleration, jerk))
    if kind == "cubic-ramp" and ramp is not None and law.times[0] < ramp:
        top = min(speed, length / ramp)
        flat = length / top - ramp if top > 0.0 else 0.0
        return Ramped(length, 0.0, top, 0.0, "cubic", (ramp, max(flat, 0.0), ramp), (0.5, 0.5))
    return law


def ramp_limits(kind: ProfileKind, speed: float, acceleration: float, jerk: float | None) -> RampLimits:
    """The ramps of a kind of profile, see ``make_profile``."""
    _check_kind(kind)
    if kind == "trapezoid" and jerk is not None:
        kind = "s-curve"
    if kind == "s-curve" and jerk is None:
        jerk = 2.0 * acceleration**2 / speed  # eq:usual-jerk
    return RampLimits(SHAPES[kind], acceleration, math.inf if jerk is None else jerk)


def _quintic(length: float, speed: float, acceleration: float, jerk: float) -> Quintic:
    r"""The shortest quintic within the limits.

    .. math:: T = \max\left(\frac{15 L}{8 V}, \sqrt{\frac{10 L}{\sqrt3\, a}}, \sqrt[3]{\frac{60 L}{j}}\right)
                                                                                      (eq:quintic-time)
    """
    times = (
        QUINTIC_SPEED * length / speed,
        math.sqrt(QUINTIC_ACCELERATION * length / acceleration),
        (QUINTIC_JERK * length / jerk) ** (1.0 / 3.0),
    )
    return Quintic(length, max(times))  # eq:quintic-time


def _check_kind(kind: str) -> None:
    if kind not in SHAPES:
        raise InputError(f"'{kind}' is no profile; expected {', '.join(SHAPES)}", field="profile")


def _check_numbers(kind: str, length: float, *limits: float | None) -> None:
    _check_kind(kind)
    if not 0.0 <= length < math.inf:
        raise InputError(f"the length is {length}; expected a finite length, at least zero", field="profile")
    for name, value in zip(("speed", "acceleration", "jerk", "ramp"), limits, strict=True):
        if value is not None and not value > 0.0:
            raise InputError(f"the {name} is {value}; expected a number above zero", field="profile")
