"""Runs a compiled loop in a thread without Python's lock, while this thread shows progress and hears signals."""

from __future__ import annotations

import ctypes
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from servotwin.realtime.grants import Grants, favour_thread, quiet_process

LEAD = 2_000_000  # ns from the start of the thread to the first deadline
LOOK = 0.1  # s between two looks at the loop
PATIENCE = 5.0  # s that a loop gets to end after it was asked to
ENDING_SIGNALS = frozenset((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))


def run_thread(
    loop_at: int,
    record: Any,
    *,
    grants: Grants | None = None,
    cpu: int | None = None,
    answering: bool = False,
    look: Callable[[], None] | None = None,
) -> Grants:
    """Run the compiled ``int64 loop(int64 record)`` until it ends; ``record`` has the field ``end_asked``.

    ``cpu``, ``answering``: see ``favour_thread``.

    ``look`` is called ten times a second. An exception of it, such as KeyboardInterrupt of a signal handler, sets
    ``end_asked``, and is raised again when the loop has ended: it has brought everything to its safe state by then.
    """
    found = Grants() if grants is None else grants
    loop = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loop_at)

    def body() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)  # Python hears them in the main thread
        favour_thread(found, cpu, answering=answering)
        if "start" in record.dtype.names:
            record["start"] = time.monotonic_ns() + LEAD
        loop(record.ctypes.data)

    thread = threading.Thread(target=body, name="real-time loop", daemon=True)
    with quiet_process(found):
        thread.start()
        try:
            while thread.is_alive():
                thread.join(LOOK)
                if look is not None:
                    look()
        finally:
            _end(thread, record)
    return found


def _end(thread: threading.Thread, record: Any) -> None:
    """Have the loop end, whatever comes meanwhile: memory that it writes to must outlive it."""
    record["end_asked"] = 1
    until = time.monotonic() + PATIENCE
    while thread.is_alive():
        try:
            thread.join(LOOK)
        except BaseException:
            if time.monotonic() > until:
                raise
