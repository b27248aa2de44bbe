"""SDO client: objects of a slave, read and written, expedited, normal and in segments; what a slave tells of them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from servotwin.fieldbus.coe.abort import AbortCode
from servotwin.fieldbus.coe.mailbox import Service
from servotwin.fieldbus.coe.sdo import (
    ABORT,
    COMPLETE,
    DOWNLOAD,
    EXPEDITED,
    HEAD,
    LAST,
    SIZE,
    SIZE_GIVEN,
    TOGGLE,
    UPLOAD,
    UPLOAD_SEGMENT,
)
from servotwin.fieldbus.coe.sdo_information import Request
from servotwin.fieldbus.ethercat.master.mail import Mailbox
from servotwin.fieldbus.ethercat.master.port import BusError

MOST_BYTES = 1 << 16  # of one object
MOST_FRAGMENTS = 4096
UPLOADED, DOWNLOADED = 2, 3  # answers to both, bits 5 to 7
SEGMENT_UPLOADED, SEGMENT_DOWNLOADED = 0, 1


class SdoRefusedError(BusError):
    """A slave aborts a transfer; ``code`` is that of the standard."""

    def __init__(self, station: int, index: int, subindex: int, code: int) -> None:
        self.code, self.index, self.subindex = code, index, subindex
        known = {int(c): c.name.lower().replace("_", " ") for c in AbortCode}
        reason = known.get(code, "unknown reason")
        super().__init__(
            f"station {station:04X}: {index:04X}:{subindex:02X} is refused: {reason} (0x{code:08X})"
        )


@dataclass(frozen=True)
class Described:
    """An entry as the slave tells of it."""

    index: int
    subindex: int
    type: int
    bits: int
    access: int
    name: str


class SdoClient:
    """Reads and writes objects through a mailbox."""

    def __init__(self, mailbox: Mailbox) -> None:
        self.mailbox = mailbox

    def read(self, index: int, subindex: int = 0, *, complete: bool = False) -> bytes:
        """The bytes of an entry, or of a whole object from ``subindex`` on."""
        first = (UPLOAD << 5) | (COMPLETE if complete else 0)
        answer = self._ask(HEAD.pack(first, index, subindex) + bytes(4), index, subindex)
        self._check(answer, UPLOADED, index, subindex)
        if answer[0] & EXPEDITED:
            size = 4 - ((answer[0] >> 2) & 3) if answer[0] & SIZE_GIVEN else 4
            return answer[4 : 4 + size]
        (size,) = SIZE.unpack_from(answer, 4)
        if size > MOST_BYTES:
            raise self._bad(index, subindex, f"{size} bytes; at most {MOST_BYTES} are read")
        data, toggle = answer[8 : 8 + size], 0
        while len(data) < size:
            part = self._ask(bytes([(UPLOAD_SEGMENT << 5) | toggle]) + bytes(7), index, subindex)
            if part[0] >> 5 != SEGMENT_UPLOADED or part[0] & TOGGLE != toggle:
                raise self._bad(index, subindex, "a segment is out of turn")
            body = part[1:]
            if len(body) <= 7:
                body = body[: 7 - ((part[0] >> 1) & 7)]
            data += body
            toggle ^= TOGGLE
            if part[0] & LAST or not body:
                break
        if len(data) != size:
            raise self._bad(index, subindex, f"{len(data)} bytes came of {size}")
        return data

    def number(self, index: int, subindex: int = 0, *, signed: bool = False) -> int:
        """An entry as a whole number."""
        return int.from_bytes(self.read(index, subindex), "little", signed=signed)

    def write(self, index: int, subindex: int, data: bytes, *, complete: bool = False) -> None:
        """Write an entry, or a whole object from ``subindex`` on."""
        mark = COMPLETE if complete else 0
        if 1 <= len(data) <= 4 and not complete:
            first = (DOWNLOAD << 5) | ((4 - len(data)) << 2) | EXPEDITED | SIZE_GIVEN
            answer = self._ask(HEAD.pack(first, index, subindex) + data.ljust(4, b"\0"), index, subindex)
            self._check(answer, DOWNLOADED, index, subindex)
            return
        head = HEAD.pack((DOWNLOAD << 5) | mark | SIZE_GIVEN, index, subindex) + SIZE.pack(len(data))
        room = self.mailbox.room - len(head)
        answer = self._ask(head + data[:room], index, subindex)
        self._check(answer, DOWNLOADED, index, subindex)
        left, toggle = data[room:], 0
        while left:
            part, left = left[: self.mailbox.room - 1], left[self.mailbox.room - 1 :]
            first = toggle | (0 if left else LAST) | ((7 - len(part)) << 1 if len(part) < 7 else 0)
            answer = self._ask(bytes([first]) + part.ljust(7, b"\0"), index, subindex)
            if answer[0] >> 5 != SEGMENT_DOWNLOADED or answer[0] & TOGGLE != toggle:
                raise self._bad(index, subindex, "a segment is out of turn")
            toggle ^= TOGGLE

    def _ask(self, request: bytes, index: int, subindex: int) -> bytes:
        service, answer = self.mailbox.ask(Service.SDO_REQUEST, request)
        if service != Service.SDO_RESPONSE and not (service == Service.SDO_REQUEST and answer[:1] == b"\x80"):
            raise self._bad(index, subindex, f"an answer of service {service}")
        answer = answer.ljust(8, b"\0")
        if answer[0] >> 5 == ABORT:
            code = int.from_bytes(answer[4:8], "little")
            raise SdoRefusedError(self.mailbox.station, index, subindex, code)
        return answer

    def _check(self, answer: bytes, wanted: int, index: int, subindex: int) -> None:
        found = HEAD.unpack_from(answer)[1:]
        if answer[0] >> 5 != wanted or found != (index, subindex):
            raise self._bad(index, subindex, f"an answer about {found[0]:04X}:{found[1]:02X}")

    def _bad(self, index: int, subindex: int, what: str) -> BusError:
        return BusError(f"station {self.mailbox.station:04X}: {index:04X}:{subindex:02X}: {what}")

    # --- SDO information ---------------------------------------------------------------------------
    def listed(self) -> list[int]:
        """Indices of all objects."""
        data = self._tell(Request.LIST, struct.pack("<H", 1))
        count = (len(data) - 2) // 2
        return list(struct.unpack_from(f"<{count}H", data, 2)) if count > 0 else []

    def object_name(self, index: int) -> tuple[str, int]:
        """Name of an object, and its largest subindex."""
        data = self._tell(Request.OBJECT, struct.pack("<H", index)).ljust(6, b"\0")
        return data[6:].decode("ascii", "replace"), data[4]

    def described(self, index: int, subindex: int) -> Described:
        """An entry as the slave describes it."""
        data = self._tell(Request.ENTRY, struct.pack("<HBB", index, subindex, 0)).ljust(10, b"\0")
        _, _, _, kind, bits, access = struct.unpack_from("<HBBHHH", data)
        return Described(index, subindex, kind, bits, access, data[10:].decode("ascii", "replace"))

    def _tell(self, request: Request, payload: bytes) -> bytes:
        service, answer = self.mailbox.ask(Service.SDO_INFORMATION, bytes([request, 0, 0, 0]) + payload)
        parts: list[bytes] = []
        for _ in range(MOST_FRAGMENTS):
            if service != Service.SDO_INFORMATION or len(answer) < 4:
                raise BusError(f"station {self.mailbox.station:04X}: no answer about its objects")
            if answer[0] & 0x7F == Request.ERROR:
                code = int.from_bytes(answer[4:8], "little")
                raise SdoRefusedError(self.mailbox.station, int.from_bytes(payload[:2], "little"), 0, code)
            parts.append(answer[4:])
            if int.from_bytes(answer[2:4], "little") == 0:
                return b"".join(parts)
            service, answer = self.mailbox.receive()
        raise BusError(f"station {self.mailbox.station:04X}: an answer in fragments without end")
