"""What the system grants to a real-time loop: locked memory, priority, a processor, a quiet garbage collector.

Nothing of it is needed for a loop to run; what is refused is said. All of it is given back when the block ends.
"""

from __future__ import annotations

import ctypes
import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from servotwin.errors import InputError
from servotwin.realtime.libc import SUPPORTED

LOCK_CURRENT, LOCK_FUTURE, LOCK_ON_FAULT = 1, 2, 4  # mlockall
TIMER_SLACK = 29  # PR_SET_TIMERSLACK
PRIORITY = 80  # of SCHED_FIFO: above the threads of interrupts (50), below those of the kernel (99)
WATCHED, MOST_BUSY = 1.0, 0.9  # s, and the share of it for which a thread may compute with priority
AWAKE = "/dev/cpu_dma_latency"  # holding a zero in it keeps processors out of deep sleep


@dataclass
class Grants:
    """What was granted and what was not, each with a line for people."""

    granted: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def plain(self) -> dict[str, dict[str, str]]:
        """For a summary."""
        return {"granted": dict(self.granted), "refused": dict(self.refused)}

    def lines(self) -> list[str]:
        """In words."""
        given = ", ".join(self.granted.values())
        return ([f"granted: {given}"] if given else []) + [f"not granted: {t}" for t in self.refused.values()]


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


@contextmanager
def quiet_process(grants: Grants) -> Iterator[None]:
    """Memory locked, garbage collector off and its objects frozen, processors awake, while the block runs."""
    with ExitStack() as undo:
        was = gc.isenabled()
        gc.collect()
        gc.freeze()
        gc.disable()
        undo.callback(gc.unfreeze)
        if was:
            undo.callback(gc.enable)
        grants.granted["garbage collector"] = "garbage collector frozen"
        _try(grants, "memory", "memory locked", lambda: _lock_memory(undo))
        _try(grants, "idle", "processors kept awake", lambda: _keep_awake(undo))
        yield


def _try(grants: Grants, name: str, text: str, action: Callable[[], None]) -> bool:
    try:
        action()
    except (OSError, AttributeError) as error:
        reason = _reason(error) if isinstance(error, OSError) else "this system has no such call"
        grants.refused[name] = f"{text} ({reason})"
        return False
    grants.granted[name] = text
    return True


def _lock_memory(undo: ExitStack) -> None:
    """Keep what is touched in memory; pages that nobody touches are not fetched for it."""
    library = _libc()
    if library.mlockall(LOCK_CURRENT | LOCK_FUTURE | LOCK_ON_FAULT) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    undo.callback(library.munlockall)


def _keep_awake(undo: ExitStack) -> None:
    held = os.open(AWAKE, os.O_WRONLY)
    undo.callback(os.close, held)
    os.write(held, b"\0\0\0\0")


def check_cpu(cpu: int | None) -> None:
    """InputError if a loop cannot be bound to this processor."""
    if cpu is None or not SUPPORTED:
        return
    allowed = sorted(os.sched_getaffinity(0))
    if cpu not in allowed:
        names = ", ".join(str(each) for each in allowed)
        raise InputError(
            f"{cpu} is not accepted; expected a processor of this process: {names}", field="--cpu"
        )


def favour_thread(grants: Grants, cpu: int | None = None, *, answering: bool = False) -> None:
    """Priority, processor and timer of the calling thread; it keeps them until it ends.

    Without a priority of its own a thread that is bound to one processor waits for whatever else runs there, so it
    is bound only where it has one, or where ``cpu`` says so: to the last processor, or the first one if it is
    ``answering`` another loop on this machine.
    """
    if not SUPPORTED:
        grants.refused["priority"] = "priority (only on Linux)"
        return
    _try(grants, "timer", "timer slack 1 ns", _tighten_timer)
    parameter = os.sched_param(PRIORITY)
    first = _try(
        grants,
        "priority",
        f"SCHED_FIFO priority {PRIORITY}",
        lambda: os.sched_setscheduler(0, os.SCHED_FIFO, parameter),
    )
    allowed = sorted(os.sched_getaffinity(0))
    chosen = cpu if cpu is not None else allowed[0 if answering else -1]
    if cpu is not None or (first and len(allowed) > 1):
        _try(grants, "processor", f"bound to processor {chosen}", lambda: os.sched_setaffinity(0, {chosen}))
    else:
        grants.refused["processor"] = "bound to a processor (it has no priority there, or there is only one)"


@contextmanager
def favoured_thread(grants: Grants, *, answering: bool = False) -> Iterator[None]:
    """The same for the calling thread while the block runs: what follows it, such as a report, has no deadline."""
    if not SUPPORTED:
        favour_thread(grants, answering=answering)
        yield
        return
    policy, parameter, allowed = os.sched_getscheduler(0), os.sched_getparam(0), os.sched_getaffinity(0)
    favour_thread(grants, answering=answering)
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, parameter)
        os.sched_setaffinity(0, allowed)


class PriorityWatch:
    """Takes the priority of the calling thread back where it hardly ever rests: nothing else gets its processor.

    A loop whose work takes longer than its period has no deadline to keep. ``look`` is called some times a second.
    """

    def __init__(self, grants: Grants) -> None:
        self._grants, self._allowed = grants, os.sched_getaffinity(0) if SUPPORTED else set()
        self._began, self._busy = time.monotonic(), time.thread_time()

    def look(self) -> None:
        """Look whether the thread has rested during the last second."""
        passed, busy = time.monotonic() - self._began, time.thread_time() - self._busy
        if passed < WATCHED:
            return
        self._began, self._busy = time.monotonic(), time.thread_time()
        granted = self._grants.granted.get("priority")
        if granted is None or busy <= MOST_BUSY * passed:
            return
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, self._allowed)
        del self._grants.granted["priority"]
        self._grants.granted.pop("processor", None)
        self._grants.refused["priority"] = (
            f"{granted} (taken back: the loop needed {busy / passed:.0%} of a processor)"
        )


def _tighten_timer() -> None:
    if _libc().prctl(TIMER_SLACK, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
