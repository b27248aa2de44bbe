r"""The program of a motion along a given path: numbers of arm and path at its points, variables, bounds and rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.equations.derivation import Derivation
from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.block_nlp import BlockCode, BlockFunction, BlockNlp, compile_block
from servotwin.motion.optimal.drive_model import DriveModel
from servotwin.motion.optimal.heat_problem import rest_heat_function
from servotwin.motion.optimal.hydraulic_energy import supply_energy
from servotwin.motion.optimal.path_numbers import (
    PathLaw,
    PathNumbers,
    directions,
    path_currents,
    soft_torques,
    turning,
)
from servotwin.motion.optimal.path_problem import (
    FIRST_CURRENT,
    PathForm,
    path_heat_function,
    path_link_function,
    path_node_function,
)
from servotwin.motion.optimal.path_speeds import speed_limits
from servotwin.motion.optimal.path_valves import link_names, node_names, valve_fields
from servotwin.motion.optimal.point_problem import BUS_POINTS
from servotwin.motion.optimal.task import Task
from servotwin.motion.optimal.transcription import SOFT, NamedRow, Rows, held_motors, power_scale
from servotwin.robot.robot import Robot

SHORTEST = 1e-3  # of the time of the guess between two points
SLOWEST = 1e-3  # of the speed of the guess: a point between the ends is passed at least so fast
GUESSED = 0.25  # a motion's own steps, of those of the guess
RINGING = 1e-3  # weight of changes of acceleration from point to point, beside a time of one


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
    def mesh(self) -> Array:
        """The points of the path (N + 1,)."""
        return self.numbers.s

    @property
    def hot_index(self) -> int:
        """Place of the first mean rise among the variables."""
        return self.numbers.s.size * self.form.width


def path_program(
    robot: Robot,
    drives: DriveModel,
    limits: MotionLimits,
    task: Task,
    numbers: PathNumbers,
    ripple: Array | None = None,
    law: PathLaw | None = None,
) -> PathProgram:
    """Variables, bounds and rows of the motion along a path.

    ``ripple`` (m,) [K]: by how much windings are hotter at times than the mean of their cycle; ``law``: a motion at
    these points to start from.
    """
    top = _top_speed(robot, drives, limits, task, numbers)
    linear, who = _linear_rows(robot, drives, limits, task, numbers)
    guess, scale = _guess(drives, numbers, top)
    form = _form(drives, limits, task, len(who), float(scale["T"]) / task.intervals)
    table = _table(drives, limits, task, form, scale)
    count, width = numbers.s.size, form.width
    hot = count * width + np.arange(len(form.heated))
    nlp = BlockNlp(count * width + hot.size)
    node = width * np.arange(count)[:, None] + np.arange(width)[None, :]
    tail = np.broadcast_to(hot, (count, hot.size))

    def code(kind: str, function: Callable[[Derivation, PathForm], BlockFunction]) -> BlockCode:
        return compile_block(f"optimal/{kind}/{form.name}", lambda d: function(d, form), robot.numbers, table)

    rows: Rows = {}
    motors = _motor_data(drives, numbers)
    data = np.hstack([motors, linear.reshape(count, -1), _tool_data(robot, form, numbers)])
    named = _node_rows(drives, task, form, who)
    _add(nlp, rows, code("path-node", path_node_function), np.hstack([node, tail]), data, named)
    jerked = _jerk_limited(limits, task)
    w = numbers.dq @ drives.N.T
    step = np.diff(numbers.s)[:, None]
    data = np.hstack([step, w[:-1], w[1:], _bends(limits, numbers, jerked)])
    named = _link_rows(robot, drives, task, form, jerked)
    link = np.hstack([node[:-1], node[1:], tail[:-1]])
    _add(nlp, rows, code("path-link", path_link_function), link, data, named)
    if form.heated:
        first = _add_heat(nlp, code, form, node, hot)
        rows["heat"] = (first, 0, 1, tuple(drives.names[j] for j in form.heated))
    still = np.zeros_like(numbers.q[[0, -1]])
    way = directions(w[[0, -1]], turning(drives, numbers))
    # At rest the currents have built up to where the arm just moves: friction lets them.
    ready = path_currents(robot, drives, soft_torques(drives, table), way, (numbers.q[[0, -1]], still, still))
    low, high = _bounds(drives, task, numbers, form, table, top, guess, ready, ripple)
    scaled = guess if law is None else law.scaled(guess, table)
    x0 = np.clip(np.concatenate([scaled.ravel(), np.full(hot.size, 0.3)]), low, high)
    return PathProgram(form, nlp, x0, low, high, table, float(scale["objective"]), rows, numbers)


def _motor_data(drives: DriveModel, numbers: PathNumbers) -> Array:
    """Numbers of all motors at the points (N + 1, MOTOR_DATA m); the direction of friction is that of the path."""
    w, turn = numbers.dq @ drives.N.T, numbers.ddq @ drives.N.T
    a, b, g = (x @ drives.N_inverse for x in (numbers.a, numbers.b, numbers.g))
    parts = [a - drives.J_m * w, b - drives.J_m * turn, g, w, turn, directions(w, turning(drives, numbers))]
    return np.stack(parts, axis=-1).reshape(len(w), -1)


def _node_rows(drives: DriveModel, task: Task, form: PathForm, who: list[tuple[str, str]]) -> list[NamedRow]:
    """Group, owner and bounds of the rows of ``path_node_function``, in its order."""
    named: list[NamedRow] = [("dynamics", name, 0.0, 0.0) for name in drives.names]
    named += [(what, owner, -1.0, 1.0) for what, owner in who]
    named += [("voltage", drives.names[j], _least_voltage(form, j), 1.0) for j in form.steady]
    named += node_names(drives, form)
    if form.bus:
        low, high = (power / power_scale(task) for power in task.bus_power)
        named.append(("bus power", "bus", low, high))
    if form.tool:
        named.append(("tool acceleration", "tool", -math.inf, 1.0))
    return named


def _link_rows(
    robot: Robot, drives: DriveModel, task: Task, form: PathForm, jerked: list[int]
) -> list[NamedRow]:
    """The same of ``path_link_function``."""
    named: list[NamedRow] = [("path", "path", 0.0, 0.0), ("path speed", "path", 0.0, 0.0)]
    named += [("voltage between", drives.names[j], _least_voltage(form, j), 1.0) for j in form.inductive]
    named += [("jerk", robot.joint_names[j], -1.0, 1.0) for j in jerked]
    low, high = (power / power_scale(task) for power in task.bus_power)
    named += [("bus power between", "bus", low, high)] * (len(BUS_POINTS) if form.bus else 0)
    return named + link_names(drives, form)


def _least_voltage(form: PathForm, j: int) -> float:
    return -1.0 if form.feed[j] == "dc" else -math.inf


def _add_heat(nlp: BlockNlp, code: Any, form: PathForm, node: Any, hot: Any) -> int:
    """The balance of heat of every heated motor over the cycle; its first row."""
    at = FIRST_CURRENT + np.array(form.heated)
    tail = np.broadcast_to(hot, (len(node) - 1, hot.size))
    index = np.hstack([node[:-1, 2:3], node[:-1, at], node[1:, at], tail])
    zero = np.zeros(hot.size)
    first = nlp.add_sum(
        code("path-heat", path_heat_function), index, np.zeros((len(node) - 1, 0)), zero, zero
    )
    last = np.concatenate([node[-1, at], hot])[None, :]
    nlp.add_to(code("path-rest-heat", rest_heat_function), last, np.zeros((1, 0)), first)
    return first


def _add(nlp: BlockNlp, rows: Rows, code: BlockCode, index: Array, data: Array, named: list[Any]) -> None:
    low, high = (np.array([row[k] for row in named]) for k in (2, 3))
    first = nlp.add(code, index, data, low, high)
    for k, row in enumerate(named):
        if row[0] not in rows:
            rows[row[0]] = (first + k, len(named), len(index), tuple(r[1] for r in named if r[0] == row[0]))


def _jerk_limited(limits: MotionLimits, task: Task) -> list[int]:
    return [int(j) for j in np.flatnonzero(np.isfinite(limits.jerk))] if task.jerk else []


def _bends(limits: MotionLimits, numbers: PathNumbers, jerked: list[int]) -> Array:
    """q' and q'' at both ends of every step, of the joints with a limit of jerk, over it (N, 4 per joint)."""
    parts = [np.zeros((numbers.s.size - 1, 0))]
    for j in jerked:
        both = np.stack([numbers.dq[:, j], numbers.ddq[:, j]], axis=1) / limits.jerk[j]
        parts.append(np.hstack([both[:-1], both[1:]]))
    return np.hstack(parts)


