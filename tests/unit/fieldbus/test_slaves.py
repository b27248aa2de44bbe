"""Slave controllers: addressing, working counter, SyncManagers, FMMUs, EEPROM, watchdog, clocks."""

from __future__ import annotations

import struct
from random import Random

import numpy as np
import pytest

from servotwin.fieldbus.ethercat.frames import Command, Datagram, Frame, encode_frame, physical
from small_bus import (
    INPUT,
    INPUTS,
    MAILBOX,
    MAILBOX_OUT,
    OP,
    OUTPUT,
    OUTPUTS,
    SAFEOP,
    STATION,
    SmallBus,
)

C = Command


def test_working_counter_counts_each_slave_once() -> None:
    bus = SmallBus((1, 1, 1))
    two = bytes(2)
    found = bus.go(
        physical(C.BRD, 0, 0x0130, two),
        physical(C.APRD, -1, 0x0010, two),
        physical(C.FPRD, STATION + 2, 0x0010, two),
        physical(C.FPRD, 0x7777, 0x0010, two),
        physical(C.BWR, 0, 0x0200, b"\x34\x12"),
        physical(C.FPRW, STATION, 0x0200, b"\x78\x56"),
        physical(C.NOP, 0, 0, b"xy"),
        physical(C.FPWR, STATION, 0x0130, two),  # nobody may write AL status
    )
    assert [d.counter for d in found] == [3, 1, 1, 0, 3, 3, 0, 0]
    assert found[1].data == struct.pack("<H", STATION + 1)
    assert found[5].data == b"\x34\x12"  # what was there before
    assert bus.read(0, 0x0200, 2) == b"\x78\x56"
    assert found[6].data == b"xy"
    assert found[1].station == 2, "every slave adds one to a position"


def test_broadcast_read_ors_the_data() -> None:
    bus = SmallBus((1, 1, 1))
    for k in range(3):
        bus.write(k, 0x0200, bytes([1 << k, 0]))
    assert bus.go(physical(C.BRD, 0, 0x0200, b"\x40\0"))[0].data == b"\x47\0"
    (found,) = bus.go(physical(C.BRW, 0, 0x0200, b"\x80\0"))
    assert found.counter == 9
    assert found.data[0] & 0x81 == 0x81


def test_multiple_write_takes_what_one_slave_read() -> None:
    bus = SmallBus((1, 1, 1))
    bus.write(1, 0x0200, b"\x55\x01")
    for datagram in (physical(C.FRMW, STATION + 1, 0x0200, bytes(2)), physical(C.ARMW, -1, 0x0200, bytes(2))):
        (found,) = bus.go(datagram)
        assert found.counter == 3
        assert bus.read(2, 0x0200, 2) == b"\x55\x01"
    assert bus.read(0, 0x0200, 2) == bytes(2)  # it stands before the one that reads


def test_foreign_and_broken_frames_touch_nothing() -> None:
    bus = SmallBus()
    good = bytearray(
        encode_frame(Frame((physical(C.BWR, 0, 0x0200, b"\xff\xff"), physical(C.BRD, 0, 0, bytes(2)))))
    )
    second = 16 + 12 + 2
    for at, value in ((12, 0x08), (15, 0x20), (14, 0xFF), (second + 6, 0xFF), (second, 15)):
        bad = bytearray(good)
        bad[at] = value
        assert bus.segment.process(bytes(bad)) is None
    assert bus.segment.process(bytes(good[:29])) is None
    assert bus.read(0, 0x0200, 2) == bytes(2)
    assert bus.segment.process(bytes(good)) is not None


def test_answer_bears_the_mark_of_the_slaves() -> None:
    bus = SmallBus()
    answer = bus.segment.process(encode_frame(Frame((physical(C.BRD, 0, 0, bytes(2)),), source=bytes(6))))
    assert answer is not None
    assert answer[6] == 0x02


# --- SyncManagers -----------------------------------------------------------------------------------


def test_full_mailbox_refuses_and_empty_one_has_nothing() -> None:
    bus = SmallBus()
    bus.to_preop()
    assert bus.fetch(0) is None
    device = bus.segment.devices[0]
    device.attend = lambda now: None  # type: ignore[method-assign] -- the application is busy
    message = bytes(MAILBOX)
    assert bus.write(0, MAILBOX_OUT, message) == 1
    assert bus.number(0, 0x0805, 1) & 8
    assert bus.write(0, MAILBOX_OUT, message) == 0
    assert bus.go(physical(C.FPRD, STATION, MAILBOX_OUT, bytes(4)))[0].counter == 0  # wrong direction


