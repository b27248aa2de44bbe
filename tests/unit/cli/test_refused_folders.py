"""A command that is refused after it has claimed its folder leaves none behind that did not exist before."""

from __future__ import annotations

from pathlib import Path

import pytest

from servotwin.cli.main import main
from servotwin.errors import InputError, SimulationError

Patch = pytest.MonkeyPatch


def refused(*arguments: object, **options: object) -> None:
    raise InputError("refused while it works")


def failed(*arguments: object, **options: object) -> None:
    raise SimulationError("failed before there is anything")


def stopped(*arguments: object, **options: object) -> None:
    raise KeyboardInterrupt


# command line up to --out, what is replaced by a refusal
COMMANDS = {
    "tune": (["tune", "gsis-scara"], "servotwin.design.tuning.tune"),
    "model": (["model", "gsis-scara"], "servotwin.design.model_study.study_model"),
    "model at a state": (
        ["model", "gsis-scara", "--state", "speed=3"],
        "servotwin.design.model_study.study_model",
    ),
    "design": (
        ["design", "gsis-scara"],
        "servotwin.control.servo.state_feedback_design.design_state_feedback",
    ),
    "demo": (["demo"], "servotwin.cli.demo.run_scenario"),
    "simulate": (["simulate", "scara-a-axis-100deg"], "servotwin.cli.simulate.run_scenario"),
    "substitution": (["simulate", "met-substituted"], "servotwin.hil.run.substitute"),
    "hil": (
        ["hil", "met-substituted", "--simulated-time"],
        "servotwin.hil.real_time.substitute_real_time",
    ),
    "optimise": (
        ["optimise", "gsis-scara", "--to", "1 rad, 0 rad, 0 m, 0 rad"],
        "servotwin.cli.optimise._solved",
    ),
}


@pytest.mark.parametrize("error", [refused, failed, stopped])
@pytest.mark.parametrize("name", COMMANDS)
def test_no_folder_is_left(name: str, error: object, tmp_path: Path, monkeypatch: Patch) -> None:
    words, worker = COMMANDS[name]
    monkeypatch.setattr(worker, error)
    assert main([*words, "--out", str(tmp_path / "a" / "b")]) != 0
    assert list(tmp_path.iterdir()) == []


def test_demo_whose_second_run_is_stopped_leaves_no_folder(tmp_path: Path, monkeypatch: Patch) -> None:
    from types import SimpleNamespace

    runs = iter([SimpleNamespace(complete=True)])

    def second_stops(scenario: object) -> tuple[object, None]:
        for run in runs:
            return run, None
        raise KeyboardInterrupt

    monkeypatch.setattr("servotwin.cli.demo.run_scenario", second_stops)
    assert main(["demo", "--out", str(tmp_path / "a")]) != 0
    assert list(tmp_path.iterdir()) == []


def test_folder_that_was_there_stays(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("servotwin.design.tuning.tune", refused)
    (tmp_path / "a").mkdir()
    assert main(["tune", "gsis-scara", "--out", str(tmp_path / "a" / "b")]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert list((tmp_path / "a").iterdir()) == []


def test_play_that_is_refused_is_so_before_the_motion_is_computed(tmp_path: Path, monkeypatch: Patch) -> None:
    pytest.importorskip("casadi")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "summary.json").write_text("mine", encoding="utf-8")
    monkeypatch.setattr("servotwin.cli.optimise._solved", stopped)
    words = ["optimise", "gsis-scara", "--to", "1 rad, 0 rad, 0 m, 0 rad"]
    assert main([*words, "--out", str(tmp_path / "out"), "--play", str(tmp_path / "mine")]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_comparison_that_is_refused_leaves_no_folder(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr("servotwin.simulation.results.result_files.read_result", lambda *a, **k: _saved())
    monkeypatch.setattr("servotwin.workbench.comparing.read_measured", refused)
    assert main(["compare", "run", "robot.csv", "--out", str(tmp_path / "a")]) == 2
    assert list(tmp_path.iterdir()) == []


def _saved() -> object:
    from types import SimpleNamespace

    return SimpleNamespace(signals={})
