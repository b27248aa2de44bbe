"""``servotwin teach``: the points file of a job, written whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.cli.arguments import load, outside_limits, read_positions, read_quantity
from servotwin.cli.output import print_json, print_line, print_note, print_table
from servotwin.description.display import of_unit
from servotwin.description.nodes import one_line, quoted
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError, ServotwinError

if TYPE_CHECKING:
    from servotwin.jobs.player import TaughtPoints
    from servotwin.jobs.points import Point, Points, Pose
    from servotwin.mechanism.model import Array
    from servotwin.robot.robot import Robot

LENGTHS, ANGLES = ("x", "y", "z"), ("roll", "pitch", "yaw")
COORDINATES = (*LENGTHS, *ANGLES)


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


def taught_points(file: str, robot: Robot, source: str) -> TaughtPoints:
    """The points of a file with what writes them; a new file is made for this robot, named as ``source``."""
    from servotwin.jobs.check import sliding_of
    from servotwin.jobs.player import TaughtPoints
    from servotwin.jobs.points_file import robot_reference

    points = read_store(file, new=True)
    if not points.robot:
        points = replace(points, robot=robot_reference(source, file))
        say_if_outside(points)
    return TaughtPoints(points, robot.joint_names, sliding_of(robot.joint_units), file)


def say_if_outside(points: Points) -> None:
    """A note if the robot that the file names lies outside of its folder: reading it takes an option."""
    from servotwin.jobs.points_file import robot_outside

    if robot_outside(points):
        print_note(
            f"note: {one_line(points.file, 200)}: robot: {quoted(points.robot)} lies outside of the folder of this"
            " file; reading it needs --allow-outside or --robot"
        )


def record(
    file: str,
    name: str,
    q: str,
    robot: str | None,
    *,
    pose: bool = False,
    frame: str | None = None,
    tool: str | None = None,
    note: str = "",
    replace_old: bool = False,
    json: bool = False,
) -> None:
    """Keep joint positions, or the pose of the tool there, under a name."""
    from datetime import datetime

    from servotwin.description.reach import Reach
    from servotwin.jobs.check import sliding_of
    from servotwin.jobs.points_file import robot_reference, robot_within, write_points

    points = read_store(file, new=True)
    chosen = robot or robot_within(points, Reach.of(file))
    if not chosen:
        raise InputError("the file does not say for which robot it is; expected one", field="--robot")
    model = load(chosen, None)
    named = bool(points.robot)
    if not named:
        points = replace(points, robot=robot_reference(chosen, file))
    values = read_positions("--q", q, model)
    at = datetime.now().astimezone()
    if pose or frame is not None:
        X = model.fkine(values) @ points.tool_matrix(tool)
        points = points.record_pose(name, X, frame=frame, note=note, at=at, replace_old=replace_old)
    else:
        if tool is not None:
            raise InputError("joint positions have no tool; expected --tool with --pose", field="--tool")
        points = points.record(
            name,
            model.joint_names,
            values,
            sliding=sliding_of(model.joint_units),
            note=note,
            at=at,
            replace_old=replace_old,
        )
    write_points(points, file)
    if not named:
        say_if_outside(points)
    _done(file, points, f"recorded {name}", name, json=json)
    _warn_of_limits(name, model, values)


def _warn_of_limits(name: str, robot: Robot, q: Array) -> None:
    """A warning for every joint and quantity that a point holds beyond its limits: no move goes there."""
    limits, beyond = robot.limits, outside_limits(robot, q)
    for joint, low, high, at, unit in zip(
        robot.joint_names, limits.q_min, limits.q_max, q, robot.joint_units, strict=True
    ):
        if joint in beyond:
            shown = of_unit(unit)
            print_note(
                f"warning: {name}: {joint} at {shown.text(at, '.6g')} is beyond its limits, {shown.text(low, '.6g')} "
                f"to {shown.text(high, '.6g')}; no move goes there"
            )
    for quantity in beyond:
        if quantity not in robot.joint_names:
            print_note(f"warning: {name}: {quantity} is beyond its limits; no move goes there")


def list_points(file: str, *, json: bool) -> None:
    """Print points, frames and tools."""
    points = read_store(file)
    if json:
        print_json(points_data(points))
        return
    print_line(f"{one_line(file, 200)}: {points.robot or 'no robot named'}")
    rows = [("point", name, _point_text(point), point.note) for name, point in points.points.items()]
    rows += [("frame", name, _pose_text(pose), "") for name, pose in points.frames.items()]
    rows += [("tool", name, _pose_text(pose), "") for name, pose in points.tools.items()]
    print_table(("kind", "name", "where", "note"), rows, text_columns=4)


def rename(file: str, old: str, new: str, *, json: bool) -> None:
    """Call a point something else, in the job beside it too."""
    from servotwin.jobs.edit import renamed_beside
    from servotwin.jobs.points_file import write_with_job

    points = read_store(file).renamed(old, new)
    job = renamed_beside(file, old, new)
    write_with_job(points, file, job)
    also = "" if job is None else f", in {one_line(job[0], 200)} too"
    _done(file, points, f"{old} is now {new}{also}", new, json=json)


def delete(file: str, name: str, *, json: bool) -> None:
    """Forget a point; what still names it is said."""
    from servotwin.jobs.edit import mentions

    _changed(file, read_store(file).without(name), f"deleted {name}", None, json=json)
    for place in mentions(file, name):
        print_note(f"warning: {place}: uses {name}, which is deleted")


def edit(file: str, name: str, changes: Sequence[str], *, json: bool) -> None:
    """Change fields of a point: ``x=10 mm`` sets one, ``x+=1 mm`` shifts it, ``note=...`` says something."""
    points = read_store(file)
    point = points[name]
    for change in changes:
        point = _edited(points, point, change)
    changed = points.with_point(name, point, replace_old=True)
    _changed(file, changed, f"changed {name}: {_point_text(point)}", name, json=json)
    if point.joints is not None:
        _warn_of_edited(file, points, name, point.joints)


def _warn_of_edited(file: str, points: Points, name: str, joints: Mapping[str, float]) -> None:
    """``_warn_of_limits`` where the file says for which robot it is, and that robot can be read."""
    from servotwin.description.reach import Reach
    from servotwin.jobs.points_file import robot_within

    with suppress(ServotwinError):
        robot = load(robot_within(points, Reach.of(file)), None)
        if all(joint in joints for joint in robot.joint_names):
            _warn_of_limits(name, robot, np.array([joints[joint] for joint in robot.joint_names]))


def place(file: str, kind: str, name: str, fields: Sequence[str], *, json: bool) -> None:
    """Set a frame or a tool: ``x=300 mm``, ``yaw=90 deg``; what is not given is zero, or as it was."""
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
    _changed(file, made, f"{kind} {name}: {_pose_text(pose)}", None, json=json)


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


def _changed(file: str, points: Points, text: str, name: str | None, *, json: bool) -> None:
    from servotwin.jobs.points_file import write_points

    write_points(points, file)
    _done(file, points, text, name, json=json)


def _done(file: str, points: Points, text: str, name: str | None, *, json: bool) -> None:
    if json:
        shown = None if name is None else _point_data(points.points[name])
        print_json({"file": file, "done": text, "point": shown})
    else:
        print_line(f"{one_line(file, 200)}: {text}")


def points_data(points: Points) -> dict[str, Any]:
    """Points, frames and tools for JSON, in SI units."""
    return {
        "robot": points.robot,
        "points": {name: _point_data(point) for name, point in points.points.items()},
        "frames": {name: _pose_data(pose) for name, pose in points.frames.items()},
        "tools": {name: _pose_data(pose) for name, pose in points.tools.items()},
    }


def _point_data(point: Point) -> dict[str, Any]:
    if point.pose is not None:
        where: dict[str, Any] = {"pose": _pose_data(point.pose), "frame": point.frame}
    else:
        joints = point.joints or {}
        where = {"joints": {f"{n}_{'m' if n in point.sliding else 'rad'}": v for n, v in joints.items()}}
    return {**where, "note": point.note, "recorded": point.recorded}


def _pose_data(pose: Pose) -> dict[str, float]:
    return {f"{name}_{'m' if name in LENGTHS else 'rad'}": getattr(pose, name) for name in COORDINATES}


def _point_text(point: Point) -> str:
    from servotwin.jobs.points_file import value_text

    if point.pose is not None:
        return _pose_text(point.pose) + (f" in {point.frame}" if point.frame else "")
    joints = point.joints or {}
    return ", ".join(f"{n} {value_text(v, 'm' if n in point.sliding else 'rad')}" for n, v in joints.items())


def _pose_text(pose: Pose) -> str:
    from servotwin.jobs.points_file import value_text

    return ", ".join(
        f"{name} {value_text(getattr(pose, name), 'm' if name in LENGTHS else 'rad')}" for name in COORDINATES
    )
