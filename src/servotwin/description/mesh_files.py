"""Mesh files that a robot file refers to: where they are, and the mass of what they enclose."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.description.frames import Array
from servotwin.description.nodes import one_line, quoted
from servotwin.description.regular_file import MESH, is_there, read_bytes
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.description.reach import Reach
    from servotwin.description.urdf_xml import Element

FORMATS = ("stl", "obj", "ply", "dae", "off", "glb")


@dataclass(frozen=True)
class MassProperties:
    """Mass [kg], centre (3,) [m] and inertia about the centre (3, 3) [kg m2].

    ``hulls``: the meshes that are not closed or not oriented, of which the convex hull was filled.
    """

    mass: float
    center: Array
    inertia: Array
    hulls: tuple[str, ...] = ()


def mesh_path(address: str, file: str) -> Path | None:
    """The file that ``package://name/rest``, ``file://path`` or a path beside ``file`` stands for, or None.

    A package is looked for in the folders above the robot file: one that has its name, or one that holds it.
    """
    folder = Path(file).resolve().parent
    if address.startswith("package://"):
        package, _, rest = address.removeprefix("package://").partition("/")
        above = [folder, *folder.parents]
        places = [place / rest for place in above if place.name == package]
        places += [place / package / rest for place in above]
    else:
        places = [folder / address.removeprefix("file://")]
    return next((place for place in places if is_there(place)), None)


def mesh_properties(
    address: str, scale: tuple[float, float, float], density: float, place: Element, reach: Reach
) -> MassProperties:
    """What a mesh encloses, filled with ``density`` [kg/m3].

    Of a mesh that is not closed, or whose faces do not all look outwards or all inwards, it is the convex hull.
    """
    path = mesh_path(address, place.file)
    if path is None:
        raise place.error(
            f"no mesh file {quoted(address)}; expected it beside the robot file, or its package in a folder above"
        )
    outside = reach.problem(path, address)
    if outside is not None:
        raise place.error(outside)
    data = _bytes(path, address, place)
    try:
        import trimesh
    except ImportError:
        raise place.error(
            f"the mass of {quoted(address)} needs the package trimesh: pip install 'servotwin[urdf]'"
        ) from None
    try:
        # from memory, so that a mesh cannot name further files
        mesh: Any = trimesh.load(io.BytesIO(data), file_type=_format(path), force="mesh")
        mesh.apply_scale(scale)
        # faces of both windings enclose a volume that nobody meant; one winding turned inwards a negative one
        closed = mesh.is_watertight and mesh.is_winding_consistent
        if closed and mesh.volume < 0.0:
            mesh.invert()
        body = mesh if closed else mesh.convex_hull
        body.density = density
        found = body.mass_properties
        mass, center, inertia = (
            float(found["mass"]),
            np.array(found["center_mass"]),
            np.array(found["inertia"]),
        )
    except Exception as error:  # noqa: BLE001 -- readers of a dozen formats raise errors of their own
        raise place.error(f"{quoted(address)} cannot be read as a mesh: {one_line(error, 80)}") from None
    if not (mass > 0.0 and np.isfinite(inertia).all()):
        raise place.error(f"{quoted(address)} encloses no volume; expected a closed mesh, in metres")
    return MassProperties(mass, center, inertia, () if body is mesh else (address,))


def _bytes(path: Path, address: str, place: Element) -> bytes:
    try:
        return read_bytes(path, MESH)
    except InputError as error:
        raise place.error(f"{quoted(address)} {error.message}") from None


def _format(path: Path) -> str:
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise ValueError(f"expected one of {', '.join(FORMATS)}")
    return suffix
