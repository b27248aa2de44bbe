"""Find an optimal motion: check what was asked, solve, and say in one line what could not be met."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError, UnsupportedError
from servotwin.mechanism.model import Array
from servotwin.motion.errors import PathError
from servotwin.motion.limits import MotionLimits, limits_of
from servotwin.motion.optimal.between_nodes import motion_of
from servotwin.motion.optimal.dense_check import Found, dense_check, notes_of, sampled, with_peaks
from servotwin.motion.optimal.detours import way_round_text
from servotwin.motion.optimal.drive_model import DriveModel, drive_model, with_reserve
from servotwin.motion.optimal.guess import best_s_curve, straight_guess, warm_guess
from servotwin.motion.optimal.holding import check_holding, check_moving, check_temperature, holding_currents
from servotwin.motion.optimal.infeasible import blame, power_missing
from servotwin.motion.optimal.ipopt import Solution, library
from servotwin.motion.optimal.reading import read_answer
from servotwin.motion.optimal.result import OptimalMotion
from servotwin.motion.optimal.solving import MotionProblem, solve_motion
from servotwin.motion.optimal.task import AXES, Task
from servotwin.motion.optimal.task_options import read_task
from servotwin.motion.optimal.transcription import Program, held_motors, mesh_of, power_scale
from servotwin.robot.robot import Robot

Progress = Callable[[int, float], None]
STANDING = 1e-9  # rad, m: less than this is no motion
LEAST = 1e-3  # relative distance within which the duration is at its bound


def optimise_motion(
    robot: str | Path | Robot,
    start: ArrayLike | None = None,
    goal: ArrayLike | None = None,
    *,
    path: Any = None,
    overrides: Mapping[str, str] | None = None,
    description: RobotDescription | None = None,
    task: Task | None = None,
    progress: Progress | None = None,
    near: OptimalMotion | None = None,
    **options: Any,
) -> OptimalMotion:
    """The optimal motion from ``start`` to ``goal``, joint positions (n,) [rad, m], or along a ``path``.

    ``robot``: catalogue name or file, with ``overrides`` as for ``load_robot``; or a ``Robot``, whose motors are known
    if its ``description`` is given. ``options`` are those of ``read_task``: objective, energy_weight, duration,
    intervals, temperature, keep_out and others, numbers in SI or text with units such as ``duration="0.8 s"``.
    ``progress`` is told the iteration and the largest violation.
    ``near``: a solved motion between points nearby or under other limits, to start from, on its mesh.
    Bad input and limits that cannot be met raise InputError or PathError with the limit and how near it came.
    """
    if task is None:
        task = read_task(options)
    elif options:
        raise InputError(f"both a task and {', '.join(options)} are given; expected one of them")
    library()
    one, described = _robot(robot, overrides, description)
    limits = limits_of(one, described)
    if path is not None:
        from servotwin.motion.optimal.path_motion import joint_path, optimal_along

        if near is not None:
            raise InputError("a motion to start from serves between two points only", field="near")
        return optimal_along(one, described, limits, joint_path(one, path, start, limits), task, progress)
    if goal is None or start is None:
        raise InputError(
            "neither a start with a goal nor a path is given; expected one of them", field="goal"
        )
    return optimal_between(one, described, limits, start, goal, task, progress, near)


def _robot(
    robot: str | Path | Robot, overrides: Mapping[str, str] | None, description: RobotDescription | None
) -> tuple[Robot, RobotDescription | None]:
    if isinstance(robot, Robot):
        return robot, description
    from servotwin.description.load import read_description
    from servotwin.mechanism.build import build_mechanism

    described = description or read_description(robot, dict(overrides or {}))
    return Robot(build_mechanism(described), title=described.title), described


def optimal_between(
    robot: Robot,
    description: RobotDescription | None,
    limits: MotionLimits,
    start: ArrayLike,
    goal: ArrayLike,
    task: Task,
    progress: Progress | None = None,
    near: OptimalMotion | None = None,
) -> OptimalMotion:
    """The optimal motion between two joint positions under given limits; ``near``: a motion to start from."""
    library()
    began = time.perf_counter()
    _check_engine(robot)
    drives = with_reserve(drive_model(robot, description), task)
    ends = _checked_ends(robot, drives, limits, task, start, goal)
    _check_energy(drives, task)
    check_temperature(drives, task)
    check_moving(drives, task, ends, np.array([holding_currents(robot, drives, q) for q in ends]))
    mesh = mesh_of(task.intervals, bool(held_motors(drives, task).any()))
    if near is None:
        first = straight_guess(robot, drives, limits, ends, mesh, task.duration, power_scale(task))
    else:
        _check_near(robot, near)
        first = warm_guess(robot, drives, limits, near, power_scale(task))
    problem = MotionProblem(robot, drives, limits, task, ends, progress)
    program, solution = solve_motion(problem, first, near is not None)
    if not solution.solved:
        raise _refusal(robot, drives, limits, description, task, ends, program, solution)
    _check_limited(task, program, solution)
    samples = sampled(robot, drives, program, motion_of(program, solution.x))
    found = dense_check(robot, drives, limits, task, samples)
    if any(x.place and x.over.any() for x in found):
        raise _passed(robot, description, limits, task, ends, found)
    fields = read_answer(robot, drives, limits, task, program, solution)
    limit_uses = with_peaks(fields.pop("limits"), found)  # type: ignore[arg-type]
    value, unit = _objective(task, fields)
    return OptimalMotion(
        robot=robot.name,
        objective=task.objective if not task.energy_weight else f"time + {task.energy_weight:g} s/J energy",
        objective_value=value,
        objective_unit=unit,
        joint_names=robot.joint_names,
        joint_units=robot.joint_units,
        motor_names=drives.names,
        iterations=solution.iterations,
        seconds=time.perf_counter() - began,
        notes=(
            *drives.notes,
            *notes_of(found),
        ),
        electric=drives.electric,
        limits=limit_uses,
        **fields,  # type: ignore[arg-type]
    )


def with_baseline(
    motion: OptimalMotion, robot: Robot, description: RobotDescription | None, task: Task
) -> OptimalMotion:
    """The motion with the duration of the best S-curve under the same limits beside it, where that can be compared."""
    limits, ends = limits_of(robot, description), (motion.q[0], motion.q[-1])
    whole = task.modulation == 1.0 and not task.reserve
    plain = task.current and task.voltage and task.speed and whole and not task.energy_weight
    more = bool(task.keep_out or task.within or np.isfinite([*task.bus_power, *limits.jerk]).any())
    if (
        task.objective != "time"
        or not plain
        or more
        or limits.tool_limited
        or task.free_start
        or task.free_end
    ):
        return motion
    drives = drive_model(robot, description)
    duration = best_s_curve(robot, drives, limits, ends, task)
    return replace(motion, baseline=duration) if math.isfinite(duration) else motion


def _objective(task: Task, fields: dict[str, Any]) -> tuple[float, str]:
    energy = fields["copper_loss"] + fields["mechanical_work"] + fields.get("hydraulic_energy", 0.0)
    if task.objective == "time":
        return float(fields["t"][-1]) + task.energy_weight * energy, "s"
    return (energy if task.objective == "energy" else fields["copper_loss"]), "J"


# --- what is refused before anything is solved -------------------------------------------------------
def _check_engine(robot: Robot) -> None:
    if robot.mechanism.loops:
        raise UnsupportedError(
            f"{robot.name} has closed loops: an optimal motion between two points needs an open chain; "
            "along a path it can be optimised"
        )


def _checked_ends(
    robot: Robot, drives: DriveModel, limits: MotionLimits, task: Task, start: ArrayLike, goal: ArrayLike
) -> tuple[Array, Array]:
    out = []
    for name, given in (("start", start), ("goal", goal)):
        q = _as_numbers(given)
        if q.shape != (robot.n,) or not np.isfinite(q).all():
            joints = ", ".join(robot.joint_names)
            raise InputError(f"the shape {q.shape}; expected {robot.n} finite numbers ({joints})", field=name)
        beyond = limits.beyond(q)
        if beyond.max() > STANDING:
            _, text = limits.range_text(robot, q, int(np.argmax(beyond)))
            raise InputError(text, field=name)
        check_holding(robot, drives, limits, task, q, name)
        _check_tool(robot, task, q, name)
        out.append(q)
    if np.abs(out[1] - out[0]).max() <= STANDING:
        raise InputError("start and goal are the same position; expected different ones", field="goal")
    return out[0], out[1]


def _as_numbers(given: ArrayLike) -> Array:
    """Positions as an array; an empty one where they are no numbers."""
    try:
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0)


def _check_energy(drives: DriveModel, task: Task) -> None:
    """Refuse the least copper loss of a robot without windings."""
    if task.objective == "copper" and drives.valve.all():
        text = "no motor has a winding, so there is no copper loss; expected 'time' or 'energy'"
        raise InputError(text, field="objective")


def _check_near(robot: Robot, near: OptimalMotion) -> None:
    """Refuse to start from the motion of another arm."""
    if near.joint_names != robot.joint_names:
        text = f"a motion of {', '.join(near.joint_names)}; expected one of {', '.join(robot.joint_names)}"
        raise InputError(text, field="near")


def _check_tool(robot: Robot, task: Task, q: Array, name: str) -> None:
    """Refuse ends at which the tool point is where it must not be."""
    if not task.within and not task.keep_out:
        return
    p = robot.fkine(q)[:3, 3]
    for axis, (low, high) in task.within.items():
        value = float(p[AXES.index(axis)])
        if not low <= value <= high:
            raise InputError(
                f"the tool is at {axis} = {value:.4g} m; allowed are {low:g} to {high:g} m", field=name
            )
    for k, region in enumerate(task.keep_out):
        sides = [p[c // 2] - x if c % 2 else x - p[c // 2] for c, x in region.faces()]
        if max(sides) < 0.0:
            raise InputError(f"the tool is inside region {k + 1}, which it must stay out of", field=name)


def _check_limited(task: Task, program: Program, solution: Solution) -> None:
    """Refuse an answer whose duration is the least that the solver was allowed: no limit of the robot decides it."""
    place = program.T_index
    if task.duration is None and solution.x[place] <= program.low[place] * (1.0 + LEAST):
        raise InputError(
            "nothing limits this motion, so it has no least time; expected more of the limits to count"
        )


# --- what is said when there is no answer -----------------------------------------------------------
def _refusal(
    robot: Robot,
    drives: DriveModel,
    limits: MotionLimits,
    description: RobotDescription | None,
    task: Task,
    ends: tuple[Array, Array],
    program: Program,
    solution: Solution,
) -> PathError:
    """The limit that could not be met, and how near the solver came to it."""
    what, who, text = blame(robot, drives, program, solution)
    blocked = _blocked(robot, description, limits, ends, task)
    if blocked is not None:
        return blocked
    if task.duration is not None or math.isfinite(task.longest):
        quickest = _quickest(robot, description, limits, ends, task)
        wanted = task.duration if task.duration is not None else task.longest
        if quickest is not None and quickest > wanted:
            message = f"{wanted:g} s are too short; the quickest is {quickest:.4g} s"
            return PathError(message, index=0, what="time", place=1.0)
    missing = power_missing(program, solution)
    came = f"it came within {missing:.3g} W" if missing else f"{solution.text}, {text}"
    starved = _starved(robot, description, limits, ends, task, came)
    if starved is not None:
        return starved
    message = f"no motion found ({solution.text}); {text}"
    return PathError(message, index=0, what=what, axis=who, place=1.0)


def _passed(
    robot: Robot,
    description: RobotDescription | None,
    limits: MotionLimits,
    task: Task,
    ends: tuple[Array, Array],
    found: list[Found],
) -> PathError:
    """Of a motion that passes through what it must stay out of, even between two nodes."""
    blocked = _blocked(robot, description, limits, ends, task)
    if blocked is not None:
        return blocked
    worst = next(x for x in found if x.place and x.over.any())
    text = f"no motion found; {worst.text}: it cannot be avoided or needs more intervals"
    return PathError(text, index=0, what=worst.what, axis=worst.who, place=1.0)


def _blocked(
    robot: Robot,
    description: RobotDescription | None,
    limits: MotionLimits,
    ends: tuple[Array, Array],
    task: Task,
) -> PathError | None:
    """Which regions the motion without regions passes through, where no way round them was found."""
    if not task.keep_out:
        return None
    try:
        free = optimal_between(robot, description, limits, *ends, replace(task, keep_out=()))
    except PathError:
        return None
    text = way_round_text(robot, task, free.sample(np.linspace(0.0, free.duration, 1001))[0], free.duration)
    return None if text is None else PathError(f"no motion found; {text}", index=0, what="region", place=1.0)


def _starved(
    robot: Robot,
    description: RobotDescription | None,
    limits: MotionLimits,
    ends: tuple[Array, Array],
    task: Task,
    came: str,
) -> PathError | None:
    """That the bus is the reason, where there is a motion without its limits; ``came``: how near the solver came."""
    if not np.isfinite(task.bus_power).any():
        return None
    try:
        free = optimal_between(
            robot, description, limits, *ends, replace(task, bus_power=(-math.inf, math.inf))
        )
    except PathError:
        return None
    low, high = task.bus_power
    most = [f"feeds at most {abs(low):g} W back"] if math.isfinite(low) else []
    most += [f"takes at most {high:g} W"] if math.isfinite(high) else []
    without = (
        f"without this limit of the bus the motion takes {free.duration:.4g} s, feeds back up to "
        f"{max(-float(free.bus_power.min()), 0.0):.4g} W and takes up to {free.bus_power.max():.4g} W"
    )
    text = f"no motion found that {' and '.join(most)}: {came}; {without}"
    return PathError(text, index=0, what="bus power", axis="bus", place=1.0)


def _quickest(
    robot: Robot,
    description: RobotDescription | None,
    limits: MotionLimits,
    ends: tuple[Array, Array],
    task: Task,
) -> float | None:
    free = replace(task, objective="time", energy_weight=0.0, duration=None, longest=math.inf)
    try:
        return optimal_between(robot, description, limits, *ends, free).duration
    except PathError:
        return None
