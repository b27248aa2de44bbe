"""What must hold for every tree and state in the recursive engine.

Tolerance 1e-9, relative to the norm of the vectors involved: rounding leaves
about 1e-15 times the condition number, which the generator keeps far below
1e5. Derivatives come from central differences of order 8, whose truncation and
rounding errors both stay near 1e-12 for the step used.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings

from random_trees import (
    difference,
    mechanisms,
    random_joint_vectors,
    random_mechanism,
    random_wrenches,
    trees_with_states,
    turning_chain,
)
from servotwin.dynamics.recursive.tree_dynamics import RecursiveDynamics
from servotwin.mechanism.model import Array, Frame, Mechanism

TOLERANCE = 1e-9
STEP = 5e-3
WEIGHTS = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0.0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])

TreeState = tuple[Mechanism, np.random.Generator]
many_trees = settings(max_examples=100, deadline=None)


def derivative(function: Callable[[Array], Array]) -> Array:
    """d/dt at t = 0 of a function that takes an array of times and returns values along axis 0."""
    return np.tensordot(WEIGHTS, function(STEP * np.arange(-4, 5)), axes=1) / STEP


def wrench_torque(engine: RecursiveDynamics, q: Array, f_ext: Array) -> Array:
    """sum J_body^T f_ext from the Jacobians in body axes."""
    jacs = [engine.jacobian(q, Frame("body", i, np.eye(4)), axes="frame") for i in range(engine.n)]
    return np.asarray(sum(jac.T @ f for jac, f in zip(jacs, f_ext, strict=True)))


def test_random_trees_can_fail() -> None:
    """Three turning joints in a row have every term of the dynamics; most trees have them, some have less."""
    chains: list[int] = []

    @settings(max_examples=200, database=None, derandomize=True)
    @given(mechanisms())
    def draw(mechanism: Mechanism) -> None:
        chains.append(turning_chain(mechanism))

    draw()
    assert np.mean(np.array(chains) >= 3) > 0.7
    assert min(chains) < 3
    assert all(turning_chain(random_mechanism(np.random.default_rng(seed))) >= 3 for seed in range(20))


@many_trees
@given(trees_with_states())
def test_rnea_any_tree_equals_mass_matrix_times_acceleration_plus_bias(tree: TreeState) -> None:
    mechanism, rng = tree
    engine = RecursiveDynamics(mechanism)
    q, qd, qdd = random_joint_vectors(rng, mechanism, 3)
    f_ext, armature = random_wrenches(rng, mechanism), rng.uniform(0.0, 1.0, engine.n)
    tau = engine.rnea(q, qd, qdd, f_ext, armature)
    inertial, bias = engine.crba(q, armature) @ qdd, engine.bias(q, qd, f_ext)
    assert difference(tau, inertial + bias, float(np.linalg.norm(bias))) < TOLERANCE


@many_trees
@given(trees_with_states())
def test_aba_after_rnea_any_tree_is_identity(tree: TreeState) -> None:
    mechanism, rng = tree
    engine = RecursiveDynamics(mechanism)
    q, qd, qdd = random_joint_vectors(rng, mechanism, 3)
    f_ext, armature = random_wrenches(rng, mechanism), rng.uniform(0.0, 1.0, engine.n)
    assert difference(engine.aba(q, qd, engine.rnea(q, qd, qdd)), qdd, 1.0) < TOLERANCE
    tau = engine.rnea(q, qd, qdd, f_ext, armature)
    assert difference(engine.aba(q, qd, tau, f_ext, armature), qdd, 1.0) < TOLERANCE


@many_trees
@given(trees_with_states())
def test_mass_matrix_any_tree_is_symmetric_positive_definite(tree: TreeState) -> None:
    mechanism, rng = tree
    (q,) = random_joint_vectors(rng, mechanism, 1)
    M = RecursiveDynamics(mechanism).crba(q)
    assert np.array_equal(M, M.T)
    eigenvalues = np.linalg.eigvalsh(M)
    assert eigenvalues[0] > 1e-9 * eigenvalues[-1]


@many_trees
@given(trees_with_states())
def test_coriolis_any_tree_gives_bias_without_gravity(tree: TreeState) -> None:
    mechanism, rng = tree
    engine = RecursiveDynamics(mechanism)
    q, qd = random_joint_vectors(rng, mechanism, 2)
    gravity = engine.gravity_torque(q)
    bias = engine.coriolis(q, qd) @ qd + gravity
    assert difference(engine.bias(q, qd), bias, float(np.linalg.norm(gravity))) < TOLERANCE


@many_trees
@given(trees_with_states())
def test_mass_matrix_rate_minus_twice_coriolis_any_tree_is_skew(tree: TreeState) -> None:
    mechanism, rng = tree
    engine = RecursiveDynamics(mechanism)
    q, qd = random_joint_vectors(rng, mechanism, 2)
    C = engine.coriolis(q, qd)
    M_dot = derivative(lambda t: engine.crba(q + t[:, None] * qd))
    N = M_dot - 2.0 * C
    size = float(np.linalg.norm(engine.crba(q)) * np.linalg.norm(qd))
    assert difference(N, -N.T, size) < TOLERANCE


@settings(max_examples=60, deadline=None)
@given(trees_with_states(max_joints=7))
def test_coriolis_any_tree_equals_christoffel_formula(tree: TreeState) -> None:
    """C_ij = sum_k (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) qd_k / 2."""
    mechanism, rng = tree
    engine = RecursiveDynamics(mechanism)
    q, qd = random_joint_vectors(rng, mechanism, 2)
    units = np.eye(engine.n)
    dM = derivative(lambda t: engine.crba(q + t[:, None, None] * units))  # dM[k] = dM/dq_k
    christoffel = 0.5 * (
        np.einsum("kij,k->ij", dM, qd) + np.einsum("jik,k->ij", dM, qd) - np.einsum("ijk,k->ij", dM, qd)
    )
    size = float(np.linalg.norm(engine.crba(q)) * np.linalg.norm(qd))
    assert difference(engine.coriolis(q, qd), christoffel, size) < TOLERANCE


@many_trees
@given(trees_with_states())
def test_hybrid_any_mask_satisfies_equations_of_motion(tree: TreeState) -> None:
    mechanism, rng = tree
    engine = RecursiveDynamics(mechanism)
    q, qd, tau_in, qdd_in = random_joint_vectors(rng, mechanism, 4)
    f_ext, armature = random_wrenches(rng, mechanism), rng.uniform(0.0, 1.0, engine.n)
    given_tau = rng.random(engine.n) < 0.5
    ignored = np.full(engine.n, np.nan)
    tau, qdd = engine.hybrid(
        q,
        qd,
        np.where(given_tau, 20.0 * tau_in, ignored),
        np.where(given_tau, ignored, qdd_in),
        given_tau,
        f_ext,
        armature,
    )
    assert np.array_equal(tau[given_tau], 20.0 * tau_in[given_tau])
    assert np.array_equal(qdd[~given_tau], qdd_in[~given_tau])
    bias = float(np.linalg.norm(engine.bias(q, qd, f_ext)))
    assert difference(engine.rnea(q, qd, qdd, f_ext, armature), tau, bias) < TOLERANCE


@many_trees
@given(trees_with_states())
def test_hybrid_uniform_mask_equals_forward_and_inverse_dynamics(tree: TreeState) -> None:
    mechanism, rng = tree
    engine = RecursiveDynamics(mechanism)
    q, qd, qdd = random_joint_vectors(rng, mechanism, 3)
    f_ext, nothing = random_wrenches(rng, mechanism), np.full(engine.n, np.nan)
    tau, _ = engine.hybrid(q, qd, nothing, qdd, np.zeros(engine.n, dtype=bool), f_ext)
    bias = float(np.linalg.norm(engine.bias(q, qd, f_ext)))
    assert difference(tau, engine.rnea(q, qd, qdd, f_ext), bias) < TOLERANCE
    _, found = engine.hybrid(q, qd, tau, nothing, np.ones(engine.n, dtype=bool), f_ext)
    assert difference(found, engine.aba(q, qd, tau, f_ext), 1.0) < TOLERANCE


@many_trees
@given(trees_with_states())
def test_energy_any_motion_grows_by_power_of_torques_and_wrenches(tree: TreeState) -> None:
    mechanism, rng = tree
    engine = RecursiveDynamics(mechanism)
    q, qd, qdd = random_joint_vectors(rng, mechanism, 3)
    f_ext, armature = random_wrenches(rng, mechanism), rng.uniform(0.0, 1.0, engine.n)

    def total_energy(t: Array) -> Array:
        motion = q + t[:, None] * qd + 0.5 * t[:, None] ** 2 * qdd
        kinetic, potential = engine.energy(motion, qd + t[:, None] * qdd, armature)
        return kinetic + potential

    tau = engine.rnea(q, qd, qdd, f_ext, armature)
    power = tau @ qd + wrench_torque(engine, q, f_ext) @ qd
    kinetic, potential = engine.energy(q, qd, armature)
    size = max(float(np.abs(tau) @ np.abs(qd)), float(kinetic + abs(potential)))
    assert difference(derivative(total_energy), power, size) < TOLERANCE


@many_trees
@given(trees_with_states())
def test_energy_any_tree_matches_mass_matrix_and_gravity(tree: TreeState) -> None:
    mechanism, rng = tree
    engine = RecursiveDynamics(mechanism)
    q, qd = random_joint_vectors(rng, mechanism, 2)
    armature = rng.uniform(0.0, 1.0, engine.n)
    kinetic, potential = engine.energy(q, qd, armature)
    assert difference(kinetic, 0.5 * qd @ engine.crba(q, armature) @ qd) < TOLERANCE
    units = np.eye(engine.n)
    gradient = derivative(lambda t: engine.energy(q + t[:, None, None] * units, 0.0 * units)[1])
    assert difference(engine.gravity_torque(q), gradient, abs(float(potential))) < TOLERANCE


@many_trees
@given(trees_with_states())
def test_jacobian_any_frame_is_derivative_of_pose(tree: TreeState) -> None:
    mechanism, rng = tree
    engine = RecursiveDynamics(mechanism)
    q, qd = random_joint_vectors(rng, mechanism, 2)
    for frame in mechanism.frames:
        X = engine.frame_pose(q, frame)
        X_dot = derivative(lambda t, frame=frame: engine.frame_pose(q + t[:, None] * qd, frame))
        spin = X_dot[:3, :3] @ X[:3, :3].T
        velocity = np.array([*X_dot[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]])
        jac = engine.jacobian(q, frame)
        assert difference(jac @ qd, velocity, float(np.linalg.norm(qd))) < TOLERANCE
        jac_dot = derivative(lambda t, frame=frame: engine.jacobian(q + t[:, None] * qd, frame))
        assert difference(engine.jacobian_dot(q, qd, frame), jac_dot, float(np.linalg.norm(jac))) < TOLERANCE


@many_trees
@given(trees_with_states())
def test_wrench_at_any_frame_acts_by_its_jacobian(tree: TreeState) -> None:
    mechanism, rng = tree
    engine = RecursiveDynamics(mechanism)
    q, qd, qdd = random_joint_vectors(rng, mechanism, 3)
    wrench = rng.uniform(-10.0, 10.0, 6)
    free = engine.rnea(q, qd, qdd)
    for axes in ("world", "frame"):
        for frame in mechanism.frames:
            loaded = engine.rnea(q, qd, qdd, engine.body_wrenches(q, wrench, frame, axes))
            expected = engine.jacobian(q, frame, axes).T @ wrench
            size = float(np.linalg.norm(free) + np.linalg.norm(wrench))
            assert difference(free - loaded, expected, size) < TOLERANCE


def test_aba_chain_of_hundreds_of_joints_satisfies_equations_of_motion() -> None:
    """Long chains are badly conditioned in qdd, so the residual in tau is what can be asked for."""
    rng = np.random.default_rng(7)
    mechanism = random_mechanism(rng, 300, serial=True)
    engine = RecursiveDynamics(mechanism)
    q, qd, tau = random_joint_vectors(rng, mechanism, 3)
    armature = np.full(300, 0.1)
    residual = engine.rnea(q, qd, engine.aba(q, qd, tau, armature=armature), armature=armature)
    bias = float(np.linalg.norm(engine.bias(q, qd)))
    assert difference(residual, tau, bias) < TOLERANCE