def test_mailbox_in_parts_is_full_after_its_last_byte() -> None:
    bus = SmallBus()
    bus.to_preop()
    body = struct.pack("<H", 2 << 12) + struct.pack("<BHB4x", 0x40, 0x1000, 0)
    assert bus.write(0, MAILBOX_OUT + 8, b"x") == 0, "not from the first byte on"
    assert bus.write(0, MAILBOX_OUT, struct.pack("<HHBB", len(body), 0, 0, 0x13) + body) == 1
    assert bus.fetch(0) is None
    assert bus.write(0, MAILBOX_OUT + MAILBOX - 1, b"\0") == 1
    answer = bus.fetch(0)
    assert answer is not None
    assert answer[-4:] == struct.pack("<I", 0x00020192)


def test_repeat_request_brings_the_last_message_again() -> None:
    bus = SmallBus()
    bus.to_preop()
    bus.mail(0, struct.pack("<H", 2 << 12) + struct.pack("<BHB4x", 0x40, 0x1000, 0))
    first = bus.fetch(0)
    assert bus.fetch(0) is None
    bus.write(0, 0x080E, b"\x03")  # enabled, repeat bit toggled
    assert bus.number(0, 0x080F, 1) & 2 == 2
    assert bus.fetch(0) == first
    bus.write(0, 0x080E, b"\x01")
    assert bus.number(0, 0x080F, 1) & 2 == 0
    assert bus.fetch(0) == first


def test_message_that_is_repeated_is_not_carried_out_twice() -> None:
    bus = SmallBus()
    bus.to_preop()
    bus.mail(0, struct.pack("<H", 2 << 12) + struct.pack("<BHB4x", 0x40, 0x1000, 0))
    assert bus.fetch(0) is not None
    bus.counter -= 1
    bus.mail(0, struct.pack("<H", 2 << 12) + struct.pack("<BHB4x", 0x40, 0x1000, 0))
    assert bus.fetch(0) is None


def test_outputs_are_taken_only_when_they_are_complete() -> None:
    bus = SmallBus()
    bus.to_op()
    seen = int(bus.segment.slaves["outputs_seen"][0])
    data = OUTPUT.pack(6, 8, 77, 0, 0, 0, 0)
    assert bus.write(0, OUTPUTS, data[:10]) == 1
    assert int(bus.segment.slaves["outputs_seen"][0]) == seen
    assert int(bus.drives.objects[0]["target_position"][0]) == 0
    assert bus.write(0, OUTPUTS + 10, data[10:]) == 1
    assert int(bus.drives.objects[0]["target_position"][0]) == 77
    assert bus.write(0, OUTPUTS + 10, data[10:]) == 0


@pytest.mark.parametrize(("start", "size"), [(0x7200, 42257), (0x1200, 10), (0xFFF0, 256), (0x0900, 256)])
def test_mailbox_that_is_moved_after_preop_is_no_mailbox(start: int, size: int) -> None:
    bus = SmallBus()
    bus.to_preop()
    bus.manager(0, 1, start, size, 0x22)
    bus.mail(0, struct.pack("<H", 2 << 12) + struct.pack("<BHB4x", 0x40, 0x1000, 0))
    bus.segment.devices[0].emergency(0x2310, 3)
    bus.segment.attend()
    assert bus.number(0, 0x080D, 1) & 8 == 0


def test_inputs_stay_where_safeop_found_them() -> None:
    bus = SmallBus()
    bus.to_op()
    before = bus.segment.slaves["latest"].copy()
    moved = struct.pack("<HHBBBB", 0xFFFF, INPUT.size, 0x20, 0, 1, 0)
    outputs = Datagram(C.LWR, 0, OUTPUT.pack(0, 8, 0, 0, 0, 0, 0))
    bus.go(physical(C.FPWR, STATION, 0x0818, moved), outputs)  # in one frame: the slave leaves OP after it
    assert bus.segment.slaves["memory"][0, INPUTS : INPUTS + 2].any()
    assert (bus.segment.slaves["latest"][0, OUTPUT.size :] == before[0, OUTPUT.size :]).all()


