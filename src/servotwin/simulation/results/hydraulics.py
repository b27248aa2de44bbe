"""What became of pressures, valves and oil in a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from servotwin.simulation.plant.hydraulic_drives import oil_account
from servotwin.simulation.plant.machine import Machine

WORST_OIL = 1e-5  # part of the oil moved that may be unaccounted for
LEAST_OIL = 1e-9  # kg: less is rounding


def hydraulic_summary(machine: Machine, names: Sequence[str]) -> dict[str, Any] | None:
    """Extremes of pressures, cavitation, valves at their limit, relief flow, and the account of the oil; SI."""
    if not machine.hydraulic.axes:
        return None
    supply = machine.world["supply"][0]
    return {
        "supply_pressure_min_Pa": float(supply["p_low"]),
        "supply_pressure_max_Pa": float(supply["p_high"]),
        "relief_flow_max_m3_per_s": float(supply["relief_peak"]),
        "axes": [_axis(machine, j, names[j]) for j in machine.hydraulic.axes],
        **oil_account(machine),
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


def hydraulic_warnings(summary: dict[str, Any] | None) -> list[str]:
    """Cavitation, and oil that is not accounted for, one line each."""
    if summary is None:
        return []
    lines = [
        f"motor {axis['motor']}: a chamber cavitated from {axis['cavitated_from_s']:.4g} s on, for "
        f"{1e3 * axis['cavitated_s']:.3g} ms in all: the load was faster than the oil"
        for axis in summary["axes"]
        if axis["cavitated_s"] > 0.0
    ]
    missing = abs(summary["mass_error_relative"])
    if missing > WORST_OIL and abs(summary["mass_error_kg"]) > LEAST_OIL:
        lines.append(
            f"oil: {missing:.1e} of the oil moved is unaccounted for, more than {WORST_OIL:g}; take solver.method "
            "adaptive"
        )
    return lines
