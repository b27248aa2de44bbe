"""Groups of actuators: those kinds that bring a supply, a start and an account of their own into a run."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from servotwin.description.schema import RobotDescription
from servotwin.robot.robot import Robot
from servotwin.simulation.plant.hydraulic_drives import fill_supply, hydraulic_group

if TYPE_CHECKING:
    from servotwin.simulation.plant.balance import Balance
    from servotwin.simulation.plant.machine import Machine
    from servotwin.simulation.scenario.parts import Solver


class ActuatorGroup(Protocol):
    """The actuators of one kind in a machine; energies in J."""

    key: str  # of its part of a run's summary

    @property
    def motors(self) -> Container[int]:
        """Numbers of its motors."""

    def holding(self, machine: Machine, state: Balance) -> dict[int, tuple[float, float]]:
        """Currents [A] that hold a balance, as they are and as the driver of each motor asks for them."""

    def begin(self, machine: Machine, state: Balance) -> None:
        """Set the states of its actuators and of their supply when a run begins."""

    def note_start(self, machine: Machine) -> None:
        """Note what a later account compares with."""

    def fail(self, machine: Machine, kind: str, j: int, value: float) -> bool:
        """Take a fault of a scenario, at motor j or at the supply; False if it is none of the group's."""

    def stored(self, machine: Machine) -> dict[str, float]:
        """Energy that it holds now."""

    def losses(self, machine: Machine) -> dict[str, float]:
        """What became heat so far."""

    def source(self, machine: Machine) -> float:
        """Energy that came from outside so far."""

    def summary(self, machine: Machine, names: Sequence[str]) -> dict[str, Any]:
        """Its part of a run's summary; ``names``: of all motors."""

    def warnings(self, summary: dict[str, Any], solver: Solver) -> list[str]:
        """What is odd about that, one line each; ``solver``: of the run."""

    def stalled(self, microseconds: float) -> str:
        """Why a run stalled whose states can change within so short a time."""


Maker = Callable[[Any, Any, RobotDescription, Robot], ActuatorGroup | None]
GROUPS: dict[str, Maker] = {"hydraulics": hydraulic_group}
SUPPLIES: tuple[Callable[[Any, RobotDescription], None], ...] = (fill_supply,)


def fill_supplies(record: Any, truth: RobotDescription) -> None:
    """Record of the supply that actuators of one kind share; all zero without one."""
    for fill in SUPPLIES:
        fill(record, truth)


def attach_groups(world: Any, motors: Any, truth: RobotDescription, plant: Robot) -> list[ActuatorGroup]:
    """Fill the records of all groups that a robot has."""
    found = (make(world, motors, truth, plant) for make in GROUPS.values())
    return [group for group in found if group is not None]
