r"""The fastest point of arm and tool, and motions that keep it below a bound: reduced speed while people stand near.

Speeds of points are differences of their places, so that open and closed chains are treated alike:

.. math:: v = \max_k \frac{\| p_k(q + h \dot q) - p_k(q - h \dot q) \|}{2 h}                    (eq:point-speed)

A rigid body's points within the convex hull of some of its points are never faster than the fastest of these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from servotwin.control.main.overshoot import REBOUND, Overshoot
from servotwin.control.main.time_scaling import Planned
from servotwin.description.frames import Array
from servotwin.robot.robot import Robot

TINY = 1e-12
SAME = 2e-3  # rad, m: poses so near share the speeds of their points for each joint
STEP = 1e-4  # s to both sides of an instant
EVERY, LEAST = 10e-3, 16  # s between two instants of a plan that are looked at, and how many at least
CLOSER, WITHIN = (
    40,
    10,
)  # intervals that may hide the top of the speed are cut, at most so many into so many parts
KEPT = 0.85  # of the bound that motions may use: loads are not known, and curves bend between two instants
FOUND = 1e-3  # of a rate, by which a lower one may be found
BEYOND = 0.08  # of the bound by which the arm may be faster than a motion that speeds up (eq:overshoot)
RESERVE = 0.02  # of the bound at least that is left for a change of a motion's pace


class FastestPoint:
    """Speed of the fastest point, and the bound that it is held below [m/s]."""

    def __init__(
        self, robot: Robot, points: Mapping[str, Array], bound: float, overshoot: Overshoot | None = None
    ) -> None:
        """``points``: (k, 3) fixed to a frame, in its axes, by the name of the frame [m].

        ``overshoot``: of joints' speeds beyond their reference (``overshoot_of``); None: an exact arm.
        """
        self.robot, self.bound, self.overshoot = robot, bound, overshoot
        self._last: tuple[Array, Array, float] | None = None
        self._each: tuple[Array, Array] | None = None
        self.points = {name: np.asarray(places, dtype=np.float64).T for name, places in points.items()}

    @property
    def allowed(self) -> float:
        """What motions may have of the bound [m/s]."""
        return KEPT * self.bound

    def part(self, q: Array, size: Array) -> float:
        """How much is allowed of speeds of joints (n,) at q (n,), at most 1, whatever signs they have."""
        each = self.each(q)
        alone = float(each @ size)
        return min(self.allowed / max(alone, TINY), self._part_freed(each, alone, size), 1.0)

    def part_freed(self, q: Array, size: Array) -> float:
        """How much is allowed of a motion at its full speed with joints at sizes (n,) of speeds, for their friction."""
        return self._part_freed(self.each(q), self.allowed, size)

    def _part_freed(self, each: Array, alone: float, size: Array) -> float:
        """How much is allowed, at most 1, of a speed ``alone`` [m/s] and of sizes (n,) of joints' speeds, for friction.

        What friction adds grows by less than the speeds do, in straight pieces (``Overshoot.beyond``).
        """
        room, overshoot = (1.0 - BEYOND) * self.bound, self.overshoot
        if overshoot is None:
            return min(room / max(alone, TINY), 1.0)
        parts = np.sort(np.minimum(overshoot.friction / np.maximum(REBOUND * size, TINY), 1.0))
        parts = np.concatenate([[0.0], parts, [1.0]])
        speeds = parts * alone + overshoot.beyond(parts[:, None] * size) @ each
        return float(np.interp(room, speeds, parts))

    def ramp_time(self, q: Array, change: Array) -> float:
        """How long loops need at least for a change (n,) of speeds at q (n,) [s], to stay below the bound."""
        if self.overshoot is None:
            return 0.0
        return float(self.each(q) @ self.overshoot.ramps @ np.abs(change)) / (BEYOND * self.bound)

    def speed(self, q: Array, qd: Array) -> float:
        """Of the fastest point at q (n,), qd (n,) [m/s]."""
        if not qd.any():
            return 0.0
        if (
            self._last is None or self._last[0] is not q or self._last[1] is not qd
        ):  # a motion is asked for twice
            self._last = (q, qd, float(self.speeds(q[None], qd[None])[0]))
        return self._last[2]

    def each(self, q: Array) -> Array:
        """Speed of the fastest point (n,) while one joint at q (n,) moves at 1 rad/s or 1 m/s."""
        if self._each is None or float(np.abs(q - self._each[0]).max(initial=0.0)) > SAME:
            self._each = (q, self.speeds(np.tile(q, (len(q), 1)), np.eye(len(q))))
        return self._each[1]

    def speeds(self, q: Array, qd: Array) -> Array:
        """Of the fastest point at each of the states q (k, n), qd (k, n) [m/s]."""
        ways = self._ways(np.concatenate([q + STEP * qd, q - STEP * qd]))
        return ways / (2.0 * STEP)  # eq:point-speed

    def _ways(self, q: Array) -> Array:
        """How far the point that goes furthest goes, from each of the second half of poses to that of the first."""
        return np.asarray(np.max(list(self._ways_of_frames(q).values()), axis=0, initial=0.0))

    def _ways_of_frames(self, q: Array) -> dict[str, Array]:
        """How far the point of each frame that goes furthest goes (k,)."""
        frames, half, found = self.robot.fkine_all(q), len(q) // 2, {}
        for name, places in self.points.items():
            X = frames[name]
            p = X[:, :3, :3] @ places + X[:, :3, 3:]
            found[name] = np.linalg.norm(p[:half] - p[half:], axis=1).max(axis=1)
        return found

    def between(self, before: Array, after: Array, seconds: float) -> tuple[str, float]:
        """The frame whose point went fastest from ``before`` to ``after`` (n,), and its mean speed [m/s]."""
        ways = self._ways_of_frames(np.stack([after, before]))
        name = max(ways, key=lambda one: float(ways[one][0]), default="")
        return name, float(ways[name][0]) / seconds if name else 0.0

    def share(self, q: Array, qd: Array) -> float:
        """How much of a motion qd (n,) at q (n,) is allowed, at most 1."""
        v = self.speed(q, qd)
        return 1.0 if v <= self.allowed else self.allowed / v

    def rate(self, trajectory: Planned) -> float:
        """The largest rate, at most 1, at which a planned motion keeps the bound everywhere."""
        return self.pace(trajectory)[0]

    def pace(self, trajectory: Planned) -> tuple[float, float]:
        """The largest ``rate`` of a planned motion, and the slope [1/s] at which a rate may grow up to it."""
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
        most = 1.0 if top <= self.allowed else self.allowed / top
        if self.overshoot is None:
            return most, math.inf
        return self._pace_of_loops(trajectory, t, top, most, self.overshoot)

    def _pace_of_loops(
        self, trajectory: Planned, t: Array, top: float, most: float, overshoot: Overshoot
    ) -> tuple[float, float]:
        """The rate r up to ``most`` at which r v + r^2 w keeps its part of the bound, and the slope of a rate.

        w: what loops are too fast by at the full pace. With what friction adds at the rate r it keeps the bound.
        What is left of both parts, ``RESERVE`` at least, is for loops that are too fast while the rate grows.
        """
        q, qd, qdd = trajectory.sample(t)
        unit = np.eye(q.shape[1])
        each = np.stack([self.speeds(q, np.tile(one, (len(q), 1))) for one in unit], axis=1)
        excess, growing = (
            float((each * (np.abs(x) @ overshoot.ramps.T)).sum(axis=1).max()) for x in (qdd, qd)
        )
        kept, reserve = (KEPT + BEYOND) * self.bound, RESERVE * self.bound

        def left(r: float) -> float:
            freed = float((each * overshoot.beyond(r * np.abs(qd))).sum(axis=1).max())
            return min(kept, self.bound - freed) - r * top - r * r * excess

        low, high = (most, most) if left(most) >= reserve else (0.0, most)
        while high - low > FOUND * high:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if left(middle) >= reserve else (low, middle)
        return low, left(low) / max(growing, TINY)

    def _along(self, trajectory: Planned, t: Array) -> Array:
        """Speed of the fastest point at instants t (k,) of a planned motion [m/s]."""
        q, qd, _ = trajectory.sample(t)
        return self.speeds(q, qd)

    def exceeded(self, q: Array, qd: Array) -> float | None:
        """The speed of a point that is above the bound [m/s]; None if there is none."""
        v = self.speed(q, qd)
        return v if v > self.bound else None
