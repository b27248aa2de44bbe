"""Frames in shared memory: two rings of slots, each with one writer and one reader, without locks.

A ring holds the count of frames written, the count of frames read, each in a cache line of its own, and the slots.
The writer fills a slot before it counts it, the reader counts it after it has copied it; a full ring drops frames,
as a wire would. Lengths are checked against the slot: the other side is another process.
"""

from __future__ import annotations

import numpy as np

from servotwin.compiled.jit import part
from servotwin.compiled.native_calls import numbers_at
from servotwin.realtime.libc import load_acquire, store_release

SLOTS = 16
SLOT = 520  # bytes: the length, then the frame
READ_AT = 64  # bytes from the beginning of a ring
SLOTS_AT = 128
RING = SLOTS_AT + SLOTS * SLOT + 64 - (SLOTS_AT + SLOTS * SLOT) % 64


@part
def put_frame(ring_at: int, frame_at: int, length: int) -> int:
    """Write a frame; its length, or 0 if the ring is full."""
    written, read = load_acquire(ring_at), load_acquire(ring_at + READ_AT)
    if written - read >= SLOTS or written < read:
        return 0
    slot = ring_at + SLOTS_AT + SLOT * (written % SLOTS)
    source, target = numbers_at(frame_at, np.uint8), numbers_at(slot + 8, np.uint8)
    for i in range(length):
        target[i] = source[i]
    numbers_at(slot, np.int64)[0] = length
    store_release(ring_at, written + 1)
    return length


@part
def take_frame(ring_at: int, frame_at: int, room: int) -> int:
    """Copy the oldest frame; its length, or -1 if there is none."""
    written, read = load_acquire(ring_at), load_acquire(ring_at + READ_AT)
    if written <= read:
        return -1
    slot = ring_at + SLOTS_AT + SLOT * (max(read, 0) % SLOTS)
    length = min(max(numbers_at(slot, np.int64)[0], 0), room)
    source, target = numbers_at(slot + 8, np.uint8), numbers_at(frame_at, np.uint8)
    for i in range(length):
        target[i] = source[i]
    store_release(ring_at + READ_AT, read + 1)
    return length  # type: ignore[no-any-return]
