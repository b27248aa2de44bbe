"""Faults of a robot behind its drives: each has its code, its reaction and its recovery."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from one_drive import ENABLED, FAULT, REACTION
from robot_bus import ENABLE, RESET, SHUTDOWN, RobotBus
from servotwin.errors import InputError
from servotwin.fieldbus.ethercat.frames import Command, Frame, encode_frame, physical
from servotwin.fieldbus.robot.faults import KINDS, Injection, parse_fault_plan

# The standard's codes, written down a second time.
REPORTED = {
    "over-current": 0x2310, "short-circuit": 0x2320, "earth-leakage": 0x2330, "drive-overload": 0x2350,
    "mains-phase-lost": 0x3130, "surroundings-hot": 0x4110, "drive-hot": 0x4210, "control-supply-low": 0x5110,
    "processor-failed": 0x5220, "output-stage-failed": 0x5410, "fuse-blown": 0x5450, "memory-failed": 0x5530,
    "software-reset": 0x6010, "parameters-lost": 0x6320, "braking-resistor-failed": 0x7110,
    "current-measurement-failed": 0x7200, "encoder-lost": 0x7305, "speed-sensor-failed": 0x7310,
}  # fmt: skip
TURN = 1 << 20
SPEED = 2000  # counts in a period
HOME = np.array([0, 29897523, 0, 0])


@pytest.fixture(scope="module")
def bus() -> RobotBus:
    return RobotBus()


def ready(bus: RobotBus) -> None:
    """Enabled, at rest, without faults, whatever happened before."""
    for j in range(bus.m):
        bus.robot.injector.mend(j)
    bus.modes = [8] * bus.m
    bus.cycle(SHUTDOWN, 2)
    bus.cycle(RESET, 5)
    bus.enable(settle=50)
    assert bus.states() == [ENABLED] * bus.m, [f"{code:04X}" for code in bus.codes()]


def move(bus: RobotBus, periods: int, until: int | None = None) -> None:
    """All axes at a constant speed toward home, until one has a fault of this code, at most so many periods."""
    sides = np.where(bus.counts > HOME, -1, 1)
    for _ in range(periods):
        for target, side in zip(bus.targets, sides, strict=True):
            target[0] += int(side) * SPEED
        bus.cycle(ENABLE)
        if until is not None and until in bus.codes():
            return


def inject(bus: RobotBus, kind: str, value: int = 0, axis: int = 1) -> None:
    """By SDO, as a master in CI does."""
    number = KINDS[kind].number
    assert bus.download(axis, 0x2010, 2, value.to_bytes(4, "little", signed=True)) == 0
    assert bus.download(axis, 0x2010, 1, number.to_bytes(2, "little")) == 0


def mend(bus: RobotBus, axis: int = 1) -> None:
    assert bus.download(axis, 0x2010, 1, bytes(2)) == 0


def recover(bus: RobotBus, axis: int, code: int) -> None:
    """A reset does nothing while the fault is there; then it does, and the axis moves again."""
    assert bus.codes()[axis] == code
    assert bus.states()[axis] == FAULT
    assert bus.robot.machine.servo.command["enable"][0, axis] == 0
    before = bus.counts[axis]
    bus.cycle(ENABLE, 20)
    assert abs(bus.counts[axis] - before) < TURN // 50, "a brake holds the shaft"
    mend(bus, axis)
    ready(bus)
    move(bus, 100)
    bus.cycle(ENABLE, 300)
    assert np.abs(bus.counts - [target[0] for target in bus.targets]).max() < 2000
    assert bus.codes() == [0] * bus.m


@pytest.mark.parametrize("kind", REPORTED)
def test_what_the_hardware_reports_switches_off_at_once(bus: RobotBus, kind: str) -> None:
    ready(bus)
    move(bus, 30)
    inject(bus, kind)
    bus.cycle(ENABLE, 2)
    assert bus.states()[1] == REACTION
    assert bus.robot.machine.servo.command["enable"][0, 1] == 0, "no current flows any more"
    bus.cycle(ENABLE, 30)
    assert bus.inputs[1][5] == REPORTED[kind]
    assert [bus.states()[j] for j in (0, 2, 3)] == [ENABLED] * 3, "the others go on"
    bus.words[1] = RESET
    bus.cycle(times=6)
    assert bus.states()[1] == FAULT, "it is still there"
    recover(bus, 1, REPORTED[kind])


@dataclass(frozen=True)
class Found:
    """A fault that the drive finds by its sensors: injected, with its value in 2010:02, into an axis.

    ``all``: every drive reports it. ``ramp``: the drive still has power, and slows down first.
    """

    kind: str
    code: int
    value: int = 0
    axis: int = 1
    all: bool = False
    ramp: bool = False


FOUND = (
    Found("supply-voltage", 0x3220, 150_000, all=True),
    Found("supply-voltage", 0x3210, 600_000, all=True),
    Found("power-off", 0x3220, all=True),
    Found("winding-hot", 0x4310, 1700),
    Found("winding-open", 0x7122),
    Found("brake-closes", 0x8611, ramp=True),
    Found("encoder-stuck", 0x8611, axis=3, ramp=True),
    Found("encoder-loses-pulses", 0x8611, 3 * TURN, ramp=True),
    Found("current-sensor-offset", 0x2310, 100_000, axis=3),
)


@pytest.mark.parametrize("fault", FOUND, ids=lambda fault: f"{fault.kind}-{fault.code:04X}")
def test_what_the_drive_finds_has_its_code_its_reaction_and_its_recovery(bus: RobotBus, fault: Found) -> None:
    ready(bus)
    bus.set_object("following_window", TURN // 100 if fault.ramp else TURN, fault.axis)
    inject(bus, fault.kind, fault.value, fault.axis)
    move(bus, 300, fault.code)
    concerned = range(bus.m) if fault.all else (fault.axis,)
    for j in concerned:
        assert bus.codes()[j] == fault.code
        assert bus.states()[j] == REACTION
        assert bus.robot.machine.servo.command["enable"][0, j] == (1 if fault.ramp else 0)
    assert all(bus.states()[j] == ENABLED for j in set(range(bus.m)) - set(concerned)), "the others go on"
    if fault.kind == "winding-hot":
        assert bus.object(fault.axis, "temperature") == pytest.approx(fault.value, abs=20)
    if fault.kind == "supply-voltage":
        assert bus.object(fault.axis, "bus_voltage") == pytest.approx(fault.value, rel=0.05)
    bus.cycle(ENABLE, 100)
    assert [bus.states()[j] for j in concerned] == [FAULT] * len(concerned)
    if KINDS[fault.kind].lasts:  # reset and enabled although it is still there
        bus.cycle(SHUTDOWN, 2)
        bus.cycle(RESET, 5)
        bus.enable(settle=0)
        move(bus, 300, fault.code)
        bus.cycle(ENABLE, 100)
        assert bus.states()[fault.axis] == FAULT
    bus.set_object("following_window", TURN)
    recover(bus, fault.axis, fault.code)


def test_lost_frames_are_a_communication_fault(bus: RobotBus) -> None:
    """Without outputs for the watchdog time: 7500, slow-down by the option of faults."""
    ready(bus)
    move(bus, 50)
    inject(bus, "frames-lost", 5)
    bus.segment.attend()
    bus.robot.injector.apply(bus.robot.plant, bus.robot.plant.now_ns)
    status = encode_frame(Frame((physical(Command.BRD, 0, 0x0130, bytes(2)),)))
    assert [bus.segment.process(status) is None for _ in range(6)] == [True] * 5 + [False]
    bus.segment.idle(bus.segment.now + 101_000_000)
    bus.cycle(ENABLE)
    assert bus.states() == [REACTION] * 4
    assert bus.robot.machine.servo.command["enable"][0, : bus.m].all(), "a ramp needs power"
    bus.cycle(ENABLE, 300)
    assert bus.codes() == [0x7500] * 4
    assert bus.states() == [FAULT] * 4
    for k in range(bus.m):
        assert bus.state(k) == (4 | 0x10, 0x1B)
        bus.ask(k, 4 | 0x10)
        bus.ask(k, 8)
    recover(bus, 1, 0x7500)


def test_kinds_are_at_least_twenty_and_numbers_are_their_own() -> None:
    assert len(KINDS) >= 20
    assert set(KINDS) == set(REPORTED) | {fault.kind for fault in FOUND} | {"frames-lost"}, "each has a test"
    assert len({kind.number for kind in KINDS.values()}) == len(KINDS)
    assert {kind.code for kind in KINDS.values() if kind.code} == set(REPORTED.values())


# --- plans ------------------------------------------------------------------------------------------

PLAN = """
format: servotwin-drive-faults/1
faults:
  - {at: 20 ms, axis: th2, kind: encoder-lost, until: 40 ms}
  - {at: 0.1 s, kind: supply-voltage, value: 100 V}
