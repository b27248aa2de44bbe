"""A job over a bus whose frames are lost or changed, and drives whose process was kept from running."""

from __future__ import annotations

import socket
import struct
import time

import numpy as np
import pytest

import servotwin as st
from bad_cable import ANYWHERE, HEADERS, LOST, BadCable
from controlled_bus import LOCK_STEP, ROBOT, segment
from servotwin.control.main.states import Event
from servotwin.fieldbus.cia402.states import State as DriveState
from servotwin.fieldbus.controller.modes import PcMode
from servotwin.fieldbus.controller.robot import BusRobot
from servotwin.fieldbus.ethercat.frames import Command, Datagram, Frame, encode_frame, physical
from servotwin.fieldbus.ethercat.master.exchange import Outcome
from servotwin.fieldbus.ethercat.slave.records import ClockKind
from servotwin.fieldbus.ethercat.slave.segment import Segment
from servotwin.jobs.player import Player
from servotwin.jobs.program import load_program
from servotwin.report.control_page import path_numbers
from small_bus import OUTPUT, STATION, SmallBus

MILLISECOND = 1_000_000


def test_a_thousand_lost_and_corrupted_frames_in_motion_do_no_harm() -> None:
    """Behind the drives is the whole robot; up to three cycles in a row stay without an answer."""
    robot = st.robot_drives(ROBOT, lock_step=True)
    cable = BadCable(robot.segment, 1, LOST + HEADERS)
    run = st.control_job(
        "palletizer-line", cable, settings=LOCK_STEP, started=lambda _: setattr(cable, "on", True)
    )
    assert cable.done >= 1000
    assert run.finished, run.alarms
    assert run.counts["lost"] > 800
    assert not any(int(axes["error_code"][0]) for axes in robot.drives.objects)
    numbers = path_numbers(run)
    assert numbers is not None
    assert numbers["largest"] < 2000.0  # um: the job still draws its line


@pytest.mark.parametrize("seed", range(6))
def test_changed_inputs_end_in_an_alarm_and_never_in_motion(seed: int) -> None:
    """No check sum is left at this place: what the header does not show must be found by the controller."""
    line, drives = segment()
    cable = BadCable(line, seed, ANYWHERE)
    run = st.control_job(
        "palletizer-line", cable, settings=LOCK_STEP, started=lambda _: setattr(cable, "on", True)
    )
    assert not run.finished
    assert run.alarms
    assert not any("Traceback" in text or "\n" in text for text in run.alarms)
    assert all(state != DriveState.ENABLED for state in drives.drives["state"])
    assert not drives.drives["command"]["enable"].any()


def test_cycles_without_an_answer_are_no_speed() -> None:
    """A joint at half its speed limit has gone four periods when the first answer after three lost ones comes."""
    line, _ = segment()
    cable = BadCable(line, 0, LOST[1:], share=1.0)
    robot = BusRobot(ROBOT, cable, settings=LOCK_STEP)
    robot.start()
    assert robot.choose(PcMode.TRAJECTORY)
    program = load_program("palletizer-line")
    assert robot.press(Event.LOAD, program=Player(program, robot.robot, robot.limits, period=1e-3))
    assert robot.press(Event.OVERRIDE, percent=100)
    assert robot.press(Event.RUN)
    fastest = np.zeros(len(robot.motors))
    for k in range(1200):
        cable.on = k % 7 < 3
        robot.step()
        feedback = robot.plant.feedback()
        assert feedback.qd is not None
        fastest = np.maximum(fastest, np.abs(feedback.qd))
    assert not robot.controller.alarms
    steps = np.abs(np.diff(robot.plant.log.filled["q_ref"], axis=0)).max(axis=0) / 1e-3
    assert (fastest <= 1.2 * steps + 1e-3).all()
    robot.close()


def test_state_that_was_misread_is_told_as_a_state() -> None:
    line, _ = segment()
    robot = BusRobot(ROBOT, BadCable(line, 0, LOST), settings=LOCK_STEP)
    robot.start()
    robot.plant.image.record["al_status"] = 0x0A
    robot.plant.image.record["answered"] = 4
    text = str(robot.master.diagnose(Outcome.STATE))
    assert text == "4 of 4 slaves told their state, together 0x0A; all are in OP again"


def frame(target: int, word: int = 0x0F) -> bytes:
    return encode_frame(Frame((Datagram(Command.LWR, 0, OUTPUT.pack(word, 8, target, 0, 0, 0, 0)),)))


def test_frames_that_waited_for_the_process_get_a_period_each() -> None:
    """Five set-points in a bunch, after five periods in which the drives did not run, are no jump over five."""
    bus = wall_bus()
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with here, there:
        there.setblocking(False)
        way, speeds, cycles = 0, [], int(bus.segment.record["cycles"][0])
        for word in (0x06, 0x07, 0x0F):
            here.send(frame(0, word))
            bus.segment.serve(there.fileno(), 0.003)
        begun = int(bus.segment.record["cycles"][0])
        assert begun > cycles
        for _ in range(20):
            for _ in range(5):
                way += 1000
                here.send(frame(way))
            time.sleep(0.005)
            bus.segment.serve(there.fileno(), 0.0002)
            speeds.append(float(bus.drives.drives["velocity"][0]))
        assert float(bus.drives.drives["position"][0]) == pytest.approx(way, abs=3000)
        assert int(bus.segment.record["cycles"][0]) - begun >= 95
        assert max(speeds) < 2.2e6  # 1000 units in a period are 1e6 units/s; five of them would be 5e6


def wall_bus() -> SmallBus:
    """Slaves in OP at the pace of the wall clock."""
    bus = SmallBus((1,))
    bus.segment = Segment(bus.drives.application(), clock=ClockKind.WALL)
    bus.go(physical(Command.APWR, 0, 0x0010, struct.pack("<H", STATION)))
    bus.to_op()
    bus.write(0, 0x0420, struct.pack("<H", 50_000))
    return bus


def test_time_of_a_pause_is_no_time_of_the_robot() -> None:
    bus = wall_bus()
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with here, there:
        there.setblocking(False)
        bus.segment.serve(there.fileno(), 0.01)
        lived, left = (int(bus.segment.record[name][0]) for name in ("lived", "left_out"))
        time.sleep(0.2)
        bus.segment.serve(there.fileno(), 0.01)
        assert int(bus.segment.record["lived"][0]) - lived < 50 * MILLISECOND
        assert int(bus.segment.record["left_out"][0]) - left > 150 * MILLISECOND
