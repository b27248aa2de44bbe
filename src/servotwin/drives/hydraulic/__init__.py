"""An electrohydraulic axis: a servovalve with a cylinder or a hydraulic motor, fed by a supply that axes share."""

from __future__ import annotations

from typing import Any

from servotwin.drives.hydraulic.equations import EQUATIONS
from servotwin.drives.hydraulic.records import AXIS, PER_AXIS, PER_SUPPLY, SUPPLY
from servotwin.drives.kind import ActuatorKind, Feed


def _problem(motor: Any) -> tuple[str, str] | None:
    if (motor.cylinder is None) == (motor.hydraulic_motor is None):
        given = "missing" if motor.cylinder is None else "stated beside a hydraulic_motor"
        return "cylinder", f"{given}: 'hydraulic' needs one of cylinder and hydraulic_motor"
    return None


HYDRAULIC = ActuatorKind(
    name="hydraulic",
    code=5,
    feed=Feed.COMMAND,
    valve=True,
    needed=("valve",),
    states=("spool", "spool_speed", "pressure_a", "pressure_b"),
    problem=_problem,
    driver="hydraulic",
    exact=False,
    record=AXIS,
    supply=SUPPLY,
    integrals=PER_AXIS,
    supply_integrals=PER_SUPPLY,
    equations=EQUATIONS,
    meant=(
        (("electrohydraulic", "servovalve", "cylinder"), "; a servovalve with its cylinder is 'hydraulic'"),
    ),
)
