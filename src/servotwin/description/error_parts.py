"""Error sources: what makes the robot as it is differ from the robot as its controller knows it (SI).

All of it is truth. What stands in ``error_sources`` acts where ``enabled`` says so, or where a command asks for it; a
source that is named in ``off`` does not act, also where its data stand elsewhere in the file.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, PrivateAttr, model_validator

from servotwin.description.fields import Flag, Measure, Part, Points, Reader, Whole, problem, read_at
from servotwin.description.nodes import quoted
from servotwin.description.units import did_you_mean, expectation

SOURCES = (
    "resolution", "eccentricity", "noise", "play", "hysteresis", "transmission_error", "torsion", "friction",
    "servo_lag", "geometry", "thermal", "base",
)  # fmt: skip
MOST_HARMONICS = 6
MOST_ORDER = 1e6  # per turn
SYMMETRY = 1e-9  # of the largest entry of a matrix: of numbers written short

Harmonic = tuple[float, float, float | None]


@dataclass(frozen=True)
class Harmonics(Reader):
    """A list of harmonics, each [order, amplitude] or [order, amplitude, phase]: amplitude sin(order angle + phase)."""

    amplitude: Measure

    @property
    def linear(self) -> str | None:
        """Set if the amplitude depends on the type of the joint."""
        return self.amplitude.linear

    def read(self, raw: object) -> Any:
        """The harmonics, a tuple of (order, amplitude, phase); no phase is None."""
        return self.read_for(raw, prismatic=False)

    def words(self, prismatic: bool = False) -> str:
        """What a harmonic consists of."""
        unit = self.amplitude.linear if prismatic and self.amplitude.linear else self.amplitude.unit
        return f"order per turn, amplitude ({expectation(unit)}), and a phase if it is known"

    def read_for(self, raw: object, prismatic: bool) -> Any:
        """The harmonics for a field of a prismatic or revolute joint."""
        expected = f"1 to {MOST_HARMONICS} harmonics, each [{self.words(prismatic)}]"
        if not isinstance(raw, list | tuple):
            raise problem(f"{quoted(raw)}; expected a list of {expected}")
        if not 1 <= len(raw) <= MOST_HARMONICS:
            raise problem(f"{len(raw)} harmonics; expected {expected}")
        return tuple(self._one(str(i), item, prismatic) for i, item in enumerate(raw))

    def _one(self, at: str, raw: object, prismatic: bool) -> Harmonic:
        if not isinstance(raw, list | tuple) or len(raw) not in (2, 3):
            given = f"{len(raw)} values" if isinstance(raw, list | tuple) else quoted(raw)
            raise problem(f"{given}; expected [{self.words(prismatic)}]", at)
        order = read_at(f"{at}.0", Measure("", above=0.0, maximum=MOST_ORDER), raw[0], False)
        amplitude = read_at(f"{at}.1", self.amplitude, raw[1], prismatic)
        unknown = len(raw) == 2 or raw[2] is None
        return order, amplitude, None if unknown else read_at(f"{at}.2", Measure("rad"), raw[2], False)


@dataclass(frozen=True)
class SourceNames(Reader):
    """A list of names of error sources."""

    def read(self, raw: object) -> Any:
        """The names, each once, in the order of ``SOURCES``."""
        if not isinstance(raw, list | tuple):
            raise problem(f"{quoted(raw)}; expected a list of error sources: {', '.join(SOURCES)}")
        for i, name in enumerate(raw):
            if name not in SOURCES:
                hint = did_you_mean(str(name), list(SOURCES))
                raise problem(
                    f"{quoted(name)} is no error source; expected one of {', '.join(SOURCES)}{hint}", str(i)
                )
        return tuple(name for name in SOURCES if name in raw)


class AxisErrors(Part):
    """Error sources of one axis: its encoder, its gear and its link."""

    other_names: ClassVar = {"encoder_error": "eccentricity", "lost_motion": "backlash", "play": "backlash"}

    eccentricity: Annotated[tuple[Harmonic, ...] | None, Harmonics(Measure("rad", minimum=0.0))] = Field(
        default=None, description="error of the angle that the encoder shows, harmonics per turn of its shaft"
    )
    encoder_noise: Annotated[float, Measure("rad", minimum=0.0)] = Field(
        default=0.0, description="standard deviation of the angle that the encoder shows, at its shaft"
    )
    stiffness: Annotated[float | None, Measure("N*m/rad", linear="N/m", angle_optional=True, above=0.0)] = (
        Field(default=None, description="torsional stiffness of the gear at the joint side")
    )
    damping: Annotated[
        float | None, Measure("N*m*s/rad", linear="N*s/m", angle_optional=True, minimum=0.0)
    ] = Field(default=None, description="damping of the gear at the joint side")
    stiffening: Annotated[
        tuple[tuple[float, float], ...] | None,
        Points(
            Measure("N*m", linear="N", above=0.0),
            Measure("N*m/rad", linear="N/m", angle_optional=True, above=0.0),
            most=2,
        ),
    ] = Field(default=None, description="points of torque and of the stiffness from there on, joint side")
    backlash: Annotated[float | None, Measure("rad", linear="m", minimum=0.0)] = Field(
        default=None, description="play of the gear at the joint side"
    )
    hysteresis: Annotated[float | None, Measure("rad", linear="m", minimum=0.0)] = Field(
        default=None,
        description="width of the torsion loop at zero torque, joint side; default that of the gear's datasheet",
    )
    transmission_error: Annotated[
        tuple[Harmonic, ...] | None, Harmonics(Measure("rad", linear="m", minimum=0.0))
    ] = Field(
        default=None,
        description="harmonics per turn of the motor, amplitudes at the joint; default those of the gear's datasheet",
    )
    output_error: Annotated[tuple[Harmonic, ...] | None, Harmonics(Measure("rad", minimum=0.0))] = Field(
        default=None, description="transmission error as harmonics per turn of a revolute joint"
    )
    coulomb_friction: Annotated[float, Measure("N*m", minimum=0.0)] = Field(
        default=0.0, description="friction torque at the motor's shaft beside what the motor states"
    )
    temperature_rise: Annotated[float | None, Measure("K")] = Field(
        default=None, description="of the link that this axis moves, when warm; default that of the robot"
    )
    heating: Annotated[float | None, Measure("K/W", minimum=0.0)] = Field(
        default=None, description="temperature rise of the link per loss of its motor, instead of the rise"
    )

    @model_validator(mode="after")
    def _one_rise(self) -> AxisErrors:
        if self.temperature_rise is not None and self.heating is not None:
            raise problem("expected one of temperature_rise and heating, not both", "heating")
        return self


class GeometryTolerances(Part):
    """How far the geometry may be off what the file states; deviations are drawn from it, trial by trial."""

    length: Annotated[float, Measure("m", minimum=0.0)] = Field(
        default=0.0, description="tolerance of the position of each joint frame in its link, per direction"
    )
    angle: Annotated[float, Measure("rad", minimum=0.0)] = Field(
        default=0.0, description="tolerance of the direction of each joint axis, about x and y of its frame"
    )
    joint_offset: Annotated[float, Measure("rad", minimum=0.0)] = Field(
        default=0.0, description="tolerance of the zero of each revolute joint"
    )
    slide_offset: Annotated[float, Measure("m", minimum=0.0)] = Field(
        default=0.0, description="tolerance of the zero of each prismatic joint"
    )
    base_position: Annotated[float, Measure("m", minimum=0.0)] = Field(
        default=0.0, description="tolerance of the place of the base, per direction"
    )
    base_angle: Annotated[float, Measure("rad", minimum=0.0)] = Field(
        default=0.0, description="tolerance of the orientation of the base, about each axis"
    )
    tool_position: Annotated[float, Measure("m", minimum=0.0)] = Field(
        default=0.0, description="tolerance of the place of the tool, per direction"
    )
    tool_angle: Annotated[float, Measure("rad", minimum=0.0)] = Field(
        default=0.0, description="tolerance of the orientation of the tool, about each axis"
    )
    sigmas: Annotated[float, Measure("", above=0.0, maximum=10.0)] = Field(
        default=3.0, description="standard deviations of a normal distribution that a tolerance stands for"
    )


class ThermalGrowth(Part):
    """Links that lengthen as they warm up."""

    expansion: Annotated[float, Measure("1/K", minimum=0.0)] = Field(
        description="relative growth of lengths per kelvin: steel 12e-6, aluminium 23e-6"
    )
    temperature_rise: Annotated[float, Measure("K")] = Field(
        default=0.0, description="of links over the state in which the robot was measured, when warm"
    )
    time_constant: Annotated[float, Measure("s", above=0.0)] = Field(
        default=3600.0, description="of the warm-up: 63 % of the rise are there after it"
    )
    elapsed: Annotated[float | None, Measure("s", minimum=0.0)] = Field(
        default=None, description="time since the cold start at which a run takes place; default warm"
    )


class BaseCompliance(Part):
    """A base that gives way under the force and moment of the arm; without a field it is stiff in that direction."""

    stiffness: Annotated[tuple[float, float, float] | None, Measure("N/m", size=3, above=0.0)] = Field(
        default=None, description="of the base along x, y, z"
    )
    rotational_stiffness: Annotated[
        tuple[float, float, float] | None, Measure("N*m/rad", size=3, above=0.0, angle_optional=True)
    ] = Field(default=None, description="of the base about x, y, z of its frame")
    matrix: tuple[tuple[float, ...], ...] | None = Field(
        default=None,
        description="stiffness 6 x 6 in N, m and rad instead: rows force x, y, z, moment x, y, z; "
        "columns shift x, y, z, turn x, y, z",
    )

    @model_validator(mode="after")
    def _one_form(self) -> BaseCompliance:
        if self.matrix is None:
            return self
        if self.stiffness is not None or self.rotational_stiffness is not None:
            raise problem("beside stiffness or rotational_stiffness; expected one form", "matrix")
        if len(self.matrix) != 6 or any(len(row) != 6 for row in self.matrix):
            raise problem("expected six rows of six numbers", "matrix")
        K = np.array(self.matrix)
        if not np.isfinite(K).all() or np.abs(K - K.T).max() > SYMMETRY * np.abs(K).max():
            raise problem("is not symmetric; expected that of a passive base", "matrix")
        if np.linalg.eigvalsh(0.5 * (K + K.T)).min() <= 0.0:
            raise problem("is not positive definite; expected that of a base that holds", "matrix")
        return self

    @property
    def compliance(self) -> Any:
        """Shift and turn per force and moment (6, 6) [m, rad per N, N m]."""
        if self.matrix is not None:
            return np.linalg.inv(np.array(self.matrix))
        stiff = (math.inf,) * 3
        return np.diag(1.0 / np.array([*(self.stiffness or stiff), *(self.rotational_stiffness or stiff)]))


class ErrorSources(Part):
    """What makes the robot as it is differ from the robot as its controller knows it."""

    enabled: Annotated[bool, Flag()] = Field(
        default=False,
        description="whether runs have what stands here; commands that ask for it have it in any case",
    )
    off: Annotated[tuple[str, ...], SourceNames()] = Field(
        default=(), description=f"sources that are switched off: {', '.join(SOURCES)}"
    )
    axes: dict[str, AxisErrors] = Field(default={}, description="error sources by axis")
    geometry: GeometryTolerances | None = Field(default=None, description="tolerances of the geometry")
    thermal: ThermalGrowth | None = Field(default=None, description="thermal growth of the links")
    base: BaseCompliance | None = Field(default=None, description="compliance of the base")
    trial: Annotated[int, Whole(0, 10**9)] = Field(
        default=0,
        description="which robot of a series: from 1 on, geometry and phases that are not stated are drawn; 0: none",
    )
    seed: Annotated[int, Whole(0, 10**9)] = Field(default=1, description="seed of the draws")

    _built: bool = PrivateAttr(False)  # of a description that ``as_built`` has made

    @property
    def built(self) -> bool:
        """Whether its sources are in place already."""
        return self._built

    def marked_built(self) -> ErrorSources:
        """A copy whose sources are in place."""
        made = self.model_copy()
        made._built = True
        return made
