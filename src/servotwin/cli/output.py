"""What the commands print: tables for people on stdout, or JSON alone; progress and notes on stderr."""

from __future__ import annotations

import json as json_module
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from servotwin.description.plain_text import visible

PIPE_WIDTH = 160  # columns where there is no terminal to ask
LINE_END = "\n"


def _print_styled(content: Any) -> None:
    """Text or a table with the means of the terminal."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
    with console.capture() as captured:
        console.print(content)
    sys.stdout.write(captured.get())


def print_json(value: Any) -> None:
    """The value as JSON, the only thing on stdout."""
    sys.stdout.write(json_module.dumps(value, indent=2, allow_nan=False) + "\n")


def print_line(text: str = "") -> None:
    """A line of plain text on stdout, as long as it is."""
    sys.stdout.write(f"{visible(text, LINE_END)}\n")


def print_note(text: str) -> None:
    """A line on stderr."""
    with suppress(OSError):
        sys.stderr.write(f"{visible(' '.join(text.split()))}\n")


def print_heading(text: str) -> None:
    """The heading of a section."""
    _print_styled(Text(f"\n{visible(text)}", style="bold"))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1) -> None:
    """A table; the first ``text_columns`` are flush left, the others, numbers, flush right."""
    table = Table(box=SIMPLE, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), show_edge=False)
    for i, column in enumerate(columns):
        if i < text_columns:
            table.add_column(Text(visible(column)), overflow="fold")
        else:
            title = Text(column.replace(" [", "\n["))  # the unit below the name keeps columns narrow
            table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(visible(cell, LINE_END)) for cell in row))
    _print_styled(table)


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show on stderr that something takes its time, if a person watches."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(f"{escape(visible(text))} ..."):
        yield


def compiled_words(seconds: float) -> str:
    """How long compiling took, and whether it is over with that."""
    from servotwin.cache.place import place

    again = "once on this machine" if place().private is None else "again next time, as there is no cache"
    return f"compiled in {seconds:.1f} s, {again}"


def number(value: float | None, digits: int = 6) -> str:
    """A number for a table; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value + 0.0:.{digits}g}"


def fixed(value: float, places: int) -> str:
    """A number with a fixed count of places, without a negative zero."""
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text
