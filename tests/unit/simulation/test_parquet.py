"""Our Parquet tables: PyArrow, the witness, reads the same numbers; damaged files are refused within bounds."""

from __future__ import annotations

import io
import json
import sys
import tracemalloc
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from servotwin.errors import InputError
from servotwin.simulation.results import parquet, thrift
from servotwin.simulation.results.parquet import described, read_columns, table_bytes
from servotwin.simulation.results.tables import read_table

MOST = 1 << 20
ODD = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1.7976931348623157e308, 0.1])
COLUMNS: dict[str, Any] = {
    "time_s": np.linspace(0.0, 1.0, 8),
    "odd": ODD,
    'Größe_µm [mm], "x"': np.arange(8.0),
    "count": np.array([0, -1, 2**62, -(2**63), 2**63 - 1, 3, 4, 5]),
    "small": np.arange(8, dtype=np.int8),
    "single": np.arange(8, dtype=np.float32) / 3,
    "flag": np.arange(8) % 3 == 0,
    "every_other": np.arange(16.0)[::2],
}


def by_pyarrow(data: bytes) -> pyarrow.Table:
    return pyarrow.parquet.read_table(io.BytesIO(data))


def saved_by_pyarrow(columns: dict[str, Any], **options: Any) -> bytes:
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), stream, **options)
    return stream.getvalue()


def test_table_read_by_pyarrow_is_the_one_written() -> None:
    table = by_pyarrow(table_bytes(COLUMNS, {"sampling": {"time_s": "instant"}, "word": "µ"}))
    assert table.column_names == list(COLUMNS)
    for name, values in COLUMNS.items():
        np.testing.assert_array_equal(table[name].to_numpy(), values)
    assert {str(field.type) for field in table.schema} == {"double", "int64", "bool"}
    assert json.loads(table.schema.metadata[b"sampling"]) == {"time_s": "instant"}
    assert table.schema.metadata[b"word"].decode() == "µ"


