"""Runs in which the robot is not what its controller believes: every number acts on its own side."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from operators import SCARA, points
from servotwin.control.servo.records import InnerLoop
from servotwin.description.load import read_description
from servotwin.errors import InputError
from servotwin.jobs.language import parse
from servotwin.jobs.program import Program
from servotwin.mechanism.build import build_mechanism
from servotwin.report.job_story import story_of
from servotwin.robot.robot import Robot
from servotwin.simulation.job_run import JobSettings, run_job
from servotwin.simulation.live_robot import LiveRobot
from servotwin.simulation.plant.fit import square_transmission
from servotwin.simulation.plant.servo_records import build_servo
from servotwin.simulation.run import carry_out
from servotwin.simulation.scenario.parts import Solver
from tests import hydraulic_axes
from tests import small_drives as small
from tests.small_drives import DC, RATIO, VISCOUS, K

DEGREE = math.pi / 180.0


def end_of(plant: dict[str, str]) -> float:
    changes = {f"plant.set.{field}": value for field, value in plant.items()}
    result = st.simulate("scara-a-axis-100deg", changes)
    return float(result.signals["joint_A_position_rad"][-1]) / DEGREE


def test_gear_of_another_ratio_takes_the_joint_elsewhere() -> None:
    """The controller turns its motor 100 times 100 deg."""
    assert end_of({"axes.A.gear.ratio": "101"}) == pytest.approx(100.0 * 100.0 / 101.0, abs=2e-3)


def test_encoder_of_half_the_lines_drives_the_arm_into_its_stop() -> None:
    """The controller waits for 4000 counts in a turn that gives 2000: 200 deg, and the stop is at 132 deg."""
    assert end_of({"axes.A.encoder.lines": "500"}) == pytest.approx(132.0, abs=1e-3)


def test_start_is_where_the_counts_of_the_believed_pose_are(tmp_path: Path) -> None:
    """Homed at zero: the motor stands at 50 times 0.5 rad, and the gear makes that 25/51 rad."""
    scenario = {
        **small.rest(0.1, at="0.5 rad"),
        "start": {"A": "0.5 rad"},
        "plant": {"set": {"axes.A.gear.ratio": "51"}},
    }
    result = small.run_case(tmp_path, small.robot(), scenario)
    np.testing.assert_allclose(result.signals["joint_A_position_rad"], 25.0 / 51.0, atol=1e-9)
    assert result.summary["start"]["position_ref"] == {"A": 0.5}


@pytest.mark.parametrize("sensing", ["counted", "inverse-time"])
def test_speed_is_measured_in_the_lines_that_the_driver_believes_in(tmp_path: Path, sensing: str) -> None:
    """1 % more lines than believed: the driver sees the motor 1 % faster than it is."""
    machine = small.robot(
        {"controller": {"speed_sensing": sensing}},
        axes={"A": small.axis(encoder={"lines": 100_000, "bits": None})},
    )
    move = {
        "move": [{"to": {"A": "1 rad"}, "speed": "1 rad/s", "dwell": "0.2 s"}],
        "solver": {"pwm": "averaged"},
    }
    more = {"plant": {"set": {"axes.A.encoder.lines": "101000"}}}
    s = carry_out(small.prepared(tmp_path, machine, {**move, **more}), lambda _: None).signals
    even = (s["time_s"] > 0.5) & (s["time_s"] < 0.9)
    np.testing.assert_allclose(s["joint_A_velocity_rad_per_s"][even], 1.0 / 1.01, rtol=2e-3)
    plant = small.prepared(tmp_path, machine, {**move, **more}).machine
    plant.reserve(900_000_000)
    measured = []
    for milliseconds in range(501, 900):
        plant.advance(milliseconds * 1_000_000)
        measured.append(float(plant.axes["w_meas"][0]))
    np.testing.assert_allclose(measured, RATIO, rtol=2e-3)
    assert s["joint_A_position_rad"][-1] == pytest.approx(1.0 / 1.01, abs=1e-4)


def test_current_sensor_of_another_range_is_misread_by_the_ratio(tmp_path: Path) -> None:
    """A sensor for 50 A behind which the driver believes one for 25 A: it drives twice the current that it wants."""
    heavy = small.axis(motor={**DC, "rotor_inertia": "0.1 kg*m^2"})  # hardly turns, so that no back-EMF grows
    machine = small.robot({"controller": {"current_sensor": {"range": "25 A"}}}, axes={"A": heavy})
    law = st.PythonLaw(lambda _time, _signals: [1.0], 1e-3, "current")
    plant = {"plant": {"set": {"controller.current_sensor.range": "50 A"}}}
    result = small.run_case(
        tmp_path, machine, {**small.rest(0.03), **plant, "solver": {"pwm": "averaged"}}, law
    )
    assert result.signals["motor_A_current_A"][-1] == pytest.approx(2.0, rel=1e-2)


def test_driver_that_knows_no_range_is_told_amperes(tmp_path: Path) -> None:
    """An ideal motor without current limit: nothing tells its driver what the sensor's full scale is."""
    motor = {"kind": "ideal", "torque_constant": f"{K} N*m/A", "rotor_inertia": "0.1 kg*m^2"}
    seen: list[float] = []

    def law(_time: float, signals: st.Signals) -> list[float]:
        seen.append(float(signals.current[0]))
        return [1.0]

    plant = {"plant": {"set": {"controller.current_sensor.range": "50 A"}}}
    machine = small.robot({}, axes={"A": small.axis(motor=motor)})
    small.run_case(tmp_path, machine, {**small.rest(0.01), **plant}, st.PythonLaw(law, 1e-3, "current"))
    assert seen[-1] == pytest.approx(1.0, rel=1e-9)


