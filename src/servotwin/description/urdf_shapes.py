"""Shapes of URDF links: what is kept of them for pictures, and mass properties at a density if asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.description.frames import Array, rot_rpy
from servotwin.description.mesh_files import MassProperties, mesh_properties
from servotwin.description.reach import Reach
from servotwin.description.urdf_xml import Element

_ZERO = (0.0, 0.0, 0.0)
_ONE = (1.0, 1.0, 1.0)
KINDS = ("mesh", "box", "cylinder", "sphere")


@dataclass(frozen=True)
class UrdfShape:
    """One <visual> or <collision>: its geometry element, and its place in the link frame [m, rad]."""

    geometry: Element
    xyz: tuple[float, float, float]
    rpy: tuple[float, float, float]


def shapes_of(link: Element, tag: str) -> list[UrdfShape]:
    """The shapes in the ``visual`` or ``collision`` elements of a link; unknown ones are passed over."""
    found = []
    for element in link.all(tag):
        geometry, origin = element.only("geometry"), element.only("origin")
        kinds = [] if geometry is None else geometry.children
        for kind in kinds[:1]:
            xyz = _ZERO if origin is None else origin.vector("xyz", _ZERO)
            rpy = _ZERO if origin is None else origin.vector("rpy", _ZERO)
            found.append(UrdfShape(kind, xyz, rpy))
    return found


def solid_shapes(link: Element) -> list[UrdfShape]:
    """The shapes that a mass is computed from: those for collisions, which are closed, or else the visible ones."""
    return shapes_of(link, "collision") or shapes_of(link, "visual")


def solid(shapes: Sequence[UrdfShape], density: float, reach: Reach) -> MassProperties:
    r"""Mass, centre and inertia about it, in the link frame, of shapes filled with ``density`` [kg/m3].

    .. math:: m = \sum m_k, \quad c = \frac{1}{m} \sum m_k c_k, \quad
              I = \sum \left(R_k I_k R_k^T + m_k (|d_k|^2 E - d_k d_k^T)\right), \quad d_k = c_k - c

    Shapes that overlap count twice. Mesh files lie within ``reach``.
    """
    bodies = [_placed(shape, density, reach) for shape in shapes]
    mass = sum(body.mass for body in bodies)
    if mass <= 0.0:
        return MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))
    center = np.sum([body.mass * body.center for body in bodies], axis=0) / mass
    inertia = np.zeros((3, 3))
    for body in bodies:
        d = body.center - center
        inertia += body.inertia + body.mass * (d @ d * np.eye(3) - np.outer(d, d))
    hulls = tuple(dict.fromkeys(name for body in bodies for name in body.hulls))
    return MassProperties(mass, center, inertia, hulls)


def _placed(shape: UrdfShape, density: float, reach: Reach) -> MassProperties:
    own = _properties(shape.geometry, density, reach)
    R = rot_rpy(shape.rpy)
    return MassProperties(own.mass, R @ own.center + np.array(shape.xyz), R @ own.inertia @ R.T, own.hulls)


def _properties(geometry: Element, density: float, reach: Reach) -> MassProperties:
    """Mass properties of a geometry in its own frame."""
    if geometry.tag == "mesh":
        scale = geometry.vector("scale", _ONE)
        return mesh_properties(geometry.text("filename"), scale, density, geometry, reach)
    if geometry.tag == "box":
        x, y, z = geometry.vector("size", _ZERO)
        mass = density * x * y * z
        moments = np.array([y * y + z * z, x * x + z * z, x * x + y * y]) / 12.0
    elif geometry.tag == "cylinder":
        r, h = geometry.number("radius"), geometry.number("length")
        mass = density * math.pi * r * r * h
        across = (3.0 * r * r + h * h) / 12.0
        moments = np.array([across, across, 0.5 * r * r])
    else:
        r = geometry.number("radius")
        mass = density * 4.0 / 3.0 * math.pi * r**3
        moments = np.full(3, 0.4 * r * r)
    return _checked(geometry, MassProperties(mass, np.zeros(3), mass * np.diag(moments)))


def _checked(geometry: Element, found: MassProperties) -> MassProperties:
    if not found.mass > 0.0:
        raise geometry.error(f"<{geometry.tag}> has no volume; expected sizes above zero, in metres")
    return found


def entries(inertia: Array) -> dict[str, float]:
    """The six entries of a symmetric tensor, by their names."""
    names = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
    return {name: float(inertia[place]) for name, place in names.items()}
