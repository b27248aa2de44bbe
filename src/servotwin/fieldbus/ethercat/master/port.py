"""What a master sends its frames through: a raw socket on a named interface, or a segment in the same process."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import Protocol

from servotwin.errors import ServotwinError
from servotwin.fieldbus.ethercat.frames import LONGEST_FRAME
from servotwin.fieldbus.ethercat.pcap import PcapWriter
from servotwin.fieldbus.ethercat.slave.segment import Segment
from servotwin.fieldbus.interface import open_raw


class BusError(ServotwinError):
    """Something is wrong on the bus; ``slave``: position of the slave that it is about, from 1 on, if it is one."""

    def __init__(self, message: str, slave: int | None = None) -> None:
        self.slave = slave
        super().__init__(message)


class Port(Protocol):
    """Carries one Ethernet frame around the ring."""

    fd: int  # of a socket that compiled code may use; -1: none
    pcap: PcapWriter | None

    def exchange(self, frame: bytes, timeout: float, wanted: Callable[[bytes], bool]) -> bytes | None:
        """Send a frame and return the first that comes back and is ``wanted``; None if none does in time [s]."""

    def close(self) -> None:
        """Give the port up."""


class RawPort:
    """Frames of EtherType 0x88A4 on an interface; opening it needs the right to (``interface.open_raw``)."""

    def __init__(self, interface: str, pcap: PcapWriter | None = None) -> None:
        self.interface, self.pcap = interface, pcap
        self._socket = open_raw(interface)
        self._socket.setblocking(False)
        self.fd = self._socket.fileno()

    def exchange(self, frame: bytes, timeout: float, wanted: Callable[[bytes], bool]) -> bytes | None:
        """See ``Port``."""
        if self.pcap is not None:
            self.pcap.write(frame, time.time_ns())
        end = time.monotonic() + timeout
        try:
            self._socket.send(frame)
            while True:
                left = end - time.monotonic()
                if not select.select([self.fd], [], [], max(left, 0.0))[0]:
                    return None
                answer = self._socket.recv(LONGEST_FRAME + 4)
                if self.pcap is not None:
                    self.pcap.write(answer, time.time_ns())
                if wanted(answer):
                    return answer
                if left <= 0.0:  # somebody floods the wire
                    return None
        except BlockingIOError:
            return None
        except OSError as error:
            raise BusError(f"interface '{self.interface}': {error.strerror}") from None

    def close(self) -> None:
        """See ``Port``."""
        self._socket.close()


class SegmentPort:
    """A segment of slaves in this process: no socket, and time passes as the segment counts it."""

    fd = -1

    def __init__(self, segment: Segment, pcap: PcapWriter | None = None) -> None:
        self.segment, self.pcap = segment, pcap

    def exchange(self, frame: bytes, timeout: float, wanted: Callable[[bytes], bool]) -> bytes | None:
        """See ``Port``."""
        if self.pcap is not None:
            self.pcap.write(frame, self.segment.now)
        answer = self.segment.process(frame)
        if answer is None or not wanted(answer):
            return None
        if self.pcap is not None:
            self.pcap.write(answer, self.segment.now)
        return answer

    def close(self) -> None:
        """See ``Port``."""
