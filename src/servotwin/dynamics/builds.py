r"""Kinematics of many builds of one robot at many positions: arrays over draws and positions at once.

A draw of deviations is a robot of its own; a thousand robots would be a thousand tables of numbers. Here the
placements of all draws (D, ...) meet all positions (K, ...) in one product over the tree, and the loops of closed
chains are closed by Newton's method for all of them together. The generated engine gives the same numbers for
one build at a time; tests hold the two to each other.

Every small change of a placement or of a joint is a screw: what lies behind it turns by :math:`\omega` about a
point :math:`o` and shifts by :math:`v`,

.. math:: \delta p = v + \omega \times (p - o), \qquad \delta R = [\omega]_\times R              (eq:screw)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.dynamics.loops import EQUATIONS, last_common
from servotwin.errors import KinematicsError
from servotwin.mechanism.canonical import modified_dh
from servotwin.mechanism.deviation import Built
from servotwin.mechanism.model import BASE, Array, CutKind, LoopClosure, Mechanism

STEPS = 12  # of Newton's method: deviations are small, and it squares the error
SETTLED = 1e-14  # rad and m: after a shorter step the loops are closed to rounding
LONGEST = 0.3  # rad, m


@dataclass(frozen=True)
class TreePoses:
    """Poses in the base of all bodies, and of the joint frames before their motion: n arrays (..., K, 4, 4)."""

    bodies: list[Array]
    joints: list[Array]

    def frame(self, body: int, X: Array) -> Array:
        """Pose (..., K, 4, 4) of a frame with the placement X (..., 4, 4) on a body."""
        X = X[..., None, :, :]
        return np.asarray(X if body == BASE else self.bodies[body] @ X)


def tree_poses(mechanism: Mechanism, built: Built, x: Array) -> TreePoses:
    """All poses at free coordinates x (..., K, n_x) of builds with leading axes (...)."""
    q = x @ np.swapaxes(built.G, -1, -2) + mechanism.coupling.q0
    bodies: list[Array] = []
    joints: list[Array] = []
    for i in range(mechanism.n_tree):
        X = built.X_tree[..., None, i, :, :]
        parent = int(mechanism.parent[i])
        J = X if parent == BASE else bodies[parent] @ X
        joints.append(J)
        bodies.append(_moved(J, q[..., i], bool(mechanism.prismatic[i])))
    return TreePoses(bodies, joints)


def _moved(J: Array, q: Array, prismatic: bool) -> Array:
    """Poses J (..., 4, 4) followed by a turn about z or a shift along z."""
    P = np.array(np.broadcast_to(J, (*np.broadcast_shapes(J.shape[:-2], q.shape), 4, 4)))
    if prismatic:
        P[..., :3, 3] += q[..., None] * J[..., :3, 2]
        return P
    c, s = np.cos(q)[..., None], np.sin(q)[..., None]
    P[..., :3, 0] = c * J[..., :3, 0] + s * J[..., :3, 1]
    P[..., :3, 1] = c * J[..., :3, 1] - s * J[..., :3, 0]
    return P


def path_to(mechanism: Mechanism, body: int) -> list[int]:
    """The bodies from ``body`` down to the base, which is left out."""
    path = []
    while body != BASE:
        path.append(body)
        body = int(mechanism.parent[body])
    return path


def joint_screws(mechanism: Mechanism, poses: TreePoses) -> tuple[Array, Array, Array]:
    """(w, v, o) (..., K, n, 3) of a unit motion of every tree joint (eq:screw)."""
    z = np.stack([P[..., :3, 2] for P in poses.bodies], axis=-2)
    o = np.stack([P[..., :3, 3] for P in poses.bodies], axis=-2)
    slides = mechanism.prismatic[:, None]
    return np.where(slides, 0.0, z), np.where(slides, z, 0.0), o


# --- loops ----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class LoopEquations:
    """The closures of one or many builds that are in use (rows), as ``robot.closure`` chose them."""

    mechanism: Mechanism
    built: Built
    rows: tuple[int, ...]

    def gap(self, poses: TreePoses) -> Array:
        """Residuals (..., K, m) of the equations in use (eq:cut)."""
        parts = [_residuals(loop.kind, *self._sides(loop, poses)) for loop in self.mechanism.loops]
        return np.concatenate(parts, axis=-1)[..., list(self.rows)]

    def gradient(
        self, poses: TreePoses, screws: tuple[Array, Array, Array], behind: Sequence[int | str]
    ) -> Array:
        """Derivative (..., K, m, P) along P screws; each displaces a body and what it carries, or a frame alone."""
        parts = [self._gradient(loop, poses, screws, behind) for loop in self.mechanism.loops]
        return np.concatenate(parts, axis=-2)[..., list(self.rows), :]

    def _gradient(
        self,
        loop: LoopClosure,
        poses: TreePoses,
        screws: tuple[Array, Array, Array],
        behind: Sequence[int | str],
    ) -> Array:
        a, b, W = self._sides(loop, poses)
        w, v, o = screws
        body_a, body_b = (self.mechanism.frame(name).body for name in (loop.frame_a, loop.frame_b))
        common = self._common(loop)
        # a screw before the last common body carries both sides alike
        carried = set(path_to(self.mechanism, common)) | {BASE}
        on_a, on_b = (
            np.array([k == name or (k in path and k not in carried) for k in behind], dtype=np.float64)
            for name, path in (
                (loop.frame_a, path_to(self.mechanism, body_a)),
                (loop.frame_b, path_to(self.mechanism, body_b)),
            )
        )
        shift = on_a[:, None] * (v + np.cross(w, a[..., None, :3, 3] - o))
        shift = shift - on_b[:, None] * (v + np.cross(w, b[..., None, :3, 3] - o))
        return _rates(loop.kind, a, b, W, shift, on_a[:, None] * w, on_b[:, None] * w)

    def _common(self, loop: LoopClosure) -> int:
        sides = (self.mechanism.frame(name).body for name in (loop.frame_a, loop.frame_b))
        return last_common(self.mechanism.parent.tolist(), *sides)

    def _sides(self, loop: LoopClosure, poses: TreePoses) -> tuple[Array, Array, Array]:
        """Poses of both sides, and the axes (..., K, 3, 3) in which their distance is told."""
        a, b = (
            poses.frame(self.mechanism.frame(name).body, self.built.frames[name])
            for name in (loop.frame_a, loop.frame_b)
        )
        common = self._common(loop)
        if common == BASE:
            return a, b, np.eye(3)
        turn = _own_turn(self.mechanism, self.built, common)
        return a, b, poses.bodies[common][..., :3, :3] @ turn[..., None, :, :]


def _own_turn(mechanism: Mechanism, built: Built, body: int) -> Array:
    """Turn (..., 3, 3) of the frame in which generated code writes a body down: see canonical.py."""
    children = np.flatnonzero(mechanism.parent == body)
    X = built.X_tree[..., int(children[0]), :, :]
    gamma = np.array([modified_dh(each)[0] for each in X.reshape(-1, 4, 4)]).reshape(X.shape[:-2])
    R = np.zeros((*gamma.shape, 3, 3))
    c, s = np.cos(gamma), np.sin(gamma)
    R[..., 0, 0], R[..., 0, 1], R[..., 1, 0], R[..., 1, 1], R[..., 2, 2] = c, -s, s, c, 1.0
    return R


def _residuals(kind: CutKind, a: Array, b: Array, W: Array) -> Array:
    gap = a[..., :3, 3] - b[..., :3, 3]
    Ra, Rb = a[..., :3, :3], b[..., :3, :3]
    if kind is CutKind.PRISMATIC:
        pairs = ((Ra, 0, gap), (Ra, 1, gap), (Ra, 0, Rb[..., 1]), (Ra, 1, Rb[..., 2]), (Ra, 2, Rb[..., 0]))
        return np.stack([(R[..., k] * u).sum(axis=-1) for R, k, u in pairs], axis=-1)
    told: Array = np.einsum("...ji,...j->...i", W, gap)
    if kind is CutKind.SPHERICAL:
        return told
    tilt = [(Ra[..., k] * Rb[..., 2]).sum(axis=-1) for k in (0, 1)]
    return np.concatenate([told, np.stack(tilt, axis=-1)], axis=-1)


def _rates(kind: CutKind, a: Array, b: Array, W: Array, shift: Array, w_a: Array, w_b: Array) -> Array:
    """Derivatives (..., m, P) of the residuals from shifts of a against b and turns of both (..., P, 3)."""
    Ra, Rb = a[..., :3, :3], b[..., :3, :3]

    def tilt(i: int, j: int) -> Array:  # (a_i . b_j)' = (w_a - w_b) . (a_i x b_j)
        normal = np.cross(Ra[..., i], Rb[..., j])
        return np.asarray(((w_a - w_b) * normal[..., None, :]).sum(axis=-1))

    if kind is CutKind.PRISMATIC:
        gap = (a[..., :3, 3] - b[..., :3, 3])[..., None, :]
        across = [
            (np.cross(w_a, Ra[..., None, :, k]) * gap + Ra[..., None, :, k] * shift).sum(axis=-1)
            for k in (0, 1)
        ]
        return np.stack([*across, tilt(0, 1), tilt(1, 2), tilt(2, 0)], axis=-2)
    told: Array = np.einsum("...ji,...pj->...ip", W, shift)
    if kind is CutKind.SPHERICAL:
        return told
    return np.concatenate([told, np.stack([tilt(0, 2), tilt(1, 2)], axis=-2)], axis=-2)


def closed_coordinates(equations: LoopEquations, q: Array, x0: Array) -> Array:
    """Free coordinates x (..., K, n_x) at which the loops of all builds close, from x0 near by (eq:closed).

    ``q`` (..., K, n) stays; ``x0`` broadcasts against it. KinematicsError if some build cannot be closed.
    """
    m, built = equations.mechanism, equations.built
    n = m.n_q
    lead = np.broadcast_shapes((*built.X_tree.shape[:-3], 1), q.shape[:-1], x0.shape[:-1])
    x = np.array(np.broadcast_to(x0, (*lead, x0.shape[-1])))
    x[..., :n] = q
    every = list(range(m.n_tree))
    for _ in range(STEPS):
        poses = tree_poses(m, built, x)
        S_tree = equations.gradient(poses, joint_screws(m, poses), every)
        S_p = S_tree @ built.G[..., None, :, n:]
        step = _solve(S_p, -equations.gap(poses))
        x[..., n:] += np.clip(step, -LONGEST, LONGEST)
        if np.abs(step).max(initial=0.0) < SETTLED:
            return x
    left = np.abs(equations.gap(tree_poses(m, built, x))).max(initial=0.0)
    if left > 1e-12 * (1.0 + float(np.abs(m.X_tree[:, :3, 3]).sum())):
        raise KinematicsError(
            f"{m.name}: the loops of some draw do not close at some position; {left:.3g} is left"
        )
    return x


def _solve(S: Array, s: Array) -> Array:
    """Least-squares solutions (..., n) of S y = s."""
    if S.shape[-1] == S.shape[-2]:
        return np.asarray(np.linalg.solve(S, s[..., None])[..., 0])
    return np.asarray((np.linalg.pinv(S) @ s[..., None])[..., 0])


def equation_count(mechanism: Mechanism) -> int:
    """Number of closure equations, redundant ones included."""
    return sum(len(EQUATIONS[loop.kind]) for loop in mechanism.loops)
