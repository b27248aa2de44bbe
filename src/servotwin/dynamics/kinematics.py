"""Forward kinematics, Jacobians and energy, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from servotwin.dynamics.chain import Chain, Joint, Turn
from servotwin.dynamics.vector import ZERO, Scalar, Vec, add, cross, dot, scale, sub


@dataclass(frozen=True)
class Pose:
    """Axes (columns) and origin of a frame, seen from the base."""

    x: Vec
    y: Vec
    z: Vec
    p: Vec

    def turned_z(self, turn: Turn) -> Pose:
        """This pose followed by Rz."""
        c, s = turn
        x = add(scale(c, self.x), scale(s, self.y))
        y = sub(scale(c, self.y), scale(s, self.x))
        return Pose(x, y, self.z, self.p)

    def turned_x(self, turn: Turn) -> Pose:
        """This pose followed by Rx."""
        c, s = turn
        y = add(scale(c, self.y), scale(s, self.z))
        z = sub(scale(c, self.z), scale(s, self.y))
        return Pose(self.x, y, z, self.p)

    def shifted(self, dx: Scalar, dz: Scalar) -> Pose:
        """This pose followed by T_x(dx) T_z(dz)."""
        return Pose(self.x, self.y, self.z, add(self.p, add(scale(dx, self.x), scale(dz, self.z))))

    def point(self, v: Vec) -> Vec:
        """A point given in this frame, seen from the base."""
        return add(self.p, self.vector(v))

    def vector(self, v: Vec) -> Vec:
        """A free vector given in this frame, seen from the base."""
        return add(add(scale(v[0], self.x), scale(v[1], self.y)), scale(v[2], self.z))

    def then(self, X: Sequence[Sequence[Scalar]]) -> Pose:
        """This pose followed by a constant 4x4 transform."""
        columns = [(X[0][k], X[1][k], X[2][k]) for k in range(4)]
        x, y, z = (self.vector(c) for c in columns[:3])
        return Pose(x, y, z, self.point(columns[3]))

    def matrix(self) -> list[list[Scalar]]:
        """4x4 homogeneous matrix."""
        rows = [[self.x[k], self.y[k], self.z[k], self.p[k]] for k in range(3)]
        return [*rows, [0.0, 0.0, 0.0, 1.0]]


BASE_POSE = Pose((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), ZERO)


def next_pose(joint: Joint, parent: Pose) -> Pose:
    """Pose of the body behind a joint (eq:tree-dh)."""
    at_axis = parent.turned_z(joint.gamma).shifted(joint.d, joint.b)
    return at_axis.turned_z(joint.twist).turned_x(joint.alpha).turned_z(joint.theta).shifted(0.0, joint.r)


def body_poses(chain: Chain) -> list[Pose]:
    """Poses of all bodies."""
    poses: list[Pose] = []
    for joint in chain.joints:
        poses.append(next_pose(joint, BASE_POSE if joint.parent < 0 else poses[joint.parent]))
    return poses


def jacobian(chain: Chain, poses: Sequence[Pose], body: int, point: Vec) -> list[list[Scalar]]:
    """6 x n: velocity of a point of a body (rows 1-3) and its angular velocity (rows 4-6), base axes."""
    columns: list[list[Scalar]] = [[0.0] * 6 for _ in chain.joints]
    k = body
    while k >= 0:
        z, p = poses[k].z, poses[k].p
        if chain.joints[k].prismatic:
            columns[k] = [*z, 0.0, 0.0, 0.0]
        else:
            columns[k] = [*cross(z, sub(point, p)), *z]
        k = chain.joints[k].parent
    return [[column[row] for column in columns] for row in range(6)]


def energies(chain: Chain, qd: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
    """Kinetic energy and potential energy (zero for mass at the base origin) [J]."""
    kinetic: Scalar = 0.0
    potential: Scalar = 0.0
    poses = body_poses(chain)
    velocities: list[tuple[Vec, Vec]] = []
    for i, joint in enumerate(chain.joints):
        w, v = (ZERO, ZERO) if joint.parent < 0 else velocities[joint.parent]
        v = add(v, cross(w, joint.offset()))
        w, v = joint.to_child(w), joint.to_child(v)
        v = (v[0] + w[1] * joint.r, v[1] - w[0] * joint.r, v[2])
        if joint.prismatic:
            v = (v[0], v[1], v[2] + qd[i])
        else:
            w = (w[0], w[1], w[2] + qd[i])
        velocities.append((w, v))
        body = chain.bodies[i]
        Jxx, Jxy, Jyy, Jxz, Jyz, Jzz = body.J
        spin = (
            (Jyy + Jzz) * (w[0] * w[0])
            + (Jxx + Jzz) * (w[1] * w[1])
            + (Jxx + Jyy) * (w[2] * w[2])
            - 2.0 * (Jxy * (w[0] * w[1]) + Jxz * (w[0] * w[2]) + Jyz * (w[1] * w[2]))
        )
        kinetic = kinetic + 0.5 * (body.m * dot(v, v) + 2.0 * dot(v, cross(w, body.s)) + spin)
        moment = add(scale(body.m, poses[i].p), poses[i].vector(body.s))
        potential = potential - dot(moment, chain.gravity)
    return kinetic, potential
