"""A simulated arm with substituted joints, ready to be cycled: records, kernels, forces of its environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from servotwin.compiled.complaints import complaint
from servotwin.description.nodes import quoted
from servotwin.hil.environment import Kind
from servotwin.hil.joint_data import drive_warnings, joint_records
from servotwin.hil.moving_base import with_moving_base
from servotwin.hil.ports import SHAFT_COMMAND, SHAFT_FEEDBACK
from servotwin.hil.records import ARM, ENVIRONMENT, MOST_FREE, STAGES, Role, address_in
from servotwin.hil.scenario import SubstitutionScenario
from servotwin.hil.scenario_parts import NEVER, Force, Integration
from servotwin.kernels.kernel_store import Entry, entry
from servotwin.mechanism.build import build_mechanism
from servotwin.robot.robot import Robot
from servotwin.simulation.scenario.law_file import announce_code, load_module

_KINDS = {"wrench": Kind.WRENCH, "plume": Kind.PLUME, "wall": Kind.WALL, "function": Kind.USER}


@dataclass
class Substitution:
    """An arm at the instant zero. ``arm`` is an array of one ARM; ``joints``, ``forces`` and ``kept`` belong to it."""

    scenario: SubstitutionScenario
    robot: Robot
    arm: Any
    joints: Any
    forces: Any
    command: Any  # of one SHAFT_COMMAND
    feedback: Any  # of one SHAFT_FEEDBACK
    kept: list[Any] = field(default_factory=list)
    warnings: tuple[str, ...] = ()  # about its drives and its integration, known before it runs

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints in the order of the records, those of a moving base last."""
        return self.robot.joint_names


def build_substitution(scenario: SubstitutionScenario, *, allow_code: bool = False) -> Substitution:
    """Everything up to the instant zero; compiles what is not compiled yet."""
    from servotwin.hil.stability import step_warnings

    mechanism = build_mechanism(scenario.description)
    robot = Robot(with_moving_base(mechanism, list(scenario.file.environment.base)))
    joints = joint_records(scenario)
    arm = np.zeros(1, dtype=ARM)
    made = Substitution(
        scenario,
        robot,
        arm,
        joints,
        np.zeros(0, ENVIRONMENT),
        np.zeros(1, SHAFT_COMMAND),
        np.zeros(1, SHAFT_FEEDBACK),
    )
    _begin_in_balance(made)
    _enter_sizes(made)
    _enter_method(arm[0], scenario.file.integration, scenario)
    _enter_kernels(made)
    _enter_forces(made, allow_code)
    made.warnings = (*drive_warnings(scenario), *step_warnings(made))
    return made


def _begin_in_balance(made: Substitution) -> None:
    """Servos begin with the voltage that holds the arm at rest, compliant gears wound up by its weight."""
    joints = made.joints
    weight = made.robot.gravload(np.array(joints["q"]))
    for joint, tau in zip(joints, weight, strict=True):
        if joint["role"] == Role.BASE:
            continue
        holding = joint["R"] / joint["K"] * tau / joint["N"]
        joint["integral"] = min(max(holding, -joint["u_limit"]), joint["u_limit"])
        joint["u_held"] = joint["integral"]
        if joint["compliant"]:
            joint["theta"] += joint["N"] * tau / joint["stiffness"]
            joint["theta_last"] = joint["theta"]


def _enter_sizes(made: Substitution) -> None:
    arm, scenario, n = made.arm[0], made.scenario, len(made.joints)
    passive = made.robot.mechanism.passive_names
    if n + len(passive) > MOST_FREE:
        raise scenario.error(f"more than {MOST_FREE} joints with passive ones; expected fewer", "robot")
    arm["n"], arm["n_x"], arm["shafts"] = n, n + len(passive), len(scenario.substituted)
    arm["period"], arm["arm_every"] = scenario.period, scenario.file.rates.arm_every
    arm["joints_at"] = made.joints.ctypes.data
    arm["y"][:n], arm["y"][2 * n : 3 * n] = made.joints["q"], made.joints["theta"]
    arm["inputs_at"], arm["outputs_at"] = address_in(made.arm, "inputs"), address_in(made.arm, "outputs")


def _enter_method(arm: Any, how: Integration, scenario: SubstitutionScenario) -> None:
    arm["steps"], arm["rotor"] = how.steps, int(how.rotor_inertia)
    arm["at_arm"], arm["implicit"] = int(how.at == "arm"), int(how.method == "semi-implicit")
    arm["every_stage"] = int(how.at == "arm" or scenario.file.rates.arm_every == 1)
    a, b, c = tableau(how.method)
    arm["stages"] = len(b)
    arm["rk_b"][: len(b)], arm["rk_c"][: len(c)] = b, c
    for i, row in enumerate(a):
        arm["rk_a"][i, : len(row)] = row


def tableau(method: str) -> tuple[list[list[float]], list[float], list[float]]:
    """Runge-Kutta coefficients a, b, c of a method, at most ``STAGES`` stages."""
    tables: dict[str, tuple[list[list[float]], list[float], list[float]]] = {
        "modified-euler": ([[], [1.0]], [0.5, 0.5], [0.0, 1.0]),
        "rk4": ([[], [0.5], [0.0, 0.5], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6], [0.0, 0.5, 0.5, 1.0]),
        "semi-implicit": ([[]], [1.0], [0.0]),
    }
    found = tables[method]
    assert len(found[1]) <= STAGES
    return found


