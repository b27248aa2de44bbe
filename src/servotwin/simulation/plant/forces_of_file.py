"""Forces on links as a scenario states them: records, kernels of their frames, compiled functions of the user's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from servotwin.compiled.complaints import complaint
from servotwin.description.nodes import Node, quoted
from servotwin.description.problems import find
from servotwin.errors import InputError
from servotwin.kernels.kernel_store import Entry, entry
from servotwin.robot.robot import Robot
from servotwin.simulation.plant.link_forces import LINK_FORCE, Kind
from servotwin.simulation.scenario.environment_parts import NEVER, Force
from servotwin.simulation.scenario.law_file import announce_code, load_module

_KINDS = {"wrench": Kind.WRENCH, "plume": Kind.PLUME, "wall": Kind.WALL, "function": Kind.USER}


class HasEnvironment(Protocol):
    """A scenario with an environment."""

    @property
    def tree(self) -> Node | None:
        """The file as it was read; None if there is none."""

    def error(self, message: str, place: str) -> InputError:
        """An error at a field of the file."""


def link_forces(
    robot: Robot, forces: Sequence[Force], scenario: HasEnvironment, *, allow_code: bool
) -> tuple[Any, list[Any]]:
    """An array of LINK_FORCE, and what must be kept with it; functions are Python code: only with ``allow_code``."""
    records = np.zeros(len(forces), dtype=LINK_FORCE)
    kept: list[Any] = []
    for i, stated in enumerate(forces):
        kept += _enter_force(robot, records, i, stated, scenario, allow_code=allow_code)
    return records, kept


def _enter_force(
    robot: Robot, records: Any, i: int, stated: Force, scenario: HasEnvironment, *, allow_code: bool
) -> list[Any]:
    record, place = records[i], f"environment.forces.{i}"
    frame = _frame(robot, stated, scenario, place)
    pose, jacobian = _frame_kernels(robot, frame)
    record["kind"] = _KINDS[stated.kind]
    record["fkine"], record["fkine_data"] = pose.address, pose.data.ctypes.data
    record["jacobian"], record["jacobian_data"] = jacobian.address, jacobian.data.ctypes.data
    at = records.ctypes.data + i * LINK_FORCE.itemsize
    fields: Any = LINK_FORCE.fields
    for name, array in (
        ("pose_at", "pose"),
        ("jac_at", "jac"),
        ("signals_at", "signals"),
        ("wrench_at", "wrench"),
    ):
        record[name] = at + fields[array][1]
    numbers = _numbers(stated)
    record["p"][: len(numbers)] = numbers
    if stated.kind != "function":
        return [pose, jacobian]
    return [pose, jacobian, *_enter_function(record, stated, scenario, place, allow_code)]


def _frame(robot: Robot, stated: Force, scenario: HasEnvironment, place: str) -> str:
    mechanism = robot.mechanism
    names = [frame.name for frame in mechanism.frames]
    wanted = mechanism.tool if stated.frame is None else stated.frame
    if wanted not in names:
        listed = ", ".join(names[:12])
        raise scenario.error(f"no frame {quoted(wanted)}; expected one of {listed}", f"{place}.frame")
    return wanted


def _frame_kernels(robot: Robot, frame: str) -> tuple[Entry, Entry]:
    """Pose (4, 4) and Jacobian (6, n) of a frame, both from all coordinates."""
    if robot.closed:
        opened = Robot(robot.mechanism.opened)
        return entry("fkine", opened.numbers, frame=frame), entry("closed_jacob0", robot.numbers, frame=frame)
    return entry("fkine", robot.numbers, frame=frame), entry("jacob0", robot.numbers, frame=frame)


def _numbers(stated: Force) -> list[float]:
    """Parameters of a force in the order of ``link_forces.Kind``."""
    end = stated.end if stated.end < 1e6 else NEVER
    if stated.kind == "function":
        return [float(stated.memory)]
    if stated.kind == "wrench":
        return [*stated.force, *stated.moment, stated.start, end]
    if stated.direction is None or stated.point is None:
        return []
    unit = np.array(stated.direction) / np.linalg.norm(stated.direction)
    if stated.kind == "plume":
        cone = [stated.half_angle or 0.0, stated.pressure or 0.0, stated.distance, stated.area or 0.0]
        return [*stated.point, *unit, *cone, stated.start, end]
    return [*stated.point, *unit, stated.stiffness or 0.0, stated.damping]


def _enter_function(
    record: Any, stated: Force, scenario: HasEnvironment, place: str, allow_code: bool
) -> list[Any]:
    """A function of the user's, compiled: ``void f(t, signals, memory, wrench)``; loading it runs its file."""
    function = _function(scenario, str(stated.function), f"{place}.function", allow_code)
    memory = np.zeros(stated.memory)
    try:
        callback = _compiled(function, stated.memory)
        record["user"] = callback.address
    except Exception as error:
        raise scenario.error(f"numba cannot compile it{complaint(error)}", f"{place}.function") from error
    record["memory"] = memory.ctypes.data
    return [callback, memory]


def _function(scenario: HasEnvironment, named: str, place: str, allow_code: bool) -> Callable[..., None]:
    file, _, name = named.rpartition(":")
    if not file.endswith(".py") or not name.isidentifier():
        raise scenario.error(f"{quoted(named)} is not FILE.py:NAME; expected such as 'wind.py:gust'", place)
    path = _beside(scenario, file, place)
    if not allow_code:
        remedy = "if you trust it, allow it by --allow-code (Python: allow_code=True)"
        raise scenario.error(f"{quoted(named)} is Python code, which is not run; {remedy}", place)
    announce_code("force", path, name)
    found = getattr(load_module(path, "force"), name, None)
    if not callable(found):
        raise scenario.error(f"{path.name} has no function {quoted(name)}; expected one in it", place)
    return found  # type: ignore[no-any-return]


def _compiled(function: Callable[..., None], memory: int) -> Any:
    """The callback of a function of the user's; ``.address`` is what the cycle calls."""
    from numba import carray, cfunc, njit, types

    law = function if hasattr(function, "py_func") else njit(function)
    pointer = types.CPointer(types.float64)

    @cfunc(types.void(types.float64, pointer, pointer, pointer))  # type: ignore[untyped-decorator,unused-ignore]
    def call(time: float, signals: Any, kept: Any, wrench: Any) -> None:
        law(time, carray(signals, (22,)), carray(kept, (memory,)), carray(wrench, (6,)))

    return call


def _beside(scenario: HasEnvironment, file: str, place: str) -> Path:
    if scenario.tree is None:
        return Path(file)
    node = find(scenario.tree, [place])
    folder = Path(node.origin.file).parent if node.origin.line else Path()
    path = folder / file
    try:
        inside = not node.origin.line or path.resolve().is_relative_to(folder.resolve())
        there = path.is_file()
    except (OSError, RuntimeError, ValueError):
        inside = there = False
    if not inside or (node.origin.line and (Path(file).is_absolute() or ".." in Path(file).parts)):
        raise scenario.error(
            f"{quoted(file)} leads out of the folder of the scenario; expected a file beside it", place
        )
    if not there:
        raise scenario.error(f"no file {quoted(file)} beside the scenario; expected a Python file", place)
    return path
