"""Closed chains that cannot work, and arguments that make no sense: one clear line each, never NaN."""

from __future__ import annotations

import numpy as np
import pytest

import servotwin as st
from servotwin.description.load import read_description
from servotwin.errors import InputError, KinematicsError, ServotwinError, ShapeError, UnsupportedError
from tests.closed_robots import BRACED, closed_robot, from_text
from tests.small_robots import FOUR_BAR


def test_loop_that_cannot_be_assembled_is_named_with_what_is_left():
    with pytest.raises(
        KinematicsError, match=r"four-bar: the loops cannot be assembled at home; .* at 'pin: [xy]'"
    ):
        assert from_text(FOUR_BAR.replace("[0.3 m, 0 m, 0 m]", "[0.01 m, 0 m, 0 m]")).closure


def test_loop_with_frames_turned_against_each_other_is_told_to_turn_one():
    text = FOUR_BAR.replace("xyz: [0.3 m, 0 m, 0 m]", "xyz: [0.3 m, 0 m, 0 m], rpy: [180 deg, 0 deg, 0 deg]")
    with pytest.raises(KinematicsError, match=r"loop 'pin' closes only with .* turn one of them"):
        assert from_text(text).closure


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("active: [left]", r"the loops leave 2 freedoms but only 1 joints are actuated \(left\)"),
        ("active: [left, right, left-fore]", r"leave 2 freedoms for 3 actuated joints .*name only 2"),
    ],
)
def test_wrong_number_of_actuators_is_counted(change, words):
    text = _catalogue("five-bar").replace("active: [left, right]", change)
    with pytest.raises(KinematicsError, match=words):
        assert from_text(text).closure


def test_actuators_that_cannot_hold_the_loops_are_named():
    text = _catalogue("palletizer-4-loops").replace(
        "kinematics: null", "kinematics: null\ntransmission: null\nquantities: null"
    )
    text = text.replace("[th1, th2, th3, th5]", "[th1, th2, rod2, th5]")
    with pytest.raises(KinematicsError, match="th1, th2, rod2, th5 do not move the passive ones; actuate"):
        assert from_text(text).closure


def test_inconsistent_constraints_that_lock_a_linkage_are_said():
    locked = r"cannot be assembled|lock the mechanism"
    tilted = FOUR_BAR.replace(
        "xyz: [0.5 m, 0 m, 0 m]}, link", "xyz: [0.5 m, 0 m, 0 m], rpy: [2 deg, 0 deg, 0 deg]}, link"
    )
    assert tilted != FOUR_BAR
    with pytest.raises(KinematicsError, match=locked):
        assert from_text(tilted).closure
    with pytest.raises(KinematicsError, match=locked):
        assert from_text(BRACED.replace("three, xyz: [0.3 m", "three, xyz: [0.301 m")).closure
    assert from_text(BRACED).closure.mobility == 1


def test_home_in_a_singular_position_is_refused():
    flat = FOUR_BAR.replace("[0.2 m, 0 m, 0 m]", "[0.3 m, 0 m, 0 m]").replace(
        "crank: 90 deg, rocker: 80 deg", "crank: 0 deg"
    )
    with pytest.raises(KinematicsError, match="home is a singular position"):
        assert from_text(flat).closure


def test_position_beyond_any_walk_from_home_is_refused():
    robot = closed_robot("delta-4")
    with pytest.raises(KinematicsError, match="is too far from home"):
        robot.coordinates([0.0, 0.0, 0.0, 1e6])


def _catalogue(name: str) -> str:
    return read_description(name).dependencies[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("name", ["four-bar", "delta"])
def test_numbers_that_are_not_finite_never_come_out(name, value):
    robot = closed_robot(name)
    good, bad = robot.q_home, np.full(robot.n, value)
    x, zero = robot.coordinates(good), np.zeros(robot.n)
    bad_x, zero_x = np.full(len(x), value), np.zeros(len(x))
    questions = [
        lambda: robot.coordinates(bad),
        lambda: robot.fkine(bad),
        lambda: robot.rne(bad, zero, zero),
        lambda: robot.inertia(bad),
        lambda: robot.singularity(bad),
        lambda: robot.assemblies(bad),
        lambda: robot.accel_full(bad_x, zero_x, zero),
        lambda: robot.project(bad_x, zero_x),
        lambda: robot.with_assembly(bad_x),
    ]
    if not np.isfinite(value):
        questions += [
            lambda: robot.rne(good, bad, zero),
            lambda: robot.rne(good, zero, bad),
            lambda: robot.accel(good, bad, zero),
            lambda: robot.accel(good, zero, bad),
            lambda: robot.coriolis(good, bad),
            lambda: robot.energy(good, bad),
            lambda: robot.jacob0_dot(good, bad),
            lambda: robot.constraint_forces(good, zero, bad),
            lambda: robot.full_motion(good, bad, zero),
            lambda: robot.accel_full(x, bad_x, zero),
            lambda: robot.accel_full(x, zero_x, bad),
            lambda: robot.project(x, bad_x),
        ]
    for question in questions:
        with pytest.raises(ServotwinError) as caught:
            question()
        assert "\n" not in str(caught.value)


def test_numbers_that_are_not_finite_are_named():
    robot = closed_robot("delta")
    zero = np.zeros(3)
    for arguments, words in (
        (([np.nan, 0, 0], zero, zero), "delta: q is not finite"),
        ((zero, [np.nan, 0, 0], zero), "delta: qd is not finite"),
        ((zero, zero, [np.inf, 0, 0]), "delta: qdd is not finite"),
    ):
        with pytest.raises(InputError, match=words):
            robot.rne(*arguments)


def test_wrong_shapes_are_explained():
    robot = closed_robot("delta")
    zero = np.zeros(3)
    with pytest.raises(ShapeError, match=r"q has shape \(4,\); expected \(\.\.\., 3\): arm1 \[rad\]"):
        robot.coordinates(np.zeros(4))
    with pytest.raises(ShapeError, match=r"x has shape \(3,\); expected \(\.\.\., 9\)"):
        robot.accel_full(zero, np.zeros(9), zero)
    with pytest.raises(ShapeError, match="expected one position"):
        robot.assemblies(np.zeros((2, 3)))
    with pytest.raises(ShapeError, match="starts is 0"):
        robot.assemblies(zero, 0)
    with pytest.raises(KinematicsError, match="x does not close the loops"):
        robot.with_assembly(np.zeros(9))
    short = st.load_robot("four-bar", {"variables.crank": "450 mm"})
    with pytest.raises(KinematicsError, match=r"four-bar: the loops cannot be assembled at q = \(3\.14159\)"):
        short.assemblies([np.pi])


def test_joint_without_inertia_is_named():
    robot = st.load_robot("palletizer-4-loops")
    x, zero = robot.coordinates(robot.q_home), np.zeros(4)
    with pytest.raises(UnsupportedError, match="joint 'th5' moves no inertia"):
        robot.accel(robot.q_home, zero, zero)
    with pytest.raises(UnsupportedError, match="joint 'th5' moves no inertia"):
        robot.accel_full(x, np.zeros(10), zero)
    assert np.isfinite(robot.accel_full(x, np.zeros(10), zero, drives=True).xdd).all()
