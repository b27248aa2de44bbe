"""Moves from point to point: all axes start together, each move begins and ends at rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.display import of_joint
from servotwin.errors import InputError, ShapeError
from servotwin.mechanism.model import Array, Limits, Quantities
from servotwin.motion.ramps import (
    PEAK,
    ProfileKind,
    ramp_within,
    ramp_within_jerk,
    stroke_motion,
    stroke_time,
    top_speed,
)

if TYPE_CHECKING:
    from servotwin.motion.joint_moves import MoveLaws

RAMP = 0.25  # s; the velocity ramp if none is stated
CHECKS = (
    201  # instants of a move at which quantities are checked: the path of joints that end apart is curved
)
MAX_MOVES = 100_000
SLACK = 1e-9  # of the range, so that a limit may be approached to the last digit


@dataclass(frozen=True)
class PointMove:
    """A move of all joints to ``target`` (n,) [rad, m].

    ``speed`` and ``acceleration`` are shares (0 to 1] of each joint's largest; ``speeds`` (n,) [rad/s, m/s] and
    ``accelerations`` (n,) [rad/s2, m/s2], if given, take the place of the shares.
    ``ramp`` [s] is the time to reach the speed, longer where an acceleration or jerk demands it; None is ``RAMP``
    for cubic ramps, and for the other profiles no more than the limits demand. ``dwell`` [s] is the
    rest afterwards. With ``together`` the joints also end together: the quicker ones move slower. Joints of ``stays``
    (n,) keep their position whatever their target.
    """

    target: Array
    speed: float = 1.0
    ramp: float | None = None
    dwell: float = 0.0
    together: bool = True
    speeds: Array | None = None
    profile: ProfileKind = "cubic-ramp"
    acceleration: float = 1.0
    accelerations: Array | None = None
    stays: Array | None = None

    def end(self, q: Array) -> Array:
        """Where the joints are after this move from q (n,) [rad, m]."""
        return self.target if self.stays is None else np.where(self.stays, q, self.target)

    def tops(self, limits: Limits) -> Array:
        """Largest speeds of the joints in this move (n,) [rad/s, m/s]; infinite where none is known."""
        return self.speed * limits.qd_max if self.speeds is None else self.speeds

    def steepest(self, limits: Limits) -> Array:
        """Largest accelerations of the joints in this move (n,) [rad/s2, m/s2]; infinite where none is known."""
        return self.acceleration * limits.qdd_max if self.accelerations is None else self.accelerations


@dataclass(frozen=True)
class PointMotion:
    """Planned point-to-point moves: m moves of n joints, each at rest at both ends.

    ``start_times`` (m,) [s] when each move begins, ``durations`` (m,) [s] how long
    its motion lasts; ``q_from``, ``q_to`` (m, n) [rad, m]; ``tops`` (m, n) [rad/s, m/s]
    and ``ramps`` (m, n) [s] of cubic ramps; ``duration`` [s] of everything, dwells included. Moves with another
    profile follow ``laws[law_of[i]]``; ``law_of`` (m,) is -1 for cubic ramps.
    """

    start_times: Array
    durations: Array
    q_from: Array
    q_to: Array
    tops: Array
    ramps: Array
    duration: float
    laws: tuple[MoveLaws, ...] = ()
    law_of: Array | None = None

    @cached_property
    def arrivals(self) -> Array:
        """When each move has reached its target (m,) [s]."""
        return self.start_times + self.durations

    def sample(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration (k, n) at the times ``t`` (k,) [s]; at rest before and after."""
        times = np.atleast_1d(np.asarray(t, dtype=np.float64))
        if times.ndim != 1:
            raise ShapeError(f"t has the shape {times.shape}; expected (k,)")
        i = np.clip(np.searchsorted(self.start_times, times, side="right") - 1, 0, None)
        clock = (times - self.start_times[i])[:, np.newaxis]
        q_from, q_to = self.q_from[i], self.q_to[i]
        done, left, qd, qdd = stroke_motion(clock, q_to - q_from, self.tops[i], self.ramps[i])
        if self.laws and self.law_of is not None:
            from servotwin.motion.joint_moves import sample_laws

            for k in np.unique(self.law_of[i][self.law_of[i] >= 0]):
                here = np.nonzero(self.law_of[i] == k)[0]
                stroke = (q_to - q_from)[here]
                done[here], left[here], qd[here], qdd[here] = sample_laws(
                    self.laws[k], clock[here, 0], stroke
                )
        near_end = np.abs(left) < np.abs(done)
        return np.where(near_end, q_to - left, q_from + done), qd, qdd


