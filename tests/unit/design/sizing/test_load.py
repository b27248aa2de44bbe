"""Loads of a cycle: actuator coordinates, carried masses, speeds, against the robot's own inverse dynamics."""

from __future__ import annotations

import numpy as np
import pytest

from servotwin.description.drive_data import drives_of
from servotwin.description.load import read_description
from servotwin.design.sizing.actuators import actuator_of
from servotwin.design.sizing.duty import Duty, duty_of_arrays
from servotwin.design.sizing.evaluate import motor_torque
from servotwin.design.sizing.load import load_of, mount_of, payload_per_kg
from servotwin.errors import InputError, ShapeError
from servotwin.mechanism.build import build_mechanism
from servotwin.motion.motor_limits import motor_limits_of
from servotwin.robot.load import load_robot
from servotwin.robot.robot import Robot
from tests.sizing_choices import job_duty, job_load

TIGHT = 1e-10  # relative: the same sums in another order


@pytest.mark.parametrize(
    ("robot", "job"), [("palletizer-4", "palletizer-line"), ("sixaxis-5kg", "sixaxis-frame")]
)
def test_motor_torques_of_a_cycle_are_those_that_planning_computes(robot, job):
    """The planner has the same torques by another way: rotors inside the inverse dynamics (eq:motor-torque)."""
    load, duty = job_load(robot, job), job_duty(job)
    description = read_description(robot)
    want = motor_limits_of(load_robot(robot), description).motor_torques(duty.q, duty.qd, duty.qdd)
    for j, drive in enumerate(drives_of(description)):
        got = motor_torque(load, j, actuator_of(drive))
        moving = load.speed[:, j] != 0.0  # slower shafts count as at rest here
        assert np.abs(got - want[:, j])[moving].max(initial=0.0) < TIGHT * np.abs(want).max()


def test_actuator_2_of_the_palletizer_bears_the_difference_of_the_joint_torques():
    """Actuator 3 stands on the base and turns th2 + th3: actuator 2 carries tau_2 - tau_3."""
    load, duty = job_load("palletizer-4", "palletizer-line"), job_duty("palletizer-line")
    tau = load_robot("palletizer-4").rne(duty.q, duty.qd, duty.qdd)
    want = np.stack([tau[:, 0], tau[:, 1] - tau[:, 2], tau[:, 2], tau[:, 3]], axis=1)
    assert np.abs(load.arm.torque - want).max() < TIGHT * np.abs(want).max()


def test_motor_3_of_the_palletizer_is_carried_by_the_first_link():
    mechanism = load_robot("palletizer-4").mechanism
    bodies = [mount_of(mechanism, drive)[0] for drive in drives_of(read_description("palletizer-4"))]
    assert bodies == [-1, 0, 0, 3]


def test_carried_masses_load_like_masses_of_the_links():
    load, duty = job_load("sixaxis-5kg", "sixaxis-frame"), job_duty("sixaxis-frame")
    robot, masses = load_robot("sixaxis-5kg"), [3.0, 2.0, 1.5, 0.7, 0.4, 0.2]
    heavy = robot
    for drive, mass in zip(drives_of(read_description("sixaxis-5kg")), masses, strict=True):
        body, place = mount_of(robot.mechanism, drive)
        if body >= 0:
            frame = robot.mechanism.frames[0]
            name = next(f.name for f in robot.mechanism.frames if f.body == body)
            X = robot.mechanism.frame(name).X_body_frame
            center = np.linalg.inv(X) @ np.append(place, 1.0)
            heavy = heavy.with_payload(mass, center[:3], frame=name)
            assert frame is not None
    want = heavy.rne(duty.q, duty.qd, duty.qdd)
    assert np.abs(load.with_masses(masses).arm.torque - want).max() < TIGHT * np.abs(want).max()


def test_a_faster_cycle_asks_for_the_torques_of_the_faster_motion():
    load, duty = job_load("sixaxis-5kg", "sixaxis-frame"), job_duty("sixaxis-frame")
    fast = load.faster(1.7)
    want = load_robot("sixaxis-5kg").rne(duty.q, 1.7 * duty.qd, 1.7**2 * duty.qdd)
    assert np.abs(fast.arm.torque - want).max() < TIGHT * np.abs(want).max()
    assert fast.duty.period == pytest.approx(duty.period / 1.7)


