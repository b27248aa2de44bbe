"""Plays a job back: one task after the other, motions at the pace that is wanted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from itertools import islice
from typing import cast, get_args

import numpy as np

from servotwin.control.main.exchange import (
    AlarmTask,
    EndTask,
    Entry,
    InputTask,
    Label,
    MotionTask,
    OutputTask,
    PlannedSource,
    ProgramSource,
    Task,
    WaitTask,
)
from servotwin.control.main.retrace import Piece, Retrace, pieces_of
from servotwin.control.main.time_scaling import BATCH, Cursor, Instants, Motion, Pace, Planned
from servotwin.description.frames import Array
from servotwin.errors import InputError
from servotwin.motion.limits import MotionLimits

TASKS_PER_PERIOD = 64
TASKS = get_args(Task)
INSTANT = 1e-9  # s
NANO = 1e-9
REMEMBERED = 500  # instructions that one can go back over


class Outcome(Enum):
    """How a period of play-back ended."""

    GOING = "going"
    STEP_DONE = "step done"
    FINISHED = "finished"
    ALARM = "alarm"


class Playback:
    """The job under way. ``journal`` holds what was carried out, ``alarm`` why it cannot go on.

    ``cursor_of`` begins a planned motion with a shaper; ``outputs`` are as the last job left them. ``stepping``: what
    is under way was begun by a single step. ``place``: the last planned motion and the time on it [s]; (-1, 0): none.

    ``ahead``: nothing is planned within a period; ``plan_ahead`` does it in between, and an arm whose next task is
    not planned yet stands. A source that cannot plan ahead is asked within the period all the same.
    """

    def __init__(
        self,
        source: ProgramSource,
        cursor_of: Callable[[Planned, str | None], Cursor],
        period_ns: int,
        outputs: Mapping[str, bool],
        *,
        ahead: bool = False,
    ) -> None:
        self.source, self.cursor_of, self.period_ns = source, cursor_of, period_ns
        self.journal: list[Entry] = []
        self.instruction = 0
        self.place = (-1, 0.0)
        self.stepping = False
        self.stands = False  # once a motion ends, until what a stop has left beside its path is gone
        self.label: Label | None = None
        self.alarm: AlarmTask | None = None
        self.cursor: Cursor | None = None
        self.leg: Cursor | None = None  # of the way back over what was played, or forward again
        self._retrace: Retrace | None = None
        self._stood: Label | None = None  # the instruction at which the way back began
        self._played: deque[Piece] = deque(maxlen=REMEMBERED)
        self._task: Task | None = None
        self._begun_ns: int | None = None
        self._elapsed = 0.0  # s in a wait
        self._owner = -1
        self._stepped = False
        self._late = False  # the last task was given up
        plans = ahead and hasattr(source, "look_ahead") and hasattr(source, "prepared")
        self._planned = cast(PlannedSource, source) if plans else None
        self._failure: Exception | None = None  # of planning ahead, told with the next task
        source.start(dict(outputs))

    def plan_ahead(self, q: Array, inputs: Mapping[str, bool], *, single: bool) -> None:
        """Let the source plan, between two periods, what may begin in the next one; ``q`` (n,): the reference now."""
        if self._planned is None or self._failure is not None:
            return
        try:
            self._planned.look_ahead(q, inputs, single=single, span=self.period_ns * NANO)
        except Exception as error:  # noqa: BLE001 - what a program source does must not stop what is under way
            self._failure = error

    def begin_step(self) -> None:
        """The next instruction is the only one until STEP_DONE."""
        self._stepped, self.stepping = False, True
        if self._retrace is not None and self.leg is not None:
            self._go(self._retrace, forward=True)

    def begin_back(self, limits: MotionLimits) -> None:
        """Go back to where the instruction began that was played last, on its path; InputError if there is none."""
        retrace = self._retrace
        if retrace is None:
            pieces = list(self._played)
            if isinstance(self._task, MotionTask) and self.cursor is not None:
                pieces += pieces_of(self._task, self.cursor.plan_time)
            if not pieces:
                raise InputError("the job stands where it began; there is no way back")
            retrace, self._stood = Retrace(pieces, limits), self.label
        if not self._go(retrace, forward=False):
            raise InputError("this is as far back as the job goes")
        self._retrace, self.stepping, self._stepped = retrace, True, False

    def _go(self, retrace: Retrace, *, forward: bool) -> bool:
        """Begin the next leg of the way over what was played; False if there is none."""
        if self.leg is not None:
            retrace.stand(self.leg.time)
            self.leg = None
        found = retrace.leg(forward=forward)
        if found is None:
            return False
        trajectory, self.label = found
        self.leg = self.cursor_of(trajectory, "none")
        return True

    def _retraced(self, wanted: float, pace: Pace, *, single: bool) -> tuple[Motion, Outcome] | None:
        """A period on the way over what was played; None if the job stands where it was interrupted."""
        if self._retrace is None:
            return None
        if self.leg is None and not self._go(self._retrace, forward=True):
            self._retrace, self.label = None, self._stood
            return None
        assert self.leg is not None
        motion, _ = self.leg.advance(self.period_ns * NANO, min(wanted, self.leg.most), pace)
        if not self.leg.done or self.stands:
            return motion, Outcome.GOING
        self._retrace.stand(self.leg.time)
        self.leg = None
        self.stepping = self.stepping and not single
        return motion, Outcome.STEP_DONE if single else Outcome.GOING

    def close(self, now_ns: int) -> None:
        """Give the job up: the instruction under way ends here, incomplete."""
        self._note(now_ns, complete=False)
        self._task, self._begun_ns, self.cursor, self.leg = None, None, None, None

    def slow(self, T: float, wanted: float, pace: Pace) -> Motion | None:
        """A period in which nothing begins: only the motion under way goes on; None if there is none."""
        if self.leg is not None:
            return self.leg.advance(T, wanted, pace)[0]
        if self.cursor is None or self._retrace is not None:
            return None
        motion, _ = self.cursor.advance(T, wanted, pace)
        self.place = (self.place[0], self.cursor.plan_time)
        return motion

    @property
    def under_way(self) -> Cursor | None:
        """The motion that is under way or paused."""
        return self.leg or (self.cursor if self._retrace is None else None)

    @property
    def at_rest(self) -> bool:
        """Whether no motion is under way."""
        return self.under_way is None or self.under_way.at_rest

    @property
    def awaited(self) -> InputTask | None:
        """The input that the job waits for without timeout."""
        task = self._task
        return task if isinstance(task, InputTask) and task.timeout is None else None

    def advance(
        self,
        now_ns: int,
        q: Array,
        wanted: float,
        pace: Pace,
        inputs: Mapping[str, bool],
        outputs: dict[str, bool],
        *,
        single: bool,
    ) -> tuple[Motion, Outcome]:
        """A period from ``now_ns`` on, of an arm whose reference stands at q (n,) if no motion is under way."""
        return self._retraced(wanted, pace, single=single) or self._advance(
            now_ns, q, wanted, pace, inputs, outputs, single=single
        )

    def _advance(
        self,
        now_ns: int,
        q: Array,
        wanted: float,
        pace: Pace,
        inputs: Mapping[str, bool],
        outputs: dict[str, bool],
        *,
        single: bool,
    ) -> tuple[Motion, Outcome]:
        T = left = self.period_ns * NANO
        rest = np.zeros_like(q)
        motion: Motion = (q, rest, rest)
        for _ in range(TASKS_PER_PERIOD):
            if self._task is None:
                if single and self._stepped:
                    self.stepping = False
                    return motion, Outcome.STEP_DONE
                if not self._fetch(motion[0], inputs, single=single):
                    return motion, Outcome.GOING
            task = self._task
            at_ns = now_ns + round((T - left) / NANO)
            ended = self._ended(task)
            if ended is not None:
                return motion, ended
            self._begin(at_ns)
            if isinstance(task, MotionTask):
                motion, left = self._move(task, now_ns, left, wanted, pace)
            elif isinstance(task, WaitTask):
                left = self._wait(task, at_ns, left)
            elif left < T:  # inputs and outputs are looked at and switched at the instants of the controller
                return motion, Outcome.GOING
            elif isinstance(task, OutputTask):
                outputs[task.output] = task.on
                self._finish(at_ns)
            elif isinstance(task, InputTask):
                left = self._await(task, now_ns, left, inputs)
            if left <= INSTANT:
                break
        return motion, Outcome.GOING

    # --- tasks ------------------------------------------------------------------------------------
    def _ended(self, task: Task | None) -> Outcome | None:
        """How the job ends with a task; None if it goes on."""
        if isinstance(task, AlarmTask):
            self.alarm, self.label = task, task.label
            return Outcome.ALARM
        if isinstance(task, EndTask):
            self.label = None
            return Outcome.FINISHED
        return None

    def _fetch(self, q: Array, inputs: Mapping[str, bool], *, single: bool) -> bool:
        """Take the next task; False if it is not planned yet."""
        if self._failure is not None:
            raise self._failure
        ask = self.source.next if self._planned is None else self._planned.prepared
        task = ask(q, inputs, single=single, timed_out=self._late)
        if task is None and self._planned is not None:
            return False
        if not isinstance(task, TASKS):
            raise TypeError(f"{type(task).__name__} is no task")
        self._late = False
        self._task, self._elapsed, self._begun_ns = task, 0.0, None
        self.cursor = None
        if isinstance(task, MotionTask):
            self.cursor = self.cursor_of(task.trajectory, task.shaper)
            self.place = (self.place[0] + 1, 0.0)
        return True

    def _begin(self, at_ns: int) -> None:
        """Note the begin of the task, once."""
        if self._begun_ns is not None or self._task is None:
            return
        self._begun_ns = at_ns
        self.instruction += 1
        if isinstance(self._task, MotionTask):
            self._owner = self._task.trajectory.owners[0]
            self.label = self._task.labels[self._owner]
        else:
            self.label = self._task.label

    def _note(self, end_ns: int, *, complete: bool = True) -> None:
        """Write the instruction under way down."""
        label, moves = self.label, isinstance(self._task, MotionTask)
        if label is not None and self._begun_ns is not None:
            part = (self.place[0], self._owner) if moves else (-1, 0)
            self.journal.append(
                Entry(label.line, label.text, self._begun_ns, end_ns, label.file, complete, *part)
            )

    def _finish(self, at_ns: int) -> None:
        self._note(at_ns)
        self._task, self._begun_ns = None, None
        self.cursor = None
        self._stepped = True

    def _move(
        self, task: MotionTask, now_ns: int, left: float, wanted: float, pace: Pace
    ) -> tuple[Motion, float]:
        cursor = self.cursor
        assert cursor is not None
        motion, after = cursor.advance(left, min(wanted, cursor.most), pace)
        self.place = (self.place[0], cursor.plan_time)
        end_ns = now_ns + self.period_ns - round(after / NANO)
        self._reach(task, cursor.owner, end_ns)
        if cursor.done:
            self._played.extend(pieces_of(task, task.trajectory.duration))
            self._finish(end_ns)
            return motion, 0.0 if self.stands else after
        return motion, 0.0

    def _reach(self, task: MotionTask, owner: int, at_ns: int) -> None:
        """Note the instructions of a motion that are over; one that moves nothing begins and ends at one instant."""
        while self._owner < owner and self.label is not None and self._begun_ns is not None:
            self._note(at_ns)
            self._begun_ns, self._owner = at_ns, self._owner + 1
            self.label = task.labels[self._owner]
            self.instruction += 1

    # --- many periods at once -----------------------------------------------------------------------
    def ahead(self, q: Array, wanted: float, inputs: Mapping[str, bool]) -> Instants | None:
        """The next periods of a motion or wait under way, as ``advance`` will give them; None if there are none.

        ``q`` (n,): the reference now; ``inputs`` stay as they are.
        """
        if self._begun_ns is None or self._retrace is not None:
            return None
        if self.cursor is not None:
            return self.cursor.ahead(self.period_ns * NANO, min(wanted, self.cursor.most))
        count = 0
        for _ in self._waiting(inputs):
            count += 1
        rest = np.zeros((count, q.size))
        return Instants(np.full(count, self.place[1]), rest + q, rest, rest) if count else None

    def _waiting(self, inputs: Mapping[str, bool]) -> Iterator[float]:
        """The time that a wait has lasted [s] after each of the next periods in which it goes on."""
        task, T, elapsed = self._task, self.period_ns * NANO, self._elapsed
        for _ in range(BATCH):
            if isinstance(task, WaitTask):
                over = task.seconds - elapsed <= T + INSTANT
            elif isinstance(task, InputTask):
                over = elapsed == 0.0 or bool(inputs.get(task.signal, False)) == task.on
                over = over or (task.timeout is not None and elapsed >= task.timeout - INSTANT)
            else:
                over = True
            if over:
                return
            elapsed += T
            yield elapsed

    def skip(self, now_ns: int, times: Array, inputs: Mapping[str, bool]) -> None:
        """Carry out the next periods of ``ahead``, up to the last of the ``times`` (k,) [s] on the motion."""
        cursor, task = self.cursor, self._task
        if cursor is None:
            self._elapsed = list(islice(self._waiting(inputs), len(times)))[-1]
            return
        assert isinstance(task, MotionTask)
        for i, owner in cursor.new_owners(times):
            self._reach(task, owner, now_ns + (i + 1) * self.period_ns)
        cursor.skip(len(times))
        self.place = (self.place[0], cursor.plan_time)

    def _wait(self, task: WaitTask, at_ns: int, left: float) -> float:
        """Time that is left of the period after a wait that goes on at ``at_ns``."""
        rest = max(task.seconds - self._elapsed, 0.0)
        if task.seconds > 0.0 and rest <= left + INSTANT:
            self._finish(at_ns + round(rest / NANO))
            return max(left - rest, 0.0)
        self._elapsed += left
        if task.seconds == 0.0:
            self._finish(at_ns + round(left / NANO))
        return 0.0

    def _await(self, task: InputTask, now_ns: int, left: float, inputs: Mapping[str, bool]) -> float:
        """Time left of the period; an input that does not come in time is given up."""
        if self._elapsed > 0.0 and bool(inputs.get(task.signal, False)) == task.on:
            self._finish(now_ns)
            return left
        if task.timeout is not None and self._elapsed >= task.timeout - INSTANT:
            self._finish(now_ns)
            self._late = True
            return left
        self._elapsed += left
        return 0.0
