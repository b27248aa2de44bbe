r"""The quickest way along a given path under the torques of the joints, from the dynamic model.

Along q(s) the torques are linear in the acceleration and the squared speed of the parameter:

.. math:: \tau = a(s)\, \ddot s + b(s)\, \dot s^2 + g(s), \quad a = M q', \quad b = M q'' + C(q, q') q'
                                                                                   (eq:path-torque)

On a grid, with x = sd^2 and constant sdd between two points, reachability is computed backwards and the
largest speed is then taken forwards (Pham and Pham 2018). Theory: docs/theory/paths.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.errors import PathError
from servotwin.motion.joint_path import JointPath
from servotwin.motion.laws import Slowed
from servotwin.motion.limits import MotionLimits
from servotwin.motion.trajectory import PathSegment, Trajectory, joined
from servotwin.robot.robot import Robot

GRID = 200
INSIDE = np.array([0.0, 0.25, 0.5, 0.75, 0.999])  # shares of an interval at which limits are asked for
FASTEST = 1e8  # of sd^2, where no limit bounds it


@dataclass(frozen=True)
class GridLaw:
    """Constant sdd between the points of a grid: s, sd and t (m,) there."""

    s: Array
    sd: Array
    t: Array

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
        i = np.clip(np.searchsorted(self.t, clock, side="right") - 1, 0, self.t.size - 2)
        sdd = (self.sd[i + 1] - self.sd[i]) / (self.t[i + 1] - self.t[i])
        d = clock - self.t[i]
        s = self.s[i] + d * (self.sd[i] + 0.5 * sdd * d)
        return np.clip(s, 0.0, self.s[-1]), self.sd[i] + sdd * d, sdd


def path_through(waypoints: ArrayLike, grid: int = GRID) -> JointPath:
    """The cubic spline through joint positions (k, n), by their distance; natural ends, at least two of them."""
    from scipy.interpolate import CubicSpline

    q = np.asarray(waypoints, dtype=np.float64)
    if q.ndim != 2 or q.shape[0] < 2:
        raise InputError(f"waypoints have the shape {q.shape}; expected at least two rows of joint positions")
    steps = np.linalg.norm(np.diff(q, axis=0), axis=1)
    if steps.min() <= 0.0:
        raise InputError(f"waypoints {int(np.argmin(steps))} and the next coincide; expected different ones")
    knots = np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()
    spline = CubicSpline(knots, q, bc_type="natural")
    s = np.union1d(knots, np.linspace(0.0, 1.0, grid + 1))
    s = s[np.concatenate([[True], np.diff(s) > 1e-9])]
    s[-1] = 1.0
    return JointPath(s, spline(s), spline(s, 1), spline(s, 2))


def time_optimal(
    robot: Robot,
    path: JointPath | ArrayLike,
    limits: MotionLimits,
    torque_max: ArrayLike | None = None,
    *,
    grid: int = GRID,
    drives: bool = True,
) -> Trajectory:
    """The quickest motion along a path (or a spline through waypoints (k, n)), at rest at both ends.

    ``torque_max`` (n,) [N m, N] at the joints, default ``limits.torque``; speeds and, where finite,
    accelerations of ``limits`` hold too. ``drives``: the rotors are accelerated as well.
    """
    way = path if isinstance(path, JointPath) else path_through(path, grid)
    s = way.s if way.s.size > grid else np.union1d(way.s, np.linspace(0.0, way.length, grid + 1))
    s = _halved(s)
    q, dq, ddq = way.at(s)
    tau_max = np.broadcast_to(limits.torque if torque_max is None else torque_max, (robot.n,)).astype(
        np.float64
    )
    rows, room = _constraints(robot, q, dq, ddq, tau_max, limits.acceleration, drives)
    x_max = 1.0 / np.maximum(np.max(np.abs(dq) / limits.speed, axis=1), FASTEST**-0.5) ** 2
    x, stuck = _kernel()(s, rows, room, x_max)
    if stuck >= 0:
        text = "the joints cannot hold or follow the path there with the torques they have"
        raise PathError(text, index=0, what="torque", place=float(s[2 * stuck] / s[-1]))
    segment = PathSegment("optimal", way, _law(s[::2], x))
    k = _excess(robot, segment, tau_max, limits, drives)
    return joined([replace(segment, law=Slowed(segment.law, k)) if k > 1.0 else segment], [0], (1.0,))


def _excess(robot: Robot, segment: PathSegment, tau_max: Array, limits: MotionLimits, drives: bool) -> float:
    r"""How many times slower the motion must be so that limits hold between the points of the grid as well.

    .. math:: k \ge \frac{|\dot q_i|}{V_i}, \quad
              k^2 \ge \frac{\pm(\tau_i - g_i)}{\tau_{\max,i} \mp g_i}                       (eq:stretch-torque)
    """
    law = segment.law
    assert isinstance(law, GridLaw)
    t = (law.t[:-1, None] + np.diff(law.t)[:, None] * INSIDE).ravel()
    q, qd, qdd = segment.sample(t)
    zero = np.zeros_like(q)
    g = robot.rne(q, zero, zero, drives=drives)
    moving = robot.rne(q, qd, qdd, drives=drives) - g
    squares = np.maximum(moving / (tau_max - g), -moving / (tau_max + g)).max()  # eq:stretch-torque
    squares = max(float(squares), float((np.abs(qdd) / limits.acceleration).max()))
    return max(float((np.abs(qd) / limits.speed).max()), float(np.sqrt(squares)))


def _halved(s: Array) -> Array:
    """The points of a grid and the middles between them: limits are asked for at both."""
    out = np.empty(2 * s.size - 1)
    out[::2], out[1::2] = s, 0.5 * (s[:-1] + s[1:])
    return out


def _law(s: Array, x: Array) -> GridLaw:
    sd = np.sqrt(np.maximum(x, 0.0))
    t = np.concatenate([[0.0], np.cumsum(2.0 * np.diff(s) / np.maximum(sd[1:] + sd[:-1], 1e-9))])
    return GridLaw(s, sd, t)


def _constraints(
    robot: Robot, q: Array, dq: Array, ddq: Array, tau_max: Array, acceleration: Array, drives: bool
) -> tuple[Array, Array]:
    """Rows (m, r, 2) of (sdd, sd^2) and what they may be at most (m, r)."""
    zero = np.zeros_like(q)
    g = robot.rne(q, zero, zero, drives=drives)
    a = robot.rne(q, zero, dq, drives=drives) - g
    b = robot.rne(q, dq, ddq, drives=drives) - g  # eq:path-torque
    held = np.isfinite(tau_max)
    pushed = np.isfinite(acceleration)
    first = np.concatenate([a[:, held], dq[:, pushed]], axis=1)
    second = np.concatenate([b[:, held], ddq[:, pushed]], axis=1)
    rest = np.concatenate([g[:, held], zero[:, pushed]], axis=1)
    most = np.concatenate([tau_max[held], acceleration[pushed]])
    rows = np.stack([np.concatenate([first, -first], 1), np.concatenate([second, -second], 1)], axis=-1)
    room = np.concatenate([most - rest, most + rest], axis=1)
    # One scale for all rows: a torque in N m and an acceleration in rad/s2 are compared in the kernel.
    scale = np.maximum(np.abs(rows).max(axis=-1), 1e-12)
    return rows / scale[..., None], room / scale


@lru_cache(maxsize=1)
def _kernel() -> Any:
    from servotwin.motion.reachability import fastest

    return fastest
