"""The fields of a robot description: what a file may say, checked and in SI.

Angles in radians, lengths in metres; fields that belong to a joint are
measured in angle for revolute and in length for prismatic joints.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, ValidationInfo, field_validator, model_validator

from servotwin.description import checks
from servotwin.description.fields import (
    Choice,
    Measure,
    Part,
    Reader,
    Whole,
    Words,
    problem,
    read_parts,
)
from servotwin.description.nodes import Node, Origin, one_line

FORMAT = "servotwin/1"
STANDARD_GRAVITY = 9.80665  # m/s^2, by definition of the standard acceleration of free fall

Vector = tuple[float, float, float]
Text = Annotated[str, Words()]
Name = Annotated[str, Words(r"[^\s.#=,]{1,100}", "a name without blanks, '.', '#', '=' and ','")]
OptionalName = Annotated[
    str | None, Words(r"[^\s.#=,]{1,100}", "a name without blanks, '.', '#', '=' and ','")
]
Length = Annotated[float, Measure("m")]
Angle = Annotated[float, Measure("rad")]
Position = Annotated[Vector, Measure("m", size=3)]
Angles = Annotated[Vector, Measure("rad", size=3)]
Radius = Annotated[float | None, Measure("m", minimum=0.0)]
Moment = Annotated[float, Measure("kg*m^2")]
ZERO: Vector = (0.0, 0.0, 0.0)


def _optional(unit: str, **options: Any) -> Any:
    """The kind of a field that holds a quantity or nothing."""
    return Measure(unit, **options)


class Placement(Part):
    """A frame placed in another: shift by xyz, then turn by roll, pitch, yaw (Rz Ry Rx)."""

    xyz: Position = Field(ZERO, description="position of the frame's origin")
    rpy: Angles = Field(ZERO, description="roll, pitch, yaw: R = Rz(yaw) Ry(pitch) Rx(roll)")


class DenavitHartenberg(Part):
    """One row of a DH table; missing entries are zero."""

    theta: Angle = Field(0.0, description="angle about z; a revolute joint adds q")
    d: Length = Field(0.0, description="shift along z; a prismatic joint adds q")
    a: Length = Field(0.0, description="shift along x")
    alpha: Angle = Field(0.0, description="angle about x")


class Limits(Part):
    """What the joint may do, on its own side; what is missing is unlimited."""

    position: Annotated[tuple[float, float] | None, Measure("rad", linear="m", size=2)] = Field(
        None, description="lowest and highest joint position"
    )
    speed: Annotated[float | None, Measure("rad/s", linear="m/s", above=0.0)] = Field(
        None, description="largest joint speed"
    )
    acceleration: Annotated[float | None, Measure("rad/s^2", linear="m/s^2", above=0.0)] = Field(
        None, description="largest joint acceleration"
    )
    jerk: Annotated[float | None, Measure("rad/s^3", linear="m/s^3", above=0.0)] = Field(
        None, description="largest joint jerk"
    )
    effort: Annotated[float | None, Measure("N*m", linear="N", minimum=0.0)] = Field(
        None, description="largest joint torque or force"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Limits:
        if self.position is not None and self.position[0] > self.position[1]:
            low, high = self.position
            raise problem(f"the minimum {low:g} is above the maximum {high:g}; expected [min, max]", "position")
        return self


class Tensor(Part):
    """Inertia tensor; off-diagonal entries as they stand in the matrix (signs included)."""

    xx: Moment = Field(description="entry xx")
    yy: Moment = Field(description="entry yy")
    zz: Moment = Field(description="entry zz")
    xy: Moment = Field(0.0, description="entry xy = yx")
    xz: Moment = Field(0.0, description="entry xz = zx")
    yz: Moment = Field(0.0, description="entry yz = zy")


class Gyration(Part):
    """Radii of gyration: `radius` about each of `axes`, or one radius per axis x, y, z.

    One stated axis makes a lamina (the others get half its moment each), two
    make a rod (the third gets none).
    """

    radius: Radius = Field(None, description="radius of gyration about each of `axes`")
    axes: tuple[Annotated[str, Choice(("x", "y", "z"))], ...] | None = Field(
        None, description="the axes that have this radius"
    )
    x: Radius = Field(None, description="radius of gyration about x")
    y: Radius = Field(None, description="radius of gyration about y")
    z: Radius = Field(None, description="radius of gyration about z")

    @model_validator(mode="after")
    def _one_form(self) -> Gyration:
        single = (self.x, self.y, self.z) != (None, None, None)
        if (self.radius is None) != (self.axes is None) or single == (self.radius is not None):
            raise problem("expected either radius and axes, such as {radius: 0.29 m, axes: [z]}, or x, y, z")
        if self.axes is not None and (not self.axes or len(set(self.axes)) != len(self.axes)):
            raise problem("expected one to three different axes out of x, y, z", "axes")
        return self

    def radii(self) -> tuple[float | None, float | None, float | None]:
        """Radius about x, y and z, None where it is not stated [m]."""
        if self.axes is None:
            return self.x, self.y, self.z
        x, y, z = (self.radius if name in self.axes else None for name in "xyz")
        return x, y, z


class Inertia(Part):
    """Moments of inertia, as a tensor or as radii of gyration."""

    tensor: Tensor | None = Field(None, description="the inertia tensor")
    gyration: Gyration | None = Field(None, description="radii of gyration instead of a tensor")
    about: Annotated[Literal["center", "joint", "link"], Choice(("center", "joint", "link"))] = Field(
        "center", description="the point the axes go through: mass centre, joint frame or link frame"
    )
    rpy: Angles = Field(ZERO, description="turn of the tensor's axes relative to the link's `frame`")

    @model_validator(mode="after")
    def _one_form(self) -> Inertia:
        if (self.tensor is None) == (self.gyration is None):
            raise problem("expected exactly one of tensor and gyration")
        return self


class Link(Part):
    """The body that a joint moves."""

    name: OptionalName = Field(None, description="name of the link and its frame; default `<axis>-link`")
    frame: Annotated[Literal["link", "joint"], Choice(("link", "joint"))] = Field(
        "link", description="the frame that center and inertia are given in"
    )
    mass: Annotated[float, Measure("kg", minimum=0.0)] = Field(0.0, description="mass")
    center: Position = Field(ZERO, description="mass centre")
    inertia: Inertia | None = Field(None, description="moments of inertia; default a point mass")


class Gear(Part):
    """The transmission between a motor and its joint."""

    kind: Annotated[str | None, Choice(("harmonic", "ball-screw", "gearbox", "belt", "direct"))] = Field(
        None, description="what it is"
    )
    ratio: Annotated[float | None, Measure("", linear="rad/m")] = Field(
        None, description="motor angle per joint angle (plain number) or per joint travel (rad/m)"
    )
    lead: Annotated[float | None, Measure("m", above=0.0)] = Field(
        None, description="travel of a prismatic joint per motor turn, instead of the ratio"
    )
    efficiency: Annotated[float | None, Measure("", above=0.0, maximum=1.0)] = Field(
        None, description="power out over power in, 0 to 1"
    )
    stiffness: Annotated[
        float | None, Measure("N*m/rad", linear="N/m", angle_optional=True, above=0.0)
    ] = Field(None, description="stiffness at the joint side")
    damping: Annotated[
        float | None, Measure("N*m*s/rad", linear="N*s/m", angle_optional=True, minimum=0.0)
    ] = Field(None, description="damping at the joint side")
    backlash: Annotated[float | None, Measure("rad", linear="m", minimum=0.0)] = Field(
        None, description="play at the joint side"
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

    kind: Annotated[str | None, Choice(("dc", "pmsm", "hydraulic"))] = Field(None, description="what it is")
    rated_output: Annotated[float | None, Measure("W", above=0.0)] = Field(None, description="rated power")
    rated_speed: Annotated[float | None, Measure("rad/s", above=0.0)] = Field(None, description="rated speed")
    rated_torque: Annotated[float | None, Measure("N*m", above=0.0)] = Field(None, description="rated torque")
    rated_current: Annotated[float | None, Measure("A", above=0.0)] = Field(None, description="rated current")
    rated_voltage: Annotated[float | None, Measure("V", above=0.0)] = Field(None, description="rated voltage")
    peak_torque: Annotated[float | None, Measure("N*m", above=0.0)] = Field(None, description="peak torque")
    max_speed: Annotated[float | None, Measure("rad/s", above=0.0)] = Field(None, description="largest speed")
    torque_constant: Annotated[float | None, Measure("N*m/A", above=0.0)] = Field(
        None, description="torque per current"
    )
    voltage_constant: Annotated[float | None, Measure("V*s/rad", angle_optional=True, above=0.0)] = Field(
        None, description="back-EMF per speed"
    )
    resistance: Annotated[float | None, Measure("ohm", above=0.0)] = Field(
        None, description="winding resistance"
    )
    inductance: Annotated[float | None, Measure("H", minimum=0.0)] = Field(
        None, description="winding inductance"
    )
    rotor_inertia: Annotated[float | None, Measure("kg*m^2", minimum=0.0)] = Field(
        None, description="moment of inertia of the rotor"
    )
    viscous_friction: Annotated[float | None, Measure("N*m*s/rad", angle_optional=True, minimum=0.0)] = Field(
        None, description="friction torque per speed"
    )
    coulomb_friction: Annotated[float | None, Measure("N*m", minimum=0.0)] = Field(
        None, description="friction torque independent of speed"
    )
    current_limit: Annotated[float | None, Measure("A", above=0.0)] = Field(
        None, description="limit of the servo driver's current"
    )
    pole_pairs: Annotated[int | None, Whole(1, 1000)] = Field(None, description="pole pairs of a pmsm")
    mass: Annotated[float | None, Measure("kg", minimum=0.0)] = Field(
        None, description="for information: the links carry the masses"
    )
    supply_pressure: Annotated[float | None, Measure("Pa", above=0.0)] = Field(
        None, description="supply pressure (hydraulic)"
    )
    rated_flow: Annotated[float | None, Measure("m^3/s", above=0.0)] = Field(
        None, description="rated flow of the servo valve (hydraulic)"
    )
    piston_area: Annotated[float | None, Measure("m^2", above=0.0)] = Field(
        None, description="effective piston area (hydraulic cylinder)"
    )
    displacement: Annotated[float | None, Measure("m^3/rad", angle_optional=True, above=0.0)] = Field(
        None, description="volume per angle (hydraulic motor)"
    )
    oil_volume: Annotated[float | None, Measure("m^3", above=0.0)] = Field(
        None, description="trapped oil volume (hydraulic)"
    )
    bulk_modulus: Annotated[float | None, Measure("Pa", above=0.0)] = Field(
        None, description="bulk modulus of the oil (hydraulic)"
    )
    leakage: Annotated[float | None, Measure("m^3/(s*Pa)", minimum=0.0)] = Field(
        None, description="leakage flow per pressure (hydraulic)"
    )


class Encoder(Part):
    """The position sensor on the motor shaft."""

    lines: Annotated[int | None, Whole(1, 10**9)] = Field(None, description="lines per motor turn")
    counting: Annotated[int, Whole(1, 4)] = Field(4, description="counts per line: 1, 2 or 4")
    bits: Annotated[int | None, Whole(1, 40)] = Field(None, description="bits per motor turn, instead of lines")

    @model_validator(mode="after")
    def _one_form(self) -> Encoder:
        if (self.lines is None) == (self.bits is None):
            raise problem("expected exactly one of lines and bits")
        if self.counting == 3:
            raise problem("'3' is not accepted; expected 1, 2 or 4", "counting")
        return self


class Axis(Part):
    """One joint and the link it moves."""

    type: Annotated[
        Literal["revolute", "prismatic", "fixed", "continuous"],
        Choice(("revolute", "prismatic", "fixed", "continuous")),
    ] = Field("revolute", description="continuous is revolute without position limits")
    parent: OptionalName = Field(None, description="axis that carries this one, or base; default the previous")
    direction: Annotated[int, Whole(-1, 1)] = Field(1, description="sign with which q enters (dh and mdh)")
    dh: DenavitHartenberg | None = Field(None, description="standard DH: Rz(theta) Tz(d) Tx(a) Rx(alpha)")
    mdh: DenavitHartenberg | None = Field(None, description="modified DH: Rx(alpha) Tx(a) Rz(theta) Tz(d)")
    origin: Placement | None = Field(None, description="joint frame in the parent's link frame")
    axis: Annotated[Vector | None, Measure("", size=3)] = Field(
        None, description="direction of the joint in the joint frame, any length; default z"
    )
    limits: Limits = Field(Limits(), description="joint limits")
    link: Link = Field(Link(), description="the body this joint moves; massless if absent")
    gear: Gear | None = Field(None, description="transmission between motor and joint")
    motor: Motor | None = Field(None, description="actuator")
    encoder: Encoder | None = Field(None, description="position sensor on the motor shaft")

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

    @field_validator("gear", mode="before")
    @classmethod
    def _read_gear(cls, raw: object, info: ValidationInfo) -> object:
        return read_parts(Gear, raw, info.data.get("type") == "prismatic")

    @model_validator(mode="after")
    def _consistent(self) -> Axis:
        checks.check_axis(self)
        return self


class Tool(Placement):
    """The tool frame in the link frame of its axis."""

    parent: OptionalName = Field(None, description="axis that carries the tool; default the last one")


class Payload(Part):
    """What the tool carries, in the tool frame."""

    mass: Annotated[float, Measure("kg", minimum=0.0)] = Field(0.0, description="mass")
    center: Position = Field(ZERO, description="mass centre")
    inertia: Inertia | None = Field(None, description="moments of inertia; default a point mass")

    @model_validator(mode="after")
    def _physical(self) -> Payload:
        checks.check_payload(self)
        return self


class Coupling(Part):
    """A joint that follows others: joint = sum of factor * other + offset."""

    joint: Name = Field(description="the joint that follows")
    of: dict[str, float] = Field(description="the joints it follows, with their factors")
    offset: float = Field(0.0, description="its position when all of them are at zero")


class LoopFrame(Placement):
    """One side of a cut joint, in the link frame of an axis or in the base."""

    link: Name = Field(description="axis whose link carries the frame, or base")


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
    """Motors and joints coupled by a matrix: motor angles = matrix @ q."""

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
    title: Text = Field("", description="one line for people")
    references: dict[str, Text] = Field({}, description="short name of a source and its citation")
    variables: dict[str, str] = Field({}, description="named values for expressions")
    gravity: Annotated[Vector, GravityReader()] = Field(
        (0.0, 0.0, -STANDARD_GRAVITY), description="magnitude along -z, or the acceleration of free fall"
    )
    axes: dict[str, Axis] = Field(description="the joints in order, each with the link it moves")
    parents: tuple[Annotated[int, Whole(0)], ...] | None = Field(
        None, description="per axis the number of the axis that carries it, 1-based, 0 for the base"
    )
    tool: Tool | None = Field(None, description="the tool frame; default the last link's frame")
    payload: Payload | None = Field(None, description="what the tool carries")
    couplings: tuple[Coupling, ...] = Field((), description="joints that follow others linearly")
    loops: tuple[Loop, ...] = Field((), description="closed chains")
    active: tuple[Name, ...] | None = Field(None, description="the independent joints, the order of q")
    transmission: Transmission | None = Field(None, description="coupled motors, instead of gear ratios")
    kinematics: Annotated[str | None, Choice(("scara", "palletizer", "delta", "spherical-wrist"))] = Field(
        None, description="family with a closed-form inverse kinematics"
    )
    home: dict[str, float] = Field({}, description="a natural pose, by joint name; default zero")

    _tree: Node | None = PrivateAttr(None)
    _dependencies: tuple[Path, ...] = PrivateAttr(())
    _warnings: tuple[str, ...] = PrivateAttr(())

    @field_validator("axes", mode="before")
    @classmethod
    def _read_axes(cls, raw: object) -> object:
        return checks.named_axes(raw)

    @field_validator("couplings", mode="before")
    @classmethod
    def _read_couplings(cls, raw: object, info: ValidationInfo) -> object:
        return checks.read_couplings(raw, info.data["axes"]) if "axes" in info.data else ()

    @field_validator("transmission", mode="before")
    @classmethod
    def _read_transmission(cls, raw: object, info: ValidationInfo) -> object:
        if "axes" not in info.data or "couplings" not in info.data or "active" not in info.data:
            return None
        names = checks.independent(info.data["axes"], info.data["couplings"], info.data["active"])
        return checks.read_transmission(raw, info.data["axes"], names)

    @field_validator("home", mode="before")
    @classmethod
    def _read_home(cls, raw: object, info: ValidationInfo) -> object:
        return checks.read_home(raw, info.data["axes"]) if "axes" in info.data else {}

    @model_validator(mode="after")
    def _consistent(self) -> RobotDescription:
        checks.check_robot(self)
        return self

    def __eq__(self, other: object) -> bool:
        # where the values were written does not matter
        return isinstance(other, RobotDescription) and self.model_dump() == other.model_dump()

    @property
    def parent_names(self) -> dict[str, str]:
        """The axis (or ``base``) that carries each axis, defaults and FATHER array resolved."""
        return checks.parent_names(self.axes, self.parents)

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
    def warnings(self) -> list[str]:
        """Contradictions between stated values, one line each."""
        return list(self._warnings)

    @property
    def origins(self) -> dict[str, Origin]:
        """Where each field comes from, by its dotted path."""
        return {path: node.origin for path, node in self._tree.walk()} if self._tree else {}

    def assumptions(self) -> list[tuple[str, str, str]]:
        """Field, value as written and reason of every value that is assumed."""
        found: list[tuple[str, str, str]] = []
        whole = ""
        for path, node in self._tree.walk() if self._tree else ():
            if isinstance(node.value, dict) or not node.origin.assumed or (whole and path.startswith(whole)):
                continue
            whole = f"{path}." if isinstance(node.value, list) else ""
            found.append((path, _shown(node), node.origin.assumed))
        return found


def _shown(node: Node) -> str:
    """The value of a node as it was written."""
    if isinstance(node.value, list):
        return f"[{', '.join(_shown(item) for item in node.value)}]"
    return one_line(node.plain(), 200)
