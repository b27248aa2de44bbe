"""Joint limits, gears, motors, brakes and encoders, as far as data sheets state them (SI)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated

from pydantic import Field, ValidationError, model_validator

from servotwin.description.fields import Celsius, Choice, Flag, Measure, Part, Points, Whole, problem
from servotwin.description.hydraulic_parts import Cylinder, HydraulicMotor, Valve
from servotwin.description.parts import Name, Text
from servotwin.description.sheets.description_fields import (
    STIFFNESSES,
    gear_fields,
    motor_fields,
    problem_below,
    screw_fields,
    without_repeats,
)
from servotwin.description.sheets.gear_sheet import GearSheet, ScrewSheet
from servotwin.description.sheets.motor_fields import MotorDatasheet
from servotwin.description.sheets.motor_sheet import motor_sheet
from servotwin.description.sheets.printed import rising_points
from servotwin.drives.own import PATTERN
from servotwin.drives.table import KINDS


class Limits(Part):
    """What the joint may do, on its own side; what is missing is unlimited."""

    position: Annotated[tuple[float, float] | None, Measure("rad", linear="m", size=2, rising=True)] = Field(
        default=None, description="lowest and highest joint position"
    )
    speed: Annotated[float | None, Measure("rad/s", linear="m/s", above=0.0)] = Field(
        default=None, description="largest joint speed"
    )
    acceleration: Annotated[float | None, Measure("rad/s^2", linear="m/s^2", above=0.0)] = Field(
        default=None, description="largest joint acceleration"
    )
    jerk: Annotated[float | None, Measure("rad/s^3", linear="m/s^3", above=0.0)] = Field(
        default=None, description="largest joint jerk"
    )
    effort: Annotated[float | None, Measure("N*m", linear="N", minimum=0.0)] = Field(
        default=None, description="largest joint torque or force"
    )


class ToolLimits(Part):
    """What the tool point may do along its path; what is missing is unlimited."""

    speed: Annotated[float | None, Measure("m/s", above=0.0)] = Field(
        default=None, description="largest speed of the tool point"
    )
    acceleration: Annotated[float | None, Measure("m/s^2", above=0.0)] = Field(
        default=None, description="largest acceleration of the tool point"
    )
    jerk: Annotated[float | None, Measure("m/s^3", above=0.0)] = Field(
        default=None, description="largest jerk of the tool point"
    )


class Gear(Part):
    """The transmission between a motor and its joint."""

    kind: Annotated[str | None, Choice(("harmonic", "ball-screw", "gearbox", "belt", "direct"))] = Field(
        default=None, description="what it is"
    )
    ratio: Annotated[float | None, Measure("", linear="rad/m")] = Field(
        default=None, description="motor angle per joint angle (plain number) or per joint travel (rad/m)"
    )
    lead: Annotated[float | None, Measure("m", minimum=1e-9)] = Field(
        default=None, description="travel of a prismatic joint per motor turn, instead of the ratio"
    )
    efficiency: Annotated[float | None, Measure("", above=0.0, maximum=1.0)] = Field(
        default=None, description="power out over power in, 0 to 1"
    )
    stiffness: Annotated[float | None, Measure("N*m/rad", linear="N/m", angle_optional=True, above=0.0)] = (
        Field(default=None, description="stiffness at the joint side")
    )
    damping: Annotated[
        float | None, Measure("N*m*s/rad", linear="N*s/m", angle_optional=True, minimum=0.0)
    ] = Field(default=None, description="damping at the joint side")
    backlash: Annotated[float | None, Measure("rad", linear="m", minimum=0.0)] = Field(
        default=None, description="play at the joint side"
    )
    inertia: Annotated[float | None, Measure("kg*m^2", minimum=0.0)] = Field(
        default=None, description="moment of inertia at the motor's shaft, added to that of the rotor"
    )
    no_load_torque: Annotated[
        tuple[tuple[float, float], ...] | None,
        Points(Measure("rad/s", minimum=0.0), Measure("N*m", minimum=0.0)),
    ] = Field(
        default=None,
        description="points of motor speed and of the torque that it takes there without load, speeds rising",
    )
    starting_torque: Annotated[float | None, Measure("N*m", minimum=0.0)] = Field(
        default=None,
        description="torque at the motor's shaft that starts it; default the first no_load_torque",
    )
    datasheet: GearSheet | None = Field(
        default=None, description="its data sheet as printed, instead of ratio, efficiency and backlash"
    )
    linear_stiffness: Annotated[str | None, Choice(STIFFNESSES)] = Field(
        default=None,
        description="which stiffness of the datasheet's torsion is the stiffness: secant is that at rated torque; "
        "default none, a stiff gear",
    )
    screw_datasheet: ScrewSheet | None = Field(
        default=None,
        description="data sheet of a ball screw as printed, instead of lead, efficiency and backlash",
    )

    @model_validator(mode="before")
    @classmethod
    def _of_datasheet(cls, raw: object) -> object:
        if not isinstance(raw, dict):
            return raw
        if raw.get("linear_stiffness") is not None and raw.get("datasheet") is None:
            raise problem("is one of a datasheet's; expected a datasheet beside it", "linear_stiffness")
        if raw.get("datasheet") is not None and raw.get("screw_datasheet") is not None:
            raise problem("expected one of datasheet and screw_datasheet, not both", "screw_datasheet")
        if raw.get("datasheet") is not None:
            return _with_gear_sheet(raw)
        return _with_screw_sheet(raw) if raw.get("screw_datasheet") is not None else raw

    @model_validator(mode="after")
    def _one_ratio(self) -> Gear:
        if self.ratio is not None and self.lead is not None:
            raise problem("expected one of ratio and lead, not both", "lead")
        rising_points(self.no_load_torque, "no_load_torque")
        if self.starting_torque is not None and self.no_load_torque is None:
            raise problem("missing: starting_torque is where it begins; expected points", "no_load_torque")
        if self.ratio == 0.0:
            raise problem("a ratio of zero moves nothing; expected the motor angle per joint motion", "ratio")
        return self

    @property
    def motor_per_joint(self) -> float | None:
        """Motor angle per joint angle [-] or joint travel [rad/m]; None if nothing is stated."""
        return 2.0 * math.pi / self.lead if self.lead is not None else self.ratio


def _with_gear_sheet(raw: dict[str, object]) -> dict[str, object]:
    """The fields of a gear with those that its data sheet gives."""
    try:
        sheet = GearSheet.model_validate(raw["datasheet"])
    except ValidationError as error:
        raise problem_below(error, "datasheet") from None
    which = raw.get("linear_stiffness")
    which = Choice(STIFFNESSES).read(which) if which is not None else None
    return without_repeats({**raw, "datasheet": sheet}, gear_fields(sheet, which))


def _with_screw_sheet(raw: dict[str, object]) -> dict[str, object]:
    """The fields of a ball screw with those that its data sheet gives."""
    try:
        sheet = ScrewSheet.model_validate(raw["screw_datasheet"])
    except ValidationError as error:
        raise problem_below(error, "screw_datasheet") from None
    return without_repeats({**raw, "screw_datasheet": sheet}, screw_fields(sheet), "screw_datasheet")


Table = tuple[tuple[float, float], ...]


def check_table(table: Table | None, at: str, others: Sequence[str]) -> None:
    """Complain about points that are no friction, or that stand beside other fields that say the same."""
    if table is None:
        return
    if others:
        raise problem(f"says what {others[0]} says as well; expected one of them", at)
    both = any(speed < 0.0 for speed, _ in table)
    for i, (speed, torque) in enumerate(table):
        if speed * torque < 0.0 or (speed == 0.0 and torque < 0.0 and not both):
            raise problem(
                f"{torque:g} at the speed {speed:g} (SI) does not oppose the motion; expected the sign of the speed",
                f"{at}.{i}",
            )
    # at rest a table may have two torques, one of either direction
    rising = all(a[0] < b[0] or (a[0] == b[0] == 0.0 and a[1] < 0.0 < b[1]) for a, b in pairwise(table))
    if not rising:
        raise problem("speeds that do not rise from point to point; expected ascending ones", at)
    if both and not any(speed > 0.0 or (speed == 0.0 and torque > 0.0) for speed, torque in table):
        raise problem(
            "no point forwards; expected positive speeds, which hold for both directions if they stand alone",
            at,
        )


class Friction(Part):
    """Friction of the joint itself, on its own side of the gear: bearings, seals, slideways."""

    viscous: Annotated[
        float | None, Measure("N*m*s/rad", linear="N*s/m", angle_optional=True, minimum=0.0)
    ] = Field(default=None, description="friction torque or force per speed")
    coulomb: Annotated[float | None, Measure("N*m", linear="N", minimum=0.0)] = Field(
        default=None, description="friction torque or force independent of speed"
    )
    static: Annotated[float | None, Measure("N*m", linear="N", minimum=0.0)] = Field(
        default=None, description="friction torque or force at rest; default that of Coulomb"
    )
    stribeck_speed: Annotated[float | None, Measure("rad/s", linear="m/s", minimum=0.0)] = Field(
        default=None,
        description="speed within which the friction falls from static to Coulomb; default 0: at once",
    )
    table: Annotated[Table | None, Points(Measure("rad/s", linear="m/s"), Measure("N*m", linear="N"))] = (
        Field(
            default=None,
            description="points of speed and friction torque or force, instead of the Coulomb and viscous ones; "
            "without negative speeds both directions are alike",
        )
    )

    @model_validator(mode="after")
    def _friction_once(self) -> Friction:
        others = ("coulomb", "viscous", "stribeck_speed")
        check_table(self.table, "table", [n for n in others if getattr(self, n) is not None])
        return self


COPPER = 0.00393  # 1/K; temperature coefficient of the resistance of annealed copper at 20 degC (IEC 60028)


class Thermal(Part):
    """Two-body thermal model of a motor: winding to housing to surroundings."""

    winding_to_housing: Annotated[float, Measure("K/W", above=0.0)] = Field(
        description="thermal resistance from the winding to the housing"
    )
    housing_to_ambient: Annotated[float, Measure("K/W", above=0.0)] = Field(
        description="thermal resistance from the housing to the surroundings"
    )
    winding_capacity: Annotated[float, Measure("J/K", above=0.0)] = Field(
        description="heat capacity of the winding"
    )
    housing_capacity: Annotated[float, Measure("J/K", above=0.0)] = Field(
        description="heat capacity of the housing"
    )
    temperature_coefficient: Annotated[float, Measure("1/K", minimum=0.0)] = Field(
        default=COPPER, description="relative growth of the winding resistance per kelvin; default copper"
    )
    reference_temperature: Annotated[float, Celsius()] = Field(
        default=25.0, description="temperature that the resistance is stated at, and of the surroundings"
    )
    limit: Annotated[float | None, Celsius()] = Field(
        default=None, description="largest temperature of the winding"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Thermal:
        if self.limit is not None and self.limit <= self.reference_temperature:
            text = f"{self.limit:g} degC is not above the reference_temperature"
            raise problem(f"{text} {self.reference_temperature:g} degC; expected more", "limit")
        return self


class Mount(Part):
    """Where a motor is mounted: the link that carries it, and the rotor's axis."""

    link: Name = Field(description="axis whose link carries the motor, or base")
    axis: Annotated[tuple[float, float, float], Measure("", size=3)] = Field(
        description="direction about which the rotor turns for positive motor angles, in the link's frame, any length"
    )

    @model_validator(mode="after")
    def _direction(self) -> Mount:
        if not any(self.axis):
            raise problem("the zero vector has no direction; expected one such as [0, 0, 1]", "axis")
        return self


