"""Rotors on moving links: Pinocchio with one body for every rotor, geared to the joints, gives the same dynamics.

The rotor of the peer has inertia about its axis only. Its energy is J (spin + a . w)^2 / 2, of which J (a . w)^2 / 2,
a rotor that stands still on its link, is counted with the link by convention and taken out of the peer's link.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

import servotwin as st
from servotwin.kernels.kernel_store import entry
from servotwin.mechanism.model import Rotors
from servotwin.mechanism.spatial import rotation_from_z
from tests.closed_by_numpy import ClosedByNumpy
from tests.crosscheck.pinocchio_model import depth_first, to_inertia
from tests.random_trees import build_mechanism, random_mechanism

TOLERANCE = 1e-9


class Peer:
    """The tree with rotors as bodies; x are the free coordinates, the rotors turn by N times the first of them."""

    def __init__(self, robot: st.Robot) -> None:
        mechanism, rotors = robot.mechanism.opened, robot.mechanism.rotors
        self.model = pin.Model()
        self.model.gravity.linear = mechanism.gravity
        ids, order, rows = {-1: 0}, depth_first(mechanism), []
        N = np.hstack([rotors.N, np.zeros((len(rotors.J_m), mechanism.n_q - rotors.N.shape[1]))])

        def rotors_on(body: int) -> None:
            for k in np.flatnonzero(rotors.body == body):
                placement = pin.SE3(rotation_from_z(rotors.axis[k]), np.array([0.1, -0.2, 0.3]))
                joint = self.model.addJoint(ids[body], pin.JointModelRZ(), placement, f"rotor {k}")
                own = pin.Inertia(0.0, np.zeros(3), np.diag([0.0, 0.0, rotors.J_m[k]]))
                self.model.appendBodyToJoint(joint, own, pin.SE3.Identity())
                rows.append((N[k], 0.0))

        rotors_on(-1)
        for i in order:
            joint = pin.JointModelPZ() if mechanism.prismatic[i] else pin.JointModelRZ()
            parent = ids[int(mechanism.parent[i])]
            ids[i] = self.model.addJoint(
                parent, joint, pin.SE3(mechanism.X_tree[i]), mechanism.tree_joint_names[i]
            )
            phi = mechanism.phi[i].copy()
            for k in np.flatnonzero(rotors.body == i):
                a = rotors.axis[k]
                out = rotors.J_m[k] * np.outer(a, a)
                phi[4:] -= out[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]
            self.model.appendBodyToJoint(ids[i], to_inertia(phi), pin.SE3.Identity())
            rows.append((mechanism.coupling.G[i], mechanism.coupling.q0[i]))
            rotors_on(i)
        self.P, self.zero = np.array([row for row, _ in rows]), np.array([offset for _, offset in rows])
        self.data = self.model.createData()

    def inertia(self, x):
        M = np.array(pin.crba(self.model, self.data, self.P @ x + self.zero))
        M = np.triu(M) + np.triu(M, 1).T
        return self.P.T @ M @ self.P

    def rne(self, x, xd, xdd):
        return self.P.T @ pin.rnea(self.model, self.data, self.P @ x + self.zero, self.P @ xd, self.P @ xdd)


def spinning(mechanism, seed: int):
    """The mechanism with a motor for every coordinate, on any links, about any axes, coupled by a full matrix."""
    rng = np.random.default_rng(seed)
    n = mechanism.n_q
    axis = rng.normal(size=(n, 3))
    rotors = Rotors(
        tuple(f"m{i}" for i in range(n)),
        rng.normal(size=(n, n)) * 20.0,
        rng.uniform(1e-3, 5e-3, n),
        body=rng.integers(-1, mechanism.n_tree, n),
        axis=axis / np.linalg.norm(axis, axis=1, keepdims=True),
    )
    # links that can hold such rotors: what is taken out of the peer's must leave a body
    room = np.array([0.1, 0, 0, 0, 0.05, 0, 0.05, 0, 0, 0.05])
    return mechanism.with_(rotors=rotors, phi=mechanism.phi + room)


def random_chain(seed: int):
    rng = np.random.default_rng(seed)
    if seed % 2:
        return random_mechanism(rng, 5)
    return build_mechanism(list(range(-1, 4)), [False, True, False, False, False], [False] * 5, rng)


def assert_close(got, want) -> None:
    assert np.abs(got - want).max() <= TOLERANCE * max(np.abs(want).max(), 1e-6)


@pytest.mark.parametrize("engine", ["graph", "recursive"])
@pytest.mark.parametrize("seed", range(4))
def test_dynamics_with_rotors_on_moving_links_equal_those_with_rotors_as_bodies(seed, engine):
    robot = st.Robot(spinning(random_chain(seed), seed), engine=engine)
    assert robot.mechanism.rotors.spinning
    peer = Peer(robot)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        q, qd, qdd = rng.normal(size=(3, robot.n))
        M, tau = peer.inertia(q), peer.rne(q, qd, qdd)
        assert_close(robot.inertia(q, drives=True), M)
        assert_close(robot.rne(q, qd, qdd, drives=True), tau)
        assert_close(robot.accel(q, qd, tau, drives=True), qdd)
        given = ["tau", "qdd"] * robot.n
        both = robot.hybrid(q, qd, tau=tau, qdd=qdd, given=given[: robot.n], drives=True)
        assert_close(both.qdd, qdd)
        assert_close(both.tau, tau)
        alone = robot.mechanism.with_(
            rotors=replace(robot.mechanism.rotors, body=np.zeros(0, dtype=np.int64))
        )
        without = st.Robot(alone, engine=engine)
        assert np.abs(without.rne(q, qd, qdd, drives=True) - tau).max() > 1e-4 * np.abs(tau).max()
        assert_close(without.rne(q, qd, qdd), robot.rne(q, qd, qdd))


def test_leading_axes_are_free_on_the_recursive_engine():
    robot = st.Robot(spinning(random_chain(0), 0), engine="recursive")
    q, qd, qdd = np.random.default_rng(5).normal(size=(3, 2, 4, robot.n))
    graph = robot.with_engine("graph")
    assert_close(robot.rne(q, qd, qdd, drives=True), graph.rne(q, qd, qdd, drives=True))
    assert_close(robot.inertia(q, drives=True), graph.inertia(q, drives=True))
    assert_close(robot.accel(q, qd, qdd, drives=True), graph.accel(q, qd, qdd, drives=True))


def test_coupled_palletizer_with_a_motor_on_its_wrist_equals_the_peer():
    robot = st.Robot(spinning(st.load_robot("palletizer-4").mechanism, 8))
    peer, rng = Peer(robot), np.random.default_rng(8)
    q, qd, qdd = robot.random_q(rng), rng.normal(size=robot.n), rng.normal(size=robot.n)
    assert_close(robot.inertia(q, drives=True), peer.inertia(q))
    assert_close(robot.rne(q, qd, qdd, drives=True), peer.rne(q, qd, qdd))
    assert_close(robot.with_engine("recursive").rne(q, qd, qdd, drives=True), peer.rne(q, qd, qdd))
    derived = st.derive(robot, drives=True)
    assert_close(derived.closed_form.mass_matrix(q), peer.inertia(q))
    pi = derived.base_parameters.values(derived.closed_form)
    assert_close(derived.regressor(q, qd, qdd) @ pi, peer.rne(q, qd, qdd))


@pytest.mark.parametrize("name", ["five-bar", "delta-4"])
def test_closed_chain_with_rotors_on_its_links_equals_the_projected_peer(name):
    robot = st.Robot(spinning(st.load_robot(name).mechanism, 9))
    peer, witness = Peer(robot), ClosedByNumpy(robot.mechanism, robot._engine.tree)
    rng = np.random.default_rng(9)
    q, qd, qdd = robot.q_home + rng.uniform(-0.2, 0.2, robot.n), *rng.normal(size=(2, robot.n))
    x = witness.full(q)
    T = witness.motion_map(x)
    xd = T @ qd
    tau = T.T @ peer.rne(x, xd, T @ qdd + witness.drift(x, xd))
    assert_close(robot.inertia(q, drives=True), T.T @ peer.inertia(x) @ T)
    assert_close(robot.rne(q, qd, qdd, drives=True), tau)
    assert_close(robot.accel(q, qd, tau, drives=True), qdd)
    assert_close(robot.accel_full(x, xd, tau, drives=True).xdd[: robot.n], qdd)


@pytest.mark.parametrize("engine", ["graph", "recursive"])
def test_free_motion_with_spinning_rotors_keeps_its_energy(engine):
    robot = st.Robot(spinning(random_chain(2), 2).with_(gravity=np.zeros(3)), engine=engine)
    rng = np.random.default_rng(2)
    start = np.append(rng.normal(size=robot.n), rng.normal(size=robot.n))
    n = robot.n

    def rate(_, y):
        return np.append(y[n:], robot.accel(y[:n], y[n:], np.zeros(n), drives=True))

    def energy(y):
        return 0.5 * y[n:] @ robot.inertia(y[:n], drives=True) @ y[n:]

    end = solve_ivp(rate, (0.0, 1.0), start, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    assert np.abs(end[:n] - start[:n]).max() > 0.3
    assert energy(end) == pytest.approx(energy(start), rel=1e-9)


def called(compiled, *inputs) -> np.ndarray:
    """What compiled loops get from an entry."""
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(compiled.address)
    packed = np.concatenate([np.ravel(x) for x in inputs])
    out = np.zeros(sum(int(np.prod(shape)) for shape in compiled.outputs))
    function(packed.ctypes.data, out.ctypes.data, compiled.data.ctypes.data)
    return out


@pytest.mark.parametrize("name", ["chain", "five-bar"])
def test_mass_and_bias_that_simulations_work_with_count_the_spin_and_not_the_reflected_inertia(name):
    mechanism = random_chain(0) if name == "chain" else st.load_robot(name).mechanism
    robot = st.Robot(spinning(mechanism, 9))
    peer, n = Peer(robot), robot.n
    rng = np.random.default_rng(10)
    q, qd = robot.q_home + rng.uniform(-0.2, 0.2, n), rng.normal(size=n)
    x, xd, T, drift = q, qd, np.eye(n), np.zeros(n)
    if robot.closed:
        witness = ClosedByNumpy(robot.mechanism, robot._engine.tree)
        x = witness.full(q)
        T = witness.motion_map(x)
        xd = T @ qd
        drift = witness.drift(x, xd)
    kind = "closed_motion_terms" if robot.closed else "motion"
    out = called(entry(kind, robot.numbers), x, qd)
    reflected = robot.mechanism.rotors.reflected_inertia
    assert_close(out[: n * n].reshape(n, n) + reflected, T.T @ peer.inertia(x) @ T)
    assert_close(out[n * n : n * n + n], T.T @ peer.rne(x, xd, drift))
