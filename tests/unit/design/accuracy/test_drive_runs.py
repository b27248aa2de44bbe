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
from servotwin.design.accuracy.drive_runs import (
    DriveRun,
    Leg,
    planned,
    results_of,
    run_legs,
    run_plain,
    truth_of,
)
from servotwin.design.accuracy.iso9283 import position_repeatability
from servotwin.design.accuracy.pose_test import Machine, PoseTest
from servotwin.design.accuracy.poses import cube_poses
from servotwin.design.accuracy.tolerances import draw, stacked_draws
from servotwin.design.accuracy.true_kinematics import TrueKinematics
from servotwin.design.workspace.inscribed import Cube
from servotwin.errors import InputError
from servotwin.motion.limits import limits_of
from servotwin.robot.complete_model import robot_of

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "benchmarks"))
DESCRIPTION = read_description("gsis-scara", {"payload.mass": "4 kg"})
FIVE = cube_poses(robot_of(DESCRIPTION), Cube(np.array([0.42, 0.0, -0.075]), 0.14))
POSES = replace(FIVE, names=FIVE.names[:2], poses=FIVE.poses[:2], joints=FIVE.joints[:2])  # quicker
MACHINE = Machine(yaml_text(DESCRIPTION), trial=1, pwm="averaged")  # ten times quicker


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


def test_a_pose_is_measured_before_the_next_move_shows() -> None:
    """The main controller is a period ahead: what comes after a rest does not change the pose at its end."""
    machine = replace(MACHINE, off=("torsion", "hysteresis", "transmission_error"))
    begin = [Leg(0, 1.0, 0.2), Leg(1, 1.0, 0.2)]
    for seed in (1, 2, 3):
        onward = run_legs(machine.run(POSES, [*begin, Leg(0, 1.0, 0.2)], start=1, seed=seed))
        resting = run_legs(machine.run(POSES, [*begin, Leg(1, 1.0, 0.2)], start=1, seed=seed))
        np.testing.assert_array_equal(onward[1].pose, resting[1].pose)


def test_a_pose_is_the_mean_over_the_end_of_its_rest_and_unrest_tells_how_still_it_was() -> None:
    machine = replace(MACHINE, off=("torsion", "hysteresis", "transmission_error"))
    leg = run_legs(machine.run(POSES, [Leg(0, 1.0, 0.4, "path")], start=1, seed=1))[0]
    end = leg.poses[leg.time > leg.time[-1] - 0.0995, :3, 3]
    np.testing.assert_allclose(leg.pose[:3, 3], end.mean(axis=0), atol=1e-8)
    assert leg.unrest == pytest.approx(np.linalg.norm(end - leg.pose[:3, 3], axis=1).max(), rel=0.1)
    hurried = run_legs(machine.run(POSES, [Leg(0, 1.0, 0.05)], start=1, seed=1))[0]
    assert hurried.unrest > 20.0 * leg.unrest


def test_a_motion_has_no_jumps_where_a_line_ends_with_other_joints_than_a_move() -> None:
    """A line and a joint move to the same pose may end a turn of the wrist apart; what follows goes on from there."""
    model = robot_of(DESCRIPTION)
    joints = POSES.joints.copy()
    joints[1, 3] += 2.0 * np.pi if joints[1, 3] < 0.0 else -2.0 * np.pi
    line = (tuple(tuple(row) for row in POSES.poses[1].tolist()),)
    legs = (Leg(1), Leg(0), Leg(1, through=line), Leg(0), Leg(1, 0.2, absolute=True, through=line), Leg(0))
    run = DriveRun(MACHINE.robot, tuple(map(tuple, joints.tolist())), legs)
    limits = limits_of(model, DESCRIPTION)
    motion, _ = planned(
        run, model, replace(limits, q_min=limits.q_min - 10.0, q_max=limits.q_max + 10.0), 0.016
    )
    q = motion.sample(np.arange(0.0, motion.duration, 1e-3))[0]
    assert np.abs(np.diff(q, axis=0)).max() < 0.1
