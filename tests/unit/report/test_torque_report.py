"""The torque study of the GSIS SCARA and its report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
from plotly.offline import get_plotlyjs

from servotwin.description.load import read_description
from servotwin.errors import UnsupportedError
from servotwin.mechanism.build import build_mechanism
from servotwin.report.demo_move import full_range_move
from servotwin.report.torque_report import write_torque_report
from servotwin.report.torque_study import TorqueStudy, signals, study_torques, summary
from servotwin.robot.robot import Robot

EXACT = 1e-9  # both sides are the same physics along different ways of computing


@pytest.fixture(scope="module")
def study() -> TorqueStudy:
    description = read_description("gsis-scara", {"variables.load": "4 kg"})
    robot = Robot(build_mechanism(description), title=description.title)
    return study_torques(robot, description, full_range_move(robot))


def test_peak_joint_speeds_are_those_of_table_1(study: TorqueStudy) -> None:
    axes = {axis["name"]: axis for axis in summary(study)["axes"]}
    # Lee et al. 1989, Table 1; sampled on the plateau, so exact but for rounding
    for name, degrees in (("A", 200.0), ("B", 250.0), ("W", 450.0)):
        assert np.degrees(axes[name]["peak_speed_rad_per_s"]) == pytest.approx(degrees, rel=EXACT)
    assert axes["Z"]["peak_speed_m_per_s"] == pytest.approx(0.5, rel=EXACT)


def test_peak_motor_speeds_exceed_the_rating_as_table_1_implies(study: TorqueStudy) -> None:
    rpm = [motor["peak_speed_rad_per_s"] * 30.0 / np.pi for motor in summary(study)["motors"]]
    assert rpm == pytest.approx([3333.3, 3333.3, 3750.0, 997.5], rel=1e-4)  # gear ratios have 3 to 4 digits


def test_tool_speed_agrees_with_maximum_compound_speed(study: TorqueStudy) -> None:
    # Table 1 prints 3.6 m/s: both arms at full speed when stretched, 0.65 * 3.49 + 0.30 * 4.36.
    assert summary(study)["peak_tool_speed_m_per_s"] == pytest.approx(3.6, abs=0.05)


def test_motor_torque_is_that_of_eq_11_without_friction(study: TorqueStudy) -> None:
    rotors = study.robot.mechanism.rotors
    n = np.diag(rotors.N)
    expected = rotors.J_m * n * study.move.qdd + study.tau / n  # Lee et al. 1989, eq 11, f_m = 0
    assert study.tau_m == pytest.approx(expected, rel=EXACT, abs=EXACT)
    assert study.tau_m_load == pytest.approx(study.tau / n, rel=EXACT, abs=EXACT)


def test_power_is_the_same_on_both_sides_of_the_gears(study: TorqueStudy) -> None:
    joint_side = (study.tau_drives * study.move.qd).sum(axis=-1)
    assert study.power.sum(axis=-1) == pytest.approx(joint_side, rel=EXACT, abs=EXACT)


def test_work_over_the_closed_move_vanishes(study: TorqueStudy) -> None:
    power = study.power.sum(axis=-1)
    work = np.trapezoid(power, study.move.t)
    # Start and end are the same pose at rest. The rest is the trapezoidal rule over kinks of the power.
    assert abs(work) < 1e-4 * np.trapezoid(np.abs(power), study.move.t)


def test_ratings_are_those_of_table_3(study: TorqueStudy) -> None:
    motors = summary(study)["motors"]
    rated = np.array([6.5, 3.9, 3.25, 1.9]) * 9.80665e-2  # kgf cm
    assert [motor["rated_torque_N_m"] for motor in motors] == pytest.approx(rated)
    # three times the rated current is assumed, and torque goes with current
    assert [motor["torque_limit_N_m"] for motor in motors] == pytest.approx(3 * rated)
    for motor in motors:
        assert 0.0 < motor["rms_torque_N_m"] < motor["peak_torque_N_m"]


def test_motors_of_the_paper_carry_the_move(study: TorqueStudy) -> None:
    # The paper selected them for it: root mean square inside the rating, peaks inside the current limit.
    for motor in summary(study)["motors"]:
        assert motor["rms_torque_over_rated"] < 1.0
        assert motor["peak_torque_N_m"] < motor["torque_limit_N_m"]


def test_robot_without_a_motor_per_joint_is_refused() -> None:
    description = read_description("gsis-scara", {"axes.W.motor": "", "axes.W.gear": ""})
    robot = Robot(build_mechanism(description))
    with pytest.raises(UnsupportedError, match="one motor for every joint"):
        study_torques(robot, description, full_range_move(robot))


def test_signals_are_named_with_units(study: TorqueStudy) -> None:
    columns = signals(study)
    assert {
        "t_s",
        "q_A_rad",
        "q_Z_m",
        "tau_Z_N",
        "tau_m_Z_N_m",
        "w_m_W_rad_per_s",
        "tool_x_m",
    } <= columns.keys()
    assert all(values.shape == study.move.t.shape for values in columns.values())
    assert all(np.isfinite(values).all() for values in columns.values())


def test_report_files_agree_and_stand_alone(study: TorqueStudy, tmp_path: Path) -> None:
    steps: list[str] = []
    files = write_torque_report(study, tmp_path, steps.append)
    assert steps
    assert json.loads(files.summary.read_text(encoding="utf-8")) == summary(study)
    table = pyarrow.parquet.read_table(files.signals)
    assert np.array_equal(table["tau_m_A_N_m"].to_numpy(), study.tau_m[:, 0])
    own = files.page.read_text(encoding="utf-8").replace(get_plotlyjs(), "")
    assert "http" not in own.replace("http-equiv", "")
    assert own.count("<figure>") == 15
    for word in ("Motor A", "rated torque", "3333", "111", "motor torque [N m]", "time [s]", "are assumed"):
        assert word in own, word


def test_study_does_not_depend_on_the_road(study: TorqueStudy) -> None:
    other = study_torques(study.robot.with_road("recursive"), study.description, study.move)
    assert other.tau_m == pytest.approx(study.tau_m, rel=EXACT, abs=EXACT)