def test_ideal_motor_turns_the_commanded_current_into_its_own_torque(tmp_path: Path) -> None:
    motor = {
        "kind": "ideal",
        "torque_constant": f"{K} N*m/A",
        "rotor_inertia": "1e-4 kg*m^2",
        "current_limit": "20 A",
    }
    machine = small.robot({}, axes={"A": small.axis(motor=motor)})
    law = st.PythonLaw(lambda _time, _signals: [2.0], 1e-3, "current")
    plant = {"plant": {"set": {"axes.A.motor.torque_constant": "0.1 N*m/A"}}}
    result = small.run_case(tmp_path, machine, {**small.rest(0.01), **plant}, law)
    np.testing.assert_allclose(result.signals["motor_A_torque_N_m"][1:], 0.2, rtol=1e-9)


def test_current_limit_is_the_drivers_own(tmp_path: Path) -> None:
    law = st.PythonLaw(lambda _time, _signals: [100.0], 1e-3, "current")
    plant = {"plant": {"set": {"axes.A.motor.current_limit": "5 A"}}}
    result = small.run_case(
        tmp_path, small.robot(), {**small.rest(0.01), **plant, "solver": {"pwm": "averaged"}}, law
    )
    assert result.signals["motor_A_current_ref_A"].max() == 20.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"axes.A.motor.kind": "pmsm", "axes.A.motor.pole_pairs": "4"},
            ["axes.A.motor.kind", "pmsm", "driver"],
        ),
        ({"controller.main_period": "20 ms"}, ["controller.main_period", "without effect"]),
    ],
)
def test_truth_that_is_the_controllers_is_refused_or_told(
    tmp_path: Path, change: dict[str, str], words: list[str]
) -> None:
    scenario = {**small.rest(0.01), "plant": {"set": change}}
    try:
        told = " ".join(small.run_case(tmp_path, small.robot(), scenario).summary["warnings"])
    except InputError as error:
        told = str(error)
    assert all(word in told for word in words), told


MOTORS: dict[str, small.Tree] = {
    "dc": DC,
    "ideal": {"kind": "ideal", "torque_constant": "50 N*m/A"},
    "hydraulic": hydraulic_axes.LIFT["motor"],
}


@pytest.mark.parametrize(
    ("true", "believed", "expected"),
    [
        ("hydraulic", "dc", "a motor that the driver feeds, or ideal"),
        ("hydraulic", "ideal", "a motor that the driver feeds, or ideal"),
        ("dc", "hydraulic", "a servovalve"),
        ("ideal", "hydraulic", "a servovalve"),
    ],
)
def test_servovalve_and_other_motors_have_drivers_of_their_own(
    tmp_path: Path, true: str, believed: str, expected: str
) -> None:
    robot = hydraulic_axes.lift(gear={"ratio": "1 rad/m"}, motor=None)
    robot["axes"]["A"]["motor"], robot["power"] = MOTORS[believed], {"bus_voltage": "60 V"}
    rest = {"start": {"A": "-50 mm"}, **small.rest(0.01, at="-50 mm")}
    with pytest.raises(InputError) as caught:
        small.run_case(tmp_path, robot, {**rest, "plant": {"set": {"axes.A.motor": MOTORS[true]}}})
    assert f"'{true}' in truth, at a driver for '{believed}'; expected {expected}" in str(caught.value)


# --- jobs -------------------------------------------------------------------------------------------

START = dict(zip(SCARA.joint_names, [0.35, 0.7, 0.05, 0.17], strict=True))
SETTINGS = JobSettings(solver=Solver(pwm="averaged"), start=START)


def job(text: str) -> Program:
    return Program(parse(text, "test.job"), points())