# --- FMMUs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_fmmu_moves_bits_as_counted_one_by_one(seed: int) -> None:
    """Against a count of single bits in Python."""
    rng = Random(seed)
    bus = SmallBus()
    size, first, last, target = rng.randint(1, 6), rng.randrange(8), rng.randrange(8), rng.randrange(8)
    if size == 1 and last < first:
        first, last = last, first
    logical, place = rng.randint(100, 120), 0x3000 + rng.randrange(50)
    writes = rng.random() < 0.5
    bus.unit(0, 3, logical, size, place, 2 if writes else 1, first=first, last=last, target=target)
    memory = bus.segment.slaves["memory"][0]
    memory[0x3000:0x3100] = np.frombuffer(rng.randbytes(256), np.uint8)
    start, length = logical - rng.randint(0, 3), rng.randint(1, 10)
    data = rng.randbytes(length)
    before, frame = [int(b) for b in memory], list(data)
    want_memory, want_frame, met = list(before), list(frame), False
    bits = range(8 * logical + first, 8 * (logical + size - 1) + last + 1)
    for offset, bit in enumerate(bits):
        at = bit // 8 - start
        if 0 <= at < length:
            met = True
            byte, mask = (8 * place + target + offset) // 8, 1 << (8 * place + target + offset) % 8
            if writes:
                on = frame[at] >> (bit % 8) & 1
                want_memory[byte] = want_memory[byte] & ~mask | (mask if on else 0)
            else:
                on = bool(before[byte] & mask)
                want_frame[at] = want_frame[at] & ~(1 << bit % 8) | (on << bit % 8)
    (found,) = bus.go(Datagram(C.LWR if writes else C.LRD, start, data))
    assert found.counter == int(met)
    assert list(found.data) == want_frame
    assert [int(b) for b in memory[0x3000:0x3100]] == want_memory[0x3000:0x3100]


def test_read_write_writes_first_and_counts_three() -> None:
    """Outputs and inputs at the same logical address, as masters that overlap them do."""
    bus = SmallBus((1, 1))
    bus.to_op()
    bus.exchange([(0, 0), (0, 0)])
    for k in range(2):
        bus.unit(k, 0, 24 * k, OUTPUT.size, OUTPUTS, 2)
        bus.unit(k, 1, 24 * k, INPUT.size, INPUTS, 1)
    data = b"".join(OUTPUT.pack(6, 8, 5 + k, 0, 0, 0, 0).ljust(24, b"\0") for k in range(2))
    (found,) = bus.go(Datagram(C.LRW, 0, data))
    assert found.counter == 6
    assert [int(axes["target_position"][0]) for axes in bus.drives.objects] == [5, 6]
    assert INPUT.unpack(found.data[:24])[0] & 0x4F == 0x40


def test_mailbox_status_can_be_mapped() -> None:
    bus = SmallBus((1, 1))
    for k in range(2):
        bus.to_preop(k)
        bus.unit(k, 2, 0x500, 1, 0x080D, 1, first=k, last=k, target=3)
    assert bus.go(Datagram(C.LRD, 0x500, bytes(1)))[0].data == b"\0"
    bus.mail(1, struct.pack("<H", 2 << 12) + struct.pack("<BHB4x", 0x40, 0x1000, 0))
    (found,) = bus.go(Datagram(C.LRD, 0x500, bytes(1)))
    assert (found.data, found.counter) == (b"\x02", 2)


# --- EEPROM, watchdog, clocks -----------------------------------------------------------------------


def eeprom_words(bus: SmallBus, word: int) -> bytes:
    bus.write(0, 0x0502, struct.pack("<HI", 0x0100, word))
    assert bus.number(0, 0x0502, 2) & 0xA000 == 0
    return bus.read(0, 0x0508, 8)


def test_eeprom_reads_and_writes_words() -> None:
    bus = SmallBus()
    assert eeprom_words(bus, 8) == struct.pack("<II", 0xFFFF5457, 0x402)
    bus.write(0, 0x0508, b"\x11\x22")
    bus.write(0, 0x0502, struct.pack("<HI", 0x0200, 4))  # without write enable
    assert bus.number(0, 0x0502, 2) & 0x2000
    bus.write(0, 0x0508, b"\x11\x22")
    bus.write(0, 0x0502, struct.pack("<HI", 0x0201, 4))
    assert eeprom_words(bus, 4)[:2] == b"\x11\x22"
    assert bus.read(0, 0x0012, 2) == b"\x11\x22", "the alias comes from the EEPROM"
    assert eeprom_words(bus, 0x7FFFFFFF) == b"\xff" * 8


