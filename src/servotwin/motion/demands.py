r"""How much of every limit of joints, motors and tool a motion uses.

Speeds, accelerations and jerks are smooth between the corners of the law and the points of the path, so that
their largest values are known between the samples as well (``extremes``). Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.errors import Demand, PathError, refusal
from servotwin.motion.extremes import Cells, Peak, cells_between, cells_of_law, cells_with_nodes
from servotwin.motion.joint_path import JointPath
from servotwin.motion.law_sampling import LEAST, PARTS, ROOM
from servotwin.motion.laws import breaks, numbers_of, times_at
from servotwin.motion.legs import Leg
from servotwin.motion.limits import MotionLimits
from servotwin.motion.motion_peaks import motion_peaks
from servotwin.motion.peaks import NODES, farthest_outside
from servotwin.motion.tool_point import point_motion
from servotwin.motion.trajectory import PathSegment

State = tuple[Array, Array, Array]  # positions, velocities, accelerations (k, n)
RatePeaks = tuple[Peak, Peak]  # of speed and acceleration
Shares = Callable[[Array, Array, Array], Array]  # of a state

HOLDS = 1.0 + 1e-9
DOUBT = 1e-7  # of a limit: less certain demands are sampled more closely
HALVINGS = 4
EASY = 0.8  # of a limit: smaller demands are sampled once only
FINE = 33  # samples of a cell in which a torque is largest
AT_REST = 1e-3  # of the speed: the torque then is that of gravity and dry friction
INSIDE = 5e-11  # rad, m: positions this little beyond a limit stand on it
FORCES = ("torque", "motor torque")  # which slowing a motion does not bring to zero


def cells_of(segment: PathSegment) -> Cells:
    """The time of a segment in cells in which its motion is smooth."""
    numbers = numbers_of(segment.law)
    if numbers is not None:
        return cells_of_law(numbers, segment.path.s[1:-1])
    corners = breaks(segment.law)
    pieces = [np.linspace(a, b, PARTS + 1) for a, b in pairwise(corners) if b > a]
    inner = segment.path.s[1:-1]
    if inner.size:
        pieces.append(times_at(segment.law, inner))
    cells = cells_between(corners, *pieces)
    while cells.edges.size <= LEAST:
        cells = cells.halved()
    return cells


def demands(leg: Leg, segment: PathSegment, limits: MotionLimits) -> list[Demand]:
    """The largest share of every kind of limit, between samples as well as at them; the place is its instant [s]."""
    cells, state, peaks = _first_look(segment, limits)
    for halving in range(HALVINGS):
        if halving > 0:
            cells = cells.halved()
            state = segment.sample(cells.at)
            peaks = _rate_peaks(cells, state, limits)
        found = _kinematic(leg, limits, cells, state, peaks)
        if all(demand.doubt <= DOUBT or demand.share < 0.99 for demand in found):
            break
    return found + _forces(leg, segment, limits, cells, state)


def _first_look(segment: PathSegment, limits: MotionLimits) -> tuple[Cells, State, RatePeaks]:
    """Cells of a segment, its motion at their nodes and its peaks there."""
    numbers = numbers_of(segment.law)
    if numbers is None:
        cells = cells_of(segment)
        state = segment.sample(cells.at)
        return cells, state, _rate_peaks(cells, state, limits)
    path = segment.path
    room, n = path.s.size + ROOM, path.q.shape[1]
    edges, motion, rows = np.empty(room), np.empty((4, NODES * room, n)), np.empty((2, 5))
    at = np.empty(NODES * room)
    table = limits.joint_table
    count = motion_peaks(*numbers, path.s, path.coefficients, table, EASY, edges, at, motion, rows)
    k = NODES * count
    cells = cells_with_nodes(edges[: count + 1], at[:k])
    speed, acceleration = (
        cells.peak(size, int(column), int(cell), x, doubt) for size, column, cell, x, doubt in rows.tolist()
    )
    return cells, (motion[0, :k], motion[1, :k], motion[2, :k]), (speed, acceleration)


def _rate_peaks(cells: Cells, state: State, limits: MotionLimits) -> RatePeaks:
    """The peaks of speed and acceleration, as shares of their limits."""
    _, qd, qdd = state
    return cells.largest(qd / limits.speed, EASY), cells.largest(qdd / limits.acceleration, EASY)


def worst_demand(leg: Leg, segment: PathSegment, limits: MotionLimits) -> Demand:
    """The demand for which the motion must be slowed most; its place is that on the path where it does not hold."""
    worst = max(demands(leg, segment, limits), key=lambda demand: demand.factor)
    return worst if worst.share <= HOLDS else worst._replace(place=_share(segment, worst.place))


def _kinematic(
    leg: Leg, limits: MotionLimits, cells: Cells, state: State, rate_peaks: RatePeaks
) -> list[Demand]:
    """The demands of joints and tool but for torques."""
    q, qd, qdd = state
    names = leg.tracker.robot.joint_names
    peaks: list[tuple[str, Peak, tuple[str | None, ...]]] = [
        ("speed", rate_peaks[0], names),
        ("acceleration", rate_peaks[1], names),
    ]
    if limits.jerk_limited:
        peaks.append(("jerk", cells.largest(cells.slopes(qdd) / limits.jerk), names))
    if limits.tool_limited:
        v, a = point_motion(leg.tracker, q, qd, qdd)
        rows = [("tool speed", v, limits.tool_speed), ("tool acceleration", a, limits.tool_acceleration)]
        if math.isfinite(limits.tool_jerk):
            rows.append(("tool jerk", cells.slopes(a), limits.tool_jerk))
        peaks += [(what, _length(cells, x / most), (None,)) for what, x, most in rows if math.isfinite(most)]
    return [Demand(what, peak.size, axes[peak.column], peak.place, peak.doubt) for what, peak, axes in peaks]


def _length(cells: Cells, x: Array) -> Peak:
    """The peak of the length of vectors (k, 3); its square is smooth."""
    peak = cells.largest(np.sum(x * x, axis=1, keepdims=True))
    size = math.sqrt(peak.size)
    return Peak(size, 0, peak.place, 0.5 * peak.doubt / size if size > 0.0 else 0.0)


def _forces(leg: Leg, segment: PathSegment, limits: MotionLimits, cells: Cells, state: State) -> list[Demand]:
    """Torques, which jump with friction: sampled, then more closely around the largest."""
    robot, motors = leg.tracker.robot, limits.motors
    kinds: list[tuple[str, Shares, tuple[str, ...]]] = []
    if limits.joint_torque_limited:

        def torques(*state: Array) -> Array:
            return np.asarray(np.abs(robot.rne(*state, drives=True)) / limits.torque)

        kinds.append(("torque", torques, robot.joint_names))
    if motors is not None:
        kinds.append(("motor torque", motors.shares, motors.names))
    if not kinds:
        return []
    found = []
    for what, shares, names in kinds:
        near, t = shares(*state), cells.at
        i, column = divmod(int(near.argmax()), near.shape[1])
        if near[i, column] > EASY:
            k = i // NODES
            t = np.linspace(
                cells.edges[max(k - 1, 0)], cells.edges[min(k + 2, cells.edges.size - 1)], 3 * FINE
            )
            near = shares(*segment.sample(t))
            i, column = divmod(int(near.argmax()), near.shape[1])
        share, place = float(near[i, column]), float(t[i])
        slower = _slower(shares, segment.sample(t[i : i + 1]), column) if share > 1.0 else share
        if (
            motors is not None
            and motors.drive.has_valves
            and what == "motor torque"
            and motors.drive.valve[column]
        ):
            what = "valve force"
        found.append(Demand(what, share, names[column], place, 0.0, slower))
    return found


def _slower(shares: Shares, state: State, column: int) -> float:
    """How many times slower a motion must be there: the torque beyond that at rest falls with k^-1 to k^-2."""
    q, qd, qdd = state
    now, later, rest = (
        float(shares(q, qd * share, qdd * share**2)[0, column]) for share in (1.0, 0.5, AT_REST)
    )
    if now <= 1.0:
        return now
    if rest >= 1.0 or now <= rest:
        return math.inf
    power = math.log2((now - rest) / (later - rest)) if later > rest else 2.0
    return float(((now - rest) / (1.0 - rest)) ** (1.0 / min(max(power, 1.0), 2.0)))


def _share(segment: PathSegment, t: float) -> float:
    """The share of the path that is done at an instant."""
    return float(segment.law.sample(np.array([t]))[0][0]) / max(segment.law.length, 1e-300)


def outside(path: JointPath, limits: MotionLimits) -> tuple[float, int, float]:
    """How far [rad, m] a path leaves the ranges at most, which joint or quantity does, and at which parameter.

    Between two points every joint, and so every sum of joints, follows a quintic, which the nodes of a cell
    give exactly.
    """
    stands = np.ascontiguousarray(limits.positions(path.q))
    reach = np.empty(stands.shape[1], dtype=np.bool_)
    size, axis, k = farthest_outside(stands, limits.low, limits.high, reach)
    worst = size, axis, float(path.s[k])
    if path.s.size == 2 or not reach.any():
        return worst
    near = np.nonzero(reach)[0]
    cells = Cells(path.s)
    q = limits.positions(path.at(cells.at)[0])
    for joint in near:
        for limit, sign in ((limits.low[joint], -1.0), (limits.high[joint], 1.0)):
            if not math.isfinite(limit):
                continue
            beyond = sign * (q[:, joint : joint + 1] - limit)
            # Shifted so that the largest value is the one of the largest size.
            shift = float(-beyond.min())
            peak = cells.largest(beyond + shift)
            size = peak.size - peak.doubt - shift
            if size > worst[0]:
                worst = size, int(joint), peak.place
    return worst


def check_positions(leg: Leg, limits: MotionLimits) -> None:
    """PathError where a joint or quantity would leave its range, extremes between the points of the path included."""
    beyond, axis, s = outside(leg.path, limits)
    if beyond <= INSIDE:
        return
    name, text = limits.range_text(leg.tracker.robot, leg.path.at(np.array([s]))[0][0], axis)
    place_m = s if leg.curve is not None and leg.curve.metric else None
    raise PathError(
        text,
        index=leg.index,
        what="position",
        axis=name,
        place=s / leg.length,
        place_m=place_m,
    )


def demand_error(leg: Leg, segment: PathSegment, demand: Demand) -> PathError:
    """The error for a demand above its limit."""
    place_m = None
    if segment.curve is not None and segment.curve.metric:
        place_m = segment.offset + demand.place * segment.law.length
    return refusal(leg.index, demand, place_m)
