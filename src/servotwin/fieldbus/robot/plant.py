"""A machine behind drives: it goes on by whole periods of the bus, in simulated time or that of the wall.

The drives call it from compiled code, once a period. What it does there is compiled but for a few lines of Python: the
loop of the simulation switches windings and brakes, compiles what it meets first and makes room for its record there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from servotwin.control.servo.records import Task
from servotwin.errors import SimulationError
from servotwin.fieldbus.cia402.application import Drives, Plant
from servotwin.fieldbus.robot.exchange import give_commands, take_measurements
from servotwin.fieldbus.robot.faults import Injector
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.plant.status import RunStatus
from servotwin.simulation.plant.switched_drives import close_brake

AHEAD = 1_000_000_000  # ns for which room for rows is made at once
MOST_RECORDED = 2_000_000_000  # bytes of rows
WHAT_HAPPENED = {
    RunStatus.DIVERGED: "the simulation diverged",
    RunStatus.STALLED: "the simulation stalled: too many events in one interval",
    RunStatus.SINGULAR: "the closed chain came to a singularity",
}


class RobotPlant:
    """The machine of a robot as the ``Plant`` of its drives.

    ``ports``: SUPERVISED, (m,). ``recording``: rows and commands are kept, up to ``MOST_RECORDED``. ``error``: what
    ended it; whoever serves the drives raises it (``check``). ``segment``: record of the segment, whose period is that
    of the set-points.
    """

    def __init__(
        self, drives: Drives, machine: Machine, ports: Any, injector: Injector, *, recording: bool = False
    ) -> None:
        self.drives, self.machine, self.ports = drives, machine, ports
        self.injector, self.recording = injector, recording
        self.error: BaseException | None = None
        self.segment: Any = None
        self.nominal_voltage = 0.0
        self.motors: Sequence[str] = ()
        self.commanded: list[tuple[int, Any]] = []  # instant [ns] and counts (m,), where they are recorded
        self.happened: list[tuple[float, str, str]] = []  # instant [s], where, what
        self._setpoints = machine.servo.setpoints = np.zeros((1, len(ports), 3))
        self._lines = np.zeros(len(ports), np.int64)
        self._rest = self._reserved = 0
        self._main_period = int(machine.servo.tasks[Task.MAIN, 1])
        self._status, self._now = machine.world["state"]["status"], machine.world["state"]["now"]
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        self._call = kind(self._carry_on)
        self.switch_off()
        self._measure(0)

    def plant(self) -> Plant:
        """For ``Drives.attach``."""
        address = ctypes.cast(self._call, ctypes.c_void_p).value
        assert address is not None
        return Plant(address, self.ports)

    @property
    def now_ns(self) -> int:
        """Simulated time."""
        return int(self._now[0])

    def switch_off(self) -> None:
        """All bridges off, all brakes closed, as before power was switched on."""
        machine = self.machine
        machine.servo.enable(False)
        machine.drives.obey(machine)
        machine.drives.closing.clear()
        for j in range(len(self.ports)):
            close_brake(machine, j)

    def check(self) -> None:
        """Raise what ended the plant, once."""
        error, self.error = self.error, None
        if error is not None:
            raise error

    def _carry_on(self, context: int, index: int, span: int) -> int:
        try:
            if self.error is None:
                self.step(span)
        except BaseException as error:  # noqa: BLE001 -- a Ctrl-C too: nothing may leave what compiled code calls
            self._stop(error)
        return 0

    def _stop(self, error: BaseException) -> None:
        self.error = error
        if self.segment is not None:
            self.segment["end_asked"] = self.segment["attention"] = 1

    def step(self, span: int) -> None:
        """Go on by those whole periods that a span [ns] and the rest of those before it make."""
        period = self._period()
        count = (self._rest + span + period // 2) // period
        self._rest += span - count * period
        for _ in range(count):
            self._one_period(period)

    def _period(self) -> int:
        """That of the set-points [ns]; the servo interpolates over it."""
        wanted = self._main_period if self.segment is None else int(self.segment["step"][0])
        if wanted != self._main_period:
            self._retime(wanted)
        return wanted

    def _retime(self, period: int) -> None:
        """Have the servo take set-points at another period; one that its axis controller does not divide stays."""
        unit = self.machine.servo
        axis_period = int(unit.tasks[Task.AXIS, 1])
        self._main_period = period
        if period % axis_period:
            return
        runs = -(-self.now_ns // period)
        unit.tasks[Task.MAIN, 0], unit.tasks[Task.MAIN, 1] = runs * period, period
        unit.tasks[Task.MAIN, 3] = runs
        unit.servo["ratio"], unit.servo["T_main"] = period // axis_period, period * 1e-9
        unit.command["next"] = min(int(unit.command["next"][0]), runs * period)

    def _one_period(self, period: int) -> None:
        machine = self.machine
        unit, until = machine.servo, self.now_ns + period
        self.injector.apply(self, until)
        changed = give_commands(
            self.drives.drives,
            unit.axes,
            self.ports,
            unit.feedback,
            self._setpoints,
            self._lines,
            period * 1e-9,
        )
        if changed:
            unit.enable((self._lines != 0).tolist(), self._setpoints[0, :, 0])
        if self.recording:
            self._record(until)
        machine.advance(until)
        status = int(self._status[0])
        if status:
            text = WHAT_HAPPENED.get(RunStatus(status), f"the simulation ended with status {status}")
            raise SimulationError(f"{text} at {until * 1e-9:.6f} s")
        self._measure(period)

    def _record(self, until: int) -> None:
        self.commanded.append((until, self._setpoints[0, :, 0].copy()))
        if until > self._reserved:
            self._reserved = until + AHEAD
            self.machine.reserve(self._reserved)
            if self.machine.rows.nbytes > MOST_RECORDED:
                self.recording = False
                self.happened.append((until * 1e-9, "recording", "full: the rest is not recorded"))

    def _measure(self, period: int) -> None:
        unit = self.machine.servo
        take_measurements(
            self.drives.drives,
            unit.axes,
            self.ports,
            unit.feedback,
            self.machine.motors,
            unit.inverse,
            period * 1e-9,
        )
