"""ESI files: what a vendor says about kinds of slaves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from servotwin.description.regular_file import ESI
from servotwin.fieldbus.files.plan import SlavePlan, commands_of, pdos_of
from servotwin.fieldbus.files.xml_tree import Element, read_xml

_PDO = ("Index", "Entry")
READ = {
    "EtherCATInfo": ("Vendor", "Descriptions"),
    "Vendor": ("Id",),
    "Descriptions": ("Devices",),
    "Devices": ("Device",),
    "Device": ("Type", "Name", "RxPdo", "TxPdo", "Mailbox"),
    "RxPdo": _PDO,
    "TxPdo": _PDO,
    "Entry": ("Index", "SubIndex", "BitLen"),
    "Mailbox": ("CoE",),
    "CoE": ("InitCmd",),
    "InitCmd": ("Transition", "Index", "SubIndex", "Data", "Comment", "Ccs"),
}


@dataclass(frozen=True)
class EsiFile:
    """The kinds of slaves in a file."""

    file: str
    vendor: int
    devices: tuple[SlavePlan, ...]

    def find(self, vendor: int, product: int, revision: int) -> SlavePlan | None:
        """The device of this revision, or of the latest one before it; None if the file has none.

        Revisions are made so that a later one can stand in for an earlier one.
        """
        known = [d for d in self.devices if (d.vendor, d.product) == (vendor, product)]
        fitting = [d for d in known if d.revision is None or d.revision <= revision]
        return max(fitting, key=lambda d: d.revision or 0) if fitting else None


def read_esi(path: str | Path) -> EsiFile:
    """The kinds of slaves that an ESI file describes."""
    root = read_xml(path, ESI, "EtherCATInfo", READ)
    vendor = root.number("Vendor", "Id")
    devices = root.all("Descriptions", "Devices", "Device")
    return EsiFile(str(path), vendor, tuple(_device(element, vendor) for element in devices))


def _device(element: Element, vendor: int) -> SlavePlan:
    kind = element.first("Type")
    if kind is None:
        raise element.error("no <Type>")
    coe = element.first("Mailbox", "CoE")
    return SlavePlan(
        element.words("Name") or element.words("Type"),
        vendor,
        kind.attribute("ProductCode", default=0),
        kind.attribute("RevisionNo") if "RevisionNo" in kind.attributes else None,
        pdos_of(element, "RxPdo"),
        pdos_of(element, "TxPdo"),
        () if coe is None else commands_of(coe),
        assigns=coe is not None and coe.flag("PdoAssign"),
        maps=coe is not None and coe.flag("PdoConfig"),
    )
