"""The environment of a scenario: forces on links, motion of the base, friction of joints (SI)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator, model_validator

from servotwin.description.fields import Choice, Measure, Part, Points, Whole, Words, problem, read_parts
from servotwin.description.nodes import quoted
from servotwin.simulation.scenario.known_names import known

BASE_AXES = ("x", "y", "z", "rx", "ry", "rz")
KINDS = ("wrench", "plume", "wall", "function")
NEVER = 1e30
STEPS = 64  # of an acceleration of the base

Time = Annotated[float, Measure("s", minimum=0.0, maximum=1e6)]
Vector = tuple[float, float, float]


class Force(Part):
    """A force on a link."""

    kind: Annotated[str, Choice(KINDS)] = Field(description="what it is")
    frame: Annotated[str | None, Words()] = Field(
        default=None, description="on which it acts; default the tool"
    )
    start: Time = Field(default=0.0, description="when it begins (wrench, plume)")
    end: Time = Field(default=1e6, description="when it ends (wrench, plume)")
    force: Annotated[Vector, Measure("N", size=3)] = Field(
        default=(0.0, 0.0, 0.0), description="of a wrench, inertial axes"
    )
    moment: Annotated[Vector, Measure("N*m", size=3)] = Field(
        default=(0.0, 0.0, 0.0), description="of a wrench, inertial axes"
    )
    point: Annotated[Vector | None, Measure("m", size=3)] = Field(
        default=None,
        description="nozzle of a plume, or a point of a wall, in the inertial frame: that of the base at the start",
    )
    direction: Annotated[Vector | None, Measure("", size=3)] = Field(
        default=None, description="of a plume, or normal of a wall out of its material"
    )
    half_angle: Annotated[float | None, Measure("rad", above=0.0, maximum=3.1)] = Field(
        default=None, description="of a plume's cone"
    )
    pressure: Annotated[float | None, Measure("Pa", minimum=0.0)] = Field(
        default=None, description="on the axis of a plume, at the distance"
    )
    distance: Annotated[float, Measure("m", above=0.0)] = Field(
        default=1.0, description="at which the pressure is stated"
    )
    area: Annotated[float | None, Measure("m^2", above=0.0)] = Field(
        default=None, description="that the plume meets"
    )
    stiffness: Annotated[float | None, Measure("N/m", above=0.0)] = Field(
        default=None, description="of a wall"
    )
    damping: Annotated[float, Measure("N*s/m", minimum=0.0)] = Field(default=0.0, description="of a wall")
    function: Annotated[str | None, Words()] = Field(
        default=None, description="FILE.py:NAME of a compiled function; Python code that is run"
    )
    memory: Annotated[int, Whole(1, 1_000_000)] = Field(
        default=1, description="numbers that the function keeps"
    )

    @model_validator(mode="after")
    def _complete(self) -> Force:
        needs = {
            "wrench": (),
            "plume": ("point", "direction", "half_angle", "pressure", "area"),
            "wall": ("point", "direction", "stiffness"),
            "function": ("function",),
        }
        for name in needs[self.kind]:
            if getattr(self, name) is None:
                raise problem(f"{quoted(name)} is missing; it is required for kind {self.kind}")
        if self.direction is not None and not any(self.direction):
            raise problem("three zeros point nowhere; expected a direction", "direction")
        if self.end <= self.start:
            raise problem(
                f"{self.end:g} s is not after the start at {self.start:g} s; expected a later end", "end"
            )
        return self


class JointFriction(Part):
    """Friction of a joint itself, beside that of its shaft."""

    viscous: Annotated[float, Measure("N*m*s/rad", linear="N*s/m", angle_optional=True, minimum=0.0)] = Field(
        default=0.0, description="torque per rate"
    )
    coulomb: Annotated[float, Measure("N*m", linear="N", minimum=0.0)] = Field(
        default=0.0,
        description="torque that opposes the motion, smooth around rest but behind rigid gears of a substitution",
    )


_STEPS = {
    "x": Points(Measure("s", minimum=0.0), Measure("m/s^2"), most=STEPS),
    "r": Points(Measure("s", minimum=0.0), Measure("rad/s^2"), most=STEPS),
}


def _check_ascending(name: str, steps: tuple[tuple[float, float], ...]) -> None:
    for i in range(1, len(steps)):
        if steps[i][0] <= steps[i - 1][0]:
            raise problem(
                f"{steps[i][0]:g} s is not after the step before it; expected ascending times",
                f"{name}.{i}.0",
            )


class Environment(Part):
    """What acts on the arm beside its servos."""

    forces: tuple[Force, ...] = Field(default=(), description="on links")
    base: dict[str, tuple[tuple[float, float], ...]] = Field(
        default={},
        description="accelerations of the base along x, y, z and about rx, ry, rz: [from, value] ...",
    )
    joint_friction: dict[str, JointFriction] = Field(default={}, description="of joints, by axis")

    def __bool__(self) -> bool:
        """Whether there is anything in it."""
        return bool(self.forces or self.base or self.joint_friction)

    @field_validator("base", mode="before")
    @classmethod
    def _read_base(cls, raw: object) -> object:
        if not isinstance(raw, dict):
            return raw
        read: dict[str, Any] = {}
        for name, value in raw.items():
            known(name, list(BASE_AXES), "a direction of the base", name)
            read[name] = _STEPS["r" if name.startswith("r") else "x"].read(value)
            _check_ascending(name, read[name])
        return {name: read[name] for name in BASE_AXES if name in read}  # the chain's order, not the file's

    @field_validator("joint_friction", mode="before")
    @classmethod
    def _read_friction(cls, raw: object, info: ValidationInfo) -> object:
        sliding: dict[str, bool] = (info.context or {}).get("prismatic", {})
        if not isinstance(raw, dict):
            return raw
        for name in raw:
            known(name, list(sliding), "an axis", name)
        return {name: read_parts(JointFriction, value, sliding[name]) for name, value in raw.items()}
