"""Where the entries of all slaves stand in the process image, and the cyclic frame that carries it."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np

from servotwin.errors import ServotwinError
from servotwin.fieldbus.ethercat import registers as reg
from servotwin.fieldbus.ethercat.frames import (
    DATAGRAM_HEADER,
    ETHERNET_HEADER,
    FRAME_HEADER,
    Command,
    Datagram,
    Frame,
    encode_frame,
    physical,
)
from servotwin.fieldbus.ethercat.master.exchange import (
    EXCHANGE,
    Outcome,
    exchange_begin,
    exchange_cycle,
    exchange_take,
)
from servotwin.fieldbus.ethercat.master.port import Port
from servotwin.fieldbus.ethercat.master.sii_read import Mapped
from servotwin.fieldbus.ethercat.master.slaves import Slave, size_of

TIMEOUT = 5_000_000  # ns for the answer of a cycle


class Image:
    """The process data of a line of slaves, exchanged by one LRW; ``exchange`` is the compiled cycle's record."""

    def __init__(self, port: Port, slaves: list[Slave], reference: Slave | None) -> None:
        self.port, self.slaves = port, slaves
        self.outputs_at: dict[int, int] = {}
        self.inputs_at: dict[int, int] = {}
        at = 0
        for slave in slaves:
            self.outputs_at[slave.position] = at
            at += size_of(slave.outputs)
        self.outputs_size = at
        at = 0
        for slave in slaves:
            self.inputs_at[slave.position] = at
            at += size_of(slave.inputs)
        self.inputs_size = at
        self.record = np.zeros(1, EXCHANGE)
        self._at = self.record.ctypes.data
        self._compose(reference)
        types = (ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *types)
        self._cycle, self._begin, self._take = (
            kind(f.address) for f in (exchange_cycle, exchange_begin, exchange_take)
        )
        self.outputs: Any = self.record["outputs"][0, : self.outputs_size]
        self.inputs: Any = self.record["inputs"][0, : self.inputs_size]

    def _compose(self, reference: Slave | None) -> None:
        """The frame as it is sent every cycle."""
        size = self.outputs_size + self.inputs_size
        datagrams = [
            Datagram(Command.LRW, 0, bytes(size)),
            physical(Command.BRD, 0, reg.AL_STATUS, bytes(2)),
        ]
        if reference is not None:
            datagrams.insert(0, physical(Command.FRMW, reference.station, reg.SYSTEM_TIME, bytes(8)))
        try:
            frame = encode_frame(Frame(tuple(datagrams)))
        except ServotwinError:
            raise ServotwinError(
                f"{size} bytes of process data do not fit into one frame with its clock and states"
            ) from None
        record = self.record
        record["length"] = len(frame)
        record["sending"][0, : len(frame)] = np.frombuffer(frame, np.uint8)
        at = ETHERNET_HEADER + FRAME_HEADER
        for k, datagram in zip((0, 1, 2) if reference else (1, 2), datagrams, strict=True):
            record["headers"][0, k], record["sizes"][0, k] = at, len(datagram.data)
            at += DATAGRAM_HEADER + len(datagram.data) + 2
        record["outputs_size"], record["inputs_size"] = self.outputs_size, self.inputs_size
        record["expected"] = sum(2 * bool(s.outputs) + bool(s.inputs) for s in self.slaves)
        record["slaves"], record["timeout"], record["fd"] = len(self.slaves), TIMEOUT, self.port.fd

    def cycle(self) -> Outcome:
        """Exchange the process data once."""
        at = self._at
        if self.port.fd >= 0:
            outcome = Outcome(self._cycle(at, 0, 0))
            self._note()
            return outcome
        self._begin(at, 0, 0)
        length = int(self.record["length"][0])
        frame = self.record["sending"][0, :length].tobytes()
        answer = self.port.exchange(frame, 0.0, lambda _: True) or b""
        self.record["answer"][0, : len(answer)] = np.frombuffer(answer, np.uint8)
        return Outcome(self._take(at, len(answer), 0))

    def _note(self) -> None:
        pcap = self.port.pcap
        if pcap is None:
            return
        length, outcome = int(self.record["length"][0]), int(self.record["outcome"][0])
        now = time.time_ns()
        pcap.write(self.record["sending"][0, :length].tobytes(), now)
        if outcome in (Outcome.WELL, Outcome.COUNTER, Outcome.STATE):
            pcap.write(self.record["answer"][0, :length].tobytes(), now + 1)

    def place(self, slave: Slave, index: int, *, output: bool) -> tuple[int, int] | None:
        """Byte and size of an object in the outputs or inputs; None if it is not mapped, or not whole bytes."""
        entries: tuple[Mapped, ...] = slave.outputs if output else slave.inputs
        bit = 8 * (self.outputs_at if output else self.inputs_at)[slave.position]
        for entry in entries:
            if entry.index == index and bit % 8 == 0 and entry.bits % 8 == 0:
                return bit // 8, entry.bits // 8
            bit += entry.bits
        return None

    def number(self, name: str) -> int:
        """A field of the record."""
        return int(self.record[name][0])
