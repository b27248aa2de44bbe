"""The parts of a substitution scenario: rates, commands, servos, substituted joints, environment (SI)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from servotwin.description.fields import (
    Choice,
    Flag,
    Measure,
    Part,
    Whole,
    Words,
    problem,
    read_parts,
)
from servotwin.description.nodes import quoted
from servotwin.hil.records import MOST_HARMONICS, POINTS
from servotwin.simulation.scenario.environment_parts import Environment, Time
from servotwin.simulation.scenario.known_names import known
from servotwin.simulation.scenario.parts import RATE, SEED, read_joints, read_positions

FORMAT = "servotwin-substitution/1"
METHODS = ("modified-euler", "rk4", "semi-implicit")
AT = ("servo", "arm")
ESTIMATORS = ("filter", "observer")
DRIVE_TORQUES = ("model", "current")


class Rates(Part):
    """How often things are computed."""

    servo: Annotated[float, Measure("Hz", above=0.0, maximum=1e5)] = Field(description="servos and shafts")
    arm: Annotated[float | None, Measure("Hz", above=0.0, maximum=1e5)] = Field(
        default=None, description="mass matrix and bias of the arm; a whole part of servo; default the same"
    )

    @model_validator(mode="after")
    def _whole(self) -> Rates:
        count = 1e9 / self.servo
        if abs(count - round(count)) > 1e-3:
            near = 1e9 / round(count)
            raise problem(
                f"a period of {count:.3f} ns is no whole number of nanoseconds, in which clocks and rigs count; "
                f"expected such as '{near:.12g} Hz' for {self.servo:g} Hz",
                "servo",
            )
        ratio = self.servo / (self.arm or self.servo)
        if ratio < 1.0 - 1e-9 or abs(ratio - round(ratio)) > 1e-9 * ratio:
            near = self.servo / max(1, round(ratio))
            raise problem(
                f"{self.arm:g} Hz is no whole part of the servo's {self.servo:g} Hz; expected such as '{near:g} Hz'",
                "arm",
            )
        return self

    @property
    def arm_every(self) -> int:
        """Servo periods in one of the arm."""
        return round(self.servo / (self.arm or self.servo))


class Command(Part):
    """Joint rates from an instant on."""

    at: Time = Field(default=0.0, description="when they begin to hold")
    rates: dict[str, float] = Field(description="joint rates by axis; the others keep theirs")

    @field_validator("rates", mode="before")
    @classmethod
    def _read_rates(cls, raw: object, info: ValidationInfo) -> object:
        return read_joints(raw, RATE, info)


class AxisServo(Part):
    """Servo and motor of a joint; what is not stated comes from the robot file."""

    proportional: Annotated[float | None, Measure("V*s/rad", minimum=0.0)] = Field(
        default=None, description="voltage per error of the shaft's rate"
    )
    integral: Annotated[float | None, Measure("V/rad", minimum=0.0)] = Field(
        default=None, description="voltage per integrated error"
    )
    voltage_limit: Annotated[float | None, Measure("V", above=0.0)] = Field(
        default=None, description="of the drive"
    )
    torque_limit: Annotated[float | None, Measure("N*m", above=0.0)] = Field(
        default=None, description="at the shaft; default the motor's peak torque, or none"
    )
    ratio: Annotated[float | None, Measure("", linear="rad/m")] = Field(
        default=None, description="shaft angle per joint angle, or per joint travel"
    )
    resistance: Annotated[float | None, Measure("ohm", above=0.0)] = Field(
        default=None, description="of the motor"
    )
    torque_constant: Annotated[float | None, Measure("N*m/A", above=0.0)] = Field(
        default=None, description="of the motor"
    )
    rotor_inertia: Annotated[float | None, Measure("kg*m^2", above=0.0)] = Field(
        default=None, description="of the shaft"
    )
    viscous_friction: Annotated[float | None, Measure("N*m*s/rad", angle_optional=True, minimum=0.0)] = Field(
        default=None, description="of the shaft"
    )
    coulomb_friction: Annotated[float | None, Measure("N*m", minimum=0.0)] = Field(
        default=None, description="of the shaft"
    )
    stiffness: Annotated[float | None, Measure("N*m/rad", linear="N/m", angle_optional=True, above=0.0)] = (
        Field(default=None, description="of a compliant gear, at the joint; default rigid")
    )
    damping: Annotated[
        float | None, Measure("N*m*s/rad", linear="N*s/m", angle_optional=True, minimum=0.0)
    ] = Field(default=None, description="of a compliant gear, at the joint")

    @model_validator(mode="after")
    def _turns(self) -> AxisServo:
        if self.ratio == 0.0:
            raise problem("0: the shaft would not turn with its joint; expected any other number", "ratio")
        return self


class Servo(AxisServo):
    """Servos of all joints, and of single ones where they differ."""

    axes: dict[str, AxisServo] = Field(default={}, description="what differs at single joints, by axis")

    @field_validator("axes", mode="before")
    @classmethod
    def _read_axes(cls, raw: object, info: ValidationInfo) -> object:
        sliding: dict[str, bool] = (info.context or {}).get("prismatic", {})
        if not isinstance(raw, dict):
            return raw
        for name in raw:
            known(name, list(sliding), "an axis", name)
        return {name: read_parts(AxisServo, value, sliding[name]) for name, value in raw.items()}


class Integration(Part):
    """How the simulated joints are integrated."""

    method: Annotated[str, Choice(METHODS)] = Field(
        default="modified-euler", description="integration method"
    )
    at: Annotated[str, Choice(AT)] = Field(
        default="servo",
        description="states carried at every servo period, or in one step per period of the arm with voltages held",
    )
    steps: Annotated[int, Whole(1, 1000)] = Field(default=1, description="steps in a period")
    rotor_inertia: Annotated[bool, Flag()] = Field(
        default=True, description="whether the arm's equation has the reflected inertia of the rotors"
    )


class Filter(Part):
    """The second-order Butterworth filter of the shaft's rate."""

    cut_off: Annotated[float, Measure("Hz", above=0.0)] = Field(description="below half of the servo's rate")


