"""Hydraulic axes in a machine: their records, where they begin, and what a run asks them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servotwin.compiled.numeric import quantise
from servotwin.description.display import BAR, LITRES_PER_MINUTE
from servotwin.description.drive_data import drives_of
from servotwin.description.hydraulic_data import hydraulic_axis, hydraulic_supply, is_hydraulic
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription
from servotwin.drives.hydraulic.data import Axis, Supply, fill
from servotwin.drives.hydraulic.records import PUMP_ENERGY, SPOOL_SPEED, SUPPLIED
from servotwin.drives.hydraulic.steady import OperatingPoint, edge_flows, moving_point
from servotwin.errors import InputError
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia
from servotwin.simulation.plant.hydraulic_account import (
    hydraulic_losses,
    hydraulic_source,
    hydraulic_summary,
    hydraulic_warnings,
    oil_content,
    oil_energy,
)
from servotwin.simulation.plant.start_control import asked_current

if TYPE_CHECKING:
    from servotwin.simulation.plant.balance import Balance
    from servotwin.simulation.plant.machine import Machine
    from servotwin.simulation.scenario.parts import Solver

HALVINGS = 60
ENOUGH = 1e-6  # of the pump's flow: what the halvings leave


@dataclass
class HydraulicGroup:
    """The hydraulic axes of a machine by their motors, and their supply; see ``groups.ActuatorGroup``."""

    axes: dict[int, Axis]
    supply: Supply
    refuse: Callable[[int, str], InputError]  # an error at the field of a motor
    oil_before: float = 0.0  # in all chambers and the supply line when the run began [m3]
    key: str = "hydraulics"

    @property
    def motors(self) -> dict[int, Axis]:
        """Its axes."""
        return self.axes

    def holding(self, machine: Machine, state: Balance) -> dict[int, tuple[float, float]]:
        """Valve currents that hold a balance [A], and what the speed loops ask for then."""
        found = {}
        for j, point in starting_points(self, state).items():
            i = point.opening * self.axes[j].rated_current
            found[j] = i, asked_current(machine.axes[j], i, load_pressure(machine, point, j))
        return found

    def begin(self, machine: Machine, state: Balance) -> None:
        """Set spools, pressures and the pressure of the supply."""
        set_hydraulic(machine, starting_points(self, state))

    def note_start(self, machine: Machine) -> None:
        """Note how much oil there is."""
        self.oil_before = oil_content(self, machine)

    def fail(self, machine: Machine, kind: str, j: int, value: float) -> bool:
        """A pressure that is lost, a pump that stops, a spool that sticks, a piston that leaks."""
        return fail_hydraulic(machine, kind, j, value)

    def stored(self, machine: Machine) -> dict[str, float]:
        """Energy of oil and gas [J]."""
        return oil_energy(self, machine)

    def losses(self, machine: Machine) -> dict[str, float]:
        """What became heat [J]."""
        return hydraulic_losses(self, machine)

    def source(self, machine: Machine) -> float:
        """Energy from the supply or its pump [J]."""
        return hydraulic_source(self, machine)

    def summary(self, machine: Machine, names: Sequence[str]) -> dict[str, Any]:
        """Pressures, valves and oil."""
        return hydraulic_summary(self, machine, names)

    def warnings(self, summary: dict[str, Any], solver: Solver) -> list[str]:
        """Cavitation, and oil that is not accounted for."""
        return hydraulic_warnings(summary, solver)

    def stalled(self, microseconds: float) -> str:
        """Why a run with oil stalled."""
        return (
            f"oil that changes within {microseconds:.3g} us needs too many steps; look at dead_volume, laminar_drop "
            "and natural_frequency of the hydraulic axes and at line_volume and relief of their supply, or take a "
            "shorter current_period"
        )


def fill_supply(record: Any, truth: RobotDescription) -> None:
    """Record of the hydraulic supply; all zero without hydraulic axes."""
    count = sum(is_hydraulic(drive) for drive in drives_of(truth))
    if not count:
        return
    supply = hydraulic_supply(truth)
    fill(record, supply)
    record["axes"], record["has_state"] = count, int(supply.has_state)
    record["p_low"] = record["p_high"] = supply.pressure


def hydraulic_group(world: Any, motors: Any, truth: RobotDescription, plant: Robot) -> HydraulicGroup | None:
    """Fill the records of all hydraulic axes; None if a robot has none."""
    drives = drives_of(truth)
    found = {j: hydraulic_axis(truth, drive) for j, drive in enumerate(drives) if is_hydraulic(drive)}
    if not found:
        return None
    inertia = motor_inertia(plant, plant.mechanism.q_home, held=False)
    for j, axis in found.items():
        fill(motors[j]["hydraulic"], axis)
        motors[j]["hydraulic"]["inertia"] = inertia[j]
        motors[j]["supplied_at"] = motors[j]["loss_at"] + SUPPLIED
    if world["supply_z"] >= 0:
        world["supplied_at"] = world["supply_z"] + PUMP_ENERGY

    def complaint(j: int, text: str) -> InputError:
        return refuse(truth, f"axes.{drives[j].owner}.motor", text)

    return HydraulicGroup(found, hydraulic_supply(truth), complaint)


# --- where a run begins ---------------------------------------------------------------------------------


def starting_points(drives: HydraulicGroup, state: Balance) -> dict[int, OperatingPoint]:
    """Spools and pressures that hold the balance, with the pressure at which the pump feeds nothing but leaks."""
    supply = drives.supply
    if not supply.has_state:
        return _points(drives, state, supply.pressure)
    # at this pressure the whole flow of the pump passes the relief valve: no axis ever has more
    low, high = supply.tank, supply.relief_pressure + supply.pump_flow / supply.relief_gain
    points = _points(drives, state, high)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        try:
            found = _points(drives, state, middle)
        except InputError:
            low = middle
            continue
        if supply.pump_flow > _taken(drives, found, middle):
            low = middle
        else:
            high, points = middle, found
    taken = _taken(drives, points, high)
    if taken > supply.pump_flow * (1.0 + ENOUGH):
        raise drives.refuse(
            next(iter(drives.axes)),
            f"at the start: to hold the load takes {BAR * high:.4g} bar, at which the valves leak "
            f"{LITRES_PER_MINUTE * taken:.4g} L/min; expected more than the {LITRES_PER_MINUTE * supply.pump_flow:.4g} "
            "L/min of the pump",
        )
    return points


def _taken(drives: HydraulicGroup, points: dict[int, OperatingPoint], p_s: float) -> float:
    """Flow through all valves and the relief valve [m3/s]."""
    supply = drives.supply
    drawn = sum(_drawn(drives.axes[j], supply, point) for j, point in points.items())
    return drawn + supply.relief_gain * max(0.0, p_s - supply.relief_pressure)


def _points(drives: HydraulicGroup, state: Balance, p_s: float) -> dict[int, OperatingPoint]:
    found = {}
    for j, axis in drives.axes.items():
        numbers = (float(state.theta[j]), float(state.w[j]), float(state.tau[j]))
        try:
            found[j] = moving_point(axis, drives.supply, *numbers, p_s)
        except InputError as error:
            raise drives.refuse(j, f"at the start: {error}") from None
    return found


def _drawn(axis: Axis, supply: Supply, point: OperatingPoint) -> float:
    """Flow from the supply at an operating point [m3/s]."""
    to_a, _, to_b, _ = edge_flows(
        axis, supply, point.opening, point.x, (point.p_a, point.p_b), point.supply_pressure
    )
    return to_a + to_b


def load_pressure(machine: Machine, point: OperatingPoint, j: int) -> float:
    """Load pressure as the driver of motor j sees it [Pa]: with offset, range and bits of its sensors, no noise."""
    axis, sensor = machine.axes[j], machine.sensors[j]
    span, bits = float(sensor["pressure_range"]), int(sensor["pressure_bits"])
    seen, offset = getattr(quantise, "py_func", quantise), float(sensor["pressure_offset"])
    p_a, p_b = (seen(p + offset, span, bits) for p in (point.p_a, point.p_b))
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


# --- faults ---------------------------------------------------------------------------------------------


def fail_hydraulic(machine: Machine, kind: str, j: int, value: float) -> bool:
    """See ``HydraulicGroup.fail``; a spool without a frequency stands where it is (eq:spool)."""
    supply, axes = machine.world["supply"], machine.motors["hydraulic"]
    if kind == "supply-pressure":
        supply["pressure"] = value
    elif kind == "pump-stops":
        supply["pump_flow"] = 0.0
    elif kind == "oil-leak":
        axes["leakage"][j] += value
    elif kind == "spool-stuck":
        axes["natural_frequency"][j] = 0.0
        machine.y[int(machine.motors["current_at"][j]) + SPOOL_SPEED] = 0.0
    else:
        return False
    return True
