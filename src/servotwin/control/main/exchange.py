"""What goes into the main controller and what comes out of it, every period and at the press of a key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from servotwin.control.main.alarms import Alarm, AlarmKind
from servotwin.control.main.pulses import IntArray
from servotwin.control.main.states import Mode, State
from servotwin.control.main.time_scaling import Planned
from servotwin.description.frames import Array
from servotwin.robot.robot import Robot


@dataclass(frozen=True)
class Feedback:
    """What the controller sees at an instant.

    ``q`` (n,) counted joint positions [rad, m]; ``qd`` (n,) speeds if they are known; ``drive_fault``: what a
    drive reports, empty if all are well, with the kind of alarm that it is; ``circuit_closed``: emergency stop
    buttons and doors; ``dead_man``: the enabling switch that teaching needs.
    """

    q: Array
    qd: Array | None = None
    drive_fault: str = ""
    fault_kind: AlarmKind = AlarmKind.OVERLOAD
    inputs: Mapping[str, bool] = field(default_factory=dict)
    circuit_closed: bool = True
    dead_man: bool = True


@dataclass(frozen=True)
class Command:
    """What the controller wants: the reference for the instant one period ahead, power, brakes, outputs.

    ``counts`` (m,): the reference in pulses of the encoders, which is what the axis controllers are given; None
    if the controller knows no encoders. ``q``, ``qd``, ``qdd`` (n,): the same before it is rounded to pulses, and
    its derivatives. ``file`` and ``line`` of the job that is under way, ``instruction``: how many instructions
    were begun since the job was started; ``motion``, ``motion_time``: which of its planned motions is under way
    or was the last (-1: none yet), and where on it the reference is [s].
    """

    time_ns: int  # of the instant that the reference is for
    counts: IntArray | None
    q: Array
    qd: Array
    qdd: Array
    enable: bool
    brakes_released: bool
    outputs: Mapping[str, bool]
    state: State
    mode: Mode
    alarms: tuple[Alarm, ...]
    file: str
    line: int | None
    instruction: int
    motion: int
    motion_time: float
    override: int


@dataclass(frozen=True)
class Stretch:
    """Commands of periods in a row that nothing but a measurement can change: of a planned motion, or a wait.

    ``counts`` (k, m), ``q``, ``qd``, ``qdd`` (k, n), ``motion`` and ``motion_time`` (k,) as in ``Command``, which
    else stay as they were in the command before; ``q_before`` (n,): its reference, ``q_measured`` (n,): what was
    measured for it.
    """

    q_before: Array
    q_measured: Array
    counts: IntArray | None
    q: Array
    qd: Array
    qdd: Array
    motion: int
    motion_time: Array

    def __len__(self) -> int:
        return len(self.q)

    def first(self, count: int) -> Stretch:
        """The commands before the one at ``count``."""
        if count == len(self):
            return self
        rows = {name: getattr(self, name)[:count] for name in ("q", "qd", "qdd", "motion_time")}
        return replace(self, counts=None if self.counts is None else self.counts[:count], **rows)


@dataclass(frozen=True)
class Reply:
    """Whether an event was taken, and why not."""

    accepted: bool
    state: State
    reason: str = ""

    def __bool__(self) -> bool:
        return self.accepted


@dataclass(frozen=True)
class Settings:
    """Numbers of a controller that are not limits of the robot."""

    jog_share: float = 0.25  # of a joint's speed limit, at most
    jog_speed: float = 0.25  # m/s of the tool
    jog_turn: float = 0.5  # rad/s of the tool
    hold_ns: int = 200_000_000  # a jog key that is not pressed again within this time was let go
    brake_ns: int = 0  # time until brakes are open
    rest_share: float = 0.02  # of a speed limit: what moves slower may be enabled


class PointStore(Protocol):
    """Where taught points are kept."""

    def record(self, name: str, q: Array, *, replace_old: bool) -> None:
        """Keep joint positions under a name."""

    def delete(self, name: str) -> None:
        """Forget a point."""

    def rename(self, old: str, new: str) -> None:
        """Call a point something else."""

    def position(self, name: str, robot: Robot, q: Array) -> Array:
        """The joint positions (n,) of a point, those nearest to q (n,) where it has several."""


# --- what a job asks for, one task at a time -------------------------------------------------------


@dataclass(frozen=True)
class Label:
    """The instruction that a task comes from; ``file``: the job file it stands in."""

    line: int
    text: str
    file: str = ""


@dataclass(frozen=True)
class MotionTask:
    """A planned motion; ``labels`` of its instructions, by the owners of the trajectory.

    ``shaper``: kind of input shaper that the job asks for, 'none' for no shaping; None: as the controller does it.
    """

    trajectory: Planned
    labels: tuple[Label, ...]
    shaper: str | None = None


@dataclass(frozen=True)
class WaitTask:
    """Rest; zero: until the next period."""

    seconds: float
    label: Label


@dataclass(frozen=True)
class OutputTask:
    """Switch an output."""

    output: str
    on: bool
    label: Label


@dataclass(frozen=True)
class InputTask:
    """Rest until an input is so, at least one period."""

    signal: str
    on: bool
    timeout: float | None
    label: Label


@dataclass(frozen=True)
class AlarmTask:
    """The job cannot go on."""

    kind: AlarmKind
    text: str
    label: Label


@dataclass(frozen=True)
class EndTask:
    """The job has come to its end."""

    label: Label


Task = MotionTask | WaitTask | OutputTask | InputTask | AlarmTask | EndTask


class ProgramSource(Protocol):
    """A job that is ready to be played back (``servotwin.jobs.player.Player``)."""

    def start(self, outputs: Mapping[str, bool]) -> None:
        """Go back to the first instruction; ``outputs`` are switched as they were left."""

    def next(self, q: Array, inputs: Mapping[str, bool], *, single: bool, timed_out: bool) -> Task:
        """The next task of an arm that stands at q (n,).

        ``single``: one instruction only, nothing blended into the next; ``timed_out``: the last task, an
        ``InputTask``, was given up.
        """


class PlannedSource(ProgramSource, Protocol):
    """A job whose tasks are planned between two periods, so that no period with a deadline has to wait for a plan."""

    def look_ahead(self, q: Array, inputs: Mapping[str, bool], *, single: bool, span: float) -> None:
        """Plan what may begin within ``span`` [s] after the present task, whatever the inputs will be.

        ``q`` (n,): the reference now; ``inputs``: as they were seen last. It may run in another thread than ``next``
        and ``prepared``.
        """

    def prepared(self, q: Array, inputs: Mapping[str, bool], *, single: bool, timed_out: bool) -> Task | None:
        """The next task as ``next`` gives it, if it is planned; None: the arm has to stand until it is."""


@dataclass(frozen=True)
class Entry:
    """An instruction that was carried out: from when to when.

    ``complete`` False: it was interrupted then. ``motion``: which planned motion of the job it is part of, -1
    for none, and ``owner`` which of the moves of that motion.
    """

    line: int
    text: str
    begin_ns: int
    end_ns: int
    file: str = ""
    complete: bool = True
    motion: int = -1
    owner: int = 0
