"""Logical addresses: the FMMUs of a slave map bits of a frame to bits of its memory."""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import part
from servotwin.fieldbus.ethercat.registers import (
    FMMU,
    FMMU_ACTIVATE,
    FMMU_FIRST_BIT,
    FMMU_LAST_BIT,
    FMMU_LENGTH,
    FMMU_PHYSICAL,
    FMMU_PHYSICAL_BIT,
    FMMU_READS,
    FMMU_SIZE,
    FMMU_TYPE,
    FMMU_WRITES,
    FMMUS,
    MEMORY_SIZE,
    PROCESS_MEMORY,
)
from servotwin.fieldbus.ethercat.slave.access import (
    READ,
    WRITE,
    claim_buffers,
    close_buffers,
    read_memory,
    write_memory,
)
from servotwin.fieldbus.ethercat.slave.memory import get_half, get_word


@part
def _copy_bits(
    segment: Any, slave: Any, now: int, unit: int, logical: int, length: int, data: Any, at: int, writes: bool
) -> int:
    """Bits of an FMMU that does not begin and end with whole bytes; 1 if there were any, and they were allowed.

    SyncManagers guard their buffers against bits as against bytes. Registers are read by bits, never written.
    """
    memory = slave.memory
    begin = get_word(memory, unit)
    first = 8 * begin + (memory[unit + FMMU_FIRST_BIT] & 7)
    last = 8 * (begin + get_half(memory, unit + FMMU_LENGTH) - 1) + (memory[unit + FMMU_LAST_BIT] & 7)
    shift = 8 * get_half(memory, unit + FMMU_PHYSICAL) + (memory[unit + FMMU_PHYSICAL_BIT] & 7) - first
    low, high = max(first, 8 * logical), min(last + 1, 8 * (logical + length))
    if low >= high:
        return 0
    place, end = (low + shift) // 8, (high - 1 + shift) // 8 + 1
    if end > MEMORY_SIZE or (place < PROCESS_MEMORY and (writes or end > PROCESS_MEMORY)):
        return 0
    way = WRITE if writes else READ
    guarded = place >= PROCESS_MEMORY
    if guarded and not claim_buffers(segment, slave, now, place, end - place, way):
        return 0
    for bit in range(low, high):
        frame_byte, frame_mask = at + bit // 8 - logical, 1 << (bit % 8)
        byte, mask = (bit + shift) // 8, 1 << ((bit + shift) % 8)
        if writes:
            on = data[frame_byte] & frame_mask != 0
            memory[byte] = (memory[byte] & (0xFF ^ mask)) | (mask if on else 0)
        else:
            on = memory[byte] & mask != 0
            data[frame_byte] = (data[frame_byte] & (0xFF ^ frame_mask)) | (frame_mask if on else 0)
    if guarded:
        close_buffers(segment, slave, now, place, end - place, way)
    return 1


@part
def _map_unit(
    segment: Any,
    slave: Any,
    position: int,
    now: int,
    unit: int,
    logical: int,
    length: int,
    data: Any,
    at: int,
    writes: bool,
) -> int:
    """What one FMMU does with a datagram: 1 if it moved anything."""
    memory = slave.memory
    start, size = get_word(memory, unit), get_half(memory, unit + FMMU_LENGTH)
    low, high = max(start, logical), min(start + size, logical + length)
    if low >= high:
        return 0
    whole = (
        memory[unit + FMMU_FIRST_BIT] & 7 == 0
        and memory[unit + FMMU_LAST_BIT] & 7 == 7
        and memory[unit + FMMU_PHYSICAL_BIT] & 7 == 0
    )
    if not whole:
        return _copy_bits(segment, slave, now, unit, logical, length, data, at, writes)
    address = get_half(memory, unit + FMMU_PHYSICAL) + low - start
    place = at + low - logical
    if writes:
        return write_memory(segment, slave, position, now, address, high - low, data, place)
    return read_memory(segment, slave, now, address, high - low, data, place, 0)


@part
def map_logical(
    segment: Any,
    slave: Any,
    position: int,
    now: int,
    logical: int,
    length: int,
    data: Any,
    at: int,
    way: int,
) -> int:
    """All FMMUs of a slave that a logical datagram meets; ``way``: ``FMMU_READS`` or ``FMMU_WRITES``."""
    moved = 0
    for f in range(FMMUS):
        unit = FMMU + f * FMMU_SIZE
        if slave.memory[unit + FMMU_ACTIVATE] & 1 != 0 and slave.memory[unit + FMMU_TYPE] & way != 0:
            writes = way == FMMU_WRITES
            moved |= _map_unit(segment, slave, position, now, unit, logical, length, data, at, writes)
    return moved


__all__ = ["FMMU_READS", "FMMU_WRITES", "map_logical"]
