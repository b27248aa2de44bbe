"""Things that break during a run: changes of the plant at an instant."""

from __future__ import annotations

from collections.abc import Sequence

from servotwin.description.motors import owner_by_motor
from servotwin.description.schema import RobotDescription
from servotwin.drives.records import FREE, Kind
from servotwin.simulation.machine import Machine
from servotwin.simulation.scenario import Scenario
from servotwin.simulation.scenario_parts import Fault


def fault_times(scenario: Scenario) -> list[tuple[int, Fault]]:
    """When each fault acts [ns]: a brake closes after its delay, and all brakes close when the power goes."""
    description = scenario.plant_description
    times = []
    for fault in scenario.faults:
        if fault.kind == "brake-closes":
            times.append((brake_closes(description, fault.axis or "", fault.at), fault))
            continue
        times.append((round(fault.at * 1e9), fault))
        if fault.kind == "power-off":
            for motor, owner in owner_by_motor(description).items():
                if description.axes[owner].brake is not None:
                    closing = Fault.model_construct(at=fault.at, axis=motor, kind="brake-closes", value=None)
                    times.append((brake_closes(description, motor, fault.at), closing))
    return sorted(times, key=lambda entry: entry[0])


def brake_closes(description: RobotDescription, motor: str, at: float) -> int:
    """When the brake of a motor has closed [ns] that lost its voltage at the time ``at`` [s]."""
    brake = description.axes[owner_by_motor(description)[motor]].brake
    return round((at + (brake.delay if brake is not None else 0.0)) * 1e9)


def apply_fault(machine: Machine, fault: Fault, motors: Sequence[str]) -> None:
    """Break what the fault says."""
    value = fault.value or 0.0
    if fault.kind == "supply-voltage":
        machine.world["u_bus"][0] = machine.power["u_source"][0] = value
        return
    if fault.kind == "power-off":
        machine.power["off"] = 1
        for j in range(len(motors)):
            open_winding(machine, j)
        return
    j = list(motors).index(fault.axis or "")
    if fault.kind == "encoder-stuck":
        machine.sensors["stuck"][j] = 1
    elif fault.kind == "encoder-loses-pulses":
        machine.sensors["lost"][j] += round(value)
    elif fault.kind == "current-sensor-offset":
        machine.sensors["current_offset"][j] = value
    elif fault.kind == "winding-open":
        open_winding(machine, j)
    else:
        close_brake(machine, j)


def open_winding(machine: Machine, j: int) -> None:
    """Interrupt a motor's current; the energy in its inductance goes into the bridge."""
    motor, y = machine.motors[j], machine.y
    motor["open"] = 1
    machine.world["plain"][0] = machine.world["rubs"][0] = 0
    at = int(motor["current_at"])
    if at < 0:
        return
    if motor["kind"] == Kind.PMSM:
        lost = 0.75 * (motor["L_d"] * y[at] ** 2 + motor["L_q"] * y[at + 1] ** 2)
        y[at + 1] = 0.0
    else:
        lost = 0.5 * motor["L"] * y[at] ** 2
    y[at] = 0.0
    machine.world["heat"][0, j, 1] += lost


def close_brake(machine: Machine, j: int) -> None:
    """Close the brake of a motor: dry friction that was not there before."""
    motor = machine.motors[j]
    motor["brake_closed"] = 1
    if motor["mode"] == FREE:
        motor["mode"] = int(motor["w"] > 0.0) - int(motor["w"] < 0.0)
        motor["slack"] = 0.0
    world = machine.world
    world["smooth"][0] = world["simple"][0] = world["plain"][0] = world["windows"][0] = 0
