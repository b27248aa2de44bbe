"""Closed form for six revolute joints of which the last three meet in one point, at any other geometry.

The first three joints bring that point, the wrist centre, to its place (up to
four ways, ``regional``); the last three turn the tool (two ways each), so there
are up to eight branches. Where joint 4 and joint 6 come to lie on one line, only
the sum of their turns is determined: joint 4 then keeps the value of the
reference position and one representative is returned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from servotwin.dynamics.ik.elementary import EDGE
from servotwin.dynamics.ik.geometry import ToolChain, angle_about, angle_between, parallel, turn_angle
from servotwin.dynamics.ik.pose import cross, rotation
from servotwin.dynamics.ik.regional import Regional
from servotwin.errors import UnreachableError, UnsupportedError
from servotwin.mechanism.model import Array

MEET = 1e-6  # relative to the size of the arm: distance at which the wrist axes still count as meeting
IN_LINE = 1e-10  # sine between axes 4 and 6 below which they count as one line


@dataclass(frozen=True)
class SphericalWristSolver:
    """A 6R arm with its wrist centre (at zero angles) and its positioning part."""

    chain: ToolChain
    centre: Array  # (3,)
    regional: Regional

    @classmethod
    def match(cls, chain: ToolChain) -> SphericalWristSolver | None:
        """The solver if the chain is such an arm, otherwise None."""
        if len(chain.joints) != 6 or any(chain.prismatic) or chain.one_to_one is None:
            return None
        if parallel(chain.axes[3], chain.axes[4]) or parallel(chain.axes[4], chain.axes[5]):
            return None
        centre = meeting_point(chain.points[3:], chain.axes[3:])
        gaps = np.linalg.norm(np.cross(chain.points[3:] - centre, chain.axes[3:]), axis=1)
        if np.max(gaps) > MEET * chain.size:
            return None
        try:
            regional = Regional.of(chain.points, chain.axes, centre, chain.size)
        except UnsupportedError:
            return None
        return cls(chain, centre, regional)

    def branches(self, T: Array, q_ref: Array) -> list[Array]:
        """All q that bring the tool to T, without regard to limits and full turns."""
        chain = self.chain
        R = T[:3, :3] @ chain.home[:3, :3].T
        w = T[:3, 3] + R @ (self.centre - chain.home[:3, 3])
        free = chain.G @ q_ref + chain.offset
        # Candidates that miss by more are no roots; Newton steps take out what remains.
        tolerance = 10.0 * MEET * chain.size
        arms = [
            arm
            for arm in self.regional.solve(w, free)
            if np.linalg.norm(self.regional.place(arm) - w) <= tolerance
        ]
        if not arms:
            raise UnreachableError(self._miss(w))
        found = []
        for arm in arms:
            carried = np.eye(3)
            for axis, angle in zip(chain.axes[:3], arm, strict=True):
                carried = carried @ rotation(axis, float(angle))
            for wrist in self._wrist(carried.T @ R, float(free[3])):
                found.append(chain.joint_positions(np.concatenate([arm, wrist]), q_ref))
        if not found:
            raise UnreachableError(
                f"{chain.name}: the wrist can be brought into place, but its axes, which are not at right "
                f"angles, cannot turn the tool into the asked orientation"
            )
        return found

    def _wrist(self, R: Array, free: float) -> list[Array]:
        """Angles (3,) of the wrist joints whose turns multiply to R."""
        u4, u5, u6 = self.chain.axes[3:]
        goal = R @ u6
        found = []
        for theta5 in _bends(u4, u5, u6, goal):
            turned = rotation(u5, theta5) @ u6
            in_line = np.linalg.norm(cross(u4, turned)) < IN_LINE
            theta4 = free if in_line else angle_about(u4, turned, goal)
            rest = rotation(u5, -theta5) @ rotation(u4, -theta4) @ R
            found.append(np.array([theta4, theta5, turn_angle(u6, rest)]))
        return found

    def _miss(self, w: Array) -> str:
        low, high = self.regional.reach()
        distance = float(np.linalg.norm(w - self.regional.p[0]))
        place = ", ".join(f"{value:.4g}" for value in w)
        if low <= distance <= high:
            return f"{self.chain.name}: the wrist centre ({place}) m lies in a void of the workspace"
        return (
            f"{self.chain.name}: the target's wrist centre is {distance:.4g} m from the shoulder; "
            f"the arm reaches {low:.4g} .. {high:.4g} m"
        )


def _bends(u4: Array, u5: Array, u6: Array, goal: Array) -> list[float]:
    """Turns about u5 that give u6 the same angle with u4 as ``goal`` has: none or two.

    u4, u5 and the turned u6 are the corners of a spherical triangle with sides a, b and c; the half-angle
    formula gives its angle at u5 to full precision also where the triangle degenerates.
    """
    a, b, c = angle_between(u4, u5), angle_between(u5, u6), angle_between(u4, goal)
    s = 0.5 * (a + b + c)
    over, under = math.sin(s - a) * math.sin(s - b), math.sin(s) * math.sin(s - c)
    if min(over, under) < -EDGE:
        return []
    half = 2.0 * math.atan2(math.sqrt(max(over, 0.0)), math.sqrt(max(under, 0.0)))
    middle = angle_about(u5, u6, u4)
    return [middle + half, middle - half]


def meeting_point(points: Array, axes: Array) -> Array:
    """The point nearest to several lines, least squares, (3,)."""
    normals = np.eye(3) - axes[:, :, None] * axes[:, None, :]
    A = normals.sum(axis=0)
    b = np.einsum("kij,kj->i", normals, points)
    return np.asarray(np.linalg.solve(A, b), dtype=np.float64)