def test_watchdog_takes_outputs_out_of_force_and_the_slave_to_safeop() -> None:
    bus = SmallBus()
    bus.to_op()
    assert bus.number(0, 0x0440, 2) == 1
    bus.segment.idle(bus.segment.now + 95_000_000)
    assert bus.state() == (OP, 0)
    bus.segment.idle(bus.segment.now + 20_000_000)
    assert bus.state() == (SAFEOP | 0x10, 0x001B)
    assert bus.number(0, 0x0440, 2) == 0
    assert bus.number(0, 0x0442, 1) == 1
    seen = bus.exchange([(6, 8)])
    assert int(bus.drives.objects[0]["controlword"][0]) == 0, "outputs in SAFEOP are not taken"
    assert seen[0][0] & 0x200 == 0
    assert bus.ask(0, 0x10 | SAFEOP) == (SAFEOP, 0)
    assert bus.ask(0, OP) == (OP, 0)


def test_watchdog_of_zero_is_switched_off() -> None:
    bus = SmallBus()
    bus.write(0, 0x0420, bytes(2))
    bus.to_op()
    bus.segment.idle(bus.segment.now + 10_000_000_000)
    assert bus.state() == (OP, 0)


def test_line_is_seen_in_the_ports() -> None:
    bus = SmallBus((1, 1, 1))
    status = [bus.number(k, 0x0110, 2) for k in range(3)]
    assert status[0] == status[1]
    assert [s >> 4 & 0xF for s in status] == [0b0011, 0b0011, 0b0001]
    assert [s >> 8 for s in status] == [0b01011010, 0b01011010, 0b01010110]


def test_receive_times_give_the_delays() -> None:
    bus = SmallBus((1, 1, 1), hop_ns=700)
    bus.go(physical(C.BWR, 0, 0x0900, bytes(4)))
    spans = []
    for k in range(3):
        out, back = struct.unpack("<II", bus.read(k, 0x0900, 8))
        spans.append(back - out if k < 2 else 0)
    assert [(spans[0] - spans[1]) / 2, spans[1] / 2] == [700, 700]


def test_clocks_with_drift_follow_the_reference() -> None:
    bus = SmallBus((1, 1, 1), drifts=(0.0, 4e-5, -8e-5), hop_ns=600)
    times = []
    for k in range(3):
        times.append(bus.number(k, 0x0910, 8))
    for k in range(1, 3):
        bus.write(k, 0x0920, struct.pack("<q", times[0] - times[k]))
        bus.write(k, 0x0928, struct.pack("<I", 600 * k))
    free = []
    for cycle in range(3000):
        bus.go(physical(C.FRMW, STATION, 0x0910, bytes(8)))
        bus.segment.record["now"] += 1_000_000
        if cycle == 0:
            free = [bus.number(k, 0x092C, 4) for k in (1, 2)]
    assert all(f & 0x7FFFFFFF > 1000 for f in free)
    assert all(bus.number(k, 0x092C, 4) & 0x7FFFFFFF <= 3 for k in (1, 2))
    learned = bus.segment.slaves["correction"][1:]
    assert learned == pytest.approx([-4e-5, 8e-5], rel=0.01)
    now = [bus.go(physical(C.FPRD, STATION + k, 0x0910, bytes(8)))[0].data for k in range(3)]
    first, second, third = (int.from_bytes(n, "little") for n in now)
    # read in three frames, each 10 us later, and each at its own place of the line
    assert abs(second - first - 10_600) < 50
    assert abs(third - second - 10_600) < 50


def test_a_cleared_time_register_does_not_run_away_with_the_clock() -> None:
    bus = SmallBus((1,))
    bus.segment.record["now"] = 5_000_000_000
    before = bus.number(0, 0x0910, 8)
    bus.go(physical(C.BWR, 0, 0x0910, bytes(4)))
    bus.segment.record["now"] += 1_000_000_000
    assert abs(bus.number(0, 0x0910, 8) - before - 1_000_000_000) < 40_000
