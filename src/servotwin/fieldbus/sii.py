"""SII: the contents of a slave's EEPROM, made from its object dictionary, and read back category by category."""

from __future__ import annotations

import struct
from enum import IntEnum

from servotwin.errors import ServotwinError
from servotwin.fieldbus.ethercat.registers import MEMORY_SIZE
from servotwin.fieldbus.objects.communication import RX_ASSIGN, TX_ASSIGN
from servotwin.fieldbus.objects.dictionary import Dictionary
from servotwin.fieldbus.objects.process_data import assigned_pdos, pdo_entries, process_data_size

MAILBOX_OUT, MAILBOX_IN, MAILBOX_SIZE = 0x1000, 0x1200, 256
OUTPUTS, INPUTS = 0x1400, 0x2800  # three buffers of each have room
COE_MAILBOX = 0x0004
CATEGORIES = 0x80  # byte at which they begin
PDI_CONTROL, PDI_CONFIGURATION = 0x0C08, 0x0000  # 16-bit microcontroller; the device emulation is off
# SDO, SDO information, PDO assignment, PDO configuration, upload at start-up off, complete access
COE_DETAILS = 0x01 | 0x02 | 0x04 | 0x08 | 0x20
MAILBOX_OUT_CONTROL, MAILBOX_IN_CONTROL, OUTPUTS_CONTROL, INPUTS_CONTROL = 0x26, 0x22, 0x64, 0x20


class Category(IntEnum):
    """Kinds of categories."""

    STRINGS = 10
    GENERAL = 30
    FMMU = 40
    SYNC_MANAGERS = 41
    TX_PDO = 50
    RX_PDO = 51
    CLOCK = 60
    END = 0xFFFF


class _Strings:
    """Strings are named by their place, from 1 on."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def number(self, text: str) -> int:
        text = text[:255]
        if text not in self.texts:
            if len(self.texts) == 255:
                return 0
            self.texts.append(text)
        return self.texts.index(text) + 1

    def packed(self) -> bytes:
        encoded = [text.encode("ascii", "replace") for text in self.texts]
        return bytes([len(encoded)]) + b"".join(bytes([len(text)]) + text for text in encoded)


def check_sum(data: bytes) -> int:
    """CRC-8 of the first 14 bytes: polynomial x^8 + x^2 + x + 1, from 0xFF on; of "123456789" it is 0xFB.

    >>> hex(check_sum(b"123456789"))
    '0xfb'
    """
    crc = 0xFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = ((crc << 1) ^ 0x07 if crc & 0x80 else crc << 1) & 0xFF
    return crc


def build_sii(objects: Dictionary, alias: int = 0) -> bytes:
    """The bytes of an EEPROM for a slave with these objects."""
    identity = objects.identity
    start = struct.pack("<HHHHHHH", PDI_CONTROL, PDI_CONFIGURATION, 0, 0, alias, 0, 0)
    head = start + bytes([check_sum(start), 0])
    head += struct.pack("<IIII", identity.vendor, identity.product, identity.revision, identity.serial)
    head = head.ljust(0x30, b"\0")
    head += struct.pack("<HHHHH", MAILBOX_OUT, MAILBOX_SIZE, MAILBOX_IN, MAILBOX_SIZE, COE_MAILBOX)
    strings = _Strings()
    strings.number(identity.name)
    parts = [
        (Category.GENERAL, _general(strings, identity.name)),
        (Category.FMMU, bytes([1, 2, 3, 0])),
        (Category.SYNC_MANAGERS, _sync_managers(objects)),
        *((Category.TX_PDO, _pdo(objects, strings, p, 3)) for p in assigned_pdos(objects, TX_ASSIGN)),
        *((Category.RX_PDO, _pdo(objects, strings, p, 2)) for p in assigned_pdos(objects, RX_ASSIGN)),
        (Category.CLOCK, _clock(strings)),
    ]
    body = b"".join(_category(kind, data) for kind, data in [(Category.STRINGS, strings.packed()), *parts])
    size = CATEGORIES + len(body) + 4
    kilobits = max(-(-size // 128), 16)
    head = head.ljust(0x7C, b"\0") + struct.pack("<HH", kilobits - 1, 1)
    return (head + body + struct.pack("<HH", Category.END, 0xFFFF)).ljust(kilobits * 128, b"\xff")


def _category(kind: int, data: bytes) -> bytes:
    data += b"\0" * (len(data) % 2)
    return struct.pack("<HH", kind, len(data) // 2) + data


def _general(strings: _Strings, name: str) -> bytes:
    group, named = strings.number("Drives"), strings.number(name)
    head = struct.pack("<BBBBBBBBBBBB", group, 0, named, named, 0, COE_DETAILS, 0, 0, 0, 0, 0, 0)
    return (head + struct.pack("<hHH", 0, 0, 0x0011)).ljust(32, b"\0")


def _sync_managers(objects: Dictionary) -> bytes:
    lines = (
        (MAILBOX_OUT, MAILBOX_SIZE, MAILBOX_OUT_CONTROL, 1),
        (MAILBOX_IN, MAILBOX_SIZE, MAILBOX_IN_CONTROL, 2),
        (OUTPUTS, process_data_size(objects, RX_ASSIGN), OUTPUTS_CONTROL, 3),
        (INPUTS, process_data_size(objects, TX_ASSIGN), INPUTS_CONTROL, 4),
    )
    return b"".join(
        struct.pack("<HHBBBB", start, size, control, 0, 1, use) for start, size, control, use in lines
    )


def _pdo(objects: Dictionary, strings: _Strings, pdo: int, manager: int) -> bytes:
    entries = pdo_entries(objects, pdo)
    parts = [
        struct.pack("<HBBBBH", pdo, len(entries), manager, 0, strings.number(objects.lines[pdo].name), 0)
    ]
    for entry in entries:
        kind = named = 0
        if entry.index:
            described = objects.find(entry.index, entry.subindex)[1]
            kind, named = int(described.type), strings.number(described.name)
        parts.append(struct.pack("<HBBBBH", entry.index, entry.subindex, named, kind, entry.bits, 0))
    return b"".join(parts)


def _clock(strings: _Strings) -> bytes:
    """Two ways of operation: with SYNC0, and with the SyncManagers alone."""
    # times of SYNC0 and shifts, factor of SYNC1, AssignActivate, factor of SYNC0, name, description
    line = struct.Struct("<IIIhHhBB4x")
    with_sync = line.pack(0, 0, 0, 0, 0x0300, 1, strings.number("DC-Synchronous"), 0)
    return with_sync + line.pack(0, 0, 0, 0, 0, 1, strings.number("SM-Synchronous"), 0)


def read_categories(data: bytes) -> list[tuple[int, bytes]]:
    """Kinds and contents of the categories of an SII."""
    found: list[tuple[int, bytes]] = []
    at = CATEGORIES
    while at + 4 <= len(data) <= MEMORY_SIZE:
        kind, words = struct.unpack_from("<HH", data, at)
        if kind == Category.END:
            return found
        if at + 4 + 2 * words > len(data):
            raise ServotwinError(f"SII: category {kind} at byte {at} reaches beyond the end")
        found.append((kind, data[at + 4 : at + 4 + 2 * words]))
        at += 4 + 2 * words
    raise ServotwinError("SII: no end of the categories")
