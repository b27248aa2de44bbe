"""Inverse kinematics of closed chains: the DELTA in closed form, the others by search through their loops."""

from __future__ import annotations

import numpy as np
import pytest

import servotwin as st
from servotwin.errors import UnreachableError, UnsupportedError

CLOSED = ["four-bar", "five-bar", "stewart", "palletizer-4-loops", "delta", "delta-4"]


@pytest.mark.parametrize("name", CLOSED)
def test_ikine_of_closed_chains_reproduces_the_pose(name):
    robot = st.load_robot(name)
    rng = np.random.default_rng(3)
    for _ in range(3):
        q = np.clip(robot.q_home + rng.uniform(-0.08, 0.08, robot.n), robot.limits.q_min, robot.limits.q_max)
        T = robot.fkine(q)
        np.testing.assert_allclose(robot.fkine(robot.ikine(T)), T, atol=1e-9)


def test_ikine_of_a_closed_chain_says_when_a_pose_is_out_of_reach():
    far = np.eye(4)
    far[2, 3] = 9.0
    with pytest.raises(UnreachableError, match=r"m and .* deg away"):
        st.load_robot("stewart").ikine(far)
    with pytest.raises(UnsupportedError, match="ask for one"):
        st.load_robot("stewart").ikine_all(far)
