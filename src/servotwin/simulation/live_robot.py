"""A robot that can be driven by hand: main controller and plant, one period after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from servotwin.control.main.alarms import watch_of
from servotwin.control.main.exchange import Command, PointStore, Reply, Settings
from servotwin.control.main.leading_stop import following_of
from servotwin.control.main.main_controller import MainController
from servotwin.control.main.overshoot import overshoot_of, settling_rate_of
from servotwin.control.main.pulses import Pulses
from servotwin.control.main.states import Event
from servotwin.control.servo.axis_data import controller_of
from servotwin.control.tuning.shaper_choice import MotionShapers
from servotwin.description.as_built import as_built
from servotwin.description.drive_data import drives_of
from servotwin.description.load import read_description
from servotwin.description.schema import RobotDescription
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array
from servotwin.mechanism.thermal_growth import true_mechanism
from servotwin.motion.limits import MotionLimits, limits_of
from servotwin.robot.robot import Robot
from servotwin.simulation.clock import Clock
from servotwin.simulation.job_plant import IdealPlant, MachinePlant, Plant
from servotwin.simulation.plant.machine import build_machine
from servotwin.simulation.plant.start import Start
from servotwin.simulation.preflight.estimate import check_live
from servotwin.simulation.scenario.io_script import Surroundings
from servotwin.simulation.scenario.parts import Solver
from servotwin.simulation.stepping import Stepper, Work, in_turn

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
    delays = [drive.brake.delay for drive in drives_of(description) if drive.brake is not None]
    controller = MainController(
        robot,
        limits,
        control.main_period_ns,
        watch=watch_of(
            robot.joint_names,
            limits,
            min(
                (control.bandwidth("position_bandwidth", drive.name) for drive in drives_of(description)),
                default=control.position_bandwidth,
            ),
            units=tuple(robot.joint_units),
            robot=robot,
        ),
        pulses=pulses_of(robot, description),
        settings=Settings(hold_ns=hold_ns, brake_ns=round(max(delays, default=0.0) * 1e9)),
        points=points,
    )
    controller.reference.shapers = MotionShapers(description, robot)
    controller.reference.shapers.shapes()  # refuses a robot file whose shaper has no mode
    return controller


def pulses_of(robot: Robot, description: RobotDescription) -> Pulses | None:
    """The encoders of a robot as its controller knows them; None if one is not described."""
    N = robot.mechanism.rotors.N
    drives = drives_of(description)
    counts = [drive.counts_per_rad for drive in drives if drive.counts_per_rad is not None]
    if N.shape[0] != N.shape[1] or not drives or len(counts) < len(drives):
        return None
    return Pulses(np.asarray(N, dtype=np.float64), np.array(counts))


def counted_pose(controller: MainController, q: Array) -> Array:
    """Joint positions (n,) of the counts next to q (n,): what a controller sees of an arm that stands there."""
    pulses = controller.pulses
    return q if pulses is None else pulses.joints(pulses.counts(q))


class LiveRobot:
    """What a pendant or console holds: ``press`` keys, call ``step`` once every ``period_ns``.

    ``drives`` True simulates motors and servo loops; otherwise the arm is where it shall be. ``surroundings``: inputs,
    safety circuit and enabling switch as the controller sees them. ``allow_code``: the Python code of actuators that
    the robot file names is run. ``step`` waits for the ``clock``, by default for nothing; ``planning``: how jobs are
    planned between two periods, see ``Stepper``; ``completed`` adds what a file leaves out, such as brakes.
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
        allow_code: bool = False,
        clock: Clock | None = None,
        planning: Callable[[Work], None] = in_turn,
        completed: Callable[[RobotDescription], RobotDescription] | None = None,
    ) -> None:
        description = read_description(robot, dict(overrides or {}), allow_outside=allow_outside)
        if completed is not None:
            description = completed(description)
        self.description = description
        self.robot = Robot(build_mechanism(description), title=description.title)
        self.limits = limits_of(self.robot, description)
        self.controller = make_controller(
            self.robot, self.limits, description, points=points, hold_ns=hold_ns
        )
        start = self.robot.q_home if q is None else np.asarray(q, dtype=np.float64)
        self.surroundings = Surroundings()
        self.plant: Plant = IdealPlant(start, self.surroundings)
        self.settling_rate = 0.0  # 1/s at which drives come after a reference that stands; zero: at once
        if drives:
            self.settling_rate = settling_rate_of(description)
            reference = self.controller.reference
            reference.following, reference.unled = following_of(self.robot, self.limits, description)
            reference.overshoot = overshoot_of(self.robot, self.limits, description)
            check_live(description, AVERAGED)
            truth = as_built(description)
            as_it_is = (
                self.robot if truth is description else Robot(true_mechanism(truth), title=description.title)
            )
            machine = build_machine(
                description,
                truth,
                self.robot,
                as_it_is,
                Start(start, settled=False),
                AVERAGED,
                rows=1,
                allow_code=allow_code,
            )
            self.plant = MachinePlant(machine, truth, self.surroundings, recording=False)
        self.stepper = Stepper(self.controller, self.plant, clock, planning)
        self.command = self.controller.step(-self.period_ns, self.plant.feedback())

    @property
    def period_ns(self) -> int:
        """Between two steps."""
        return self.controller.period_ns

    @property
    def now_ns(self) -> int:
        """When the next period begins."""
        return self.stepper.now_ns

    @property
    def q(self) -> Array:
        """Counted joint positions (n,) [rad, m]."""
        return self.plant.feedback().q

    @property
    def inputs(self) -> dict[str, bool]:
        """The inputs of the controller."""
        return self.surroundings.inputs

    def press(self, event: Event | str, **arguments: Any) -> Reply:
        """See ``MainController.press``."""
        return self.controller.press(event, **arguments)

    def step(self) -> Command:
        """One period."""
        self.command = self.stepper.step()
        if not self.stepper.well:
            self.press(Event.EMERGENCY_STOP)  # the simulation of the drives failed
        return self.command
