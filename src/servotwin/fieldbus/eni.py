"""ENI: the XML description of a line of simulated drives: who they are, in which order, with which process data.

Registers are not in it: masters that find SyncManagers, FMMUs and clocks by themselves need none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from servotwin.fieldbus import sii
from servotwin.fieldbus.esi import add_element, hexadecimal
from servotwin.fieldbus.ethercat.master.slaves import FIRST_STATION
from servotwin.fieldbus.objects.communication import RX_ASSIGN, TX_ASSIGN
from servotwin.fieldbus.objects.dictionary import Dictionary
from servotwin.fieldbus.objects.process_data import assigned_pdos, pdo_entries, process_data_size

MASTER = "ServoTwin"


def build_eni(line: Sequence[Dictionary], period_ns: int) -> str:
    """The ENI file of slaves with these objects, one after the other, at a period [ns]."""
    root = Xml.Element("EtherCATConfig", {"Version": "1.3"})
    config = add_element(root, "Config")
    info = add_element(add_element(config, "Master"), "Info")
    for tag, text in (("Name", MASTER), ("Destination", "ffffffffffff"), ("Source", "000000000000")):
        add_element(info, tag, text)
    sent = received = 0
    for k, objects in enumerate(line):
        slave = add_element(config, "Slave")
        _info(add_element(slave, "Info"), objects, k)
        data = add_element(slave, "ProcessData")
        for tag, assign, start in (("Send", RX_ASSIGN, sent), ("Recv", TX_ASSIGN, received)):
            area = add_element(data, tag)
            add_element(area, "BitStart", 8 * start)
            add_element(area, "BitLength", 8 * process_data_size(objects, assign))
        sent += process_data_size(objects, RX_ASSIGN)
        received += process_data_size(objects, TX_ASSIGN)
        for tag, assign, manager in (("TxPdo", TX_ASSIGN, 3), ("RxPdo", RX_ASSIGN, 2)):
            for pdo in assigned_pdos(objects, assign):
                _pdo(data, objects, tag, pdo, manager)
        _mailbox(add_element(slave, "Mailbox"), period_ns)
        if k:
            port = add_element(slave, "PreviousPort", Selected=1)
            add_element(port, "Port", "B")
            add_element(port, "PhysAddr", FIRST_STATION + k - 1)
    add_element(add_element(config, "Cyclic"), "CycleTime", period_ns // 1000)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _info(info: Xml.Element, objects: Dictionary, k: int) -> None:
    identity = objects.identity
    for tag, text in (
        ("Name", identity.name),
        ("PhysAddr", FIRST_STATION + k),
        ("AutoIncAddr", -k % (1 << 16)),
        ("Physics", "YY"),
        ("VendorId", identity.vendor),
        ("ProductCode", identity.product),
        ("RevisionNo", identity.revision),
        ("SerialNo", identity.serial),
    ):
        add_element(info, tag, text)


def _pdo(data: Xml.Element, objects: Dictionary, tag: str, pdo: int, manager: int) -> None:
    found = add_element(data, tag, Sm=manager)
    add_element(found, "Index", hexadecimal(pdo))
    add_element(found, "Name", objects.lines[pdo].name)
    for mapped in pdo_entries(objects, pdo):
        entry = add_element(found, "Entry")
        add_element(entry, "Index", hexadecimal(mapped.index))
        add_element(entry, "SubIndex", mapped.subindex)
        add_element(entry, "BitLen", mapped.bits)


def _mailbox(mailbox: Xml.Element, period_ns: int) -> None:
    """Its places, and the objects that tell the slave its period."""
    for tag, start in (("Send", sii.MAILBOX_OUT), ("Recv", sii.MAILBOX_IN)):
        area = add_element(mailbox, tag)
        add_element(area, "Start", start)
        add_element(area, "Length", sii.MAILBOX_SIZE)
    add_element(mailbox, "Protocol", "CoE")
    commands = add_element(add_element(mailbox, "CoE"), "InitCmds")
    for index in (0x1C32, 0x1C33):
        command = add_element(commands, "InitCmd")
        for tag, text in (
            ("Transition", "PS"),
            ("Comment", "cycle time"),
            ("Timeout", 0),
            ("Ccs", 1),
            ("Index", index),
            ("SubIndex", 2),
            ("Data", period_ns.to_bytes(4, "little").hex()),
        ):
            add_element(command, tag, text)