_MEANT = (
    *((word, hint) for kind in KINDS.values() for words, hint in kind.meant for word in words),
    *((word, "; stepping and induction motors are not modelled") for word in ("stepper", "induction", "im")),
)


OWN_PATTERN = PATTERN.pattern


class Motor(Part):
    """The actuator of an axis, on its own (motor) side."""

    other_names = dict.fromkeys(("peak_current", "max_current", "maximum_current"), "current_limit")

    kind: Annotated[
        str | None, Choice(tuple(KINDS), meant=_MEANT, pattern=OWN_PATTERN, form=", or FILE.py:NAME")
    ] = Field(
        default=None,
        description="what it is; dc-reduced has negligible inductance, ideal gives the torque it is told",
    )
    rated_output: Annotated[float | None, Measure("W", above=0.0)] = Field(
        default=None, description="rated power"
    )
    rated_speed: Annotated[float | None, Measure("rad/s", above=0.0)] = Field(
        default=None, description="rated speed"
    )
    rated_torque: Annotated[float | None, Measure("N*m", above=0.0)] = Field(
        default=None, description="rated torque"
    )
    rated_current: Annotated[float | None, Measure("A", above=0.0)] = Field(
        default=None, description="rated current"
    )
    rated_voltage: Annotated[float | None, Measure("V", above=0.0)] = Field(
        default=None, description="rated voltage"
    )
    peak_torque: Annotated[float | None, Measure("N*m", above=0.0)] = Field(
        default=None, description="peak torque"
    )
    max_speed: Annotated[float | None, Measure("rad/s", above=0.0)] = Field(
        default=None, description="largest speed"
    )
    torque_constant: Annotated[float | None, Measure("N*m/A", above=0.0)] = Field(
        default=None, description="torque per current; pmsm: per amplitude of the q current"
    )
    voltage_constant: Annotated[float | None, Measure("V*s/rad", angle_optional=True, above=0.0)] = Field(
        default=None, description="back-EMF per speed; pmsm: amplitude of a phase, two thirds of K_t"
    )
    resistance: Annotated[float | None, Measure("ohm", above=0.0)] = Field(
        default=None,
        description="winding resistance; pmsm: of one phase of a star, half of that between two terminals",
    )
    inductance: Annotated[float | None, Measure("H", minimum=0.0)] = Field(
        default=None,
        description="winding inductance; pmsm: of one phase of a star, half of that between two terminals",
    )
    inductance_d: Annotated[float | None, Measure("H", above=0.0)] = Field(
        default=None, description="inductance along the magnets (pmsm); default the inductance"
    )
    inductance_q: Annotated[float | None, Measure("H", above=0.0)] = Field(
        default=None, description="inductance across the magnets (pmsm); default the inductance"
    )
    rotor_inertia: Annotated[float | None, Measure("kg*m^2", minimum=0.0)] = Field(
        default=None, description="moment of inertia of the rotor"
    )
    viscous_friction: Annotated[float | None, Measure("N*m*s/rad", angle_optional=True, minimum=0.0)] = Field(
        default=None, description="friction torque per speed"
    )
    coulomb_friction: Annotated[float | None, Measure("N*m", minimum=0.0)] = Field(
        default=None, description="friction torque independent of speed"
    )
    static_friction: Annotated[float | None, Measure("N*m", minimum=0.0)] = Field(
        default=None, description="friction torque at rest; default that of Coulomb"
    )
    stribeck_speed: Annotated[float | None, Measure("rad/s", minimum=0.0)] = Field(
        default=None,
        description="speed within which the friction falls from the static to the Coulomb torque; default 0: at once",
    )
    friction_table: Annotated[Table | None, Points(Measure("rad/s"), Measure("N*m"))] = Field(
        default=None,
        description="points of speed and friction torque, instead of the Coulomb and viscous ones; without negative "
        "speeds both directions are alike",
    )
    current_limit: Annotated[float | None, Measure("A", above=0.0)] = Field(
        default=None, description="limit of the servo driver's current"
    )
    pole_pairs: Annotated[int | None, Whole(1, 1000)] = Field(
        default=None, description="pole pairs of a pmsm"
    )
    parameters: dict[str, Text] = Field(
        default={}, description="numbers with units of an actuator of your own (kind FILE.py:NAME)"
    )
    thermal: Thermal | None = Field(default=None, description="heating of the winding")
    mount: Mount | None = Field(
        default=None, description="link that carries the motor and the rotor's axis, for rotor_coupling: full"
    )
    mass: Annotated[float | None, Measure("kg", minimum=0.0)] = Field(
        default=None, description="for information: the links carry the masses"
    )
    valve: Valve | None = Field(default=None, description="servovalve (hydraulic)")
    cylinder: Cylinder | None = Field(default=None, description="cylinder (hydraulic)")
    hydraulic_motor: HydraulicMotor | None = Field(
        default=None, description="rotary motor instead of a cylinder (hydraulic)"
    )
    datasheet: MotorDatasheet | None = Field(
        default=None, description="its data sheet as printed, instead of the fields that it gives"
    )

    @model_validator(mode="before")
    @classmethod
    def _of_datasheet(cls, raw: object) -> object:
        if not isinstance(raw, dict) or raw.get("datasheet") is None:
            return raw
        try:
            printed = MotorDatasheet.model_validate(raw["datasheet"])
            own = None if raw.get("thermal") is None else Thermal.model_validate(raw["thermal"])
        except ValidationError as error:
            raise problem_below(
                error, "datasheet" if error.title == "MotorDatasheet" else "thermal"
            ) from None
        # a motor alone has no name; its axis has
        sheet = motor_sheet("", printed)
        found = motor_fields(sheet, own.reference_temperature if own is not None else None)
        return without_repeats({**raw, "datasheet": printed}, found)

    @model_validator(mode="after")
    def _friction_once(self) -> Motor:
        others = ("coulomb_friction", "viscous_friction", "stribeck_speed")
        check_table(
            self.friction_table, "friction_table", [n for n in others if getattr(self, n) is not None]
        )
        return self


