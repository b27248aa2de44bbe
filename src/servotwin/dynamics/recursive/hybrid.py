"""Hybrid dynamics by articulated bodies: torque or acceleration given at each joint (RBDA, section 9.2)."""

from __future__ import annotations

from servotwin.compiled.jit import helper, kernel
from servotwin.dynamics.recursive.aba import Work, free_acceleration, free_joint, start_bodies, workspace
from servotwin.dynamics.recursive.articulated import (
    add_articulated_to_parent,
    articulated_times,
    column_of_joint,
)
from servotwin.dynamics.recursive.common import Tree, add, add_force_to_parent, add_scaled, dot, joint_bias
from servotwin.dynamics.recursive.rnea import add_acceleration
from servotwin.mechanism.model import Array, BoolArray


@helper
def driven_joint(tree: Tree, i: int, qd_i: float, qdd_i: float, work: Work) -> None:
    """Second pass at a joint of given acceleration: the parent feels all of I^A.

    p^a = p^A + I^A (c + S qdd) replaces force row i; S^T p^A is kept for the torque.
    """
    axis, p = tree.axis[i], tree.parent[i]
    column_of_joint(work.art, i, axis, work.U)
    work.joint[i, 1] = work.force[i, axis]
    if p > 0:
        cx, cy, dx, dy = joint_bias(axis, work.vel, i, qd_i)
        add(work.force, i, articulated_times(work.art, i, cx, cy, 0.0, dx, dy, 0.0))
        add_scaled(work.force, i, work.U, qdd_i)
        add_articulated_to_parent(work.pose, i, work.art, p)
        add_force_to_parent(work.pose, i, work.force, p)


@helper
def driven_torque(tree: Tree, i: int, qd_i: float, qdd_i: float, work: Work) -> float:
    """Third pass at a joint of given acceleration: a_i, and tau = S^T (I^A a_i + p^A)."""
    add_acceleration(tree, i, work.pose, work.vel, qd_i, qdd_i, work.acc)
    tau_i: float = work.joint[i, 1] + dot(work.U, work.acc, i)
    return tau_i


@helper
def hybrid_state(
    tree: Tree,
    armature: Array,
    given_tau: BoolArray,
    q: Array,
    qd: Array,
    f_ext: Array,
    work: Work,
    tau: Array,
    qdd: Array,
) -> int:
    """Fill in tau where qdd is given and qdd where tau is; returns the last joint without inertia, or 0."""
    n = q.shape[0]
    singular = 0
    start_bodies(tree, q, qd, f_ext, work)
    for i in range(n, 0, -1):
        j = i - 1
        if given_tau[j]:
            D = free_joint(tree, i, armature[j], qd[j], tau[j], work)
            if D <= 0.0:
                singular = max(singular, i)
        else:
            driven_joint(tree, i, qd[j], qdd[j], work)
    for i in range(1, n + 1):
        j = i - 1
        if given_tau[j]:
            qdd[j] = free_acceleration(tree, i, qd[j], work)
        else:
            tau[j] = driven_torque(tree, i, qd[j], qdd[j], work) + armature[j] * qdd[j]
    return singular


@kernel
def hybrid_batch(
    tree: Tree,
    armature: Array,
    given_tau: BoolArray,
    q: Array,
    qd: Array,
    f_ext: Array,
    tau: Array,
    qdd: Array,
) -> int:
    """``hybrid_state`` for N states: q, qd, tau, qdd (N, n); f_ext (N, n, 6) or (N, 0, 6); given_tau (n,)."""
    work = workspace(q.shape[1])
    singular = 0
    for k in range(q.shape[0]):
        last = hybrid_state(tree, armature, given_tau, q[k], qd[k], f_ext[k], work, tau[k], qdd[k])
        singular = max(singular, last)
    return singular
