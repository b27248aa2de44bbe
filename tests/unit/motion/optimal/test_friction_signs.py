"""Signs of dry friction: known where a motor turns, unknown about reversals; and currents with sharp friction."""

from __future__ import annotations

import numpy as np
import pytest

import servotwin as st
from servotwin.description.load import read_description
from servotwin.motion.optimal.drive_model import drive_model
from servotwin.motion.optimal.friction_signs import (
    against,
    interval_signs,
    known_signs,
    signs_between,
    without_wrong,
)
from servotwin.motion.optimal.guess import currents
from servotwin.motion.optimal.ipopt import available

SLOW, FREE, HELD = np.array([0.1]), np.array([False]), np.array([True])


def column(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)[:, None]


def test_motor_from_rest_turns_as_it_will_and_a_held_one_sticks_at_the_start():
    w = column(0.0, 0.05, 1.0, 0.05, 0.0)
    np.testing.assert_array_equal(known_signs(w, SLOW, FREE, FREE), column(1, 1, 1, 1, 1))
    np.testing.assert_array_equal(known_signs(w, SLOW, HELD, FREE), column(0, 1, 1, 1, 1))
    np.testing.assert_array_equal(known_signs(w, SLOW, HELD, HELD), column(0, 1, 1, 1, 0))


def test_sign_is_unknown_beside_a_reversal_and_where_a_slow_start_goes_the_other_way():
    w = column(0.0, -0.05, 1.0, 0.05, -0.05, -1.0, -0.05, 0.0)
    np.testing.assert_array_equal(known_signs(w, SLOW, FREE, FREE), column(0, 0, 1, 0, 0, -1, -1, -1))


def test_motor_that_never_turns_has_no_sign():
    np.testing.assert_array_equal(known_signs(np.zeros((4, 1)), SLOW, FREE, FREE), np.zeros((4, 1)))


def test_clear_speed_at_a_free_end_has_its_sign():
    w = column(1.0, 1.0, -1.0, -1.0)
    np.testing.assert_array_equal(known_signs(w, SLOW, FREE, FREE), column(1, 1, -1, -1))


def test_wrong_signs_are_dropped_with_their_neighbours_or_for_the_whole_motor():
    signs, w = np.ones((9, 2)), np.ones((9, 2))
    w[4, 0] = -1.0
    wrong = against(w, signs, np.array([0.1, 0.1]))
    assert wrong.sum() == 1
    near = without_wrong(signs, wrong, whole=False)
    np.testing.assert_array_equal(near[:, 0], [1, 1, 0, 0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(near[:, 1], 1.0)
    np.testing.assert_array_equal(without_wrong(signs, wrong, whole=True), [[0, 1]] * 9)


def test_interval_turns_as_both_nodes_do_and_at_the_ends_as_the_inner_one():
    np.testing.assert_array_equal(interval_signs(column(0, 1, 1, -1, 0)), column(1, 1, 0, -1))


def test_sign_between_nodes_is_that_of_the_speed_where_it_is_contrary_to_both():
    t, at = np.array([0.0, 1.0, 2.0]), np.array([1.25, 1.75])
    found = signs_between(t, np.ones((3, 1)), SLOW, at, column(1.0, -1.0), np.zeros((2, 1)))
    np.testing.assert_array_equal(found, column(1, -1))


@pytest.mark.skipif(not available(), reason="casadi is not installed")
@pytest.mark.parametrize("seed", [20, 26])
def test_currents_with_sharp_friction_stay_within_their_limits_at_all_instants(seed):
    """Inverse dynamics with the sign of the speed itself at 30 001 instants; motor j1 has 20 % of dry friction."""
    robot = st.load_robot("puma560")
    drives = drive_model(robot, read_description("puma560", {}))
    rng = np.random.default_rng(seed)
    motion = st.optimise_motion("puma560", robot.random_q(rng), robot.random_q(rng))
    q, qd, qdd = motion.sample(np.linspace(0.0, motion.duration, 30_001))
    share = np.abs(currents(robot, drives, q, qd, qdd)) / drives.current
    assert share.max() < 1.001
    assert not motion.notes


@pytest.mark.skipif(not available(), reason="casadi is not installed")
def test_voltage_of_the_last_interval_counts_the_friction_of_motors_that_come_to_rest():
    """Mean voltage from the currents that the motion needs with sharp friction, at the last instants as well."""
    robot = st.load_robot("puma560")
    drives = drive_model(robot, read_description("puma560", {}))
    start = [1.69881558, 0.71706209, -1.44451712, -1.5535521, 0.67708324, 0.71587101]
    goal = [2.76132721, 0.22787685, 0.70573232, -1.44905961, 0.90313349, 0.0095452]
    motion = st.optimise_motion("puma560", start, goal)
    ends = motion.t[[-2, -1]] - np.array([0.0, 1e-9])
    i = currents(robot, drives, *motion.sample(ends))
    w = motion.sample(np.array([ends.mean()]))[1][0] @ drives.N.T
    R, step = drives.R + drives.R_bridge, ends[1] - ends[0]
    voltage = R * i.mean(axis=0) + drives.K_b * w + drives.L * np.diff(i, axis=0)[0] / step
    assert (np.abs(voltage) / drives.voltage).max() < 1.001
