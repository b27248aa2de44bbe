"""The recursive engine against Pinocchio on random trees, field by field.

Tolerance 1e-9, relative to the norm of the quantity (or of the terms that
cancel in it): both sides carry rounding errors of about 1e-15 times the
condition number of the mass matrix.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings

from crosscheck.pinocchio_model import depth_first, to_pinocchio, tree_order
from random_trees import (
    difference,
    random_joint_vectors,
    random_mechanism,
    random_wrenches,
    trees_with_states,
)
from servotwin.dynamics.recursive.tree_dynamics import RecursiveDynamics
from servotwin.mechanism.model import Array, Mechanism

TOLERANCE = 1e-9
TreeState = tuple[Mechanism, np.random.Generator]
many_trees = settings(max_examples=150, deadline=None)


class Peer:
    """Pinocchio behind vectors in tree order."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.model = to_pinocchio(mechanism)
        self.data = self.model.createData()
        self.to_pin = np.array(depth_first(mechanism))
        self.to_tree = tree_order(mechanism)

    def vectors(self, *arrays: Array) -> list[Array]:
        return [np.ascontiguousarray(a[self.to_pin]) for a in arrays]

    def matrix(self, values: Array) -> Array:
        return values[np.ix_(self.to_tree, self.to_tree)]

    def columns(self, jac: Array) -> Array:
        """Pinocchio drops the column axis when there is one joint."""
        return jac.reshape(6, -1)[:, self.to_tree]

    def wrenches(self, f_ext: Array) -> pin.StdVec_Force:
        forces = pin.StdVec_Force()
        forces.append(pin.Force.Zero())
        for wrench in f_ext[self.to_pin]:
            forces.append(pin.Force(wrench))
        return forces

    def frame_id(self, name: str) -> int:
        return int(self.model.getFrameId(name, pin.FrameType.OP_FRAME))


@many_trees
@given(trees_with_states())
def test_kinematics_random_tree_equals_pinocchio(tree: TreeState) -> None:
    mechanism, rng = tree
    engine, peer = RecursiveDynamics(mechanism), Peer(mechanism)
    q, qd = random_joint_vectors(rng, mechanism, 2)
    pin.computeJointJacobiansTimeVariation(peer.model, peer.data, *peer.vectors(q, qd))
    pin.framesForwardKinematics(peer.model, peer.data, *peer.vectors(q))
    bodies = np.array([peer.data.oMi[1 + int(k)].homogeneous for k in peer.to_tree])
    assert difference(engine.fkine_all(q), bodies) < TOLERANCE
    for frame in mechanism.frames:
        index, world = peer.frame_id(frame.name), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        assert difference(engine.frame_pose(q, frame.name), peer.data.oMf[index].homogeneous) < TOLERANCE
        jac = peer.columns(pin.getFrameJacobian(peer.model, peer.data, index, world))
        assert difference(engine.jacobian(q, frame.name), jac) < TOLERANCE
        local = peer.columns(pin.getFrameJacobian(peer.model, peer.data, index, pin.ReferenceFrame.LOCAL))
        assert difference(engine.jacobian(q, frame.name, axes="frame"), local) < TOLERANCE
        jac_dot = peer.columns(pin.getFrameJacobianTimeVariation(peer.model, peer.data, index, world))
        size = float(np.linalg.norm(jac) * np.linalg.norm(qd))
        assert difference(engine.jacobian_dot(q, qd, frame.name), jac_dot, size) < TOLERANCE


@many_trees
@given(trees_with_states())
def test_dynamics_random_tree_equals_pinocchio(tree: TreeState) -> None:
    mechanism, rng = tree
    engine, peer = RecursiveDynamics(mechanism), Peer(mechanism)
    q, qd, qdd = random_joint_vectors(rng, mechanism, 3)
    f_ext, armature = random_wrenches(rng, mechanism), rng.uniform(0.0, 1.0, engine.n)
    model, data = peer.model, peer.data
    model.armature = peer.vectors(armature)[0]
    tau = pin.rnea(model, data, *peer.vectors(q, qd, qdd), peer.wrenches(f_ext))[peer.to_tree]
    size = float(np.linalg.norm(engine.bias(q, qd, f_ext)))
    assert difference(engine.rnea(q, qd, qdd, f_ext, armature), tau, size) < TOLERANCE
    accelerations = pin.aba(model, data, *peer.vectors(q, qd, tau), peer.wrenches(f_ext))[peer.to_tree]
    assert difference(engine.aba(q, qd, tau, f_ext, armature), accelerations, 1.0) < TOLERANCE
    M = pin.crba(model, data, *peer.vectors(q))
    M = np.triu(M) + np.triu(M, 1).T
    assert difference(engine.crba(q, armature), peer.matrix(M)) < TOLERANCE


@many_trees
@given(trees_with_states())
def test_coriolis_gravity_energy_random_tree_equal_pinocchio(tree: TreeState) -> None:
    mechanism, rng = tree
    engine, peer = RecursiveDynamics(mechanism), Peer(mechanism)
    q, qd = random_joint_vectors(rng, mechanism, 2)
    model, data = peer.model, peer.data
    size = float(np.linalg.norm(engine.crba(q)) * np.linalg.norm(qd))
    C = peer.matrix(pin.computeCoriolisMatrix(model, data, *peer.vectors(q, qd)))
    assert difference(engine.coriolis(q, qd), C, size) < TOLERANCE
    gravity = pin.computeGeneralizedGravity(model, data, *peer.vectors(q))[peer.to_tree]
    weight = float(np.sum(mechanism.phi[:, 0]) * np.linalg.norm(mechanism.gravity))
    assert difference(engine.gravity_torque(q), gravity, weight) < TOLERANCE
    kinetic, potential = engine.energy(q, qd)
    assert difference(kinetic, pin.computeKineticEnergy(model, data, *peer.vectors(q, qd))) < TOLERANCE
    assert (
        difference(potential, pin.computePotentialEnergy(model, data, *peer.vectors(q)), weight) < TOLERANCE
    )


@pytest.mark.parametrize("n", [30, 60])
def test_dynamics_large_tree_equals_pinocchio(n: int) -> None:
    rng = np.random.default_rng(n)
    mechanism = random_mechanism(rng, n)
    engine, peer = RecursiveDynamics(mechanism), Peer(mechanism)
    q, qd, tau = random_joint_vectors(rng, mechanism, 3)
    expected = pin.aba(peer.model, peer.data, *peer.vectors(q, qd, tau))[peer.to_tree]
    assert difference(engine.aba(q, qd, tau), expected) < TOLERANCE
