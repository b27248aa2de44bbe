"""Runs a compiled loop in a thread without Python's lock, while this thread shows progress and hears signals."""

from __future__ import annotations

import ctypes
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from servotwin.realtime.grants import Grants, favour_thread, quiet_process
from servotwin.realtime.libc import SUPPORTED

LEAD = 2_000_000  # ns from the start of the thread to the first deadline
LOOK = 0.1  # s between two looks at the loop
PATIENCE = 5.0  # s that a loop gets to end after it was asked to
ENDING_SIGNALS = frozenset((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))


@dataclass
class ThreadUse:
    """What the system did to the thread of a loop while it ran: zeros are what it should have done."""

    page_faults: int = 0  # memory that was not there when it was touched
    involuntary_switches: int = 0  # times that something else took its processor
    measured: bool = False

    def plain(self) -> dict[str, int]:
        """For a summary; empty if nothing was measured."""
        if not self.measured:
            return {}
        return {"page_faults": self.page_faults, "involuntary_switches": self.involuntary_switches}

    def measure(self, call: Callable[[], object]) -> None:
        """Call something in this thread, and add what the system did meanwhile."""
        if not SUPPORTED:
            call()
            return
        import resource  # there is none on Windows

        before = resource.getrusage(resource.RUSAGE_THREAD)
        try:
            call()
        finally:
            after = resource.getrusage(resource.RUSAGE_THREAD)
            self.page_faults += after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt
            self.involuntary_switches += after.ru_nivcsw - before.ru_nivcsw
            self.measured = True


def run_thread(
    loop_at: int,
    record: Any,
    *,
    grants: Grants | None = None,
    used: ThreadUse | None = None,
    cpu: int | None = None,
    answering: bool = False,
    look: Callable[[], None] | None = None,
) -> Grants:
    """Run the compiled ``int64 loop(int64 record)`` until it ends; ``record`` has the field ``end_asked``.

    ``cpu``, ``answering``: see ``favour_thread``; ``used`` gets what the system did to the thread.

    ``look`` is called ten times a second. An exception of it, such as KeyboardInterrupt of a signal handler, sets
    ``end_asked``, and is raised again when the loop has ended: it has brought everything to its safe state by then.
    """
    found = Grants() if grants is None else grants
    loop = _Loop(loop_at, record, lambda: favour_thread(found, cpu, answering=answering), used or ThreadUse())
    thread = threading.Thread(target=loop.body, name="real-time loop", daemon=True)
    with quiet_process(found):
        try:
            thread.start()
            while not loop.ended.wait(LOOK):
                if look is not None:
                    look()
        finally:
            loop.end()
    if loop.error is not None:
        raise loop.error
    return found


class _Loop:
    """What the thread runs. Once ``end`` has returned it does not run, and never will: its memory may go."""

    def __init__(self, loop_at: int, record: Any, prepare: Callable[[], None], used: ThreadUse) -> None:
        self.call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(loop_at)
        self.record, self.prepare, self.used = record, prepare, used
        self.gate = threading.Lock()
        self.entered = self.abandoned = False
        self.ended = threading.Event()
        self.error: BaseException | None = None

    def body(self) -> None:
        """Run the loop, unless it was abandoned before the thread came here."""
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)  # Python hears them in the main thread
        with self.gate:
            if self.abandoned:
                return
            self.entered = True
        try:
            self.prepare()
            if "start" in self.record.dtype.names:
                self.record["start"] = time.monotonic_ns() + LEAD
            self.used.measure(lambda: self.call(self.record.ctypes.data))
        except BaseException as error:  # noqa: BLE001 -- raised again where the loop was started
            self.error = error
        finally:
            self.ended.set()

    def end(self) -> None:
        """Have the loop end, whatever comes meanwhile: memory that it writes to must outlive it.

        An interrupt may come while the thread starts, before Python counts it as alive: who comes to the gate first
        decides whether the loop runs.
        """
        if self.ended.is_set():
            return
        self.record["end_asked"] = 1
        until = time.monotonic() + PATIENCE
        while not self.ended.is_set():
            try:
                with self.gate:
                    self.abandoned = not self.entered
                if self.abandoned:
                    return
                self.ended.wait(LOOK)
            except BaseException:
                if time.monotonic() > until:
                    raise