def test_table_read_by_us_is_the_one_written_to_the_bit() -> None:
    found = read_columns(table_bytes(COLUMNS), MOST)
    for name, values in COLUMNS.items():
        assert found[name].tobytes() == values.astype(found[name].dtype).tobytes(), name
    assert described(table_bytes(COLUMNS, {"a": "b"})).notes == {"a": "b"}


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 99, 100, 101, 350])
def test_table_of_several_groups_is_read_by_both(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS", 100)
    columns: dict[str, Any] = {"x": np.random.default_rng(3).normal(size=rows), "b": np.arange(rows) % 2 == 0}
    data = table_bytes(columns)
    table, ours = by_pyarrow(data), read_columns(data, MOST)
    for name, values in columns.items():
        np.testing.assert_array_equal(table[name].to_numpy(), values)
        np.testing.assert_array_equal(ours[name], values)
    assert pyarrow.parquet.read_metadata(io.BytesIO(data)).num_row_groups == -(-rows // 100)


def test_equal_tables_give_equal_bytes_and_smooth_ones_are_smaller_than_snappy() -> None:
    t = np.linspace(0.0, 1.0, 20_000)
    columns = {"time_s": t, "q": np.sin(t), "counts": np.floor(1e4 * np.sin(t))}
    assert table_bytes(columns) == table_bytes({name: values.copy() for name, values in columns.items()})
    assert len(table_bytes(columns)) < len(saved_by_pyarrow(columns))


@pytest.mark.parametrize(
    "columns", [{}, {"a": np.zeros(2), "b": np.zeros(3)}, {"a": np.zeros((2, 2))}, {"a": np.array(["x"])}]
)
def test_what_is_no_table_of_numbers_is_not_written(columns: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match="column"):
        table_bytes(columns)


@pytest.mark.parametrize("compression", ["snappy", "gzip", "none", "zstd"])
def test_table_of_another_program_is_read_by_pyarrow(compression: str) -> None:
    data = saved_by_pyarrow({"time_s": [0.0, 1.0], "n": [1, 2]}, compression=compression)
    found = read_table(data, "x.parquet")
    assert found["time_s"].tolist() == [0.0, 1.0]
    assert found["n"].dtype == np.float64


def test_table_of_another_program_names_the_extra_where_pyarrow_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = saved_by_pyarrow({"time_s": [0.0, 1.0]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"^x\.parquet: was written .*pip install 'servotwin\[arrow\]'$"):
        read_table(data, "x.parquet")
    assert read_table(table_bytes({"a": np.ones(3)}), "x.parquet")["a"].sum() == 3.0


@pytest.mark.parametrize("columns", [{"a": ["x", "y"]}, {"a": [[1.0], [2.0]]}, {"a": [{"b": 1}, {"b": 2}]}])
def test_table_that_holds_no_numbers_is_refused(columns: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"x\.parquet: is not a Parquet table of numbers"):
        read_table(saved_by_pyarrow(columns), "x.parquet")


def test_every_cut_file_is_refused_in_one_line() -> None:
    data = table_bytes({"time_s": np.arange(5.0), "b": np.arange(5) > 2}, {"sampling": "x"})
    for end in range(len(data)):
        with pytest.raises(InputError, match="is not a Parquet table of numbers, or is damaged"):
            read_table(data[:end], "x.parquet")


def test_changed_bytes_give_a_table_or_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # ours alone
    random = np.random.default_rng(7)
    data = table_bytes({"time_s": np.arange(50.0), "n": np.arange(50), "b": np.arange(50) > 2}, {"s": "x"})
    refused: list[str] = []
    for _ in range(4000):
        changed = bytearray(data)
        for k in random.integers(0, len(data), size=random.integers(1, 4)):
            changed[k] = random.integers(0, 256)
        try:
            read_table(bytes(changed), "x.parquet", MOST)
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 3000
    assert not [text for text in refused if "\n" in text]


def bomb(rows: int) -> bytes:
    """A table of zeros whose page tells of many more rows than it is worth."""
    return table_bytes({"time_s": np.zeros(rows)})


def test_table_beyond_the_limit_is_refused_before_it_is_unpacked() -> None:
    data = bomb(4_000_000)
    assert len(data) < 200_000
    tracemalloc.start()
    with pytest.raises(InputError, match="holds 4000000 numbers; at most 1048576 are read"):
        read_table(data, "x.parquet", MOST)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_page_that_unpacks_to_more_than_it_says_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS", 1 << 30)
    data = bomb(4_000_000)
    said = thrift.i32(4_000_000)[1]
    assert data.count(said) >= 3
    small = data.replace(thrift.i64(4_000_000)[1], thrift.i64(3_000_000)[1])
    tracemalloc.start()
    with pytest.raises(InputError, match="is not a Parquet table"):
        read_table(small, "x.parquet", 1 << 22)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60_000_000  # 24 MB, once more while they are put together


def nested(levels: int) -> bytes:
    footer = b"\x1c" * levels + b"\0" * (levels + 1)
    return b"PAR1" + b"\0" * 4 + footer + len(footer).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize(
    "data",
    [
        nested(100_000),
        b"PAR1" + b"\x19\xfc\xff\xff\xff\xff\x07" + b"\0" * 3_000_000 + (3_000_007).to_bytes(4, "little") + b"PAR1",
        b"PAR1" + b"\0" * 8 + (1 << 31).to_bytes(4, "little") + b"PAR1",
        b"PAR1PAR1PAR1",
        b"",
    ],
)  # fmt: skip
def test_descriptions_of_endless_depth_or_length_are_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="is not a Parquet table"):
        read_table(data, "x.parquet")


def test_row_groups_without_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of them could refer to one page and have it read again and again."""
    monkeypatch.setattr(parquet, "ROWS", 4)
    data = table_bytes({"x": np.arange(8.0)})
    about = described(data)
    empty = {**about.groups[0], 3: 0}
    monkeypatch.setattr(
        parquet, "described", lambda _: parquet.Described(about.rows, about.types, [empty, *about.groups], {})
    )
    with pytest.raises(ValueError, match="row groups do not fit"):
        read_columns(data, MOST)


def test_page_that_claims_more_bytes_than_its_rows_is_refused_before_they_are_touched() -> None:
    noise = np.random.default_rng(1).random(1000)
    plain = table_bytes({"x": noise})
    about = described(plain)
    meta = about.groups[0][1][0][3]
    head = thrift.Reader(plain, meta[9]).struct()
    huge = thrift.struct(
        {
            1: thrift.i32(0),
            2: thrift.i32(head[2]),
            3: thrift.i32(1 << 30),
            5: thrift.struct({1: thrift.i32(1000), 2: thrift.i32(0), 3: thrift.i32(3), 4: thrift.i32(3)}),
        }
    )[1]
    at = meta[9]
    with pytest.raises(ValueError, match="longer than its rows"):
        parquet._chunk(plain[:at] + huge + plain[at:], meta, parquet.DOUBLE, 1000)
