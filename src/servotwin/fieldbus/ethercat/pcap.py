"""Recordings of Ethernet frames as pcap files with nanoseconds, which Wireshark opens."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from servotwin.errors import InputError

NANOSECONDS = 0xA1B23C4D  # magic number
ETHERNET = 1  # link type
LONGEST = 65535
_HEADER = struct.Struct("<IHHiIII")
_RECORD = struct.Struct("<IIII")


class PcapWriter:
    """Writes frames as they come; what is on disk is a valid file up to the last frame at any time.

    A recording never stops what it records: where the disk is full it ends with its last whole frame, and ``failure``
    says so. ``file``: without a buffer, so that every frame is there when the process is killed.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.name = file, str(getattr(file, "name", ""))
        self.failure = ""
        self.frames, self._end = 0, 0
        self._put(_HEADER.pack(NANOSECONDS, 2, 4, 0, 0, LONGEST, ETHERNET))

    def write(self, frame: bytes, time_ns: int) -> None:
        """One frame at an instant [ns]."""
        seconds, rest = divmod(time_ns, 1_000_000_000)
        self._put(_RECORD.pack(seconds & 0xFFFFFFFF, rest, len(frame), len(frame)) + frame)
        self.frames += not self.failure

    def write_packets(self, packets: bytes) -> None:
        """Frames that have their heads already."""
        self._put(packets)

    def _put(self, data: bytes) -> None:
        if self.failure:
            return
        try:
            written = self.file.write(data)
            if written != len(data):  # the rest did not fit
                written += self.file.write(data[written:])
            self._end += len(data)
        except OSError as error:
            self.failure = f"the recording ends early: {error.strerror}"
            with suppress(OSError):  # what was begun goes
                self.file.seek(self._end)
                self.file.truncate()


def open_recording(path: Path) -> BinaryIO:
    """Open a file to record into: a new one, or one that we recorded before; any other is the user's."""
    head = _HEADER.pack(NANOSECONDS, 2, 4, 0, 0, LONGEST, ETHERNET)
    try:
        if path.exists() and not path.is_char_device():
            if not path.is_file():
                raise InputError("is no regular file; expected another name", file=str(path))
            with path.open("rb") as earlier:
                if earlier.read(len(head)) not in (b"", head):
                    raise InputError(
                        "is there and no recording of ours; expected another name", file=str(path)
                    )
        return path.open("wb", buffering=0)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(path)) from None


def read_pcap(path: Path) -> Iterator[tuple[int, bytes]]:
    """Instants [ns] and frames of a recording that ``PcapWriter`` wrote; one that was cut short ends earlier."""
    data = path.read_bytes()
    if len(data) < _HEADER.size or _HEADER.unpack_from(data)[0] != NANOSECONDS:
        raise InputError("no pcap file with nanoseconds, little-endian", file=str(path))
    at = _HEADER.size
    while at + _RECORD.size <= len(data):
        seconds, rest, length, _ = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        if length > LONGEST or at + length > len(data):
            return
        yield seconds * 1_000_000_000 + rest, data[at : at + length]
        at += length
