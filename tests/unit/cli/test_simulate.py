"""``simulate``: options, exit codes and what is printed, with made-up runs and with real ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import servotwin
from servotwin.cli import simulate as command
from servotwin.cli.main import main
from servotwin.errors import InputError, SimulationError
from servotwin.simulation.results.result import Result
from servotwin.simulation.results.result_files import read_result
from servotwin.simulation.scenario.scenario import read_scenario
from synthetic_result import synthetic_result
from tests import small_drives as small

SCENARIO = "scara-a-axis-100deg"


@pytest.fixture(scope="module")
def result() -> Result:
    return synthetic_result(201)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, result: Result) -> Callable[[Any], list[Any]]:
    """Replace the simulation by one that gives ``outcome`` back or raises it; the scenarios it was asked for."""

    def install(outcome: Any) -> list[Any]:
        asked = []

        def simulate(
            scenario: Any,
            *,
            allow_code: bool = False,
            progress: Callable[[float], None] | None = None,
            **_limits: Any,
        ) -> Result:
            assert not allow_code
            asked.append(scenario)
            if progress is not None:
                progress(0.5)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(servotwin, "simulate", simulate, raising=False)
        return asked

    return install


def test_options_become_changes_of_the_scenario() -> None:
    changes = command.scenario_overrides(
        ["variables.load=2 kg", "move.0.speed=50 %", "solver.steps=2"],
        ["axes.A.link.mass=18 kg"],
        "rk4",
        "averaged",
    )
    assert changes == {
        "set.variables.load": "2 kg",
        "move.0.speed": "50 %",
        "solver.steps": "2",
        "plant.set.axes.A.link.mass": "18 kg",
        "solver.method": "rk4",
        "solver.pwm": "averaged",
    }
    with pytest.raises(InputError, match="--plant: 'mass' is not field=value"):
        command.scenario_overrides(None, ["mass"], None, None)


def test_run_prints_table_and_names_the_report_last(
    run: Callable[[Any], list[Any]], result: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = run(result)
    plant = ["axes.A.link.mass=18 kg"]
    assert command.simulate(SCENARIO, str(tmp_path), ["variables.load=1 kg"], plant, method="rk4") == 0
    assert asked[0].set["variables.load"] == "1 kg"
    assert asked[0].plant_set == {"axes.A.link.mass": "18 kg"}
    assert asked[0].solver.method == "rk4"
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == f"report: {tmp_path / 'report.html'}"
    assert any("times real time" in line for line in lines)
    assert any("tip error" in line for line in lines)


def test_json_is_alone_on_stdout(
    run: Callable[[Any], list[Any]], result: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(result)
    assert command.simulate(SCENARIO, str(tmp_path), None, None, report=False, json=True) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["report"] is None
    assert printed["axes"][0]["motor"] == "A"
    assert not (tmp_path / "report.html").exists()


def test_interrupted_run_is_written_and_said(
    run: Callable[[Any], list[Any]], result: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(replace(result, complete=False))
    assert command.simulate(SCENARIO, str(tmp_path), None, None) == 130
    assert capsys.readouterr().err.splitlines()[-1].startswith("interrupted at 1.4 s; the result up to there")
    assert not json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["complete"]


def test_diverged_run_is_written_and_said(
    run: Callable[[Any], list[Any]], result: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(SimulationError("the run diverged at 0.3 s", replace(result, complete=False)))
    assert command.simulate(SCENARIO, str(tmp_path), None, None) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == f"the run diverged at 0.3 s (what there is of the run: {tmp_path})"
    assert (tmp_path / "signals.parquet").exists()


def test_list_shows_the_scenarios(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.simulate(None, None, None, None, every=True, json=True) == 0
    listed = json.loads(capsys.readouterr().out)
    assert SCENARIO in [entry["name"] for entry in listed]


def test_no_scenario_and_an_unknown_one_are_refused() -> None:
    with pytest.raises(InputError, match="no scenario is given"):
        command.simulate(None, None, None, None)
    with pytest.raises(InputError, match="no scenario 'scara-a-axis'"):
        command.simulate("scara-a-axis", None, None, None)


def test_folder_that_cannot_be_written_is_refused_before_the_run(
    run: Callable[[Any], list[Any]], result: Result, tmp_path: Path
) -> None:
    asked = run(result)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file; expected a folder"):
        command.simulate(SCENARIO, str(tmp_path / "file"), None, None)
    assert asked == []


# --- real runs, from the command line to the files --------------------------------------------------

TURN = {"move": [{"to": {"A": "0.2 rad"}, "ramp": "50 ms", "dwell": "0.2 s"}], "solver": {"method": "fast"}}


def test_a_scenario_file_runs_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = small.write_case(tmp_path, small.robot(), TURN)
    out = tmp_path / "deep" / "out"
    assert main(["simulate", str(path), "--out", str(out), "--set", "record.signals=[joint_*, bus_*]"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.splitlines()[-1] == f"report: {out / 'report.html'}"
    saved = read_result(out)
    assert saved.complete
    assert saved.signals["joint_A_position_rad"][-1] == pytest.approx(0.2, abs=1e-3)
    assert set(saved.signals) == {
        "time_s", "bus_voltage_V", "bus_energy_J", "bus_power_W",
        *(f"joint_A_{q}_{u}" for q, u in (("position", "rad"), ("velocity", "rad_per_s"))),
        *(f"joint_A_{q}_ref_{u}" for q, u in (("position", "rad"), ("velocity", "rad_per_s"))),
    }  # fmt: skip
    assert abs(saved.summary["energy"]["balance_error_relative"]) < 1e-6
    assert "Following error" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("every", ["1 ms", "0.5 s"])
def test_ctrl_c_writes_what_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, every: str
) -> None:
    """Somebody presses Ctrl-C when the bar moves for the first time; with rows before that, and without."""
    monkeypatch.setattr(command, "progress_bar", ctrl_c_at_the_first_step)
    path = small.write_case(tmp_path, small.robot(), {**small.rest(0.5, every=every), "solver": {}})
    assert main(["simulate", str(path), "--out", str(tmp_path / "out")]) == 130
    printed = capsys.readouterr()
    assert printed.err.splitlines()[-1].startswith("interrupted at 0.2 s; the result up to there is in")
    assert "did not come to its end" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_a_signal_that_does_not_exist_is_told_before_anything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = small.write_case(tmp_path, small.robot(), TURN)
    command_line = [
        "simulate",
        str(path),
        "--out",
        str(tmp_path / "out"),
        "--set",
        "record.signals=[motor_B_*]",
    ]
    assert main(command_line) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@contextmanager
def ctrl_c_at_the_first_step(text: str) -> Iterator[Callable[[float], None]]:
    def press(part: float) -> None:
        raise KeyboardInterrupt

    yield press


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--method", "foo"], "--method: 'foo' is not accepted; expected one of fast, rk4"),
        (["--pwm", "foo"], "--pwm: 'foo' is not accepted; expected one of switched, averaged"),
        (
            ["--set", "record.every=0.35 ms"],
            "--set record.every: 0.35 ms is not a multiple of the current period",
        ),
        (["--set", "axes.A.gear.ratio=x"], "--set axes.A.gear.ratio: 'x'"),
        (["--plant", "axes.A.link.mass=1 m"], "--plant axes.A.link.mass: '1 m' is a length"),
        (["--plant", "mass"], "--plant: 'mass' is not field=value"),
        (
            ["--set", "power.bridge.dead_time=60 us"],
            "--set power.bridge.dead_time: dead and storage time together, 60 us, leave no pulse of the current_period"
            " 200 us; expected less than a quarter of it",
        ),
    ],
)
def test_a_wrong_option_is_named_as_it_was_given(
    capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    assert main(["simulate", "scara-a-axis-100deg", *options]) == 2
    assert capsys.readouterr().err.startswith(expected)


def test_a_warning_about_an_option_names_the_field_once() -> None:
    changes = command.scenario_overrides(["axes.A.motor.rated_output=9 W"], None)
    (line,) = read_scenario("scara-a-axis-100deg", changes).description.warnings
    assert line.startswith("--set axes.A.motor.rated_output: 9 W differs from rated_torque")
