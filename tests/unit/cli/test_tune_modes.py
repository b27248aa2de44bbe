"""What ``servotwin tune`` says about robots with elastic gears, and ``--shaper`` of jobs."""

from __future__ import annotations

import json

import pytest

from servotwin.cli.main import main


def test_tune_lists_modes_views_and_limits_of_elastic_gears(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "palletizer-4-elastic"]) == 0
    said = capsys.readouterr().out
    for heading in (
        "Modes at the design pose",
        "What each motor sees, the others held",
        "What holds the speed loops down",
    ):
        assert heading in said
    assert "th1: above the resonance at" in said
    assert main(["tune", "palletizer-4-elastic", "--json"]) == 0
    modes = json.loads(capsys.readouterr().out)["modes"]
    held = [mode["frequency_rad_per_s"] for mode in modes["held"]]
    seen = [zero["frequency_rad_per_s"] for view in modes["motors"] for zero in view["antiresonances"]]
    assert seen
    for w in seen:
        assert min(abs(w - other) for other in held) < 1e-6 * w
    assert [loop["motor"] for loop in modes["speed_loops"]] == ["th1", "th2", "th3"]


def test_tune_of_stiff_gears_says_nothing_of_modes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "gsis-scara", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["modes"] is None


def test_job_plan_tells_what_shaping_costs(capsys: pytest.CaptureFixture[str]) -> None:
    plans = {}
    for shaper in ("none", "zvd"):
        line = [
            "job",
            "plan",
            "palletizer-line",
            "--robot",
            "palletizer-4-elastic",
            "--shaper",
            shaper,
            "--json",
        ]
        assert main(line) == 0
        plans[shaper] = json.loads(capsys.readouterr().out)
    assert plans["none"]["shaped_motions"] == 0
    assert plans["zvd"]["shaped_motions"] == 2
    longer = plans["zvd"]["duration_s"] - plans["none"]["duration_s"]
    assert longer == pytest.approx(plans["zvd"]["shaping_s"], abs=0.01)
    assert longer > 0.05


def test_shaper_without_a_mode_or_of_no_kind_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["job", "plan", "palletizer-line", "--shaper", "zvd"]) == 2
    assert "no gear is elastic" in capsys.readouterr().err
    assert main(["job", "plan", "palletizer-line", "--shaper", "fast"]) == 2
    assert "expected one of none, zv, zvd, ei, two-hump" in capsys.readouterr().err
