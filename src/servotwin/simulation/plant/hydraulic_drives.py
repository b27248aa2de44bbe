"""Hydraulic axes in a machine: their records, where they begin, what they store, what becomes of their oil."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.description.drive_data import drives_of
from servotwin.description.hydraulic_data import hydraulic_axis, hydraulic_supply, is_hydraulic
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription
from servotwin.drives.hydraulic.data import Axis, Supply, fill
from servotwin.drives.hydraulic.model import (
    CUSHIONED,
    DRAINED,
    FROM_SUPPLY,
    LEAKED,
    PRESSURE_A,
    PRESSURE_B,
    PUMP_ENERGY,
    PUMP_LOSS,
    PUMPED,
    RELIEF_LOSS,
    RELIEVED,
    SUPPLIED,
    THROTTLED,
    TO_TANK,
)
from servotwin.drives.hydraulic.steady import OperatingPoint, edge_flows, operating_point
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia

if TYPE_CHECKING:
    from servotwin.simulation.plant.balance import Balance
    from servotwin.simulation.plant.machine import Machine

HALVINGS = 60
MOST_PRESSURE = 1e9  # Pa: no relief valve opens beyond


@dataclass
class HydraulicDrives:
    """The hydraulic axes of a machine by their motors, and their supply; none in most machines."""

    axes: dict[int, Axis] = field(default_factory=dict)
    supply: Supply = field(default_factory=lambda: Supply(pressure=1.0))
    refuse: Callable[[int, str], InputError] | None = None  # an error at the field of a motor
    oil_before: float = 0.0  # in all chambers and the supply line when the run began [m3]


def fill_supply(record: Any, truth: RobotDescription) -> None:
    """Record of the hydraulic supply; all zero without hydraulic axes."""
    count = sum(is_hydraulic(drive) for drive in drives_of(truth))
    if not count:
        return
    supply = hydraulic_supply(truth)
    fill(record, supply)
    record["axes"], record["has_state"] = count, int(supply.has_state)
    record["p_low"] = record["p_high"] = supply.pressure


def attach_hydraulic(motors: Any, truth: RobotDescription, plant: Robot) -> HydraulicDrives:
    """Fill the records of all hydraulic axes."""
    drives = drives_of(truth)
    found = {j: hydraulic_axis(truth, drive) for j, drive in enumerate(drives) if is_hydraulic(drive)}
    if not found:
        return HydraulicDrives()
    inertia = motor_inertia(plant, plant.mechanism.q_home, held=False)
    for j, axis in found.items():
        fill(motors[j]["hydraulic"], axis)
        motors[j]["hydraulic"]["inertia"] = inertia[j]

    def complaint(j: int, text: str) -> InputError:
        return refuse(truth, f"axes.{drives[j].owner}.motor", text)

    return HydraulicDrives(found, hydraulic_supply(truth), complaint)


# --- where a run begins ---------------------------------------------------------------------------------


def starting_points(machine: Machine, state: Balance) -> dict[int, OperatingPoint]:
    """Spools and pressures that hold the balance, with the pressure at which the pump feeds nothing but leaks."""
    drives = machine.hydraulic
    if not drives.axes:
        return {}
    supply = drives.supply
    if not supply.has_state:
        return _points(drives, state, supply.pressure)
    low, high = supply.tank, MOST_PRESSURE
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        try:
            drawn = sum(
                _drawn(drives.axes[j], supply, point) for j, point in _points(drives, state, middle).items()
            )
        except InputError:
            low = middle
            continue
        relieved = supply.relief_gain * max(0.0, middle - supply.relief_pressure)
        low, high = (middle, high) if supply.pump_flow > relieved + drawn else (low, middle)
    return _points(drives, state, high)


def _points(drives: HydraulicDrives, state: Balance, p_s: float) -> dict[int, OperatingPoint]:
    found = {}
    for j, axis in drives.axes.items():
        numbers = (float(state.theta[j]), float(state.w[j]), float(state.tau[j]))
        try:
            found[j] = operating_point(axis, drives.supply, *numbers, p_s)
        except InputError as error:
            if drives.refuse is None:
                raise
            raise drives.refuse(j, f"at the start: {error}") from None
    return found


def _drawn(axis: Axis, supply: Supply, point: OperatingPoint) -> float:
    """Flow from the supply at an operating point [m3/s]."""
    to_a, _, to_b, _ = edge_flows(
        axis, supply, point.opening, point.x, (point.p_a, point.p_b), point.supply_pressure
    )
    return to_a + to_b


def load_pressure(machine: Machine, point: OperatingPoint, j: int) -> float:
    """Load pressure as the driver of motor j sees it [Pa], with the offset of its sensors."""
    axis, offset = machine.axes[j], float(machine.sensors["pressure_offset"][j])
    p_a, p_b = point.p_a + offset, point.p_b + offset
    return float(axis["area_a_hat"] * p_a - axis["area_b_hat"] * p_b)


def set_hydraulic(machine: Machine, points: dict[int, OperatingPoint]) -> None:
    """States of the hydraulic axes and of their supply when a run begins."""
    world, y = machine.world[0], machine.y
    for j, point in points.items():
        at, record = int(machine.motors["current_at"][j]), machine.motors[j]["hydraulic"]
        y[at : at + 4] = point.opening, 0.0, point.p_a, point.p_b
        record["p_a_low"] = record["p_a_high"] = point.p_a
        record["p_b_low"] = record["p_b_high"] = point.p_b
        machine.axes["p_load"][j] = machine.axes["p_slow"][j] = load_pressure(machine, point, j)
        if world["at_supply"] >= 0:
            y[int(world["at_supply"])] = point.supply_pressure
        world["supply"]["p_low"] = world["supply"]["p_high"] = point.supply_pressure


# --- what is stored, and what becomes of it ------------------------------------------------------------


def _pressures(machine: Machine, j: int) -> tuple[float, float, float]:
    """Position of the piston and both pressures."""
    at, y = int(machine.motors["current_at"][j]), machine.y
    theta = float((machine.N @ machine.x[: int(machine.world["n"][0])])[j])
    e = int(machine.motors["flexible"][j])
    if e >= 0:
        theta = float(y[int(machine.world["at_theta"][0]) + e])
    return theta, float(y[at + PRESSURE_A]), float(y[at + PRESSURE_B])


def _supply_pressure(machine: Machine) -> float:
    return float(machine.y[int(machine.world["at_supply"][0])])


def oil_energy(machine: Machine) -> dict[str, float]:
    """Energy of compressed oil, and of the gas that it has compressed [J]; nothing without hydraulic axes."""
    drives = machine.hydraulic
    if not drives.axes:
        return {}
    chambers = sum(axis.energy(drives.supply, *_pressures(machine, j)) for j, axis in drives.axes.items())
    found = {"oil_J": float(chambers)}
    if machine.world["at_supply"][0] >= 0:
        found["hydraulic_supply_J"] = float(drives.supply.energy(_supply_pressure(machine)))
    return found


def oil_content(machine: Machine) -> float:
    """Oil in all chambers and in the supply line, as volume at the surroundings [m3]."""
    drives = machine.hydraulic
    total = sum(axis.content(drives.supply, *_pressures(machine, j)) for j, axis in drives.axes.items())
    if machine.world["at_supply"][0] >= 0:
        total += drives.supply.content(_supply_pressure(machine))
    return float(total)


def _sums(machine: Machine) -> Array:
    """Integrals of all axes together (PER_AXIS,)."""
    z, at = machine.world["state"]["z"][0], machine.motors["loss_at"]
    return np.asarray(sum(z[at[j] : at[j] + DRAINED + 1] for j in machine.hydraulic.axes))


def hydraulic_source(machine: Machine) -> float:
    """Energy from the supply, or by the shaft of its pump, less what the tank got [J] (eq:supply-power)."""
    drives = machine.hydraulic
    if not drives.axes:
        return 0.0
    sums = _sums(machine)
    if not drives.supply.has_state:
        return float(sums[SUPPLIED])
    z, at = machine.world["state"]["z"][0], int(machine.world["supply_z"][0])
    h_t = drives.supply.oil(drives.supply.tank)[2]
    returned = sums[TO_TANK] + z[at + RELIEVED] - z[at + PUMPED]
    return float(z[at + PUMP_ENERGY] - h_t * returned)


def hydraulic_losses(machine: Machine) -> dict[str, float]:
    """What valves, leaks, cushions, pump and relief valve turned to heat [J]; nothing without hydraulic axes."""
    if not machine.hydraulic.axes:
        return {}
    sums = _sums(machine)
    found = {
        "valve_J": float(sums[THROTTLED]),
        "leakage_J": float(sums[LEAKED]),
        "cushion_J": float(sums[CUSHIONED]),
    }
    if machine.hydraulic.supply.has_state:
        z, at = machine.world["state"]["z"][0], int(machine.world["supply_z"][0])
        found |= {"pump_J": float(z[at + PUMP_LOSS]), "relief_J": float(z[at + RELIEF_LOSS])}
    return found


def oil_account(machine: Machine) -> dict[str, float]:
    r"""Mass of oil that came, went and stayed [kg], and what does not add up.

    .. math:: \Delta m = m_\mathrm{supply} - m_\mathrm{tank} - m_\mathrm{drain}                  (eq:oil-balance)
    """
    drives = machine.hydraulic
    if not drives.axes:
        return {}
    sums, rho = _sums(machine), drives.supply.density
    came, went, drained = float(sums[FROM_SUPPLY]), float(sums[TO_TANK]), float(sums[DRAINED])
    found = {}
    if drives.supply.has_state:
        z, at = machine.world["state"]["z"][0], int(machine.world["supply_z"][0])
        came, relieved = float(z[at + PUMPED]), float(z[at + RELIEVED])
        went += relieved
        found["relieved_kg"] = rho * relieved
    change = oil_content(machine) - drives.oil_before
    error = came - went - drained - change  # eq:oil-balance
    moved = max(abs(came), abs(went) + abs(drained), abs(change))
    return {
        "from_supply_kg": rho * came,
        "to_tank_kg": rho * went,
        "drained_kg": rho * drained,
        **found,
        "stored_kg": rho * change,
        "mass_error_kg": rho * error,
        "mass_error_relative": error / moved if moved > 0.0 else 0.0,
    }
