"""What the description alone shows to be impossible of the drives: told by ``check`` before a run refuses it."""

from __future__ import annotations

from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.friction_data import shaft_curve
from servotwin.description.hydraulic_data import hydraulic_axis, is_hydraulic, valve_data
from servotwin.description.motors import required_counts, required_drive
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription


def check_drives(description: RobotDescription) -> None:
    """Refuse the drives that no run accepts: of a robot with a controller all that lack data, of others what is wrong.

    A file without a controller may describe its motors in part: arms and their dynamics need no more.
    """
    for drive in drives_of(description):
        axis = description.axes.get(drive.owner)
        if axis is None or axis.motor is None or not drive.actuator.simulated:
            continue
        if description.controller is not None:
            required_drive(description, drive)
            required_counts(description, drive)
        shaft_curve(description, drive)
        if is_hydraulic(drive):
            _check_hydraulic(description, drive)


def _check_hydraulic(description: RobotDescription, drive: DriveData) -> None:
    motor = description.axes[drive.owner].motor
    if motor is None or motor.valve is None or (motor.cylinder is None and motor.hydraulic_motor is None):
        return  # described in part
    trouble = drive.actuator.problem(motor)
    if trouble is not None:
        raise refuse(description, f"axes.{drive.owner}.motor.{trouble[0]}", trouble[1])
    if description.controller is not None or description.hydraulics is not None:
        valve_data(description, drive)
    else:
        hydraulic_axis(description, drive)
