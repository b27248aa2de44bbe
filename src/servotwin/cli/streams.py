"""The three standard streams: one that is closed is no reason to fail, and no file takes its number."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO


def open_closed_streams() -> None:
    """Let a stream that the caller closed (``>&-``) lead nowhere."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is not None:
            continue
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor != number and not _is_open(number):
            os.dup2(descriptor, number)
            os.close(descriptor)
            descriptor = number
        stream = os.fdopen(descriptor, mode, encoding="utf-8", closefd=False)
        setattr(sys, name, stream)


def tolerate_unknown_characters() -> None:
    """A character that the terminal does not know is no reason to fail."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def silence(*streams: TextIO) -> None:
    """Let what cannot be written any more vanish when the interpreter ends."""
    for stream in streams:
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
