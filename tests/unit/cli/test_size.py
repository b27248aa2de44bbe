"""``servotwin size``: tables, files, exit codes, refusals in one line."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from servotwin.cli.main import main
from servotwin.cli.size import what_if_line
from servotwin.design.sizing.evaluate import Check
from servotwin.design.sizing.what_if import WhatIf

Capture = pytest.CaptureFixture[str]
LINE = ["size", "palletizer-4", "--job", "palletizer-line"]
CATALOGUE = """format: servotwin-catalogue/1
name: two-motors
motors:
  small: {kind: pmsm, rated_output: 400 W, rated_speed: 3000 rpm, max_speed: 5000 rpm, rated_torque: 1.27 N*m,
    peak_torque: 3.8 N*m, rotor_inertia: 0.6 kg*cm^2, mass: 1.5 kg, price_index: 2}
  large: {kind: pmsm, rated_output: 2 kW, rated_speed: 3000 rpm, max_speed: 5000 rpm, rated_torque: 6.37 N*m,
    peak_torque: 19.1 N*m, rotor_inertia: 3.7 kg*cm^2, mass: 7 kg, price_index: 5}
gears:
  light: {kind: rv, ratio: 81, rated_torque: 167 N*m, repeated_peak_torque: 412 N*m, momentary_torque: 833 N*m,
    mass: 2.5 kg, price_index: 3}
  heavy: {kind: rv, ratio: 121, rated_torque: 784 N*m, repeated_peak_torque: 1960 N*m, momentary_torque: 3920 N*m,
    mass: 9 kg, price_index: 6}
