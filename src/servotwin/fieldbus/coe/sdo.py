"""SDO server: uploads and downloads, expedited, normal and segmented, of entries and of whole objects."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from servotwin.fieldbus.coe.abort import AbortCode, SdoAbortError
from servotwin.fieldbus.coe.mailbox import COE, HEADER
from servotwin.fieldbus.objects.dictionary import Dictionary

HEAD = struct.Struct("<BHB")
SIZE = struct.Struct("<I")
SHORTEST = 8  # bytes of an SDO, filled up with zeros
# commands of the master, bits 5 to 7
DOWNLOAD_SEGMENT, DOWNLOAD, UPLOAD, UPLOAD_SEGMENT, ABORT = 0, 1, 2, 3, 4
EXPEDITED, SIZE_GIVEN, COMPLETE, TOGGLE, LAST = 0x02, 0x01, 0x10, 0x10, 0x01
MOST_BYTES = 4096  # of one object: nothing longer is begun


@dataclass
class Transfer:
    """A transfer in segments that is under way."""

    index: int
    subindex: int
    complete: bool
    data: bytes = b""
    size: int = 0
    toggle: int = 0
    upload: bool = True


@dataclass
class SdoServer:
    """Answers SDO requests over a dictionary; ``mailbox``: bytes of a mailbox; ``state``: of the slave."""

    objects: Dictionary
    mailbox: int = 128
    state: int = 2
    transfer: Transfer | None = field(default=None)

    @property
    def room(self) -> int:
        """Bytes of an SDO behind the headers of mailbox and CoE."""
        return self.mailbox - HEADER.size - COE.size

    def answer(self, request: bytes) -> bytes | None:
        """The answer to a request; None to an abort of the master's."""
        if len(request) < SHORTEST:
            request = request.ljust(SHORTEST, b"\0") if request else bytes(SHORTEST)
        command = request[0] >> 5
        _, index, subindex = HEAD.unpack_from(request)
        try:
            if command == ABORT:
                self.transfer = None
                return None
            if command == UPLOAD:
                return self._upload(request[0], index, subindex)
            if command == DOWNLOAD:
                return self._download(request, index, subindex)
            if command == UPLOAD_SEGMENT:
                return self._upload_segment(request[0])
            if command == DOWNLOAD_SEGMENT:
                return self._download_segment(request)
            raise SdoAbortError(AbortCode.COMMAND, index, subindex)
        except SdoAbortError as abort:
            self.transfer = None
            return HEAD.pack(ABORT << 5, abort.index, abort.subindex) + SIZE.pack(abort.code)

    def _upload(self, command: int, index: int, subindex: int) -> bytes:
        complete = bool(command & COMPLETE)
        data = self.objects.read_complete(index, subindex) if complete else self.objects.read(index, subindex)
        mark = COMPLETE if complete else 0
        self.transfer = None
        if 1 <= len(data) <= 4:
            first = (UPLOAD << 5) | mark | ((4 - len(data)) << 2) | EXPEDITED | SIZE_GIVEN
            return HEAD.pack(first, index, subindex) + data.ljust(4, b"\0")
        head = HEAD.pack((UPLOAD << 5) | mark | SIZE_GIVEN, index, subindex) + SIZE.pack(len(data))
        part = data[: self.room - len(head)]
        if len(part) < len(data):
            self.transfer = Transfer(index, subindex, complete, data[len(part) :])
        return head + part

    def _upload_segment(self, command: int) -> bytes:
        transfer = self._under_way(command, upload=True)
        part = transfer.data[: self.room - 1]
        transfer.data = transfer.data[len(part) :]
        first = transfer.toggle | (0 if transfer.data else LAST)
        first |= (7 - len(part)) << 1 if len(part) < 7 else 0
        transfer.toggle ^= TOGGLE
        if not transfer.data:
            self.transfer = None
        return bytes([first]) + part.ljust(7, b"\0")

    def _download(self, request: bytes, index: int, subindex: int) -> bytes:
        command, complete = request[0], bool(request[0] & COMPLETE)
        self.transfer = None
        done = HEAD.pack((3 << 5) | (COMPLETE if complete else 0), index, subindex) + bytes(4)
        if command & EXPEDITED:
            size = 4 - ((command >> 2) & 3) if command & SIZE_GIVEN else 4
            self._write(index, subindex, request[4 : 4 + size], complete)
            return done
        (size,) = SIZE.unpack_from(request, 4)
        if size > MOST_BYTES:
            raise SdoAbortError(AbortCode.TOO_LONG, index, subindex)
        self.objects.find(index, 0 if complete else subindex)
        data = request[8 : 8 + size]
        if len(data) == size:
            self._write(index, subindex, data, complete)
        else:
            self.transfer = Transfer(index, subindex, complete, data, size, upload=False)
        return done

    def _download_segment(self, request: bytes) -> bytes:
        transfer = self._under_way(request[0], upload=False)
        part = request[1:]
        if len(part) <= 7:
            part = part[: 7 - ((request[0] >> 1) & 7)]
        transfer.data += part[: max(transfer.size - len(transfer.data), 0) + 1]
        if len(transfer.data) > transfer.size:
            raise SdoAbortError(AbortCode.TOO_LONG, transfer.index, transfer.subindex)
        answer = bytes([(1 << 5) | transfer.toggle]) + bytes(7)
        transfer.toggle ^= TOGGLE
        if request[0] & LAST:
            self.transfer = None
            if len(transfer.data) < transfer.size:
                raise SdoAbortError(AbortCode.TOO_SHORT, transfer.index, transfer.subindex)
            self._write(transfer.index, transfer.subindex, transfer.data, transfer.complete)
        return answer

    def _under_way(self, command: int, *, upload: bool) -> Transfer:
        transfer = self.transfer
        if transfer is None or transfer.upload is not upload:
            raise SdoAbortError(AbortCode.COMMAND, 0, 0)
        if command & TOGGLE != transfer.toggle:
            raise SdoAbortError(AbortCode.TOGGLE, transfer.index, transfer.subindex)
        return transfer

    def _write(self, index: int, subindex: int, data: bytes, complete: bool) -> None:
        if complete:
            self.objects.write_complete(index, subindex, data, self.state)
        else:
            self.objects.write(index, subindex, data, self.state)
