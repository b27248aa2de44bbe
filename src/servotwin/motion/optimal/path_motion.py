r"""An optimal motion along a given path: the numbers of arm and path at its points, the program, and its answer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.description.schema import RobotDescription
from servotwin.equations.derivation import Derivation
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.curves import Curve
from servotwin.motion.errors import PathError
from servotwin.motion.joint_path import JointPath
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.block_nlp import BlockCode, BlockFunction, BlockNlp, compile_block
from servotwin.motion.optimal.drive_model import DriveModel, drive_model
from servotwin.motion.optimal.heat import winding_temperatures
from servotwin.motion.optimal.infeasible import blame
from servotwin.motion.optimal.ipopt import Solution, library, solve_nlp
from servotwin.motion.optimal.path_problem import (
    PathForm,
    path_heat_function,
    path_link_function,
    path_node_function,
)
from servotwin.motion.optimal.point_problem import rest_heat_function
from servotwin.motion.optimal.reading import AT_LIMIT
from servotwin.motion.optimal.result import LimitUse, OptimalMotion
from servotwin.motion.optimal.task import Task
from servotwin.motion.optimal.transcription import SOFT, Rows, mesh_of, power_scale
from servotwin.motion.requests import MoveC, MoveL, Spline
from servotwin.motion.trajectory import PathSegment
from servotwin.robot.robot import Robot

SLOWEST = 1e-4  # of the usual speed along the path: a point between the ends is passed at least so fast
ON_LIMIT = 1e-9


@dataclass(frozen=True, eq=False)
class TimedLaw:
    """Place s and speed (N + 1,) at the instants t; between them the cubic that meets all four."""

    t: Array
    s: Array
    sd: Array

    @property
    def length(self) -> float:
        """The last s."""
        return float(self.s[-1])

    @property
    def duration(self) -> float:
        """[s]"""
        return float(self.t[-1])

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        """See ``Profile``."""
        clock = np.clip(t, 0.0, self.t[-1])
        k = np.clip(np.searchsorted(self.t, clock, side="right") - 1, 0, self.t.size - 2)
        h, d = self.t[k + 1] - self.t[k], clock - self.t[k]
        way = (self.s[k + 1] - self.s[k]) / h
        c2 = (3.0 * way - 2.0 * self.sd[k] - self.sd[k + 1]) / h
        c3 = (self.sd[k] + self.sd[k + 1] - 2.0 * way) / h**2
        s = self.s[k] + d * (self.sd[k] + d * (c2 + d * c3))
        return np.clip(s, 0.0, self.s[-1]), self.sd[k] + d * (2.0 * c2 + 3.0 * d * c3), 2.0 * c2 + 6.0 * d * c3


@dataclass(frozen=True, eq=False)
class PathSource:
    """A joint path and the path of the tool point behind it, if there is one."""

    path: JointPath
    curve: Curve | None


@dataclass(frozen=True, eq=False)
class PathNumbers:
    """Arm and path at the points s (N + 1,): q, q', q'' and torques a, b, g (N + 1, n) (eq:path-torque)."""

    s: Array
    q: Array
    dq: Array
    ddq: Array
    a: Array
    b: Array
    g: Array


@dataclass(frozen=True, eq=False)
class PathProgram:
    """The program along a path; see ``transcription.Program``."""

    form: PathForm
    nlp: BlockNlp
    x0: Array
    low: Array
    high: Array
    table: dict[str, float]
    objective_scale: float
    rows: Rows
    numbers: PathNumbers

    def row_values(self, name: str, values: Array) -> Array:
        """The values of a group of rows (blocks, columns)."""
        first, stride, count, who = self.rows[name]
        at = first + stride * np.arange(count)[:, None] + np.arange(len(who))[None, :]
        return np.asarray(values[at])

    @property
    def hot_index(self) -> int:
        """Place of the first mean rise among the variables."""
        return self.numbers.s.size * self.form.width


