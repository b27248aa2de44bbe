r"""The quickest way along a given path under the torques of joints and motors, from the dynamic model.

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
from servotwin.motion.errors import PathError, share_text
from servotwin.motion.joint_path import JointPath
from servotwin.motion.laws import Slowed
from servotwin.motion.limits import MotionLimits
from servotwin.motion.path_limits import PathLimits, path_limits, shares_of
from servotwin.motion.trajectory import PathSegment, Trajectory, joined
from servotwin.robot.robot import Robot

GRID = 200
INSIDE = np.array([0.0, 0.25, 0.5, 0.75, 0.999])  # shares of an interval at which limits are checked
FASTEST = 1e8  # of sd^2, where no limit bounds it
STALLED = 1e-7  # of the largest sd: a motion that is slower at two neighbouring points stands still
MERGED = 1e-9  # of a path's length: waypoints nearer than this share a point of its grid
ON_LIMIT = 1e-9  # rad, m: positions this little beyond a limit stand on it
HOLDS = 1.0 + 1e-6
PASSES = 6  # with the torques that the motors can give at the speeds of the pass before
ROUNDS = 20  # of slowing a motion that exceeds a limit between the points of the grid


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
    s = subdivided(knots[np.diff(knots, prepend=-1.0) > MERGED], grid)
    s[-1] = 1.0
    return JointPath(s, spline(s), spline(s, 1), spline(s, 2))


def subdivided(s: Array, grid: int) -> Array:
    """The points s (m,) and equal steps between neighbours, none longer than the whole length over ``grid``.

    An even grid laid over the points would meet some of them but for the last digit: over a step of 1e-17 the
    acceleration (sd_i+1^2 - sd_i^2) / (2 step) is rounding error.
    """
    h = np.diff(s)
    count = np.maximum(np.ceil(h * grid / (s[-1] - s[0]) - 1e-9), 1.0).astype(np.int64)
    first = np.repeat(np.cumsum(count) - count, count)
    inner = np.repeat(s[:-1], count) + np.repeat(h / count, count) * (np.arange(count.sum()) - first)
    return np.append(inner, s[-1])


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

    ``torque_max`` (n,) [N m, N] at the joints, default ``limits.torque``; all other limits hold too, where they
    are finite, save those of jerk. ``drives``: the rotors are accelerated as well. PathError where a joint would
    leave its range, or where its torques cannot hold or move the arm.
    """
    way = path if isinstance(path, JointPath) else path_through(path, grid)
    if torque_max is not None:
        limits = replace(limits, torque=np.broadcast_to(np.asarray(torque_max, dtype=float), (robot.n,)))
    s = _halved(subdivided(way.s, grid))
    q, dq, ddq = way.at(s)
    _check_positions(robot, way, s, q, limits)
    bounds = path_limits(robot, q, dq, ddq, limits, drives)
    x, stuck = _solve(s, bounds)
    if stuck >= 0:
        text = "the joints cannot hold or follow the path there with the torques they have"
        raise PathError(text, index=0, what="torque", place=float(s[2 * stuck] / s[-1]))
    segment = PathSegment("optimal", way, _law(s[::2], x))
    return joined([_slowed(robot, segment, limits, drives)], [0], (1.0,))


def _solve(s: Array, bounds: PathLimits) -> tuple[Array, int]:
    """sd^2 (m,) at the points of the grid, and the first point without a solution, else -1.

    The torques that the motors can give depend on their speed, which is taken from the previous solution.
    """
    # One scale for all rows: a torque in N m and an acceleration in rad/s2 are compared in the kernel.
    scale = np.maximum(np.abs(bounds.rows).max(axis=-1), 1e-12)
    rows = bounds.rows / scale[..., None]
    x_max = 1.0 / np.maximum(bounds.slowness, FASTEST**-0.5) ** 2
    x, stuck = _kernel()(s, rows, bounds.room / scale, x_max)
    if bounds.turning is None or stuck >= 0:
        return x, int(stuck)
    pace = np.zeros(s.size)
    for _ in range(PASSES):
        sd = np.sqrt(np.maximum(x, 0.0))
        # The mean of two passes converges where the passes themselves would alternate.
        pace = 0.5 * (pace + np.interp(s, s[::2], sd)) if pace.any() else np.interp(s, s[::2], sd)
        better, stuck = _kernel()(s, rows, bounds.room_at(pace) / scale, x_max)
        if stuck >= 0:
            break  # the motion is slowed down instead
        x = better
    return x, -1


def _slowed(robot: Robot, segment: PathSegment, limits: MotionLimits, drives: bool) -> PathSegment:
    r"""The motion slowed down until limits hold between the points of the grid as well.

    .. math:: k \ge \frac{|\dot q_i|}{V_i}, \quad
              k^2 \ge \frac{\pm(\tau_i - g_i)}{\tau_{\max,i} \mp g_i}                       (eq:stretch-torque)
    """
    law, k, slower = segment.law, 1.0, segment
    assert isinstance(law, GridLaw)
    at = (law.t[:-1, None] + np.diff(law.t)[:, None] * INSIDE).ravel()
    for _ in range(ROUNDS):
        q, qd, qdd = slower.sample(k * at)
        used = shares_of(robot, q, qd, qdd, limits, drives)
        if used.values.max() <= HOLDS:
            return slower
        k *= used.factor()  # eq:stretch-torque
        slower = replace(segment, law=Slowed(law, k))
        if limits.motors is None:
            return slower  # without voltage and friction the shares fall exactly so
    j, column = np.unravel_index(int(np.argmax(used.values)), used.values.shape)
    what, axis = used.names[column]
    text = f"{axis or 'the tool'} would need {share_text(used.values[j, column])} its {what}, however slow"
    raise PathError(text, index=0, what=what, axis=axis, place=float(j) / at.size)


def _check_positions(robot: Robot, way: JointPath, s: Array, q: Array, limits: MotionLimits) -> None:
    """PathError at the place where a joint or quantity is farthest outside of its range."""
    beyond = limits.beyond(q)
    if (
        -beyond.max() < np.abs(np.diff(limits.positions(q), axis=0)).max()
    ):  # it may be passed between two points
        s = np.linspace(0.0, way.length, 8 * s.size)
        q = way.at(s)[0]
        beyond = limits.beyond(q)
    if beyond.max() <= ON_LIMIT:
        return
    k, axis = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
    name, text = limits.range_text(robot, q[k], int(axis))
    raise PathError(text, index=0, what="position", axis=name, place=float(s[k] / s[-1]))


def _halved(s: Array) -> Array:
    """The points of a grid and the middles between them: limits are evaluated at both."""
    out = np.empty(2 * s.size - 1)
    out[::2], out[1::2] = s, 0.5 * (s[:-1] + s[1:])
    return out


def _law(s: Array, x: Array) -> GridLaw:
    sd = np.sqrt(np.maximum(x, 0.0))
    mean = 0.5 * (sd[1:] + sd[:-1])
    k = int(np.argmin(mean))
    if not mean[k] > STALLED * sd.max():
        text = "the motion would come to a stop there: the torques only just hold the arm"
        raise PathError(text, index=0, what="torque", place=float(s[k] / s[-1]))
    return GridLaw(s, sd, np.concatenate([[0.0], np.cumsum(np.diff(s) / mean)]))


@lru_cache(maxsize=1)
def _kernel() -> Any:
    from servotwin.motion.reachability import fastest

    return fastest
