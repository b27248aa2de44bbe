"""The command ``servotwin``: runs a command and turns what goes wrong into one line and an exit code.

0: done; 2: something the user gave cannot be used; 130: interrupted, 143 and 129: by SIGTERM and SIGHUP;
141: nobody reads the output any more.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from servotwin.cli.signals import EndedAtOnce, Ending, ending_signals
from servotwin.cli.streams import open_closed_streams, silence, tolerate_unknown_characters
from servotwin.description.plain_text import visible
from servotwin.errors import ServotwinError

DONE, REFUSED, INTERRUPTED, BROKEN_PIPE = 0, 2, 130, 141
BY_SIGNAL = 128  # plus its number


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line ``arguments`` (those of the process if None); the exit code."""
    open_closed_streams()
    tolerate_unknown_characters()
    code, ending = INTERRUPTED, Ending()
    with (
        contextlib.suppress(KeyboardInterrupt, EndedAtOnce),
        ending_signals(ending, last=arguments is None),
    ):
        try:
            code = _run_to_the_end(arguments)
        except (KeyboardInterrupt, EndedAtOnce):
            code = INTERRUPTED
    if ending.number is not None and (code in (DONE, INTERRUPTED) or ending.number == signal.SIGHUP):
        code = BY_SIGNAL + ending.number  # a terminal that is gone takes no output either
    silence(sys.stdout, sys.stderr)
    return code


def _run_to_the_end(arguments: Sequence[str] | None) -> int:
    """Run a command and deliver what it printed."""
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # typer leaves by SystemExit when its pipe breaks
        return BROKEN_PIPE
    except OSError as error:  # a full disk, a file that vanished: nothing that a traceback would explain
        place = error.filename or "input or output"
        return _refuse(f"{place}: {error.strerror or error}")
    return code


def _run(arguments: Sequence[str] | None) -> int:
    """Run a command; what the user can mend becomes one line on stderr."""
    import typer  # here, where a signal finds its handler

    from servotwin.cli.app import app

    # The base of all usage errors; typer exports only its subclasses.
    usage_error: Any = typer.BadParameter.__mro__[2]
    words = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    warnings.showwarning = _show_warning
    try:
        code = app(args=words, prog_name="servotwin", standalone_mode=False)
        return code if isinstance(code, int) else DONE
    except ServotwinError as error:
        return _refuse(str(error))
    except typer.Abort:
        return INTERRUPTED
    except usage_error as error:
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