"""


def refused(words: list[str], capsys: Capture) -> str:
    """The one line with which a command refuses."""
    assert main(words) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def test_question_that_nothing_allows_is_a_sentence() -> None:
    check = Check("voltage", "motor", 70.0, 60.0, "V", 70.0 / 60.0)
    told = what_if_line(WhatIf("payload", None, "kg", "A", check))
    assert told == "payload: not even the least is allowed; A: voltage"
    assert what_if_line(WhatIf("payload", 4.5, "kg", "A", check)) == "payload: up to 4.5 kg, then A: voltage"


def test_demands_and_answers_are_printed(capsys: Capture) -> None:
    assert main([*LINE, "--what-if", "payload", "--what-if", "speed"]) == 0
    out = capsys.readouterr().out
    assert "cycle of 3.147 s" in out
    assert "payload: up to" in out
    assert "speed: up to" in out


def test_page_data_and_table_are_written(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "out"
    assert main([*LINE, "--out", str(folder), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    data = json.loads((folder / "sizing.json").read_text(encoding="utf-8"))
    assert [a["axis"] for a in data["present"]["actuators"]] == ["th1", "th2", "th3", "th5"]
    assert printed["present"]["supply"]["peak_power_W"] == data["present"]["supply"]["peak_power_W"] > 0.0
    with (folder / "sizing.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["peak_torque_N_m"]) == pytest.approx(
        data["present"]["actuators"][0]["peak_torque_N_m"]
    )
    page = (folder / "sizing.html").read_text(encoding="utf-8")
    for heading in ("Ratings side by side", "Torque and speed", "Supply and braking"):
        assert heading in page
    assert 'src="http' not in page
    assert "Winding temperature in the steady cycle" in page


def test_page_of_motors_without_thermal_data_draws_no_temperatures(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    assert main(["size", "puma560", "--job", "puma-line", "--out", str(folder)]) in (0, 1)
    page = (folder / "sizing.html").read_text(encoding="utf-8")
    assert "Torque at the outputs" in page
    assert "Winding temperature in the steady cycle" not in page
    assert not re.search(r">[\d.]+e-[123]\d<", page)  # what rounding leaves of zero


def test_a_set_of_a_catalogue_is_chosen_with_reasons(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(CATALOGUE)
    assert main([*LINE, "--catalogue", str(file), "--minimise", "mass", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    chosen = [(a["motor"], a["gear"]) for a in data["chosen"]["actuators"]]
    assert data["chosen"]["gap"] == 0.0
    assert data["chosen"]["passes"]
    assert chosen[3] == ("small", "light")
    assert all(r["cost"] < r["chosen_cost"] for r in data["rejected"])


def test_front_has_no_point_that_another_beats(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(CATALOGUE)
    assert main([*LINE, "--catalogue", str(file), "--pareto", "--out", str(tmp_path / "out"), "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["pareto"]
    values = [(p["cycle_time_s"], p["price"], p["mass_kg"]) for p in points]
    assert len(set(values)) == len(values) >= 2
    for one in values:
        assert not any(
            other != one and all(a <= b for a, b in zip(other, one, strict=True)) for other in values
        )
    robot = tmp_path / "out" / "sized-robot.yaml"
    assert main(["check", str(robot)]) == 0


def test_job_too_heavy_for_the_drives_of_the_file_is_sized_all_the_same(capsys: Capture) -> None:
    """Planned without their limits of torques: they are judged, and stronger ones are searched for."""
    assert main([*LINE, "--set", "payload.mass=150 kg"]) == 1
    told = capsys.readouterr()
    assert "it is planned without limits of torques" in told.err + told.out
    assert main([*LINE, "--minimise", "price", "--set", "payload.mass=150 kg"]) == 0
    assert "no set is better" in capsys.readouterr().out
    line = refused([*LINE, "--minimise", "price", "--set", "payload.mass=400 kg"], capsys)
    assert "axis th1: no entry of the catalogue satisfies the cycle; nearest is" in line


def test_job_out_of_reach_is_refused_whatever_the_drives(tmp_path: Path, capsys: Capture) -> None:
    line = refused([*LINE, "--set", "axes.th2.limits.position=[85 deg, 95 deg]"], capsys)
    assert "--job: the job does not come to its end" in line


def test_an_exceeded_limit_is_told_by_the_exit_code(capsys: Capture) -> None:
    assert main([*LINE, "--reserve", "5"]) == 1
    assert "162" in capsys.readouterr().out  # of the voltage, which 32 % would be without the reserve


def test_worst_case_is_printed(capsys: Capture) -> None:
    words = ["size", "palletizer-4", "--tool-speed", "1 m/s", "--tool-acceleration", "5 m/s^2"]
    assert main([*words, "--set", "variables.load=20 kg"]) == 0
    assert "579" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["size", "palletizer-4"],
            "--job: expected one of: a job, a scenario, a duty, or tool speed and acceleration",
        ),
        ([*LINE, "--minimise", "colour"], "--minimise: 'colour' is unknown; expected price, mass, size"),
        ([*LINE, "--what-if", "colour"], "--what-if: 'colour' is unknown; expected payload or speed"),
        ([*LINE, "--reserve", "0.5"], "--reserve: 0.5; expected a factor of 1 or more"),
        ([*LINE, "--low-voltage", "120 %"], "--low-voltage: 1.2; expected a share of the bus voltage"),
        ([*LINE, "--rest", "-1 s"], "--rest: '-1 s' is negative"),
        (["size", "palletizer-4", "--tool-speed", "1 m/s"], "--tool-acceleration: missing or negative"),
        (["size", "palletizer-4", "--scenario", "scara-full-range"], "--scenario: moves gsis-scara"),
        (["size", "delta", "--job", "palletizer-line"], ""),
        ([*LINE, "--catalogue", "nowhere.yaml"], "nowhere.yaml"),
        ([*LINE, "--life", "0 h"], "expected a time above zero"),
    ],
)
def test_what_cannot_be_sized_is_refused_in_one_line(words: list[str], text: str, capsys: Capture) -> None:
    assert text in refused(words, capsys)


def test_a_cycle_that_no_entry_satisfies_names_axis_and_excess(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "weak.yaml"
    file.write_text(
        CATALOGUE.replace("6.37 N*m", "0.7 N*m").replace("19.1 N*m", "2.1 N*m").replace("2 kW", "220 W")
    )
    line = refused(
        [*LINE, "--catalogue", str(file), "--minimise", "price", "--set", "variables.load=20 kg"], capsys
    )
    assert "no entry of the catalogue satisfies the cycle; nearest is" in line
    assert "%" in line


def test_a_catalogue_that_contradicts_itself_is_refused(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(CATALOGUE.replace("repeated_peak_torque: 412 N*m", "repeated_peak_torque: 41 N*m"))
    line = refused([*LINE, "--catalogue", str(file), "--minimise", "price"], capsys)
    assert "odd.yaml:9: gears.light.repeated_peak_torque" in line


def test_hydraulic_axes_are_told_and_not_searched_for(capsys: Capture) -> None:
    words = ["size", "daiv-1", "--job", "daiv-pick-and-place"]
    assert main(words) == 0
    assert "q3: hydraulic" in capsys.readouterr().err
    assert "axes.q3.motor: hydraulic" in refused([*words, "--minimise", "mass"], capsys)


def test_a_catalogue_without_prices_cannot_be_searched_by_price(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "free.yaml"
    file.write_text(CATALOGUE.replace(", price_index: 2", "").replace(", price_index: 5", ""))
    line = refused([*LINE, "--catalogue", str(file), "--minimise", "price"], capsys)
    assert "--minimise: no motor of the catalogue states its price" in line


CHEAP = """format: servotwin-catalogue/1
name: cheap
motors:
  own: {kind: pmsm, rated_output: 400 W, rated_speed: 3000 rpm, max_speed: 5000 rpm, rated_torque: 1.27 N*m,
    peak_torque: 3.8 N*m, rotor_inertia: 0.6 kg*cm^2, mass: 1.5 kg, price_index: 0.001, brake_torque: 1.3 N*m}
