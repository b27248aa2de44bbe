r"""A motion between two points as a nonlinear program: mesh, variables with their scales and bounds, families of rows.

Theory: docs/theory/optimal-motion.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from servotwin.equations.derivation import Derivation
from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.block_nlp import BlockCode, BlockFunction, BlockNlp, compile_block
from servotwin.motion.optimal.drive_model import DriveModel
from servotwin.motion.optimal.friction_signs import (
    SHARP_SMOOTH,
    bound_signs,
    end_currents,
    interval_signs,
    slow_speeds,
)
from servotwin.motion.optimal.guess import Guess
from servotwin.motion.optimal.heat_problem import heat_function, rest_heat_function
from servotwin.motion.optimal.point_problem import (
    BUS_POINTS,
    Form,
    link_function,
    node_function,
)
from servotwin.motion.optimal.task import AXES, Task
from servotwin.robot.robot import Robot

NamedRow = tuple[str, str, float, float]  # group, owner, bounds
Rows = dict[str, tuple[int, int, int, tuple[str, ...]]]  # first row, stride, blocks, owners of the columns
SOFT = 0.01  # of the largest torque: within it a gear changes its direction of power
ROUNDED = 2e-3  # m; edges of regions are rounded by this
GUESSED = 0.5  # a motion's own steps, of those of the guess
GRADED = 4  # intervals at either end, each twice as long as the one before it
OUTERMOST = 1  # of them
TIE_BREAK = 0.01  # weight of the accelerations beside the time: decides what time leaves open
IDLE = 1e7  # times that, of axes that have nowhere to go and help no other one
SLOWEST = 50.0  # times the guess
USUAL_POWER = 100.0  # W; scale of the bus where its only limit is zero


@dataclass(frozen=True, eq=False)
class Program:
    """A transcribed motion: its program, start, bounds and how to read its variables.

    ``mesh`` (N + 1,): nodes as parts of the duration. ``rows``: for every group of rows, by name, the first row, its
    stride from block to block, the number of blocks and who each column belongs to. ``signs`` (N + 1, m): which way
    motors turn, 0 where that is not known; ``eps`` (m,) [rad/s]: below it a motor counts as about to turn back.
    ``ends``: the outermost intervals (N,), whose voltage is bounded at their ends, and all in which currents build up.
    """

    form: Form
    nlp: BlockNlp
    x0: Array
    low: Array
    high: Array
    mesh: Array
    table: dict[str, float]
    objective_scale: float
    rows: Rows
    signs: Array
    eps: Array
    ends: tuple[BoolArray, BoolArray]

    @property
    def T_index(self) -> int:
        """Place of the duration among the variables."""
        return self.mesh.size * self.form.width

    def nodes(self, x: Array) -> Array:
        """The scaled variables of all nodes (N + 1, width)."""
        return x[: self.T_index].reshape(self.mesh.size, self.form.width)

    def scales(self) -> Array:
        """What one stands for, for each variable of a node (width,)."""
        n, m = self.form.n, self.form.m
        names = [f"{s}{k}" for s in ("oZsq", "oZsv", "oZsa") for k in range(n)] + [
            f"oZsi{k}" for k in range(m)
        ]
        return np.array([self.table[name] for name in names])

    def room(self, current: Array) -> Array:
        """What the bounds of the nodes' currents (N + 1, m) [A] leave of their limits (m,); zero where none is."""
        first = 3 * self.form.n
        low, high = self.nodes(self.low)[:, first:], self.nodes(self.high)[:, first:]
        left = current - high * self.scales()[first:]
        return np.where((low < high) & np.isfinite(current), np.maximum(np.nan_to_num(left), 0.0), 0.0)

    def row_values(self, name: str, values: Array) -> Array:
        """The values of a group of rows (blocks, columns)."""
        first, stride, count, who = self.rows[name]
        at = first + stride * np.arange(count)[:, None] + np.arange(len(who))[None, :]
        return np.asarray(values[at])