def test_more_payload_loads_like_a_payload():
    load, duty = job_load("sixaxis-5kg", "sixaxis-frame"), job_duty("sixaxis-frame")
    center = read_description("sixaxis-5kg").payload.center
    want = load_robot("sixaxis-5kg").with_payload(5.0, center).rne(duty.q, duty.qd, duty.qdd)
    assert np.abs(load.with_payload(5.0).arm.torque - want).max() < TIGHT * np.abs(want).max()


def test_seconds_of_a_cycle_are_its_period_and_the_rest_stands_at_its_end():
    duty = duty_of_arrays([0.0, 1.0, 3.0], np.zeros((3, 1)), np.zeros((3, 1)), np.zeros((3, 1)), rest=2.0)
    assert duty.seconds.tolist() == [0.5, 1.5, 3.0]
    assert duty.period == 5.0


def test_samples_of_a_coarse_controller_are_taken_from_the_plan():
    """The GSIS SCARA has a main period of 16 ms; its plans are sampled every millisecond."""
    duty = job_duty("scara-pick-and-place")
    assert np.diff(duty.t).max() == pytest.approx(1e-3)
    # the planned speed is the slope of the planned position, to the second order in the step
    slope = np.gradient(duty.q, duty.t, axis=0)
    assert np.abs(slope - duty.qd)[5:-5].max() < 0.02 * np.abs(duty.qd).max()


def test_duties_that_are_none_are_refused():
    with pytest.raises(ShapeError, match=r"expected \(k,\) and three of \(k, n\)"):
        duty_of_arrays([0.0, 1.0], np.zeros((2, 1)), np.zeros((3, 1)), np.zeros((2, 1)))
    with pytest.raises(InputError, match="times that rise"):
        duty_of_arrays([1.0, 0.0], np.zeros((2, 1)), np.zeros((2, 1)), np.zeros((2, 1)))
    for rest in (-1.0, np.nan, np.inf):
        with pytest.raises(InputError, match=r"rest: .* s; expected zero or more"):
            duty_of_arrays([0.0, 1.0], np.zeros((2, 1)), np.zeros((2, 1)), np.zeros((2, 1)), rest=rest)


def test_a_cycle_for_another_robot_is_refused():
    duty = Duty("two", np.array([0.0, 1.0]), *(np.zeros((2, 2)) for _ in range(3)))
    description = read_description("sixaxis-5kg")
    with pytest.raises(InputError, match="moves 2 joints; sixaxis-5kg has 6"):
        load_of(load_robot("sixaxis-5kg"), drives_of(description), duty)


def test_a_gear_sheet_beside_a_transmission_must_print_its_ratio():
    with pytest.raises(InputError, match=r"datasheet.ratio: 100, but the transmission matrix has 121.119"):
        read_description("palletizer-4", {"axes.th1.gear.datasheet.ratio": "100"})


def test_more_payload_keeps_the_radii_of_gyration_of_the_file():
    """Of a payload of 3 kg with a radius of 0.2 m: the what-if load of 4 kg more is that of a file with 7 kg."""
    changes = {"payload.inertia": "{gyration: {radius: 0.2 m, axes: [x, y, z]}}"}
    light, heavy = (
        read_description("sixaxis-5kg", {**changes, "payload.mass": f"{m} kg"}) for m in (3.0, 7.0)
    )
    rng = np.random.default_rng(4)
    duty = duty_of_arrays(np.arange(5.0), *(rng.normal(size=(5, 6)) for _ in range(3)))
    loads = [
        load_of(Robot(build_mechanism(d)), drives_of(d), duty, *payload_per_kg(d)) for d in (light, heavy)
    ]
    found, want = loads[0].with_payload(4.0).arm, loads[1].arm
    for part in ("torque", "gravity", "coasting", "inertia"):
        assert getattr(found, part) == pytest.approx(getattr(want, part), rel=1e-9, abs=1e-9)
