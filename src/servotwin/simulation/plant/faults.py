"""Things that break during a run: changes of the plant at an instant."""

from __future__ import annotations

import math
from collections.abc import Sequence

from servotwin.description.drive_data import DriveData, drive_of, drives_of
from servotwin.drives.records import FREE
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.plant.stored_energy import magnetic_energy
from servotwin.simulation.scenario.parts import Fault
from servotwin.simulation.scenario.scenario import Scenario
from servotwin.simulation.windows.choice import choose_window


def fault_times(scenario: Scenario) -> list[tuple[int, Fault]]:
    """When each fault acts [ns]: a brake closes after its delay, and all brakes close when the power goes."""
    description = scenario.plant_description
    times = []
    for fault in scenario.faults:
        if fault.kind == "brake-closes":
            times.append((brake_closes(drive_of(description, fault.axis or ""), fault.at), fault))
            continue
        times.append((round(fault.at * 1e9), fault))
        if fault.kind == "power-off":
            for drive in drives_of(description):
                if drive.brake is not None:
                    closing = Fault.model_construct(
                        at=fault.at, axis=drive.name, kind="brake-closes", value=None
                    )
                    times.append((brake_closes(drive, fault.at), closing))
    return sorted(times, key=lambda entry: entry[0])


def brake_closes(drive: DriveData, at: float) -> int:
    """When the brake of a motor has closed [ns] that lost its voltage at the time ``at`` [s]."""
    return round((at + (drive.brake.delay if drive.brake is not None else 0.0)) * 1e9)


def apply_fault(machine: Machine, fault: Fault, motors: Sequence[str]) -> None:
    """Break what the fault says."""
    value = fault.value or 0.0
    if fault.kind == "supply-voltage":
        machine.world["state"]["u_bus"][0] = machine.power["u_source"][0] = value
        return
    if fault.kind == "power-off":
        cut_power(machine)
        return
    j = list(motors).index(fault.axis or "")
    if fault.kind == "encoder-stuck":
        stick_encoder(machine, j)
    elif fault.kind == "encoder-loses-pulses":
        machine.sensors["lost"][j] += round(value)
    elif fault.kind == "current-sensor-offset":
        machine.sensors["current_offset"][j] = value
    elif fault.kind == "winding-open":
        open_winding(machine, j)
    else:
        close_brake(machine, j)


def stick_encoder(machine: Machine, j: int) -> None:
    """Let the encoder of a motor show from now on what it shows now (eq:encoder), whenever a servo reads it."""
    sensor, theta = machine.sensors[j], float(machine.motors["theta"][j])
    if not sensor["stuck"]:
        sensor["count"] = math.floor(theta * sensor["counts_per_rad"] + 0.5) - sensor["lost"]
        sensor["stuck"] = 1


def cut_power(machine: Machine) -> None:
    """Switch all bridges off: no current flows any more."""
    machine.power["off"] = 1
    for j in range(len(machine.motors)):
        open_winding(machine, j)


def restore_power(machine: Machine) -> None:
    """Switch the bridges on again, with every winding closed and every brake open."""
    motors = machine.motors
    machine.power["off"] = 0
    motors["open"] = motors["brake_closed"] = 0
    motors["mode"][motors["dry"] == 0] = FREE
    choose_window(machine)


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


def close_brake(machine: Machine, j: int) -> None:
    """Close the brake of a motor: dry friction that was not there before."""
    motor = machine.motors[j]
    motor["brake_closed"] = 1
    if motor["mode"] == FREE:
        motor["mode"] = int(motor["w"] > 0.0) - int(motor["w"] < 0.0)
        motor["slack"] = 0.0
    choose_window(machine)
