r"""The tree as the algorithms over any scalar see it: one ``Joint`` per body, at one instant.

A joint carries the constant part of its placement (eq:tree-dh) and the cosine
and sine of its full turn theta + q. Its methods move vectors, forces and
second moments between the body and its parent. All are written with plain
arithmetic, so they run on floats and derive on graph nodes alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from servotwin.dynamics.vector import Scalar, Vec, add

Turn = tuple[Scalar, Scalar]  # cosine, sine


def turn_z(v: Vec, turn: Turn) -> Vec:
    """Rz(angle) v."""
    c, s = turn
    return (c * v[0] - s * v[1], s * v[0] + c * v[1], v[2])


def back_z(v: Vec, turn: Turn) -> Vec:
    """Rz(angle)^T v."""
    c, s = turn
    return (c * v[0] + s * v[1], c * v[1] - s * v[0], v[2])


def turn_x(v: Vec, turn: Turn) -> Vec:
    """Rx(angle) v."""
    c, s = turn
    return (v[0], c * v[1] - s * v[2], s * v[1] + c * v[2])


def back_x(v: Vec, turn: Turn) -> Vec:
    """Rx(angle)^T v."""
    c, s = turn
    return (v[0], c * v[1] + s * v[2], c * v[2] - s * v[1])


@dataclass(frozen=True)
class Joint:
    """One joint of the tree at an instant; angles as (cosine, sine), lengths in metres."""

    parent: int
    prismatic: bool
    gamma: Turn
    b: Scalar
    twist: Turn
    alpha: Turn
    d: Scalar
    theta: Turn  # theta + q if revolute
    r: Scalar  # r + q if prismatic

    def to_child(self, v: Vec) -> Vec:
        """A free vector of the parent, seen from the body."""
        return back_z(back_x(back_z(back_z(v, self.gamma), self.twist), self.alpha), self.theta)

    def to_parent(self, v: Vec) -> Vec:
        """A free vector of the body, seen from the parent."""
        return turn_z(turn_z(turn_x(turn_z(v, self.theta), self.alpha), self.twist), self.gamma)

    def offset(self) -> Vec:
        """Where the body's axis is met in the parent: T_z(b) Rz(gamma) T_x(d), without the shift r."""
        x, y, _ = turn_z((self.d, 0.0, 0.0), self.gamma)
        return (x, y, self.b)

    def force_to_parent(self, f: Vec, n: Vec) -> tuple[Vec, Vec]:
        """Force f and moment n about the body's origin, as force and moment about the parent's."""
        n = (n[0] - self.r * f[1], n[1] + self.r * f[0], n[2])
        f, n = self.to_parent(f), self.to_parent(n)
        x, y, z = self.offset()
        return f, add(n, (y * f[2] - z * f[1], z * f[0] - x * f[2], x * f[1] - y * f[0]))


@dataclass(frozen=True)
class Moments:
    """Mass, first and second moments of a body about its origin (see mechanism.grouping)."""

    m: Scalar
    s: Vec
    J: tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]  # xx, xy, yy, xz, yz, zz

    def __add__(self, other: Moments) -> Moments:
        Jxx, Jxy, Jyy, Jxz, Jyz, Jzz = self.J
        Kxx, Kxy, Kyy, Kxz, Kyz, Kzz = other.J
        J = (Jxx + Kxx, Jxy + Kxy, Jyy + Kyy, Jxz + Kxz, Jyz + Kyz, Jzz + Kzz)
        return Moments(self.m + other.m, add(self.s, other.s), J)

    def turned_z(self, turn: Turn) -> Moments:
        """Seen from a frame in which this one is turned by Rz."""
        c, s = turn
        Jxx, Jxy, Jyy, Jxz, Jyz, Jzz = self.J
        if s == 0.0 and c == 1.0:
            return self
        # With D = Jxx - Jyy: Jxx' = Jxx - s (s D + 2 c Jxy), Jxy' = c s D + (c2 - s2) Jxy
        t = s * (Jxx - Jyy) + 2.0 * (c * Jxy)
        u = s * t
        x, y, _ = turn_z((Jxz, Jyz, 0.0), turn)
        J = (Jxx - u, c * t - Jxy, Jyy + u, x, y, Jzz)
        return Moments(self.m, turn_z(self.s, turn), J)

    def turned_x(self, turn: Turn) -> Moments:
        """Seen from a frame in which this one is turned by Rx."""
        c, s = turn
        Jxx, Jxy, Jyy, Jxz, Jyz, Jzz = self.J
        if s == 0.0 and c == 1.0:
            return self
        t = s * (Jyy - Jzz) + 2.0 * (c * Jyz)
        u = s * t
        _, y, z = turn_x((0.0, Jxy, Jxz), turn)
        J = (Jxx, y, Jyy - u, z, c * t - Jyz, Jzz + u)
        return Moments(self.m, turn_x(self.s, turn), J)

    def shifted(self, p: Vec) -> Moments:
        """About an origin from which this body's origin is seen at p."""
        Jxx, Jxy, Jyy, Jxz, Jyz, Jzz = self.J
        (x, y, z), (sx, sy, sz), m = p, self.s, self.m
        tx, ty, tz = sx + m * x, sy + m * y, sz + m * z
        J = (
            Jxx + x * (sx + tx),
            Jxy + (x * sy + y * tx),
            Jyy + y * (sy + ty),
            Jxz + (x * sz + z * tx),
            Jyz + (y * sz + z * ty),
            Jzz + z * (sz + tz),
        )
        return Moments(m, (tx, ty, tz), J)

    def to_parent(self, joint: Joint) -> Moments:
        """Seen from the parent of the joint."""
        body = self.shifted((0.0, 0.0, joint.r)).turned_z(joint.theta).turned_x(joint.alpha)
        body = body.turned_z(joint.twist).shifted((joint.d, 0.0, joint.b))
        return body.turned_z(joint.gamma)


@dataclass(frozen=True)
class Chain:
    """The whole tree at an instant: joints (parents before children), bodies, gravity."""

    joints: Sequence[Joint]
    bodies: Sequence[Moments]
    gravity: Vec

    def children(self, i: int) -> list[int]:
        """Bodies that hang directly on body i."""
        return [k for k, joint in enumerate(self.joints) if joint.parent == i]
