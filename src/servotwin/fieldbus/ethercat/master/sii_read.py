"""What an EEPROM tells about a slave: identity, name, mailboxes, SyncManagers, FMMUs, process data, clock."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from servotwin.errors import ServotwinError
from servotwin.fieldbus.sii import CATEGORIES, Category, read_categories

_IDENTITY = struct.Struct("<IIII")
_MAILBOX = struct.Struct("<HHHHH")
_MANAGER = struct.Struct("<HHBBBB")
_PDO = struct.Struct("<HBBBBH")
_ENTRY = struct.Struct("<HBBBBH")


@dataclass(frozen=True)
class Manager:
    """A SyncManager; ``use``: 1 mailbox out, 2 mailbox in, 3 outputs, 4 inputs."""

    start: int
    length: int
    control: int
    use: int


@dataclass(frozen=True)
class Mapped:
    """An entry of process data; index 0 is a gap."""

    index: int
    subindex: int
    bits: int


@dataclass(frozen=True)
class SiiPdo:
    """A PDO of the EEPROM and the SyncManager that it is assigned to (255: none)."""

    index: int
    manager: int
    entries: tuple[Mapped, ...]


@dataclass(frozen=True)
class Sii:
    """The contents of an EEPROM, as far as a master needs them."""

    vendor: int
    product: int
    revision: int
    serial: int
    alias: int = 0
    name: str = ""
    mailbox_out: tuple[int, int] = (0, 0)  # address and size
    mailbox_in: tuple[int, int] = (0, 0)
    protocols: int = 0
    coe_details: int = 0
    managers: tuple[Manager, ...] = ()
    units: tuple[int, ...] = ()  # uses of the FMMUs: 1 outputs, 2 inputs, 3 state of a mailbox
    rx: tuple[SiiPdo, ...] = field(default=())
    tx: tuple[SiiPdo, ...] = field(default=())
    has_clock: bool = False

    @property
    def has_coe(self) -> bool:
        """Whether the slave has CANopen over EtherCAT."""
        return bool(self.protocols & 0x0004)


def parse_sii(data: bytes) -> Sii:
    """The contents of an EEPROM; what does not fit together is a ServotwinError."""
    if len(data) < CATEGORIES:
        raise ServotwinError(f"SII: {len(data)} bytes; the fixed part has {CATEGORIES}")
    (alias,) = struct.unpack_from("<H", data, 8)
    vendor, product, revision, serial = _IDENTITY.unpack_from(data, 0x10)
    out, out_size, into, in_size, protocols = _MAILBOX.unpack_from(data, 0x30)
    parts = read_categories(data)
    strings = _strings(next((d for kind, d in parts if kind == Category.STRINGS), b""))
    general = next((d for kind, d in parts if kind == Category.GENERAL), b"").ljust(32, b"\0")
    named = general[3] or general[2]
    return Sii(
        vendor, product, revision, serial, alias,
        strings[named - 1] if 0 < named <= len(strings) else "",
        (out, out_size), (into, in_size), protocols, general[5],
        tuple(_manager(d, at) for kind, d in parts if kind == Category.SYNC_MANAGERS
              for at in range(0, len(d) - _MANAGER.size + 1, _MANAGER.size)),
        tuple(byte for kind, d in parts if kind == Category.FMMU for byte in d if byte not in (0, 255)),
        tuple(p for kind, d in parts if kind == Category.RX_PDO for p in _pdos(d)),
        tuple(p for kind, d in parts if kind == Category.TX_PDO for p in _pdos(d)),
        any(kind == Category.CLOCK for kind, _ in parts),
    )  # fmt: skip


def _strings(data: bytes) -> list[str]:
    found: list[str] = []
    at = 1
    for _ in range(data[0] if data else 0):
        length = data[at] if at < len(data) else 0
        found.append(data[at + 1 : at + 1 + length].decode("ascii", "replace"))
        at += 1 + length
    return found


def _manager(data: bytes, at: int) -> Manager:
    start, length, control, _, _, use = _MANAGER.unpack_from(data, at)
    return Manager(start, length, control, use)


def _pdos(data: bytes) -> list[SiiPdo]:
    found: list[SiiPdo] = []
    at = 0
    while at + _PDO.size <= len(data):
        index, count, manager, _, _, _ = _PDO.unpack_from(data, at)
        at += _PDO.size
        if at + count * _ENTRY.size > len(data):
            raise ServotwinError(f"SII: PDO {index:04X} has {count} entries, more than there are bytes")
        entries = []
        for k in range(count):
            entry, subindex, _, _, bits, _ = _ENTRY.unpack_from(data, at + k * _ENTRY.size)
            entries.append(Mapped(entry, subindex, bits))
        at += count * _ENTRY.size
        found.append(SiiPdo(index, manager, tuple(entries)))
    return found
