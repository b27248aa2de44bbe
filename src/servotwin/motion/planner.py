r"""From requests to a trajectory, checked over its whole length before anything moves.

Consecutive moves with a blend between them form a chain: it begins and ends at rest, its corners are
passed at constant pace, and its legs have the ramps of their profile in between.
Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.display import MM
from servotwin.errors import InputError, ShapeError
from servotwin.mechanism.model import Array
from servotwin.motion.blends import Corner, corner_between
from servotwin.motion.demands import FORCES, HOLDS, check_positions, demand_error, worst_demand
from servotwin.motion.errors import Demand, PathError
from servotwin.motion.frame_ranges import check_segments
from servotwin.motion.joint_moves import quick_move, quick_numbers
from servotwin.motion.laws import Profile, Slowed, Uniform, make_profile
from servotwin.motion.legs import LONGEST, Leg, check_duration, check_near, leg_of, time_beside_blend
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal_moves import optimal_segment
from servotwin.motion.requests import MoveJ, MoveL, Request, Rest
from servotwin.motion.trajectory import PathSegment, RestSegment, Segment, Trajectory, joined
from servotwin.motion.zones import Zones, reachable_end, reversed_zones, zoned_law, zones_between
from servotwin.robot.robot import Robot

ROUNDS = 12  # of fitting the legs of a chain one by one, before all of them are slowed by one factor
MARGIN = 1.0 + 1e-7  # a fitted motion stays this much inside its limits, for rounding
FORCE_MARGIN = 1.0 + 1e-4  # the same of torques, whose largest value is sampled
SLIGHT = 1.0 + 1e-6  # of a limit: the joints follow a curve of the tool no more exactly than that
SHRUNK = 0.99  # of the radius asked for: a smaller blend is mentioned
STEEP = 1.0 + 1e-4  # how exactly the largest acceleration that holds is found
PER_ZONE = 3  # rounds of slowing a zone by itself
SLOWEST = 1e4  # times; a motion that exceeds a limit even then is refused


def plan(
    robot: Robot,
    q_start: ArrayLike,
    requests: Sequence[Request],
    limits: MotionLimits,
    *,
    fit: bool = False,
) -> Trajectory:
    """The motion from q_start (n,) [rad, m], at rest, through all requests.

    PathError, before anything moves, where a path leaves the workspace, meets a singularity, or asks more of
    an axis or of the tool than it can do; with ``fit`` such a move is slowed until it holds instead
    (``Trajectory.slowed`` says by how much).
    """
    q = np.array(q_start, dtype=np.float64)
    if len(requests) == 1 and (only := _single_joint_move(robot, q, requests[0], limits)) is not None:
        return only
    if q.shape != (robot.n,) or not np.isfinite(q).all():
        raise ShapeError(f"q_start has the shape {q.shape}; expected ({robot.n},), finite")
    check_near(q, "q_start", robot)
    result = _Result(len(requests))
    chain: list[Leg] = []
    passed: list[int] = []  # requests that do not move, between two legs of the chain
    for index, request in enumerate(requests):
        if isinstance(request, MoveJ | MoveL) and request.optimal:
            _close_chain(chain, passed, limits, fit, result)
            segment = optimal_segment(robot, request, index, q, limits)
            result.add(segment, index)
            q = segment.sample(np.array([segment.duration]))[0][0]
            continue
        blend = 0.0 if isinstance(request, Rest) else request.blend
        quick = None if chain else quick_move(request, q, limits)
        if quick is not None:
            check_duration(quick.duration, index)
            result.add(quick, index)
            q = quick.path.q[-1]
            continue
        leg = leg_of(robot, request, index, q, limits, fit, flowing=bool(chain) or blend > 0.0)
        if leg is None:
            if chain and blend > 0.0 and _standing_time(request) == 0.0:
                passed.append(index)
                continue
            _close_chain(chain, passed, limits, fit, result)
            result.add(_resting(request, q, index), index)
            continue
        check_positions(leg, limits)
        chain.append(leg)
        q = leg.path.q[-1]
        if leg.blend <= 0.0:
            _close_chain(chain, passed, limits, fit, result)
    _close_chain(chain, passed, limits, fit, result)
    if not result.segments:
        result.add(RestSegment(q, 0.0), 0)
    check_segments(robot, result.segments, result.owners)
    return joined(
        result.segments, result.owners, tuple(result.slowed), tuple(result.blends), tuple(result.notes)
    )


def _single_joint_move(robot: Robot, q: Array, request: Request, limits: MotionLimits) -> Trajectory | None:
    """The plan of a MOVEJ alone that only the limits of the joints bound; None for everything else."""
    if q.shape != (robot.n,) or robot.frame_quantities.names:
        return None
    found = quick_numbers(request, q, limits)
    return Trajectory.of_one(*found) if found is not None and found[1] <= LONGEST else None


class _Result:
    """The segments so far, and for each request what ``Trajectory`` reports."""

    def __init__(self, count: int) -> None:
        self.segments: list[Segment] = []
        self.owners: list[int] = []
        self.slowed, self.blends, self.notes = [1.0] * count, [0.0] * count, [""] * count

    def add(self, segment: Segment, index: int) -> None:
        """The next segment, of a request."""
        self.segments.append(segment)
        self.owners.append(index)


def _standing_time(request: Request) -> float:
    """Duration [s] of a rest or of a move that does not move: the time of the request, if any."""
    if isinstance(request, Rest):
        return request.time
    return request.speed.value if request.speed.kind == "s" else 0.0


def _resting(request: Request, q: Array, index: int) -> RestSegment:
    """The segment of a rest, or of a move that does not move."""
    time = _standing_time(request)
    if not 0.0 <= time < math.inf:
        raise InputError(f"move {index + 1} rests {time:g} s; expected a time of at least zero")
    if not isinstance(request, Rest):
        check_duration(time, index)
    return RestSegment(q.copy(), time)


def _close_chain(
    chain: list[Leg], passed: list[int], limits: MotionLimits, fit: bool, result: _Result
) -> None:
    """Time the legs collected so far and append their segments."""
    if not chain:
        return
    corners: list[Corner | None] = []
    if len(chain) == 1:
        pieces = [_single_leg(chain[0], limits, fit)]
    else:
        pieces, corners = _chain(chain, limits, fit)
    waiting = list(passed)
    for leg, segment in pieces:
        while waiting and waiting[0] < leg.index:
            result.add(RestSegment(segment.path.q[0], 0.0), waiting.pop(0))
        check_duration(segment.duration, leg.index)
        result.add(segment, leg.index)
        if leg.slowed > SLIGHT:
            result.slowed[leg.index] = max(result.slowed[leg.index], leg.slowed)
        result.notes[leg.index] = _ramp_note(leg, segment) or result.notes[leg.index]
    for index in waiting:
        result.add(RestSegment(chain[-1].path.q[-1], 0.0), index)
    for leg, corner in zip(chain, [*corners, None], strict=True):
        result.blends[leg.index] = corner.radius if corner else 0.0
        notes = result.notes[leg.index], _blend_note(leg, corner, last=leg is chain[-1])
        result.notes[leg.index] = "; ".join(note for note in notes if note)
    chain.clear()
    passed.clear()


def _ramp_note(leg: Leg, segment: PathSegment) -> str:
    """The note on an acceleration that was lowered because the axes do not have it."""
    if leg.asked_acceleration is None or segment.kind == "blend":
        return ""
    used = max(zone.ramp.acceleration for zone in leg.zones)
    if leg.time is None and isinstance(segment.law, Slowed):
        used /= segment.law.factor**2
    if used > SHRUNK * leg.asked_acceleration:
        return ""
    return f"an acceleration of {leg.asked_acceleration:.4g} m/s2 was lowered to {used:.3g} m/s2"


def _blend_note(leg: Leg, corner: Corner | None, *, last: bool) -> str:
    """The note on a blend that is smaller than requested or left out."""
    asked = f"a blend of {MM * leg.blend:.4g} mm"
    if leg.blend <= 0.0 or (corner is not None and corner.radius > SHRUNK * leg.blend):
        return ""
    if corner is not None:
        return f"{asked} was made smaller, {MM * corner.radius:.3g} mm"
    why = "no move follows at once" if last else "none fits between these moves"
    return f"{asked} was left out: {why}"


# --- one leg from rest to rest ----------------------------------------------------------------------
def _single_leg(leg: Leg, limits: MotionLimits, fit: bool) -> tuple[Leg, PathSegment]:
    for count in range(ROUNDS + PER_ZONE * (len(leg.zones) - 1)):
        segment = _segment(leg, leg, _from_rest_to_rest(leg))
        if leg.time is not None:
            return _timed(leg, segment, limits, fit)
        if leg.kind == "joint" and not (limits.torque_limited or limits.tool_limited):
            return leg, segment  # within its limits by construction
        worst = worst_demand(leg, segment, limits)
        if worst.share <= HOLDS:
            return leg, segment
        if leg.gentler is not None:
            return _fitted(leg, segment, limits, fit)
        if not _may_slow(leg, worst, fit):
            leg = _softened(leg, segment, worst)
        elif len(leg.zones) == 1 or count >= PER_ZONE * len(leg.zones) or _slow_factor(worst) > SLOWEST:
            return _slowed_to_limits(leg, segment, limits)
        else:
            leg = _slower(leg, segment, worst)
    raise demand_error(leg, segment, worst)


def _fitted(leg: Leg, segment: PathSegment, limits: MotionLimits, fit: bool) -> tuple[Leg, PathSegment]:
    """The quickest fit of a leg: gentler ramps, the steepest that hold, or, if it has a requested speed, all slower."""
    assert leg.gentler is not None
    found = [_single_leg(replace(leg.gentler, time=None), limits, fit), *_steepest(leg, limits)]
    if not leg.free_speed:
        with suppress(PathError):
            found.append(_slowed_to_limits(leg, segment, limits))
    return min(found, key=lambda pair: pair[1].duration)


def _steepest(leg: Leg, limits: MotionLimits) -> list[tuple[Leg, PathSegment]]:
    """The leg with the largest acceleration, up to the requested one, that holds; empty if even the gentlest does not.

    A request for more acceleration than the axes have so takes as long as a request for what they have.
    """
    assert leg.gentler is not None
    assert leg.with_acceleration is not None
    low, high = leg.gentler.zones[0].ramp.acceleration, leg.zones[0].ramp.acceleration
    best, a = [], low
    while True:
        one = leg.with_acceleration(a)
        segment = _segment(one, one, _from_rest_to_rest(one))
        if worst_demand(one, segment, limits).share <= HOLDS:
            low, best = a, [(one, segment)]
        elif not best:
            return []
        else:
            high = a
        if high <= low * STEEP:
            return best
        a = math.sqrt(low * high)


def _from_rest_to_rest(leg: Leg) -> Profile:
    """The quickest law of a leg's profile."""
    if len(leg.zones) > 1:
        return zoned_law(leg.zones, 0.0, 0.0)
    zone = leg.zones[0]
    jerk = None if math.isinf(zone.ramp.jerk) else zone.ramp.jerk
    return make_profile(leg.profile, leg.length, zone.speed, zone.ramp.acceleration, jerk)


