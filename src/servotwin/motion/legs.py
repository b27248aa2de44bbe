r"""From a request to a leg: its path in joint space and how quickly it may be traversed.

Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from servotwin.description.fields import FARTHEST
from servotwin.dynamics.ik.pose import checked_poses
from servotwin.errors import InputError, ShapeError
from servotwin.mechanism.model import Array
from servotwin.motion.curve_pace import (
    CurveRamps,
    one_zone,
    quicker_in_zones,
    rest_to_rest,
    spline_zones,
)
from servotwin.motion.curves import Curve, circle, line
from servotwin.motion.errors import PathError, refusal
from servotwin.motion.extremes import Cells
from servotwin.motion.follow import Tracker, follow
from servotwin.motion.joint_moves import slowness_of
from servotwin.motion.joint_path import JointPath, straight
from servotwin.motion.laws import ramp_limits
from servotwin.motion.limits import MotionLimits
from servotwin.motion.pace import BEND_SHARE, Bends, bends_of
from servotwin.motion.ramps import ProfileKind, RampLimits
from servotwin.motion.requests import Cartesian, MoveC, MoveJ, MoveL, Request, Rest, Speed, in_base
from servotwin.motion.spline_curve import spline
from servotwin.motion.tool_point import point_rates
from servotwin.motion.zones import Zone, Zones
from servotwin.robot.robot import Robot

STANDSTILL = 1e-12  # rad, m: a joint move this short takes no time
LONGEST = 3600.0  # s; of one move
FASTEST = 1e9  # m/s: no tool reaches it, and its powers do not overflow
TOOL_CELLS = 12  # of a joint move, in which the speed of the tool is smooth


@dataclass(frozen=True)
class Leg:
    """The path of one request and its pace, in units of the path's parameter (1 for a joint move, m for a curve).

    ``zones``: the largest speed and the ramps, one zone unless the path is slower where it is tight.
    ``free_speed``: the request names no speed in m/s, so that the planner may lower the speed;
    ``free_ramps``: the planner may lower the acceleration alone. ``time`` [s]: the duration, if the
    request names one. ``slowed``: how many times as long as requested the leg takes.
    ``asked_acceleration`` [m/s2] of the request, if any; ``gentler``: the same leg with the acceleration lowered to
    what the axes have, where the planner may do so; ``with_acceleration`` gives it with another one.
    """

    index: int
    kind: str
    path: JointPath
    zones: Zones
    profile: ProfileKind
    blend: float
    tracker: Tracker
    curve: Curve | None = None
    free_speed: bool = True
    free_ramps: bool = False
    time: float | None = None
    slowed: float = 1.0
    gentler: Leg | None = None
    asked_acceleration: float | None = None
    with_acceleration: Callable[[float], Leg] | None = None

    @property
    def length(self) -> float:
        """Of its path."""
        return self.path.length

    def zone_at(self, s: float) -> Zone:
        """The zone at a parameter of the path."""
        if len(self.zones) == 1:
            return self.zones[0]
        return self.zones[int(np.searchsorted([zone.end for zone in self.zones[:-1]], s))]

    def slower(self, factor: float, at: float | None = None) -> Leg:
        """The same at 1/factor of the speed, accelerations and jerk to match; with ``at`` only the zone there."""
        ends = [zone.end for zone in self.zones[:-1]]
        here = None if at is None else int(np.searchsorted(ends, at))
        zones = tuple(zone.slower(factor) if here in (None, k) else zone for k, zone in enumerate(self.zones))
        return replace(self, zones=zones, slowed=1.0 if self.free_speed else self.slowed * factor)

    def with_slowdown(self, speed: float, ramp: RampLimits) -> Leg:
        """The same with ``slowed`` set: its time over the time that the requested speed and ramps would take."""
        if self.free_speed:
            return self
        asked = rest_to_rest((Zone(self.length, min(speed, FASTEST), ramp),), self.profile)
        return replace(self, slowed=max(rest_to_rest(self.zones, self.profile) / asked, 1.0))

    def part(self, a: float, b: float) -> Leg:
        """The same along the part a .. b of its path. All fields are entered at once, which is quicker."""
        new = object.__new__(Leg)
        new.__dict__.update(self.__dict__, path=self.path.part(a, b))
        return new

    def softer(self, factor: float) -> Leg:
        """The same with ramps of 1/factor of the acceleration."""
        return replace(self, zones=tuple(zone.softer(factor) for zone in self.zones))


def leg_of(
    robot: Robot,
    request: Request,
    index: int,
    q: Array,
    limits: MotionLimits,
    fit: bool,
    *,
    flowing: bool = False,
) -> Leg | None:
    """The leg of a request from q (n,), its target checked; None if it does not move.

    ``flowing``: it is blended with the one before it or behind it.
    """
    if isinstance(request, Rest):
        return None
    if request.tool is None:
        tracker = tracker_of(robot)
    else:
        tracker = Tracker(robot, checked_poses(request.tool), robot.n > 3)
    if isinstance(request, MoveJ):
        return _joint_leg(request, index, q, limits, tracker)
    curve = _curve(request, index, robot.fkine(q) @ tracker.X_tool)
    if curve.length == 0.0:
        return None
    path = follow(tracker, curve, q, index)
    return _curve_leg(request, index, curve, path, limits, tracker, fit, flowing)


@lru_cache(maxsize=16)
def tracker_of(robot: Robot) -> Tracker:
    """Inverse kinematics of the robot's own tool frame."""
    return Tracker(robot, np.eye(4), robot.n > 3)


