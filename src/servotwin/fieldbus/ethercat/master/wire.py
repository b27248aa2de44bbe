"""Registers of slaves, read and written one at a time: for set-up and diagnosis, with repeats where frames are lost."""

from __future__ import annotations

from collections.abc import Callable

from servotwin.fieldbus.ethercat.frames import (
    Command,
    Datagram,
    Frame,
    FrameError,
    decode_frame,
    encode_frame,
    physical,
)
from servotwin.fieldbus.ethercat.master.port import BusError, Port

TIMEOUT = 0.1  # s for a frame to come back: set-up has time, and simulated slaves may share a processor
TRIES = 10


class Wire:
    """Sends datagrams through a port. A frame that is lost is sent again ``tries`` times, then that is an error."""

    def __init__(self, port: Port, timeout: float = TIMEOUT, tries: int = TRIES) -> None:
        self.port, self.timeout, self.tries = port, timeout, tries
        self.index = 0
        self.lost = 0

    def go(self, *datagrams: Datagram, tries: int | None = None) -> tuple[Datagram, ...] | None:
        """The datagrams as they came back; None if none of the tries did."""
        for _ in range(self.tries if tries is None else tries):
            self.index = (self.index + 1) % 256
            numbered = tuple(Datagram(d.command, d.address, d.data, self.index) for d in datagrams)
            answer = self.port.exchange(encode_frame(Frame(numbered)), self.timeout, answers(numbered))
            if answer is not None:
                return decode_frame(answer).datagrams
            self.lost += 1
        return None

    def ask(self, *datagrams: Datagram) -> tuple[Datagram, ...]:
        """The same; no answer is an error."""
        found = self.go(*datagrams)
        if found is None:
            raise BusError(
                f"no frame comes back: {self.tries} were sent; is the cable plugged in, do the slaves run?"
            )
        return found

    def read(self, station: int, register: int, size: int) -> bytes | None:
        """Registers of a slave by its station address; None if no slave answers to it."""
        (found,) = self.ask(physical(Command.FPRD, station, register, bytes(size)))
        return found.data if found.counter == 1 else None

    def write(self, station: int, register: int, data: bytes) -> bool:
        """Write registers of a slave by its station address; False if no slave took it."""
        (found,) = self.ask(physical(Command.FPWR, station, register, data))
        return found.counter == 1

    def number(self, station: int, register: int, size: int) -> int | None:
        """Registers as a whole number."""
        data = self.read(station, register, size)
        return None if data is None else int.from_bytes(data, "little")


def answers(sent: tuple[Datagram, ...]) -> Callable[[bytes], bool]:
    """Whether bytes are what became of these datagrams: what slaves do not change is as it was sent."""

    def wanted(data: bytes) -> bool:
        try:
            found = decode_frame(data).datagrams
        except FrameError:
            return False
        return len(found) == len(sent) and all(
            (f.command, f.index, f.register, len(f.data)) == (s.command, s.index, s.register, len(s.data))
            for f, s in zip(found, sent, strict=True)
        )

    return wanted
