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


def _add(parent: Xml.Element, name: str, text: object = None, **attributes: object) -> Xml.Element:
    child = Xml.SubElement(parent, name, {key: str(value) for key, value in attributes.items()})
    if text is not None:
        child.text = str(text)
    return child


def build_esi(objects: Dictionary) -> str:
    """The ESI file of a slave with these objects."""
    identity = objects.identity
    root = Xml.Element("EtherCATInfo", {"Version": "1.6"})
    vendor = _add(root, "Vendor")
    _add(vendor, "Id", hexadecimal(identity.vendor, 8))
    _add(vendor, "Name", FICTITIOUS_NAME)
    descriptions = _add(root, "Descriptions")
    group = _add(_add(descriptions, "Groups"), "Group")
    _add(group, "Type", GROUP)
    _add(group, "Name", "Simulated drives")
    device = _add(_add(descriptions, "Devices"), "Device", Physics="YY")
    _add(
        device,
        "Type",
        identity.name,
        ProductCode=hexadecimal(identity.product, 8),
        RevisionNo=hexadecimal(identity.revision, 8),
    )
    _add(device, "Name", identity.name)
    _add(device, "GroupType", GROUP)
    profile = _add(device, "Profile")
    _add(profile, "ProfileNo", 402)
    _dictionary(_add(profile, "Dictionary"), objects)
    for use in ("Outputs", "Inputs", "MBoxState"):
        _add(device, "Fmmu", use)
    _sync_managers(device, objects)
    for tag, assign, manager in (("RxPdo", RX_ASSIGN, 2), ("TxPdo", TX_ASSIGN, 3)):
        for pdo in assigned_pdos(objects, assign):
            _pdo(device, objects, tag, pdo, manager)
    mailbox = _add(device, "Mailbox", DataLinkLayer="true")
    _add(mailbox, "CoE", SdoInfo="true", PdoAssign="true", PdoConfig="true", CompleteAccess="true")
    _clock(_add(device, "Dc"))
    eeprom = _add(device, "Eeprom")
    image = sii.build_sii(objects)
    _add(eeprom, "ByteSize", len(image))
    _add(eeprom, "ConfigData", image[:14].hex().upper())
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
        _add(
            device,
            "Sm",
            name,
            DefaultSize=length,
            StartAddress=hexadecimal(start),
            ControlByte=hexadecimal(control, 2),
            Enable=1,
        )


def _pdo(device: Xml.Element, objects: Dictionary, tag: str, pdo: int, manager: int) -> None:
    found = _add(device, tag, Sm=manager)
    _add(found, "Index", hexadecimal(pdo))
    _add(found, "Name", objects.lines[pdo].name)
    for mapped in pdo_entries(objects, pdo):
        entry = _add(found, "Entry")
        _add(entry, "Index", hexadecimal(mapped.index))
        if mapped.index:
            described = objects.find(mapped.index, mapped.subindex)[1]
            _add(entry, "SubIndex", mapped.subindex)
            _add(entry, "BitLen", mapped.bits)
            _add(entry, "Name", described.name)
            _add(entry, "DataType", described.type.esi_name)
        else:
            _add(entry, "BitLen", mapped.bits)


def _clock(clock: Xml.Element) -> None:
    for name, text, activate in (
        ("DC", "SYNC0 of the distributed clocks", 0x0300),
        ("SM", "Arrival of the outputs", 0x0000),
    ):
        mode = _add(clock, "OpMode")
        _add(mode, "Name", name)
        _add(mode, "Desc", text)
        _add(mode, "AssignActivate", hexadecimal(activate))
        if activate:
            _add(mode, "CycleTimeSync0", 0, Factor=1)


# --- the dictionary ---------------------------------------------------------------------------------


def _type_name(entry: Entry) -> str:
    return f"STRING({entry.bits // 8})" if entry.type is DataType.VISIBLE_STRING else entry.type.esi_name


def _flags(parent: Xml.Element, entry: Entry) -> None:
    flags = _add(parent, "Flags")
    access: dict[str, Any] = {"WriteRestrictions": "PreOP"} if entry.access is Access.RW_PREOP else {}
    _add(flags, "Access", "ro" if entry.access is Access.RO else "rw", **access)
    if entry.pdo is not Pdo.NO:
        _add(flags, "PdoMapping", {Pdo.RX: "R", Pdo.TX: "T", Pdo.BOTH: "RT"}[entry.pdo])


def _dictionary(parent: Xml.Element, objects: Dictionary) -> None:
    types, lines = _add(parent, "DataTypes"), _add(parent, "Objects")
    basic = dict.fromkeys((_type_name(entry), entry.bits) for _, entry in objects.entries())
    for name, bits in sorted(basic):
        kind = _add(types, "DataType")
        _add(kind, "Name", name)
        _add(kind, "BitSize", bits)
    for line in objects.lines.values():
        if line.code is not ObjectCode.VAR:
            _group_type(types, line)
        _object(lines, line)


def _group_type(types: Xml.Element, line: ObjectLine) -> None:
    """The type of an array or record: its entries, the first of them in 16 bits as complete access has it."""
    kind = _add(types, "DataType")
    _add(kind, "Name", f"DT{line.index:04X}")
    _add(kind, "BitSize", _group_bits(line))
    at = 0
    for entry in line.entries:
        part = _add(kind, "SubItem")
        _add(part, "SubIdx", entry.subindex)
        _add(part, "Name", entry.name)
        _add(part, "Type", _type_name(entry))
        _add(part, "BitSize", entry.bits)
        _add(part, "BitOffs", at)
        _flags(part, entry)
        at += entry.bits if entry.subindex else 16


def _group_bits(line: ObjectLine) -> int:
    return 16 + sum(entry.bits for entry in line.entries if entry.subindex)


def _default(parent: Xml.Element, entry: Entry) -> None:
    _add(_add(parent, "Info"), "DefaultData", entry.packed().hex().upper())


def _object(lines: Xml.Element, line: ObjectLine) -> None:
    found = _add(lines, "Object")
    _add(found, "Index", hexadecimal(line.index))
    _add(found, "Name", line.name)
    first = line.entries[0]
    if line.code is ObjectCode.VAR:
        _add(found, "Type", _type_name(first))
        _add(found, "BitSize", first.bits)
        _default(found, first)
        _flags(found, first)
        return
    _add(found, "Type", f"DT{line.index:04X}")
    _add(found, "BitSize", _group_bits(line))
    info = _add(found, "Info")
    for entry in line.entries:
        part = _add(info, "SubItem")
        _add(part, "Name", entry.name)
        _default(part, entry)
    _add(
        _add(found, "Flags"), "Access", "rw" if any(e.access is not Access.RO for e in line.entries) else "ro"
    )