"""
MOTORS = ("th1", "th2", "th3", "th5")


def test_plan_happens_at_its_instants() -> None:
    plan = parse_fault_plan(PLAN, MOTORS)
    assert plan[0] == Injection(20_000_000, 1, KINDS["encoder-lost"], 0.0, 40_000_000)
    bus = RobotBus(faults=plan)
    began = None
    for _ in range(60):
        bus.cycle(0)
        if bus.codes()[1] and began is None:
            began = bus.robot.plant.now_ns
    assert began is not None
    assert 20_000_000 <= began <= 23_000_000
    bus.words[1] = RESET
    bus.cycle(times=3)
    assert bus.codes()[1] == 0, "mended at 40 ms"
    assert [(where, what) for _, where, what in bus.robot.plant.happened] == [
        ("th2", "fault: encoder-lost"),
        ("th2", "error 7305"),
    ]


OVERLAPPING = """
format: servotwin-drive-faults/1
faults:
  - {at: 5 ms, axis: th2, kind: encoder-lost, until: 20 ms}
  - {at: 10 ms, axis: th2, kind: fuse-blown, until: 40 ms}
  - {at: 5 ms, axis: th1, kind: fuse-blown, until: 20 ms}
"""


def test_fault_that_is_mended_leaves_another_one_of_its_axis() -> None:
    bus = RobotBus(faults=parse_fault_plan(OVERLAPPING, MOTORS))
    bus.cycle(0, 24)
    bus.cycle(RESET, 5)
    assert bus.codes() == [0, 0x5450, 0, 0], "the encoder is mended, the fuse is not"
    bus.cycle(0, 15)
    bus.cycle(RESET, 5)
    assert bus.codes() == [0] * 4


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{at: 1 s, kind: encoder-lost}", "'axis' is missing; expected one of th1, th2, th3, th5"),
        ("{at: 1 s, axis: th9, kind: encoder-lost}", "no axis 'th9'"),
        ("{at: 1 s, axis: th1, kind: encoder-los}", "did you mean 'encoder-lost'"),
        ("{at: 1 m, axis: th1, kind: fuse-blown}", "time"),
        ("{at: 1 s, axis: th1, kind: fuse-blown, until: 0.5 s}", "out of range"),
        ("{at: 1 s, axis: th1, kind: power-off}", "concerns all axes"),
        ("{at: 1 s, kind: supply-voltage}", "'value' is missing"),
        ("{at: 1 s, axis: th1, kind: fuse-blown, value: 3 V}", "has no value"),
        ("{axis: th1, kind: fuse-blown}", "'at' is missing"),
    ],
)
def test_plan_that_cannot_be_used_is_refused_in_one_line(line: str, words: str) -> None:
    text = f"format: servotwin-drive-faults/1\nfaults:\n  - {line}\n"
    with pytest.raises(InputError, match=r"plan\.yaml:3") as refused:
        parse_fault_plan(text, MOTORS, "plan.yaml")
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert Path("plan.yaml").name in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("winding-hot", 2**31 - 1), ("winding-hot", -(2**31)), ("supply-voltage", -1), ("frames-lost", -1)],
)
def test_value_that_no_machine_survives_is_refused(kind: str, value: int) -> None:
    bus = RobotBus()
    assert bus.download(0, 0x2010, 2, struct.pack("<i", value)) == 0
    assert bus.download(0, 0x2010, 1, struct.pack("<H", KINDS[kind].number)) == 0x06090030
    bus.cycle(0, 5)
    unit = KINDS[kind].unit or ""
    axis = "" if KINDS[kind].shared else "axis: a, "
    text = f"format: servotwin-drive-faults/1\nfaults:\n  - {{at: 1 s, {axis}kind: {kind}, value: {value} {unit}}}\n"
    with pytest.raises(InputError, match="out of range"):
        parse_fault_plan(text, ("a",))


def test_plan_can_heat_a_winding() -> None:
    head = "format: servotwin-drive-faults/1\nfaults:\n"
    (found,) = parse_fault_plan(head + "  - {at: 1 s, axis: a, kind: winding-hot, value: 170 degC}\n", ("a",))
    assert found.value == 170.0
    for bad, text in (("170", "temperature"), ("170 V", "temperature"), ("[1]", "temperature")):
        with pytest.raises(InputError, match=text):
            parse_fault_plan(head + f"  - {{at: 1 s, axis: a, kind: winding-hot, value: {bad}}}\n", ("a",))