def _slower(leg: Leg, segment: PathSegment, worst: Demand) -> Leg:
    """The leg slowed for a demand of one of its segments; of several zones only the one with the demand."""
    factor = min(_slow_factor(worst), SLOWEST)
    if len(leg.zones) == 1 or segment.kind == "blend":
        return leg.slower(factor)
    return leg.slower(factor, segment.offset + worst.place * segment.law.length)


def _may_slow(leg: Leg, worst: Demand, fit: bool) -> bool:
    """Whether the planner may slow a leg: with ``fit``, where its speed is free, or for a rounding error."""
    return fit or (leg.free_speed and worst.what not in FORCES) or worst.share <= SLIGHT


def _softened(leg: Leg, segment: PathSegment, worst: Demand) -> Leg:
    """The leg with gentler ramps where the request leaves them free; PathError otherwise."""
    if not leg.free_ramps or not worst.what.endswith(("acceleration", "jerk")):
        raise demand_error(leg, segment, worst)
    return leg.softer(worst.share * MARGIN)


def _slowed_to_limits(leg: Leg, segment: PathSegment, limits: MotionLimits) -> tuple[Leg, PathSegment]:
    """The leg with its whole law slowed until all limits hold; speeds fall with 1/k, accelerations with 1/k^2."""
    law, factor = segment.law, 1.0
    for _ in range(ROUNDS):
        worst = worst_demand(leg, segment, limits)
        if worst.share <= HOLDS:
            return replace(leg, slowed=1.0 if leg.free_speed else leg.slowed * factor), segment
        factor *= _slow_factor(worst)
        if factor > SLOWEST:
            break
        segment = replace(segment, law=Slowed(law, factor))
    raise demand_error(leg, segment, worst)


