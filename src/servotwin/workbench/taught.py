"""``st.record_point`` and its like: the points file of a job, edited and written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.display import of_unit
from servotwin.description.nodes import one_line, quoted
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError, ServotwinError
from servotwin.jobs.points import Points
from servotwin.presentation import ShowsItself, Tabulates
from servotwin.workbench.quantities import outside_limits, positions_of, read_quantity, robot_of

if TYPE_CHECKING:
    from servotwin.jobs.player import TaughtPoints
    from servotwin.jobs.points import Point, Pose
    from servotwin.mechanism.model import Array
    from servotwin.robot.robot import Robot

LENGTHS, ANGLES = ("x", "y", "z"), ("roll", "pitch", "yaw")
COORDINATES = (*LENGTHS, *ANGLES)


@dataclass(frozen=True)
class PointsEdit(Tabulates, ShowsItself):
    """A points file as it is now; ``done`` says what was changed, ``notes`` and ``warnings`` what is odd about it."""

    file: str
    points: Points
    done: str = ""
    name: str | None = None  # of the point that was changed and is still there
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """What was done as plain data."""
        shown = None if self.name is None else point_data(self.points.points[self.name])
        return {"file": self.file, "done": self.done, "point": shown}

    def rows(self) -> list[dict[str, Any]]:
        """Points, frames and tools as words."""
        named = self.points
        rows = [("point", name, point_text(point), point.note) for name, point in named.points.items()]
        rows += [("frame", name, pose_text(pose), "") for name, pose in named.frames.items()]
        rows += [("tool", name, pose_text(pose), "") for name, pose in named.tools.items()]
        return [dict(zip(("kind", "name", "where", "note"), row, strict=True)) for row in rows]


def list_points(file: str | Path) -> PointsEdit:
    """Points, frames and tools of a file."""
    return PointsEdit(str(file), read_store(str(file)))


def read_store(file: str, *, new: bool = False) -> Points:
    """The points of a file; none if it is not there yet and may be ``new``."""
    from servotwin.jobs.points import Points
    from servotwin.jobs.points_file import SUFFIX, read_points

    if not file.endswith((".yaml", ".yml")):
        raise InputError(
            f"{quoted(file)} is not a points file; expected a name such as pick{SUFFIX}", field="POINTS"
        )
    if new and not Path(file).exists():
        return Points(file=file)
    return read_points(file)


def taught_points(
    file: str, robot: Robot, source: str, tell: Callable[[str], None] | None = None
) -> TaughtPoints:
    """The points of a file with what writes them; a new file is made for this robot, named as ``source``.

    ``tell`` is told if that robot lies outside of the file's folder.
    """
    from servotwin.jobs.check import sliding_of
    from servotwin.jobs.player import TaughtPoints
    from servotwin.jobs.points_file import robot_reference

    points = read_store(file, new=True)
    if not points.robot:
        points = replace(points, robot=robot_reference(source, file))
        if tell is not None:
            for note in outside_note(points):
                tell(note)
    return TaughtPoints(points, robot.joint_names, sliding_of(robot.joint_units), file)


def outside_note(points: Points) -> tuple[str, ...]:
    """A note if the robot that the file names lies outside of its folder: reading it takes an option."""
    from servotwin.jobs.points_file import robot_outside

    if not robot_outside(points):
        return ()
    return (
        f"note: {one_line(points.file, 200)}: robot: {quoted(points.robot)} lies outside of the folder of this"
        " file; reading it needs --allow-outside or --robot",
    )


def record_point(
    file: str | Path,
    name: str,
    q: ArrayLike | str,
    robot: str | None = None,
    *,
    pose: bool = False,
    frame: str | None = None,
    tool: str | None = None,
    note: str = "",
    replace_old: bool = False,
) -> PointsEdit:
    """Keep joint positions q (n,) [rad, m], or the pose of the tool there, under a name in a points file.

    ``robot``: for a file that does not name one yet. ``pose``: keep the pose, of ``tool`` and in ``frame`` if named;
    ``replace_old``: a point of that name may be there.
    """
    from datetime import datetime

    from servotwin.description.reach import Reach
    from servotwin.jobs.check import sliding_of
    from servotwin.jobs.points_file import robot_reference, robot_within, write_points

    place = str(file)
    points = read_store(place, new=True)
    chosen = robot or robot_within(points, Reach.of(place))
    if not chosen:
        raise InputError("the file does not say for which robot it is; expected one", field="--robot")
    model = robot_of(chosen)
    named = bool(points.robot)
    if not named:
        points = replace(points, robot=robot_reference(chosen, place))
    values = positions_of(q, model, "--q")
    at = datetime.now().astimezone()
    if pose or frame is not None:
        X = model.fkine(values) @ points.tool_matrix(tool)
        points = points.record_pose(name, X, frame=frame, note=note, at=at, replace_old=replace_old)
    else:
        if tool is not None:
            raise InputError("joint positions have no tool; expected --tool with --pose", field="--tool")
        points = points.record(
            name, model.joint_names, values, sliding=sliding_of(model.joint_units), note=note, at=at,
            replace_old=replace_old,
        )  # fmt: skip
    write_points(points, place)
    notes = () if named else outside_note(points)
    return PointsEdit(place, points, f"recorded {name}", name, notes, beyond_limits(name, model, values))


def beyond_limits(name: str, robot: Robot, q: Array) -> tuple[str, ...]:
    """A warning for every joint and quantity that a point holds beyond its limits: no move goes there."""
    limits, beyond, found = robot.limits, outside_limits(robot, q), []
    for joint, low, high, at, unit in zip(
        robot.joint_names, limits.q_min, limits.q_max, q, robot.joint_units, strict=True
    ):
        if joint in beyond:
            shown = of_unit(unit)
            found.append(
                f"warning: {name}: {joint} at {shown.text(at, '.6g')} is beyond its limits, {shown.text(low, '.6g')} "
                f"to {shown.text(high, '.6g')}; no move goes there"
            )
    return (
        *found,
        *(
            f"warning: {name}: {quantity} is beyond its limits; no move goes there"
            for quantity in beyond
            if quantity not in robot.joint_names
        ),
    )


def rename_point(file: str | Path, old: str, new: str) -> PointsEdit:
    """Call a point something else, in the job beside the file too."""
    from servotwin.jobs.edit import renamed_beside
    from servotwin.jobs.points_file import write_with_job

    place = str(file)
    points = read_store(place).renamed(old, new)
    job = renamed_beside(place, old, new)
    write_with_job(points, place, job)
    also = "" if job is None else f", in {one_line(job[0], 200)} too"
    return PointsEdit(place, points, f"{old} is now {new}{also}", new)


def delete_point(file: str | Path, name: str) -> PointsEdit:
    """Forget a point; the result says what still names it."""
    from servotwin.jobs.edit import mentions

    place = str(file)
    edit = _written(place, read_store(place).without(name), f"deleted {name}", None)
    used = [f"warning: {where}: uses {name}, which is deleted" for where in mentions(place, name)]
    return replace(edit, warnings=tuple(used))


def edit_point(file: str | Path, name: str, *changes: str) -> PointsEdit:
    """Change fields of a point: ``x=10 mm`` sets one, ``x+=1 mm`` shifts it, ``note=...`` says something."""
    place = str(file)
    points = read_store(place)
    point = points[name]
    for change in changes:
        point = _edited(points, point, change)
    changed = points.with_point(name, point, replace_old=True)
    edit = _written(place, changed, f"changed {name}: {point_text(point)}", name)
    if point.joints is None:
        return edit
    return replace(edit, warnings=_beyond_after_edit(place, points, name, point.joints))


def _beyond_after_edit(file: str, points: Points, name: str, joints: Mapping[str, float]) -> tuple[str, ...]:
    """``beyond_limits`` where the file says for which robot it is, and that robot can be read."""
    from servotwin.description.reach import Reach
    from servotwin.jobs.points_file import robot_within

    with suppress(ServotwinError):
        robot = robot_of(robot_within(points, Reach.of(file)))
        if all(joint in joints for joint in robot.joint_names):
            return beyond_limits(name, robot, np.array([joints[joint] for joint in robot.joint_names]))
    return ()


def place_frame(file: str | Path, name: str, *fields: str) -> PointsEdit:
    """Set a work frame: ``x=300 mm``, ``yaw=90 deg``; what is not given is zero, or as it was."""
    return _placed(str(file), "frame", name, fields)


def place_tool(file: str | Path, name: str, *fields: str) -> PointsEdit:
    """Set a tool, as ``place_frame`` does a frame."""
    return _placed(str(file), "tool", name, fields)


def _placed(file: str, kind: str, name: str, fields: Sequence[str]) -> PointsEdit:
    from servotwin.jobs.points import Pose

    points = read_store(file, new=True)
    known = points.frames if kind == "frame" else points.tools
    pose = known.get(name, Pose())
    for change in fields:
        field, shift, text = _parts(change)
        if field not in COORDINATES:
            raise _unknown(field, COORDINATES)
        pose = _moved(pose, field, text, shift=shift)
    made = points.with_frame(name, pose) if kind == "frame" else points.with_tool(name, pose)
    return _written(file, made, f"{kind} {name}: {pose_text(pose)}", None)


def _edited(points: Points, point: Point, change: str) -> Point:
    field, shift, text = _parts(change)
    if field == "note":
        return replace(point, note=" ".join(text.split()))
    if point.joints is not None:
        joint = field.removeprefix("joints.")
        if joint not in point.joints:
            raise _unknown(joint, (*point.joints, "note"))
        unit = "m" if joint in point.sliding else "rad"
        value = read_quantity(joint, text, unit) + (point.joints[joint] if shift else 0.0)
        return replace(point, joints={**point.joints, joint: value})
    assert point.pose is not None
    if field == "frame":
        frame = None if text.lower() in ("", "none") else text
        points.frame_matrix(frame)
        return replace(point, frame=frame)
    if field not in COORDINATES:
        raise _unknown(field, (*COORDINATES, "frame", "note"))
    return replace(point, pose=_moved(point.pose, field, text, shift=shift))


def _parts(change: str) -> tuple[str, bool, str]:
    """Field, whether it is shifted, and the text behind the sign."""
    field, equals, text = change.partition("=")
    if not equals or not field.strip("+ "):
        raise InputError(
            f"{quoted(change)} is not field=value, such as 'x=10 mm' or 'x+=1 mm'", field="CHANGE"
        )
    return field.rstrip("+ ").strip(), field.rstrip().endswith("+"), text.strip()


def _moved(pose: Pose, field: str, text: str, *, shift: bool) -> Pose:
    value = read_quantity(field, text, "m" if field in LENGTHS else "rad")
    return replace(pose, **{field: value + (getattr(pose, field) if shift else 0.0)})


def _unknown(field: str, known: Sequence[str]) -> InputError:
    return InputError(
        f"no field {quoted(field)}; expected one of {', '.join(known)}{did_you_mean(field, list(known))}",
        field="CHANGE",
    )


def _written(file: str, points: Points, text: str, name: str | None) -> PointsEdit:
    from servotwin.jobs.points_file import write_points

    write_points(points, file)
    return PointsEdit(file, points, text, name)


def points_data(points: Points) -> dict[str, Any]:
    """Points, frames and tools for JSON, in SI units."""
    return {
        "robot": points.robot,
        "points": {name: point_data(point) for name, point in points.points.items()},
        "frames": {name: _pose_data(pose) for name, pose in points.frames.items()},
        "tools": {name: _pose_data(pose) for name, pose in points.tools.items()},
    }


def point_data(point: Point) -> dict[str, Any]:
    """A point for JSON, in SI units."""
    if point.pose is not None:
        where: dict[str, Any] = {"pose": _pose_data(point.pose), "frame": point.frame}
    else:
        joints = point.joints or {}
        where = {"joints": {f"{n}_{'m' if n in point.sliding else 'rad'}": v for n, v in joints.items()}}
    return {**where, "note": point.note, "recorded": point.recorded}


def _pose_data(pose: Pose) -> dict[str, float]:
    return {f"{name}_{'m' if name in LENGTHS else 'rad'}": getattr(pose, name) for name in COORDINATES}


def point_text(point: Point) -> str:
    """A point in the units of people."""
    from servotwin.jobs.points_file import value_text

    if point.pose is not None:
        return pose_text(point.pose) + (f" in {point.frame}" if point.frame else "")
    joints = point.joints or {}
    return ", ".join(f"{n} {value_text(v, 'm' if n in point.sliding else 'rad')}" for n, v in joints.items())


def pose_text(pose: Pose) -> str:
    """A pose in the units of people."""
    from servotwin.jobs.points_file import value_text

    return ", ".join(
        f"{name} {value_text(getattr(pose, name), 'm' if name in LENGTHS else 'rad')}" for name in COORDINATES
    )
