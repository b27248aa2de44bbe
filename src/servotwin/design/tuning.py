"""Gains for every axis of a robot, and how its loops do with the lightest and the heaviest load."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from servotwin.control.servo.axis_data import (
    controller_of,
    robot_gains,
    scaling_of,
    speed_limits,
    timing_of,
    word_warnings,
)
from servotwin.control.tuning.arm_modes import ArmModel, ElasticArm, has_elastic_gears
from servotwin.control.tuning.bandwidth_limit import BandwidthLimit, bandwidth_limit, resonance
from servotwin.control.tuning.gains import FixedGains, Gains, Scaling, default_integral_time, fixed_gains
from servotwin.control.tuning.loop_warnings import LoopWarning, loop_warnings, summarised
from servotwin.control.tuning.loops import AxisLoops, axis_loops
from servotwin.control.tuning.sampled import AxisModel, Timing
from servotwin.control.tuning.step_response import axis_run
from servotwin.control.tuning.valve import ValveModel
from servotwin.description.drive_data import DriveData, drive_of
from servotwin.description.hydraulic_data import cylinder_motors, valve_data
from servotwin.description.motors import required_drives
from servotwin.description.schema import Controller, Payload, RobotDescription
from servotwin.design.inertia_range import Extreme, Poses, heaviest, lightest
from servotwin.drives.own import is_own
from servotwin.errors import InputError, ShapeError, UnsupportedError
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array
from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates
from servotwin.robot.arguments import real_array
from servotwin.robot.described import Given, description_of
from servotwin.robot.regular import REGULAR
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia

KEPT = 0.99  # of a gain: less is worth a word
LOADS = ("lightest", "design", "heaviest")


@dataclass(frozen=True)
class Case:
    """One axis with one load."""

    load: str  # one of LOADS
    at: Extreme
    model: AxisModel | ValveModel
    loops: AxisLoops

    def step_response(self, gains: Gains, timing: Timing, level: str, duration: float) -> tuple[Array, Array]:
        """Times and values after a unit step of the loop's reference (``AxisRun.step_response``)."""
        return axis_run(self.model, gains, timing).step_response(level, duration)


@dataclass(frozen=True)
class StrokeCase:
    """A cylinder with one load at one position of its piston."""

    load: str  # one of LOADS
    position: float  # of the piston [m]
    model: ValveModel
    loops: AxisLoops


@dataclass(frozen=True)
class SpeedCommand:
    """What the voltage between axis controller and servo driver means."""

    speed: float  # largest motor speed [rad/s]
    voltage: float  # that stands for it [V]
    step: float | None  # one step of the converters [rad/s]; None without quantisation


@dataclass(frozen=True)
class AxisTuning:
    """Gains of one axis and its loops with every load."""

    motor: str
    gains: Gains
    scaling: Scaling | None
    integers: FixedGains | None
    level: str  # what the servo driver takes: 'speed' or 'current'
    timing: Timing
    command: SpeedCommand | None  # of a driver that takes speeds
    cases: tuple[Case, ...]  # in the order of LOADS
    words: tuple[str, ...]  # warnings about gains that the word length does not hold
    loops: tuple[LoopWarning, ...]  # warnings about the loops, with every load
    stroke: tuple[StrokeCase, ...] = ()  # of a cylinder: every load at positions over the stroke
    notes: tuple[str, ...] = ()  # about its valve
    limit: BandwidthLimit | None = None  # of its speed loop behind an elastic gear

    @property
    def valve(self) -> ValveModel | None:
        """The servovalve with its oil and load at the design pose; None of a motor."""
        model = self.case("design").model
        return model if isinstance(model, ValveModel) else None

    def case(self, load: str) -> Case:
        """The case of a load."""
        return self.cases[LOADS.index(load)]