class Brake(Part):
    """The holding brake on the motor shaft; closed without power."""

    torque: Annotated[float, Measure("N*m", above=0.0)] = Field(description="holding torque, motor side")
    delay: Annotated[float, Measure("s", minimum=0.0)] = Field(
        default=0.0, description="time from the command to close until it holds"
    )


class Encoder(Part):
    """The position sensor on the motor shaft."""

    lines: Annotated[int | None, Whole(1, 10**9)] = Field(default=None, description="lines per motor turn")
    counting: Annotated[int, Whole(1, 4)] = Field(default=4, description="counts per line: 1, 2 or 4")
    bits: Annotated[int | None, Whole(1, 40)] = Field(
        default=None, description="bits per turn, instead of lines"
    )
    resolution: Annotated[float | None, Measure("m", above=0.0)] = Field(
        default=None, description="travel per count of a linear scale at a cylinder, instead of lines"
    )
    index: Annotated[bool, Flag()] = Field(
        default=True, description="one index pulse per turn: where homing starts to count; a run starts homed"
    )

    @model_validator(mode="after")
    def _one_form(self) -> Encoder:
        if sum(form is not None for form in (self.lines, self.bits, self.resolution)) != 1:
            raise problem("expected exactly one of lines and bits, or the resolution of a linear scale")
        if self.counting == 3:
            raise problem("'3' is not accepted; expected 1, 2 or 4", "counting")
        return self

    @property
    def counts(self) -> float:
        """Counts per motor turn; a linear scale counts along 2 pi metres of its piston."""
        if self.resolution is not None:
            return 2.0 * math.pi / self.resolution
        return 2**self.bits if self.bits is not None else (self.lines or 0) * self.counting