def mesh_of(intervals: int, graded: bool) -> Array:
    """Nodes as parts of the duration: even, and finer at both ends where currents have to build up first."""
    lengths = np.ones(intervals)
    if graded:
        ramp = 0.5 ** np.arange(GRADED, 0, -1)
        lengths[:GRADED], lengths[-GRADED:] = ramp, ramp[::-1]
    nodes = np.concatenate([[0.0], np.cumsum(lengths)])
    return np.asarray(nodes / nodes[-1])


def at_ends(mesh: Array, task: Task, count: int) -> BoolArray:
    """Which intervals (N,) are among the first or last ``count`` of a graded mesh, or were cut out of them."""
    middle, edge = 0.5 * (mesh[1:] + mesh[:-1]), mesh_of(task.intervals, graded=True)[count]
    return np.asarray(np.minimum(middle, 1.0 - middle) < edge)


def form_of(robot: Robot, drives: DriveModel, limits: MotionLimits, task: Task, step: float) -> Form:
    """Which rows a motion of this robot has on a mesh with usual steps of ``step`` [s]."""
    fed = np.isfinite(drives.voltage) & task.voltage
    electric = ["pmsm" if x > 0.0 else "dc" for x in drives.reactance]
    feed = tuple(
        "valve" if valve else kind * bool(on)
        for valve, kind, on in zip(drives.valve, electric, fed, strict=True)
    )
    valves = tuple(int(j) for j in np.flatnonzero(drives.valve)) if task.flow else ()
    # A current that builds up within a step follows the voltage; a slower one is driven by what is left of it.
    slow = GUESSED * step * drives.R < drives.L
    tool = math.isfinite(limits.tool_speed), math.isfinite(limits.tool_acceleration)
    coupled = (np.count_nonzero(drives.N, axis=1) > 1) & np.isfinite(drives.speed) & task.speed
    heated = np.flatnonzero(drives.heated & np.isfinite(drives.rise)) if task.temperature else ()
    coordinates = tuple(AXES.index(name) for name in sorted(task.within))
    regions = tuple(tuple(code for code, _ in region.faces()) for region in task.keep_out)
    return Form(
        n=robot.n,
        m=drives.m,
        feed=feed,
        steady=tuple(int(j) for j in np.flatnonzero(fed & ~slow)),
        inductive=tuple(int(j) for j in np.flatnonzero(fed & (drives.L > 0.0))),
        effort=_effort_rows(drives, limits, task),
        motor_speed=tuple(int(j) for j in np.flatnonzero(coupled)),
        quantities=len(limits.quantities.names),
        tool_speed=tool[0],
        tool_acceleration=tool[1],
        coordinates=coordinates,
        keep_out=regions,
        speed=tuple(int(j) for j in np.flatnonzero(np.isfinite(limits.speed))) if task.speed else (),
        jerk=tuple(int(j) for j in np.flatnonzero(np.isfinite(limits.jerk))) if task.jerk else (),
        heated=tuple(int(j) for j in heated),
        bus=bool(np.isfinite(task.bus_power).any()),
        valves=valves,
        pump=bool(valves) and drives.valves is not None and math.isfinite(drives.valves.pump),
        frame=robot.mechanism.tool if any(tool) or coordinates or regions else None,
    )


def _effort_rows(drives: DriveModel, limits: MotionLimits, task: Task) -> tuple[int, ...]:
    """Joints whose torque limit the motors can reach; of ideal motors the torque is the current."""
    if not task.effort or not drives.electric:
        return ()
    current = drives.current if task.current else np.full(drives.m, np.inf)
    friction = drives.coulomb + drives.viscous * (np.abs(drives.N) @ np.minimum(limits.speed, 1e3))
    # Braking, a gear with losses holds back more than its motor gives.
    most = np.where(drives.efficiency < 1.0, np.inf, drives.K * current + friction)
    moved = drives.N != 0.0  # a motor that may give any torque gives none to joints that it does not move
    reach = np.where(moved, np.abs(drives.N) * np.where(moved, most[:, None], 0.0), 0.0).sum(axis=0)
    return tuple(int(j) for j in np.flatnonzero(reach > limits.torque))


