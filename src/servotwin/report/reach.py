"""Where the tool can be: reach of any arm, and the outline of a horizontal two-link arm seen from above."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot

SAMPLES = 4096
ON_LIMIT = 1e-7  # rad, m: how exactly a search meets the limit of a quantity
STARTS = 4  # best samples that are climbed from; a sampled maximum alone is a little short


@dataclass(frozen=True)
class Reach:
    """Largest distance of the tool from the z axis of the base, and its heights [m]."""

    radius: float
    z_min: float
    z_max: float


def reach(robot: Robot) -> Reach | None:
    """The reach of the tool inside the joint limits; None if it is unlimited or the arm is a closed chain."""
    sliding = np.array(robot.joint_units) == "m"
    endless = ~(np.isfinite(robot.limits.q_min) & np.isfinite(robot.limits.q_max))
    if robot.mechanism.loops or robot.n == 0 or (sliding & endless).any():
        return None
    q = robot.random_q(np.random.default_rng(0), SAMPLES)
    return Reach(
        float(np.sqrt(_largest(robot, q, _squared_radius))),
        -_largest(robot, q, lambda p: (-p[..., 2], np.array([0.0, 0.0, -1.0]))),
        _largest(robot, q, lambda p: (p[..., 2], np.array([0.0, 0.0, 1.0]))),
    )


def _squared_radius(p: Array) -> tuple[Array, Array]:
    """Value and gradient of x^2 + y^2 at points (..., 3)."""
    return p[..., 0] ** 2 + p[..., 1] ** 2, 2.0 * p * np.array([1.0, 1.0, 0.0])


def _largest(robot: Robot, samples: Array, goal: Callable[[Array], tuple[Array, Array]]) -> float:
    """The maximum of a function of the tool's position inside the limits, climbed from the best samples."""
    from scipy.optimize import minimize

    def descent(q: Array) -> tuple[float, Any]:
        value, gradient = goal(robot.fkine(q)[:3, 3])
        return -float(value), -(gradient @ robot.jacob0(q)[:3])

    values = goal(robot.fkine(samples)[..., :3, 3])[0]
    best = np.argsort(values)[-STARTS:]
    bounds = list(zip(robot.limits.q_min, robot.limits.q_max, strict=True))
    options: dict[str, Any] = {"method": "L-BFGS-B"}
    z = robot.quantities
    if z.names:
        room = {"type": "ineq", "fun": lambda q: -z.beyond(q)}
        options = {"method": "SLSQP", "constraints": [room], "options": {"ftol": 1e-14, "maxiter": 300}}
    ends = [minimize(descent, samples[i], jac=True, bounds=bounds, **options).x for i in best]
    inside = [q for q in ends if (z.beyond(q) <= ON_LIMIT).all()]
    return max([float(values[best[-1]]), *(-descent(q)[0] for q in inside)])


def two_link_outlines(robot: Robot, first: int = 0, second: int = 1, points: int = 90) -> list[Array]:
    """Areas that the tool of a SCARA covers seen from above, one closed curve (k, 2) [m] per elbow side.

    At each radius the first joint sweeps its whole range, so that the edges are
    the poses with one of the two joints at a limit or the arm stretched out.
    """
    low, high = robot.limits.q_min, robot.limits.q_max
    outlines = []
    for bent in (low[second], high[second]):
        if bent == 0.0 or not np.isfinite([low[first], high[first], bent]).all():
            continue
        sweep = np.linspace(0.0, 1.0, points)
        turn = low[first] + (high[first] - low[first]) * sweep
        bend = bent * sweep
        edge = np.concatenate(
            [
                np.stack([turn, np.zeros(points)], axis=-1),
                np.stack([np.full(points, high[first]), bend], axis=-1),
                np.stack([turn[::-1], np.full(points, bent)], axis=-1),
                np.stack([np.full(points, low[first]), bend[::-1]], axis=-1),
            ]
        )
        q = np.broadcast_to(robot.q_home, (len(edge), robot.n)).copy()
        q[:, [first, second]] = edge
        outlines.append(robot.fkine(q)[:, :2, 3])
    return outlines
