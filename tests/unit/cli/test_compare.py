"""``compare``: options and what is printed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from servotwin.cli.compare import _axis_rows, compare, read_columns, read_shift
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
    assert "time shift of the measured clock: 10.000 ms (found from the motion)" in captured.out


def test_shift_of_clocks_that_count_since_1970_keeps_its_digits(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = synthetic_result(701, zoom=False)
    t, q = result.signals["time_s"], result.signals["joint_A_position_rad"]
    rows = [f"{a + 1.7e9 + 0.25:.6f},{b:.12f}" for a, b in zip(t, q, strict=True)]
    log = tmp_path / "log.csv"
    log.write_text("\n".join(["time_s,joint_A_position_rad", *rows]), encoding="utf-8")
    compare(str(folder), str(log), str(tmp_path / "out"), "auto", None, json=False)
    lines = capsys.readouterr().out.splitlines()
    (shift,) = [line.split()[6] for line in lines if line.startswith("time shift")]
    assert float(shift) == pytest.approx(1.7e12 + 250.0, abs=0.01, rel=0.0)
    assert "e" not in shift
    (row,) = [line.split() for line in lines if line.startswith("joint_A_position_rad")]
    assert float(row[-1]) == pytest.approx(0.0, abs=0.002)
    assert row[-1].removeprefix("-").startswith("0.00")
    with pytest.raises(InputError, match=r"measured from 1700000000\.25 s to 170000000\d\.\d+ s on"):
        compare(str(folder), str(log), str(tmp_path / "other"), "0", None, json=False)


def test_own_shift_is_shown_relative_to_the_common_one() -> None:
    part = {"signal": "s", "unit": "rad", "rms": 1.0, "max": 1.0, "nrmse": None, "correlation": None}
    shown = [
        _axis_rows({"position": part, "velocity": None, "own_shift_s": own}, 1.2345001)[0][-1]
        for own in (1.2345003, 1.2345000, 1.2345001, 1.2365001)
    ]
    assert shown == ["0.000", "0.000", "0.000", "2.000"]


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


def test_default_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Whoever made the result has chosen where it leads."""
    from servotwin.cli.compare import compare

    result = tmp_path / "run"
    result.mkdir()
    (result / "comparison").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is a link; name the folder by --out"):
        compare(str(result), "m.csv", None, "0", None, json=True)
    assert not (tmp_path / "elsewhere").exists()


def test_names_of_files_that_are_no_utf_8_are_escaped_in_the_page(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / os.fsdecode(b"log\xff.csv")
    log.write_bytes((folder / "measured.csv").read_bytes())
    compare(str(folder), str(log), str(tmp_path / "out"), "10 ms", COLUMN, json=True)
    assert r"Measured: log\udcff.csv" in (tmp_path / "out/comparison.html").read_text(encoding="utf-8")
