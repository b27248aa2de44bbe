"""One end of a link: its transport, session, sequence numbers, buffers and counts, in one record.

All memory of an end is in this record, made before a run.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from servotwin.hil.link.causes import CAUSES
from servotwin.hil.link.checks import HASHER, set_key
from servotwin.hil.link.frames import LARGEST
from servotwin.hil.ports import MAX_SHAFTS
from servotwin.realtime.clock import TIMESPEC

ADDRESS = 32  # bytes for a socket address: 16 of IPv4, 28 of IPv6
ROOM = 512  # bytes for a frame, or a frame in COBS
STREAM = 4096  # bytes of a serial line that are not looked at yet
BUDGET = 32  # frames that are looked at in one cycle
assert LARGEST + 4 <= ROOM


class Transport(IntEnum):
    """How frames travel."""

    UDP = 0
    SERIAL = 1
    SHARED_MEMORY = 2
    IN_PROCESS = 3


ENDPOINT: np.dtype[Any] = np.dtype(
    [
        ("transport", np.int64),
        ("fd", np.int64),
        ("hung", np.int64),  # 1: the line was hung up, or its device is gone
        ("period", np.int64),  # of the session [ns]
        ("stamped", np.int64),  # 1: the age of samples is taken from their time stamps, which must make sense
        ("echoed", np.int64),  # command that the newest feedback answers
        ("peer_size", np.int64),  # bytes of ``peer`` that count; 0: no peer yet
        ("peer", np.uint8, (ADDRESS,)),
        ("source_size", np.int64),
        ("source", np.uint8, (ADDRESS,)),  # of the last frame
        ("ring_in", np.int64),  # addresses of the two rings in shared memory
        ("ring_out", np.int64),
        ("filled", np.int64),  # bytes of ``stream``
        ("stream", np.uint8, (STREAM,)),
        ("coded", np.uint8, (ROOM,)),
        ("received", np.int64, (ROOM // 8,)),  # whole numbers, so that words of a frame are aligned
        ("sending", np.int64, (ROOM // 8,)),
        ("shafts", np.int64),
        ("session", np.uint64),
        ("authenticated", np.int64),
        ("hasher", HASHER),
        ("sequence", np.int64),  # of the last frame sent
        ("newest", np.int64),  # sequence of the newest frame that was accepted
        ("seen", np.uint64),  # bit i: the frame of sequence newest - i has come
        ("newest_sent", np.int64),  # its ``sent``
        ("sample_time", np.int64),  # ``time`` of the newest payload
        ("arrived", np.int64),  # instant of the newest frame here [ns]
        ("counts", np.int64, (CAUSES,)),
        ("accepted", np.int64),
        ("sent_frames", np.int64),
        ("voltage_limit", np.float64, (MAX_SHAFTS,)),
        ("torque_limit", np.float64, (MAX_SHAFTS,)),
        ("rate_limit", np.float64, (MAX_SHAFTS,)),
        ("current_limit", np.float64, (MAX_SHAFTS,)),
        ("encoder", np.int64, (MAX_SHAFTS,)),
        ("timespec", TIMESPEC, (1,)),
        ("poll", np.int64, (1,)),  # struct pollfd
        ("shell", np.int64, (2,)),  # sizes that calls of the system write to
    ]
)


def new_endpoint(shafts: int, transport: Transport, key: bytes | None = None) -> Any:
    """The record of one end, (1,), without a session; ``key``: frames are authenticated with it."""
    endpoint = np.zeros(1, ENDPOINT)
    endpoint["shafts"], endpoint["transport"], endpoint["fd"] = shafts, transport, -1
    for name in ("voltage_limit", "torque_limit", "rate_limit", "current_limit"):
        endpoint[name] = np.finfo(np.float64).max
    if key is not None:
        endpoint["authenticated"] = 1
        set_key(endpoint["hasher"], key)
    return endpoint
