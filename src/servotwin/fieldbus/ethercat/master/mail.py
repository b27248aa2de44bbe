"""The mailbox of a slave as its master uses it: messages out, messages in, repeats where an answer was lost."""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from servotwin.fieldbus.coe.mailbox import (
    Message,
    Protocol,
    Service,
    coe,
    coe_parts,
    decode_message,
    encode_message,
    next_counter,
)
from servotwin.fieldbus.ethercat import registers as reg
from servotwin.fieldbus.ethercat.frames import Command, physical
from servotwin.fieldbus.ethercat.master.port import BusError
from servotwin.fieldbus.ethercat.master.wire import Wire

PATIENCE = 2.0  # s for an answer
NAP = 0.0005  # s between two looks
MOST_LOOKS = 20_000
MOST_KEPT = 64  # emergency messages that wait to be read
OUT, IN = reg.SYNC_MANAGER, reg.SYNC_MANAGER + reg.SYNC_MANAGER_SIZE
_EMERGENCY = struct.Struct("<HB5s")


@dataclass(frozen=True)
class Emergency:
    """What a slave reported by itself: code of 603F, object 1001, five bytes of the vendor."""

    code: int
    register: int
    data: bytes


class Mailbox:
    """One slave's mailbox; ``out`` and ``into``: address and size. ``between`` is called while an answer is awaited."""

    def __init__(
        self,
        wire: Wire,
        station: int,
        out: tuple[int, int],
        into: tuple[int, int],
        between: Callable[[], None] | None = None,
    ) -> None:
        self.wire, self.station, self.out, self.into, self.between = wire, station, out, into, between
        self.counter = 0
        self.emergencies: deque[Emergency] = deque(maxlen=MOST_KEPT)

    @property
    def room(self) -> int:
        """Bytes behind the headers of mailbox and CoE."""
        return min(self.out[1], self.into[1]) - 8

    def ask(self, service: Service, payload: bytes) -> tuple[int, bytes]:
        """Send a CoE message; service and payload of the answer. Emergencies in between are kept."""
        for _ in range(MOST_KEPT):  # what an earlier question left behind
            if self.fetch() is None:
                break
        self._send(coe(service, payload))
        return self.receive()

    def receive(self) -> tuple[int, bytes]:
        """The next CoE message that is no emergency."""
        end = time.monotonic() + PATIENCE
        for _ in range(MOST_LOOKS):
            found = self.fetch()
            if found is not None:
                return found
            if time.monotonic() > end:
                break
            self._wait()
        raise BusError(f"station {self.station:04X}: no answer in its mailbox within {PATIENCE:g} s")

    def fetch(self) -> tuple[int, bytes] | None:
        """A CoE message that lies in the mailbox, without waiting; emergencies are taken out of the way."""
        for _ in range(MOST_KEPT):
            message = self._take()
            if message is None:
                return None
            if message.protocol == Protocol.ERROR:
                detail = int.from_bytes(message.body[2:4], "little")
                raise BusError(f"station {self.station:04X}: mailbox error {detail}")
            if message.protocol != Protocol.COE:
                continue
            service, payload = coe_parts(message.body)
            if service != Service.EMERGENCY:
                return service, payload
            self.emergencies.append(Emergency(*_EMERGENCY.unpack(payload[:8].ljust(8, b"\0"))))
        return None

    def _wait(self) -> None:
        if self.between is not None:
            self.between()
        elif self.wire.port.fd >= 0:
            time.sleep(NAP)

    def _send(self, message: Message) -> None:
        self.counter = next_counter(self.counter)
        data = encode_message(Message(message.protocol, message.body, self.counter), self.out[1])
        end = time.monotonic() + PATIENCE
        for _ in range(MOST_LOOKS):
            if self.wire.write(self.station, self.out[0], data):
                return
            # full: either an earlier message, or this one, whose confirmation was lost on the wire
            if time.monotonic() > end:
                break
            self._wait()
        raise BusError(f"station {self.station:04X}: its mailbox takes no message")

    def _take(self) -> Message | None:
        read = physical(Command.FPRD, self.station, self.into[0], bytes(self.into[1]))
        found = self.wire.go(read, tries=1)
        if found is None:  # it may have been emptied, with the frame lost on its way back
            self._repeat()
            found = self.wire.ask(read)
        return decode_message(found[0].data) if found[0].counter == 1 else None

    def _repeat(self) -> None:
        """Ask the slave to put its last message into the mailbox once more."""
        activate = self.wire.number(self.station, IN + reg.SM_ACTIVATE, 1)
        if activate is None:
            return
        asked = activate ^ reg.SM_REPEAT
        self.wire.write(self.station, IN + reg.SM_ACTIVATE, bytes([asked]))
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            done = self.wire.number(self.station, IN + reg.SM_PDI, 1)
            if done is None or (done ^ asked) & reg.SM_REPEAT == 0:
                return
            self._wait()
