"""DC servo motor whose inductance does not count: the current follows the voltage at once."""

from __future__ import annotations

from typing import Any

from servotwin.drives.dc_reduced.equations import EQUATIONS
from servotwin.drives.kind import ActuatorKind, Feed, Winding, stated_constant


def _winding(motor: Any) -> Winding:
    K, stated = stated_constant(motor)
    return Winding(motor.resistance or 0.0, torque_constant=K, has_torque_constant=stated)


DC_REDUCED = ActuatorKind(
    name="dc-reduced",
    code=1,
    feed=Feed.H_BRIDGE,
    needed=("torque_constant", "resistance"),
    winding=_winding,
    driver="dc",
    brushes=True,
    equations=EQUATIONS,
)
