"""One dictionary: SII, ESI, records and the documentation say the same."""

from __future__ import annotations

import struct
from xml.etree import ElementTree as Xml

import pytest

from servotwin.errors import ServotwinError
from servotwin.fieldbus.esi import build_esi
from servotwin.fieldbus.objects.communication import Identity
from servotwin.fieldbus.objects.dictionary import Dictionary, new_axes
from servotwin.fieldbus.objects.drive_profile import AXIS_OBJECTS, AXIS_TABLE
from servotwin.fieldbus.objects.process_data import process_data, process_data_size
from servotwin.fieldbus.objects.tables import DataType
from servotwin.fieldbus.sii import build_sii, check_sum, read_categories
from tools import objects_page

# from the facts of the standard: index, type, access for SDO, mapping
KNOWN = {
    0x603F: ("UINT", "ro", "T"),
    0x6040: ("UINT", "rw", "R"),
    0x6041: ("UINT", "ro", "T"),
    0x6060: ("SINT", "rw", "R"),
    0x6061: ("SINT", "ro", "T"),
    0x6064: ("DINT", "ro", "T"),
    0x606C: ("DINT", "ro", "T"),
    0x6071: ("INT", "rw", "R"),
    0x6077: ("INT", "ro", "T"),
    0x607A: ("DINT", "rw", "R"),
    0x60F4: ("DINT", "ro", "T"),
    0x60FD: ("UDINT", "ro", "T"),
    0x60FF: ("DINT", "rw", "R"),
}
LIST = """
603F 6040 6041 605A 605B 605C 605D 605E 6060 6061 6062 6064 6065 6066 606C 6071 6072 6073 6075 6076 6077 6078 6079 607A
607C 607D 607F 6080 6081 6083 6084 6085 608F 6091 6092 6098 6099 609A 60B0 60B1 60B2 60C2 60C5 60C6 60E0 60E1 60F4 60FD
60FE 60FF 6502 1000 1001 1008 1009 100A 1018 10F1 1600 1A00 1C00 1C12 1C13 1C32 1C33
"""
LISTED = [int(index, 16) for index in LIST.split()]


@pytest.fixture(scope="module", params=[1, 4])
def objects(request: pytest.FixtureRequest) -> Dictionary:
    return Dictionary(Identity(), new_axes(request.param))


def test_every_object_is_there_for_every_axis(objects: Dictionary) -> None:
    for index in LISTED:
        assert index in objects.lines, hex(index)
        if index >= 0x6000:
            assert all(index + 0x800 * n in objects.lines for n in range(len(objects.axes)))


def test_defaults_are_in_the_records_and_entries_have_places_of_their_own(objects: Dictionary) -> None:
    places = set()
    for line, entry in objects.entries():
        assert objects.read(line.index, entry.subindex) == entry.packed()
        if entry.field:
            at = objects.offset(line.index, entry)
            for byte in range(at, at + entry.bits // 8):
                assert byte not in places
                places.add(byte)
    assert len(AXIS_OBJECTS.names or ()) == sum(1 for line in AXIS_TABLE for e in line.entries if e.field)


def test_sii_holds_what_the_dictionary_says(objects: Dictionary) -> None:
    image = build_sii(objects, alias=7)
    assert image[14] == check_sum(image[:14])
    assert struct.unpack_from("<H", image, 8)[0] == 7
    assert struct.unpack_from("<II", image, 16) == (0xFFFF5457, 0x402)
    assert struct.unpack_from("<HHHHH", image, 0x30) == (0x1000, 256, 0x1200, 256, 4)
    assert len(image) == (struct.unpack_from("<H", image, 0x7C)[0] + 1) * 128
    categories = read_categories(image)
    assert [kind for kind, _ in categories[:4]] == [10, 30, 40, 41]
    managers = dict(categories)[41]
    sizes = [struct.unpack_from("<HHBBBB", managers, 8 * k)[1] for k in range(4)]
    assert sizes == [256, 256, process_data_size(objects, 0x1C12), process_data_size(objects, 0x1C13)]
    for kind, assign in ((50, 0x1C13), (51, 0x1C12)):
        found = []
        for data in (data for k, data in categories if k == kind):
            for at in range(8, 8 + 8 * data[2], 8):
                index, subindex, _, _, bits, _ = struct.unpack_from("<HBBBBH", data, at)
                found.append((index, subindex, bits))
        assert found == [(m.index, m.subindex, m.bits) for m in process_data(objects, assign)]


def test_damaged_sii_is_refused() -> None:
    image = build_sii(Dictionary(Identity(), new_axes(1)))
    with pytest.raises(ServotwinError, match="no end"):
        read_categories(image[:0x80])
    with pytest.raises(ServotwinError, match="beyond the end"):
        read_categories(image[:0x90])


def test_esi_holds_what_the_dictionary_says(objects: Dictionary) -> None:
    root = Xml.fromstring(build_esi(objects))
    described = {int(o.findtext("Index", "")[2:], 16): o for o in root.iter("Object")}
    assert set(described) == set(objects.lines)
    for index, (kind, access, mapped) in KNOWN.items():
        found = described[index]
        assert (
            found.findtext("Type"),
            found.findtext("Flags/Access"),
            found.findtext("Flags/PdoMapping"),
        ) == (
            kind,
            access,
            mapped,
        )
    for tag, assign in (("RxPdo", 0x1C12), ("TxPdo", 0x1C13)):
        entries = [e for pdo in root.iter(tag) for e in pdo.iter("Entry")]
        found = [(int(e.findtext("Index", "")[2:], 16), int(e.findtext("BitLen", ""))) for e in entries]
        assert found == [(m.index, m.bits) for m in process_data(objects, assign)]
    names = {t.findtext("Name") for t in root.iter("DataType") if t.find("Name") is not None}
    assert {o.findtext("Type") for o in described.values()} <= names
    assert root.findtext("Vendor/Id") == "#xFFFF5457"
    assert "fictitious" in root.findtext("Vendor/Name", "")


def test_axis_types_hold_their_limits() -> None:
    for line in AXIS_TABLE:
        for entry in line.entries:
            for value in (entry.default, entry.low, entry.high):
                if isinstance(value, int):
                    assert entry.type.unpack(entry.type.pack(value)) == value
    assert DataType.INTEGER16.unpack(b"\xff\xff") == -1


def test_too_many_axes_are_refused() -> None:
    with pytest.raises(ServotwinError, match="1 to 8"):
        Dictionary(Identity(), new_axes(9))


def test_page_of_objects_is_that_of_the_dictionary() -> None:
    text = objects_page.PAGE.read_text(encoding="utf-8")
    assert objects_page.page(text) == text, "run: python tools/objects_page.py"