def transcribe(
    robot: Robot,
    drives: DriveModel,
    limits: MotionLimits,
    task: Task,
    guess: Guess,
    ends: tuple[Array, Array],
    rounded: float = ROUNDED,
) -> Program:
    """The program of a motion from ends[0] to ends[1] (n,), started at a guess on its mesh.

    ``rounded`` [m]: by how much edges of regions are rounded off.
    """
    form = form_of(robot, drives, limits, task, guess.T / task.intervals)
    table, scale = parameters(robot, drives, limits, task, guess, form)
    table["oRound"] = rounded
    mesh = guess.mesh
    count, width = mesh.size, form.width
    T, heated = count * width, len(form.heated)
    nlp = BlockNlp(T + 1 + heated)
    node = width * np.arange(count)[:, None] + np.arange(width)[None, :]
    rows: Rows = {}
    numbers = robot.numbers

    def code(kind: str, function: Callable[[Derivation, Form], BlockFunction]) -> BlockCode:
        return compile_block(f"optimal/{kind}/{form.name}", lambda d: function(d, form), numbers, table)

    names, low, high = _node_bounds(robot, drives, limits, task, form)
    step = float(np.diff(mesh).min()) * guess.T
    lead = np.zeros((count, 1))
    lead[0], lead[-1] = step, -step
    hot = np.broadcast_to(T + 1 + np.arange(heated), (count, heated))
    first = nlp.add(
        code("node", node_function), np.hstack([node, hot]), np.hstack([lead, guess.signs]), low, high
    )
    _note(rows, first, len(low), count, names)
    names, low, high = _link_bounds(robot, drives, limits, task, form)
    tail = np.broadcast_to(T + np.arange(1 + heated), (count - 1, 1 + heated))
    link = np.hstack([node[:-1], node[1:], tail])
    # Of an interval, where its voltage is bounded: while a current builds up, it is largest at the end.
    part = np.where(at_ends(mesh, task, OUTERMOST), 1.0, 0.5)
    between = np.hstack([np.diff(mesh)[:, None], part[:, None], interval_signs(guess.signs)])
    first = nlp.add(code("link", link_function), link, between, low, high)
    _note(rows, first, len(low), count - 1, names)
    if heated:
        owners = tuple(drives.names[j] for j in form.heated)
        rows["heat"] = (_add_heat(nlp, code, form, node, T, mesh), 0, 1, owners)
    x_low, x_high = _variable_bounds(robot, drives, limits, task, form, table, guess, ends)
    eps = np.array([table[f"oEps{j}"] for j in range(form.m)]) * (SHARP_SMOOTH / guess.smooth)
    return Program(
        form, nlp, _start(form, table, guess, x_low, x_high), x_low, x_high, mesh, table, scale, rows,
        guess.signs, eps, (at_ends(mesh, task, OUTERMOST), at_ends(mesh, task, GRADED)),
    )  # fmt: skip


def _note(
    rows: Rows,
    first: int,
    stride: int,
    count: int,
    names: list[tuple[str, str]],
) -> None:
    """Where each group of rows stands; ``names``: group and owner of every row of a block."""
    for k, (group, _) in enumerate(names):
        if group not in rows:
            who = tuple(owner for name, owner in names if name == group)
            rows[group] = (first + k, stride, count, who)


