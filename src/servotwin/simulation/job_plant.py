"""What the main controller acts on: the drive-level machine, or an arm that follows exactly, with its surroundings."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from servotwin.control.main.exchange import Command, Feedback
from servotwin.control.servo.ports import DriveFault
from servotwin.description.checks import motor_names
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.scenario.io_script import Surroundings

FAULT_TEXTS = {DriveFault.OVER_TEMPERATURE: "overload: the winding of motor {motor} is too hot"}
AHEAD = 1_000_000_000  # ns for which room for rows is made at once


class Plant(Protocol):
    """What the main controller acts on; a bench or a bus fills in the same."""

    def feedback(self) -> Feedback:
        """All that the controller sees: counted joints, what the drives report, and the surroundings."""

    def carry_on(self, command: Command, now_ns: int, until_ns: int) -> bool:
        """Take a command and go on to an instant; False if that failed."""


def seen(q: Array, drive_fault: str, around: Surroundings) -> Feedback:
    """Measurements of an arm (n,) and its drives in their surroundings."""
    return Feedback(
        q,
        drive_fault=drive_fault,
        inputs=around.inputs,
        circuit_closed=around.circuit,
        dead_man=around.dead_man,
    )


class IdealPlant:
    """An arm that is where it shall be: for rehearsals."""

    def __init__(self, q: Array, around: Surroundings | None = None) -> None:
        self.q, self.around = q, around or Surroundings()

    def feedback(self) -> Feedback:
        """See ``Plant``."""
        return seen(self.q, "", self.around)

    def carry_on(self, command: Command, now_ns: int, until_ns: int) -> bool:
        """See ``Plant``."""
        if command.enable:
            self.q = command.q
        return True


class MachinePlant:
    """The drive-level machine. Power that goes leaves it to friction and brakes; it can come again.

    ``recording`` False keeps no rows, for sessions without an end.
    """

    def __init__(
        self,
        machine: Machine,
        truth: RobotDescription,
        around: Surroundings | None = None,
        *,
        recording: bool = True,
    ) -> None:
        self.machine, self.recording, self.around = machine, recording, around or Surroundings()
        self._motors = motor_names(truth)
        self._N = np.linalg.inv(machine.inverse)
        self._enabled = True
        self._reserved_ns = -1  # up to when there is room for rows
        # views of the records: to name a field costs more than to use it
        self._counts, self._per_rad = machine.axes["count"], machine.axes["counts_per_rad"]
        self._status = machine.world["state"]["status"]
        self._setpoints = np.zeros((1, len(machine.axes), 3))

    def feedback(self) -> Feedback:
        """See ``Plant``."""
        q = self.machine.inverse @ (self._counts / self._per_rad)
        return seen(q, self._fault(), self.around)

    def _fault(self) -> str:
        """What the first of the drives that is not well reports; empty if all are."""
        codes = self.machine.servo.faults
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

    def _advance(self, until_ns: int) -> None:
        if self.recording and until_ns > self._reserved_ns:
            self._reserved_ns = until_ns + AHEAD
            self.machine.reserve(self._reserved_ns)
        self.machine.advance(until_ns)
