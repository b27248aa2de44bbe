"""URDF in and out against Pinocchio: masses, link poses, mass matrix and gravity torque.

The quantities of our side are computed here, from the Mechanism alone, by the
textbook definitions (sums over bodies), so that only import, export and build
are on trial and not the dynamics algorithms.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings

from crosscheck.robot_data import urdf_path, urdf_paths
from random_trees import mechanisms
from servotwin.description.frames import SNAP
from servotwin.description.load import catalogue_names, read_description
from servotwin.description.urdf_tree import Robot, checked_robot
from servotwin.description.urdf_xml import read_robot
from servotwin.description.write import write_yaml
from servotwin.errors import InputError
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array, Mechanism
from servotwin.mechanism.urdf_export import urdf_text

ALL = urdf_paths()
assert ALL, "the package example-robot-data is missing; make test installs it"
# Pinocchio refuses the first two as well (the second if it is asked to mimic); the others cannot move
REFUSED = {
    "ur3": "<robot> has no <link>",
    "alex_psyonic_hands": "mimics the joint 'index_q1', which does not exist",
    "quadrotor_base": "no joint moves",
    "iris_simple": "no joint moves",
}
ROBOTS = [path for path in ALL if path.stem not in REFUSED]
# rounding of a few dozen multiplications, and angles such as 1.57079632679 that we take for pi/2 (5e-12)
POSE = 1e-9
ROUND_TRIP = 1e-12
# the import takes rotation entries below SNAP for zero, which can leave a rotation that much off square
SNAPPED = SNAP


def identify(path: Path) -> str:
    return f"{path.parent.parent.name}/{path.stem}"


def states(mechanism: Mechanism, count: int = 3) -> Array:
    """Joint positions within one radian or metre: (count, n_q)."""
    return np.random.default_rng(7).uniform(-1.0, 1.0, (count, mechanism.n_q))


# --- our side, by definition ------------------------------------------------------------------------


def joint_motion(prismatic: bool, q: float) -> Array:
    X = np.eye(4)
    if prismatic:
        X[2, 3] = q
    else:
        X[:2, :2] = [[np.cos(q), -np.sin(q)], [np.sin(q), np.cos(q)]]
    return X


def body_poses(mechanism: Mechanism, q_tree: Array) -> list[Array]:
    """X_base_body of every body."""
    poses: list[Array] = []
    for i in range(mechanism.n_tree):
        parent = mechanism.parent[i]
        X = mechanism.X_tree[i] @ joint_motion(bool(mechanism.prismatic[i]), q_tree[i])
        poses.append(poses[parent] @ X if parent >= 0 else X)
    return poses


def frame_poses(mechanism: Mechanism, q: Array) -> dict[str, Array]:
    """X_base_frame of every named frame."""
    poses = body_poses(mechanism, mechanism.coupling.G @ q + mechanism.coupling.q0)
    return {f.name: (poses[f.body] if f.body >= 0 else np.eye(4)) @ f.X_body_frame for f in mechanism.frames}


def jacobian(mechanism: Mechanism, poses: list[Array], body: int) -> tuple[Array, Array]:
    """Angular and linear velocity of the body frame's origin per tree joint rate, base axes: (3, n) each."""
    angular, linear = np.zeros((2, 3, mechanism.n_tree))
    joint = body
    while joint >= 0:
        z = poses[joint][:3, 2]
        if mechanism.prismatic[joint]:
            linear[:, joint] = z
        else:
            angular[:, joint] = z
            linear[:, joint] = np.cross(z, poses[body][:3, 3] - poses[joint][:3, 3])
        joint = mechanism.parent[joint]
    return angular, linear


def cross_matrix(v: Array) -> Array:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def dynamics(mechanism: Mechanism, q: Array) -> tuple[Array, Array]:
    """M (n_q, n_q) and gravity torque (n_q,): kinetic energy and virtual work summed over the bodies."""
    G = mechanism.coupling.G
    poses = body_poses(mechanism, G @ q + mechanism.coupling.q0)
    M = np.zeros((mechanism.n_tree, mechanism.n_tree))
    g = np.zeros(mechanism.n_tree)
    for i, phi in enumerate(mechanism.phi):
        R = poses[i][:3, :3]
        m, h = phi[0], R @ phi[1:4]
        tensor = np.array([[phi[4], phi[5], phi[7]], [phi[5], phi[6], phi[8]], [phi[7], phi[8], phi[9]]])
        w, v = jacobian(mechanism, poses, i)
        H = cross_matrix(h)
        M += w.T @ R @ tensor @ R.T @ w + m * v.T @ v + w.T @ H @ v - v.T @ H @ w
        g -= m * v.T @ mechanism.gravity + w.T @ np.cross(h, mechanism.gravity)
    return G.T @ M @ G, G.T @ g