def _add_heat(nlp: BlockNlp, code: Any, form: Form, node: NDArray[np.int_], T: int, mesh: Array) -> int:
    """The balance of heat of every heated motor over the cycle; its first row."""
    count, at = len(form.heated), 3 * form.n + np.array(form.heated)
    rise = T + 1 + np.arange(count)
    tail = np.broadcast_to(np.concatenate([[T], rise]), (len(node) - 1, 1 + count))
    index = np.hstack([node[:-1, at], node[1:, at], tail])
    zero = np.zeros(count)
    first = nlp.add_sum(code("heat", heat_function), index, np.diff(mesh)[:, None], zero, zero)
    last = np.concatenate([node[-1, at], rise])[None, :]
    nlp.add_to(code("rest-heat", rest_heat_function), last, np.zeros((1, 0)), first)
    return first


def parameters(
    robot: Robot, drives: DriveModel, limits: MotionLimits, task: Task, guess: Guess, form: Form
) -> tuple[dict[str, float], float]:
    """All numbers of the functions by name, and what one of the objective stands for [s, J]."""
    table = robot.numbers.table(drives=True, frame=form.frame)
    n, m = form.n, form.m

    def put(name: str, values: Array) -> None:
        table.update((f"{name}{k}", float(x)) for k, x in enumerate(np.ravel(values)))

    put("oZsq", guess.q_scale)
    put("oZsv", guess.v_scale)
    put("oZsa", guess.a_scale)
    put("oZsi", guess.i_scale)
    table["oZT"] = guess.T
    inverse = drives.N_inverse
    for j in range(m):
        table.update((f"oN{j}_{k}", float(drives.N[j, k])) for k in range(n))
        table.update((f"oM{k}_{j}", float(inverse[k, j])) for k in range(n))
    top = np.abs(drives.N) @ guess.v_scale
    # The quickest motor decides for all: slow ones with sharp friction of their own would be hard to solve.
    reached = top * min(float((np.abs(guess.v @ drives.N.T).max(axis=0) / top).max()), 1.0)
    eta = drives.efficiency
    for name, values in {
        "oK": drives.K, "oR": drives.R, "oRb": drives.R_bridge, "oL": drives.L, "oKb": drives.K_b,
        "oX": drives.reactance, "oU": task.modulation * _finite(drives.voltage), "oPh": drives.phases,
        "oFv": drives.viscous, "oFc": drives.coulomb, "oEps": guess.smooth * reached, "oJm": drives.J_m,
        "oGain": 0.5 * (1.0 / eta + eta), "oLoss": 0.5 * (1.0 / eta - eta),
        "oSoft": SOFT * drives.K * guess.i_scale, "oWm": _finite(drives.speed), "oTau": _finite(limits.torque),
        "oV": _finite(limits.speed), "oJ": _finite(limits.jerk), "oTh": _finite(drives.rise), "oAl": drives.alpha,
        "oRth": _finite(np.where(drives.heated, drives.R_wh + drives.R_ha, 2.0)),
    }.items():  # fmt: skip
        put(name, values)
    put("oOff", drives.offset)
    put("oWa", np.where(guess.idle, IDLE, 1.0))
    put("oHold", guess.holding(-1))
    if drives.valves is not None:
        table.update(drives.valves.numbers())
    for k in range(form.quantities):
        table.update((f"oA{k}_{j}", float(limits.quantities.A[k, j])) for j in range(n))
    table["oVt"], table["oAt"] = (_one(x) for x in (limits.tool_speed, limits.tool_acceleration))
    for k, region in enumerate(task.keep_out):
        table.update((f"oB{k}_{j}", value) for j, (_, value) in enumerate(region.faces()))
    table["oP"] = guess.power
    table["oRest"] = task.rest
    return table, _weights(table, task, guess)


