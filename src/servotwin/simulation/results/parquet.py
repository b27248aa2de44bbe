"""Tables of numbers as Apache Parquet files, which pandas, Polars, DuckDB, MATLAB and R open.

Of the format we write its plainest part: columns without gaps, values one after the other as they lie in memory, one
gzip page for every ``ROWS`` rows, then a description of it all. That part is read back, too; a file of another
program may use more of the format and is left to PyArrow (``tables.py``). Nothing in a file is believed before it is
checked against the bytes that are there, so that a damaged one is refused and cannot ask for more memory than
``most`` numbers take. The format: https://parquet.apache.org/docs/file-format/.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.simulation.results.thrift import Encoded, Reader, array, i32, i64, struct, text

MAGIC = b"PAR1"
ROWS = 1 << 17  # rows of a group: a megabyte of each column
MOST_FOOTER = 1 << 24
MOST_HEAD = 1 << 12  # bytes of the description of a page
BOOLEAN, INT32, INT64, FLOAT, DOUBLE = 0, 1, 2, 4, 5
TYPES = {INT32: "<i4", INT64: "<i8", FLOAT: "<f4", DOUBLE: "<f8"}
CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
UNCOMPRESSED, GZIP = 0, 2
DATA_PAGE, PLAIN, RLE, REQUIRED = 0, 0, 3, 0
# Of zlib: a window of 2^15 bytes, with the head and the end of a gzip file. Of its strategies Z_RLE takes half the
# time for signals, as long as Snappy, whose files are a third larger.
GZIP_FORMAT = 31


class OtherParquetError(ValueError):
    """The file is Parquet as far as one can see, but uses more of the format than we do."""


# ---------------------------------------------------------------------------------------------- writing
def table_bytes(columns: Mapping[str, Array], notes: Mapping[str, Any] | None = None) -> bytes:
    """A file with columns of equal length; ``notes`` are its key-value metadata, texts or JSON.

    Floats become DOUBLE, whole numbers INT64 and truth values BOOLEAN. Equal tables give equal bytes.
    """
    table = {name: _storable(name, np.asarray(values)) for name, values in columns.items()}
    lengths = {len(values) for values in table.values()}
    if len(lengths) != 1:
        raise ValueError(f"columns of equal length are expected, not of {sorted(lengths)} rows")
    (count,) = lengths
    out = bytearray(MAGIC)
    groups = [_write_group(out, table, start, min(count, start + ROWS)) for start in range(0, count, ROWS)]
    footer = _footer(table, count, groups, notes or {})
    return bytes(out + footer + len(footer).to_bytes(4, "little") + MAGIC)


def _storable(name: str, values: Array) -> Array:
    if values.ndim != 1 or values.dtype.kind not in "fiub":
        raise TypeError(f"column {name} is no row of numbers, but {values.dtype} of the shape {values.shape}")
    kind = {"f": "<f8", "b": "?"}.get(values.dtype.kind, "<i8")
    return np.ascontiguousarray(values, dtype=kind)


def _type(values: Array) -> int:
    return {"f": DOUBLE, "i": INT64, "b": BOOLEAN}[values.dtype.kind]


def _write_group(out: bytearray, table: Mapping[str, Array], start: int, end: int) -> Encoded:
    """Append the pages of some rows; the description of the group."""
    chunks, raw, begin = [], 0, len(out)
    for name, column in table.items():
        values = column[start:end]
        plain = np.packbits(values.view(np.uint8), bitorder="little") if values.dtype == bool else values
        packer = zlib.compressobj(1, zlib.DEFLATED, GZIP_FORMAT, zlib.DEF_MEM_LEVEL, zlib.Z_RLE)
        packed = packer.compress(plain.tobytes()) + packer.flush()
        levels = {3: i32(RLE), 4: i32(RLE)}
        about = struct({1: i32(len(values)), 2: i32(PLAIN), **levels})
        head = struct({1: i32(DATA_PAGE), 2: i32(plain.nbytes), 3: i32(len(packed)), 5: about})[1]
        sizes = {6: i64(len(head) + plain.nbytes), 7: i64(len(head) + len(packed))}
        raw += len(head) + plain.nbytes
        meta = struct(
            {
                1: i32(_type(values)),
                2: array([i32(PLAIN), i32(RLE)]),
                3: array([text(name)]),
                4: i32(GZIP),
                5: i64(len(values)),
                **sizes,
                9: i64(len(out)),
            }
        )
        chunks.append(struct({2: i64(len(out)), 3: meta}))
        out += head + packed
    where = {5: i64(begin), 6: i64(len(out) - begin)}
    return struct({1: array(chunks), 2: i64(raw), 3: i64(end - start), **where})


def _footer(table: Mapping[str, Array], count: int, groups: list[Encoded], notes: Mapping[str, Any]) -> bytes:
    root = struct({4: text("schema"), 5: i32(len(table))})
    leaves = [
        struct({1: i32(_type(column)), 3: i32(REQUIRED), 4: text(name)}) for name, column in table.items()
    ]
    said = {key: value if isinstance(value, str) else json.dumps(value) for key, value in notes.items()}
    pairs = [struct({1: text(key), 2: text(value)}) for key, value in said.items()]
    fields = {1: i32(1), 2: array([root, *leaves]), 3: i64(count)}
    fields[4] = array(groups) if groups else (9, b"\x0c")  # no group: an empty list of structures
    if pairs:
        fields[5] = array(pairs)
    fields[6] = text("servotwin version 1")
    return struct(fields)[1]


# ---------------------------------------------------------------------------------------------- reading
@dataclass(frozen=True)
class Described:
    """What the end of a file says: number of rows, type of each column by name, row groups, notes."""

    rows: int
    types: dict[str, int]
    groups: list[Any]
    notes: dict[str, str]


def described(data: bytes) -> Described:
    """The description of a table, without its numbers; ValueError where it is damaged."""
    if len(data) < 12 or data[:4] != MAGIC or data[-4:] != MAGIC:
        raise ValueError("the marks of a Parquet file are missing")
    size = int.from_bytes(data[-8:-4], "little")
    if size > min(MOST_FOOTER, len(data) - 12):
        raise ValueError("the description is longer than the file, or too long")
    found = Reader(memoryview(data)[-8 - size : -8]).struct()
    try:
        leaves = found[2][1:]
        if any(leaf.get(3) != REQUIRED or leaf.get(5) or leaf.get(1) is None for leaf in leaves):
            raise OtherParquetError("columns with gaps or parts")
        types = {leaf[4].decode(): int(leaf[1]) for leaf in leaves}
        notes = {pair[1].decode(): pair.get(2, b"").decode() for pair in found.get(5, [])}
        rows, groups = int(found[3]), list(found[4])
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError("the description lacks a field") from error
    if len(types) != len(leaves) or rows < 0:
        raise ValueError("columns with one name, or fewer rows than none")
    return Described(rows, types, groups, notes)


def too_many(numbers: int, most: int) -> str:
    """What to say of a table that would take too much memory."""
    return f"holds {numbers} numbers; at most {most} are read: record less often, or raise --max-memory"


def read_columns(data: bytes, most: int) -> dict[str, Array]:
    """The columns of a table of at most ``most`` numbers; OtherParquetError, or ValueError where it is damaged."""
    about = described(data)
    if about.rows * len(about.types) > most:
        raise ValueError(too_many(about.rows * len(about.types), most))
    pieces: dict[str, list[Array]] = {name: [] for name in about.types}
    rows = 0
    try:
        for group in about.groups:
            count = group[3]
            rows += count
            if count < 1 or rows > about.rows or len(group[1]) != len(pieces):
                raise ValueError("the row groups do not fit the table")
            for (name, kind), chunk in zip(about.types.items(), group[1], strict=True):
                pieces[name].append(_chunk(data, chunk[3], kind, count))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError("the description lacks a field") from error
    if rows != about.rows:
        raise ValueError("rows are missing")
    columns = {}
    for name in about.types:
        found = pieces.pop(name)  # so that what is joined takes memory once
        columns[name] = np.concatenate(found) if found else np.empty(0)
    return columns


def _chunk(data: bytes, meta: Mapping[int, Any], kind: int, count: int) -> Array:
    """The values of one column in one row group, a single page."""
    codec, at = meta[4], meta[9]
    if kind not in (*TYPES, BOOLEAN):
        raise OtherParquetError("columns that hold no numbers")
    if codec not in (UNCOMPRESSED, GZIP):
        raise OtherParquetError(f"compressed as {CODECS[codec]}")
    if 11 in meta:
        raise OtherParquetError("with dictionaries")
    if not 0 < at < len(data):
        raise ValueError("a page lies outside the file")
    reader = Reader(memoryview(data)[at : at + MOST_HEAD])
    head = reader.struct()
    if head[1] != DATA_PAGE or head[5][2] != PLAIN or head[5][1] != count:
        raise OtherParquetError("with pages of another kind")
    width = math.ceil(count / 8) if kind == BOOLEAN else count * np.dtype(TYPES[kind]).itemsize
    if not 0 <= head[3] <= width + width // 100 + MOST_HEAD:  # gzip adds little to what it cannot shorten
        raise ValueError("a page is longer than its rows")
    packed = memoryview(data)[at + reader.at : at + reader.at + head[3]]
    plain = _unpacked(packed, width) if codec == GZIP else packed
    if len(plain) != width:
        raise ValueError("a page has another size than its rows")
    if kind == BOOLEAN:
        return np.unpackbits(np.frombuffer(plain, np.uint8), count=count, bitorder="little").astype(bool)
    return np.frombuffer(plain, TYPES[kind])


def _unpacked(packed: memoryview, width: int) -> bytes:
    """The content of a gzip page that holds ``width`` bytes; more of it is not unpacked."""
    stream = zlib.decompressobj(GZIP_FORMAT)
    try:
        plain = stream.decompress(packed, width + 1)
    except zlib.error as error:
        raise ValueError("a page cannot be unpacked") from error
    if not stream.eof:
        raise ValueError("a page ends too early")
    return plain
