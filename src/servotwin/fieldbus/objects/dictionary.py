"""The object dictionary of one slave: the tables, bound to the memory in which its numbers lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from servotwin.errors import ServotwinError
from servotwin.fieldbus.coe.abort import AbortCode, SdoAbortError
from servotwin.fieldbus.objects.communication import MOST_AXES, Identity, communication_table
from servotwin.fieldbus.objects.drive_profile import AXIS_OBJECTS, AXIS_TABLE, default_axis
from servotwin.fieldbus.objects.tables import AXIS_STEP, Access, DataType, Entry, ObjectCode, ObjectLine

PREOP, SAFEOP, OP = 2, 4, 8
FIRST_AXIS = 0x6000  # objects of axis 0
FIRST_OWN = 0x2000  # those that are the manufacturer's own

Check = Callable[[int, int, int], None]  # index, sub-index, value: raises SdoAbortError


class Dictionary:
    """Objects of a slave with ``axes``, (n,) records of AXIS_OBJECTS whose memory somebody else holds too.

    >>> objects = Dictionary(Identity(), new_axes(1))
    >>> objects.read_number(0x6502, 0), objects.read(0x1008, 0)
    (0, b'ServoTwin drive')
    """

    def __init__(self, identity: Identity, axes: Any) -> None:
        if not 1 <= len(axes) <= MOST_AXES:
            raise ServotwinError(f"a slave with {len(axes)} axes; 1 to {MOST_AXES} are possible")
        self.identity, self.axes = identity, axes
        lines = list(communication_table(identity, len(axes)))
        for n in range(len(axes)):
            lines += [line.moved(n * AXIS_STEP) for line in AXIS_TABLE]
        self.lines: dict[int, ObjectLine] = {
            line.index: line for line in sorted(lines, key=lambda o: o.index)
        }
        self.memory = axes.view(np.uint8).reshape(-1)
        self.values: dict[tuple[int, int], bytes] = {}
        self.checks: dict[int, Check] = {}
        for line, entry in self.entries():
            if not entry.field:
                self.values[line.index, entry.subindex] = entry.packed()

    def entries(self) -> Iterator[tuple[ObjectLine, Entry]]:
        """All entries with their objects, in order."""
        for line in self.lines.values():
            for entry in line.entries:
                yield line, entry

    def find(self, index: int, subindex: int) -> tuple[ObjectLine, Entry]:
        """An entry, or the reason why there is none."""
        line = self.lines.get(index)
        if line is None:
            raise SdoAbortError(AbortCode.NO_OBJECT, index, subindex)
        entry = line.at(subindex)
        if entry is None:
            raise SdoAbortError(AbortCode.NO_SUBINDEX, index, subindex)
        return line, entry

    def offset(self, index: int, entry: Entry) -> int:
        """Where in the memory of the axes an entry with a field lies [bytes]."""
        axis = (index - (FIRST_AXIS if index >= FIRST_AXIS else FIRST_OWN)) // AXIS_STEP
        place: int = AXIS_OBJECTS.fields[entry.field][1]  # type: ignore[index]
        return axis * AXIS_OBJECTS.itemsize + place

    def read(self, index: int, subindex: int) -> bytes:
        """The bytes of an entry."""
        line, entry = self.find(index, subindex)
        if not entry.field:
            return self.values[index, subindex]
        at = self.offset(line.index, entry)
        return bytes(self.memory[at : at + entry.bits // 8])

    def read_number(self, index: int, subindex: int) -> int:
        """The value of an entry that is a number."""
        return self.find(index, subindex)[1].type.unpack(self.read(index, subindex))

    def write(self, index: int, subindex: int, data: bytes, state: int = PREOP) -> None:
        """What an SDO download does: checks access, size, range and state, then stores."""
        line, entry = self.find(index, subindex)
        refusal = _refusal(entry, data, state)
        if refusal is not None:
            raise SdoAbortError(refusal, index, subindex)
        check = self.checks.get(index)
        if check is not None:
            check(index, subindex, entry.type.unpack(data))
        self.store(line, entry, data)

    def store(self, line: ObjectLine, entry: Entry, data: bytes) -> None:
        """Put bytes into an entry, whatever its access."""
        if entry.field:
            at = self.offset(line.index, entry)
            self.memory[at : at + len(data)] = np.frombuffer(data, np.uint8)
        else:
            self.values[line.index, entry.subindex] = data

    def set_number(self, index: int, subindex: int, value: int) -> None:
        """Set a value as the device itself does."""
        line, entry = self.find(index, subindex)
        self.store(line, entry, entry.type.pack(value))

    def read_complete(self, index: int, first: int) -> bytes:
        """All entries of an object from sub-index 0 or 1 on; the count takes 16 bits here."""
        line = self._grouped(index, first)
        count = self.read_number(index, 0)
        parts = [count.to_bytes(2, "little")] if first == 0 else []
        for subindex in range(1, count + 1):
            parts.append(self.read(index, subindex) if line.at(subindex) is not None else b"")
        return b"".join(parts)

    def write_complete(self, index: int, first: int, data: bytes, state: int = PREOP) -> None:
        """Write an object as a whole; the count is emptied first and set last, as mappings want it."""
        line = self._grouped(index, first)
        count = self.read_number(index, 0)
        head = line.entries[0]
        if first == 0:
            if len(data) < 2:
                raise SdoAbortError(AbortCode.TOO_SHORT, index, 0)
            count, data = data[0], data[2:]
            if head.access is not Access.RO:
                self.write(index, 0, b"\0", state)
        at = 0
        for subindex in range(1, count + 1):
            entry = line.at(subindex)
            if entry is None:
                continue
            size = entry.bits // 8
            if at + size > len(data):
                raise SdoAbortError(AbortCode.TOO_SHORT, index, subindex)
            if entry.access is not Access.RO:
                self.write(index, subindex, data[at : at + size], state)
            at += size
        if at < len(data):
            raise SdoAbortError(AbortCode.TOO_LONG, index, 0)
        if first == 0 and head.access is not Access.RO:
            self.write(index, 0, bytes([count]), state)

    def _grouped(self, index: int, first: int) -> ObjectLine:
        line, _ = self.find(index, 0)
        if line.code is ObjectCode.VAR:
            raise SdoAbortError(AbortCode.NO_COMPLETE_ACCESS, index, first)
        if first not in (0, 1):
            raise SdoAbortError(AbortCode.NO_SUBINDEX, index, first)
        return line


def _refusal(entry: Entry, data: bytes, state: int) -> AbortCode | None:
    if entry.access is Access.RO or entry.type is DataType.VISIBLE_STRING:
        return AbortCode.READ_ONLY
    if entry.access is Access.RW_PREOP and state != PREOP:
        return AbortCode.STATE
    size = entry.bits // 8
    if len(data) != size:
        return AbortCode.TOO_LONG if len(data) > size else AbortCode.TOO_SHORT
    value = entry.type.unpack(data)
    if entry.high is not None and value > entry.high:
        return AbortCode.VALUE_HIGH
    if entry.low is not None and value < entry.low:
        return AbortCode.VALUE_LOW
    return None


def new_axes(count: int) -> Any:
    """Records of axes with the defaults of the table, (count,)."""
    return np.repeat(default_axis(), count)