def _weights(table: dict[str, float], task: Task, guess: Guess) -> float:
    """Weights of time, currents, copper loss and work in an objective of about one; its scale."""
    copper, work = guess.copper, guess.work
    time, energy = {"time": (1.0, task.energy_weight), "energy": (0.0, 1.0), "copper": (0.0, 1.0)}[
        task.objective
    ]
    both = task.objective != "copper"
    scale = time * guess.T + energy * max(copper + (abs(work) if both else 0.0), 1e-9)
    table["oWt"] = time * guess.T / scale
    table["oWr"] = TIE_BREAK if task.objective == "time" and not energy else 0.0
    table["oWc"], table["oWw"] = energy / scale, (energy if both else 0.0) / scale
    return scale


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, 2.0)


def _one(value: float) -> float:
    return value if math.isfinite(value) else 2.0


def _node_bounds(
    robot: Robot, drives: DriveModel, limits: MotionLimits, task: Task, form: Form
) -> tuple[list[tuple[str, str]], Array, Array]:
    """Group, owner and bounds of the rows of ``node_function``, in its order."""
    joints = robot.joint_names
    rows: list[NamedRow] = []
    rows += [("dynamics", name, 0.0, 0.0) for name in drives.names]
    rows += [("torque", joints[j], -1.0, 1.0) for j in form.effort]
    rows += [("motor speed", drives.names[j], -1.0, 1.0) for j in form.motor_speed]
    quantities = limits.quantities
    for k, name in enumerate(quantities.names):
        shift = float(quantities.values(np.zeros(robot.n))[k])
        rows.append(("range", name, float(quantities.low[k]) - shift, float(quantities.high[k]) - shift))
    rows += [("voltage", drives.names[j], *voltage_bounds(form, j)) for j in form.steady]
    for way in ("forward", "backward"):
        rows += [(f"valve {way}", drives.names[j], -math.inf, 1.0) for j in form.valves]
    if form.pump:
        rows.append(("pump flow", "supply", -math.inf, 1.0))
    if form.bus:
        low, high = task.bus_power
        rows.append(("bus power", "bus", low / power_scale(task), high / power_scale(task)))
    if form.tool_speed:
        rows.append(("tool speed", "tool", -math.inf, 1.0))
    if form.tool_acceleration:
        rows.append(("tool acceleration", "tool", -math.inf, 1.0))
    for axis in form.coordinates:
        low, high = task.within[AXES[axis]]
        rows.append(("tool range", AXES[axis], low, high))
    rows += [("region", f"{k + 1}", 0.0, math.inf) for k in range(len(form.keep_out))]
    return [row[:2] for row in rows], np.array([row[2] for row in rows]), np.array([row[3] for row in rows])


def _link_bounds(
    robot: Robot, drives: DriveModel, limits: MotionLimits, task: Task, form: Form
) -> tuple[list[tuple[str, str]], Array, Array]:
    """The same of ``link_function``."""
    joints = robot.joint_names
    rows: list[NamedRow] = []
    rows += [("position defect", name, 0.0, 0.0) for name in joints]
    rows += [("speed defect", name, 0.0, 0.0) for name in joints]
    rows += [("speed between", joints[j], -1.0, 1.0) for j in form.speed]
    rows += [("motor speed between", drives.names[j], -1.0, 1.0) for j in form.motor_speed]
    rows += [("jerk", joints[j], -1.0, 1.0) for j in form.jerk]
    rows += [("voltage between", drives.names[j], *voltage_bounds(form, j)) for j in form.inductive]
    for way in ("forward", "backward"):
        rows += [(f"valve {way} between", drives.names[j], -math.inf, 1.0) for j in form.valves]
    if form.bus:
        low, high = (x / power_scale(task) for x in task.bus_power)
        rows += [("bus power between", "bus", low, high)] * len(BUS_POINTS)
    return [row[:2] for row in rows], np.array([row[2] for row in rows]), np.array([row[3] for row in rows])


def voltage_bounds(form: Form, j: int) -> tuple[float, float]:
    """Bounds of a row of voltage; that of a synchronous motor is a square."""
    return (-1.0 if form.feed[j] == "dc" else -math.inf), 1.0