def _slow_factor(worst: Demand) -> float:
    return worst.factor * (FORCE_MARGIN if worst.what in FORCES else MARGIN)


def _timed(leg: Leg, segment: PathSegment, limits: MotionLimits, fit: bool) -> tuple[Leg, PathSegment]:
    """A leg whose request names the duration: the quickest law, stretched to it."""
    if leg.gentler is None:
        quickest, fastest = _slowed_to_limits(leg, segment, limits)
    else:
        quickest, fastest = _fitted(leg, segment, limits, True)
    assert leg.time is not None
    factor = leg.time / fastest.duration
    if factor >= 1.0 - 1e-12:
        return quickest, replace(fastest, law=Slowed(fastest.law, factor))
    if not fit:
        text = f"{leg.time:g} s are too short; the quickest is {fastest.duration:.4g} s"
        raise PathError(text, index=leg.index, what="time", place=1.0)
    return replace(leg, slowed=1.0 / factor), fastest


def _segment(leg: Leg, source: Leg, law: Profile, offset: float = 0.0) -> PathSegment:
    tool = None if leg.tracker.plain else leg.tracker.X_tool
    return PathSegment(leg.kind, leg.path, law, source.curve, offset, tool)


# --- legs with blends between them ------------------------------------------------------------------
def _chain(
    chain: list[Leg], limits: MotionLimits, fit: bool
) -> tuple[list[tuple[Leg, PathSegment]], list[Corner | None]]:
    """The pieces of legs that are blended, and their corners."""
    for leg in chain:
        if leg.time is not None:
            raise time_beside_blend(leg.time, leg.index)
    legs = list(chain)
    corners = [corner_between(one, two, limits) for one, two in pairwise(legs)]
    for _ in range(ROUNDS):
        pieces = _pieces(legs, corners)
        better = list(legs)
        for leg, segment in pieces:
            if segment.kind == "blend" and not limits.torque_limited:
                continue  # its rate is within the limits by construction
            worst = worst_demand(leg, segment, limits)
            if worst.share <= HOLDS:
                continue
            at = _index_of(legs, leg)
            if legs[at].gentler is not None:
                better[at] = legs[at].gentler or legs[at]
            elif _may_slow(leg, worst, fit):
                slower = _slower(legs[at], segment, worst)
                better[at] = min(better[at], slower, key=lambda one: sum(zone.speed for zone in one.zones))
            else:
                better[at] = _softened(legs[at], segment, worst)
        if all(one is other for one, other in zip(legs, better, strict=True)):
            return pieces, corners
        legs = better
    return _all_slower(pieces, limits), corners


