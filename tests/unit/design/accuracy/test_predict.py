"""What is said beside the numbers: a tool that still moves, a line too short, sources without a switch; the budget."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from servotwin.description.load import read_description
from servotwin.description.write import yaml_text
from servotwin.design.accuracy.budget import BudgetTest
from servotwin.design.accuracy.drive_runs import run_legs
from servotwin.design.accuracy.other_tests import Settings, speeds_within, steady_part
from servotwin.design.accuracy.pose_test import Machine, PoseResult, PoseTest
from servotwin.design.accuracy.poses import MeasuredPoses, cube_poses
from servotwin.design.accuracy.predict import Question, predict, restless
from servotwin.design.studies.workers import Workers
from servotwin.design.workspace.inscribed import Cube
from servotwin.errors import InputError
from servotwin.robot.complete_model import robot_of

CUBE = (0.42, 0.0, -0.075, 0.14)
SLOW = ("torsion", "hysteresis", "transmission_error")  # to compute


def test_speeds_are_those_where_the_command_holds_its_speed() -> None:
    """A trapezoid that is at its speed from 40 to 60 % of the line: ramps within the middle half do not count."""
    t = np.arange(0.0, 1.2, 1e-3)
    v = np.minimum(1.0, np.minimum(t / 0.8, 10.0))  # 0.4 m of ramp, then 1 m/s
    s = np.concatenate([[0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * 1e-3)])
    p = np.stack([s, np.zeros_like(s), np.zeros_like(s)], axis=1)
    begin, end = np.zeros(3), np.array([1.0, 0.0, 0.0])
    v_c, where = steady_part(t, p, begin, end)
    assert v_c == pytest.approx(1.0)
    assert where == pytest.approx((0.4 * 0.99**2, 0.75), abs=2e-3)
    lagging = p - [0.01, 0.0, 0.0]
    speeds = speeds_within(t, lagging, begin, end, where)
    assert speeds.min() > 0.989
    assert speeds_within(t, p, begin, end, (0.50001, 0.50002)) == pytest.approx([1.0])


def test_a_tool_that_moves_while_it_is_measured_is_told() -> None:
    X = np.tile(np.eye(4), (2, 1, 1))
    attained = np.tile(np.eye(4), (2, 2, 1, 1))
    attained[1, :, 0, 3] = 2e-6  # RP: 1 um
    poses = MeasuredPoses(("A", "B"), X, np.zeros((2, 1)))
    result = PoseResult(1.0, poses, attained, np.zeros((2, 2, 1)), 1e-4, (), unrest=0.9e-6)
    assert restless([result], 0.5) == []
    assert "still moves by up to 1.1 um" in restless([replace(result, unrest=1.1e-6)], 0.5)[0]


def test_short_lines_rests_and_sources_without_a_switch_are_noted() -> None:
    question = Question(
        payload=4.0, cycles=2, tests=("pose", "path"), cube=CUBE, off=(*SLOW, "servo_lag"), pwm="averaged",
        settings=Settings(rest=0.15, band=1e-3, path_cycles=2),
    )  # fmt: skip
    found = predict("gsis-scara", question, workers=Workers(1))
    text = "\n".join(found.notes)
    assert "the line is short for it" in text
    assert "take a rest above 0.15 s" in text
    assert "servo_lag: loops have no switch" in text
    assert found.data()["path"][0]["steady_part"] < 0.5
    AD, RD = found.pose[0].distance_components  # type: ignore[misc]
    one, two = found.pose[0].positions[:, 1], found.pose[0].positions[:, 3]
    commanded = found.poses.poses[1, :3, 3] - found.poses.poses[3, :3, 3]
    for k in range(3):
        D = [abs(a[k] - b[k]) for a, b in zip(one, two, strict=True)]
        assert AD[k] == pytest.approx(sum(D) / 2 - abs(commanded[k]), abs=1e-15)
        assert RD[k] == pytest.approx(3.0 * abs(D[0] - D[1]) / 2**0.5, rel=1e-9)


def test_pwm_is_one_of_two() -> None:
    with pytest.raises(InputError, match="pwm: 'mean'; expected switched or averaged"):
        Question(pwm="mean")


def test_shares_add_up_to_a_run_with_all_sources_at_once() -> None:
    """Geometry, warm links and the base are added to the sets afterwards; here they are within the simulation."""
    description = read_description("gsis-scara", {"payload.mass": "4 kg"})
    poses = cube_poses(robot_of(description), Cube(np.array(CUBE[:3]), CUBE[3]))
    two = replace(poses, names=poses.names[:2], poses=poses.poses[:2], joints=poses.joints[:2])
    off = (*SLOW, "resolution", "friction", "eccentricity", "noise", "play")
    machine = Machine(yaml_text(description), off, trial=1, pwm="averaged")
    inner = PoseTest(machine, two, 1.0, 3, 0.1, 1, settling=False)
    test = BudgetTest(inner, ("geometry", "thermal", "base"))
    found = test.evaluate([run_legs(run) for run in test.runs()])
    whole = inner.evaluate([run_legs(run) for run in inner.runs()], 1.0)  # the same seeds, all at once
    total = sum((row.covariance for row in found.rows), np.zeros((3, 3)))
    assert np.abs(total - whole.covariance).max() < 0.05 * np.abs(whole.covariance).max()
    assert found.together is not None
    assert found.independent_mean_closure is not None
    assert found.independent_mean_closure < 0.05  # after a rest of 0.1 s the arm still moves
    assert not np.array_equal(found.together.covariance, whole.covariance)  # seeds of its own
