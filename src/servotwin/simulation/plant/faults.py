"""Things that break during a run: changes of the plant at an instant."""

from __future__ import annotations

import math
from collections.abc import Sequence

from servotwin.description.drive_data import DriveData, drive_of, drives_of
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.plant.readings import sensed_angles
from servotwin.simulation.plant.switched_drives import close_brake, open_winding
from servotwin.simulation.scenario.parts import Fault
from servotwin.simulation.scenario.scenario import Scenario


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
    j = list(motors).index(fault.axis) if fault.axis else -1
    if any(group.fail(machine, fault.kind, j, value) for group in machine.groups):
        return
    if fault.kind == "encoder-stuck":
        stick_encoder(machine, j)
    elif fault.kind == "encoder-loses-pulses":
        machine.sensors["lost"][j] += round(value)
    elif fault.kind == "current-sensor-offset":
        machine.sensors["current_offset"][j] = value
    elif fault.kind == "winding-open":
        machine.drives.broken.add(j)
        open_winding(machine, j)
    else:
        machine.drives.jammed.add(j)
        close_brake(machine, j)


def stick_encoder(machine: Machine, j: int) -> None:
    """Let the encoder of a motor show from now on what it shows now (eq:encoder), whenever a servo reads it."""
    sensor = machine.sensors[j]
    if not sensor["stuck"]:
        angle = float(sensed_angles(machine.sensors, machine.motors["theta"])[j])
        sensor["count"] = math.floor(angle * sensor["counts_per_rad"] + 0.5) - sensor["lost"]
        sensor["stuck"] = 1


def cut_power(machine: Machine) -> None:
    """Take the supply away: no current flows any more, whatever the servo enables."""
    machine.drives.lost = True
    machine.power["off"] = 1
    for j in range(len(machine.motors)):
        open_winding(machine, j)
