"""Motors and gears of a catalogue as choices for the axes of a robot."""

from __future__ import annotations

import math
from collections.abc import Mapping

from servotwin.description.drive_parts import Thermal
from servotwin.description.friction_curve import FrictionCurve
from servotwin.description.sheets.catalogue import Catalogue
from servotwin.description.sheets.gear_sheet import GearSheet, ScrewSheet
from servotwin.description.sheets.motor_sheet import MotorSheet, thermal_coefficient
from servotwin.design.sizing.actuators import GearChoice, MotorChoice
from servotwin.drives.kind import PHASE, Winding

SCREW_EXPONENT = 3.0


def motor_choice(sheet: MotorSheet, *, brake: bool = False) -> MotorChoice:
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
        continuous=_continuous(sheet),
        peak_curve=sheet.peak_curve or (),
        winding=_winding(sheet),
        current_limit=sheet.peak_current,
        thermal=_thermal(sheet),
        friction=_friction(sheet.viscous_friction, sheet.coulomb_friction),
        brake_torque=sheet.brake_torque if brake else None,
        mass=mass,
        price=sheet.price_index,
        size=sheet.frame,
    )


def _continuous(sheet: MotorSheet) -> tuple[tuple[float, float], ...]:
    """Points of the continuous curve: as printed, or from standstill over the rated point to the largest speed."""
    if sheet.continuous_curve is not None:
        return sheet.continuous_curve
    top = sheet.max_speed or sheet.rated_speed
    if sheet.rated_torque is None or sheet.rated_speed is None or top is None:
        return ()
    speeds = sorted({0.0, sheet.rated_speed, top})
    return tuple((w, sheet.continuous_torque(w) or 0.0) for w in speeds)


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
        temperature_coefficient=thermal_coefficient(heat),
        reference_temperature=heat.ambient,
        limit=heat.limit,
    )


def _friction(viscous: float | None, coulomb: float | None) -> FrictionCurve:
    dry = coulomb or 0.0
    return FrictionCurve(viscous or 0.0, dry, (), (dry, dry))


def gear_choice(name: str, sheet: GearSheet) -> GearChoice:
    """A gear of a catalogue."""
    table = sheet.no_load_torque or ()
    rest = table[0][1] if table else 0.0
    return GearChoice(
        name=name,
        ratio=sheet.ratio,
        kind=sheet.kind,
        efficiency=sheet.load_efficiency,
        inertia=sheet.inertia or 0.0,
        rated_torque=sheet.rated_torque,
        average_torque=sheet.average_torque,
        repeated_torque=sheet.repeated_peak_torque,
        momentary_torque=sheet.momentary_torque,
        rated_speed=sheet.rated_speed,
        average_speed=sheet.average_speed,
        max_speed=sheet.max_speed,
        rated_life=sheet.life,
        life_quantile=10 if sheet.life_percentile == "L10" else 50,
        exponent=sheet.exponent,
        friction=FrictionCurve(0.0, 0.0, (), (rest, rest), (table, table)),
        mass=sheet.mass,
        price=sheet.price_index,
        size=sheet.frame,
    )


def screw_choice(name: str, sheet: ScrewSheet) -> GearChoice:
    """A ball screw: forces instead of torques; its rated life is a million turns under the dynamic load."""
    turns = 1e6 * 2.0 * math.pi  # rad
    rated = sheet.dynamic_load is not None
    return GearChoice(
        name=name,
        ratio=sheet.ratio,
        kind=sheet.kind,
        efficiency=sheet.efficiency or 1.0,
        inertia=sheet.inertia or 0.0,
        rated_torque=sheet.dynamic_load,
        average_torque=None,
        repeated_torque=sheet.static_load,
        momentary_torque=sheet.static_load,
        rated_speed=1.0 if rated else None,
        max_speed=sheet.max_speed,
        rated_life=turns if rated else None,
        life_quantile=10,
        exponent=SCREW_EXPONENT,
        mass=sheet.mass,
        price=sheet.price_index,
        size=sheet.diameter,
    )


def gears_of(catalogue: Catalogue, unit: str) -> Mapping[str, GearChoice]:
    """The gears for an output that turns ('rad') or slides ('m')."""
    if unit == "m":
        return {name: screw_choice(name, sheet) for name, sheet in catalogue.screws.items()}
    return {name: gear_choice(name, sheet) for name, sheet in catalogue.gears.items()}