def _top_speed(
    robot: Robot, drives: DriveModel, limits: MotionLimits, task: Task, numbers: PathNumbers
) -> Array:
    """Largest speeds of the path parameter (N + 1,) that joints, motors and tool allow."""
    slowness = np.zeros(numbers.s.size)
    for bound in speed_limits(robot, drives, limits, task, numbers):
        slowness = np.maximum(slowness, bound.share)
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


def _guess(drives: DriveModel, numbers: PathNumbers, top: Array) -> tuple[Array, dict[str, Any]]:
    """A gentle law: the scaled variables (N + 1, width) of all points, and the scales."""
    s = numbers.s / numbers.s[-1]
    shape = np.sqrt(np.minimum(s, 1.0 - s) + 1e-12)
    rate = 0.5 * np.where(s < 0.5, 1.0, -1.0) / numbers.s[-1]
    needs = [x @ drives.N_inverse / drives.K for x in (numbers.a, numbers.b, numbers.g)]
    needs[2] = needs[2] - drives.offset / drives.K
    dynamic = np.abs(needs[0] * rate[:, None] + needs[1] * shape[:, None] ** 2)
    if drives.valves is not None:
        dynamic = dynamic + drives.valves.drag * (numbers.dq @ drives.N.T * shape[:, None]) ** 2
    room = np.maximum(np.where(np.isfinite(drives.current), drives.current, np.inf) - np.abs(needs[2]), 1e-9)
    w = np.abs(numbers.dq @ drives.N.T) * shape[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        square = np.nanmin(np.where(dynamic > 0.0, room / dynamic, np.inf))
        pace = min(
            math.sqrt(square) if math.isfinite(square) else math.inf,
            float(np.min(top / shape)),
            float(
                np.nanmin(
                    np.where(w > 0.0, 0.9 * drives.voltage / np.maximum(drives.K_b * w, 1e-300), np.inf)
                )
            ),
        )
    pace = 0.7 * (pace if math.isfinite(pace) else 1.0)
    y, r = pace * shape, pace**2 * rate
    i = needs[0] * r[:, None] + needs[1] * y[:, None] ** 2 + needs[2]
    i_scale = np.where(np.isfinite(drives.current), drives.current, 2.0 * np.abs(i).max(axis=0) + 1e-6)
    dt = 2.0 * np.diff(numbers.s) / (y[1:] + y[:-1])
    T = float(dt.sum())
    copper = float((drives.phases * (drives.R + drives.R_bridge) * (i**2).mean(axis=0)).sum() * T)
    scale = {"y": 2.0 * y.max(), "r": 3.0 * np.abs(r).max(), "i": i_scale, "T": T, "copper": copper}
    scale["objective"], scale["t"] = T, T / dt.size
    scale["held"] = (numbers.g[-1] @ drives.N_inverse - drives.offset) / drives.K
    scale["supply"] = supply_energy(
        drives.valves, np.append(0.0, np.cumsum(dt)), *_shaft(drives, numbers, y, r)
    )
    law = [y / scale["y"], r / scale["r"], np.append(dt, dt[-1]) / scale["t"]]
    return np.hstack([np.stack(law, axis=1), i / i_scale]), scale


def _shaft(drives: DriveModel, numbers: PathNumbers, y: Array, r: Array) -> tuple[Array, Array]:
    """Speeds and accelerations (N + 1, m) of the motors at speeds and accelerations of the path parameter (N + 1,)."""
    qd, qdd = numbers.dq * y[:, None], numbers.dq * r[:, None] + numbers.ddq * y[:, None] ** 2
    return qd @ drives.N.T, qdd @ drives.N.T


def _form(drives: DriveModel, limits: MotionLimits, task: Task, rows: int, step: float) -> PathForm:
    fed = np.isfinite(drives.voltage) & task.voltage
    slow = GUESSED * step * drives.R < drives.L
    heated = np.flatnonzero(drives.heated & np.isfinite(drives.rise)) if task.temperature else ()
    feed = tuple(
        ("pmsm" if x > 0.0 else "dc") if on else "" for on, x in zip(fed, drives.reactance, strict=True)
    )
    return PathForm(
        m=drives.m,
        **valve_fields(drives, task, feed),
        steady=tuple(int(j) for j in np.flatnonzero(fed & ~slow)),
        inductive=tuple(int(j) for j in np.flatnonzero(fed & (drives.L > 0.0))),
        rows=rows,
        tool=math.isfinite(limits.tool_acceleration),
        lossy=tuple(int(j) for j in np.flatnonzero(drives.efficiency < 1.0)),
        heated=tuple(int(j) for j in heated),
        bus=bool(np.isfinite(task.bus_power).any()),
        jerk=len(_jerk_limited(limits, task)),
    )


def _table(
    drives: DriveModel, limits: MotionLimits, task: Task, form: PathForm, scale: dict[str, Any]
) -> dict[str, float]:
    eta = drives.efficiency
    table: dict[str, float] = {
        "oZy": scale["y"],
        "oZr": scale["r"],
        "oZT": scale["T"],
        "oZt": scale["t"],
        "oRest": task.rest,
    }
    scale["objective"] = scale["T"] + task.energy_weight * (scale["copper"] + scale["supply"])
    table.update((f"oOff{k}", float(x)) for k, x in enumerate(drives.offset))
    table.update({} if drives.valves is None else drives.valves.numbers())
    table["oWr"] = RINGING
    table["oWt"] = scale["T"] / scale["objective"]
    table["oWc"] = table["oWw"] = task.energy_weight / scale["objective"]
    table["oAt"] = limits.tool_acceleration if math.isfinite(limits.tool_acceleration) else 2.0
    table["oP"] = power_scale(task)
    finite = {
        k: np.where(np.isfinite(v), v, 2.0) for k, v in {"oU": drives.voltage, "oTh": drives.rise}.items()
    }
    for name, values in {
        "oHold": scale["held"],
        "oZsi": scale["i"], "oK": drives.K, "oR": drives.R, "oRb": drives.R_bridge, "oL": drives.L, "oKb": drives.K_b,
        "oX": drives.reactance, "oU": task.modulation * finite["oU"], "oPh": drives.phases, "oFv": drives.viscous,
        "oFc": drives.coulomb, "oJm": drives.J_m,
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
    bend = (
        J @ numbers.ddq[..., None] + robot.jacob0_dot(numbers.q, numbers.dq)[:, :3] @ numbers.dq[..., None]
    )[..., 0]
    return np.hstack([v, bend])


def _bounds(
    drives: DriveModel,
    task: Task,
    numbers: PathNumbers,
    form: PathForm,
    table: dict[str, float],
    top: Array,
    guess: Array,
    ready: Array,
    ripple: Array | None,
) -> tuple[Array, Array]:
    """Bounds of all variables, scaled; ``guess``: scaled variables of the guess, ``ready`` (2, m): currents at rest."""
    count, m = numbers.s.size, form.m
    current = (drives.current if task.current else np.full(m, np.inf)) / np.array(
        [table[f"oZsi{j}"] for j in range(m)]
    )
    high = np.hstack([top[:, None] / table["oZy"], np.full((count, 2), np.inf), np.tile(current, (count, 1))])
    low = -high.copy()
    low[:, 0] = np.minimum(SLOWEST * guess[:, 0], 0.5 * high[:, 0])
    low[:, 2] = SHORTEST * guess[:, 2]
    low[-1, 2] = high[-1, 2] = guess[-1, 2]  # nothing follows the last point
    for k, free in ((0, task.free_start), (-1, task.free_end)):
        if free:
            continue
        low[k, 0] = high[k, 0] = 0.0
        if form.jerk and not held_motors(drives, task).any():
            low[k, 1] = high[k, 1] = 0.0
        for j in np.flatnonzero(held_motors(drives, task)):
            low[k, FIRST_CURRENT + j] = high[k, FIRST_CURRENT + j] = ready[k, j] / table[f"oZsi{j}"]
    hot = np.array([1.0 - (0.0 if ripple is None else ripple[j] / drives.rise[j]) for j in form.heated])
    return np.concatenate([low.ravel(), hot - 2.0]), np.concatenate([high.ravel(), hot])