@dataclass(frozen=True)
class Tuning(Plots, Tabulates, Reports, ShowsItself):
    """Gains of a robot, what they were computed for, and what is wrong with them."""

    robot: Robot
    description: RobotDescription
    q: Array  # design pose
    payload: float  # at the design pose [kg]
    payload_max: float  # of the heaviest load [kg]
    current_bandwidth: float  # [rad/s]
    speed_bandwidth: float  # [rad/s]
    position_bandwidth: float  # [1/s]
    integral_time: float  # of the speed loop [s]
    timing: Timing  # of the whole robot; an axis may have its own
    axes: tuple[AxisTuning, ...]  # those whose motor a bridge or a servovalve feeds
    poses: Poses  # that lightest and heaviest load were looked for in
    arm: ElasticArm | None = None  # at the design pose; None without elastic gears

    def __repr__(self) -> str:
        """A line; ``to_frame()`` has the gains."""
        return f"<Tuning of {self.robot.name}: {len(self.axes)} axes, {len(self.warnings)} warnings>"

    @property
    def cylinders(self) -> frozenset[str]:
        """Motors that are cylinders: what others count per radian, they count per metre, and a mass for an inertia."""
        return frozenset(cylinder_motors(self.description))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Of all axes, one line for what is wrong with several of them or with several loads."""
        lines = [line for axis in self.axes for line in axis.words]
        lines += summarised(warning for axis in self.axes for warning in axis.loops)
        regularity = self.poses.regularity(self.robot, self.q)
        if regularity is not None and regularity < self.poses.least:
            lines.insert(
                0,
                f"the design pose is near a parallel singularity: {regularity:.2g} of the best pose's distance; "
                f"gains are proposed for {self.poses.least:g} or more",
            )
        return tuple(lines)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the margins do not cover: motors without loops, poses of a closed chain next to a singularity."""
        lines = [
            f"motor {drive.name} is left out: {_untuned_text(drive)}"
            for drive in required_drives(self.description)
            if not (drive.actuator.bridge or drive.actuator.valve)
        ]
        lines += [note for axis in self.axes for note in axis.notes]
        if not self.poses.left_out:
            return tuple(lines)
        axis, worst = min(
            ((axis.motor, axis.case("heaviest").at) for axis in self.axes),
            key=lambda item: item[1].regularity or 0.0,
        )
        return (
            *lines,
            f"{100.0 * self.poses.left_out:.0f} % of the poses in the joint ranges are not judged: there the "
            f"actuated joints hold the passive ones less than {self.poses.least:g} times as well as at best, and the "
            f"inertia grows without bound towards the singularity. Of the heaviest loads that of {axis} is nearest "
            f"to one, {worst.regularity:.2f} of the best.",
        )


def tune(
    robot: Given,
    q: ArrayLike | None = None,
    *,
    overrides: Mapping[str, str] | None = None,
    payload_max: float | None = None,
    current_bandwidth: float | None = None,
    speed_bandwidth: float | None = None,
    position_bandwidth: float | None = None,
    regularity: float = REGULAR,
) -> Tuning:
    """Gains at a pose (default: home) for bandwidths (default: the file's), and the margins they leave.

    The lightest load is the empty robot, the heaviest one carries
    ``payload_max`` [kg] (default: the largest of the file, or its payload) where it stands on
    the tool in the file. Poses of a closed chain in which the actuated joints hold the passive ones less than
    ``regularity`` times as well as in its best pose are not judged: they are next to a parallel singularity.
    ``robot``: a catalogue name, a file, a description, or a robot loaded from one; ``overrides`` change its file.

    >>> import servotwin as st
    >>> len(st.tune("gsis-scara").axes)
    4
    """
    description = description_of(robot, overrides)
    controller = controller_of(description)
    asked = _checked(
        current_bandwidth=current_bandwidth,
        speed_bandwidth=speed_bandwidth,
        position_bandwidth=position_bandwidth,
    )
    model, empty, full, payload, most = _loaded(description, payload_max)
    pose = model.q_home if q is None else _pose(model, q)
    at_pose = motor_inertia(model, pose, held=True)
    tuned = _tuned(description)
    poses = Poses.of(model, _part(regularity))
    lights, heavies = lightest(empty, 0.0, poses), heaviest(full, most, poses)
    designs = robot_gains(description, at_pose, **asked)
    commands = _commands(controller, speed_limits(description, model.limits.qd_max))
    axes = []
    for i, motor in enumerate(model.mechanism.rotors.names):
        if motor not in tuned:
            continue
        here = Extreme(float(at_pose[i]), pose, payload, poses.regularity(model, pose))
        places = lights[i], here, heavies[i]
        axes.append(_axis(description, motor, *designs[i], places, commands[i]))
    speed = asked.get("speed_bandwidth", controller.speed_bandwidth)
    return Tuning(
        robot=model,
        description=description,
        q=pose,
        payload=payload,
        payload_max=most,
        current_bandwidth=asked.get("current_bandwidth", controller.current_bandwidth),
        speed_bandwidth=speed,
        position_bandwidth=asked.get("position_bandwidth", controller.position_bandwidth),
        integral_time=controller.speed_integral_time or default_integral_time(speed),
        timing=timing_of(controller),
        axes=tuple(axes),
        poses=poses,
        arm=ArmModel.of(description, model).at(pose) if has_elastic_gears(description) else None,
    )


