"""``servotwin jog``: a step of one joint or of the tool, planned but not carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from servotwin.cli.arguments import read_overrides
from servotwin.cli.options import jog_percent
from servotwin.cli.output import fixed, print_json, print_line, print_note, print_table, working
from servotwin.description.display import DEG, MM
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.mechanism.urdf_export import roll_pitch_yaw
from servotwin.report.labels import joint_units

if TYPE_CHECKING:
    from servotwin.robot.robot import Robot


# What the function calls it, and the option that holds it.
OPTIONS = {
    **{name: f"--{name}" for name in ("q", "joint", "by", "tool", "points", "x", "y", "z", "rx", "ry", "rz")},
    "start": "--from",
}


def jog(
    name: str,
    joint: str | None,
    by: str | None,
    shifts: Mapping[str, str | None],
    *,
    tool: bool = False,
    q: str | None = None,
    points: str | None = None,
    start: str | None = None,
    speed: float = 100.0,
    record: str | None = None,
    overrides: Sequence[str] | None = None,
    json: bool = False,
) -> None:
    """Print where a step leads: joint and tool positions before and after, and how long it takes.

    ``shifts``: lengths along x, y, z and angles about them (rx, ry, rz), in base axes or those of the tool.
    """
    changes, percent = read_overrides(overrides), jog_percent(speed)
    with working(f"planning on {name}"):
        from servotwin.workbench.jogging import jog as run

        given = {axis: text for axis, text in shifts.items() if text is not None}
        try:
            step = run(
                name, joint, by, shift=given, tool=tool, q=q, points=points, start=start, speed=percent,
                record=record, overrides=changes,
            )  # fmt: skip
        except InputError as error:
            if error.field == "step":
                directions = ", ".join(OPTIONS[axis] for axis in shifts)
                wanted = f"--joint and --by, or a step of the tool with one of {directions}"
                raise InputError(f"one step at a time; expected {wanted}", field="jog") from None
            if error.file is None and error.field in OPTIONS:
                raise InputError(error.message, field=OPTIONS[error.field]) from None
            raise
    for note in step.notes:
        print_note(note)
    if json:
        print_json(step.data())
        return
    print_table(("", "from", "to", "unit"), _rows(step.robot, step.before, step.after))
    print_line(f"\n{step.duration:.3f} s on {step.robot.name}; nothing was moved")
    if record is not None:
        print_line(f"recorded: {record} in {points}")


def tool_values(robot: Robot, q: Array) -> list[tuple[str, float, str]]:
    """Position and orientation of the tool in the units of people: name, value, unit."""
    X = robot.fkine(q)
    turns = DEG * np.asarray(roll_pitch_yaw(X[:3, :3]))
    lengths = [(axis, MM * float(v), "mm") for axis, v in zip("xyz", X[:3, 3], strict=True)]
    names = ("roll", "pitch", "yaw")
    return lengths + [(axis, float(v), "deg") for axis, v in zip(names, turns, strict=True)]


def joint_values(robot: Robot, q: Array) -> list[tuple[str, float, str]]:
    """Joint positions in the units of people: name, value, unit."""
    units = [joint_units(unit) for unit in robot.joint_units]
    return [
        (name, unit.factor * float(v), unit.shown)
        for name, unit, v in zip(robot.joint_names, units, q, strict=True)
    ]


def _rows(robot: Robot, before: Array, after: Array) -> list[list[str]]:
    rows = []
    for kind, values in (("joint", joint_values), ("tool", tool_values)):
        for (name, a, unit), (_, b, _) in zip(values(robot, before), values(robot, after), strict=True):
            rows.append([f"{kind} {name}", fixed(a, 4), fixed(b, 4), unit])
    return rows
