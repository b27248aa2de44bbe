r"""An optimal motion along a given path: the numbers of arm and path at its points, the program, and its answer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.curves import Curve
from servotwin.motion.errors import PathError
from servotwin.motion.joint_path import JointPath
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.between_nodes import Motion
from servotwin.motion.optimal.dense_check import dense_check, notes_of, with_peaks
from servotwin.motion.optimal.drive_model import DriveModel, drive_model, with_reserve
from servotwin.motion.optimal.heat import winding_temperatures
from servotwin.motion.optimal.holding import check_temperature, holding_currents
from servotwin.motion.optimal.ipopt import Solution, library
from servotwin.motion.optimal.path_numbers import check_holding, check_positions, path_numbers
from servotwin.motion.optimal.path_problem import FIRST_CURRENT
from servotwin.motion.optimal.path_program import PathProgram
from servotwin.motion.optimal.path_solving import (
    PathTask,
    TimedLaw,
    current_gaps,
    currents_over_time,
    node_values,
    path_samples,
    solve_path,
)
from servotwin.motion.optimal.path_speeds import speed_limits, speed_uses
from servotwin.motion.optimal.reading import AT_LIMIT, bus_limits, hydraulic_fields, voltages
from servotwin.motion.optimal.result import LimitUse, OptimalMotion
from servotwin.motion.optimal.task import Task
from servotwin.motion.optimal.valve_limits import force_gain, valve_limits
from servotwin.motion.requests import MoveC, MoveL, Spline
from servotwin.motion.trajectory import PathSegment
from servotwin.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class PathSource:
    """A joint path and the path of the tool point behind it, if there is one."""

    path: JointPath
    curve: Curve | None


def joint_path(robot: Robot, path: Any, start: Any, limits: MotionLimits) -> JointPath:
    """The path of joint positions (k, n), of a ``JointPath``, or of a line, circle or spline of the tool."""
    if isinstance(path, JointPath):
        return path
    if isinstance(path, MoveL | MoveC | Spline):
        from servotwin.motion.legs import leg_of

        if start is None:
            raise InputError("missing; expected the joint positions that the path begins at", field="start")
        leg = leg_of(robot, path, 0, np.asarray(start, dtype=float), limits, True)
        if leg is None:
            raise InputError("the path has no length; expected another target", field="path")
        return leg.path
    from servotwin.motion.time_optimal import path_through

    try:
        points = np.asarray(path, dtype=np.float64)
    except (TypeError, ValueError):
        points = np.empty(0)
    if points.ndim != 2 or points.shape[1] != robot.n or not np.isfinite(points).all():
        text = (
            f"the path has the shape {points.shape}; expected at least two rows of {robot.n} joint positions"
        )
        raise InputError(text, field="path")
    return path_through(points)


def optimal_along(
    robot: Robot,
    description: RobotDescription | None,
    limits: MotionLimits,
    path: JointPath,
    task: Task,
    progress: Callable[[int, float], None] | None = None,
    curve: Curve | None = None,
) -> OptimalMotion:
    """The optimal motion along a path, at rest at both ends unless the task leaves their speeds free.

    ``curve``: the path of the tool point that the joints follow, for reports.
    """
    library()
    began = time.perf_counter()
    if task.duration is not None or math.isfinite(task.longest):
        raise InputError(
            "along a path the time is free; expected no duration and no longest one", field="duration"
        )
    if task.objective != "time" or task.keep_out or task.within:
        raise InputError(
            "along a path the objective is the time, or a mixture; regions do not apply", field="objective"
        )
    drives = with_reserve(drive_model(robot, description), task)
    check_temperature(drives, task)
    numbers = path_numbers(robot, path, task, drives)
    check_positions(robot, limits, numbers)
    check_holding(drives, task, numbers)
    program, solution = solve_path(PathTask(robot, drives, limits, task, path, progress), numbers)
    source = PathSource(path, curve)
    return _answer(robot, drives, limits, task, program, solution, source, time.perf_counter() - began)


def _answer(
    robot: Robot,
    drives: DriveModel,
    limits: MotionLimits,
    task: Task,
    program: PathProgram,
    solution: Solution,
    source: PathSource,
    seconds: float,
) -> OptimalMotion:
    numbers, table = program.numbers, program.table
    z = node_values(program, solution.x)
    y, r = table["oZy"] * z[:, 0], table["oZr"] * z[:, 1]
    t, i = currents_over_time(program, solution)
    qd, qdd = numbers.dq * y[:, None], numbers.dq * r[:, None] + numbers.ddq * y[:, None] ** 2
    w, wd = qd @ drives.N.T, qdd @ drives.N.T
    electric = _electric(drives, program, solution, t, i, (w, wd))
    electric |= hydraulic_fields(drives, t, w, wd, i + drives.offset)
    motion = Motion(t, numbers.q, qd, qdd, i, {})
    uses, active = _uses(robot, drives, limits, task, program, solution, motion)
    segment = PathSegment("optimal", source.path, TimedLaw(t, numbers.s, y), source.curve)
    samples = path_samples(robot, drives, source.path, program, solution)
    found = dense_check(robot, drives, limits, task, samples)
    for x in found:
        if x.who in robot.frame_quantities.names and x.over.any():
            raise PathError(f"the path cannot be kept; {x.text}", index=0, what="position", axis=x.who)
    uses = with_peaks(uses, found)
    energy = sum(
        float(electric.get(f"{x}", 0.0)) for x in ("copper_loss", "mechanical_work", "hydraulic_energy")
    )
    return OptimalMotion(
        robot=robot.name,
        objective="time" if not task.energy_weight else f"time + {task.energy_weight:g} s/J energy",
        objective_value=float(t[-1]) + task.energy_weight * energy,
        objective_unit="s",
        joint_names=robot.joint_names,
        joint_units=robot.joint_units,
        motor_names=drives.names,
        t=t, q=numbers.q, qd=qd, qdd=qdd,
        torque=numbers.a * r[:, None] + numbers.b * y[:, None] ** 2 + numbers.g,
        motor_speed=w, current=i + drives.offset,
        winding=winding_temperatures(drives, t, i, task.rest, holding_currents(robot, drives, numbers.q[-1])),
        limits=uses, active=active, model_error=float(current_gaps(program, solution, samples).max()),
        iterations=solution.iterations, seconds=seconds, electric=drives.electric,
        notes=(*drives.notes, *notes_of(found)),
        tool=robot.fkine(numbers.q)[:, :3, 3], path_segment=segment, **electric,
    )  # fmt: skip


def _electric(
    drives: DriveModel,
    program: PathProgram,
    solution: Solution,
    t: Array,
    i: Array,
    shaft: tuple[Array, Array],
) -> dict[str, Any]:
    """Voltages and power at the points, copper loss and work: fields of ``OptimalMotion``."""
    form, dt = program.form, np.diff(t)[:, None]
    R = drives.R + drives.R_bridge
    for k, j in enumerate(form.heated):
        rise = float(solution.x[program.hot_index + k]) * program.table[f"oTh{j}"]
        R[j] += drives.R[j] * drives.alpha[j] * rise
    square = (i[1:] ** 2 + i[1:] * i[:-1] + i[:-1] ** 2) / 3.0
    flow = drives.K_electric * i * shaft[0]
    return {
        "voltage": voltages(drives, R, t, i, shaft, form.steady),
        "bus_power": (drives.phases * R * i**2 + flow).sum(axis=1),
        "copper_loss": float((drives.phases * R * square * dt).sum()) if drives.electric else 0.0,
        "mechanical_work": float((0.5 * (flow[1:] + flow[:-1]) * dt).sum()),
    }


Use = tuple[str, str, float, str, Array, float]  # what, who, value, unit, shares, gain


def _uses(
    robot: Robot,
    drives: DriveModel,
    limits: MotionLimits,
    task: Task,
    program: PathProgram,
    solution: Solution,
    motion: Motion,
) -> tuple[tuple[LimitUse, ...], tuple[tuple[str, ...], ...]]:
    """Limits and what more of them would buy; for every point the limits that it is at."""
    t = motion.t
    found = _motor_uses(drives, program, solution)
    found += _speed_uses(robot, drives, limits, task, program, solution)
    for what in ("torque", "acceleration", "jerk", "tool acceleration"):
        if what in program.rows:
            found += _row_use(robot, limits, program, solution, what)
    supply = bus_limits(program, solution, program.table["oP"])
    for use in [*valve_limits(drives, program, solution, motion), *supply]:
        found.append((use.what, use.who, use.value, use.unit, use.share, use.gain))
    for column, j in enumerate(program.form.heated):
        at = program.hot_index + column
        value, gain = drives.ambient[j] + drives.rise[j], solution.mult_high[at] / drives.rise[j]
        share = np.full(t.size, solution.x[at] / program.high[at])
        found.append(("temperature", drives.names[j], float(value), "degC", share, float(gain)))
    uses, active = [], [[] for _ in t]  # type: tuple[list[LimitUse], list[list[str]]]
    for what, who, value, unit, share, gain in found:
        at_limit = share >= AT_LIMIT
        time_at = float((0.5 * (at_limit[1:].astype(float) + at_limit[:-1]) * np.diff(t)).sum()) / t[-1]
        gain *= program.objective_scale
        uses.append(LimitUse(what, who, value, unit, float(share.max()), time_at, gain))
        for k in np.flatnonzero(at_limit):
            active[k].append(f"{what} {who}")
    return tuple(uses), tuple(tuple(names) for names in active)


def _prices(program: PathProgram, solution: Solution) -> Array:
    """Multipliers of the bounds of all points (N + 1, width); what is given has no price."""
    free = program.low < program.high
    return node_values(program, np.where(free, solution.mult_low + solution.mult_high, 0.0))


def _motor_uses(drives: DriveModel, program: PathProgram, solution: Solution) -> list[Use]:
    """Currents, or torques of ideal motors, and voltages."""
    prices, top, z = (
        _prices(program, solution),
        node_values(program, program.high),
        node_values(program, solution.x),
    )
    found: list[Use] = []
    for j, name in enumerate(drives.names):
        column, scale = FIRST_CURRENT + j, program.table[f"oZsi{j}"]
        most = float(np.max(top[:, column])) * scale
        if math.isfinite(most):
            what, unit = drives.effort(j)
            share = np.abs(z[:, column]) * scale / most
            if drives.valve[j]:
                share, most = drives.share(j, z[:, column] * scale)
            gain = float(prices[:, column].sum()) / scale + force_gain(drives, program, solution, j)
            found.append((what, name, most, unit, share, gain))
        found += _voltage_use(drives, program, solution, j, name, z.shape[0])
    return found


def _speed_uses(
    robot: Robot,
    drives: DriveModel,
    limits: MotionLimits,
    task: Task,
    program: PathProgram,
    solution: Solution,
) -> list[Use]:
    """Speeds of joints, motors and tool; the bound of the path parameter belongs to the narrowest of them."""
    bounds = speed_limits(robot, drives, limits, task, program.numbers)
    top, y = node_values(program, program.high)[:, 0], node_values(program, solution.x)[:, 0]
    price = _prices(program, solution)[:, 0]
    price[[0, -1]] = 0.0  # given, or free
    return speed_uses(bounds, program.table["oZy"] * y, top, price)


def _voltage_use(
    drives: DriveModel, program: PathProgram, solution: Solution, j: int, name: str, count: int
) -> list[Use]:
    groups = [g for g in ("voltage", "voltage between") if g in program.rows and name in program.rows[g][3]]
    if not groups:
        return []
    used, cost = np.zeros(count), 0.0
    for group in groups:
        k = program.rows[group][3].index(name)
        values = np.abs(program.row_values(group, solution.g)[:, k])
        used[: values.size] = np.maximum(used[: values.size], values)
        cost += float(np.abs(program.row_values(group, solution.mult_g)[:, k]).sum())
    U, squared = program.table[f"oU{j}"], program.form.feed[j] == "pmsm"
    return [
        ("voltage", name, U, "V", np.sqrt(used) if squared else used, cost / U * (2.0 if squared else 1.0))
    ]


def _row_use(
    robot: Robot, limits: MotionLimits, program: PathProgram, solution: Solution, what: str
) -> list[Use]:
    values = np.abs(program.row_values(what, solution.g))
    cost = np.abs(program.row_values(what, solution.mult_g)).sum(axis=0)
    out = []
    for k, who in enumerate(program.rows[what][3]):
        squared = what == "tool acceleration"
        if squared:
            value, unit = program.table["oAt"], "m/s2"
        else:
            j = robot.joint_names.index(who)
            length = robot.joint_units[j]
            value, unit = {
                "torque": (limits.torque[j], "N" if length == "m" else "N m"),
                "acceleration": (robot.limits.qdd_max[j], f"{length}/s2"),
                "jerk": (limits.jerk[j], f"{length}/s3"),
            }[what]
            value = float(value)
        used = np.sqrt(values[:, k]) if squared else values[:, k]
        share = used if used.size == program.numbers.s.size else np.append(used, used[-1])
        out.append((what, who, value, unit, share, float(cost[k]) / value * (2.0 if squared else 1.0)))
    return out
