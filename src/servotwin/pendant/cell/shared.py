"""Memory that the cell writes and its server reads: the latest picture, and a ring of samples. Nothing ever queues.

A picture is text in one of two places, and a head that names the place by its counter, with length and checksum; a
reader takes it again if its place was written meanwhile. The ring holds the last rows of the scope; a reader that is
slow loses the oldest.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from servotwin.mechanism.model import Array

Samples = NDArray[np.float64]  # single precision tells milliseconds apart for two hours only

PICTURE = struct.Struct("<QII")  # counter, length, checksum
RING = struct.Struct("<Q")  # rows written since the begin
PICTURE_SIZE = 1 << 16  # of each of the two places
HEAD_SIZE = 64
ROWS, MOST_COLUMNS = 1 << 13, 160
RING_AT = HEAD_SIZE + 2 * PICTURE_SIZE
ROWS_AT = RING_AT + 64
SIZE = ROWS_AT + ROWS * MOST_COLUMNS * 8
TRIES = 50


def make_memory() -> int:
    """An open file in memory, for this process and the one that it starts."""
    descriptor = os.memfd_create("servotwin-cell", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, SIZE)
    return descriptor


class SharedState:
    """Both sides of the memory; ``columns`` of the ring must be the same on both."""

    def __init__(self, descriptor: int, columns: int) -> None:
        if not 0 < columns <= MOST_COLUMNS:
            raise ValueError(f"{columns} columns; expected 1 to {MOST_COLUMNS}")
        self.memory = mmap.mmap(descriptor, SIZE)
        self.columns = columns
        rows = np.frombuffer(self.memory, dtype=np.float64, count=ROWS * columns, offset=ROWS_AT)
        self.rows = rows.reshape(ROWS, columns)
        self._counter = 0

    # --- the cell -----------------------------------------------------------------------------------
    def show(self, text: bytes) -> None:
        """Put the latest picture in place of the last one."""
        if len(text) > PICTURE_SIZE:
            raise ValueError("a picture larger than its room")
        self._counter += 1
        at = HEAD_SIZE + PICTURE_SIZE * (self._counter % 2)
        self.memory[at : at + len(text)] = text
        PICTURE.pack_into(self.memory, 0, self._counter, len(text), zlib.crc32(text))

    def add(self, rows: Array) -> None:
        """Append rows (k, columns) to the ring."""
        written = self.written
        places = (written + np.arange(len(rows))) % ROWS
        self.rows[places] = rows
        RING.pack_into(self.memory, RING_AT, written + len(rows))

    # --- the server ---------------------------------------------------------------------------------
    def picture(self) -> bytes:
        """The latest picture; empty if there is none yet."""
        for _ in range(TRIES):
            counter, length, checksum = PICTURE.unpack_from(self.memory, 0)
            at = HEAD_SIZE + PICTURE_SIZE * (counter % 2)
            text = self.memory[at : at + min(length, PICTURE_SIZE)]
            if zlib.crc32(text) == checksum:
                return text
        return b""

    @property
    def written(self) -> int:
        """Rows that were ever written."""
        return int(RING.unpack_from(self.memory, RING_AT)[0])

    def since(self, number: int, most: int) -> tuple[int, Samples]:
        """Number of the first row, and rows (k, columns) since row ``number``: at most the last ``most``."""
        written = self.written
        first = max(number, written - min(most, ROWS - 64), 0)
        if first >= written:
            return written, np.zeros((0, self.columns), dtype=np.float64)
        return first, self.rows[np.arange(first, written) % ROWS].copy()
