"""SDO information: lists of objects, and descriptions of objects and entries, in as many fragments as they need."""

from __future__ import annotations

import struct
from enum import IntEnum

from servotwin.fieldbus.coe.abort import AbortCode, SdoAbortError
from servotwin.fieldbus.objects.dictionary import Dictionary
from servotwin.fieldbus.objects.tables import Access, DataType, ObjectCode, ObjectLine, Pdo

HEAD = struct.Struct("<BBH")
MORE = 0x80  # of the first byte: the answer goes on


class Request(IntEnum):
    """What is asked; the answer has the next number."""

    LIST = 1
    OBJECT = 3
    ENTRY = 5
    ERROR = 7


LISTS = 6  # 0: their lengths; 1: all; 2: Rx mappable; 3: Tx mappable; 4: for replacement; 5: settings


def answers(objects: Dictionary, request: bytes, room: int) -> list[bytes]:
    """The answers to a request, each short enough for ``room`` bytes."""
    try:
        if len(request) < HEAD.size:
            raise SdoAbortError(AbortCode.COMMAND, 0, 0)
        kind, rest = request[0] & 0x7F, request[HEAD.size :]
        if kind == Request.LIST:
            return _fragments(kind + 1, _list(objects, rest), room)
        if kind == Request.OBJECT:
            return _fragments(kind + 1, _object(objects, rest), room)
        if kind == Request.ENTRY:
            return _fragments(kind + 1, _entry(objects, rest), room)
        raise SdoAbortError(AbortCode.COMMAND, 0, 0)
    except SdoAbortError as abort:
        return _fragments(Request.ERROR, struct.pack("<I", abort.code), room)


def _fragments(kind: int, data: bytes, room: int) -> list[bytes]:
    size = room - HEAD.size
    parts = [data[at : at + size] for at in range(0, max(len(data), 1), size)]
    last = len(parts) - 1
    return [HEAD.pack(kind | (MORE if k < last else 0), 0, last - k) + part for k, part in enumerate(parts)]


def listed(objects: Dictionary, kind: int) -> list[int]:
    """Indices of a list."""
    lines = list(objects.lines.values())
    if kind == 1:
        return [line.index for line in lines]
    if kind in (2, 3):
        wanted = (Pdo.RX, Pdo.BOTH) if kind == 2 else (Pdo.TX, Pdo.BOTH)
        return [line.index for line in lines if any(e.pdo in wanted for e in line.entries)]
    return [
        line.index for line in lines if any(e.access is Access.RW and not e.pdo.value for e in line.entries)
    ]


def _list(objects: Dictionary, rest: bytes) -> bytes:
    if len(rest) < 2:
        raise SdoAbortError(AbortCode.COMMAND, 0, 0)
    (kind,) = struct.unpack_from("<H", rest)
    if kind >= LISTS:
        raise SdoAbortError(AbortCode.VALUE_HIGH, 0, 0)
    if kind == 0:
        found = [len(listed(objects, k)) for k in range(1, LISTS)]
    else:
        found = listed(objects, kind)
    return struct.pack(f"<H{len(found)}H", kind, *found)


def _type_of(line: ObjectLine) -> int:
    if line.code is ObjectCode.VAR:
        return line.entries[0].type
    return line.entries[1].type if line.code is ObjectCode.ARRAY else 0


def _object(objects: Dictionary, rest: bytes) -> bytes:
    if len(rest) < 2:
        raise SdoAbortError(AbortCode.COMMAND, 0, 0)
    (index,) = struct.unpack_from("<H", rest)
    line, _ = objects.find(index, 0)
    most = max(entry.subindex for entry in line.entries)
    return struct.pack("<HHBB", index, _type_of(line), most, line.code) + line.name.encode("ascii")


def _entry(objects: Dictionary, rest: bytes) -> bytes:
    if len(rest) < 4:
        raise SdoAbortError(AbortCode.COMMAND, 0, 0)
    index, subindex, _ = struct.unpack_from("<HBB", rest)
    _, entry = objects.find(index, subindex)
    bits = 8 * len(objects.read(index, subindex)) if entry.type is DataType.VISIBLE_STRING else entry.bits
    head = struct.pack("<HBBHHH", index, subindex, 0, entry.type, bits, entry.access_bits)
    return head + entry.name.encode("ascii")
