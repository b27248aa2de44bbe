"""Play a job back: the main controller and what it acts on, one period after the other, until the job is done."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from servotwin.control.main.exchange import Command, Feedback, Stretch
from servotwin.control.main.main_controller import MainController
from servotwin.control.main.states import Event, Mode, State
from servotwin.errors import InputError
from servotwin.jobs.player import Player
from servotwin.mechanism.model import Array
from servotwin.simulation.clock import Clock
from servotwin.simulation.job_plant import Plant
from servotwin.simulation.preflight.budget import Budget, bytes_text, over_time
from servotwin.simulation.results.job_log import Change, Commands
from servotwin.simulation.scenario.io_script import Surroundings
from servotwin.simulation.stepping import Stepper, Work, in_turn

SETTLE = 0.25  # s after the end of a job
COAST = 1.0  # s after the power is gone
TIME_LIMIT = 600.0  # s of simulated time
NANO = 1e-9
NEVER = 1 << 62  # ns
ENTRY_BYTES = 4_000  # of an instruction that was carried out: plan, journal, log, what is told of it
FEW = 256  # instructions; no stretch of periods carries out more
ENDING = (Event.STOP.value, Event.EMERGENCY_STOP.value, Event.DISABLE.value)  # keys that end a job


@dataclass
class Played:
    """What came of playing a job: the commands, what changed, whether it was neither interrupted nor failed."""

    commands: Commands
    changes: list[Change]
    finished_ns: int | None  # when the job came to its end
    complete: bool
    reason: str  # why the job did not come to its end
    planning_s: float  # spent on plans between the periods


def get_ready(controller: MainController, q: Array, player: Player, override: int = 100) -> None:
    """Power on before the time zero, the job loaded and started."""
    controller.plans_ahead = True
    T = controller.period_ns
    now = -T * (4 + controller.settings.brake_ns // T)
    controller.step(now, Feedback(q))
    replies = [controller.press(Event.ENABLE)]
    while now < -T:
        now += T
        controller.step(now, Feedback(q))
    replies.append(controller.press(Event.MODE, mode=Mode.PLAY))
    replies.append(controller.press(Event.OVERRIDE, percent=override))
    replies.append(controller.press(Event.LOAD, program=player))
    replies.append(controller.press(Event.RUN))
    for reply in replies:
        if not reply:
            raise InputError(f"the controller does not start: {reply.reason}")


def play(
    controller: MainController,
    plant: PlayedPlant,
    *,
    settle: float = SETTLE,
    time_limit: float = TIME_LIMIT,
    progress: Callable[[float], None] | None = None,
    expected: float = math.nan,
    budget: Budget | None = None,
    option: str = "--time-limit",
    keep_interrupted: bool = True,
    clock: Clock | None = None,
    planning: Callable[[Work], None] = in_turn,
) -> Played:
    """Step the controller and its plant until the job is done, cannot go on, or has used up its ``budget``.

    ``option``: what raises the ``time_limit`` [s]. ``keep_interrupted``: Ctrl-C gives what was played up to then,
    instead of raising KeyboardInterrupt. ``clock``, ``planning``: see ``Stepper``.
    """
    stepper = Stepper(controller, plant, clock, planning)
    played = _Play(stepper, plant.surroundings, settle, time_limit)
    watch = _BudgetWatch(budget or Budget())
    try:
        while played.goes_on:
            if not played.advance(single=watch.near(controller)):
                break
            if progress is not None and expected > 0.0:
                progress(min(stepper.now_ns * NANO / expected, 1.0))
            over = watch.over(controller)
            if over:
                played.note("budget", over)
                break
        else:
            if played.ends_ns is None:
                played.note("time limit", _limit_text(time_limit, option))
    except KeyboardInterrupt:
        if not keep_interrupted:
            raise
        played.complete = False
        stepper.keep_stretch(played.note_stretch)
        played.note("interrupted", f"{stepper.now_ns * NANO:.4g} s")
    return played.result()


class PlayedPlant(Plant, Protocol):
    """A plant in surroundings that a script may change."""

    @property
    def surroundings(self) -> Surroundings:
        """Inputs, safety circuit, enabling switch."""


class _Play:
    """A job being played: what was commanded, what changed, and when it ends."""

    def __init__(
        self, stepper: Stepper, surroundings: Surroundings, settle: float, time_limit: float
    ) -> None:
        self.stepper, self.controller, self.surroundings = stepper, stepper.controller, surroundings
        self.settle, self.limit_ns = settle, time_limit / NANO
        self.begin = self.controller.reference.q.copy()
        self.commanded: list[Command | Stretch] = []
        self.changes: list[Change] = []
        self.state = self.controller.state
        self.ends_ns: int | None = None
        self.finished_ns: int | None = None
        self.complete = True
        self.on_plan = False  # the last periods were all that a plan had ahead: more may follow at once

    @property
    def goes_on(self) -> bool:
        """Whether there is another period."""
        now = self.stepper.now_ns
        return now < self.limit_ns and (self.ends_ns is None or now < self.ends_ns)

    def note(self, kind: str, text: str, at_ns: int | None = None) -> None:
        """Write a change down, by default at the end of the last period."""
        self.changes.append(Change((self.stepper.now_ns if at_ns is None else at_ns) * NANO, kind, text))

    def advance(self, *, single: bool) -> bool:
        """The next periods, ``single``: one at most; False if the plant could not follow."""
        if not self.on_plan or single:
            self.step()
        self.on_plan = self.stepper.well and not single and self.follow_plan()
        self.complete = self.complete and self.stepper.well
        return self.stepper.well

    def step(self) -> None:
        """One period."""
        _act(self.controller, self.surroundings, self.changes, self.stepper.now_ns)
        self.stepper.step(self._note_command)
        if self.stepper.well and self.ends_ns is None and not self.surroundings.pending:
            stalled = _stalled(self.controller, self.surroundings)
            if stalled:
                self.note("stalled", stalled)
                self.ends_ns = self.stepper.now_ns + round(self.settle / NANO)

    def _note_command(self, command: Command) -> None:
        """Write down a command, and what it switches."""
        now = self.stepper.now_ns
        self.commanded.append(command)
        for name, on in self.surroundings.outputs(now, command.outputs):
            self.note("output", f"{name} {'ON' if on else 'OFF'}", now)
        if command.state is not self.state:
            self.note("state", command.state.value, now)
            self.state, self.finished_ns = command.state, now if self.controller.finished else None
            self.ends_ns = _end(self.state, now, self.settle)

    def note_stretch(self, stretch: Stretch) -> None:
        """Write down the commands of a stretch; once if they are told of twice."""
        if not self.commanded or self.commanded[-1] is not stretch:
            self.commanded.append(stretch)

    def follow_plan(self) -> bool:
        """Periods of a plan before the next thing happens by itself; whether there may be more at once."""
        if self.ends_ns is not None:
            return False
        coming = self.surroundings.next_ns
        before = self.limit_ns if coming is None else min(self.limit_ns, coming)
        return self.stepper.follow_plan(math.ceil(min(before, NEVER)), self.note_stretch)

    def result(self) -> Played:
        """What came of it."""
        done = self.finished_ns is not None and self.complete
        reason = "" if done else _reason(self.controller, self.changes, self.stepper.now_ns)
        commands = _commands(self.controller, self.begin, self.commanded)
        return Played(
            commands, self.changes, self.finished_ns, self.complete, reason, self.stepper.planning_s
        )


class _BudgetWatch:
    """Whether a job has computed as long as it may, or its journal takes the memory that it may."""

    def __init__(self, budget: Budget) -> None:
        self.budget, self.began = budget, time.monotonic()

    def near(self, controller: MainController) -> bool:
        """Whether a few instructions more may use it up: every period counts then."""
        return (len(controller.journal) + FEW) * ENTRY_BYTES > self.budget.memory

    def over(self, controller: MainController) -> str:
        """What is used up; empty if nothing is."""
        if time.monotonic() - self.began > self.budget.time:
            return over_time(self.budget)
        count = len(controller.journal)
        if count * ENTRY_BYTES > self.budget.memory:
            size = bytes_text(self.budget.memory)
            return f"its {count} instructions take {size} of memory; raise --max-memory to let it go on"
        return ""


def _limit_text(seconds: float, option: str) -> str:
    if option == "--time-limit":
        return f"{seconds:g} s"
    what = "memory" if option == "--max-memory" else "computing time"
    return f"{seconds:.6g} s, the most that its {what} allows; raise {option} to let it go on"


def _commands(controller: MainController, begin: Array, commanded: Sequence[Command | Stretch]) -> Commands:
    """All commands as columns; they begin where the reference stood."""
    rest = np.zeros((1, begin.size))
    q = np.concatenate([begin[None], *(np.atleast_2d(command.q) for command in commanded)])
    pulses = controller.pulses
    counts = [len(command) if isinstance(command, Stretch) else 1 for command in commanded]
    return Commands(
        np.arange(len(q), dtype=np.float64) * (controller.period_ns * NANO),
        q,
        np.concatenate([rest, *(np.atleast_2d(command.qd) for command in commanded)]),
        np.concatenate([rest, *(np.atleast_2d(command.qdd) for command in commanded)]),
        None if pulses is None else pulses.joints(pulses.counts(q)),
        np.repeat([-1, *(command.motion for command in commanded)], [1, *counts]),
        np.concatenate([[0.0], *(np.atleast_1d(command.motion_time) for command in commanded)]),
    )


def _reason(controller: MainController, changes: Sequence[Change], now: int) -> str:
    """Why a job did not come to its end."""
    for change in reversed(changes):
        match change.kind:
            case "interrupted":
                return f"interrupted after {change.text}"
            case "stalled":
                return f"the job {change.text}"
            case "budget":
                return f"the job was stopped after {change.time_s:.6g} s: {change.text}"
            case "time limit":
                return f"the job did not end within {change.text}"
            case "circuit" if change.text == "open":
                return f"the safety circuit was opened after {change.time_s:.4g} s"
            case "key" if change.text in ENDING:
                return f"'{change.text}' was pressed after {change.time_s:.4g} s"
    if controller.alarms:
        return str(controller.alarms[0])
    return f"the simulation failed after {now * NANO:.4g} s"


def _act(controller: MainController, surroundings: Surroundings, changes: list[Change], now: int) -> None:
    """Inputs and keys whose time has come."""
    for action in surroundings.due(now):
        for name, on in action.inputs.items():
            changes.append(Change(now * NANO, "input", f"{name} {'ON' if on else 'OFF'}"))
        if action.circuit is not None:
            changes.append(Change(now * NANO, "circuit", "closed" if action.circuit else "open"))
        if action.press is None:
            continue
        arguments = {} if action.percent is None else {"percent": action.percent}
        reply = controller.press(action.press, **arguments)
        text = action.press if reply else f"{action.press} refused: {reply.reason}"
        changes.append(Change(now * NANO, "key", text))


def _stalled(controller: MainController, surroundings: Surroundings) -> str:
    """What a job waits for that will never come; empty if it goes on."""
    if controller.state is State.PAUSED:
        return "is paused, and nothing presses resume"
    playback = controller.reference.playback
    task = playback.awaited if playback is not None else None
    if task is None or surroundings.inputs.get(task.signal, False) == task.on:
        return ""
    return f"waits for {task.signal} {'ON' if task.on else 'OFF'}, which nothing switches"


def _end(state: State, now: int, settle: float) -> int | None:
    """When the run ends [ns] that has come to a state; None while it goes on."""
    if state in (State.READY, State.ALARM):
        return now + round(settle / NANO)
    if state in (State.FAULT, State.EMERGENCY, State.DISABLED):
        return now + round(COAST / NANO)
    return None
