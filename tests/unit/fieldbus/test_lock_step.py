"""Drives in lock-step: neither who looks after the slaves nor an interface that goes down changes their numbers."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from controlled_bus import LOCK_STEP, segment
from robot_bus import ENABLE, RobotBus
from servotwin.errors import SimulationError
from servotwin.fieldbus.controller.bus_plant import BusPlant
from servotwin.fieldbus.controller.run import ControlRun, control_job
from servotwin.fieldbus.ethercat.master.port import SegmentPort
from servotwin.fieldbus.ethercat.slave.records import ClockKind
from servotwin.fieldbus.ethercat.slave.segment import Segment
from servotwin.fieldbus.robot.faults import KINDS, Injection
from servotwin.fieldbus.serving import serve
from servotwin.simulation.stepping import Stepper
from small_bus import OP, SmallBus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from servotwin.fieldbus.controller.robot import BusRobot
    from servotwin.fieldbus.ethercat.master.exchange import Outcome

PERIODS = 300
FAULT_AT = 250_000_000  # ns


class WatchedBus(RobotBus):
    """Python looks after all slaves at every frame, whether it left something to do or not."""

    def go(self, *datagrams: Any) -> Any:
        answers = super().go(*datagrams)
        self.segment.attend()
        return answers


def moved(kind: type[RobotBus]) -> tuple[Any, list[bytes | None], bytes]:
    """Inputs of every period of a motion with a fault on its way, the emergency messages, the state of the plant."""
    bus = kind(faults=[Injection(FAULT_AT, 1, KINDS["encoder-lost"])])
    bus.enable()
    seen = []
    for k in range(PERIODS):
        for target in bus.targets:
            target[0] += round(2000 * np.sin(np.pi * k / PERIODS) ** 2)
        seen.append(bus.cycle(ENABLE))
    mails = [bus.fetch(slave) for slave in range(bus.m)]
    return seen, mails, bus.robot.machine.y.tobytes()


def test_looking_after_slaves_at_every_frame_changes_no_bit() -> None:
    seen, mails, state = moved(RobotBus)
    seen_watched, mails_watched, state_watched = moved(WatchedBus)
    assert seen == seen_watched
    assert state == state_watched
    assert mails == mails_watched
    assert [mail is None for mail in mails] == [True, False, True, True]
    assert mails[1] is not None
    assert mails[1][8:10] == b"\x05\x73", "the emergency of the drive that lost its encoder"
    assert seen[-1][1][5] == 0x7305
    assert seen[-1][0][2] - seen[0][0][2] > 100_000, "the arm moved"


def test_plant_that_fails_is_told_by_the_frame_that_it_failed_at() -> None:
    bus = RobotBus()
    bus.enable(settle=5)
    bus.robot.machine.y[:] = np.nan
    with pytest.raises(SimulationError, match="diverged at"):
        bus.cycle(ENABLE)


@pytest.fixture
def no_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interface whose socket is broken."""

    @contextmanager
    def broken(_: str) -> Iterator[Any]:
        yield SimpleNamespace(fileno=lambda: -1)

    monkeypatch.setattr("servotwin.fieldbus.serving.open_raw", broken)
    monkeypatch.setattr("servotwin.fieldbus.serving.drop_rights", list)


@pytest.mark.usefixtures("no_interface")
def test_drives_in_lock_step_wait_for_an_interface_that_went_down() -> None:
    bus = SmallBus()
    bus.to_op()
    before, cycles = bus.segment.now, int(bus.segment.record["cycles"][0])
    serve(bus.segment, "any", seconds=0.01)
    assert bus.segment.now == before, "no frame, no time"
    bus.exchange([(6, 8)])
    assert bus.state() == (OP, 0)
    assert bus.segment.now - before < 2_000_000
    assert int(bus.segment.record["cycles"][0]) == cycles + 1


@pytest.mark.usefixtures("no_interface")
def test_drives_in_real_time_live_on_without_their_interface() -> None:
    line = Segment(SmallBus().drives.application(), clock=ClockKind.WALL)
    before = line.now
    serve(line, "any", seconds=0.01)
    assert line.now > before


class LossyPort(SegmentPort):
    """Loses some frames, by their number; a Ctrl-C may come before one is sent."""

    def __init__(self, segment: Segment, lost: range, interrupted_at: int | None = None) -> None:
        super().__init__(segment)
        self.interrupted_at = interrupted_at
        self.lost, self.count = lost, -1_000_000  # of a set-up that loses none

    def exchange(self, frame: bytes, timeout: float, wanted: Callable[[bytes], bool]) -> bytes | None:
        self.count += 1
        if self.count == self.interrupted_at:
            raise KeyboardInterrupt
        return None if self.count in self.lost else super().exchange(frame, timeout, wanted)


def played(lost: range, fault_at: int | None = None, interrupted_at: int | None = None) -> ControlRun:
    """Kim's line, with frames that are lost, a drive that fails or a Ctrl-C on its way."""
    line, drives = segment()
    port = LossyPort(line, lost, interrupted_at)

    def started(robot: BusRobot) -> None:
        port.count = 0
        if fault_at is not None:
            cycle = robot.plant.image.cycle

            def failing() -> Outcome:
                drives.drives["feedback"]["fault"][2] = 0x7305 if port.count >= fault_at else 0
                return cycle()

            robot.plant.image.cycle = failing  # type: ignore[method-assign]

    return control_job("palletizer-line", port, settings=LOCK_STEP, started=started)


@pytest.mark.parametrize(
    ("lost", "fault_at", "alarm"),
    [
        (range(0), None, ""),
        (range(700, 702), None, ""),
        (range(700, 720), None, "no frame comes back"),
        (range(0), 900, "7305"),
    ],
    ids=["undisturbed", "two frames lost", "bus lost", "drive fails"],
)
def test_controller_follows_its_plan_as_it_does_period_by_period(
    monkeypatch: pytest.MonkeyPatch, lost: range, fault_at: int | None, alarm: str
) -> None:
    followed: list[int] = []
    count_follow = BusPlant.follow

    def counted(plant: BusPlant, stretch: Any, *rest: Any) -> None:
        count_follow(plant, stretch, *rest)
        followed.append(stretch.count)

    with monkeypatch.context() as patch:
        patch.setattr(BusPlant, "follow", counted)
        planned = played(lost, fault_at)
    with monkeypatch.context() as patch:
        patch.setattr(Stepper, "follow_plan", lambda *_: False)
        single = played(lost, fault_at)
    assert sum(followed) > 300, "most periods come from the plan"
    names = [name for name in single.log.dtype.names if name != "round_trip_ns"]
    assert all(np.array_equal(planned.log[name], single.log[name]) for name in names)
    assert planned.alarms == single.alarms
    assert planned.counts == single.counts
    assert planned.finished == (not alarm)
    assert alarm in " ".join(planned.alarms)
    assert np.array_equal(planned.played.commands.q, single.played.commands.q)


def test_interrupted_plan_keeps_what_was_commanded(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = played(range(0), interrupted_at=900)
    with monkeypatch.context() as patch:
        patch.setattr(Stepper, "follow_plan", lambda *_: False)
        single = played(range(0), interrupted_at=900)
    assert not planned.finished
    assert planned.summary()["reason"] == single.summary()["reason"]
    assert len(planned.log) == len(single.log) > 899
    assert np.array_equal(planned.log["position"], single.log["position"])
    assert np.array_equal(planned.played.commands.q, single.played.commands.q)
