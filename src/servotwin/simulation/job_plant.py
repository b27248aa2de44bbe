"""What the main controller acts on: the drive-level machine, or an arm that follows exactly, with its surroundings."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from servotwin.compiled.jit import strict_kernel
from servotwin.control.main.exchange import Command, Feedback, Stretch
from servotwin.control.main.quick_watch import QuickWatch, within_bounds
from servotwin.control.servo.ports import DriveFault
from servotwin.description.checks import motor_names
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.scenario.io_script import Surroundings

FAULT_TEXTS = {DriveFault.OVER_TEMPERATURE: "the winding of motor {motor} is too hot"}
AHEAD = 1_000_000_000  # ns for which room for rows is made at once
BREATH = 0.05  # s of computing after which progress, budget and keys are looked at again


@strict_kernel
def count_joints(counts: Any, per_rad: Array, inverse: Array, q: Array) -> None:
    """Fill the joint positions q (n,) that counts (m,) of the encoders stand for."""
    for i in range(len(q)):
        q[i] = 0.0
        for j in range(len(counts)):
            q[i] += inverse[i, j] * (counts[j] / per_rad[j])


@strict_kernel
def look(
    counts: Any, per_rad: Array, inverse: Array, faults: Any, last: Array,
    joints: Array, A: Array, bounds: Array, q: Array,
) -> bool:  # fmt: skip
    """Measure the joints q (n,); whether no drive has a fault and the measurement is clear (``QuickWatch``).

    ``last`` (2, n): what was measured a period ago, and the reference since then.
    """
    count_joints(counts, per_rad, inverse, q)
    for j in range(len(faults)):
        if faults[j] != 0:
            return False
    return within_bounds(q, last[0], last[1], joints, A, bounds)


class Plant(Protocol):
    """What the main controller acts on; a bench or a bus fills in the same."""

    def feedback(self) -> Feedback:
        """All that the controller sees: counted joints, what the drives report, and the surroundings."""

    def carry_on(self, command: Command, now_ns: int, until_ns: int) -> bool:
        """Take a command and go on to an instant; False if that failed."""


@dataclass
class Followed:
    """How far a plant has come along a ``stretch`` of commands from ``now_ns`` on; it is kept up while it goes on.

    ``count`` of them were carried out; ``positions``: joints (n,) as measured before each that was begun, which a
    Ctrl-C may have kept from its end. ``well`` False: the last one failed.
    """

    stretch: Stretch
    now_ns: int
    count: int = 0
    positions: list[Array] = field(default_factory=list)
    well: bool = True

    @cached_property
    def begun(self) -> Stretch:
        """The commands that were begun; for a plant that goes no further."""
        return self.stretch.first(len(self.positions))


@runtime_checkable
class FollowingPlant(Plant, Protocol):
    """A plant that can carry on through many periods by itself, as long as its measurements are clear."""

    def follow(self, followed: Followed, watch: QuickWatch, period_ns: int) -> None:
        """Carry out commands one after the other; stop before one whose measurement is not clear."""

    def count_done(self, followed: Followed, period_ns: int) -> None:
        """Set the ``count`` of a stretch on which a Ctrl-C came, wherever it came."""


def feedback_of(q: Array, drive_fault: str, surroundings: Surroundings) -> Feedback:
    """Measurements of an arm (n,) and its drives in their surroundings."""
    return Feedback(
        q,
        drive_fault=drive_fault,
        inputs=surroundings.inputs,
        circuit_closed=surroundings.circuit,
        dead_man=surroundings.dead_man,
    )


class IdealPlant:
    """An arm that is where it shall be: for rehearsals."""

    def __init__(self, q: Array, surroundings: Surroundings | None = None) -> None:
        self.q, self.surroundings = q, surroundings or Surroundings()

    def feedback(self) -> Feedback:
        """See ``Plant``."""
        return feedback_of(self.q, "", self.surroundings)

    def carry_on(self, command: Command, now_ns: int, until_ns: int) -> bool:
        """See ``Plant``."""
        if command.enable:
            self.q = command.q
        return True

    def follow(self, followed: Followed, watch: QuickWatch, period_ns: int) -> None:
        """See ``FollowingPlant``."""
        stretch = followed.stretch
        before, q_ref = stretch.q_measured, stretch.q_before
        for row in stretch.q:
            if not watch.clear(self.q, before, q_ref):
                break
            followed.positions.append(self.q)
            before, q_ref, self.q = self.q, row, row
            followed.count += 1

    def count_done(self, followed: Followed, period_ns: int) -> None:
        """See ``FollowingPlant``."""
        followed.count = len(followed.positions)


class MachinePlant:
    """The drive-level machine. Power that goes leaves it to friction and brakes; it can come again.

    ``recording`` False keeps no rows, for sessions without an end.
    """

    def __init__(
        self,
        machine: Machine,
        truth: RobotDescription,
        surroundings: Surroundings | None = None,
        *,
        recording: bool = True,
    ) -> None:
        self.machine, self.recording, self.surroundings = machine, recording, surroundings or Surroundings()
        self._motors = motor_names(truth)
        self._N = np.linalg.inv(machine.inverse)
        self._enabled = True
        self._reserved_ns = -1  # up to when there is room for rows
        # views of the records: to name a field costs more than to use it
        self._counts_here, self._per_rad = machine.axes["count"], machine.axes["counts_per_rad"]
        self._status = machine.world["state"]["status"]
        self._faults = machine.servo.faults
        self._setpoints = np.zeros((1, len(machine.axes), 3))

    def load_code(self, watch: QuickWatch) -> None:
        """Look once, so that the machine code of it is there before a run is timed."""
        q = self._position()
        here = (self._counts, self._per_rad, self.machine.inverse, self._faults)
        look(*here, np.array([q, q]), *watch.numbers, np.empty_like(q))

    def feedback(self) -> Feedback:
        """See ``Plant``."""
        return feedback_of(self._position(), self._fault(), self.surroundings)

    def _position(self) -> Array:
        """Counted joint positions (n,)."""
        q = np.empty(len(self.machine.inverse))
        count_joints(self._counts, self._per_rad, self.machine.inverse, q)
        return q

    @property
    def _counts(self) -> Any:
        """Counts (m,) as the servo has read them; of a servo elsewhere what it was sent last."""
        if self.machine.exchange is None:
            return self._counts_here
        return self.machine.servo.feedback["count"][0, : len(self._per_rad)]

    def _fault(self) -> str:
        """What the first of the drives that is not well reports; empty if all are."""
        codes = self._faults
        if not codes.any():
            return ""
        j = int(np.argmax(codes != 0))
        return FAULT_TEXTS[DriveFault(int(codes[j]))].format(motor=self._motors[j])

    def carry_on(self, command: Command, now_ns: int, until_ns: int) -> bool:
        """See ``Plant``."""
        machine, N = self.machine, self._N
        if command.counts is None:
            raise InputError("commands without pulses; expected a controller that knows the encoders")
        row = self._setpoints[0]
        row[:, 0], row[:, 1], row[:, 2] = command.counts, N @ command.qd, N @ command.qdd
        machine.servo.setpoints = self._setpoints
        if command.enable != self._enabled:
            self._enabled = command.enable
            machine.servo.enable(command.enable, row[:, 0])
        self._advance(until_ns)
        return int(self._status[0]) == 0

    def follow(self, followed: Followed, watch: QuickWatch, period_ns: int) -> None:
        """See ``FollowingPlant``; it comes back after ``BREATH`` at the latest."""
        machine, status, stretch, now_ns = self.machine, self._status, followed.stretch, followed.now_ns
        if not self._enabled or machine.drives.closing or stretch.counts is None:
            return
        machine.servo.setpoints = self._setpoints
        self._reserve(now_ns + len(stretch) * period_ns)
        table, row = self._rows(stretch), self._setpoints[0]
        last = np.array([stretch.q_measured, stretch.q_before])
        sensed, n = (self._per_rad, machine.inverse, self._faults), len(last[0])
        count, enough = 0, time.monotonic() + BREATH
        while count < len(stretch) and time.monotonic() < enough:
            q = np.empty(n)
            if not (look(self._counts, *sensed, last, *watch.numbers, q) and watch.frames_clear(q)):
                return
            followed.positions.append(q)
            row[:] = table[count]
            last[0], last[1] = q, stretch.q[count]
            followed.count = count = count + 1
            machine.run(now_ns + count * period_ns)
            if status[0]:  # a piece to be compiled, or it failed
                machine.advance(now_ns + count * period_ns)
                if status[0]:
                    followed.well = False
                    return

    def count_done(self, followed: Followed, period_ns: int) -> None:
        """See ``FollowingPlant``."""
        followed.count = max(0, self._now_ns - followed.now_ns) // period_ns

    def _rows(self, stretch: Stretch) -> Array:
        """The setpoints (k, m, 3) of a stretch; row by row, as those of single commands are made."""
        rates = (np.matmul(self._N, rows[..., None])[..., 0] for rows in (stretch.qd, stretch.qdd))
        return np.stack([np.asarray(stretch.counts, dtype=np.float64), *rates], axis=-1)

    @property
    def _now_ns(self) -> int:
        return int(self.machine.world["state"]["now"][0])

    def _advance(self, until_ns: int) -> None:
        self._reserve(until_ns)
        self.machine.advance(until_ns)

    def _reserve(self, until_ns: int) -> None:
        if self.recording and until_ns > self._reserved_ns:
            self._reserved_ns = until_ns + AHEAD
            self.machine.reserve(self._reserved_ns)
