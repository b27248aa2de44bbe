r"""Joint moves from rest to rest: the time laws of one move, for scenarios and for MOVEJ.

Joints that end together share one law of a parameter s that goes from 0 to 1 while joint i goes its step
:math:`\Delta q_i`. ``point_moves`` plans the moves of scenarios with these laws, ``quick_move`` a MOVEJ that only the
limits of the joints bound; ``legs`` has every other MOVEJ. Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import truediv

import numpy as np

from servotwin.description.fields import FARTHEST
from servotwin.mechanism.model import Array
from servotwin.motion.joint_path import straight
from servotwin.motion.laws import Profile, make_profile
from servotwin.motion.limits import MotionLimits
from servotwin.motion.ramps import ProfileKind
from servotwin.motion.requests import MoveJ, Request
from servotwin.motion.trajectory import PathSegment

MoveLaws = tuple[
    Profile | None, ...
]  # one for all joints, or one per joint; None for a joint that does not move
SHORTEST = 1e-9  # rad, m: ``quick_move`` leaves a shorter move to the planner of legs


def slowness_of(step: Sequence[float], limits: Iterable[Sequence[float]]) -> list[float]:
    r"""Reciprocals of the largest rates of s: the joint that needs the most of its limit decides; zero if none does.

    .. math:: \dot s \le \min_i \frac{V_i}{|\Delta q_i|}, \quad \ddot s \le \min_i \frac{a_i}{|\Delta q_i|}
                                                                                         (eq:joint-pace)

    ``step`` (n,) [rad, m], not negative; ``limits`` of speed, acceleration and jerk, each (n,).

    >>> slowness_of([1.0, 0.5], [[2.0, 0.5], [4.0, 4.0], [math.inf, math.inf]])
    [1.0, 0.25, 0.0]
    """
    return [max(map(truediv, step, most)) for most in limits]  # eq:joint-pace


def common_law(
    profile: ProfileKind, slowness: Sequence[float], speed_share: float = 1.0, acceleration_share: float = 1.0
) -> Profile:
    """The quickest law of s from 0 to 1, at shares (0 to 1] of the speed and acceleration that ``slowness`` allows."""
    by_speed, by_acceleration, by_jerk = slowness
    jerk = 1.0 / by_jerk if by_jerk > 0.0 else None
    return make_profile(profile, 1.0, speed_share / by_speed, acceleration_share / by_acceleration, jerk)


# --- scenarios ----------------------------------------------------------------------------------------
def move_laws(
    kind: ProfileKind, stroke: Array, speeds: Array, accelerations: Array, jerks: Array, together: bool
) -> MoveLaws:
    """The quickest laws of a move of ``stroke`` (n,) [rad, m] within the limits (n,) of its joints.

    Joints that end together share one law; otherwise every joint has a law of its own stroke. ``jerks`` are infinite
    where unlimited.
    """
    step = np.abs(stroke).tolist()
    if not any(step):
        return (None,)
    most = speeds.tolist(), accelerations.tolist(), jerks.tolist()
    if together or len(step) == 1:  # a law that stands alone is one of the common parameter
        return (common_law(kind, slowness_of(step, most)),)
    return tuple(
        make_profile(kind, s, v, a, None if math.isinf(j) else j) if s else None
        for s, v, a, j in zip(step, *most, strict=True)
    )


def duration_of(laws: MoveLaws) -> float:
    """How long [s] the move lasts."""
    return max((law.duration for law in laws if law is not None), default=0.0)


def sample_laws(laws: MoveLaws, t: Array, stroke: Array) -> tuple[Array, Array, Array, Array]:
    """Distance done, distance left, velocity and acceleration (k, n) at the times t (k,) [s]."""
    length, sign = np.abs(stroke), np.sign(stroke)
    done, speed, acceleration = (np.zeros_like(stroke) for _ in range(3))
    for i, law in enumerate(laws):
        if law is None:
            continue
        s, v, a = law.sample(t)
        outside = (t < 0.0) | (t > law.duration)
        v[outside] = a[outside] = 0.0
        if len(laws) == 1:  # of the common parameter from 0 to 1
            done, speed, acceleration = (x[:, np.newaxis] * length for x in (s, v, a))
        else:
            done[:, i], speed[:, i], acceleration[:, i] = s, v, a
    return sign * done, sign * (length - done), sign * speed, sign * acceleration


# --- MOVEJ --------------------------------------------------------------------------------------------
def quick_move(request: Request, q: Array, limits: MotionLimits) -> PathSegment | None:
    """The motion of a MOVEJ from q (n,) that only the limits of the joints bound; None for any other request.

    Blends, tools, speeds in m/s, durations, quintics and limits of torque, motors or tool need a leg (``legs.leg_of``);
    so do positions beyond the limits, which the planner refuses with its reasons.
    """
    if not isinstance(request, MoveJ) or not _bounded_by_joints(request, limits):
        return None
    target = np.asarray(request.target, dtype=np.float64)
    if target.shape != q.shape or not _inside(q, target, limits):
        return None
    step = np.abs(target - q).tolist()
    slowness = slowness_of(step, limits.joint_rates)
    if not max(step) > SHORTEST or min(slowness[:2]) <= 0.0:
        return None
    profile = request.profile or ("s-curve" if slowness[2] > 0.0 else "cubic-ramp")
    law = common_law(profile, slowness, request.speed.value, request.acceleration or 1.0)
    return PathSegment("joint", straight(q, target), law)


def _bounded_by_joints(move: MoveJ, limits: MotionLimits) -> bool:
    return (
        move.blend <= 0.0
        and move.tool is None
        and move.speed.kind == "fraction"
        and move.profile != "quintic"
        and (move.acceleration is None or 0.0 < move.acceleration <= 1.0)
        and not (limits.torque_limited or limits.tool_limited)
    )


def _inside(q: Array, target: Array, limits: MotionLimits) -> bool:
    """Whether both ends are within the limits, and with them the straight line between them."""
    if limits.quantities.names and (limits.quantities.beyond(np.stack([q, target])) > 0.0).any():
        return False
    rows = zip(q.tolist(), target.tolist(), limits.q_min.tolist(), limits.q_max.tolist(), strict=True)
    return all(
        low <= start <= high and low <= end <= high and abs(end) <= FARTHEST for start, end, low, high in rows
    )
