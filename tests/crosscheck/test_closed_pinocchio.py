"""Pinocchio closes the same loops with rigid constraints and gives the same accelerations and cut forces.

Tolerance: Pinocchio's proximal iterations end when the constraint acceleration is below 1e-13; both sides then
differ by rounding only.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import servotwin as st
from tests.closed_robots import closed_robot, free_plate, states
from tests.crosscheck.pinocchio_model import depth_first, to_pinocchio
from tests.validation.test_delta import MOTIONS

TOLERANCE = 1e-9
EXTENT = np.array([1.0, 0, 0, 0, 1e-2, 0, 1e-2, 0, 0, 1e-2])


class Peer:
    """The opened tree with a point constraint between the frames of every cut (enough in a plane, too)."""

    def __init__(self, robot: st.Robot) -> None:
        mechanism = robot.mechanism
        self.model = to_pinocchio(mechanism)
        self.data = self.model.createData()
        self.cuts, self.cut_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for loop in mechanism.loops:
            a, b = (self.model.frames[self.model.getFrameId(name)] for name in (loop.frame_a, loop.frame_b))
            cut = pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, self.model, a.parentJoint, a.placement, b.parentJoint, b.placement,
                pin.ReferenceFrame.LOCAL,
            )  # fmt: skip
            self.cuts.append(cut)
            self.cut_data.append(cut.createData())
        pin.initConstraintDynamics(self.model, self.data, self.cuts, self.cut_data)
        names = list(robot.coordinate_names)
        self.order = [names.index(mechanism.tree_joint_names[i]) for i in depth_first(mechanism)]

    def accelerations(self, x, xd, tau) -> np.ndarray:
        """xdd (n_x,) under torques at the actuated joints."""
        efforts = np.zeros(len(x))
        efforts[: len(tau)] = tau
        settings = pin.ProximalSettings(1e-13, 1e-10, 100)
        o = self.order
        found = pin.constraintDynamics(
            self.model, self.data, x[o], xd[o], efforts[o], self.cuts, self.cut_data, settings
        )
        out = np.empty(len(x))
        out[o] = found
        return out


@pytest.mark.parametrize("name", ["four-bar", "five-bar", "delta-free-plate", "stewart"])
def test_pinocchio_agrees_on_accelerations_and_on_size_and_sign_of_the_cut_forces(name):
    robot = closed_robot(name)
    peer = Peer(robot)
    q, qd, qdd = states(name, 6)
    x, xd, xdd = robot.full_motion(q, qd, qdd)
    tau, cuts = robot.rne(q, qd, qdd), robot.constraint_forces(q, qd, qdd)
    for k in range(len(q)):
        found = peer.accelerations(x[k], xd[k], tau[k])
        assert np.abs(found - xdd[k]).max() < TOLERANCE * np.abs(xdd[k]).max()
        full = robot.accel_full(x[k], xd[k], tau[k] + 1.0)
        found = peer.accelerations(x[k], xd[k], tau[k] + 1.0)
        assert np.abs(found - full.xdd).max() < TOLERANCE * np.abs(full.xdd).max()
        for loop, data in zip(robot.mechanism.loops, peer.cut_data, strict=True):
            R = robot.fkine(q[k], loop.frame_a)[:3, :3]
            want = full.forces[loop.name][:3]
            assert np.abs(R @ data.contact_force.linear - want).max() < TOLERANCE * max(
                np.abs(want).max(), 1.0
            )
    assert set(cuts) == {loop.name for loop in robot.mechanism.loops}


@pytest.mark.parametrize("motion", MOTIONS)
def test_pinocchio_moves_the_delta_as_planned_under_the_torques_of_the_paper(motion):
    """Arms and forearms are massless in the paper; Pinocchio factors the tree's mass matrix, so they get 0.1 g."""
    massless = free_plate(heavy=False)
    light = st.Robot(massless.mechanism.with_(phi=massless.mechanism.phi + 1e-4 * EXTENT))
    peer = Peer(light)
    plan, end = MOTIONS[motion]
    for t in np.linspace(0.0, end, 7):
        q, qd, qdd = plan(t)
        x, xd, xdd = light.full_motion(q, qd, qdd)
        found = peer.accelerations(x, xd, light.rne(q, qd, qdd))
        assert np.abs(found - xdd).max() < 1e-7 * max(np.abs(xdd).max(), 1.0)  # the mass matrix spans 1e6
        # the torques of the paper lack what 0.1 g in every joint weigh: 1e-4 of 10 kg, with levers of up to 3 m
        found = peer.accelerations(x, xd, massless.rne(q, qd, qdd))
        assert np.abs(found[:3] - qdd).max() < 1e-3 * 9.80665
