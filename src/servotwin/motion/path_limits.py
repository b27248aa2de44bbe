r"""The limits along a joint path as linear rows in acceleration and squared speed of its parameter.

Theory: docs/theory/paths.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.limits import MotionLimits
from servotwin.motion.motor_limits import DriveLimits, MotorLimits
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
        drive, limited = self.motors.drive, limited_motors(self.motors.drive)
        w = np.abs(self.turning) * sd[:, None]
        low, high = drive.torques(w)
        friction = self.motors.growing_torques(self.turning * sd[:, None])
        bounded = np.isfinite(drive.torque)
        most, high, low = (np.where(bounded, x, 0.0) for x in (drive.torque, high, low))
        ahead, back = most - high, most + low
        less = np.concatenate([(ahead + friction)[:, limited], (back - friction)[:, limited]], axis=1)
        out = self.room.copy()
        out[:, -less.shape[1] :] -= less
        return out


def limited_motors(drive: DriveLimits) -> BoolArray:
    """Motors (m,) whose torque or force is bounded."""
    return np.asarray(np.isfinite(drive.torque) | drive.valve)


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
        slowness = np.maximum(slowness, limits.motors.pump_flows(turning) / limits.motors.pump)
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
    depends on the speed, but for servovalves: what they lose is a row in sd^2 (eq:valve-limit).
    """
    rotors, drive = motors.robot.mechanism.rotors, motors.drive
    limited, turning = limited_motors(drive), dq @ rotors.N.T
    unit = np.linalg.inv(rotors.N)
    way = np.where(turning < 0.0, -1.0, 1.0)
    own = way * rotors.J_m * turning, way * rotors.J_m * (ddq @ rotors.N.T)
    load = way * (a @ unit) - own[0], way * (b @ unit) - own[1], way * (g @ unit)
    eta, dry = motors.efficiency, motors.dry_torques(way)
    along, against = [], []
    for passed, extra in zip(load, (*own, dry), strict=True):
        along.append(passed / eta + extra)  # the motor drives
        against.append(-passed * eta - extra)  # it brakes
    along[1] = along[1] + drive.drag * turning**2  # eq:valve-limit
    backward = np.where(turning == 0.0, drive.backward, drive.brake_forward)  # eq:valve-braking
    forces = (
        np.where(way < 0.0, drive.backward, drive.forward),
        np.where(way < 0.0, drive.brake_backward, backward),
    )
    most = np.concatenate([np.minimum(drive.torque, force)[:, limited] for force in forces], axis=1)
    rows = [
        np.concatenate([x[:, limited], y[:, limited]], axis=1) for x, y in zip(along, against, strict=True)
    ]
    return rows[0], rows[1], most - rows[2]


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
    parts: list[Part] = [
        (what, [*motors.names], share, power, rest)
        for (what, power), share, rest in zip(kinds, used, at_rest, strict=True)
    ]
    return parts + _valve_shares(motors, q, qd, qdd) if motors.drive.valve.any() else parts


def _valve_shares(motors: MotorLimits, q: Array, qd: Array, qdd: Array) -> list[Part]:
    """Squared shares of openings and forces of the servovalves (eq:valve-envelope), and of the flow of their pump."""
    zero, valves = np.zeros_like(q), np.flatnonzero(motors.drive.valve)
    w = motors.motor_speeds(qd)
    force, held = motors.motor_torques(q, qd, qdd), motors.motor_torques(q, zero, zero)
    used, at_rest = motors.drive.valve_parts(force, w), motors.drive.valve_parts(held, w * 1e-9)
    names: list[str | None] = [motors.names[j] for j in valves]
    parts: list[Part] = [
        (what, names, share[:, valves], 2, rest[:, valves])
        for what, share, rest in zip(("valve flow", "valve force"), used, at_rest, strict=True)
    ]
    if math.isfinite(motors.pump):
        flow = (motors.pump_flows(w) / motors.pump)[:, None]
        parts.append(("pump flow", ["supply"], flow, 1, np.zeros_like(flow)))
    return parts


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
