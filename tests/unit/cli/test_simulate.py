"""``simulate``: options, exit codes and what is printed; the run itself is a made-up one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import servotwin
import servotwin.errors
from servotwin.cli import simulate as command
from servotwin.errors import InputError, ServotwinError
from servotwin.simulation.result import Result
from synthetic_result import synthetic_result

SCENARIO = "scara-a-axis-100deg"


@pytest.fixture(scope="module")
def result() -> Result:
    return synthetic_result(201)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, result: Result) -> Callable[[Any], list[Any]]:
    """Replace the simulation by one that gives ``outcome`` back or raises it; the scenarios it was asked for."""

    def install(outcome: Any) -> list[Any]:
        asked = []

        def simulate(scenario: Any, *, progress: Callable[[float], None] | None = None) -> Result:
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
    run: Callable[[Any], list[Any]],
    result: Result,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Diverged(ServotwinError):
        partial = replace(result, complete=False)

    monkeypatch.setattr(servotwin.errors, "SimulationError", Diverged, raising=False)
    run(Diverged("the run diverged at 0.3 s"))
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
    with pytest.raises(InputError, match="cannot be written"):
        command.simulate(SCENARIO, str(tmp_path / "file"), None, None)
    assert asked == []
