"""Ways round regions that the tool point must stay out of: places beside them, and motions that begin there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.dense_check import depths
from servotwin.motion.optimal.guess import bump, quintic
from servotwin.motion.optimal.task import AXES, Task
from servotwin.robot.robot import Robot

BESIDE = (0.03, 0.1, 0.2)  # m from a face
PARTS = (0.25, 0.5, 0.75)  # of the line, whose tool point is moved aside
BENT = (0.8, 1.0, 1.25, 1.6)  # times as far
POINTS = 200  # of a line in joint space
STEPS = 60  # of the inverse kinematics
DAMPING = 1e-3  # m or rad
REACHED = 5e-3  # m


def regions_passed(robot: Robot, task: Task, q: Array) -> list[tuple[int, float]]:
    """Which regions, counted from 1, a motion q (k, n) passes through, and how deep [m]."""
    p = robot.fkine(q)[:, :3, 3]
    deep = [float(depths(region, p[None]).max()) for region in task.keep_out]
    return [(k + 1, depth) for k, depth in enumerate(deep) if depth > 0.0]


def detours(robot: Robot, limits: MotionLimits, task: Task, ends: tuple[Array, Array]) -> list[Array]:
    """How far (n,) to bend the straight line half-way so that the tool passes beside the regions, one for each side."""
    mesh = np.linspace(0.0, 1.0, POINTS)
    line = ends[0] + quintic(mesh)[0][:, None] * (ends[1] - ends[0])
    passed = {number for number, _ in regions_passed(robot, task, line)}
    out = []
    for number in sorted(passed or range(1, len(task.keep_out) + 1)):
        for code, face in task.keep_out[number - 1].faces():
            asides = _asides(robot, limits, ends, code, face)
            clear = (x for x in asides if _free(robot, limits, task, line + bump(mesh)[0][:, None] * x))
            found = next(clear, None)
            if found is not None:
                out.append(found)
    return out


def _asides(
    robot: Robot, limits: MotionLimits, ends: tuple[Array, Array], code: int, face: float
) -> Iterator[Array]:
    """Bends (n,) that bring tool points of the straight line beside a face, nearer ones first."""
    for margin, part in product(BESIDE, PARTS):
        middle = ends[0] + part * (ends[1] - ends[0])
        target = robot.fkine(middle)[:3, 3]
        target[code // 2] = face + (margin if code % 2 else -margin)
        q = _reach(robot, limits, middle, target)
        if q is not None:
            yield from (k * (q - middle) for k in BENT)


def _free(robot: Robot, limits: MotionLimits, task: Task, q: Array) -> bool:
    return bool(limits.beyond(q).max() <= 0.0) and not regions_passed(robot, task, q)


def _reach(robot: Robot, limits: MotionLimits, q: Array, target: Array) -> Array | None:
    """Joint positions near q that bring the tool point to a place, by damped least squares; None if there are none."""
    q = q.copy()
    for _ in range(STEPS):
        miss = target - robot.fkine(q)[:3, 3]
        if np.linalg.norm(miss) < REACHED:
            return q
        J = robot.jacob0(q)[:3]
        step = J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(3), miss)
        q = np.clip(q + step, limits.q_min, limits.q_max)
    return None


def way_round_text(robot: Robot, task: Task, q: Array, duration: float) -> str | None:
    """What to say where no way round was found, of the motion q (k, n) without regions; None if that passes none."""
    passed = regions_passed(robot, task, q)
    if not passed:
        return None
    what = " and ".join(f"region {number} (by {1e3 * depth:.3g} mm)" for number, depth in passed)
    sides = sorted({AXES[code // 2] for number, _ in passed for code, _ in task.keep_out[number - 1].faces()})
    return (
        f"without regions the motion takes {duration:.4g} s and passes through {what}; no way round was found, "
        f"on any side in {', '.join(sides)}"
    )
