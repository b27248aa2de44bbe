"""The answer of a sizing: demands of every actuator and of the supply, the table of ratings, choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from servotwin.design.sizing.actuators import Actuator
from servotwin.design.sizing.evaluate import ActuatorDemand, Check, Rules, demand_of
from servotwin.design.sizing.supply import SupplyDemand, supply_demand

if TYPE_CHECKING:
    from servotwin.description.power_parts import Power
    from servotwin.design.sizing.load import Load

import numpy as np


@dataclass(frozen=True, eq=False)
class Assessment:
    """A set of actuators under a load."""

    load: Load
    demands: tuple[ActuatorDemand, ...]
    supply: SupplyDemand
    rules: Rules

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
