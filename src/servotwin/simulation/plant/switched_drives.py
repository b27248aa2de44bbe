"""Drives that the servo enables and disables, and brakes that close after their delay, as DRIVE_COMMAND says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.drives.records import FREE
from servotwin.simulation.plant.stored_energy import magnetic_energy
from servotwin.simulation.windows.choice import choose_window

if TYPE_CHECKING:
    from servotwin.simulation.plant.machine import Machine

NEVER = 1 << 62


@dataclass
class SwitchedDrives:
    """What the power stage makes of ``enable`` and ``brake_released``, and what no command mends.

    ``closing``: instant [ns] and motor of brakes that have lost their voltage, in order. ``lost``: the supply is gone;
    ``broken``: windings that are open and ``jammed``: brakes that are closed for good, by faults.
    """

    closing: list[tuple[int, int]] = field(default_factory=list)
    lost: bool = False
    broken: set[int] = field(default_factory=set)
    jammed: set[int] = field(default_factory=set)
    obeyed: bytes = b""  # enable and brake_released as they were last
    enabled: Any = None
    released: Any = None

    def obey(self, machine: Machine) -> None:
        """Switch what the servo commands otherwise than before."""
        command, m = machine.servo.command, len(machine.motors)
        lines = command["enable"].tobytes() + command["brake_released"].tobytes()
        if lines == self.obeyed:
            return
        begins = self.enabled is None
        if begins:  # a machine begins with its drives enabled and its brakes released
            self.enabled = self.released = np.ones(m, dtype=bool)
        before, held = self.enabled, self.released
        self.obeyed = lines
        self.enabled, self.released = (command[name][0, :m] != 0 for name in ("enable", "brake_released"))
        for j in np.flatnonzero(before & ~self.enabled):
            open_winding(machine, int(j))
        for j in np.flatnonzero(held & ~self.released):
            self._begin_to_close(machine, int(j), at_once=begins)  # one that never had voltage is closed
        closed, opened = self.enabled & ~before, self.released & ~held
        machine.power["off"] = int(self.lost or not self.enabled.any())
        if closed.any() or opened.any():
            self._switch_on(machine, closed, opened)

    def _begin_to_close(self, machine: Machine, j: int, at_once: bool) -> None:
        delay = int(machine.motors["brake_delay"][j])
        if delay >= 0 and at_once:
            close_brake(machine, j)
        elif delay >= 0:
            self.closing.append((int(machine.world["state"]["now"][0]) + delay, j))
            self.closing.sort()

    def _switch_on(self, machine: Machine, closed: Any, opened: Any) -> None:
        """Close windings and open brakes, but for what is broken; choose the window for what is left."""
        motors = machine.motors
        self.closing = [(at, j) for at, j in self.closing if not opened[j]]
        for j in np.flatnonzero(closed):
            if not self.lost and int(j) not in self.broken:
                motors["open"][j] = 0
                clear_command(machine, int(j))
        for j in np.flatnonzero(opened):
            if int(j) not in self.jammed:
                release_brake(machine, int(j))
        choose_window(machine)

    def until(self, until_ns: int) -> int:
        """The instant up to which no brake closes."""
        return min(until_ns, self.closing[0][0]) if self.closing else until_ns

    def close_due(self, machine: Machine, until_ns: int) -> bool:
        """Close the brakes whose time has come; whether the run has still to go on to an instant."""
        if not self.closing:
            return False
        now = int(machine.world["state"]["now"][0])
        while self.closing and self.closing[0][0] <= now:
            close_brake(machine, self.closing.pop(0)[1])
        return now < until_ns


def open_winding(machine: Machine, j: int) -> None:
    """Interrupt a motor's current; the energy in its inductance goes into the bridge."""
    motor, y = machine.motors[j], machine.y
    motor["open"] = 1
    choose_window(machine)
    at = int(motor["current_at"])
    if at < 0 or not motor["exact"]:
        return
    machine.world["state"]["heat"][0, j, 1] += magnetic_energy(motor, y)
    y[at : at + int(motor["width"])] = 0.0


def clear_command(machine: Machine, j: int) -> None:
    """Apply nothing to a motor until its servo commands again: what was computed while it was off is void."""
    pattern, motor = machine.world["pattern"], machine.motors[j]
    for name in ("mean_a", "mean_b", "edges", "place"):
        pattern[name][0, j] = 0
    pattern["level_a"][0, j, 0] = pattern["level_b"][0, j, 0] = 0.0
    for name in ("s_a", "s_b", "current_command", "torque_command"):
        motor[name] = 0.0


def close_brake(machine: Machine, j: int) -> None:
    """Close the brake of a motor: dry friction that was not there before."""
    motor = machine.motors[j]
    motor["brake_closed"] = 1
    if motor["mode"] == FREE:
        motor["mode"] = int(motor["w"] > 0.0) - int(motor["w"] < 0.0)
        motor["slack"] = 0.0
    choose_window(machine)


def release_brake(machine: Machine, j: int) -> None:
    """Open the brake of a motor; without dry friction of its own its shaft is free then."""
    motor = machine.motors[j]
    motor["brake_closed"] = 0
    if not motor["dry"]:
        motor["mode"] = FREE
    choose_window(machine)
