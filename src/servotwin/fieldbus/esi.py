"""ESI: the XML description of a slave for configuration tools, made from its object dictionary."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as Xml

from servotwin.fieldbus import sii
from servotwin.fieldbus.objects.communication import FICTITIOUS_NAME, RX_ASSIGN, TX_ASSIGN
from servotwin.fieldbus.objects.dictionary import Dictionary
from servotwin.fieldbus.objects.process_data import assigned_pdos, pdo_entries, process_data_size
from servotwin.fieldbus.objects.tables import Access, DataType, Entry, ObjectCode, ObjectLine, Pdo

GROUP = "ServoTwinDrives"


def hexadecimal(value: int, digits: int = 4) -> str:
    """A number as ESI writes it.

    >>> hexadecimal(0x1600)
    '#x1600'
    """
    return f"#x{value:0{digits}X}"


def add_element(parent: Xml.Element, name: str, text: object = None, **attributes: object) -> Xml.Element:
    """A child with a text and attributes."""
    child = Xml.SubElement(parent, name, {key: str(value) for key, value in attributes.items()})
    if text is not None:
        child.text = str(text)
    return child


def build_esi(objects: Dictionary) -> str:
    """The ESI file of a slave with these objects."""
    identity = objects.identity
    root = Xml.Element("EtherCATInfo", {"Version": "1.6"})
    vendor = add_element(root, "Vendor")
    add_element(vendor, "Id", hexadecimal(identity.vendor, 8))
    add_element(vendor, "Name", FICTITIOUS_NAME)
    descriptions = add_element(root, "Descriptions")
    group = add_element(add_element(descriptions, "Groups"), "Group")
    add_element(group, "Type", GROUP)
    add_element(group, "Name", "Simulated drives")
    device = add_element(add_element(descriptions, "Devices"), "Device", Physics="YY")
    add_element(
        device,
        "Type",
        identity.name,
        ProductCode=hexadecimal(identity.product, 8),
        RevisionNo=hexadecimal(identity.revision, 8),
    )
    add_element(device, "Name", identity.name)
    add_element(device, "GroupType", GROUP)
    profile = add_element(device, "Profile")
    add_element(profile, "ProfileNo", 402)
    _dictionary(add_element(profile, "Dictionary"), objects)
    for use in ("Outputs", "Inputs", "MBoxState"):
        add_element(device, "Fmmu", use)
    _sync_managers(device, objects)
    for tag, assign, manager in (("RxPdo", RX_ASSIGN, 2), ("TxPdo", TX_ASSIGN, 3)):
        for pdo in assigned_pdos(objects, assign):
            _pdo(device, objects, tag, pdo, manager)
    mailbox = add_element(device, "Mailbox", DataLinkLayer="true")
    add_element(mailbox, "CoE", SdoInfo="true", PdoAssign="true", PdoConfig="true", CompleteAccess="true")
    _clock(add_element(device, "Dc"))
    eeprom = add_element(device, "Eeprom")
    image = sii.build_sii(objects)
    add_element(eeprom, "ByteSize", len(image))
    add_element(eeprom, "ConfigData", image[:14].hex().upper())
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _sync_managers(device: Xml.Element, objects: Dictionary) -> None:
    size = sii.MAILBOX_SIZE
    outputs, inputs = (process_data_size(objects, assign) for assign in (RX_ASSIGN, TX_ASSIGN))
    for name, start, length, control in (
        ("MBoxOut", sii.MAILBOX_OUT, size, sii.MAILBOX_OUT_CONTROL),
        ("MBoxIn", sii.MAILBOX_IN, size, sii.MAILBOX_IN_CONTROL),
        ("Outputs", sii.OUTPUTS, outputs, sii.OUTPUTS_CONTROL),
        ("Inputs", sii.INPUTS, inputs, sii.INPUTS_CONTROL),
    ):
        add_element(
            device,
            "Sm",
            name,
            DefaultSize=length,
            StartAddress=hexadecimal(start),
            ControlByte=hexadecimal(control, 2),
            Enable=1,
        )


def _pdo(device: Xml.Element, objects: Dictionary, tag: str, pdo: int, manager: int) -> None:
    found = add_element(device, tag, Sm=manager)
    add_element(found, "Index", hexadecimal(pdo))
    add_element(found, "Name", objects.lines[pdo].name)
    for mapped in pdo_entries(objects, pdo):
        entry = add_element(found, "Entry")
        add_element(entry, "Index", hexadecimal(mapped.index))
        if mapped.index:
            described = objects.find(mapped.index, mapped.subindex)[1]
            add_element(entry, "SubIndex", mapped.subindex)
            add_element(entry, "BitLen", mapped.bits)
            add_element(entry, "Name", described.name)
            add_element(entry, "DataType", described.type.esi_name)
        else:
            add_element(entry, "BitLen", mapped.bits)


def _clock(clock: Xml.Element) -> None:
    for name, text, activate in (
        ("DC", "SYNC0 of the distributed clocks", 0x0300),
        ("SM", "Arrival of the outputs", 0x0000),
    ):
        mode = add_element(clock, "OpMode")
        add_element(mode, "Name", name)
        add_element(mode, "Desc", text)
        add_element(mode, "AssignActivate", hexadecimal(activate))
        if activate:
            add_element(mode, "CycleTimeSync0", 0, Factor=1)


# --- the dictionary ---------------------------------------------------------------------------------


def _type_name(entry: Entry) -> str:
    return f"STRING({entry.bits // 8})" if entry.type is DataType.VISIBLE_STRING else entry.type.esi_name


def _flags(parent: Xml.Element, entry: Entry) -> None:
    flags = add_element(parent, "Flags")
    access: dict[str, Any] = {"WriteRestrictions": "PreOP"} if entry.access is Access.RW_PREOP else {}
    add_element(flags, "Access", "ro" if entry.access is Access.RO else "rw", **access)
    if entry.pdo is not Pdo.NO:
        add_element(flags, "PdoMapping", {Pdo.RX: "R", Pdo.TX: "T", Pdo.BOTH: "RT"}[entry.pdo])


def _dictionary(parent: Xml.Element, objects: Dictionary) -> None:
    types, lines = add_element(parent, "DataTypes"), add_element(parent, "Objects")
    basic = dict.fromkeys((_type_name(entry), entry.bits) for _, entry in objects.entries())
    for name, bits in sorted(basic):
        kind = add_element(types, "DataType")
        add_element(kind, "Name", name)
        add_element(kind, "BitSize", bits)
    for line in objects.lines.values():
        if line.code is not ObjectCode.VAR:
            _group_type(types, line)
        _object(lines, line)


def _group_type(types: Xml.Element, line: ObjectLine) -> None:
    """The type of an array or record: its entries, the first of them in 16 bits as complete access has it."""
    kind = add_element(types, "DataType")
    add_element(kind, "Name", f"DT{line.index:04X}")
    add_element(kind, "BitSize", _group_bits(line))
    at = 0
    for entry in line.entries:
        part = add_element(kind, "SubItem")
        add_element(part, "SubIdx", entry.subindex)
        add_element(part, "Name", entry.name)
        add_element(part, "Type", _type_name(entry))
        add_element(part, "BitSize", entry.bits)
        add_element(part, "BitOffs", at)
        _flags(part, entry)
        at += entry.bits if entry.subindex else 16


def _group_bits(line: ObjectLine) -> int:
    return 16 + sum(entry.bits for entry in line.entries if entry.subindex)


def _default(parent: Xml.Element, entry: Entry) -> None:
    add_element(add_element(parent, "Info"), "DefaultData", entry.packed().hex().upper())


def _object(lines: Xml.Element, line: ObjectLine) -> None:
    found = add_element(lines, "Object")
    add_element(found, "Index", hexadecimal(line.index))
    add_element(found, "Name", line.name)
    first = line.entries[0]
    if line.code is ObjectCode.VAR:
        add_element(found, "Type", _type_name(first))
        add_element(found, "BitSize", first.bits)
        _default(found, first)
        _flags(found, first)
        return
    add_element(found, "Type", f"DT{line.index:04X}")
    add_element(found, "BitSize", _group_bits(line))
    info = add_element(found, "Info")
    for entry in line.entries:
        part = add_element(info, "SubItem")
        add_element(part, "Name", entry.name)
        _default(part, entry)
    add_element(
        add_element(found, "Flags"),
        "Access",
        "rw" if any(e.access is not Access.RO for e in line.entries) else "ro",
    )