def _joint_leg(move: MoveJ, index: int, q: Array, limits: MotionLimits, tracker: Tracker) -> Leg | None:
    """A MOVEJ: all joints start and end together, the slowest one sets the pace (eq:joint-pace)."""
    target = np.asarray(move.target, dtype=np.float64)
    if target.shape != q.shape or not np.isfinite(target).all():
        raise ShapeError(f"move {index + 1} has a target of shape {target.shape}; expected {q.shape}, finite")
    check_near(target, f"move {index + 1}", tracker.robot)
    step = np.abs(target - q).tolist()
    if max(step) < STANDSTILL:
        return None
    path = straight(q, target)
    slowness = slowness_of(step, limits.joint_rates)
    speed, acceleration, jerk = (1.0 / x if x > 0.0 else math.inf for x in slowness)
    share = 1.0 if move.acceleration is None else _share(move.acceleration, index)
    speed = _joint_speed(move.speed, speed, path, tracker)
    time = _asked_time(move.speed, path.length / speed, index)
    profile = _profile(move.profile, jerk, limits)
    ramp = ramp_limits(profile, speed, acceleration * share, None if math.isinf(jerk) else jerk)
    zones = (Zone(path.length, speed, ramp),)
    return Leg(index, "joint", path, zones, profile, move.blend, tracker, time=time)


def _joint_speed(speed: Speed, most: float, path: JointPath, tracker: Tracker) -> float:
    """Rate of the parameter [1/s]; a speed in m/s is the largest one of the tool point."""
    if speed.kind == "fraction":
        return most * speed.value
    if speed.kind == "s":
        return most
    cells = Cells(np.linspace(path.s[0], path.s[-1], TOOL_CELLS + 1))
    q, dq, _ = path.at(cells.at)
    square = cells.largest(np.sum(point_rates(tracker, q, dq) ** 2, axis=1, keepdims=True)).size
    return min(most, speed.value / math.sqrt(square)) if square > 0.0 else most


def _asked_time(speed: Speed, least: float, index: int) -> float | None:
    """The duration [s] of the request, if any; PathError if that, or else the least one [s], is above LONGEST."""
    time = speed.value if speed.kind == "s" else None
    check_duration(least if time is None else time, index)
    return time


def check_duration(time: float, index: int) -> None:
    """PathError for a move with a duration [s] above LONGEST."""
    if not time <= LONGEST:
        text = f"the move would take {time:.4g} s; expected at most {LONGEST:g} s"
        raise PathError(text, index=index, what="time")


def time_beside_blend(time: float, index: int) -> PathError:
    """The error for a duration [s] next to a blend, whose time belongs to two moves."""
    text = f"a duration of {time:g} s and a blend to the next move or from the one before; expected a speed"
    return PathError(f"{text}, or no blend", index=index, what="time")


def check_near(q: Array, what: str, robot: Robot) -> None:
    """InputError for joint positions (n,) [rad, m] beyond those with which the kinematics is computed."""
    if (np.abs(q) > FARTHEST).any():
        k = int(np.argmax(np.abs(q)))
        text = f"{what}: axis {robot.joint_names[k]} at {q[k]:.6g} {robot.joint_units[k]}"
        raise InputError(f"{text}; expected at most {FARTHEST:g} {robot.joint_units[k]} either way")


def _curve(move: Cartesian, index: int, X_from: Array) -> Curve:
    try:
        if isinstance(move, MoveL):
            return line(X_from, in_base(checked_poses(move.target), move.work))
        if isinstance(move, MoveC):
            via, target = (in_base(checked_poses(X), move.work) for X in (move.via, move.target))
            return circle(X_from, via[:3, 3], target)
        return spline([X_from, *(in_base(checked_poses(X), move.work) for X in move.targets)])
    except InputError as error:
        raise InputError(f"move {index + 1}: {error.message}") from None


