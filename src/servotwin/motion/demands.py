"""What a motion asks of the axes and of the tool, as shares of what they can do."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.errors import PathError
from servotwin.motion.laws import Ramped
from servotwin.motion.legs import Leg, point_rates
from servotwin.motion.limits import MotionLimits
from servotwin.motion.trajectory import PathSegment

SAMPLES = 65  # of one segment at least, ends of its ramps added
MOST_SAMPLES = 20_000
SMOOTH = 17  # points of a path that has no sharp turns
SHARES = np.linspace(0.0, 1.0, 17)  # of a ramp
WITHIN = np.array([0.0, 0.25, 0.5, 0.75])  # an interval of the path
HOLDS = 1.0 + 1e-9
INSIDE = 1e-9  # rad, m: positions this little beyond a limit stand on it


@dataclass(frozen=True)
class Demand:
    """The largest share of a limit that a motion uses: of what, by which axis, where (share of the path)."""

    what: str
    share: float
    axis: str | None
    place: float

    @property
    def factor(self) -> float:
        """How many times slower the motion must be to hold the limit."""
        return math.sqrt(self.share) if "acceleration" in self.what else self.share


def times_of(segment: PathSegment, period: float) -> Array:
    """Instants (k,) of a segment that show its extremes, not further apart than ``period`` [s]."""
    count = min(max(SAMPLES, math.ceil(segment.duration / period) + 1), MOST_SAMPLES)
    parts = [np.linspace(0.0, segment.duration, count)]
    law = segment.law
    if isinstance(law, Ramped):
        rise, flat, fall = law.times
        edges, tiny = np.array([rise, rise + flat]), 1e-9 * law.duration
        # The acceleration has its corners at the shares beta and 1 - beta of a jerk-limited ramp.
        corners = [T * np.array([beta, 1.0 - beta]) for T, beta in zip((rise, fall), law.betas, strict=True)]
        parts += [edges - tiny, edges + tiny, SHARES * rise, rise + flat + SHARES * fall]
        parts += [corners[0], rise + flat + corners[1]]
    t = np.sort(np.minimum(np.maximum(np.concatenate(parts), 0.0), segment.duration))
    s = segment.path.s
    if s.size <= SMOOTH:
        return t
    # The points of the path are close together where it turns sharply.
    inner = (s[:-1, None] + np.diff(s)[:, None] * WITHIN).ravel()
    return np.sort(np.concatenate([t, np.interp(inner, segment.law.sample(t)[0], t)]))


def demands(leg: Leg, segment: PathSegment, limits: MotionLimits, period: float) -> list[Demand]:
    """The largest share of every kind of limit, over samples of the segment."""
    t = times_of(segment, period)
    q, qd, qdd = segment.sample(t)
    s = segment.law.sample(t)[0] / max(segment.law.length, 1e-300)
    names = leg.tracker.robot.joint_names
    found = [
        _largest("speed", np.abs(qd) / limits.speed, s, names),
        _largest("acceleration", np.abs(qdd) / limits.acceleration, s, names),
    ]
    if np.isfinite(limits.torque).any():
        tau = leg.tracker.robot.rne(q, qd, qdd, drives=True)
        found.append(_largest("torque", np.abs(tau) / limits.torque, s, names))
    if math.isfinite(limits.tool_speed):
        v = np.linalg.norm(point_rates(leg.tracker, q, qd), axis=1)
        found.append(_largest("tool speed", v[:, None] / limits.tool_speed, s, (None,)))
    return found


def check_positions(leg: Leg, limits: MotionLimits) -> None:
    """PathError where a joint would leave its range, extremes between the points of the path included."""
    q = leg.path.q
    near = np.minimum(q - limits.q_min, limits.q_max - q).min()
    if leg.curve is not None and near < np.abs(np.diff(q, axis=0)).max():
        q = leg.path.at(np.linspace(0.0, leg.length, 4 * q.shape[0] + 1))[0]
    low, high = limits.q_min - q, q - limits.q_max
    worst = np.maximum(low, high)
    if worst.max() <= INSIDE:
        return
    k, axis = np.unravel_index(int(np.argmax(worst)), worst.shape)
    robot = leg.tracker.robot
    scale, unit = (1e3, "mm") if robot.joint_units[axis] == "m" else (180.0 / math.pi, "deg")
    ends = scale * limits.q_min[axis], scale * limits.q_max[axis]
    text = (
        f"axis {robot.joint_names[axis]} would stand at {scale * q[k, axis]:.6g} {unit}, beyond its limits;"
        f" allowed are {ends[0]:.6g} to {ends[1]:.6g} {unit}"
    )
    share = float(k) / max(q.shape[0] - 1, 1)
    place_m = share * leg.length if leg.curve is not None and leg.curve.metric else None
    raise PathError(
        text, index=leg.index, what="position", axis=robot.joint_names[axis], place=share, place_m=place_m
    )


def refuse(leg: Leg, segment: PathSegment, demand: Demand) -> PathError:
    """The complaint about a demand that cannot be met."""
    place_m = None
    if segment.curve is not None and segment.curve.metric:
        place_m = segment.offset + demand.place * segment.law.length
    who = "the tool" if demand.axis is None else f"axis {demand.axis}"
    what = demand.what.removeprefix("tool ")
    text = f"{who} would need {100.0 * demand.share:.4g} % of its largest {what}; slow the move down or ask for a fit"
    return PathError(
        text, index=leg.index, what=demand.what, axis=demand.axis, place=demand.place, place_m=place_m
    )


def _largest(what: str, shares: Array, s: Array, names: tuple[str | None, ...]) -> Demand:
    k, axis = np.unravel_index(int(np.argmax(shares)), shares.shape)
    return Demand(what, float(shares[k, axis]), names[axis], float(s[k]))


def worst_demand(leg: Leg, segment: PathSegment, limits: MotionLimits, period: float) -> Demand:
    """The demand that would slow the motion most."""
    return max(demands(leg, segment, limits, period), key=lambda demand: demand.factor)
