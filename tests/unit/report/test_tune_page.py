"""The page of a tuning, its data, and the command that prints it."""

from __future__ import annotations

import json

import pytest

from servotwin.cli.tune import tune as command
from servotwin.description.load import read_description
from servotwin.design.tuning import tune
from servotwin.errors import InputError
from servotwin.report.tune_figures import bode, steps
from servotwin.report.tune_page import tune_page, tuning_data, write_tune_report


@pytest.fixture(scope="module")
def tuning():
    return tune(read_description("gsis-scara"), payload_max=4.0)


def test_page_shows_every_axis_and_asks_nothing_of_the_network(tuning):
    html = tune_page(tuning)
    for axis in tuning.axes:
        assert f"<h2>Axis {axis.motor}</h2>" in html
    assert "default-src 'none'" in html
    assert html.count("<figure>") == 4 * len(tuning.axes)


def test_page_of_unstable_loops_says_so():
    html = tune_page(tune(read_description("gsis-scara"), speed_bandwidth=2500.0))
    assert "unstable" in html
    assert "axis A, lightest load" in html


def test_files_are_the_page_and_its_numbers(tuning, tmp_path):
    files = write_tune_report(tuning, tmp_path / "new")
    assert files.page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    data = json.loads(files.summary.read_text(encoding="utf-8"))
    assert data == json.loads(json.dumps(tuning_data(tuning)))
    assert [axis["motor"] for axis in data["axes"]] == ["A", "B", "Z", "W"]
    assert data["axes"][0]["gains"]["position_1_per_s"] == 30.0
    assert data["axes"][0]["integers_over_256"]["position"] == 7680


def test_bode_figure_has_gain_and_phase_of_three_loops_and_two_loads(tuning):
    lines = [trace for trace in bode(tuning.axes[0]).data if trace.mode == "lines"]
    assert len(lines) == 2 * 3 * 2


@pytest.mark.parametrize("level", ["current", "speed", "position"])
def test_step_figure_starts_at_zero_and_comes_near_one(tuning, level):
    for trace in steps(tuning.axes[0], level).data:
        assert trace.y[0] == 0.0
        assert trace.y[-1] == pytest.approx(1.0, abs=0.1)


def test_command_prints_json_alone(capsys):
    command(
        "gsis-scara",
        "0 deg, 90 deg, 0 mm, 0 deg",
        "4 kg",
        "1000 rad/s",
        "100 rad/s",
        "20 1/s",
        None,
        None,
        json=True,
    )
    data = json.loads(capsys.readouterr().out)
    assert data["current_bandwidth_rad_per_s"] == 1000.0
    assert data["speed_bandwidth_rad_per_s"] == 100.0
    assert data["position_bandwidth_1_per_s"] == 20.0
    assert data["payload_max_kg"] == 4.0


def test_command_prints_tables_and_writes_files(capsys, tmp_path):
    command("gsis-scara", None, None, None, None, None, str(tmp_path), None, json=False)
    out = capsys.readouterr().out
    assert "Gains at the motor side" in out
    assert str(tmp_path / "tuning.html") in out
    assert (tmp_path / "tuning.json").exists()


def test_command_refuses_a_bandwidth_of_another_dimension():
    with pytest.raises(InputError, match="--speed"):
        command("gsis-scara", None, None, None, "3 kg", None, None, None, json=True)


def test_command_refuses_a_bandwidth_without_unit():
    with pytest.raises(InputError, match="--current"):
        command("gsis-scara", None, None, "1000", None, None, None, None, json=True)
