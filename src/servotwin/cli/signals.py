"""Signals that end a command: SIGTERM and SIGHUP do what Ctrl-C does.

The first one raises KeyboardInterrupt: a simulation writes what it has, the console brings the arm to rest, and the
exit code is 128 plus the signal. A result that is being written is written to its end. A second signal, half a second
later or more, ends the command at once. Only the command line installs these handlers. A signal that is ignored, as
``nohup`` does with SIGHUP, stays ignored.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# s in which signals count as one: a terminal that closes, and `timeout`, send theirs twice
ONE = 0.5


class EndedAtOnce(BaseException):
    """The second signal: nothing more is written."""


class Ending:
    """Which signal ends the command, and what is put back then whatever happens."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.clean_up: list[Callable[[], None]] = []
        self.finishing = False
        self._since = 0.0
        self._count = 0

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Take a signal."""
        now = time.monotonic()
        if self._count and now - self._since < ONE:
            return
        self._count, self._since = self._count + 1, now
        if self._count == 1:
            self.number = number
            if self.finishing:
                return
            raise KeyboardInterrupt
        if self._count == 2:
            raise EndedAtOnce
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


_current: list[Ending] = []


def check() -> None:
    """Raise KeyboardInterrupt if a signal has come: one that came inside a finalizer was lost."""
    if _current and _current[-1].number is not None:
        raise KeyboardInterrupt


@contextmanager
def finishing() -> Iterator[None]:
    """What is written now is written to its end; a second signal ends that too."""
    ending = _current[-1] if _current else Ending()
    ending.finishing = True
    try:
        yield
    finally:
        ending.finishing = False


def put_back(action: Callable[[], None]) -> None:
    """Have something done when the command ends, after which no signal can come between."""
    if _current:
        _current[-1].clean_up.append(action)


@contextmanager
def ending_signals(ending: Ending, *, last: bool) -> Iterator[None]:
    """Handlers of the signals that end a command, for as long as it runs.

    ``last``: the process ends with the command, and a signal that comes then changes nothing any more.
    """
    before = {}
    with suppress(ValueError):  # not in the main thread, which alone may have handlers
        for number in SIGNALS:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, ending.handle)
    _current.append(ending)
    try:
        yield
    finally:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        _current.remove(ending)
        for action in reversed(ending.clean_up):
            with suppress(Exception):
                action()
        if not last:
            for number, handler in before.items():
                signal.signal(number, handler)