def _pose(robot: Robot, q: ArrayLike) -> Array:
    """A position (n,) of the robot, or ShapeError."""
    pose = real_array("q", q)
    if pose.shape != (robot.n,) or not np.isfinite(pose).all():
        raise ShapeError(
            f"q is no position of {robot.name}; expected {robot.n} finite numbers, one per joint"
        )
    return pose


def _part(regularity: float) -> float:
    """A number above 0 and up to 1."""
    if not 0.0 < regularity <= 1.0:
        raise InputError(
            f"{regularity:g} is not a part of the best; expected above 0, and 1 at most", field="regularity"
        )
    return regularity


def _checked(**bandwidths: float | None) -> dict[str, float]:
    """The bandwidths that were asked for; they are positive numbers."""
    asked = {name: value for name, value in bandwidths.items() if value is not None}
    for name, value in asked.items():
        if not (math.isfinite(value) and value > 0.0):
            raise InputError(f"{value:g} rad/s is not a bandwidth; expected a positive number", field=name)
    return asked


def _tuned(description: RobotDescription) -> list[str]:
    """The motors that have loops to tune; complains where none has."""
    drives = required_drives(description)
    tuned = [drive.name for drive in drives if drive.actuator.bridge or drive.actuator.valve]
    if not tuned:
        raise UnsupportedError(f"axes.{drives[0].owner}.motor: {_untuned_text(drives[0])}")
    return tuned


def _untuned_text(drive: DriveData) -> str:
    """Why a motor has no margins, and what decides its gains."""
    if not is_own(drive.kind):
        return f"a motor of kind '{drive.kind}' has no current loop to tune"
    return (
        f"'{drive.kind}' closes its current loop itself, with a lag that only its code knows; its gains follow from "
        f"controller.position_bandwidth, speed_bandwidth and its torque_constant, or give controller.gains."
        f"{drive.name} (judge them with simulate --allow-code)"
    )


def _commands(controller: Controller, speeds: Array) -> list[SpeedCommand]:
    """The converters of every motor, from its largest speed command [rad/s]."""
    steps = 2 ** (controller.command_bits - 1) - 1 if controller.command_bits > 0 else 0
    return [
        SpeedCommand(float(w), controller.command_voltage, float(w) / steps if steps else None)
        for w in speeds
    ]


def _loaded(
    description: RobotDescription, payload_max: float | None
) -> tuple[Robot, Robot, Robot, float, float]:
    """The robot as described, empty and fully loaded; its payload and the largest one [kg]."""
    stated = description.payload or Payload()
    most = max(stated.mass, stated.largest or 0.0) if payload_max is None else payload_max
    if not (math.isfinite(most) and most >= 0.0):
        raise InputError(f"{most:g} kg is not a mass; expected zero or more", field="payload")

    def robot(payload: Payload) -> Robot:
        changed = description.model_copy(update={"payload": payload})
        return Robot(build_mechanism(changed), title=description.title)

    empty = Payload(mass=0.0, center=stated.center)
    full = stated.model_copy(update={"mass": max(most, stated.mass)})
    return robot(stated), robot(empty), robot(full), stated.mass, max(most, stated.mass)


