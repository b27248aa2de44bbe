"""Solve a motion along a path: with room for hot windings, at points that show what happens between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.errors import PathError
from servotwin.motion.joint_path import JointPath
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.dense_check import Samples, dense_check, instants
from servotwin.motion.optimal.drive_model import DriveModel
from servotwin.motion.optimal.guess import split_mesh
from servotwin.motion.optimal.heat import ripple
from servotwin.motion.optimal.holding import holding_currents
from servotwin.motion.optimal.infeasible import blame
from servotwin.motion.optimal.ipopt import Solution, solve_nlp
from servotwin.motion.optimal.path_numbers import (
    PathLaw,
    PathNumbers,
    directions,
    numbers_at,
    path_currents,
    soft_torques,
    turning,
)
from servotwin.motion.optimal.path_problem import FIRST_CURRENT
from servotwin.motion.optimal.path_program import PathProgram, path_program
from servotwin.motion.optimal.task import Task
from servotwin.robot.robot import Robot

FINER = 5  # rounds in which points are added
MOST_NODES = 4  # times the intervals of a task
WARM_OPTIONS = {"mu_init": 1e-4}
FREE_OPTIONS = {"mu_init": 1e-2}
# The adaptive rule for the barrier is quick or wanders; the monotone one follows, and then both have time.
TRIES: tuple[dict[str, str | int], ...] = (
    {"mu_strategy": "adaptive", "max_iter": 60},
    {},
    {"mu_strategy": "adaptive"},
)
STRAIGHT = 0.02  # of a limit of current: what it may differ from a straight line between two points
DRIVEN = 0.5  # of a voltage: more of it drives the current over to the other side
RESOLVED = 3.0  # intervals of an electric time constant, where a current is driven over
SHARP = 5e-4  # of the largest rise: a ripple below it needs no second solution


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
        return (
            np.clip(s, 0.0, self.s[-1]),
            self.sd[k] + d * (2.0 * c2 + 3.0 * d * c3),
            2.0 * c2 + 6.0 * d * c3,
        )


@dataclass(frozen=True, eq=False)
class PathTask:
    """What is asked along a path, and who is told of the progress."""

    robot: Robot
    drives: DriveModel
    limits: MotionLimits
    task: Task
    path: JointPath
    progress: Callable[[int, float], None] | None

    def program(self, numbers: PathNumbers, ripple: Array | None, law: PathLaw | None = None) -> PathProgram:
        """The program at these points; see ``path_program``."""
        return path_program(self.robot, self.drives, self.limits, self.task, numbers, ripple, law)


def solve_path(p: PathTask, numbers: PathNumbers) -> tuple[PathProgram, Solution]:
    """The optimal motion along a path, with points enough to keep its limits between them as well."""
    return _refined(p, *_settled(p, numbers))


def _settled(p: PathTask, numbers: PathNumbers) -> tuple[Array | None, PathProgram, Solution]:
    """The ripple of hot windings, if room is needed for it, and the solution with that."""
    program = p.program(numbers, None)
    solution = _solved(p, program)
    more, heated = _ripple(p, program, solution), list(program.form.heated)
    rise = solution.x[program.hot_index :] * p.drives.rise[heated]
    if not (rise + more[heated] > p.drives.rise[heated] * (1.0 + SHARP)).any():
        return None, program, solution
    program = p.program(numbers, more)
    return more, program, _solved(p, program)


def _ripple(p: PathTask, program: PathProgram, solution: Solution) -> Array:
    held = holding_currents(p.robot, p.drives, program.numbers.q[-1])
    return ripple(p.drives, *currents_over_time(program, solution), p.task.rest, held)


def _refined(
    p: PathTask, more: Array | None, program: PathProgram, solution: Solution
) -> tuple[PathProgram, Solution]:
    """The solution at more points wherever the motion exceeds a limit between them, for some rounds."""
    for _ in range(FINER):
        samples = path_samples(p.robot, p.drives, p.path, program, solution)
        over = np.any([x.over for x in dense_check(p.robot, p.drives, p.limits, p.task, samples)], axis=0)
        over |= current_gaps(program, solution, samples) > STRAIGHT
        over |= _switches(p, program, solution)
        if not over.any() or program.numbers.s.size > MOST_NODES * p.task.intervals:
            break
        t = split_mesh(currents_over_time(program, solution)[0], over)
        s, y, r = _law(program, solution).sample(t)
        s[0], s[-1] = program.numbers.s[[0, -1]]
        numbers = numbers_at(p.robot, p.path, s)
        i = path_law_currents(p.robot, p.drives, program, numbers, y, r)
        then = p.program(numbers, more, PathLaw(t, y, r, i))
        answer = solve_nlp(then.nlp, then.x0, then.low, then.high, WARM_OPTIONS, p.progress)
        answer = replace(answer, iterations=solution.iterations + answer.iterations)
        if not answer.solved:
            break
        program, solution = then, answer
    return program, solution


def _switches(p: PathTask, program: PathProgram, solution: Solution) -> BoolArray:
    """Intervals (N,) longer than an electric time constant in which a voltage turns a current over."""
    t, i = currents_over_time(program, solution)
    dt, L = np.diff(t)[:, None], p.drives.L
    driven = np.abs(np.diff(i, axis=0)) * L > DRIVEN * p.task.modulation * p.drives.voltage * dt
    inductive = np.isin(np.arange(p.drives.m), program.form.inductive)
    return np.asarray((inductive & driven & (RESOLVED * dt * p.drives.R > L)).any(axis=1))


def _law(program: PathProgram, solution: Solution) -> TimedLaw:
    """The motion of the path parameter."""
    t = currents_over_time(program, solution)[0]
    return TimedLaw(t, program.numbers.s, program.table["oZy"] * node_values(program, solution.x)[:, 0])


def current_gaps(program: PathProgram, solution: Solution, samples: Samples) -> Array:
    """Largest differences (N,) of straight lines of current from those needed between two points, by scale."""
    t, i = currents_over_time(program, solution)
    scale = np.array([program.table[f"oZsi{j}"] for j in range(i.shape[1])])
    given = np.stack([np.interp(samples.t.ravel(), t, column) for column in i.T], axis=1)
    gaps = (np.abs(samples.i - given) / scale).max(axis=1)
    return np.asarray(gaps.reshape(samples.t.shape).max(axis=1))


def path_law_currents(
    robot: Robot, drives: DriveModel, program: PathProgram, numbers: PathNumbers, y: Array, r: Array
) -> Array:
    """Currents (k, m) that speeds y and accelerations r (k,) of the path parameter need at points of the path."""
    motion = numbers.q, numbers.dq * y[:, None], numbers.dq * r[:, None] + numbers.ddq * y[:, None] ** 2
    way = directions(numbers.dq @ drives.N.T, turning(drives, program.numbers))
    return path_currents(robot, drives, soft_torques(drives, program.table), way, motion)


def path_samples(
    robot: Robot, drives: DriveModel, path: JointPath, program: PathProgram, solution: Solution
) -> Samples:
    """The motion between its points, and the currents that it needs there."""
    law = _law(program, solution)
    t, inside = instants(law.t)
    s, y, r = law.sample(inside)
    q, dq, ddq = path.at(s)
    v, a = dq * y[:, None], dq * r[:, None] + ddq * y[:, None] ** 2
    way = directions(dq @ drives.N.T, turning(drives, program.numbers))
    i = path_currents(robot, drives, soft_torques(drives, program.table), way, (q, v, a))
    rises = solution.x[program.hot_index :]
    rise = {j: float(x) * program.table[f"oTh{j}"] for j, x in zip(program.form.heated, rises, strict=True)}
    return Samples(t, q, v, a, i, rise, program.form.steady)


def _solved(p: PathTask, program: PathProgram) -> Solution:
    """The solution, by another rule for the barrier where the first one fails; PathError where there is none."""
    for x0, options in _starts(p, program):
        start = np.clip(x0, program.low, program.high)
        solution = solve_nlp(program.nlp, start, program.low, program.high, options, p.progress)
        if solution.solved:
            return solution
    what, who, text = blame(p.robot, p.drives, program, solution)
    raise PathError(f"no motion found ({solution.text}); {text}", index=0, what=what, axis=who, place=1.0)


def _starts(p: PathTask, program: PathProgram) -> Iterator[tuple[Array, dict[str, Any]]]:
    """Where to start from and with which options; at last from the motion without limits of the bus."""
    for options in TRIES:
        yield program.x0, options
    if program.form.bus:
        task = replace(p.task, bus_power=(-math.inf, math.inf))
        yield (
            _solved(replace(p, task=task), replace(p, task=task).program(program.numbers, None)).x,
            FREE_OPTIONS,
        )


def node_values(program: PathProgram, values: Array) -> Array:
    """Values of all variables of the points (N + 1, width)."""
    return values[: program.hot_index].reshape(program.numbers.s.size, program.form.width)


def currents_over_time(program: PathProgram, solution: Solution) -> tuple[Array, Array]:
    """Instants (N + 1,) [s] and currents (N + 1, m) [A]."""
    z, form = node_values(program, solution.x), program.form
    t = np.concatenate([[0.0], np.cumsum(program.table["oZt"] * z[:-1, 2])])
    return t, z[:, FIRST_CURRENT:] * np.array([program.table[f"oZsi{j}"] for j in range(form.m)])
