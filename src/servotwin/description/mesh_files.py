"""Mesh files that a robot file refers to: where they are, and the mass of what they enclose."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.description.frames import Array
from servotwin.description.nodes import one_line, quoted

if TYPE_CHECKING:
    from servotwin.description.urdf_xml import Element

MAX_BYTES = 200_000_000


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
    return next((place for place in places if _is_file(place)), None)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def mesh_properties(
    address: str, scale: tuple[float, float, float], density: float, place: Element
) -> MassProperties:
    """What a mesh encloses, filled with ``density`` [kg/m3].

    Of a mesh that is not closed, or whose faces do not all look outwards or all inwards, it is the convex hull.
    """
    path = mesh_path(address, place.file)
    if path is None:
        raise place.error(
            f"no mesh file {quoted(address)}; expected it beside the robot file, or its package in a folder above"
        )
    try:
        import trimesh
    except ImportError:
        raise place.error(
            f"the mass of {quoted(address)} needs the package trimesh: pip install 'servotwin[urdf]'"
        ) from None
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"larger than {MAX_BYTES // 1_000_000} MB")
        mesh: Any = trimesh.load(path, force="mesh")
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
