"""Taught points, work frames and tools: what a job's names stand for, and how they are edited.

All values are SI. Nothing is changed in place: every edit gives new ``Points``,
and ``points_file`` writes them whole or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from servotwin.description.frames import Array, rot_rpy, transform
from servotwin.description.nodes import quoted
from servotwin.description.plain_text import hidden_problem
from servotwin.description.quantities import PLAIN, Quantity
from servotwin.description.units import did_you_mean, read_quantity
from servotwin.errors import InputError
from servotwin.jobs.words import KEYWORDS, is_unit

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*")
_OF_YAML = ("source", "assumed", "value")  # words with a meaning of their own in the files
_LARGEST = 1e4  # of any coordinate, in SI
RECORD_STEP = 1e-6  # mm and deg: far below what an encoder sees, short enough to read


@dataclass(frozen=True)
class Pose:
    """Position [m] and the angles of Rz(yaw) Ry(pitch) Rx(roll) [rad]."""

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    roll: float = 0.0
    pitch: float = 0.0
    yaw: float = 0.0

    def __post_init__(self) -> None:
        values = (self.x, self.y, self.z, self.roll, self.pitch, self.yaw)
        if not all(abs(v) <= _LARGEST for v in values):
            raise InputError(f"a pose of {values} is not one; expected finite lengths and angles")

    @property
    def matrix(self) -> Array:
        """The pose as a 4x4 placement."""
        return transform(rot_rpy((self.roll, self.pitch, self.yaw)), (self.x, self.y, self.z))

    @staticmethod
    def of(X: Array) -> Pose:
        """The pose of a placement; with the tool axis straight up or down the roll is zero."""
        R, p = np.asarray(X)[:3, :3], np.asarray(X)[:3, 3]
        level = float(np.hypot(R[0, 0], R[1, 0]))
        pitch = float(np.arctan2(-R[2, 0], level))
        if level > 1e-9:
            roll, yaw = float(np.arctan2(R[2, 1], R[2, 2])), float(np.arctan2(R[1, 0], R[0, 0]))
        else:
            roll, yaw = 0.0, float(np.arctan2(-R[0, 1], R[1, 1]))
        return Pose(float(p[0]), float(p[1]), float(p[2]), roll, pitch, yaw)

    def rounded(self) -> Pose:
        """The pose to a millionth of a millimetre and of a degree."""
        lengths = (short(v, "mm") for v in (self.x, self.y, self.z))
        angles = (short(v, "deg") for v in (self.roll, self.pitch, self.yaw))
        return Pose(*lengths, *angles)


@dataclass(frozen=True)
class Point:
    """A taught point: joint positions by axis, or a pose in a frame (None: the one that FRAME selects).

    ``sliding`` names the axes whose position is a length.
    """

    joints: Mapping[str, float] | None = None
    sliding: frozenset[str] = frozenset()
    pose: Pose | None = None
    frame: str | None = None
    note: str = ""
    recorded: str = ""

    def __post_init__(self) -> None:
        if (self.joints is None) == (self.pose is None):
            raise InputError("a point has joint positions or a pose; expected one of them")
        problem = hidden_problem(self.note) or hidden_problem(self.recorded)
        if problem is not None:
            raise InputError(problem, field="note")
        if self.joints is not None and self.frame is not None:
            raise InputError("joint positions stand in no frame; expected a frame only with a pose")
        if self.joints is not None and not all(abs(v) <= _LARGEST for v in self.joints.values()):
            raise InputError("joint positions must be finite; expected angles and lengths of a robot")

    def vector(self, joints: Sequence[str]) -> Array:
        """The joint positions in the order of ``joints``."""
        assert self.joints is not None
        return np.array([self.joints[name] for name in joints])


@dataclass(frozen=True)
class Points:
    """The points, frames (in the base) and tools (in the robot's tool frame) of a job, by name."""

    points: Mapping[str, Point] = field(default_factory=dict)
    frames: Mapping[str, Pose] = field(default_factory=dict)
    tools: Mapping[str, Pose] = field(default_factory=dict)
    robot: str = ""
    file: str = field(default="", compare=False)
    absent: bool = field(default=False, compare=False)  # the file does not exist
    robot_line: int = field(default=0, compare=False)  # where the file names the robot

    def __getitem__(self, name: str) -> Point:
        """The point of this name."""
        if name not in self.points:
            raise self.missing("point", name, self.points)
        return self.points[name]

    def __contains__(self, name: object) -> bool:
        return name in self.points

    def missing(self, kind: str, name: str, known: Mapping[str, object]) -> InputError:
        """The error for an unknown name."""
        if self.absent:
            return InputError(
                f"no such file; expected a points file with the {kind} {quoted(name)}", file=self.file
            )
        listed = f"expected one of {', '.join(list(known)[:12])}" if known else f"there is no {kind} at all"
        hint = did_you_mean(name, list(known))
        return InputError(f"no {kind} {quoted(name)}; {listed}{hint}", file=self.file or None)

    # --- edits ------------------------------------------------------------------------------------
    def with_point(self, name: str, point: Point, *, replace_old: bool = False) -> Points:
        """With one more point; one of that name is replaced only if asked for."""
        check_name(name)
        if name in self.points and not replace_old:
            raise InputError(f"point {quoted(name)} exists; expected another name, or leave to replace it")
        return replace(self, points={**self.points, name: point})

    def record(
        self,
        name: str,
        joints: Sequence[str],
        q: Sequence[float] | Array,
        *,
        sliding: Sequence[bool] | None = None,
        note: str = "",
        at: datetime | None = None,
        replace_old: bool = False,
    ) -> Points:
        """With the joint positions ``q`` as a point, rounded to a millionth of a degree or millimetre."""
        slides = sliding or [False] * len(joints)
        units = ["mm" if slide else "deg" for slide in slides]
        values = {j: short(float(v), u) for j, v, u in zip(joints, q, units, strict=True)}
        lengths = frozenset(j for j, slide in zip(joints, slides, strict=True) if slide)
        point = Point(values, lengths, note=" ".join(note.split()), recorded=stamp(at))
        return self.with_point(name, point, replace_old=replace_old)

    def record_pose(
        self,
        name: str,
        X: Array,
        *,
        frame: str | None = None,
        note: str = "",
        at: datetime | None = None,
        replace_old: bool = False,
    ) -> Points:
        """With the pose ``X`` (4x4, in the base) as a point, kept in ``frame`` if one is named."""
        local = X if frame is None else np.linalg.inv(self.frame_matrix(frame)) @ X
        pose = Pose.of(local).rounded()
        point = Point(pose=pose, frame=frame, note=" ".join(note.split()), recorded=stamp(at))
        return self.with_point(name, point, replace_old=replace_old)

    def renamed(self, old: str, new: str) -> Points:
        """With the point ``old`` called ``new``, at its place in the order."""
        point = self[old]
        check_name(new)
        if new in self.points and new != old:
            raise InputError(f"point {quoted(new)} exists; expected another name")
        return replace(
            self, points={new if k == old else k: point if k == old else p for k, p in self.points.items()}
        )

    def without(self, name: str) -> Points:
        """Without a point."""
        self[name]
        return replace(self, points={k: p for k, p in self.points.items() if k != name})

    def with_frame(self, name: str, pose: Pose) -> Points:
        """With a work frame, given in the base."""
        return replace(self, frames={**self.frames, check_name(name): pose})

    def with_tool(self, name: str, pose: Pose) -> Points:
        """With a tool, given in the robot's tool frame."""
        return replace(self, tools={**self.tools, check_name(name): pose})

    # --- placements -------------------------------------------------------------------------------
    def frame_matrix(self, name: str | None) -> Array:
        """X_base_frame; None and ``base`` are the base."""
        if name is None or name.lower() == "base":
            return np.eye(4)
        if name not in self.frames:
            raise self.missing("frame", name, self.frames)
        return self.frames[name].matrix

    def tool_matrix(self, name: str | None) -> Array:
        """X_robottool_tool; None is the robot's own tool frame."""
        if name is None:
            return np.eye(4)
        if name not in self.tools:
            raise self.missing("tool", name, self.tools)
        return self.tools[name].matrix


def check_name(name: str) -> str:
    """The name, if points, frames and tools may be called so."""
    accepted = "expected letters a to z, digits, _ and -, beginning with a letter, such as P1 or above-box"
    if not _NAME.fullmatch(name) or len(name) > 60:
        raise InputError(f"{quoted(name)} is not a name; {accepted}")
    if name.upper() in KEYWORDS or is_unit(name) or name in _OF_YAML:
        raise InputError(f"{quoted(name)} has a meaning of its own; {accepted}")
    return name


def short(value: float, unit: str) -> float:
    """The value [SI] rounded to a millionth of ``unit``."""
    one = read_quantity(f"1 {unit}")
    count = round(value / one.value / RECORD_STEP) * RECORD_STEP
    return (Quantity(round(count, 6) + 0.0, PLAIN) * one).value


def stamp(at: datetime | None) -> str:
    """The time of a recording as text, to the second; empty if there is none."""
    return "" if at is None else at.isoformat(timespec="seconds")
