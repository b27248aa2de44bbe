"""EtherCAT frames: datagrams of all commands, from bytes and to bytes, within the bounds of an Ethernet frame."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from servotwin.errors import ServotwinError

ETHERTYPE = 0x88A4
ETHERNET_HEADER, FRAME_HEADER, DATAGRAM_HEADER, COUNTER = 14, 2, 10, 2
SHORTEST_FRAME = 60  # bytes that Ethernet carries at least, without its check sum
LONGEST_FRAME = 1514
MOST_DATA = LONGEST_FRAME - ETHERNET_HEADER - FRAME_HEADER - DATAGRAM_HEADER - COUNTER
LENGTH_MASK, CIRCULATED, MORE = 0x07FF, 0x4000, 0x8000
COMMANDS_TYPE = 1  # of the frame header: datagrams
BROADCAST = b"\xff" * 6
MASTER = b"\x02\x5e\x54\x00\x00\x01"  # source address of our own master: locally administered

_DATAGRAM = struct.Struct("<BBIHH")
_HALF = struct.Struct("<H")


class Command(IntEnum):
    """What a datagram asks for."""

    NOP = 0
    APRD = 1  # auto-increment (position in the line): read
    APWR = 2
    APRW = 3
    FPRD = 4  # configured station address: read
    FPWR = 5
    FPRW = 6
    BRD = 7  # every slave: the data are ORed
    BWR = 8
    BRW = 9
    LRD = 10  # logical address
    LWR = 11
    LRW = 12
    ARMW = 13  # the slave at a position reads, all others write
    FRMW = 14


LOGICAL = frozenset({Command.LRD, Command.LWR, Command.LRW})


class FrameError(ServotwinError):
    """Bytes that are no EtherCAT frame, or a frame that cannot be sent."""


@dataclass(frozen=True)
class Datagram:
    """One datagram; ``address`` is logical, or position or station in the low and the register in the high half."""

    command: int
    address: int
    data: bytes
    index: int = 0
    counter: int = 0
    interrupts: int = 0
    circulated: bool = False

    @property
    def station(self) -> int:
        """Position (negative as two's complement) or station address."""
        return self.address & 0xFFFF

    @property
    def register(self) -> int:
        """Address within the slave."""
        return self.address >> 16


@dataclass(frozen=True)
class Frame:
    """The datagrams of one Ethernet frame."""

    datagrams: tuple[Datagram, ...]
    source: bytes = MASTER
    destination: bytes = BROADCAST


def physical(command: Command, station: int, register: int, data: bytes, index: int = 0) -> Datagram:
    """A datagram for registers; ``station``: a position as 0, -1, -2 ... or a station address.

    >>> physical(Command.APRD, -1, 0x0130, bytes(2)).address == 0x0130_FFFF
    True
    """
    if not (-0x8000 <= station <= 0xFFFF and 0 <= register <= 0xFFFF):
        raise FrameError(f"station {station}, register {register}: both have 16 bits")
    return Datagram(command, (register << 16) | (station & 0xFFFF), data, index)


def encode_datagrams(datagrams: tuple[Datagram, ...]) -> bytes:
    """The payload of an Ethernet frame: frame header and datagrams."""
    if not datagrams:
        raise FrameError("a frame has at least one datagram")
    parts = []
    for at, datagram in enumerate(datagrams):
        if len(datagram.data) > MOST_DATA:
            raise FrameError(
                f"a datagram of {len(datagram.data)} bytes; at most {MOST_DATA} fit into a frame"
            )
        flags = len(datagram.data) | (CIRCULATED if datagram.circulated else 0)
        flags |= MORE if at < len(datagrams) - 1 else 0
        try:
            header = _DATAGRAM.pack(
                datagram.command, datagram.index, datagram.address, flags, datagram.interrupts
            )
            parts += [header, datagram.data, _HALF.pack(datagram.counter)]
        except struct.error as error:
            raise FrameError(f"datagram {at}: a number does not fit into its field") from error
    body = b"".join(parts)
    if ETHERNET_HEADER + FRAME_HEADER + len(body) > LONGEST_FRAME:
        raise FrameError(
            f"{len(body)} bytes of datagrams; a frame holds {LONGEST_FRAME - ETHERNET_HEADER - 2}"
        )
    return _HALF.pack(len(body) | (COMMANDS_TYPE << 12)) + body


def encode_frame(frame: Frame) -> bytes:
    """An Ethernet frame, filled up to the shortest that Ethernet carries."""
    if len(frame.source) != 6 or len(frame.destination) != 6:
        raise FrameError("an Ethernet address has 6 bytes")
    head = frame.destination + frame.source + ETHERTYPE.to_bytes(2, "big")
    return (head + encode_datagrams(frame.datagrams)).ljust(SHORTEST_FRAME, b"\0")


def decode_datagrams(payload: bytes) -> tuple[Datagram, ...]:
    """The datagrams of the payload of an Ethernet frame; bytes behind them are padding."""
    if len(payload) < FRAME_HEADER:
        raise FrameError(f"a frame of {len(payload)} bytes has no header")
    (header,) = _HALF.unpack_from(payload)
    if header >> 12 != COMMANDS_TYPE:
        raise FrameError(f"frame type {header >> 12}; 1, datagrams, is accepted")
    end = FRAME_HEADER + (header & LENGTH_MASK)
    if end > len(payload):
        raise FrameError(
            f"the header says {end - FRAME_HEADER} bytes, the frame has {len(payload) - FRAME_HEADER}"
        )
    found: list[Datagram] = []
    at, more = FRAME_HEADER, True
    while more:
        if at + DATAGRAM_HEADER + COUNTER > end:
            raise FrameError(f"datagram {len(found)} begins at {at}, and the datagrams end at {end}")
        command, index, address, flags, interrupts = _DATAGRAM.unpack_from(payload, at)
        length, more = flags & LENGTH_MASK, bool(flags & MORE)
        data_at = at + DATAGRAM_HEADER
        at = data_at + length + COUNTER
        if at > end:
            raise FrameError(f"datagram {len(found)} has {length} bytes and reaches beyond the end")
        if command > Command.FRMW:
            raise FrameError(f"datagram {len(found)} has the command {command}; 0 to 14 exist")
        data = bytes(payload[data_at : data_at + length])
        (counter,) = _HALF.unpack_from(payload, at - COUNTER)
        found.append(Datagram(command, address, data, index, counter, interrupts, bool(flags & CIRCULATED)))
    return tuple(found)


def decode_frame(data: bytes) -> Frame:
    """An Ethernet frame of EtherType 0x88A4."""
    if not ETHERNET_HEADER <= len(data) <= LONGEST_FRAME:
        raise FrameError(f"{len(data)} bytes; an Ethernet frame has {ETHERNET_HEADER} to {LONGEST_FRAME}")
    kind = int.from_bytes(data[12:14], "big")
    if kind != ETHERTYPE:
        raise FrameError(f"EtherType 0x{kind:04X}; 0x88A4 is accepted")
    return Frame(decode_datagrams(data[ETHERNET_HEADER:]), bytes(data[6:12]), bytes(data[:6]))
