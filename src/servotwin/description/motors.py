"""What loops and plant need of a motor: its data, or an error that names the field that is missing."""

from __future__ import annotations

import math

from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription
from servotwin.drives.table import KINDS

SIMULATED = [name for name, kind in KINDS.items() if kind.simulated]
EXAMPLES = {
    "torque_constant": "'0.12 N*m/A'",
    "resistance": "'0.4 ohm'",
    "inductance": "'0.6 mH'",
    "pole_pairs": "'4'",
    "rotor_inertia": "'1.5e-4 kg*m^2'",
    "current_limit": "'16 A'",
    "valve": "'{rated_flow: 3.8 L/min, rated_current: 40 mA, natural_frequency: 120 Hz}'",
}


def required_drives(description: RobotDescription) -> tuple[DriveData, ...]:
    """The motors of a robot, each with everything that the model of its kind needs."""
    return tuple(required_drive(description, drive) for drive in drives_of(description))


def required_drive(description: RobotDescription, drive: DriveData) -> DriveData:
    """A motor, once it has proved to have everything that the model of its kind needs."""
    axis = description.axes.get(drive.owner)
    path = f"axes.{drive.owner}.motor"
    if axis is None or axis.motor is None:
        raise refuse(
            description,
            path,
            "missing: the loops need the data of every motor; expected a motor with torque_constant, "
            "resistance and inductance, or 'kind: ideal'",
        )
    motor, kind = axis.motor, drive.actuator
    if not kind.simulated:
        raise refuse(
            description,
            f"{path}.kind",
            f"'{kind.name}' has no current loop; expected one of {', '.join(SIMULATED)}",
        )
    for field in kind.needed:
        if getattr(motor, field) is None:
            raise refuse(
                description, f"{path}.{field}", f"missing: '{kind.name}' needs it; expected {EXAMPLES[field]}"
            )
    problem = kind.problem(motor)
    if problem is not None:
        raise refuse(description, f"{path}.{problem[0]}", problem[1])
    if not drive.rotor_inertia and drive.gear.elastic:
        raise refuse(
            description,
            f"{path}.rotor_inertia",
            f"missing: behind an elastic gear the rotor moves by itself; expected {EXAMPLES['rotor_inertia']}",
        )
    return drive


def required_current_limit(description: RobotDescription, drive: DriveData, why: str) -> float:
    """Limit of the driver's current [A], or an error that says for what (``why``) it is needed."""
    limit = required_drive(description, drive).ratings.current_limit
    if limit is None:
        raise refuse(
            description,
            f"axes.{drive.owner}.motor.current_limit",
            f"missing, and neither peak nor rated torque tell it{why}; expected {EXAMPLES['current_limit']}",
        )
    return limit


def current_limit(description: RobotDescription, drive: DriveData) -> float:
    """Limit of the driver's current [A]; an ideal motor needs none."""
    if not required_drive(description, drive).actuator.bridge and drive.ratings.current_limit is None:
        return math.inf
    return required_current_limit(description, drive, "")


def required_counts(description: RobotDescription, drive: DriveData) -> float:
    """Counts of an encoder per angle of its motor [1/rad], or an error that says that there is none."""
    if drive.counts_per_rad is None:
        axis = description.axes.get(drive.owner)
        linear = axis is not None and axis.motor is not None and axis.motor.cylinder is not None
        expected = "'{resolution: 5 um}'" if linear else "'{lines: 1000}' or '{bits: 20}'"
        raise refuse(
            description,
            f"axes.{drive.owner}.encoder",
            f"missing: the axis controller counts its pulses; expected {expected}",
        )
    return drive.counts_per_rad