"""


def test_several_catalogues_are_searched_together(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "cheap.yaml").write_text(CHEAP)
    both = ["--catalogue", str(tmp_path / "cheap.yaml"), "--catalogue", "generic"]
    assert main([*LINE, *both, "--json"]) == 0
    chosen = json.loads(capsys.readouterr().out)["chosen"]["actuators"]
    assert "own" in {a["motor"] for a in chosen}
    assert {a["gear"][0] for a in chosen} == {"g"}  # of the generic series


def test_a_list_without_gears_says_where_to_get_them(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "cheap.yaml").write_text(CHEAP)
    line = refused([*LINE, "--catalogue", str(tmp_path / "cheap.yaml")], capsys)
    assert "cheap: no gears for axis th1; expected some, or those of the generic series" in line


def test_motors_for_several_buses_need_the_voltage_of_the_robot(capsys: Capture) -> None:
    line = refused([*LINE, "--minimise", "price", "--set", "power="], capsys)
    assert "power.bus_voltage: missing: " in line
    assert "48 V, 280 V" in line


BARE = """format: servotwin/1
name: bare
axes:
  A: {type: revolute, origin: {xyz: [0 mm, 0 mm, 300 mm]}, axis: [0, 1, 0],
    limits: {position: [-90 deg, 90 deg], speed: 700 deg/s, acceleration: 800 deg/s^2, jerk: 10000 deg/s^3},
    link: {mass: 4 kg, center: [0 mm, 0 mm, 200 mm]}}
  B: {type: revolute, origin: {xyz: [0 mm, 0 mm, 400 mm]}, axis: [0, 1, 0],
    limits: {position: [-90 deg, 90 deg], speed: 200 deg/s, acceleration: 800 deg/s^2, jerk: 10000 deg/s^3},
    link: {mass: 2 kg, center: [0 mm, 0 mm, 150 mm]}}
tool: {parent: B, xyz: [0 mm, 0 mm, 300 mm]}
"""
MOVES = """format: servotwin-scenario/1
name: moves
robot: bare.yaml
move:
  - {to: {A: 30 deg, B: 30 deg}, profile: s-curve, dwell: 0.3 s}
  - {to: {A: 0 deg, B: 0 deg}, profile: s-curve, dwell: 0.3 s}
