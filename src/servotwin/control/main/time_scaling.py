r"""Along a planned motion at another pace: override, pause and stop leave the path as it is.

The trajectory is a function of its own time s; a clock of variable rate r = ds/dt reads it:

.. math:: q = q(s), \quad \dot q = r\, q'(s), \quad \ddot q = r^2 q''(s) + \dot r\, q'(s)     (eq:time-scaling)

The rate goes to what is wanted with limited slope and limited change of slope, and no faster than the
limits of acceleration allow. A trajectory within its limits stays so at any constant rate up to 1, so that
standing still is always within reach. Theory: docs/theory/time-scaling.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from servotwin.description.frames import Array

Motion = tuple[Array, Array, Array]  # q, qd, qdd (n,) each
SLACK = 1e-6  # of a limit, for the rounding of a plan that uses it fully
ROUNDED = 1.01  # of a limit: what the mean over a period may be
HALVINGS = 8
LESS = 1e-3  # of a slope that is lowered to a limit
INSTANT = 1e-4  # s, for the acceleration of the tool
SAMPLED, LEAST, MOST = 0.01, 32, 4096  # s between samples of a speed, and how many at least and at most
SLOWED = 8  # times that a rate is lowered for the time to brake at most
CLOSE = 1e-3  # share of the time to brake that may be missed then
SLOWER = 0.8  # of a rate at which a motor's voltage leaves it no torque
RAMP = 0.016  # s in which a stop that leads comes to its full braking, and leaves it
LAST = 0.5  # of full braking: what is left of the rate ends with it in one period
BATCH = 256  # instants at most that are sampled at once while the rate is constant


class Planned(Protocol):
    """A planned motion, at rest at both ends (``servotwin.motion.trajectory.Trajectory``)."""

    @property
    def duration(self) -> float:
        """[s]"""

    @property
    def starts(self) -> Array:
        """When each segment begins [s]."""

    @property
    def owners(self) -> tuple[int, ...]:
        """The instruction of each segment."""

    def sample(self, t: Array) -> Motion:
        """Position, velocity, acceleration (k, n) at t (k,)."""


@dataclass(frozen=True)
class Pace:
    """How quickly the rate may change: ``slope`` [1/s], ``bend`` [1/s2]; ``shaped``: input shaping stays on.

    ``share``: of the limits of acceleration that may be used; ``retry``: by how much a slope is lowered that would pass
    them at the end of the period; ``leads``: the reference leads where position loops follow late (``leading_stop``).
    """

    slope: float
    bend: float
    shaped: bool = True
    share: float = 1.0
    retry: float = 0.5
    leads: bool = False


GENTLE = Pace(slope=4.0, bend=40.0)  # override and pause: from full speed to rest in about 0.35 s
FIRM = Pace(slope=50.0, bend=math.inf, shaped=False)  # stop: what the limits of acceleration allow, at once
# Nobody watches the arm any more: motors give more for a moment than a cycle may ask of them again and again.
HARD = Pace(slope=100.0, bend=math.inf, shaped=False, share=2.0, retry=0.8, leads=True)


# Least and largest slope of the rate that motors allow at q, q', q'' (n,) and a rate.
Slopes = Callable[[Array, Array, Array, float], tuple[float, float]]


@dataclass(frozen=True)
class ToolLimit:
    """``pace``: speed of the tool point for q (n,), qd (n,) [m/s]; ``acceleration`` [m/s2] along its path at most."""

    pace: Callable[[Array, Array], float]
    acceleration: float


def stoppable_rate(
    trajectory: Planned,
    acceleration: Array,
    seconds: float,
    braking_times: Callable[[Array, Array], Array] | None = None,
) -> float:
    """The largest rate, at most 1, from which a motion comes to rest within a time by ``HARD`` braking.

    ``braking_times`` (k,) [s] that motors need, for positions and speeds (k, n), nan where they have no torque.
    """
    if not math.isfinite(seconds) or trajectory.duration <= 0.0:
        return 1.0
    count = min(max(round(trajectory.duration / SAMPLED), LEAST), MOST)
    q, qd, _ = trajectory.sample(np.linspace(0.0, trajectory.duration, count + 1))
    longest, seconds = float((np.abs(qd) / (HARD.share * acceleration)).max(initial=0.0)), max(seconds, 0.0)
    rate = 1.0 if longest <= seconds else seconds / longest
    if braking_times is None:
        return rate
    for _ in range(SLOWED):  # friction and voltage brake a slower arm otherwise
        longest = float(braking_times(q, rate * qd).max(initial=0.0))
        if longest <= seconds * (1.0 + CLOSE):
            break
        rate *= SLOWER if math.isnan(longest) else seconds / longest
    return rate


def braking_slope(rate: float, slope: float, least: float, T: float) -> float:
    """Slope of the next period T [s] of a rate that is braked by ``least`` < 0 at most, begun and ended in ``RAMP``."""
    if rate <= -LAST * least * T:
        return -rate / T
    bend = -least / RAMP
    leaving = bend * T - math.sqrt((bend * T) ** 2 + 2.0 * bend * rate)
    return max(min(max(slope - bend * T, leaving, least), 0.0), -rate / T)


class Instants(NamedTuple):
    """Instants (k,) on a trajectory [s], and q, qd, qdd (k, n) there."""

    times: Array
    q: Array
    qd: Array
    qdd: Array

    def first(self, count: int) -> Instants:
        """Those before the instant ``count``."""
        return self if count == len(self.times) else Instants(*(column[:count] for column in self))


class Cursor:
    """A place on a trajectory, and the rate at which it advances; ``tool``: what its change of pace is held against."""

    def __init__(self, trajectory: Planned, acceleration: Array, tool: ToolLimit | None = None) -> None:
        self.trajectory = trajectory
        self.acceleration = np.asarray(acceleration) * (1.0 + SLACK)
        self.tool = tool
        self.slopes: Slopes | None = None  # in a stop that leads
        self.most = 1.0  # rate: what keeps the speed of points below a bound
        self.steepest = math.inf  # slope [1/s] at which a rate may grow, for loops that overshoot
        self.time = 0.0
        self.rate, self.slope = 0.0, 0.0
        self._here = self._sample(0.0)
        nothing = np.zeros(0)
        self._batch = Instants(nothing, nothing, nothing, nothing)  # at the rate 1; sampled at once
        self._used = 0  # of the batch
        self._batch_for = (-1.0, -1.0)  # rate and period between its instants

    @property
    def done(self) -> bool:
        """Whether the end is reached."""
        return self.time >= self.trajectory.duration

    @property
    def at_rest(self) -> bool:
        """Whether it stands."""
        return self.done or self.rate == 0.0

    @property
    def rate_now(self) -> float:
        """The rate at which the time on the trajectory goes on."""
        return self.rate

    @property
    def plan(self) -> Planned:
        """The motion as it was planned."""
        return self.trajectory

    @property
    def plan_time(self) -> float:
        """Where it is on the motion as it was planned [s]."""
        return self.time

    @property
    def owner(self) -> int:
        """The instruction that is under way."""
        return self._owner(int(np.searchsorted(self.plan.starts, self.plan_time, side="right")) - 1)

    def _owner(self, segment: int) -> int:
        return self.plan.owners[max(segment, 0)]

    def new_owners(self, times: Array) -> list[tuple[int, int]]:
        """Which of the ascending ``times`` (k,) [s] lie in another segment than the one before, and in whose.

        Times are those of the motion as it was planned here and in ``ahead``.
        """
        segments = np.searchsorted(self.plan.starts, np.append(self.plan_time, times), side="right") - 1
        return [(int(i), self._owner(int(segments[i + 1]))) for i in np.flatnonzero(np.diff(segments))]

    def advance(self, T: float, wanted: float, pace: Pace) -> tuple[Motion, float]:
        """Go on for T [s] towards the rate ``wanted``; q, qd, qdd (n,) there and the time left after the end [s]."""
        end = self.trajectory.duration
        if self.time >= end:
            return self._standing(), T
        if self.time == 0.0:  # at its begin the motion stands, whatever the rate
            self.rate, self.slope = wanted, 0.0
        slope = self._wanted_slope(T, wanted, pace)
        for halving in range(HALVINGS + 1):
            rate = min(max(self.rate + slope * T, 0.0), 1.0)
            time = self.time + 0.5 * (self.rate + rate) * T
            if slope == 0.0 and rate > 0.0:
                time, there = self._steady(rate, T)
            else:
                there = self._sample(time)
                self._batch_for = (-1.0, -1.0)
            qdd = rate * rate * there[2] + slope * there[1]  # eq:time-scaling
            if slope == 0.0 or time >= end:
                break
            over = self._over(rate * there[1], qdd, T) / pace.share
            if over <= 1.0:
                break
            slope = 0.0 if halving == HALVINGS - 1 else self._lowered(slope, over, pace, first=halving == 0)
        mean = 0.5 * (self.rate + rate)
        self.time, self.rate, self.slope, self._here = min(time, end), rate, slope, there
        if time >= end:
            self._here = self._sample(end)  # the same bits at every pace: what follows is planned from there
            return self._standing(), min((time - end) / max(mean, 1e-9), T)
        if rate == 0.0:
            return self._standing(), 0.0
        return (there[0], rate * there[1], qdd), 0.0

    def _over(self, qd: Array, qdd: Array, T: float) -> float:
        """Share of the limits of acceleration that a period takes with the speed and acceleration (n,) at its end.

        In its mean as well: where a motion begins to slow down by itself, a stop brakes it twice on the way.
        """
        mean = (qd - self.rate * self._here[1]) / T
        hardest = np.maximum(np.abs(qdd), np.abs(mean) / ROUNDED)
        return float((hardest / self.acceleration).max())

    def _lowered(self, slope: float, over: float, pace: Pace, *, first: bool) -> float:
        """What is tried after a slope that passes the limits of acceleration, ``over`` times, at the end of its period.

        A stop as hard as it can be, of an arm that follows exactly, first gives up no more than it must: on a path that
        still speeds up every period passes them by a little.
        """
        exact = first and pace.leads and self.slopes is None
        return slope * (max((1.0 - LESS) / over, pace.retry) if exact else pace.retry)

    def _standing(self) -> Motion:
        zero = np.zeros_like(self._here[0])
        return self._here[0], zero, zero

    def _steady(self, rate: float, T: float) -> tuple[float, Motion]:
        """The next instant at a constant rate."""
        self._fill(rate, T)
        i, self._used = self._used, self._used + 1
        times, q, qd, qdd = self._batch
        return float(times[i]), (q[i], qd[i], qdd[i])

    def _fill(self, rate: float, T: float) -> None:
        """Sample the next instants at a constant rate, unless some are left: many cost little more than one."""
        if self._batch_for != (rate, T) or self._used == len(self._batch.times):
            left = (self.trajectory.duration - self.time) / (rate * T)
            count = min(BATCH, max(int(left), 0) + 2)  # one beyond the end at least
            times = np.asarray(self.time + rate * T * np.arange(1, count + 1), dtype=np.float64)
            self._batch = Instants(
                times, *self.trajectory.sample(np.minimum(times, self.trajectory.duration))
            )
            self._batch_for, self._used = (rate, T), 0

    def ahead(self, T: float, wanted: float) -> Instants:
        """Instants that the next calls of ``advance`` will come to before the end, as long as nothing else is wanted.

        None while the rate changes; ``skip`` goes on to one of them.
        """
        rate, end = self.rate, self.trajectory.duration
        if not 0.0 < self.time < end or rate != wanted or self.slope != 0.0 or rate <= 0.0:
            return self._batch.first(0)
        self._fill(rate, T)
        times, q, qd, qdd = (column[self._used :] for column in self._batch)
        there = Instants(times, q, rate * qd, rate * rate * qdd + 0.0 * qd)  # eq:time-scaling
        return there.first(int(np.searchsorted(times, end)))

    def skip(self, count: int) -> None:
        """Go on over so many instants of ``ahead``."""
        i = self._used + count - 1
        times, q, qd, qdd = self._batch
        self.time, self._here, self._used = float(times[i]), (q[i], qd[i], qdd[i]), i + 1

    def go_to(self, time: float) -> None:
        """Be at a time of the trajectory [s], at the rate that it has."""
        self.time, self._here = time, self._sample(time)
        self._batch_for = (-1.0, -1.0)

    def stand_back(self, time: float, rate: float) -> None:
        """Be at a time of the trajectory [s], at a rate."""
        self.go_to(time)
        self.rate, self.slope = rate, 0.0

    def _sample(self, time: float) -> Motion:
        q, qd, qdd = self.trajectory.sample(np.array([min(time, self.trajectory.duration)]))
        return q[0], qd[0], qdd[0]

    def _wanted_slope(self, T: float, wanted: float, pace: Pace) -> float:
        """Slope towards the rate ``wanted`` within all limits; a stop that leads begins and ends it in ``RAMP``."""
        if self.slopes is None or not pace.leads or wanted > 0.0:
            return self._within_limits(self._slope(T, wanted, pace), T, pace.share)
        least = self._within_limits(-pace.slope, T, pace.share)
        return braking_slope(self.rate, self.slope, least, T)

    def _slope(self, T: float, wanted: float, pace: Pace) -> float:
        """Slope that leads to the rate ``wanted`` without passing it."""
        gap = wanted - self.rate
        if gap == 0.0 and self.slope == 0.0:
            return 0.0
        swing = math.sqrt(2.0 * pace.bend * abs(gap)) if math.isfinite(pace.bend) else math.inf
        highest = min(pace.slope, self.steepest)
        goal = math.copysign(min(highest if gap > 0.0 else pace.slope, swing), gap)
        change = pace.bend * T
        now = min(max(self.slope, -pace.slope), highest)  # after a harder pace
        slope = min(max(goal, now - change), now + change)
        if slope * gap >= 0.0 and abs(slope) * T >= abs(gap):
            return gap / T
        return min(max(slope, -self.rate / T), (1.0 - self.rate) / T)

    def _within_limits(self, slope: float, T: float, share: float) -> float:
        """The slope, as far as no axis accelerates beyond a share of its limit here."""
        if slope == 0.0:
            return slope
        _, qd, qdd = self._here
        moving = np.abs(qd) > 1e-12
        if not moving.any():
            return slope
        v, a, most = qd[moving], self.rate**2 * qdd[moving], share * self.acceleration[moving]
        if self.tool is not None:
            for time in (self.time, self.time + self.rate * T):  # at both ends of the period
                pace, bend = self._tool_pace(self.tool, time)
                v, a = np.append(v, pace), np.append(a, self.rate**2 * bend)
                most = np.append(most, share * self.tool.acceleration)
        ends = np.sort(np.stack([(-most - a) / v, (most - a) / v]), axis=0)
        low, high = float(ends[0].max()), float(ends[1].min())
        if self.slopes is not None:
            allowed = self.slopes(self._here[0], qd, qdd, self.rate)
            low, high = max(low, allowed[0]), min(high, allowed[1])
        return min(max(slope, min(low, 0.0)), max(high, 0.0))

    def _tool_pace(self, tool: ToolLimit, time: float) -> tuple[float, float]:
        """Speed [m/s] and acceleration [m/s2] of the tool along its path, at the rate 1."""
        here, there = self._sample(time), self._sample(time + INSTANT)
        pace = tool.pace(here[0], here[1])
        return max(pace, 1e-12), (tool.pace(there[0], there[1]) - pace) / INSTANT
