"""MuJoCo gives the same mass matrix, bias, inverse and forward dynamics, and poses.

Tolerance: MuJoCo diagonalises every inertia and stores a quaternion for it, which costs a few digits.
"""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import servotwin as st
from benchmarks.mujoco_model import expressible, joint_order, to_mujoco
from servotwin.robot.robot import Robot
from tests.campaign import campaign, cases
from tests.crosscheck.robot_data import urdf_path
from tests.random_trees import build_mechanism

TOLERANCE = 1e-9


def close(got, want) -> None:
    assert np.abs(got - want).max() <= TOLERANCE * np.abs(want).max()


def _compare(robot: Robot, rng: np.random.Generator) -> None:
    mechanism = robot.mechanism
    model = to_mujoco(mechanism)
    data = mujoco.MjData(model)
    order = joint_order(model, mechanism)
    G, q0 = mechanism.coupling.G, mechanism.coupling.q0
    q, qd, qdd = rng.uniform(-1, 1, (3, robot.n))
    data.qpos[order], data.qvel[order], data.qacc[order] = G @ q + q0, G @ qd, G @ qdd
    mujoco.mj_inverse(model, data)
    close(robot.rne(q, qd, qdd), G.T @ data.qfrc_inverse[order])
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    close(robot.inertia(q), G.T @ M[np.ix_(order, order)] @ G)
    tool = mechanism.frame()
    body = model.body(f"body-{mechanism.tree_joint_names[tool.body]}").id
    position = data.xpos[body] + data.xmat[body].reshape(3, 3) @ tool.X_body_frame[:3, 3]
    close(robot.fkine(q)[:3, 3], position)
    if not mechanism.coupled:
        tau = rng.uniform(-1, 1, robot.n)
        data.qfrc_applied[order] = tau
        mujoco.mj_forward(model, data)
        close(robot.accel(q, qd, tau), data.qacc[order])


@campaign
@pytest.mark.parametrize("seed", range(cases(8, 60)))
def test_mujoco_agrees_on_random_trees(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    parent = [int(rng.integers(-1, i)) for i in range(n)]
    prismatic = (rng.random(n) < 0.3).tolist()
    mechanism = build_mechanism(parent, prismatic, [False] * n, rng)
    _compare(Robot(mechanism, engine="recursive" if seed % 2 else "graph"), rng)


@pytest.mark.parametrize(
    "name", ["daiv-1", "gsis-scara", "met-two-link", "palletizer-4", "puma560", "daiv-1-simplified"]
)
def test_mujoco_agrees_on_catalogue_robots(name):
    robot = st.load_robot(name)
    if not expressible(robot.mechanism):
        # Bodies without extent get a little of it, the same for both.
        extra = np.array([0.1, 0, 0, 0, 1e-3, 0, 1e-3, 0, 0, 1e-3])
        robot = Robot(robot.mechanism.with_(phi=robot.mechanism.phi + extra))
    _compare(robot, np.random.default_rng(7))


@pytest.mark.parametrize("file", ["ur5_robot", "xarm7", "z1"])
def test_mujoco_agrees_on_real_arms(file):
    robot = st.load_robot(urdf_path(file))
    assert expressible(robot.mechanism)
    _compare(robot, np.random.default_rng(9))
