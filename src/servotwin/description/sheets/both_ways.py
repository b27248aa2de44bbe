"""The data of a motor side by side: as its sheet prints them, in the usual form of sheets, and as models have them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from servotwin.description.display import RPM
from servotwin.description.drive_parts import Motor
from servotwin.description.load import read_description
from servotwin.description.schema import RobotDescription
from servotwin.description.sheets.conventions import ROOT2, ROOT3, copper_factor
from servotwin.description.sheets.description_fields import REFERENCE
from servotwin.description.sheets.motor_fields import MotorDatasheet
from servotwin.description.sheets.motor_sheet import MotorSheet, MotorThermal, motor_sheet
from servotwin.description.sheets.printed import Printed
from servotwin.drives.kind import PHASE
from servotwin.drives.table import kind_named

KRPM = 1000.0 / RPM  # rad/s
_CURRENTS = ("rated_current", "stall_current", "peak_current")
_SAME = (
    ("rated_torque", "N*m", 1.0),
    ("stall_torque", "N*m", 1.0),
    ("peak_torque", "N*m", 1.0),
    ("rated_speed", "rpm", RPM),
)


@dataclass(frozen=True)
class Row:
    """A quantity as printed (with its conventions), in the form that most sheets have, and in the models."""

    field: str
    printed: str
    usual: str
    model: str
    value: float  # of the models, SI


def rows(sheet: MotorSheet, printed: MotorDatasheet | None = None) -> list[Row]:
    """The rows of a motor; without ``printed`` its sheet says nothing and that column is empty."""
    return [
        *_of_ratings(sheet, printed),
        *_of_currents(sheet, printed),
        *_of_winding(sheet, printed),
        *_of_thermal(sheet, printed),
    ]


def sheet_of(name: str, motor: Motor) -> MotorSheet:
    """The sheet that the fields of a robot file amount to: they are in the conventions of the models already."""
    same = ("rated_output", "rated_speed", "rated_torque", "rated_current", "peak_torque", "max_speed")
    winding = (
        "torque_constant",
        "voltage_constant",
        "resistance",
        "inductance",
        "pole_pairs",
        "rotor_inertia",
        "mass",
    )
    heat = motor.thermal
    thermal = None
    if heat is not None:
        thermal = MotorThermal(
            heat.winding_to_housing, heat.housing_to_ambient, heat.winding_capacity, heat.housing_capacity,
            heat.reference_temperature, heat.limit, two_bodies=True,
        )  # fmt: skip
    return MotorSheet(
        name=name,
        kind="pmsm" if kind_named(motor.kind).three_phase else "dc",
        **{field: getattr(motor, field) for field in (*same, *winding)},
        peak_current=motor.current_limit,
        resistance_temperature=REFERENCE if heat is None else heat.reference_temperature,
        thermal=thermal,
    )


def datasheets(
    robot: str | os.PathLike[str], overrides: Mapping[str, str | None] | None = None
) -> dict[str, list[Row]]:
    """The data of every electric motor of a robot, by axis; ``robot`` and ``overrides`` as in ``load_robot``.

    >>> [row.usual for row in datasheets("palletizer-4")["th1"] if row.field == "inductance"]
    ['6 mH, lines']
    """
    return datasheets_of(read_description(robot, overrides))


def datasheets_of(description: RobotDescription) -> dict[str, list[Row]]:
    """The same of a description: as printed, as sheets usually have them, as models do."""
    found = {}
    for name, axis in description.axes.items():
        motor = axis.motor
        if motor is None or not kind_named(motor.kind).bridge:
            continue
        printed = motor.datasheet
        sheet = sheet_of(name, motor) if printed is None else motor_sheet(name, printed)
        found[name] = rows(sheet, printed)
    return found


def _of_ratings(sheet: MotorSheet, printed: MotorDatasheet | None) -> Iterator[Row]:
    for field, unit, scale in _SAME:
        value = getattr(sheet, field)
        if value is not None:
            text = f"{scale * value:.4g} {unit}"
            yield Row(
                field, text if printed else "", text, text if unit != "rpm" else f"{value:.4g} rad/s", value
            )


def _of_currents(sheet: MotorSheet, printed: MotorDatasheet | None) -> Iterator[Row]:
    sine = sheet.kind == "pmsm"
    for field in _CURRENTS:
        value = getattr(sheet, field)
        if value is None:
            continue
        usual = f"{value / ROOT2:.4g} Arms" if sine else f"{value:.4g} A"
        model = f"{value:.4g} A amplitude" if sine else f"{value:.4g} A"
        yield Row(field, _sine_text(printed, field, "A"), usual, model, value)


def _sine_text(printed: MotorDatasheet | None, field: str, unit: str, scale: float = 1.0) -> str:
    """A current, or a constant with one, as it is printed."""
    value: Printed | None = None if printed is None else getattr(printed, field)
    if value is None or printed is None:
        return ""
    told = printed.conventions.voltage if field == "voltage_constant" else printed.conventions.current
    size = (value.size or told) if printed.kind == "pmsm" else None
    return f"{scale * value.value:.4g} {unit}{f', {size}' if size else ''}"


def _of_winding(sheet: MotorSheet, printed: MotorDatasheet | None) -> Iterator[Row]:
    sine, told = sheet.kind == "pmsm", None if printed is None else printed.conventions
    K_t, K_e = sheet.torque_constant, sheet.voltage_constant
    if K_e is None and K_t is not None:
        K_e = K_t * (PHASE if sine else 1.0)  # eq:sheet-constants
    if K_t is not None:
        usual = f"{ROOT2 * K_t:.4g} N*m/Arms" if sine else f"{K_t:.4g} N*m/A"
        model = f"{K_t:.4g} N*m/A{' per amplitude' if sine else ''}"
        yield Row("torque_constant", _sine_text(printed, "torque_constant", "N*m/A"), usual, model, K_t)
    if K_e is not None:
        lines = ROOT3 / ROOT2 * K_e * KRPM
        usual = f"{lines:.4g} Vrms/krpm, lines" if sine else f"{K_e * KRPM:.4g} V/krpm"
        model = f"{K_e:.4g} V*s/rad{', amplitude of a star phase' if sine else ''}"
        stated = _sine_text(printed, "voltage_constant", "V/krpm", KRPM)
        stated += f", {told.voltage_between}" if stated and told is not None and told.voltage_between else ""
        yield Row("voltage_constant", stated, usual, model, K_e)
    yield from _of_phases(sheet, printed)


def _of_phases(sheet: MotorSheet, printed: MotorDatasheet | None) -> Iterator[Row]:
    """Resistance, cold, and inductance."""
    twice = 2.0 if sheet.kind == "pmsm" else 1.0
    told = None if printed is None else printed.conventions
    place = ", lines" if twice > 1.0 else ""
    phase = " of a star phase" if twice > 1.0 else ""
    stated = f", {told.winding_between}" if told is not None and told.winding_between and twice > 1.0 else ""
    stated += f", {told.connection}" if told is not None and told.connection and twice > 1.0 else ""
    R, given = sheet.resistance, sheet.resistance_temperature
    if R is not None and given is not None:
        there = (
            f"{printed.resistance:.4g} ohm{stated}, {given:g} degC" if printed and printed.resistance else ""
        )
        cold = twice * R * copper_factor(given, 20.0)
        reference = sheet.thermal.ambient if sheet.thermal is not None else REFERENCE
        R *= copper_factor(given, reference)
        model = f"{R:.4g} ohm{phase} at {reference:g} degC"
        yield Row("resistance", there, f"{cold:.4g} ohm{place}, 20 degC", model, R)
    if sheet.inductance is not None:
        L = 1e3 * sheet.inductance
        there = f"{1e3 * printed.inductance:.4g} mH{stated}" if printed and printed.inductance else ""
        yield Row("inductance", there, f"{twice * L:.4g} mH{place}", f"{L:.4g} mH{phase}", sheet.inductance)


def _of_thermal(sheet: MotorSheet, printed: MotorDatasheet | None) -> Iterator[Row]:
    heat, stated = sheet.thermal, printed.thermal if printed is not None else None
    if heat is None:
        return
    tau_w = heat.winding_to_housing * heat.winding_capacity
    tau_h = heat.housing_to_ambient * heat.housing_capacity
    slow = tau_h if heat.two_bodies else tau_w
    there = f"{stated.time_constant / 60.0:.4g} min" if stated is not None else ""
    bodies = f"{heat.winding_to_housing:.4g}"
    capacities = f"{heat.winding_capacity:.4g}"
    if heat.two_bodies:
        bodies, capacities = (
            f"{bodies} + {heat.housing_to_ambient:.4g}",
            f"{capacities}, {heat.housing_capacity:.4g}",
        )
    yield Row("thermal resistance", "", f"{heat.resistance:.4g} K/W", f"{bodies} K/W", heat.resistance)
    yield Row("thermal time constant", there, f"{slow / 60.0:.4g} min", f"{capacities} J/K", slow)
