r"""Back over the path that a job has played, instruction by instruction, and forward again to where it was.

A piece of a planned motion is gone through from rest to rest with a quintic of its own, backward or forward:

.. math:: s(t) = s_0 + (s_1 - s_0)\, u(t / D), \quad u(x) = 10 x^3 - 15 x^4 + 6 x^5               (eq:retrace)

Its duration D is the shortest that keeps speeds and accelerations of all axes at the sampled places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.control.main.exchange import Label, MotionTask
from servotwin.control.main.time_scaling import Motion, Planned
from servotwin.description.frames import Array
from servotwin.motion.limits import MotionLimits

SAMPLES = 257
SHARE = 0.5  # of speeds and accelerations: nobody steps backward in a hurry
INSTANT = 1e-6  # s of a trajectory
SHORTEST = 0.05  # s


@dataclass(frozen=True)
class Piece:
    """The part of a motion that belongs to one instruction, from ``begin`` to ``end`` [s] of its trajectory."""

    trajectory: Planned
    begin: float
    end: float
    label: Label


def pieces_of(task: MotionTask, until: float) -> list[Piece]:
    """The pieces of a motion up to a time [s] on its trajectory, one for each instruction."""
    starts, owners = task.trajectory.starts, task.trajectory.owners
    found: list[Piece] = []
    for i, owner in enumerate(owners):
        begin = float(starts[i])
        end = float(starts[i + 1]) if i + 1 < len(owners) else task.trajectory.duration
        end = min(end, until)
        if end - begin <= INSTANT:
            continue
        label = task.labels[owner]
        if found and found[-1].label is label:
            begin = found.pop().begin
        found.append(Piece(task.trajectory, begin, end, label))
    return found


class Leg:
    """A piece from one of its places to another, from rest to rest; fulfils ``time_scaling.Planned``."""

    def __init__(self, trajectory: Planned, begin: float, end: float, limits: MotionLimits) -> None:
        self.trajectory, self.begin, self.end = trajectory, begin, end
        self.duration = 1.0
        _, qd, qdd = self.sample(np.linspace(0.0, 1.0, SAMPLES))
        fast = float((np.abs(qd) / (SHARE * limits.speed)).max(initial=0.0))
        hard = float((np.abs(qdd) / (SHARE * limits.acceleration)).max(initial=0.0))
        self.duration = max(fast, float(np.sqrt(hard)), SHORTEST)

    @property
    def starts(self) -> Array:
        """See ``Planned``."""
        return np.zeros(1)

    @property
    def owners(self) -> tuple[int, ...]:
        """See ``Planned``."""
        return (0,)

    def place(self, t: float) -> float:
        """The time on the trajectory [s] at a time of the leg [s]."""
        x = min(max(t / self.duration, 0.0), 1.0)
        return self.begin + (self.end - self.begin) * x**3 * (10.0 - 15.0 * x + 6.0 * x * x)

    def sample(self, t: Array) -> Motion:
        """See ``Planned``."""
        D, way = self.duration, self.end - self.begin
        x = np.clip(np.asarray(t) / D, 0.0, 1.0)
        s = self.begin + way * x**3 * (10.0 - 15.0 * x + 6.0 * x * x)  # eq:retrace
        rate = (way / D * 30.0 * x**2 * (1.0 - x) ** 2)[:, None]
        growth = (way / D**2 * 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x))[:, None]
        q, first, second = self.trajectory.sample(np.clip(s, 0.0, self.trajectory.duration))
        return q, rate * first, rate * rate * second + growth * first


class Retrace:
    """A way back over pieces that were played, the last one first; ``limits`` of the motion."""

    def __init__(self, pieces: list[Piece], limits: MotionLimits) -> None:
        self.pieces, self.limits = pieces, limits
        self._index = len(pieces) - 1
        self._at = pieces[-1].end if pieces else 0.0
        self._leg: Leg | None = None

    def stand(self, time: float) -> None:
        """The arm stands at a time [s] of the leg under way."""
        if self._leg is not None:
            self._at, self._leg = self._leg.place(time), None

    def leg(self, *, forward: bool) -> tuple[Leg, Label] | None:
        """The way from where the arm stands to the next end of an instruction; None if there is none."""
        index, at = self._index, self._at
        if not forward and at <= self.pieces[index].begin + INSTANT:
            index, at = index - 1, self.pieces[index - 1].end
        if forward and at >= self.pieces[index].end - INSTANT:
            if index + 1 == len(self.pieces):
                return None
            index, at = index + 1, self.pieces[index + 1].begin
        if index < 0:
            return None
        piece = self.pieces[index]
        self._index, self._at = index, at
        self._leg = Leg(piece.trajectory, at, piece.end if forward else piece.begin, self.limits)
        return self._leg, piece.label
