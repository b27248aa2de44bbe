"""ESI and ENI files: what is read of them, what is refused, and how a line is set up and verified by them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import servotwin as st
from controlled_bus import ROBOT, segment
from servotwin.errors import InputError, ServotwinError
from servotwin.fieldbus.controller.robot import BusRobot, BusSettings
from servotwin.fieldbus.eni import build_eni
from servotwin.fieldbus.esi import build_esi
from servotwin.fieldbus.ethercat.master.port import SegmentPort
from servotwin.fieldbus.ethercat.master.sii_read import Mapped
from servotwin.fieldbus.files.plan import InitCommand
from servotwin.fieldbus.objects.communication import Identity
from servotwin.fieldbus.objects.process_data import assigned_pdos, pdo_entries

STRANGE_ESI = """<?xml version="1.0" encoding="ISO-8859-1"?>
<EtherCATInfo xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" Version="1.2">
  <Vendor><Id>251</Id><Name>M\xfcller Antriebe</Name><ImageData16x14>424DD6</ImageData16x14></Vendor>
  <Descriptions>
    <Groups><Group><Type>D</Type><Name LcId="1031">Antriebe</Name></Group></Groups>
    <Devices>
      <Device Physics="YY">
        <Type ProductCode="#x00001234" RevisionNo="#x00010000">SD</Type>
        <Name LcId="1033"><![CDATA[SD 400]]></Name>
        <Name LcId="1031"><![CDATA[SD 400 Antrieb]]></Name>
        <Fmmu>Outputs</Fmmu>
        <Sm StartAddress="#x1000" ControlByte="#x26" DefaultSize="128" Enable="1">MBoxOut</Sm>
        <RxPdo Sm="2" Fixed="true" Mandatory="1"><Index>#x1600</Index><Exclude>#x1601</Exclude><Name>A</Name>
          <Entry><Index>#x6040</Index><SubIndex>0</SubIndex><BitLen>16</BitLen><Name>Controlword</Name></Entry>
          <Entry><Index>#x0</Index><BitLen>16</BitLen></Entry>
        </RxPdo>
        <RxPdo><Index>#x1601</Index><Name>B</Name></RxPdo>
        <Mailbox DataLinkLayer="1"><CoE SdoInfo="1" PdoAssign="1" CompleteAccess="0">
          <InitCmd><Transition>PS</Transition><Index>#x6060</Index><SubIndex>0</SubIndex><Data>08</Data>
            <Comment>mode</Comment></InitCmd>
        </CoE></Mailbox>
      </Device>
      <Device><Type ProductCode="4660" RevisionNo="0x20000">SD</Type><Name>SD 400 later</Name></Device>
    </Devices>
  </Descriptions>