class ObserverPart(Part):
    """What the observer believes of the rig's noise; what it believes of the shaft are the servo's data."""

    measures: Annotated[str, Choice(("rate", "angle"))] = Field(
        default="rate", description="tachometer or encoder"
    )
    analog_cut_off: Annotated[float | None, Measure("Hz", above=0.0)] = Field(
        default=None, description="of the filter behind the tachometer; default what the rig file says"
    )
    noise: Annotated[float, Measure("rad/s", minimum=0.0)] = Field(
        default=0.05, description="of the tachometer, RMS within noise_bandwidth"
    )
    noise_bandwidth: Annotated[float, Measure("Hz", above=0.0)] = Field(
        default=1000.0, description="of that noise"
    )
    resolution: Annotated[float, Measure("rad/s", minimum=0.0)] = Field(
        default=0.0, description="of the rate's converter"
    )
    angle_resolution: Annotated[float, Measure("rad", above=0.0)] = Field(
        default=1e-4, description="of the encoder, a count"
    )
    disturbance: Annotated[float, Measure("N*m", above=0.0)] = Field(
        default=1e-3, description="by which the torque that nobody commands changes in a second, RMS"
    )
    harmonics: tuple[Annotated[int, Whole(1, 100)], ...] = Field(
        default=(),
        description="of a torque that nobody commands: how often it repeats in a turn of the shaft",
    )
    harmonic_torque: Annotated[float, Measure("N*m", above=0.0)] = Field(
        default=2e-3, description="size of these harmonics"
    )

    @field_validator("harmonics")
    @classmethod
    def _few(cls, orders: tuple[int, ...]) -> tuple[int, ...]:
        if len(orders) > MOST_HARMONICS or len(set(orders)) < len(orders):
            raise problem(f"expected at most {MOST_HARMONICS} different whole numbers, such as [1, 2]")
        return orders


