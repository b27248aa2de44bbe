"""Reports, JSON and progress look at a run and change nothing of it: signals are the same to the last bit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import servotwin as st
from servotwin.cli.main import main
from servotwin.report.simulation_files import write_result
from servotwin.report.simulation_page import simulation_page
from servotwin.simulation.results.result import Result
from servotwin.simulation.results.result_files import read_result
from tests import small_drives as small

CLOCK = ("wall_s", "compile_s", "planning_s", "real_time_factor")  # what a summary says of the computer
WAYS: dict[str, list[str]] = {
    "report": [],
    "no report": ["--no-report"],
    "json": ["--json"],
    "json without report": ["--json", "--no-report"],
}


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A move with noise in the sensor, quantised, and a zoom: all that could be disturbed."""
    folder = tmp_path_factory.mktemp("scenario")
    control = {"current_sensor": {"bits": 12, "noise": "20 mA"}, "command_bits": 12}
    machine = small.robot({"controller": control})
    machine["axes"]["A"]["encoder"] = {"lines": 1000}
    case = {
        "move": [{"to": {"A": "0.5 rad"}, "dwell": "50 ms"}],
        "seed": 3,
        "record": {"every": "1 ms", "zoom": {"at": "0.1 s", "span": "1 ms"}},
    }
    return small.write_case(folder, machine, case)


def without_clock(summary: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in summary.items() if key not in CLOCK}


def alike(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    """The same names with the same bits."""
    return list(a) == list(b) and all(np.asarray(a[k]).tobytes() == np.asarray(b[k]).tobytes() for k in a)


@pytest.fixture(scope="module")
def plain(scenario: Path) -> Result:
    return st.simulate(scenario)


def test_the_seeded_noise_is_in_the_signals(scenario: Path, plain: Result) -> None:
    other = st.simulate(scenario, {"seed": "4"})
    assert not alike(other.signals, plain.signals)


@pytest.mark.parametrize("way", WAYS)
def test_simulate_writes_the_same_signals_whatever_it_prints_and_draws(
    scenario: Path, plain: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    assert main(["simulate", str(scenario), "--out", str(tmp_path), *WAYS[way]]) == 0
    saved = read_result(tmp_path)
    expected = {name: np.asarray(values, dtype=float) for name, values in plain.signals.items()}
    assert alike(saved.signals, expected)
    assert alike(saved.zoom, plain.zoom)
    stored = without_clock(saved.summary)
    wanted = without_clock(json.loads(json.dumps(plain.summary)))
    assert {key: stored[key] for key in wanted} == wanted
    if "--json" in WAYS[way]:
        printed = json.loads(capsys.readouterr().out)
        assert {key: printed[key] for key in wanted} == wanted


def test_progress_that_is_watched_changes_nothing(scenario: Path, plain: Result) -> None:
    seen: list[float] = []

    def watch(part: float) -> None:
        seen.append(part)
        np.random.default_rng(0).random(100)

    watched = st.simulate(scenario, progress=watch)
    assert seen[-1] == 1.0
    assert alike(watched.signals, plain.signals)
    assert alike(watched.zoom, plain.zoom)


def test_drawing_and_writing_leave_a_result_as_it_is(plain: Result, tmp_path: Path) -> None:
    before = {name: values.copy() for name, values in plain.signals.items()}
    numbers = json.dumps(plain.summary, sort_keys=True)
    pages = [simulation_page(plain) for _ in range(2)]
    write_result(plain, tmp_path)
    assert alike(plain.signals, before)
    assert json.dumps(plain.summary, sort_keys=True) == numbers
    assert pages[0] == pages[1]
    frozen = {name: values.copy() for name, values in plain.signals.items()}
    for values in frozen.values():
        values.flags.writeable = False
    simulation_page(replace(plain, signals=frozen))  # would raise if a curve were changed in place


@pytest.mark.parametrize("way", ["no report", "json"])
def test_job_run_writes_the_same_signals_whatever_it_prints_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    stored = []
    for name, options in (("plain", []), ("other", WAYS[way])):
        folder = tmp_path / name
        words = ["job", "run", "scara-line", "--time-limit", "0.4 s", "--out", str(folder), *options]
        assert main(words) == 1  # the time is up before the job ends
        stored.append((folder / "signals.parquet").read_bytes())
        capsys.readouterr()
    a, b = (read_result(tmp_path / name) for name in ("plain", "other"))
    assert alike(a.signals, b.signals)
    assert len(a.signals["time_s"]) > 100
    assert stored[0] == stored[1]
    assert without_clock(a.summary) == without_clock(b.summary)
    steps = [(tmp_path / name / "instructions.json").read_bytes() for name in ("plain", "other")]
    assert steps[0] == steps[1]
