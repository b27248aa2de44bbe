"""The DC servo motor in the complete model of a robot (eq:dc-motor)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from servotwin.drives.kind import Functions, StateEquations


def _numbers(motor: Any, bridge: float) -> dict[str, float]:
    winding = motor.electrical
    return {"R": winding.resistance + bridge, "L": winding.inductance, "K": winding.torque_constant}


def _rates(
    x: Sequence[Any],
    u: Sequence[Any],
    theta: Any,
    w: Any,
    p: Mapping[str, Any],
    f: Functions,
) -> tuple[Sequence[Any], Any]:
    (i_a,), (u_a,) = x, u
    return [(u_a - p["R"] * i_a - p["K"] * w) / p["L"]], p["K"] * i_a  # eq:dc-motor


EQUATIONS = StateEquations((("current", "A"),), (("voltage", "V"),), _numbers, _rates)