def plan_moves(
    start: ArrayLike,
    moves: Sequence[PointMove],
    limits: Limits,
    *,
    names: Sequence[str] = (),
    prismatic: Sequence[bool] = (),
    repeat: int = 1,
    jerk: ArrayLike = math.inf,
    speed: ArrayLike = 0.0,
) -> PointMotion:
    r"""The motion from ``start`` (n,) through the targets of ``moves``, ``repeat`` times.

    The joints of a move of cubic ramps that end together keep the ramp and take the top speed

    .. math:: V_i = |s_i| / (T - T_r), \quad T = \max_j T_j       (eq:stretched-top)

    which makes the move a straight line in joint space; with the other profiles they share one law (eq:joint-pace).
    ``jerk`` (n,) [rad/s3, m/s3]: largest jerks. A target beyond the limits, or a joint without speed limit, is an
    InputError. ``names``, ``prismatic`` and ``speed`` serve the messages: joints that begin with a ``speed``
    (n,) [rad/s, m/s] would come to rest at ``start`` (``moving_start``).
    """
    q = np.array(start, dtype=np.float64)
    labels = list(names) or [str(i) for i in range(q.size)]
    sliding = list(prismatic) or [False] * q.size
    jerks, moving = (np.broadcast_to(np.asarray(x, dtype=np.float64), q.shape) for x in (jerk, speed))
    if not moves or len(moves) * repeat > MAX_MOVES:
        raise InputError(f"{len(moves) * repeat} moves; expected 1 to {MAX_MOVES}", field="move")
    for i, (name, slides) in enumerate(zip(labels, sliding, strict=True)):
        said = (f"axis {name} starts at", f"start.{name}")
        if moving[i] != 0.0:
            said = (f"axis {name} would come to rest at", f"initial.speed.{name}")
        _check_inside(q[i], (limits.q_min[i], limits.q_max[i]), slides, *said)
    _check_moves(moves, limits, labels, sliding)
    plans: dict[tuple[int, bytes], _Timed] = {}  # a move that repeats the same stroke is planned once
    rows = []
    clock = 0.0
    for i, move in enumerate([*moves] * repeat):
        end = move.end(q)
        stroke = end - q
        key = i % len(moves), stroke.tobytes()
        if key not in plans:
            _check_rates(move, stroke, i % len(moves), limits, labels, sliding)
            plans[key] = _timed(stroke, move, limits, jerks)
        timed = plans[key]
        rows.append((clock, timed, q, end))
        clock += timed.duration + move.dwell
        q = end
    return _point_motion(rows, clock)


@dataclass(frozen=True, eq=False)
class _Timed:
    """One move with its times: top speeds and ramps (n,) of cubic ramps, or the laws of another profile."""

    tops: Array
    ramps: Array
    duration: float
    laws: MoveLaws | None = None


def _point_motion(rows: Sequence[tuple[float, _Timed, Array, Array]], duration: float) -> PointMotion:
    begins, plans, q_from, q_to = zip(*rows, strict=True)
    kept = list({id(plan): plan.laws for plan in plans if plan.laws is not None}.items())
    place = {name: k for k, (name, _) in enumerate(kept)}
    return PointMotion(
        np.array(begins),
        np.array([plan.duration for plan in plans]),
        np.array(q_from),
        np.array(q_to),
        np.array([plan.tops for plan in plans]),
        np.array([plan.ramps for plan in plans]),
        duration,
        tuple(laws for _, laws in kept),
        np.array([place.get(id(plan), -1) for plan in plans]),
    )


