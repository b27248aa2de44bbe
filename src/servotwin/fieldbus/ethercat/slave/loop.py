"""The compiled loop of a segment: waits for frames on a raw socket, lets them pass, sends them back.

It gives way to Python when a slave has something that is not for compiled code, such as a mailbox that was written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import callback, helper, part
from servotwin.compiled.native_calls import records_at, table_at
from servotwin.fieldbus.ethercat.slave.memory import put_number
from servotwin.fieldbus.ethercat.slave.passing import pass_frame
from servotwin.fieldbus.ethercat.slave.process_data import (
    after_frame,
    forget_pause,
    keep_pace,
    watch_process_data,
)
from servotwin.fieldbus.ethercat.slave.records import FRAME_ROOM, SEGMENT, SLAVE, ClockKind, Ended
from servotwin.realtime.clock import SECOND, now_ns
from servotwin.realtime.libc import (
    DO_NOT_WAIT,
    ERROR,
    HUNG_UP,
    INTERRUPTED,
    INVALID,
    READABLE,
    WOULD_BLOCK,
    errno_at,
    ppoll,
    recvfrom,
    sendto,
    whole_32_at,
)

ON_THE_WIRE = 10_000  # ns that a frame without outputs takes in lock-step
LOOK = 5_000_000  # ns between two looks at the watchdogs
PACKET_HEAD = 16  # bytes of a packet of a pcap file before the frame
BYTE = np.dtype(np.uint8)


@helper
def _record(segment: Any, length: int) -> None:
    """Keep the frame as a packet of a pcap file for Python to write; what has no room is counted."""
    if segment.record_size == 0:
        return
    if segment.record_used + PACKET_HEAD + length > segment.record_size:
        segment.unrecorded += 1
        return
    room = table_at(segment.record_at + segment.record_used, (PACKET_HEAD + length,), BYTE)
    instant = segment.now + segment.record_epoch
    put_number(room, 0, 4, instant // SECOND)
    put_number(room, 4, 4, instant % SECOND)
    put_number(room, 8, 4, length)
    put_number(room, 12, 4, length)
    for k in range(length):
        room[PACKET_HEAD + k] = segment.frame[k]
    segment.record_used += PACKET_HEAD + length
    if 4 * segment.record_used > segment.record_size:
        segment.attention = 1


@part
def handle_frame(segment: Any, slaves: Any, length: int) -> bool:
    """The frame in ``frame`` passes the slaves; True if it is to be sent back."""
    if segment.lose > 0:
        segment.lose -= 1
        return False
    if segment.clock == ClockKind.LOCK_STEP:
        segment.now += ON_THE_WIRE
    else:
        segment.now = now_ns(segment.timespec)
    watch_process_data(segment, slaves, segment.now)
    _record(segment, length)
    if not pass_frame(segment, slaves, segment.frame, length):
        segment.refused += 1
        return False
    _record(segment, length)
    segment.frames += 1
    return True


@callback("int64", "int64", result="int64")
def process_frame(segment_at: int, length: int) -> int:
    """One frame without a socket: it stands in ``frame`` and is changed there; 1 if it is to be sent back."""
    segment = records_at(segment_at, 1, SEGMENT)[0]
    slaves = records_at(segment.slaves_at, segment.count, SLAVE)
    if not handle_frame(segment, slaves, length):
        return 0
    after_frame(segment, slaves)
    return 1


@callback("int64", "int64", result="int64")
def idle_segment(segment_at: int, now: int) -> int:
    """What happens without a frame until an instant: watchdogs, and cycles that the clock asks for."""
    segment = records_at(segment_at, 1, SEGMENT)[0]
    slaves = records_at(segment.slaves_at, segment.count, SLAVE)
    watch_process_data(segment, slaves, now)
    due = keep_pace(segment, slaves, now)
    forget_pause(segment)
    return due


@helper
def _errno() -> int:
    return whole_32_at(errno_at())  # type: ignore[no-any-return]


@part
def _wait(segment: Any, until: int, now: int) -> bool:
    """Wait for a frame, at most until an instant; False: the interface is gone."""
    left = max(until - now, 0)
    timespec = segment.timespec
    segment.poll[0] = segment.fd | (READABLE << 32)
    timespec[0].seconds, timespec[0].nanoseconds = left // SECOND, left % SECOND
    ppoll(segment.poll.ctypes.data, 1, timespec.ctypes.data, 0)
    return (segment.poll[0] >> 48) & (HUNG_UP | INVALID | ERROR) == 0  # type: ignore[no-any-return]


@callback("int64", "int64", result="int64")
def serve_segment(segment_at: int, until: int) -> int:
    """Serve frames until an instant [ns] or until Python is needed: an ``Ended``."""
    segment = records_at(segment_at, 1, SEGMENT)[0]
    slaves = records_at(segment.slaves_at, segment.count, SLAVE)
    while segment.end_asked == 0:
        length = recvfrom(segment.fd, segment.frame.ctypes.data, FRAME_ROOM, DO_NOT_WAIT, 0, 0)
        if length >= 0:
            if handle_frame(segment, slaves, length):
                if sendto(segment.fd, segment.frame.ctypes.data, length, DO_NOT_WAIT, 0, 0) != length:
                    segment.unsent += 1
                after_frame(segment, slaves)
        elif _errno() not in (WOULD_BLOCK, INTERRUPTED):
            return Ended.INTERFACE
        now = now_ns(segment.timespec)
        if segment.clock != ClockKind.LOCK_STEP:
            watch_process_data(segment, slaves, now)
        due = keep_pace(segment, slaves, now)
        if length < 0:
            forget_pause(segment)
        if segment.attention != 0:
            segment.attention = 0
            return Ended.ATTENTION
        if now >= until:
            return Ended.TIME
        if length < 0 and not _wait(segment, min(until, due, now + LOOK), now):
            return Ended.INTERFACE
    return Ended.ASKED
