"""Numbers that people type: quantities with units, one or a list of them, for the joints of a robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.nodes import quoted
from servotwin.description.quantities import dimension_name
from servotwin.description.units import dimension_of, expectation, parse_quantity
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.report.labels import joint_units

if TYPE_CHECKING:
    from servotwin.robot.robot import Robot

LARGEST = 1e9  # in SI units: more than any position, speed, mass, force or time of an arm


def read_quantity(option: str, text: str, unit: str, *, name: str = "", example: str = "") -> float:
    """The quantity of an option in SI; a refusal names ``name`` and gives ``example``."""
    place = f"{name}: " if name else ""
    try:
        value = parse_quantity(text, unit, example=example)
    except ValueError as error:
        raise InputError(f"{place}{error}", field=option) from None
    if abs(value) > LARGEST:
        raise InputError(
            f"{place}{quoted(text)} is beyond all machines; expected {expectation(unit, example)}",
            field=option,
        )
    return value


def read_quantities(option: str, text: str, names: Sequence[str], units: Sequence[str]) -> Array:
    """The comma-separated quantities of an option in SI, (n,), one for each of ``names`` in ``units``."""
    items = [item.strip() for item in text.split(",")]
    if len(items) != len(names):
        expected = ", ".join(
            f"{n} ({dimension_name(dimension_of(u))})" for n, u in zip(names, units, strict=True)
        )
        given = "1 value" if len(items) == 1 else f"{len(items)} values"
        raise InputError(f"{given}; expected {len(names)}: {expected}", field=option)
    return np.array(
        [
            read_quantity(option, item, unit, name=name)
            for item, name, unit in zip(items, names, units, strict=True)
        ]
    )


def read_positions(option: str, text: str, robot: Robot) -> Array:
    """Joint positions (n,) [rad, m]."""
    return read_quantities(option, text, robot.joint_names, robot.joint_units)


def read_velocities(option: str, text: str | None, robot: Robot) -> Array:
    """Joint velocities (n,) [rad/s, m/s]; zero if nothing is given."""
    return _rates(option, text, robot, [joint_units(unit).speed for unit in robot.joint_units])


def read_accelerations(option: str, text: str | None, robot: Robot) -> Array:
    """Joint accelerations (n,) [rad/s2, m/s2]; zero if nothing is given."""
    return _rates(option, text, robot, [joint_units(unit).acceleration for unit in robot.joint_units])


def _rates(option: str, text: str | None, robot: Robot, units: list[str]) -> Array:
    return np.zeros(robot.n) if text is None else read_quantities(option, text, robot.joint_names, units)


def positions_of(q: ArrayLike | str, robot: Robot, option: str = "q") -> Array:
    """Joint positions (n,) [rad, m], given as numbers or as text with units, '30 deg, 45 deg, ...'."""
    from servotwin.robot.arguments import real_array

    if isinstance(q, str):
        return read_positions(option, q, robot)
    values = real_array(option, q)
    if values.shape != (robot.n,):
        raise InputError(f"has shape {values.shape}; expected ({robot.n},), one for each joint", field=option)
    if not np.isfinite(values).all():
        raise InputError("has a value that is not finite; expected a number for each joint", field=option)
    return values


def robot_of(robot: Robot | str | Path, overrides: Mapping[str, str] | None = None) -> Robot:
    """A robot that is given as such, by its name or by its file."""
    from servotwin.robot.load import load_robot
    from servotwin.robot.robot import Robot

    if isinstance(robot, Robot):
        if overrides:
            raise InputError("overrides go with a name or file; expected a robot that is not loaded yet")
        return robot
    return load_robot(robot, overrides)


def outside_limits(robot: Robot, q: Array) -> list[str]:
    """Names of the joints and quantities that stand beyond their position limits, by more than rounding."""
    slack = 1e-9
    beyond = (q < robot.limits.q_min - slack) | (q > robot.limits.q_max + slack)
    names = [name for name, out in zip(robot.joint_names, beyond, strict=True) if out]
    wide = robot.quantities.beyond(q) > slack
    names += [name for name, out in zip(robot.quantities.names, wide, strict=True) if out]
    wide = robot.frame_quantities_beyond(q) > slack
    return names + [name for name, out in zip(robot.frame_quantities.names, wide, strict=True) if out]
