"""What an engineer asks an EtherCAT network: which slaves there are, what an object holds, how inputs change."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from servotwin.errors import InputError
from servotwin.fieldbus.controller.robot import check_armed
from servotwin.fieldbus.ethercat.master.master import Master
from servotwin.fieldbus.ethercat.master.port import Port
from servotwin.fieldbus.ethercat.master.slaves import Slave, mapped_of, size_of, state_name

NUMBERS = {
    "boolean": "<B", "integer8": "<b", "integer16": "<h", "integer32": "<i", "integer64": "<q",
    "unsigned8": "<B", "unsigned16": "<H", "unsigned32": "<I", "unsigned64": "<Q", "real32": "<f", "real64": "<d",
}  # fmt: skip
STANDARD = {
    1: "boolean", 2: "integer8", 3: "integer16", 4: "integer32", 5: "unsigned8", 6: "unsigned16", 7: "unsigned32",
    8: "real32", 9: "visible_string", 0x11: "real64", 0x15: "integer64", 0x1B: "unsigned64",
}  # fmt: skip


@dataclass(frozen=True)
class ScannedSlave:
    """A slave as a scan shows it."""

    position: int
    name: str
    vendor: int
    product: int
    revision: int
    serial: int
    alias: int
    state: str
    has_coe: bool
    has_clock: bool
    ports: tuple[int, ...]
    outputs_bytes: int | None
    inputs_bytes: int | None

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        found = dict(self.__dict__)
        for key in ("vendor", "product", "revision"):
            found[key] = f"{found[key]:08X}"
        return {**found, "ports": list(self.ports)}


@dataclass(frozen=True)
class ObjectValue:
    """An entry of a slave: its bytes, its name and type if the slave tells them, and what they mean together."""

    index: int
    subindex: int
    data: bytes
    name: str = ""
    type: str = ""

    @property
    def value(self) -> int | float | str:
        """The value by its type; without one a whole number, or the bytes."""
        if self.type == "visible_string":
            return self.data.split(b"\0")[0].decode("ascii", "replace")
        form = NUMBERS.get(self.type)
        if form is not None and len(self.data) == struct.calcsize(form):
            number: int | float = struct.unpack(form, self.data)[0]
            return number
        return int.from_bytes(self.data, "little") if 0 < len(self.data) <= 8 else self.data.hex()


def scan_bus(port: Port) -> list[ScannedSlave]:
    """All slaves of a network; they are left in INIT."""
    master = Master(port)
    master.scan()
    master.to_preop()
    found = [_scanned(master, slave) for slave in master.slaves]
    master.close()
    return found


def _scanned(master: Master, slave: Slave) -> ScannedSlave:
    sizes: tuple[int | None, int | None] = (None, None)
    state = master.state(slave)
    if slave.mailbox is not None or slave.sii.rx or slave.sii.tx:
        mapped_of(slave)
        sizes = (size_of(slave.outputs), size_of(slave.inputs))
    sii = slave.sii
    return ScannedSlave(
        slave.position, sii.name, sii.vendor, sii.product, sii.revision, sii.serial, sii.alias,
        "does not answer" if state is None else state_name(state[0]), sii.has_coe, sii.has_clock,
        slave.open_ports, *sizes,
    )  # fmt: skip


def read_object(port: Port, slave: int, index: int, subindex: int = 0) -> ObjectValue:
    """Read one entry of a slave; ``slave`` counts from 1."""
    master, found = _preop(port, slave)
    try:
        return _value(found, index, subindex)
    finally:
        master.close()


def write_object(
    port: Port,
    slave: int,
    index: int,
    subindex: int,
    value: str | int | bytes,
    *,
    type: str | None = None,
    arm_hardware: bool = False,
) -> ObjectValue:
    """Write one entry of a slave and read it back; a slave that is not simulated has to be armed.

    ``type``: as the slave describes the entry, if it does; ``value`` bytes are written as they are.
    """
    master, found = _preop(port, slave)
    try:
        check_armed([found], arm_hardware)
        kind = type or _described(found, index, subindex)[1]
        found.sdo.write(index, subindex, encode_value(value, kind))
        return _value(found, index, subindex)
    finally:
        master.close()


def encode_value(value: str | int | bytes, kind: str) -> bytes:
    """The bytes of a value of a type.

    >>> encode_value("-2", "integer16").hex(), encode_value("0x10", "unsigned8").hex()
    ('feff', '10')
    """
    if isinstance(value, bytes):
        return value
    if kind == "visible_string":
        return str(value).encode("ascii", "replace")
    form = NUMBERS.get(kind)
    if form is None:
        raise InputError(f"'{kind}'; expected one of {', '.join(NUMBERS)}, visible_string", field="--type")
    try:
        number = float(value) if kind.startswith("real") else int(str(value), 0)
        return struct.pack(form, number)
    except (ValueError, struct.error, OverflowError):
        raise InputError(f"'{value}' is no {kind}", field="value") from None


def _preop(port: Port, slave: int) -> tuple[Master, Slave]:
    master = Master(port)
    slaves = master.scan()
    if not 1 <= slave <= len(slaves):
        master.close()
        raise InputError(f"{slave}; there are slaves 1 to {len(slaves)}", field="slave")
    master.to_preop()
    return master, slaves[slave - 1]


def _described(slave: Slave, index: int, subindex: int) -> tuple[str, str]:
    """Name and type of an entry as its slave tells them; empty where it does not."""
    from servotwin.fieldbus.ethercat.master.port import BusError

    try:
        found = slave.sdo.described(index, subindex)
    except BusError:
        return "", ""
    return found.name, STANDARD.get(found.type, "")


def _value(slave: Slave, index: int, subindex: int) -> ObjectValue:
    data = slave.sdo.read(index, subindex)
    return ObjectValue(index, subindex, data, *_described(slave, index, subindex))


def watch_objects(
    port: Port,
    slave: int,
    entries: list[tuple[int, int]],
    told: Callable[[list[ObjectValue]], bool],
) -> None:
    """Read entries of a slave again and again, in PREOP, until ``told`` returns False."""
    master, found = _preop(port, slave)
    try:
        names = [_described(found, *entry) for entry in entries]
        while True:
            values = [
                ObjectValue(*entry, found.sdo.read(*entry), *named)
                for entry, named in zip(entries, names, strict=True)
            ]
            if not told(values):
                return
    finally:
        master.close()
