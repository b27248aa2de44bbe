r"""From the variables and multipliers of a solved program to a motion, its limits and what they cost.

By the envelope theorem the objective falls with a limit b of a row g(x) <= b as

.. math:: \frac{dJ^*}{db} = -\lambda                                                          (eq:multiplier)

so a multiplier says what one more volt, ampere, newton metre or kelvin would buy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.between_nodes import Motion, model_error, motion_of
from servotwin.motion.optimal.drive_model import DriveModel
from servotwin.motion.optimal.heat import winding_temperatures
from servotwin.motion.optimal.holding import holding_currents
from servotwin.motion.optimal.hydraulic_energy import largest_flows, supply_energy, supply_flows
from servotwin.motion.optimal.infeasible import RowProgram
from servotwin.motion.optimal.ipopt import Solution
from servotwin.motion.optimal.result import LimitUse
from servotwin.motion.optimal.task import Task
from servotwin.motion.optimal.transcription import Program
from servotwin.motion.optimal.valve_limits import Limit, force_gain, valve_limits, valve_rows_used
from servotwin.robot.robot import Robot

AT_LIMIT = 0.999  # share of a limit from which it counts as active
ZERO_POWER = 1e-4  # of the scale of the bus: where no power may flow, what counts as none


def node_voltages(drives: DriveModel, motion: Motion, steady: Sequence[int]) -> Array:
    """Voltages (N + 1, m) [V] at the nodes; see ``voltages``."""
    R = drives.R.copy()
    for j, rise in motion.rise.items():
        R[j] *= 1.0 + drives.alpha[j] * rise
    shaft = motion.v @ drives.N.T, motion.a @ drives.N.T
    return voltages(drives, R + drives.R_bridge, motion.t, motion.i, shaft, steady)


def voltages(
    drives: DriveModel, R: Array, t: Array, i: Array, shaft: tuple[Array, Array], steady: Sequence[int]
) -> Array:
    """Voltages (N + 1, m) [V] at nodes, of three phases the amplitude: the largest that is limited there.

    ``R`` (m,) [ohm] of winding and bridge; ``shaft``: speeds and accelerations (N + 1, m). Limited are the voltages at
    a node of motors that are ``steady``, whose current follows the speed (eq:steady-slope), and of all with inductance
    those half-way through the intervals before and after it: they jump where the slope of the current does.
    """
    w, wd = shaft
    chosen = list(steady)
    slope = np.zeros_like(i)
    slope[:, chosen] = (-drives.K_b * wd)[:, chosen] / R[chosen]  # eq:steady-slope
    at = _amplitudes(drives, R, i, w, slope)
    h = np.diff(t)[:, None]
    speed = 0.5 * (w[1:] + w[:-1]) + h * (wd[:-1] - wd[1:]) / 8.0
    middle = _amplitudes(drives, R, 0.5 * (i[1:] + i[:-1]), speed, np.diff(i, axis=0) / h)
    before, after = np.concatenate([middle[:1], middle]), np.concatenate([middle, middle[-1:]])
    beside = np.where(np.abs(before) > np.abs(after), before, after)
    only = drives.L <= 0.0  # what is limited at the node alone
    kept = np.isin(np.arange(drives.m), chosen) & (np.abs(at) >= np.abs(beside))
    return np.where(only | kept, at, beside)


def _amplitudes(drives: DriveModel, R: Array, i: Array, w: Array, slope: Array) -> Array:
    along = R * i + drives.K_b * w + drives.L * slope
    amplitude = np.hypot(along, drives.reactance * w * i)
    return np.where(drives.reactance > 0.0, np.copysign(amplitude, along), along)


def read_answer(
    robot: Robot, drives: DriveModel, limits: MotionLimits, task: Task, program: Program, solution: Solution
) -> dict[str, object]:
    """The fields of ``OptimalMotion`` that follow from the variables."""
    motion = motion_of(program, solution.x)
    w = motion.v @ drives.N.T
    u = node_voltages(drives, motion, program.form.steady)
    R = np.array([drives.R[j] * (1.0 + drives.alpha[j] * motion.rise.get(j, 0.0)) for j in range(drives.m)])
    square = (motion.i[1:] ** 2 + motion.i[1:] * motion.i[:-1] + motion.i[:-1] ** 2) / 3.0
    dt = np.diff(motion.t)[:, None]
    copper = float((drives.phases * (R + drives.R_bridge) * square * dt).sum()) if drives.electric else 0.0
    along = (R + drives.R_bridge) * motion.i**2 * drives.phases + drives.K_electric * motion.i * w
    return {
        "t": motion.t,
        "q": motion.q,
        "qd": motion.v,
        "qdd": motion.a,
        "torque": robot.rne(motion.q, motion.v, motion.a, drives=True),
        "motor_speed": w,
        "current": motion.i + drives.offset,
        **hydraulic_fields(drives, motion.t, w, motion.a @ drives.N.T, motion.i + drives.offset),
        "voltage": u,
        "winding": winding_temperatures(
            drives, motion.t, motion.i, task.rest, holding_currents(robot, drives, motion.q[-1])
        ),
        "bus_power": along.sum(axis=1),
        "copper_loss": copper,
        "mechanical_work": _work(drives, motion),
        "limits": _uses(robot, drives, limits, task, program, solution, motion),
        "active": _active(program, solution, robot, drives, motion),
        "model_error": model_error(robot, drives, program, motion),
        "tool": robot.fkine(motion.q)[:, :3, 3],
    }


def hydraulic_fields(drives: DriveModel, t: Array, w: Array, wd: Array, force: Array) -> dict[str, object]:
    """The fields of ``OptimalMotion`` about servovalves, from speeds, accelerations and forces (N + 1, m)."""
    valves = drives.valves
    if valves is None:
        return {"opening": np.full(w.shape, np.nan)}
    return {
        "opening": valves.openings(w, force),
        "flow": supply_flows(valves, w),
        "flow_limit": largest_flows(valves, w, force),
        "force_limit": np.stack(valves.forces_at(w)),
        "rotary_valves": tuple(
            name for name, turns in zip(drives.names, valves.rotary, strict=True) if turns
        ),
        "hydraulic_energy": supply_energy(valves, t, w, wd),
    }


def _work(drives: DriveModel, motion: Motion) -> float:
    """Mechanical work of the motors [J], by Simpson's rule as in eq:electrical-energy."""
    h = np.diff(motion.t)[:, None]
    w, wd = motion.v @ drives.N.T, motion.a @ drives.N.T
    middle = 0.5 * (w[1:] + w[:-1]) + h * (wd[:-1] - wd[1:]) / 8.0
    product = motion.i[:-1] * w[:-1] + 2.0 * (motion.i[:-1] + motion.i[1:]) * middle + motion.i[1:] * w[1:]
    return float((drives.K_electric * product * h / 6.0).sum())