def _index_of(legs: list[Leg], leg: Leg) -> int:
    return next(k for k, other in enumerate(legs) if other.index == leg.index)


def _all_slower(pieces: list[tuple[Leg, PathSegment]], limits: MotionLimits) -> list[tuple[Leg, PathSegment]]:
    """All pieces slowed by one factor, so that their speeds still agree where they meet."""
    factor, slower = 1.0, pieces
    for _ in range(ROUNDS):
        worst = [(worst_demand(leg, segment, limits), leg, segment) for leg, segment in slower]
        demand, leg, segment = max(worst, key=lambda entry: entry[0].factor)
        if demand.share <= HOLDS:
            return slower
        factor *= min(_slow_factor(demand), SLOWEST)
        slower = [
            (replace(one, slowed=one.slowed * factor), replace(piece, law=Slowed(piece.law, factor)))
            for one, piece in pieces
        ]
    raise demand_error(leg, segment, demand)


def _pieces(legs: list[Leg], corners: list[Corner | None]) -> list[tuple[Leg, PathSegment]]:
    """Legs cut short where they are rounded, and the blends in between."""
    cuts = [
        (before.join if before else 0.0, after.leave if after else leg.length)
        for leg, before, after in zip(legs, [None, *corners], [*corners, None], strict=True)
    ]
    zones = [zones_between(leg.zones, a, b) for leg, (a, b) in zip(legs, cuts, strict=True)]
    paces = _paces(corners, zones)
    pieces = []
    for k, (leg, (a, b)) in enumerate(zip(legs, cuts, strict=True)):
        before, after = ([None, *corners][k], [*corners, None][k])
        v_from = before.rates[1] * paces[k - 1] if before else 0.0
        v_to = after.rates[0] * paces[k] if after else 0.0
        law = zoned_law(zones[k], v_from, v_to)
        cut = leg.part(a, b)
        pieces.append((cut, _segment(cut, leg, law, a)))
        if after:
            tool = pieces[-1][1].tool
            law = Uniform(1.0, paces[k])
            pieces.append((leg, PathSegment("blend", after.path, law, after.curve, 0.0, tool)))
    return pieces


def _paces(corners: list[Corner | None], zones: list[Zones]) -> list[float]:
    """The rate of every corner that its legs can reach and brake from: a pass forwards, a pass backwards."""
    paces = [
        min(corner.speed, one[-1].speed / corner.rates[0], two[0].speed / corner.rates[1]) if corner else 0.0
        for one, two, corner in zip(zones, zones[1:], corners, strict=False)
    ]
    v = 0.0
    for k, corner in enumerate(corners):
        if corner:
            most = reachable_end(zones[k], v, paces[k] * corner.rates[0])
            paces[k] = min(paces[k], most / corner.rates[0])
            v = paces[k] * corner.rates[1]
        else:
            v = 0.0
    v = 0.0
    for k in range(len(corners) - 1, -1, -1):
        corner = corners[k]
        if corner:
            most = reachable_end(reversed_zones(zones[k + 1]), v, paces[k] * corner.rates[1])
            paces[k] = min(paces[k], most / corner.rates[1])
            v = paces[k] * corner.rates[0]
        else:
            v = 0.0
    return paces
