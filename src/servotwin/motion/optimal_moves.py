"""Moves of a plan that are optimal: from rest to rest, within what motors and supply can give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from servotwin.errors import InputError, UnsupportedError
from servotwin.mechanism.model import Array
from servotwin.motion.errors import PathError
from servotwin.motion.laws import Slowed
from servotwin.motion.legs import leg_of
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.result import SplineSegment
from servotwin.motion.requests import MoveJ, MoveL
from servotwin.motion.trajectory import PathSegment, RestSegment, Segment
from servotwin.robot.robot import Robot

STANDING = 1e-9  # rad, m
SAMPLES = 4001
MARGIN = 1.0 + 1e-5  # between samples, and for rounding


def within_speed(segment: Segment, limits: MotionLimits) -> Segment:
    """The segment, slowed by what it exceeds a speed limit between its nodes: some parts in ten thousand."""
    speeds = np.abs(segment.sample(np.linspace(0.0, segment.duration, SAMPLES))[1])
    k = float((speeds / limits.speed).max()) * MARGIN
    if k <= 1.0:
        return segment
    if isinstance(segment, PathSegment):
        return replace(segment, law=Slowed(segment.law, k))
    assert isinstance(segment, SplineSegment)
    return SplineSegment(k * segment.t, segment.q, segment.qd / k, segment.qdd / k**2)


def optimal_segment(
    robot: Robot, request: MoveJ | MoveL, index: int, q: Array, limits: MotionLimits
) -> Segment:
    """The optimal motion of a request from q (n,); PathError with the limit that cannot be met.

    A MOVEJ takes the quickest way in joint space, or with a duration that of least energy; a MOVEL stays on its line.
    Both may weigh the energy against the time.
    """
    # The solver is an extra: it is asked for only where a job wants it.
    from servotwin.motion.optimal.optimise import optimal_between
    from servotwin.motion.optimal.path_motion import optimal_along
    from servotwin.motion.optimal.task_options import read_task

    if request.blend > 0.0:
        raise PathError(
            "an optimal move ends at rest; expected no blend", index=index, what="time", place=1.0
        )
    mixture = {"energy_weight": request.energy_weight}
    try:
        if isinstance(request, MoveJ):
            target = np.asarray(request.target, dtype=np.float64)
            if np.abs(target - q).max() <= STANDING:
                return RestSegment(q.copy(), 0.0)
            cheapest = {"objective": "energy", "duration": request.speed.value}
            task = read_task(cheapest if request.speed.kind == "s" else mixture)
            return within_speed(
                optimal_between(robot, limits.description, limits, q, target, task).segment, limits
            )
        leg = leg_of(robot, request, index, q, limits, True)
        if leg is None:
            return RestSegment(q.copy(), 0.0)
        motion = optimal_along(
            robot, limits.description, limits, leg.path, read_task(mixture), curve=leg.curve
        )
        return within_speed(motion.segment, limits)
    except PathError as error:
        raise PathError(
            error.message,
            index=index,
            what=error.what,
            place=error.place,
            place_m=error.place_m,
            axis=error.axis,
        ) from None
    except (InputError, UnsupportedError) as error:
        raise PathError(str(error), index=index, what="time", place=0.0) from None
