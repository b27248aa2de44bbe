"""What stands behind the options: quantities with units, overrides, robots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from servotwin.cli.output import working
from servotwin.description.nodes import Origin, one_line, quoted
from servotwin.description.placed import Placed
from servotwin.errors import InputError
from servotwin.workbench.quantities import (
    outside_limits,
    read_accelerations,
    read_positions,
    read_quantities,
    read_quantity,
    read_velocities,
)

if TYPE_CHECKING:
    from servotwin.robot.robot import Robot

__all__ = [
    "load",
    "outside_limits",
    "read_accelerations",
    "read_overrides",
    "read_positions",
    "read_quantities",
    "read_quantity",
    "read_velocities",
]


def load(name: str, overrides: Sequence[str] | None) -> Robot:
    """The robot of a name or path, with the ``--set`` options applied."""
    changes = read_overrides(overrides)
    with working(f"loading {one_line(name)}"):
        from servotwin.robot.load import load_robot

        return load_robot(name, changes)


def read_overrides(pairs: Sequence[str] | None, option: str = "--set") -> dict[str, str]:
    """The mapping of ``--set field=value`` options; later ones win."""
    changes: dict[str, str] = {}
    for pair in pairs or ():
        field, equals, value = pair.partition("=")
        if not equals or not field.strip():
            raise InputError(f"{quoted(pair)} is not field=value, such as axes.A.gear.ratio=80", field=option)
        place = Origin(f"{option} {one_line(field.strip(), 120)}")
        changes[field.strip()] = Placed(value.strip(), place)
    return changes
