"""Poses that a whole curve of joint positions reaches: they are told, not counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from own_robots import RAIL, written
from servotwin.design.accuracy.poses import branch
from servotwin.errors import UnsupportedError
from servotwin.robot.load import load_robot
from servotwin.robot.robot import Robot


@pytest.fixture
def rail(tmp_path: Path) -> Robot:
    return load_robot(written(tmp_path, "rail.yaml", RAIL))


def test_a_curve_of_positions_is_told_with_its_joints(rail: Robot) -> None:
    # At home the rail lies in the plane of the three parallel joints: four joints for three conditions.
    with pytest.raises(
        UnsupportedError, match=r"infinitely many .* rail, shoulder, elbow, wrist can move together"
    ):
        rail.ikine_all(rail.fkine(rail.q_home))


@pytest.mark.parametrize("elbow", [1.0, 0.3, 0.0])
def test_positions_beside_it_are_branches(rail: Robot, elbow: float) -> None:
    # Swung out of that plane every position is isolated, the stretched one (a double one) too.
    q = np.array([0.3, 0.7, 0.5, elbow, -0.8])
    found = rail.ikine_all(rail.fkine(q))
    np.testing.assert_allclose(np.abs(found - q).max(axis=1).min(), 0.0, atol=1e-4)


def test_a_campaign_of_such_poses_starts_nearest_to_home(rail: Robot) -> None:
    home = rail.fkine(rail.q_home)
    poses = np.array([home, home])
    poses[1, 2, 3] -= 0.05
    joints = branch(rail, poses, ["P1", "P2"])
    np.testing.assert_allclose(joints[0], rail.q_home, atol=1e-6)
    np.testing.assert_allclose(rail.fkine(joints), poses, atol=1e-6)
