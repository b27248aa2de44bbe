"""The same mechanism in MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np

from servotwin.mechanism.model import Mechanism
from servotwin.mechanism.spatial import mass_center_inertia

SMALLEST = 1e-12  # MuJoCo refuses lighter or thinner bodies


def expressible(mechanism: Mechanism) -> bool:
    """True if MuJoCo accepts every body: it refuses massless ones and those without extent."""
    for phi in mechanism.phi:
        mass, _, inertia = mass_center_inertia(phi)
        moments = np.linalg.eigvalsh(inertia)
        if mass < SMALLEST or moments[0] < SMALLEST or moments[0] + moments[1] < moments[2]:
            return False
    return True


def to_mujoco(mechanism: Mechanism) -> mujoco.MjModel:
    """A MuJoCo model with the joints in the mechanism's order (joint names are kept)."""
    return to_spec(mechanism)[0].compile()


def to_spec(mechanism: Mechanism) -> tuple[mujoco.MjSpec, list[mujoco.MjsBody]]:
    """The model before compilation, and its bodies."""
    spec = mujoco.MjSpec()
    spec.option.gravity = mechanism.gravity
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    spec.compiler.degree = False
    bodies = []
    for i, name in enumerate(mechanism.tree_joint_names):
        parent = int(mechanism.parent[i])
        body = (spec.worldbody if parent < 0 else bodies[parent]).add_body(name=f"body-{name}")
        X = mechanism.X_tree[i]
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(X[:3, :3]).ravel())
        body.pos, body.quat = X[:3, 3], quaternion
        mass, center, I = mass_center_inertia(mechanism.phi[i])
        body.mass, body.ipos, body.explicitinertial = mass, center, True
        body.fullinertia = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        kind = mujoco.mjtJoint.mjJNT_SLIDE if mechanism.prismatic[i] else mujoco.mjtJoint.mjJNT_HINGE
        body.add_joint(name=name, type=kind, axis=[0, 0, 1])
        bodies.append(body)
    return spec, bodies


def joint_order(model: mujoco.MjModel, mechanism: Mechanism) -> np.ndarray:
    """Places of the mechanism's joints in MuJoCo's vectors."""
    return np.array([int(model.joint(name).dofadr[0]) for name in mechanism.tree_joint_names])