def power_scale(task: Task) -> float:
    """What one of the rows of the bus stands for [W]."""
    finite = [abs(x) for x in task.bus_power if math.isfinite(x) and x != 0.0]
    return max(finite) if finite else USUAL_POWER


def _variable_bounds(
    robot: Robot,
    drives: DriveModel,
    limits: MotionLimits,
    task: Task,
    form: Form,
    table: dict[str, float],
    guess: Guess,
    ends: tuple[Array, Array],
) -> tuple[Array, Array]:
    """Bounds of all variables, scaled."""
    n, m, count = form.n, form.m, guess.mesh.size
    speed = _joint_speeds(drives, limits) if task.speed else np.full(n, np.inf)
    current = drives.current if task.current else np.full(m, np.inf)
    a = robot.limits.qdd_max
    top = np.concatenate(
        [limits.q_max / guess.q_scale, speed / guess.v_scale, a / guess.a_scale, current / guess.i_scale],
    )
    bottom = -top
    bottom[:n] = limits.q_min / guess.q_scale
    low, high = np.tile(bottom, (count, 1)), np.tile(top, (count, 1))
    low[:, 3 * n :] += guess.room / guess.i_scale
    high[:, 3 * n :] -= guess.room / guess.i_scale
    for k, q, free in ((0, ends[0], task.free_start), (-1, ends[1], task.free_end)):
        low[k, :n] = high[k, :n] = q / guess.q_scale
        if free:
            continue
        low[k, n : 2 * n] = high[k, n : 2 * n] = 0.0
        held_by = held_motors(drives, task)
        if form.jerk and not held_by.any():  # where currents are held, this follows
            low[k, 2 * n + np.array(form.jerk)] = high[k, 2 * n + np.array(form.jerk)] = 0.0
        soft = np.array([table[f"oSoft{j}"] for j in range(m)])
        held = end_currents(drives, guess.holding(k), guess.signs[k], soft) / guess.i_scale
        for j in np.flatnonzero(held_by):
            low[k, 3 * n + j] = high[k, 3 * n + j] = held[j]
    eps = np.array([table[f"oEps{j}"] for j in range(m)])
    bound_signs(drives, guess.signs, slow_speeds(drives, eps, guess.v_scale), low[:, n:], high[:, n:])
    longest = min(task.longest, SLOWEST * guess.T) / guess.T
    time = (longest * 1e-4, longest) if task.duration is None else (task.duration / guess.T,) * 2
    hottest = np.array([1.0 - guess.ripple[j] / drives.rise[j] for j in form.heated])
    # A rise is not below zero by its balance; a bound there would price heat that costs nothing.
    return (
        np.concatenate([low.ravel(), [time[0]], hottest - 2.0]),
        np.concatenate([high.ravel(), [time[1]], hottest]),
    )


def held_motors(drives: DriveModel, task: Task) -> BoolArray:
    """Motors (m,) whose current or force cannot jump under the limits of a task."""
    return np.asarray(drives.hold & np.where(drives.valve, task.flow, task.voltage))


def _joint_speeds(drives: DriveModel, limits: MotionLimits) -> Array:
    """Speed limits of the joints with those of motors that move one joint only."""
    speed = limits.speed.copy()
    for j, row in enumerate(drives.N):
        moved = np.flatnonzero(row)
        if moved.size == 1:
            speed[moved[0]] = min(speed[moved[0]], drives.speed[j] / abs(row[moved[0]]))
    return speed


def _start(form: Form, table: dict[str, float], guess: Guess, low: Array, high: Array) -> Array:
    parts = [
        guess.q / guess.q_scale,
        guess.v / guess.v_scale,
        guess.a / guess.a_scale,
        guess.i / guess.i_scale,
    ]
    rise = [guess.rise[j] / table[f"oTh{j}"] for j in form.heated]
    return np.asarray(np.clip(np.concatenate([np.hstack(parts).ravel(), [1.0], rise]), low, high))
