"""Slaves as a master has found them, and their states with the reasons that they give."""

from __future__ import annotations

from dataclasses import dataclass, field

from servotwin.errors import ServotwinError
from servotwin.fieldbus.ethercat import registers as reg
from servotwin.fieldbus.ethercat.master.mail import Mailbox
from servotwin.fieldbus.ethercat.master.port import BusError
from servotwin.fieldbus.ethercat.master.sdo import SdoClient
from servotwin.fieldbus.ethercat.master.sii_read import Mapped, Sii
from servotwin.fieldbus.ethercat.registers import AlCode, AlState

FIRST_STATION = 0x1001
OPEN_LOOP, LINK = 0x0100, 0x0010  # of DL status: bits of port 0


@dataclass
class Slave:
    """A slave of the line; ``position`` counts from 1."""

    position: int
    station: int
    sii: Sii
    dl_status: int = 0
    mailbox: Mailbox | None = None
    outputs: tuple[Mapped, ...] = ()
    inputs: tuple[Mapped, ...] = ()
    delay_ns: int = 0
    local_ns: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """How messages call it."""
        name = self.sii.name or f"{self.sii.vendor:08X}:{self.sii.product:08X}"
        return f"slave {self.position} ({name})"

    @property
    def sdo(self) -> SdoClient:
        """Its objects."""
        if self.mailbox is None:
            raise BusError(f"{self.label}: it has no CoE mailbox", self.position)
        return SdoClient(self.mailbox)

    @property
    def open_ports(self) -> tuple[int, ...]:
        """Ports through which frames go on."""
        return tuple(p for p in range(reg.PORTS) if not self.dl_status >> (8 + 2 * p) & 1)

    def fail(self, what: str) -> BusError:
        """An error about this slave."""
        return BusError(f"{self.label}: {what}", self.position)


@dataclass(frozen=True)
class Expected:
    """What a slave must be before it is brought to OP; ``revision`` None: any."""

    vendor: int
    product: int
    revision: int | None = None


def state_name(status: int) -> str:
    """The name of a state, with its error mark.

    >>> state_name(0x14), state_name(0x08), state_name(0x0C)
    ('SAFEOP with an error', 'OP', '0x0C')
    """
    known = {int(s): s.name for s in AlState}
    name = known.get(status & 0x0F, f"0x{status & 0x0F:02X}")
    return f"{name} with an error" if status & reg.ACKNOWLEDGE else name


def code_name(code: int) -> str:
    """An AL status code in words.

    >>> code_name(0x001B), code_name(0x8000)
    ('watchdog (0x001B)', 'code 0x8000')
    """
    known = {int(c): c.name.lower().replace("_", " ") for c in AlCode}
    return f"{known[code]} (0x{code:04X})" if code in known else f"code 0x{code:04X}"


def verify(slaves: list[Slave], expected: list[Expected]) -> None:
    """Refuse a line that is not the expected one: number, order, vendors, products, and that it is a line."""
    if len(slaves) != len(expected):
        raise BusError(f"{len(slaves)} slaves on the bus; {len(expected)} are expected")
    for slave, wanted in zip(slaves, expected, strict=True):
        found = (slave.sii.vendor, slave.sii.product)
        if found != (wanted.vendor, wanted.product):
            raise slave.fail(
                f"vendor {found[0]:08X}, product {found[1]:08X}; "
                f"expected vendor {wanted.vendor:08X}, product {wanted.product:08X}"
            )
        if wanted.revision is not None and slave.sii.revision != wanted.revision:
            raise slave.fail(f"revision {slave.sii.revision:08X}; expected {wanted.revision:08X}")
        ports = (0, 1) if slave is not slaves[-1] else (0,)
        if slave.open_ports != ports:
            raise slave.fail(f"frames go on through its ports {slave.open_ports}; in a line {ports}")


def mapped_of(slave: Slave) -> None:
    """Find the process data of a slave: what is assigned by 1C12 and 1C13, or what its EEPROM says."""
    if slave.mailbox is not None:
        slave.outputs, slave.inputs = (_assigned(slave, index) for index in (0x1C12, 0x1C13))
        return
    slave.outputs = tuple(e for pdo in slave.sii.rx if pdo.manager < 8 for e in pdo.entries)
    slave.inputs = tuple(e for pdo in slave.sii.tx if pdo.manager < 8 for e in pdo.entries)


def _assigned(slave: Slave, index: int) -> tuple[Mapped, ...]:
    sdo, found = slave.sdo, []
    for k in range(sdo.number(index, 0)):
        pdo = sdo.number(index, k + 1)
        for entry in range(sdo.number(pdo, 0)):
            code = sdo.number(pdo, entry + 1)
            found.append(Mapped(code >> 16, code >> 8 & 0xFF, code & 0xFF))
    return tuple(found)


def size_of(entries: tuple[Mapped, ...]) -> int:
    """Bytes of process data."""
    bits = sum(e.bits for e in entries)
    if bits > 8 * 1486:
        raise ServotwinError(f"{bits} bits of process data; a frame holds {8 * 1486}")
    return -(-bits // 8)
