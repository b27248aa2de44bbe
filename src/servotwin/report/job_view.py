"""A run of a job as its report looks at it: instructions with their time, energy and deviation, signals, states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.report.tool_path import path_deviation, tip_of
from servotwin.simulation.results.result import Result, joint_signal

MOST_SAMPLES = 8000  # of the path, for deviations
NEAR_LIMIT = 0.995  # share from which a limit counts as reached
MENTIONED = 1.01  # factor of the time from which a move is said to be slowed
MOVES = ("MOVEJ", "MOVEL", "MOVEC", "SPLINE")
Changes = tuple[tuple[float, str], ...]  # from when [s] on, what


@dataclass(frozen=True)
class Done:
    """An instruction that was carried out, and what its commands say; for the moves see ``job_paths.MoveFacts``.

    ``reached``: the largest share of a limit, such as ('speed', 'A', 0.98); the axis is empty for the tool.
    ``file`` is empty for the job itself, the name of the file for what it calls; ``complete`` False: it was
    interrupted.
    """

    line: int
    text: str
    begin_s: float
    end_s: float
    length_m: float | None = None
    top_speed: float | None = None
    deviation_m: float | None = None
    chord_error_m: float | None = None
    reached: tuple[tuple[str, str, float], ...] = ()
    slowed: float = 1.0
    X_tool: Array | None = None
    pulse_deviation_m: float | None = None
    blend_m: float | None = None
    note: str = ""
    file: str = ""
    complete: bool = True
    shown_file: str = ""  # the file as the job calls it

    @property
    def word(self) -> str:
        """The instruction's keyword."""
        return self.text.split(" ", 1)[0]

    @property
    def place(self) -> str:
        """Where it stands: the line, with the file if that is not the job itself."""
        return place_text(self.shown_file or self.file, self.line)

    @property
    def said(self) -> str:
        """Its text, and whether it was interrupted."""
        return self.text if self.complete else f"{self.text} (interrupted)"


