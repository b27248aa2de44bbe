"""Our own master against slaves in this process: set-up, objects, clocks, working counters, and what names a slave."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

import pytest

from servotwin.errors import ServotwinError
from servotwin.fieldbus.cia402.application import Drives, ideal_plant
from servotwin.fieldbus.ethercat.frames import decode_frame
from servotwin.fieldbus.ethercat.master.exchange import Outcome
from servotwin.fieldbus.ethercat.master.image import Image
from servotwin.fieldbus.ethercat.master.master import Master
from servotwin.fieldbus.ethercat.master.port import BusError, SegmentPort
from servotwin.fieldbus.ethercat.master.sdo import SdoRefusedError
from servotwin.fieldbus.ethercat.master.sii_read import parse_sii
from servotwin.fieldbus.ethercat.master.slaves import Expected
from servotwin.fieldbus.ethercat.slave.records import ClockKind
from servotwin.fieldbus.ethercat.slave.segment import Segment
from servotwin.fieldbus.objects.communication import Identity
from servotwin.fieldbus.objects.dictionary import Dictionary, new_axes
from servotwin.fieldbus.sii import build_sii

OURS = Expected(Identity().vendor, Identity().product)
PERIOD = 1_000_000


class Lossy(SegmentPort):
    """Loses or changes answers as a function says."""

    change: Callable[[bytes], bytes | None] = staticmethod(lambda data: data)

    def exchange(self, frame: bytes, timeout: float, wanted: Callable[[bytes], bool]) -> bytes | None:
        answer = super().exchange(frame, timeout, lambda _: True)
        changed = None if answer is None else self.change(answer)
        return changed if changed is not None and wanted(changed) else None


def line(
    axes: tuple[int, ...] = (1, 1, 1, 1), drifts: tuple[float, ...] = ()
) -> tuple[Master, Segment, Drives]:
    drives = Drives(axes)
    drives.attach(ideal_plant(drives))
    segment = Segment(drives.application(), clock=ClockKind.LOCK_STEP, drifts=drifts)
    return Master(Lossy(segment)), segment, drives


def in_op(
    axes: tuple[int, ...] = (1, 1, 1, 1), drifts: tuple[float, ...] = ()
) -> tuple[Master, Segment, Image]:
    master, segment, _ = line(axes, drifts)
    master.scan()
    master.to_preop()
    image = master.to_safeop(expected=[OURS] * len(axes), period_ns=PERIOD)
    master.operate(lambda: image.cycle() and None)
    return master, segment, image


def test_four_slaves_reach_op_with_clocks_that_follow_the_reference() -> None:
    master, segment, image = in_op(drifts=(1e-5, -2e-5, 3e-5, 0.0))
    assert [int(device.machine.state) for device in segment.devices] == [8] * 4
    assert [slave.delay_ns for slave in master.slaves] == [
        600 * k for k in range(4)
    ]  # a hop of the segment is 600 ns
    assert all(abs(d) < 1000 for d in master.differences.values())
    assert image.cycle() is Outcome.WELL
    assert image.number("counter") == 3 * 4


def test_sii_tells_what_the_dictionary_says() -> None:
    objects = Dictionary(Identity(serial=7), new_axes(2))
    sii = parse_sii(build_sii(objects, alias=5))
    assert (sii.vendor, sii.product, sii.serial, sii.alias) == (OURS.vendor, OURS.product, 7, 5)
    assert [m.use for m in sii.managers] == [1, 2, 3, 4]
    assert [pdo.index for pdo in sii.rx] == [0x1600, 0x1610]
    assert sii.rx[1].entries[0].index == 0x6840  # the controlword of the second axis
    assert sii.has_coe
    assert sii.has_clock


@pytest.mark.parametrize(
    "index, subindex, value",
    [(0x1008, 0, b"ServoTwin drive"), (0x1018, 1, OURS.vendor.to_bytes(4, "little"))],
)
def test_objects_are_read_expedited_and_whole(index: int, subindex: int, value: bytes) -> None:
    master, _, _ = line((1,))
    master.scan()
    master.to_preop()
    assert master.slaves[0].sdo.read(index, subindex) == value


def test_long_objects_go_in_segments_both_ways() -> None:
    master, _, _ = line((1,))
    (slave,) = master.scan()
    small = {name: (getattr(slave.sii, name)[0], 34) for name in ("mailbox_out", "mailbox_in")}
    slave.sii = replace(slave.sii, **small)  # type: ignore[arg-type]
    master.to_preop()
    whole = slave.sdo.read(0x1600, 0, complete=True)
    assert len(whole) > 34 - 8  # longer than the mailbox behind its headers
    slave.sdo.write(0x1600, 0, whole, complete=True)
    assert slave.sdo.read(0x1600, 0, complete=True) == whole
    assert len(slave.sdo.listed()) > 60
    assert slave.sdo.described(0x607D, 1).name == "Min position limit"


def test_refused_object_names_code_and_object() -> None:
    master, _, _ = line((1,))
    (slave,) = master.scan()
    master.to_preop()
    with pytest.raises(SdoRefusedError, match=r"2FFF:00 is refused: no object \(0x06020000\)"):
        slave.sdo.read(0x2FFF)


def test_other_products_and_numbers_of_slaves_are_refused_before_safeop() -> None:
    master, segment, _ = line((1, 1))
    master.scan()
    master.to_preop()
    with pytest.raises(BusError, match="2 slaves on the bus; 3 are expected"):
        master.to_safeop(expected=[OURS] * 3, period_ns=PERIOD)
    with pytest.raises(
        BusError, match=r"slave 2 .*product 00000402; expected vendor FFFF5457, product 00000007"
    ):
        master.to_safeop(expected=[OURS, Expected(OURS.vendor, 7)], period_ns=PERIOD)
    assert [int(device.machine.state) for device in segment.devices] == [2, 2]


def test_slave_that_leaves_op_is_found_by_the_counter_and_named() -> None:
    master, _, image = in_op()
    before = image.inputs.tobytes()
    master.wire.write(0x1003, 0x0120, struct.pack("<H", 4))
    outcome = image.cycle()
    assert outcome in (Outcome.COUNTER, Outcome.STATE)
    assert image.inputs.tobytes() == before
    error = master.diagnose(outcome)
    assert error.slave == 3
    assert "slave 3 (ServoTwin drive): is in SAFEOP" in str(error)


def test_slave_that_forgot_its_address_is_named() -> None:
    master, segment, _ = in_op()
    segment.devices[1].put(0x0010, 2, 0)
    assert "slave 2 (ServoTwin drive): does not answer" in str(master.diagnose(Outcome.COUNTER))


def test_lost_and_changed_answers_count_and_leave_the_inputs() -> None:
    master, _, image = in_op((1,))
    port = master.port
    assert isinstance(port, Lossy)
    port.change = lambda data: None
    assert image.cycle() is Outcome.LOST
    for at in (13, 15, 16, 17, 20):  # EtherType, header, command, index, address
        port.change = lambda data, at=at: data[:at] + bytes([data[at] ^ 0x11]) + data[at + 1 :]  # type: ignore[misc]
        assert image.cycle() is Outcome.LOST
    assert image.number("lost_now") == 6
    port.change = lambda data: data[:30]
    assert image.cycle() is Outcome.LOST
    port.change = lambda data: data
    assert image.cycle() is Outcome.WELL
    assert image.number("lost_now") == 0


def test_mailbox_answer_that_was_lost_is_asked_for_again() -> None:
    master, _, _ = line((1,))
    (slave,) = master.scan()
    master.to_preop()
    port, count = master.port, 0
    assert isinstance(port, Lossy)

    def lose_every_third(data: bytes) -> bytes | None:
        nonlocal count
        count += 1
        return None if count % 3 == 0 else data

    port.change = lose_every_third
    for _ in range(20):
        assert slave.sdo.read(0x1008) == b"ServoTwin drive"
    assert master.wire.lost > 5


def test_no_slaves_and_no_frames_are_said() -> None:
    master, _, _ = line((1,))
    port = master.port
    assert isinstance(port, Lossy)
    port.change = lambda data: None
    with pytest.raises(BusError, match="no frame comes back"):
        master.scan()

    def nobody(data: bytes) -> bytes:
        assert len(decode_frame(data).datagrams) == 1
        return data[: 16 + 10 + 1] + b"\0\0" + data[16 + 10 + 3 :]

    port.change = nobody
    with pytest.raises(BusError, match="no slave has answered"):
        master.scan()


def test_process_data_of_too_many_slaves_do_not_fit_into_a_frame() -> None:
    master, _, _ = line((8, 8, 8, 8, 8))
    master.scan()
    master.to_preop()
    with pytest.raises(ServotwinError, match="do not fit into one frame"):
        master.to_safeop(expected=[OURS] * 5, period_ns=PERIOD)


def test_closed_master_leaves_slaves_in_init() -> None:
    master, segment, _ = in_op()
    master.close()
    assert [int(device.machine.state) for device in segment.devices] == [1] * 4