"""


@pytest.fixture
def bare(tmp_path: Path) -> list[str]:
    (tmp_path / "bare.yaml").write_text(BARE)
    (tmp_path / "moves.yaml").write_text(MOVES)
    return ["size", str(tmp_path / "bare.yaml"), "--scenario", str(tmp_path / "moves.yaml")]


def test_a_robot_without_drives_gets_some_by_a_search(
    bare: list[str], tmp_path: Path, capsys: Capture
) -> None:
    assert "or a search of a catalogue (--minimise price)" in refused(bare, capsys)
    words = [*bare, "--set", "power.bus_voltage=280 V", "--minimise", "price", "--out", str(tmp_path / "out")]
    assert main(words) == 0
    captured = capsys.readouterr()
    assert "not for the speed limits of the file, of which it reaches: A" in captured.err
    assert main(["check", str(tmp_path / "out" / "sized-robot.yaml")]) == 0


def test_without_ratings_no_payload_is_the_largest(bare: list[str], tmp_path: Path, capsys: Capture) -> None:
    ratios = ["--set", "axes.A.gear.ratio=100", "--set", "axes.B.gear.ratio=100"]
    assert "nothing limits it: the file states no ratings" in refused(
        [*bare, *ratios, "--what-if", "payload"], capsys
    )


def test_a_tool_acceleration_out_of_reach_names_the_axis_and_the_largest(capsys: Capture) -> None:
    def words(a: float) -> list[str]:
        limits = [f"axes.{name}.limits.acceleration=10 rad/s^2" for name in ("th1", "th2", "th3", "th5")]
        sets = [word for limit in limits for word in ("--set", limit)]
        return ["size", "palletizer-4", "--tool-speed", "0.2 m/s", "--tool-acceleration", f"{a} m/s^2", *sets]

    line = refused(words(500.0), capsys)
    assert "--tool-acceleration: " in line
    assert "limited by th" in line
    largest = float(line.split("largest acceleration is ")[1].split()[0])
    refused(words(1.01 * largest), capsys)
    assert main(words(0.99 * largest)) in (0, 1)


@pytest.mark.parametrize(
    ("share", "text"), [(0.334, "33"), (0.9984, "99.8"), (1.0, "100.0"), (1.0001, "100.1")]
)
def test_a_share_near_its_limit_shows_on_which_side_it_is(share: float, text: str) -> None:
    from servotwin.cli.size import percent

    assert percent(share) == text


def test_a_braked_axis_gets_the_brake_of_its_motor(bare: list[str], tmp_path: Path, capsys: Capture) -> None:
    import servotwin as st
    from servotwin.description.load import read_description
    from servotwin.description.sheets.catalogue import read_catalogue

    changes = {"power.bus_voltage": "280 V", "axes.A.brake.torque": "0.001 N*m"}
    sized = st.size(bare[1], scenario=bare[3], overrides=changes, minimise="price")
    motor = sized.choice.actuators[0].motor
    file = read_description(sized.report(tmp_path / "out").robot)
    assert file.axes["A"].brake.torque == read_catalogue().motors[motor.name].brake_torque
    assert file.axes["A"].motor.rotor_inertia == pytest.approx(motor.rotor_inertia)
    assert "brake holding torque" in {check.name for check in sized.chosen.demands[0].checks}
    assert len(repr(sized)) < 300
    assert any(note.startswith("load inertia over that of the motor") for note in sized.notes) == any(
        demand.inertia_ratio > 50.0 for demand in sized.chosen.demands
    )


def test_a_catalogue_without_brakes_leaves_that_of_the_file(
    bare: list[str], tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "two.yaml").write_text(CATALOGUE)
    words = ["--set", "axes.A.brake.torque=2 N*m", "--catalogue", str(tmp_path / "two.yaml")]
    assert main([*bare, *words]) == 0
    assert "the catalogue has no motor with a brake; that of the file stays on A" in capsys.readouterr().err
