"""The data sheet of a motor as its maker prints it: fields with units, conventions stated beside them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from servotwin.description.fields import Celsius, Choice, Measure, Part, Whole, problem
from servotwin.description.parts import OptionalText
from servotwin.description.sheets.conventions import Between, Connection, Size
from servotwin.description.sheets.printed import (
    HUGE,
    SPEED_TORQUE,
    TINY,
    Printed,
    PrintedMeasure,
    interpolated,
    rising_points,
)

Points = tuple[tuple[float, float], ...]
RATED_BETWEEN = (-100.0, 400.0)  # degC
CURRENTS = ("torque_constant", "rated_current", "stall_current", "peak_current", "no_load_current")
WINDINGS = ("resistance", "inductance", "inductance_d", "inductance_q")


class Conventions(Part):
    """What the printed numbers of a motor are of; where a field is stated, its convention is too."""

    current: Annotated[Size | None, Choice(("rms", "amplitude"))] = Field(
        default=None, description="what currents are of a sine, where their unit does not say Arms or Apk"
    )
    voltage: Annotated[Size | None, Choice(("rms", "amplitude"))] = Field(
        default=None, description="what the back-EMF is of a sine, where its unit does not say Vrms or Vpk"
    )
    voltage_between: Annotated[Between | None, Choice(("lines", "phase"))] = Field(
        default=None, description="where the back-EMF is measured: between two lines, or of one phase"
    )
    winding_between: Annotated[Between | None, Choice(("lines", "phase"))] = Field(
        default=None, description="where resistance and inductance are measured: two lines, or one phase"
    )
    connection: Annotated[Connection | None, Choice(("star", "delta"))] = Field(
        default=None, description="how the phases are connected; needed where something is of one phase"
    )
    winding_temperature: Annotated[float | None, Celsius()] = Field(
        default=None, description="temperature at which the resistance is stated: 20 degC cold, 120 degC hot"
    )

    @model_validator(mode="after")
    def _copper(self) -> Conventions:
        if self.winding_temperature is not None:
            _check_temperature(self.winding_temperature, "winding_temperature")
        return self


def _check_temperature(value: float, at: str) -> None:
    """Complain about a temperature at which no motor is rated: the law of copper ends far below."""
    low, high = RATED_BETWEEN
    if not low <= value <= high:
        raise problem(f"{value:g} degC is out of range; expected {low:g} to {high:g} degC", at)


class SpeedTorqueCurve(Part):
    """A line of a torque-speed diagram."""

    points: Annotated[Points, SPEED_TORQUE] = Field(description="points of speed and torque, speeds rising")
    bus_voltage: Annotated[float | None, Measure("V", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="DC voltage of the intermediate circuit at which it holds"
    )

    @model_validator(mode="after")
    def _rising(self) -> SpeedTorqueCurve:
        rising_points(self.points, "points")
        return self


class ThermalSheet(Part):
    """Heating as sheets print it: a time constant and the loss at which the winding reaches its rated rise."""

    time_constant: Annotated[float, Measure("s", minimum=TINY, maximum=HUGE)] = Field(
        description="thermal time constant of the motor, surrounded as at its rating"
    )
    rated_loss: Annotated[float | None, Measure("W", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="copper loss at the continuous torque with a hot winding; default 3 I^2 R"
    )
    winding_rise: Annotated[float, Measure("K", minimum=TINY, maximum=HUGE)] = Field(
        description="winding above the surroundings at that loss, in the end"
    )
    winding_time_constant: Annotated[float | None, Measure("s", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="time constant of the winding against the housing; with housing_rise"
    )
    housing_rise: Annotated[float | None, Measure("K", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="housing above the surroundings at that loss; with winding_time_constant"
    )
    ambient: Annotated[float, Celsius()] = Field(
        default=40.0, description="temperature of the surroundings at the rating"
    )
    limit: Annotated[float | None, Celsius()] = Field(
        default=None, description="largest temperature of the winding"
    )

    @model_validator(mode="after")
    def _two_bodies(self) -> ThermalSheet:
        _check_temperature(self.ambient, "ambient")
        if (self.winding_time_constant is None) != (self.housing_rise is None):
            missing = "housing_rise" if self.housing_rise is None else "winding_time_constant"
            raise problem(f"{missing} is missing; a winding apart from its housing needs both of them")
        if self.housing_rise is not None and self.housing_rise >= self.winding_rise:
            raise problem(
                f"{self.housing_rise:g} K is not below the winding_rise {self.winding_rise:g} K; expected less",
                "housing_rise",
            )
        if self.winding_time_constant is not None and self.winding_time_constant >= self.time_constant:
            raise problem(
                "is not below the time_constant of the motor; expected less", "winding_time_constant"
            )
        if self.limit is not None and self.limit <= self.ambient:
            raise problem(f"{self.limit:g} degC is not above the ambient {self.ambient:g} degC", "limit")
        return self


Amount = Annotated[float | None, Measure("N*m", minimum=TINY, maximum=HUGE)]
Speed = Annotated[float | None, Measure("rad/s", minimum=TINY, maximum=HUGE)]
Current = Annotated[Printed | None, PrintedMeasure("A", minimum=TINY, maximum=HUGE)]
Winding = Annotated[float | None, Measure("H", minimum=TINY, maximum=HUGE)]


class MotorDatasheet(Part):
    """The data sheet of a motor as it is printed, with its conventions."""

    other_names = dict.fromkeys(("current_limit", "max_current", "maximum_current"), "peak_current")

    kind: Annotated[str, Choice(("pmsm", "dc"))] = Field(default="pmsm", description="what it is")
    conventions: Conventions = Field(
        default_factory=Conventions,
        description="what the printed numbers are of; none for dc but the temperature",
    )
    series: OptionalText = Field(default=None, description="series or maker's type")
    rated_output: Annotated[float | None, Measure("W", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="rated power at the shaft"
    )
    rated_speed: Speed = Field(default=None, description="rated speed")
    rated_torque: Amount = Field(default=None, description="continuous torque at the rated speed")
    rated_current: Current = Field(default=None, description="current at the rated torque")
    stall_torque: Amount = Field(default=None, description="continuous torque at standstill")
    stall_current: Current = Field(default=None, description="current at the stall torque")
    peak_torque: Amount = Field(default=None, description="largest torque for a short time")
    peak_current: Current = Field(default=None, description="current at the peak torque")
    max_speed: Speed = Field(default=None, description="largest speed, mechanically or of the drive")
    no_load_speed: Speed = Field(default=None, description="speed without load at the bus_voltage")
    no_load_current: Current = Field(default=None, description="current without load at that speed")
    bus_voltage: Annotated[float | None, Measure("V", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="DC voltage of the intermediate circuit that the sheet holds for"
    )
    torque_constant: Annotated[Printed | None, PrintedMeasure("N*m/A", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="torque per current, N*m/Arms or N*m/Apk"
    )
    voltage_constant: Annotated[
        Printed | None, PrintedMeasure("V*s/rad", angle_optional=True, minimum=TINY, maximum=HUGE)
    ] = Field(default=None, description="back-EMF per speed, Vrms/krpm or Vpk/krpm")
    resistance: Annotated[float | None, Measure("ohm", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="winding resistance, see conventions"
    )
    inductance: Winding = Field(default=None, description="winding inductance, see conventions")
    inductance_d: Winding = Field(default=None, description="inductance along the magnets")
    inductance_q: Winding = Field(default=None, description="inductance across the magnets")
    electrical_time_constant: Annotated[float | None, Measure("s", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="inductance over resistance, for the cross-check"
    )
    mechanical_time_constant: Annotated[float | None, Measure("s", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="time to run up against its back-EMF, for the cross-check"
    )
    pole_pairs: Annotated[int | None, Whole(1, 1000)] = Field(default=None, description="pole pairs (pmsm)")
    rotor_inertia: Annotated[float | None, Measure("kg*m^2", minimum=0.0, maximum=HUGE)] = Field(
        default=None, description="moment of inertia of the rotor, without brake"
    )
    viscous_friction: Annotated[
        float | None, Measure("N*m*s/rad", angle_optional=True, minimum=0.0, maximum=HUGE)
    ] = Field(default=None, description="friction and iron losses, torque per speed")
    coulomb_friction: Annotated[float | None, Measure("N*m", minimum=0.0, maximum=HUGE)] = Field(
        default=None, description="friction torque independent of speed"
    )
    continuous: SpeedTorqueCurve | None = Field(default=None, description="continuous torque over speed")
    peak: SpeedTorqueCurve | None = Field(default=None, description="short-time torque over speed")
    thermal: ThermalSheet | None = Field(default=None, description="heating of the winding")
    brake_torque: Amount = Field(default=None, description="holding torque of its brake, if it has one")
    brake_inertia: Annotated[float | None, Measure("kg*m^2", minimum=0.0, maximum=HUGE)] = Field(
        default=None, description="what a brake adds to the rotor inertia"
    )
    brake_mass: Annotated[float | None, Measure("kg", minimum=0.0, maximum=HUGE)] = Field(
        default=None, description="what a brake adds to the mass"
    )
    frame: Annotated[float | None, Measure("m", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="edge of the flange"
    )
    mass: Annotated[float | None, Measure("kg", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="mass"
    )
    price_index: Annotated[float | None, Measure("", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="price relative to the reference of the catalogue"
    )

    @model_validator(mode="after")
    def _conventions_stated(self) -> MotorDatasheet:
        _check_order(self)
        if self.kind == "pmsm":
            _check_sine(self)
            _check_places(self)
        if self.resistance is not None and self.conventions.winding_temperature is None:
            raise _unstated(
                "winding_temperature", "resistance", "such as '20 degC' (cold) or '120 degC' (hot)"
            )
        return self


def _unstated(convention: str, field: str, expected: str) -> Exception:
    return problem(f"missing: {field} depends on it; expected {expected}", f"conventions.{convention}")


def _check_sine(sheet: MotorDatasheet) -> None:
    """Every current and voltage says once what it is of a sine."""
    for field in (*CURRENTS, "voltage_constant"):
        printed: Printed | None = getattr(sheet, field)
        name = "voltage" if field == "voltage_constant" else "current"
        stated = getattr(sheet.conventions, name)
        if printed is None:
            continue
        if printed.size is None and stated is None:
            unit = "Vrms or Vpk" if name == "voltage" else "Arms or Apk"
            raise _unstated(name, field, f"rms or amplitude, or {unit} in the unit of {field}")
        if printed.size is not None and stated is not None and printed.size != stated:
            raise problem(f"its unit says {printed.size}, conventions.{name} says {stated}", field)


def _check_places(sheet: MotorDatasheet) -> None:
    """Voltages and windings say between which points they are measured."""
    told = sheet.conventions
    winding = next((field for field in WINDINGS if getattr(sheet, field) is not None), None)
    if sheet.voltage_constant is not None and told.voltage_between is None:
        raise _unstated("voltage_between", "voltage_constant", "lines or phase")
    if winding is not None and told.winding_between is None:
        raise _unstated("winding_between", winding, "lines or phase")
    phase = "voltage_constant" if sheet.voltage_constant and told.voltage_between == "phase" else None
    phase = winding if winding and told.winding_between == "phase" else phase
    if phase is not None and told.connection is None:
        raise _unstated("connection", f"{phase} of one phase", "star or delta")


def _check_order(sheet: MotorDatasheet) -> None:
    """What no motor has: a peak below the continuous torque, a rating beyond the largest speed."""
    for low, high in (
        ("rated_torque", "peak_torque"),
        ("stall_torque", "peak_torque"),
        ("rated_speed", "max_speed"),
    ):
        a, b = getattr(sheet, low), getattr(sheet, high)
        if a is not None and b is not None and a > b * (1.0 + 1e-9):
            raise problem(f"{b:.4g} is below the {low} {a:.4g} (SI); expected more", high)
    if sheet.continuous is not None and sheet.peak is not None:
        for speed, torque in sheet.continuous.points:
            if speed <= sheet.peak.points[-1][0] and torque > interpolated(sheet.peak.points, speed) * 1.001:
                raise problem(
                    f"{torque:.4g} N*m at {speed:.4g} rad/s is above the peak curve; expected less",
                    "continuous",
                )
