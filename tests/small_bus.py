"""A few lines of a master for tests: it speaks to a segment in this process, frame by frame."""

from __future__ import annotations

import struct
from typing import Any

from servotwin.fieldbus.cia402.application import Drives, ideal_plant
from servotwin.fieldbus.ethercat.frames import Command, Datagram, Frame, decode_frame, encode_frame, physical
from servotwin.fieldbus.ethercat.slave.records import ClockKind
from servotwin.fieldbus.ethercat.slave.segment import Segment

STATION = 0x1001
MAILBOX_OUT, MAILBOX_IN, MAILBOX = 0x1000, 0x1200, 256
OUTPUTS, INPUTS = 0x1400, 0x2800
OUTPUT = struct.Struct("<HbxiihhI")  # the default RxPDO: controlword, mode, position, speed, torque, offsets
INPUT = struct.Struct("<HbxiihHiI")
INIT, PREOP, SAFEOP, OP = 1, 2, 4, 8


class SmallBus:
    """Slaves with ideal axes in lock-step, and what a master does to them; ``axes[k]`` axes on slave k."""

    def __init__(self, axes: tuple[int, ...] = (1,), **settings: Any) -> None:
        self.drives = Drives(axes)
        self.plant = ideal_plant(self.drives)
        self.drives.attach(self.plant)
        self.segment = Segment(self.drives.application(), clock=ClockKind.LOCK_STEP, **settings)
        self.axes = axes
        self.sizes = [(OUTPUT.size * n, INPUT.size * n) for n in axes]
        self.counter = 0
        for k in range(len(axes)):
            self.go(physical(Command.APWR, -k, 0x0010, struct.pack("<H", STATION + k)))

    def go(self, *datagrams: Datagram) -> tuple[Datagram, ...]:
        answer = self.segment.process(encode_frame(Frame(datagrams)))
        assert answer is not None
        return decode_frame(answer).datagrams

    def read(self, slave: int, register: int, size: int) -> bytes:
        (found,) = self.go(physical(Command.FPRD, STATION + slave, register, bytes(size)))
        assert found.counter == 1, f"slave {slave}: {register:04X} was not read"
        return found.data

    def number(self, slave: int, register: int, size: int) -> int:
        return int.from_bytes(self.read(slave, register, size), "little")

    def write(self, slave: int, register: int, data: bytes) -> int:
        return self.go(physical(Command.FPWR, STATION + slave, register, data))[0].counter

    def state(self, slave: int = 0) -> tuple[int, int]:
        """AL status, and the status code."""
        return self.number(slave, 0x0130, 2), self.number(slave, 0x0134, 2)

    def ask(self, slave: int, control: int) -> tuple[int, int]:
        self.write(slave, 0x0120, struct.pack("<H", control))
        return self.state(slave)

    def manager(self, slave: int, number: int, start: int, size: int, control: int, on: int = 1) -> None:
        self.write(slave, 0x0800 + 8 * number, struct.pack("<HHBBBB", start, size, control, 0, on, 0))

    def unit(
        self, slave: int, number: int, logical: int, size: int, physical_at: int, kind: int, **bits: int
    ) -> None:
        first, last, target = bits.get("first", 0), bits.get("last", 7), bits.get("target", 0)
        data = struct.pack("<IHBBHBBB3x", logical, size, first, last, physical_at, target, kind, 1)
        self.write(slave, 0x0600 + 16 * number, data)

    def to_preop(self, slave: int = 0) -> None:
        self.manager(slave, 0, MAILBOX_OUT, MAILBOX, 0x26)
        self.manager(slave, 1, MAILBOX_IN, MAILBOX, 0x22)
        assert self.ask(slave, PREOP) == (PREOP, 0)

    def set_process_data(self, slave: int = 0) -> None:
        """Outputs of all slaves from logical address 0 on, inputs from 0x10000 on."""
        out, into = self.sizes[slave]
        self.manager(slave, 2, OUTPUTS, out, 0x64)
        self.manager(slave, 3, INPUTS, into, 0x20)
        self.unit(slave, 0, sum(o for o, _ in self.sizes[:slave]), out, OUTPUTS, 2)
        self.unit(slave, 1, 0x10000 + sum(i for _, i in self.sizes[:slave]), into, INPUTS, 1)

    def to_safeop(self, slave: int = 0) -> None:
        self.to_preop(slave)
        self.set_process_data(slave)
        assert self.ask(slave, SAFEOP) == (SAFEOP, 0)

    def to_op(self) -> None:
        for k in range(len(self.axes)):
            self.to_safeop(k)
        self.exchange([(0, 0)] * sum(self.axes))
        for k in range(len(self.axes)):
            assert self.ask(k, OP) == (OP, 0)

    def exchange(self, outputs: list[tuple[int, ...]]) -> list[tuple[Any, ...]]:
        """One cycle: outputs (controlword, mode, position, speed, torque) of all axes; the inputs after it."""
        data = b"".join(OUTPUT.pack(*(tuple(o) + (0,) * (7 - len(o)))) for o in outputs)
        (written,) = self.go(Datagram(Command.LWR, 0, data))
        assert written.counter == len(self.axes)
        (found,) = self.go(Datagram(Command.LRD, 0x10000, bytes(sum(i for _, i in self.sizes))))
        assert found.counter == len(self.axes)
        return list(INPUT.iter_unpack(found.data))

    def mail(self, slave: int, body: bytes, protocol: int = 3) -> None:
        self.counter = self.counter % 7 + 1
        head = struct.pack("<HHBB", len(body), 0, 0, protocol | self.counter << 4)
        assert self.write(slave, MAILBOX_OUT, (head + body).ljust(MAILBOX, b"\0")) == 1

    def fetch(self, slave: int) -> bytes | None:
        """The next message, with its header; None if the mailbox is empty."""
        (found,) = self.go(physical(Command.FPRD, STATION + slave, MAILBOX_IN, bytes(MAILBOX)))
        if found.counter == 0:
            return None
        return found.data[: 6 + int.from_bytes(found.data[:2], "little")]

    def sdo(self, slave: int, request: bytes) -> bytes:
        """An SDO request and its answer."""
        self.mail(slave, struct.pack("<H", 2 << 12) + request)
        answer = self.fetch(slave)
        assert answer is not None
        assert answer[7] >> 4 == 3
        return answer[8:]

    def download(self, slave: int, index: int, subindex: int, data: bytes) -> int:
        """Expedited; 0, or the abort code."""
        first = 0x23 | (4 - len(data)) << 2
        answer = self.sdo(slave, struct.pack("<BHB", first, index, subindex) + data.ljust(4, b"\0"))
        return 0 if answer[0] == 0x60 else int.from_bytes(answer[4:8], "little")
