"""From the description of a robot to its drives on a segment: objects, supervision, machine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from servotwin.control.servo.axis_data import bus_voltage_of, controller_of
from servotwin.description.checks import motor_names
from servotwin.description.drive_data import OVERLOAD, DriveData
from servotwin.description.drive_parts import Brake
from servotwin.description.load import read_description
from servotwin.description.motors import required_drives
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError
from servotwin.fieldbus.cia402.application import Drives, check_options
from servotwin.fieldbus.cia402.drive import OFF_LIMIT
from servotwin.fieldbus.cia402.states import ErrorCode
from servotwin.fieldbus.coe.abort import AbortCode, SdoAbortError
from servotwin.fieldbus.ethercat.slave.records import ClockKind
from servotwin.fieldbus.ethercat.slave.segment import Application, Segment
from servotwin.fieldbus.objects.communication import MOST_AXES
from servotwin.fieldbus.objects.dictionary import Dictionary
from servotwin.fieldbus.robot.faults import MEND_ALL, NUMBERS, Injection, Injector
from servotwin.fieldbus.robot.plant import RobotPlant
from servotwin.fieldbus.robot.records import SUPERVISED
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.simulation.plant.drive_records import highest_voltage
from servotwin.simulation.plant.machine import Machine, build_machine
from servotwin.simulation.plant.start import Start
from servotwin.simulation.results.energy import energies_before
from servotwin.simulation.scenario.parts import Solver

TURN = 2.0 * math.pi
TRIP = 1.3  # over-current and overspeed over the limits of the loops
UNDERVOLTAGE = 0.7  # of the nominal voltage
PEAK_TIME = 3.0  # s that a drive gives its peak current
CAM = 0.02  # half the width of the home switch, of the range of its joint
ASSUMED_BRAKE = 1.2  # torque of a brake that the file does not state, over the motor's largest
FAULT_OBJECT = 0x2010
MOST_HAPPENED = 1000  # events that a recording keeps


@dataclass
class RobotDrives:
    """The drives of a robot on a segment of slaves, and the plant behind them.

    ``held``: motors without a brake in the file, which are held while their drives are off.
    """

    description: RobotDescription
    robot: Robot
    machine: Machine
    drives: Drives
    plant: RobotPlant
    segment: Segment
    motors: Sequence[str]
    held: Sequence[str]
    stored_before: dict[str, float]  # J, at the begin
    pwm: str
    seed: int

    @property
    def injector(self) -> Injector:
        """Injects faults."""
        return self.plant.injector


def robot_drives(
    robot: str | Path,
    overrides: Mapping[str, str | None] | None = None,
    *,
    axes_per_slave: int = 1,
    lock_step: bool = False,
    pwm: str = "averaged",
    q: Array | None = None,
    faults: Sequence[Injection] = (),
    recording: bool = False,
    allow_outside: bool = False,
    allow_code: bool = False,
    seed: int = 1,
    **settings: Any,
) -> RobotDrives:
    """The drives of a robot, off, its brakes closed, at joints q (n,), by default at home.

    ``pwm``: averaged or switched. ``settings`` are those of ``Segment``.
    """
    description = read_description(robot, dict(overrides or {}), allow_outside=allow_outside)
    return drives_of_description(
        description, axes_per_slave=axes_per_slave, lock_step=lock_step, pwm=pwm, q=q, faults=faults,
        recording=recording, allow_code=allow_code, seed=seed, **settings,
    )  # fmt: skip


def drives_of_description(
    description: RobotDescription,
    *,
    axes_per_slave: int = 1,
    lock_step: bool = False,
    pwm: str = "averaged",
    q: Array | None = None,
    faults: Sequence[Injection] = (),
    recording: bool = False,
    allow_code: bool = False,
    seed: int = 1,
    **settings: Any,
) -> RobotDrives:
    """See ``robot_drives``."""
    check_drivable(description)
    motors = motor_names(description)
    braked, held = with_brakes(description)
    model = Robot(build_mechanism(braked), title=description.title)
    start = model.q_home if q is None else np.asarray(q, dtype=np.float64)
    machine = build_machine(
        braked, braked, model, model, Start(start, settled=False), Solver(pwm=pwm), every_piece=True,
        row_every_ns=controller_of(braked).main_period_ns, allow_code=allow_code, seed=seed,
    )  # fmt: skip
    drives = Drives(axes_of_slaves(len(motors), axes_per_slave))
    data = required_drives(braked)
    for j, (slave, axis) in enumerate(drives.places):
        fill_objects(drives.objects[slave][axis : axis + 1], data[j], machine, j)
    ports = supervision(braked, model, machine, data)
    plant = RobotPlant(drives, machine, ports, Injector(faults), recording=recording)
    stored, plant.motors = energies_before(machine, model), motors
    plant.nominal_voltage = bus_voltage_of(braked)
    drives.attach(plant.plant())
    segment = Segment(
        with_plant(drives, plant),
        clock=ClockKind.LOCK_STEP if lock_step else ClockKind.WALL,
        step_ns=controller_of(braked).main_period_ns,
        **settings,
    )
    plant.segment = segment.record
    return RobotDrives(braked, model, machine, drives, plant, segment, motors, held, stored, pwm, seed)


def check_drivable(description: RobotDescription) -> None:
    """Complain about a robot whose axes are no servo drives with loops of their own."""
    law = controller_of(description).law
    if law != "cascade":
        raise refuse(
            description,
            "controller.law",
            f"{law} needs all axes at once; expected cascade, which a drive closes by itself",
        )
    for drive in required_drives(description):
        if drive.actuator.valve:
            raise refuse(
                description, f"axes.{drive.owner}", "a servovalve has no electric drive; expected a motor"
            )


def axes_of_slaves(axes: int, per_slave: int) -> list[int]:
    """How many axes each slave has."""
    if not 1 <= per_slave <= MOST_AXES:
        raise InputError(f"{per_slave}; expected 1 to {MOST_AXES} axes on a slave", field="--axes-per-slave")
    return [min(per_slave, axes - first) for first in range(0, axes, per_slave)]


def with_brakes(description: RobotDescription) -> tuple[RobotDescription, list[str]]:
    """The same robot with a brake at every motor: without one an arm falls whenever its drives are off."""
    axes, held = dict(description.axes), []
    for drive in required_drives(description):
        if drive.brake is not None or drive.owner not in axes:
            continue
        limit = drive.ratings.current_limit or 0.0
        K = drive.winding.torque_constant if drive.winding is not None else 0.0
        torque = ASSUMED_BRAKE * (drive.ratings.torque_limit or limit * K or 1.0)
        torque = torque if math.isfinite(torque) else ASSUMED_BRAKE * max(limit * K, 1.0)
        axes[drive.owner] = axes[drive.owner].model_copy(
            update={"brake": Brake.model_construct(torque=torque, delay=0.0)}
        )
        held.append(drive.name)
    return description.model_copy(update={"axes": axes}), held


def fill_objects(objects: Any, drive: DriveData, machine: Machine, j: int) -> None:
    """What the drive of a motor knows of it, in its objects: encoder, units, ratings, limits (1,)."""
    axis = machine.axes[j]
    counts = round(float(axis["counts_per_rad"]) * TURN)
    limit, K = float(axis["i_max"]), float(axis["K_hat"])
    rated = rated_current(drive, limit, K)
    for name in ("encoder_increments", "feed"):
        objects[name] = counts
    objects["rated_current"] = max(round(rated * 1e3), 1)
    objects["rated_torque"] = max(round(rated * K * 1e3), 1)
    most = min(round(1e3 * limit / rated), 0xFFFF)
    for name in ("max_torque", "max_current", "torque_limit_positive", "torque_limit_negative"):
        objects[name] = most
    speed = float(axis["w_max"])
    objects["max_motor_speed"] = min(math.ceil(speed / TURN * 60.0), 0xFFFFFFFF)
    top = speed / TURN * counts  # user units/s
    values = {
        "following_window": following_window(top, float(axis["K_x"])),
        "position_window": max(counts // 360, 1), "max_profile_velocity": top,
        "velocity_window": min(0.01 * top, 0xFFFF), "profile_velocity": 0.2 * top,
        "profile_acceleration": 2.0 * top, "profile_deceleration": 2.0 * top, "stop_deceleration": 10.0 * top,
        "max_acceleration": 40.0 * top, "max_deceleration": 40.0 * top, "homing_acceleration": 2.0 * top,
        "homing_speed_switch": 0.1 * top, "homing_speed_zero": 0.01 * top,
    }  # fmt: skip
    for name, value in values.items():
        objects[name] = min(max(round(value), 1), 0xFFFFFFFF)


def following_window(top: float, gain: float) -> float:
    """Twice the lag of a position loop at the motor's largest speed (eq:following-bound); without a gain none."""
    return 2.0 * top / gain if gain > 0.0 else OFF_LIMIT


