"""The points file that stands next to a job: readable YAML with units, written whole or not at all.

``pick.job`` has its points in ``pick.points.yaml``. Every value reads back to
the same number: it is written in mm and degrees where that is exact, in m and
rad otherwise.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from servotwin.description.compose import SUFFIXES
from servotwin.description.display import of_unit
from servotwin.description.file_write import atomic_write_text
from servotwin.description.nodes import Node, parse_yaml, quoted
from servotwin.description.reach import Named, Reach, leads_outside
from servotwin.description.regular_file import POINTS, is_there, read_text
from servotwin.description.units import did_you_mean, expectation, parse_quantity
from servotwin.errors import InputError
from servotwin.jobs.file_pair import finish, write_together
from servotwin.jobs.points import Point, Points, Pose, check_name
from servotwin.jobs.points_edit import Fields, edited
from servotwin.jobs.points_yaml import NotEditable, first_comment, without_aliases

FORMAT = "servotwin-points/1"
SUFFIX = ".points.yaml"
_LENGTHS, _ANGLES = ("x", "y", "z"), ("roll", "pitch", "yaw")
_COORDINATES = (*_LENGTHS, *_ANGLES)
_SECTIONS = ("format", "robot", "points", "frames", "tools")
_NOTES = ("note", "recorded")
_PLAIN = re.compile(
    r"(?!(?:null|true|false|yes|no|on|off|y|n)$)[A-Za-z][\w()/.-]*(?: [\w()/.-]+)*", re.IGNORECASE
)
_WIDTH = 100


def job_path(points: str | Path) -> Path | None:
    """The job file that stands beside a points file; None if there is none."""
    path = Path(points)
    job = path.with_name(path.name.removesuffix(SUFFIX) + ".job")
    return job if path.name.endswith(SUFFIX) and is_there(job) else None


def points_path(job: str | Path) -> Path:
    """The points file of a job file."""
    path = Path(job)
    return path.with_name(path.stem + SUFFIX)


def robot_path(points: Points) -> str:
    """Name or path of the robot of a points file; a path in it is relative to the folder of the file."""
    if not _is_path(points.robot) or not points.file:
        return points.robot
    return str(Path(points.file).parent / points.robot)


def robot_within(points: Points, reach: Reach) -> str:
    """``robot_path``, for reading it: an InputError if it is a path that lies out of ``reach``."""
    path = robot_path(points)
    if path == points.robot and not points.file:
        return path
    problem = reach.problem(path, points.robot) if _is_path(path) else None
    if problem is not None:
        text = f"{problem}, or the robot named with --robot"
        raise InputError(text, file=points.file, line=points.robot_line or None, field="robot")
    return Named(path, reach) if _is_path(path) else path


def robot_reference(robot: str, file: str | Path) -> str:
    """How a points file names a robot: a catalogue name as it is, a path relative to the file's folder."""
    if not _is_path(robot) or Path(robot).is_absolute():
        return robot
    return os.path.relpath(robot, Path(file).parent)


def robot_outside(points: Points) -> bool:
    """Whether the points file names a robot that it may not reach by itself."""
    return _is_path(points.robot) and leads_outside(robot_path(points), points.file)


def _is_path(robot: str) -> bool:
    return robot.lower().endswith(SUFFIXES)


def read_points(path: str | Path) -> Points:
    """The points in a file."""
    finish(path)
    return parse_points(read_text(path, POINTS), str(path))


def parse_points(text: str, file: str = "points") -> Points:
    """The points in YAML ``text``; ``file`` is the name shown in messages."""
    tree = parse_yaml(text, file)
    fields = mapping_of(tree, "", _SECTIONS)
    stated = fields.get("format")
    if stated is None or stated.value != FORMAT:
        raise (stated or tree).error(f"expected {FORMAT}", "format")
    robot = _text(fields.get("robot"), "robot")
    frames = {name: _pose(node, at) for name, node, at in _named(fields, "frames")}
    tools = {name: _pose(node, at) for name, node, at in _named(fields, "tools")}
    points = {name: _point(node, at, frames) for name, node, at in _named(fields, "points")}
    line = fields["robot"].origin.line if robot else 0
    return Points(points, frames, tools, robot, file, robot_line=line)


def write_points(points: Points, path: str | Path) -> None:
    """Write a points file so that readers see the old or the new one, never a part.

    What does not change in a file that is there stays as it is written, comments too. A file that holds no points is
    not replaced: InputError says what is wrong with it.
    """
    atomic_write_text(path, text_with(points, path))