@dataclass(frozen=True)
class JobStory:
    """All that is told of a run. ``inputs`` and ``outputs``: for each signal the instants it changed, and to what."""

    name: str
    result: Result
    done: tuple[Done, ...]
    sources: Mapping[str, str] = field(default_factory=dict)  # texts by file; '' is the job itself
    states: Changes = ()
    alarms: Changes = ()
    inputs: Mapping[str, tuple[tuple[float, bool], ...]] = field(default_factory=dict)
    outputs: Mapping[str, tuple[tuple[float, bool], ...]] = field(default_factory=dict)
    finished: bool = True
    gripper: str = ""  # output that holds the payload
    reason: str = ""  # why it did not come to its end
    main: str = ""  # the file of the job itself

    @property
    def t(self) -> Array:
        """Instants (k,) [s]."""
        return self.result.signals["time_s"]

    @property
    def end_s(self) -> float:
        """Up to when the run went [s], whether it was recorded up to there or not."""
        last = float(self.t[-1]) if len(self.t) else 0.0
        return float(self.result.summary.get("simulated_s", last))

    @property
    def cycle_s(self) -> float:
        """Time from the begin of the first instruction to the end of the last [s]."""
        return self.done[-1].end_s - self.done[0].begin_s if self.done else 0.0

    @cached_property
    def q(self) -> Array:
        """Actual joint positions (k, n)."""
        return self._joints(reference=False)

    @cached_property
    def q_ref(self) -> Array:
        """Commanded joint positions (k, n)."""
        return self._joints(reference=True)

    def _joints(self, *, reference: bool) -> Array:
        result = self.result
        columns = [
            result.signals[joint_signal(name, "position", prismatic=slides, reference=reference)]
            for name, slides in zip(result.joints, result.prismatic, strict=True)
        ]
        return np.stack(columns, axis=-1)

    @cached_property
    def X_tool(self) -> Array | None:
        """The tool that the job uses most of its time, in the robot's tool frame."""
        times: dict[bytes, float] = {}
        tools: dict[bytes, Array | None] = {}
        for step in self.done:
            key = b"" if step.X_tool is None else np.round(step.X_tool, 12).tobytes()
            times[key] = times.get(key, 0.0) + step.end_s - step.begin_s
            tools[key] = step.X_tool
        return tools[max(times, key=lambda key: times[key])] if times else None

    @cached_property
    def steps(self) -> list[Step]:
        """Every instruction that was carried out with what it cost."""
        deviations: dict[bytes, tuple[Array, Array]] = {}
        found = []
        for done in self.done:
            key = b"" if done.X_tool is None else done.X_tool.tobytes()
            if done.word in MOVES and key not in deviations:
                deviations[key] = self._deviation(done.X_tool)
            t, gap = deviations[key] if done.word in MOVES else (np.zeros(0), np.zeros(0))
            first = int(np.searchsorted(t, done.begin_s - 1e-9))
            here = gap[first : int(np.searchsorted(t, done.end_s + 1e-9, side="right"))]
            off = float(here.max()) if len(here) else None
            found.append(Step(done, self._energy(done), off, self._saturation(done)))
        return found

    def _deviation(self, X_tool: Array | None) -> tuple[Array, Array]:
        """Instants, and the distance of the tool from the commanded path [m]."""
        log = self.result.log
        keep = slice(None, None, max(1, -(-len(log.time) // MOST_SAMPLES)))
        good = np.isfinite(log.q[keep]).all(axis=1) & np.isfinite(log.q_ref[keep]).all(axis=1)
        t = log.time[keep][good]
        actual = tip_of(self.result.true_robot, log.q[keep][good], X_tool)
        wanted = tip_of(self.result.robot, log.q_ref[keep][good], X_tool)
        return t, path_deviation(t, actual, wanted)

    def _energy(self, done: Done) -> float | None:
        t, taken = self._taken
        if len(t) == 1:
            return None
        first, last = np.interp([done.begin_s, done.end_s], t, taken)
        return float(last - first)

    @cached_property
    def _taken(self) -> tuple[Array, Array]:
        """Instants [s], and the energy from the source up to them [J]."""
        log = self.result.log
        return np.append(0.0, log.time), np.append(0.0, log.energy)

    def _saturation(self, done: Done) -> tuple[str, ...]:
        """The limits of the drives that were met during an instruction: 'A voltage limit'."""
        found = []
        for axis in self.result.summary.get("axes", []):
            for span in axis.get("saturation", []):
                if span["kind"] == "stuck":  # a shaft at rest, not a limit
                    continue
                name = f"{axis.get('motor')} {span['kind']}"
                if span["from_s"] < done.end_s and span["to_s"] > done.begin_s and name not in found:
                    found.append(name)
        return tuple(found)


@dataclass(frozen=True)
class Step:
    """An instruction with energy from the source [J], distance from the commanded path [m], drive limits met."""

    done: Done
    energy_J: float | None
    off_path_m: float | None
    met: tuple[str, ...]

    @property
    def time_s(self) -> float:
        """How long it took."""
        return self.done.end_s - self.done.begin_s

    def limits(self) -> str:
        """What was reached, in words."""
        words = [limit_text(*item) for item in self.nearest()]
        return ", ".join([*words, *self.met])

    def nearest(self) -> list[tuple[str, str, float]]:
        """The planned limits that were reached, or else the one that was nearest."""
        at = [item for item in self.done.reached if item[2] >= NEAR_LIMIT]
        return at or sorted(self.done.reached, key=lambda item: -item[2])[:1]

    def numbers(self) -> dict[str, Any]:
        """The step for JSON, SI units in the names."""
        done = self.done
        return {
            "file": done.file or None,
            "line": done.line,
            "instruction": done.text,
            "complete": done.complete,
            "begin_s": done.begin_s,
            "end_s": done.end_s,
            "time_s": self.time_s,
            "energy_J": self.energy_J,
            "length_m": done.length_m,
            "top_tool_speed_m_per_s": done.top_speed,
            "off_path_max_m": self.off_path_m,
            "command_deviation_m": done.deviation_m,
            "pulse_deviation_m": done.pulse_deviation_m,
            "chord_error_m": done.chord_error_m,
            "slowed": done.slowed,
            "blend_m": done.blend_m,
            "note": done.note,
            "limits_reached": [
                {"what": what, "axis": axis or None, "share": share} for what, axis, share in done.reached
            ],
            "drive_limits_met": list(self.met),
        }


@dataclass(frozen=True)
class Line:
    """All steps that one line of the job led to."""

    line: int
    text: str
    steps: tuple[Step, ...]
    file: str = ""

    @property
    def place(self) -> str:
        """Where it stands: the line, with the file if that is not the job itself."""
        return self.steps[0].done.place if self.steps else place_text(self.file, self.line)

    @property
    def said(self) -> str:
        """Its text, and whether it was interrupted."""
        return self.text if all(step.done.complete for step in self.steps) else f"{self.text} (interrupted)"

    @property
    def time_s(self) -> float:
        """Of all of them."""
        return sum(step.time_s for step in self.steps)

    @property
    def energy_J(self) -> float | None:
        """Of all of them."""
        known = [step.energy_J for step in self.steps if step.energy_J is not None]
        return sum(known) if known else None

    def largest(self, name: str) -> float | None:
        """The largest of a number of the steps or of what the planner knew."""
        values = [getattr(s, name) if hasattr(s, name) else getattr(s.done, name) for s in self.steps]
        known = [float(value) for value in values if value is not None]
        return max(known) if known else None

    def limits(self) -> str:
        """What was reached, in words, the worst of all steps."""
        worst: dict[tuple[str, str], float] = {}
        for step in self.steps:
            for what, axis, share in step.nearest():
                worst[what, axis] = max(share, worst.get((what, axis), 0.0))
        at = {key: share for key, share in worst.items() if share >= NEAR_LIMIT}
        shown = at or dict(sorted(worst.items(), key=lambda item: -item[1])[:1])
        words = [limit_text(what, axis, share) for (what, axis), share in shown.items()]
        met = dict.fromkeys(name for step in self.steps for name in step.met)
        return ", ".join([*words, *met])


def limit_text(what: str, axis: str, share: float) -> str:
    """The share of a limit in words: 'A speed 98 %', 'tool speed 50 %'."""
    return f"{axis} {what} {100 * share:.0f} %".strip().replace(" ", "\u00a0")


def slowed_text(factor: float) -> str:
    """By how much a move takes longer than it was asked to, from ``MENTIONED`` on: 'slowed 1.25 times'."""
    return f"slowed {factor:.2f} times" if factor < 100.0 else f"slowed {factor:.3g} times"


def place_text(file: str, line: int) -> str:
    """A line of the job, or of a file that it calls: '12', 'sub.job:3', 'left/drop.job:2'."""
    return f"{file}:{line}" if file else str(line)


def by_line(steps: Iterable[Step], sources: Mapping[str, str] | None = None) -> list[Line]:
    """The steps by the line they come from; the text is that of its file if it is known."""
    written = {file: text.splitlines() for file, text in (sources or {}).items()}
    found: dict[tuple[str, int, str], list[Step]] = {}
    for step in steps:
        file, line = step.done.file, step.done.line
        lines = written.get(file, [])
        here = lines[line - 1].partition("#")[0].strip() if 0 < line <= len(lines) else ""
        text = here if here.upper().startswith(step.done.word) else step.done.text
        found.setdefault((file, line, text), []).append(step)
    return [Line(line, text, tuple(items), file) for (file, line, text), items in sorted(found.items())]


def spans(changes: Sequence[tuple[float, Any]], end: float) -> list[tuple[float, float, Any]]:
    """Changes as intervals (from, to, what) up to ``end`` [s]."""
    ends = [time for time, _ in changes[1:]] + [end]
    return [(time, to, what) for (time, what), to in zip(changes, ends, strict=True) if to > time]
