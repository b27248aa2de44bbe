r"""Joint moves from rest to rest: the time laws of one move, for scenarios and for MOVEJ.

Joints that end together share one law of a parameter s that goes from 0 to 1 while joint i goes its step
:math:`\Delta q_i`. ``point_moves`` plans the moves of scenarios with these laws, ``quick_move`` a MOVEJ that only the
limits of the joints bound; ``legs`` has every other MOVEJ. Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import truediv

import numpy as np

from servotwin.compiled.jit import kernel
from servotwin.description.fields import FARTHEST
from servotwin.mechanism.model import Array
from servotwin.motion.joint_path import JointPath, path_of_rows
from servotwin.motion.law_sampling import CUBIC, JERK_LIMITED, LINEAR, rest_law
from servotwin.motion.laws import Profile, make_profile, ramps_of_numbers
from servotwin.motion.limits import MotionLimits
from servotwin.motion.ramps import ProfileKind
from servotwin.motion.requests import MoveJ, Request
from servotwin.motion.trajectory import PathSegment

MoveLaws = tuple[
    Profile | None, ...
]  # one for all joints, or one per joint; None for a joint that does not move
USUAL = -1  # the shape of a MOVEJ that names no profile
BY_RAMPS = {
    None: USUAL,
    "trapezoid": LINEAR,
    "cubic-ramp": CUBIC,
    "s-curve": JERK_LIMITED,
}  # profiles of ``quick_move``
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
class JointMove(PathSegment):
    """The segment of a joint move as compiled code leaves it; path and law are made when they are asked for."""

    rows: Array
    numbers: Array
    shape: int

    @classmethod
    def of(cls, rows: Array, numbers: Array, shape: int) -> JointMove:
        """The move of a line (6, n), see ``path_of_rows``, and the numbers (9,) of its law, see ``LawNumbers``."""
        new = object.__new__(cls)
        new.__dict__.update(kind="joint", rows=rows, numbers=numbers, shape=shape)
        return new

    @cached_property
    def path(self) -> JointPath:
        """The line, s from 0 to 1."""
        return path_of_rows(self.rows)

    @cached_property
    def law(self) -> Profile:
        """The law of s."""
        return ramps_of_numbers(self.shape, self.numbers)


def quick_move(request: Request, q: Array, limits: MotionLimits) -> PathSegment | None:
    """The motion of a MOVEJ from q (n,) that only the limits of the joints bound; None for any other request."""
    found = quick_numbers(request, q, limits)
    return None if found is None else found[0]


def quick_numbers(request: Request, q: Array, limits: MotionLimits) -> tuple[JointMove, float] | None:
    """``quick_move`` and its duration [s].

    Blends, tools, speeds in m/s, durations, quintics and limits of torque, motors or tool need a leg (``legs.leg_of``);
    so do positions beyond the limits, which the planner refuses with its reasons.
    """
    if not isinstance(request, MoveJ) or not _bounded_by_joints(request, limits):
        return None
    target = np.asarray(request.target, dtype=np.float64)
    table = limits.joint_table
    n = q.size
    if target.shape != q.shape or table.shape[1] != n:  # compiled code looks at no shapes
        return None
    if limits.quantities.names and _quantities_beyond(q, target, limits):
        return None
    rows, numbers = np.empty((6, n)), np.empty(9)
    rows[0], rows[1] = q, target  # whose memory may lie in any order, or not be ours to write
    share = request.acceleration or 1.0
    shape, duration = fill_move(rows, table, BY_RAMPS[request.profile], request.speed.value, share, numbers)
    return None if shape < 0 else (JointMove.of(rows, numbers, shape), duration)


def _bounded_by_joints(move: MoveJ, limits: MotionLimits) -> bool:
    return (
        move.blend <= 0.0
        and move.tool is None
        and move.speed.kind == "fraction"
        and move.profile in BY_RAMPS
        and not move.optimal
        and (move.acceleration is None or 0.0 < move.acceleration <= 1.0)
        and not (limits.torque_limited or limits.tool_limited)
    )


def _quantities_beyond(q: Array, target: Array, limits: MotionLimits) -> bool:
    """Whether an angle or length is outside of its range at one of the ends; between them it is a mean of both."""
    return bool((limits.quantities.beyond(np.stack([q, target])) > 0.0).any())


@kernel
def fill_line(rows: Array, limits: Array) -> tuple[float, float, float]:
    """Complete rates and bends of a straight line whose ends stand in ``rows`` (6, n), see ``path_of_rows``.

    Returns its slowness (eq:joint-pace) for ``limits`` (5, n), a ``MotionLimits.joint_table``; zero where an end is
    beyond the limits or ``FARTHEST``, is no number, or where no joint moves by more than ``SHORTEST``.
    """
    by_speed = by_acceleration = by_jerk = longest = 0.0
    for i in range(rows.shape[1]):
        start, end = rows[0, i], rows[1, i]
        step = end - start
        rows[2, i] = rows[3, i] = step
        rows[4, i] = rows[5, i] = 0.0
        inside = limits[0, i] <= start <= limits[1, i] and limits[0, i] <= end <= limits[1, i]
        if not (inside and abs(start) <= FARTHEST and abs(end) <= FARTHEST):
            return 0.0, 0.0, 0.0
        size = abs(step)
        longest = max(longest, size)
        by_speed = max(by_speed, size / limits[2, i])
        by_acceleration = max(by_acceleration, size / limits[3, i])
        by_jerk = max(by_jerk, size / limits[4, i])
    if not longest > SHORTEST:
        return 0.0, 0.0, 0.0
    return by_speed, by_acceleration, by_jerk


@kernel
def fill_move(
    rows: Array, limits: Array, shape: int, speed: float, acceleration: float, law: Array
) -> tuple[int, float]:
    """``fill_line``, and the numbers (9,) of the quickest law of the move, at shares of speed and acceleration.

    Returns the shape of its ramps and its duration [s]; a shape below zero where ``fill_line`` finds no move. ``shape``
    is one of ``BY_RAMPS``: a limited jerk makes S-curves of trapezoids, and of ramps of no named shape.
    """
    by_speed, by_acceleration, by_jerk = fill_line(rows, limits)
    if by_speed <= 0.0 or by_acceleration <= 0.0:
        return -1, 0.0
    v, a = speed / by_speed, acceleration / by_acceleration
    jerk = 1.0 / by_jerk if by_jerk > 0.0 else np.inf
    if by_jerk > 0.0 and shape != CUBIC:
        shape = JERK_LIMITED
    elif shape == USUAL:
        shape = CUBIC
    elif shape == JERK_LIMITED:
        jerk = 2.0 * a * a / v  # eq:usual-jerk
    rest_law(shape, 1.0, v, a, jerk, law)
    return shape, law[4] + law[5] + law[6]
