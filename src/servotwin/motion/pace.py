r"""How fast a curve may be traversed: its bends take one part of the accelerations, the ramps have the rest.

Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from servotwin.compiled.jit import kernel
from servotwin.mechanism.model import Array
from servotwin.motion.curves import Curve
from servotwin.motion.errors import Demand
from servotwin.motion.joint_path import JointPath
from servotwin.motion.limits import MotionLimits
from servotwin.motion.quickest import QUINTIC, RAMPS, TRAPEZOID, needed_push, quickest_speed
from servotwin.motion.ramps import ProfileKind

BEND_SHARE = 0.5  # of the acceleration that the bend of a path may take where the speed is free
LEFT = 0.05  # of the jerk: the least that is assumed to be left for a ramp; the finished motion is checked


@dataclass(frozen=True)
class Bends:
    """Shares of the limits of joints (k, n) and tool (k,) that motion along a path uses at k of its points.

    ``first``: share of the speed per unit of sd. ``push`` and ``bend``: shares of the acceleration per unit of sdd
    and of sd^2; ``tool_push`` and ``tool_bend``: the same of the tool, zero where it has no limit. ``jolt``,
    ``bend_jolt`` and ``twist``: shares of the jerk per unit of sddd, of 3 sd sdd and of sd^3.
    """

    s: Array
    first: Array
    push: Array
    bend: Array
    jolt: Array
    bend_jolt: Array
    twist: Array
    tool_push: float
    tool_bend: Array
    tool_speed: float

    @property
    def length(self) -> float:
        """Of the path."""
        return float(self.s[-1])

    @cached_property
    def jerk_limited(self) -> bool:
        """Whether a jerk is limited."""
        return bool(self.jolt.any())

    def largest_speed(self, share: float) -> float:
        """The largest constant speed at which bends take at most this share of the accelerations and jerks."""
        first, bend, twist = self._largest
        slowness = max(first, 1.0 / self.tool_speed, math.sqrt(bend / share), float(np.cbrt(twist / share)))
        return 1.0 / slowness if slowness > 0.0 else math.inf

    @cached_property
    def _largest(self) -> tuple[float, float, float]:
        """The largest shares of speed, acceleration and jerk that a constant rate takes."""
        bend = max(float(self.bend.max()), self._largest_tool_bend)
        return float(self.first.max()), bend, float(self.twist.max()) if self.jerk_limited else 0.0

    @cached_property
    def _largest_tool_bend(self) -> float:
        return float(self.tool_bend.max()) if self.tool_push > 0.0 else 0.0

    @cached_property
    def free_acceleration(self) -> float:
        """The largest acceleration along the path where its bends take nothing, at rest."""
        need = max(float(self.push.max()), self.tool_push)
        return 1.0 / need if need > 0.0 else math.inf

    def local_speeds(self, share: float) -> Array:
        """The largest speed (k,) at every point at which its bend takes this share of accelerations and jerks."""
        bends = np.maximum(self.bend.max(axis=1), self.tool_bend)
        slowness = [self.first.max(axis=1), np.full(self.s.size, 1.0 / self.tool_speed)]
        slowness += [np.sqrt(bends / share), np.cbrt(self.twist.max(axis=1) / share)]
        return np.asarray(1.0 / np.maximum.reduce(slowness))

    def part(self, first: int, last: int) -> Bends:
        """The same of the points ``first`` to ``last``, both included."""
        rows = slice(first, last + 1)
        names = ("s", "first", "push", "bend", "jolt", "bend_jolt", "twist", "tool_bend")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def ramp_acceleration(self, v: float) -> float:
        r"""The largest acceleration along the path that the bends leave at the speed v.

        .. math:: \ddot s \le \min_{i,s} \frac{a_i - |q_i''| \dot s^2}{|q_i'|}               (eq:curve-pace)
        """
        need = float(needed_push(self._rates, self._tool, v))  # eq:curve-pace
        return 1.0 / need if need > 0.0 else math.inf

    @cached_property
    def _rates(self) -> Array:
        """Shares of the acceleration per unit of sdd and sd^2 (2, k n)."""
        return np.array([self.push.ravel(), self.bend.ravel()])

    @cached_property
    def _tool(self) -> Array:
        """The same of the tool (2,)."""
        return np.array([self.tool_push, self._largest_tool_bend])

    def jerk(self, v: float, a: float) -> float:
        """The largest jerk along the path that the bends leave at the speed v with ramps of the acceleration a."""
        if not self.jerk_limited:
            return math.inf
        left = 1.0 - self.twist * v**3 - 3.0 * self.bend_jolt * v * a
        return float(1.0 / (self.jolt / np.maximum(left, LEFT)).max())

    def quickest(self, profile: ProfileKind, share: float, *, flowing: bool) -> float:
        """The speed that takes the least time with ramps of this share of the acceleration that the bends leave.

        More speed leaves less acceleration for the ramps. The time over the speed is convex; the result is on its
        falling side, so that a smaller speed always takes longer. ``flowing``: the path is blended with its
        neighbours; then only the time that the bends add to the ramps counts.
        """
        law = TRAPEZOID if profile == "trapezoid" else RAMPS
        if profile == "quintic" and not flowing:
            law = QUINTIC
        free = 1.0 / (share * self.free_acceleration) if flowing else 0.0
        most = self.largest_speed(1.0)
        return float(quickest_speed(self._rates, self._tool, self.length, most, share, law, free))

    def too_quick(self, v: float, a: float, names: Sequence[str]) -> tuple[Demand, float] | None:
        """The largest demand above 1 of a motion at the speed v, and the speed that is not too quick; None if
        v is not. The speed builds up from the ends with the acceleration a at most.
        """
        x = np.minimum(v * v, 2.0 * a * np.minimum(self.s, self.length - self.s))
        kinds: list[tuple[str, Array, float, Sequence[str | None]]] = [
            ("speed", self.first, 1.0, names),
            ("acceleration", self.bend, 2.0, names),
            ("jerk", self.twist, 3.0, names),
            ("tool acceleration", self.tool_bend[:, None], 2.0, (None,)),
        ]
        worst: Demand | None = None
        least = v
        for what, per_unit, power, axes in kinds:
            shares = per_unit * x[:, None] ** (0.5 * power)
            k, column = np.unravel_index(int(np.argmax(shares)), shares.shape)
            share = float(shares[k, column])
            if share <= 1.0 + 1e-9:
                continue
            least = min(least, float((1.0 / per_unit[shares > 1.0].max()) ** (1.0 / power)))
            demand = Demand(what, share, axes[int(column)], float(self.s[k]) / self.length)
            worst = demand if worst is None or demand.factor > worst.factor else worst
        return None if worst is None else (worst, least)


def bends_of(path: JointPath, curve: Curve, limits: MotionLimits) -> Bends:
    """The shares of a path at its points and half-way between them."""
    s = np.empty(2 * path.s.size - 1)
    shares = np.zeros((6, s.size, path.q.shape[1]))
    fill_bends(
        path.s,
        path.coefficients,
        limits.joint_table,
        s,
        np.empty(shares.shape[1:]),
        limits.jerk_limited,
        shares,
    )
    tool_push, tool_bend, tool_speed = 0.0, np.zeros(s.size), math.inf
    if curve.metric:
        tool_speed = limits.tool_speed
        if math.isfinite(limits.tool_acceleration):
            tool_push = 1.0 / limits.tool_acceleration
            tool_bend = tool_push * np.linalg.norm(curve.rates(s)[1][:, :3], axis=1)
    first, push, bend, jolt, bend_jolt, twist = shares
    return Bends(s, first, push, bend, jolt, bend_jolt, twist, tool_push, tool_bend, tool_speed)


@kernel
def fill_bends(
    knots: Array, c: Array, limits: Array, s: Array, bend: Array, jerk_limited: bool, shares: Array
) -> None:
    """Fill ``s`` (2 m - 1,) with knots (m,) and their middles, ``shares`` (6, 2 m - 1, n) with those of ``Bends``.

    ``limits``: a ``MotionLimits.joint_table``. The third rate is the largest change of the second one to a neighbour.
    """
    for k in range(len(s)):
        i = min(k // 2, len(knots) - 2)
        s[k] = 0.5 * (knots[i] + knots[i + 1]) if k % 2 else knots[k // 2]
        u = s[k] - knots[i]
        for j in range(bend.shape[1]):
            c1, c2, c3, c4, c5 = c[i, 1, j], c[i, 2, j], c[i, 3, j], c[i, 4, j], c[i, 5, j]
            first = abs((((5.0 * c5 * u + 4.0 * c4) * u + 3.0 * c3) * u + 2.0 * c2) * u + c1)
            bend[k, j] = ((20.0 * c5 * u + 12.0 * c4) * u + 6.0 * c3) * u + 2.0 * c2
            shares[0, k, j] = first / limits[2, j]
            shares[1, k, j] = first / limits[3, j]
            shares[2, k, j] = abs(bend[k, j]) / limits[3, j]
            shares[3, k, j] = first / limits[4, j]
            shares[4, k, j] = abs(bend[k, j]) / limits[4, j]
    if not jerk_limited:
        return
    for k in range(len(s) - 1):
        for j in range(bend.shape[1]):
            third = abs(bend[k + 1, j] - bend[k, j]) / (s[k + 1] - s[k]) / limits[4, j]
            shares[5, k, j] = max(shares[5, k, j], third)
            shares[5, k + 1, j] = max(shares[5, k + 1, j], third)
