"""Pinocchio gives the same holding torques as ``st.statics`` for open chains, tau = J^T F + g."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import servotwin as st
from tests.crosscheck.pinocchio_model import depth_first, to_pinocchio, tree_order


@pytest.mark.parametrize("name", ["palletizer-4", "gsis-scara", "puma560", "sixaxis-5kg", "manutec-r3"])
def test_holding_torques_with_a_force_at_the_tool(name):
    robot = st.load_robot(name)
    mechanism = robot.mechanism
    model = to_pinocchio(mechanism)
    data = model.createData()
    to_pin, order = depth_first(mechanism), tree_order(mechanism)
    G, q0 = mechanism.coupling.G, mechanism.coupling.q0
    rng = np.random.default_rng(5)
    frame = mechanism.frame()
    joint = list(to_pin).index(frame.body) + 1
    for _ in range(5):
        q = robot.random_q(rng)
        force, moment = rng.uniform(-100, 100, (2, 3))
        x = (G @ q + q0)[to_pin]
        pin.computeJointJacobians(model, data, x)
        J = pin.getJointJacobian(model, data, joint, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        lever = data.oMi[joint].rotation @ frame.X_body_frame[:3, 3]
        at_joint = np.concatenate([force, moment + np.cross(lever, force)])
        tau = G.T @ (pin.computeGeneralizedGravity(model, data, x) + J.T @ at_joint)[order]
        found = st.statics(robot, q, force=force, moment=moment)
        assert found.tau == pytest.approx(tau, rel=1e-9, abs=1e-9)
