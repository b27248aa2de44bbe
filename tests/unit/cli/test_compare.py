"""``compare``: options and what is printed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from servotwin.cli.compare import compare, read_columns, read_shift
from servotwin.errors import InputError
from servotwin.report.simulation_files import write_result
from synthetic_result import synthetic_result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("result")
    result = synthetic_result(701, zoom=False)
    write_result(result, place, report=False)
    t, q = result.signals["time_s"], np.degrees(result.signals["joint_A_position_rad"])
    rows = [f"{1e3 * (a + 0.01):.6f},{b:.9f}" for a, b in zip(t, q, strict=True)]
    (place / "measured.csv").write_text("\n".join(["time_ms,enc1_deg", *rows]), encoding="utf-8")
    return place


COLUMN = ["joint_A_position_rad=enc1_deg"]


def test_compare_names_the_page_last(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compare(str(folder), str(folder / "measured.csv"), None, "auto", COLUMN, json=False)
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1] == f"page: {folder / 'comparison' / 'comparison.html'}"
    assert "time shift of the measured clock: 10 ms (found from the motion)" in captured.out


def test_compare_json_is_what_is_stored(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compare(str(folder), str(folder / "measured.csv"), str(tmp_path), "10 ms", COLUMN, json=True)
    printed = json.loads(capsys.readouterr().out)
    stored = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))
    assert {key: printed[key] for key in stored} == stored
    assert printed["shift_given"]
    assert printed["axes"][0]["position"]["rms"] == pytest.approx(0.0, abs=1e-6)


def test_shift_takes_auto_zero_and_times() -> None:
    assert read_shift("auto") is None
    assert read_shift("0") == 0.0
    assert read_shift("-12 ms") == pytest.approx(-0.012)
    with pytest.raises(InputError, match="--shift: '3' has no unit"):
        read_shift("3")


def test_column_without_a_name_is_refused() -> None:
    with pytest.raises(InputError, match="--column: 'enc1' is not signal=column"):
        read_columns(["enc1"])
