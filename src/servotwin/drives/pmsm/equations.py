"""The synchronous motor in the complete model of a robot: currents and voltages in rotor coordinates (eq:pmsm)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from servotwin.drives.kind import Functions, StateEquations


def _numbers(motor: Any, bridge: float) -> dict[str, float]:
    winding = motor.electrical
    return {
        "R": winding.resistance + bridge,
        "L_d": winding.inductance_d,
        "L_q": winding.inductance_q,
        "p": float(winding.pole_pairs),
        "psi": winding.flux,
        "dL": winding.inductance_d - winding.inductance_q,  # zero folds away where the rotor is round
    }


def _rates(
    x: Sequence[Any],
    u: Sequence[Any],
    theta: Any,
    w: Any,
    p: Mapping[str, Any],
    f: Functions,
) -> tuple[Sequence[Any], Any]:
    (i_d, i_q), (u_d, u_q) = x, u
    w_e = p["p"] * w
    di_d = (u_d - p["R"] * i_d + w_e * (p["L_q"] * i_q)) / p["L_d"]  # eq:pmsm
    di_q = (u_q - p["R"] * i_q - w_e * (p["L_d"] * i_d + p["psi"])) / p["L_q"]
    return [di_d, di_q], 1.5 * p["p"] * (p["psi"] + p["dL"] * i_d) * i_q


EQUATIONS = StateEquations(
    (("current_d", "A"), ("current_q", "A")),
    (("voltage_d", "V"), ("voltage_q", "V")),
    _numbers,
    _rates,
    idle=(0,),
)
