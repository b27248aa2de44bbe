"""Where the course of a job can go: ways out of a block, and whether time passes on them.

A block can be left at its end, by BREAK, by RETURN, or by the end of the job.
For each way out that exists, ``exits`` says whether every course to it holds a
move or a wait. A loop whose round can pass without one would never end in
finite time, and what follows a block that never ends is never reached. A called
file counts as taking time, because the interpreter lets a period pass for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from servotwin.jobs import syntax as s

TIMED = (s.MoveJ, s.MoveL, s.MoveC, s.Spline, s.Wait, s.WaitFor)


class Exit(Enum):
    """The ways out of a block."""

    END = "end"
    BREAK = "break"
    RETURN = "return"
    STOP = "stop"


Exits = dict[Exit, bool]
Body = tuple[s.Statement, ...]


class Flow:
    """The course of the statements of one file; ``call_problem`` must have found none in ``subs``."""

    def __init__(self, subs: Mapping[str, s.Sub]) -> None:
        self.subs = subs
        self._of_sub: dict[str, Exits] = {}
        self._timed_subs: dict[str, bool] = {}

    def exits(self, body: Body) -> Exits:
        """The ways out of a body, each with: does time pass on every course to it?"""
        found: Exits = {}
        passed = False
        for statement in body:
            ways = self.of(statement)
            for way, timed in ways.items():
                if way is not Exit.END:
                    found[way] = found.get(way, True) and (passed or timed)
            if Exit.END not in ways:
                return found
            passed = passed or ways[Exit.END]
        found[Exit.END] = passed
        return found

    def of(self, statement: s.Statement) -> Exits:
        """The ways out of one statement."""
        match statement:
            case s.Break():
                return {Exit.BREAK: False}
            case s.Return():
                return {Exit.RETURN: False}
            case s.Stop() | s.Alarm():
                return {Exit.STOP: False}
            case s.If():
                return _either(self.exits(statement.body), self.exits(statement.otherwise or ()))
            case s.Repeat():
                return self._loop(statement)
            case s.WaitFor():
                waited = dict.fromkeys(self.exits(statement.otherwise or ()), True)
                return {Exit.END: True, **waited}
            case s.Call() if statement.name in self.subs:
                return self._call(statement.name)
        return {Exit.END: isinstance(statement, (*TIMED, s.CallFile))}

    def _loop(self, loop: s.Repeat) -> Exits:
        ways = self.exits(loop.body)
        ends = [ways.pop(way) for way in (Exit.BREAK,) if way in ways]
        after_a_round = ways.pop(Exit.END, None)
        if loop.times is not None and after_a_round is not None:
            ends.append(after_a_round)
        return {**ways, Exit.END: all(ends)} if ends else ways

    def _call(self, name: str) -> Exits:
        if name not in self._of_sub:
            ways = self.exits(self.subs[name].body)
            back = [ways.pop(way) for way in (Exit.END, Exit.RETURN) if way in ways]
            self._of_sub[name] = {**ways, Exit.END: all(back)} if back else ways
        return self._of_sub[name]

    def takes_time(self, body: Body) -> bool:
        """True if there is a move or wait anywhere in a body or in what it calls."""
        return any(
            isinstance(statement, (*TIMED, s.CallFile))
            or (isinstance(statement, s.Call) and self._sub_takes_time(statement.name))
            for statement in walk(body)
        )

    def _sub_takes_time(self, name: str) -> bool:
        if name not in self._timed_subs:
            self._timed_subs[name] = name in self.subs and self.takes_time(self.subs[name].body)
        return self._timed_subs[name]

    def unreachable(self, body: Body) -> Iterator[s.Statement]:
        """The first statement of every stretch that no course leads to."""
        ended = False
        for statement in body:
            if isinstance(statement, s.Nothing | s.Sub | s.Pallet):
                continue
            if ended:
                yield statement
                return
            for inner in s.blocks_of(statement):
                yield from self.unreachable(inner)
            ended = Exit.END not in self.of(statement)


def _either(one: Exits, other: Exits) -> Exits:
    return {way: one.get(way, True) and other.get(way, True) for way in one.keys() | other.keys()}


def walk(body: Body) -> Iterator[s.Statement]:
    """Every statement of a body and of the blocks in it, in the order of the text."""
    for statement in body:
        yield statement
        for inner in s.blocks_of(statement):
            yield from walk(inner)


def call_problem(subs: Mapping[str, s.Sub]) -> tuple[list[str], int]:
    """Names of subprograms that call each other in a circle (empty if none), and the depth of the calls."""
    calls = {
        name: {str(c.name) for c in walk(sub.body) if isinstance(c, s.Call) and c.name in subs}
        for name, sub in subs.items()
    }
    callers: dict[str, list[str]] = {name: [] for name in calls}
    for name, called in calls.items():
        for other in called:
            callers[other].append(name)
    left = {
        name: len(called) for name, called in calls.items()
    }  # calls of subprograms that are not yet placed
    depth = 0
    leaves = [name for name, count in left.items() if not count]
    while leaves:
        depth += 1
        above = []
        for name in leaves:
            del left[name]
            for caller in callers[name]:
                left[caller] -= 1
                if not left[caller]:
                    above.append(caller)
        leaves = above
    return _circle(calls, left), depth


def _circle(calls: Mapping[str, set[str]], left: Mapping[str, int]) -> list[str]:
    """A circle among the subprograms that are left, of which each calls another one; empty if none is left."""
    passed: dict[str, int] = {}
    name = next(iter(left), None)
    while name is not None and name not in passed:
        passed[name] = len(passed)
        name = min(other for other in calls[name] if other in left)
    return [] if name is None else [*list(passed)[passed[name] :], name]
