"""Articulated-body hybrid dynamics: torque given at some joints, acceleration at others (RBDA, section 9.2)."""

from __future__ import annotations

from servotwin.dynamics.recursive.aba import Work, free_acceleration, free_joint, start_bodies, workspace
from servotwin.dynamics.recursive.articulated import (
    add_articulated_to_parent,
    articulated_times,
    column_of_joint,
)
from servotwin.dynamics.recursive.common import Tree, add, add_force_to_parent, add_scaled, dot, joint_bias
from servotwin.dynamics.recursive.jit import helper, kernel
from servotwin.dynamics.recursive.rnea import add_acceleration
from servotwin.mechanism.model import Array, BoolArray


@helper
def driven_joint(tree: Tree, i: int, qd_i: float, qdd_i: float, work: Work) -> None:
    """Second pass at a joint of given acceleration: the parent feels all of I^A.

    p^a = p^A + I^A (c + S qdd) replaces force row i; S^T p^A is kept for the torque.
    """
    pose, vel, _, art, force, U, joint = work
    axis, p = tree.axis[i], tree.parent[i]
    column_of_joint(art, i, axis, U)
    joint[i, 1] = force[i, axis]
    if p > 0:
        cx, cy, dx, dy = joint_bias(axis, vel[i, 0], vel[i, 1], vel[i, 3], vel[i, 4], qd_i)
        add(force, i, articulated_times(art, i, cx, cy, 0.0, dx, dy, 0.0))
        add_scaled(force, i, U, qdd_i)
        add_articulated_to_parent(pose, i, art, p)
        add_force_to_parent(pose, i, force, p)


@helper
def driven_torque(tree: Tree, i: int, qd_i: float, qdd_i: float, work: Work) -> float:
    """Third pass at a joint of given acceleration: a_i, and tau = S^T (I^A a_i + p^A)."""
    pose, vel, acc, _, _, U, joint = work
    add_acceleration(tree, i, pose, vel, qd_i, qdd_i, acc)
    return joint[i, 1] + dot(U, acc, i)


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
    """Fill in tau where qdd is given and qdd where tau is given; returns the last joint without inertia, or 0."""
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
