"""``servotwin jog``: a step of one joint or of the tool, planned but not carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.cli.arguments import read_overrides, read_positions, read_quantity
from servotwin.cli.options import jog_percent
from servotwin.cli.output import fixed, print_json, print_line, print_table, working
from servotwin.description.display import DEG, MM
from servotwin.description.nodes import quoted
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.mechanism.urdf_export import roll_pitch_yaw
from servotwin.report.labels import joint_units, plain, unit_key

if TYPE_CHECKING:
    from servotwin.control.main.jogging import Jog
    from servotwin.motion.trajectory import Trajectory
    from servotwin.robot.robot import Robot

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


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
    changes = read_overrides(overrides)
    with working(f"planning on {name}"):
        from servotwin.description.load import read_description
        from servotwin.mechanism.build import build_mechanism
        from servotwin.robot.robot import Robot

        description = read_description(name, changes)
        robot = Robot(build_mechanism(description), title=description.title)
        before = start_pose(robot, q, points, start)
        step = read_step(robot, joint, by, shifts, tool=tool, speed=speed)
        trajectory = planned_step(robot, description, before, step)
        after = trajectory.sample([trajectory.duration])[0][0]
    if record is not None:
        _record(record, robot, after, points, name)
    if json:
        print_json(
            {
                "robot": robot.name,
                "duration_s": trajectory.duration,
                "from": _state(robot, before),
                "to": _state(robot, after),
                "recorded": record,
            }
        )
        return
    print_table(("", "from", "to", "unit"), _rows(robot, before, after))
    print_line(f"\n{trajectory.duration:.3f} s on {robot.name}; nothing was moved")
    if record is not None:
        print_line(f"recorded: {record} in {points}")


def start_pose(robot: Robot, q: str | None, points: str | None, start: str | None) -> Array:
    """Where the arm stands (n,): as given, at a taught point, or at home."""
    if q is not None and start is not None:
        raise InputError("--q and --from exclude each other; give one of them", field="--from")
    if q is not None:
        return read_positions("--q", q, robot)
    if start is None:
        return robot.q_home
    if points is None:
        raise InputError("no points file; expected one, such as --points pick.points.yaml", field="--points")
    from servotwin.jobs.points_file import read_points
    from servotwin.jobs.resolve import Resolver

    taught = Resolver(read_points(points), robot).taught(start, None, None)
    return taught.q if taught.q is not None else robot.ikine(taught.X_base_tip)


def read_step(
    robot: Robot,
    joint: str | None,
    by: str | None,
    shifts: Mapping[str, str | None],
    *,
    tool: bool,
    speed: float,
) -> Jog:
    """The step that the options describe: one joint, or one direction of the tool."""
    from servotwin.control.main.jogging import Jog

    share = jog_percent(speed) / 100.0
    given = {axis: text for axis, text in shifts.items() if text is not None}
    if (joint is None) == (not given) or len(given) > 1:
        wanted = "--joint with --by, or one of --x, --y, --z, --rx, --ry, --rz"
        raise InputError(f"one step at a time; expected {wanted}", field="jog")
    if joint is not None:
        if tool:
            raise InputError("a joint has no frame; expected --tool with --x, --y, ...", field="--tool")
        k = _joint(robot, joint)
        if by is None:
            raise InputError("no step; expected one, such as --by '5 deg'", field="--by")
        direction = tuple(1.0 if i == k else 0.0 for i in range(robot.n))
        return Jog("joint", direction, share, _quantity("--by", by, robot.joint_units[k]))
    if by is not None:
        raise InputError(
            "--by belongs to --joint; the step of the tool stands in --x, --y, ...", field="--by"
        )
    ((axis, text),) = given.items()
    length = _quantity(f"--{axis}", text, "m" if len(axis) == 1 else "rad")
    along = tuple(1.0 if name == axis else 0.0 for name in DIRECTIONS)
    return Jog("tool" if tool else "base", along, share, length)


def _joint(robot: Robot, name: str) -> int:
    if name in robot.joint_names:
        return robot.joint_names.index(name)
    hint = did_you_mean(name, list(robot.joint_names))
    raise InputError(
        f"no joint {quoted(name)}; expected one of {', '.join(robot.joint_names)}{hint}", field="--joint"
    )


def _quantity(option: str, text: str, unit: str) -> float:
    value = read_quantity(option, text, unit)
    if value == 0.0:
        raise InputError(f"{quoted(text)} is a step of zero; expected one that moves", field=option)
    return value


def planned_step(robot: Robot, description: Any, q: Array, step: Jog) -> Trajectory:
    """The motion that the controller would make of a step from q (n,)."""
    from servotwin.control.main.exchange import Settings
    from servotwin.control.main.reference import Reference
    from servotwin.motion.limits import limits_of

    control = description.controller
    period = 16_000_000 if control is None else int(control.main_period_ns)
    reference = Reference(robot, limits_of(robot, description), period, Settings())
    reference.hold(q)
    try:
        reference.start_nudge(step)
    except InputError as error:
        raise InputError(error.message, field="jog") from None
    assert reference.cursor is not None
    trajectory: Trajectory = reference.cursor.trajectory  # type: ignore[assignment]
    return trajectory


def _record(name: str, robot: Robot, q: Array, points: str | None, source: str) -> None:
    from servotwin.cli.teach import taught_points

    if points is None:
        raise InputError("no points file; expected one, such as --points pick.points.yaml", field="--points")
    store = taught_points(points, robot, source)
    store.record(name, q, replace_old=False)


def _state(robot: Robot, q: Array) -> dict[str, Any]:
    X = robot.fkine(q)
    keys = [unit_key(name, unit) for name, unit in zip(robot.joint_names, robot.joint_units, strict=True)]
    return {
        "joints": dict(zip(keys, plain(q), strict=True)),
        "tool": {"xyz_m": plain(X[:3, 3]), "rpy_rad": plain(roll_pitch_yaw(X[:3, :3]))},
    }


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
