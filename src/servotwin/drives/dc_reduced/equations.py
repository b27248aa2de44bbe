"""The DC servo motor without inductance in the complete model of a robot (eq:dc-reduced)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from servotwin.drives.kind import Functions, StateEquations


def _numbers(motor: Any, bridge: float) -> dict[str, float]:
    return {"R": motor.electrical.resistance + bridge, "K": motor.torque_constant}


def _rates(
    x: Sequence[Any],
    u: Sequence[Any],
    theta: Any,
    w: Any,
    p: Mapping[str, Any],
    f: Functions,
) -> tuple[Sequence[Any], Any]:
    (u_a,) = u
    return [], p["K"] * ((u_a - p["K"] * w) / p["R"])  # eq:dc-reduced


EQUATIONS = StateEquations((), (("voltage", "V"),), _numbers, _rates)
