"""The line test of Kim 2018, section 5.1, on the drive-level simulator."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import servotwin as st
from servotwin.cli.main import main
from servotwin.design.line_test import LineRun, lag
from servotwin.errors import InputError
from servotwin.report.line_test_page import line_page


@pytest.fixture(scope="module")
def test_run() -> st.LineTest:
    return st.line_test("palletizer-4")


def run_of(found: st.LineTest, law: str) -> LineRun:
    return next(run for run in found.runs if run.law == law)


def test_errors_at_set_points_are_within_a_hundred_pulses_as_printed(test_run: st.LineTest) -> None:
    """Section 5.1: 'The errors at set points are within a hundred encoder pulses', of 2^20 to a turn."""
    assert test_run.pulses_per_turn == (2.0**20,) * 4
    for law in ("cascade", "speed fed forward"):
        assert run_of(test_run, law).at_set_points().max() <= 100.0
    # beyond the paper: with torques fed forward the unloaded wrist rests where it first sticks, and the integral
    # part takes longer than the record to shake it loose
    assert run_of(test_run, "speed and torque fed forward").at_set_points().max() <= 200.0


def test_lag_in_between_is_the_speed_over_the_position_gain(test_run: st.LineTest) -> None:
    """e = w / K_x: 40 1/s are 25 ms, 12.5 mm at 0.5 m/s; the whole curve of every motor follows from it."""
    cascade = run_of(test_run, "cascade")
    assert test_run.delay(cascade) == pytest.approx(0.025, rel=2e-3)
    assert np.linalg.norm(cascade.error, axis=1).max() == pytest.approx(0.0125, rel=3e-3)
    size = np.abs(cascade.predicted).max(axis=0)
    quick = [0, 1, 3]  # motor 3 hardly moves, and friction where it turns round shows
    np.testing.assert_allclose(
        (cascade.pulses / size)[:, quick], (cascade.predicted / size)[:, quick], atol=0.05
    )
    np.testing.assert_allclose(cascade.in_between()[:2], size[:2], rtol=3e-3)


def test_feed_forward_and_computed_torque_remove_the_lag(test_run: st.LineTest) -> None:
    cascade = run_of(test_run, "cascade")
    for law, factor in (
        ("speed fed forward", 200.0),
        ("speed and torque fed forward", 500.0),
        ("computed torque", 30.0),
    ):
        run = run_of(test_run, law)
        assert factor * np.linalg.norm(run.error, axis=1).max() < np.linalg.norm(cascade.error, axis=1).max()
        assert abs(test_run.delay(run)) < 1e-3
    torque, speed = run_of(test_run, "speed and torque fed forward"), run_of(test_run, "speed fed forward")
    assert torque.in_between()[0] < 0.5 * speed.in_between()[0]


def test_lag_solves_its_differential_equation() -> None:
    t = np.linspace(0.0, 1.0, 201)
    w = np.stack([np.clip(4.0 * t, 0.0, 1.0), np.sin(3.0 * t)], axis=1)
    K = np.array([40.0, 15.0])
    found = lag(t, w, K)
    for j in range(2):
        exact = solve_ivp(
            lambda now, e, j=j: np.interp(now, t, w[:, j]) - K[j] * e, (0.0, 1.0), [0.0], t_eval=t,
            rtol=1e-9, atol=1e-12, max_step=5e-3,
        ).y[0]  # fmt: skip
        np.testing.assert_allclose(found[:, j], exact, atol=1e-7)


def test_page_shows_all_laws_and_numbers(test_run: st.LineTest) -> None:
    html = line_page(test_run)
    for word in ("Cascade", "Speed fed forward", "Computed torque", "pulses", "24.99"):
        assert word in html


def test_line_out_of_reach_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["linetest", "palletizer-4", "--to", "3 m, 0 m, 0.7 m"]) == 2
    said = capsys.readouterr().err.strip()
    assert "palletizer-4 cannot follow the line from (915, -500, 700) to (3000, 0, 700) mm: " in said
    assert "expected another line (begin and end, --from and --to)" in said
    assert "\n" not in said
    with pytest.raises(InputError, match="expected more than zero"):
        st.line_test("palletizer-4", speed=0.0)
    with pytest.raises(InputError, match="no law"):
        st.line_test("palletizer-4", laws=("pid",))


def test_command_writes_page_and_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    code = main(
        ["linetest", "palletizer-4", "--speed", "1 m/s", "--acc", "4 m/s^2", "--out", str(folder), "--json"]
    )
    assert code == 0
    said = json.loads(capsys.readouterr().out)
    assert said["predicted_delay_s"] == 0.025
    assert json.loads((folder / "linetest.json").read_text())["runs"] == said["runs"]
    assert (folder / "linetest.html").stat().st_size > 100_000


def test_a_speed_that_the_line_is_too_short_for_is_refused() -> None:
    """On 1 m with 1 m/s2 a triangle of speed has its peak at sqrt(a L) = 1 m/s; a delay told by more would be wrong."""
    with pytest.raises(InputError, match=r"speed: 1.01 m/s is not reached .* expected up to 1 m/s"):
        st.line_test(speed=1.01)


def test_line_of_an_arm_with_a_sliding_joint_has_its_lag_too() -> None:
    """The SCARA's third joint is told in metres: the line is late by one over the position gain, as any other."""
    found = st.line_test(
        "gsis-scara", begin=(0.35, -0.05, -0.05), end=(0.35, 0.05, -0.05), speed=0.2, laws=("cascade",), settle=0.2
    )  # fmt: skip
    assert found.delay(found.runs[0]) == pytest.approx(found.predicted_delay, rel=0.05)
