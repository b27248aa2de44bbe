"""Memory of a segment of slaves, made before the first frame: compiled code and Python share it between frames."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from servotwin.fieldbus.ethercat.registers import MEMORY_SIZE, PORTS, SYNC_MANAGERS
from servotwin.realtime.clock import TIMESPEC

MOST_SLAVES = 16
MOST_PROCESS_DATA = 1486  # bytes of one direction of one slave: one frame
MOST_COPIES = 256
EEPROM_SIZE = 16384  # bytes of the largest SII
REGISTERS = 0x1000
FRAME_ROOM = 2048  # longer frames are cut by the socket, and refused for their length


class Event(IntEnum):
    """What a frame left for Python to do, as bits."""

    AL_CONTROL = 1
    MAILBOX_WRITTEN = 2
    MAILBOX_READ = 4
    REPEAT = 8
    OUTPUTS = 16  # the first outputs for a slave that waits for them
    WATCHDOG = 32
    EEPROM_WRITTEN = 64
    SYNC_MANAGERS = 128  # those of process data were written


class ClockKind(IntEnum):
    """Whose time the slaves live in."""

    WALL = 0  # the monotonic clock
    LOCK_STEP = 1  # every frame with outputs is one period later, however long the master takes


class Outputs(IntEnum):
    """What a cycle of the application gets from the master."""

    NONE = 0  # they are not in force
    IN_FORCE = 1  # those of an earlier cycle
    FRESH = 2


class Ended(IntEnum):
    """Why the compiled loop gave way to Python."""

    ATTENTION = 0  # a slave has events
    TIME = 1
    ASKED = 2
    INTERFACE = 3  # the socket is broken


# Process data from or to an object: where in the buffer, where in the memory of objects, how many bytes.
COPY: np.dtype[Any] = np.dtype([("buffer", np.int64), ("memory", np.int64), ("size", np.int64)])

SLAVE: np.dtype[Any] = np.dtype(
    [
        ("memory", np.uint8, (MEMORY_SIZE,)),
        ("latest", np.uint8, (MOST_PROCESS_DATA + 2,)),  # the last outputs that were written whole
        ("eeprom", np.uint8, (EEPROM_SIZE,)),
        ("eeprom_size", np.int64),
        (
            "open",
            np.int64,
            (SYNC_MANAGERS,),
        ),  # 1: the first byte of the buffer was accessed, the last not yet
        ("events", np.int64),
        ("awaits_outputs", np.int64),
        ("fresh_outputs", np.int64),  # 1: outputs have come since they were last copied
        ("outputs_seen", np.int64),  # complete outputs since the start
        ("operational_at", np.int64),  # where ``Outputs`` of this slave are written
        ("objects_at", np.int64),  # memory of objects
        ("outputs_at", np.int64),  # where outputs are expected, and how many bytes: as checked before SAFEOP
        ("outputs_size", np.int64),
        ("inputs_at", np.int64),  # where inputs are written: the place that was checked before SAFEOP
        ("output_copies", COPY, (MOST_COPIES,)),
        ("input_copies", COPY, (MOST_COPIES,)),
        ("output_count", np.int64),
        ("input_count", np.int64),
        ("ports", np.int64, (PORTS,)),  # 1: something is connected
        ("watchdog_since", np.int64),  # instant of the last outputs [ns]
        # the slave's own clock: local = local_base + fraction + (now - base)(1 + rate)
        ("base", np.int64),
        ("local_base", np.int64),
        ("fraction", np.float64),  # of a nanosecond
        ("rate", np.float64),
        ("drift", np.float64),  # of its quartz
        ("correction", np.float64),  # what its control loop has learned of it
        ("compared", np.int64),  # instant of the last comparison with the reference clock [ns]
        ("sync0_last", np.int64),  # system time of the last SYNC0 [ns]
        ("sync0_count", np.int64),
    ],
    align=True,
)

SEGMENT: np.dtype[Any] = np.dtype(
    [
        ("slaves_at", np.int64),
        ("count", np.int64),
        ("now", np.int64),  # instant of the frame at the first slave [ns]
        ("hop", np.int64),  # ns that a frame takes from one slave to the next
        ("clock", np.int64),  # a ``ClockKind``
        ("step", np.int64),  # ns that a frame with outputs takes in lock-step
        ("cycle_at", np.int64),  # address of the application, ``int64 f(context, index, now)``; 0: none
        ("context_at", np.int64),
        ("cycles", np.int64),
        ("cycled", np.int64),  # instant of the last cycle [ns]
        ("lived", np.int64),  # time of the application [ns]: without pauses of this process
        ("due", np.int64),  # instant of the next look without a frame [ns]; 0: none was made yet
        ("owed", np.int64),  # ns that passed while this process did not run: frames that wait are due in them
        ("left_out", np.int64),  # ns that no frame asked for: the application did not live them
        ("outputs_in_frame", np.int64),  # 1: this frame brought complete outputs
        ("attention", np.int64),  # 1: a slave has events
        ("end_asked", np.int64),
        ("fd", np.int64),
        ("length", np.int64),  # of the frame in ``frame``
        ("frames", np.int64),
        ("refused", np.int64),  # frames that are no EtherCAT
        ("unsent", np.int64),
        ("lose", np.int64),  # frames that are lost before they come, by injection
        ("record_size", np.int64),  # bytes of ``record``; 0: nothing is recorded
        ("record_used", np.int64),
        ("record_at", np.int64),
        ("record_epoch", np.int64),  # ns from the clock of the segment to that of the day
        ("unrecorded", np.int64),
        ("frame", np.uint8, (FRAME_ROOM,)),
        ("exchange", np.uint8, (FRAME_ROOM,)),  # data of a datagram that is read and written at once
        ("writable", np.uint8, (REGISTERS,)),  # 1: a register that a master may write
        ("timespec", TIMESPEC, (1,)),
        ("poll", np.int64, (1,)),
    ],
    align=True,
)
