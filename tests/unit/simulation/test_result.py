"""Results on disk: what is written is what is read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from servotwin.errors import InputError
from servotwin.report.simulation_files import write_result
from servotwin.simulation.results.mark import MARK
from servotwin.simulation.results.result import Result, matching_signals
from servotwin.simulation.results.result_files import read_result
from synthetic_result import synthetic_result


@pytest.fixture(scope="module")
def result() -> Result:
    return synthetic_result(201)


def test_stored_result_is_read_as_it_was_written(result: Result, tmp_path: Path) -> None:
    write_result(result, tmp_path, report=False)
    saved = read_result(tmp_path)
    assert list(saved.signals) == list(result.signals)
    for name, values in result.signals.items():
        assert np.array_equal(saved.signals[name], values), name
    assert saved.zoom.keys() == result.zoom.keys()
    assert {key: saved.summary[key] for key in result.summary} == result.summary
    assert (saved.joints, saved.prismatic, saved.motors) == (result.joints, result.prismatic, result.motors)
    assert saved.complete
    assert saved.summary["events"][0] == {"time_s": 0.4, "axis": "A", "what": "voltage limit"}


def test_numbers_that_are_not_finite_become_null(result: Result, tmp_path: Path) -> None:
    broken = replace(result, summary={"wall_s": float("nan"), "n": np.int64(3), "a": np.array([1.0, np.inf])})
    files = write_result(broken, tmp_path, report=False)
    stored = json.loads(files.summary.read_text(encoding="utf-8"))
    assert (stored["wall_s"], stored["n"], stored["a"]) == (None, 3, [1.0, None])


def test_files_of_an_earlier_run_do_not_stay(result: Result, tmp_path: Path) -> None:
    write_result(result, tmp_path)
    files = write_result(replace(result, zoom={}), tmp_path, report=False)
    assert (files.zoom, files.page) == (None, None)
    assert sorted(path.name for path in tmp_path.iterdir()) == [MARK, "signals.parquet", "summary.json"]


def test_partial_result_says_so(result: Result, tmp_path: Path) -> None:
    write_result(replace(result, complete=False), tmp_path, report=False)
    assert not read_result(tmp_path).complete


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("signals.parquet", None, "signals.parquet: is missing"),
        ("summary.json", None, "summary.json: is missing"),
        ("signals.parquet", b"PAR1 no", "signals.parquet: is not a Parquet table"),
        ("zoom.parquet", b"", "zoom.parquet: is not a Parquet table"),
        ("summary.json", b'{\n"a": \n}', "summary.json:3: is not JSON"),
        ("summary.json", b"[1]", "summary.json: is not JSON"),
    ],
)
def test_damaged_result_is_one_clear_line(
    result: Result, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    write_result(result, tmp_path, report=False)
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_result(tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_pattern_means_signals_by_their_exact_letters(result: Result) -> None:
    names = list(result.signals)
    assert matching_signals("motor_A_*", names) == [name for name in names if name.startswith("motor_A_")]
    assert matching_signals("motor_a_*", names) == []
    assert matching_signals("joint_Z_position_m", names) == ["joint_Z_position_m"]


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_result_of_less_than_two_instants_is_refused(result: Result, tmp_path: Path, rows: int) -> None:
    signals = {name: values[:rows] for name, values in result.signals.items()}
    write_result(replace(result, signals=signals), tmp_path, report=False)
    if rows == 2:
        assert len(read_result(tmp_path).signals["time_s"]) == 2
        return
    with pytest.raises(InputError, match="two instants or more"):
        read_result(tmp_path)


def test_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist; expected a folder"):
        read_result(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file"):
        read_result(tmp_path / "file")