def test_job_on_another_gear_ends_where_that_gear_takes_it() -> None:
    program = job("MOVEJ P1")
    plain = run_job(program, settings=SETTINGS).result
    other = run_job(program, settings=replace(SETTINGS, plant={"axes.A.gear.ratio": "101"})).result
    known, true = (float(result.signals["joint_A_position_rad"][-1]) for result in (plain, other))
    assert true == pytest.approx(known * 100.0 / 101.0, abs=2e-5)


def test_job_with_wrong_encoder_lines_counts_what_it_believes() -> None:
    """5 % more lines: the joint goes 5 % less far, and the controller sees nothing of it."""
    program = job("MOVEJ P1")
    run = run_job(program, settings=replace(SETTINGS, plant={"axes.A.encoder.lines": "1050"}))
    plain = run_job(program, settings=SETTINGS)
    assert run.log.finished
    assert not run.log.alarms
    ends = [float(one.result.signals["joint_A_position_rad"][-1]) for one in (run, plain)]
    assert ends[0] == pytest.approx(ends[1] / 1.05, abs=2e-5)


def test_job_at_a_short_main_period_gets_ready_with_the_counted_pose() -> None:
    """Half a count of a coarse encoder within 0.2 ms would be beyond the speed limit: no alarm, nothing moved."""
    changes: dict[str, Any] = {"controller.main_period": "0.2 ms", "controller.axis_period": "0.2 ms"}
    changes |= {f"axes.{name}.encoder.lines": "1" for name in SCARA.joint_names}
    changes |= {"axes.A.gear.ratio": "10"}
    program = Program(parse("WAIT 0.05 s", "test.job"), points())
    run = run_job(program, overrides=changes, settings=replace(SETTINGS, settle=0.01))
    assert [a for a in run.log.alarms if a.startswith("speed")] == []


def test_live_robot_sees_its_counts_from_the_first_period_on() -> None:
    robot = LiveRobot(
        "gsis-scara", {"axes.A.encoder.lines": "1"}, drives=True, q=np.array([0.351, 0.7, 0.05, 0.17])
    )
    seen = robot.controller.measured.q.copy()
    robot.step()
    np.testing.assert_array_equal(robot.controller.measured.q, seen)


def test_friction_that_nobody_knows_costs_the_motor_its_current(tmp_path: Path) -> None:
    """Belief stays smooth; the plant rubs."""
    move = {"move": [{"to": {"A": "1 rad"}, "speed": "1 rad/s"}], "solver": {"pwm": "averaged"}}
    plant = {"plant": {"set": {"axes.A.motor.coulomb_friction": "0.05 N*m"}}}
    s = small.run_case(tmp_path, small.robot(axes={"A": small.axis(motor=DC)}), {**move, **plant}).signals
    even = (s["time_s"] > 0.5) & (s["time_s"] < 0.9)
    np.testing.assert_allclose(s["motor_A_current_A"][even].mean(), (0.05 + VISCOUS * RATIO) / K, rtol=1e-2)


def test_job_report_measures_the_arm_as_it_is() -> None:
    """A second arm 5 mm longer than known: the tool leaves its path by 5 mm times what the turn shows of it."""
    settings = replace(SETTINGS, plant={"variables.a2": "305 mm"})
    run = run_job(job("MOVEJ P1\nMOVEL P2 SPEED 0.4 m/s"), settings=settings)
    measured = [step.off_path_m for step in story_of(run).steps if step.off_path_m is not None]
    tip, wanted = (
        np.stack([run.result.signals[f"tip_{word}{axis}_m"] for axis in "xyz"], axis=-1)
        for word in ("", "ref_")
    )
    assert np.linalg.norm(tip[-1] - wanted[-1]) == pytest.approx(5e-3, rel=0.02)
    assert max(measured) > 2e-3


@pytest.mark.parametrize(
    ("name", "loops"),
    [
        ("sixaxis-5kg", [InnerLoop.FIELD_ORIENTED] * 6),
        ("daiv-1", [InnerLoop.CURRENT, InnerLoop.CURRENT, InnerLoop.VALVE]),
    ],
)
def test_servo_by_itself_knows_its_innermost_loops(name: str, loops: list[InnerLoop]) -> None:
    """No plant tells it: what the controller believes of its motors does."""
    belief = read_description(name)
    model = Robot(build_mechanism(belief))
    servo = build_servo(belief, model, square_transmission(model), 1)
    assert servo.axes["inner"].tolist() == loops


def test_ideal_motor_in_the_place_of_a_synchronous_one_gets_a_current(tmp_path: Path) -> None:
    axes = {"A": small.axis(motor=small.PMSM)}
    truth = {"plant": {"set": {"axes.A.motor.kind": "ideal"}}}
    for more, loop in (({}, InnerLoop.FIELD_ORIENTED), (truth, InnerLoop.CURRENT)):
        machine = small.prepared(tmp_path, small.robot({}, axes=axes), {**small.rest(0.01), **more}).machine
        assert machine.axes["inner"].tolist() == [loop]
