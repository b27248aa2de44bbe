"""The main controller over drives on a bus, in lock-step: modes, jobs, faults that are named, limits beneath."""

from __future__ import annotations

import itertools
import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from controlled_bus import LOCK_STEP, ROBOT, on_the_bus, segment
from servotwin.control.main.alarms import AlarmKind
from servotwin.control.main.states import Event, State
from servotwin.errors import InputError
from servotwin.fieldbus.cia402.application import Drives, ideal_plant
from servotwin.fieldbus.cia402.states import State as DriveState
from servotwin.fieldbus.controller.axes import POSITION, next_word
from servotwin.fieldbus.controller.clock import BusClock
from servotwin.fieldbus.controller.modes import PcMode
from servotwin.fieldbus.controller.operator_panel import OperatorPanel, operate, queued
from servotwin.fieldbus.controller.robot import BusRobot, BusSettings
from servotwin.fieldbus.controller.run import control_job
from servotwin.fieldbus.ethercat.master.exchange import Outcome
from servotwin.fieldbus.ethercat.master.port import SegmentPort
from servotwin.fieldbus.ethercat.slave.records import ClockKind
from servotwin.fieldbus.ethercat.slave.segment import Segment
from servotwin.fieldbus.objects.communication import Identity
from servotwin.fieldbus.robot.build import robot_drives
from servotwin.simulation.job_run import rehearse

if TYPE_CHECKING:
    from pathlib import Path


def finish(robot: BusRobot) -> None:
    """Step until the motion is done, and what it leads to has been measured."""
    for _ in range(5000):
        robot.step()
        if robot.controller.state is State.READY:
            break
    for _ in range(3):
        robot.step()


def axis_fault(drives: Drives, axis: int, code: int) -> None:
    assert drives.plant is not None
    drives.plant.context["fault"][0, axis] = code


@pytest.mark.parametrize("axes", [(1, 1, 1, 1), (4,)])
def test_modes_of_the_paper_enable_home_and_jog(axes: tuple[int, ...]) -> None:
    robot, _ = on_the_bus(axes)
    assert robot.controller.state is State.DISABLED
    panel = OperatorPanel(robot)
    assert panel.take("mode 1").startswith("ready")
    assert robot.plant.states == [DriveState.ENABLED] * 4
    before = robot.q.copy()
    panel.take("jog th1 5 deg")
    finish(robot)
    assert np.degrees(robot.q - before) == pytest.approx([5.0, 0.0, 0.0, 0.0], abs=1e-3)
    assert "refused" in panel.take("run palletizer-line")
    assert panel.take("mode 2").startswith("ready")
    start = robot.robot.fkine(robot.q)[:3, 3]
    panel.take("jog z -20 mm")
    finish(robot)
    assert robot.robot.fkine(robot.q)[:3, 3] - start == pytest.approx([0.0, 0.0, -0.02], abs=2e-5)
    panel.take("mode 0")
    finish(robot)
    assert robot.q == pytest.approx(robot.robot.q_home, abs=1e-5)
    panel.take("mode -1")
    for _ in range(20):
        robot.step()
    assert robot.plant.states == [DriveState.SWITCH_ON_DISABLED] * 4


def test_job_over_the_bus_gives_the_targets_of_the_rehearsal() -> None:
    line, _ = segment()
    run = control_job("palletizer-line", SegmentPort(line), settings=LOCK_STEP)
    rehearsed = rehearse("palletizer-line")
    assert run.finished
    reference = rehearsed.commands.q
    sent = run.log["q_ref"][run.log["time_ns"] >= 0]
    assert sent[: len(reference) - 1] == pytest.approx(reference[1:], abs=1e-12)
    # the drives count what they were told, one frame later: nothing but whole pulses between
    log = run.log[run.log["time_ns"] >= 0]
    assert np.abs(log["position"][1:] - log["target"][:-1]).max() <= 1


JOINTS = {
    "palletizer-4": (
        "{th1: -40 deg, th2: 90 deg, th3: -90 deg, th5: 0 deg}",
        "{th1: 40 deg, th2: 90 deg, th3: -90 deg, th5: 0 deg}",
    ),
    "gsis-scara": (
        "{A: -60 deg, B: -60 deg, Z: 0 mm, W: 0 deg}",
        "{A: 60 deg, B: 60 deg, Z: 50 mm, W: 90 deg}",
    ),
    "puma560": (
        "{j1: -50 deg, j2: -30 deg, j3: 30 deg, j4: 0 deg, j5: 20 deg, j6: 0 deg}",
        "{j1: 50 deg, j2: 10 deg, j3: -20 deg, j4: 40 deg, j5: -20 deg, j6: 50 deg}",
    ),
}