class PlannedMoves(Protocol):
    """A motion of moves one after the other: when each begins, how long it lasts (m,) [s]."""

    @property
    def start_times(self) -> Array:
        """[s]"""

    @property
    def durations(self) -> Array:
        """[s]"""

    def sample(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration (k, n) at the times ``t`` (k,) [s]."""


def check_quantities(motion: PlannedMoves, quantities: Quantities, count: int = MAX_MOVES) -> None:
    """InputError where a planned motion takes an angle or length that follows from the joints out of its range.

    ``count``: moves of the list that the motion runs through, once or several times.
    """
    if not quantities.names:
        return
    for i, (begin, duration) in enumerate(zip(motion.start_times, motion.durations, strict=True)):
        q = motion.sample(np.linspace(begin, begin + duration, CHECKS))[0]
        beyond = quantities.beyond(q)
        j, k = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
        if beyond[j, k] <= SLACK:
            continue
        scale, unit = of_joint(quantities.lengths[k])
        stands, low, high = (
            scale * float(x) for x in (quantities.values(q)[j, k], quantities.low[k], quantities.high[k])
        )
        name = quantities.names[k]
        where = f"the start has {name} at" if i == j == 0 else f"move {i % count + 1} takes {name} to"
        raise InputError(
            f"{where} {stands:.6g} {unit}, outside its limits; expected {low:.6g} to {high:.6g} {unit}",
            field=f"move.{i % count}",
        )


def _timed(stroke: Array, move: PointMove, limits: Limits, jerk: Array) -> _Timed:
    """The times of one move by its profile."""
    speed = np.where(stroke == 0.0, 1.0, move.tops(limits))
    if move.profile != "cubic-ramp":
        from servotwin.motion.joint_moves import duration_of, move_laws

        steepest = _accelerations(move, speed, limits)
        if move.profile == "s-curve" and move.ramp is not None and np.isfinite(jerk).any():
            jerk = np.minimum(jerk, 2.0 * steepest**2 / speed)  # eq:usual-jerk: no shorter than the ramp
        laws = move_laws(move.profile, stroke, speed, steepest, jerk, move.together)
        return _Timed(np.zeros_like(stroke), np.ones_like(stroke), duration_of(laws), laws)
    ramp = np.maximum(move.ramp or RAMP, ramp_within(stroke, speed, move.steepest(limits)))
    ramp = np.maximum(ramp, ramp_within_jerk(stroke, speed, jerk))
    if move.together:
        ramp = np.full_like(ramp, ramp.max())
    top = top_speed(stroke, speed, ramp)
    duration = float(stroke_time(stroke, top, ramp).max())
    if move.together and duration > 0.0:
        top = np.abs(stroke) / (duration - ramp)  # eq:stretched-top
    return _Timed(top, ramp, duration)


def _accelerations(move: PointMove, speed: Array, limits: Limits) -> Array:
    """Largest accelerations (n,) of a profile without a ramp time of its own (eq:usual-acceleration).

    A ``ramp`` that is stated bounds them by the speed over it, 1.5 times where they rise and fall within the ramp.
    """
    usual = PEAK * np.where(np.isfinite(limits.qd_max), limits.qd_max, speed) / RAMP
    steepest = move.steepest(limits)
    steepest = np.where(np.isfinite(steepest), steepest, usual)
    if move.ramp is not None:
        steepest = np.minimum(steepest, (1.0 if move.profile == "trapezoid" else PEAK) * speed / move.ramp)
    return steepest


def _check_moves(
    moves: Sequence[PointMove], limits: Limits, names: Sequence[str], prismatic: Sequence[bool]
) -> None:
    for i, move in enumerate(moves):
        if np.shape(move.target) != (len(names),):
            raise ShapeError(
                f"move {i + 1} has a target of shape {np.shape(move.target)}; expected ({len(names)},)"
            )
        if not (
            min(move.speed, move.acceleration) > 0.0
            and max(move.speed, move.acceleration) <= 1.0
            and (move.ramp is None or 0.0 < move.ramp < math.inf)
            and 0.0 <= move.dwell < math.inf
        ):
            raise InputError(
                "expected 0 < speed <= 1, 0 < acceleration <= 1, ramp above zero, dwell at least zero",
                field=f"move.{i}",
            )
        if move.profile == "quintic" and move.ramp is not None:
            text = "a quintic has no ramp; expected none, or another profile"
            raise InputError(text, field=f"move.{i}.ramp")
        for k, name in enumerate(names):
            if move.stays is not None and move.stays[k]:
                continue
            span = (float(limits.q_min[k]), float(limits.q_max[k]))
            text = f"move {i + 1} takes axis {name} to"
            _check_inside(float(move.target[k]), span, prismatic[k], text, f"move.{i}.to.{name}")


def _check_rates(
    move: PointMove, stroke: Array, i: int, limits: Limits, names: Sequence[str], prismatic: Sequence[bool]
) -> None:
    """InputError for speeds and accelerations that are not known, or beyond the limits."""
    tops, steepest = move.tops(limits), move.steepest(limits)
    for k, name in enumerate(names):
        if stroke[k] == 0.0:
            continue
        scale, unit = of_joint(prismatic[k])
        if not math.isfinite(tops[k]):
            text = (
                f"axis {name} has no speed limit; expected a speed of this move, such as 'speed: 100 {unit}/s', or "
                f"axes.{name}.limits.speed in the robot file"
            )
            raise InputError(text, field=f"move.{i}.to.{name}")
        if move.acceleration < 1.0 and move.accelerations is None and not math.isfinite(limits.qdd_max[k]):
            text = (
                f"axis {name} has no acceleration limit of which this could be a share; expected an acceleration, "
                f"such as '1000 {unit}/s2', or axes.{name}.limits.acceleration in the robot file"
            )
            raise InputError(text, field=f"move.{i}.acceleration")
        for what, per, value, most in (
            ("speed", "/s", tops[k], limits.qd_max[k]),
            ("acceleration", "/s2", steepest[k], limits.qdd_max[k]),
        ):
            if value > most * (1.0 + SLACK):
                text = (
                    f"{value * scale:.6g} {unit}{per} is beyond the {what} limit of axis {name}; expected at most "
                    f"{most * scale:.6g} {unit}{per}"
                )
                raise InputError(text, field=f"move.{i}.{what}.{name}")


def _check_inside(value: float, span: tuple[float, float], slides: bool, text: str, field: str) -> None:
    """InputError for a position outside its limits, in mm or deg."""
    low, high = span
    slack = SLACK * (high - low) if math.isfinite(high - low) else 0.0
    if low - slack <= value <= high + slack:
        return
    scale, unit = of_joint(slides)
    raise InputError(
        f"{text} {value * scale:.6g} {unit}, beyond its limits;"
        f" expected {low * scale:.6g} to {high * scale:.6g} {unit}",
        field=field,
    )
