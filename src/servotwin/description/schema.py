"""The fields of a robot description: what a file may say, checked and in SI.

Angles in radians, lengths in metres; fields that belong to a joint are
measured in angle for revolute and in length for prismatic joints.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from servotwin.description import checks
from servotwin.description.controller_parts import Controller
from servotwin.description.drive_parts import Brake, Encoder, Friction, Gear, Limits, Motor, ToolLimits
from servotwin.description.error_checks import check_error_sources, read_error_sources
from servotwin.description.error_parts import ErrorSources
from servotwin.description.fields import Choice, Measure, Part, Reader, Whole, Words, problem, read_parts
from servotwin.description.hydraulic_parts import Hydraulics
from servotwin.description.nodes import Node, Origin, one_line
from servotwin.description.parts import (
    ZERO,
    Base,
    DenavitHartenberg,
    Deviation,
    FrameAxis,
    Gyration,
    Inertia,
    JointDeviation,
    Link,
    Name,
    OptionalName,
    Placement,
    Position,
    Shape,
    Tensor,
    Text,
    Vector,
)
from servotwin.description.power_parts import Power

__all__ = [
    "Axis",
    "Base",
    "Brake",
    "Controller",
    "Coupling",
    "DenavitHartenberg",
    "Deviation",
    "Encoder",
    "ErrorSources",
    "Friction",
    "Gear",
    "Gyration",
    "Inertia",
    "JointDeviation",
    "Limits",
    "Link",
    "Loop",
    "LoopFrame",
    "Motor",
    "Payload",
    "Placement",
    "Power",
    "Quantity",
    "RobotDescription",
    "Shape",
    "Tensor",
    "Tool",
    "ToolLimits",
    "Transmission",
]

FORMAT = "servotwin/1"
LABELS = {"format", "name", "title"}  # what cannot be measured cannot be assumed
STANDARD_GRAVITY = 9.80665  # m/s^2, by definition of the standard acceleration of free fall


class Axis(Part):
    """One joint and the link it moves."""

    type: Annotated[
        Literal["revolute", "prismatic", "fixed", "continuous"],
        Choice(("revolute", "prismatic", "fixed", "continuous")),
    ] = Field(default="revolute", description="continuous is revolute without position limits")
    parent: OptionalName = Field(
        default=None, description="axis that carries it, or base; default the previous"
    )
    direction: Annotated[int, Whole(-1, 1)] = Field(
        default=1, description="sign with which q enters (dh and mdh)"
    )
    dh: DenavitHartenberg | None = Field(
        default=None, description="standard DH: Rz(theta) Tz(d) Tx(a) Rx(alpha)"
    )
    mdh: DenavitHartenberg | None = Field(
        default=None, description="modified DH: Rx(alpha) Tx(a) Rz(theta) Tz(d)"
    )
    origin: Placement | None = Field(default=None, description="joint frame in the parent's link frame")
    axis: Annotated[Vector | None, Measure("", size=3)] = Field(
        default=None, description="direction of the joint in the joint frame, any length; default z"
    )
    deviation: JointDeviation | None = Field(
        default=None, description="how the joint, as built, deviates from its placement"
    )
    limits: Limits = Field(default_factory=Limits, description="joint limits")
    link: Link = Field(default_factory=Link, description="the body this joint moves; massless if absent")
    friction: Friction | None = Field(default=None, description="friction of the joint, on its own side")
    gear: Gear | None = Field(default=None, description="transmission between motor and joint")
    motor: Motor | None = Field(default=None, description="actuator")
    brake: Brake | None = Field(default=None, description="holding brake on the motor shaft")
    encoder: Encoder | None = Field(default=None, description="position sensor on the motor shaft")

    @property
    def prismatic(self) -> bool:
        """True for a sliding joint."""
        return self.type == "prismatic"

    @property
    def fixed(self) -> bool:
        """True if the link is rigidly attached to its parent."""
        return self.type == "fixed"

    @field_validator("limits", mode="before")
    @classmethod
    def _read_limits(cls, raw: object, info: ValidationInfo) -> object:
        return read_parts(Limits, raw, info.data.get("type") == "prismatic")

    @field_validator("deviation", mode="before")
    @classmethod
    def _read_deviation(cls, raw: object, info: ValidationInfo) -> object:
        return read_parts(JointDeviation, raw, info.data.get("type") == "prismatic")

    @field_validator("gear", mode="before")
    @classmethod
    def _read_gear(cls, raw: object, info: ValidationInfo) -> object:
        return read_parts(Gear, raw, info.data.get("type") == "prismatic")

    @field_validator("friction", mode="before")
    @classmethod
    def _read_friction(cls, raw: object, info: ValidationInfo) -> object:
        return read_parts(Friction, raw, info.data.get("type") == "prismatic")

    @model_validator(mode="after")
    def _consistent(self) -> Axis:
        checks.check_axis(self)
        return self


class Tool(Placement):
    """The tool frame in the link frame of its axis, and what its origin, the tool point, may do."""

    parent: OptionalName = Field(default=None, description="axis that carries the tool; default the last one")
    limits: ToolLimits = Field(default_factory=ToolLimits, description="limits of the tool point")
    deviation: Deviation | None = Field(
        default=None, description="how the tool frame, as built, deviates from its placement"
    )


class Payload(Part):
    """What the tool carries, in the tool frame."""

    mass: Annotated[float, Measure("kg", minimum=0.0)] = Field(default=0.0, description="mass")
    center: Position = Field(default=ZERO, description="mass centre")
    inertia: Inertia | None = Field(default=None, description="moments of inertia; default a point mass")
    largest: Annotated[float, Measure("kg", above=0.0)] | None = Field(
        default=None, description="largest mass that the robot is made for; servo loops are checked up to it"
    )


class Coupling(Part):
    """A joint that follows others: joint = sum of factor * other + offset."""

    joint: Name = Field(description="the joint that follows")
    of: dict[str, float] = Field(description="the joints it follows, with their factors")
    offset: float = Field(default=0.0, description="its position when all of them are at zero")


class Quantity(Part):
    """An angle or length of the mechanism that follows from its joints: sum of factor * joint + offset."""

    of: dict[str, float] = Field(description="the joints it follows from, with their factors")
    offset: float = Field(default=0.0, description="its value when all of them are at zero")
    limits: tuple[float, float] | None = Field(
        default=None,
        description="lowest and highest value; kept by motions as the position limits of joints are",
    )

    @model_validator(mode="after")
    def _ordered(self) -> Quantity:
        checks.check_range(self.limits)
        return self


class FrameQuantity(Part):
    """An angle between axes of frames, or a distance between frames, that limits can refer to."""

    angle: tuple[FrameAxis, ...] | None = Field(
        default=None, description="two axes of frames, such as [th2.x, th3.x]; their angle is 0 to 180 deg"
    )
    distance: tuple[Name, ...] | None = Field(
        default=None,
        description="two frames; three: a frame and the segment between two; four: two segments",
    )
    radius: Annotated[float, Measure("m", minimum=0.0)] = Field(
        default=0.0,
        description="subtracted from a distance: the sum of the radii of what lies around the segments",
    )
    limits: tuple[float, float] | None = Field(
        default=None, description="lowest and highest value; kept by inverse kinematics and workspaces"
    )

    @model_validator(mode="after")
    def _one_form(self) -> FrameQuantity:
        if (self.angle is None) == (self.distance is None):
            raise problem("expected exactly one of angle and distance")
        if self.angle is not None and len(self.angle) != 2:
            raise problem(f"{len(self.angle)} axes; expected two, such as [th2.x, th3.x]", "angle")
        if self.distance is not None and len(self.distance) not in (2, 3, 4):
            raise problem(f"{len(self.distance)} frames; expected two, three or four", "distance")
        if self.angle is not None and self.radius:
            raise problem("an angle has no radius; expected it with a distance", "radius")
        checks.check_range(self.limits)
        return self


class LoopFrame(Placement):
    """One side of a cut joint, in the link frame of an axis or in the base."""

    link: Name = Field(description="axis whose link carries the frame, or base")
    deviation: Deviation | None = Field(
        default=None, description="how the frame, as built, deviates from its placement"
    )


class Loop(Part):
    """A closed chain, cut open at one joint that lies on z of both frames."""

    name: Name = Field(description="name of the closure")
    type: Annotated[
        Literal["spherical", "revolute", "prismatic"], Choice(("spherical", "revolute", "prismatic"))
    ] = Field(description="the joint that is cut")
    between: tuple[LoopFrame, ...] = Field(description="the two frames that the cut joint connects")

    @model_validator(mode="after")
    def _two_frames(self) -> Loop:
        if len(self.between) != 2:
            raise problem(f"{len(self.between)} frames; expected the two that the cut connects", "between")
        return self


class Transmission(Part):
    """Motors and joints coupled by a matrix: motor angles = matrix default= q."""

    motors: tuple[Name, ...] = Field(description="names of the motors, the rows of the matrix")
    matrix: tuple[tuple[float, ...], ...] = Field(
        description="motor angle per joint angle (plain number) or per travel (rad/m); columns in order of q"
    )


class GravityReader(Reader):
    """The acceleration of free fall: a magnitude along -z, or three components."""

    magnitude = Measure("m/s^2", minimum=0.0)
    components = Measure("m/s^2", size=3)

    def read(self, raw: object) -> Any:
        if isinstance(raw, list | tuple):
            return self.components.read(raw)
        return (0.0, 0.0, -self.magnitude.read(raw))


class RobotDescription(Part):
    """A whole robot, as its file describes it, in SI."""

    format: Annotated[str, Choice((FORMAT,))] = Field(description=f"always {FORMAT}")
    name: Annotated[str, Words(r"[a-z0-9-]{1,100}", "a name of a-z, 0-9 and '-'")] = Field(
        description="short name: a-z, 0-9 and '-'"
    )
    title: Text = Field(default="", description="one line for people")
    references: dict[str, Text] = Field(default={}, description="short name of a source and its citation")
    variables: dict[str, str] = Field(default={}, description="named values for expressions")
    gravity: Annotated[Vector, GravityReader()] = Field(
        default=(0.0, 0.0, -STANDARD_GRAVITY),
        description="magnitude along -z, or the acceleration of free fall",
    )
    base: Base | None = Field(
        default=None, description="the body that carries the first axes and does not move"
    )
    axes: dict[str, Axis] = Field(description="the joints in order, each with the link it moves")
    parents: tuple[Annotated[int, Whole(0)], ...] | None = Field(
        default=None, description="per axis the number of the axis that carries it, 1-based, 0 for the base"
    )
    tool: Tool | None = Field(default=None, description="the tool frame; default the last link's frame")
    payload: Payload | None = Field(default=None, description="what the tool carries")
    couplings: tuple[Coupling, ...] = Field(default=(), description="joints that follow others linearly")
    quantities: dict[str, Quantity] = Field(
        default={}, description="named angles and lengths that follow from the joints, with their limits"
    )
    frame_quantities: dict[str, FrameQuantity] = Field(
        default={}, description="named angles and distances between frames, with their limits"
    )
    loops: tuple[Loop, ...] = Field(default=(), description="closed chains")
    active: tuple[Name, ...] | None = Field(
        default=None, description="the independent joints, the order of q"
    )
    transmission: Transmission | None = Field(
        default=None, description="coupled motors, instead of gear ratios"
    )
    rotor_coupling: Annotated[str, Choice(("reflected", "full"))] = Field(
        default="reflected",
        description="how rotors count: by their reflected inertia, or with the moments of their spin on moving links",
    )
    power: Power | None = Field(default=None, description="supply, intermediate circuit and bridges")
    hydraulics: Hydraulics | None = Field(default=None, description="supply of the hydraulic axes")
    controller: Controller | None = Field(default=None, description="sampling periods, loops and converters")
    error_sources: ErrorSources | None = Field(
        default=None, description="what makes the robot as it is differ from what its controller knows"
    )
    kinematics: Annotated[str | None, Choice(("scara", "palletizer", "delta", "spherical-wrist"))] = Field(
        default=None, description="family with a closed-form inverse kinematics"
    )
    home: dict[str, float] = Field(default={}, description="a natural pose, by joint name; default zero")
    inertia_check: Annotated[str, Choice(("error", "warn"))] = Field(
        default="error", description="what an inertia that no body has is: an error, or a warning"
    )

    _tree: Node | None = PrivateAttr(None)
    _dependencies: tuple[Path, ...] = PrivateAttr(())
    _absent: tuple[Path, ...] = PrivateAttr(())
    _warnings: tuple[str, ...] = PrivateAttr(())
    _notes: tuple[str, ...] = PrivateAttr(())
    _drives: Any = PrivateAttr(None)  # kept by drive_data.drives_of

    @field_validator("axes", mode="before")
    @classmethod
    def _read_axes(cls, raw: object) -> object:
        return checks.named_axes(raw)

    @field_validator("couplings", mode="before")
    @classmethod
    def _read_couplings(cls, raw: object, info: ValidationInfo) -> object:
        return checks.read_couplings(raw, info.data["axes"]) if "axes" in info.data else ()

    @field_validator("quantities", mode="before")
    @classmethod
    def _read_quantities(cls, raw: object, info: ValidationInfo) -> object:
        return checks.read_quantities(raw, info.data["axes"]) if "axes" in info.data else {}

    @field_validator("frame_quantities", mode="before")
    @classmethod
    def _read_frame_quantities(cls, raw: object) -> object:
        return checks.read_frame_quantities(raw)

    @field_validator("transmission", mode="before")
    @classmethod
    def _read_transmission(cls, raw: object, info: ValidationInfo) -> object:
        if "axes" not in info.data or "couplings" not in info.data or "active" not in info.data:
            return None
        names = checks.independent(info.data["axes"], info.data["couplings"], info.data["active"])
        if any(name not in info.data["axes"] for name in names):
            return None  # ``active`` names an axis that there is not, which is said of ``active``
        return checks.read_transmission(raw, info.data["axes"], names)

    @field_validator("home", mode="before")
    @classmethod
    def _read_home(cls, raw: object, info: ValidationInfo) -> object:
        return checks.read_home(raw, info.data["axes"]) if "axes" in info.data else {}

    @field_validator("error_sources", mode="before")
    @classmethod
    def _read_error_sources(cls, raw: object, info: ValidationInfo) -> object:
        return read_error_sources(raw, info.data["axes"]) if "axes" in info.data else None

    @model_validator(mode="after")
    def _consistent(self) -> RobotDescription:
        checks.check_robot(self)
        check_error_sources(self)
        return self

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        # where the values were written does not matter
        return isinstance(other, RobotDescription) and self.model_dump() == other.model_dump()

    @property
    def parent_names(self) -> dict[str, str]:
        """The axis (or ``base``) that carries each axis, defaults and FATHER array resolved."""
        return checks.parent_names(self.axes, self.parents)

    @property
    def base_name(self) -> str:
        """The name of the base link and its frame."""
        return (self.base.name if self.base is not None else None) or checks.BASE

    @property
    def link_names(self) -> dict[str, str]:
        """The name of each axis' link, which is also the name of its frame."""
        return {name: axis.link.name or f"{name}-link" for name, axis in self.axes.items()}

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The independent joints, in the order of q."""
        return checks.independent(self.axes, self.couplings, self.active)

    @property
    def tool_parent(self) -> str:
        """The axis whose link carries the tool frame."""
        return (self.tool.parent if self.tool else None) or list(self.axes)[-1]

    @property
    def tree(self) -> Node | None:
        """The composed tree of the file, every value with its origin; None if made in Python."""
        return self._tree

    @property
    def dependencies(self) -> list[Path]:
        """The files that were read, the description's own first."""
        return list(self._dependencies)

    @property
    def absent(self) -> list[Path]:
        """Where files were looked for before they were found elsewhere; one there would make another robot."""
        return list(self._absent)

    @property
    def warnings(self) -> list[str]:
        """Contradictions between stated values, one line each."""
        return list(self._warnings)

    @property
    def notes(self) -> list[str]:
        """What the files it came from say and this description does not hold, one line each."""
        return list(self._notes)

    @property
    def origins(self) -> dict[str, Origin]:
        """Where each field comes from, by its dotted path."""
        return {path: node.origin for path, node in self._tree.walk()} if self._tree else {}

    def assumptions(self) -> list[tuple[str, str, str]]:
        """Field, value as written and reason of every value that is assumed."""
        found: list[tuple[str, str, str]] = []
        whole = ""
        for path, node in self._tree.walk() if self._tree else ():
            if path in LABELS or not node.origin.assumed or (whole and path.startswith(whole)):
                continue
            if isinstance(node.value, dict) or _holds_mappings(node):
                continue  # its values come one by one
            whole = f"{path}." if isinstance(node.value, list) else ""
            found.append((path, _shown(node), node.origin.assumed))
        return found


def _holds_mappings(node: Node) -> bool:
    return isinstance(node.value, list) and any(isinstance(item.value, dict) for item in node.value)


def _shown(node: Node) -> str:
    """The value of a node as it was written."""
    if isinstance(node.value, list):
        return f"[{', '.join(_shown(item) for item in node.value)}]"
    return one_line(node.plain(), 200)