def _uses(
    robot: Robot,
    drives: DriveModel,
    limits: MotionLimits,
    task: Task,
    program: Program,
    solution: Solution,
    motion: Motion,
) -> tuple[LimitUse, ...]:
    scale = program.objective_scale
    dt = np.diff(motion.t)
    out = []
    for limit in limit_list(robot, drives, program, solution, motion):
        at = _at_limit(limit)
        time = (
            float((0.5 * (at[1:].astype(float) + at[:-1]) * dt).sum())
            if at.size == motion.t.size
            else float(at.all()) * motion.t[-1]
        )
        gain = limit.gain * scale
        out.append(
            LimitUse(
                limit.what,
                limit.who,
                limit.value,
                limit.unit,
                float(limit.share.max()),
                time / motion.t[-1],
                gain,
            )
        )
    return tuple(out)


def _at_limit(limit: Limit) -> BoolArray:
    """Where (N + 1,) a limit decides."""
    share = limit.share if limit.at is None else np.maximum(limit.share, limit.at)
    return np.asarray(share >= AT_LIMIT)


def _active(
    program: Program, solution: Solution, robot: Robot, drives: DriveModel, motion: Motion
) -> tuple[tuple[str, ...], ...]:
    """For every node the limits that it is at."""
    names: list[list[str]] = [[] for _ in motion.t]
    for limit in limit_list(robot, drives, program, solution, motion):
        if limit.share.size == motion.t.size:
            for k in np.flatnonzero(_at_limit(limit)):
                names[k].append(f"{limit.what} {limit.who}")
        elif limit.share.max() >= AT_LIMIT:
            for entry in names:
                entry.append(f"{limit.what} {limit.who}")
    return tuple(tuple(entry) for entry in names)


