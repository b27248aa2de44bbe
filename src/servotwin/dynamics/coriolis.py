r"""Coriolis matrix of the Christoffel symbols, over any scalar.

For a system of particles :math:`\Gamma_{ijk} = \sum m\, \partial_i p \cdot \partial_j \partial_k p`,
hence

.. math:: C_{ij} = \sum m\, \partial_i p \cdot \tfrac{d}{dt} \partial_j p     (eq:christoffel)

Column j is therefore an inverse-dynamics pass in which the field
:math:`d/dt\, \partial_j p` takes the place of the acceleration. Behind a
revolute joint with axis z that field is, on body b,
:math:`A + ([\dot z]_\times + [z]_\times [w_b]_\times)\, r`.
"""

from __future__ import annotations

from collections.abc import Sequence

from servotwin.dynamics.chain import Chain
from servotwin.dynamics.rnea import Rows, body_force, joint_efforts
from servotwin.dynamics.vector import ZERO, Scalar, Vec, add, cross, dot, times

NO_RATE: Rows = (ZERO, ZERO, ZERO)


def angular_velocities(chain: Chain, qd: Sequence[Scalar]) -> list[Vec]:
    """Angular velocity of every body in its own frame."""
    w: list[Vec] = []
    for i, joint in enumerate(chain.joints):
        at = joint.to_child(ZERO if joint.parent < 0 else w[joint.parent])
        w.append(at if joint.prismatic else (at[0], at[1], at[2] + qd[i]))
    return w


def field_matrix(z: Vec, zd: Vec, w: Vec) -> Rows:
    """[zd]x + [z]x [w]x, with [z]x [w]x = w z^T - (z.w) 1."""
    zw = dot(z, w)
    return (
        (w[0] * z[0] - zw, w[0] * z[1] - zd[2], w[0] * z[2] + zd[1]),
        (w[1] * z[0] + zd[2], w[1] * z[1] - zw, w[1] * z[2] - zd[0]),
        (w[2] * z[0] - zd[1], w[2] * z[1] + zd[0], w[2] * z[2] - zw),
    )


def column_forces(chain: Chain, w: Sequence[Vec], qd: Sequence[Scalar], j: int) -> list[tuple[Vec, Vec]]:
    """Wrenches of all bodies for the field of joint j."""
    forces: list[tuple[Vec, Vec]] = [(ZERO, ZERO) for _ in chain.joints]
    fields: dict[int, tuple[Vec, Vec, Rows, Vec]] = {}
    for b in range(j, len(chain.joints)):
        joint = chain.joints[b]
        if b == j:
            z: Vec = ZERO if joint.prismatic else (0.0, 0.0, 1.0)
            swing = (w[j][1], -w[j][0], 0.0)  # w x z, the rate of the axis
            zd, A = (ZERO, swing) if joint.prismatic else (swing, ZERO)
        elif joint.parent in fields:
            z, zd, U, A = fields[joint.parent]
            A = joint.to_child(add(A, times(U, joint.offset())))
            z, zd = joint.to_child(z), joint.to_child(zd)
        else:
            continue
        U = NO_RATE if chain.joints[j].prismatic else field_matrix(z, zd, w[b])
        if b != j:
            A = add(A, (U[0][2] * joint.r, U[1][2] * joint.r, U[2][2] * joint.r))
            if joint.prismatic:
                A = add(A, cross(z, (0.0, 0.0, qd[b])))
        fields[b] = (z, zd, U, A)
        forces[b] = body_force(chain.bodies[b], U, A)
    return forces


def coriolis_matrix(chain: Chain, qd: Sequence[Scalar]) -> list[list[Scalar]]:
    """C(q, qd) with C qd the Coriolis and centrifugal torque and dM/dt - 2 C skew (eq:christoffel)."""
    n = len(chain.joints)
    w = angular_velocities(chain, qd)
    columns = [joint_efforts(chain, column_forces(chain, w, qd, j)) for j in range(n)]
    return [[columns[j][i] for j in range(n)] for i in range(n)]
