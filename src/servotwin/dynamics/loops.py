r"""What a virtually cut joint demands of the two frames it joined, over any scalar.

==========  ==========================================================================
spherical   the origins coincide: 3 equations
revolute    the origins coincide and the z axes are parallel: 3 + 2 equations
prismatic   the axes are parallel pairwise, the origins differ along z only: 3 + 2
==========  ==========================================================================

(eq:cut). The paper of Song et al. (1995) counts 6 for a revolute and for a prismatic cut;
the sixth is the coordinate of the cut joint itself, which does not appear here.
"""

from __future__ import annotations

from collections.abc import Sequence

from servotwin.dynamics.kinematics import Pose
from servotwin.dynamics.vector import Scalar, Vec, add, dot, scale, sub
from servotwin.mechanism.model import CutKind

EQUATIONS = {
    CutKind.SPHERICAL: ("x", "y", "z"),
    CutKind.REVOLUTE: ("x", "y", "z", "x.z", "y.z"),
    CutKind.PRISMATIC: ("across x", "across y", "x.y", "y.z", "z.x"),
}


def closure(kind: CutKind, a: Pose, b: Pose) -> list[Scalar]:
    """Residuals of a cut joint, zero when it is closed (eq:cut) [m or 1]."""
    gap = sub(a.p, b.p)
    if kind is CutKind.SPHERICAL:
        return [*gap]
    if kind is CutKind.REVOLUTE:
        return [*gap, dot(a.x, b.z), dot(a.y, b.z)]
    return [dot(a.x, gap), dot(a.y, gap), dot(a.x, b.y), dot(a.y, b.z), dot(a.z, b.x)]


def cut_wrench(kind: CutKind, a: Pose, forces: Sequence[Scalar]) -> tuple[Vec, Vec]:
    """Force [N] and moment [N m] on the side of frame a, at the origin of frame b, from the multipliers.

    ``forces`` belong to the residuals of ``closure`` and push against them: their power is forces . s'.
    With w the angular velocity of a relative to b, (a.x . b.z)' = -w . a.y and (a.y . b.z)' = w . a.x at a
    closed cut (eq:cut-force).
    """
    if kind is CutKind.PRISMATIC:
        fx, fy, nz, nx, ny = forces
        return add(scale(fx, a.x), scale(fy, a.y)), add(add(scale(nx, a.x), scale(ny, a.y)), scale(nz, a.z))
    force: Vec = (forces[0], forces[1], forces[2])
    if kind is CutKind.SPHERICAL:
        return force, (0.0, 0.0, 0.0)
    return force, sub(scale(forces[4], a.x), scale(forces[3], a.y))


def last_common(parent: Sequence[int], a: int, b: int) -> int:
    """The last body that carries both a and b (-1: the base)."""
    above = {-1}
    while a >= 0:
        above.add(a)
        a = parent[a]
    while b not in above:
        b = parent[b]
    return b
