"""Scenario files: what is accepted, what it means, and one clear line for what is not."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from servotwin.errors import InputError
from servotwin.jobs.program import load_program
from servotwin.motion.point_moves import PointMotion
from servotwin.report.simulation_page import simulation_page
from servotwin.simulation.job_run import job_scenario
from servotwin.simulation.scenario.job_settings import JobSettings
from servotwin.simulation.scenario.scenario import (
    SCENARIOS,
    plan_scenario,
    read_scenario,
    scenario_names,
)

ROOT = Path(__file__).resolve().parents[3]
SHORT = """\
format: servotwin-scenario/1
name: short
robot: gsis-scara
move:
  - {to: {A: 10 deg}}
"""


def write(folder: Path, text: str, name: str = "scenario.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def message(folder: Path, text: str, overrides: dict[str, str] | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_scenario(write(folder, text), overrides)
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 700
    return line.removeprefix(f"{folder}/")


# --- what ships -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", scenario_names())
def test_shipped_scenario_is_named_like_its_file_and_can_be_planned(name: str) -> None:
    scenario = read_scenario(name)
    assert scenario.name == name
    assert scenario.title
    robot = st.load_robot(scenario.robot, scenario.set)
    plan = plan_scenario(scenario, robot.joint_names, robot.limits)
    q, qd, _ = plan.sample(np.linspace(0.0, plan.duration, 2001))
    assert np.all(q >= robot.limits.q_min - 1e-12)
    assert np.all(q <= robot.limits.q_max + 1e-12)
    assert np.all(np.abs(qd) <= robot.limits.qd_max * (1 + 1e-12))
    assert json.loads(json.dumps(scenario.plain()))["name"] == name


def test_a_axis_scenario_is_that_of_the_paper() -> None:
    scenario = read_scenario("scara-a-axis-100deg")
    robot = st.load_robot(scenario.robot, scenario.set)
    plan = plan_scenario(scenario, robot.joint_names, robot.limits)
    assert scenario.description.payload is not None
    assert scenario.description.payload.mass == 4.0
    zoom = scenario.record.zoom
    assert zoom is not None
    _, qd, qdd = plan.sample([zoom.at, zoom.at + zoom.span])
    np.testing.assert_allclose(np.degrees(qd[:, 0]), 200.0)
    np.testing.assert_allclose(qdd, 0.0)


def test_full_range_scenario_uses_the_range_and_the_top_speed_of_every_axis() -> None:
    scenario = read_scenario("scara-full-range")
    robot = st.load_robot(scenario.robot, scenario.set)
    plan = plan_scenario(scenario, robot.joint_names, robot.limits)
    q, qd, _ = plan.sample(np.linspace(0.0, plan.duration, 4001))
    np.testing.assert_allclose(q.min(axis=0), robot.limits.q_min, atol=1e-12)
    np.testing.assert_allclose(q.max(axis=0), robot.limits.q_max)
    np.testing.assert_allclose(np.abs(qd).max(axis=0), robot.limits.qd_max)


def test_repeatability_scenario_comes_back_to_one_pose_from_four_sides() -> None:
    scenario = read_scenario("scara-repeatability")
    robot = st.load_robot(scenario.robot, scenario.set)
    plan = plan_scenario(scenario, robot.joint_names, robot.limits)
    back = [i for i, q in enumerate(plan.q_to) if np.array_equal(q, plan.q_from[0])]
    assert len(back) == 20
    assert len({tuple(plan.q_from[i]) for i in back}) == 4


def test_perturbed_scenarios_differ_in_truth_only() -> None:
    low, high = read_scenario("scara-perturbed-low-speed"), read_scenario("scara-perturbed-high-speed")
    assert low.plant_set == high.plant_set
    assert (low.moves[0].speed, high.moves[0].speed) == (0.2, 1.0)
    assert low.description == st_description("gsis-scara")
    known, true = low.description.axes["A"], low.plant_description.axes["A"]
    assert (known.link.mass, true.link.mass) == (16.81, 17.65)
    assert known.motor is not None
    assert true.motor is not None
    assert (known.motor.coulomb_friction, true.motor.coulomb_friction) == (None, 0.015)
    assert low.plant_description.controller is not None
    assert low.plant_description.controller.current_sensor.noise == 0.02


def st_description(name: str):
    from servotwin.description.load import read_description

    return read_description(name)


# --- what it means ----------------------------------------------------------------------------------


def test_short_scenario_has_its_defaults(tmp_path: Path) -> None:
    scenario = read_scenario(write(tmp_path, SHORT))
    assert scenario.path == tmp_path / "scenario.yaml"
    assert scenario.start == {"A": 0.0, "B": 0.0, "Z": 0.0, "W": 0.0}
    (move,) = scenario.moves
    assert (move.speed, move.ramp, move.dwell, move.together) == (1.0, 0.25, 0.0, True)
    solver = scenario.solver
    assert (solver.method, solver.pwm, solver.tolerance, solver.steps) == ("fast", "switched", 1e-8, 1)
    assert (scenario.seed, scenario.repeat, scenario.record.every, scenario.record.zoom) == (1, 1, 1e-3, None)
    assert (scenario.set, scenario.plant_set, scenario.faults) == ({}, {}, ())


def test_axes_that_are_not_named_stay(tmp_path: Path) -> None:
    text = SHORT + "  - {to: {Z: 50 mm}}\nstart: {B: 20 deg}\n"
    scenario = read_scenario(write(tmp_path, text))
    robot = st.load_robot("gsis-scara")
    plan = plan_scenario(scenario, robot.joint_names, robot.limits)
    ten, twenty = np.radians([10.0, 20.0])
    np.testing.assert_allclose(plan.q_to, [[ten, twenty, 0, 0], [ten, twenty, 0.05, 0]])


@pytest.mark.parametrize(
    "change",
    [
        "set: {axes.A.link.center: [100 mm, 0 mm, 0 mm], variables.load: 2 kg}",
        "set: {axes: {A: {link: {center: [100 mm, 0 mm, 0 mm]}}}, variables: {load: 2 kg}}",
        "variables: {half: 1 kg}\nset: {axes.A.link.center: [100 mm, 0 mm, 0 mm], variables.load: = 2 * half}",
    ],
)
def test_changes_may_be_dotted_nested_or_computed(tmp_path: Path, change: str) -> None:
    scenario = read_scenario(write(tmp_path, SHORT + change))
    assert scenario.description.axes["A"].link.center == (0.1, 0.0, 0.0)
    assert scenario.description.payload is not None
    assert scenario.description.payload.mass == 2.0
    assert st.load_robot(scenario.robot, scenario.truth_set).name == "gsis-scara"


def test_overrides_reach_the_scenario_and_the_robot() -> None:
    overrides = {
        "solver.method": "rk4",
        "set.variables.load": "2 kg",
        "plant.set.variables.load": "3 kg",
        "move.0.speed": "50 %",
        "record.zoom": "",
    }
    scenario = read_scenario("scara-a-axis-100deg", overrides)
    assert scenario.solver.method == "rk4"
    assert scenario.moves[0].speed == 0.5
    assert scenario.record.zoom is None
    assert scenario.description.payload is not None
    assert scenario.plant_description.payload is not None
    assert (scenario.description.payload.mass, scenario.plant_description.payload.mass) == (2.0, 3.0)


def test_robot_file_beside_the_scenario_is_found_from_anywhere(tmp_path: Path) -> None:
    write(tmp_path, "format: servotwin/1\nname: mine\nextends: gsis-scara\n", "mine.yaml")
    scenario = read_scenario(write(tmp_path, SHORT.replace("gsis-scara", "mine.yaml")))
    assert st.load_robot(scenario.robot, scenario.set).name == "mine"


def test_scenario_that_extends_a_shipped_one_replaces_its_moves(tmp_path: Path) -> None:
    text = "format: servotwin-scenario/1\nname: own\nextends: scara-full-range\nmove: [{to: {A: 0 deg}}]\n"
    scenario = read_scenario(write(tmp_path, text))
    assert len(scenario.moves) == 1
    assert scenario.set == {"variables.load": "4 kg"}
    assert scenario.start["A"] == pytest.approx(-2 * np.pi / 3)


def test_move_with_a_profile_and_accelerations_is_read_and_planned(tmp_path: Path) -> None:
    text = SHORT.replace(
        "{A: 10 deg}", "{A: 90 deg}, profile: trapezoid, speed: 90 deg/s, acceleration: {A: 180 deg/s2}"
    )
    scenario = read_scenario(write(tmp_path, text))
    robot = st.load_robot(scenario.robot)
    move = scenario.moves[0]
    assert (move.profile, move.ramp, move.acceleration) == ("trapezoid", None, {"A": pytest.approx(np.pi)})
    plan = plan_scenario(scenario, robot.joint_names, robot.limits)
    assert plan.duration == pytest.approx(1.0 + 0.5)  # way over speed, speed over acceleration
    t = np.array([0.25, 0.75, 1.25])
    np.testing.assert_allclose(plan.sample(t)[2][:, 0], [np.pi, 0.0, -np.pi], rtol=1e-12, atol=1e-12)
    assert read_scenario(write(tmp_path, SHORT)).moves[0].ramp == 0.25


@pytest.mark.parametrize("speed", ["100 %", "20 deg/s"])
def test_axis_that_a_move_does_not_name_stays_in_every_pass(tmp_path: Path, speed: str) -> None:
    text = (
        SHORT.replace("{A: 10 deg}", f"{{A: 10 deg}}, speed: {speed}") + "  - {to: {B: 20 deg}}\nrepeat: 2\n"
    )
    scenario = read_scenario(write(tmp_path, text))
    robot = st.load_robot(scenario.robot)
    plan = plan_scenario(scenario, robot.joint_names, robot.limits)
    assert isinstance(plan, PointMotion)
    np.testing.assert_allclose(
        np.degrees(plan.q_to[:, :2]), [[10, 0], [10, 20], [10, 20], [10, 20]], atol=1e-9
    )


def test_jerk_limit_of_the_robot_file_bounds_the_moves_of_a_scenario(tmp_path: Path) -> None:
    text = SHORT.replace("{A: 10 deg}", "{A: 90 deg}")
    scenario = read_scenario(write(tmp_path, text), {"set.axes.A.limits.jerk": "20 rad/s3"})
    robot = st.load_robot(scenario.robot)
    plan = plan_scenario(scenario, robot.joint_names, robot.limits)
    jerk = np.diff(plan.sample(np.arange(0.0, plan.duration, 1e-4))[2][:, 0]) / 1e-4
    assert np.abs(jerk).max() == pytest.approx(20.0, rel=1e-3)


def test_faults_are_read_in_si(tmp_path: Path) -> None:
    text = SHORT + (
        "set: {axes.A.brake: '{torque: 2 N*m}'}\n"
        "faults:\n"
        "  - {at: 100 ms, axis: B, kind: current-sensor-offset, value: 500 mA}\n"
        "  - {at: 0.2 s, kind: supply-voltage, value: 0.06 kV}\n"
        "  - {at: 0.2 s, axis: A, kind: brake-closes}\n"
        "  - {at: 0.2 s, axis: W, kind: encoder-loses-pulses, value: -3}\n"
        "  - {at: 0.3 s, kind: power-off}\n"
    )
    faults = read_scenario(write(tmp_path, text)).faults
    assert [f.value for f in faults] == [0.5, 60.0, None, -3.0, None]
    assert [f.axis for f in faults] == ["B", None, "A", "W", None]
    assert faults[0].at == 0.1


def test_example_of_the_documents_is_accepted(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    block, begin, own, record = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert read_scenario(write(tmp_path, block)).repeat == 2
    initial = read_scenario(write(tmp_path, SHORT + begin)).initial
    assert (initial.hold, initial.speed) == ("joints", {"A": pytest.approx(math.radians(30.0))})
    assert read_scenario(write(tmp_path, SHORT + record)).record.signals == ("joint_A_*", "tip_error_along_m")
    (tmp_path / "mylaw.py").touch()
    law = read_scenario(write(tmp_path, SHORT + own)).law
    assert law is not None
    assert (law.name, law.period, law.level) == ("follow", 1.6e-3, "speed")
    assert all(f"`{name}`" in page for name in scenario_names())


# --- what goes wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SHORT.replace("scenario/1", "scenario/2"), "scenario.yaml:1: format: 'servotwin-scenario/2' is not"),
        ("name: x\n", "scenario.yaml:1: format: 'format' is missing; expected format: servotwin-scenario/1"),
        ("[1, 2]", "scenario.yaml:1: expected a mapping"),
        ("a: [", "scenario.yaml:1: broken YAML"),
        (
            SHORT.replace("robot: gsis-scara\n", ""),
            "robot: the robot is missing; expected the catalogue name",
        ),
        (SHORT.replace("gsis-scara", "gsis-skara"), "scenario.yaml:3: robot: no robot 'gsis-skara'"),
        (SHORT.replace("gsis-scara", "gsis-skara"), "did you mean 'gsis-scara'?"),
        (
            SHORT.replace("gsis-scara", "my.yaml"),
            "scenario.yaml:3: robot: no file 'my.yaml' beside the scenario",
        ),
        (SHORT.replace("{A: 10 deg}", "{Q: 10 deg}"), "scenario.yaml:5: move.0.to.Q: 'Q' is not an axis"),
        (SHORT.replace("10 deg", "10"), "move.0.to.A: '10' has no unit; expected an angle, such as '10 deg'"),
        (
            SHORT.replace("10 deg", "3e9 rad"),
            "move.0.to.A: '3e9 rad' is too large; expected at most 1e+09 rad",
        ),
        (SHORT.replace("10 deg", "10 mm"), "move.0.to.A: '10 mm' is a length; expected an angle"),
        (
            SHORT.replace("10 deg", "130 deg"),
            "scenario.yaml:5: move.0.to.A: move 1 takes axis A to 130 deg, beyond its limits;"
            " expected -120 to 120 deg",
        ),
        (SHORT + "  - {to: {Z: 151 mm}}", "scenario.yaml:6: move.1.to.Z: move 2 takes axis Z to 151 mm"),
        (SHORT + "  - {speed: 3 %}", "scenario.yaml:6: move.1: 'to' is missing"),
        (
            SHORT + "  - {to: {A: 1 deg}, speed: 101 %}",
            "move.1.speed: '101 %' is too large; expected at most 100 %",
        ),
        (SHORT + "  - {to: {A: 1 deg}, speed: 0 %}", "move.1.speed: '0 %' is too small"),
        (SHORT + "  - {to: {A: 1 deg}, ramp: -1 s}", "move.1.ramp: '-1 s' is too small"),
        (
            SHORT + "  - {to: {A: 1 deg}, profile: trapez}",
            "move.1.profile: 'trapez' is not accepted; expected one of cubic-ramp, trapezoid, s-curve, quintic",
        ),
        (
            SHORT + "  - {to: {A: 1 deg}, profile: quintic, ramp: 1 s}",
            "scenario.yaml:6: move.1.ramp: a quintic has no ramp",
        ),
        (
            SHORT + "  - {to: {A: 1 deg}, acceleration: 50 %}",
            "scenario.yaml:6: move.1.acceleration: axis A has no acceleration limit",
        ),
        (
            SHORT + "  - {to: {A: 1 deg}, acceleration: 3 rad/s}",
            "move.1.acceleration: '3 rad/s'",
        ),
        (SHORT + "  - {to: {A: 1 deg}, dwell: 1}", "move.1.dwell: '1' has no unit; expected a time"),
        (SHORT + "  - {to: {A: 1 deg}, together: maybe}", "move.1.together: 'maybe' is not accepted"),
        (SHORT + "start: {A: -121 deg}", "scenario.yaml:6: start.A: axis A starts at -121 deg, beyond"),
        (SHORT + "start: 3", "scenario.yaml:6: start: '3'; expected a mapping"),
        (SHORT + "repeat: 0", "repeat: 0 is out of range"),
        (SHORT + "solver: {method: rk5}", "solver.method: 'rk5' is not accepted; expected one of fast, rk4"),
        (SHORT + "solver: {method: modified-eulr}", "did you mean 'modified-euler'?"),
        (
            SHORT + "solver: {metod: rk4}",
            "solver.metod: unknown field; did you mean 'method'? Expected one of method, pwm",
        ),
        (SHORT + "solver: {tolerance: 0}", "solver.tolerance: '0' is too small; expected at least 1e-15"),
        (SHORT + "record: {every: -1 ms}", "record.every: '-1 ms' is too small"),
        (SHORT + "record: {zoom: {at: 9 s}}", "record.zoom.at: '9 s' is after the end at 0.5 s"),
        (SHORT + "seed: -1", "seed: -1 is out of range"),
        (SHORT + "colour: red", "scenario.yaml:6: colour: unknown field; expected one of format, name"),
        (SHORT + "set: 3", "scenario.yaml:6: set: '3'; expected a mapping"),
        (
            SHORT + "set: {variables.lod: 3 kg}",
            "scenario.yaml:6: set.variables.lod: there is no variable 'lod'; there are: a1",
        ),
        (
            SHORT + "set:\n  axes.Q.gear.ratio: 3",
            "scenario.yaml:7: set.axes.Q.gear.ratio: there is no axis 'Q'",
        ),
        (
            SHORT + "plant: {set: {axes: {A: {link: {mass: 3}}}}}",
            "scenario.yaml:6: plant.set.axes.A.link.mass: '3' has no unit; expected a mass",
        ),
        (SHORT + "plant: {sat: {}}", "plant.sat: unknown field; did you mean 'set'? Expected one of set"),
        (SHORT + "faults: [{axis: A, kind: winding-open}]", "faults.0: 'at' is missing"),
        (SHORT + "faults: [{at: 0 s, axis: A, kind: fire}]", "faults.0.kind: 'fire' is not accepted"),
        (SHORT + "faults: [{at: -1 s, axis: A, kind: winding-open}]", "faults.0.at: '-1 s' is too small"),
        (SHORT + "faults: [{at: 2 s, axis: A, kind: winding-open}]", "faults.0.at: '2 s' is after the end"),
        (SHORT + "faults: [{at: 0 s, kind: winding-open}]", "faults.0: 'axis' is missing; expected one of A"),
        (SHORT + "faults: [{at: 0 s, axis: Q, kind: winding-open}]", "faults.0.axis: 'Q' is not a motor"),
        (SHORT + "faults: [{at: 0 s, axis: A, kind: brake-closes}]", "faults.0.axis: motor 'A' has no brake"),
        (
            SHORT + "faults: [{at: 0 s, axis: A, kind: winding-open, value: 1}]",
            "faults.0.value: '1': a fault of kind winding-open has no value",
        ),
        (
            SHORT + "faults: [{at: 0 s, axis: A, kind: current-sensor-offset}]",
            "faults.0: 'value' is missing; expected one for kind current-sensor-offset, such as '0.5 A'",
        ),
        (
            SHORT + "faults: [{at: 0 s, axis: A, kind: current-sensor-offset, value: 1 V}]",
            "faults.0.value: '1 V' is a voltage; expected a current",
        ),
        (
            SHORT + "faults: [{at: 0 s, axis: A, kind: encoder-loses-pulses, value: 1.5}]",
            "faults.0.value: '1.5' is not a number of counts",
        ),
        (
            SHORT + "faults: [{at: 0 s, axis: A, kind: power-off}]",
            "faults.0.axis: a fault of kind power-off concerns all motors",
        ),
    ],
)
def test_scenario_that_cannot_be_accepted_says_why(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in message(tmp_path, text)


@pytest.mark.parametrize(
    ("override", "value", "expected"),
    [
        ("move.3.speed", "10 %", "override move.3.speed: '3' is not an item; expected 0 to 0"),
        ("move", "[]", "override move: 0 moves; expected 1 to"),
        ("set.axes.A.gear.ratio", "x", "override set.axes.A.gear.ratio: 'x'"),
        ("plant.set.axes.A.link.mass", "1 m", "override plant.set.axes.A.link.mass: '1 m' is a length"),
        ("move.0.speed", "50 mm", "override move.0.speed: '50 mm' is a length"),
    ],
)
def test_override_that_cannot_be_accepted_says_why(
    tmp_path: Path, override: str, value: str, expected: str
) -> None:
    assert expected in message(tmp_path, SHORT, {override: value})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "scara-full-rang",
            "no scenario 'scara-full-rang'; expected a .yaml file or one of daiv-1-lift",
        ),
        ("missing.yaml", "missing.yaml: no such file; expected a scenario file"),
        ("folder/x.txt", "folder/x.txt: not a scenario file; expected .yaml or .yml"),
        ("nul\0.yaml", "no such file"),
    ],
)
def test_scenario_that_is_not_there_says_so(name: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read_scenario(name)
    assert expected in str(caught.value)


def test_robot_file_in_place_of_a_scenario_is_recognised() -> None:
    with pytest.raises(
        InputError, match="'servotwin/1' is not accepted; expected format: servotwin-scenario/1"
    ):
        read_scenario(SCENARIOS.parent / "catalogue" / "gsis-scara.yaml")


def test_axis_without_speed_limit_is_refused(tmp_path: Path) -> None:
    text = SHORT + "set: {axes.A.limits.speed: ''}"
    assert (
        "move.0.to.A: axis A has no speed limit; expected a speed of this move, such as 'speed: 100 deg/s', or"
        in (message(tmp_path, text))
    )


@pytest.mark.parametrize(
    ("own", "title"),
    [
        ("name: own\n", "own (extends scara-full-range)"),
        ("", "variant (extends scara-full-range)"),
        ("name: own\ntitle: Slow and heavy\n", "Slow and heavy"),
    ],
)
def test_scenario_that_extends_another_one_does_not_keep_its_title(
    tmp_path: Path, own: str, title: str
) -> None:
    text = f"format: servotwin-scenario/1\n{own}extends: scara-full-range\n"
    path = write(tmp_path, text, "variant.yaml")
    assert read_scenario(path).title == title
    assert read_scenario(path, {"title": "Given"}).title == "Given"
    assert read_scenario("scara-full-range").title != title


@pytest.mark.parametrize(
    ("name", "shown"), [(os.fsdecode(b"l\xff"), r"l\udcff"), ("red\x1b[31m", r"red\x1b[31m")]
)
def test_title_made_of_the_name_of_a_file_is_visible(tmp_path: Path, name: str, shown: str) -> None:
    path = write(tmp_path, "format: servotwin-scenario/1\nextends: scara-full-range\n", f"{name}.yaml")
    assert read_scenario(path).title == f"{shown} (extends scara-full-range)"
    program = load_program(write(tmp_path, "WAIT 1 s\n", f"{name}.job"))
    scenario = job_scenario(program, "gsis-scara", None, JobSettings())
    assert (scenario.name, scenario.title.split(" on ")[0]) == (shown, shown)


def test_title_of_a_variant_stands_in_summary_and_report(tmp_path: Path) -> None:
    text = (
        "format: servotwin-scenario/1\nname: own\nextends: scara-full-range\n"
        "start: {A: 0 deg, B: 0 deg, Z: 0 mm, W: 0 deg}\nmove: [{to: {A: 1 deg}}]\nrecord: {every: 5 ms}\n"
    )
    result = st.simulate(write(tmp_path, text))
    assert result.summary["title"] == "own (extends scara-full-range)"
    assert "<h1>own (extends scara-full-range)</h1>" in simulation_page(result)


# --- where an override was written ------------------------------------------------------------------


def test_none_from_python_removes_a_part() -> None:
    assert read_scenario("scara-a-axis-100deg").record.zoom is not None
    assert read_scenario("scara-a-axis-100deg", {"record.zoom": None}).record.zoom is None
    assert read_scenario("scara-a-axis-100deg", {"set.payload": None}).description.payload is None


def test_rows_that_do_not_fit_are_blamed_on_who_asked_for_them(tmp_path: Path) -> None:
    expected = "0.35 ms is not a multiple of the current period, 0.2 ms; expected such as '0.4 ms'"
    assert message(tmp_path, SHORT, {"record.every": "0.35 ms"}) == f"override record.every: {expected}"
    found = message(tmp_path, SHORT + "record: {every: 0.35 ms}\n")
    assert f":{len(SHORT.splitlines()) + 1}: record.every: {expected}" in found


def test_warnings_of_a_change_name_its_line_in_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SHORT + "set: {axes.A.motor.rated_output: 9 W}\n", encoding="utf-8")
    (line,) = read_scenario(tmp_path / "s.yaml").description.warnings
    assert line.startswith(
        f"{tmp_path / 's.yaml'}:{len(SHORT.splitlines()) + 1}: axes.A.motor.rated_output: 9 W"
    )


# --- empty changes of the robot ---------------------------------------------------------------------


@pytest.mark.parametrize("change", ["{payload: null}", "{payload: ~}", "{payload: }"])
def test_empty_change_of_the_robot_removes_the_field(tmp_path: Path, change: str) -> None:
    assert read_scenario(write(tmp_path, SHORT)).description.payload is not None
    found = read_scenario(write(tmp_path, SHORT + f"set: {change}\n"))
    assert found.description.payload is None
    assert found.truth_set == {"payload": ""}
    of_truth = read_scenario(write(tmp_path, SHORT + f"plant: {{set: {change}}}\n"))
    assert of_truth.description.payload is not None
    assert of_truth.truth_set == {"payload": ""}


def test_empty_change_takes_back_that_of_the_scenario_it_extends(tmp_path: Path) -> None:
    ratio = read_scenario(write(tmp_path, SHORT)).description.axes["A"].gear
    write(tmp_path, SHORT + "set: {axes.A.gear.ratio: 7}\n", "base.yaml")
    found = read_scenario(write(tmp_path, "extends: base.yaml\nname: own\nset: {axes.A.gear.ratio: null}\n"))
    assert found.description.axes["A"].gear == ratio


@pytest.mark.parametrize("empty", ["null", "'null'", ""])
def test_empty_change_of_a_field_that_robots_do_not_have_is_refused(tmp_path: Path, empty: str) -> None:
    found = message(tmp_path, SHORT + f"set:\n  axes.A.motr: {empty}\n")
    assert f":{len(SHORT.splitlines()) + 2}: set.axes.A.motr: unknown field; did you mean 'motor'?" in found
