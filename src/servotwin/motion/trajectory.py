"""A planned motion: segments in order, each a joint path with its time law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from servotwin.errors import ShapeError
from servotwin.mechanism.model import Array
from servotwin.motion.curves import Curve
from servotwin.motion.joint_path import JointPath
from servotwin.motion.law_sampling import sample_path
from servotwin.motion.laws import Profile, numbers_of

AT_ONCE = np.zeros(1)  # ``starts`` of a single segment
AT_ONCE.flags.writeable = False
SAMPLES = 1001  # of an optimal segment, for its largest acceleration


class Segment(Protocol):
    """The motion of one instruction, or of a blend between two."""

    @property
    def kind(self) -> str:
        """'joint', 'line', 'circle', 'spline', 'blend', 'optimal' or 'rest'."""

    @property
    def duration(self) -> float:
        """[s]"""

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (k, n) at the times t (k,) [s] of the segment."""


@dataclass(frozen=True)
class PathSegment:
    """A joint path traversed by a law. ``curve`` is the path of the tool point if it follows one.

    ``offset``: parameter of the curve at the begin of the path; ``tool``: the tool point, see ``MoveL``.
    """

    kind: str
    path: JointPath
    law: Profile
    curve: Curve | None = None
    offset: float = 0.0
    tool: Array | None = None

    @property
    def duration(self) -> float:
        """[s]"""
        return self.law.duration

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        """See ``Segment``."""
        numbers = numbers_of(self.law)
        if numbers is not None:
            t = np.ascontiguousarray(t, dtype=np.float64)
            out = np.empty((3, t.size, self.path.q.shape[1]))
            sample_path(*numbers, self.path.s, self.path.coefficients, t, out)
            return out[0], out[1], out[2]
        s, sd, sdd = (x[:, None] for x in self.law.sample(np.asarray(t, dtype=np.float64)))
        q, dq, ddq = self.path.at(s[:, 0])
        return q, dq * sd, ddq * sd * sd + dq * sdd  # eq:path-rates


@dataclass(frozen=True)
class RestSegment:
    """Standing still at ``q`` (n,)."""

    q: Array
    duration: float
    kind: str = "rest"

    def sample(self, t: Array) -> tuple[Array, Array, Array]:
        """See ``Segment``."""
        zero = np.zeros((np.size(t), self.q.size))
        return zero + self.q, zero, zero.copy()


@dataclass(frozen=True)
class Trajectory:
    """Segments in order, continuous in position and velocity, at rest before and after.

    ``starts`` (m,) [s]; ``owners``: index of the request of each segment (a blend belongs to the one
    before it). Per request: ``slowed``, the factor of its time if it was made to fit (1: as asked); ``blends``,
    the radius [m] of the ball about its target that its blend uses (0: it ends at rest); ``notes``, what the planner
    changed of the request. ``acceleration`` (n,): the largest of its optimal segments, None without one: torques bound
    them there, not what is usual.
    """

    segments: tuple[Segment, ...]
    starts: Array
    owners: tuple[int, ...]
    duration: float
    slowed: tuple[float, ...] = ()
    blends: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()
    acceleration: Array | None = None

    @classmethod
    def of_one(cls, segment: Segment, duration: float) -> Trajectory:
        """The trajectory of one request that needed no change.

        Its fields are entered at once: one by one, as in any frozen object, they would take a third of a MOVEJ's plan.
        """
        new = object.__new__(cls)
        new.__dict__.update(
            segments=(segment,), starts=AT_ONCE, owners=(0,), duration=duration, slowed=(1.0,), blends=(0.0,),
            notes=("",),
        )  # fmt: skip
        return new

    def sample(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration (k, n) at the times t (k,) [s]."""
        times = np.atleast_1d(np.asarray(t, dtype=np.float64))
        if times.ndim != 1:
            raise ShapeError(f"t has the shape {times.shape}; expected (k,)")
        which = np.clip(np.searchsorted(self.starts, times, side="right") - 1, 0, None)
        first = self.segments[0].sample(np.zeros(1))[0]
        q, qd, qdd = (np.zeros((times.size, first.shape[1])) for _ in range(3))
        for i in np.unique(which):
            here = which == i
            q[here], qd[here], qdd[here] = self.segments[i].sample(times[here] - self.starts[i])
        outside = (times < 0.0) | (times > self.duration)
        qd[outside] = qdd[outside] = 0.0
        return q, qd, qdd

    def spans(self) -> list[tuple[float, float]]:
        """Begin and end [s] of every request that has a segment, by index; (nan, nan) for others."""
        count = max(self.owners, default=-1) + 1
        out = [(np.nan, np.nan)] * max(count, len(self.slowed))
        for segment, start, owner in zip(self.segments, self.starts, self.owners, strict=True):
            begin = out[owner][0]
            out[owner] = (float(start) if np.isnan(begin) else begin, float(start) + segment.duration)
        return out


def joined(
    segments: list[Segment],
    owners: list[int],
    slowed: tuple[float, ...] = (),
    blends: tuple[float, ...] = (),
    notes: tuple[str, ...] = (),
) -> Trajectory:
    """Segments one after the other."""
    durations = np.array([segment.duration for segment in segments])
    starts = np.concatenate([[0.0], np.cumsum(durations)[:-1]])
    peaks = [_peak(segment) for segment in segments if segment.kind == "optimal"]
    return Trajectory(
        tuple(segments),
        starts,
        tuple(owners),
        float(durations.sum()),
        slowed,
        blends,
        notes,
        np.max(peaks, axis=0) if peaks else None,
    )


def _peak(segment: Segment) -> Array:
    """Largest accelerations (n,) of a segment."""
    nodes = getattr(segment, "t", getattr(getattr(segment, "law", None), "t", ()))
    times = np.union1d(np.linspace(0.0, segment.duration, SAMPLES), nodes)
    return np.asarray(np.abs(segment.sample(times)[2]).max(axis=0))
