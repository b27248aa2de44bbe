"""Structures in Thrift's compact encoding, in which Parquet files describe themselves.

A field is its number and a value; a value is a whole number in zigzag groups of seven bits, a text with its length,
a list with its count, or a structure that ends with a zero byte. A structure that is read becomes a dictionary by
field number. Reading is bounded: a value takes at least one byte, and there are no more than ``MOST_VALUES``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
MOST_VALUES = 2_000_000
MOST_LEVELS = 12

Encoded = tuple[int, bytes]  # the kind of a value, and its bytes


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def i32(value: int) -> Encoded:
    """A whole number of 32 bits."""
    return I32, _zigzag(value)


def i64(value: int) -> Encoded:
    """A whole number of 64 bits."""
    return I64, _zigzag(value)


def text(value: str) -> Encoded:
    """A text."""
    data = value.encode()
    return BINARY, _varint(len(data)) + data


def array(items: Sequence[Encoded]) -> Encoded:
    """A list of values of one kind, at least one."""
    kind, count = items[0][0], len(items)
    head = bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + _varint(count)
    return LIST, head + b"".join(data for _, data in items)


def struct(fields: Mapping[int, Encoded]) -> Encoded:
    """A structure; field numbers rise, by 15 at most.

    >>> struct({1: i32(-1), 3: text("ab")})[1].hex(" ")
    '15 01 28 02 61 62 00'
    """
    out, last = bytearray(), 0
    for number, (kind, data) in fields.items():
        out += bytes([(number - last) << 4 | kind]) + data
        last = number
    return STRUCT, bytes(out) + b"\0"


class Reader:
    """Reads values one after the other; ``at`` is the next byte. ValueError where the bytes are none of Thrift's."""

    def __init__(self, data: bytes | memoryview, at: int = 0) -> None:
        self.data = data
        self.at = at
        self._values = 0

    def struct(self, level: int = 0) -> dict[int, Any]:
        """The structure that begins here."""
        if level > MOST_LEVELS:
            raise ValueError("structures are nested too deeply")
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            kind = head & 0x0F
            found[number] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind, level)
        return found

    def _value(self, kind: int, level: int) -> Any:
        self._values += 1
        if self._values > MOST_VALUES:
            raise ValueError("too many values")
        if kind in (I16, I32, I64):
            return self._zigzag()
        if kind == BINARY:
            return self._take(self._varint())
        if kind in (LIST, SET):
            return self._list(level)
        if kind == STRUCT:
            return self.struct(level + 1)
        if kind in (TRUE, FALSE, BYTE):
            return self._byte()
        if kind == DOUBLE:
            return self._take(8)
        raise ValueError(f"no kind {kind}")  # maps do not occur in Parquet

    def _list(self, level: int) -> list[Any]:
        if level > MOST_LEVELS:
            raise ValueError("lists are nested too deeply")
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._varint()
        return [self._value(head & 0x0F, level + 1) for _ in range(count)]

    def _byte(self) -> int:
        if self.at >= len(self.data):
            raise ValueError("ends too early")
        self.at += 1
        return self.data[self.at - 1]

    def _take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise ValueError("ends too early")
        self.at += count
        return bytes(self.data[self.at - count : self.at])

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a number is too long")

    def _zigzag(self) -> int:
        value = self._varint()
        return value >> 1 ^ -(value & 1)
