"""Carries out a job, one request at a time.

The interpreter has no thread and no clock, never waits, and evaluates no code:
the controller asks for the next request, does it, and asks again. The same job
with the same inputs gives the same requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from servotwin.errors import InputError
from servotwin.jobs import requests as r
from servotwin.jobs import syntax as s
from servotwin.jobs.check import MAX_CALLS
from servotwin.jobs.program import Program
from servotwin.jobs.resolve import Kinematics, Resolver
from servotwin.jobs.words import MAX_WHOLE

MAX_SILENT = 10_000  # instructions between two requests
_FULL_SPEED = r.Rate("share", 1.0)


@dataclass
class _Modes:
    """What holds for the moves that follow, until it is set again."""

    frame: str | None = None
    tool: str | None = None
    speed: r.Rate = _FULL_SPEED
    profile: str | None = None
    shaper: str | None = None  # 'none': not shaped; None: as the controller does it


@dataclass
class _Level:
    """A block that is being carried out: its statements, the next of them, and the rounds still to go."""

    kind: Literal["file", "sub", "loop", "block"]
    program: Program
    body: tuple[s.Statement, ...]
    next: int = 0
    rounds: int | None = 0  # None: for ever
    modes: _Modes = field(default_factory=_Modes)  # shared by all levels of a file
    name: str = ""


class Interpreter:
    """Steps through a program for a robot.

    ``advance`` gives the next request; ``step`` does one instruction, which may
    ask for nothing. ``current`` is where the last instruction stands and
    ``upcoming`` where the next one does. ``variables`` and ``outputs`` may be looked at;
    ``outputs`` begin as they are given.
    """

    def __init__(
        self, program: Program, robot: Kinematics, outputs: Mapping[str, bool] | None = None
    ) -> None:
        self.program, self.robot = program, robot
        self.variables: dict[str, int] = {}
        self.outputs = dict(outputs or {})
        self.current = r.Where(program.job.file, 1, 1)
        self.ended = False
        self._places: dict[tuple[int, str], int] = {}  # of the pallets, by file and name
        self._waiting: s.WaitFor | None = None
        self._levels = [_Level("file", program, program.job.body)]

    # --- what the controller uses -----------------------------------------------------------------
    def advance(self, inputs: Mapping[str, bool] | None = None, *, timed_out: bool = False) -> r.Request:
        """The next request. ``timed_out`` says that the last one, a WaitInput, was given up."""
        for _ in range(MAX_SILENT):
            request = self.step(inputs, timed_out=timed_out)
            if request is not None:
                return request
            timed_out = False
        return self._alarm(f"{MAX_SILENT} instructions without a move or wait")

    def step(self, inputs: Mapping[str, bool] | None = None, *, timed_out: bool = False) -> r.Request | None:
        """Do one instruction; None if it asks nothing of the controller."""
        waited, self._waiting = self._waiting, None
        if self.ended:
            return r.End(self.current)
        if timed_out and waited is not None:
            if waited.otherwise is None:
                return self._alarm(f"{waited.signal} was not {'ON' if waited.on else 'OFF'} in time")
            self._enter("block", waited.otherwise)
        statement = self._fetch()
        if statement is None:
            self.ended = True
            return r.End(self.current)
        level = self._levels[-1]
        self.current = r.Where(level.program.job.file, statement.place.line, statement.place.column)
        try:
            return self._do(statement, {} if inputs is None else inputs)
        except InputError as error:
            return self._alarm(error.message)

    @property
    def upcoming(self) -> r.Where | None:
        """Where the next instruction stands; None at the end."""
        fork = self.fork()
        statement = None if self.ended else fork._fetch()
        if statement is None:
            return None
        return r.Where(fork._levels[-1].program.job.file, statement.place.line, statement.place.column)

    @property
    def calls(self) -> tuple[str, ...]:
        """The files and subprograms that are being carried out, the outermost first."""
        return tuple(
            level.name or level.program.job.file for level in self._levels if level.kind in ("file", "sub")
        )

    def fork(self) -> Interpreter:
        """An interpreter in the same state that goes its own way: to look ahead."""
        other = Interpreter(self.program, self.robot, self.outputs)
        other.variables = dict(self.variables)
        other.current, other.ended = self.current, self.ended
        other._places, other._waiting = dict(self._places), self._waiting
        modes = {id(level.modes): replace(level.modes) for level in self._levels}
        other._levels = [replace(level, modes=modes[id(level.modes)]) for level in self._levels]
        return other

    # --- course -----------------------------------------------------------------------------------
    def _fetch(self) -> s.Statement | None:
        """The next statement that is an instruction, leaving blocks that are done; None at the end."""
        while self._levels:
            level = self._levels[-1]
            while level.next < len(level.body):
                statement = level.body[level.next]
                level.next += 1
                if not isinstance(statement, s.Nothing | s.Sub | s.Pallet):
                    return statement
            if level.kind == "loop" and self._again(level):
                continue
            self._levels.pop()
        return None

    @staticmethod
    def _again(level: _Level) -> bool:
        """Begin the next round of a loop, if there is one; a body without instructions has none."""
        if all(isinstance(statement, s.Nothing) for statement in level.body):
            return False
        if level.rounds is not None:
            level.rounds -= 1
            if level.rounds <= 0:
                return False
        level.next = 0
        return True

    def _enter(
        self,
        kind: Literal["file", "sub", "loop", "block"],
        body: tuple[s.Statement, ...],
        rounds: int | None = 0,
        name: str = "",
    ) -> None:
        top = self._levels[-1]
        self._levels.append(_Level(kind, top.program, body, rounds=rounds, modes=top.modes, name=name))

    def _leave(self, kind: Literal["sub", "loop"]) -> None:
        """Leave the innermost block of a kind, and all within it; a file is never left so."""
        while len(self._levels) > 1 and self._levels[-1].kind != "file":
            if self._levels.pop().kind == kind:
                return

    def _alarm(self, text: str) -> r.ProgramAlarm:
        self.ended = True
        return r.ProgramAlarm(self.current, text)

    # --- instructions -----------------------------------------------------------------------------
    def _do(self, statement: s.Statement, inputs: Mapping[str, bool]) -> r.Request | None:
        here = self.current
        match statement:
            case s.MoveJ() | s.MoveL() | s.MoveC() | s.Spline():
                return self._motion(statement)
            case s.Wait():
                return r.Wait(here, statement.time.si)
            case s.SetOutput():
                self.outputs[str(statement.output)] = statement.on
                return r.SetOutput(here, str(statement.output), statement.on)
            case s.WaitFor():
                self._waiting = statement
                timeout = None if statement.timeout is None else statement.timeout.si
                return r.WaitInput(here, str(statement.signal), statement.on, timeout)
            case s.Alarm():
                return self._alarm(statement.text)
            case s.Stop():
                self.ended = True
                return r.End(here)
            case s.CallFile():
                return self._call_file(statement)
        self._quietly(statement, inputs)
        return None

    def _quietly(self, statement: s.Statement, inputs: Mapping[str, bool]) -> None:
        """Do an instruction that asks nothing of the controller."""
        match statement:
            case s.If():
                body = statement.body if self._holds(statement.condition, inputs) else statement.otherwise
                self._enter("block", body or ())
            case s.Repeat():
                times = statement.times
                self._enter(
                    "loop", statement.body, self._pallet(times).places if isinstance(times, str) else times
                )
            case s.Call():
                self._call(statement)
            case s.Break():
                self._leave("loop")
            case s.Return():
                self._leave("sub")
            case s.Let():
                self._assign(statement.variable, self._value(statement.value))
            case s.Inc():
                self._assign(statement.variable, self._value(statement.variable) + self._value(statement.by))
            case s.Next():
                key = self._key(self._pallet(statement.pallet))
                self._places[key] = self._places.get(key, 0) + 1
            case s.Reset():
                self._places[self._key(self._pallet(statement.pallet))] = 0
            case _:
                self._select(statement)

    def _select(self, statement: s.Statement) -> None:
        """Set a mode of the moves that follow."""
        modes = self._levels[-1].modes
        points = self._levels[-1].program.points
        match statement:
            case s.UseTool():
                points.tool_matrix(statement.tool)
                modes.tool = statement.tool
            case s.UseFrame():
                points.frame_matrix(statement.frame)
                modes.frame = statement.frame
            case s.SpeedDefault():
                modes.speed = r.Rate("share", statement.speed.si)
            case s.ProfileDefault():
                modes.profile = statement.profile
            case s.ShaperDefault():
                modes.shaper = statement.shaper or "none"

    def _call(self, statement: s.Call) -> None:
        sub = self._levels[-1].program.job.subs.get(statement.name)
        if sub is None:
            raise InputError(f"no subprogram '{statement.name}'")
        self._check_depth()
        self._enter("sub", sub.body, name=str(sub.name))

    def _call_file(self, statement: s.CallFile) -> r.Request:
        program = self._levels[-1].program.called.get(statement.path)
        if program is None:
            raise InputError(f"no job file '{statement.path}' was loaded")
        self._check_depth()
        self._levels.append(_Level("file", program, program.job.body))
        return r.Wait(self.current, 0.0)

    def _check_depth(self) -> None:
        if len(self.calls) > 2 * MAX_CALLS:
            raise InputError(f"calls within calls more than {2 * MAX_CALLS} deep")

    # --- values -----------------------------------------------------------------------------------
    def _value(self, value: int | str) -> int:
        return self.variables.get(value, 0) if isinstance(value, str) else value

    def _assign(self, variable: str, value: int) -> None:
        if abs(value) > MAX_WHOLE:
            raise InputError(f"variable '{variable}' would become {value}; expected at most {MAX_WHOLE}")
        self.variables[str(variable)] = value

    def _holds(self, condition: s.Condition, inputs: Mapping[str, bool]) -> bool:
        if isinstance(condition, s.SignalIs):
            state = inputs.get(condition.signal, self.outputs.get(condition.signal, False))
            return state == condition.on
        if isinstance(condition, s.PalletFull):
            pallet = self._pallet(condition.pallet)
            return self._places.get(self._key(pallet), 0) >= pallet.places
        left, right = self._value(condition.variable), self._value(condition.value)
        return {
            "=": left == right,
            "<>": left != right,
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
        }[condition.sign]

    def _pallet(self, name: str) -> s.Pallet:
        pallet = self._levels[-1].program.job.pallets.get(name)
        if pallet is None:
            raise InputError(f"no pallet '{name}'")
        return pallet

    def _key(self, pallet: s.Pallet) -> tuple[int, str]:
        return id(self._levels[-1].program), str(pallet.name)

    # --- moves ------------------------------------------------------------------------------------
    def _motion(self, move: s.Move) -> r.Motion:
        level = self._levels[-1]
        modes, manner = level.modes, move.manner
        kind: Literal["MOVEJ", "MOVEL", "MOVEC", "SPLINE"]
        targets: tuple[s.Target, ...]
        match move:
            case s.MoveJ():
                kind, targets = "MOVEJ", (move.target,)
            case s.MoveL():
                kind, targets = "MOVEL", (move.target,)
            case s.MoveC():
                kind, targets = "MOVEC", (move.via, move.target)
            case s.Spline():
                kind, targets = "SPLINE", tuple(s.PointTarget(name) for name in move.points)
        return r.Motion(
            self.current,
            kind,
            tuple(self._target(target) for target in targets),
            _speed(manner, modes.speed),
            _rate(manner.acc),
            0.0 if manner.blend is None else manner.blend.si,
            manner.profile or modes.profile,
            modes.tool,
            level.program.points.tool_matrix(modes.tool),
            manner.optimal,
            0.0 if manner.energy is None else manner.energy.si,
            modes.shaper,
        )

    def _target(self, target: s.Target) -> r.Target:
        level = self._levels[-1]
        resolver = Resolver(level.program.points, self.robot)
        frame, tool = level.modes.frame, level.modes.tool
        if isinstance(target, s.PointTarget):
            return resolver.point(target, frame, tool)
        pallet = self._pallet(target.pallet)
        index = self._places.get(self._key(pallet), 0)
        if index >= pallet.places:
            raise InputError(
                f"pallet '{pallet.name}' is full: all {pallet.places} places are passed; RESET it first"
            )
        return resolver.pallet(pallet, index, target, frame, tool)


def _rate(amount: s.Amount | None) -> r.Rate | None:
    if amount is None:
        return None
    return r.Rate("share" if amount.is_share else "tool", amount.si)


def _speed(manner: s.Manner, default: r.Rate) -> r.Rate:
    if manner.time is not None:
        return r.Rate("time", manner.time.si)
    return _rate(manner.speed) or default
