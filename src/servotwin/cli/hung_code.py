"""Code of the user's that does not return: a second signal ends the command all the same.

Python takes a signal only between two of its instructions, so a compiled function with an endless loop would hear
none. A small process beside the command hears all: Python writes the number of a signal into a pipe at once, and a zero
when it has taken it. Two signals half a second apart of which the first was not taken: the command is ended, with a
line that names the code.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from servotwin.cli.signals import ONE, SIGNALS, heard
from servotwin.processes import start_beside

if TYPE_CHECKING:
    from subprocess import Popen

PATIENCE = 3.0  # s after a signal that is not taken until a line says so
TAKEN = b"\0"
# What the process beside runs: signals and zeros are single bytes, names of code are lines.
LISTEN = f"""
import os, select, sys, time
SIGNALS, ONE, PATIENCE = {tuple(map(int, SIGNALS))!r}, {ONE!r}, {PATIENCE!r}
parent, names, name, since, told = int(sys.argv[1]), [], b"", None, False

def say(text):
    try:
        os.write(2, (text.format(", ".join(names) or "your code") + "\\n").encode(errors="replace"))
    except OSError:
        pass

while True:
    left = None if since is None or told else max(since + PATIENCE - time.monotonic(), 0.0)
    if not select.select([0], [], [], left)[0]:
        told = True
        say("still in the compiled code of {{}}; a second signal ends the command without a result")
        continue
    data = os.read(0, 4096)
    if not data or os.getppid() != parent:
        break
    for byte in data:
        if byte == 0:
            since, told = None, False
        elif byte == 10:
            names, name = [*names, name.decode(errors="replace")], b""
        elif byte >= 32:
            name += bytes([byte])
        elif byte in SIGNALS and since is None:
            since = time.monotonic()
        elif byte in SIGNALS and time.monotonic() - since >= ONE:
            say("ended: the compiled code of {{}} does not return (an endless loop?); nothing is written")
            os.kill(parent, 9)
            sys.exit()
"""


@contextmanager
def code_can_be_ended() -> Iterator[None]:
    """While this lasts, code of the user's that is announced (``announce_code``) can be ended though it hangs."""
    from servotwin.simulation.scenario.law_file import listeners

    watch = _Watch()
    listeners.append(watch.announced)
    try:
        yield
    finally:
        listeners.remove(watch.announced)
        watch.close()


class _Watch:
    """The process beside, from the first code that is announced on; nothing where there can be none."""

    def __init__(self) -> None:
        self._process: Popen[bytes] | None = None
        self._pipe = self._before = -1

    def announced(self, name: str) -> None:
        """Take note of code that begins to run."""
        if self._process is None and not self._begin():
            return
        with suppress(OSError):
            os.write(self._pipe, f"{name}\n".encode(errors="replace"))

    def _begin(self) -> bool:
        if os.name != "posix" or signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, signal.SIG_IGN, None):
            return False  # signals are not ours: they end the command as they always do
        ear, self._pipe = os.pipe()
        self._process = start_beside(LISTEN, ear)
        os.close(ear)
        if self._process is None:
            os.close(self._pipe)
            return False
        os.set_blocking(self._pipe, False)
        try:
            self._before = signal.set_wakeup_fd(self._pipe, warn_on_full_buffer=False)
        except ValueError:  # not in the main thread
            self.close()
            return False
        heard.append(self._taken)
        return True

    def _taken(self) -> None:
        with suppress(OSError):
            os.write(self._pipe, TAKEN)

    def close(self) -> None:
        """End the process beside."""
        if self._process is None:
            return
        if self._taken in heard:
            heard.remove(self._taken)
            signal.set_wakeup_fd(self._before)
        os.close(self._pipe)
        self._process.wait()
        self._process = None
