"""Files of a result, each written whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from servotwin.description.file_write import atomic_write_bytes
from servotwin.mechanism.model import Array
from servotwin.simulation.results.parquet import table_bytes


def write_bytes(path: Path, data: bytes) -> Path:
    """Write a file so that readers see the old or the whole content, never a part."""
    atomic_write_bytes(path, data)
    return path


def write_page(path: Path, text: str) -> Path:
    """Write a page as UTF-8; what no character stands for, as in names of files of other systems, becomes an escape."""
    return write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_json(path: Path, value: Any) -> Path:
    """Write a JSON file; numbers that are not finite are refused."""
    return write_bytes(path, (json.dumps(value, indent=2, allow_nan=False) + "\n").encode())


def write_parquet(
    path: Path, columns: Mapping[str, Array], sampling: Mapping[str, str] | None = None
) -> Path:
    """Write columns of equal length, named with their units, as an Apache Parquet table.

    ``sampling`` of a column, 'mean', 'any' or 'instant', stands in the metadata ``sampling`` of the file, as JSON.
    """
    return write_bytes(path, table_bytes(columns, {"sampling": dict(sampling)} if sampling else None))
