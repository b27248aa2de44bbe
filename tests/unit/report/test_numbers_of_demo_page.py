"""The numbers of the demo, on its page and in the terminal, against the runs they come from."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seen import Seen, numbers, rounds_to
from servotwin.cli import demo
from servotwin.report.demo_page import demo_page
from servotwin.simulation.results.result import Result
from synthetic_result import synthetic_result

RPM, DEG = 30.0 / math.pi, 180.0 / math.pi
SIMULATED, WALL = (1.4, 3.2), (0.073, 0.31)  # s


def run(k: int) -> Result:
    """One of two runs whose numbers all differ."""
    made = synthetic_result(501)
    axes = [
        {
            **axis,
            "peak_torque_mean_N_m": (0.9 + 0.1 * k) * axis["peak_torque_N_m"],
            "rms_torque_N_m": (0.31 + 0.2 * k) * axis["rated_torque_N_m"],
            "joint_peak_speed": 3.3 + 0.4 * k + 0.1 * i,
        }
        for i, axis in enumerate(made.summary["axes"])
    ]
    summary = {
        **made.summary,
        "axes": axes,
        "simulated_s": SIMULATED[k],
        "wall_s": WALL[k],
        "real_time_factor": SIMULATED[k] / WALL[k],
        "tip_error_final_m": (4.27e-5, 8.9e-4)[k],
        "settling_s": 0.094,
    }
    scenario = replace(made.scenario, name=f"run-{k}", title=f"run {k}")
    return replace(made, summary=summary, scenario=scenario)


@pytest.fixture(scope="module")
def runs() -> tuple[Result, Result]:
    return run(0), run(1)


@pytest.fixture(scope="module")
def page(runs: tuple[Result, Result]) -> Seen:
    return Seen(demo_page(*runs, {}))


def test_cards_show_both_runs(runs: tuple[Result, Result], page: Seen) -> None:
    full = runs[1].summary["axes"][0]
    peak = page.card("N m", full["peak_torque_mean_N_m"])
    assert rounds_to(peak.remark, 100.0 * full["peak_torque_mean_N_m"] / full["peak_rating_N_m"])
    rms = page.card("N m", full["rms_torque_N_m"])
    assert rounds_to(rms.remark, full["rated_torque_N_m"])
    assert rms.mark == "good"
    page.card("deg/s", DEG * 3.3)
    assert page.card("mm", 0.0427).mark == "good"
    speed = page.card("times real time", sum(SIMULATED) / sum(WALL))
    assert numbers(speed.remark) == [4.6, 0.38]


def test_error_above_the_paper_and_torque_above_the_rating_are_marked(runs: tuple[Result, Result]) -> None:
    single, full = runs
    axes = [{**axis, "rms_torque_N_m": 1.2 * axis["rated_torque_N_m"]} for axis in full.summary["axes"]]
    page = Seen(
        demo_page(
            replace(single, summary={**single.summary, "tip_error_final_m": 6e-5}),
            replace(full, summary={**full.summary, "axes": axes}),
            {},
        )
    )
    assert page.card("mm", 0.06).mark == "warn"
    assert page.card("N m", axes[0]["rms_torque_N_m"]).mark == "warn"


def test_figures_are_those_of_the_run_they_speak_of(runs: tuple[Result, Result]) -> None:
    """Torques of the full range, motion and errors of the single axis."""
    single, full = runs
    signals = {name: 0.5 * values if name != "time_s" else values for name, values in full.signals.items()}
    page = Seen(demo_page(single, replace(full, signals=signals), {}))
    t = single.signals["time_s"]
    for motor in "ABZW":
        assert page.drawn("s", "N m", t, signals[f"motor_{motor}_torque_N_m"]) == 1
    angle = signals["motor_A_angle_rad"]
    w = RPM * np.append(
        signals["motor_A_speed_rad_per_s"][0], np.diff(angle) / np.diff(t)
    )  # means, as torques are
    assert page.drawn("rpm", "N m", w, signals["motor_A_torque_N_m"]) == 1
    assert page.drawn("mm", "mm", 1e3 * signals["tip_x_m"], 1e3 * signals["tip_y_m"]) == 1
    assert page.drawn("s", "deg", t, DEG * single.signals["joint_A_position_rad"]) == 1
    for a in "xyz":
        error = 1e3 * (single.signals[f"tip_{a}_m"] - single.signals[f"tip_ref_{a}_m"])
        assert page.drawn("s", "mm", t, error) == 1


def demonstrated(
    runs: tuple[Result, Result],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    json: bool,
) -> None:
    left = list(runs)
    monkeypatch.setattr(demo, "run_scenario", lambda scenario: (left.pop(0), None))
    assert demo.demo(str(folder), None, json=json) == 0


def test_printed_lines_are_those_of_the_runs(
    runs: tuple[Result, Result],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    demonstrated(runs, tmp_path, monkeypatch, json=False)
    lines = capsys.readouterr().out.splitlines()
    for axis in runs[1].summary["axes"]:
        (line,) = [text for text in lines if f"motor {axis['motor']}:" in text]
        keys = ("peak_torque_N_m", "rms_torque_N_m", "peak_torque_mean_N_m", "rated_torque_N_m")
        assert "with ripple peak" in line.partition("RMS")[0]  # the RMS has the ripple too
        assert numbers(line) == pytest.approx([axis[key] for key in keys], abs=5.1e-4)
    (line,) = [text for text in lines if "deg/s" in text]
    speed, error = numbers(line)[-2:]
    assert speed == pytest.approx(DEG * 3.3, abs=0.051)
    assert error == pytest.approx(0.0427, abs=5.1e-4)
    (line,) = [text for text in lines if "real time" in text]
    assert numbers(line) == [12.0, 4.6, 0.38]  # 4.6 s in 0.383 s


def test_numbers_in_files_and_json_are_those_of_the_runs(
    runs: tuple[Result, Result],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    demonstrated(runs, tmp_path, monkeypatch, json=True)
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    single, full = (result.summary for result in runs)
    axis = full["axes"][0]
    expected = {
        "simulated_s": 4.6,
        "wall_s": 0.383,
        "real_time_factor": 4.6 / 0.383,
        "tip_error_final_m": single["tip_error_final_m"],
        "peak_speed_rad_per_s": 3.3,
        "motor_A_peak_torque_N_m": axis["peak_torque_mean_N_m"],
        "motor_A_rms_torque_N_m": axis["rms_torque_N_m"],
        "motor_A_rated_torque_N_m": axis["rated_torque_N_m"],
        "motor_A_peak_rating_N_m": axis["peak_rating_N_m"],
    }
    for key, value in expected.items():
        assert printed[key] == pytest.approx(value), key
    assert np.isclose(printed["runs"]["run-1"]["wall_s"], 0.31)