def _curve_leg(
    move: Cartesian,
    index: int,
    curve: Curve,
    path: JointPath,
    limits: MotionLimits,
    tracker: Tracker,
    fit: bool,
    flowing: bool,
) -> Leg:
    """The leg along a curve, at the requested speed and acceleration or at what the axes allow.

    An acceleration that the axes do not have is lowered, unless the request names a speed in m/s and ``fit`` is off.
    """
    bends = bends_of(path, curve, limits)
    profile = _profile(move.profile, math.inf if not bends.jerk_limited else 0.0, limits)
    asked, free = move.speed, move.speed.kind != "m/s" or not curve.metric
    given = move.acceleration if curve.metric else None
    may_lower = fit or free
    if given is not None:
        _check_acceleration(given, limits.tool_acceleration, index, may_lower)
        given = min(given, limits.tool_acceleration)
    tool_jerk = limits.tool_jerk if curve.metric else math.inf
    ramps = CurveRamps(profile, _share(move.acceleration_share, index), given, False, tool_jerk)
    if free:
        fraction = asked.value if asked.kind == "fraction" else 1.0
        most, top = bends.largest_speed(BEND_SHARE) * fraction, math.inf
    else:
        fraction, top = 1.0, min(asked.value, bends.tool_speed)
        most = _asked_speed(asked.value, bends, ramps.steepest(bends, 0.0), index, tracker, fit)
    lower = ramps if given is None else replace(ramps, may_lower=may_lower)
    zones = one_zone(bends, most, ramps, flowing=flowing)
    gentle = zones if given is None else one_zone(bends, most, lower, flowing=flowing)
    if curve.kind == "spline" and (free or most < top):
        tight = spline_zones(bends, top, fraction, lower, flowing=flowing)
        zones = tight if quicker_in_zones(gentle, tight, profile) else zones
    time = _asked_time(asked, rest_to_rest(zones, profile), index)
    leg = Leg(
        index,
        curve.kind,
        path,
        zones,
        profile,
        move.blend,
        tracker,
        curve,
        free_speed=free,
        free_ramps=given is None or (may_lower and len(zones) > 1),
        time=time,
        slowed=1.0 if free else max(asked.value / most, 1.0),
        asked_acceleration=move.acceleration if curve.metric else None,
    )
    if len(zones) > 1:
        leg = leg.with_slowdown(asked.value, max((zone.ramp for zone in zones), key=lambda x: x.acceleration))
    if given is None or len(zones) > 1 or not may_lower:
        return leg
    gentler = replace(leg, zones=gentle, free_ramps=True).with_slowdown(asked.value, zones[0].ramp)

    def with_acceleration(a: float) -> Leg:
        with_a = one_zone(bends, most, replace(ramps, given=a), flowing=flowing)
        return replace(leg, zones=with_a).with_slowdown(asked.value, zones[0].ramp)

    return replace(leg, gentler=gentler, with_acceleration=with_acceleration)


def _asked_speed(v: float, bends: Bends, a: float, index: int, tracker: Tracker, fit: bool) -> float:
    """The requested speed along a curve, with ``fit`` lowered to what joints and tool can do; PathError without."""
    if v > bends.tool_speed * (1.0 + 1e-9):
        if not fit:
            text = f"{v:g} m/s is more than the tool's {bends.tool_speed:g} m/s"
            raise PathError(text, index=index, what="tool speed", place_m=0.0)
        v = bends.tool_speed
    v = min(v, FASTEST)
    found = bends.too_quick(v, a, tracker.robot.joint_names)
    if found is None:
        return v
    demand, least = found
    if not fit:
        raise refusal(index, demand, demand.place * bends.length)
    return least


def _check_acceleration(acceleration: float, most: float, index: int, may_lower: bool) -> None:
    if not acceleration > 0.0:
        raise InputError(
            f"move {index + 1}: an acceleration of {acceleration:g} m/s2; expected more than zero"
        )
    if acceleration > most * (1.0 + 1e-9) and not may_lower:
        text = f"{acceleration:g} m/s2 is more than the tool's {most:g} m/s2"
        raise PathError(text, index=index, what="tool acceleration", place_m=0.0)


def _profile(asked: ProfileKind | None, jerk: float, limits: MotionLimits) -> ProfileKind:
    """The profile of a move: cubic ramps if none is named; an S-curve for none or a trapezoid if a jerk is limited."""
    limited = math.isfinite(min(jerk, limits.tool_jerk))
    if limited and asked in (None, "trapezoid"):
        return "s-curve"
    return asked or "cubic-ramp"


def _share(value: float, index: int) -> float:
    if not 0.0 < value <= 1.0:
        raise InputError(
            f"move {index + 1}: an acceleration of {100 * value:g} %; expected above 0 and at most 100 %"
        )
    return value
