"""What data sheets of gears say and no run has."""

from __future__ import annotations

from collections.abc import Iterator

from servotwin.description.drive_parts import Gear
from servotwin.description.error_sources import error_sources
from servotwin.description.schema import RobotDescription


def left_out(description: RobotDescription) -> list[str]:
    """A line for each axis whose gear has more in its data sheet than a simulation takes from it."""
    found, section = [], error_sources(description)
    for name, axis in description.axes.items():
        parts = list(_of_gear(axis.gear, section.enabled)) if axis.gear is not None else []
        if parts:
            found.append(f"axes.{name}.gear.datasheet: in a simulation {'; '.join(parts)}")
    return found


def _of_gear(gear: Gear, enabled: bool) -> Iterator[str]:
    sheet = gear.datasheet
    if sheet is None:
        return
    if sheet.torsion is not None and gear.stiffening is None:
        pieces = len(sheet.torsion.pieces())
        if gear.stiffness is None:
            yield "the gear is stiff (linear_stiffness or piecewise_stiffness would use its torsion)"
        elif pieces > 1:
            stiffness = f"{gear.stiffness:.4g} N*m/rad"
            yield f"the stiffness is {stiffness} at any torque (piecewise_stiffness would use all {pieces})"
    unused = [field for field in ("hysteresis", "transmission_error") if getattr(sheet, field)]
    if enabled:  # a torsion that is not there has no hysteresis
        unused = [field for field in unused if field == "hysteresis" and gear.stiffness is None]
    if unused:
        yield f"{' and '.join(unused).replace('_', ' ')} {'are' if len(unused) > 1 else 'is'} left out"
