"""Which friction acts at a motor's shaft and which at a joint by itself."""

from __future__ import annotations

import numpy as np

from servotwin.description.friction_curve import FrictionCurve, joint_curve, motor_curve
from servotwin.description.motors import owners
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription
from servotwin.mechanism.model import Array


def alone(N: Array, j: int) -> int:
    """The joint that motor j moves and no other motor does, or -1: then they move together."""
    joints = np.flatnonzero(N[j])
    if len(joints) != 1 or np.count_nonzero(N[:, joints[0]]) != 1:
        return -1
    return int(joints[0])


def stiff_alone(description: RobotDescription, N: Array, j: int) -> int:
    """The same, -1 behind an elastic gear too."""
    gear = description.axes[owners(description)[j]].gear
    return -1 if gear is not None and gear.stiffness is not None else alone(N, j)


def shaft_curve(description: RobotDescription, N: Array, j: int) -> FrictionCurve:
    """Friction that acts at the shaft of motor j: its own, and behind its own stiff gear that of its joint."""
    owner = owners(description)[j]
    curve = motor_curve(description.axes[owner].motor)
    i = stiff_alone(description, N, j)
    if i < 0:
        return curve
    name = description.joint_names[i]
    friction, gear = joint_curve(description.axes[name].friction), description.axes[owner].gear
    if friction.some and gear is not None and (gear.efficiency or 1.0) < 1.0:
        raise refuse(
            description,
            f"axes.{name}.friction",
            "not modelled behind a stiff gear with an efficiency; expected the friction at the motor "
            "(motor.coulomb_friction), a gear.stiffness, or no gear.efficiency",
        )
    return curve + friction.at_motor(float(N[j, i]))


def joint_curves(description: RobotDescription, N: Array) -> list[FrictionCurve]:
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
    with_motor = {stiff_alone(description, N, j) for j in range(len(N))}
    return [
        FrictionCurve() if i in with_motor else joint_curve(description.axes[name].friction)
        for i, name in enumerate(joints)
    ]
