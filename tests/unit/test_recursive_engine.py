"""Shapes, refusals and a pendulum by hand for the numpy face of the recursive engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from random_trees import build_mechanism, random_joint_vectors, random_mechanism, random_wrenches
from servotwin.dynamics.recursive.tree_dynamics import RecursiveDynamics
from servotwin.errors import ShapeError, UnsupportedError
from servotwin.mechanism.model import Array, Mechanism

Method = Callable[[RecursiveDynamics, Array, Array, Array], Any]

METHODS: dict[str, Method] = {
    "fkine_all": lambda e, q, qd, qdd: e.fkine_all(q),
    "frame_pose": lambda e, q, qd, qdd: e.frame_pose(q, "link2"),
    "jacobian": lambda e, q, qd, qdd: e.jacobian(q),
    "jacobian in frame axes": lambda e, q, qd, qdd: e.jacobian(q, axes="frame"),
    "jacobian_dot": lambda e, q, qd, qdd: e.jacobian_dot(q, qd),
    "rnea": lambda e, q, qd, qdd: e.rnea(q, qd, qdd),
    "bias": lambda e, q, qd, qdd: e.bias(q, qd),
    "gravity_torque": lambda e, q, qd, qdd: e.gravity_torque(q),
    "crba": lambda e, q, qd, qdd: e.crba(q),
    "coriolis": lambda e, q, qd, qdd: e.coriolis(q, qd),
    "aba": lambda e, q, qd, qdd: e.aba(q, qd, qdd),
    "hybrid": lambda e, q, qd, qdd: e.hybrid(q, qd, qdd, qdd, [True, False, True, False])[0],
    "energy": lambda e, q, qd, qdd: e.energy(q, qd)[0],
    "body_wrenches": lambda e, q, qd, qdd: e.body_wrenches(q, np.arange(6.0)),
}


@pytest.fixture(scope="module")
def mechanism() -> Mechanism:
    return random_mechanism(np.random.default_rng(3), 4)


@pytest.fixture(scope="module")
def engine(mechanism: Mechanism) -> RecursiveDynamics:
    return RecursiveDynamics(mechanism)


@pytest.mark.parametrize("name", METHODS)
def test_engine_leading_shape_equals_one_by_one(engine: RecursiveDynamics, name: str) -> None:
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, 2, 3, 4))
    method = METHODS[name]
    together = method(engine, q, qd, qdd)
    for k in np.ndindex(2, 3):
        assert np.array_equal(together[k], method(engine, q[k], qd[k], qdd[k]))
    assert method(engine, q[:0], qd[:0], qdd[:0]).shape == (0, *together.shape[1:])


def test_rnea_mixed_leading_shapes_broadcast(engine: RecursiveDynamics, mechanism: Mechanism) -> None:
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1, 1, (5, 1, 4)), rng.uniform(-1, 1, 4), rng.uniform(-1, 1, (3, 4))
    f_ext = random_wrenches(rng, mechanism)
    tau = engine.rnea(q, qd, qdd, f_ext)
    assert tau.shape == (5, 3, 4)
    assert np.array_equal(tau[4, 2], engine.rnea(q[4, 0], qd, qdd[2], f_ext))


def test_engine_odd_memory_layouts_are_accepted_and_left_alone(engine: RecursiveDynamics) -> None:
    q = np.random.default_rng(0).uniform(-1, 1, (4, 7)).T  # Fortran order
    q.flags.writeable = False
    before = q.copy()
    given_tau = [True] * 4
    assert np.array_equal(engine.crba(q), engine.crba(before))
    tau, qdd = engine.hybrid(q, q, q, q, given_tau)
    assert np.array_equal(q, before)
    assert np.array_equal(tau, q)
    assert np.array_equal(engine.gravity_torque([0, 0, 0, 0]), engine.gravity_torque(np.zeros(4)))
    assert np.array_equal(qdd, engine.hybrid(before, before, before, before, given_tau)[1])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda e: e.crba(np.zeros(3)), r"q has shape \(3,\); expected \(\.\.\., 4\)"),
        (lambda e: e.crba(0.0), r"q has shape \(\); expected \(\.\.\., 4\)"),
        (lambda e: e.crba([[0.0, 1.0], [2.0]]), "q must be an array of real numbers"),
        (lambda e: e.crba(np.zeros(4, dtype=complex)), "q must be an array of real numbers"),
        (lambda e: e.rnea(np.zeros((2, 4)), np.zeros((3, 4)), np.zeros(4)), "leading shapes do not fit"),
        (lambda e: e.rnea(*np.zeros((3, 4)), f_ext=np.zeros(6)), r"f_ext has shape \(6,\)"),
        (lambda e: e.crba(np.zeros(4), armature=np.ones((2, 4))), "armature has shape"),
        (lambda e: e.hybrid(*np.zeros((4, 4)), given_tau=[True]), "given_tau must be 4 truth values"),
        (lambda e: e.hybrid(*np.zeros((4, 4)), given_tau=[1, 0, 1, 0]), "given_tau must be 4 truth values"),
        (lambda e: e.body_wrenches(np.zeros(4), np.zeros(3)), r"wrench has shape \(3,\)"),
    ],
)
def test_engine_wrong_shape_is_refused(
    engine: RecursiveDynamics, call: Callable[[RecursiveDynamics], Any], text: str
) -> None:
    with pytest.raises(ShapeError, match=text):
        call(engine)


def test_engine_unknown_axes_are_refused(engine: RecursiveDynamics) -> None:
    with pytest.raises(ValueError, match="expected 'world' or 'frame'"):
        engine.jacobian(np.zeros(4), axes="tool")  # type: ignore[arg-type]


def test_jacobian_base_frame_is_zero(engine: RecursiveDynamics) -> None:
    q, qd = np.ones((2, 4))
    assert np.array_equal(engine.frame_pose(q, "base"), np.eye(4))
    assert not engine.jacobian(q, "base").any()
    assert not engine.jacobian_dot(q, qd, "base").any()
    assert not engine.body_wrenches(q, np.ones(6), "base").any()


def test_jacobian_frame_on_a_branch_ignores_other_branches() -> None:
    mechanism = build_mechanism([-1, 0, 0], [False] * 3, [False] * 3, np.random.default_rng(0))
    jac = RecursiveDynamics(mechanism).jacobian(np.ones(3), "link2")
    assert not jac[:, 2].any()
    assert jac[:, :2].all()


def test_aba_massless_tip_is_refused_unless_it_has_armature(mechanism: Mechanism) -> None:
    phi = mechanism.phi.copy()
    phi[-1] = 0.0
    engine = RecursiveDynamics(mechanism.with_(phi=phi))
    q, qd, tau = random_joint_vectors(np.random.default_rng(0), mechanism, 3)
    with pytest.raises(UnsupportedError, match="joint 'j4' moves no inertia"):
        engine.aba(q, qd, tau)
    with pytest.raises(UnsupportedError, match="joint 'j4' moves no inertia"):
        engine.hybrid(q, qd, tau, tau, [False, False, False, True])
    assert np.isfinite(engine.aba(q, qd, tau, armature=np.ones(4))).all()
    assert np.isfinite(engine.hybrid(q, qd, tau, tau, [True, True, True, False])).all()


def test_engine_pendulum_equals_formula() -> None:
    """Point mass m at distance l from a horizontal axis: m l^2 qdd + m g l cos q = tau."""
    m, length, g, q, qdd = 2.0, 0.5, 9.81, 0.3, 1.5
    base = build_mechanism([-1], [False], [False], np.random.default_rng(0))
    X_tree = np.eye(4)
    X_tree[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]  # joint axis along -y of the base, x forward, y up
    phi = np.array([[m, m * length, 0, 0, 0, 0, m * length**2, 0, 0, m * length**2]])
    engine = RecursiveDynamics(base.with_(X_tree=X_tree[None], phi=phi, gravity=np.array([0, 0, -g])))
    tau = m * length**2 * qdd + m * g * length * np.cos(q)
    assert engine.rnea([q], [7.0], [qdd]) == pytest.approx([tau], rel=1e-13)
    assert engine.aba([q], [7.0], [tau]) == pytest.approx([qdd], rel=1e-12)
    kinetic, potential = engine.energy([q], [2.0])
    assert kinetic == pytest.approx(0.5 * m * length**2 * 4.0, rel=1e-13)
    assert potential == pytest.approx(m * g * length * np.sin(q), rel=1e-13)


def test_engine_without_joints_gives_empty_results() -> None:
    mechanism = build_mechanism([], [], [], np.random.default_rng(0))
    engine = RecursiveDynamics(mechanism)
    assert engine.rnea([], [], []).shape == (0,)
    assert engine.crba(np.zeros((5, 0))).shape == (5, 0, 0)
    assert np.array_equal(engine.frame_pose([], "base"), np.eye(4))
