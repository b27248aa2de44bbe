"""A motor that gives the torque it is told: no winding, no bridge, no losses."""

from __future__ import annotations

from typing import Any

from servotwin.drives.ideal.equations import EQUATIONS
from servotwin.drives.kind import ActuatorKind, Feed, Winding, stated_constant


def _winding(motor: Any) -> Winding:
    K, stated = stated_constant(motor)
    return Winding(torque_constant=K, has_torque_constant=stated)


IDEAL = ActuatorKind(
    name="ideal", code=3, feed=Feed.COMMAND, winding=_winding, driver="ideal", equations=EQUATIONS
)
