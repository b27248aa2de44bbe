"""A frame passes all slaves of a segment: datagram by datagram, slave by slave, with the working counter's rules."""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.fieldbus.ethercat.frames import (
    COMMANDS_TYPE,
    DATAGRAM_HEADER,
    ETHERNET_HEADER,
    FRAME_HEADER,
    LENGTH_MASK,
    LONGEST_FRAME,
    MORE,
)
from servotwin.fieldbus.ethercat.registers import EVENT_MASK, EVENT_REQUEST, STATION_ADDRESS
from servotwin.fieldbus.ethercat.slave.access import read_memory, write_memory
from servotwin.fieldbus.ethercat.slave.logical import FMMU_READS, FMMU_WRITES, map_logical
from servotwin.fieldbus.ethercat.slave.memory import get_half, get_word, put_number

FIRST = ETHERNET_HEADER + FRAME_HEADER  # byte of the first datagram
OVERHEAD = DATAGRAM_HEADER + 2
LAST_COMMAND = 14
FROM_SLAVES = 0x02  # the first slave sets this bit of the source address


@part
def is_well_formed(frame: Any, length: int) -> bool:
    """Whether all datagrams lie within the frame; nothing is touched before this is known."""
    if length < FIRST + OVERHEAD or length > LONGEST_FRAME or frame[12] != 0x88 or frame[13] != 0xA4:
        return False
    header = get_half(frame, ETHERNET_HEADER)
    end = FIRST + (header & LENGTH_MASK)
    if header >> 12 != COMMANDS_TYPE or end > length:
        return False
    at, more = FIRST, True
    while more:
        if at + OVERHEAD > end or frame[at] > LAST_COMMAND:
            return False
        flags = get_half(frame, at + 6)
        more = flags & MORE != 0
        at += OVERHEAD + (flags & LENGTH_MASK)
        if at > end:
            return False
    return True


@helper
def _is_addressed(slave: Any, command: int, station: int) -> bool:
    """Whether a slave is the one that a physical datagram names."""
    if command in (1, 2, 3, 13):
        return station == 0
    if command in (4, 5, 6, 14):
        return station == get_half(slave.memory, STATION_ADDRESS)
    return True


@part
def _physical(segment: Any, slave: Any, position: int, now: int, frame: Any, at: int) -> int:
    """A datagram for registers at one slave: what it adds to the working counter."""
    command = int(frame[at])
    length = get_half(frame, at + 6) & LENGTH_MASK
    address, data = get_half(frame, at + 4), at + DATAGRAM_HEADER
    mine = _is_addressed(slave, command, get_half(frame, at + 2))
    if command >= 13:  # one reads, all others write
        if mine:
            return read_memory(segment, slave, now, address, length, frame, data, 0)
        return write_memory(segment, slave, position, now, address, length, frame, data)
    if not mine:
        return 0
    kind = (command - 1) % 3
    if kind == 0:
        return read_memory(segment, slave, now, address, length, frame, data, 1 if command == 7 else 0)
    if kind == 1:
        return write_memory(segment, slave, position, now, address, length, frame, data)
    return _exchange(segment, slave, position, now, frame, at)


@helper
def _exchange(segment: Any, slave: Any, position: int, now: int, frame: Any, at: int) -> int:
    """Read and write in one datagram, byte by byte: the frame takes what was there, the slave what came."""
    length, address = get_half(frame, at + 6) & LENGTH_MASK, get_half(frame, at + 4)
    data = at + DATAGRAM_HEADER
    merge = frame[at] == 9
    counter = 0
    room = segment.exchange
    for k in range(length):
        room[k] = frame[data + k]
    if read_memory(segment, slave, now, address, length, frame, data, 1 if merge else 0) != 0:
        counter += 1
    if write_memory(segment, slave, position, now, address, length, room, 0) != 0:
        counter += 2
    return counter


@part
def _logical(segment: Any, slave: Any, position: int, now: int, frame: Any, at: int) -> int:
    """A logical datagram at one slave. Writes come first: what is read may replace the same bytes of the frame."""
    command = frame[at]
    length = get_half(frame, at + 6) & LENGTH_MASK
    logical, data = get_word(frame, at + 2), at + DATAGRAM_HEADER
    counter = 0
    if (
        command != 10
        and map_logical(segment, slave, position, now, logical, length, frame, data, FMMU_WRITES) != 0
    ):
        counter += 2 if command == 12 else 1
    if (
        command != 11
        and map_logical(segment, slave, position, now, logical, length, frame, data, FMMU_READS) != 0
    ):
        counter += 1
    return counter


@part
def pass_frame(segment: Any, slaves: Any, frame: Any, length: int) -> bool:
    """Let a frame pass all slaves, as it stands in memory; False, and nothing is done, if it is none of ours."""
    if not is_well_formed(frame, length):
        return False
    at, more = FIRST, True
    while more:
        command, flags = frame[at], get_half(frame, at + 6)
        size = flags & LENGTH_MASK
        more = flags & MORE != 0
        counter_at = at + DATAGRAM_HEADER + size
        for i in range(segment.count):
            slave, now = slaves[i], segment.now + i * segment.hop
            added = 0
            if 10 <= command <= 12:
                added = _logical(segment, slave, i, now, frame, at)
            elif command != 0:
                added = _physical(segment, slave, i, now, frame, at)
                if command <= 3 or 7 <= command <= 9 or command == 13:
                    put_number(frame, at + 2, 2, get_half(frame, at + 2) + 1)
            put_number(frame, counter_at, 2, get_half(frame, counter_at) + added)
            events = get_half(slave.memory, EVENT_REQUEST) & get_half(slave.memory, EVENT_MASK)
            if events != 0:
                put_number(frame, at + 8, 2, get_half(frame, at + 8) | events)
        at = counter_at + 2
    frame[6] |= FROM_SLAVES
    return True
