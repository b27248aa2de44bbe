"""Exact derivatives of forward dynamics equal those of Pinocchio (Carpentier and Mansard 2018)."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import servotwin as st
from servotwin.description.load import catalogue_names
from servotwin.robot.robot import Robot
from tests.crosscheck.pinocchio_model import depth_first, to_pinocchio, tree_order
from tests.random_trees import random_mechanism

OPEN = [n for n in catalogue_names() if not (m := st.load_robot(n).mechanism).loops and not m.coupled]


def compare(robot: Robot, rng: np.random.Generator) -> None:
    mechanism = robot.mechanism
    model = to_pinocchio(mechanism)
    data = model.createData()
    to_pin, order = depth_first(mechanism), tree_order(mechanism)
    q, qd, tau = rng.uniform(-1.2, 1.2, (3, robot.n))
    pin.computeABADerivatives(model, data, q[to_pin], qd[to_pin], tau[to_pin])
    space = st.state_space(robot)
    _, A, B, _ = space.linearise(np.concatenate([q, qd]), tau)
    n, at = robot.n, np.ix_(order, order)
    for got, want in (
        (A[n:, :n], data.ddq_dq[at]),
        (A[n:, n:], data.ddq_dv[at]),
        (B[n:], (np.triu(data.Minv) + np.triu(data.Minv, 1).T)[at]),
    ):
        assert np.abs(got - want).max() <= 1e-9 * max(np.abs(want).max(), 1e-3)
    np.testing.assert_array_equal(A[:n], np.hstack([np.zeros((n, n)), np.eye(n)]))


@pytest.mark.parametrize("seed", range(6))
def test_derivatives_of_random_trees_equal_pinocchio(seed):
    rng = np.random.default_rng(seed)
    compare(Robot(random_mechanism(rng, 5)), rng)


@pytest.mark.parametrize("name", OPEN)
def test_derivatives_of_the_catalogue_equal_pinocchio(name):
    """Without rotors, which Pinocchio's tree does not have."""
    robot = st.load_robot(name)
    rotors = robot.mechanism.rotors
    bare = robot.mechanism.with_(rotors=rotors.__class__(rotors.names, rotors.N, 0.0 * rotors.J_m))
    if np.linalg.cond(Robot(bare).inertia(robot.q_home)) > 1e8:
        pytest.skip("some joint moves no inertia without its rotor")
    compare(Robot(bare), np.random.default_rng(1))
