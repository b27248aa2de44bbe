"""Ends at which the arm cannot be held: the limit that is too small, by name."""

from __future__ import annotations

import numpy as np

from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.drive_model import DriveModel
from servotwin.motion.optimal.task import Task
from servotwin.robot.robot import Robot

WITHIN = 1.0 + 1e-6  # share of a limit up to which it is met


def holding_currents(robot: Robot, drives: DriveModel, q: Array) -> Array:
    """Currents (m,) [A] that hold the arm at q (n,) without friction; forces and torques where there are none."""
    return np.asarray((robot.gravload(q) @ drives.N_inverse - drives.offset) / drives.K)


def check_holding(
    robot: Robot, drives: DriveModel, limits: MotionLimits, task: Task, q: Array, name: str
) -> None:
    """Refuse ends at which motors, joints or the supply cannot even hold the arm; free ends are passed through."""
    i = holding_currents(robot, drives, q)
    if task.current:
        units = [drives.effort(j)[1] for j in range(drives.m)]
        force = i + np.where(drives.valve, drives.offset, 0.0)
        most = np.array([drives.share(j, i[j : j + 1])[1] for j in range(drives.m)])
        _refuse(np.abs(force), most, units, [f"motor {x}" for x in drives.names], name)
    if (name == "start" and task.free_start) or (name == "goal" and task.free_end):
        return
    if task.effort:
        units = ["N" if unit == "m" else "N m" for unit in robot.joint_units]
        owners = [f"joint {x}" for x in robot.joint_names]
        _refuse(np.abs(robot.gravload(q)), limits.torque, units, owners, name, "limits.effort allows")
    if drives.electric:
        _check_supply(drives, task, i, name)


def _check_supply(drives: DriveModel, task: Task, i: Array, name: str) -> None:
    """The same of voltages and of the power of the bus."""
    R = np.where(drives.valve, 0.0, drives.R + drives.R_bridge)
    if task.voltage:
        owners = [f"motor {x}" for x in drives.names]
        most = task.modulation * drives.voltage
        _refuse(np.abs(R * i), most, ["V"] * drives.m, owners, name, "its bridge has a voltage of")
    loss = np.array([float((drives.phases * R * i**2).sum())])
    most = np.array([task.bus_power[1]])
    _refuse(loss, most, ["W"], ["the motors"], name, "the bus power allows", "need")


def _refuse(
    needed: Array,
    most: Array,
    units: list[str],
    owners: list[str],
    name: str,
    has: str = "it has",
    verb: str = "needs",
) -> None:
    """InputError about what exceeds its limit most."""
    over = needed > WITHIN * most
    if not over.any():
        return
    k = int(np.argmax(np.where(over, needed / np.where(most > 0.0, most, 1e-300), 0.0)))
    text = f"{owners[k]} {verb} {needed[k]:.4g} {units[k]} to hold the arm there"
    raise InputError(f"{text}; {has} {most[k]:.4g} {units[k]}", field=name)


def check_temperature(drives: DriveModel, task: Task) -> None:
    """Refuse temperatures of motors without thermal data."""
    if task.temperature and not (drives.heated & np.isfinite(drives.rise)).any():
        text = "no motor has thermal data, so no temperature can be kept; expected motor.thermal with a limit"
        raise InputError(text, field="temperature")


def check_moving(drives: DriveModel, task: Task, ends: tuple[Array, Array], held: Array) -> None:
    """Refuse dry friction that a motor cannot overcome even if gravity helps, ``held`` (2, m) [A] at the ends."""
    moved = np.abs(drives.N @ (ends[1] - ends[0])) > 0.0
    most = drives.K * (drives.current + np.abs(held).max(axis=0))
    stuck = moved & (drives.coulomb >= most)
    if task.current and stuck.any():
        j = int(np.argmax(stuck))
        text = f"motor {drives.names[j]} cannot turn: its dry friction is {drives.coulomb[j]:.4g} N m"
        raise InputError(f"{text}; it gives {drives.K[j] * drives.current[j]:.4g} N m", field="start")
