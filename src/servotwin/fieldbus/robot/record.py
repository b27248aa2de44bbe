"""What drives did, as a result like that of any other run: signals, energies, limits met, events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from servotwin.mechanism.model import Array
from servotwin.simulation.assembly import Run, collect
from servotwin.simulation.results.result import Result
from servotwin.simulation.scenario.parts import Record, Solver
from servotwin.simulation.scenario.scenario import Scenario

if TYPE_CHECKING:
    from servotwin.fieldbus.robot.build import RobotDrives


@dataclass(frozen=True, eq=False)
class CommandedByBus:
    """Joints (k, n) that the master commanded, one row for each period [s]; straight in between."""

    time: Array
    q: Array

    @property
    def duration(self) -> float:
        """[s]"""
        return float(self.time[-1])

    @property
    def arrivals(self) -> Array:
        """[s]"""
        return self.time[-1:]

    def sample(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration (k, n) at t (k,) [s]."""
        at = np.atleast_1d(np.asarray(t, dtype=np.float64))
        q = self._at(at, self.q)
        rate = np.gradient(self.q, self.time, axis=0) if len(self.time) > 1 else np.zeros_like(self.q)
        bend = np.gradient(rate, self.time, axis=0) if len(self.time) > 1 else np.zeros_like(self.q)
        return q, self._at(at, rate), self._at(at, bend)

    def _at(self, t: Array, table: Array) -> Array:
        return np.stack([np.interp(t, self.time, column) for column in table.T], axis=-1)


def commanded(drives: RobotDrives) -> CommandedByBus:
    """What the master commanded so far."""
    machine = drives.machine
    rows = drives.plant.commanded or [(0, machine.servo.feedback["count"][0, : len(drives.motors)].copy())]
    time = np.array([at for at, _ in rows]) * 1e-9
    theta = np.array([counts for _, counts in rows]) / machine.axes["counts_per_rad"]
    return CommandedByBus(time, theta @ machine.inverse.T)


def scenario_of(drives: RobotDrives, pwm: str, seed: int) -> Scenario:
    """A run over a bus as a scenario without moves, which results and reports know how to treat."""
    known = drives.description
    home = dict(zip(drives.robot.joint_names, drives.machine.started.q.tolist(), strict=True))
    return Scenario(
        name=f"{known.name}-drives",
        title=f"{known.title or known.name}, commanded over EtherCAT",
        robot=known.name,
        set={},
        plant_set={},
        start=home,
        moves=(),
        repeat=1,
        solver=Solver(pwm=pwm),
        seed=seed,
        record=Record(),
        faults=(),
        path=None,
        description=known,
        plant_description=known,
    )


def result_of(drives: RobotDrives, wall: float, failure: str | None = None) -> Result:
    """The result of drives that were recorded, after ``wall`` [s]."""
    scenario = scenario_of(drives, drives.pwm, drives.seed)
    run = Run(scenario, drives.robot, drives.robot, drives.machine, drives.stored_before, [], 0.0, 0.0)
    return collect(run, commanded(drives), wall, drives.plant.happened, failure=failure)
