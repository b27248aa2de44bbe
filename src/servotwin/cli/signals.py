"""Signals that end a command: SIGTERM and SIGHUP do what Ctrl-C does.

The first one raises KeyboardInterrupt: a simulation writes what it has, the console brings the arm to rest, and the
exit code is 128 plus the signal. A result that is being written is written to its end. A second signal, half a second
later or more, ends the command at once. Only the command line installs these handlers. A signal that is ignored, as
``nohup`` does with SIGHUP, stays ignored.

Python discards an exception that leaves a finalizer, a weakref callback or a callback from C. A signal that arrives
there is raised a little later (``RETRY``): at once if the call stack shows it, otherwise when Python reports the
exception as unraisable.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# s in which signals count as one: a terminal that closes, and `timeout`, send theirs twice
ONE = 0.5
RETRY = 0.02  # s until a signal is raised again that could not be raised, or was discarded
# Functions that Python or LLVM call from C, and modules of weakref callbacks: what they raise is discarded
CALLED_FROM_C = frozenset(("__del__", "_raw_object_cache_notify"))
CALLBACK_MODULES = frozenset(("weakref", "_weakrefset", "atexit"))


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
        self._pending: type[BaseException] | None = None
        self._alarm: Any = None  # the handler of SIGALRM before

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Take a signal."""
        for told in heard:
            told()
        now = time.monotonic()
        if self._count and now - self._since < ONE:
            return
        self._count, self._since = self._count + 1, now
        if self._count == 1:
            self.number = number
            self._raise(KeyboardInterrupt, frame)
        elif self._count == 2:
            self._raise(EndedAtOnce, frame)
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def discarded(self, kind: type[BaseException] | None) -> bool:
        """Try again if an exception that Python has discarded ends the command; whether it does."""
        if not self._count or kind not in (KeyboardInterrupt, EndedAtOnce):
            return False
        self._try_later(kind)
        return True

    def forget(self) -> None:
        """Do not try again: what was to be raised is raised elsewhere, or the command is over."""
        if self._pending is not None:
            self._pending = None
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def restore_alarm(self) -> None:
        """Give SIGALRM back the handler that it had."""
        self.forget()
        if self._alarm is not None:
            signal.signal(signal.SIGALRM, self._alarm)
            self._alarm = None

    def _raise(self, kind: type[BaseException], frame: FrameType | None) -> None:
        if self.finishing and kind is KeyboardInterrupt:
            return
        if would_discard(frame):
            self._try_later(kind)
            return
        raise kind

    def _try_later(self, kind: type[BaseException]) -> None:
        if self._pending is not EndedAtOnce:
            self._pending = kind
        if self._alarm is None:
            self._alarm = signal.signal(signal.SIGALRM, self._try_again) or signal.SIG_DFL
        signal.setitimer(signal.ITIMER_REAL, RETRY)

    def _try_again(self, _: int, frame: FrameType | None) -> None:
        kind, self._pending = self._pending, None
        if kind is not None:
            self._raise(kind, frame)


def would_discard(frame: FrameType | None) -> bool:
    """Whether a function on the call stack is one whose exceptions Python discards."""
    while frame is not None:
        if frame.f_code.co_name in CALLED_FROM_C or frame.f_globals.get("__name__") in CALLBACK_MODULES:
            return True
        frame = frame.f_back
    return False


_current: list[Ending] = []
heard: list[Callable[[], None]] = []  # called when Python takes a signal (``hung_code``)


def check() -> None:
    """Raise KeyboardInterrupt if a signal has come: it may wait for a finalizer to end."""
    if _current and _current[-1].number is not None:
        _current[-1].forget()
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
    report = sys.unraisablehook
    if before:
        sys.unraisablehook = lambda args: None if ending.discarded(args.exc_type) else report(args)
    _current.append(ending)
    try:
        yield
    finally:
        for number in before:
            signal.signal(number, signal.SIG_IGN)
        ending.forget()
        _current.remove(ending)
        for action in reversed(ending.clean_up):
            with suppress(Exception):
                action()
        if not last:
            if before:
                sys.unraisablehook = report
                ending.restore_alarm()
            for number, handler in before.items():
                signal.signal(number, handler)
