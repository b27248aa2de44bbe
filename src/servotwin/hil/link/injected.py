"""Faults of a rig's twin, to test who listens to it: from a chosen command on it answers wrongly, late, or never."""

from __future__ import annotations

import math
import signal
from enum import IntEnum
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, part
from servotwin.compiled.native_calls import numbers_at
from servotwin.compiled.numeric import uniform
from servotwin.hil.link.codec import write_feedback
from servotwin.hil.link.endpoint import ROOM
from servotwin.hil.link.wire import send_bytes, send_frame
from servotwin.realtime.clock import now_ns, sleep_until
from servotwin.realtime.libc import getpid, kill

KILL = int(signal.SIGKILL)
WAITING = 64  # frames that a delay holds back at most
TOO_MUCH = 1e300
FROZEN = 1_000_000_000  # ns


class Injected(IntEnum):
    """What the twin does wrong."""

    NONE = 0
    DROP = 1  # does not answer
    DELAY = 2  # answers later
    DUPLICATE = 3  # answers twice
    REORDER = 4  # answers in pairs, the later one first
    CORRUPT = 5  # turns one bit over
    GARBAGE = 6  # sends bytes that mean nothing
    NAN = 7  # a rate that is no number
    RANGE = 8  # a rate beyond all limits
    STALE = 9  # the instant of the last right answer, again and again
    SESSION = 10  # the number of another session
    FREEZE = 11  # stands still for a second
    DIE = 12  # is killed


INJECTION: np.dtype[Any] = np.dtype(
    [
        ("kind", np.int64),
        ("first", np.int64),  # sequence of the command from which on
        ("delay", np.int64),  # ns
        ("random", np.uint64, (1,)),
        ("stale_time", np.int64),  # of the last right answer
        ("held", np.int64),  # size of the frame that waits for the next one; 0: none
        ("held_frame", np.int64, (ROOM // 8,)),
        ("oldest", np.int64),  # of the frames that wait
        ("newest", np.int64),
        ("due", np.int64, (WAITING,)),
        ("sizes", np.int64, (WAITING,)),
        ("frames", np.int64, (WAITING, ROOM // 8)),
    ]
)


@helper
def _copy(source: Any, target: Any) -> None:
    for i in range(ROOM // 8):
        target[i] = source[i]


@helper
def next_due(injection: Any, otherwise: int) -> int:
    """When the next frame that waits is due [ns]."""
    if injection.oldest == injection.newest:
        return otherwise
    return min(injection.due[injection.oldest % WAITING], otherwise)  # type: ignore[no-any-return]


@part
def send_due(endpoint: Any, injection: Any, now: int) -> None:
    """Send the frames whose time has come."""
    while injection.oldest < injection.newest and injection.due[injection.oldest % WAITING] <= now:
        slot = injection.oldest % WAITING
        send_bytes(endpoint, injection.frames[slot].ctypes.data, injection.sizes[slot])
        injection.oldest += 1


@helper
def _send_later(endpoint: Any, injection: Any, size: int, now: int) -> None:
    if injection.newest - injection.oldest < WAITING:
        slot = injection.newest % WAITING
        _copy(endpoint.sending, injection.frames[slot])
        injection.sizes[slot], injection.due[slot] = size, now + injection.delay
        injection.newest += 1


@helper
def _send_swapped(endpoint: Any, injection: Any, size: int) -> None:
    if injection.held == 0:
        _copy(endpoint.sending, injection.held_frame)
        injection.held = size
        return
    send_frame(endpoint, size)
    send_bytes(endpoint, injection.held_frame.ctypes.data, injection.held)
    injection.held = 0


@helper
def _spoil_bytes(endpoint: Any, injection: Any, size: int) -> int:
    """Bytes of a frame turned over: one bit, or all of them and the length too."""
    data = numbers_at(endpoint.sending.ctypes.data, np.uint8)
    if injection.kind == Injected.CORRUPT:
        place = int(uniform(injection.random) * size)
        data[place] ^= np.uint8(1 << int(uniform(injection.random) * 8))
        return size
    length = int(uniform(injection.random) * ROOM)
    for i in range(length):
        data[i] = int(uniform(injection.random) * 256)
    return length


@helper
def _spoil_samples(feedback: Any, injection: Any) -> None:
    if injection.kind == Injected.NAN:
        feedback.rate[0] = math.nan
    elif injection.kind == Injected.RANGE:
        feedback.rate[0] = TOO_MUCH
    elif injection.kind == Injected.STALE:
        feedback.time = injection.stale_time


@part
def answer(endpoint: Any, feedback: Any, injection: Any) -> None:
    """Send the feedback, with the fault that is injected from now on."""
    now = now_ns(endpoint.timespec)
    kind = injection.kind if endpoint.newest >= injection.first else Injected.NONE.value
    if kind == Injected.NONE:
        injection.stale_time = feedback.time
    if kind == Injected.DROP:
        return
    if kind == Injected.DIE:
        kill(getpid(), KILL)
    if kind == Injected.FREEZE:
        injection.kind = Injected.NONE  # once
        sleep_until(endpoint.timespec, now + FROZEN)
        return
    if kind in (Injected.NAN, Injected.RANGE, Injected.STALE):
        _spoil_samples(feedback, injection)
    if kind == Injected.SESSION:
        endpoint.session ^= np.uint64(1)
    size = write_feedback(endpoint, feedback, now)
    if kind == Injected.SESSION:
        endpoint.session ^= np.uint64(1)
    if kind == Injected.DELAY:
        _send_later(endpoint, injection, size, now)
    elif kind == Injected.REORDER:
        _send_swapped(endpoint, injection, size)
    else:
        if kind in (Injected.CORRUPT, Injected.GARBAGE):
            size = _spoil_bytes(endpoint, injection, size)
        send_frame(endpoint, size)
        if kind == Injected.DUPLICATE:
            send_frame(endpoint, size)
