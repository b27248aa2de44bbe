"""Motors and gears of a catalogue as choices for the axes of a robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from servotwin.description.drive_parts import Brake, Thermal
from servotwin.description.friction_curve import FrictionCurve
from servotwin.description.sheets.catalogue import Catalogue
from servotwin.description.sheets.conventions import copper_coefficient
from servotwin.description.sheets.motor_fields import MotorDatasheet
from servotwin.description.sheets.motor_sheet import MotorSheet
from servotwin.design.sizing.actuators import (
    GearChoice,
    MotorChoice,
    gear_choice,
    screw_choice,
)
from servotwin.drives.kind import PHASE, Winding

STANDS = 0.85  # of the bus: a motor's own bus voltage must not be less


def motors_of(
    catalogue: Catalogue, bus_voltage: float | None = None, brake: Brake | None = None
) -> list[MotorChoice]:
    """The motors for a bus [V]: a winding that is made for a much lower voltage does not stand it.

    An axis with a ``brake`` gets motors with brakes; if the catalogue has none, it keeps its own.
    """
    sheets = [
        sheet
        for sheet in catalogue.motors.values()
        if bus_voltage is None or sheet.bus_voltage is None or sheet.bus_voltage >= STANDS * bus_voltage
    ]
    braked = brake is not None and has_brakes(catalogue)
    found = [
        motor_choice(sheet, catalogue.printed.get(sheet.name), brake=braked)
        for sheet in sheets
        if not braked or sheet.brake_torque is not None
    ]
    return found if braked or brake is None else [replace(m, brake_torque=brake.torque) for m in found]


def has_brakes(catalogue: Catalogue) -> bool:
    """Whether a catalogue has motors with brakes."""
    return any(sheet.brake_torque is not None for sheet in catalogue.motors.values())


def motor_choice(
    sheet: MotorSheet, printed: MotorDatasheet | None = None, *, brake: bool = False
) -> MotorChoice:
    """A motor of a catalogue; with its brake if the axis has one, as far as the sheet states its inertia and mass."""
    inertia, mass = sheet.rotor_inertia or 0.0, sheet.mass
    if brake:
        inertia += sheet.brake_inertia or 0.0
        mass = None if mass is None else mass + (sheet.brake_mass or 0.0)
    return MotorChoice(
        name=sheet.name,
        rotor_inertia=inertia,
        rated_torque=sheet.rated_torque,
        rated_speed=sheet.rated_speed,
        peak_torque=sheet.peak_torque,
        max_speed=sheet.max_speed,
        continuous=sheet.continuous_points,
        peak_curve=sheet.peak_curve or (),
        winding=_winding(sheet),
        current_limit=_current_limit(sheet),
        thermal=_thermal(sheet),
        friction=_friction(sheet.viscous_friction, sheet.coulomb_friction),
        brake_torque=sheet.brake_torque if brake else None,
        mass=mass,
        price=sheet.price_index,
        size=sheet.frame,
        printed=printed,
    )


def _current_limit(sheet: MotorSheet) -> float | None:
    if sheet.peak_current is None or sheet.peak_torque is None or sheet.torque_constant is None:
        return sheet.peak_current
    return min(sheet.peak_current, sheet.peak_torque / sheet.torque_constant)


def _winding(sheet: MotorSheet) -> Winding | None:
    """The winding at the temperature of its surroundings; None without torque constant or resistance."""
    K, R = sheet.torque_constant, sheet.resistance
    if K is None or R is None:
        return None
    if sheet.thermal is not None:
        R = sheet.resistance_at(sheet.thermal.ambient) or R
    L, pairs = sheet.inductance or 0.0, sheet.pole_pairs or 0
    if sheet.kind != "pmsm":
        return Winding(R, L, L, L, K, True)
    flux = PHASE * K / max(pairs, 1)
    return Winding(R, L, sheet.inductance_d or L, sheet.inductance_q or L, K, True, 3, max(pairs, 1), flux)


def _thermal(sheet: MotorSheet) -> Thermal | None:
    heat = sheet.thermal
    if heat is None:
        return None
    return Thermal.model_construct(
        winding_to_housing=heat.winding_to_housing,
        housing_to_ambient=heat.housing_to_ambient,
        winding_capacity=heat.winding_capacity,
        housing_capacity=heat.housing_capacity,
        temperature_coefficient=copper_coefficient(heat.ambient),
        reference_temperature=heat.ambient,
        limit=heat.limit,
    )


def _friction(viscous: float | None, coulomb: float | None) -> FrictionCurve:
    dry = coulomb or 0.0
    return FrictionCurve(viscous or 0.0, dry, (), (dry, dry))


def gears_of(catalogue: Catalogue, unit: str) -> Mapping[str, GearChoice]:
    """The gears for an output that turns ('rad') or slides ('m')."""
    if unit == "m":
        return {name: screw_choice(name, sheet) for name, sheet in catalogue.screws.items()}
    return {name: gear_choice(name, sheet) for name, sheet in catalogue.gears.items()}
