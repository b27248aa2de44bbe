r"""The reachable set of two joints in their plane, by the boundary of what they may do.

Joint positions within all limits are cut into pieces where the determinant of the plane's Jacobian has one
sign, :math:`\{s : c_k(s) \ge 0,\ \pm\det J(s) \ge 0\}`. Their boundaries are followed in joint space; the image of a
piece is known from that of its boundary (eq:covering-degree). The edge of the workspace is made of
images of limits and of the singular curve :math:`\det J = 0`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.design.workspace.arrangement import Polygon, Region, union
from servotwin.design.workspace.limits import Limit, LimitSet
from servotwin.design.workspace.section import Section
from servotwin.design.workspace.trace import Loop, trace
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot

CELLS = 160  # of the grid on which curves in joint space are found, either way
NEAR = 0.03  # rad or m beyond linear limits that is still computed
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
    require_fixed(section.robot, limits, section.joints, section.q)
    size = high - low
    scale = _largest_determinant(section, limits)

    def at(u: Array) -> Array:  # the unit square is the joints' range
        return np.asarray(low + u * size)

    def within(u: Array) -> Array:  # loops need not close beyond the range of the joints
        return np.clip(at(u), low, high)

    def image(u: Array) -> Array:
        return section.points(within(u))

    pieces: list[tuple[int, Loop]] = []
    sets: list[list[Polygon]] = []
    for sign in (1, -1):

        def margins(u: Array, sign: int = sign) -> Array:
            return _margins(section, limits, at(u), within(u), sign / scale)

        rim = 1.5 / CELLS
        loops = trace(
            margins, np.full(2, -rim), np.full(2, 1.0 + rim), (CELLS + 3, CELLS + 3), image, CHORD * tolerance
        )
        polygons = [Polygon(image(loop.points), loop.labels) for loop in loops]
        pieces += [(sign, Loop(at(loop.points), loop.labels)) for loop in loops]
        if polygons:
            sets.append(polygons)
    if not sets:
        raise InputError(_empty(section))
    region = union(sets, least_width=0.5 * CHORD * tolerance)
    return PlanarRegion(region, (*limits.limits, Limit("singular", STRETCHED)), tuple(pieces))


def _margins(section: Section, limits: LimitSet, s: Array, within: Array, scale: float) -> Array:
    """Margins and scaled det J (k, m); what is not linear counts as kept where a linear limit is passed by far."""
    linear = limits.linear(section.full(s))
    out = np.ones((len(s), len(limits.limits) + 1))
    out[:, : linear.shape[1]] = linear
    near = linear.min(axis=1) > -NEAR  # farther out loops need not close
    if near.any():
        q = section.full(within[near])
        out[near, linear.shape[1] : -1] = limits.other(q)
        out[near, -1] = scale * np.linalg.det(section.jacobian(within[near]))
    return out


def _empty(section: Section) -> str:
    names = " and ".join(section.robot.joint_names[k] for k in section.joints)
    return f"{section.robot.name}: the workspace is empty: no position of {names} is within all limits"


def _largest_determinant(section: Section, limits: LimitSet) -> float:
    low, high = limits.joints[:, section.joints]
    grid = np.stack(
        np.meshgrid(*(np.linspace(low[i], high[i], 61) for i in range(2)), indexing="ij"), axis=-1
    )
    s = grid.reshape(-1, 2)
    s = s[limits.linear(section.full(s)).min(axis=1) >= 0.0]
    if not len(s):
        raise InputError(_empty(section))
    return float(np.abs(np.linalg.det(section.jacobian(s))).max())


def require_fixed(robot: Robot, limits: LimitSet, moving: Sequence[int], q: Array) -> None:
    """Refuse joints that stand still beyond their own limits, at ``q`` (n,)."""
    for k, name in enumerate(robot.joint_names):
        out = not limits.joints[0, k] - 1e-9 <= q[k] <= limits.joints[1, k] + 1e-9
        if k not in moving and out:
            raise InputError(
                f"{robot.name}: joint '{name}' stands still outside of its limits; expected a position "
                f"from {limits.joints[0, k]:.6g} to {limits.joints[1, k]:.6g}",
                field="q",
            )
