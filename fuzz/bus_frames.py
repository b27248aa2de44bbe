"""EtherCAT frames and mailboxes for the fuzzer: what makes them, and slaves that they meet."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

LENGTH = struct.Struct("<H")
STATION = 0x1001
TEXT = """
0010 0012 0110 0120 0130 0134 0200 0300 0400 0420 0500 0502 0504 0508 0600 0610 0800 0808 0810 0818 080E 0900 0910 0920
0928 0980 0990 09A0 0FFF 1000 1200 1400 2800 FFF8 FFFF
"""
PLACES = tuple(int(place, 16) for place in TEXT.split())
INDICES = (
    0x1000,
    0x1008,
    0x1018,
    0x1600,
    0x1A00,
    0x1C12,
    0x1C13,
    0x1C32,
    0x6040,
    0x6060,
    0x607A,
    0x60FF,
    0x6FFF,
    0xFFFF,
)


def frames(rng: Random) -> bytes:
    """Some frames, each behind its length: good ones, changed ones, random bytes."""
    return b"".join(LENGTH.pack(len(frame)) + frame for frame in (_frame(rng) for _ in range(60)))


def _frame(rng: Random) -> bytes:
    from servotwin.fieldbus.ethercat.frames import Datagram, Frame, encode_frame

    if rng.random() < 0.1:
        return b"\xff" * 12 + b"\x88\xa4" + rng.randbytes(rng.choice((0, 1, 2, 14, 60, 1500, 1600)))
    datagrams = []
    for _ in range(rng.randint(1, 4)):
        data = (
            _mail(rng)
            if rng.random() < 0.3
            else rng.randbytes(rng.choice((0, 1, 2, 4, 8, 16, 20, 24, 64, 256)))
        )
        place = (
            0x1000
            if len(data) == 256 and rng.random() < 0.8
            else rng.choice(PLACES) + rng.choice((0, 0, 0, 1))
        )
        station = rng.choice((0, STATION, STATION, 0xFFFF))
        logical = rng.randrange(64) | rng.choice((0, 0x10000, 0xFFFFFFC0))
        command = rng.randrange(15)
        address = logical if 10 <= command <= 12 else (place & 0xFFFF) << 16 | station
        datagrams.append(Datagram(command, address, data, rng.randrange(256)))
    data = bytearray(encode_frame(Frame(tuple(datagrams))))
    if rng.random() < 0.3:
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(12, len(data))] = rng.randrange(256)
    return bytes(data[: rng.randint(0, len(data))] if rng.random() < 0.1 else data)


def _mail(rng: Random) -> bytes:
    """A mailbox of 256 bytes: mostly an SDO or a question about objects."""
    service = rng.choice((2, 2, 2, 8, 8, rng.randrange(16)))
    if service == 8:
        kind = rng.choice((1, 3, 5, rng.randrange(256)))
        body = struct.pack(
            "<BBHHBB", kind, 0, rng.choice((0, 3)), rng.choice((*INDICES, 1, 5)), rng.randrange(8), 0
        )
    else:
        first = rng.choice(
            (0x40, 0x50, 0x60, 0x70, 0x23, 0x2F, 0x21, 0x31, 0x00, 0x11, 0x80, rng.randrange(256))
        )
        body = struct.pack("<BHB", first, rng.choice(INDICES), rng.choice((0, 1, 2, 9, 255)))
        body += rng.choice((rng.randbytes(4), struct.pack("<I", rng.choice((0, 1, 40, 5000, 2**32 - 1)))))
        body += rng.randbytes(rng.choice((0, 0, 7, 100)))
    body = struct.pack("<H", service << 12) + body[: rng.choice((0, 3, 200, 200, 200, 200))]
    length = len(body) if rng.random() < 0.9 else rng.choice((0, 1, 251, 65535))
    head = struct.pack(
        "<HHBB", length, 0, rng.randrange(256), rng.choice((3, 3, 3, rng.randrange(256))) & 0x8F
    )
    return (head + body).ljust(256, b"\0")[:256]


def _slaves() -> Any:
    from servotwin.fieldbus.cia402.application import Drives, ideal_plant
    from servotwin.fieldbus.ethercat.frames import Command, Frame, encode_frame, physical
    from servotwin.fieldbus.ethercat.slave.records import ClockKind
    from servotwin.fieldbus.ethercat.slave.segment import Segment

    drives = Drives((1, 2))
    drives.attach(ideal_plant(drives))
    segment = Segment(drives.application(), clock=ClockKind.LOCK_STEP)

    def write(station: int, place: int, data: bytes) -> None:
        segment.process(encode_frame(Frame((physical(Command.FPWR, station, place, data),))))

    for k, axes in enumerate((1, 2)):
        first = (physical(Command.APWR, -k, 0x0010, struct.pack("<H", STATION + k)),)
        segment.process(encode_frame(Frame(first)))
        lines = (
            (0x1000, 256, 0x26),
            (0x1200, 256, 0x22),
            (0x1400, 20 * axes, 0x64),
            (0x2800, 24 * axes, 0x20),
        )
        for m, (start, size, control) in enumerate(lines):
            write(STATION + k, 0x0800 + 8 * m, struct.pack("<HHBBBB", start, size, control, 0, 1, 0))
        write(STATION + k, 0x0600, struct.pack("<IHBBHBBB3x", 20 * k, 20 * axes, 0, 7, 0x1400, 0, 2, 1))
        write(
            STATION + k,
            0x0610,
            struct.pack("<IHBBHBBB3x", 0x10000 + 24 * k, 24 * axes, 0, 7, 0x2800, 0, 1, 1),
        )
        for state in (2, 4):
            write(STATION + k, 0x0120, struct.pack("<H", state))
        write(STATION + k, 0x1400, bytes(20 * axes))
        write(STATION + k, 0x0120, struct.pack("<H", 8))
    return drives, segment


def read_all(data: bytes) -> int:
    """How many frames pass; no axis may have moved but one whose drive went through its states."""
    from servotwin.errors import ServotwinError
    from servotwin.fieldbus.ethercat.frames import decode_frame

    drives, segment = _slaves()
    passed = at = 0
    while at + LENGTH.size <= len(data):
        (length,) = LENGTH.unpack_from(data, at)
        frame = data[at + LENGTH.size : at + LENGTH.size + length]
        at += LENGTH.size + length
        answer = segment.process(frame)
        passed += answer is not None
        try:
            decoded = decode_frame(frame) is not None
        except ServotwinError:
            decoded = False
        if decoded != (answer is not None):
            raise AssertionError("the compiled decoder and the one in Python disagree about a frame")
        powered = drives.drives["command"]["enable"] != 0
        if (powered & ~(drives.drives["state"] >= 5)).any():
            raise AssertionError("a drive without operation enabled has power")
        states = {int(device.machine.state) for device in segment.devices}
        if not states <= {1, 2, 4, 8}:
            raise AssertionError(f"a state that does not exist: {states}")
    return passed
