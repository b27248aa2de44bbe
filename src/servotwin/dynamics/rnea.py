r"""Inverse dynamics: recursive Newton-Euler in body coordinates, over any scalar.

The motion of a body is its angular velocity w, the matrix
:math:`U = [\dot w]_\times + [w]_\times [w]_\times` and the acceleration a of its
origin; a point at r accelerates with a + U r. Summed over the body,

.. math:: F = m a + U s, \qquad N_k = \varepsilon_{kij} (U J)_{ji} + (s \times a)_k     (eq:body-force)

with first moment s and second moment J. Gravity enters as an upward
acceleration of the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from servotwin.dynamics.chain import Chain, Joint, Moments
from servotwin.dynamics.vector import ZERO, Scalar, Vec, add, cross, scale, times

Rows = tuple[Vec, Vec, Vec]


@dataclass(frozen=True)
class Motion:
    """Angular velocity w, rate matrix U and acceleration a of the origin of one body."""

    w: Vec
    wd: Vec
    U: Rows
    a: Vec


def rate_matrix(w: Vec, wd: Vec) -> Rows:
    """U = [wd]x + [w]x [w]x."""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return (
        (-(yy + zz), xy - wd[2], xz + wd[1]),
        (xy + wd[2], -(xx + zz), yz - wd[0]),
        (xz - wd[1], yz + wd[0], -(xx + yy)),
    )


def body_force(body: Moments, U: Rows, a: Vec) -> tuple[Vec, Vec]:
    """Force and moment about the origin that give a body this motion (eq:body-force)."""
    F = add(scale(body.m, a), times(U, body.s))
    Jxx, Jxy, Jyy, Jxz, Jyz, Jzz = body.J
    (Uxx, Uxy, Uxz), (Uyx, Uyy, Uyz), (Uzx, Uzy, Uzz) = U
    N = (
        Uzy * Jyy - Uyz * Jzz + Uzx * Jxy - Uyx * Jxz + (Uzz - Uyy) * Jyz,
        Uxz * Jzz - Uzx * Jxx + Uxy * Jyz - Uzy * Jxy + (Uxx - Uzz) * Jxz,
        Uyx * Jxx - Uxy * Jyy + Uyz * Jxz - Uxz * Jyz + (Uyy - Uxx) * Jxy,
    )
    return F, add(N, cross(body.s, a))


def next_motion(joint: Joint, parent: Motion, qd: Scalar, qdd: Scalar) -> Motion:
    """Motion of the body behind a joint from that of its parent."""
    at_axis = add(parent.a, times(parent.U, joint.offset()))
    w, wd, a = joint.to_child(parent.w), joint.to_child(parent.wd), joint.to_child(at_axis)
    if not joint.prismatic:
        wd = (wd[0] + w[1] * qd, wd[1] - w[0] * qd, wd[2] + qdd)
        w = (w[0], w[1], w[2] + qd)
    U = rate_matrix(w, wd)
    a = add(a, (U[0][2] * joint.r, U[1][2] * joint.r, U[2][2] * joint.r))
    if joint.prismatic:
        a = (a[0] + 2.0 * (w[1] * qd), a[1] - 2.0 * (w[0] * qd), a[2] + qdd)
    return Motion(w, wd, U, a)


def base_motion(gravity: Vec) -> Motion:
    """The base at rest, accelerating upwards against gravity."""
    return Motion(ZERO, ZERO, (ZERO, ZERO, ZERO), (-gravity[0], -gravity[1], -gravity[2]))


def rnea(chain: Chain, qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Scalar]:
    """Joint torques and forces for a motion, gravity included [N m, N]."""
    return joint_efforts(chain, body_wrenches(chain, body_motions(chain, qd, qdd)))


def body_motions(chain: Chain, qd: Sequence[Scalar], qdd: Sequence[Scalar]) -> list[Motion]:
    """Motions of all bodies: the forward pass."""
    motions: list[Motion] = []
    base = base_motion(chain.gravity)
    for i, joint in enumerate(chain.joints):
        parent = base if joint.parent < 0 else motions[joint.parent]
        motions.append(next_motion(joint, parent, qd[i], qdd[i]))
    return motions


def body_wrenches(chain: Chain, motions: Sequence[Motion]) -> list[tuple[Vec, Vec]]:
    """Force and moment about its origin that every body must receive."""
    return [body_force(b, m.U, m.a) for b, m in zip(chain.bodies, motions, strict=True)]


def joint_efforts(chain: Chain, wrenches: Sequence[tuple[Vec, Vec]]) -> list[Scalar]:
    """What every joint must give so that each body receives its wrench: the backward pass."""
    total = list(wrenches)
    effort: list[Scalar] = [0.0] * len(chain.joints)
    for i in reversed(range(len(chain.joints))):
        joint = chain.joints[i]
        f, n = total[i]
        effort[i] = f[2] if joint.prismatic else n[2]
        if joint.parent >= 0:
            up_f, up_n = joint.force_to_parent(f, n)
            F, N = total[joint.parent]
            total[joint.parent] = (add(F, up_f), add(N, up_n))
    return effort
