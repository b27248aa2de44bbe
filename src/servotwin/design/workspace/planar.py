r"""The reachable set of two joints in their plane, by the boundary of what they may do.

Joint positions within all limits are cut into pieces where the determinant of the plane's Jacobian has one
sign, :math:`\{s : c_k(s) \ge 0,\ \pm\det J(s) \ge 0\}`. Their boundaries are followed in joint space; the image of a
piece is known from that of its boundary (eq:covering-degree). The edge of the workspace is made of
images of limits and of the singular curve :math:`\det J = 0`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.design.workspace.arrangement import Polygon, Region, union
from servotwin.design.workspace.limits import Limit, LimitSet
from servotwin.design.workspace.section import Section
from servotwin.design.workspace.trace import Loop, trace
from servotwin.errors import InputError
from servotwin.mechanism.model import Array

CELLS = 160  # of the grid on which curves in joint space are found, either way
CHORD = 0.1  # part of the tolerance that chords may be off
STRETCHED = "stretched or folded arm"


@dataclass(frozen=True)
class PlanarRegion:
    """The reachable set, the limits that its labels number, and the joint positions behind it."""

    region: Region
    limits: tuple[Limit, ...]
    pieces: tuple[tuple[int, Loop], ...]  # sign of det J, and a boundary curve in joint space

    def label(self, ring: int) -> list[str]:
        """The limit that binds on each edge of a ring."""
        return [self.limits[k].name for k in self.region.labels[ring]]


def planar_region(section: Section, limits: LimitSet, tolerance: float) -> PlanarRegion:
    """The set that the two joints of a section reach within all limits, its boundary to ``tolerance`` [m]."""
    low, high = limits.joints[:, section.joints]
    _require_fixed(section, limits)
    size = high - low
    scale = _largest_determinant(section, low, high)

    def at(u: Array) -> Array:  # the unit square is the joints' range
        return low + u * size

    def image(u: Array) -> Array:
        return section.points(at(u))

    pieces: list[tuple[int, Loop]] = []
    sets: list[list[Polygon]] = []
    for sign in (1, -1):

        def margins(u: Array, sign: int = sign) -> Array:
            s = at(u)
            det = np.linalg.det(section.jacobian(s)) / scale
            return np.column_stack([limits.margins(section.full(s)), sign * det])

        rim = 1.5 / CELLS
        loops = trace(
            margins, np.full(2, -rim), np.full(2, 1.0 + rim), (CELLS + 3, CELLS + 3), image, CHORD * tolerance
        )
        polygons = [Polygon(image(loop.points), loop.labels) for loop in loops]
        pieces += [(sign, Loop(at(loop.points), loop.labels)) for loop in loops]
        if polygons:
            sets.append(polygons)
    if not sets:
        raise InputError(
            f"{section.robot.name}: the workspace is empty: no position of {_joints(section)} is within all limits"
        )
    region = union(sets, least_width=0.5 * CHORD * tolerance)
    return PlanarRegion(region, (*limits.limits, Limit("singular", STRETCHED)), tuple(pieces))


def _joints(section: Section) -> str:
    return " and ".join(section.robot.joint_names[k] for k in section.joints)


def _largest_determinant(section: Section, low: Array, high: Array) -> float:
    grid = np.stack(np.meshgrid(*(np.linspace(low[i], high[i], 41) for i in range(2)), indexing="ij"), axis=-1)
    return float(np.abs(np.linalg.det(section.jacobian(grid.reshape(-1, 2)))).max())


def _require_fixed(section: Section, limits: LimitSet) -> None:
    """Refuse joints that stand still beyond their own limits."""
    for k, name in enumerate(section.robot.joint_names):
        out = not limits.joints[0, k] - 1e-9 <= section.q[k] <= limits.joints[1, k] + 1e-9
        if k not in section.joints and out:
            raise InputError(
                f"{section.robot.name}: joint '{name}' stands still outside of its limits; expected a position "
                f"from {limits.joints[0, k]:.6g} to {limits.joints[1, k]:.6g}",
                field="q",
            )