class Substitute(Part):
    """Joints that shafts of a rig stand for."""

    joints: tuple[Annotated[str, Words()], ...] = Field(description="in the order of the rig's shafts")
    rig: Annotated[str, Words()] = Field(
        default="met-rig", description="name of a rig, or rig file beside this one"
    )
    estimator: Annotated[str, Choice(ESTIMATORS)] = Field(
        default="filter", description="filter, integrate and differentiate; or an observer"
    )
    filter: Filter | None = Field(default=None, description="needed by the estimator filter")
    observer: ObserverPart = Field(default_factory=ObserverPart, description="belief of the observer")
    drive_torque: Annotated[str, Choice(DRIVE_TORQUES)] = Field(
        default="model",
        description="the drive motor's torque from voltage and rate, or corrected by the sensed current",
    )
    load_limit: Annotated[float | None, Measure("N*m", above=0.0)] = Field(
        default=None, description="largest load torque that is asked for"
    )
    delay: Annotated[float | None, Measure("", minimum=0.0, maximum=1.0)] = Field(
        default=None,
        description="age of the rig's samples when the servo uses them, in periods; default what the rig file says",
    )
    stamps: Annotated[bool, Flag()] = Field(
        default=False, description="age of every sample from the time stamps of the rig, instead of delay"
    )
    rest_rate: Annotated[float, Measure("rad/s", above=0.0)] = Field(
        default=0.2, description="shaft rate below which friction may hold the shaft"
    )

    @field_validator("joints")
    @classmethod
    def _known(cls, joints: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        names = list((info.context or {}).get("prismatic", {}))
        for i, name in enumerate(joints):
            known(name, names, "an axis", str(i))
            if name in joints[:i]:
                raise problem(f"{quoted(name)} is named twice; expected every joint once", str(i))
        if not joints:
            raise problem("no joint; expected one at least, or no 'substitute'")
        return joints

    @model_validator(mode="after")
    def _filtered(self) -> Substitute:
        if self.estimator == "filter" and self.filter is None:
            raise problem(
                "'filter' is missing; expected one for the estimator filter, such as {cut_off: 30 Hz}"
            )
        if self.stamps and self.estimator == "observer" and self.observer.harmonics:
            raise problem("an observer of harmonics takes one age for all samples; expected false", "stamps")
        return self


class SubstitutionFile(Part):
    """A substitution scenario, as written."""

    format: Annotated[str, Choice((FORMAT,))] = Field(description=f"always {FORMAT}")
    name: Annotated[str, Words(r"[a-z0-9-]{1,100}", "a name of a-z, 0-9 and '-'")] = Field(
        description="short name"
    )
    title: Annotated[str, Words()] = Field(default="", description="one line for people")
    variables: dict[str, str] = Field(default={}, description="named values for expressions")
    robot: Annotated[str, Words()] = Field(description="catalogue name, or robot file beside this one")
    set: dict[str, Any] = Field(default={}, description="changes of the robot file, by dotted path")
    rates: Rates = Field(description="how often servos and arm are computed")
    duration: Annotated[float, Measure("s", above=0.0, maximum=1e6)] = Field(description="how long it runs")
    start: dict[str, float] = Field(default={}, description="joint positions; default the robot's home")
    command: tuple[Command, ...] = Field(description="joint rates over time, in order")
    servo: Servo = Field(default_factory=Servo, description="servos and motors of the joints")
    integration: Integration = Field(default_factory=Integration, description="how the arm is integrated")
    substitute: Substitute | None = Field(
        default=None, description="joints that a rig stands for; default none"
    )
    environment: Environment = Field(default_factory=Environment, description="what else acts on the arm")
    seed: Annotated[int, SEED] = Field(default=1, description="seed of the rig's noise")

    @field_validator("start", mode="before")
    @classmethod
    def _read_start(cls, raw: object, info: ValidationInfo) -> object:
        return read_positions(raw, info)

    @model_validator(mode="after")
    def _in_order(self) -> SubstitutionFile:
        if not 1 <= len(self.command) <= POINTS:
            raise problem(f"{len(self.command)} commands; expected 1 to {POINTS}", "command")
        for i in range(1, len(self.command)):
            if self.command[i].at <= self.command[i - 1].at:
                raise problem(
                    f"{self.command[i].at:g} s is not after the command before it; expected ascending times",
                    f"command.{i}.at",
                )
        return self
