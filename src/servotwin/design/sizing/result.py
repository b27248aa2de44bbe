"""The answer of a sizing: demands of every actuator and of the supply, the table of ratings, choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from servotwin.design.sizing.actuators import Actuator
from servotwin.design.sizing.evaluate import ActuatorDemand, Check, Rules, demand_of
from servotwin.design.sizing.supply import SupplyDemand, supply_demand

if TYPE_CHECKING:
    from servotwin.description.power_parts import Power
    from servotwin.description.schema import RobotDescription
    from servotwin.design.sizing.load import Load
    from servotwin.design.sizing.search import Choice
    from servotwin.design.sizing.what_if import WhatIf
    from servotwin.design.sizing.worst_case import WorstCase
    from servotwin.robot.robot import Robot


def payload_of(description: RobotDescription) -> float:
    """Mass [kg] of a robot's payload; zero where the file states none."""
    return 0.0 if description.payload is None else description.payload.mass


@dataclass(frozen=True, eq=False, repr=False)
class Assessment:
    """A set of actuators under a load."""

    load: Load
    demands: tuple[ActuatorDemand, ...]
    supply: SupplyDemand
    rules: Rules

    def __repr__(self) -> str:
        """The cycle and what is used most, on one line."""
        worst = self.worst
        most = "no limit is known"
        if worst is not None:
            most = f"{worst[0].name} uses {100.0 * worst[1].share:.1f} % of its {worst[1].name}"
        return f"<{type(self).__name__} {self.load.duty.name}, {self.load.duty.period:.4g} s: {most}>"

    @property
    def worst(self) -> tuple[ActuatorDemand, Check] | None:
        """The actuator and the limit that is used most; None if none is known."""
        found = [(demand, demand.worst) for demand in self.demands]
        known = [(demand, check) for demand, check in found if check is not None]
        return max(known, key=lambda item: item[1].share, default=None)

    @property
    def passes(self) -> bool:
        """True if no limit is exceeded."""
        return all(demand.passes for demand in self.demands)

    @property
    def price(self) -> float:
        """Of all motors and gears."""
        return sum(demand.actuator.price for demand in self.demands)

    @property
    def mass(self) -> float:
        """Of all motors and gears [kg]."""
        return sum(demand.actuator.mass for demand in self.demands)


def assess(
    load: Load, actuators: Sequence[Actuator], power: Power | None = None, rules: Rules | None = None
) -> Assessment:
    """What a load asks of a set of actuators; masses that differ from the file's are already part of the load."""
    chosen = rules or Rules()
    demands = tuple(demand_of(load, j, actuator, power, chosen) for j, actuator in enumerate(actuators))
    electric = np.stack([demand.electric_power for demand in demands], axis=1)
    return Assessment(load, demands, supply_demand(electric, load.seconds, power), chosen)


@dataclass(frozen=True)
class Rejection:
    """An entry that would be better on its axis by itself, and the limit that it breaks there."""

    axis: str
    actuator: Actuator
    cost: float
    chosen_cost: float
    check: Check  # with a share below 1 it fits by itself; the set as a whole is better


@dataclass(frozen=True)
class ParetoPoint:
    """A set of the front: cycle time [s], price, mass [kg], names by axis.

    ``gap``: by how much a set of this cycle time that was not found can be better, relatively, in price or in mass
    (eq:front-gap); zero if the front at this cycle time is complete.
    """

    cycle_time: float
    price: float
    mass: float
    names: tuple[str, ...]
    gap: float = 0.0

    def beats(self, other: ParetoPoint) -> bool:
        """True if it is nowhere worse and somewhere better."""
        mine, theirs = (self.cycle_time, self.price, self.mass), (other.cycle_time, other.price, other.mass)
        return mine != theirs and all(a <= b for a, b in zip(mine, theirs, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class Sizing:
    """The answer of ``st.size``.

    ``present``: the drives of the file under the cycle; ``choice``, ``chosen``: the best set of the catalogue and what
    the cycle asks of it; ``worst``: instead of a cycle the worst case over the workspace.
    """

    description: RobotDescription
    robot: Robot
    present: Assessment | None
    choice: Choice | None
    chosen: Assessment | None
    minimised: str | None
    rejected: tuple[Rejection, ...]
    what_if: tuple[WhatIf, ...]
    pareto: tuple[ParetoPoint, ...]
    worst: WorstCase | None
    notes: tuple[str, ...]
    file: str | None = None  # of the robot, and the changes of it
    changes: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """The robot, its cycle and the chosen set, on one line."""
        name, cycle = f"<{type(self).__name__} {self.description.name}", self.assessment
        if cycle is None:
            return f"{name}: worst case>"
        set_ = "" if self.choice is None else f", least {self.minimised} {self.choice.cost:.4g}"
        return f"{name}{set_}: {cycle!r}>"

    @property
    def payload(self) -> float:
        """Of the cycle [kg]."""
        return payload_of(self.description)

    @property
    def assessment(self) -> Assessment | None:
        """The chosen set if there is one, else the drives of the file; None for a worst case."""
        return self.chosen if self.chosen is not None else self.present
