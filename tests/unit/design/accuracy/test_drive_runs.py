"""Repeated moves on the drive-level simulator: cycles differ, units are plain data, injected errors come back."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from servotwin.description.load import read_description
from servotwin.description.write import yaml_text
from servotwin.design.accuracy.drive_runs import DriveRun, results_of, run_legs, run_plain, truth_of
from servotwin.design.accuracy.iso9283 import position_repeatability
from servotwin.design.accuracy.pose_test import Machine, PoseTest
from servotwin.design.accuracy.poses import cube_poses
from servotwin.design.accuracy.tolerances import draw, stacked_draws
from servotwin.design.accuracy.true_kinematics import TrueKinematics
from servotwin.design.workspace.inscribed import Cube
from servotwin.errors import InputError
from servotwin.robot.complete_model import robot_of

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "benchmarks"))
DESCRIPTION = read_description("gsis-scara", {"payload.mass": "4 kg"})
FIVE = cube_poses(robot_of(DESCRIPTION), Cube(np.array([0.42, 0.0, -0.075]), 0.14))
POSES = replace(FIVE, names=FIVE.names[:2], poses=FIVE.poses[:2], joints=FIVE.joints[:2])  # quicker
MACHINE = Machine(yaml_text(DESCRIPTION), trial=1)


def test_cycles_of_a_run_differ_and_repeat_with_their_seed() -> None:
    test = PoseTest(MACHINE, POSES, 1.0, 3, 0.3, 1)
    one = test.evaluate([run_legs(run) for run in test.runs()], 1e-4)
    again = test.evaluate([run_legs(run) for run in test.runs()], 1e-4)
    np.testing.assert_array_equal(one.attained, again.attained)
    p = one.positions[:, 0]
    assert min(np.linalg.norm(p[i] - p[j]) for i in range(3) for j in range(i)) > 1e-8
    assert 1e-8 < position_repeatability(p) < 1e-3
    other = replace(test, seed=2)
    moved = other.evaluate([run_legs(run) for run in other.runs()], 1e-4)
    assert np.abs(moved.positions - one.positions).max() > 1e-8


def test_a_unit_of_work_survives_the_way_through_json() -> None:
    run = PoseTest(MACHINE, POSES, 1.0, 2, 0.3, 1).runs()[0]
    sent = json.loads(json.dumps(run.plain()))
    assert DriveRun.of(sent) == run
    here, there = run_legs(run), results_of(run_plain(sent))
    for one, two in zip(here, there, strict=True):
        np.testing.assert_array_equal(one.pose, two.pose)


def test_attained_poses_are_the_truth_of_the_plant_and_not_what_its_controller_believes() -> None:
    run = PoseTest(MACHINE, POSES, 1.0, 2, 0.3, 1).runs()[0]
    known, _ = truth_of(run.robot, run.off, run.trial, run.trial_seed, run.elapsed)
    truth, found = TrueKinematics.of(known), run_legs(run)
    x = np.stack([leg.state for leg in found])
    np.testing.assert_allclose(truth.poses(x), [leg.pose for leg in found], atol=1e-12)
    believed = robot_of(DESCRIPTION).fkine(x)
    assert np.linalg.norm((believed - truth.poses(x))[:, :3, 3], axis=1).min() > 1e-5


def test_robots_of_a_series_are_those_of_runs_with_their_trial() -> None:
    test = PoseTest(MACHINE, POSES, 1.0, 2, 0.3, 1)
    found = test.evaluate([run_legs(run) for run in test.runs()], 1e-4)
    task = {
        "robot": MACHINE.robot, "off": [], "seed": 1, "elapsed": None, "states": found.states.tolist(),
        "commanded": POSES.poses[:, :3, 3].tolist(), "first": 1, "last": 4,
    }  # fmt: skip
    drawn = np.array(draw(task))
    assert drawn.shape == (3, 2, 2)
    np.testing.assert_allclose(drawn[0, 0], found.accuracy, rtol=2e-4)  # trial 1 is that of the run
    np.testing.assert_allclose(drawn[0, 1], found.repeatability, rtol=2e-3)
    assert np.ptp(drawn[:, 0], axis=0).min() > 1e-6
    known, _ = truth_of(MACHINE.robot, (), 0, 1, None)
    assert stacked_draws(known, range(1, 4))["A"]["position"].shape == (3, 3)


def test_one_cycle_is_refused() -> None:
    with pytest.raises(InputError, match="cycles: 1; expected 2 to 1000"):
        PoseTest(MACHINE, POSES, 1.0, 1, 0.3, 1)


def test_injected_errors_come_back_within_sampling_error() -> None:
    """A sample of the campaign in benchmarks/iso9283_recovery.py."""
    import iso9283_recovery as campaign

    case, bounds = campaign.injected(), campaign.limits(30)
    assert campaign.recovered(case, 3, 30, bounds) == (True, True)
