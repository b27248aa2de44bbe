"""Modes of an arm on elastic gears: against the complete model's linearisation, SciPy, and two masses."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.linalg import eigh

import servotwin as st
from servotwin.control.tuning.arm_modes import ArmModel, ElasticArm
from servotwin.control.tuning.shaper_choice import ShaperChoice
from servotwin.description.load import read_description
from servotwin.errors import InputError
from servotwin.mechanism.build import build_mechanism
from servotwin.motion.shaping import by_way
from servotwin.robot.robot import Robot

POSE = np.radians([20.0, 60.0, -40.0, 0.0])
LOADED = {"variables.load": "20 kg"}


@cache
def arm(pose: tuple[float, ...] = tuple(POSE)) -> ElasticArm:
    description = read_description("palletizer-4-elastic", LOADED)
    return ArmModel.of(description, Robot(build_mechanism(description))).at(np.array(pose))


def test_modes_of_motors_let_go_are_those_of_the_complete_model() -> None:
    """Inputs of the complete model with ideal motors are torques, and its matrix is derived from the symbols."""
    description = read_description("palletizer-4-elastic", LOADED)
    study = st.study_model(description, POSE, motors="ideal")
    expected = sorted(
        (mode.frequency, mode.damping) for mode in study.modes if mode.oscillates and mode.frequency > 20.0
    )
    found = sorted((mode.frequency, mode.damping) for mode in arm().free() if mode.frequency > 20.0)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_modes_of_held_motors_solve_the_generalised_eigenproblem_of_scipy() -> None:
    made = arm()
    e = made.elastic
    # th5 is held stiffly: its joint does not take part
    free = [0, 1, 2]
    K = (made.N[e].T @ np.diag(made.k[e]) @ made.N[e] + made.G)[np.ix_(free, free)]
    M = (made.M + made.N[made.stiff].T @ np.diag(made.J[made.stiff]) @ made.N[made.stiff])[np.ix_(free, free)]
    squares, shapes = eigh(0.5 * (K + K.T), M)
    found = made.held()
    np.testing.assert_allclose([mode.frequency for mode in found], np.sqrt(squares), rtol=2e-3)
    for k, mode in enumerate(found):
        shape = shapes[:, k] / shapes[np.argmax(np.abs(shapes[:, k])), k]
        np.testing.assert_allclose(np.abs(mode.joints[:3]), np.abs(shape), atol=2e-2)


def test_base_axis_alone_is_two_masses_on_a_spring() -> None:
    """The axis of the base is coupled with no other one at rest (eq:two-mass)."""
    made = arm()
    k, J, M, n = float(made.k[0]), float(made.J[0]), float(made.M[0, 0]), float(made.N[0, 0])
    view = made.view(0)
    assert any(w == pytest.approx(math.sqrt(k * n**2 / M), rel=2e-3) for w, _ in view.antiresonances)
    assert any(w == pytest.approx(math.sqrt(k / J + k * n**2 / M), rel=2e-3) for w, _ in view.resonances)


def test_response_of_a_motor_peaks_at_resonances_and_dips_at_antiresonances() -> None:
    made = arm()
    for motor in (0, 1, 2):
        view = made.view(motor)
        for pairs, sign in ((view.resonances, 1.0), (view.antiresonances, -1.0)):
            for w, damping in pairs:
                if damping > 0.2:
                    continue
                near = np.abs(made.response(motor, w * np.array([0.97, 1.0, 1.03])))
                assert sign * (near[1] - near[0]) > 0.0
                assert sign * (near[1] - near[2]) > 0.0


def test_axis_that_turns_freely_without_friction_is_no_mode() -> None:
    """Two poles at zero, which rounding parts into a pair: nothing swings, and there is no response to draw there."""
    made = replace(arm(), f=np.zeros_like(arm().f), G=np.zeros_like(arm().G))
    for motor in range(4):
        view = made.view(motor)
        assert all(w > 1.0 for w, _ in view.resonances)
        assert np.isfinite(made.response(motor, np.array([w for w, _ in view.resonances]))).all()
    assert all(mode.frequency > 1.0 for mode in made.free())
    assert len(made.free()) == len(arm().free())


def test_servo_lowers_and_damps_the_modes_of_held_motors() -> None:
    made = arm()
    held, servo = made.held()[0], made.under_servo()[0]
    assert 0.5 * held.frequency < servo.frequency < held.frequency
    assert servo.damping > 2.0 * held.damping


def test_choice_takes_the_mode_that_the_motion_bends_most() -> None:
    description = read_description("palletizer-4-elastic", {**LOADED, "controller.shaping.shaper": "zvd"})
    robot = Robot(build_mechanism(description))
    choice = ShaperChoice.of(description, robot)
    assert choice is not None
    around = choice.modes(by_way(np.array([POSE, POSE + np.array([0.5, 0.0, 0.0, 0.0])])))[0].shaper
    lifted = choice.modes(by_way(np.array([POSE, POSE + np.array([0.0, 0.2, 0.0, 0.0])])))[0].shaper
    base = min(arm().under_servo(), key=lambda mode: -abs(mode.joints[0]) + (mode.frequency > 200.0))
    assert around.frequency == pytest.approx(base.frequency, rel=1e-3)
    assert lifted.frequency != pytest.approx(around.frequency, rel=1e-3)


def test_followed_frequency_is_that_of_the_pose() -> None:
    changes = {**LOADED, "controller.shaping.shaper": "zvd", "controller.shaping.pose": "path"}
    description = read_description("palletizer-4-elastic", changes)
    choice = ShaperChoice.of(description, Robot(build_mechanism(description)))
    assert choice is not None
    poses = by_way(np.radians([[-60.0, 110.0, -130.0, 0.0], [60.0, 50.0, -40.0, 0.0]]))
    (mode,) = choice.modes(poses)
    assert mode.follow is not None
    begin, end = mode.follow(0.0), mode.follow(1.0)
    assert begin > 2.0 * end  # stretched out, the arm has several times the inertia
    assert end == pytest.approx(mode.shaper.frequency)


@pytest.mark.parametrize(
    ("robot", "changes", "field"),
    [
        ("palletizer-4", {"controller.shaping.shaper": "zv"}, "controller.shaping.frequency"),
        (
            "palletizer-4-elastic",
            {
                "controller.shaping.shaper": "zv",
                "controller.shaping.frequency": "9 Hz",
                "controller.shaping.pose": "path",
            },
            "controller.shaping.pose",
        ),
    ],
)
def test_shaper_without_a_mode_is_refused(robot: str, changes: dict[str, str], field: str) -> None:
    description = read_description(robot, changes)
    with pytest.raises(InputError) as error:
        ShaperChoice.of(description, Robot(build_mechanism(description)))
    assert field in str(error.value)