def write_with_job(points: Points, path: str | Path, job: tuple[Path, str] | None) -> None:
    """Write a points file and, if there is one, the changed text of its job: both or none."""
    if job is None:
        write_points(points, path)
    else:
        write_together({Path(path): text_with(points, path), job[0]: job[1]})


def text_with(points: Points, path: str | Path) -> str:
    """The text of a points file with other points in it; that of a new one if there is none yet.

    InputError if the text has comments and a form in which they cannot be kept.
    """
    if not Path(path).exists():
        return points_text(points)
    text = read_text(path, POINTS)
    old = parse_points(text, str(path))
    for change in (str, without_aliases):  # an alias is written out where the text cannot change otherwise
        new = _edited(change, text, old, points)
        if new is not None:
            return new
    line = first_comment(text)
    if line is not None:
        message = (
            "cannot be changed without losing this comment; expected every point on lines of its own "
            "and no texts in blocks (| or >), or no comments"
        )
        raise InputError(message, file=str(path), line=line)
    return points_text(points)


def _edited(change: Callable[[str], str], text: str, old: Points, points: Points) -> str | None:
    """The changed text with other points in its place; None if that is not possible."""
    try:
        new = edited(change(text), _fields(old), _fields(points), _entry)
        return new if parse_points(new) == points else None
    except (NotEditable, InputError):
        return None


def points_text(points: Points) -> str:
    """The text of a points file in the one layout."""
    robot = f"robot: {_scalar(points.robot)}\n" if points.robot else ""
    parts = [f"format: {FORMAT}\n{robot}"]
    for section, content in _sections(points).items():
        if content or section == "points":
            parts.append(_section(section, [_entry(name, fields) for name, fields in content.items()]))
    return "\n".join(parts)


# --- reading ---------------------------------------------------------------------------------------


def mapping_of(node: Node, at: str, known: tuple[str, ...] = ()) -> dict[str, Node]:
    """The fields of a mapping in a file; an InputError for others than the ``known`` ones."""
    if not isinstance(node.value, dict):
        raise node.error("expected a mapping" + (f" with {', '.join(known)}" if known else ""), at)
    for key, child in node.value.items():
        if known and key not in known:
            hint = did_you_mean(key, list(known))
            raise child.error(f"unknown field {quoted(key)}; expected {', '.join(known)}{hint}", at)
    return node.value


def _named(fields: dict[str, Node], section: str) -> list[tuple[str, Node, str]]:
    """Name, node and path of what stands in a section; an absent or empty section is empty."""
    node = fields.get(section)
    if node is None or node.value is None:
        return []
    found = []
    for name, child in mapping_of(node, section).items():
        try:
            found.append((check_name(name), child, f"{section}.{name}"))
        except InputError as error:
            raise child.error(error.message, section) from None
    return found


def _text(node: Node | None, at: str) -> str:
    if node is None or node.value is None:
        return ""
    if not isinstance(node.value, str):
        raise node.error("expected a line of text", at)
    return " ".join(node.value.split())


def _quantity(node: Node, at: str, unit: str) -> float:
    """The SI value of a text that is measured in the unit."""
    if not isinstance(node.value, str):
        raise node.error(f"expected {expectation(unit)}", at)
    try:
        return parse_quantity(node.value, unit)
    except ValueError as error:
        raise node.error(str(error), at) from None


def _joint(node: Node, at: str) -> tuple[float, bool]:
    """The position of an axis, and whether it is a length."""
    for unit in ("rad", "m"):
        try:
            return _quantity(node, at, unit), unit == "m"
        except InputError:
            continue
    raise node.error(
        f"{quoted(node.value)}; expected an angle such as '30 deg' or a length such as '50 mm'", at
    )


def _pose(node: Node, at: str) -> Pose:
    return _pose_of(mapping_of(node, at, _COORDINATES), node, at)


def _pose_of(fields: dict[str, Node], node: Node, at: str) -> Pose:
    values = {k: _quantity(fields[k], f"{at}.{k}", "m") for k in _LENGTHS if k in fields}
    values |= {k: _quantity(fields[k], f"{at}.{k}", "rad") for k in _ANGLES if k in fields}
    try:
        return Pose(**values)
    except InputError as error:
        raise node.error(error.message, at) from None


