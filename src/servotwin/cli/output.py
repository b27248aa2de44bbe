"""What the commands print: tables for people on stdout, or JSON alone; progress and notes on stderr."""

from __future__ import annotations

import json as json_module
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from servotwin.cli.compiling import compiling_words, watch_compiler
from servotwin.cli.tables import blocks
from servotwin.description.plain_text import visible

PIPE_WIDTH = 160  # columns where there is no terminal to ask
LINE_END = "\n"


def _print_styled(content: Any, width: int | None = None) -> None:
    """Text or a table with the means of the terminal; a table may need another width."""
    # without a height a dumb terminal has 80 columns whatever is asked for
    console = Console(highlight=False, width=width or _width(), height=25)
    with console.capture() as captured:
        console.print(content)
    sys.stdout.write(captured.get())


def _width() -> int:
    """The characters of a line."""
    return Console().width if sys.stdout.isatty() else PIPE_WIDTH


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
    """A table; the first ``text_columns`` are flush left, the others, numbers, flush right.

    On a terminal too narrow for it the table is folded, or printed in blocks of columns; nothing is cut.
    """
    titles = [visible(column) for column in columns]
    cells = [[visible(cell, LINE_END) for cell in row] for row in rows]
    found = blocks(titles, cells, text_columns, _width(), split=sys.stdout.isatty())
    for i, block in enumerate(found):
        if i:
            print_line()
        _print_styled(block.table, block.width)


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show on stderr that something takes its time, if a person watches."""
    if not sys.stderr.isatty():
        yield
        return
    with Console(stderr=True).status(f"{escape(visible(text))} ..."):
        yield


@contextmanager
def working_or_compiling(text: str) -> Iterator[None]:
    """The same for work that compiles what it needs; says so while it does."""
    if not sys.stderr.isatty():
        yield
        return
    usual = f"{escape(visible(text))} ..."
    with Console(stderr=True).status(usual) as status:

        def show(compiling: bool) -> None:
            status.update(f"{compiling_words()} ..." if compiling else usual)

        with watch_compiler(show):
            yield


@contextmanager
def working_in_steps(text: str) -> Iterator[Callable[[str], None]]:
    """The same for work that tells its steps: gives the function that shows one."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    usual = escape(visible(text))
    with Console(stderr=True).status(f"{usual} ...") as status:

        def show(compiling: bool) -> None:
            status.update(f"{compiling_words()} ..." if compiling else f"{usual} ...")

        with watch_compiler(show):
            yield lambda step: status.update(f"{usual}: {escape(visible(step))} ...")


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