def _enter_kernels(made: Substitution) -> None:
    """M and h of the robot, and what closes its loops."""
    arm, robot = made.arm[0], made.robot
    motion = entry("closed_motion_terms" if robot.closed else "motion", robot.numbers)
    arm["motion"], arm["motion_data"] = motion.address, motion.data.ctypes.data
    made.kept.append(motion)
    if not robot.closed:
        return
    track = entry("closed_track", robot.numbers)
    (length,) = track.outputs[0]
    n, n_x = int(arm["n"]), int(arm["n_x"])
    given, said = np.zeros(n_x + n), np.zeros(length)
    arm["track"], arm["track_data"] = track.address, track.data.ctypes.data
    arm["track_in_at"], arm["track_out_at"] = given.ctypes.data, said.ctypes.data
    q = np.array(made.joints["q"])
    arm["q_closed"][:n] = q
    arm["passive"][: n_x - n] = robot.coordinates(q)[n:]
    made.kept += [track, given, said]


def _enter_forces(made: Substitution, allow_code: bool) -> None:
    forces = made.scenario.file.environment.forces
    made.forces = np.zeros(len(forces), dtype=ENVIRONMENT)
    made.arm["forces"], made.arm["forces_at"] = len(forces), made.forces.ctypes.data
    for i, stated in enumerate(forces):
        _enter_force(made, i, stated, allow_code)


def _enter_force(made: Substitution, i: int, stated: Force, allow_code: bool) -> None:
    record, place = made.forces[i], f"environment.forces.{i}"
    frame = _frame(made, stated, place)
    pose, jacobian = _frame_kernels(made.robot, frame)
    record["kind"] = _KINDS[stated.kind]
    record["fkine"], record["fkine_data"] = pose.address, pose.data.ctypes.data
    record["jacobian"], record["jacobian_data"] = jacobian.address, jacobian.data.ctypes.data
    at = made.forces.ctypes.data + i * ENVIRONMENT.itemsize
    fields: Any = ENVIRONMENT.fields
    for name, array in (
        ("pose_at", "pose"),
        ("jac_at", "jac"),
        ("signals_at", "signals"),
        ("wrench_at", "wrench"),
    ):
        record[name] = at + fields[array][1]
    numbers = _numbers(stated)
    record["p"][: len(numbers)] = numbers
    made.kept += [pose, jacobian]
    if stated.kind == "function":
        _enter_function(made, record, stated, place, allow_code)


def _frame(made: Substitution, stated: Force, place: str) -> str:
    mechanism = made.robot.mechanism
    names = [frame.name for frame in mechanism.frames]
    wanted = mechanism.tool if stated.frame is None else stated.frame
    if wanted not in names:
        listed = ", ".join(names[:12])
        raise made.scenario.error(f"no frame {quoted(wanted)}; expected one of {listed}", f"{place}.frame")
    return wanted


def _frame_kernels(robot: Robot, frame: str) -> tuple[Entry, Entry]:
    """Pose (4, 4) and Jacobian (6, n) of a frame, both from all coordinates."""
    if robot.closed:
        opened = Robot(robot.mechanism.opened)
        return entry("fkine", opened.numbers, frame=frame), entry("closed_jacob0", robot.numbers, frame=frame)
    return entry("fkine", robot.numbers, frame=frame), entry("jacob0", robot.numbers, frame=frame)


def _numbers(stated: Force) -> list[float]:
    """Parameters of a force in the order of ``environment.Kind``."""
    end = stated.end if stated.end < 1e6 else NEVER
    if stated.kind == "wrench":
        return [*stated.force, *stated.moment, stated.start, end]
    if stated.direction is None or stated.point is None:
        return []
    unit = np.array(stated.direction) / np.linalg.norm(stated.direction)
    if stated.kind == "plume":
        cone = [stated.half_angle or 0.0, stated.pressure or 0.0, stated.distance, stated.area or 0.0]
        return [*stated.point, *unit, *cone, stated.start, end]
    return [*stated.point, *unit, stated.stiffness or 0.0, stated.damping]


def _enter_function(made: Substitution, record: Any, stated: Force, place: str, allow_code: bool) -> None:
    """A function of the user's, compiled: ``void f(t, signals, memory, wrench)``; loading it runs its file."""
    function = _function(made.scenario, str(stated.function), f"{place}.function", allow_code)
    memory = np.zeros(stated.memory)
    try:
        callback = _compiled(function, stated.memory)
        record["user"] = callback.address
    except Exception as error:
        raise made.scenario.error(
            f"numba cannot compile it{complaint(error)}", f"{place}.function"
        ) from error
    record["memory"] = memory.ctypes.data
    made.kept += [callback, memory]


def _function(
    scenario: SubstitutionScenario, named: str, place: str, allow_code: bool
) -> Callable[..., None]:
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


def _beside(scenario: SubstitutionScenario, file: str, place: str) -> Path:
    from servotwin.description.problems import find

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
