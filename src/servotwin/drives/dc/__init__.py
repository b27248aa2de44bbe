"""DC servo motor with brushes: an H-bridge, a winding, torque in proportion to its current."""

from __future__ import annotations

from typing import Any

from servotwin.drives.dc.equations import EQUATIONS
from servotwin.drives.kind import ActuatorKind, Feed, Winding, stated_constant


def _winding(motor: Any) -> Winding:
    L, (K, stated) = motor.inductance or 0.0, stated_constant(motor)
    return Winding(motor.resistance or 0.0, L, L, L, K, stated)


def _problem(motor: Any) -> tuple[str, str] | None:
    if motor.inductance == 0.0:
        return "inductance", "0 H leaves no current to integrate; expected more, or 'kind: dc-reduced'"
    return None


DC = ActuatorKind(
    name="dc",
    code=0,
    feed=Feed.H_BRIDGE,
    needed=("torque_constant", "resistance", "inductance"),
    states=("current",),
    winding=_winding,
    problem=_problem,
    driver="dc",
    meant=((("brushed", "brushed-dc", "bdc"), "; a motor with brushes is 'dc'"),),
    brushes=True,
    equations=EQUATIONS,
)
