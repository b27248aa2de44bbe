"""The tree of a mechanism as a Pinocchio model, for cross-checks."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from servotwin.mechanism.model import BASE, Array, IntArray, Mechanism


def to_pinocchio(mechanism: Mechanism) -> pin.Model:
    """Joints, bodies, frames and gravity of the spanning tree; couplings and loops are left out.

    Pinocchio wants joints in depth-first order, so its vectors are permuted:
    ``tree_order`` gives the place of every tree joint in them.
    """
    model = pin.Model()
    model.name = mechanism.name
    model.gravity.linear = mechanism.gravity
    ids = {BASE: 0}
    for i in depth_first(mechanism):
        joint = pin.JointModelPZ() if mechanism.prismatic[i] else pin.JointModelRZ()
        placement = pin.SE3(mechanism.X_tree[i])
        ids[i] = model.addJoint(
            ids[int(mechanism.parent[i])], joint, placement, mechanism.tree_joint_names[i]
        )
        model.appendBodyToJoint(ids[i], to_inertia(mechanism.phi[i]), pin.SE3.Identity())
    for frame in mechanism.frames:
        placement = pin.SE3(np.asarray(frame.X_body_frame, dtype=np.float64))
        model.addFrame(pin.Frame(frame.name, ids[frame.body], placement, pin.FrameType.OP_FRAME))
    return model


def depth_first(mechanism: Mechanism) -> list[int]:
    """Bodies so that every subtree is contiguous."""
    order: list[int] = []
    waiting = [i for i in range(mechanism.n_tree) if mechanism.parent[i] == BASE][::-1]
    while waiting:
        body = waiting.pop()
        order.append(body)
        waiting += [i for i in range(mechanism.n_tree) if mechanism.parent[i] == body][::-1]
    return order


def tree_order(mechanism: Mechanism) -> IntArray:
    """``q_tree[i] = q_pinocchio[tree_order[i]]`` and ``q_pinocchio = q_tree[depth_first]``."""
    return np.argsort(np.array(depth_first(mechanism)))


def to_inertia(phi: Array) -> pin.Inertia:
    """Standard parameters about the body origin as mass, mass centre and inertia about the mass centre."""
    mass = float(phi[0])
    center = phi[1:4] / mass if mass else np.zeros(3)
    xx, xy, yy, xz, yz, zz = phi[4:]
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    shift = mass * (center @ center * np.eye(3) - np.outer(center, center))
    return pin.Inertia(mass, center, about_origin - shift)