def limit_list(
    robot: Robot, drives: DriveModel, program: Program, solution: Solution, motion: Motion
) -> list[Limit]:
    """All limits that count, in the order of motors, joints, tool and supply."""
    n, table = program.form.n, program.table
    free = program.low < program.high
    top = np.maximum(program.nodes(program.high), -program.nodes(program.low)).max(axis=0)
    bound = _bound_prices(program, solution, top)
    given, most = program.nodes((~free).astype(float)) > 0.0, program.nodes(program.high) * program.scales()
    out: list[Limit] = []
    for j, name in enumerate(drives.names):
        value = float(top[3 * n + j]) * table[f"oZsi{j}"]
        if math.isfinite(value):
            what, unit = drives.effort(j)
            share = np.abs(motion.i[:, j]) / np.where(given[:, 3 * n + j], value, most[:, 3 * n + j])
            if drives.valve[j]:
                share, value = drives.share(j, motion.i[:, j])
            gain = float(bound[3 * n + j]) / table[f"oZsi{j}"] + force_gain(drives, program, solution, j)
            at = valve_rows_used(drives, program, solution, j)
            out.append(Limit(what, name, value, unit, share, gain, at))
    out += _voltages(drives, program, solution, motion)
    out += valve_limits(drives, program, solution, motion)
    out += _temperatures(drives, program, solution)
    for k, name in enumerate(robot.joint_names):
        out += _joint_limits(robot, program, solution, motion, k, name, bound, top)
    out += _row_limits(robot, drives, program, solution)
    return out + bus_limits(program, solution, table["oP"])


def _bound_prices(program: Program, solution: Solution, top: Array) -> Array:
    """Multipliers of the bounds of a node's variables, all nodes together (width,); what is given has no price.

    Nor has a bound of speed that only keeps a motor from turning against its sign, below the limit ``top`` (width,).
    """
    n, free = program.form.n, program.nodes(program.low) < program.nodes(program.high)
    total = np.zeros(program.form.width)
    for bounds, values in ((program.low, solution.mult_low), (program.high, solution.mult_high)):
        price = np.where(free, program.nodes(values), 0.0)
        limit = np.abs(program.nodes(bounds)[:, n : 2 * n]) > 0.5 * top[n : 2 * n]
        price[:, n : 2 * n] = np.where(limit, price[:, n : 2 * n], 0.0)
        total += price.sum(axis=0)
    return total


def bus_limits(program: RowProgram, solution: Solution, scale: float) -> list[Limit]:
    """Power taken from the bus and power fed back to it, where they are limited; ``scale`` [W] of their rows."""
    if "bus power" not in program.rows:
        return []
    power = program.row_values("bus power", solution.g)[:, 0]
    groups = [name for name in ("bus power", "bus power between") if name in program.rows]
    price = np.concatenate([program.row_values(name, solution.mult_g).ravel() for name in groups])
    out = []
    for what, sign, bounds in (
        ("bus power", 1.0, program.nlp.high),
        ("regeneration", -1.0, program.nlp.low),
    ):
        most = abs(float(program.row_values("bus power", np.concatenate(bounds))[0, 0]))
        if math.isfinite(most):
            share = sign * power / most if most else (sign * power >= -ZERO_POWER).astype(float)
            gain = float(np.maximum(sign * price, 0.0).sum()) / scale  # eq:multiplier
            out.append(Limit(what, "bus", scale * most, "W", np.maximum(share, 0.0), gain))
    return out


def _joint_limits(
    robot: Robot,
    program: Program,
    solution: Solution,
    motion: Motion,
    k: int,
    name: str,
    bound: Array,
    top: Array,
) -> list[Limit]:
    """Speed, acceleration and range of a joint."""
    n, table, unit = program.form.n, program.table, robot.joint_units[k]
    out = []
    value = float(top[n + k]) * table[f"oZsv{k}"]
    if math.isfinite(value):
        gain = float(bound[n + k]) / table[f"oZsv{k}"]
        if "speed between" in program.rows and name in program.rows["speed between"][3]:
            column = program.rows["speed between"][3].index(name)
            rows = program.row_values("speed between", solution.mult_g)[:, column]
            gain += float(np.abs(rows).sum()) / value
        out.append(Limit("speed", name, value, f"{unit}/s", np.abs(motion.v[:, k]) / value, gain))
    value = float(top[2 * n + k]) * table[f"oZsa{k}"]
    if math.isfinite(value):
        gain = float(bound[2 * n + k]) / table[f"oZsa{k}"]
        out.append(Limit("acceleration", name, value, f"{unit}/s2", np.abs(motion.a[:, k]) / value, gain))
    low, high = robot.limits.q_min[k], robot.limits.q_max[k]
    if math.isfinite(low) and math.isfinite(high):
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        share = np.abs(motion.q[:, k] - middle) / max(half, 1e-12)
        near = _beside_ends(share)
        share[near] = np.minimum(share[near], 0.99)  # the ends are given
        price = program.nodes(solution.mult_low + solution.mult_high)[:, k]
        nearest = motion.q[int(np.argmax(share)), k]
        value = float(high if nearest > middle else low)
        gain = float(price[~near].sum()) / table[f"oZsq{k}"]
        out.append(Limit("range", name, value, unit, share, gain))
    return out


