"""What a job did, instruction by instruction: time, energy, path, limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.control.main.exchange import Entry
from servotwin.control.main.pulses import IntArray
from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits

if TYPE_CHECKING:
    from servotwin.simulation.results.motion_log import MotionLog

NANO = 1e-9


@dataclass(frozen=True)
class Change:
    """Something that changed at an instant: a state, an input, an output, a key, an alarm."""

    time_s: float
    kind: str
    text: str


@dataclass(frozen=True)
class LogEntry:
    """An instruction as it was carried out.

    ``energy_J`` taken from the source; ``path_deviation_m``: largest distance of the tool from the commanded
    path; ``limits``: per axis the largest shares of its limits of speed and acceleration in the commands.
    ``complete`` False: it was interrupted. ``motion``, ``owner``: see ``control.exchange.Entry``.
    """

    index: int
    line: int
    text: str
    start_s: float
    end_s: float
    energy_J: float | None = None
    path_deviation_m: float | None = None
    limits: tuple[tuple[str, float, float], ...] = ()
    file: str = ""
    complete: bool = True
    motion: int = -1
    owner: int = 0

    @property
    def duration_s(self) -> float:
        """How long it took."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class JobLog:
    """A job that was run. ``finished``: it came to its end; otherwise ``reason`` says why not.

    ``shaped``: motions that were shaped against vibration, and by how much longer that made them at full pace [s].
    """

    job: str
    entries: tuple[LogEntry, ...]
    changes: tuple[Change, ...]
    alarms: tuple[str, ...]
    finished: bool
    cycle_time_s: float | None
    energy_J: float | None
    state: str  # of the controller at the end
    reason: str = ""
    shaped: int = 0
    shaping_s: float = 0.0

    @property
    def shaping_words(self) -> str:
        """What shaping cost, in one line; empty if nothing was shaped."""
        if not self.shaped:
            return ""
        count = "1 motion" if self.shaped == 1 else f"{self.shaped} motions"
        return f"input shaping: {count}, {self.shaping_s:.3f} s longer in all"

    def plain(self) -> dict[str, Any]:
        """As texts and numbers, ready for JSON."""
        data = asdict(self)
        data["shaping_words"] = self.shaping_words
        for entry, row in zip(self.entries, data["entries"], strict=True):
            row["duration_s"] = entry.duration_s
            row["limits"] = [
                {"axis": axis, "speed_share": v, "acceleration_share": a} for axis, v, a in entry.limits
            ]
        return data


@dataclass(frozen=True)
class Commands:
    """The references that were handed out: times (k,) [s], and q, qd, qdd (k, n).

    ``q_pulses`` (k, n): what the pulses stand for that the axis controllers were given; None where the encoders
    are not known. ``motion`` (k,), ``motion_time`` (k,) [s]: the planned motion and the place on it, see ``Command``.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    q_pulses: Array | None
    motion: IntArray
    motion_time: Array

    @property
    def duration(self) -> float:
        """[s]"""
        return float(self.t[-1])

    @property
    def arrivals(self) -> Array:
        """When the reference came to rest for the last time (1,) [s]."""
        moving = np.flatnonzero((self.qd != 0.0).any(axis=1))
        return np.array([self.t[min(moving[-1] + 1, len(self.t) - 1)] if len(moving) else 0.0])

    def sample(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Linear in between, as the axis controllers interpolate."""
        times = np.asarray(t, dtype=np.float64)
        q, qd, qdd = (
            np.stack([np.interp(times, self.t, column) for column in table.T], axis=1)
            for table in (self.q, self.qd, self.qdd)
        )
        return q, qd, qdd


def log_entries(
    journal: Sequence[Entry],
    commands: Commands,
    limits: MotionLimits,
    names: Sequence[str],
    followed: MotionLog | None = None,
) -> tuple[LogEntry, ...]:
    """The journal of the controller with what the log of the motion says about each instruction."""
    starts, ends = (
        np.array([getattr(entry, name) * NANO for entry in journal]) for name in ("begin_ns", "end_ns")
    )
    energies: list[float | None] = [None] * len(journal)
    deviations = energies
    if followed is not None and len(followed.time):
        t, taken = np.append(0.0, followed.time), np.append(0.0, followed.energy)
        energies = (np.interp(ends, t, taken) - np.interp(starts, t, taken)).tolist()
        deviations = _largest(followed.across, followed.time, starts, ends)
    found = []
    for i, entry in enumerate(journal):
        start, end = entry.begin_ns * NANO, entry.end_ns * NANO
        energy, deviation = energies[i], deviations[i]
        found.append(
            LogEntry(
                i + 1,
                entry.line,
                entry.text,
                start,
                end,
                energy,
                deviation,
                _shares(commands, limits, names, start, end),
                entry.file,
                entry.complete,
                entry.motion,
                entry.owner,
            )
        )
    return tuple(found)


def _largest(values: Array, t: Array, starts: Array, ends: Array) -> list[float | None]:
    """The largest of ``values`` at the instants t (k,) of every stretch of time; None where there is no instant."""
    first, last = np.searchsorted(t, starts), np.searchsorted(t, ends, side="right")
    return [float(values[a:b].max()) if b > a else None for a, b in zip(first, last, strict=True)]


def _shares(
    commands: Commands, limits: MotionLimits, names: Sequence[str], start: float, end: float
) -> tuple[tuple[str, float, float], ...]:
    first, last = np.searchsorted(commands.t, [start, end], side="right")
    rows = slice(first, last)
    if first == last or not commands.qd[rows].any():
        return ()
    v = np.abs(commands.qd[rows]).max(axis=0) / limits.speed
    a = np.abs(commands.qdd[rows]).max(axis=0) / limits.acceleration
    return tuple((name, float(v[i]), float(a[i])) for i, name in enumerate(names))
