"""Moves from point to point: all axes start together, each move begins and ends at rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import InputError, ShapeError
from servotwin.mechanism.model import Array, Limits, Quantities
from servotwin.motion.profiles import ramp_within, stroke_motion, stroke_time, top_speed

RAMP = 0.25  # s; the velocity ramp if none is stated
LOOKS = 201  # instants of a move at which quantities are looked at; joints that end apart bend its path
MAX_MOVES = 100_000
SLACK = 1e-9  # of the range, so that a limit may be approached to the last digit


@dataclass(frozen=True)
class PointMove:
    """A move of all joints to ``target`` (n,) [rad, m].

    ``speed`` is the share (0 to 1] of each joint's largest speed; ``ramp`` [s]
    the time to reach it, made longer where the largest acceleration of a joint
    demands it; ``dwell`` [s] the rest afterwards. With ``together`` the joints
    also end together: the quicker ones move slower. ``rates`` (n,) [rad/s, m/s] are largest speeds of this
    move, in the place of the share.
    """

    target: Array
    speed: float = 1.0
    ramp: float = RAMP
    dwell: float = 0.0
    together: bool = True
    rates: Array | None = None

    def tops(self, limits: Limits) -> Array:
        """Largest speeds of the joints in this move (n,) [rad/s, m/s]; infinite where none is known."""
        return self.speed * limits.qd_max if self.rates is None else self.rates


@dataclass(frozen=True)
class Reference:
    """The planned motion: m moves of n joints, each at rest at both ends.

    ``start_times`` (m,) [s] when each move begins, ``durations`` (m,) [s] how long
    its motion lasts; ``q_from``, ``q_to`` (m, n) [rad, m]; ``tops`` (m, n) [rad/s, m/s]
    and ``ramps`` (m, n) [s] of the profile; ``duration`` [s] of everything, dwells included.
    """

    start_times: Array
    durations: Array
    q_from: Array
    q_to: Array
    tops: Array
    ramps: Array
    duration: float

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
) -> Reference:
    r"""The motion from ``start`` (n,) through the targets of ``moves``, ``repeat`` times.

    The joints of a move that end together keep the ramp and take the top speed

    .. math:: V_i = |s_i| / (T - T_r), \quad T = \max_j T_j       (eq:stretched-top)

    which makes the move a straight line in joint space. ``names`` and ``prismatic`` serve the
    messages: a target beyond the limits, or a joint without speed limit, is an InputError.
    """
    q = np.array(start, dtype=np.float64)
    labels = list(names) or [str(i) for i in range(q.size)]
    sliding = list(prismatic) or [False] * q.size
    if not moves or len(moves) * repeat > MAX_MOVES:
        raise InputError(f"{len(moves) * repeat} moves; expected 1 to {MAX_MOVES}", field="move")
    for name, low, high, value, slides in zip(labels, limits.q_min, limits.q_max, q, sliding, strict=True):
        _check_inside(value, (low, high), slides, f"axis {name} starts at", f"start.{name}")
    _check_moves(moves, limits, labels, sliding)
    rows = []
    clock = 0.0
    for i, move in enumerate([*moves] * repeat):
        _check_speeds(move, move.target - q, i % len(moves), limits, labels, sliding)
        tops, ramps, lasting = _profile(move.target - q, move, limits)
        rows.append((clock, lasting, q, move.target, tops, ramps))
        clock += lasting + move.dwell
        q = move.target
    begins, lengths, q_from, q_to, all_tops, all_ramps = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    return Reference(begins, lengths, q_from, q_to, all_tops, all_ramps, clock)


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


def check_quantities(reference: PlannedMoves, quantities: Quantities) -> None:
    """InputError where a planned motion takes an angle or length that follows from the joints out of its range."""
    if not quantities.names:
        return
    for i, (begin, lasting) in enumerate(zip(reference.start_times, reference.durations, strict=True)):
        q = reference.sample(np.linspace(begin, begin + lasting, LOOKS))[0]
        beyond = quantities.beyond(q)
        j, k = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
        if beyond[j, k] <= SLACK:
            continue
        scale, unit = (1e3, "mm") if quantities.lengths[k] else (180.0 / math.pi, "deg")
        stands, low, high = (
            scale * float(x) for x in (quantities.values(q)[j, k], quantities.low[k], quantities.high[k])
        )
        where = "the start has" if i == 0 and j == 0 else f"move {i} takes"
        raise InputError(
            f"{where} {quantities.names[k]} at {stands:.6g} {unit}, outside its limits; "
            f"expected {low:.6g} to {high:.6g} {unit}",
            field=f"move.{i}",
        )


def _profile(stroke: Array, move: PointMove, limits: Limits) -> tuple[Array, Array, float]:
    """Top speeds, ramps (n,) and duration of one move."""
    speed = np.where(stroke == 0.0, 1.0, move.tops(limits))
    ramp = np.maximum(move.ramp, ramp_within(stroke, speed, limits.qdd_max))
    if move.together:
        ramp = np.full_like(ramp, ramp.max())
    top = top_speed(stroke, speed, ramp)
    times = stroke_time(stroke, top, ramp)
    lasting = float(times.max())
    if move.together and lasting > 0.0:
        top = np.abs(stroke) / (lasting - ramp)  # eq:stretched-top
    return top, ramp, lasting


def _check_moves(
    moves: Sequence[PointMove], limits: Limits, names: Sequence[str], prismatic: Sequence[bool]
) -> None:
    for i, move in enumerate(moves):
        if np.shape(move.target) != (len(names),):
            raise ShapeError(
                f"move {i} has a target of shape {np.shape(move.target)}; expected ({len(names)},)"
            )
        if not (0.0 < move.speed <= 1.0 and 0.0 < move.ramp < math.inf and 0.0 <= move.dwell < math.inf):
            raise InputError(
                "expected 0 < speed <= 1, ramp above zero, dwell at least zero", field=f"move.{i}"
            )
        for k, name in enumerate(names):
            span = (float(limits.q_min[k]), float(limits.q_max[k]))
            text = f"move {i} takes axis {name} to"
            _check_inside(float(move.target[k]), span, prismatic[k], text, f"move.{i}.to.{name}")


def _check_speeds(
    move: PointMove, stroke: Array, i: int, limits: Limits, names: Sequence[str], prismatic: Sequence[bool]
) -> None:
    tops = move.tops(limits)
    for k, name in enumerate(names):
        if stroke[k] == 0.0:
            continue
        scale, unit = _shop_units(prismatic[k])
        if not math.isfinite(tops[k]):
            text = (
                f"axis {name} has no speed limit; expected a speed of this move, such as 'speed: 100 {unit}/s', or "
                f"axes.{name}.limits.speed in the robot file"
            )
            raise InputError(text, field=f"move.{i}.to.{name}")
        if tops[k] > limits.qd_max[k] * (1.0 + SLACK):
            text = (
                f"{tops[k] * scale:.6g} {unit}/s is beyond the speed limit of axis {name}; expected at most "
                f"{limits.qd_max[k] * scale:.6g} {unit}/s"
            )
            raise InputError(text, field=f"move.{i}.speed.{name}")


def _shop_units(slides: bool) -> tuple[float, str]:
    """Per SI unit, and name, of what people on the shop floor count in."""
    return (1e3, "mm") if slides else (180.0 / math.pi, "deg")


def _check_inside(value: float, span: tuple[float, float], slides: bool, text: str, field: str) -> None:
    """Complain about a position outside its limits, in the units of the shop floor."""
    low, high = span
    slack = SLACK * (high - low) if math.isfinite(high - low) else 0.0
    if low - slack <= value <= high + slack:
        return
    scale, unit = _shop_units(slides)
    raise InputError(
        f"{text} {value * scale:.6g} {unit}, beyond its limits;"
        f" expected {low * scale:.6g} to {high * scale:.6g} {unit}",
        field=field,
    )
