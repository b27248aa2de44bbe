"""What ``make fuzz`` found, each with the least input that shows it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from servotwin.description import regular_file
from servotwin.description.load import read_description
from servotwin.description.regular_file import CSV, read_bytes
from servotwin.errors import InputError
from servotwin.jobs.points_file import parse_points, read_points, text_with
from servotwin.simulation.comparing.measured_signals import read_measured
from servotwin.simulation.results.result_files import read_result
from servotwin.simulation.scenario.checks import row_period
from servotwin.simulation.scenario.scenario import read_scenario

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")


def test_small_file_does_not_reserve_the_memory_of_the_largest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Stream(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            asked.append(-1 if size is None else size)
            return super().read(size)

    monkeypatch.setattr(regular_file, "open_regular", lambda *_: Stream(b"x" * 3_000_000))
    assert len(read_bytes(tmp_path / "m.csv", CSV)) == 3_000_000
    assert all(0 < size <= 1_000_000 for size in asked)


@pytest.mark.parametrize("every", ["1e-12 s", "0.4 ns"])
def test_rows_closer_than_a_nanosecond_are_one_line(every: str) -> None:
    with pytest.raises(InputError, match=r"record\.every: .* is not a multiple of the current period"):
        read_scenario("scara-a-axis-100deg", {"record.every": every})
    with pytest.raises(InputError, match="is not a multiple of the current period"):
        row_period(1e-12, 200_000)
    with pytest.raises(InputError, match=r"record\.every"):  # a robot without a controller
        read_scenario("double-pendulum-swing", {"record.every": every, "set.controller": ""})


def result(folder: Path, **columns: list[float]) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"time_s": [0.0, 1.0], **columns}), folder / "signals.parquet")
    (folder / "summary.json").write_text("{}")


def test_parquet_with_damaged_metadata_is_one_line(tmp_path: Path) -> None:
    result(tmp_path)
    path = tmp_path / "signals.parquet"
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[-8:-4], "little")
    data[-8 - size : -8] = b"\xff" * size
    path.write_bytes(bytes(data))
    with pytest.raises(
        InputError, match=r"signals\.parquet: is not a Parquet table of numbers, or is damaged"
    ):
        read_result(tmp_path)


def test_summary_nested_deeper_than_the_stack_is_one_line(tmp_path: Path) -> None:
    result(tmp_path)
    (tmp_path / "summary.json").write_text('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}")
    with pytest.raises(InputError, match=r"summary\.json: is not JSON|nested"):
        read_result(tmp_path)
    (tmp_path / "summary.json").write_text(json.dumps({"a": [[[1]]]}))
    assert read_result(tmp_path).summary == {"a": [[[1]]]}


def test_log_without_a_known_column_beside_a_result_without_positions_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("time_s,x\n0,0\n1,0\n2,0\n3,0\n")
    with pytest.raises(InputError, match=r"m\.csv: the result has no position"):
        read_measured(tmp_path / "m.csv", ["supply_voltage_V"])


def test_many_unknown_columns_are_not_all_named(tmp_path: Path) -> None:
    names = ",".join(f"column_{i}" for i in range(2000))
    (tmp_path / "m.csv").write_text(f"time_s,{names}\n" + ("0" + ",0" * 2000 + "\n") * 5)
    with pytest.raises(InputError) as caught:
        read_measured(tmp_path / "m.csv", ["joint_A_position_rad"])
    assert len(str(caught.value)) < 1000


def test_whatever_a_xacro_file_raises_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("xacrodoc")
    path = tmp_path / "x.urdf.xacro"
    for inner in ('<xacro:arg name="a"/>', '<link name="${1/0}"/>', '<link name="${[][1]}"/>'):
        path.write_text(f'<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">{inner}</robot>')
        with pytest.raises(InputError, match=r"x\.urdf\.xacro: cannot be expanded") as caught:
            read_description(path, allow_code={})
        assert "\n" not in str(caught.value)


def test_active_joint_that_does_not_exist_beside_a_transmission_is_one_line() -> None:
    changes = {"active": "[nobody]", "transmission": "{motors: [m], matrix: [[1]]}"}
    with pytest.raises(InputError, match=r"active\.0: .*'nobody'"):
        read_description("four-bar", changes)


@pytest.mark.parametrize("last", [float("inf"), float("nan"), 1e300, -1.0])
def test_result_whose_instants_are_none_is_one_line(last: float, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"time_s": [0.0, last]}), tmp_path / "signals.parquet")
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(
        InputError, match=r"signals\.parquet: the instants in time_s are not finite, or not in"
    ):
        read_result(tmp_path)


def test_tab_in_the_name_of_a_column_stays_one_line(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("time_s,joint_A_position_rad\tx\n" + "0,0\n1,0\n2,0\n3,0\n")
    with pytest.raises(InputError) as caught:
        read_measured(tmp_path / "m.csv", ["joint_A_position_rad"])
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("hidden", ["\ufeff", "\u202e", "\u2028", "\x07"])
def test_hidden_character_in_the_name_of_a_column_is_not_printed(hidden: str, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(f"time_s,joint_A_position_rad|{hidden}|\n0,0\n1,0\n2,0\n3,0\n")
    with pytest.raises(InputError) as caught:
        read_measured(tmp_path / "m.csv", ["joint_A_position_rad"])
    assert str(caught.value).isprintable()


def test_points_below_a_value_are_renamed(tmp_path: Path) -> None:
    path = tmp_path / "a.points.yaml"
    path.write_text("format: servotwin-points/1\npoints:\n  value:\n    P1: {x: 1 mm}\n")
    points = read_points(path).renamed("P1", "P2")
    assert parse_points(text_with(points, path)) == points
