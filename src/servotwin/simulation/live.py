"""A robot that can be driven by hand: main controller and plant, one period after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from servotwin.control.alarms import watch_of
from servotwin.control.axis_data import controller_of
from servotwin.control.exchange import Command, Feedback, PointStore, Reply, Settings
from servotwin.control.main_controller import MainController
from servotwin.control.pulses import Pulses
from servotwin.control.states import Event
from servotwin.description.load import read_description
from servotwin.description.motors import owners
from servotwin.description.schema import RobotDescription
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits, limits_of
from servotwin.robot.robot import Robot
from servotwin.simulation.estimate import check_live
from servotwin.simulation.job_plant import IdealPlant, MachinePlant, Plant
from servotwin.simulation.machine import build_machine
from servotwin.simulation.scenario_parts import Solver
from servotwin.simulation.start import Start

AVERAGED = Solver(pwm="averaged")


def make_controller(
    robot: Robot,
    limits: MotionLimits,
    description: RobotDescription,
    *,
    points: PointStore | None = None,
    hold_ns: int = Settings.hold_ns,
) -> MainController:
    """The main controller of a robot with a ``controller`` section; ``hold_ns``: see ``Settings``."""
    control = controller_of(description)
    delays = [axis.brake.delay for axis in description.axes.values() if axis.brake is not None]
    return MainController(
        robot,
        limits,
        control.main_period_ns,
        watch=watch_of(robot.joint_names, limits, control.position_bandwidth, units=tuple(robot.joint_units)),
        pulses=pulses_of(robot, description),
        settings=Settings(hold_ns=hold_ns, brake_ns=round(max(delays, default=0.0) * 1e9)),
        points=points,
    )


def pulses_of(robot: Robot, description: RobotDescription) -> Pulses | None:
    """The encoders of a robot as its controller knows them; None if one is not described."""
    N = robot.mechanism.rotors.N
    encoders = [description.axes[name].encoder for name in owners(description)]
    if N.shape[0] != N.shape[1] or not encoders or any(encoder is None for encoder in encoders):
        return None
    per_turn = np.array([encoder.counts for encoder in encoders if encoder is not None])
    return Pulses(np.asarray(N, dtype=np.float64), per_turn / (2.0 * math.pi))


def counted_pose(controller: MainController, q: Array) -> Array:
    """Joint positions (n,) of the counts next to q (n,): what a controller sees of an arm that stands there."""
    pulses = controller.pulses
    return q if pulses is None else pulses.joints(pulses.counts(q))


class LiveRobot:
    """What a pendant or console holds: ``press`` keys, call ``step`` once every ``period_ns``.

    ``drives`` True simulates motors and servo loops; otherwise the arm is where it shall be. ``inputs``,
    ``circuit_closed`` and ``dead_man`` are what the controller sees of its surroundings.
    """

    def __init__(
        self,
        robot: str | Path,
        overrides: Mapping[str, str] | None = None,
        *,
        drives: bool = False,
        q: Array | None = None,
        points: PointStore | None = None,
        hold_ns: int = Settings.hold_ns,
        allow_outside: bool = False,
    ) -> None:
        description = read_description(robot, dict(overrides or {}), allow_outside=allow_outside)
        self.description = description
        self.robot = Robot(build_mechanism(description), title=description.title)
        self.limits = limits_of(self.robot, description)
        self.controller = make_controller(
            self.robot, self.limits, description, points=points, hold_ns=hold_ns
        )
        start = self.robot.q_home if q is None else np.asarray(q, dtype=np.float64)
        self.plant: Plant = IdealPlant(start)
        if drives:
            check_live(description, AVERAGED)
            machine = build_machine(
                description,
                description,
                self.robot,
                self.robot,
                Start(start, settled=False),
                AVERAGED,
                rows=1,
            )
            self.plant = MachinePlant(machine, description, recording=False)
        self.inputs: dict[str, bool] = {}
        self.circuit_closed = self.dead_man = True
        self.now_ns = 0
        self.command = self.controller.step(-self.period_ns, Feedback(self.plant.feedback()[0]))

    @property
    def period_ns(self) -> int:
        """Between two steps."""
        return self.controller.period_ns

    @property
    def q(self) -> Array:
        """Counted joint positions (n,) [rad, m]."""
        return self.plant.feedback()[0]

    def press(self, event: Event | str, **arguments: Any) -> Reply:
        """See ``MainController.press``."""
        return self.controller.press(event, **arguments)

    def step(self) -> Command:
        """One period."""
        q, fault = self.plant.feedback()
        self.command = self.controller.step(
            self.now_ns,
            Feedback(
                q,
                drive_fault=fault,
                inputs=self.inputs,
                circuit_closed=self.circuit_closed,
                dead_man=self.dead_man,
            ),
        )
        until = self.now_ns + self.period_ns
        if not self.plant.carry_on(self.command, self.now_ns, until):
            self.press(Event.EMERGENCY_STOP)  # the simulation of the drives failed
        self.now_ns = until
        return self.command
