"""From a data sheet to the fields of a robot description that loops and plant compute with (SI)."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from servotwin.description.fields import problem
from servotwin.description.sheets.conventions import copper_coefficient
from servotwin.description.sheets.gear_sheet import GearSheet, ScrewSheet
from servotwin.description.sheets.motor_sheet import MotorSheet, MotorThermal

REFERENCE = 25.0  # degC at which a description states a resistance if it has no thermal data
GEAR_KINDS = {"strain-wave": "harmonic", "rv": "gearbox", "planetary": "gearbox", "belt": "belt"}
STIFFNESSES = ("k1", "k2", "k3", "secant")
_SAME = (
    *("kind", "rated_output", "rated_speed", "rated_torque", "rated_current", "peak_torque", "max_speed"),
    *("torque_constant", "voltage_constant", "inductance", "inductance_d", "inductance_q", "pole_pairs"),
    *("rotor_inertia", "viscous_friction", "coulomb_friction", "mass"),
)
_SAME_GEAR = ("ratio", "backlash", "inertia", "no_load_torque")


def motor_fields(sheet: MotorSheet, reference: float | None = None) -> dict[str, Any]:
    """Fields of ``motor`` in a robot file; the resistance at the temperature ``reference`` [degC].

    The current limit is the peak current, or what the peak torque takes: saturation is not modelled.
    """
    found: dict[str, Any] = {name: getattr(sheet, name) for name in _SAME}
    if reference is None:
        reference = sheet.thermal.ambient if sheet.thermal is not None else REFERENCE
    found["resistance"] = sheet.resistance_at(reference)
    found["current_limit"] = _current_limit(sheet)
    if sheet.thermal is not None:
        found["thermal"] = _thermal_fields(sheet.thermal)
    return {name: value for name, value in found.items() if value is not None}


def _current_limit(sheet: MotorSheet) -> float | None:
    if sheet.peak_current is None or sheet.peak_torque is None or sheet.torque_constant is None:
        return sheet.peak_current
    return min(sheet.peak_current, sheet.peak_torque / sheet.torque_constant)


def _thermal_fields(thermal: MotorThermal) -> dict[str, Any]:
    """The two bodies, with the growth of a copper resistance from the surroundings of the rating on."""
    found: dict[str, Any] = {
        "winding_to_housing": thermal.winding_to_housing,
        "housing_to_ambient": thermal.housing_to_ambient,
        "winding_capacity": thermal.winding_capacity,
        "housing_capacity": thermal.housing_capacity,
        "temperature_coefficient": copper_coefficient(thermal.ambient),
        "reference_temperature": thermal.ambient,
    }
    return found if thermal.limit is None else {**found, "limit": thermal.limit}


def gear_fields(sheet: GearSheet, stiffness: str | None = None) -> dict[str, Any]:
    """Fields of ``gear`` in a robot file; of the torsion one stiffness, k1, k2, k3 or the secant at rated torque.

    The efficiency is that of the loaded part: what the gear takes without load is friction of the motor's shaft.
    """
    found: dict[str, Any] = {
        "kind": GEAR_KINDS[sheet.kind],
        **{name: getattr(sheet, name) for name in _SAME_GEAR},
    }
    if sheet.efficiency is not None:
        found["efficiency"] = min(sheet.load_efficiency, 1.0)
    if sheet.no_load_torque is not None:
        found["starting_torque"] = sheet.starting_torque
    if stiffness is not None:
        found["stiffness"] = _linear(sheet, stiffness)
    return {name: value for name, value in found.items() if value is not None}


def _linear(sheet: GearSheet, which: str) -> float:
    torsion = sheet.torsion
    if torsion is None:
        raise problem(f"'{which}' of no torsion; expected torsion in the datasheet", "linear_stiffness")
    if which == "secant":
        torque = sheet.rated_torque
        if torque is None:
            raise problem("the secant needs a rated_torque; expected it in the datasheet", "linear_stiffness")
        return torsion.secant(torque)
    found: float | None = getattr(torsion, which)
    if found is None:
        raise problem(f"the datasheet has no {which}; expected one that it has", "linear_stiffness")
    return found


def screw_fields(sheet: ScrewSheet) -> dict[str, Any]:
    """Fields of ``gear`` in a robot file."""
    found = {
        "kind": "ball-screw",
        **{name: getattr(sheet, name) for name in ("lead", "efficiency", "backlash", "inertia")},
    }
    return {name: value for name, value in found.items() if value is not None}


def without_repeats(raw: dict[str, Any], found: dict[str, Any], sheet: str = "datasheet") -> dict[str, Any]:
    """``raw`` with the fields ``found`` in its data sheet; what stands in both is refused."""
    for name in found:
        if raw.get(name) is not None and name != "kind":
            raise problem(f"says what {sheet} says as well; expected one of them", name)
    stated = raw.get("kind")
    if stated is not None and "kind" in found and stated != found["kind"]:
        raise problem(f"'{stated}', but {sheet} is of kind '{found['kind']}'; expected the same", "kind")
    return {**raw, **found}


def problem_below(error: ValidationError, at: str) -> PydanticCustomError:
    """The first problem of a part that was validated by itself, moved to the field ``at``."""
    item = error.errors(include_url=False)[0]
    context = item.get("ctx") or {}
    names = [at, *(str(part) for part in item["loc"] if part != "[key]")]
    if item["type"] == "servotwin":
        names += [context["at"]] if context["at"] else []
        return problem(context["text"], ".".join(names))
    return problem(item["msg"], ".".join(names))
