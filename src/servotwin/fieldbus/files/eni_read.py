"""ENI files: what a configuration tool says about a network.

Identities, order, process data, period and the objects that are written on the way to SAFEOP come from the file.
Registers (SyncManagers, FMMUs, clocks) are set by the master itself, from what slaves and objects then say.
"""

from __future__ import annotations

from pathlib import Path

from servotwin.description.regular_file import ENI
from servotwin.fieldbus.files.plan import LinePlan, SlavePlan, commands_of, pdos_of
from servotwin.fieldbus.files.xml_tree import Element, read_xml

MOST_SLAVES = 1024
MICROSECOND = 1000  # ns
_PDO = ("Index", "Entry")
READ = {
    "EtherCATConfig": ("Config",),
    "Config": ("Slave", "Cyclic"),
    "Cyclic": ("CycleTime",),
    "Slave": ("Info", "ProcessData", "Mailbox", "PreviousPort"),
    "Info": ("Name", "PhysAddr", "AutoIncAddr", "VendorId", "ProductCode", "RevisionNo"),
    "PreviousPort": ("PhysAddr", "Port"),
    "ProcessData": ("Send", "Recv", "RxPdo", "TxPdo"),
    "Send": ("BitLength",),
    "Recv": ("BitLength",),
    "RxPdo": _PDO,
    "TxPdo": _PDO,
    "Entry": ("Index", "SubIndex", "BitLen"),
    "Mailbox": ("CoE",),
    "CoE": ("InitCmds",),
    "InitCmds": ("InitCmd",),
    "InitCmd": ("Transition", "Index", "SubIndex", "Data", "Comment", "Ccs"),
}


def read_eni(path: str | Path) -> LinePlan:
    """The line of slaves that an ENI file describes."""
    root = read_xml(path, ENI, "EtherCATConfig", READ)
    slaves = root.all("Config", "Slave")
    if not 1 <= len(slaves) <= MOST_SLAVES:
        raise root.error(f"{len(slaves)} slaves; expected 1 to {MOST_SLAVES}")
    _check_line(slaves)
    period = root.first("Config", "Cyclic", "CycleTime")
    return LinePlan(
        str(path),
        tuple(_slave(element) for element in slaves),
        None if period is None else period.whole(period.text, 32) * MICROSECOND,
    )


def _check_line(slaves: list[Element]) -> None:
    """Refuse an order that is not that of the file, and branches."""
    before: int | None = None
    for k, slave in enumerate(slaves):
        place = slave.first("Info", "AutoIncAddr")
        if place is not None and place.whole(place.text, 16) != -k % (1 << 16):
            raise place.error(
                f"{place.text.strip()[:20]} for slave {k + 1}; expected {-k % (1 << 16)}, its place in the line"
            )
        ports = slave.all("PreviousPort")
        found = [p.number("PhysAddr", bits=16) for p in ports if p.first("PhysAddr") is not None]
        if k and before is not None and found and before not in found:
            raise ports[0].error(f"slave {k + 1} is not connected to slave {k}; expected a line")
        address = slave.first("Info", "PhysAddr")
        before = None if address is None else address.whole(address.text, 16)


def _slave(element: Element) -> SlavePlan:
    info = element.first("Info")
    if info is None:
        raise element.error("no <Info>")
    data = element.first("ProcessData")
    revision = info.first("RevisionNo")
    return SlavePlan(
        info.words("Name"),
        info.number("VendorId"),
        info.number("ProductCode"),
        None if revision is None else revision.whole(revision.text, 32),
        () if data is None else pdos_of(data, "RxPdo"),
        () if data is None else pdos_of(data, "TxPdo"),
        commands_of(element, "Mailbox", "CoE", "InitCmds"),
        None if data is None else _bits(data, "Send"),
        None if data is None else _bits(data, "Recv"),
    )


def _bits(data: Element, side: str) -> int:
    """Of process data: several areas may be sent or received."""
    return sum(e.number("BitLength", bits=16) for e in data.all(side))
