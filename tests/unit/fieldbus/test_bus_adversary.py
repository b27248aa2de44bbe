"""What a careless or hostile master does to slaves and drives: nothing moves that was not commanded to."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from one_drive import ENABLE, ENABLED, FAULT, NO_VOLTAGE, QUICK_STOP, REACTION, TURN, OneDrive
from servotwin.fieldbus.ethercat.frames import Command, Datagram, physical
from servotwin.fieldbus.ethercat.slave.records import ClockKind
from servotwin.fieldbus.objects.communication import Identity
from servotwin.fieldbus.objects.dictionary import Dictionary, new_axes
from servotwin.fieldbus.sii import Category, build_sii, read_categories
from small_bus import INIT, MAILBOX, MAILBOX_IN, OUTPUT, OUTPUTS, PREOP, STATION, SmallBus

PP, PV, TQ, HM, CSP, CSV, CST = 1, 3, 4, 6, 8, 9, 10
UPLOAD = struct.pack("<H", 2 << 12) + struct.pack("<BHBI", 0x40, 0x1000, 0, 0)


# --- slave controller -----------------------------------------------------------------------------


def test_another_master_may_begin_with_the_counter_of_the_last() -> None:
    bus = SmallBus()
    bus.to_preop()
    bus.mail(0, UPLOAD)
    assert bus.fetch(0) is not None
    bus.ask(0, INIT)
    bus.to_preop()
    bus.counter = 0  # a master that starts counts from 1 on, as the last one did
    bus.mail(0, UPLOAD)
    assert bus.fetch(0) is not None


def test_repeat_request_brings_what_was_read_and_then_what_came_after_it() -> None:
    bus = SmallBus()
    bus.to_preop()
    bus.mail(0, UPLOAD)
    bus.segment.devices[0].emergency(0x2310, 3)  # waits behind the answer
    lost = bus.fetch(0)
    bus.write(0, 0x080E, b"\x03")
    assert bus.number(0, 0x080F, 1) & 2 == 2
    assert bus.fetch(0) == lost
    after = bus.fetch(0)
    assert after is not None
    assert after[7] >> 4 == 1, "the emergency message is not lost"
    assert lost is not None
    assert after[5] >> 4 == (lost[5] >> 4) + 1, "and has the counter that it had"
    assert bus.fetch(0) is None


def test_another_sync_manager_brings_no_outputs() -> None:
    drive = OneDrive()
    drive.enable()
    drive.manager(0, 5, 0x3000, OUTPUT.size, 0x64)
    drive.write(0, 0x3000, OUTPUT.pack(ENABLE, CSP, TURN, 0, 0, 0, 0))
    drive.go(Datagram(Command.LRD, 0x10000, bytes(4)))
    assert int(drive.objects["target_position"][0]) == 0
    assert int(drive.segment.slaves["outputs_seen"][0]) == int(drive.segment.record["cycles"][0])


@pytest.mark.parametrize(
    ("number", "start", "size", "control", "code"),
    [
        (2, OUTPUTS, 1, 0x64, 0x1D),
        (2, OUTPUTS + 2, OUTPUT.size, 0x64, 0x1D),
        (2, OUTPUTS, OUTPUT.size, 0x20, 0x1D),
        (3, 0x2800, 3, 0x20, 0x1E),
    ],
)
def test_process_data_that_are_moved_in_op_end_op(
    number: int, start: int, size: int, control: int, code: int
) -> None:
    drive = OneDrive()
    drive.enable()
    fields = struct.pack("<HHBBBB", start, size, control, 0, 1, 0)
    drive.go(
        physical(Command.FPWR, STATION, 0x0800 + 8 * number, fields),
        physical(Command.FPWR, STATION, start, b"\xff" * size),
    )
    assert drive.state() == (PREOP | 0x10, code)
    assert int(drive.objects["controlword"][0]) == ENABLE, "nothing of the moved buffer was taken"
    drive.segment.idle(drive.segment.now + 1)


def test_bits_do_not_pass_a_sync_manager() -> None:
    bus = SmallBus()
    bus.to_preop()
    bus.unit(0, 4, 0x40000, 1, MAILBOX_IN, 2, first=0, last=3)  # a write into the mailbox that a master reads
    assert bus.go(Datagram(Command.LWR, 0x40000, b"\xff"))[0].counter == 0
    bus.unit(0, 4, 0x40000, 1, MAILBOX_IN, 1, first=0, last=3)  # a read of it, empty
    assert bus.go(Datagram(Command.LRD, 0x40000, b"\xff"))[0].counter == 0


def test_outputs_that_come_by_bits_arrive() -> None:
    """An FMMU that begins in the middle of a byte of the frame, against the same bits shifted by hand."""
    drive = OneDrive()
    size = OUTPUT.size
    drive.unit(0, 0, 0x20000, size + 1, OUTPUTS, 2, first=4, last=3)
    wanted = OUTPUT.pack(0x1234, CSP, 5678, -9, 10, -11, 12)
    shifted = (int.from_bytes(wanted, "little") << 4).to_bytes(size + 1, "little")
    assert drive.go(Datagram(Command.LWR, 0x20000, shifted))[0].counter == 1
    assert bytes(drive.segment.slaves["latest"][0][:size]) == wanted
    assert int(drive.objects["target_position"][0]) == 5678


def test_error_stands_until_it_is_acknowledged() -> None:
    bus = SmallBus()
    bus.to_preop()
    assert bus.ask(0, 8) == (PREOP | 0x10, 0x11)
    assert bus.ask(0, PREOP) == (PREOP | 0x10, 0x11), "the same state without acknowledgement"
    assert bus.ask(0, PREOP | 0x10) == (PREOP, 0)


def test_clock_category_has_its_fields_where_masters_look() -> None:
    """Three times of 4 bytes, factor of SYNC1, AssignActivate at byte 14, factor of SYNC0, name, description."""
    objects = Dictionary(Identity(), new_axes(1))
    categories = dict(read_categories(build_sii(objects)))
    data, strings = categories[Category.CLOCK], categories[Category.STRINGS]
    assert len(data) == 48
    names = []
    at = 1
    while len(names) < strings[0]:
        names.append(strings[at + 1 : at + 1 + strings[at]].decode())
        at += 1 + strings[at]
    for k, (activate, name) in enumerate(((0x0300, "DC-Synchronous"), (0, "SM-Synchronous"))):
        *_, found, _, number, _ = struct.unpack_from("<IIIhHhBB4x", data, 24 * k)
        assert (found, names[number - 1]) == (activate, name)


def _by_sync0(drive: OneDrive, cycle: int, start: int, offset: int = 0) -> None:
    """From now on SYNC0 and the wall clock set the pace."""
    memory = drive.segment.slaves["memory"][0]
    for at, size, value in ((0x0920, 8, offset), (0x0990, 8, start), (0x09A0, 4, cycle), (0x0981, 1, 3)):
        memory[at : at + size] = np.frombuffer(value.to_bytes(size, "little"), np.uint8)
    drive.segment.record["clock"] = ClockKind.WALL


def _idle(drive: OneDrive, milliseconds: int) -> int:
    """Cycles of the drives in so many milliseconds without a frame."""
    before = int(drive.segment.record["cycles"][0])
    for _ in range(milliseconds):
        drive.segment.idle(drive.segment.now + 1_000_000)
    return int(drive.segment.record["cycles"][0]) - before


def test_clock_that_is_set_back_goes_on_with_sync0() -> None:
    drive = OneDrive()
    _by_sync0(drive, 1_000_000, 0, offset=10**15)
    assert _idle(drive, 20) == pytest.approx(20, abs=1)
    _by_sync0(drive, 1_000_000, 0)
    assert _idle(drive, 20) == pytest.approx(20, abs=1)


@pytest.mark.parametrize(("cycle", "start"), [(1_000_000, 10**18), (4_000_000_000, 0)])
def test_watchdog_has_its_effect_without_sync0(cycle: int, start: int) -> None:
    drive = OneDrive()
    drive.enable()
    _by_sync0(drive, cycle, start)
    _idle(drive, 160)  # the watchdog has 100 ms
    assert drive.segment.devices[0].machine.state == 4
    assert int(drive.drives.drives["state"][0]) in (REACTION, FAULT)


@pytest.mark.parametrize(("sync0", "cycles"), [(True, 10), (False, 5)])
def test_periods_of_28_ms_are_lived_whole_and_once(sync0: bool, cycles: int) -> None:
    """A robot of the catalogue has them: drives counted 20 ms of each at most, or ran between two SYNC0."""
    drive = OneDrive()
    drive.segment.devices[0].cycle_ns = 28_000_000
    if sync0:
        _by_sync0(drive, 28_000_000, 0)
    drive.segment.record["clock"] = ClockKind.WALL
    _idle(drive, 60)
    lived = int(drive.segment.record["lived"][0])
    assert _idle(drive, 280) == pytest.approx(cycles, abs=1)
    assert int(drive.segment.record["lived"][0]) - lived == pytest.approx(280_000_000, abs=56_000_000)


# --- drives ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [0x6091, 0x6092])
def test_units_do_not_change_under_power(index: int) -> None:
    drive = OneDrive()
    drive.enable()
    drive.target = (TURN, 0, 0)
    drive.cycle(ENABLE, 200)
    before = float(drive.drives.drives["feedback"]["position"][0])
    assert drive.download(0, index, 1, struct.pack("<I", 7)) == 0x08000022
    drive.cycle(ENABLE)
    assert float(drive.drives.drives["feedback"]["position"][0]) == pytest.approx(before, abs=1e-5)
    drive.cycle(NO_VOLTAGE)
    assert drive.download(0, index, 1, struct.pack("<I", 7)) == 0


@pytest.mark.parametrize("subindex", [1, 2])
def test_resolution_of_the_encoder_is_told_not_set(subindex: int) -> None:
    """A master that writes 608F is told that it changes nothing: units come from 6091 and 6092."""
    drive = OneDrive()
    assert drive.download(0, 0x608F, subindex, struct.pack("<I", 20_000)) == 0x06010002
    assert int(drive.objects["encoder_increments"][0]) == TURN


def test_axis_outside_its_software_limits_stays_until_it_is_led_back() -> None:
    drive = OneDrive()
    drive.objects["position_limit_low"], drive.objects["position_limit_high"] = 5 * TURN, 6 * TURN
    drive.enable()
    drive.cycle(ENABLE, 3)
    assert drive.inputs[2] == 0
    drive.target = (-TURN, 0, 0)
    drive.cycle(ENABLE, 3)
    assert drive.inputs[2] == 0, "not further out"
    drive.target = (TURN // 100, 0, 0)
    drive.cycle(ENABLE, 3)
    assert drive.inputs[2] == TURN // 100
    drive.target = (7 * TURN, 0, 0)
    drive.cycle(ENABLE, 200)
    assert drive.inputs[2] == 6 * TURN


def test_blocked_profile_velocity_leaves_no_way_to_catch_up_in_another_mode() -> None:
    drive = OneDrive()
    drive.mode = PV
    drive.enable()
    drive.plant.context["stuck"][0, 0] = 1
    drive.target = (0, 10 * TURN, 0)
    drive.cycle(ENABLE, 500)
    drive.plant.context["stuck"][0, 0] = 0
    drive.mode, drive.target = PP, (0, 0, 0)
    drive.cycle(ENABLE, 200)
    assert abs(drive.inputs[2]) < TURN / 2, "a ramp from the demanded speed at most"


@pytest.mark.parametrize("mode", [PP, HM])
def test_speed_of_an_earlier_mode_is_forgotten(mode: int) -> None:
    drive = OneDrive()
    drive.mode = CSV
    drive.enable()
    drive.target = (0, 10 * TURN, 0)
    drive.cycle(ENABLE, 20)
    drive.mode = CST
    drive.cycle(ENABLE)
    drive.drives.drives["feedback"]["velocity"] = 0.0  # it came to rest
    drive.cycle(ENABLE, 2)
    before = drive.inputs[2]
    drive.mode = mode
    drive.cycle(ENABLE, 100)
    assert drive.inputs[2] == pytest.approx(before, abs=2)


def test_torque_of_an_earlier_mode_is_forgotten() -> None:
    drive = OneDrive()
    drive.objects["torque_slope"] = 1
    drive.mode = CST
    drive.enable()
    drive.target = (0, 0, 500)
    drive.cycle(ENABLE, 3)
    drive.mode, drive.target = 0, (0, 0, 0)
    drive.cycle(ENABLE, 5)
    drive.mode = TQ
    drive.cycle(ENABLE)
    assert abs(float(drive.drives.drives["torque"][0])) < 1.0


def test_fault_of_the_axis_during_a_fault_reaction_takes_the_power_at_once() -> None:
    drive = OneDrive()
    drive.mode = CSV
    drive.enable()
    drive.objects["stop_deceleration"] = TURN  # ten seconds
    drive.target = (0, 10 * TURN, 0)
    drive.cycle(ENABLE, 5)
    drive.segment.slaves["memory"][0][0x0440] &= 0xFE  # the watchdog
    drive.go(Datagram(Command.LWR, 0, b"\0"))
    drive.segment.slaves["memory"][0][0x0440] &= 0xFE
    drives = drive.drives.drives
    raised = drive.drives.context["operational"]
    raised[0, 0] = 0
    for state, powered in ((REACTION, 1), (FAULT, 0)):
        _run(drive, 3)
        assert (int(drives["state"][0]), int(drives["command"]["enable"][0])) == (state, powered)
        drive.fault(0x2310)


@pytest.mark.parametrize("option", ["quick_stop_option", "fault_option"])
def test_deceleration_of_zero_stops_all_the_same(option: int) -> None:
    """Process data have no range: 6084 may be 0."""
    drive = OneDrive()
    drive.mode = CSV
    drive.enable()
    drive.objects[option] = 1
    drive.objects["profile_deceleration"] = 0
    drive.target = (0, 10 * TURN, 0)
    drive.cycle(ENABLE, 5)
    if option == "fault_option":
        drive.drives.context["operational"][0, 0] = 0
        _run(drive, 1000)
    else:
        drive.cycle(QUICK_STOP, 1000)
    assert float(drive.drives.drives["feedback"]["velocity"][0]) == 0.0
    assert int(drive.drives.drives["command"]["enable"][0]) == 0


def test_homing_says_whether_it_is_under_way() -> None:
    """Bits 13, 12, 10 of the standard: 001 not started, 000 under way, 011 attained."""
    drive = OneDrive()
    drive.mode = HM
    drive.enable()
    drive.objects["homing_method"] = 34
    drive.cycle(ENABLE, 2)
    assert drive.inputs[0] & 0x3400 == 0x0400
    drive.cycle(ENABLE | 0x10, 2)
    assert drive.inputs[0] & 0x3400 == 0
    drive.cycle(ENABLE | 0x110, 200)
    assert drive.inputs[0] & 0x3400 == 0x0400, "halted, at rest"
    drive.objects["homing_speed_zero"] = 10 * TURN
    drive.cycle(ENABLE | 0x10, 500)
    assert drive.inputs[0] & 0x3400 == 0x1400


def _run(drive: OneDrive, times: int) -> None:
    """Cycles of the drives alone, without the slave's word on whether it is operational."""
    from ctypes import CFUNCTYPE, c_int64

    from servotwin.fieldbus.cia402.drive import drives_cycle

    cycle = CFUNCTYPE(c_int64, c_int64, c_int64, c_int64)(drives_cycle.address)
    context = drive.drives.context
    for k in range(times):
        cycle(context.ctypes.data, k, int(context["last"][0]) + 1_000_000)


def test_thousands_of_random_outputs_and_registers_never_enable_a_drive() -> None:
    """Any bytes anywhere but one shutdown command, which begins the enable sequence."""
    rng = np.random.default_rng(19)
    drive = OneDrive()
    for _ in range(2000):
        word = int(rng.integers(0, 2**16))
        if word & 7 == 6:
            word ^= 2
        drive.mode = int(rng.integers(-128, 128))
        drive.target = tuple(int(v) for v in rng.integers(-(2**15), 2**15, 3))
        drive.cycle(word)
        drive.write(
            0, int(rng.choice((0x1000, 0x1200, 0x2800))), rng.bytes(int(rng.integers(1, MAILBOX + 1)))
        )
        drive.write(0, int(rng.choice((0x0300, 0x0910, 0x0200, 0x0502, 0x0930))), rng.bytes(4))
        assert int(drive.drives.drives["state"][0]) != ENABLED
        assert drive.inputs[2] == 0
