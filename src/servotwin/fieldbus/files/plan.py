"""What a file says about the slaves of a line, in one form for ESI and ENI."""

from __future__ import annotations

from dataclasses import dataclass

from servotwin.fieldbus.ethercat.master.sii_read import Mapped
from servotwin.fieldbus.files.xml_tree import Element

MOST_PDOS, MOST_ENTRIES, MOST_COMMANDS, MOST_DATA = 512, 255, 4096, 4096
TO_PREOP, TO_SAFEOP = ("IP", "IB"), ("PS",)


@dataclass(frozen=True)
class FilePdo:
    """A PDO of a file; ``manager`` None: it is not assigned. ``fixed``: its entries cannot be changed."""

    index: int
    entries: tuple[Mapped, ...]
    manager: int | None = None
    fixed: bool = True


@dataclass(frozen=True)
class InitCommand:
    """An object that is written on the way to a state; ``transitions``: such as PS, from PREOP to SAFEOP."""

    transitions: tuple[str, ...]
    index: int
    subindex: int
    data: bytes
    complete: bool = False
    comment: str = ""


@dataclass(frozen=True)
class SlavePlan:
    """What a slave must be and how it is set up; bits None: the file says nothing about them.

    ``assigns``, ``maps``: its PDO assignment and mapping are written if they differ; otherwise they are verified.
    """

    name: str
    vendor: int
    product: int
    revision: int | None = None
    rx: tuple[FilePdo, ...] = ()
    tx: tuple[FilePdo, ...] = ()
    commands: tuple[InitCommand, ...] = ()
    output_bits: int | None = None
    input_bits: int | None = None
    assigns: bool = False
    maps: bool = False


@dataclass(frozen=True)
class LinePlan:
    """The slaves of a line in their order; ``file``: where it was read. ``period_ns`` None: any."""

    file: str
    slaves: tuple[SlavePlan, ...]
    period_ns: int | None = None


def pdos_of(parent: Element, tag: str) -> tuple[FilePdo, ...]:
    """The PDOs of an element."""
    found = parent.all(tag)
    if len(found) > MOST_PDOS:
        raise found[MOST_PDOS].error(f"more than {MOST_PDOS} PDOs")
    return tuple(_pdo(element) for element in found)


def _pdo(element: Element) -> FilePdo:
    entries = element.all("Entry")
    if len(entries) > MOST_ENTRIES:
        raise element.error(f"{len(entries)} entries; a PDO has at most {MOST_ENTRIES}")
    manager = element.attribute("Sm", bits=8) if element.attributes.get("Sm", "").strip() else None
    return FilePdo(
        element.number("Index", bits=16), tuple(map(_entry, entries)), manager, element.flag("Fixed")
    )


def _entry(element: Element) -> Mapped:
    return Mapped(
        element.number("Index", bits=16),
        element.number("SubIndex", bits=8, default=0),
        element.number("BitLen", bits=16),
    )


def commands_of(parent: Element, *path: str) -> tuple[InitCommand, ...]:
    """The CoE commands of an element; those that read (Ccs 2) are left out."""
    found = [e for e in parent.all(*path, "InitCmd") if e.number("Ccs", bits=8, default=1) == 1]
    if len(found) > MOST_COMMANDS:
        raise found[MOST_COMMANDS].error(f"more than {MOST_COMMANDS} commands")
    return tuple(_command(element) for element in found)


def _command(element: Element) -> InitCommand:
    data = element.first("Data")
    if data is None:
        raise element.error("no <Data>")
    if len(data.data()) > MOST_DATA:
        raise data.error(f"more than {MOST_DATA} bytes")
    return InitCommand(
        tuple(e.text.strip() for e in element.all("Transition")),
        element.number("Index", bits=16),
        element.number("SubIndex", bits=8, default=0),
        data.data(),
        element.flag("CompleteAccess"),
        element.words("Comment"),
    )