# --- Pinocchio's side -------------------------------------------------------------------------------


class Peer:
    """A Pinocchio model driven by our joint names; every joint of the tree is free."""

    def __init__(self, model: object, mechanism: Mechanism, names: dict[str, str]) -> None:
        """``names`` gives our joint name for Pinocchio's."""
        self.model, self.data = model, model.createData()
        self.model.gravity.linear = mechanism.gravity
        joints = [(names[name], self.model.joints[k]) for k, name in enumerate(self.model.names) if k]
        self.columns = {name: joint.idx_v for name, joint in joints}
        order = [self.columns[name] for name in mechanism.tree_joint_names]
        self.S = np.zeros((self.model.nv, mechanism.n_tree))  # tree joints to Pinocchio's velocities
        self.S[order, range(mechanism.n_tree)] = 1.0
        self.coupling = mechanism.coupling

    def position(self, q: Array) -> Array:
        tree = self.coupling.G @ q + self.coupling.q0
        return pin.integrate(self.model, pin.neutral(self.model), self.S @ tree)

    def frame_poses(self, q: Array) -> dict[str, Array]:
        pin.framesForwardKinematics(self.model, self.data, self.position(q))
        frames = enumerate(self.model.frames)
        return {f.name: self.data.oMf[k].homogeneous for k, f in frames if f.type == pin.FrameType.BODY}

    def dynamics(self, q: Array) -> tuple[Array, Array]:
        position, SG = self.position(q), self.S @ self.coupling.G
        M = pin.crba(self.model, self.data, position)
        M = np.triu(M) + np.triu(M, 1).T
        return SG.T @ M @ SG, SG.T @ pin.computeGeneralizedGravity(self.model, self.data, position)


def peer_of_file(path: Path, mechanism: Mechanism) -> tuple[Peer, Robot]:
    robot = checked_robot(read_robot(path))
    return Peer(pin.buildModelFromUrdf(str(path)), mechanism, robot.axis_names), robot


def peer_of_text(text: str, mechanism: Mechanism) -> Peer:
    names = {name: name for name in mechanism.tree_joint_names}
    return Peer(pin.buildModelFromXML(text), mechanism, names)


def relative(actual: Array, expected: Array, scale: float = 0.0) -> float:
    """Largest difference relative to the largest entry, or to ``scale`` if that is larger."""
    size = max(scale, float(np.abs(expected).max(initial=0.0)))
    return float(np.abs(actual - expected).max(initial=0.0)) / (size or 1.0)


def assert_same_dynamics(
    actual: tuple[Array, Array], expected: tuple[Array, Array], mechanism: Mechanism, tolerance: float
) -> None:
    """Mass matrix and gravity torque agree; the torques of balanced weights cancel, hence their scale."""
    weight = float(mechanism.phi[:, 0].sum() * np.linalg.norm(mechanism.gravity))  # [N], at a lever of 1 m
    assert relative(actual[0], expected[0]) < tolerance
    assert relative(actual[1], expected[1], weight) < tolerance


def imported(path: Path) -> Mechanism:
    return build_mechanism(read_description(path))


# --- in ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REFUSED)
def test_urdf_that_describes_no_arm_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(InputError, match=REFUSED[name]) as caught:
        read_description(urdf_path(name))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("path", ROBOTS, ids=identify)
def test_import_of_every_robot_agrees_with_pinocchio(path: Path) -> None:
    mechanism = imported(path)
    peer, robot = peer_of_file(path, mechanism)
    masses = [inertia.mass for inertia in peer.model.inertias][1:]  # entry 0 is fixed to the base
    assert mechanism.phi[:, 0].sum() == pytest.approx(sum(masses), rel=1e-12)
    for q in states(mechanism):
        ours, theirs = frame_poses(mechanism, q), peer.frame_poses(q)
        for link, name in robot.link_names.items():
            np.testing.assert_allclose(ours[name], theirs[link], rtol=0, atol=POSE)
        assert_same_dynamics(dynamics(mechanism, q), peer.dynamics(q), mechanism, POSE)


