r"""A planned motion that comes to rest on its way, where its path bends sharply.

Its time t is read by a clock of variable rate r(u), which is zero at the rests; with x = r^2 linear between nodes,

.. math:: \dot r = \tfrac12 \frac{dx}{dt}, \quad
          \left|x\,q'' \pm \dot r\,q'\right| \le a_\mathrm{max}                                    (eq:rest-on-way)

so that it brakes before a rest and leaves it as quickly as the limits of acceleration allow, and goes on as planned
elsewhere. Theory: docs/theory/input-shaping.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from servotwin.control.main.time_scaling import Motion, Planned, ToolLimit
from servotwin.description.frames import Array

STEP = 1e-3  # s of the motion between nodes beside a rest
STEEPEST = 25.0  # 1/s: change of rate at most
SHARE = 0.5  # of a limit of the tool's acceleration
LONGEST = 400  # nodes beside a rest
TRIES = 6  # halvings of a change of rate


class Rested:
    """The motion ``planned`` with rests at ``times`` (m,) of it [s]; a ``Planned`` itself, in its own time."""

    def __init__(
        self, planned: Planned, times: Sequence[float], acceleration: Array, tool: ToolLimit | None
    ) -> None:
        self.planned = planned
        self.owners = planned.owners
        profiles = [_profile(planned, time, acceleration, tool) for time in times]
        ends = [0.0, planned.duration]
        self._t = np.unique(np.concatenate([ends, *(t for t, _ in profiles)]))
        x = np.ones_like(self._t)
        for t, part in profiles:
            x = np.minimum(x, np.interp(self._t, t, part, left=1.0, right=1.0))
        self._rates, h = np.sqrt(x), np.diff(self._t)
        self._slopes = 0.5 * np.diff(x) / h
        self._u = np.append(0.0, np.cumsum(2.0 * h / (self._rates[1:] + self._rates[:-1])))
        self.starts = self.own_times(np.asarray(planned.starts))
        self.nodes = self._u[(self._rates < 1.0)]  # [s], where its rate is less than planned

    @property
    def duration(self) -> float:
        """[s]"""
        return float(self._u[-1])

    def own_times(self, t: Array) -> Array:
        """Times (k,) [s] of it for those of the motion as planned."""
        i = self._cells(self._t, t)
        gone = t - self._t[i]
        rates = np.sqrt(np.maximum(self._rates[i] ** 2 + 2.0 * self._slopes[i] * gone, 0.0))
        return np.asarray(self._u[i] + 2.0 * gone / np.maximum(self._rates[i] + rates, 1e-300))

    def planned_times(self, u: Array) -> tuple[Array, Array, Array]:
        """Times (k,) [s] of the motion as planned for those of it, with first and second rates."""
        u = np.clip(u, 0.0, self.duration)
        i = self._cells(self._u, u)
        gone, slope = u - self._u[i], self._slopes[i]
        t = self._t[i] + gone * (self._rates[i] + 0.5 * slope * gone)
        return np.minimum(t, self._t[i + 1]), np.maximum(self._rates[i] + slope * gone, 0.0), slope

    @staticmethod
    def _cells(nodes: Array, at: Array) -> Array:
        return np.asarray(np.clip(np.searchsorted(nodes, at, side="right") - 1, 0, len(nodes) - 2))

    def sample(self, t: Array) -> Motion:
        """See ``Planned``."""
        times, rate, slope = (x[..., None] for x in self.planned_times(np.asarray(t)))
        q, qd, qdd = self.planned.sample(times[..., 0])
        return q, rate * qd, rate * rate * qdd + slope * qd  # eq:rest-on-way


def _profile(
    planned: Planned, rest: float, acceleration: Array, tool: ToolLimit | None
) -> tuple[Array, Array]:
    """Times (k,) [s] about a rest, and the squares (k,) of the rate there, from 1 down to 0 and up to 1."""
    sides = [_side(planned, rest, way, acceleration, tool) for way in (-1.0, 1.0)]
    before, after = sides
    return np.append(before[0][::-1], after[0][1:]), np.append(before[1][::-1], after[1][1:])


def _side(
    planned: Planned, rest: float, way: float, acceleration: Array, tool: ToolLimit | None
) -> tuple[Array, Array]:
    """Times from a rest on, back with ``way`` -1, and the squares of the rate, which grow up to 1."""
    t = np.clip(rest + way * STEP * np.arange(LONGEST + 1), 0.0, planned.duration)
    t = t[: 1 + int(np.argmax(np.abs(t - rest)))]
    q, qd, qdd = planned.sample(t)
    qd = way * qd
    steepest = np.full(len(t), STEEPEST)
    if tool is not None:
        paces = np.array([tool.pace(one, speed) for one, speed in zip(q, qd, strict=True)])
        steepest = np.minimum(steepest, SHARE * tool.acceleration / np.maximum(paces, 1e-12))
    x = np.zeros(len(t))
    for k in range(1, len(t)):
        h, slope = abs(t[k] - t[k - 1]), min(steepest[k - 1], steepest[k])
        for _ in range(TRIES):
            x[k] = min(x[k - 1] + 2.0 * h * slope, 1.0)
            slope = 0.5 * (x[k] - x[k - 1]) / h
            ends = [np.abs(x[i] * qdd[i] + slope * qd[i]) for i in (k - 1, k)]  # eq:rest-on-way
            if (np.maximum(*ends) <= acceleration).all():
                break
            slope *= 0.5
        else:
            x[k] = x[k - 1]
        if x[k] == 1.0:
            return t[: k + 1], x[: k + 1]
    return t, x
