"""A motor and a gear as sizing reads them: what they weigh, give and cost (SI, each on its own side)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from servotwin.description.drive_data import DriveData
from servotwin.description.drive_parts import Thermal
from servotwin.description.friction_curve import FrictionCurve
from servotwin.description.schema import Axis
from servotwin.description.sheets.gear_sheet import GearSheet, ScrewSheet
from servotwin.description.sheets.motor_fields import MotorDatasheet
from servotwin.description.sheets.motor_sheet import motor_sheet, rated_curve
from servotwin.drives.kind import Winding

SCREW_EXPONENT = 3.0
Points = tuple[tuple[float, float], ...]  # speed [rad/s], torque [N m], ascending speeds


@dataclass(frozen=True)
class MotorChoice:
    """A motor: ratings, winding, heat, inertia, friction, mass, price; None where nothing is stated."""

    name: str
    rotor_inertia: float = 0.0  # [kg m2]
    rated_torque: float | None = None  # [N m]
    rated_speed: float | None = None  # [rad/s]
    peak_torque: float | None = None  # [N m]
    max_speed: float | None = None  # [rad/s]
    continuous: Points = ()  # curve of the data sheet; default rated torque, beyond rated speed rated power
    peak_curve: Points = ()  # of the data sheet at its own bus voltage
    winding: Winding | None = None
    current_limit: float | None = None  # [A]
    thermal: Thermal | None = None
    friction: FrictionCurve = field(default_factory=FrictionCurve)
    brake_torque: float | None = None  # [N m]
    mass: float | None = None  # [kg]
    price: float | None = None
    size: float | None = None  # [m]: of the flange
    electric: bool = True  # it feeds on the bus; a servovalve does not
    printed: MotorDatasheet | None = field(default=None, compare=False, repr=False)  # of a catalogue

    @property
    def torque_limit(self) -> float:
        """The largest torque of data sheet and driver [N m]."""
        by_current = math.inf
        if self.current_limit is not None and self.winding is not None:
            by_current = self.winding.torque_constant * self.current_limit
        return min(by_current, self.peak_torque or math.inf)

    @property
    def top_speed(self) -> float | None:
        """The largest speed [rad/s]: as stated, and not beyond the end of the peak curve; None if neither is known."""
        ends = [self.peak_curve[-1][0]] if len(self.peak_curve) > 1 else []
        return min([*ends, *([] if self.max_speed is None else [self.max_speed])], default=None)

    @property
    def curve(self) -> Points:
        """Points of the continuous curve; empty if no rated torque is known."""
        if self.continuous or self.rated_torque is None:
            return self.continuous
        known = self.rated_speed if self.max_speed is not None else None
        return rated_curve(self.rated_torque, self.rated_torque, known, self.max_speed)


@dataclass(frozen=True)
class GearChoice:
    """A gear: ratio, losses, what it bears at its output, how long it lives; None where nothing is stated.

    ``rated_torque`` at ``rated_speed`` of the input gives the life ``rated_life``; ``exponent`` is that of average
    torque and life (eq:average-torque).
    """

    name: str
    ratio: float  # motor angle per joint angle [-] or travel [rad/m], the size of it
    kind: str | None = None
    efficiency: float = 1.0
    inertia: float = 0.0  # at the input [kg m2]
    rated_torque: float | None = None  # at the output [N m, N]
    average_torque: float | None = None
    repeated_torque: float | None = None
    momentary_torque: float | None = None
    rated_speed: float | None = None  # of the input [rad/s]
    average_speed: float | None = None
    max_speed: float | None = None
    rated_life: float | None = None  # L50 or L10 at the rated point [s], see ``life_quantile``
    life_quantile: int = 50
    exponent: float = 3.0
    friction: FrictionCurve = field(default_factory=FrictionCurve)  # at the input
    mass: float | None = None  # [kg]
    price: float | None = None
    size: float | None = None  # [m]
    sheet: GearSheet | ScrewSheet | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Actuator:
    """A motor with its gear on one place of the transmission."""

    motor: MotorChoice
    gear: GearChoice

    @property
    def name(self) -> str:
        """Both names."""
        return f"{self.motor.name} + {self.gear.name}"

    @property
    def inertia(self) -> float:
        """What turns with the motor [kg m2]."""
        return self.motor.rotor_inertia + self.gear.inertia

    @property
    def mass(self) -> float:
        """Motor and gear [kg]; what is not stated counts as zero."""
        return (self.motor.mass or 0.0) + (self.gear.mass or 0.0)

    @property
    def price(self) -> float:
        """Motor and gear; what is not stated counts as zero."""
        return (self.motor.price or 0.0) + (self.gear.price or 0.0)

    @property
    def friction(self) -> FrictionCurve:
        """Of both, at the motor."""
        return self.motor.friction + self.gear.friction


def actuator_of(drive: DriveData, axis: Axis | None = None) -> Actuator:
    """The motor and gear that a robot file describes; ``axis``: where it states them, with their data sheets.

    Inertia and idle torque of the gear, and friction of a joint that one motor moves alone, already count at the
    motor, as in the simulation.
    """
    ratings, printed = drive.ratings, None if axis is None or axis.motor is None else axis.motor.datasheet
    sheet = None if printed is None else motor_sheet(drive.name, printed)
    motor = MotorChoice(
        name=drive.name,
        rotor_inertia=drive.rotor_inertia,
        rated_torque=ratings.rated_torque,
        rated_speed=ratings.rated_speed,
        peak_torque=ratings.peak_torque,
        max_speed=ratings.max_speed,
        continuous=sheet.continuous_points if sheet is not None else (),
        peak_curve=sheet.peak_curve or () if sheet is not None else (),
        winding=drive.winding,
        current_limit=ratings.current_limit,
        thermal=drive.thermal,
        friction=drive.friction,
        brake_torque=None if drive.brake is None else drive.brake.torque,
        mass=None if axis is None or axis.motor is None else axis.motor.mass,
        price=None if sheet is None else sheet.price_index,
        electric=not drive.actuator.valve,
    )
    return Actuator(motor, _present_gear(drive, axis))


def _present_gear(drive: DriveData, axis: Axis | None) -> GearChoice:
    gear = None if axis is None else axis.gear
    if gear is not None and gear.datasheet is not None:
        found = gear_choice("gear", gear.datasheet)
    elif gear is not None and gear.screw_datasheet is not None:
        found = screw_choice("screw", gear.screw_datasheet)
    else:
        found = GearChoice("gear", drive.gear.ratio)
    return replace(
        found, ratio=drive.gear.ratio, efficiency=drive.gear.efficiency, inertia=0.0, friction=FrictionCurve()
    )


def gear_choice(name: str, sheet: GearSheet) -> GearChoice:
    """A gear of a catalogue."""
    table = sheet.no_load_torque or ()
    rest = max(sheet.starting_torque or 0.0, table[0][1]) if table else 0.0
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
        sheet=sheet,
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
        sheet=sheet,
    )