def joint_path(robot: Robot, path: Any, start: Any, limits: MotionLimits) -> JointPath:
    """The path of joint positions (k, n), of a ``JointPath``, or of a line, circle or spline of the tool."""
    if isinstance(path, JointPath):
        return path
    if isinstance(path, MoveL | MoveC | Spline):
        from servotwin.motion.legs import leg_of

        leg = leg_of(robot, path, 0, np.asarray(start, dtype=float), limits, True)
        if leg is None:
            raise InputError("the path has no length; expected another target", field="path")
        return leg.path
    from servotwin.motion.time_optimal import path_through

    points = np.asarray(path, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != robot.n or not np.isfinite(points).all():
        text = f"the path has the shape {points.shape}; expected at least two rows of {robot.n} joint positions"
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
        raise InputError("along a path the time is free; expected no duration and no longest one", field="duration")
    if task.objective != "time" or task.keep_out or task.within:
        raise InputError("along a path the objective is the time, or a mixture; regions do not apply", field="objective")
    drives = drive_model(robot, description)
    numbers = _numbers(robot, path, task, drives)
    _check_positions(robot, limits, numbers)
    _check_holding(drives, task, numbers)
    program = path_program(robot, drives, limits, task, numbers)
    solution = solve_nlp(program.nlp, program.x0, program.low, program.high, {}, progress)
    if not solution.solved:
        slower = solve_nlp(program.nlp, program.x0, program.low, program.high, {"mu_strategy": "adaptive"}, progress)
        solution = slower if slower.solved else solution
    if not solution.solved:
        what, who, text = blame(robot, drives, program, solution)
        raise PathError(f"no motion found ({solution.text}); {text}", index=0, what=what, axis=who, place=1.0)
    return _answer(robot, drives, limits, task, program, solution, PathSource(path, curve), time.perf_counter() - began)


def _numbers(robot: Robot, path: JointPath, task: Task, drives: DriveModel) -> PathNumbers:
    """Arm and path at points that a motion from rest to rest passes at even times."""
    tau = mesh_of(task.intervals, bool(drives.hold.any()) and task.voltage)
    s = path.length * np.where(tau < 0.5, 2.0 * tau**2, 1.0 - 2.0 * (1.0 - tau) ** 2)
    s[-1] = path.length
    q, dq, ddq = path.at(s)
    zero = np.zeros_like(q)
    g = robot.rne(q, zero, zero, drives=True)
    a = robot.rne(q, zero, dq, drives=True) - g
    return PathNumbers(s, q, dq, ddq, a, robot.rne(q, dq, ddq, drives=True) - g, g)  # eq:path-torque


def _check_positions(robot: Robot, limits: MotionLimits, numbers: PathNumbers) -> None:
    beyond = limits.beyond(numbers.q)
    if beyond.max() <= ON_LIMIT:
        return
    k, axis = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
    name, text = limits.range_text(robot, numbers.q[k], int(axis))
    raise PathError(text, index=0, what="position", axis=name, place=float(numbers.s[k] / numbers.s[-1]))


def _check_holding(drives: DriveModel, task: Task, numbers: PathNumbers) -> None:
    held = np.abs(numbers.g @ drives.N_inverse / drives.K) / drives.current
    if task.current and held.max() > 1.0:
        k, j = np.unravel_index(int(np.argmax(held)), held.shape)
        text = f"motor {drives.names[j]} would need {100.0 * held[k, j]:.4g} % of its current to hold the arm there"
        raise PathError(text, index=0, what="torque", axis=drives.names[j], place=float(numbers.s[k] / numbers.s[-1]))


def path_program(
    robot: Robot, drives: DriveModel, limits: MotionLimits, task: Task, numbers: PathNumbers
) -> PathProgram:
    """Variables, bounds and rows of the motion along a path."""
    w, own = numbers.dq @ drives.N.T, drives.J_m
    turn = numbers.ddq @ drives.N.T
    top = _top_speed(robot, drives, limits, task, numbers)
    linear, who = _linear_rows(robot, drives, limits, task, numbers)
    y, r, i, scale = _guess(drives, numbers, top)
    form = _form(drives, limits, task, len(who), float(scale["T"]) / (numbers.s.size - 1))
    table = _table(drives, limits, task, form, scale)
    count, width = numbers.s.size, form.width
    hot = count * width + np.arange(len(form.heated))
    nlp = BlockNlp(count * width + len(form.heated))
    node = width * np.arange(count)[:, None] + np.arange(width)[None, :]

    def code(kind: str, function: Callable[[Derivation, PathForm], BlockFunction]) -> BlockCode:
        return compile_block(f"optimal/{kind}/{form.name}", lambda d: function(d, form), robot.numbers, table)

    dry = drives.coulomb * np.sign(w)
    if drives.hold.any() and task.voltage:
        dry[[0, -1]] = 0.0  # at rest the currents hold the arm
    motors = np.stack(
        [
            (numbers.a @ drives.N_inverse) - own * w,
            (numbers.b @ drives.N_inverse) - own * turn,
            numbers.g @ drives.N_inverse,
            own * w,
            own * turn,
            w,
            dry,
        ],
        axis=-1,
    )
    data = np.hstack([motors.reshape(count, -1), linear.reshape(count, -1), _tool_data(robot, form, numbers)])
    rows: Rows = {}
    named = [("dynamics", name, 0.0, 0.0) for name in drives.names]
    named += [(what, owner, -1.0, 1.0) for what, owner in who]
    named += [("voltage", drives.names[j], -1.0 if form.feed[j] == "dc" else -math.inf, 1.0) for j in form.steady]
    if form.bus:
        named.append(("bus power", "bus", *(p / power_scale(task) for p in task.bus_power)))
    if form.tool:
        named.append(("tool acceleration", "tool", -math.inf, 1.0))
    tail = np.broadcast_to(hot, (count, hot.size))
    _add(nlp, rows, code("path-node", path_node_function), np.hstack([node, tail]), data, named)
    named = [("path", "path", 0.0, 0.0)]
    for j in form.inductive:
        named.append(("voltage between", drives.names[j], -1.0 if form.feed[j] == "dc" else -math.inf, 1.0))
    link = np.hstack([node[:-1], node[1:], tail[:-1]])
    step = np.diff(numbers.s)[:, None]
    _add(nlp, rows, code("path-link", path_link_function), link, np.hstack([step, w[:-1], w[1:]]), named)
    if form.heated:
        at = 2 + np.array(form.heated)
        index = np.hstack([node[:-1, :1], node[1:, :1], node[:-1, at], node[1:, at], tail[:-1]])
        zero = np.zeros(hot.size)
        first = nlp.add_sum(code("path-heat", path_heat_function), index, step, zero, zero)
        last = np.concatenate([node[-1, at], hot])[None, :]
        nlp.add_to(code("path-rest-heat", rest_heat_function), last, np.zeros((1, 0)), first)  # type: ignore[arg-type]
        rows["heat"] = (first, 0, 1, tuple(drives.names[j] for j in form.heated))
    low, high = _bounds(drives, task, numbers, form, table, top)
    x0 = np.concatenate([np.hstack([y[:, None], r[:, None], i]).ravel(), np.full(hot.size, 0.3)])
    return PathProgram(form, nlp, np.clip(x0, low, high), low, high, table, float(scale["objective"]), rows, numbers)


def _add(nlp: BlockNlp, rows: Rows, code: BlockCode, index: Array, data: Array, named: list[Any]) -> None:
    low, high = (np.array([row[k] for row in named]) for k in (2, 3))
    first = nlp.add(code, index, data, low, high)
    for k, row in enumerate(named):
        if row[0] not in rows:
            rows[row[0]] = (first + k, len(named), len(index), tuple(r[1] for r in named if r[0] == row[0]))


def _top_speed(
    robot: Robot, drives: DriveModel, limits: MotionLimits, task: Task, numbers: PathNumbers
) -> Array:
    """Largest speeds of the path parameter (N + 1,) that joints, motors and tool allow."""
    slowness = np.zeros(numbers.s.size)
    if task.speed:
        slowness = np.maximum(slowness, (np.abs(numbers.dq) / limits.speed).max(axis=1))
        slowness = np.maximum(slowness, (np.abs(numbers.dq @ drives.N.T) / drives.speed).max(axis=1))
    if math.isfinite(limits.tool_speed):
        v = (robot.jacob0(numbers.q)[:, :3] @ numbers.dq[..., None])[..., 0]
        slowness = np.maximum(slowness, np.linalg.norm(v, axis=1) / limits.tool_speed)
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / slowness)


