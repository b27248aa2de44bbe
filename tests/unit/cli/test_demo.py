"""``demo``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from servotwin.cli.main import main


def test_demo_writes_report_and_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "deep" / "demo"
    assert main(["demo", "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.splitlines()[-1].endswith(str(out / "report.html"))
    runs = ["scara-a-axis-100deg", "scara-full-range"]
    assert sorted(path.name for path in out.iterdir()) == ["report.html", *runs, "summary.json"]
    page = (out / "report.html").read_text(encoding="utf-8")
    for run in runs:
        assert f'href="{run}/report.html"' in page
        assert (out / run / "signals.parquet").stat().st_size > 0


def test_demo_json_is_the_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    stored = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert {key: printed[key] for key in stored} == stored
    assert Path(printed["report"]).exists()


def test_demo_applies_overrides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path), "--json", "--set", "variables.load=1 kg"]) == 0
    light = json.loads(capsys.readouterr().out)
    assert main(["demo", "--out", str(tmp_path), "--json"]) == 0
    heavy = json.loads(capsys.readouterr().out)
    assert light["motor_A_peak_torque_N_m"] < 0.95 * heavy["motor_A_peak_torque_N_m"]


def test_demo_into_a_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    assert main(["demo", "--out", str(blocked)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
