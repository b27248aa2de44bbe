"""What a job may ask for next, answered before it is asked: planned between two periods, never within one.

An answer holds for the circumstances that it was made for: where the arm stands, the inputs that its instructions
read, a single step or not. Where an input decides about the course of a job there is an answer for either value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from servotwin.control.main.exchange import (
    AlarmTask,
    EndTask,
    InputTask,
    MotionTask,
    OutputTask,
    Task,
    WaitTask,
)
from servotwin.description.frames import Array
from servotwin.jobs.check import Signals
from servotwin.jobs.interpreter import Interpreter
from servotwin.jobs.requests import Request

INPUTS = frozenset(Signals().inputs)
NEAR = 1e-9  # rad, m: a plan serves an arm that stands this close to its beginning
MOST_ANSWERS = 64  # of one look ahead: what is beyond them is planned while the arm stands


class ReadInputs(Mapping[str, bool]):
    """Inputs that remember which of them were ``read``; an input that is not there is off."""

    def __init__(self, inputs: Mapping[str, bool]) -> None:
        self.inputs = inputs
        self.read: dict[str, bool] = {}

    def __getitem__(self, name: str) -> bool:
        if name not in INPUTS:  # the interpreter knows the outputs itself
            return self.inputs[name]
        self.read[name] = bool(self.inputs.get(name, False))
        return self.read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.inputs)

    def __len__(self) -> int:
        return len(self.inputs)


@dataclass
class Course:
    """How far a job was read: the interpreter, and a request that it gave but that was not carried out yet."""

    interpreter: Interpreter
    waiting: Request | None = None

    def fork(self) -> Course:
        """The same, to be read further without changing this one."""
        return Course(self.interpreter.fork(), self.waiting)

    def advance(self, inputs: Mapping[str, bool], *, timed_out: bool = False) -> Request:
        """The next request."""
        request, self.waiting = self.waiting, None
        return self.interpreter.advance(inputs, timed_out=timed_out) if request is None else request


@dataclass
class Answer:
    """A task, the circumstances that it is for, and the answers that may follow it.

    ``course``: how far the job is read with it; ``planned``: what was planned for it; ``failure``: the exception
    that came instead of a task. ``looked``: whether all that may follow within a period is answered, and for
    what ``single``.
    """

    q: Array
    single: bool
    timed_out: bool
    read: Mapping[str, bool]
    course: Course
    task: Task | None = None
    planned: Any = None
    failure: Exception | None = None
    then: list[Answer] = field(default_factory=list)
    looked: bool | None = None

    def holds(self, q: Array, inputs: Mapping[str, bool], *, single: bool, timed_out: bool) -> bool:
        """Whether it is the answer in these circumstances."""
        return (
            self.single == single
            and self.timed_out == timed_out
            and all(bool(inputs.get(name, False)) == on for name, on in self.read.items())
            and bool(np.abs(q - self.q).max() <= NEAR)
        )

    def next(self, q: Array, inputs: Mapping[str, bool], *, single: bool, timed_out: bool) -> Answer | None:
        """The answer that follows in these circumstances; None if there is none yet."""
        for answer in self.then:
            if answer.holds(q, inputs, single=single, timed_out=timed_out):
                return answer
        return None

    @property
    def end(self) -> Array:
        """Where the arm stands after the task (n,)."""
        return end_of(self.task, self.q)

    @property
    def outcomes(self) -> tuple[bool, ...]:
        """How the task may end: in time, and too late."""
        late = isinstance(self.task, InputTask) and self.task.timeout is not None
        return (False, True) if late else (False,)

    @property
    def least_time(self) -> float:
        """How long the task lasts at least [s]; infinite if nothing can follow within its period."""
        match self.task:
            case MotionTask():
                return self.task.trajectory.duration  # at full pace
            case WaitTask() if self.task.seconds > 0.0:
                return self.task.seconds
            case OutputTask():
                return 0.0
            case None | AlarmTask() | EndTask() | InputTask() | WaitTask():
                return float("inf")


def end_of(task: Task | None, q: Array) -> Array:
    """Where an arm at q (n,) stands after a task (n,)."""
    if not isinstance(task, MotionTask):
        return q
    return np.asarray(task.trajectory.sample(np.array([task.trajectory.duration]))[0][0])


Make = Callable[[Course, Array, Mapping[str, bool], bool, bool], Answer]


def look_ahead(
    here: Answer, q: Array, inputs: Mapping[str, bool], make: Make, *, single: bool, span: float
) -> None:
    """Answer all that may be asked for within ``span`` [s] after the task of ``here``, at most ``MOST_ANSWERS``.

    ``make`` answers for a course, positions (n,), inputs, ``single`` and ``timed_out``. Answers are appended whole,
    one by one, so that another thread may look for them meanwhile.
    """
    room = MOST_ANSWERS
    layer = [(here, q, span)]
    while layer and room > 0:
        at, stands, left = layer.pop(0)
        for timed_out in at.outcomes:
            if not any(one.single == single and one.timed_out == timed_out for one in at.then):
                for answer in _answers(at.course, stands, inputs, make, single, timed_out, room):
                    at.then.append(answer)
                    room -= 1
        for answer in at.then:
            if answer.single == single and answer.least_time < left:
                layer.append((answer, answer.end, left - answer.least_time))
    here.looked = single


def _answers(
    course: Course, q: Array, inputs: Mapping[str, bool], make: Make, single: bool, timed_out: bool, most: int
) -> Iterator[Answer]:
    """An answer for every outcome of the conditions on inputs, as they are now first."""
    waiting: list[dict[str, bool]] = [{}]
    while waiting and most > 0:
        assumed = waiting.pop(0)
        answer = make(course, q, {**inputs, **assumed}, single, timed_out)
        yield answer
        most -= 1
        for name, on in answer.read.items():
            if name not in assumed:
                waiting.append({**assumed, name: not on})
                assumed = {**assumed, name: on}
