"""Files of a report are whole or absent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from servotwin.errors import InputError
from servotwin.report.files import write_bytes, write_json, write_parquet
from servotwin.simulation.results.folder import RUN_FILES, claim_folder


def test_write_replaces_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    write_bytes(target, b"first")
    write_bytes(target, b"second")
    assert target.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [target]


def test_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    write_json(target, {"x": 1.0})
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(target, {"x": float("nan")})
    assert target.read_text(encoding="utf-8") == '{\n  "x": 1.0\n}\n'
    assert list(tmp_path.iterdir()) == [target]


def test_unwritable_place_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        write_bytes(tmp_path / "nowhere" / "a.txt", b"")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="is a file; expected a folder"):
        claim_folder(tmp_path / "file", RUN_FILES)


def test_parquet_reads_back_exactly(tmp_path: Path) -> None:
    columns = {"t_s": np.linspace(0.0, 1.0, 5), "q_A_rad": np.arange(5.0)}
    table = pyarrow.parquet.read_table(write_parquet(tmp_path / "s.parquet", columns))
    assert table.column_names == list(columns)
    assert all(np.array_equal(table[name].to_numpy(), values) for name, values in columns.items())
