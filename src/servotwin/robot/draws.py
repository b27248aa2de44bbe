"""Forward kinematics of many draws of deviations at once (see dynamics/builds.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.dynamics.builds import LoopEquations, closed_coordinates, tree_poses
from servotwin.errors import ServotwinError, ShapeError
from servotwin.mechanism.deviation import FIELDS, displaced, nominal_of, places
from servotwin.mechanism.model import Array, Mechanism

if TYPE_CHECKING:
    from servotwin.robot.robot import Robot

WIDTH = {"position": 1, "rotation": 1, "offset": 0, "scale": 0}  # axes behind that of the draws


def fkine_draws(
    robot: Robot, q: ArrayLike, deviations: Mapping[str, Mapping[str, ArrayLike]], frame: str
) -> Array:
    """Poses (D, K, 4, 4), see ``Robot.fkine_draws``."""
    position = np.asarray(q, dtype=np.float64)
    if position.ndim not in (2, 3) or position.shape[-1] != robot.n:
        raise ShapeError(f"q has shape {position.shape}; expected (K, {robot.n}) or (D, K, {robot.n})")
    nominal = nominal_of(robot.mechanism)
    fields = checked_draws(nominal, deviations)
    built = displaced(nominal, fields)
    x = position
    if nominal.loops:
        start = robot.with_deviations({})
        equations = LoopEquations(nominal, built, start.closure.rows)
        x = closed_coordinates(equations, position, start.coordinates(position))
    body = nominal.frame(frame).body
    poses = tree_poses(nominal, built, x).frame(body, built.frames[frame])
    counts = [v.shape[0] for place in fields.values() for key, v in place.items() if v.ndim > WIDTH[key]]
    draws = max([1, *counts, *(position.shape[:-2])])
    return np.array(np.broadcast_to(poses, (draws, position.shape[-2], 4, 4)))


def checked_draws(nominal: Mechanism, deviations: Mapping[str, Any]) -> dict[str, dict[str, Array]]:
    """The deviations as arrays of one leading axis; ServotwinError names what does not fit."""
    known = places(nominal)
    read: dict[str, dict[str, Array]] = {}
    draws = {1}
    for name, fields in deviations.items():
        if name not in known or not isinstance(fields, Mapping) or not set(fields) <= set(FIELDS):
            raise ServotwinError(
                f"{nominal.name}: deviation of {name!r}; expected one of {', '.join(known)} with "
                f"{', '.join(FIELDS)}"
            )
        read[name] = {}
        for key, value in fields.items():
            numbers = np.asarray(value, dtype=np.float64)
            shape = "(D, 3)" if WIDTH[key] else "(D,)"
            if numbers.ndim not in (WIDTH[key], WIDTH[key] + 1) or (WIDTH[key] and numbers.shape[-1] != 3):
                raise ShapeError(f"deviation of {name}: {key} has shape {numbers.shape}; expected {shape}")
            if key in ("offset", "scale") and name not in nominal.joint_names and np.any(numbers):
                raise ServotwinError(f"{nominal.name}: {name} has no {key}: it has no position of its own")
            read[name][key] = numbers
            draws.add(numbers.shape[0] if numbers.ndim > WIDTH[key] else 1)
    if len(draws) > 2:
        raise ShapeError(f"deviations have {sorted(draws - {1})} draws; expected one number of them")
    return read
