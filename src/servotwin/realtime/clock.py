"""The monotonic clock for compiled code: what time it is, and waiting for an instant."""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import helper
from servotwin.realtime.libc import ABSOLUTE, INTERRUPTED, MONOTONIC, clock_gettime, clock_nanosleep

SECOND = 1_000_000_000  # ns
TIMESPEC: np.dtype[Any] = np.dtype([("seconds", np.int64), ("nanoseconds", np.int64)])


@helper
def now_ns(timespec: Any) -> int:
    """The instant on CLOCK_MONOTONIC [ns]; ``timespec`` is a record of two whole numbers, and scratch."""
    clock_gettime(MONOTONIC, timespec.ctypes.data)
    return timespec[0].seconds * SECOND + timespec[0].nanoseconds  # type: ignore[no-any-return]


@helper
def sleep_until(timespec: Any, instant_ns: int) -> int:
    """Sleep until an instant on CLOCK_MONOTONIC [ns]; 0, or the error: a signal is no error.

    The deadline is absolute, so that a sleep that a signal cuts is simply taken up again.
    """
    timespec[0].seconds = instant_ns // SECOND
    timespec[0].nanoseconds = instant_ns % SECOND
    error = clock_nanosleep(MONOTONIC, ABSOLUTE, timespec.ctypes.data, 0)
    while error == INTERRUPTED:
        error = clock_nanosleep(MONOTONIC, ABSOLUTE, timespec.ctypes.data, 0)
    return error  # type: ignore[no-any-return]
