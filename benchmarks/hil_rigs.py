"""The twin of a rig as a process of its own, for the campaign of motor substitution."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COMMAND = str(Path(sys.executable).with_name("servotwin"))
PATIENCE = 120.0  # s; it may have to compile first


def free_port() -> int:
    """A port of UDP that nobody has now."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def rig_process(*options: str, rig: str = "met-rig-three") -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """``servotwin rig`` on a free port until the block ends: its transport, and the process."""
    where = f"udp://127.0.0.1:{free_port()}"
    words = [COMMAND, "rig", rig, "--transport", where, *options]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    until = time.monotonic() + PATIENCE
    while "waiting" not in (line := process.stderr.readline()):
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"the rig did not start: {line}")
    try:
        yield where, process
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()
