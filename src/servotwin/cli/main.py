"""The command ``servotwin``: runs a command and turns what goes wrong into one line and an exit code.

0: done; 2: something the user gave cannot be used; 130: interrupted; 141: nobody reads the output any more.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import typer

from servotwin.cli.app import app
from servotwin.description.plain_text import visible
from servotwin.errors import ServotwinError

DONE, REFUSED, INTERRUPTED, BROKEN_PIPE = 0, 2, 130, 141

# The base of all usage errors; typer exports only its subclasses.
_UsageError: Any = typer.BadParameter.__mro__[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line ``arguments`` (those of the process if None); the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal does not know is no reason to fail.
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except (BrokenPipeError, SystemExit):  # typer leaves by SystemExit when its pipe breaks
        code = BROKEN_PIPE
    except OSError as error:  # a full disk, a file that vanished: nothing that a traceback would explain
        place = error.filename or "input or output"
        code = _refuse(f"{place}: {error.strerror or error}")
    if code != DONE:
        _silence_stdout()
    return code


def _run(arguments: Sequence[str] | None) -> int:
    """Run a command; what the user can mend becomes one line on stderr."""
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    warnings.showwarning = _show_warning
    try:
        code = app(args=words, prog_name="servotwin", standalone_mode=False)
        return code if isinstance(code, int) else DONE
    except ServotwinError as error:
        return _refuse(str(error))
    except typer.Abort:
        return INTERRUPTED
    except _UsageError as error:
        context = getattr(error, "ctx", None)
        place = context.command_path if context is not None else "servotwin"
        place = place.replace("{", "").replace("}", "")  # typer's mark of an argument before a subcommand
        return _refuse(f"{error.format_message()} (see '{place} --help')")


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning is one line too."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"warning: {visible(' '.join(str(message).split()))}\n")


def _refuse(message: str) -> int:
    line = visible(" ".join(message.split()))
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    return REFUSED


def _silence_stdout() -> None:
    """Let what cannot be written any more vanish when the interpreter ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
