r"""Mass matrix: composite rigid bodies, over any scalar.

Column i is the force that a unit acceleration of joint i asks of the composite
body behind it. With first moment s and second moment J of that composite, a
unit turn about z needs force (-s_y, s_x, 0) and moment (-J_xz, -J_yz, J_xx + J_yy);
a unit slide along z needs force (0, 0, m) and moment (s_y, -s_x, 0)   (eq:composite).
"""

from __future__ import annotations

from servotwin.dynamics.chain import Chain, Moments
from servotwin.dynamics.vector import Scalar, Vec


def composite_bodies(chain: Chain) -> list[Moments]:
    """For every joint, all that it carries, about the origin of its body."""
    total = list(chain.bodies)
    for i in reversed(range(len(total))):
        joint = chain.joints[i]
        if joint.parent >= 0:
            total[joint.parent] = total[joint.parent] + total[i].to_parent(joint)
    return total


def unit_force(body: Moments, prismatic: bool) -> tuple[Vec, Vec]:
    """Force and moment for a unit acceleration about or along z (eq:composite)."""
    if prismatic:
        return (0.0, 0.0, body.m), (body.s[1], -body.s[0], 0.0)
    Jxx, _, Jyy, Jxz, Jyz, _ = body.J
    return (-body.s[1], body.s[0], 0.0), (-Jxz, -Jyz, Jxx + Jyy)


def mass_matrix(chain: Chain) -> list[list[Scalar]]:
    """M(q), symmetric; entries of joints on different branches are exactly zero."""
    n = len(chain.joints)
    M: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for i, body in enumerate(composite_bodies(chain)):
        f, n_i = unit_force(body, chain.joints[i].prismatic)
        k = i
        while k >= 0:
            joint = chain.joints[k]
            M[i][k] = M[k][i] = f[2] if joint.prismatic else n_i[2]
            if joint.parent < 0:
                break
            f, n_i = joint.force_to_parent(f, n_i)
            k = joint.parent
    return M
