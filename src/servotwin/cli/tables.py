"""Tables that lose nothing on a narrow terminal.

A table that does not fit folds its headings and its sentences at blanks. If that is not enough, it is printed in blocks
of columns, each with the first column again. Names and numbers are never cut: a word longer than the terminal is wide
makes a longer line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.box import SIMPLE
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

GAP = 3  # blanks between two columns
SENTENCE = 20  # a column of sentences is not folded to fewer characters


class Column(NamedTuple):
    """A column with its least and its natural width; ``text`` is flush left and may be folded."""

    title: str
    cells: tuple[str, ...]
    text: bool
    least: int
    natural: int


class Block(NamedTuple):
    """A table and the width that it needs."""

    table: Table
    width: int


def blocks(
    titles: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int, width: int, *, split: bool = True
) -> list[Block]:
    """The table in as many blocks as the width needs; without ``split`` in one, however wide that is."""
    columns = [
        _column(title, tuple(row[i] for row in rows), i < text_columns, whole=i == 0, width=width)
        for i, title in enumerate(titles)
    ]
    if not split:
        return [_block(columns, width)]
    named = columns[:1] if text_columns else []
    found: list[list[Column]] = [list(named)]
    for column in columns[len(named) :]:
        if len(found[-1]) > len(named) and _total([*found[-1], column]) > width:
            found.append(list(named))
        found[-1].append(column)
    return [_block(each, width) for each in found]


def _column(title: str, cells: tuple[str, ...], text: bool, *, whole: bool, width: int) -> Column:
    """Measure a column; a first column that takes more than half of the width holds sentences, not names."""
    title = title if text else title.replace(" [", "\n[")  # the unit below the name keeps columns narrow
    content = max((_width(cell) for cell in cells), default=0)
    natural = max(content, _width(title))
    heading = max((cell_len(word) for word in _words(title)), default=0)
    if text and not (whole and content <= width / 2):
        word = max((cell_len(word) for cell in cells for word in cell.split()), default=0)
        content = max(word, min(content, SENTENCE))
    return Column(title, cells, text, max(content, heading), natural)


def _width(text: str) -> int:
    return max((cell_len(line) for line in text.split("\n")), default=0)


def _words(title: str) -> list[str]:
    """The parts of a heading between which it may be folded; a unit such as [N m] is one."""
    return [word for line in title.split("\n") for word in ([line] if line.startswith("[") else line.split())]


def _folded(title: str, width: int) -> str:
    lines: list[str] = []
    for line in title.split("\n"):
        lines.append("")
        for word in _words(line):
            if lines[-1] and cell_len(f"{lines[-1]} {word}") > width:
                lines.append("")
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def _total(columns: Sequence[Column]) -> int:
    return sum(column.least for column in columns) + GAP * (len(columns) - 1)


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    """The least widths, and what is left over one by one to the columns that can use it."""
    found = [column.least for column in columns]
    left = width - _total(columns)
    while left > 0:
        short = [i for i, column in enumerate(columns) if found[i] < column.natural]
        if not short:
            break
        narrowest = min(short, key=lambda i: (columns[i].text, found[i]))  # headings of numbers first
        found[narrowest] += 1
        left -= 1
    return found


def _block(columns: Sequence[Column], width: int) -> Block:
    table = Table(box=SIMPLE, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), show_edge=False)
    widths = _widths(columns, width)
    for column, wide in zip(columns, widths, strict=True):
        table.add_column(
            Text(_folded(column.title, wide)),
            justify="left" if column.text else "right",
            no_wrap=not column.text,
            overflow="fold",
            min_width=wide,
            max_width=wide,
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*(Text(cell) for cell in cells))
    return Block(table, max(width, sum(widths) + GAP * (len(columns) - 1)))
