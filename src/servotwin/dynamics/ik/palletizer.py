"""Closed form for palletizers: a turning column, a plane arm of two links, a hand that stays level.

The chain is th1 about the column, th2, th3 and the dependent th4 about parallel
horizontal axes with th2 + th3 + th4 constant, and th5 about the vertical (Kim
2018, eq 2 to 6, corrected). Elbow up or down times arm to the front or over the
back gives up to four branches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from servotwin.description.display import DEG
from servotwin.dynamics.ik.elementary import EDGE, two_link_angles
from servotwin.dynamics.ik.geometry import ToolChain, angle_about, angle_between, parallel, planar, turn_angle
from servotwin.dynamics.ik.pose import cross, rotation
from servotwin.errors import UnreachableError
from servotwin.mechanism.model import Array

POSE = 1e-6  # rad: tool axes further from the vertical are refused


@dataclass(frozen=True)
class PalletizerSolver:
    """Geometry of the arm at zero angles; ``basis`` rows: outwards, up the column, along the arm's axes."""

    chain: ToolChain
    basis: Array  # (3, 3), right-handed
    sign: Array  # (5,) sense of every joint relative to the column axis (1, 5) or the arm axes (2, 3, 4)
    columns: tuple[int, int, int, int]  # places of th1, th2, th3, th5 in q
    hand_turn: float  # constant turn of the level hand about the arm's axes, from zero angles
    tilt: float = POSE  # tool axes further from the vertical are refused

    @classmethod
    def match(cls, chain: ToolChain) -> PalletizerSolver | None:
        """The solver if the chain is such an arm, otherwise None."""
        columns = _independent_columns(chain)
        if columns is None:
            return None
        up, v = chain.axes[0], chain.axes[1]
        sign = np.array([1.0, 1.0, *np.sign(chain.axes[2:4] @ v), 1.0])
        turns = sign[1:4] @ chain.G[1:4]
        level = bool(np.all(np.abs(turns) < 1e-9))
        if not level or abs(up @ v) > POSE or not all(parallel(v, axis) for axis in chain.axes[2:4]):
            return None
        hand_turn = float(sign[1:4] @ chain.offset[1:4])
        spin = rotation(v, hand_turn) @ chain.axes[4]
        sign[4] = np.sign(spin @ up)
        if not parallel(up, spin):
            return None
        return cls(chain, np.array([cross(up, v), up, v]), sign, columns, hand_turn)

    def corner(self, k: int) -> Array:
        """Point of axis k at zero angles in the basis, from a point of the column axis, (3,)."""
        return np.asarray(self.basis @ (self.chain.points[k] - self.chain.points[0]), dtype=np.float64)

    def branches(self, T: Array, q_ref: Array) -> list[Array]:
        """All q that bring the tool to T, without regard to limits and full turns."""
        chain = self.chain
        R = T[:3, :3] @ chain.home[:3, :3].T
        self._require_level(R)
        wrist = T[:3, 3] + R @ (chain.points[4] - chain.home[:3, 3])
        found, distances = [], []
        for turn1, radius, height in self._columns_turns(wrist, q_ref):
            pairs, distance = self._arm(radius, height, q_ref)
            distances.append(distance)
            found += [self._joints(turn1, pair, R, q_ref) for pair in pairs]
        if not found:
            l2, l3 = (float(np.linalg.norm(link)) for link in self._links())
            raise UnreachableError(
                f"{chain.name}: the target's wrist is {min(distances):.4g} m from the second axis; "
                f"the arm reaches {abs(l2 - l3):.4g} .. {l2 + l3:.4g} m"
            )
        return found

    def _links(self) -> tuple[Array, Array]:
        return (self.corner(2) - self.corner(1))[:2], (self.corner(3) - self.corner(2))[:2]

    def _columns_turns(self, wrist: Array, q_ref: Array) -> list[tuple[float, float, float]]:
        """Turn of the column, signed radius and height of the wrist: arm to the front, over the back."""
        out, up, v = self.basis
        w = wrist - self.chain.points[0]
        side = float(self.corner(4)[2])
        across = float(np.hypot(w @ out, w @ v))
        if across < abs(side) - EDGE * self.chain.size:
            raise UnreachableError(
                f"{self.chain.name}: the target's wrist is {across:.4g} m from the first axis; "
                f"the arm passes it at {abs(side):.4g} m"
            )
        radius = math.sqrt(max(across**2 - side**2, 0.0))
        turns = []
        for signed in (radius, -radius) if radius > EDGE * self.chain.size else (0.0,):
            if across <= EDGE * self.chain.size:
                turn = float((self.chain.G @ q_ref + self.chain.offset)[0])
            else:
                turn = angle_about(up, signed * out + side * v, w)
            turns.append((turn, signed, float(up @ w)))
        return turns

    def _arm(self, radius: float, height: float, q_ref: Array) -> tuple[list[tuple[float, float]], float]:
        """Turns of both links from zero angles, and the distance of the hand's axis from the second axis."""
        hand = planar(self.hand_turn) @ (self.corner(4) - self.corner(3))[:2]
        tip = np.array([radius, height]) - self.corner(1)[:2] - hand
        first, second = self._links()
        zero1, zero2 = math.atan2(first[1], first[0]), math.atan2(second[1], second[0])
        free = zero1 + float((self.chain.G @ q_ref + self.chain.offset)[1])
        lengths = float(np.linalg.norm(first)), float(np.linalg.norm(second))
        pairs = two_link_angles(*lengths, float(tip[0]), float(tip[1]), free)
        return [(a - zero1, b - zero2) for a, b in pairs], float(np.hypot(*tip))

    def _joints(self, turn1: float, pair: tuple[float, float], R: Array, q_ref: Array) -> Array:
        chain, (_, up, v) = self.chain, self.basis
        rest = rotation(v, -self.hand_turn) @ rotation(up, -turn1) @ R
        spin = turn_angle(chain.axes[4], rest)
        theta = (turn1, pair[0], self.sign[2] * (pair[1] - pair[0]), spin)
        q = np.array(q_ref, dtype=np.float64)
        for value, k, j in zip(theta, (0, 1, 2, 4), self.columns, strict=True):
            q[j] = (value - chain.offset[k]) / chain.G[k, j]
        return q

    def _require_level(self, R: Array) -> None:
        tilt = angle_between(R @ self.chain.axes[4], self.sign[4] * self.basis[1])
        if tilt > self.tilt:
            raise UnreachableError(
                f"{self.chain.name}: the parallelograms keep the tool axis parallel to the column; "
                f"the pose has it tilted by {DEG * tilt:.4g} deg"
            )


def _independent_columns(chain: ToolChain) -> tuple[int, int, int, int] | None:
    """Places in q of joints 1, 2, 3 and 5, which must each have their own coordinate."""
    if len(chain.joints) != 5 or any(chain.prismatic):
        return None
    columns = []
    for k in (0, 1, 2, 4):
        used = np.flatnonzero(chain.G[k])
        if len(used) != 1:
            return None
        columns.append(int(used[0]))
    if len(set(columns)) != 4:
        return None
    return columns[0], columns[1], columns[2], columns[3]
