"""Which friction acts at a motor's shaft and which at a joint by itself."""

from __future__ import annotations

from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.friction_curve import FrictionCurve, joint_curve
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription


def shaft_curve(description: RobotDescription, drive: DriveData) -> FrictionCurve:
    """Friction that acts at the shaft of a motor: its own, and behind its own stiff gear that of its joint."""
    if drive.stiff_joint is None:
        return drive.friction
    if drive.joint_friction.some and drive.gear.lossy:
        raise refuse(
            description,
            f"axes.{drive.stiff_joint}.friction",
            "not modelled behind a stiff gear with an efficiency; expected the friction at the motor "
            "(motor.coulomb_friction), a gear.stiffness, or no gear.efficiency",
        )
    return drive.shaft_friction


def joint_curves(description: RobotDescription) -> list[FrictionCurve]:
    """Friction that acts at each joint by itself: behind elastic gears and coupled transmissions."""
    joints = description.joint_names
    for name, axis in description.axes.items():
        if axis.friction is not None and name not in joints:
            raise refuse(
                description,
                f"axes.{name}.friction",
                "this joint follows others, and its friction is not modelled; expected it at one of "
                + ", ".join(joints),
            )
    with_motor = {drive.stiff_joint for drive in drives_of(description)}
    return [
        FrictionCurve() if name in with_motor else joint_curve(description.axes[name].friction)
        for name in joints
    ]
