"""What can be seen wrong in a job before it runs: names, signals, calls, loops, unreachable lines."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from servotwin.description.checks import ROUNDING
from servotwin.description.display import of_joint
from servotwin.description.nodes import quoted
from servotwin.description.units import did_you_mean
from servotwin.jobs import syntax as s
from servotwin.jobs.flow import Exit, Flow, call_problem, walk
from servotwin.jobs.points import Points
from servotwin.jobs.problems import Problem

MAX_CALLS = 16  # subprograms within subprograms, files included
MAX_HINTS = 20  # unknown names of a file for which a similar one is looked for


@dataclass(frozen=True)
class Signals:
    """The names of the inputs and outputs that a controller has."""

    inputs: tuple[str, ...] = tuple(f"IN{i}" for i in range(1, 17))
    outputs: tuple[str, ...] = tuple(f"OUT{i}" for i in range(1, 17))


def check(
    job: s.Job,
    points: Points,
    joints: Sequence[str] | None = None,
    signals: Signals | None = None,
    *,
    sliding: Sequence[bool] | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> list[Problem]:
    """The problems of a job by line and column, errors and warnings.

    ``joints`` are the axes of the robot and ``sliding`` says which of them are
    measured in lengths; without them joint positions are not compared. ``ranges``:
    lowest and highest position [rad, m] of the axes that have limits.
    """
    checker = _Checker(job, points, joints, signals or Signals(), sliding, ranges or {})
    return sorted(checker.problems(), key=lambda p: (p.place.line, p.place.column))


class _Checker:
    def __init__(
        self,
        job: s.Job,
        points: Points,
        joints: Sequence[str] | None,
        signals: Signals,
        sliding: Sequence[bool] | None,
        ranges: Mapping[str, tuple[float, float]],
    ) -> None:
        self.job, self.points, self.joints, self.signals = job, points, joints, signals
        self.sliding = dict(zip(joints or (), sliding or (), strict=False))
        self.ranges = ranges
        self.file = job.file or "job"
        self.subs, self.pallets = job.subs, job.pallets
        self.all = list(walk(job.body))
        self.variables = {str(v.variable) for v in self.all if isinstance(v, s.Let)}
        self._known: dict[str, list[str]] = {}  # by kind, sorted
        self._accepted: dict[tuple[str, str], str] = {}  # by kind and unknown name

    def problem(self, at: s.Place, message: str, error: bool = True) -> Problem:
        return Problem(self.file, at, message, error)

    def unknown(self, kind: str, name: str, known: Collection[str], at: s.Place, where: str = "") -> Problem:
        if where and self.points.absent:
            text = f"{self.points.file}: no such file; expected a points file with the {kind} {quoted(name)}"
            return self.problem(s.place_of(name, at), text)
        if (kind, str(name)) not in self._accepted:
            self._accepted[kind, str(name)] = self._expected(kind, name, known)
        accepted = self._accepted[kind, str(name)]
        return self.problem(s.place_of(name, at), f"no {kind} {quoted(name)}{where}; {accepted}")

    def _expected(self, kind: str, name: str, known: Collection[str]) -> str:
        """The names that are known; the first unknown ones are told which of them is similar."""
        if not known:
            return f"there is no {kind} at all"
        if kind not in self._known:
            self._known[kind] = sorted(known)
        names = self._known[kind]
        hint = did_you_mean(name, names) if len(self._accepted) < MAX_HINTS else ""
        return f"expected one of {', '.join(names[:12])}{hint}"

    def problems(self) -> Iterator[Problem]:
        yield from self._duplicates(s.Sub, "subprogram")
        yield from self._duplicates(s.Pallet, "pallet")
        if all(isinstance(statement, s.Nothing | s.Sub | s.Pallet) for statement in self.job.body):
            yield self.problem(s.Place(1, 1), "an empty job: it has no instruction", error=False)
        for statement in self.all:
            yield from self._statement(statement)
        yield from self._loops_left(self.job.body, loop=False, sub=False)
        circle, depth = call_problem(self.subs)
        if circle:
            at = self.subs[circle[0]].place
            yield self.problem(at, f"a subprogram calls itself: {' calls '.join(circle)}; expected no circle")
        elif depth > MAX_CALLS:
            yield self.problem(
                s.Place(1, 1), f"calls within calls {depth} deep; expected at most {MAX_CALLS}"
            )
        else:
            yield from self._course()
        yield from self._unused()

    # --- names ------------------------------------------------------------------------------------
    def _duplicates(self, kind: type[s.Sub] | type[s.Pallet], word: str) -> Iterator[Problem]:
        first: dict[str, s.Place] = {}
        for statement in self.job.body:
            if isinstance(statement, kind):
                if statement.name in first:
                    message = f"{word} {quoted(statement.name)} is given twice; the first is in line "
                    yield self.problem(statement.place, f"{message}{first[statement.name].line}")
                first.setdefault(statement.name, statement.place)

    def _statement(self, statement: s.Statement) -> Iterator[Problem]:
        at = statement.place
        match statement:
            case s.MoveJ() | s.MoveL() | s.MoveC() | s.Spline():
                yield from self._move(statement)
            case s.Pallet():
                corners = (statement.origin, statement.row, statement.column)
                yield from (p for c in corners if c is not None for p in self._point(c, at))
                yield from self._corners(statement)
            case s.SetOutput() if statement.output not in self.signals.outputs:
                yield self.unknown("output", statement.output, self.signals.outputs, at)
            case s.WaitFor() if statement.signal not in self.signals.inputs:
                yield self.unknown("input", statement.signal, self.signals.inputs, at)
            case s.UseTool() if statement.tool is not None and statement.tool not in self.points.tools:
                yield self.unknown("tool", statement.tool, self.points.tools, at, self._in_points)
            case s.UseFrame() if statement.frame is not None and statement.frame not in self.points.frames:
                yield self.unknown("frame", statement.frame, self.points.frames, at, self._in_points)
            case s.Call() if statement.name not in self.subs:
                yield self.unknown("subprogram", statement.name, self.subs, at)
            case s.Next() | s.Reset() if statement.pallet not in self.pallets:
                yield self.unknown("pallet", statement.pallet, self.pallets, at)
            case s.Repeat() if isinstance(statement.times, str) and statement.times not in self.pallets:
                yield self.unknown("pallet", statement.times, self.pallets, at)
            case s.If():
                yield from self._condition(statement.condition, at)
            case s.Let() | s.Inc():
                yield from self._assignment(statement)

    def _corners(self, pallet: s.Pallet) -> Iterator[Problem]:
        """Corners that are one and the same place."""
        far = {"ROW": pallet.row, "COLUMN": pallet.column}
        named = {"ORIGIN": pallet.origin, **{word: name for word, name in far.items() if name is not None}}
        for (one, first), (other, second) in combinations(named.items(), 2):
            if first == second or (first in self.points and self._place(first) == self._place(second)):
                text = f"{one} and {other} of pallet {quoted(pallet.name)} are the same place; expected two corners"
                yield self.problem(s.place_of(second, pallet.place), text)

    def _place(self, name: str) -> object:
        """Where a point is, for comparisons; None if it is not known."""
        if name not in self.points:
            return None
        point = self.points[name]
        return (point.joints, point.pose, point.frame)

    @property
    def _in_points(self) -> str:
        return f" in {self.points.file}" if self.points.file else ""

    def _assignment(self, statement: s.Let | s.Inc) -> Iterator[Problem]:
        value = statement.value if isinstance(statement, s.Let) else statement.by
        read = [value] if isinstance(value, str) else []
        if isinstance(statement, s.Inc):
            read.append(statement.variable)
        for name in read:
            if name not in self.variables:
                yield self.unknown("variable", name, self.variables, statement.place)

    def _condition(self, condition: s.Condition, at: s.Place) -> Iterator[Problem]:
        if isinstance(condition, s.PalletFull):
            if condition.pallet not in self.pallets:
                yield self.unknown("pallet", condition.pallet, self.pallets, at)
        elif isinstance(condition, s.SignalIs):
            signals = (*self.signals.inputs, *self.signals.outputs)
            if condition.signal not in signals:
                yield self.unknown("input or output", condition.signal, signals, at)
        else:
            for name in (condition.variable, condition.value):
                if isinstance(name, str) and name not in self.variables:
                    yield self.unknown("variable", name, self.variables, at)

    def _move(self, move: s.Move) -> Iterator[Problem]:
        targets: Iterable[s.Target]
        if isinstance(move, s.Spline):
            targets = [s.PointTarget(name) for name in move.points]
        else:
            targets = [move.via, move.target] if isinstance(move, s.MoveC) else [move.target]
        for target in targets:
            if isinstance(target, s.PointTarget):
                yield from self._point(target.point, move.place)
                if target.offset is None:  # a shifted point is told when it is planned
                    yield from self._beyond(target.point, move.place)
            elif target.pallet not in self.pallets:
                yield self.unknown("pallet", target.pallet, self.pallets, move.place)
        manner = move.manner
        if manner.time is not None and manner.blend is not None and manner.blend.si > 0.0:
            message = "TIME and BLEND in one move; expected SPEED instead of TIME, or no BLEND"
            yield self.problem(move.place, message)
        if isinstance(move, s.MoveC) and move.via == move.target:
            yield self.problem(move.place, "a circle through one point twice; expected VIA and TO to differ")
        if isinstance(move, s.Spline):
            for one, other in zip(move.points, move.points[1:], strict=False):
                if one == other:
                    message = f"point {quoted(other)} twice in a row; expected another point in between"
                    yield self.problem(s.place_of(other, move.place), message)

    def _point(self, name: str, at: s.Place) -> Iterator[Problem]:
        if name not in self.points:
            yield self.unknown("point", name, self.points.points, at, self._in_points)
            return
        given = self.points[name].joints
        if given is None or self.joints is None:
            return
        place = s.place_of(name, at)
        expected = f"expected {', '.join(self.joints)}"
        for joint in given:
            if joint not in self.joints:
                hint = did_you_mean(joint, list(self.joints))
                yield self.problem(
                    place, f"point {quoted(name)} has an axis {quoted(joint)}; {expected}{hint}"
                )
            elif (joint in self.points[name].sliding) != self.sliding.get(
                joint, joint in self.points[name].sliding
            ):
                kind = "a length" if self.sliding[joint] else "an angle"
                yield self.problem(place, f"axis {quoted(joint)} of point {quoted(name)}; expected {kind}")
        lacking = [joint for joint in self.joints if joint not in given]
        if lacking:
            yield self.problem(place, f"point {quoted(name)} lacks {', '.join(lacking)}; {expected}")

    def _beyond(self, name: str, at: s.Place) -> Iterator[Problem]:
        """Joint positions that the robot cannot take."""
        given = self.points[name].joints if name in self.points else None
        for joint, q in (given or {}).items():
            low, high = self.ranges.get(joint, (-math.inf, math.inf))
            if (joint in self.points[name].sliding) != self.sliding.get(joint, False):
                continue  # an angle for a length, which is told already
            slack = ROUNDING * max(abs(q), 1.0)
            if not low - slack <= q <= high + slack:
                shown = of_joint(self.sliding.get(joint, False))
                text = (
                    f"axis {quoted(joint)} of point {quoted(name)} would stand at {shown.text(q, '.6g')}, beyond its "
                    f"limits; allowed are {shown.text(low, '.6g')} to {shown.text(high, '.6g')}"
                )
                yield self.problem(s.place_of(name, at), text)

    # --- course -----------------------------------------------------------------------------------
    def _loops_left(self, body: tuple[s.Statement, ...], loop: bool, sub: bool) -> Iterator[Problem]:
        """BREAK outside of loops, RETURN outside of subprograms."""
        for statement in body:
            if isinstance(statement, s.Break) and not loop:
                yield self.problem(statement.place, "BREAK outside of a loop; expected REPEAT around it")
            if isinstance(statement, s.Return) and not sub:
                yield self.problem(
                    statement.place, "RETURN outside of a subprogram; expected STOP, or SUB around it"
                )
            for inner in s.blocks_of(statement):
                inside = (loop or isinstance(statement, s.Repeat), sub or isinstance(statement, s.Sub))
                yield from self._loops_left(inner, *inside)

    def _course(self) -> Iterator[Problem]:
        flow = Flow(self.subs)
        for statement in self.all:
            if not isinstance(statement, s.Repeat):
                continue
            if not flow.takes_time(statement.body):
                message = "a loop without a move or wait; expected one in it, such as WAIT 0.1 s"
                yield self.problem(statement.place, message)
            elif flow.exits(statement.body).get(Exit.END) is False:
                message = (
                    "this loop can go round without a move or wait; expected one on every way through it"
                )
                yield self.problem(statement.place, message)
        bodies = [self.job.body, *(sub.body for sub in self.job.body if isinstance(sub, s.Sub))]
        for body in bodies:
            for statement in flow.unreachable(body):
                yield self.problem(statement.place, "this line is never reached", error=False)

    def _unused(self) -> Iterator[Problem]:
        called = {c.name for c in self.all if isinstance(c, s.Call)}
        for name, sub in self.subs.items():
            if name not in called:
                yield self.problem(sub.place, f"subprogram {quoted(name)} is never called", error=False)


def used_points(job: s.Job) -> dict[str, list[s.Place]]:
    """The points a job names, each with the places where it does."""
    found: dict[str, list[s.Place]] = {}

    def add(name: str | None, at: s.Place) -> None:
        if name is not None:
            found.setdefault(str(name), []).append(s.place_of(name, at))

    for statement in walk(job.body):
        if isinstance(statement, s.Spline):
            for name in statement.points:
                add(name, statement.place)
        elif isinstance(statement, s.Pallet):
            for corner in (statement.origin, statement.row, statement.column):
                add(corner, statement.place)
        elif isinstance(statement, s.MoveJ | s.MoveL | s.MoveC):
            for target in (getattr(statement, "via", None), statement.target):
                if isinstance(target, s.PointTarget):
                    add(target.point, statement.place)
    return found


def sliding_of(units: Sequence[str]) -> tuple[bool, ...]:
    """Which axes are measured in lengths, from ``robot.joint_units``."""
    return tuple(unit == "m" for unit in units)
