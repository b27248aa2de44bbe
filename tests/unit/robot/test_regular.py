"""Poses far from parallel singularities: found where they are few, refused where there are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
from servotwin.errors import KinematicsError
from servotwin.mechanism.model import Quantities
from servotwin.robot.regular import REGULAR, closed_poses, regular_poses
from servotwin.robot.robot import Robot


def five_bar(low: list[float], high: list[float]) -> Robot:
    """The five-bar, its actuated joints (left, right) held between the angles [rad] by quantities."""
    mechanism = st.load_robot("five-bar").mechanism
    ranges = Quantities(("l", "r"), np.eye(2), np.zeros(2), np.array(low), np.array(high), (False, False))
    return Robot(replace(mechanism, quantities=ranges))


def test_regular_poses_of_the_five_bar_hold_home_and_a_quarter_of_the_best() -> None:
    robot = st.load_robot("five-bar")
    poses = regular_poses(robot, np.random.default_rng(0), 30)
    assert poses.shape == (30, 2)
    np.testing.assert_array_equal(poses[0], robot.q_home)
    firm = closed_poses(robot, poses)[1]
    assert firm.min() >= REGULAR * firm.max()


def test_regular_poses_are_found_where_few_are_and_home_is_none_of_them() -> None:
    """Of the square of all angles 0.5 % are allowed, far from home: the search narrows around what it has found."""
    low, high = np.array([2.5, 1.3]), np.array([2.95, 1.75])
    robot = five_bar(list(low), list(high))
    assert not ((robot.q_home >= low) & (robot.q_home <= high)).all()
    poses = regular_poses(robot, np.random.default_rng(0), 60)
    assert poses.shape == (60, 2)
    assert ((poses >= low) & (poses <= high)).all()


def test_regular_poses_without_room_are_refused_in_one_line() -> None:
    home = list(st.load_robot("five-bar").q_home)
    for low, high, found in ((home, home, 1), ([9.0, 9.0], [9.5, 9.5], 0)):
        with pytest.raises(
            KinematicsError, match=f"five-bar: of 20 poses that are needed, {found} were found"
        ):
            regular_poses(five_bar(low, high), np.random.default_rng(0), 20)
