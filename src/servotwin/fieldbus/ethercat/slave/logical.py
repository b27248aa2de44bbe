"""Logical addresses: the FMMUs of a slave map bits of a frame to bits of its memory."""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
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
from servotwin.fieldbus.ethercat.slave.access import read_memory, write_memory
from servotwin.fieldbus.ethercat.slave.memory import get_half, get_word


@helper
def _copy_bits(slave: Any, unit: int, logical: int, length: int, data: Any, at: int, writes: bool) -> int:
    """Bits of an FMMU that does not begin and end with whole bytes; process memory only for writes."""
    memory = slave.memory
    first = 8 * get_word(memory, unit) + memory[unit + FMMU_FIRST_BIT]
    last = (
        8 * (get_word(memory, unit) + get_half(memory, unit + FMMU_LENGTH) - 1) + memory[unit + FMMU_LAST_BIT]
    )
    target = 8 * get_half(memory, unit + FMMU_PHYSICAL) + memory[unit + FMMU_PHYSICAL_BIT]
    done = 0
    for bit in range(max(first, 8 * logical), min(last + 1, 8 * (logical + length))):
        frame_byte, frame_bit = at + bit // 8 - logical, bit % 8
        place = target + bit - first
        byte, mask = place // 8, 1 << (place % 8)
        if byte >= MEMORY_SIZE or (writes and byte < PROCESS_MEMORY):
            return done
        if writes:
            on = (data[frame_byte] >> frame_bit) & 1
            memory[byte] = (memory[byte] & (0xFF ^ mask)) | (mask if on != 0 else 0)
        else:
            on = 1 if memory[byte] & mask != 0 else 0
            data[frame_byte] = (data[frame_byte] & (0xFF ^ (1 << frame_bit))) | (on << frame_bit)
        done = 1
    return done


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
        memory[unit + FMMU_FIRST_BIT] == 0
        and memory[unit + FMMU_LAST_BIT] == 7
        and memory[unit + FMMU_PHYSICAL_BIT] == 0
    )
    if not whole:
        return _copy_bits(slave, unit, logical, length, data, at, writes)
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