def rated_current(drive: DriveData, limit: float, K: float) -> float:
    """Rated current of a motor [A]: of its rated torque, or of the current limit."""
    torque = drive.ratings.rated_torque
    if torque and K > 0.0:
        return torque / K
    return limit / OVERLOAD if math.isfinite(limit) else 1.0


def supervision(
    description: RobotDescription, robot: Robot, machine: Machine, data: Sequence[DriveData]
) -> Any:
    """What the drives watch, and where the switches of their joints are, SUPERVISED (m,)."""
    ports, axes = np.zeros(len(data), SUPERVISED), machine.axes
    ports["law"], ports["level"] = axes["law"], axes["level"]
    ports["i_rated"] = [
        rated_current(drive, float(axes["i_max"][j]), float(axes["K_hat"][j])) for j, drive in enumerate(data)
    ]
    ports["i_trip"], ports["w_trip"] = TRIP * axes["i_max"], TRIP * axes["w_max"]
    ports["u_high"], ports["u_low"] = math.inf, 0.0
    if description.power is not None:
        ports["u_high"] = highest_voltage(description.power)[0]
        ports["u_low"] = UNDERVOLTAGE * description.power.bus_voltage
    ports["load_time"] = PEAK_TIME
    low, high = robot.limits.q_min, robot.limits.q_max
    ports["low"], ports["high"], ports["home"] = low, high, robot.q_home
    ports["cam"] = np.where(np.isfinite(high - low), CAM * (high - low), 0.1)
    return ports


