"""Ways round regions that the tool point must stay out of: places beside them, and motions that begin there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.dense_check import depths
from servotwin.motion.optimal.task import AXES, Task
from servotwin.robot.robot import Robot

BESIDE = 0.03  # m from a face
PARTS = (0.5, 0.0, 1.0)  # of the line, from where a place beside is sought
POINTS = 200  # of a line in joint space
STEPS = 60  # of the inverse kinematics
DAMPING = 1e-3  # m or rad
REACHED = 5e-3  # m


def regions_passed(robot: Robot, task: Task, q: Array) -> list[tuple[int, float]]:
    """Which regions, counted from 1, a motion q (k, n) passes through, and how deep [m]."""
    p = robot.fkine(q)[:, :3, 3]
    deep = [float(depths(region, p[None]).max()) for region in task.keep_out]
    return [(k + 1, depth) for k, depth in enumerate(deep) if depth > 0.0]


def detours(robot: Robot, limits: MotionLimits, task: Task, ends: tuple[Array, Array]) -> Iterator[Array]:
    """Positions (n,) with the tool beside a face of a region that the straight line passes, on several branches."""
    line = ends[0] + np.linspace(0.0, 1.0, POINTS)[:, None] * (ends[1] - ends[0])
    passed = {number for number, _ in regions_passed(robot, task, line)}
    for number in sorted(passed or range(1, len(task.keep_out) + 1)):
        region = task.keep_out[number - 1]
        for (code, face), part in product(region.faces(), PARTS):
            near = ends[0] + part * (ends[1] - ends[0])
            target = robot.fkine(near)[:3, 3]
            for axis, (low, high) in enumerate((region.x, region.y, region.z)):
                if low is not None and high is not None and np.isfinite([low, high]).all():
                    target[axis] = 0.5 * (low + high)
            target[code // 2] = face + (BESIDE if code % 2 else -BESIDE)
            q = _reach(robot, limits, near, target)
            if q is not None:
                yield q


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