def _beside_ends(share: Array) -> BoolArray:
    """Which nodes (N + 1,) are at a limit only because the motion begins or ends on it, both ends counted.

    Their multipliers are the barrier over a distance that the mesh decides about; they price nothing.
    """
    free = np.flatnonzero(share[1:-1] < AT_LIMIT) + 1
    near = np.ones(share.size, dtype=bool)
    if free.size:
        first = free[0] if share[0] >= AT_LIMIT else 1
        last = free[-1] if share[-1] >= AT_LIMIT else share.size - 2
        near[first : last + 1] = False
    return near


def _voltages(drives: DriveModel, program: Program, solution: Solution, motion: Motion) -> list[Limit]:
    """Of each motor the larger of what it needs at nodes and between them; both kinds of rows add up in the gain."""
    groups = [name for name in ("voltage", "voltage between") if name in program.rows]
    out = []
    for j, name in enumerate(drives.names):
        mine = [
            (group, program.rows[group][3].index(name)) for group in groups if name in program.rows[group][3]
        ]
        if not mine:
            continue
        U, squared = program.table[f"oU{j}"], program.form.feed[j] == "pmsm"
        used = np.zeros(program.mesh.size)
        for group, k in mine:
            values = np.abs(program.row_values(group, solution.g)[:, k])
            used[: values.size] = np.maximum(used[: values.size], values)
        cost = sum(float(np.abs(program.row_values(group, solution.mult_g)[:, k]).sum()) for group, k in mine)
        share = np.sqrt(used) if squared else used
        out.append(Limit("voltage", name, U, "V", share, cost / U * (2.0 if squared else 1.0)))
    return out


def _temperatures(drives: DriveModel, program: Program, solution: Solution) -> list[Limit]:
    at = program.T_index + 1
    out = []
    for k, j in enumerate(program.form.heated):
        share = np.array([solution.x[at + k] / program.high[at + k]])
        gain = float(solution.mult_high[at + k]) / drives.rise[j]
        value = float(drives.ambient[j] + drives.rise[j])
        out.append(Limit("temperature", drives.names[j], value, "degC", share, gain))
    return out


def _row_limits(robot: Robot, drives: DriveModel, program: Program, solution: Solution) -> list[Limit]:
    """Limits that are rows of their own: value, unit, and whether the row is a square."""
    table, out = program.table, []
    units = dict(zip(robot.joint_names, robot.joint_units, strict=True))
    for what, (_, _, _, owners) in program.rows.items():
        if what not in ("torque", "motor speed", "jerk", "tool speed", "tool acceleration"):
            continue
        values = np.abs(program.row_values(what, solution.g))
        cost = np.abs(program.row_values(what, solution.mult_g)).sum(axis=0)
        if what == "motor speed":
            cost = cost + np.abs(program.row_values("motor speed between", solution.mult_g)).sum(axis=0)
        for column, who in enumerate(owners):
            value, unit, squared = _row_unit(what, who, robot, drives, table, units)
            used = np.sqrt(values[:, column]) if squared else values[:, column]
            share = used if used.size == program.mesh.size else np.append(used, used[-1])
            gain = float(cost[column]) / value * (2.0 if squared else 1.0)
            out.append(Limit(what, who, value, unit, share, gain))
    return out


def _row_unit(
    what: str, who: str, robot: Robot, drives: DriveModel, table: dict[str, float], units: dict[str, str]
) -> tuple[float, str, bool]:
    if what == "torque":
        return table[f"oTau{robot.joint_names.index(who)}"], "N" if units[who] == "m" else "N m", False
    if what == "motor speed":
        return table[f"oWm{drives.names.index(who)}"], "rad/s", False
    if what == "jerk":
        return table[f"oJ{robot.joint_names.index(who)}"], f"{units[who]}/s3", False
    return (table["oVt"], "m/s", True) if what == "tool speed" else (table["oAt"], "m/s2", True)