def _linear_rows(
    robot: Robot, drives: DriveModel, limits: MotionLimits, task: Task, numbers: PathNumbers
) -> tuple[Array, list[tuple[str, str]]]:
    """Numbers (N + 1, rows, 3) of the limits of torque and acceleration of the joints, and whose they are."""
    rows, who = [], []
    for j, name in enumerate(robot.joint_names):
        most = limits.torque[j]
        if task.effort and drives.electric and math.isfinite(most):
            rows.append(np.stack([numbers.a[:, j], numbers.b[:, j], numbers.g[:, j]], axis=-1) / most)
            who.append(("torque", name))
    for j, name in enumerate(robot.joint_names):
        most = robot.limits.qdd_max[j]
        if math.isfinite(most):
            zero = np.zeros(numbers.s.size)
            rows.append(np.stack([numbers.dq[:, j], numbers.ddq[:, j], zero], axis=-1) / most)
            who.append(("acceleration", name))
    return (np.stack(rows, axis=1) if rows else np.zeros((numbers.s.size, 0, 3))), who


def _guess(drives: DriveModel, numbers: PathNumbers, top: Array) -> tuple[Array, Array, Array, dict[str, Any]]:
    """A gentle law: scaled speeds, accelerations and currents, and the scales."""
    s = numbers.s / numbers.s[-1]
    shape = np.sqrt(np.minimum(s, 1.0 - s) + 1e-12)
    rate = 0.5 * np.where(s < 0.5, 1.0, -1.0) / numbers.s[-1]
    needs = [x @ drives.N_inverse / drives.K for x in (numbers.a, numbers.b, numbers.g)]
    dynamic = np.abs(needs[0] * rate[:, None] + needs[1] * shape[:, None] ** 2)
    room = np.maximum(np.where(np.isfinite(drives.current), drives.current, np.inf) - np.abs(needs[2]), 1e-9)
    w = np.abs(numbers.dq @ drives.N.T) * shape[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        square = np.nanmin(np.where(dynamic > 0.0, room / dynamic, np.inf))
        pace = min(
            math.sqrt(square) if math.isfinite(square) else math.inf,
            float(np.min(top / shape)),
            float(np.nanmin(np.where(w > 0.0, 0.9 * drives.voltage / np.maximum(drives.K_b * w, 1e-300), np.inf))),
        )
    pace = 0.7 * (pace if math.isfinite(pace) else 1.0)
    y, r = pace * shape, pace**2 * rate
    i = needs[0] * r[:, None] + needs[1] * y[:, None] ** 2 + needs[2]
    i_scale = np.where(np.isfinite(drives.current), drives.current, 2.0 * np.abs(i).max(axis=0) + 1e-6)
    T = float((2.0 * np.diff(numbers.s) / (y[1:] + y[:-1])).sum())
    copper = float((drives.phases * (drives.R + drives.R_bridge) * (i**2).mean(axis=0)).sum() * T)
    scale = {"y": 2.0 * y.max(), "r": 3.0 * np.abs(r).max(), "i": i_scale, "T": T, "copper": copper}
    scale["objective"] = T
    return y / scale["y"], r / scale["r"], i / i_scale, scale


def _form(drives: DriveModel, limits: MotionLimits, task: Task, rows: int, step: float) -> PathForm:
    fed = np.isfinite(drives.voltage) & task.voltage
    slow = drives.L > step * drives.R
    heated = np.flatnonzero(drives.heated & np.isfinite(drives.rise)) if task.temperature else ()
    feed = tuple(("pmsm" if x > 0.0 else "dc") if on else "" for on, x in zip(fed, drives.reactance, strict=True))
    return PathForm(
        m=drives.m,
        feed=feed,
        steady=tuple(int(j) for j in np.flatnonzero(fed & ~slow)),
        inductive=tuple(int(j) for j in np.flatnonzero(fed & (drives.L > 0.0))),
        rows=rows,
        tool=math.isfinite(limits.tool_acceleration),
        lossy=tuple(int(j) for j in np.flatnonzero(drives.efficiency < 1.0)),
        heated=tuple(int(j) for j in heated),
        bus=bool(np.isfinite(task.bus_power).any()),
    )


def _table(
    drives: DriveModel, limits: MotionLimits, task: Task, form: PathForm, scale: dict[str, Any]
) -> dict[str, float]:
    eta = drives.efficiency
    table: dict[str, float] = {"oZy": scale["y"], "oZr": scale["r"], "oZT": scale["T"], "oWay": 1e-6, "oRest": task.rest}
    scale["objective"] = scale["T"] + task.energy_weight * scale["copper"]
    table["oWt"] = scale["T"] / scale["objective"]
    table["oWc"] = table["oWw"] = task.energy_weight / scale["objective"]
    table["oAt"] = limits.tool_acceleration if math.isfinite(limits.tool_acceleration) else 2.0
    table["oP"] = power_scale(task)
    finite = {k: np.where(np.isfinite(v), v, 2.0) for k, v in {"oU": drives.voltage, "oTh": drives.rise}.items()}
    for name, values in {
        "oZsi": scale["i"], "oK": drives.K, "oR": drives.R, "oRb": drives.R_bridge, "oL": drives.L, "oKb": drives.K_b,
        "oX": drives.reactance, "oU": task.modulation * finite["oU"], "oPh": drives.phases, "oFv": drives.viscous,
        "oGain": 0.5 * (1.0 / eta + eta), "oLoss": 0.5 * (1.0 / eta - eta), "oSoft": SOFT * drives.K * scale["i"],
        "oTh": finite["oTh"], "oAl": drives.alpha, "oRth": np.where(drives.heated, drives.R_wh + drives.R_ha, 2.0),
    }.items():  # fmt: skip
        table.update((f"{name}{k}", float(x)) for k, x in enumerate(values))
    return table


def _tool_data(robot: Robot, form: PathForm, numbers: PathNumbers) -> Array:
    if not form.tool:
        return np.zeros((numbers.s.size, 0))
    J = robot.jacob0(numbers.q)[:, :3]
    v = (J @ numbers.dq[..., None])[..., 0]
    bend = (J @ numbers.ddq[..., None] + robot.jacob0_dot(numbers.q, numbers.dq)[:, :3] @ numbers.dq[..., None])[..., 0]
    return np.hstack([v, bend])


def _bounds(
    drives: DriveModel, task: Task, numbers: PathNumbers, form: PathForm, table: dict[str, float], top: Array
) -> tuple[Array, Array]:
    count, m = numbers.s.size, form.m
    current = (drives.current if task.current else np.full(m, np.inf)) / np.array([table[f"oZsi{j}"] for j in range(m)])
    high = np.hstack([top[:, None] / table["oZy"], np.full((count, 1), np.inf), np.tile(current, (count, 1))])
    low = -high.copy()
    low[:, 0] = np.minimum(SLOWEST, 0.5 * high[:, 0])
    held = numbers.g[[0, -1]] @ drives.N_inverse / drives.K
    for k, free in ((0, task.free_start), (-1, task.free_end)):
        if free:
            continue
        low[k, 0] = high[k, 0] = 0.0
        for j in np.flatnonzero(drives.hold & task.voltage):
            low[k, 2 + j] = high[k, 2 + j] = held[k, j] / table[f"oZsi{j}"]
        if (drives.hold & task.voltage).all():
            continue
    hot = np.ones(len(form.heated))
    return np.concatenate([low.ravel(), 0.0 * hot]), np.concatenate([high.ravel(), hot])


# --- the answer -------------------------------------------------------------------------------------
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
    numbers, form, table = program.numbers, program.form, program.table
    z = solution.x[: program.hot_index].reshape(numbers.s.size, form.width)
    y, r = table["oZy"] * z[:, 0], table["oZr"] * z[:, 1]
    i = z[:, 2:] * np.array([table[f"oZsi{j}"] for j in range(form.m)])
    dt = 2.0 * np.diff(numbers.s) / (y[1:] + y[:-1])
    t = np.concatenate([[0.0], np.cumsum(dt)])
    qd, qdd = numbers.dq * y[:, None], numbers.dq * r[:, None] + numbers.ddq * y[:, None] ** 2
    hot = {j: float(solution.x[program.hot_index + k]) * table[f"oTh{j}"] for k, j in enumerate(form.heated)}
    R = np.array([drives.R[j] * (1.0 + drives.alpha[j] * hot.get(j, 0.0)) for j in range(form.m)]) + drives.R_bridge
    w = qd @ drives.N.T
    along = R * i + drives.K_b * w + drives.L * np.gradient(i, t, axis=0)
    amplitude = np.hypot(along, drives.reactance * w * i)
    square = (i[1:] ** 2 + i[1:] * i[:-1] + i[:-1] ** 2) / 3.0
    copper = float((drives.phases * R * square * dt[:, None]).sum()) if drives.electric else 0.0
    flow = drives.K * i * w
    work = float((0.5 * (flow[1:] + flow[:-1]) * dt[:, None]).sum())
    uses, active = _uses(robot, drives, program, solution, t, y, i)
    law = TimedLaw(t, numbers.s, y)
    segment = PathSegment("optimal", source.path, law, source.curve)
    return OptimalMotion(
        robot=robot.name,
        objective="time" if not task.energy_weight else f"time + {task.energy_weight:g} s/J energy",
        objective_value=float(t[-1]) + task.energy_weight * (copper + work),
        objective_unit="s",
        joint_names=robot.joint_names,
        joint_units=robot.joint_units,
        motor_names=drives.names,
        t=t, q=numbers.q, qd=qd, qdd=qdd,
        torque=numbers.a * r[:, None] + numbers.b * y[:, None] ** 2 + numbers.g,
        motor_speed=w, current=i,
        voltage=np.where(drives.reactance > 0.0, np.copysign(amplitude, along), along),
        winding=winding_temperatures(drives, t, i, task.rest),
        bus_power=(drives.phases * R * i**2 + flow).sum(axis=1),
        copper_loss=copper, mechanical_work=work, limits=uses, active=active, model_error=0.0,
        iterations=solution.iterations, seconds=seconds, notes=drives.notes, electric=drives.electric,
        tool=robot.fkine(numbers.q)[:, :3, 3], path_segment=segment,
    )  # fmt: skip


def _uses(
    robot: Robot, drives: DriveModel, program: PathProgram, solution: Solution, t: Array, y: Array, i: Array
) -> tuple[tuple[LimitUse, ...], tuple[tuple[str, ...], ...]]:
    """Limits and what more of them would buy; for every point the limits that it is at."""
    form, table, scale = program.form, program.table, program.objective_scale
    bound = (solution.mult_low + solution.mult_high)[: program.hot_index].reshape(t.size, form.width)
    top = program.high[: program.hot_index].reshape(t.size, form.width)
    found: list[tuple[str, str, float, str, Array, float]] = []
    for j, name in enumerate(drives.names):
        most = float(np.max(top[:, 2 + j])) * table[f"oZsi{j}"]
        if math.isfinite(most):
            what, unit = ("current", "A") if drives.electric else ("torque", "N m")
            found.append((what, name, most, unit, np.abs(i[:, j]) / most, float(bound[:, 2 + j].sum()) / table[f"oZsi{j}"]))
        found += _voltage_use(drives, program, solution, j, name, t.size)
    if np.isfinite(top[1:-1, 0]).any():
        with np.errstate(invalid="ignore"):
            share = np.where(np.isfinite(top[:, 0]) & (top[:, 0] > 0.0), y / table["oZy"] / np.where(top[:, 0] > 0.0, top[:, 0], 1.0), 0.0)
        gain = float((bound[1:-1, 0] * np.where(np.isfinite(top[1:-1, 0]), top[1:-1, 0], 0.0)).sum())
        found.append(("speed", "path", 1.0, "of its limit", share, gain))
    for what in ("torque", "acceleration", "tool acceleration", "bus power"):
        if what in program.rows:
            found += _row_use(robot, program, solution, what)
    for k, j in enumerate(form.heated):
        at = program.hot_index + k
        value = float(drives.ambient[j] + drives.rise[j])
        share = np.full(t.size, solution.x[at])
        found.append(("temperature", drives.names[j], value, "degC", share, float(solution.mult_high[at]) / drives.rise[j]))
    uses, active = [], [[] for _ in t]  # type: tuple[list[LimitUse], list[list[str]]]
    for what, who, value, unit, share, gain in found:
        at_limit = share >= AT_LIMIT
        time_at = float((0.5 * (at_limit[1:].astype(float) + at_limit[:-1]) * np.diff(t)).sum()) / t[-1]
        uses.append(LimitUse(what, who, value, unit, float(share.max()), time_at, gain * scale))
        for k in np.flatnonzero(at_limit):
            active[k].append(f"{what} {who}")
    return tuple(uses), tuple(tuple(names) for names in active)


def _voltage_use(
    drives: DriveModel, program: PathProgram, solution: Solution, j: int, name: str, count: int
) -> list[tuple[str, str, float, str, Array, float]]:
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
    return [("voltage", name, U, "V", np.sqrt(used) if squared else used, cost / U * (2.0 if squared else 1.0))]


def _row_use(
    robot: Robot, program: PathProgram, solution: Solution, what: str
) -> list[tuple[str, str, float, str, Array, float]]:
    values = np.abs(program.row_values(what, solution.g))
    cost = np.abs(program.row_values(what, solution.mult_g)).sum(axis=0)
    out = []
    for k, who in enumerate(program.rows[what][3]):
        squared = what == "tool acceleration"
        if what == "bus power":
            value, unit = program.table["oP"], "W"
        elif squared:
            value, unit = program.table["oAt"], "m/s2"
        else:
            j = robot.joint_names.index(who)
            length = robot.joint_units[j] == "m"
            value = float(robot.limits.tau_max[j] if what == "torque" else robot.limits.qdd_max[j])
            unit = ("N" if length else "N m") if what == "torque" else f"{robot.joint_units[j]}/s2"
        share = np.sqrt(values[:, k]) if squared else values[:, k]
        out.append((what, who, value, unit, share, float(cost[k]) / value * (2.0 if squared else 1.0)))
    return out
