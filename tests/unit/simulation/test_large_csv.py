"""Large CSV logs: read in pieces, only what is needed is kept, and both ways to read give the same numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pytest

from counted_work import growth
from servotwin.errors import InputError
from servotwin.report.files import write_parquet
from servotwin.simulation.comparing import csv_table, differences
from servotwin.simulation.comparing.compare import compare
from servotwin.simulation.comparing.csv_table import open_csv
from servotwin.simulation.comparing.measured_signals import MeasuredSignals, read_measured
from servotwin.simulation.results.result_files import Saved

SIGNALS = ("time_s", "joint_A_position_rad", "joint_B_position_rad", "motor_A_current_A")
LINEAR = 4.6  # work at four times the size over work at the size; 16 if it grows with the square

READ = """
import sys
from pathlib import Path
import pyarrow.csv
from servotwin.simulation.comparing.measured_signals import read_measured

def peak():  # ru_maxrss would begin with that of the process which started this one
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

before = peak()
record = read_measured(sys.argv[1], ["time_s", "joint_A_position_rad"])
after = peak()
print(len(record.time), (after - before) / 1024)
"""

COMPARE = """
import sys
from pathlib import Path
from servotwin.cli.compare import compare

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

before = peak()
compare(sys.argv[1], sys.argv[2], None, "auto", None, json=True)
print((peak() - before) / 1024, file=sys.stderr)
"""


def test_compare_many_columns_takes_little_more_memory_than_they_do(tmp_path: Path) -> None:
    """The target: a log of 200 MB within 300 MB. Here a quarter of it, of 40 signals in 150 000 rows."""
    rows, rng = 150_000, np.random.default_rng(1)
    t, at = 1e-3 * np.arange(1001), np.linspace(0.0, 1.0, rows)
    names = [f"joint_{i}_{what}" for i in range(20) for what in ("position_rad", "velocity_rad_per_s")]
    result = tmp_path / "run"
    result.mkdir()
    write_parquet(result / "signals.parquet", {"time_s": t} | {name: np.sin(3 * t) for name in names})
    (result / "summary.json").write_text("{}")
    columns = {name: np.round(np.sin(3 * at) + 1e-3 * rng.standard_normal(rows), 5) for name in names}
    log = tmp_path / "log.csv"
    pyarrow.csv.write_csv(pyarrow.table({"time_s": at} | columns), log)
    assert log.stat().st_size > 48e6
    command = [sys.executable, "-c", COMPARE, str(result), str(log)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    kept = 41 * rows * 8 / 2**20
    found = json.loads(run.stdout)
    assert [axis["position"]["samples"] for axis in found["axes"]] == 20 * [rows]
    assert float(run.stderr.split()[-1]) < kept + 130.0  # page, table and the modules that draw them


def test_compare_rows_that_share_instants_take_the_last(tmp_path: Path) -> None:
    rows = [(0, 1, ""), (1, 2, 20), (1, 3, ""), (2, 4, 40), (3, 5, 50), (3, 6, 60), (4, 7, 70)]
    text = "".join(f"{t},{x},{y}\n" for t, x, y in rows)
    (tmp_path / "log.csv").write_text(f"time_s,joint_A_position_rad,joint_B_position_rad\n{text}")
    record = read_measured(tmp_path / "log.csv", SIGNALS)
    assert record.time.tolist() == [0, 1, 2, 3, 4]
    assert record.channels["joint_A_position_rad"].values.tolist() == [1, 3, 4, 6, 7]
    assert record.channels["joint_B_position_rad"].values[1:].tolist() == [20, 40, 60, 70]


def test_read_measured_forty_megabytes_takes_little_more_memory_than_its_columns(tmp_path: Path) -> None:
    rows, rng = 350_000, np.random.default_rng(1)
    columns = {"time_s": 1e-4 * np.arange(rows), "joint_A_position_rad": rng.standard_normal(rows)}
    columns |= {f"extra_{i}": rng.standard_normal(rows) for i in range(4)}
    file = tmp_path / "log.csv"
    pyarrow.csv.write_csv(pyarrow.table(columns), file)
    assert file.stat().st_size > 36e6
    run = subprocess.run([sys.executable, "-c", READ, str(file)], capture_output=True, text=True, check=True)
    read, megabytes = run.stdout.split()
    assert int(read) == rows
    assert (
        float(megabytes) < 60.0
    )  # columns of 6 MB, pieces of 4 MB and what Arrow makes of one; all rows take 500


def test_read_measured_columns_beyond_the_memory_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("time_s,joint_A_position_rad\n" + "".join(f"{i},{i}\n" for i in range(1000)))
    # 1000 rows of two columns, 8 byte each, and three times as much for the comparison
    expected = r"comparing it takes about 48 kB of memory; expected at most 30 kB: .* --max-memory"
    with pytest.raises(InputError, match=expected):
        read_measured(file, SIGNALS, max_memory=3e4)


def table(rows: int, mark: str = "") -> str:
    lines = [
        f"{0.1 * i:.3f};{i / 7:.12g};{'' if i % 3 else -i}{mark if i == rows // 2 else ''}"
        for i in range(rows)
    ]
    return "\n".join(["time_s;joint_A_position_rad;motor_A_current_A", *lines]).replace(".", ",") + "\n"


VARIANTS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "line ends of Windows": lambda text: text.replace("\n", "\r\n"),
    "line ends of old machines": lambda text: text.replace("\n", "\r"),
    "blanks": lambda text: text.replace(";", " ; "),
    "remarks": lambda text: text.replace("\n1,", "\n# a remark\n\n1,"),
    "empty rows": lambda text: text.replace("\n1,", "\n;;\n1,"),
    "quotes": lambda text: text.replace("time_s", '"time_s"').replace("\n2,000;", '\n"2,000";'),
    "a mark at the beginning": lambda text: "\ufeff" + text,
    "no numbers": lambda text: text.replace(";\n", ";NaN\n"),
}


@pytest.mark.parametrize("piece", [64, 1000, 4_000_000])
@pytest.mark.parametrize("variant", VARIANTS)
def test_read_measured_variants_in_pieces_of_any_size_give_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variant: str, piece: int
) -> None:
    monkeypatch.setattr(csv_table, "PIECE", piece)
    file = tmp_path / "log.csv"
    file.write_bytes(VARIANTS[variant](table(100)).encode())
    record = read_measured(file, SIGNALS)
    assert record.time == pytest.approx(0.1 * np.arange(100), abs=1e-12)
    assert record.channels["joint_A_position_rad"].values == pytest.approx(np.arange(100) / 7, rel=1e-11)
    current = record.channels["motor_A_current_A"].values
    assert np.isnan(current).sum() == 66
    assert current[3] == -3.0


@pytest.mark.parametrize("piece", [64, 4_000_000])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5,0;x;1", ":52: joint_A_position_rad: 'x' is not a number"),
        ("5,0;inf;1", ":52: joint_A_position_rad: 'inf' is not a number"),
        ("5,0;1", ":52: 2 cells; expected 3"),
        (";1;1", ":52: time_s: the time is missing"),
        ("0,2;1;1", ":52: time_s: 0.2 s is before 4.9 s in the row above"),
        ("5,0;\udcff;1", ":52: not UTF-8 text"),
    ],
)
def test_read_measured_mistake_is_told_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str, piece: int
) -> None:
    monkeypatch.setattr(csv_table, "PIECE", piece)
    lines = table(100).splitlines()
    lines[51] = line
    file = tmp_path / "log.csv"
    file.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as caught:
        read_measured(file, SIGNALS)
    assert message in str(caught.value)


def test_read_measured_rows_of_one_instant_across_pieces_keep_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_table, "PIECE", 16)
    file = tmp_path / "log.csv"
    rows = ["0,0", "1,1", "1,2", "1,", "2,3", "3,4", "3,"]
    file.write_text("\n".join(["time_s,joint_A_position_rad", *rows]))
    record = read_measured(file, SIGNALS)
    assert record.time.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert record.channels["joint_A_position_rad"].values.tolist() == [0.0, 2.0, 3.0, 4.0]


def wide(folder: Path, columns: int) -> Path:
    file = folder / f"wide{columns}.csv"
    names = ["time_s", "joint_A_position_rad", *(f"extra_{i}" for i in range(columns))]
    rows = [",".join(str(i) for _ in names) for i in range(4)]
    file.write_text("\n".join([",".join(names), *rows]))
    return file


def test_read_measured_four_times_the_columns_is_four_times_the_work(tmp_path: Path) -> None:
    def work(n: int) -> Callable[[], object]:
        file = wide(tmp_path, n)
        return lambda: read_measured(file, SIGNALS)

    assert growth(work, 500) < LINEAR


def test_read_measured_hundred_thousand_columns_are_read_and_named_in_short(tmp_path: Path) -> None:
    record = read_measured(wide(tmp_path, 100_000), SIGNALS)
    assert len(record.ignored) == 100_000
    with pytest.raises(InputError, match=r"'c' is no column of .*extra_9 and 99990 more") as caught:
        read_measured(tmp_path / "wide100000.csv", SIGNALS, {"joint_B_position_rad": "c"})
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", ["( " * 60_000, "x_" * 60_000, " " * 120_000 + "[", "t_" + "s" * 100_000])
def test_read_measured_long_names_are_no_signals(tmp_path: Path, name: str) -> None:
    file = tmp_path / "log.csv"
    file.write_text(f"time_s,joint_A_position_rad,{name}\n" + "".join(f"{i},{i},0\n" for i in range(5)))
    record = read_measured(file, SIGNALS)
    assert record.ignored == (name.strip(),)
    mapped = read_measured(file, SIGNALS, {"joint_B_position_rad": name.strip()})
    assert mapped.channels["joint_B_position_rad"].unit == "rad"


def test_open_csv_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_table, "PIECE", 1000)
    monkeypatch.setattr(csv_table, "MAX_LINE", 5000)
    file = tmp_path / "log.csv"
    file.write_text("# x\n" + "1," * 10_000)
    with pytest.raises(InputError, match=r"log\.csv:2: a line of more than"):
        open_csv(file)


@pytest.mark.parametrize("text", [",,\n,,\n", "# only\n", ""])
def test_open_csv_without_names_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "log.csv"
    file.write_text(text)
    with pytest.raises(InputError, match="column names"):
        open_csv(file)


def long_record(folder: Path) -> tuple[Saved, MeasuredSignals]:
    """A result, and a recording of 5000 instants whose velocity was not measured."""
    t, at = 1e-3 * np.arange(1001), 2e-4 * np.arange(5001)
    signals = {
        "time_s": t,
        "joint_A_position_rad": np.sin(3 * t),
        "joint_A_velocity_rad_per_s": 3 * np.cos(3 * t),
    }
    rows = [f"{a:.6f},{1.01 * np.sin(3 * a) + 1e-3 * np.cos(50 * a):.9f}" for a in at]
    file = folder / "long.csv"
    file.write_text("\n".join(["time_s,joint_A_position_rad", *rows]))
    return Saved(folder, signals, {}, {}), read_measured(file, signals)


def test_compare_in_pieces_gives_the_numbers_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved, record = long_record(tmp_path)
    whole = compare(saved, record, 0.0).axes[0]
    monkeypatch.setattr(differences, "PIECE", 333)
    monkeypatch.setattr(differences, "KEPT", 100)
    pieces = compare(saved, record, 0.0).axes[0]
    for kind in ("position", "velocity"):
        one, other = getattr(whole, kind), getattr(pieces, kind)
        assert asdict(other.metrics) == pytest.approx(asdict(one.metrics), rel=1e-9)
        assert len(one.time) > 4900
        assert 90 <= len(other.time) <= 101 + len(one.time) // 333
        assert np.isin(other.time, one.time).all()


def test_compare_numbers_are_those_of_the_definitions(tmp_path: Path) -> None:
    saved, record = long_record(tmp_path)
    place = compare(saved, record, 0.0).axes[0].position
    assert place is not None
    y, s, found = place.measured, place.simulated, place.metrics
    assert found.rms == pytest.approx(np.sqrt(np.mean((s - y) ** 2)), rel=1e-12)
    assert found.max == pytest.approx(np.abs(s - y).max(), rel=1e-12)
    assert found.mean == pytest.approx((s - y).mean(), rel=1e-9)
    assert found.nrmse == pytest.approx(found.rms / np.ptp(y), rel=1e-12)
    assert found.correlation == pytest.approx(np.corrcoef(y, s)[0, 1], rel=1e-12)


def test_compare_with_a_run_that_diverged_is_one_line(tmp_path: Path) -> None:
    saved, record = long_record(tmp_path)
    saved.signals["joint_A_position_rad"][500:] = np.nan
    with pytest.raises(InputError, match=r"the simulated run diverged: there is no number at 0\.5 s"):
        compare(saved, record, 0.0)


def test_read_measured_number_beyond_all_machines_is_refused(tmp_path: Path) -> None:
    rows = "".join(f"{i},{'1e300' if i == 5 else i}\n" for i in range(9))
    (tmp_path / "huge.csv").write_text(f"time_s,joint_A_position_rad\n{rows}")
    with pytest.raises(
        InputError, match=r"huge\.csv:7: joint_A_position_rad: '1e300' is beyond all machines"
    ):
        read_measured(tmp_path / "huge.csv", SIGNALS)
