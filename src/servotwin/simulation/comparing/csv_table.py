"""A table of numbers in a CSV file, read in pieces: only the columns that are asked for are kept.

Pieces of plain numbers are read by NumPy. A piece that holds anything else, such as remarks, quotes or a mistake, is
read row by row; that way knows the lines for the messages.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np

from servotwin.description.fields import LARGEST
from servotwin.description.nodes import quoted
from servotwin.description.plain_text import hidden_problem
from servotwin.description.regular_file import CSV, open_regular
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.simulation.preflight.budget import bytes_text

DELIMITERS = ",;\t"
PIECE = 4_000_000  # bytes that are read at once
NO_BREAK = "\u00a0"
MAX_LINE = 16_000_000  # bytes; a hundred thousand columns with long names
ROOM = 100_000  # rows
BATCH = 10_000  # rows that are read one by one before they become numbers
BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class CsvTable:
    """A CSV file whose column names have been read; they stand in the line ``head``."""

    path: Path
    names: list[str]
    head: int
    delimiter: str

    @property
    def file(self) -> str:
        """The file as messages show it."""
        return str(self.path)

    def columns(
        self, indices: Sequence[int], unit: str, max_memory: float, overhead: float = 1.0
    ) -> list[Array]:
        """The columns (k,), NaN where a cell is empty; the first is a time in ``unit``, never missing or falling.

        InputError if what is done with them, ``overhead`` times their size, takes more than ``max_memory`` [byte].
        """
        # One block, row by row: no memory stands empty between columns, and all of it is given back at once.
        table = np.empty((0, len(indices)))
        rows = 0
        for passed, piece in _Reader(self, list(indices), unit).pieces():
            end = rows + len(piece[0])
            need = 8.0 * end * len(indices) * overhead
            if need > max_memory:
                whole = bytes_text(need / min(max(passed, 0.01), 1.0))
                text = (
                    f"comparing it takes about {whole} of memory; expected at most {bytes_text(max_memory)}"
                )
                raise InputError(f"{text}: fewer rows, or a larger --max-memory", file=self.file)
            if end > len(table):  # room for the rest of the file; pages that stay empty take no memory
                room = int(1.05 * end / max(passed, 0.01)) + ROOM
                table = _longer(table[:rows], room)
            for k, values in enumerate(piece):
                table[rows:end, k] = values
            rows = end
        return list(table[:rows].T)

    def rows(self, most: int) -> Iterator[tuple[int, list[str]]]:
        """Cells of every row below the names with its line, for tables of at most ``most`` rows."""
        with _opened(self.path) as stream:
            lines = _decoded(_lines(self.path, stream), self.file)
            below = (text for number, text in lines if number > self.head)
            for count, (line, row) in enumerate(_cells(below, self.head + 1, self.delimiter, self.file), 1):
                if len(row) != len(self.names):
                    text = (
                        f"{len(row)} cells; expected {len(self.names)}, as many as names in line {self.head}"
                    )
                    raise InputError(text, file=self.file, line=line)
                if count > most:
                    raise InputError(
                        f"more than {most} rows; expected at most so many", file=self.file, line=line
                    )
                yield line, row

    def number(self, line: int, index: int, cell: str) -> float:
        """The number in a cell, NaN where it is empty."""
        return _Reader(self, [index], "")._number(line, index, cell)


def _longer(table: Array, room: int) -> Array:
    longer = np.empty((room, table.shape[1]))
    longer[: len(table)] = table
    return longer


def open_csv(path: Path) -> CsvTable:
    """The table of a file: the first line that is neither empty nor a remark (#) has the names."""
    with _opened(path) as stream:
        lines = _decoded(_lines(path, stream), str(path))
        first = next(((n, text) for n, text in lines if text.strip() and not text.startswith("#")), None)
        if first is None:
            message = "is empty; expected a line of column names and rows of numbers"
            raise InputError(message, file=str(path))
        number, text = first
        delimiter = max(DELIMITERS, key=text.count)
        rest = (other for _, other in lines)
        found = next(_cells(chain([text], rest), number, delimiter, str(path)), None)
    if found is None:
        raise InputError("has no line of column names above rows of numbers", file=str(path))
    _check_visible(str(path), found[1])
    return CsvTable(path, [_printable(name) for name in found[1]], found[0], delimiter)


def _check_visible(file: str, names: Sequence[str]) -> None:
    """Names of columns are printed and drawn: none may steer a terminal or turn the direction of writing."""
    for i, name in enumerate(names, 1):
        problem = hidden_problem(name)
        if problem is not None:
            raise InputError(f"the name of column {i} has {problem}", file=file)


def _printable(name: str) -> str:
    """The name of a column as it is shown: tabs and other characters without a shape become '?'."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() or c == NO_BREAK else "?" for c in name)


class _Reader:
    """Reads the rows below the names, piece by piece."""

    def __init__(self, table: CsvTable, indices: list[int], unit: str) -> None:
        self.table, self.indices, self.unit = table, indices, unit
        self.last_time = -math.inf

    def pieces(self) -> Iterator[tuple[float, list[Array]]]:
        """The columns of one piece after the other, of whole rows, times checked; and the part of the file read."""
        with _opened(self.table.path) as stream:
            size = max(os.fstat(stream.fileno()).st_size, 1)
            for columns in self._pieces(stream):
                yield stream.tell() / size, columns

    def _pieces(self, stream: BinaryIO) -> Iterator[list[Array]]:
        table = self.table
        blocks = _blocks(table.path, stream)
        for number, block in blocks:
            block = _below(block, table.head + 1 - number)
            number = max(number, table.head + 1)
            if b'"' in block:  # a cell may go on in the next piece
                yield from self._row_by_row(chain([(number, block)], blocks))
                return
            columns = self._numbers(block)
            if columns is None:
                yield from self._row_by_row(iter([(number, block)]))
            elif len(columns[0]):
                self.last_time = float(columns[0][-1])
                yield columns

    def _numbers(self, block: bytes) -> list[Array] | None:
        """The columns of a piece of plain numbers; None if it holds anything else."""
        block = block.replace(b"\r\n", b"\n")
        if block.startswith(b"#") or b"\n#" in block or b"\r" in block:
            return None
        if not block.strip():
            return [np.zeros(0) for _ in self.indices]
        separator = self.table.delimiter.encode()
        if separator != b",":
            block = block.replace(b",", b".")
        text = _filled(block, separator)
        if text is None or not _even(block, separator, len(self.table.names)):
            return None
        try:
            read = np.loadtxt(
                text.splitlines(),
                delimiter=self.table.delimiter,
                usecols=self.indices,
                comments=None,
                ndmin=2,
            )
        except (ValueError, TypeError, OverflowError):
            return None
        time = read[:, 0]
        if np.isnan(time).any() or (np.abs(read) > LARGEST).any():
            return None
        if len(time) and (time[0] < self.last_time or (np.diff(time) < 0.0).any()):
            return None
        return list(read.T)

    def _row_by_row(self, blocks: Iterator[tuple[int, bytes]]) -> Iterator[list[Array]]:
        """The same for whatever stands in the pieces, with the line of what is wrong."""
        table = self.table
        first, block = next(blocks)
        rest = (line for _, other in blocks for line in _split(other))
        numbered = enumerate(chain(_split(block), rest), first)
        lines = (text for _, text in _decoded(numbered, table.file))
        batch: list[list[float]] = []
        for line, row in _cells(lines, first, table.delimiter, table.file):
            if len(row) != len(table.names):
                text = f"{len(row)} cells; expected {len(table.names)}, as many as there are names in line {table.head}"
                raise InputError(text, file=table.file, line=line)
            batch.append(self._row(line, row))
            if len(batch) == BATCH:
                yield list(np.array(batch).T)
                batch = []
        if batch:
            yield list(np.array(batch).T)

    def _row(self, line: int, row: Sequence[str]) -> list[float]:
        values = [self._number(line, i, row[i]) for i in self.indices]
        file, name = self.table.file, self.table.names[self.indices[0]]
        if math.isnan(values[0]):
            raise InputError("the time is missing", file=file, line=line, field=name)
        if values[0] < self.last_time:
            now, before = (f"{value:.9g} {self.unit}" for value in (values[0], self.last_time))
            text = f"{now} is before {before} in the row above; expected times in their order"
            raise InputError(text, file=file, line=line, field=name)
        self.last_time = values[0]
        return values

    def _number(self, line: int, index: int, cell: str) -> float:
        if not cell or cell.lower() == "nan":
            return math.nan
        try:
            value = float(cell if self.table.delimiter == "," else cell.replace(",", "."))
        except ValueError:
            value = math.inf
        if abs(value) > LARGEST:
            text = f"{quoted(cell)} is not a number; expected a finite one or nothing"
            if math.isfinite(value):
                text = f"{quoted(cell)} is beyond all machines; expected at most {LARGEST:g}"
            raise InputError(text, file=self.table.file, line=line, field=self.table.names[index])
        return value


def _filled(block: bytes, separator: bytes) -> str | None:
    """The text of a piece with nan in its empty cells; None if it is no text."""
    nothing = separator + b"nan" + separator
    for _ in range(2):  # one cell after the other
        block = block.replace(separator * 2, nothing)
    block = block.replace(separator + b"\n", separator + b"nan\n").replace(
        b"\n" + separator, b"\nnan" + separator
    )
    if block.endswith(separator):
        block += b"nan"
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _even(block: bytes, separator: bytes, columns: int) -> bool:
    """Whether every line has so many cells, and none is empty."""
    if not block.endswith(b"\n"):
        block += b"\n"
    letters = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    marks = np.flatnonzero(letters == ord(separator))
    counts = np.diff(np.searchsorted(marks, ends), prepend=0)
    return bool((counts == columns - 1).all())


# --- the text --------------------------------------------------------------------------------------


def _opened(path: Path) -> BinaryIO:
    return open_regular(path, CSV)


def _blocks(path: Path, stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Pieces of whole lines, each with the number of its first line."""
    number, left, first = 1, b"", True
    while True:
        try:
            data = stream.read(PIECE)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=str(path)) from None
        block, left = left + data, b""
        if first:
            block, first = block.removeprefix(BOM), False
        if data:
            end = (
                max(block.rfind(b"\n"), block.rfind(b"\r", 0, -1)) + 1
            )  # a last \r may be half of a line end
            block, left = block[:end], block[end:]
            if len(left) > MAX_LINE:
                text = f"a line of more than {MAX_LINE // 1_000_000} MB; expected rows of numbers"
                raise InputError(text, file=str(path), line=number + _line_ends(block))
        if block:
            yield number, block
            number += _line_ends(block)
        if not data:
            return


def _line_ends(block: bytes) -> int:
    return block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")


def _below(block: bytes, lines: int) -> bytes:
    """The piece without so many of its first lines."""
    if lines <= 0:
        return block
    return b"".join(_split(block, keepends=True)[lines:])


def _split(block: bytes, *, keepends: bool = False) -> list[bytes]:
    """The lines of a piece; of bytes, so that only \\n, \\r and \\r\\n end a line."""
    return block.splitlines(keepends)


def _lines(path: Path, stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    for number, block in _blocks(path, stream):
        yield from enumerate(_split(block), number)


def _decoded(lines: Iterator[tuple[int, bytes]], file: str) -> Iterator[tuple[int, str]]:
    for number, line in lines:
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError:
            text = "not UTF-8 text; save the file as UTF-8"
            raise InputError(text, file=file, line=number) from None


def _cells(lines: Iterator[str], first: int, delimiter: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Every row that is neither empty nor a remark, with the number of its last line."""
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row) and not row[0].startswith("#"):
                yield first - 1 + reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        line = first - 1 + reader.line_num
        raise InputError(f"is not a CSV table: {error}", file=file, line=line) from None
