"""The torques depend on as many parameters as Pinocchio's regressor has rank over the motions of the robot."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import servotwin as st
from tests.closed_by_numpy import ClosedByNumpy
from tests.crosscheck.pinocchio_model import depth_first, to_pinocchio

GAP = 1e-9  # relative to the largest; real directions stand above 1e-4, rounding leaves 1e-14


def peer_rank(robot: st.Robot, count: int) -> int:
    """Rank of Pinocchio's regressor in the ten parameters of every body, projected on the free motions."""
    mechanism = robot.mechanism
    model = to_pinocchio(mechanism)
    data, order = model.createData(), depth_first(mechanism)
    closed = ClosedByNumpy(mechanism, robot._engine.tree) if robot.closed else None
    rng = np.random.default_rng(44)
    blocks = []
    for _ in range(count):
        q, (qd, qdd) = robot.q_home + rng.uniform(-0.35, 0.35, robot.n), rng.normal(size=(2, robot.n))
        x, xd, xdd, T = q, qd, qdd, np.eye(robot.n)
        if closed is not None:
            x = closed.full(q)
            T = closed.motion_map(x)
            xd = T @ qd
            xdd = T @ qdd + closed.drift(x, xd)
        G, q0 = mechanism.coupling.G, mechanism.coupling.q0
        tree = [(v + o)[order] for v, o in ((G @ x, q0), (G @ xd, 0.0), (G @ xdd, 0.0))]
        Y = pin.computeJointTorqueRegressor(model, data, *tree)
        blocks.append((G @ T)[order].T @ Y)
    W = np.vstack(blocks)
    sizes = np.linalg.norm(W, axis=0)
    used = sizes > 1e-12 * sizes.max()
    values = np.linalg.svd(W[:, used] / sizes[used], compute_uv=False)
    return int(np.count_nonzero(values > GAP * values[0]))


@pytest.mark.parametrize(
    "name",
    [
        "met-two-link",
        "gsis-scara",
        "puma560",
        "palletizer-4",
        "four-bar",
        "five-bar",
        "delta",
        "delta-4",
        "palletizer-4-loops",
    ],
)
def test_general_base_parameters_are_as_many_as_the_rank_of_pinocchios_regressor(name):
    robot = st.load_robot(name)
    derived = st.derive(robot, general=True)
    assert len(derived.base_parameters.names) == peer_rank(robot, 240 // robot.n)
