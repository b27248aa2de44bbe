"""The cyclic exchange, compiled: one frame with the process data of all slaves, its answer checked before it counts.

The frame holds three datagrams: FRMW distributes the time of the reference clock, LRW carries outputs and inputs, BRD
collects the states of all slaves. An answer is taken only if everything that slaves do not change is as it was sent;
anything else is a stray. A working counter that is not the expected one is an error of this cycle: the inputs stay as
they were. ``exchange_cycle`` has the signature of a cycle of the real-time executive.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from servotwin.compiled.jit import callback, helper, part
from servotwin.compiled.native_calls import records_at
from servotwin.realtime.clock import SECOND, TIMESPEC, now_ns
from servotwin.realtime.histogram import HISTOGRAM, add_time
from servotwin.realtime.libc import DO_NOT_WAIT, READABLE, ppoll, recvfrom, sendto

ROOM = 1536  # bytes of a frame
DATAGRAMS = 3
MOST_STRAYS = 64  # of one cycle
HEADER = 10
_BRD = 7


class Outcome(IntEnum):
    """What became of a cycle."""

    WELL = 0
    LOST = 1  # no answer in time
    COUNTER = 2  # wrong working counter
    STATE = 3  # a slave is not in the state that was expected, or not all answered
    INTERFACE = 4  # the frame could not be sent


EXCHANGE: np.dtype[Any] = np.dtype(
    [
        ("fd", np.int64),
        ("timeout", np.int64),  # ns
        ("length", np.int64),  # of the frame
        ("index", np.int64),
        ("headers", np.int64, (DATAGRAMS,)),  # where the datagrams begin
        ("sizes", np.int64, (DATAGRAMS,)),  # their data
        ("outputs_size", np.int64),
        ("inputs_size", np.int64),
        ("expected", np.int64),  # working counter of LRW
        ("slaves", np.int64),
        ("state", np.int64),  # AL status that all slaves must have; 0: any
        ("counter", np.int64),  # as it was found
        ("al_status", np.int64),
        ("answered", np.int64),  # slaves that answered BRD
        ("clock", np.int64),  # time of the reference when the frame passed it [ns]; 0: none
        ("sent_at", np.int64),  # instant on the monotonic clock [ns]
        ("outcome", np.int64),
        ("cycles", np.int64),
        ("lost", np.int64),
        ("lost_now", np.int64),  # in a row
        ("wrong", np.int64),
        ("strays", np.int64),
        ("unsent", np.int64),
        ("timespec", TIMESPEC, (1,)),
        ("poll", np.int64, (1,)),
        ("sending", np.uint8, (ROOM,)),
        ("answer", np.uint8, (ROOM,)),
        ("outputs", np.uint8, (ROOM,)),
        ("inputs", np.uint8, (ROOM,)),
        ("round_trip", HISTOGRAM),
    ],
    align=True,
)


@helper
def _half(data: Any, at: int) -> int:
    return int(data[at]) | (int(data[at + 1]) << 8)


@part
def begin_frame(exchange: Any) -> None:
    """The next index and the outputs into the frame; counters and inputs as zeros."""
    exchange.index = (exchange.index + 1) & 0xFF
    sending = exchange.sending
    for k in range(DATAGRAMS):
        at, size = exchange.headers[k], exchange.sizes[k]
        if at == 0:
            continue
        sending[at + 1] = exchange.index
        for j in range(size + 2):
            sending[at + HEADER + j] = 0
    at = exchange.headers[1] + HEADER
    for j in range(exchange.outputs_size):
        sending[at + j] = exchange.outputs[j]


@part
def is_answer(exchange: Any, length: int) -> bool:
    """Whether the bytes in ``answer`` are what became of the frame that was sent last."""
    sent, found = exchange.sending, exchange.answer
    if length < exchange.length:
        return False
    for j in range(12, 16):  # EtherType, and the header of the frame
        if found[j] != sent[j]:
            return False
    for k in range(DATAGRAMS):
        at = exchange.headers[k]
        if at == 0:
            continue
        for j in range(8):
            if sent[at] == _BRD and 2 <= j < 4:  # every slave counts the position of a broadcast on
                continue
            mask = 0xBF if j == 7 else 0xFF  # the mark of a frame that circulates
            if (found[at + j] ^ sent[at + j]) & mask != 0:
                return False
    return True


@part
def take_answer(exchange: Any) -> int:
    """Judge the answer and take its inputs; an ``Outcome``."""
    found = exchange.answer
    at = exchange.headers[1]
    exchange.counter = _half(found, at + HEADER + exchange.sizes[1])
    at = exchange.headers[2]
    exchange.al_status = _half(found, at + HEADER)
    exchange.answered = _half(found, at + HEADER + exchange.sizes[2])
    exchange.lost_now = 0
    if exchange.counter != exchange.expected:
        exchange.wrong += 1
        return Outcome.COUNTER.value
    if exchange.answered != exchange.slaves or (exchange.state not in (0, exchange.al_status)):
        exchange.wrong += 1
        return Outcome.STATE.value
    at = exchange.headers[1] + HEADER + exchange.outputs_size
    for j in range(exchange.inputs_size):
        exchange.inputs[j] = found[at + j]
    at = exchange.headers[0]
    if at != 0:
        clock = 0
        for j in range(8):
            clock |= int(found[at + HEADER + j]) << (8 * j)
        exchange.clock = clock
    return Outcome.WELL.value


@part
def _receive(exchange: Any) -> int:
    """Wait for the answer; an ``Outcome``."""
    until = exchange.sent_at + exchange.timeout
    strays = 0
    while True:
        length = recvfrom(exchange.fd, exchange.answer.ctypes.data, ROOM, DO_NOT_WAIT, 0, 0)
        now = now_ns(exchange.timespec)
        if length >= 0:
            if is_answer(exchange, length):
                add_time(exchange.round_trip, now - exchange.sent_at)
                return take_answer(exchange)
            exchange.strays += 1
            strays += 1
        if now >= until or strays > MOST_STRAYS:
            exchange.lost += 1
            exchange.lost_now += 1
            return Outcome.LOST.value
        if length < 0:
            left = until - now
            exchange.poll[0] = exchange.fd | (READABLE << 32)
            exchange.timespec[0].seconds = left // SECOND
            exchange.timespec[0].nanoseconds = left % SECOND
            ppoll(exchange.poll.ctypes.data, 1, exchange.timespec.ctypes.data, 0)


@callback("int64", "int64", "int64", result="int64")
def exchange_cycle(exchange_at: int, index: int, now: int) -> int:
    """Send the outputs, wait for the inputs; an ``Outcome``."""
    exchange = records_at(exchange_at, 1, EXCHANGE)[0]
    begin_frame(exchange)
    exchange.cycles += 1
    exchange.sent_at = now_ns(exchange.timespec)
    size = sendto(exchange.fd, exchange.sending.ctypes.data, exchange.length, DO_NOT_WAIT, 0, 0)
    if size != exchange.length:
        exchange.unsent += 1
        exchange.lost_now += 1
        exchange.outcome = Outcome.INTERFACE.value
    else:
        exchange.outcome = _receive(exchange)
    return exchange.outcome  # type: ignore[no-any-return]


@callback("int64", "int64", "int64", result="int64")
def exchange_begin(exchange_at: int, index: int, now: int) -> int:
    """The frame of the next cycle into ``sending``, for a port without a socket."""
    exchange = records_at(exchange_at, 1, EXCHANGE)[0]
    begin_frame(exchange)
    exchange.cycles += 1
    return 0


@callback("int64", "int64", "int64", result="int64")
def exchange_take(exchange_at: int, length: int, now: int) -> int:
    """Judge what stands in ``answer``; length 0: nothing came. An ``Outcome``."""
    exchange = records_at(exchange_at, 1, EXCHANGE)[0]
    if length > 0 and is_answer(exchange, length):
        exchange.outcome = take_answer(exchange)
    else:
        exchange.strays += 1 if length > 0 else 0
        exchange.lost += 1
        exchange.lost_now += 1
        exchange.outcome = Outcome.LOST.value
    return exchange.outcome  # type: ignore[no-any-return]
