"""Tables of a result, read from disk: ours as we write them, those of other programs by PyArrow."""

from __future__ import annotations

import numpy as np

from servotwin.description.plain_text import hidden_character
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.simulation.results.parquet import OtherParquetError, read_columns, too_many

MOST_NUMBERS = 1 << 27  # a gigabyte of them


def read_table(data: bytes, file: str, most: int = MOST_NUMBERS) -> dict[str, Array]:
    """The columns of a Parquet table as floats; ``file`` is its name, ``most`` the numbers that are read.

    A table that another program wrote may be compressed in ways that we do not unpack ourselves; PyArrow does,
    and InputError names the extra where it is not installed.
    """
    try:
        try:
            columns = read_columns(data, most)
        except OtherParquetError as other:
            columns = _by_pyarrow(data, file, str(other), most)
        if any(hidden_character(name) is not None for name in columns):
            raise ValueError("the name of a column holds a character that cannot be seen")
        return {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()}
    except (ValueError, TypeError, OverflowError) as error:
        reason = f": {error}" if "at most" in str(error) else ""
        raise InputError(f"is not a Parquet table of numbers, or is damaged{reason}", file=file) from None


def _by_pyarrow(data: bytes, file: str, other: str, most: int) -> dict[str, Array]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        text = f"was written by another program ({other}); reading it needs the package pyarrow"
        raise InputError(f"{text}: pip install 'servotwin[arrow]'", file=file) from None
    try:
        found = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(data))
        about, schema = found.metadata, found.schema_arrow
        groups = (about.row_group(i) for i in range(about.num_row_groups))
        unpacked = (
            sum(group.total_byte_size for group in groups) // 8
        )  # before lists and texts are made of it
        size = max(about.num_rows * about.num_columns, unpacked)
        if size > most:
            raise ValueError(too_many(size, most))
        kinds = pyarrow.types
        if not all(kinds.is_integer(k) or kinds.is_floating(k) or kinds.is_boolean(k) for k in schema.types):
            raise ValueError("columns that hold no numbers")
        table = found.read(use_threads=False)
        return {name: table[name].to_numpy() for name in table.column_names}
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError("PyArrow cannot read it") from error
