"""The small parts of a description: placements, DH rows, inertias, links (SI)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from servotwin.description.error_parts import Harmonic, Harmonics
from servotwin.description.fields import Choice, Measure, Part, Words, problem

Vector = tuple[float, float, float]
Text = Annotated[str, Words()]
NAME = Words(r"[^\s.#=,]{1,100}", "a name without blanks, '.', '#', '=' and ','")
Name = Annotated[str, NAME]
OptionalName = Annotated[str | None, NAME]
FrameAxis = Annotated[
    str, Words(r"[^\s.#=,]{1,100}\.[xyz]", "a frame and one of its axes, such as th2.x or tool.z")
]
OptionalText = Annotated[str | None, Words()]
Length = Annotated[float, Measure("m")]
Angle = Annotated[float, Measure("rad")]
Position = Annotated[Vector, Measure("m", size=3)]
Angles = Annotated[Vector, Measure("rad", size=3)]
Radius = Annotated[float | None, Measure("m", minimum=0.0)]
Moment = Annotated[float, Measure("kg*m^2")]
ZERO: Vector = (0.0, 0.0, 0.0)
LARGE = 0.2  # rad, m: a displacement beyond makes another robot
SMALL_SHIFT = Measure("m", size=3, minimum=-LARGE, maximum=LARGE)
SMALL_TURN = Measure("rad", size=3, minimum=-LARGE, maximum=LARGE)


class Placement(Part):
    """A frame placed in another: shift by xyz, then turn by roll, pitch, yaw (Rz Ry Rx)."""

    xyz: Position = Field(default=ZERO, description="position of the frame's origin")
    rpy: Angles = Field(default=ZERO, description="roll, pitch, yaw: R = Rz(yaw) Ry(pitch) Rx(roll)")


class Deviation(Part):
    """How a placement, as built, deviates from what is drawn: displaced in the frame that is placed."""

    position: Annotated[Vector, SMALL_SHIFT] = Field(default=ZERO, description="shift of the frame's origin")
    rotation: Annotated[Vector, SMALL_TURN] = Field(
        default=ZERO, description="rotation vector: direction of the axis, length of the angle"
    )


class JointDeviation(Deviation):
    """Deviation of a joint, in the joint frame with z on its axis, and of its position sensor."""

    offset: Annotated[float, Measure("rad", linear="m", minimum=-LARGE, maximum=LARGE)] = Field(
        default=0.0, description="position of the joint when its sensor says zero"
    )
    scale: Annotated[float, Measure("", minimum=-LARGE, maximum=LARGE)] = Field(
        default=0.0,
        description="relative error of the travel: the joint moves (1 + scale) times what is said",
    )
    harmonics: Annotated[tuple[Harmonic, ...] | None, Harmonics(Measure("rad", minimum=0.0))] = Field(
        default=None,
        description="error of encoder and gear per turn of the gear's output: the joint stands that much further",
    )


class DenavitHartenberg(Part):
    """One row of a DH table; missing entries are zero."""

    theta: Angle = Field(default=0.0, description="angle about z; a revolute joint adds q")
    d: Length = Field(default=0.0, description="shift along z; a prismatic joint adds q")
    a: Length = Field(default=0.0, description="shift along x")
    alpha: Angle = Field(default=0.0, description="angle about x")


class Tensor(Part):
    """Inertia tensor; off-diagonal entries as they stand in the matrix (signs included)."""

    xx: Moment = Field(description="entry xx")
    yy: Moment = Field(description="entry yy")
    zz: Moment = Field(description="entry zz")
    xy: Moment = Field(default=0.0, description="entry xy = yx")
    xz: Moment = Field(default=0.0, description="entry xz = zx")
    yz: Moment = Field(default=0.0, description="entry yz = zy")


class Gyration(Part):
    """Radii of gyration: `radius` about each of `axes`, or one radius per axis x, y, z.

    One stated axis makes a lamina (the others get half its moment each), two
    make a rod (the third gets none).
    """

    radius: Radius = Field(default=None, description="radius of gyration about each of `axes`")
    axes: tuple[Annotated[str, Choice(("x", "y", "z"))], ...] | None = Field(
        default=None, description="the axes that have this radius"
    )
    x: Radius = Field(default=None, description="radius of gyration about x")
    y: Radius = Field(default=None, description="radius of gyration about y")
    z: Radius = Field(default=None, description="radius of gyration about z")

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

    tensor: Tensor | None = Field(default=None, description="the inertia tensor")
    gyration: Gyration | None = Field(default=None, description="radii of gyration instead of a tensor")
    about: Annotated[Literal["center", "joint", "link"], Choice(("center", "joint", "link"))] = Field(
        default="center", description="the point the axes go through: mass centre, joint frame or link frame"
    )
    rpy: Angles = Field(default=ZERO, description="turn of the tensor's axes relative to the link's `frame`")

    @model_validator(mode="after")
    def _one_form(self) -> Inertia:
        if (self.tensor is None) == (self.gyration is None):
            raise problem("expected exactly one of tensor and gyration")
        return self


class Cylinder(Part):
    """A cylinder about z, its centre in the origin."""

    radius: Annotated[float, Measure("m", minimum=0.0)] = Field(description="radius")
    length: Annotated[float, Measure("m", minimum=0.0)] = Field(description="length along z")


class Shape(Placement):
    """What a link looks like: a mesh file, a box, a cylinder or a sphere; for pictures, without mass."""

    mesh: OptionalText = Field(
        default=None, description="path or address of a mesh file, as its source has it"
    )
    scale: Annotated[Vector, Measure("", size=3)] = Field(
        default=(1.0, 1.0, 1.0), description="factors of a mesh's coordinates"
    )
    box: Annotated[Vector | None, Measure("m", size=3, minimum=0.0)] = Field(
        default=None, description="edges of a box along x, y, z"
    )
    cylinder: Cylinder | None = Field(default=None, description="a cylinder about z")
    sphere: Radius = Field(default=None, description="radius of a sphere")

    @model_validator(mode="after")
    def _one_form(self) -> Shape:
        if sum(part is not None for part in (self.mesh, self.box, self.cylinder, self.sphere)) != 1:
            raise problem("expected exactly one of mesh, box, cylinder and sphere")
        return self


class Base(Part):
    """The body that does not move: it stands in pictures and files, not in the equations."""

    name: OptionalName = Field(
        default=None, description="name of the base link and its frame; default `base`"
    )
    mass: Annotated[float, Measure("kg", minimum=0.0)] = Field(default=0.0, description="mass")
    center: Position = Field(default=ZERO, description="mass centre")
    inertia: Inertia | None = Field(default=None, description="moments of inertia; default a point mass")
    shapes: tuple[Shape, ...] = Field(default=(), description="what it looks like, for pictures")
    deviation: Deviation | None = Field(
        default=None, description="how all that stands on the base is displaced in the base frame"
    )


class Link(Part):
    """The body that a joint moves."""

    name: OptionalName = Field(
        default=None, description="name of the link and its frame; default `<axis>-link`"
    )
    frame: Annotated[Literal["link", "joint"], Choice(("link", "joint"))] = Field(
        default="link", description="the frame that center and inertia are given in"
    )
    mass: Annotated[float, Measure("kg", minimum=0.0)] = Field(default=0.0, description="mass")
    center: Position = Field(default=ZERO, description="mass centre")
    inertia: Inertia | None = Field(default=None, description="moments of inertia; default a point mass")
    shapes: tuple[Shape, ...] = Field(default=(), description="what it looks like, for pictures")
