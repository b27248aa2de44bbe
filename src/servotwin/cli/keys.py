"""Keys from a terminal, one by one, without waiting for the end of a line."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

NAMES = {"\r": "enter", "\n": "enter", "\x7f": "backspace", "\x08": "backspace", "\x1b": "esc"}
SEQUENCES = {"A": "up", "B": "down", "C": "right", "D": "left"}
PAUSE = 0.03  # s: what follows an escape later than this is a key of its own


def split_keys(text: str) -> list[str]:
    """The keys in what a terminal sent: characters, names for the others; unknown sequences are dropped.

    >>> split_keys("a\\x1b[A\\r\\x1b")
    ['a', 'up', 'enter', 'esc']
    """
    found, i = [], 0
    while i < len(text):
        if text[i] == "\x1b" and text[i + 1 : i + 2] in ("[", "O"):
            i += 2
            while i < len(text) and not (text[i].isalpha() or text[i] == "~"):
                i += 1
            name = SEQUENCES.get(text[i : i + 1])
            found += [name] if name else []
        elif text[i] in NAMES:
            found.append(NAMES[text[i]])
        elif text[i].isprintable():
            found.append(text[i])
        i += 1
    return found


class Keyboard:
    """Reads what a terminal in cbreak mode has sent."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def read(self, timeout: float) -> list[str]:
        """Keys that were pressed, after at most ``timeout`` [s]; EOFError if the terminal is gone."""
        if not select.select([self.fd], [], [], timeout)[0]:
            return []
        data = self._some()
        while data.endswith(b"\x1b") and select.select([self.fd], [], [], PAUSE)[0]:
            data += self._some()
        return split_keys(data.decode("utf-8", errors="ignore"))

    def _some(self) -> bytes:
        data = os.read(self.fd, 1024)
        if not data:
            raise EOFError
        return data


@contextmanager
def keyboard(stream: TextIO | None = None) -> Iterator[Keyboard]:
    """The keyboard of a terminal; its settings are put back whatever happens."""
    fd = (stream or sys.stdin).fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd)
        yield Keyboard(fd)
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
