"""From the description of a robot, or from a robot alone, to its complete model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.friction_curve import FrictionCurve
from servotwin.description.friction_data import joint_curves, shaft_curve
from servotwin.description.hydraulic_data import hydraulic_axis, hydraulic_supply
from servotwin.description.motors import required_drive
from servotwin.description.schema import RobotDescription
from servotwin.drives.ideal.equations import EQUATIONS as IDEAL
from servotwin.drives.ideal.equations import JOINT_EFFORT
from servotwin.equations.state_space import Shaft, SharedSupply
from servotwin.errors import InputError, ServotwinError, UnsupportedError
from servotwin.mechanism.build import build_mechanism
from servotwin.robot.robot import Robot
from servotwin.robot.state_space import StateSpace

Motors = Literal["described", "ideal", "valves"]
Power = Literal["lossless", "driving", "braking"]


def state_space(
    robot: str | Path | RobotDescription | Robot,
    overrides: Mapping[str, str] | None = None,
    *,
    motors: Motors = "described",
    gears: Power | Sequence[Power] = "lossless",
    allow_outside: bool = False,
) -> StateSpace:
    """The complete model x' = A(x) + B(x) u of a robot: arm, gears and motors (eq:complete-model).

    ``robot``: catalogue name, file, description, or a ``Robot``, which knows no windings: its inputs are the torques
    at its joints. ``motors='ideal'`` leaves the windings out: inputs are the torques of the motors; 'valves' does so
    too, but keeps servovalves with their oil. ``gears``:
    which way power flows through gears with an efficiency below 1, for all of them or one word per motor; 'lossless'
    leaves their losses out.

    >>> import servotwin as st
    >>> model = st.state_space("gsis-scara")
    >>> model.order, [quantity.name for quantity in model.inputs]
    (12, ['A.voltage', 'B.voltage', 'Z.voltage', 'W.voltage'])
    """
    if motors not in ("described", "ideal", "valves"):
        raise InputError(f"'{motors}'; expected described, ideal or valves", field="motors")
    if isinstance(robot, Robot):
        return _of_arm(robot)
    if isinstance(robot, RobotDescription):
        description = robot
    else:
        description = _read(robot, overrides, allow_outside)
    return _of_description(description, motors, gears)


def robot_of(description: RobotDescription) -> Robot:
    """The robot of a description, with all its rotors."""
    return Robot(build_mechanism(description), title=description.title or "")


def _read(robot: str | Path, overrides: Mapping[str, str] | None, allow_outside: bool) -> RobotDescription:
    from servotwin.description.load import read_description
    from servotwin.description.placed import override_mapping, override_text
    from servotwin.description.plain_text import one_line
    from servotwin.description.reach import outside

    if not isinstance(robot, str | Path):
        raise ServotwinError(
            f"robot is {one_line(repr(robot))}; expected a catalogue name or the path of a file"
        )
    changes = {name: override_text(value) for name, value in override_mapping(overrides).items()}
    with outside(allow_outside):
        return read_description(robot, changes)


def _of_arm(robot: Robot) -> StateSpace:
    """Torques at the joints as inputs; the rotors behind the gears count as inertia."""
    shafts = []
    for i, unit in enumerate(robot.joint_units):
        effort = "N*m" if unit == "rad" else "N"
        equations = replace(JOINT_EFFORT, inputs=(("effort", effort),))
        row = tuple(1.0 if j == i else 0.0 for j in range(robot.n))
        shafts.append(Shaft(robot.joint_names[i], equations, {}, row))
    return StateSpace(robot, tuple(shafts), (FrictionCurve(),) * (2 * robot.n))


def _of_description(
    description: RobotDescription, motors: Motors, gears: Power | Sequence[Power]
) -> StateSpace:
    whole = robot_of(description)
    drives, notes = drives_of(description), []
    powers = [gears] * len(drives) if isinstance(gears, str) else list(gears)
    if len(powers) != len(drives) or any(p not in ("lossless", "driving", "braking") for p in powers):
        raise InputError(
            f"{gears}; expected lossless, driving or braking, for all or for each of {len(drives)}",
            field="gears",
        )
    shafts, curves = [], []
    for j, (drive, power) in enumerate(zip(drives, powers, strict=True)):
        shaft, curve, told = _shaft(description, whole, drive, j, motors, power)
        shafts.append(shaft)
        curves.append(curve)
        notes += told
    curves += joint_curves(description)
    seals = any(shaft.numbers.get("seal", 0.0) > 0.0 for shaft in shafts)
    if seals or any(curve.dry or any(curve.tables) for curve in curves):
        notes.append("dry friction is left out unless directions are stated")
    return StateSpace(
        _with_stiff_rotors(whole, shafts), tuple(shafts), tuple(curves), tuple(notes), _supply(shafts)
    )


def _supply(shafts: Sequence[Shaft]) -> SharedSupply | None:
    """What feeds several actuators, if it has states of its own."""
    for shaft in shafts:
        equations = shaft.equations.supply
        numbers = {} if equations is None else dict(equations.numbers(shaft.data))
        if equations is not None and numbers:
            return SharedSupply(equations, numbers, shaft.data)
    return None


def _equation_data(description: RobotDescription, drive: DriveData) -> Any:
    """What the equations of an actuator read: its data, or those of its valve and of the supply behind it."""
    if drive.actuator.valve:
        return hydraulic_axis(description, drive), hydraulic_supply(description)
    return drive


def _with_stiff_rotors(robot: Robot, shafts: Sequence[Shaft]) -> Robot:
    """The arm with those rotors that turn with its joints."""
    rotors = robot.mechanism.rotors
    if not len(rotors.J_m):
        return robot
    elastic = [rotors.names[k] for k in rotors.spinning if shafts[k].elastic]
    if elastic:
        raise UnsupportedError(
            f"{robot.name}: rotor_coupling full behind the elastic gears of {', '.join(elastic)} is not there yet; "
            "leave out their stiffness, or take rotor_coupling: reflected"
        )
    stiff = np.array([0.0 if s.elastic else J for s, J in zip(shafts, rotors.J_m, strict=True)])
    return Robot(robot.mechanism.with_(rotors=replace(rotors, J_m=stiff)), title=robot.title)


def _shaft(
    description: RobotDescription, robot: Robot, drive: DriveData, j: int, motors: Motors, power: Power
) -> tuple[Shaft, FrictionCurve, list[str]]:
    notes: list[str] = []
    if not any(drive.ratios):
        return _without_gear(robot, drive, j)
    equations, numbers, data = IDEAL, {}, None
    if motors == "described" or (motors == "valves" and drive.actuator.valve):
        found = drive.actuator.equations
        if found is None:
            notes.append(f"{drive.name}: '{drive.kind}' has no state equations; its input is its torque")
        else:
            if drive.kind is not None:
                drive = _required(description, drive)
            bridge = description.power.bridge.on_resistance if description.power is not None else 0.0
            equations, data = found, _equation_data(description, drive)
            numbers = dict(found.numbers(data, bridge if drive.actuator.bridge else 0.0))
            notes += [f"{drive.name}: {note}" for note in found.notes(data)]
    gear = drive.gear
    if gear.half_play:
        notes.append(
            f"{drive.name}: the play of the gear is left out; its twist counts from the flank that touches"
        )
    if gear.stiffening:
        notes.append(
            f"{drive.name}: the stiffness of the gear is that without load; it changes with the torque"
        )
    if gear.efficiency < 1.0 and power == "lossless":
        notes.append(
            f"{drive.name}: the losses of the gear are left out; state which way power flows to count them"
        )
    loss = {"lossless": 1.0, "driving": 1.0 / gear.efficiency, "braking": gear.efficiency}[power]
    curve = shaft_curve(description, drive)
    shaft = Shaft(
        drive.name,
        equations,
        numbers,
        drive.ratios,
        drive.rotor_inertia,
        curve.viscous,
        gear.elastic,
        gear.stiffness or 0.0,
        gear.damping,
        loss,
        data,
        "rad" if data is None or not drive.actuator.valve or data[0].rotary else "m",
    )
    return shaft, curve, notes


def _required(description: RobotDescription, drive: DriveData) -> DriveData:
    """A motor with everything that its equations need."""
    try:
        return required_drive(description, drive)
    except InputError as error:
        other = "or --motors ideal (motors='ideal'), which leaves the windings out"
        raise InputError(
            f"{error.message}, {other}", file=error.file, line=error.line, field=error.field
        ) from None


def _without_gear(robot: Robot, drive: DriveData, j: int) -> tuple[Shaft, FrictionCurve, list[str]]:
    """A joint that no motor turns: its effort is the input."""
    if drive.name not in robot.joint_names:
        raise UnsupportedError(f"{robot.name}: motor '{drive.name}' moves no joint")
    i = robot.joint_names.index(drive.name)
    unit = "N*m" if robot.joint_units[i] == "rad" else "N"
    row = tuple(1.0 if k == i else 0.0 for k in range(robot.n))
    told = f"{drive.name}: no motor model; its input is the effort at the joint"
    shaft = Shaft(drive.name, replace(JOINT_EFFORT, inputs=(("effort", unit),)), {}, row)
    return shaft, FrictionCurve(), [told]
