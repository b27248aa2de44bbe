"""A line on stderr that is written again and again, if a person watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from servotwin.cli.signals import check

OFTEN = 0.25  # s between two lines


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
