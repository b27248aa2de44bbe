r"""The fastest point of arm and tool, and motions that keep it below a bound: reduced speed while people stand near.

Speeds of points are differences of their places, so that open and closed chains are treated alike:

.. math:: v = \max_k \frac{\| p_k(q + h \dot q) - p_k(q - h \dot q) \|}{2 h}                    (eq:point-speed)

A rigid body's points within the convex hull of some of its points are never faster than the fastest of these.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from servotwin.control.main.time_scaling import Planned
from servotwin.description.frames import Array
from servotwin.robot.robot import Robot

STEP = 1e-4  # s to both sides of an instant
EVERY, LEAST = 10e-3, 16  # s between two instants of a plan that are looked at, and how many at least
CLOSER, WITHIN = (
    40,
    10,
)  # intervals that may hide the top of the speed are cut, at most so many into so many parts
KEPT = 0.85  # of the bound that motions may use: drives overshoot, and curves bend between two instants


class FastestPoint:
    """Speed of the fastest point, and the bound that it is held below [m/s]."""

    def __init__(self, robot: Robot, points: Mapping[str, Array], bound: float) -> None:
        """``points``: (k, 3) fixed to a frame, in its axes, by the name of the frame [m]."""
        self.robot, self.bound = robot, bound
        self._last: tuple[Array, Array, float] | None = None
        self.points = {name: np.asarray(places, dtype=np.float64).T for name, places in points.items()}

    @property
    def allowed(self) -> float:
        """What motions may have of the bound [m/s]."""
        return KEPT * self.bound

    def speed(self, q: Array, qd: Array) -> float:
        """Of the fastest point at q (n,), qd (n,) [m/s]."""
        if not qd.any():
            return 0.0
        if (
            self._last is None or self._last[0] is not q or self._last[1] is not qd
        ):  # a motion is asked for twice
            self._last = (q, qd, float(self.speeds(q[None], qd[None])[0]))
        return self._last[2]

    def speeds(self, q: Array, qd: Array) -> Array:
        """Of the fastest point at each of the states q (k, n), qd (k, n) [m/s]."""
        ways = self._ways(np.concatenate([q + STEP * qd, q - STEP * qd]))
        return ways / (2.0 * STEP)  # eq:point-speed

    def _ways(self, q: Array) -> Array:
        """How far the point that goes furthest goes, from each of the second half of poses to that of the first."""
        frames, half = self.robot.fkine_all(q), len(q) // 2
        most = np.zeros(half)
        for name, places in self.points.items():
            X = frames[name]
            p = X[:, :3, :3] @ places + X[:, :3, 3:]
            most = np.maximum(most, np.linalg.norm(p[:half] - p[half:], axis=1).max(axis=1))
        return most

    def share(self, q: Array, qd: Array) -> float:
        """How much of a motion qd (n,) at q (n,) is allowed, at most 1."""
        v = self.speed(q, qd)
        return 1.0 if v <= self.allowed else self.allowed / v

    def rate(self, trajectory: Planned) -> float:
        """The largest rate, at most 1, at which a planned motion keeps the bound everywhere."""
        t = np.linspace(0.0, trajectory.duration, max(round(trajectory.duration / EVERY), LEAST) + 1)
        v = self._along(trajectory, t)
        top = float(v.max())
        # Within an interval the speed may go on as it went beside it, by half a step; only such ones can hide the top.
        beside = np.abs(np.diff(v, prepend=v[0], append=v[-1]))
        hidden = np.maximum(v[:-1], v[1:]) + 0.5 * np.maximum(beside[:-2], beside[2:])
        chosen = np.argsort(hidden)[-CLOSER:]
        chosen = chosen[hidden[chosen] > top]
        if len(chosen):
            parts = np.linspace(0.0, 1.0, WITHIN + 1)[1:-1]
            inside = t[chosen, None] + (t[chosen + 1] - t[chosen])[:, None] * parts
            top = max(top, float(self._along(trajectory, np.sort(inside.ravel())).max()))
        return 1.0 if top <= self.allowed else self.allowed / top

    def _along(self, trajectory: Planned, t: Array) -> Array:
        """Speed of the fastest point at instants t (k,) of a planned motion [m/s]."""
        q, qd, _ = trajectory.sample(t)
        return self.speeds(q, qd)

    def exceeded(self, q: Array, qd: Array) -> float | None:
        """The speed of a point that is above the bound [m/s]; None if there is none."""
        v = self.speed(q, qd)
        return v if v > self.bound else None