</EtherCATInfo>
"""


def written(tmp_path: Path, text: str | bytes, name: str = "x.xml") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def connected(line: Any, **settings: Any) -> BusRobot:
    return BusRobot(ROBOT, SegmentPort(line), settings=BusSettings(lock_step=True, **settings))


def entries_of(objects: Any, pdo: int) -> tuple[Mapped, ...]:
    return tuple(Mapped(e.index, e.subindex, e.bits) for e in pdo_entries(objects, pdo))


def test_esi_of_a_stranger_is_read_in_its_own_encoding(tmp_path: Path) -> None:
    found = st.read_esi(written(tmp_path, STRANGE_ESI.encode("latin-1")))
    assert (found.vendor, len(found.devices)) == (251, 2)
    first = found.devices[0]
    assert (first.name, first.product, first.revision, first.assigns) == ("SD 400", 0x1234, 0x10000, True)
    assert first.rx[0].entries == (Mapped(0x6040, 0, 16), Mapped(0, 0, 16))
    assert [(pdo.index, pdo.manager, pdo.fixed) for pdo in first.rx] == [
        (0x1600, 2, True),
        (0x1601, None, False),
    ]
    assert first.commands == (InitCommand(("PS",), 0x6060, 0, b"\x08", comment="mode"),)


@pytest.mark.parametrize(
    ("revision", "name"),
    [(0x10000, "SD 400"), (0x1FFFF, "SD 400"), (0x20000, "SD 400 later"), (0x90000, "SD 400 later")],
)
def test_later_revision_is_taken_for_the_latest_described_one(
    tmp_path: Path, revision: int, name: str
) -> None:
    found = st.read_esi(written(tmp_path, STRANGE_ESI.encode("latin-1")))
    device = found.find(251, 0x1234, revision)
    assert device is not None
    assert device.name == name
    assert found.find(251, 0x1234, 0x0FFFF) is None
    assert found.find(251, 0x1235, revision) is None
    assert found.find(252, 0x1234, revision) is None


def test_files_of_ours_say_what_the_dictionary_says(tmp_path: Path) -> None:
    line, _ = segment((2, 2))
    objects = [device.objects for device in line.devices]
    esi = st.read_esi(written(tmp_path, build_esi(objects[0])))
    eni = st.read_eni(written(tmp_path, build_eni(objects, 2_000_000)))
    assert eni.period_ns == 2_000_000
    assert len(eni.slaves) == 2
    for slave, each in zip(eni.slaves, objects, strict=True):
        for pdos, assign, bits in (
            (slave.rx, 0x1C12, slave.output_bits),
            (slave.tx, 0x1C13, slave.input_bits),
        ):
            wanted = [(pdo, entries_of(each, pdo)) for pdo in assigned_pdos(each, assign)]
            assert [(pdo.index, pdo.entries) for pdo in pdos] == wanted
            assert bits == sum(e.bits for _, entries in wanted for e in entries)
    assert esi.devices[0].rx == tuple(replace(pdo, fixed=False) for pdo in eni.slaves[0].rx)
    assert (esi.devices[0].assigns, esi.devices[0].maps) == (True, True)


def test_line_of_an_eni_file_is_set_up_and_runs(tmp_path: Path) -> None:
    line, _ = segment()
    objects = [device.objects for device in line.devices]
    text = build_eni(objects, 1_000_000).replace(
        "<Index>7218</Index>", "<Index>24677</Index>"
    )  # 6065 for 1C32:02
    text = text.replace("<SubIndex>2</SubIndex>", "<SubIndex>0</SubIndex>", 1)
    network = st.read_eni(written(tmp_path, text))
    assert network.slaves[0].commands[0].index == 0x6065
    robot = connected(line, network=replace(network, slaves=tuple(
        replace(s, commands=s.commands[:1] if k == 0 else ()) for k, s in enumerate(network.slaves))))  # fmt: skip
    robot.start()
    assert robot.enable()
    assert objects[0].read_number(0x6065, 0) == 1_000_000  # what the command of the file wrote
    assert objects[1].read_number(0x6065, 0) != 1_000_000


def test_process_data_are_set_as_the_esi_file_says(tmp_path: Path) -> None:
    line, _ = segment()
    objects = [device.objects for device in line.devices]
    text = build_esi(objects[0])
    gone = "<Index>#x60B2</Index>"
    at = text.index(gone, text.index("<RxPdo"))
    begin, end = text.rindex("<Entry>", 0, at), text.index("</Entry>", at) + len("</Entry>")
    robot = connected(line, network=st.read_esi(written(tmp_path, text[:begin] + text[end:])))
    robot.start()
    assert robot.enable()
    for each in objects:
        assert 0x60B2 not in [entry.index for entry in pdo_entries(each, 0x1600)]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("<VendorId>4294923351</VendorId>", "<VendorId>2</VendorId>", "slave 1 (ServoTwin drive): vendor FFFF5457"),
        ("<ProductCode>1026</ProductCode>", "<ProductCode>0x403</ProductCode>", "product 00000403"),
        ("<RevisionNo>65536</RevisionNo>", "<RevisionNo>65537</RevisionNo>", "revision 00010000; expected 00010001"),
        ("<CycleTime>1000</CycleTime>", "<CycleTime>500</CycleTime>", "CycleTime 500 us; the robot's"),
        ("<BitLength>160</BitLength>", "<BitLength>168</BitLength>", "160 bits of outputs"),
        ("<Index>#x6064</Index>", "<Index>#x606C</Index>", "is 6064:00 with 32 bits"),
    ],
)  # fmt: skip
def test_bus_that_is_not_that_of_the_file_is_refused_before_op(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    line, drives = segment()
    text = build_eni([device.objects for device in line.devices], 1_000_000)
    assert old in text
    with pytest.raises(ServotwinError) as caught:
        connected(line, network=st.read_eni(written(tmp_path, text.replace(old, new, 1))))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert all(int(device.machine.state) < 4 for device in line.devices)  # none came to SAFEOP
    assert not drives.drives["command"]["enable"].any()


def test_number_of_slaves_and_unknown_devices_are_refused(tmp_path: Path) -> None:
    line, _ = segment()
    objects = [device.objects for device in line.devices]
    with pytest.raises(ServotwinError, match=r"4 slaves on the bus; 3 are expected"):
        connected(line, network=st.read_eni(written(tmp_path, build_eni(objects[:3], 1_000_000))))
    other, _ = segment(identity=Identity(product=0x777))
    with pytest.raises(ServotwinError, match=r"slave 1 .*product 00000777.*is not described in"):
        connected(other, network=st.read_esi(written(tmp_path, build_esi(objects[0]))))
    assert [int(device.machine.state) for device in other.devices] == [1] * 4


def test_strange_hardware_stays_unarmed_whatever_the_file_says(tmp_path: Path) -> None:
    line, _ = segment(identity=Identity(vendor=251))
    network = st.read_eni(written(tmp_path, build_eni([d.objects for d in line.devices], 1_000_000)))
    with pytest.raises(InputError, match="--arm-hardware"):
        connected(line, network=network)


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><EtherCATConfig>&b;</EtherCATConfig>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOMB, "document type declaration"),
        ("<EtherCATInfo/>", "the file holds <EtherCATInfo>; expected <EtherCATConfig>"),
        ("<EtherCATConfig>", "broken XML"),
        ("", "broken XML"),
        ('<?xml version="1.0" encoding="x-none"?><EtherCATConfig/>', "broken XML"),
        ("<EtherCATConfig/>", "0 slaves; expected 1 to 1024"),
        ("<EtherCATConfig><Config><Slave/></Config></EtherCATConfig>", "Slave: no <Info>"),
        (
            "<EtherCATConfig><Config><Slave>\n<Info><VendorId>two</VendorId></Info></Slave></Config></EtherCATConfig>",
            "x.xml:2: VendorId: 'two' is no whole number",
        ),
        (
            "<EtherCATConfig><Config><Slave><Info><VendorId>#x100000000</VendorId></Info></Slave></Config></EtherCATConfig>",
            "too large; expected at most 32 bits",
        ),
    ],
)
def test_broken_files_are_refused_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        st.read_eni(written(tmp_path, text))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("<AutoIncAddr>65535</AutoIncAddr>", "<AutoIncAddr>65534</AutoIncAddr>", "65534 for slave 2; expected 65535"),
        (
            "<PhysAddr>4098</PhysAddr>\n      </PreviousPort>",
            "<PhysAddr>4097</PhysAddr></PreviousPort>",
            "slave 3 is not connected to slave 2",
        ),
        ("<Data>40420f00</Data>", "<Data>4042f</Data>", "no row of bytes"),
    ],
)  # fmt: skip
def test_line_of_the_file_must_be_one(tmp_path: Path, old: str, new: str, words: str) -> None:
    line, _ = segment()
    text = build_eni([device.objects for device in line.devices], 1_000_000)
    assert old in text
    with pytest.raises(InputError) as caught:
        st.read_eni(written(tmp_path, text.replace(old, new, 1)))
    assert words in str(caught.value)


def test_limits_of_size_hold(tmp_path: Path) -> None:
    entry = "<Entry><Index>1</Index><BitLen>8</BitLen></Entry>"
    device = "<Device><Type ProductCode='1'>x</Type><RxPdo><Index>1</Index>{}</RxPdo></Device>"
    devices = "<Descriptions><Devices>{}</Devices></Descriptions>"
    around = f"<EtherCATInfo><Vendor><Id>1</Id></Vendor>{devices}</EtherCATInfo>"
    with pytest.raises(InputError, match="256 entries; a PDO has at most 255"):
        st.read_esi(written(tmp_path, around.format(device.format(256 * entry))))
    with pytest.raises(InputError, match="more than 100000 characters"):
        st.read_esi(
            written(tmp_path, "<EtherCATInfo><Vendor><Id>" + "1" * 100_001 + "</Id></Vendor></EtherCATInfo>")
        )
    deep = "<EtherCATInfo>" + "<x>" * 5000 + "</x>" * 5000 + "</EtherCATInfo>"
    with pytest.raises(InputError, match="no <Vendor/Id>"):  # what is not read costs nothing
        st.read_esi(written(tmp_path, deep))
