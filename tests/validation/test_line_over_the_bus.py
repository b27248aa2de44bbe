"""Kim 2018's straight line over the bus: the tool path is that of the simulation in one process."""

from __future__ import annotations

import numpy as np

from robot_bus import RobotBus
from servotwin.description.load import read_description
from servotwin.fieldbus.robot.build import with_brakes
from servotwin.mechanism.build import build_mechanism
from servotwin.robot.robot import Robot
from servotwin.simulation.live_robot import pulses_of
from servotwin.simulation.plant.machine import build_machine
from servotwin.simulation.plant.start import Start
from servotwin.simulation.scenario.parts import Solver

SPEED, ACCELERATION, PERIOD = 0.5, 1.0, 1e-3  # m/s, m/s2, s
HELD = 4  # periods that the brakes hold before the drives are enabled
SETTLE = 500  # periods: the integrators have taken over what the brakes carried


def line() -> tuple[Robot, object, np.ndarray]:
    """Joints (k, 4) every millisecond on the line (915, -500, 700) to (915, 500, 700) mm, and the encoders."""
    description = read_description("palletizer-4")
    robot = Robot(build_mechanism(description))
    ramp = SPEED / ACCELERATION
    length = 1.0
    duration = length / SPEED + ramp
    t = np.arange(0.0, duration + PERIOD / 2, PERIOD)
    s = np.where(
        t < ramp,
        0.5 * ACCELERATION * t**2,
        np.where(
            t < duration - ramp,
            SPEED * (t - 0.5 * ramp),
            length - 0.5 * ACCELERATION * np.maximum(duration - t, 0.0) ** 2,
        ),
    )
    joints, q = [], robot.q_home
    for y in -0.5 + s:
        pose = np.eye(4)
        pose[:3, 3] = (0.915, y, 0.7)
        q = robot.ikine(pose, q)
        joints.append(q)
    return robot, pulses_of(robot, description), np.array(joints)


def in_process(setpoints: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Counts (k, 4) after each period, of the same set-points in the simulation without a bus.

    Its drives are enabled as the main controller does it, when the brakes have held for as long as on the bus.
    """
    description, _ = with_brakes(read_description("palletizer-4"))
    robot = Robot(build_mechanism(description))
    machine = build_machine(
        description, description, robot, robot, Start(start, settled=False), Solver(pwm="averaged"), rows=1
    )
    machine.servo.setpoints = np.zeros((1, 4, 3))
    machine.servo.setpoints[0, :, 0] = setpoints[0]
    machine.servo.enable(False)
    machine.advance(HELD * 1_000_000)
    machine.servo.enable(True, setpoints[0])
    found = []
    for k, row in enumerate(setpoints):
        machine.servo.setpoints[0, :, 0] = row
        machine.advance((HELD + k + 1) * 1_000_000)
        found.append(machine.servo.feedback["count"][0, :4].copy())
    return np.array(found)


def test_line_over_the_bus_is_that_in_process_to_one_count() -> None:
    robot, pulses, joints = line()
    counts = np.array([pulses.counts(q) for q in joints])
    setpoints = np.concatenate([np.repeat(counts[:1], SETTLE, axis=0), counts])
    reference = in_process(setpoints, joints[0])[SETTLE:]

    bus = RobotBus(q=joints[0])
    for target, count in zip(bus.targets, counts[0], strict=True):
        target[0] = int(count)
    for word in (0x06, 0x07):
        bus.cycle(word)
    assert bus.robot.plant.now_ns == HELD * 1_000_000
    bus.cycle(0x0F, times=SETTLE)
    found = []
    for row in counts:
        for target, count in zip(bus.targets, row, strict=True):
            target[0] = int(count)
        bus.cycle()
        found.append(bus.counts)
    assert bus.codes() == [0] * 4
    assert np.abs(np.array(found) - reference).max() <= 1
    tool = np.array([robot.fkine(pulses.joints(row))[:3, 3] for row in found[500:2000:100]])
    assert np.abs(tool[:, [0, 2]] - [0.915, 0.7]).max() < 2e-3, "the tool stays on the line"
    assert np.ptp(tool[:, 1]) > 0.69
