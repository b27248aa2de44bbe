"""Joint limits, gears, motors and encoders, as far as data sheets state them (SI)."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field, model_validator

from servotwin.description.fields import Choice, Measure, Part, Whole, problem


class Limits(Part):
    """What the joint may do, on its own side; what is missing is unlimited."""

    position: Annotated[tuple[float, float] | None, Measure("rad", linear="m", size=2)] = Field(
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

    @model_validator(mode="after")
    def _ordered(self) -> Limits:
        if self.position is not None and self.position[0] > self.position[1]:
            low, high = self.position
            text = f"minimum is above maximum ({low:g} and {high:g} in SI units); expected [min, max]"
            raise problem(text, "position")
        return self


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

    @model_validator(mode="after")
    def _one_ratio(self) -> Gear:
        if self.ratio is not None and self.lead is not None:
            raise problem("expected one of ratio and lead, not both", "lead")
        if self.ratio == 0.0:
            raise problem("a ratio of zero moves nothing; expected the motor angle per joint motion", "ratio")
        return self

    @property
    def motor_per_joint(self) -> float | None:
        """Motor angle per joint angle [-] or joint travel [rad/m]; None if nothing is stated."""
        return 2.0 * math.pi / self.lead if self.lead is not None else self.ratio


class Motor(Part):
    """The actuator of an axis, on its own (motor) side."""

    kind: Annotated[str | None, Choice(("dc", "pmsm", "hydraulic"))] = Field(
        default=None, description="what it is"
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
        default=None, description="torque per current"
    )
    voltage_constant: Annotated[float | None, Measure("V*s/rad", angle_optional=True, above=0.0)] = Field(
        default=None, description="back-EMF per speed"
    )
    resistance: Annotated[float | None, Measure("ohm", above=0.0)] = Field(
        default=None, description="winding resistance"
    )
    inductance: Annotated[float | None, Measure("H", minimum=0.0)] = Field(
        default=None, description="winding inductance"
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
    current_limit: Annotated[float | None, Measure("A", above=0.0)] = Field(
        default=None, description="limit of the servo driver's current"
    )
    pole_pairs: Annotated[int | None, Whole(1, 1000)] = Field(
        default=None, description="pole pairs of a pmsm"
    )
    mass: Annotated[float | None, Measure("kg", minimum=0.0)] = Field(
        default=None, description="for information: the links carry the masses"
    )
    supply_pressure: Annotated[float | None, Measure("Pa", above=0.0)] = Field(
        default=None, description="supply pressure (hydraulic)"
    )
    rated_flow: Annotated[float | None, Measure("m^3/s", above=0.0)] = Field(
        default=None, description="rated flow of the servo valve (hydraulic)"
    )
    piston_area: Annotated[float | None, Measure("m^2", above=0.0)] = Field(
        default=None, description="effective piston area (hydraulic cylinder)"
    )
    displacement: Annotated[float | None, Measure("m^3/rad", angle_optional=True, above=0.0)] = Field(
        default=None, description="volume per angle (hydraulic motor)"
    )
    oil_volume: Annotated[float | None, Measure("m^3", above=0.0)] = Field(
        default=None, description="trapped oil volume (hydraulic)"
    )
    bulk_modulus: Annotated[float | None, Measure("Pa", above=0.0)] = Field(
        default=None, description="bulk modulus of the oil (hydraulic)"
    )
    leakage: Annotated[float | None, Measure("m^3/(s*Pa)", minimum=0.0)] = Field(
        default=None, description="leakage flow per pressure (hydraulic)"
    )


class Encoder(Part):
    """The position sensor on the motor shaft."""

    lines: Annotated[int | None, Whole(1, 10**9)] = Field(default=None, description="lines per motor turn")
    counting: Annotated[int, Whole(1, 4)] = Field(default=4, description="counts per line: 1, 2 or 4")
    bits: Annotated[int | None, Whole(1, 40)] = Field(
        default=None, description="bits per turn, instead of lines"
    )

    @model_validator(mode="after")
    def _one_form(self) -> Encoder:
        if (self.lines is None) == (self.bits is None):
            raise problem("expected exactly one of lines and bits")
        if self.counting == 3:
            raise problem("'3' is not accepted; expected 1, 2 or 4", "counting")
        return self
