"""What the main controller acts on while a job runs: the drive-level machine, or an arm that follows exactly."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from servotwin.control.exchange import Command
from servotwin.description.checks import motor_names
from servotwin.description.motors import owners
from servotwin.description.schema import RobotDescription
from servotwin.drives.records import FREE
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.simulation.faults import close_brake, open_winding
from servotwin.simulation.machine import Machine


class Plant(Protocol):
    """What the main controller acts on."""

    def feedback(self) -> tuple[Array, str]:
        """Counted joint positions (n,), and what a drive reports."""

    def carry_on(self, command: Command, now_ns: int, until_ns: int) -> bool:
        """Take a command and go on to an instant; False if that failed."""


class IdealPlant:
    """An arm that is where it shall be: for rehearsals."""

    def __init__(self, q: Array) -> None:
        self.q = q

    def feedback(self) -> tuple[Array, str]:
        """See ``Plant``."""
        return self.q, ""

    def carry_on(self, command: Command, now_ns: int, until_ns: int) -> bool:
        """See ``Plant``."""
        if command.enable:
            self.q = command.q
        return True


class MachinePlant:
    """The drive-level machine. Power that goes leaves it to friction and brakes; it can come again.

    ``recording`` False keeps no rows, for sessions without an end.
    """

    def __init__(self, machine: Machine, truth: RobotDescription, *, recording: bool = True) -> None:
        self.machine, self.recording = machine, recording
        self._names, carriers = motor_names(truth), owners(truth)
        self._brakes = [truth.axes[name].brake for name in carriers]
        motors = [truth.axes[name].motor for name in carriers]
        limits = [m.thermal.limit if m is not None and m.thermal is not None else None for m in motors]
        self._hottest = np.array([math.inf if limit is None else limit for limit in limits])
        self._free = machine.motors["mode"] == FREE
        self._N = np.linalg.inv(machine.inverse)
        self._closing: list[tuple[int, int]] = []  # instant, motor
        self._powered = True

    def feedback(self) -> tuple[Array, str]:
        """See ``Plant``."""
        machine = self.machine
        q = machine.inverse @ (machine.axes["count"] / machine.axes["counts_per_rad"])
        hot = machine.motors["T_w"] > self._hottest
        if not hot.any():
            return q, ""
        return q, f"overload: the winding of motor {self._names[int(np.argmax(hot))]} is too hot"

    def carry_on(self, command: Command, now_ns: int, until_ns: int) -> bool:
        """See ``Plant``."""
        machine, N = self.machine, self._N
        if command.counts is None:
            raise InputError("commands without pulses; expected a controller that knows the encoders")
        counts = command.counts.astype(np.float64)
        machine.table = np.ascontiguousarray(
            np.stack([counts, N @ command.qd, N @ command.qdd], axis=-1)[None]
        )
        if command.enable and not self._powered:
            self._power_on(counts)
        elif self._powered and not command.enable:
            self._power_off(now_ns)
        for at, motor in [entry for entry in self._closing if entry[0] <= until_ns]:
            self._advance(max(at, now_ns))
            close_brake(machine, motor)
            self._closing.remove((at, motor))
        self._advance(until_ns)
        return int(machine.world["status"][0]) == 0

    def _power_off(self, now_ns: int) -> None:
        self._powered = False
        self.machine.power["off"] = 1
        for j, brake in enumerate(self._brakes):
            open_winding(self.machine, j)
            if brake is not None:
                self._closing.append((now_ns + round(brake.delay * 1e9), j))
        self._closing.sort()

    def _power_on(self, counts: Array) -> None:
        """Windings closed, brakes open; the loops begin at the reference with empty integrators."""
        self._powered = True
        self.machine.power["off"] = 0
        self._closing.clear()
        motors, axes = self.machine.motors, self.machine.axes
        motors["open"] = motors["brake_closed"] = 0
        motors["mode"][self._free] = FREE
        integrators = ("sum_x", "sum_n", "sum_i", "sum_d", "acc_x", "acc_n", "acc_i", "acc_d")
        for name in (*integrators, "i_ref", "w_command", "next_i", "next_w", "next_feedforward"):
            axes[name] = 0
        for name in ("from_counts", "to_counts", "counts_ref"):
            axes[name] = counts

    def _advance(self, until_ns: int) -> None:
        if self.recording:
            self.machine.reserve(until_ns)
        self.machine.advance(until_ns)