@pytest.mark.parametrize("name", ["panda", "baxter", "pr2", "tiago_pro"])
def test_import_of_mimic_joints_agrees_with_pinocchios_mimic(name: str) -> None:
    path = urdf_path(name)
    mechanism = imported(path)
    assert mechanism.n_q < mechanism.n_tree
    model = pin.buildModelFromUrdf(str(path), mimic=True)
    data = model.createData()
    names = checked_robot(read_robot(path)).axis_names
    free = {names[model.names[k]]: model.joints[k].idx_v for k in range(1, model.njoints)}
    columns = [free[joint] for joint in mechanism.joint_names]
    assert model.nv == mechanism.n_q
    for q in states(mechanism):
        velocity = np.zeros(model.nv)
        velocity[columns] = q
        M = pin.crba(model, data, pin.integrate(model, pin.neutral(model), velocity))
        M = (np.triu(M) + np.triu(M, 1).T)[np.ix_(columns, columns)]
        assert relative(dynamics(mechanism, q)[0], M) < POSE


def test_yaml_written_from_urdf_is_the_same_robot(tmp_path: Path) -> None:
    for name in ("panda", "tiago", "allegro_left_hand", "kinova"):
        description = read_description(urdf_path(name))
        write_yaml(description, tmp_path / f"{name}.yaml")
        assert read_description(tmp_path / f"{name}.yaml") == description


# --- out --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ROBOTS, ids=identify)
def test_export_of_every_robot_reads_back_to_the_same_mechanism(path: Path, tmp_path: Path) -> None:
    first = imported(path)
    exported = tmp_path / path.name
    exported.write_text(urdf_text(first), encoding="utf-8")
    second = imported(exported)
    assert second.joint_names == first.joint_names
    assert {f.name for f in second.frames} >= {f.name for f in first.frames}
    for q in states(first, 2):
        before, after = frame_poses(first, q), frame_poses(second, q)
        for name, pose in before.items():
            np.testing.assert_allclose(after[name], pose, rtol=0, atol=SNAPPED)
        assert_same_dynamics(dynamics(second, q), dynamics(first, q), first, ROUND_TRIP)
    for limit in ("q_min", "q_max", "qd_max", "tau_max"):
        np.testing.assert_array_equal(getattr(second.limits, limit), getattr(first.limits, limit))


@pytest.mark.parametrize("name", ["ur5_robot", "panda", "kinova", "talos_full_v2", "icub", "centauro"])
def test_pinocchio_reads_our_export_as_it_reads_the_original(name: str) -> None:
    path = urdf_path(name)
    mechanism = imported(path)
    original, robot = peer_of_file(path, mechanism)
    exported = peer_of_text(urdf_text(mechanism), mechanism)
    for q in states(mechanism):
        before, after = original.frame_poses(q), exported.frame_poses(q)
        for link, ours in robot.link_names.items():
            np.testing.assert_allclose(after[ours], before[link], rtol=0, atol=POSE)
        assert_same_dynamics(exported.dynamics(q), original.dynamics(q), mechanism, POSE)


@pytest.mark.parametrize("name", ["panda", "baxter", "pr2", "tiago_pro"])
def test_pinocchio_reads_the_mimic_joints_of_our_export(name: str) -> None:
    mechanism = imported(urdf_path(name))
    assert pin.buildModelFromXML(urdf_text(mechanism), mimic=True).nv == mechanism.n_q


def fits_urdf(name: str) -> bool:
    """URDF has no loops, and a joint may follow one other at most."""
    description = read_description(name)
    return not description.loops and all(len(coupling.of) == 1 for coupling in description.couplings)


@pytest.mark.parametrize("name", [name for name in catalogue_names() if fits_urdf(name)])
def test_pinocchio_reads_catalogue_robots_from_our_export(name: str) -> None:
    assert_export_agrees(build_mechanism(read_description(name)))


@given(mechanisms())
@settings(max_examples=50)
def test_pinocchio_reads_random_trees_from_our_export(mechanism: Mechanism) -> None:
    assert_export_agrees(mechanism)


def assert_export_agrees(mechanism: Mechanism) -> None:
    """Pinocchio finds the frames, mass matrix and gravity torque of the mechanism in its URDF."""
    peer = peer_of_text(urdf_text(mechanism), mechanism)
    for q in states(mechanism, 2):
        theirs = peer.frame_poses(q)
        for name, pose in frame_poses(mechanism, q).items():
            if name != "base":
                np.testing.assert_allclose(theirs[name], pose, rtol=0, atol=ROUND_TRIP)
        assert_same_dynamics(dynamics(mechanism, q), peer.dynamics(q), mechanism, ROUND_TRIP)
