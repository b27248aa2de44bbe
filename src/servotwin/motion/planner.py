r"""From requests to a trajectory, checked over its whole length before anything moves.

Consecutive moves with a blend between them form a chain: it begins and ends at rest, its corners are
passed at constant pace, and its legs have the ramps of their profile in between.
Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import InputError, ShapeError
from servotwin.mechanism.model import Array
from servotwin.motion.blends import Corner, corner_between
from servotwin.motion.demands import HOLDS, check_positions, refuse, worst_demand
from servotwin.motion.errors import PathError
from servotwin.motion.joint_move import simple_move
from servotwin.motion.laws import Profile, Slowed, Uniform, make_profile, ramped
from servotwin.motion.legs import Leg, leg_of
from servotwin.motion.limits import MotionLimits
from servotwin.motion.ramps import reachable_speed
from servotwin.motion.requests import Request, Rest
from servotwin.motion.trajectory import PathSegment, RestSegment, Segment, Trajectory, joined
from servotwin.robot.robot import Robot

PERIOD = 0.016  # s; of the main controller
ROUNDS = 12  # of fitting a chain before all of it is slowed alike
MARGIN = 1.0 + 2e-4  # a fitted motion stays this much inside its limits, for what happens between the samples


def plan(
    robot: Robot,
    q_start: ArrayLike,
    requests: Sequence[Request],
    limits: MotionLimits,
    *,
    fit: bool = False,
    period: float = PERIOD,
) -> Trajectory:
    """The motion from q_start (n,) [rad, m], at rest, through all requests.

    PathError, before anything moves, where a path leaves the workspace, meets a singularity, or asks more of
    an axis or of the tool than it can do; with ``fit`` the last is slowed down instead until it holds
    (``Trajectory.slowed`` says by how much). Limits are checked at least at every ``period`` [s].
    """
    q = np.array(q_start, dtype=np.float64)
    if q.shape != (robot.n,) or not np.isfinite(q).all():
        raise ShapeError(f"q_start has the shape {q.shape}; expected ({robot.n},), finite")
    segments: list[Segment] = []
    owners: list[int] = []
    slowed = [1.0] * len(requests)
    chain: list[Leg] = []
    for index, request in enumerate(requests):
        short = None if chain else simple_move(request, q, limits)
        if short is not None:
            segments.append(short)
            owners.append(index)
            q = short.path.q[-1]
            continue
        leg = leg_of(robot, request, index, q, limits, fit)
        if leg is None:
            _close(chain, limits, fit, period, segments, owners, slowed)
            segments.append(_resting(request, q, index))
            owners.append(index)
            continue
        check_positions(leg, limits)
        chain.append(leg)
        q = leg.path.q[-1]
        if leg.blend <= 0.0:
            _close(chain, limits, fit, period, segments, owners, slowed)
    _close(chain, limits, fit, period, segments, owners, slowed)
    if not segments:
        segments, owners = [RestSegment(q, 0.0)], [0]
    return joined(segments, owners, tuple(slowed))


def _resting(request: Request, q: Array, index: int) -> RestSegment:
    """Standing still: a rest, or a move that goes nowhere."""
    time = request.time if isinstance(request, Rest) else 0.0
    if not 0.0 <= time < math.inf:
        raise InputError(f"move {index + 1} rests {time:g} s; expected a time of at least zero")
    return RestSegment(q.copy(), time)


def _close(
    chain: list[Leg],
    limits: MotionLimits,
    fit: bool,
    period: float,
    segments: list[Segment],
    owners: list[int],
    slowed: list[float],
) -> None:
    """Time the legs collected so far and append their segments."""
    if not chain:
        return
    if len(chain) == 1:
        pieces = [_alone(chain[0], limits, fit, period)]
    else:
        pieces = _chain(chain, limits, fit, period)
    for leg, segment in pieces:
        segments.append(segment)
        owners.append(leg.index)
        slowed[leg.index] = max(slowed[leg.index], leg.slowed)
    chain.clear()


# --- one leg from rest to rest ----------------------------------------------------------------------
def _alone(leg: Leg, limits: MotionLimits, fit: bool, period: float) -> tuple[Leg, PathSegment]:
    jerk = None if math.isinf(leg.ramp.jerk) else leg.ramp.jerk
    law = make_profile(leg.profile, leg.length, leg.speed, leg.ramp.acceleration, jerk)
    segment = _segment(leg, leg, law)
    if leg.time is not None:
        return _timed(leg, segment, limits, fit, period)
    if leg.kind == "joint" and not np.isfinite(limits.torque).any():
        return leg, segment  # within its limits by construction
    worst = worst_demand(leg, segment, limits, period)
    if worst.share <= HOLDS:
        return leg, segment
    if not (fit or (leg.free and worst.what in ("speed", "acceleration"))):
        raise refuse(leg, segment, worst)
    return _until_it_holds(leg, segment, limits, period)


def _until_it_holds(
    leg: Leg, segment: PathSegment, limits: MotionLimits, period: float
) -> tuple[Leg, PathSegment]:
    """Slow the whole law; speeds go with 1/k, accelerations with 1/k^2."""
    law, factor = segment.law, 1.0
    for _ in range(ROUNDS):
        worst = worst_demand(leg, segment, limits, period)
        if worst.share <= HOLDS:
            return replace(leg, slowed=1.0 if leg.free else factor), segment
        # What gravity takes of a torque does not shrink with the speed.
        factor *= worst.factor * MARGIN
        segment = replace(segment, law=Slowed(law, factor))
    raise refuse(leg, segment, worst)


def _timed(
    leg: Leg, segment: PathSegment, limits: MotionLimits, fit: bool, period: float
) -> tuple[Leg, PathSegment]:
    """A leg whose duration was asked for: the quickest one, stretched."""
    quickest, fastest = _until_it_holds(leg, segment, limits, period)
    assert leg.time is not None
    factor = leg.time / fastest.duration
    if factor >= 1.0 - 1e-12:
        return quickest, replace(fastest, law=Slowed(fastest.law, factor))
    if not fit:
        text = f"{leg.time:g} s are too short; the quickest is {fastest.duration:.4g} s"
        raise PathError(text, index=leg.index, what="time", place=1.0)
    return replace(leg, slowed=1.0 / factor), fastest


def _segment(leg: Leg, source: Leg, law: Profile, offset: float = 0.0) -> PathSegment:
    tool = None if np.array_equal(leg.tracker.X_tool, np.eye(4)) else leg.tracker.X_tool
    return PathSegment(leg.kind, leg.path, law, source.curve, offset, tool)


# --- legs with blends between them ------------------------------------------------------------------
def _chain(chain: list[Leg], limits: MotionLimits, fit: bool, period: float) -> list[tuple[Leg, PathSegment]]:
    legs = [
        leg if leg.time is None else replace(leg, speed=min(leg.speed, leg.length / leg.time))
        for leg in chain
    ]
    corners = [corner_between(one, two, limits) for one, two in pairwise(legs)]
    factors = [1.0] * len(legs)
    for _ in range(ROUNDS):
        pieces = _pieces(legs, corners)
        holds = True
        for leg, segment in pieces:
            if segment.kind == "blend" and not np.isfinite(limits.torque).any():
                continue  # its rate is within the limits by construction
            worst = worst_demand(leg, segment, limits, period)
            if worst.share <= HOLDS:
                continue
            if not (fit or (leg.free and worst.what in ("speed", "acceleration"))):
                raise refuse(leg, segment, worst)
            holds = False
            at = _position(legs, leg)
            factors[at] = max(factors[at], worst.factor * MARGIN)
        if holds:
            return pieces
        legs = [
            leg.slower(factor) if factor > 1.0 else leg for leg, factor in zip(legs, factors, strict=True)
        ]
        factors = [1.0] * len(legs)
    return _all_slower(pieces, limits, period)


def _position(legs: list[Leg], leg: Leg) -> int:
    return next(k for k, other in enumerate(legs) if other.index == leg.index)


def _all_slower(
    pieces: list[tuple[Leg, PathSegment]], limits: MotionLimits, period: float
) -> list[tuple[Leg, PathSegment]]:
    """Every piece slowed alike, so that the speeds still meet."""
    factor, slower = 1.0, pieces
    for _ in range(ROUNDS):
        worst = [(worst_demand(leg, segment, limits, period), leg, segment) for leg, segment in slower]
        demand, leg, segment = max(worst, key=lambda entry: entry[0].factor)
        if demand.share <= HOLDS:
            return slower
        factor *= demand.factor * MARGIN
        slower = [
            (replace(one, slowed=one.slowed * factor), replace(piece, law=Slowed(piece.law, factor)))
            for one, piece in pieces
        ]
    raise refuse(leg, segment, demand)


def _pieces(legs: list[Leg], corners: list[Corner | None]) -> list[tuple[Leg, PathSegment]]:
    """Legs cut short where they are rounded, and the blends in between."""
    cuts = [
        (before.join if before else 0.0, after.leave if after else leg.length)
        for leg, before, after in zip(legs, [None, *corners], [*corners, None], strict=True)
    ]
    paces = _paces(legs, corners, [b - a for a, b in cuts])
    pieces = []
    for k, (leg, (a, b)) in enumerate(zip(legs, cuts, strict=True)):
        before, after = ([None, *corners][k], [*corners, None][k])
        v_from = before.rates[1] * paces[k - 1] if before else 0.0
        v_to = after.rates[0] * paces[k] if after else 0.0
        law = ramped(b - a, v_from, v_to, leg.speed, leg.ramp)
        cut = replace(leg, path=leg.path.part(a, b))
        pieces.append((cut, _segment(cut, leg, law, a)))
        if after:
            segment = PathSegment("blend", after.path, Uniform(1.0, paces[k]), after.curve, 0.0, None)
            pieces.append((leg, replace(segment, tool=pieces[-1][1].tool)))
    return pieces


def _paces(legs: list[Leg], corners: list[Corner | None], lengths: list[float]) -> list[float]:
    """The rate of every corner that its legs can reach and leave again: a pass forwards, a pass backwards."""
    paces = [
        min(corner.speed, one.speed / corner.rates[0], two.speed / corner.rates[1]) if corner else 0.0
        for one, two, corner in zip(legs, legs[1:], corners, strict=False)
    ]
    v = 0.0
    for k, corner in enumerate(corners):
        if corner:
            most = reachable_speed(v, lengths[k], paces[k] * corner.rates[0], legs[k].ramp)
            paces[k] = min(paces[k], most / corner.rates[0])
            v = paces[k] * corner.rates[1]
        else:
            v = 0.0
    v = 0.0
    for k in range(len(corners) - 1, -1, -1):
        corner = corners[k]
        if corner:
            most = reachable_speed(v, lengths[k + 1], paces[k] * corner.rates[1], legs[k + 1].ramp)
            paces[k] = min(paces[k], most / corner.rates[1])
            v = paces[k] * corner.rates[0]
        else:
            v = 0.0
    return paces