@pytest.mark.parametrize("robot", JOINTS)
def test_job_at_full_speed_ends_on_drives_whose_loops_follow_late(robot: str, tmp_path: Path) -> None:
    """Periods of 1, 16 and 28 ms; drives live through the whole of each."""
    first, second = JOINTS[robot]
    points = f"points:\n  P1: {{joints: {first}}}\n  P2: {{joints: {second}}}\n"
    (tmp_path / "p.points.yaml").write_text(f"format: servotwin-points/1\nrobot: {robot}\n{points}")
    (tmp_path / "p.job").write_text("MOVEJ P1 SPEED 100%\nMOVEJ P2 SPEED 100%\n")
    drives = robot_drives(robot, lock_step=True)
    before, periods = drives.plant.now_ns, int(drives.segment.record["cycles"][0])
    run = control_job(tmp_path / "p.job", SegmentPort(drives.segment), robot, settings=LOCK_STEP)
    assert run.finished, run.log["error"][-1]
    speed = run.log["q_ref"][1:] - run.log["q_ref"][:-1]
    limits, T = drives.robot.limits.qd_max, drives.segment.step_ns
    assert (np.abs(speed) / (limits * T * 1e-9)).max() > 0.95
    passed = int(drives.segment.record["cycles"][0]) - periods
    assert drives.plant.now_ns - before == pytest.approx(passed * T, rel=0.01)


@pytest.mark.parametrize(
    "axis, code, words", [(2, 0x2310, "over-current (2310)"), (0, 0x8400, "overspeed (8400)")]
)
def test_fault_of_a_drive_stops_the_controller_and_names_axis_and_slave(
    axis: int, code: int, words: str
) -> None:
    robot, drives = on_the_bus()
    assert robot.enable()
    robot.choose(PcMode.HOME)
    axis_fault(drives, axis, code)
    for _ in range(10):
        robot.step()
    name = robot.motors[axis]
    assert robot.controller.state is State.FAULT
    assert f"axis {name} (slave {axis + 1} (ServoTwin drive)): {words}" in str(robot.controller.alarms[0])
    assert any("emergency" in text and words in text for text in robot.plant.emergencies)
    for _ in range(300):
        robot.step()
    stood = drives.drives["feedback"]["position"].copy()
    for _ in range(50):
        robot.step()
    assert (drives.drives["feedback"]["position"] == stood).all()  # nothing moves on
    reply = robot.press(Event.RESET)
    assert reply, reply.reason
    assert robot.enable()


def test_lost_frames_beyond_the_tolerance_stop_and_can_be_recovered_from() -> None:
    robot, _ = on_the_bus()
    assert robot.enable()
    line = robot.port.segment  # type: ignore[attr-defined]
    line.record["lose"] = 3
    for _ in range(5):
        robot.step()
    assert robot.controller.state is State.READY  # three in a row are tolerated
    line.record["lose"] = 100
    for _ in range(5):
        robot.step()
    assert robot.controller.state is State.FAULT
    assert str(robot.controller.alarms[0]).startswith("bus: frames are lost between the master and slave 1")
    line.record["lose"] = 0
    reply = robot.press(Event.RESET)
    assert reply, reply.reason
    assert robot.enable()


def test_slave_that_leaves_op_stops_at_once_and_reset_brings_the_bus_up_again() -> None:
    robot, _ = on_the_bus()
    assert robot.enable()
    robot.master.wire.write(0x1002, 0x0120, b"\x04\x00")
    robot.step()
    robot.step()
    assert robot.controller.state is State.FAULT
    assert "slave 2 (ServoTwin drive): is in SAFEOP" in str(robot.controller.alarms[0])
    assert robot.press(Event.RESET)
    assert robot.enable()


