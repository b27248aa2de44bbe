"""Samples of every signal that the cell knows: of the controller, of the drives behind it, of the bus between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.control.main.exchange import Command
from servotwin.mechanism.model import Array
from servotwin.pendant.cell.shared import MOST_COLUMNS
from servotwin.simulation.job_plant import MachinePlant
from servotwin.simulation.live_robot import LiveRobot
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.plant.row_layout import positions, velocities
from servotwin.simulation.plant.signal_table import BUS_POWER, BUS_VOLTAGE, MOTOR, TIME
from servotwin.simulation.results.signals import pistons

ROOM = 256  # rows of a machine between two looks
OF_MOTOR = (
    "current",
    "current_ref",
    "torque",
    "voltage",
    "winding_temperature",
    "speed",
    "pressure_a",
    "pressure_b",
)
OF_DRIVE = ("torque", "speed", "statusword", "error")


@dataclass(frozen=True)
class ScopeSignal:
    """A column of the scope: name, unit, and the group that it is listed in."""

    name: str
    unit: str
    group: str


class Scope:
    """Collects rows of all signals, one or more for each period; ``signals`` names the columns after the time."""

    def __init__(self, live: LiveRobot) -> None:
        self.live, self.signals = live, _of_controller(live)
        self._q = live.q
        plant = live.plant
        self._machine: Machine | None = plant.machine if isinstance(plant, MachinePlant) else None
        self._columns: list[int] = []
        if self._machine is not None:
            self._prepare(self._machine)
        self._axes = list(getattr(plant, "axes", ()))
        for axis in self._axes:
            self.signals += [ScopeSignal(f"{axis.name} drive {what}", "", "bus") for what in OF_DRIVE]
        if self._axes:
            self.signals += [
                ScopeSignal("working counter", "", "bus"),
                ScopeSignal("round trip", "us", "bus"),
            ]
        self.signals = self.signals[: MOST_COLUMNS - 1]

    @property
    def width(self) -> int:
        """Columns of a row: the time, then the signals."""
        return 1 + len(self.signals)

    def _prepare(self, machine: Machine) -> None:
        """Let the machine record, into a few rows that are read and used again."""
        machine.rows = np.zeros((ROOM, machine.rows.shape[1]))
        self._restart(machine)
        sliding = pistons(machine)
        self.signals += [ScopeSignal("bus voltage", "V", "bus"), ScopeSignal("bus power", "W", "bus")]
        self._columns = [BUS_VOLTAGE, BUS_POWER]
        names = self.live.robot.mechanism.rotors.names
        for j, (name, columns) in enumerate(zip(names, machine.columns, strict=True)):
            for signal, column in zip(MOTOR, columns, strict=True):
                if column >= 0 and signal.name in OF_MOTOR:
                    unit = signal.sliding_unit if sliding[j] and signal.sliding_unit else signal.unit
                    words, unit = signal.name.replace("_", " "), unit.replace("_per_", "/").replace("_", " ")
                    self.signals.append(ScopeSignal(f"{name} motor {words}", unit, "motors"))
                    self._columns.append(int(column))

    def _restart(self, machine: Machine) -> None:
        record = machine.world["record"]
        record["rows"] = 0
        if record["row_next"][0] > 1 << 61:  # it was full
            record["row_next"] = machine.world["state"]["now"] + record["row_every"]

    def rows(self, command: Command, now_ns: int) -> Array:
        """Rows (k, width) since the last call; ``now_ns``: end of the period in the cell's time."""
        q, T = self.live.q, self.live.period_ns * 1e-9
        speed = (q - self._q) / T
        self._q = q
        time = now_ns * 1e-9
        if self._machine is not None:
            found = self._recorded(self._machine, command)
            if len(found):
                return found
        head = [time, *_interleaved(q, command.q, speed)]
        return np.array([[*head, *self._of_bus()]])[:, : self.width]

    def _recorded(self, machine: Machine, command: Command) -> Array:
        count = int(machine.world["record"]["rows"][0])
        rows = machine.rows[:count].copy()
        self._restart(machine)
        n = self.live.robot.n
        q, qd = positions(machine, rows)[:, :n], velocities(machine, rows)
        t = rows[:, TIME]
        # the reference of the instants within the period leads to that of its end
        q_ref = command.q - np.outer(command.time_ns * 1e-9 - t, command.qd)
        controlled = np.stack([q, q_ref, q_ref - q, qd], axis=2).reshape(count, 4 * n)
        return np.column_stack([t, controlled, rows[:, self._columns]])[:, : self.width]

    def _of_bus(self) -> list[float]:
        if not self._axes:
            return []
        log: Any = self.live.plant.log  # type: ignore[attr-defined]
        row = log.table[max(log.rows - 1, 0)]
        found = [float(row[what][j]) for j in range(len(self._axes)) for what in OF_DRIVE]
        return [*found, float(row["counter"]), float(row["round_trip_ns"]) * 1e-3]


def _of_controller(live: LiveRobot) -> list[ScopeSignal]:
    found = []
    for name, unit in zip(live.robot.joint_names, live.robot.joint_units, strict=True):
        for what, of in (("position", unit), ("reference", unit), ("error", unit), ("speed", f"{unit}/s")):
            found.append(ScopeSignal(f"{name} {what}", of, "joints"))
    return found


def _interleaved(q: Array, q_ref: Array, speed: Array) -> list[float]:
    return [float(v) for v in np.stack([q, q_ref, q_ref - q, speed], axis=1).ravel()]
