"""Angles and distances between frames along a planned motion: sampled densely, as they follow no law of the joints."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from servotwin.description.display import of_joint
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.errors import PathError
from servotwin.motion.point_moves import MAX_MOVES, PlannedMoves
from servotwin.motion.trajectory import Segment
from servotwin.robot.robot import Robot

SAMPLES = 401  # instants of a move
CLOSER = 101  # between the two beside the worst of them
SLACK = 1e-9  # rad, m: beyond a limit by less than that is on it


def check_segments(robot: Robot, segments: list[Segment], owners: list[int]) -> None:
    """PathError where a motion takes an angle or distance between frames out of its range."""
    if not robot.frame_quantities.names:
        return
    for segment, index in zip(segments, owners, strict=True):
        found = _worst(robot, segment.sample, 0.0, segment.duration)
        if found is not None:
            name, text, share = found
            raise PathError(f"{name} would be {text}", index=index, what="position", axis=name, place=share)


def check_moves(robot: Robot, motion: PlannedMoves, count: int = MAX_MOVES) -> None:
    """InputError for moves one after the other, ``count`` of them in the list that they repeat."""
    if not robot.frame_quantities.names:
        return
    for i, (begin, duration) in enumerate(zip(motion.start_times, motion.durations, strict=True)):
        found = _worst(robot, motion.sample, float(begin), float(duration))
        if found is not None:
            name, text, share = found
            where = (
                f"the start has {name} at"
                if i == 0 and share == 0.0
                else f"move {i % count + 1} takes {name} to"
            )
            raise InputError(f"{where} {text}", field=f"move.{i % count}")


def _worst(
    robot: Robot, sample: Callable[[Array], tuple[Array, Array, Array]], begin: float, duration: float
) -> tuple[str, str, float] | None:
    """Name, words and share of the time at which a quantity is farthest outside of its range; None if none is."""
    t = np.linspace(begin, begin + duration, SAMPLES)
    beyond = robot.frame_quantities_beyond(sample(t)[0])
    j = int(np.argmax(beyond.max(axis=1)))
    t = np.linspace(t[max(j - 1, 0)], t[min(j + 1, SAMPLES - 1)], CLOSER)
    q = sample(t)[0]
    beyond = robot.frame_quantities_beyond(q)
    j, k = (int(v) for v in np.unravel_index(int(np.argmax(beyond)), beyond.shape))
    if beyond[j, k] <= SLACK:
        return None
    z = robot.frame_quantities
    scale, unit = of_joint(z.lengths[k])
    stands, low, high = (
        scale * float(v) for v in (robot.frame_quantity_values(q[j])[k], z.low[k], z.high[k])
    )
    share = 0.0 if duration <= 0.0 else float((t[j] - begin) / duration)
    allowed = f"allowed are {low:.6g} to {high:.6g} {unit}"
    return z.names[k], f"{stands:.6g} {unit}, beyond its limits; {allowed}", share