def test_speeds_without_clocks_are_those_between_the_frames_that_had_drives_measure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Frames come at uneven instants; each fetches what was measured when the one before it passed."""
    robot, _ = on_the_bus()
    plant, image = robot.plant, robot.plant.image
    monkeypatch.setattr(plant, "clock", object())
    monkeypatch.setattr(robot.master, "reference", None)
    instants = np.cumsum([1_000_000, 700_000, 1_300_000, 1_000_000, 2_600_000, 400_000, 1_000_000])
    axis, speed = plant.axes[0], 50_000.0  # counts/s
    start = plant.positions.copy()
    found = []
    for before, at in itertools.pairwise(instants):
        image.record["sent_at"] = before

        def cycle(before: int = int(before), at: int = int(at)) -> Outcome:
            image.record["sent_at"] = at
            place, counts = axis.inputs[POSITION], round(start[0] + speed * before * 1e-9)
            struct.pack_into(place.format, memoryview(image.inputs).cast("B"), place.at, counts)
            return Outcome.WELL

        monkeypatch.setattr(image, "cycle", cycle)
        plant.idle()
        found.append(plant.feedback().qd)
    expected = np.linalg.inv(robot.robot.mechanism.rotors.N)[:, 0] * speed / axis.per_rad
    assert np.array(found[2:]) == pytest.approx(np.tile(expected, (len(found) - 2, 1)), rel=0.05)


def test_targets_outside_the_limits_are_not_sent() -> None:
    robot, drives = on_the_bus()
    assert robot.enable()
    command = robot.step()
    before = drives.drives["feedback"]["position"].copy()
    jump = replace(command, q=command.q + np.array([0.2, 0.0, 0.0, 0.0]), counts=None)
    robot.plant.carry_on(jump, 0, 1)
    robot.plant.carry_on(jump, 0, 1)
    assert "too far from the last one: not sent" in robot.plant.fault
    assert robot.plant.feedback().fault_kind is AlarmKind.SPEED
    assert drives.drives["feedback"]["position"] == pytest.approx(before, abs=1e-5)


def test_drives_that_are_not_simulated_have_to_be_armed() -> None:
    line, drives = segment(identity=Identity(vendor=0x1234, product=0x9))
    with pytest.raises(
        InputError, match=r"vendor 00001234: it is no simulated drive; --arm-hardware lets it move"
    ):
        BusRobot(ROBOT, SegmentPort(line), settings=LOCK_STEP)
    assert (drives.drives["state"] <= DriveState.SWITCH_ON_DISABLED).all()
    robot = BusRobot(ROBOT, SegmentPort(line), settings=BusSettings(lock_step=True, arm_hardware=True))
    robot.start()
    assert robot.enable()


def test_wrong_number_of_slaves_is_refused() -> None:
    drives = Drives([1, 1])
    drives.attach(ideal_plant(drives))
    line = Segment(drives.application(), clock=ClockKind.LOCK_STEP)
    with pytest.raises(InputError, match="2 slaves on the bus; expected 4 with one axis each, or one with 4"):
        BusRobot(ROBOT, SegmentPort(line), settings=LOCK_STEP)


def test_lines_of_an_operator_are_carried_out_one_after_the_other() -> None:
    robot, _ = on_the_bus()
    said: list[str] = []
    operate(
        robot,
        queued(["mode 1", "jog th1 1 deg", "jog th9 1 deg", "fly", "state"]),
        said.append,
        wait_for_motion=True,
    )
    assert said[0].startswith("ready")
    assert "no axis 'th9'" in said[2]
    assert "'fly' is not known" in said[3]
    assert "th1 1 deg" in said[4]


@pytest.mark.parametrize(
    "state, words",
    [(None, (0, 0)), (DriveState.FAULT, (0, 0)), (DriveState.QUICK_STOP, (0, 2)), (DriveState.READY, (7, 0))],
)
def test_control_words_lead_to_operation_and_out_of_it(
    state: DriveState | None, words: tuple[int, int]
) -> None:
    assert (next_word(state, enable=True), next_word(state, enable=False)) == words


def test_clock_follows_the_reference_and_leaves_out_what_is_past() -> None:
    now, period, offset = 0, 1_000_000, 300_000

    def sleep(seconds: float) -> None:
        nonlocal now
        now += round(seconds * 1e9)

    clock = BusClock(period, lambda: now, sleep)
    for k in range(400):
        clock.wait_until(k * period)
        clock.follow(round(now * (1 + 50e-6)) + offset, 0)  # a quartz that is 50 ppm fast
    assert abs(clock.phase_ns) < period // 100
    assert clock.skipped == 0
    now += 3_400_000
    clock.wait_until(400 * period)
    assert clock.skipped in (2, 3)
    assert clock.late_ns < period
