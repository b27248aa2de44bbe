r"""Rounded corners between two legs, inside a ball about the corner.

The motion leaves the first leg ``d1`` before its end and joins the second ``d2`` after its begin, along a
quintic whose ends have the rates of the legs. Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.blend_peaks import (
    AWAY,
    JOINT_ACCELERATION,
    JOINT_JERK,
    JOINT_SPEED,
    TOOL_ACCELERATION,
    TOOL_JERK,
    TOOL_SPEED,
    blend_peaks,
)
from servotwin.motion.curve_sampling import to_vector_rates
from servotwin.motion.curves import Blend, Curve, pose_and_rates, quintic_through
from servotwin.motion.demands import INSIDE, outside
from servotwin.motion.errors import PathError
from servotwin.motion.extremes import Cells
from servotwin.motion.follow import ACCURACY, follow, kernel_entries
from servotwin.motion.joint_path import JointPath
from servotwin.motion.legs import Leg
from servotwin.motion.limits import MotionLimits
from servotwin.motion.peaks import NODES
from servotwin.motion.rotations import turn_between
from servotwin.motion.tool_point import point_motion, point_places

MOST = 0.49  # of a leg that a blend at one of its ends may use
SPEED = 2.0  # the quintic lasts as long as d1 + d2 at constant speed: a straight corner stays one
SHRINKS = 14
FINE = 0.02  # of the largest scale that fits: how exactly it is searched for
CELLS = 8  # of a blend at least, for its largest rates
NOTHING = np.zeros((NODES, 1))  # a cell in which nothing moves
Peaks = Sequence[Sequence[float]]  # size and doubt of each row of ``blend_peaks``


@dataclass(frozen=True)
class Corner:
    """A blend over u from 0 to 1, and where it leaves and joins the legs.

    The rates of the legs' parameters at its ends are ``rates[0] ud`` and ``rates[1] ud``; ``ud`` [1/s]
    is at most ``speed``. The tool point stays within ``radius`` [m] of the corner.
    """

    path: JointPath
    leave: float
    join: float
    rates: tuple[float, float]
    speed: float
    curve: Curve | None
    radius: float


def corner_between(one: Leg, two: Leg, limits: MotionLimits) -> Corner | None:
    """The largest blend within the radius ``one.blend`` [m]; None where none fits."""
    radius = one.blend
    place = point_places(one.tracker, one.path.q[-1:])[0]
    inner = _inner(radius)
    room = _length_inside(one, place, inner, last=True), _length_inside(two, place, inner, last=False)
    # Both legs keep their speed if the lengths that the blend replaces are in the ratio of the speeds.
    speeds = one.zone_at(one.length - room[0]).speed, two.zone_at(room[1]).speed
    scale = min(room[0] / speeds[0], room[1] / speeds[1])
    if scale <= 0.0:
        return None
    best: Corner | None = None
    low, high = 0.0, scale
    for _ in range(SHRINKS):
        corner, share = _corner(one, two, (scale * speeds[0], scale * speeds[1]), place, limits)
        if corner is not None:
            best, low = corner, scale
        else:
            high = scale
        if best is not None and high - low <= FINE * high:
            break
        middle = 0.5 * (low + high)
        # The ball that is used grows with the scale, so that a blend a little too large is shortened a little.
        scale = max(middle, 0.999 * scale / share) if corner is None and share > 1.0 else middle
    return best


def _corner(
    one: Leg, two: Leg, lengths: tuple[float, float], place: Array, limits: MotionLimits
) -> tuple[Corner | None, float]:
    """The blend that replaces these lengths of the legs, None where it does not fit; the share of the radius used."""
    d1, d2 = lengths
    leave, join, rates = one.length - d1, d2, (SPEED * d1, SPEED * d2)
    path, curve = _blend_path(one, two, leave, join, rates)
    peaks = _peaks(path, one, place, limits, tool=curve is not None or limits.tool_limited)
    used = math.sqrt(peaks[AWAY][0] - peaks[AWAY][1])
    share = used / one.blend
    if share > 1.0 + 1e-10 or outside(path, limits)[0] > INSIDE:
        return None, share
    speed = _largest_rate(peaks, curve, one, two, rates, limits)
    radius = one.blend if used >= _inner(one.blend) * (1.0 - 1e-9) else used
    return Corner(path, leave, join, rates, speed, curve, radius), share


def _inner(radius: float) -> float:
    """The radius [m] for the curve, which the joints follow within ACCURACY; the tool must stay within ``radius``."""
    return radius - min(2.0 * ACCURACY, 0.1 * radius)


def _cells(path: JointPath) -> Cells:
    cells = Cells(path.s)
    return cells if cells.edges.size > CELLS else cells.halved()


def _blend_path(
    one: Leg, two: Leg, leave: float, join: float, rates: tuple[float, float]
) -> tuple[JointPath, Curve | None]:
    """The blend between two places of the legs, with the curve of the tool if it has one."""
    path, curve = _blend_of_tool(one, two, leave, join, rates)
    if path is not None:
        return path, curve
    before = _scaled(one.path.at(np.array([leave])), rates[0])
    after = _scaled(two.path.at(np.array([join])), rates[1])
    ends = (np.concatenate(pair) for pair in zip(before, after, strict=True))
    knots = np.linspace(0.0, 1.0, CELLS + 1)
    return JointPath(knots, *JointPath(np.array([0.0, 1.0]), *ends).at(knots)), None


def _blend_of_tool(
    one: Leg, two: Leg, leave: float, join: float, rates: tuple[float, float]
) -> tuple[JointPath | None, Curve | None]:
    """The blend as a curve of the tool, if both legs are such curves of the same tool."""
    if one.curve is None or two.curve is None or not (one.curve.metric and two.curve.metric):
        return None, None
    if not np.array_equal(one.tracker.X_tool, two.tracker.X_tool):
        return None, None
    corner = two.curve.pose(np.zeros(1))[0]
    before = _scaled(_chart(one.curve, leave, corner), rates[0])
    after = _scaled(_chart(two.curve, join, corner), rates[1])
    curve = Blend(corner, quintic_through(before, after))
    start, end = one.path.at(np.array([leave]))[0][0], two.path.at(np.array([join]))[0][0]
    try:
        path = follow(one.tracker, curve, start, one.index)
    except PathError:  # the rounded corner leaves the workspace although the legs do not
        return None, None
    return (path, curve) if np.abs(path.q[-1] - end).max() < 1e-6 else (None, None)


def _chart(curve: Curve, s: float, corner: Array) -> tuple[Array, Array, Array]:
    """Point and rotation vector in the axes of the corner (6,), with first and second rates."""
    X, one, two = (x[0] for x in pose_and_rates(curve, np.array([s])))
    y = np.empty((3, 6))
    y[0, :3], y[1, :3], y[2, :3] = X[:3, 3], one[:3], two[:3]
    y[0, 3:] = turn_between(corner[:3, :3], X[:3, :3])
    y[1, 3:], y[2, 3:] = one[3:], two[3:]
    to_vector_rates(np.ascontiguousarray(corner), y)
    return y[0], y[1], y[2]


def _scaled(ends: tuple[Array, Array, Array], rate: float) -> tuple[Array, Array, Array]:
    y, yd, ydd = ends
    return y, rate * yd, rate * rate * ydd


def _largest_rate(
    peaks: Peaks, curve: Curve | None, one: Leg, two: Leg, rates: tuple[float, float], limits: MotionLimits
) -> float:
    r"""The largest constant rate of u that legs, joints and tool allow; for the joints

    .. math:: \dot u \le \min_{i,u}\left(\frac{V_i}{|q_i'|}, \sqrt{\frac{a_i}{|q_i''|}},
              \sqrt[3]{\frac{j_i}{|q_i'''|}}\right)                                         (eq:blend-pace)
    """
    before, after = one.zone_at(one.length - rates[0] / SPEED), two.zone_at(rates[1] / SPEED)
    steepest = limits.tool_acceleration
    if curve is not None:
        steepest = min(before.ramp.acceleration, after.ramp.acceleration, steepest)
    shares = [
        (peaks[JOINT_SPEED][0], 1.0),
        (peaks[JOINT_ACCELERATION][0], 2.0),
        (peaks[JOINT_JERK][0], 3.0),
        (peaks[TOOL_SPEED][0] / limits.tool_speed**2, 2.0),
        (peaks[TOOL_ACCELERATION][0] / steepest**2, 4.0),
        (peaks[TOOL_JERK][0] / limits.tool_jerk**2, 6.0),
    ]
    speeds = [share ** (-1.0 / power) for share, power in shares if share > 0.0]  # eq:blend-pace
    return float(min(before.speed / rates[0], after.speed / rates[1], *speeds))


def _peaks(path: JointPath, leg: Leg, corner: Array, limits: MotionLimits, *, tool: bool) -> Peaks:
    """What ``blend_peaks`` finds for a path; of the tool only if it is asked for."""
    cells, found = _cells(path), kernel_entries(leg.tracker.robot)
    if found is not None:
        out = np.empty((7, 2))
        offset = np.ascontiguousarray(leg.tracker.X_tool[:3, 3])
        table = limits.joint_table
        blend_peaks(found[0], offset, corner, path.s, path.coefficients, cells.edges, table, tool, out)
        return out.tolist()
    q, dq, ddq = path.at(cells.at)
    vectors = [point_places(leg.tracker, q) - corner]
    if tool:
        v, a = point_motion(leg.tracker, q, dq, ddq)
        vectors += [v, a, cells.slopes(a)]
    squares = [np.sum(x**2, axis=1, keepdims=True) for x in vectors] + [NOTHING] * (4 - len(vectors))
    joints = [dq / limits.speed, ddq / limits.acceleration, cells.slopes(ddq) / limits.jerk]
    peaks = [cells.largest(x) for x in (*squares, *joints)]
    return [(peak.size, peak.doubt) for peak in peaks]


def _length_inside(leg: Leg, place: Array, radius: float, *, last: bool) -> float:
    """How much of a leg [its parameter] next to the corner lies within the radius, at most ``MOST`` of it."""
    if leg.curve is not None and leg.curve.metric:
        return min(radius, MOST * leg.length)
    d = MOST * leg.length * np.linspace(0.0, 1.0, 33)
    q = leg.path.at(leg.length - d if last else d)[0]
    away = np.linalg.norm(point_places(leg.tracker, q) - place, axis=1)
    outside = away > radius
    if not outside.any():
        return float(d[-1])
    k = int(np.argmax(outside))
    return (
        float(d[k - 1] + (d[k] - d[k - 1]) * (radius - away[k - 1]) / (away[k] - away[k - 1])) if k else 0.0
    )
