"""What becomes of the energy and the oil of hydraulic axes in a run, and what is told of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.drives.hydraulic.records import (
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
from servotwin.mechanism.model import Array

if TYPE_CHECKING:
    from servotwin.simulation.plant.hydraulic_drives import HydraulicGroup
    from servotwin.simulation.plant.machine import Machine
    from servotwin.simulation.scenario.parts import Solver

WORST_OIL = 1e-5  # part of the oil moved that may be unaccounted for
LEAST_OIL = 1e-9  # kg: less is rounding


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


def oil_energy(drives: HydraulicGroup, machine: Machine) -> dict[str, float]:
    """Energy of compressed oil, and of the gas that it has compressed [J]."""
    chambers = sum(axis.energy(drives.supply, *_pressures(machine, j)) for j, axis in drives.axes.items())
    found = {"oil_J": float(chambers)}
    if machine.world["at_supply"][0] >= 0:
        found["hydraulic_supply_J"] = float(drives.supply.energy(_supply_pressure(machine)))
    return found


def oil_content(drives: HydraulicGroup, machine: Machine) -> float:
    """Oil in all chambers and in the supply line, as volume at the surroundings [m3]."""
    total = sum(axis.content(drives.supply, *_pressures(machine, j)) for j, axis in drives.axes.items())
    if machine.world["at_supply"][0] >= 0:
        total += drives.supply.content(_supply_pressure(machine))
    return float(total)


def _sums(drives: HydraulicGroup, machine: Machine) -> Array:
    """Integrals of all axes together (PER_AXIS,)."""
    z, at = machine.world["state"]["z"][0], machine.motors["loss_at"]
    return np.asarray(sum(z[at[j] : at[j] + DRAINED + 1] for j in drives.axes))


def hydraulic_source(drives: HydraulicGroup, machine: Machine) -> float:
    """Energy from the supply, or by the shaft of its pump, less what the tank got [J] (eq:supply-power)."""
    sums = _sums(drives, machine)
    if not drives.supply.has_state:
        return float(sums[SUPPLIED])
    z, at = machine.world["state"]["z"][0], int(machine.world["supply_z"][0])
    h_t = drives.supply.oil(drives.supply.tank)[2]
    returned = sums[TO_TANK] + z[at + RELIEVED] - z[at + PUMPED]
    return float(z[at + PUMP_ENERGY] - h_t * returned)


def hydraulic_losses(drives: HydraulicGroup, machine: Machine) -> dict[str, float]:
    """What valves, leaks, cushions, pump and relief valve turned to heat [J]."""
    sums = _sums(drives, machine)
    found = {
        "valve_J": float(sums[THROTTLED]),
        "leakage_J": float(sums[LEAKED]),
        "cushion_J": float(sums[CUSHIONED]),
    }
    if drives.supply.has_state:
        z, at = machine.world["state"]["z"][0], int(machine.world["supply_z"][0])
        found |= {"pump_J": float(z[at + PUMP_LOSS]), "relief_J": float(z[at + RELIEF_LOSS])}
    return found


def oil_account(drives: HydraulicGroup, machine: Machine) -> dict[str, float]:
    r"""Mass of oil that came, went and stayed [kg], and what does not add up.

    .. math:: \Delta m = m_\mathrm{supply} - m_\mathrm{tank} - m_\mathrm{drain}                  (eq:oil-balance)
    """
    sums, rho = _sums(drives, machine), drives.supply.density
    came, went, drained = float(sums[FROM_SUPPLY]), float(sums[TO_TANK]), float(sums[DRAINED])
    found = {}
    if drives.supply.has_state:
        z, at = machine.world["state"]["z"][0], int(machine.world["supply_z"][0])
        came, relieved = float(z[at + PUMPED]), float(z[at + RELIEVED])
        went += relieved
        found["relieved_kg"] = rho * relieved
    change = oil_content(drives, machine) - drives.oil_before
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


def hydraulic_summary(drives: HydraulicGroup, machine: Machine, names: Sequence[str]) -> dict[str, Any]:
    """Extremes of pressures, cavitation, valves at their limit, relief flow, and the account of the oil; SI."""
    supply = machine.world["supply"][0]
    return {
        "supply_pressure_min_Pa": float(supply["p_low"]),
        "supply_pressure_max_Pa": float(supply["p_high"]),
        "relief_flow_max_m3_per_s": float(supply["relief_peak"]),
        "axes": [_axis(machine, j, names[j]) for j in drives.axes],
        **oil_account(drives, machine),
    }


def _axis(machine: Machine, j: int, name: str) -> dict[str, Any]:
    axis = machine.motors[j]["hydraulic"]
    cavitated = int(axis["cavitated_ns"])
    return {
        "motor": name,
        "pressure_a_min_Pa": float(axis["p_a_low"]),
        "pressure_a_max_Pa": float(axis["p_a_high"]),
        "pressure_b_min_Pa": float(axis["p_b_low"]),
        "pressure_b_max_Pa": float(axis["p_b_high"]),
        "valve_opening_max": float(axis["opening_peak"]),
        "valve_at_rated_current_s": int(axis["limited_ns"]) * 1e-9,
        "cavitated_s": cavitated * 1e-9,
        "cavitated_from_s": int(axis["cavitated_from"]) * 1e-9 if cavitated else None,
    }


def hydraulic_warnings(summary: dict[str, Any], solver: Solver) -> list[str]:
    """Cavitation, and oil that is not accounted for, one line each."""
    lines = [
        f"motor {axis['motor']}: a chamber cavitated from {axis['cavitated_from_s']:.4g} s on, for "
        f"{1e3 * axis['cavitated_s']:.3g} ms in all: the load was faster than the oil"
        for axis in summary["axes"]
        if axis["cavitated_s"] > 0.0
    ]
    missing = abs(summary["mass_error_relative"])
    if missing > WORST_OIL and abs(summary["mass_error_kg"]) > LEAST_OIL:
        remedy = "solver.method adaptive"
        if solver.method == "adaptive":
            remedy = f"a smaller solver.tolerance than {solver.tolerance:g}"
        lines.append(
            f"oil: {missing:.1e} of the oil moved is unaccounted for, more than {WORST_OIL:g}; take {remedy}"
        )
    return lines
