"""SDOs and SDO information through mailboxes: expedited, normal, segmented, whole objects, refusals, emergencies."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as some

from servotwin.cli.main import main
from servotwin.fieldbus.coe.mailbox import Message, decode_message, encode_message
from servotwin.fieldbus.coe.sdo import SdoServer
from servotwin.fieldbus.objects.communication import Identity
from servotwin.fieldbus.objects.dictionary import Dictionary, new_axes
from servotwin.fieldbus.objects.process_data import check_mappings
from small_bus import SmallBus

HEAD = struct.Struct("<BHB")


def server(mailbox: int = 40, name: str = "n" * 100) -> SdoServer:
    objects = Dictionary(Identity(name=name), new_axes(1))
    check_mappings(objects)
    return SdoServer(objects, mailbox)


def ask(sdo: SdoServer, first: int, index: int, subindex: int, rest: bytes = bytes(4)) -> bytes:
    answer = sdo.answer(HEAD.pack(first, index, subindex) + rest)
    assert answer is not None
    return answer


def abort_code(answer: bytes) -> int:
    assert answer[0] == 0x80
    return int.from_bytes(answer[4:8], "little")


@pytest.fixture(scope="module")
def bus() -> SmallBus:
    made = SmallBus((2,))
    made.to_preop()
    return made


def test_expedited_there_and_back(bus: SmallBus) -> None:
    for index, subindex, data in (
        (0x607A, 0, b"\x01\x02\x03\x80"),
        (0x6060, 0, b"\x09"),
        (0x6040, 0, b"\x06\x00"),
    ):
        assert bus.download(0, index, subindex, data) == 0
        answer = bus.sdo(0, HEAD.pack(0x40, index, subindex) + bytes(4))
        assert answer[0] == 0x43 | (4 - len(data)) << 2
        assert answer[4 : 4 + len(data)] == data
    assert int(bus.drives.objects[0]["target_position"][0]) == int.from_bytes(
        b"\x01\x02\x03\x80", "little", signed=True
    )
    assert bus.download(0, 0x687A, 0, b"\x05\0\0\0") == 0
    assert int(bus.drives.objects[0]["target_position"][1]) == 5, "axis 1 stands 0x800 further"


def test_normal_and_segmented_upload() -> None:
    sdo = server()
    answer = ask(sdo, 0x40, 0x1008, 0)
    assert answer[0] == 0x41
    assert answer[4:8] == struct.pack("<I", 100)
    found, toggle = answer[8:], 0
    while len(found) < 100:
        answer = ask(sdo, 0x60 | toggle, 0, 0)
        assert answer[0] & 0xF0 == toggle
        assert len(answer) <= 32
        empty = answer[0] >> 1 & 7 if len(answer) == 8 else 0
        found += answer[1 : len(answer) - empty]
        toggle ^= 0x10
    assert answer[0] & 1 == 1
    assert found == b"n" * 100
    assert abort_code(ask(sdo, 0x60, 0, 0)) == 0x05040001
    short = ask(server(name="abcdefg"), 0x40, 0x1008, 0)
    assert short[8:] == b"abcdefg"


def test_segment_with_the_wrong_toggle_ends_the_transfer() -> None:
    sdo = server()
    ask(sdo, 0x40, 0x1008, 0)
    assert abort_code(ask(sdo, 0x70, 0, 0)) == 0x05030000
    assert abort_code(ask(sdo, 0x60, 0, 0)) == 0x05040001


@pytest.mark.parametrize("first", [0, 1])
def test_whole_object_there_and_back_in_segments(first: int) -> None:
    sdo = server(mailbox=34)
    mapped = [0x60400010, 0x607A0020, 0x60FF0020]
    data = (struct.pack("<H", 3) if first == 0 else b"") + struct.pack("<III", *mapped)
    if first == 1:
        ask(sdo, 0x2F, 0x1600, 0, b"\0\0\0\0")
        for k in range(3):
            ask(sdo, 0x23, 0x1600, k + 1, struct.pack("<I", mapped[k]))
        ask(sdo, 0x2F, 0x1600, 0, b"\x03\0\0\0")
    else:
        # begun with 4 bytes of data, then segments of 7
        answer = sdo.answer(HEAD.pack(0x31, 0x1600, 0) + struct.pack("<I", len(data)) + data[:4])
        assert answer is not None
        assert answer[0] == 0x70
        rest, toggle = data[4:], 0
        while rest:
            part, rest = rest[:7], rest[7:]
            last = 0 if rest else 1
            answer = sdo.answer(bytes([toggle | (7 - len(part)) << 1 | last]) + part.ljust(7, b"\0"))
            assert answer is not None
            assert answer[0] == 0x20 | toggle
            toggle ^= 0x10
    answer = ask(sdo, 0x50, 0x1600, first)
    assert answer[0] & 0xF3 == 0x51 | (0 if len(data) > 4 else 2)
    assert answer[8:] == data


@pytest.mark.parametrize(
    ("first", "index", "subindex", "rest", "code"),
    [
        (0x40, 0x5FFF, 0, bytes(4), 0x06020000),
        (0x40, 0x1018, 9, bytes(4), 0x06090011),
        (0x23, 0x1000, 0, bytes(4), 0x06010002),
        (0x23, 0x6040, 0, bytes(4), 0x06070012),
        (0x2B, 0x607A, 0, bytes(4), 0x06070013),
        (0x2B, 0x605A, 0, b"\x08\0\0\0", 0x06090031),
        (0x2B, 0x605A, 0, b"\xff\xff\0\0", 0x06090032),
        (0x23, 0x6083, 0, bytes(4), 0x06090032),
        (0x50, 0x6040, 0, bytes(4), 0x06010004),
        (0x23, 0x1600, 1, struct.pack("<I", 0x60400010), 0x06010003),
        (0x21, 0x1008, 0, struct.pack("<I", 10**9), 0x06070012),
        (0xE0, 0x1000, 0, bytes(4), 0x05040001),
    ],
)
def test_refusal_has_its_code(first: int, index: int, subindex: int, rest: bytes, code: int) -> None:
    assert abort_code(ask(server(), first, index, subindex, rest)) == code


def test_lists_and_descriptions_are_those_of_the_dictionary(bus: SmallBus) -> None:
    objects = bus.segment.devices[0].objects

    def information(kind: int, rest: bytes) -> bytes:
        bus.mail(0, struct.pack("<HBBH", 8 << 12, kind, 0, 0) + rest)
        found, more = b"", True
        while more:
            answer = bus.fetch(0)
            assert answer is not None
            assert answer[8] & 0x7F == kind + 1
            more = bool(answer[8] & 0x80)
            assert more == bool(int.from_bytes(answer[10:12], "little"))
            found += answer[12:]
        return found

    listed = information(1, struct.pack("<H", 1))
    indices = struct.unpack(f"<{len(listed) // 2 - 1}H", listed[2:])
    assert list(indices) == sorted(objects.lines)
    lengths = struct.unpack("<5H", information(1, struct.pack("<H", 0))[2:])
    assert lengths[0] == len(indices)
    for index in (0x1018, 0x6040, 0x60C2, 0x687A, 0x1C12):
        line = objects.lines[index]
        found = information(3, struct.pack("<H", index))
        assert struct.unpack_from("<H", found)[0] == index
        assert found[4:6] == bytes([max(e.subindex for e in line.entries), line.code])
        assert found[6:].decode() == line.name
        for entry in line.entries:
            found = information(5, struct.pack("<HBB", index, entry.subindex, 0))
            kind, bits, access = struct.unpack_from("<HHH", found, 4)
            assert (kind, bits, access) == (entry.type, entry.bits, entry.access_bits)
            assert found[10:].decode() == entry.name
    bus.mail(0, struct.pack("<HBBHH", 8 << 12, 3, 0, 0, 0x4444))
    answer = bus.fetch(0)
    assert answer is not None
    assert answer[8] == 7
    assert int.from_bytes(answer[12:16], "little") == 0x06020000


def test_unknown_protocol_and_bad_lengths_get_a_mailbox_error(bus: SmallBus) -> None:
    bus.mail(0, b"hello", protocol=4)
    answer = bus.fetch(0)
    assert answer is not None
    assert (answer[5] & 0x0F, answer[6:]) == (0, struct.pack("<HH", 1, 2))
    bus.write(0, 0x1000, struct.pack("<HHBB", 5000, 0, 0, 3).ljust(256, b"\0"))
    answer = bus.fetch(0)
    assert answer is not None
    assert answer[6:] == struct.pack("<HH", 1, 8)
    assert bus.fetch(0) is None


@given(some.binary(max_size=30), some.integers(0, 15), some.integers(0, 7))
def test_mailbox_message_reads_back(body: bytes, protocol: int, counter: int) -> None:
    message = Message(protocol, body, counter)
    assert decode_message(encode_message(message, 40)) == message


def test_what_the_drives_do_not_have_is_refused(bus: SmallBus) -> None:
    for index, good, bad in (
        (0x605A, b"\x06\0", b"\x04\0"),
        (0x6060, b"\x0a", b"\x07"),
        (0x6898, b"\x23", b"\x0f"),
    ):
        assert bus.download(0, index, 0, good) == 0
        assert bus.download(0, index, 0, bad) == 0x06090030


def test_emergency_comes_by_itself() -> None:
    bus = SmallBus()
    bus.to_op()
    bus.exchange([(0, 0)])
    bus.plant.context["fault"][0, 0] = 0x2310
    bus.exchange([(0, 0)])
    bus.exchange([(0, 0)])
    message = bus.fetch(0)
    assert message is not None
    assert message[6:] == struct.pack("<HHB5s", 1 << 12, 0x2310, 0x03, bytes(1))
    assert bus.sdo(0, HEAD.pack(0x40, 0x1001, 0) + bytes(4))[4] == 0x03
    for word in (0x00, 0x80, 0x80):
        bus.exchange([(word, 0)])
    message = bus.fetch(0)
    assert message is not None
    assert message[8:10] == bytes(2), "the error is gone"


def test_negative_value_is_a_value_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The limits 607D and the offsets are negative as often as not; -5000 is no option."""
    assert main(["bus", "sdo", "write", "1", "607D:01", "-5000", "--interface", "nosuch0"]) == 2
    assert "no network interface 'nosuch0'" in capsys.readouterr().err
