"""Closed form for arms whose axes are all parallel: SCARA (any order of R, R, R and P) and plane arms.

Seen along the axes the arm is a plane chain of two or three revolute joints; a
prismatic joint sets the height. With three revolute joints the last one gives
the orientation (Lee 1989, eq 2 to 5, corrected); with two the orientation follows
from the position, and a pose is attainable only if it happens to fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from servotwin.description.display import DEG
from servotwin.dynamics.ik.elementary import two_link_angles
from servotwin.dynamics.ik.geometry import (
    ToolChain,
    angle_between,
    parallel,
    perpendicular,
    planar,
    turn_angle,
)
from servotwin.dynamics.ik.pose import POSITION_ALONE, cross
from servotwin.errors import UnreachableError
from servotwin.mechanism.model import Array

POSE = 1e-6  # rad, and relative to the size of the arm: orientations and heights further off are refused


@dataclass(frozen=True)
class ScaraSolver:
    """Geometry of an arm with parallel axes; ``basis`` rows: two directions of the plane and the axis."""

    chain: ToolChain
    revolute: tuple[int, ...]  # two or three joints of the chain
    prismatic: int | None
    sign: Array  # (m,) +1 where a joint's axis points like the first one's, -1 where it points back
    basis: Array  # (3, 3)
    position_only: bool
    tilt: float = POSE  # orientations and heights further off are refused

    @classmethod
    def match(cls, chain: ToolChain, position_only: bool = False) -> ScaraSolver | None:
        """The solver if the chain is such an arm, otherwise None."""
        revolute = tuple(k for k, slides in enumerate(chain.prismatic) if not slides)
        sliding = tuple(k for k, slides in enumerate(chain.prismatic) if slides)
        wanted = (2,) if position_only else (2, 3)
        if chain.one_to_one is None or len(revolute) not in wanted or len(sliding) > 1:
            return None
        u = chain.axes[revolute[0]]
        if not all(parallel(u, axis) for axis in chain.axes):
            return None
        e = perpendicular(u)
        basis = np.array([e, cross(u, e), u])
        solver = cls(
            chain, revolute, sliding[0] if sliding else None, np.sign(chain.axes @ u), basis, position_only
        )
        shortest = min(np.linalg.norm(solver.link(0)), np.linalg.norm(solver.link(1)))
        return solver if shortest > POSE * chain.size else None

    def corner(self, k: int) -> Array:
        """Where the k-th revolute axis (or, after the last one, the tool) lies at zero angles, (3,)."""
        chain = self.chain
        point = chain.points[self.revolute[k]] if k < len(self.revolute) else chain.home[:3, 3]
        return np.asarray(self.basis @ (point - chain.points[self.revolute[0]]), dtype=np.float64)

    def link(self, k: int) -> Array:
        """Vector of the plane from revolute axis k to the next one (or the tool), (2,)."""
        return (self.corner(k + 1) - self.corner(k))[:2]

    def branches(self, T: Array, q_ref: Array) -> list[Array]:
        """All q that bring the tool to T, without regard to limits and full turns."""
        chain = self.chain
        R = T[:3, :3] @ chain.home[:3, :3].T
        if not self.position_only:
            self._require_upright(R)
        phi = turn_angle(self.basis[2], R)
        target = self.basis @ (T[:3, 3] - chain.points[self.revolute[0]])
        height = float(target[2] - self.basis[2] @ (chain.home[:3, 3] - chain.points[self.revolute[0]]))
        self._require_height(height)
        wrist = target[:2]
        if len(self.revolute) == 3:
            wrist = wrist - planar(phi) @ self.link(2)
        found = [self._joints(pair, phi, height, q_ref) for pair in self._arm(wrist, q_ref)]
        if len(self.revolute) == 2 and not self.position_only:
            found = self._with_orientation(found, phi)
        return found

    def _arm(self, wrist: Array, q_ref: Array) -> list[tuple[float, float]]:
        """Turns of the first two links from their directions at zero angles."""
        first, second = self.link(0), self.link(1)
        l1, l2 = float(np.linalg.norm(first)), float(np.linalg.norm(second))
        zero1, zero2 = math.atan2(first[1], first[0]), math.atan2(second[1], second[0])
        k = self.revolute[0]
        free = zero1 + float((self.chain.G @ q_ref + self.chain.offset)[k])
        pairs = two_link_angles(l1, l2, float(wrist[0]), float(wrist[1]), free)
        if not pairs:
            what = "target" if np.linalg.norm(self.link(len(self.revolute) - 1)) == 0.0 else "target's wrist"
            what = "target" if len(self.revolute) == 2 else what
            raise UnreachableError(
                f"{self.chain.name}: the {what} is {float(np.hypot(*wrist)):.4g} m from the first axis; "
                f"the arm reaches {abs(l1 - l2):.4g} .. {l1 + l2:.4g} m"
            )
        return [(phi1 - zero1, phi2 - zero2) for phi1, phi2 in pairs]

    def _joints(self, turns: tuple[float, float], phi: float, height: float, q_ref: Array) -> Array:
        theta = np.zeros(len(self.chain.joints))
        total = 0.0
        for k, turn in zip(self.revolute, (*turns, phi), strict=False):
            theta[k] = self.sign[k] * (turn - total)
            total = turn
        if self.prismatic is not None:
            theta[self.prismatic] = self.sign[self.prismatic] * height
        return self.chain.joint_positions(theta, q_ref)

    def _require_upright(self, R: Array) -> None:
        u = self.basis[2]
        tilt = angle_between(u, R @ u)
        if tilt > self.tilt:
            raise UnreachableError(
                f"{self.chain.name}: all axes are parallel, so the tool cannot be tilted; "
                f"the pose has it tilted by {DEG * tilt:.4g} deg"
            )

    def _require_height(self, height: float) -> None:
        if self.prismatic is None and abs(height) > self.tilt * self.chain.size:
            raise UnreachableError(
                f"{self.chain.name}: the arm moves in a plane and the target is {height:.4g} m above it"
            )

    def _with_orientation(self, found: list[Array], phi: float) -> list[Array]:
        """Those of the branches of a two-joint arm that also have the asked orientation."""
        chain = self.chain
        misses = []
        for q in found:
            theta = chain.G @ q + chain.offset
            turn = sum(self.sign[k] * theta[k] for k in self.revolute)
            misses.append(abs(math.remainder(float(turn) - phi, math.tau)))
        fitting = [q for q, miss in zip(found, misses, strict=True) if miss <= self.tilt]
        if not fitting:
            raise UnreachableError(
                f"{chain.name}: the point can be reached, but two revolute joints cannot choose the "
                f"orientation, which would be off by {DEG * min(misses):.4g} deg{POSITION_ALONE}"
            )
        return fitting
