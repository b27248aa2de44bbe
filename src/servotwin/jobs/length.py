"""How much a job does at least, without carrying it out: rounds of loops are multiplied.

What depends on inputs counts as the shorter way; a loop that may be left early, or never, counts as one round. So a
job takes no less than this unless an alarm ends it.
"""

from __future__ import annotations

from dataclasses import dataclass

from servotwin.jobs import syntax as s
from servotwin.jobs.flow import Exit, Exits, Flow
from servotwin.jobs.program import Program
from servotwin.motion.legs import LONGEST

MOST = 10**18  # counts and seconds beyond are given as this


@dataclass(frozen=True)
class Length:
    """Time of waits and of moves whose time is stated [s], and how many moves and instructions there are."""

    seconds: float = 0.0
    moves: int = 0
    instructions: int = 0

    def __add__(self, other: Length) -> Length:
        return _bounded(
            self.seconds + other.seconds, self.moves + other.moves, self.instructions + other.instructions
        )

    def __mul__(self, rounds: int) -> Length:
        return _bounded(self.seconds * rounds, self.moves * rounds, self.instructions * rounds)

    def least(self, other: Length) -> Length:
        """What both do at least: one may take less time, the other fewer moves."""
        return Length(
            min(self.seconds, other.seconds),
            min(self.moves, other.moves),
            min(self.instructions, other.instructions),
        )


def _bounded(seconds: float, moves: int, instructions: int) -> Length:
    return Length(min(seconds, float(MOST)), min(moves, MOST), min(instructions, MOST))


def least_length(program: Program) -> Length:
    """What a checked program does at least, the files it calls included."""
    return _Counter().program(program)


class _Counter:
    """Lengths and ways out of files, each found once."""

    def __init__(self) -> None:
        self.lengths: dict[int, Length] = {}
        self.ways: dict[int, Exits] = {}

    def program(self, program: Program) -> Length:
        if id(program) not in self.lengths:
            self.lengths[id(program)] = _FileCounter(program, self).body(program.job.body)
        return self.lengths[id(program)]

    def exits(self, program: Program) -> Exits:
        if id(program) not in self.ways:
            self.ways[id(program)] = _FilesFlow(program, self).exits(program.job.body)
        return self.ways[id(program)]


class _FilesFlow(Flow):
    """The course through the files that are called, too: a STOP in one of them ends the whole job."""

    def __init__(self, program: Program, counter: _Counter) -> None:
        super().__init__(program.job.subs)
        self.called, self.counter = program.called, counter

    def of(self, statement: s.Statement) -> Exits:
        if isinstance(statement, s.CallFile) and statement.path in self.called:
            return dict.fromkeys(self.counter.exits(self.called[statement.path]), True)
        return super().of(statement)


class _FileCounter:
    def __init__(self, program: Program, counter: _Counter) -> None:
        self.called, self.subs, self.pallets = program.called, program.job.subs, program.job.pallets
        self.counter, self.flow = counter, _FilesFlow(program, counter)
        self.of_subs: dict[str, Length] = {}

    def body(self, body: tuple[s.Statement, ...]) -> Length:
        """Up to the first statement that may be the last."""
        total = Length()
        for statement in body:
            if isinstance(statement, s.Nothing | s.Sub | s.Pallet):
                continue
            total += self.statement(statement) + Length(instructions=1)
            if self.flow.of(statement).keys() != {Exit.END}:
                break
        return total

    def statement(self, statement: s.Statement) -> Length:
        match statement:
            case s.Wait():
                return Length(seconds=statement.time.si)
            case s.MoveJ() | s.MoveL() | s.MoveC() | s.Spline():
                stated = 0.0 if statement.manner.time is None else statement.manner.time.si
                return Length(
                    stated if stated <= LONGEST else 0.0, moves=1
                )  # longer ones are refused at their line
            case s.If():
                return self.body(statement.body).least(self.body(statement.otherwise or ()))
            case s.Repeat():
                return self.body(statement.body) * self._rounds(statement)
            case s.Call() if statement.name in self.subs:
                return self._sub(statement.name)
            case s.CallFile() if statement.path in self.called:
                return self.counter.program(self.called[statement.path])
        return Length()

    def _rounds(self, loop: s.Repeat) -> int:
        if loop.times is None or self.flow.exits(loop.body).keys() != {Exit.END}:
            return 1
        if isinstance(loop.times, str):
            return self.pallets[loop.times].places if loop.times in self.pallets else 1
        return loop.times

    def _sub(self, name: str) -> Length:
        if name not in self.of_subs:
            self.of_subs[name] = self.body(self.subs[name].body)
        return self.of_subs[name]
