r"""Along a planned motion with its path parameter shaped: straight lines stay straight, whatever the pace.

An unshaped cursor (``time_scaling``) goes ahead on the motion, at the override that is wanted, and the length of path
that it has gone is shaped in real time (eq:followed-shaper); the arm is where the shaped length leads:

.. math:: q = q(\sigma_s), \quad \dot q = q'\,\dot\sigma_s, \quad
          \ddot q = q''\,\dot\sigma_s^2 + q'\,\ddot\sigma_s                                     (eq:shaped-path)

Override, pause and resume are shaped with it, as the filter comes last. A stop that is not shaped (``Pace.shaped``)
lets the shaper go at once and brakes on the path as quickly as the limits of acceleration allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from servotwin.control.main.rests import Rested
from servotwin.control.main.time_scaling import (
    Cursor,
    Instants,
    Motion,
    Pace,
    Planned,
    ToolLimit,
    braking_slope,
)
from servotwin.description.frames import Array
from servotwin.motion.path_length import PathLength
from servotwin.motion.shaping import ShapedMode, ShapingFilter, longest

PARTS = 4  # instants of a period at which a shaped motion is looked at
FINER = 2.0  # nodes of the path's table in a period
SLACK = 1e-9
LEAST_RATE = 0.2
ROUNDS = 8
NEAR = 1.05  # between a pace that keeps the limits and one that does not: no better one is sought
SHARP = 4.0  # times a limit of acceleration that a bend of the path asks for
BESIDE = 0.1  # s between a bend and where it asks for too much
MOST_PERIODS = 1_000_000
TRIED, REFINED = 33, 2  # growths of a braking rate at once, and how often around the best of them
CLOSE = 1.01  # of a limit of acceleration: a period of braking that uses more is sought anew
BLOCK = 128  # periods that are found at once while the pace is constant


class Found(NamedTuple):
    """The next periods at a constant pace: where the cursor ahead is (k,) [s], shaped lengths (k, 3), the motion."""

    ahead: Array
    places: Array
    instants: Instants


class ShapedCursor(Cursor):
    """A place on a trajectory whose path parameter is shaped; ``time`` is where the shaped arm is.

    ``modes``: shapers; ``speeds``, ``acceleration`` (n,): limits of the joints, ``period`` [s] of the controller.
    ``fitting``: the part of its pace at which the shaped motion keeps the limits, where a path bends.
    """

    _found: Found
    _taken: int  # of what was found
    _found_for: float | None  # rate of the cursor ahead; None: it has arrived, at any rate

    def __init__(
        self,
        trajectory: Planned,
        acceleration: Array,
        tool: ToolLimit | None,
        modes: Sequence[ShapedMode],
        speeds: Array,
        period: float,
    ) -> None:
        super().__init__(trajectory, acceleration, tool)
        self.modes, self.speeds, self.period = tuple(modes), np.asarray(speeds), period
        self._rested: Rested | None = None
        self._plan = trajectory
        self.fitting = 1.0
        self._lay(None)
        self.duration = self._settle()
        self._rehearsals.clear()
        self._here = self._sample(0.0)
        self._begin(0.0)

    @property
    def plan(self) -> Planned:
        """See ``Cursor``."""
        return self._plan

    @property
    def plan_time(self) -> float:
        """See ``Cursor``."""
        if self._rested is None:
            return self.time
        return float(self._rested.planned_times(np.array([self.time]))[0][0])

    @property
    def added(self) -> float:
        """By how much shaping makes the motion longer [s], at full pace."""
        return max(self.duration - self._plan.duration, 0.0)

    def _begin(self, time: float) -> None:
        """Stand at a time of the trajectory."""
        self._ahead = Cursor(self.trajectory, self.acceleration, self.tool)
        self._ahead.time = self.time = time
        ends = [stop for _, stop in self._strokes]
        self._stroke = min(int(np.searchsorted(ends, time, side="right")), len(ends) - 1)
        length = self.path.at(time)
        self._place = np.array([length, 0.0, 0.0])
        self._filter = ShapingFilter(self.modes, self.period, np.array([[length], [0.0], [0.0]]))
        self._let_go = False
        self._rests = True
        self._forget()

    # --- as a cursor --------------------------------------------------------------------------------
    @property
    def done(self) -> bool:
        """Whether the end is reached."""
        return self.time >= self.trajectory.duration

    @property
    def at_rest(self) -> bool:
        """Whether it stands."""
        return self.done or self._rests

    @property
    def rate_now(self) -> float:
        """See ``Cursor``."""
        return min(float(self._place[1]) / max(self._growth_of_length(self.time), 1e-12), 1.0)

    def _growth_of_length(self, time: float) -> float:
        """Length of path per time of the trajectory [1/s]."""
        _, first, _ = self.path.tangent(time)
        _, qd, _ = self._sample(time)
        return float(qd @ first) / max(float(first @ first), 1e-300)

    def stand_back(self, time: float, rate: float) -> None:
        """See ``Cursor``; the shaper is let go."""
        self._give_back()
        self._let_go, self._rests, self.time = True, rate == 0.0, time
        self._place = np.array([self.path.at(time), rate * self._growth_of_length(time), 0.0])

    def ahead(self, T: float, wanted: float) -> Instants:
        """Instants that the next calls of ``advance`` will come to, as long as nothing else is wanted.

        None while the pace changes, and while the arm stands.
        """
        if self.done or self._let_go or not self._find(wanted * self.fitting):
            return self._batch.first(0)
        found = Instants(*(column[self._taken :] for column in self._found.instants))
        return (
            found
            if self._rested is None
            else found._replace(times=self._rested.planned_times(found.times)[0])
        )

    def skip(self, count: int) -> None:
        """Go on over so many instants of ``ahead``."""
        self._taken += count
        i = self._taken - 1
        self.time, self._place = float(self._found.instants.times[i]), self._found.places[i]
        self._rests = False

    def advance(self, T: float, wanted: float, pace: Pace) -> tuple[Motion, float]:
        """Go on for T [s], always a period here: q, qd, qdd (n,) there, and no time left over."""
        if self.done:
            return self._stand(self.trajectory.duration), T
        if not pace.shaped:
            self._give_back()
            return self._brake(pace), 0.0
        if self._let_go:  # it goes on from where it was stopped; a shaper begins with an arm that stands
            if not self._rests:
                return self._brake(pace), 0.0
            self._begin(self.time)
        if self._find(wanted * self.fitting):
            _, q, qd, qdd = self._found.instants
            self.skip(1)
            i = self._taken - 1
            return (q[i], qd[i], qdd[i]), 0.0
        return self._shaped_step(wanted, pace), 0.0

    # --- many periods at once -----------------------------------------------------------------------
    def _find(self, rate: float) -> bool:
        """Whether the next period is one of those found at once; finds them if the pace is constant."""
        if self._taken < len(self._found.ahead) and self._found_for in (rate, None):
            return True
        self._give_back()
        begin, stop = self._strokes[self._stroke]
        ahead = self._ahead
        arrived = ahead.time >= stop
        steady = begin < ahead.time and ahead.rate == rate > 0.0 and ahead.slope == 0.0
        if self.time < begin or not (arrived or steady):
            return False
        self._found, self._found_for = self._block(begin, stop, rate), None if arrived else rate
        return len(self._found.ahead) > 0

    def _block(self, begin: float, stop: float, rate: float) -> Found:
        """The next periods, up to the one before the arm has come to rest."""
        times = np.minimum(self._ahead.time + rate * self.period * np.arange(1, BLOCK + 1), stop)
        signals = self._signals(times, rate, stop)
        shaped, settled = self._filter.block(signals, self._place[0] / self.path.length, self._part)
        places = shaped[:, :, 0]
        where = np.clip(self.path.times(places[:, 0]), begin, stop)
        over = settled | (where >= self.trajectory.duration)
        count = int(np.argmax(over)) if over.any() else len(times)
        self._filter.rewind(len(times) - count)
        places, where = places[:count], where[:count]
        motion = self.path.motions_at(where, places[:, 1], places[:, 2])  # eq:shaped-path
        return Found(times[:count], places, Instants(where, *motion))

    def _signals(self, times: Array, rate: float, stop: float) -> Array:
        """Length, rate and second rate (k, 3, 1) of a cursor at times (k,) [s] that goes on at a constant rate."""
        first, second = self.path.many_rates(np.minimum(times, stop))
        signals = np.stack([self.path.lengths(times), rate * first, rate * rate * second], axis=1)
        signals[times >= stop] = self.path.at(stop), 0.0, 0.0
        return signals[:, :, None]

    def _part(self, sample: Array) -> float:
        """The part of the way that a shaped sample (3, 1) has gone."""
        return float(sample[0, 0]) / self.path.length

    def _give_back(self) -> None:
        """Give up periods that were found and not taken."""
        left = len(self._found.ahead) - self._taken
        if self._taken:
            self._ahead.go_to(float(self._found.ahead[self._taken - 1]))
        self._filter.rewind(left)
        self._forget()

    def _forget(self) -> None:
        nothing = np.zeros(0)
        self._found = Found(nothing, nothing, self._batch.first(0))
        self._taken, self._found_for = 0, -1.0

    def _shaped_step(self, wanted: float, pace: Pace) -> Motion:
        T, ahead, path = self.period, self._ahead, self.path
        pace_wanted = wanted * self.fitting
        begin, stop = self._strokes[self._stroke]
        if self.time < begin:  # a rest of the trajectory
            self.time = min(self.time + pace_wanted * T, begin)
            return self._stand(self.time)
        if ahead.time < stop:
            if ahead.time == begin:  # there it stands, whatever the rate
                ahead.rate, ahead.slope = pace_wanted, 0.0
            ahead.steepest = self.steepest
            ahead.advance(T, pace_wanted, pace)
            ahead.time = min(ahead.time, stop)  # the next stroke begins when this one has come to rest
        signal = self._signal(stop)
        place = self._filter.step(signal, self._place[0] / path.length)[:, 0]
        settled = self._filter.settled
        self._rests = settled and signal[1, 0] == 0.0
        if settled and ahead.time >= stop:
            self._place = signal[:, 0].copy()
            self._arrive(stop)
            return self._stand(stop)
        self._place = place
        self.time = min(max(path.time(float(place[0])), begin), stop)
        if self._rests:
            return self._stand(self.time)
        return path.motion_at(self.time, float(place[1]), float(place[2]))  # eq:shaped-path

    def _arrive(self, stop: float) -> None:
        """Stand at the end of a stroke; the next one begins where the trajectory moves on."""
        if self._stroke + 1 < len(self._strokes):
            self.time, self._stroke = stop, self._stroke + 1
            self._ahead.time, self._ahead.rate = self._strokes[self._stroke][0], 0.0
        else:
            self.time = self.trajectory.duration

    def _signal(self, stop: float) -> Array:
        """Length, rate and second rate of the cursor ahead (3, 1)."""
        ahead = self._ahead
        if ahead.time >= stop or ahead.rate == 0.0:
            return np.array([[self.path.at(min(ahead.time, stop))], [0.0], [0.0]])
        rate, growth = self.path.rates(ahead.time)
        r = ahead.rate
        return np.array([[self.path.at(ahead.time)], [r * rate], [r * r * growth + ahead.slope * rate]])

    def _stand(self, time: float) -> Motion:
        q = self.trajectory.sample(np.array([time]))[0][0]
        return q, np.zeros_like(q), np.zeros_like(q)

    # --- a stop that is not shaped ------------------------------------------------------------------
    def _brake(self, pace: Pace) -> Motion:
        """A period of braking on the path with the share of a pace of what the joints may."""
        T, path = self.period, self.path
        self._let_go = True
        before, rate, share = self._place, self._place[1], pace.share
        if rate <= 0.0:
            self._rests = True
            return self._stand(self.time)
        q, first, second = path.tangent(self.time)
        growth = -rate / T
        bend = second * rate * rate
        moving = np.abs(first) > 1e-12
        if moving.any():
            ends = np.sort(
                np.stack(
                    [
                        (sign * share * self.acceleration - bend)[moving] / first[moving]
                        for sign in (-1.0, 1.0)
                    ]
                ),
                axis=0,
            )
            least = float(ends[0].max())
            if self.slopes is not None:
                least = max(least, self.slopes(q, first, second, float(rate))[0])
            if self.slopes is not None and pace.leads:
                growth = braking_slope(float(rate), float(before[2]), min(least, 0.0), T)
            else:
                growth = min(max(growth, least), 0.0)
        _, qd, qdd = motion = self._braked(before, growth)
        if growth < 0.0 and self._share_of_limits(qd, qdd, first * rate, share) > CLOSE:
            return self._braked(before, self._kept(before, growth, first * rate, share))
        return motion

    def _braked(self, before: Array, growth: float) -> Motion:
        """A period on from a place with its rate (3,), with a growth of the rate."""
        length, rate, _ = before
        after = max(rate + growth * self.period, 0.0)
        length = min(length + 0.5 * (rate + after) * self.period, self.path.length)
        self._place = np.array([length, after, growth])
        self.time = self.path.time(float(length))
        self._rests = after == 0.0
        if self._rests:
            return self._stand(self.time)
        return self.path.motion_at(self.time, after, growth)

    def _share_of_limits(self, qd: Array, qdd: Array, qd_before: Array, share: float) -> Array:
        """What motions (..., n) use of a share of the accelerations: at a period's end, and in its mean."""
        hardest = np.maximum(np.abs(qdd), np.abs(qd - qd_before) / self.period)
        return np.asarray((hardest / (share * self.acceleration)).max(axis=-1, initial=0.0))

    def _kept(self, before: Array, hardest: float, qd_before: Array, share: float) -> float:
        """The hardest growth of the rate up to 0 with which a whole period keeps a share of the accelerations.

        What the path allows at the period's begin does not tell: until its end it bends otherwise.
        """
        T, (length, rate, _) = self.period, before
        low, high = hardest, 0.0
        for _ in range(REFINED):
            growths = np.linspace(low, high, TRIED)
            after = np.maximum(rate + growths * T, 0.0)
            times = self.path.times(np.minimum(length + 0.5 * (rate + after) * T, self.path.length))
            _, qd, qdd = self.path.motions_at(times, after, np.where(after > 0.0, growths, 0.0))
            used = self._share_of_limits(qd, qdd, qd_before, share)
            i = int(np.argmax(used <= 1.0)) if (used <= 1.0).any() else int(np.argmin(used))
            low, high = float(growths[max(i - 1, 0)]), float(growths[i])
        return high

    # --- limits -------------------------------------------------------------------------------------
    def _settle(self) -> float:
        """Settle the pace at which the shaped motion keeps the limits, and its rests; its duration there [s].

        Copies of a motion keep its limits, and so does their mean on a straight way of the joints. Where a path bends,
        the shaped arm is elsewhere than the copies, with their speed. It comes to rest at sharp bends, or goes slowly
        all the way, whichever takes less time.
        """
        if self._demand() > 1.0 + SLACK:
            rested = self._with_rests(1.0)
            best = self._fit(np.inf), self.fitting, rested
            for most in (SHARP, np.inf):
                self._lay(None)
                rested = self._with_rests(most)
                found = self._fit(best[0]), self.fitting, rested
                best = found if found[0] < best[0] else best
            self._lay(best[2])
            self.fitting = best[1]
        return self._lasts()

    def _lasts(self) -> float:
        """The duration of the shaped motion at its pace [s]."""
        return sum(len(self._rehearsed(*stroke)) for stroke in self._strokes) * self.period

    def _fit(self, most_time: float) -> float:
        """Find the pace at which the shaped motion keeps the limits; its duration [s], inf if beyond ``most_time``."""
        moves = most_time - longest(self.modes) * len(self._strokes)  # s beside the delays of the shapers
        least = max(LEAST_RATE, self.trajectory.duration / moves if moves > 0.0 else np.inf)
        low, high, self.fitting = 0.0, np.inf, 1.0
        for _ in range(ROUNDS if least <= 1.0 else 0):
            demand = self._demand()
            if demand <= 1.0 + SLACK:
                low = self.fitting
            else:
                high = self.fitting
            if low == 1.0 or high <= max(NEAR * low, least):
                break
            self.fitting = float(np.sqrt(low * high)) if low else max(high / (1.001 * demand), least)
        self.fitting = low or LEAST_RATE
        return self._lasts() if low else np.inf

    def _lay(self, rested: Rested | None) -> None:
        """Go on the motion as planned, or with rests."""
        self._rested, self.trajectory = rested, self._plan if rested is None else rested
        nodes = self.trajectory.starts if rested is None else np.append(rested.starts, rested.nodes)
        self.path = PathLength.of(self.trajectory, self.speeds, self.period / FINER, np.asarray(nodes))
        self._strokes = self._moving_parts()
        self._rehearsals: dict[tuple[float, float, float], Array] = {}

    def _with_rests(self, most: float) -> Rested | None:
        """Go on the motion with rests at the bends where it would use more than ``most`` of the accelerations."""
        times: set[float] = set()
        bends, rested = self.path.bends, None
        self.fitting = 1.0
        for _ in range(ROUNDS):
            found = set()
            for stroke in self._strokes:
                lengths, used = self._asked(*stroke)
                at = self.path.times(lengths[used > most + SLACK])
                at = at if rested is None else rested.planned_times(at)[0]
                gaps = np.abs(at[:, None] - bends)
                if gaps.size:
                    near = gaps.argmin(axis=1)[gaps.min(axis=1) <= BESIDE]
                    found |= {float(t) for t in bends[near]}
            if found <= times:
                break
            times |= found
            rested = Rested(self._plan, sorted(times), self.acceleration, self.tool)
            self._lay(rested)
        return rested

    def _moving_parts(self) -> list[tuple[float, float]]:
        """Begin and end [s] of what the trajectory goes through without standing."""
        ends = [0.0, *(float(t) for t in self.path.stops)]
        return [(a, b) for a, b in pairwise(ends) if self.path.at(b) > self.path.at(a)]

    def _rehearsed(self, begin: float, end: float) -> Array:
        """Shaped lengths with their rates (k, 3), period by period, of a stroke at its pace."""
        key = begin, end, self.fitting
        if key not in self._rehearsals:
            self._rehearsals[key] = self._rehearse(begin, end, self.fitting)
        return self._rehearsals[key]

    def _rehearse(self, begin: float, end: float, rate: float) -> Array:
        T, path = self.period, self.path
        times = begin + rate * T * np.arange(1, int(np.ceil((end - begin) / (rate * T) - SLACK)) + 1)
        signals = self._signals(np.asarray(times, dtype=np.float64), rate, end)
        start = path.at(begin)
        chain = ShapingFilter(self.modes, T, np.array([[start], [0.0], [0.0]]))
        rows: list[Array] = []
        part, settled = start / path.length, np.zeros(1, dtype=bool)
        while not settled.any() and sum(len(row) for row in rows) < MOST_PERIODS:
            shaped, settled = chain.block(signals, part, self._part)
            rows.append(shaped[: int(np.argmax(settled)) + 1, :, 0] if settled.any() else shaped[:, :, 0])
            part = self._part(shaped[-1])
            signals = np.repeat(np.array([[[path.at(end)], [0.0], [0.0]]]), BLOCK, axis=0)
        return np.concatenate(rows)

    def _demand(self) -> float:
        """The least factor on the time of the shaped motion with which it keeps speeds and accelerations."""
        used = [self._asked(*stroke)[1].max(initial=0.0) for stroke in self._strokes]
        return float(np.sqrt(max(used, default=0.0)))

    def _asked(self, begin: float, end: float) -> tuple[Array, Array]:
        """Lengths (k,) on a shaped stroke, and what it uses there (k,) of accelerations and of squares of speeds.

        An override shifts the periods along the path, so places between them count, and so do the sharpest bends.
        """
        path, T = self.path, self.period
        fine = self._between(np.vstack([[path.at(begin), 0.0, 0.0], self._rehearsed(begin, end)]))
        bends = path.s[(path.t > begin) & (path.t < end)]
        at = np.stack([bends, *(np.interp(bends, fine[:, 0], fine[:, k]) for k in (1, 2))], axis=1)
        qd, qdd = path.many_motions(fine)
        hardest = np.abs(qdd)
        hardest[PARTS:] = np.maximum(hardest[PARTS:], np.abs(qd[PARTS:] - qd[:-PARTS]) / T)
        hardest = np.vstack([hardest, np.abs(path.many_motions(at)[1])]) / self.acceleration
        used = hardest.max(axis=1)
        used[: len(qd)] = np.maximum(used[: len(qd)], ((np.abs(qd) / self.speeds) ** 2).max(axis=1))
        return np.append(fine[:, 0], bends), used

    def _between(self, places: Array) -> Array:
        """Shaped lengths with their rates ((k - 1) PARTS + 1, 3) at ``PARTS`` instants of each period, of (k, 3)."""
        parts, T = np.arange(PARTS)[:, None] / PARTS, self.period
        a, b = places[:-1, None, :], places[1:, None, :]
        gap, v0, v1 = b[..., :1] - a[..., :1], T * a[..., 1:2], T * b[..., 1:2]
        lengths = a[..., :1] + parts * (
            v0 + parts * (3.0 * gap - 2.0 * v0 - v1 + parts * (v0 + v1 - 2.0 * gap))
        )
        rates = (1.0 - parts) * a[..., 1:] + parts * b[..., 1:]
        return np.vstack([np.concatenate([lengths, rates], axis=2).reshape(-1, 3), places[-1:]])
