"""``st.jog``: a step of one joint or of the tool, planned but not carried out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from servotwin.control.main.jogging import Jog
from servotwin.description.nodes import quoted
from servotwin.description.schema import RobotDescription
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.mechanism.urdf_export import roll_pitch_yaw
from servotwin.presentation import Plots, ShowsItself, Tabulates
from servotwin.report.labels import plain
from servotwin.robot.robot import Robot
from servotwin.workbench.poses import joint_data
from servotwin.workbench.quantities import positions_of, read_quantity

if TYPE_CHECKING:
    from servotwin.motion.trajectory import Trajectory
    from servotwin.robot.described import Given

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True)
class JogStep(Plots, Tabulates, ShowsItself):
    """A planned step: joint positions ``before`` and ``after`` (n,) [rad, m], and the motion between them."""

    robot: Robot
    trajectory: Trajectory
    before: Array
    after: Array
    recorded: str | None = None
    notes: tuple[str, ...] = ()  # on the points file that it was recorded in

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return float(self.trajectory.duration)

    def data(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            "robot": self.robot.name,
            "duration_s": self.duration,
            "from": _state(self.robot, self.before),
            "to": _state(self.robot, self.after),
            "recorded": self.recorded,
        }

    def rows(self) -> list[dict[str, Any]]:
        """Joint positions before and after, in SI."""
        both = (joint_data(self.robot, q) for q in (self.before, self.after))
        return [{"when": when, **values} for when, values in zip(("before", "after"), both, strict=True)]


def jog(
    robot: Given,
    joint: str | None = None,
    by: float | str | None = None,
    *,
    shift: Mapping[str, float | str] | None = None,
    tool: bool = False,
    q: ArrayLike | str | None = None,
    points: str | Path | None = None,
    start: str | None = None,
    speed: float = 100.0,
    record: str | None = None,
    overrides: Mapping[str, str] | None = None,
) -> JogStep:
    """Where a step leads, and how long it takes: of one ``joint`` ``by`` an angle or length, or of the tool.

    ``shift``: one of x, y, z [m], rx, ry, rz [rad] with its step, in base axes or those of the ``tool``; steps may be
    text with units. The arm stands at ``q``, at the taught point ``start`` of the file ``points``, or at home;
    ``speed`` [%] of the limits. ``record`` keeps the end under that name in ``points``. Nothing is moved.

    >>> import servotwin as st
    >>> st.jog("gsis-scara", "A", "5 deg").duration > 0.0
    True
    """
    from servotwin.mechanism.build import build_mechanism
    from servotwin.robot.described import description_of, source_of

    if shift is not None and not isinstance(shift, Mapping):
        raise InputError("expected a direction and its step, such as {'z': '10 mm'}", field="shift")
    description = description_of(robot, overrides)
    name = robot.name if isinstance(robot, RobotDescription) else str(source_of(robot))
    model = Robot(build_mechanism(description), title=description.title)
    before = start_pose(model, q, points, start)
    step = read_step(model, joint, by, shift or {}, tool=tool, speed=speed)
    trajectory = planned_step(model, description, before, step)
    after = trajectory.sample([trajectory.duration])[0][0]
    notes = () if record is None else _record(record, model, after, points, name)
    return JogStep(model, trajectory, before, after, record, notes)


def start_pose(
    robot: Robot, q: ArrayLike | str | None, points: str | Path | None, start: str | None
) -> Array:
    """Where the arm stands (n,): as given, at a taught point, or at home."""
    if q is not None and start is not None:
        raise InputError(
            "joint positions and a taught point exclude each other; give one of them", field="start"
        )
    if q is not None:
        return positions_of(q, robot)
    if start is None:
        return robot.q_home
    if points is None:
        raise InputError("no points file; expected one, such as pick.points.yaml", field="points")
    from servotwin.jobs.points_file import read_points
    from servotwin.jobs.resolve import Resolver

    taught = Resolver(read_points(points), robot).taught(start, None, None)
    return taught.q if taught.q is not None else robot.ikine(taught.X_base_tip)


def read_step(
    robot: Robot,
    joint: str | None,
    by: float | str | None,
    shifts: Mapping[str, float | str],
    *,
    tool: bool,
    speed: float,
) -> Jog:
    """The step that the options describe: one joint, or one direction of the tool."""
    if not 0.0 < _number(speed) <= 100.0:
        raise InputError(
            f"{quoted(speed)} is no speed; expected a number above 0, up to 100 [%]", field="speed"
        )
    given = dict(shifts)
    if (joint is None) == (not given) or len(given) > 1:
        wanted = f"a joint and its step, or a step of the tool along one of {', '.join(DIRECTIONS)}"
        raise InputError(f"one at a time; expected {wanted}", field="step")
    if joint is not None:
        if tool:
            raise InputError(
                "a joint has no frame; expected a step of the tool along x, y, ...", field="tool"
            )
        k = _joint(robot, joint)
        if by is None:
            raise InputError("no step; expected one, such as '5 deg'", field="by")
        direction = tuple(1.0 if i == k else 0.0 for i in range(robot.n))
        return Jog("joint", direction, speed / 100.0, _quantity("by", by, robot.joint_units[k]))
    if by is not None:
        raise InputError(
            "belongs to a joint; the step of the tool stands with its direction, x, y, ...", field="by"
        )
    ((axis, text),) = given.items()
    if axis not in DIRECTIONS:
        raise InputError(
            f"no direction {quoted(axis)}; expected one of {', '.join(DIRECTIONS)}", field="shift"
        )
    length = _quantity(axis, text, "m" if len(axis) == 1 else "rad")
    along = tuple(1.0 if name == axis else 0.0 for name in DIRECTIONS)
    return Jog("tool" if tool else "base", along, speed / 100.0, length)


def _joint(robot: Robot, name: str) -> int:
    if name in robot.joint_names:
        return robot.joint_names.index(name)
    hint = did_you_mean(str(name), list(robot.joint_names))
    raise InputError(
        f"no joint {quoted(name)}; expected one of {', '.join(robot.joint_names)}{hint}", field="joint"
    )


def _number(given: Any) -> float:
    """A real number, one of NumPy too; NaN for anything else."""
    return float(given) if isinstance(given, Real) else math.nan


def _quantity(option: str, given: float | str, unit: str) -> float:
    value = read_quantity(option, given, unit) if isinstance(given, str) else _number(given)
    if not math.isfinite(value):
        raise InputError("no step; expected one, such as 0.01 or '10 mm'", field=option)
    if value == 0.0:
        raise InputError(f"{quoted(str(given))} is a step of zero; expected one that moves", field=option)
    return value


def planned_step(robot: Robot, description: RobotDescription, q: Array, step: Jog) -> Trajectory:
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


def _record(name: str, robot: Robot, q: Array, points: str | Path | None, source: str) -> tuple[str, ...]:
    from servotwin.workbench.taught import taught_points

    if points is None:
        raise InputError("no points file; expected one, such as pick.points.yaml", field="points")
    notes: list[str] = []
    taught_points(str(points), robot, source, notes.append).record(name, q, replace_old=False)
    return tuple(notes)


def _state(robot: Robot, q: Array) -> dict[str, Any]:
    X = robot.fkine(q)
    return {
        "joints": joint_data(robot, q),
        "tool": {"xyz_m": plain(X[:3, 3]), "rpy_rad": plain(roll_pitch_yaw(X[:3, :3]))},
    }
