"""A line on stderr that is written again and again, if a person watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from servotwin.cli.compiling import compiling_words, watch_compiler
from servotwin.cli.signals import check

OFTEN = 0.25  # s between two lines


@contextmanager
def job_line(text: str) -> Iterator[Callable[[float, float], None]]:
    """Shows that a job is planned, and up to where: a function of the time of the job and the longest it may take [s].

    While numba compiles it says so. It raises if a signal has come.
    """
    if not sys.stderr.isatty():
        yield lambda now, most: check()
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(f"{escape(text)} ...") as status:
        last = [time.monotonic()]

        def compiling(busy: bool) -> None:
            status.update(f"{compiling_words() if busy else escape(text)} ...")

        def show(now: float, most: float) -> None:
            check()
            if time.monotonic() - last[0] >= OFTEN:
                last[0] = time.monotonic()
                status.update(escape(f"{text}: {now:.1f} s of the job, at most {most:.4g} s ..."))

        with watch_compiler(compiling):
            yield show


@contextmanager
def live_line(text: str) -> Iterator[Callable[[Callable[[], str]], None]]:
    """Gives a function that shows what another one says, a few times a second; it raises if a signal has come."""
    if not sys.stderr.isatty():
        yield lambda words: check()
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(text)) as status:
        last = [0.0]

        def show(words: Callable[[], str]) -> None:
            check()
            if time.monotonic() - last[0] >= OFTEN:
                last[0] = time.monotonic()
                status.update(escape(words()))

        yield show
