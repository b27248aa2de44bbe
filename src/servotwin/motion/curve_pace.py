r"""The zones of a curve: one pace for all of it, or a spline's, which is slower only where it is tight.

Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.laws import make_profile, ramp_limits
from servotwin.motion.pace import BEND_SHARE, Bends
from servotwin.motion.ramps import PEAK, ProfileKind, RampLimits
from servotwin.motion.zones import Zone, Zones, zoned_law

PER_OCTAVE = 3  # levels of the local speed, between which zones may change
MOST_EDGES = 150  # places at which zones may change
TRIFLE = 1e-3  # of the time: a further zone must save this at least
FINER, LOWER = 1.1, 60  # steps and their number in which a lower acceleration is tried
HALVINGS = 40  # of an interval of speeds
SHORTEST = 1e-8  # of the time: the check of a motion would miss a shorter ramp
GAIN = 0.99  # of the time with one speed: zones must take less than this


@dataclass(frozen=True)
class CurveRamps:
    """The ramps of a curve: the acceleration ``given`` [m/s2] by the request, or the ``share`` (0 to 1] of what the
    axes have.

    ``may_lower``: the planner may lower a given acceleration to what the axes have.
    """

    profile: ProfileKind
    share: float
    given: float | None
    may_lower: bool
    tool_jerk: float = math.inf

    def steepest(self, bends: Bends, speed: float) -> float:
        """The acceleration of the ramps to this speed."""
        if self.given is not None and not self.may_lower:
            return self.given
        left = self.share * bends.ramp_acceleration(speed)
        return left if self.given is None else min(self.given, left)

    def zone(self, bends: Bends, end: float, speed: float) -> Zone:
        """The zone with these bends at this speed: the ramp that takes the least time."""
        steepest = self.steepest(bends, speed)
        if self.given is None or not bends.jerk_limited:
            return Zone(end, speed, self._ramp(bends, speed, steepest))
        # In a bend an acceleration needs jerk as well, so that less of it may be quicker.
        most = bends.ramp_acceleration(0.0)
        lower = most * FINER ** np.arange(-LOWER, 1.0)
        ramps = [self._ramp(bends, speed, a) for a in [*lower[lower < steepest].tolist(), steepest]]
        way = float(bends.s[-1] - bends.s[0])
        return min(
            (Zone(end, speed, ramp) for ramp in ramps),
            key=lambda zone: rest_to_rest((zone._replace(end=way),), self.profile),
        )

    def _ramp(self, bends: Bends, speed: float, a: float) -> RampLimits:
        most = PEAK * speed * speed / (SHORTEST * float(bends.s[-1] - bends.s[0]))
        if self.given is not None and most > 0.0:
            a = min(a, most)
        jerk = min(bends.jerk(speed, a), self.tool_jerk)
        return ramp_limits(self.profile, speed, a, None if math.isinf(jerk) else jerk)


def one_zone(bends: Bends, speed: float, ramps: CurveRamps, *, flowing: bool) -> Zones:
    """The whole curve at one speed, lowered where less speed with steeper ramps takes less time."""
    if ramps.given is None or ramps.may_lower:
        best = bends.quickest(ramps.profile, ramps.share, flowing=flowing)
        if ramps.given is not None:  # no slower than needed for the acceleration that was asked for
            best = max(best, _speed_leaving(bends, ramps.given / ramps.share, speed))
        speed = min(speed, best)
    return (ramps.zone(bends, bends.length, speed),)


def spline_zones(bends: Bends, speed: float, share: float, ramps: CurveRamps, *, flowing: bool) -> Zones:
    r"""The zones with nearly the least time, by dynamic programming over the places where the local speed changes.

    A zone of the length l at the speed V, its neighbours at :math:`V_\pm`, takes about

    .. math:: T = \frac{l}{V} + \sum_\pm \frac{3 (V - V_\pm)^2}{4 a V} [V_\pm < V]                 (eq:zone-time)

    since the ramps of a change lie in the quicker zone. ``speed`` is the most, ``share`` of what the bends allow.
    """
    local = np.minimum(share * bends.local_speeds(BEND_SHARE), speed)
    if ramps.given is not None and not ramps.may_lower:
        local = np.minimum(local, _speeds_leaving(bends, ramps.given))
    edges = _edges(local)
    speeds, steepest = (
        _over_ranges(local, edges),
        _over_ranges(0.5 * ramps.share / bends.push.max(axis=1), edges),
    )
    chosen = _quickest_edges(bends.s[edges], speeds, steepest, resting=not flowing)
    zones = []
    for i, j in pairwise(chosen):
        part = bends.part(int(edges[i]), int(edges[j]))
        zones.append(ramps.zone(part, float(bends.s[edges[j]]), float(speeds[i, j])))
    return tuple(zones)


def rest_to_rest(zones: Zones, profile: ProfileKind) -> float:
    """How long [s] zones take from rest to rest."""
    if len(zones) > 1:
        return zoned_law(zones, 0.0, 0.0).duration
    (zone,) = zones
    jerk = None if math.isinf(zone.ramp.jerk) else zone.ramp.jerk
    return make_profile(profile, zone.end, zone.speed, zone.ramp.acceleration, jerk).duration


def quicker_in_zones(zones: Zones, other: Zones, profile: ProfileKind) -> bool:
    """Whether ``other`` zones save enough time."""
    return rest_to_rest(other, profile) < GAIN * rest_to_rest(zones, profile)


def _speed_leaving(bends: Bends, given: float, most: float) -> float:
    """The largest speed up to ``most`` at which all bends leave the acceleration ``given`` for ramps; zero if none."""
    low, high = 0.0, most
    if bends.ramp_acceleration(most) >= given:
        return most
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        left = bends.ramp_acceleration(middle)
        low, high = (middle, high) if left >= given else (low, middle)
    return low


def _speeds_leaving(bends: Bends, given: float) -> Array:
    """The largest speeds (k,) at which the bends leave the acceleration ``given`` for ramps."""
    left = np.maximum(1.0 - given * bends.push.max(axis=1), 0.0)
    x = left / np.maximum(bends.bend.max(axis=1), 1e-300)
    if bends.tool_push > 0.0:
        beside = math.sqrt(max(1.0 - (given * bends.tool_push) ** 2, 0.0))
        x = np.minimum(x, beside / np.maximum(bends.tool_bend, 1e-300))
    speeds = np.sqrt(x)
    # Where nothing is left the planner will refuse the motion; to say why, it needs one with some speed.
    return np.asarray(np.where(speeds > 0.0, speeds, bends.local_speeds(BEND_SHARE)))


def _edges(local: Array) -> Array:
    """Points (m,) at which the local speed changes its level, the ends included."""
    per_octave = float(PER_OCTAVE)
    while True:
        # counted from the largest: places at the speed that was asked for are a level of their own
        level = np.ceil(per_octave * np.log2(local.max() / local) - 1e-9)
        step = np.diff(level)
        change = np.nonzero(step)[0] + (step[step != 0.0] < 0.0)  # at the quicker of the two points
        edges = np.unique(np.concatenate([[0], change, [local.size - 1]]))
        if edges.size <= MOST_EDGES:
            return edges
        per_octave *= 0.5
        if per_octave < 0.1:
            return np.asarray(edges[np.unique(np.linspace(0, edges.size - 1, MOST_EDGES).astype(int))])


def _over_ranges(values: Array, edges: Array) -> Array:
    """The least value (m, m) between two edges, both included; infinite where the second is not behind the first."""
    runs = [values[a : b + 1].min() for a, b in pairwise(edges)]
    out = np.full((edges.size, edges.size), np.inf)
    for i in range(edges.size - 1):
        out[i, i + 1 :] = np.minimum.accumulate(runs[i:])
    return out


def _quickest_edges(ways: Array, speeds: Array, steepest: Array, *, resting: bool) -> list[int]:
    """The edges of the zones with the least time by eq:zone-time; every ramp must fit into its zone.

    ``resting``: the path begins and ends at rest.
    """
    m = ways.size
    span = np.maximum(ways[None, :] - ways[:, None], 0.0)
    each = TRIFLE * float(np.sum(np.diff(ways) / np.diagonal(speeds, 1)))
    cost = np.full((m, m), np.inf)  # of the best zones up to j, the last of them i .. j
    before = np.zeros((m, m), dtype=np.int64)
    still = np.zeros(m)
    cost[0, 1:] = span[0, 1:] / speeds[0, 1:]
    if resting:
        cost[0, 1:] += _added_time(still[1:], speeds[0, 1:], steepest[0, 1:], span[0, 1:])
    for j in range(1, m - 1):
        V, a, room = speeds[:j, j][:, None], steepest[:j, j][:, None], span[:j, j][:, None]
        W, b, far = speeds[j, j + 1 :][None], steepest[j, j + 1 :][None], span[j, j + 1 :][None]
        extra = np.where(V > W, _added_time(W, V, a, room), _added_time(V, W, b, far))
        total = cost[:j, j][:, None] + extra
        best = np.argmin(total, axis=0)
        before[j, j + 1 :] = best
        cost[j, j + 1 :] = total[best, np.arange(best.size)] + (far / W)[0] + each
    last = cost[:-1, -1]
    if resting:
        last = last + _added_time(still[:-1], speeds[:-1, -1], steepest[:-1, -1], span[:-1, -1])
    chosen = [m - 1, int(np.argmin(last)) if np.isfinite(last).any() else 0]
    while chosen[-1] > 0:
        chosen.append(int(before[chosen[-1], chosen[-2]]))
    return chosen[::-1]


def _added_time(slow: Array, quick: Array, push: Array, room: Array) -> Array:
    """The time that a ramp adds to a quicker zone of the length ``room``; infinite where it does not fit."""
    change = quick - slow
    fits = 0.5 * PEAK * (slow + quick) * change / push <= room
    return np.asarray(np.where(fits, 0.5 * PEAK * change**2 / (push * quick), np.inf))  # eq:zone-time
