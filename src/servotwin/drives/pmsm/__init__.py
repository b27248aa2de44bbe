"""Permanent-magnet synchronous motor: a bridge of three legs, currents d and q in rotor coordinates."""

from __future__ import annotations

from typing import Any

from servotwin.drives.kind import ActuatorKind, Feed, Winding, stated_constant
from servotwin.drives.pmsm.equations import EQUATIONS

EXAMPLE = "'0.6 mH'"


def _winding(motor: Any) -> Winding:
    R, L, (K, stated) = motor.resistance or 0.0, motor.inductance or 0.0, stated_constant(motor)
    pole_pairs = motor.pole_pairs or 1
    flux = K / (1.5 * pole_pairs)  # eq:pmsm
    return Winding(R, L, motor.inductance_d or L, motor.inductance_q or L, K, stated, 3, pole_pairs, flux)


def _problem(motor: Any) -> tuple[str, str] | None:
    """An axis of the rotor whose current would have no state of its own."""
    if motor.inductance:
        return None
    for field in ("inductance_d", "inductance_q"):
        if getattr(motor, field) is not None:
            continue
        if motor.inductance is not None:
            return (
                "inductance",
                "0 H leaves no current to integrate; expected more, or inductance_d and inductance_q",
            )
        return field, f"missing: 'pmsm' needs it; expected {EXAMPLE}, or an inductance for both"
    return None


PMSM = ActuatorKind(
    name="pmsm",
    code=2,
    feed=Feed.THREE_PHASE,
    needed=("torque_constant", "resistance", "pole_pairs"),
    states=("current_d", "current_q"),
    winding=_winding,
    problem=_problem,
    driver="pmsm",
    meant=(
        (
            (
                *("bldc", "blac", "ac", "ac-servo", "ac servo", "servo", "brushless"),
                *("synchronous", "sm", "ipm", "ipmsm", "spmsm", "pm", "permanent-magnet"),
            ),
            "; a brushless or AC servo motor with permanent magnets is a 'pmsm'",
        ),
    ),
    equations=EQUATIONS,
)
