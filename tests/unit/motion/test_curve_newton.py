"""The compiled tracker against the one in NumPy, which solves with another method and other singular values."""

from __future__ import annotations

import numpy as np
import pytest

import servotwin as st
from servotwin.motion.curves import line
from servotwin.motion.follow import Tracker, kernel_entries, solve_along_by_numpy

STARTS = {
    "gsis-scara": [0.3, 0.9, 0.05, 0.2],
    "palletizer-4": [0.2, 1.4, -1.5, 0.3],
    "puma560": [0.1, 0.8, -2.6, 0.3, 0.9, 0.0],
    "met-two-link": [0.3, 0.9],
    "daiv-1": [0.3, 0.9, 0.05],
}


def targets(name: str):
    robot, start = st.load_robot(name), np.array(STARTS[name])
    tool = np.eye(4)
    tool[:3, 3] = [0.02, -0.01, 0.05]
    tracker = Tracker(robot, tool, oriented=robot.n > 3)
    X_to = robot.fkine(start + 0.2 * np.resize([1.0, -0.5, 0.1, 0.3], robot.n)) @ tool
    curve = line(robot.fkine(start) @ tool, X_to)
    s = np.linspace(0.0, curve.length, 17)
    return tracker, s, tracker.target(curve, s), start


@pytest.mark.parametrize("name", STARTS)
def test_points_along_a_curve_are_those_of_numpy(name: str) -> None:
    tracker, s, (X, one, two), start = targets(name)
    assert kernel_entries(tracker.robot) is not None
    q, rates, solved = tracker.solve_along(s, X, one, two, start)
    q_np, rates_np, solved_np = solve_along_by_numpy(tracker, s, X, one, two, start)
    assert solved == solved_np == s.size
    np.testing.assert_allclose(q, q_np, rtol=0, atol=1e-10)
    for found, expected in zip(rates, rates_np, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("name", STARTS)
def test_points_near_guesses_are_those_of_numpy(name: str) -> None:
    tracker, s, (X, one, two), start = targets(name)
    q_true = tracker.solve_along(s, X, one, two, start)[0]
    guess = q_true + 1e-3 * np.random.default_rng(0).uniform(-1, 1, q_true.shape)
    q, rates, arrived = tracker.solve_near(X, one, two, guess.copy())
    assert arrived
    np.testing.assert_allclose(q, q_true, rtol=0, atol=1e-10)
    for found, expected in zip(rates, tracker.rates(q_true, one, two), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def test_points_along_a_curve_stop_where_the_workspace_ends() -> None:
    robot, start = st.load_robot("gsis-scara"), np.array([0.0, 1.0, 0.05, 0.0])
    X_from = robot.fkine(start)
    X_to = X_from.copy()
    X_to[:2, 3] *= 0.8 / np.linalg.norm(X_from[:2, 3])  # the arm is 0.65 m long
    curve = line(X_from, X_to)
    s = np.linspace(0.0, curve.length, 200)
    X, one, two = Tracker(robot).target(curve, s)
    _, _, solved = Tracker(robot).solve_along(s, X, one, two, start)
    reach = np.linalg.norm(X[:, :2, 3], axis=1)
    assert reach[solved - 1] < 0.65
    assert reach[min(solved + 2, 199)] > 0.645


def test_closed_chain_is_followed_without_compiled_code() -> None:
    assert kernel_entries(st.load_robot("delta-4")) is None