def _axis(
    description: RobotDescription,
    motor: str,
    design: AxisModel | ValveModel,
    gains: Gains,
    places: tuple[Extreme, Extreme, Extreme],
    command: SpeedCommand,
) -> AxisTuning:
    controller = controller_of(description)
    level, timing = controller.level_of(motor), timing_of(controller, motor)
    cases = []
    warnings: list[LoopWarning] = []
    stroke: list[StrokeCase] = []
    for load, place in zip(LOADS, places, strict=True):
        model = design.with_load(place.J)
        case = Case(load, place, model, axis_loops(model, gains, timing))
        cases.append(case)
        where = "design pose" if load == "design" else f"{load} load"
        unit = "kg" if isinstance(model, ValveModel) else "kg m2"
        where = f"{where} ({place.J:.3g} {unit})"
        warnings += loop_warnings(motor, case.loops, where, margins=controller.margins)
        if isinstance(design, ValveModel):
            found = _over_stroke(design, load, place.J, gains, timing)
            stroke += found
            for at in found:
                there = f"{where}, piston at {1e3 * at.position:.4g} mm"
                warnings += loop_warnings(motor, at.loops, there, margins=controller.margins)
    scaling = None if isinstance(design, ValveModel) else scaling_of(description, motor)
    integers = fixed_gains(gains, scaling) if scaling is not None else None
    words = tuple(word_warnings(description, motor, gains))
    return AxisTuning(
        motor, gains, scaling, integers, level, timing, command if level == "speed" else None,
        tuple(cases), words, tuple(warnings), tuple(stroke), valve_notes(description, motor, design),
        _limit(controller, design, gains, timing),
    )  # fmt: skip


def _limit(
    controller: Controller, design: AxisModel | ValveModel, gains: Gains, timing: Timing
) -> BandwidthLimit | None:
    """What the speed loop of an axis behind an elastic gear can do at the design pose."""
    if isinstance(design, ValveModel) or resonance(design) is None:
        return None
    return bandwidth_limit(design, gains, timing, controller.margins, controller.speed_integral_time)


def _over_stroke(design: ValveModel, load: str, J: float, gains: Gains, timing: Timing) -> list[StrokeCase]:
    """The loops of a cylinder at positions over its stroke."""
    out = []
    for x in design.stroke:
        model = design.with_load(J, x)
        out.append(StrokeCase(load, x, model, axis_loops(model, gains, timing)))
    return out


def valve_notes(description: RobotDescription, motor: str, design: AxisModel | ValveModel) -> tuple[str, ...]:
    """What the design of a servovalve's loops had to give up, and how it is got back; what overlap leaves."""
    if not isinstance(design, ValveModel):
        return ()
    notes, valve = [], controller_of(description).valve
    if design.wanted_gain > 0.0 and design.pressure_gain < KEPT * design.wanted_gain:
        more = (
            ""
            if valve.scheduled or not design.stroke
            else "; controller.valve.scheduled: true makes it follow the piston and keeps more of it in mid stroke"
        )
        notes.append(
            f"axis {motor}: pressure feedback of {100.0 * design.pressure_gain / design.wanted_gain:.0f} % of what a "
            f"damping of {valve.damping:g} takes in mid stroke, so that its loop keeps its margins "
            f"{'over the whole stroke' if design.stroke else 'with this valve'}{more}"
        )
    overlap = max(-valve_data(description, drive_of(description, motor)).axis.underlap, 0.0)
    left = (1.0 - valve.overlap_compensation) * overlap
    if overlap > 0.0:
        rest = "all of it is jumped over by the driver" if left < 1e-9 else (
            f"the driver leaves {100.0 * left:.3g} % of the stroke in which no current moves the piston: it stands off "
            "or hunts there; expected overlap_compensation 1"
        )  # fmt: skip
        notes.append(
            f"axis {motor}: overlap {100.0 * overlap:.3g} %; gains and margins are those beyond it; {rest}"
        )
    return tuple(notes)
