"""The drives of a robot in lock-step in this process, and a small master that speaks to them frame by frame."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from servotwin.fieldbus.ethercat.frames import Command, physical
from servotwin.fieldbus.robot.build import RobotDrives, robot_drives
from small_bus import INPUT, OUTPUT, STATION, SmallBus

CSP = 8
SHUTDOWN, SWITCH_ON, ENABLE, RESET = 0x06, 0x07, 0x0F, 0x80


class RobotBus(SmallBus):
    """A robot's drives in OP; ``cycle`` exchanges process data, ``enable`` brings all to operation enabled."""

    def __init__(self, robot: str = "palletizer-4", **settings: Any) -> None:
        self.robot: RobotDrives = robot_drives(robot, lock_step=True, **settings)
        self.drives, self.segment = self.robot.drives, self.robot.segment
        self.axes = tuple(len(axes) for axes in self.drives.objects)
        self.sizes = [(OUTPUT.size * n, INPUT.size * n) for n in self.axes]
        self.counter, self.m = 0, sum(self.axes)
        for k in range(len(self.axes)):
            self.go(physical(Command.APWR, -k, 0x0010, struct.pack("<H", STATION + k)))
        self.to_op()
        self.words, self.modes = [0] * self.m, [CSP] * self.m
        self.targets = [[0, 0, 0, 0, 0] for _ in range(self.m)]  # position, speed, torque, 60B2, 60B1
        self.cycle(0)

    def cycle(self, word: int | None = None, times: int = 1) -> list[tuple[Any, ...]]:
        """Inputs: statusword, mode, position, speed, torque, error, following error, digital inputs."""
        if word is not None:
            self.words = [word] * self.m
        for _ in range(times):
            self.inputs = self.exchange(
                [(w, mode, *t) for w, mode, t in zip(self.words, self.modes, self.targets, strict=True)]
            )
        return self.inputs

    def sdo(self, slave: int, request: bytes) -> bytes:
        """As the small bus, past the emergency messages that wait in the mailbox."""
        self.mail(slave, struct.pack("<H", 2 << 12) + request)
        for _ in range(20):
            answer = self.fetch(slave)
            if answer is not None and answer[7] >> 4 == 3:
                return answer[8:]
        raise AssertionError("no answer to an SDO")

    def hold(self) -> None:
        for target, found in zip(self.targets, self.inputs, strict=True):
            target[:] = [found[2], 0, 0, 0, 0]

    def enable(self, settle: int = 100) -> None:
        self.hold()
        for word in (SHUTDOWN, SWITCH_ON, ENABLE):
            self.cycle(word)
        self.cycle(ENABLE, settle)

    def states(self) -> list[int]:
        return [int(state) for state in self.drives.drives["state"]]

    def codes(self) -> list[int]:
        return [int(code) for axes in self.drives.objects for code in axes["error_code"]]

    def object(self, j: int, name: str) -> Any:
        slave, axis = self.drives.places[j]
        return self.drives.objects[slave][name][axis]

    def set_object(self, name: str, value: int, j: int | None = None) -> None:
        for k, (slave, axis) in enumerate(self.drives.places):
            if j is None or j == k:
                self.drives.objects[slave][name][axis] = value

    @property
    def counts(self) -> Any:
        return np.array([found[2] for found in self.inputs])
