"""Arm and path at points of a given path, and the currents that a motion along it needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.errors import PathError
from servotwin.motion.joint_path import JointPath
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.drive_model import DriveModel
from servotwin.motion.optimal.task import Task
from servotwin.motion.optimal.transcription import held_motors, mesh_of
from servotwin.robot.robot import Robot

TURNING = 1e-2  # of the largest speed of a motor: within it friction changes its sign
ON_LIMIT = 1e-9


@dataclass(frozen=True, eq=False)
class PathNumbers:
    """Arm and path at the points s (N + 1,): q, q', q'' and torques a, b, g (N + 1, n) (eq:path-torque)."""

    s: Array
    q: Array
    dq: Array
    ddq: Array
    a: Array
    b: Array
    g: Array


@dataclass(frozen=True, eq=False)
class PathLaw:
    """A motion at points of a path: instants t (N + 1,) [s], speed y, acceleration r and currents i (N + 1, m) [A]."""

    t: Array
    y: Array
    r: Array
    i: Array

    def scaled(self, guess: Array, table: dict[str, float]) -> Array:
        """The scaled variables (N + 1, width) of all points; the last time step is that of a guess."""
        dt = np.append(np.diff(self.t) / table["oZt"], guess[-1, 2])
        i = self.i / np.array([table[f"oZsi{j}"] for j in range(self.i.shape[1])])
        return np.hstack([np.stack([self.y / table["oZy"], self.r / table["oZr"], dt], axis=1), i])


def path_numbers(robot: Robot, path: JointPath, task: Task, drives: DriveModel) -> PathNumbers:
    """Arm and path at points that a motion from rest to rest passes at even times."""
    tau = mesh_of(task.intervals, bool(held_motors(drives, task).any()))
    s = path.length * np.where(tau < 0.5, 2.0 * tau**2, 1.0 - 2.0 * (1.0 - tau) ** 2)
    s[-1] = path.length
    return numbers_at(robot, path, s)


def numbers_at(robot: Robot, path: JointPath, s: Array) -> PathNumbers:
    """Arm and path at the points s (N + 1,)."""
    q, dq, ddq = path.at(s)
    zero = np.zeros_like(q)
    g = robot.rne(q, zero, zero, drives=True)
    a = robot.rne(q, zero, dq, drives=True) - g
    return PathNumbers(s, q, dq, ddq, a, robot.rne(q, dq, ddq, drives=True) - g, g)  # eq:path-torque


def check_positions(robot: Robot, limits: MotionLimits, numbers: PathNumbers) -> None:
    """Refuse a path that leaves the range of a joint."""
    beyond = limits.beyond(numbers.q)
    if beyond.max() <= ON_LIMIT:
        return
    k, axis = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
    name, text = limits.range_text(robot, numbers.q[k], int(axis))
    raise PathError(text, index=0, what="position", axis=name, place=float(numbers.s[k] / numbers.s[-1]))


def check_holding(drives: DriveModel, task: Task, numbers: PathNumbers) -> None:
    """Refuse a path along which the motors cannot hold the arm."""
    held = np.abs((numbers.g @ drives.N_inverse - drives.offset) / drives.K) / drives.current
    if task.current and held.max() > 1.0:
        k, j = np.unravel_index(int(np.argmax(held)), held.shape)
        what = drives.effort(int(j))[0]
        text = f"motor {drives.names[j]} would need {100.0 * held[k, j]:.4g} % of its {what} to hold the arm there"
        raise PathError(
            text, index=0, what="torque", axis=drives.names[j], place=float(numbers.s[k] / numbers.s[-1])
        )


def turning(drives: DriveModel, numbers: PathNumbers) -> float:
    """Speed per path parameter within which a motor turns back; of the quickest one, lest rounding has friction."""
    return TURNING * float(np.abs(numbers.dq @ drives.N.T).max())


def directions(w: Array, eps: float) -> Array:
    """Which way (k, m) motors turn with speeds w (k, m) per path parameter, smooth where one turns back."""
    return np.asarray(w / np.sqrt(w**2 + eps**2))  # eq:smooth-sign


def path_currents(
    robot: Robot, drives: DriveModel, soft: Array, way: Array, motion: tuple[Array, Array, Array]
) -> Array:
    """Currents (k, m) that a motion q, qd, qdd (k, n) along a path needs (eq:motor-torque), friction as ``way`` says.

    ``soft`` (m,) [N m]: torques within which gears change their direction of power.
    """
    q, v, a = motion
    w, own, eta = v @ drives.N.T, drives.J_m * (a @ drives.N.T), drives.efficiency
    passed = robot.rne(q, v, a, drives=True) @ drives.N_inverse - own
    size = np.sqrt(passed**2 + soft**2)
    lost = 0.5 * (1.0 / eta + eta) * passed + way * 0.5 * (1.0 / eta - eta) * size  # eq:gear-efficiency
    torque = own + np.where(eta < 1.0, lost, passed) + drives.viscous * w + drives.coulomb * way
    return np.asarray((torque - drives.offset) / drives.K)


def soft_torques(drives: DriveModel, table: dict[str, float]) -> Array:
    """Torques (m,) [N m] within which gears change their direction of power."""
    return np.array([table[f"oSoft{j}"] for j in range(drives.m)])
