"""States of a slave: which changes it accepts, and the code with which it refuses."""

from __future__ import annotations

import struct

import pytest

from small_bus import (
    INIT,
    INPUTS,
    MAILBOX,
    MAILBOX_IN,
    MAILBOX_OUT,
    OP,
    OUTPUT,
    OUTPUTS,
    PREOP,
    SAFEOP,
    SmallBus,
)

ERROR = 0x10


def test_way_up_and_down() -> None:
    bus = SmallBus((1, 1))
    bus.to_op()
    for state in (SAFEOP, OP, PREOP, SAFEOP, INIT):
        if state == OP:
            bus.exchange([(0, 0), (0, 0)])
        assert bus.ask(0, state) == (state, 0)
    assert bus.state(1) == (OP, 0)


@pytest.mark.parametrize(
    ("start", "asked", "code"),
    [
        (INIT, SAFEOP, 0x11),
        (INIT, OP, 0x11),
        (PREOP, OP, 0x11),
        (INIT, 3, 0x13),
        (PREOP, 5, 0x12),
        (SAFEOP, 15, 0x12),
        (INIT, PREOP, 0x16),  # no mailbox
        (PREOP, SAFEOP, 0x1D),  # no SyncManager for outputs
    ],
)
def test_refused_change_keeps_the_state_and_says_why(start: int, asked: int, code: int) -> None:
    bus = SmallBus()
    if start == PREOP:
        bus.to_preop()
    elif start == SAFEOP:
        bus.to_safeop()
    assert bus.ask(0, asked) == (start | ERROR, code)


def test_error_stands_until_it_is_acknowledged() -> None:
    bus = SmallBus()
    assert bus.ask(0, OP) == (INIT | ERROR, 0x11)
    bus.manager(0, 0, MAILBOX_OUT, MAILBOX, 0x26)
    bus.manager(0, 1, MAILBOX_IN, MAILBOX, 0x22)
    assert bus.ask(0, PREOP) == (INIT | ERROR, 0x11)
    assert bus.ask(0, INIT | ERROR) == (INIT, 0)
    assert bus.ask(0, PREOP) == (PREOP, 0)


@pytest.mark.parametrize(
    ("number", "start", "size", "control"),
    [
        (0, 0x0F00, MAILBOX, 0x26),  # in the registers
        (0, MAILBOX_OUT, 20, 0x26),  # too short
        (0, MAILBOX_OUT, MAILBOX, 0x22),  # wrong way
        (1, MAILBOX_IN, MAILBOX, 0x20),  # no mailbox
        (1, MAILBOX_OUT + 10, MAILBOX, 0x22),  # on top of the other
        (1, 0xFFF0, MAILBOX, 0x22),  # beyond the end
    ],
)
def test_wrong_mailbox_is_refused(number: int, start: int, size: int, control: int) -> None:
    bus = SmallBus()
    bus.manager(0, 0, MAILBOX_OUT, MAILBOX, 0x26)
    bus.manager(0, 1, MAILBOX_IN, MAILBOX, 0x22)
    bus.manager(0, number, start, size, control)
    assert bus.ask(0, PREOP) == (INIT | ERROR, 0x16)


@pytest.mark.parametrize(
    ("number", "start", "size", "control", "code"),
    [
        (2, OUTPUTS, OUTPUT.size + 1, 0x64, 0x1D),
        (2, OUTPUTS, OUTPUT.size, 0x20, 0x1D),
        (2, 0x0900, OUTPUT.size, 0x64, 0x1D),
        (3, INPUTS, 5, 0x20, 0x1E),
        (3, INPUTS, 24, 0x22, 0x1E),
    ],
)
def test_process_data_that_does_not_fit_is_refused(
    number: int, start: int, size: int, control: int, code: int
) -> None:
    bus = SmallBus()
    bus.to_preop()
    bus.set_process_data()
    bus.manager(0, number, start, size, control)
    assert bus.ask(0, SAFEOP) == (PREOP | ERROR, code)


def test_fmmu_that_leaves_its_buffer_is_refused() -> None:
    bus = SmallBus()
    bus.to_preop()
    bus.set_process_data()
    bus.unit(0, 0, 0, OUTPUT.size + 1, OUTPUTS, 2)
    assert bus.ask(0, SAFEOP) == (PREOP | ERROR, 0x26)


def test_clock_settings_are_checked() -> None:
    bus = SmallBus()
    bus.to_preop()
    bus.set_process_data()
    assert bus.download(0, 0x1C32, 1, struct.pack("<H", 2)) == 0
    assert bus.ask(0, SAFEOP) == (PREOP | ERROR, 0x30)
    bus.write(0, 0x09A0, struct.pack("<I", 1000))
    bus.write(0, 0x0981, b"\x03")
    assert bus.ask(0, SAFEOP | ERROR) == (PREOP | ERROR, 0x36)
    bus.write(0, 0x09A0, struct.pack("<I", 1_000_000))
    assert bus.ask(0, SAFEOP | ERROR) == (SAFEOP, 0)


def test_op_waits_for_outputs_and_gives_up() -> None:
    bus = SmallBus()
    bus.to_safeop()
    assert bus.ask(0, OP) == (SAFEOP, 0)
    bus.exchange([(0, 0)])
    assert bus.state() == (OP, 0)
    assert bus.ask(0, PREOP) == (PREOP, 0)
    assert bus.ask(0, SAFEOP) == (SAFEOP, 0)
    assert bus.ask(0, OP) == (SAFEOP, 0)
    bus.segment.idle(bus.segment.now + 2_000_000_000)
    assert bus.state() == (SAFEOP | ERROR, 0x19)


def test_mapping_can_be_changed_in_preop_only() -> None:
    bus = SmallBus()
    bus.to_preop()
    assert bus.download(0, 0x1600, 0, b"\0") == 0
    assert bus.download(0, 0x1600, 1, struct.pack("<I", 0x60400010)) == 0
    assert bus.download(0, 0x1600, 2, struct.pack("<I", 0x60640020)) == 0x06040041  # an input
    assert bus.download(0, 0x1600, 0, b"\x01") == 0
    bus.set_process_data()
    assert bus.ask(0, SAFEOP) == (PREOP | ERROR, 0x1D)
    bus.manager(0, 2, OUTPUTS, 2, 0x64)
    bus.unit(0, 0, 0, 2, OUTPUTS, 2)
    assert bus.ask(0, SAFEOP | ERROR) == (SAFEOP, 0)
    assert bus.download(0, 0x1600, 0, b"\0") == 0x08000022
    assert bus.write(0, OUTPUTS, b"\x06\x00") == 1
    assert bus.ask(0, OP) == (OP, 0)
    bus.write(0, OUTPUTS, b"\x06\x00")
    assert int(bus.drives.objects[0]["controlword"][0]) == 6
