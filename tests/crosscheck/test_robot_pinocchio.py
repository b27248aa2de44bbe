"""Pinocchio gives the same answers as ``Robot``: random trees, the catalogue, real robots."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import servotwin as st
from servotwin.description.load import catalogue_names
from servotwin.robot.robot import Robot
from tests.campaign import campaign, cases
from tests.crosscheck.pinocchio_model import depth_first, to_pinocchio, tree_order
from tests.crosscheck.robot_data import urdf_path
from tests.random_trees import random_mechanism

TOLERANCE = 1e-9
OPEN_ROBOTS = [name for name in catalogue_names() if not st.load_robot(name).mechanism.loops]


def close(got, want, tolerance: float = TOLERANCE) -> None:
    # where the exact answer is zero, rounding is judged against a thousandth of a unit
    scale = max(float(np.abs(want).max(initial=0.0)), 1e-3)
    assert np.abs(np.asarray(got) - want).max(initial=0.0) <= tolerance * scale


def full_mass_matrix(model, data, q) -> np.ndarray:
    M = pin.crba(model, data, q)
    return np.triu(M) + np.triu(M, 1).T


def _compare_tree(robot: Robot, rng: np.random.Generator) -> None:
    """A robot beside its own tree in Pinocchio, couplings applied outside."""
    mechanism = robot.mechanism
    model = to_pinocchio(mechanism)
    data = model.createData()
    to_pin, order = depth_first(mechanism), tree_order(mechanism)
    G, q0 = mechanism.coupling.G, mechanism.coupling.q0
    q, qd, qdd, tau = rng.uniform(-1.5, 1.5, (4, robot.n))
    x, xd, xdd = ((G @ q + q0)[to_pin], (G @ qd)[to_pin], (G @ qdd)[to_pin])
    close(robot.rne(q, qd, qdd), G.T @ pin.rnea(model, data, x, xd, xdd)[order])
    M = G.T @ full_mass_matrix(model, data, x)[np.ix_(order, order)] @ G
    close(robot.inertia(q), M)
    close(robot.gravload(q), G.T @ pin.computeGeneralizedGravity(model, data, x)[order])
    C = pin.computeCoriolisMatrix(model, data, x, xd)[np.ix_(order, order)]
    close(robot.coriolis(q, qd), G.T @ C @ G)
    if np.linalg.cond(M) < 1e6:
        if mechanism.coupled:
            h = G.T @ pin.nonLinearEffects(model, data, x, xd)[order]
            close(robot.accel(q, qd, tau), np.linalg.solve(M, tau - h))
        else:
            close(robot.accel(q, qd, tau), pin.aba(model, data, x, xd, tau[to_pin])[order])
    pin.forwardKinematics(model, data, x, xd)
    pin.updateFramePlacements(model, data)
    pin.computeJointJacobiansTimeVariation(model, data, x, xd)
    for frame, pose in robot.fkine_all(q).items():
        close(pose, data.oMf[model.getFrameId(frame)].homogeneous)
    for frame in (mechanism.tool, mechanism.frames[1].name):
        at = model.getFrameId(frame)
        J = pin.getFrameJacobian(model, data, at, pin.LOCAL_WORLD_ALIGNED).reshape(6, -1)[:, order] @ G
        close(robot.jacob0(q, frame), J)
        J_dot = pin.getFrameJacobianTimeVariation(model, data, at, pin.LOCAL_WORLD_ALIGNED).reshape(6, -1)
        close(robot.jacob0_dot(q, qd, frame), J_dot[:, order] @ G)
    kinetic, potential = robot.energy(q, qd)
    close(kinetic, pin.computeKineticEnergy(model, data, x, xd))
    close(potential, pin.computePotentialEnergy(model, data, x))


@campaign
@pytest.mark.parametrize("seed", range(cases(10, 120)))
def test_pinocchio_agrees_on_random_trees(seed):
    rng = np.random.default_rng(1000 + seed)
    mechanism = random_mechanism(rng, int(rng.integers(1, 8)))
    _compare_tree(Robot(mechanism, engine="graph"), rng)


@pytest.mark.parametrize("name", OPEN_ROBOTS)
@pytest.mark.parametrize("engine", ["graph", "recursive"])
def test_pinocchio_agrees_on_catalogue_robots(name, engine):
    robot = st.load_robot(name, engine=engine)
    _compare_tree(robot, np.random.default_rng(3))
    _compare_tree(
        robot.with_payload(3.0, [0.05, -0.02, 0.1], np.diag([0.02, 0.03, 0.025])), np.random.default_rng(4)
    )


def _compare_urdf(name: str, *, mimic: bool = False, engine: str = "auto") -> Robot:
    """A robot beside Pinocchio's own reading of the same file, joints matched by name."""
    path = urdf_path(name)
    robot = st.load_robot(path, engine=engine)
    model = pin.buildModelFromUrdf(str(path), mimic=mimic)
    data = model.createData()
    rng = np.random.default_rng(11)
    own = {joint: i for i, joint in enumerate(robot.joint_names)}
    names = [joint for joint in model.names if joint in own]
    assert len(names) == robot.n == model.nv
    place = np.array([own[joint] for joint in names])  # pinocchio's order: q[place]
    order = np.array([model.joints[model.getJointId(joint)].idx_v for joint in names])
    angle_pairs = {joint for joint in names if model.joints[model.getJointId(joint)].nq == 2}

    def to_q(q: np.ndarray) -> np.ndarray:
        x = pin.neutral(model)
        for joint, value in zip(names, q[place], strict=True):
            at = model.joints[model.getJointId(joint)].idx_q
            if joint in angle_pairs:
                x[at : at + 2] = np.cos(value), np.sin(value)
            else:
                x[at] = value
        return x

    def to_v(v: np.ndarray) -> np.ndarray:
        x = np.zeros(model.nv)
        x[order] = v[place]
        return x

    def from_v(x: np.ndarray) -> np.ndarray:
        v = np.empty(robot.n)
        v[place] = x[order]
        return v

    q, qd, qdd, tau = rng.uniform(-1, 1, (4, robot.n))
    robot = robot.with_gravity(model.gravity.linear)
    close(robot.rne(q, qd, qdd), from_v(pin.rnea(model, data, to_q(q), to_v(qd), to_v(qdd))))
    close(robot.gravload(q), from_v(pin.computeGeneralizedGravity(model, data, to_q(q))))
    M = full_mass_matrix(model, data, to_q(q))
    want = np.empty_like(M)
    want[np.ix_(place, place)] = M[np.ix_(order, order)]
    close(robot.inertia(q), want)
    h = from_v(pin.nonLinearEffects(model, data, to_q(q), to_v(qd)))
    got = robot.accel(q, qd, tau)
    if np.linalg.cond(want) < 1e5:
        close(got, np.linalg.solve(want, tau - h))
    else:  # fingers give mass matrices of condition 1e8: what rounding leaves is judged by the torque
        close(want @ got + h, tau, 1e-7)
    pin.framesForwardKinematics(model, data, to_q(q))
    poses = robot.fkine_all(q)
    # our 'base' is the root of the tree, whatever a link of that name may be
    shared = [frame for frame in poses if model.existFrame(frame, pin.FrameType.BODY) and frame != "base"]
    assert len(shared) >= robot.n
    for frame in shared:
        close(poses[frame], data.oMf[model.getFrameId(frame, pin.FrameType.BODY)].homogeneous)
    pin.computeJointJacobians(model, data, to_q(q))
    for frame in (shared[-1], shared[len(shared) // 2]):
        at = model.getFrameId(frame, pin.FrameType.BODY)
        J = pin.getFrameJacobian(model, data, at, pin.LOCAL_WORLD_ALIGNED).reshape(6, -1)
        close(robot.jacob0(q, frame)[:, place], J[:, order])
    return robot


@pytest.mark.parametrize("name", ["ur5_robot", "ur10_robot", "kinova", "z1", "xarm7", "so101"])
@pytest.mark.parametrize("engine", ["graph", "recursive"])
def test_pinocchio_agrees_on_real_arms(name, engine):
    _compare_urdf(name, engine=engine)


@pytest.mark.parametrize("name", ["panda", "baxter", "tiago_pro", "pr2"])
def test_pinocchio_agrees_on_gripper_arms_with_mimic_joints(name):
    robot = _compare_urdf(name, mimic=True)
    assert robot.mechanism.coupled


@pytest.mark.parametrize("name", ["talos_reduced", "tiago", "g1_29dof_with_hand_rev_1_0"])
def test_pinocchio_agrees_on_trees_of_thirty_and_more_joints(name):
    robot = _compare_urdf(name)
    assert robot.mechanism.n_tree >= 29