def with_plant(drives: Drives, plant: RobotPlant) -> Application:
    """The application of the drives, which ends when the plant does, and takes faults by SDO."""
    application = drives.application()
    slaves = iter(range(len(drives.objects)))

    def after(segment: Segment) -> None:
        plant.check()
        note_errors(drives, plant, segment)
        drives.announce(segment)

    def prepare(objects: Dictionary) -> None:
        check_options(objects)
        take_faults(
            objects,
            plant,
            [drives.places.index((slave, n)) for slave in [next(slaves)] for n in range(len(objects.axes))],
        )

    return Application(
        application.axes, application.operational, application.cycle_at, application.context, after, prepare
    )


def note_errors(drives: Drives, plant: RobotPlant, segment: Segment) -> None:
    """Note codes of 603F that have come, for the recording; of lost outputs, how long after the last ones."""
    for j in drives.changed():
        slave, axis = drives.places[j]
        code = int(drives.objects[slave]["error_code"][axis])
        if code == 0 or len(plant.happened) >= MOST_HAPPENED:
            continue
        text = f"error {code:04X}"
        if code == ErrorCode.COMMUNICATION:
            late = int(segment.record["cycled"][0]) - int(segment.slaves["watchdog_since"][slave])
            if late > segment.step_ns:  # less: outputs that waited for a process that did not run
                text += f", {late * 1e-6:.1f} ms after the last outputs"
        plant.happened.append((plant.now_ns * 1e-9, plant.motors[j], text))


def take_faults(objects: Dictionary, plant: RobotPlant, axes: Sequence[int]) -> None:
    """Have writes to 2010 inject faults: its value first, then the number of its kind; 0 mends."""

    def checked(j: int) -> Any:
        def check(index: int, subindex: int, value: int) -> None:
            if subindex != 1:
                return
            if value == MEND_ALL:
                plant.injector.mend(j)
                return
            kind = NUMBERS.get(value)
            if kind is None:
                raise SdoAbortError(AbortCode.VALUE, index, subindex)
            stated = objects.read_number(index, 2) * kind.scale
            if kind.unit is not None and not kind.low <= stated <= kind.high:
                raise SdoAbortError(AbortCode.VALUE, index, subindex)
            plant.injector.ask(Injection(0, -1 if kind.shared else j, kind, stated))

        return check

    for n, j in enumerate(axes):
        objects.checks[FAULT_OBJECT + n * 0x800] = checked(j)