def _point(node: Node, at: str, frames: dict[str, Pose]) -> Point:
    fields = mapping_of(node, at, ("joints", *_COORDINATES, "frame", *_NOTES))
    note, recorded = (_text(fields.get(key), f"{at}.{key}") for key in _NOTES)
    frame = _text(fields.get("frame"), f"{at}.frame") or None
    if frame is not None and frame != "base" and frame not in frames:
        known = ["base", *frames]
        listed = ", ".join(known[:12])
        message = f"no frame {quoted(frame)}; expected one of {listed}{did_you_mean(frame, known)}"
        raise fields["frame"].error(message, f"{at}.frame")
    if "joints" in fields:
        also = next((key for key in (*_COORDINATES, "frame") if key in fields), None)
        if also is not None:
            raise fields[also].error("expected joints or a pose, not both", f"{at}.{also}")
        joints = mapping_of(fields["joints"], f"{at}.joints")
        read = {k: _joint(v, f"{at}.joints.{k}") for k, v in joints.items()}
        sliding = frozenset(k for k, (_, slides) in read.items() if slides)
        try:
            return Point({k: value for k, (value, _) in read.items()}, sliding, note=note, recorded=recorded)
        except InputError as error:
            raise node.error(error.message, at) from None
    if not any(key in fields for key in _COORDINATES):
        raise node.error(f"an empty point; expected joints, or some of {', '.join(_COORDINATES)}", at)
    return Point(pose=_pose_of(fields, node, at), frame=frame, note=note, recorded=recorded)


# --- writing ---------------------------------------------------------------------------------------


def value_text(value: float, unit: str) -> str:
    """The value as text that reads back to it: in mm or degrees if a short one does, else in SI."""
    factor, name = of_unit(unit)
    for digits in (6, 9, 12, 15, 16, 17):
        number = f"{value * factor:.{digits}g}"
        if "e" not in number and parse_quantity(f"{number} {name}", unit) == value:
            return f"{number} {name}"
    return f"{float(value)!r} {unit}"


def _scalar(text: str) -> str:
    """A text as YAML writes it: plain, or in double quotes with what cannot be seen escaped."""
    if _PLAIN.fullmatch(text):
        return text
    shown = (
        c if c.isprintable() else f"\\U{ord(c):08X}" for c in text.replace("\\", "\\\\").replace('"', '\\"')
    )
    return f'"{"".join(shown)}"'


def _section(name: str, entries: list[str]) -> str:
    return "\n".join([f"{name}:", *(f"  {entry}" for entry in entries)]) + "\n"


def _entry(name: str, fields: Fields) -> str:
    """A mapping on one line, or on two if it is long."""
    parts = {key: f"{key}: {_flow(content)}" for key, content in fields.items()}
    main = [text for key, text in parts.items() if key not in ("frame", *_NOTES)]
    more = [text for key, text in parts.items() if key in ("frame", *_NOTES)]
    short = f"{name}: {{{', '.join([*main, *more])}}}"
    if len(short) <= _WIDTH or not more:
        return short
    return f"{name}: {{{', '.join(main)},\n    {', '.join(more)}}}"


def _flow(content: str | Fields) -> str:
    if isinstance(content, str):
        return content
    return f"{{{', '.join(f'{key}: {_flow(part)}' for key, part in content.items())}}}"


def _fields(points: Points) -> Fields:
    """The fields of the whole file as texts."""
    head = {"format": FORMAT} | ({"robot": _scalar(points.robot)} if points.robot else {})
    return head | _sections(points)


def _sections(points: Points) -> dict[str, dict[str, Fields]]:
    return {
        "frames": {name: _pose_fields(pose) for name, pose in points.frames.items()},
        "tools": {name: _pose_fields(pose) for name, pose in points.tools.items()},
        "points": {name: _point_fields(point) for name, point in points.points.items()},
    }


def _pose_fields(pose: Pose) -> dict[str, str]:
    units = dict.fromkeys(_LENGTHS, "m") | dict.fromkeys(_ANGLES, "rad")
    return {key: value_text(getattr(pose, key), unit) for key, unit in units.items()}


def _point_fields(point: Point) -> Fields:
    more = {} if point.frame is None else {"frame": point.frame}
    for key in _NOTES:
        text = " ".join(getattr(point, key).split())
        if text:
            more[key] = _scalar(text)
    if point.pose is not None:
        return _pose_fields(point.pose) | more
    assert point.joints is not None
    units = {axis: "m" if axis in point.sliding else "rad" for axis in point.joints}
    positions = {axis: value_text(value, units[axis]) for axis, value in point.joints.items()}
    return {"joints": positions, **more}
