"""Reading the EEPROM of a slave through its registers, as far as its categories go."""

from __future__ import annotations

import struct
import time

from servotwin.fieldbus.ethercat import registers as reg
from servotwin.fieldbus.ethercat.master.port import BusError
from servotwin.fieldbus.ethercat.master.wire import Wire
from servotwin.fieldbus.sii import CATEGORIES, Category

BUSY, ERRORS = 0x8000, 0x7800
PATIENCE = 0.5  # s for one access
MOST_BYTES = 0x10000  # of an EEPROM


def read_eeprom(wire: Wire, station: int) -> bytes:
    """The bytes of an EEPROM up to the end of its categories."""
    wire.write(station, reg.EEPROM_OWNER, b"\0\0")
    data = b""
    while len(data) < CATEGORIES:
        data += _words(wire, station, len(data) // 2)
    at = CATEGORIES
    while at + 4 <= MOST_BYTES:
        while len(data) < at + 4:
            data += _words(wire, station, len(data) // 2)
        kind, words = struct.unpack_from("<HH", data, at)
        if kind == Category.END:
            return data
        at += 4 + 2 * words
    raise BusError(f"station {station:04X}: its EEPROM has no end of the categories")


def _words(wire: Wire, station: int, address: int) -> bytes:
    """Four or eight bytes from a word address on."""
    if not wire.write(station, reg.EEPROM_CONTROL, struct.pack("<HI", reg.EEPROM_READ, address)):
        raise BusError(f"station {station:04X}: its EEPROM does not answer")
    end = time.monotonic() + PATIENCE
    while True:
        found = wire.read(station, reg.EEPROM_CONTROL, 14)
        if found is None:
            raise BusError(f"station {station:04X}: its EEPROM does not answer")
        status = int.from_bytes(found[:2], "little")
        if not status & BUSY:
            break
        if time.monotonic() > end:
            raise BusError(f"station {station:04X}: its EEPROM is busy without end")
    if status & ERRORS:
        raise BusError(f"station {station:04X}: its EEPROM reports an error ({status:04X})")
    return found[6:14] if status & reg.READS_8_BYTES else found[6:10]
