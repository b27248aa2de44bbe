"""The short way to plan a joint move from rest to rest that only speeds, accelerations and jerks bound."""

from __future__ import annotations

import math

import numpy as np

from servotwin.description.fields import FARTHEST
from servotwin.mechanism.model import Array
from servotwin.motion.joint_path import straight
from servotwin.motion.laws import ramp_limits, ramped
from servotwin.motion.limits import MotionLimits
from servotwin.motion.requests import MoveJ, Request
from servotwin.motion.trajectory import PathSegment

NOWHERE = 1e-9  # rad, m: what is shorter takes the long way


def simple_move(request: Request, q: Array, limits: MotionLimits) -> PathSegment | None:
    """The motion of a MOVEJ at a share of the speeds (eq:joint-pace); None where anything else matters.

    Blends, tools, speeds in m/s, times, quintics, torques, motors and limits of the tool take the long way, and so
    do targets beyond the limits, which it refuses with its reasons.
    """
    if not isinstance(request, MoveJ) or not _plain(request, limits):
        return None
    target = np.asarray(request.target, dtype=np.float64)
    if target.shape != q.shape:
        return None
    if limits.quantities.names and (limits.quantities.beyond(np.stack([q, target])) > 0.0).any():
        return None
    rates = [0.0, 0.0, 0.0]  # of speed, acceleration and jerk per unit of theirs
    longest = 0.0
    for row in zip(
        q.tolist(), target.tolist(), limits.q_min.tolist(), limits.q_max.tolist(), limits.speed.tolist(),
        limits.acceleration.tolist(), limits.jerk.tolist(), strict=True,
    ):  # fmt: skip
        start, end, low, high, V, a, j = row
        if not (low <= end <= high and low <= start <= high and abs(end) <= FARTHEST):
            return None
        step = abs(end - start)
        longest = max(longest, step)
        rates[0], rates[1], rates[2] = (
            max(rates[0], step / V),
            max(rates[1], step / a),
            max(rates[2], step / j),
        )
    if not longest > NOWHERE or rates[0] <= 0.0 or rates[1] <= 0.0:
        return None
    speed, acceleration = request.speed.value / rates[0], (request.acceleration or 1.0) / rates[1]
    jerk = 1.0 / rates[2] if rates[2] > 0.0 else None
    profile = request.profile or ("cubic-ramp" if jerk is None else "s-curve")
    law = ramped(1.0, 0.0, 0.0, speed, ramp_limits(profile, speed, acceleration, jerk))
    return PathSegment("joint", straight(q, target), law)


def _plain(move: MoveJ, limits: MotionLimits) -> bool:
    return (
        move.blend <= 0.0
        and move.tool is None
        and move.speed.kind == "fraction"
        and move.profile != "quintic"
        and (move.acceleration is None or 0.0 < move.acceleration <= 1.0)
        and limits.envelope is None
        and math.isinf(limits.tool_speed)
        and math.isinf(limits.tool_acceleration)
        and math.isinf(limits.tool_jerk)
        and not np.isfinite(limits.torque).any()
    )
