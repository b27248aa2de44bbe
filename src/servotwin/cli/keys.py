"""Keys from a terminal, one by one, without waiting for the end of a line."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import tty
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from servotwin.cli.signals import put_back

NAMES = {"\r": "enter", "\n": "enter", "\x7f": "backspace", "\x08": "backspace", "\x1b": "esc"}
SEQUENCES = {"A": "up", "B": "down", "C": "right", "D": "left"}
PAUSE = 0.03  # s: what follows an escape later than this is a key of its own
_SEQUENCE = re.compile(r"\x1b[\[O][0-9;?]*[A-Za-z~]")
_BEGUN = re.compile(r"\x1b(?:[\[O][0-9;?]*)?")


def split_keys(text: str) -> tuple[list[str], str]:
    """The keys in what a terminal sent, and the begin of a sequence that is not whole yet.

    Characters, names for the others; unknown sequences are dropped.

    >>> split_keys("a\\x1b[A\\r\\x1b")
    (['a', 'up', 'enter'], '\\x1b')
    """
    found: list[str] = []
    i = 0
    while i < len(text):
        if text[i] == "\x1b":
            sequence = _SEQUENCE.match(text, i)
            if sequence is None:
                if _BEGUN.fullmatch(text, i):
                    return found, text[i:]
                found.append("esc")
            else:
                name = SEQUENCES.get(text[sequence.end() - 1])
                found += [name] if name else []
                i = sequence.end() - 1
        elif text[i] in NAMES:
            found.append(NAMES[text[i]])
        elif text[i].isprintable():
            found.append(text[i])
        i += 1
    return found, ""


class Keyboard:
    """Reads what a terminal in cbreak mode has sent."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._decoder = getincrementaldecoder("utf-8")("ignore")  # keeps a character that is not whole yet

    def read(self, timeout: float) -> list[str]:
        """Keys that were pressed, after at most ``timeout`` [s]; EOFError if the terminal is gone."""
        if not select.select([self.fd], [], [], timeout)[0]:
            return []
        found, tail = split_keys(self._some())
        while tail and select.select([self.fd], [], [], PAUSE)[0]:
            more, tail = split_keys(tail + self._some())
            found += more
        # An escape whose sequence does not come is the key: better an emergency stop too many.
        return found + (["esc", *tail[1:]] if tail else [])

    def _some(self) -> str:
        try:
            data = os.read(self.fd, 1024)
        except OSError as error:  # the other side of a terminal that was closed
            raise EOFError from error
        if not data:
            raise EOFError
        return self._decoder.decode(data)


@contextmanager
def keyboard(stream: TextIO | None = None) -> Iterator[Keyboard]:
    """The keyboard of a terminal; its settings are put back whatever happens."""
    fd = (stream or sys.stdin).fileno()
    before = termios.tcgetattr(fd)

    def restore() -> None:
        with suppress(termios.error):  # a terminal that is gone has no settings
            termios.tcsetattr(fd, termios.TCSADRAIN, before)

    put_back(restore)
    try:
        tty.setcbreak(fd)
        yield Keyboard(fd)
    finally:
        restore()
