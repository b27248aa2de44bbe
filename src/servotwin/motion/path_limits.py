r"""The limits along a joint path as linear rows in acceleration and squared speed of its parameter.

Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits
from servotwin.motion.motor_limits import MotorLimits
from servotwin.robot.robot import Robot

# Directions (13, 3) in which the acceleration of the tool is bounded, each with its opposite.
_ALL = np.array([d for d in product((-1.0, 0.0, 1.0), repeat=3) if d > (0.0, 0.0, 0.0)])
DIRECTIONS = _ALL / np.linalg.norm(_ALL, axis=1, keepdims=True)


@dataclass(frozen=True)
class PathLimits:
    """At m points: ``rows`` (m, r, 2) times (sdd, sd^2) are at most ``room`` (m, r), sd at most 1/``slowness`` (m,).

    The last columns of ``room`` are those of the motors, at rest: ``room_at`` gives them at a speed.
    """

    rows: Array
    room: Array
    slowness: Array
    motors: MotorLimits | None = None
    turning: Array | None = None  # (m, motors) N q'

    def room_at(self, sd: Array) -> Array:
        """``room`` (m, r) at the speeds sd (m,): back-EMF and viscous friction reduce that of the motors."""
        if self.motors is None or self.turning is None:
            return self.room
        drive, limited = self.motors.drive, np.isfinite(self.motors.drive.torque)
        w = np.abs(self.turning) * sd[:, None]
        low, high = drive.torques(w)
        friction = self.motors.growing_torques(self.turning * sd[:, None])
        less = np.concatenate(
            [(drive.torque - high + friction)[:, limited], (drive.torque + low - friction)[:, limited]],
            axis=1,
        )
        out = self.room.copy()
        out[:, -less.shape[1] :] -= less
        return out


def path_limits(
    robot: Robot, q: Array, dq: Array, ddq: Array, limits: MotionLimits, drives: bool
) -> PathLimits:
    """The limits along a path with positions and rates (m, n)."""
    zero = np.zeros_like(q)
    g = robot.rne(q, zero, zero, drives=drives)
    a = robot.rne(q, zero, dq, drives=drives) - g
    b = robot.rne(q, dq, ddq, drives=drives) - g  # eq:path-torque
    slowness = np.max(np.abs(dq) / limits.speed, axis=1)
    sides = [
        _both_sides(a, b, g, limits.torque),
        _both_sides(dq, ddq, zero, limits.acceleration),
    ]
    if math.isfinite(min(limits.tool_speed, limits.tool_acceleration)):
        J = robot.jacob0(q)[:, :3]
        v = (J @ dq[..., None])[..., 0]
        bend = (J @ ddq[..., None] + robot.jacob0_dot(q, dq)[:, :3] @ dq[..., None])[..., 0]
        slowness = np.maximum(slowness, np.linalg.norm(v, axis=1) / limits.tool_speed)
        most = np.full(len(DIRECTIONS), limits.tool_acceleration)
        still = np.zeros((len(q), len(DIRECTIONS)))
        sides.append(_both_sides(v @ DIRECTIONS.T, bend @ DIRECTIONS.T, still, most))
    turning: Array | None = None
    if limits.motors is not None:
        sides.append(_of_motors(limits.motors, a, b, g, dq, ddq))
        drive, turning = limits.motors.drive, limits.motors.motor_speeds(dq)
        slower = np.abs(turning) * np.maximum(drive.voltage_constant / drive.voltage, 1.0 / drive.speed)
        slowness = np.maximum(slowness, slower.max(axis=1))
    first, second, room = (np.concatenate(parts, axis=1) for parts in zip(*sides, strict=True))
    return PathLimits(np.stack([first, second], axis=-1), room, slowness, limits.motors, turning)


def _both_sides(first: Array, second: Array, rest: Array, most: Array) -> tuple[Array, Array, Array]:
    """The rows of abs(first sdd + second sd^2 + rest) <= most, where that is finite."""
    limited = np.isfinite(most)
    first, second, rest, most = first[:, limited], second[:, limited], rest[:, limited], most[limited]
    return (
        np.concatenate([first, -first], axis=1),
        np.concatenate([second, -second], axis=1),
        np.concatenate([most - rest, most + rest], axis=1),
    )


def _of_motors(
    motors: MotorLimits, a: Array, b: Array, g: Array, dq: Array, ddq: Array
) -> tuple[Array, Array, Array]:
    """The rows of the motors' torques in the direction in which they turn, and against it.

    The speed of a path is never negative, so that a motor turns as N q' says. ``PathLimits.room_at`` adds what
    depends on the speed.
    """
    rotors = motors.robot.mechanism.rotors
    limited = np.isfinite(motors.drive.torque)
    unit = np.linalg.inv(rotors.N)
    way = np.where((dq @ rotors.N.T) < 0.0, -1.0, 1.0)
    own = way * rotors.J_m * (dq @ rotors.N.T), way * rotors.J_m * (ddq @ rotors.N.T)
    load = way * (a @ unit) - own[0], way * (b @ unit) - own[1], way * (g @ unit)
    eta, dry, most = motors.efficiency, motors.dry_torques(way), motors.drive.torque
    along, against = [], []
    for passed, extra in zip(load, (*own, dry), strict=True):
        along.append(passed / eta + extra)  # the motor drives
        against.append(-passed * eta - extra)  # it brakes
    rows = [
        np.concatenate([x[:, limited], y[:, limited]], axis=1) for x, y in zip(along, against, strict=True)
    ]
    return rows[0], rows[1], np.concatenate([most[limited], most[limited]]) - rows[2]


@dataclass(frozen=True)
class Shares:
    """Shares (k, c) of limits that a motion uses, with what and who for each column.

    ``powers`` (c,): how a column falls if the motion is slowed k times, as k^-1 or k^-2; ``rest`` (k, c) is the share
    that does not fall, such as that of gravity. Tool speeds are those of the origin of the robot's tool frame.
    """

    values: Array
    names: tuple[tuple[str, str | None], ...]
    powers: Array
    rest: Array

    def factor(self) -> float:
        r"""How many times slower the motion must be: :math:`r_0 + (r - r_0)/k^p \le 1`."""
        room = np.maximum(1.0 - self.rest, 1e-6)
        return float((np.maximum((self.values - self.rest) / room, 0.0) ** (1.0 / self.powers)).max())


Part = tuple[str, list[str | None], Array, int, Array]  # what, who, shares, power, share at rest


def _motor_shares(motors: MotorLimits, q: Array, qd: Array, qdd: Array) -> list[Part]:
    zero = np.zeros_like(q)
    w = motors.motor_speeds(qd)
    used = motors.drive.parts(motors.motor_torques(q, qd, qdd), w)
    at_rest = motors.drive.parts(motors.motor_torques(q, zero, zero), np.zeros_like(w))
    kinds = (("motor torque", 2), ("motor voltage", 1), ("motor speed", 1))
    return [
        (what, [*motors.names], share, power, rest)
        for (what, power), share, rest in zip(kinds, used, at_rest, strict=True)
    ]


def shares_of(
    robot: Robot, q: Array, qd: Array, qdd: Array, limits: MotionLimits, drives: bool = True
) -> Shares:
    """How much of every limit a motion (k, n) uses; columns without a limit are left out."""
    zero = np.zeros_like(q)
    axes = list(robot.joint_names)
    parts: list[Part] = [
        ("speed", [*axes], np.abs(qd) / limits.speed, 1, zero),
        ("acceleration", [*axes], np.abs(qdd) / limits.acceleration, 2, zero),
    ]
    if np.isfinite(limits.torque).any():
        tau, g = (robot.rne(q, *x, drives=drives) for x in ((qd, qdd), (zero, zero)))
        rest = np.where(tau * g > 0.0, np.abs(g), -np.abs(g)) / limits.torque
        parts.append(("torque", [*axes], np.abs(tau) / limits.torque, 2, rest))
    if limits.motors is not None:
        parts += _motor_shares(limits.motors, q, qd, qdd)
    if math.isfinite(min(limits.tool_speed, limits.tool_acceleration)):
        J = robot.jacob0(q)[:, :3]
        v = np.linalg.norm((J @ qd[..., None])[..., 0], axis=1, keepdims=True)
        acc = (J @ qdd[..., None] + robot.jacob0_dot(q, qd)[:, :3] @ qd[..., None])[..., 0]
        acc = np.linalg.norm(acc, axis=1, keepdims=True)
        parts.append(("tool speed", [None], v / limits.tool_speed, 1, np.zeros_like(v)))
        parts.append(("tool acceleration", [None], acc / limits.tool_acceleration, 2, np.zeros_like(v)))
    return Shares(
        np.concatenate([part[2] for part in parts], axis=1),
        tuple((part[0], who) for part in parts for who in part[1]),
        np.concatenate([np.full(len(part[1]), float(part[3])) for part in parts]),
        np.concatenate([part[4] for part in parts], axis=1),
    )
