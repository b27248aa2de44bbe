"""Closed chains in MuJoCo: what ``st.statics`` finds holds the arm still while the tool pushes.

Tolerance: MuJoCo's loops are soft by about 1e-4 (see test_closed_mujoco), so that much of the accelerations that the
opened tree would have is left; ten times that is allowed.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import servotwin as st
from tests.closed_robots import closed_robot, states
from tests.crosscheck.test_closed_mujoco import SOFT, opened, to_mujoco, with_extent


def accelerations(robot: st.Robot, x, tau, reaction, moment) -> np.ndarray:
    """MuJoCo's accelerations at rest under joint torques and a wrench at the tool, the world's on the robot."""
    mechanism = robot.mechanism
    model = to_mujoco(mechanism)
    data = mujoco.MjData(model)
    places = np.array([int(model.joint(name).dofadr[0]) for name in robot.coordinate_names])
    data.qpos[places] = x
    data.qfrc_applied[places[: robot.n]] = tau
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    frame = mechanism.frame()
    body = int(model.jnt_bodyid[model.joint(robot.coordinate_names[_joint_of(robot, frame.body)]).id])
    point = data.xpos[body] + data.xmat[body].reshape(3, 3) @ frame.X_body_frame[:3, 3]
    assert point == pytest.approx(robot.fkine(x[: robot.n])[:3, 3], abs=1e-9)
    pushed = np.zeros(model.nv)
    mujoco.mj_applyFT(model, data, reaction, moment, point, body, pushed)
    data.qfrc_applied += pushed
    mujoco.mj_forward(model, data)
    return data.qacc[places]


def _joint_of(robot: st.Robot, body: int) -> int:
    """The coordinate that moves a body against its parent."""
    (k,) = np.flatnonzero(robot.mechanism.coupling.G[body])
    return int(k)


@pytest.mark.parametrize("name", ["five-bar", "stewart"])
def test_torques_of_statics_hold_a_closed_chain_that_pushes(name):
    robot = with_extent(closed_robot(name), 0.1)
    q, _, _ = states(name, 3)
    rng = np.random.default_rng(3)
    for place in q:
        force = rng.uniform(-50.0, 50.0, 3)
        moment = rng.uniform(-5.0, 5.0, 3) if name == "stewart" else np.zeros(3)
        found = st.statics(robot, place, force=force, moment=moment)
        x = robot.coordinates(place)
        held = accelerations(robot, x, found.tau, -force, -moment)
        loose = accelerations(robot, x, found.tau - found.tau_force, -force, -moment)
        free = opened(robot, x, np.zeros_like(x), found.tau)
        assert np.abs(held).max() < SOFT * max(free, np.abs(loose).max())
        assert np.abs(loose).max() > 10.0 * np.abs(held).max()
