"""Results of strangers: whatever their files claim or hold, one line tells it before memory is taken."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from servotwin.cli.main import main
from servotwin.errors import InputError
from servotwin.report.files import write_parquet
from servotwin.report.simulation_files import write_result
from servotwin.simulation.results.result_files import COPIES, read_result
from synthetic_result import synthetic_result


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "result"
    write_result(synthetic_result(101, zoom=False), folder, report=False)
    return folder


@pytest.fixture
def result(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "result"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' * 100_000, "nested too deeply"),
        ('{"scenario": ' + "[" * 5000 + "]" * 5000 + "}", "nested too deeply"),
        ('{"simulated_s": ' + "9" * 5000 + "}", "is not JSON as"),
        ('{"simulated_s": ' + "9" * 400 + "}", "is not JSON as"),
        ('{"scenario": 1e999}', "scenario: is no text"),
        ('{"robot": {"a": 1}}', "robot: is no text"),
        (r'{"scenario": "\ud800"}', "scenario: a lone surrogate (U+D800)"),
        (r'{"robot": "\u001b[31m"}', "robot: a control character (U+001B)"),
        ("[]", "is not JSON as"),
    ],
)
def test_compare_summary_that_is_none_is_one_line(
    result: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    (result / "summary.json").write_text(text)
    csv = result / "log.csv"
    csv.write_text("time_s,joint_A_position_rad\n" + "".join(f"{0.01 * i},{i}\n" for i in range(50)))
    assert main(["compare", str(result), str(csv)]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "summary.json" in line
    assert words in line


def test_read_result_summary_that_takes_too_much_memory_is_refused(result: Path) -> None:
    (result / "summary.json").write_text("[" + "[]," * 50_000 + "[]]")
    with pytest.raises(
        InputError, match=r"summary\.json: takes .* of memory; expected at most 1 MB: .*--max-memory"
    ):
        read_result(result, max_memory=1e6)


def test_read_result_table_that_expands_is_refused_by_its_row_count(
    result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 3_000_000
    table = pyarrow.table({"time_s": np.zeros(rows), "joint_A_position_rad": np.zeros(rows)})
    pyarrow.parquet.write_table(table, result / "signals.parquet", compression="zstd")
    assert (result / "signals.parquet").stat().st_size < 50_000
    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "read", lambda *_, **__: pytest.fail("read"))
    with pytest.raises(InputError, match=r"holds 6000000 numbers; at most 1000000 are read: .*--max-memory"):
        read_result(result, max_memory=2e7)


READ = """
import sys
from pathlib import Path
from servotwin.simulation.results.result_files import read_result

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

before = peak()
read_result(sys.argv[1], max_memory=float(sys.argv[2]))
print((peak() - before) * 1024)
"""


def test_read_result_takes_no_more_than_the_memory_that_it_may(result: Path) -> None:
    """A table that is let in, to the last number: while it is read, its bytes and columns are there at once."""
    rows, rng = 600_000, np.random.default_rng(1)
    table = {f"x{i}": rng.standard_normal(rows) for i in range(9)} | {"time_s": np.arange(float(rows))}
    write_parquet(result / "signals.parquet", table)
    most = COPIES * 8 * 10 * rows  # byte
    with pytest.raises(InputError, match=r"holds 6000000 numbers; at most 5999999 are read"):
        read_result(result, max_memory=most - 8.0)
    command = [sys.executable, "-c", READ, str(result), str(most)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0.5 * most < float(run.stdout) < most + 16e6  # and the modules that read it


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array(["x" * 1000] * 10),
        pyarrow.array([[1.0, 2.0]] * 10),
        pyarrow.array([{"a": 1}] * 10),
    ],
)
def test_read_result_column_without_numbers_is_refused_before_it_is_read(
    result: Path, monkeypatch: pytest.MonkeyPatch, column: pyarrow.Array
) -> None:
    table = pyarrow.table({"time_s": np.arange(10.0), "x": column})
    pyarrow.parquet.write_table(table, result / "signals.parquet")
    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "read", lambda *_, **__: pytest.fail("read"))
    with pytest.raises(InputError, match="is not a Parquet table of numbers"):
        read_result(result)


def test_read_result_damaged_at_every_place_is_an_input_error_or_a_result(result: Path) -> None:
    data = (result / "signals.parquet").read_bytes()
    for at in range(0, len(data), max(1, len(data) // 60)):
        broken = bytearray(data)
        broken[at] ^= 0xFF
        (result / "signals.parquet").write_bytes(bytes(broken))
        with contextlib.suppress(InputError):
            read_result(result)


def test_read_result_of_our_own_is_read(result: Path) -> None:
    saved = read_result(result)
    assert len(saved.signals["time_s"]) == 101
    assert saved.summary == json.loads((result / "summary.json").read_text())
