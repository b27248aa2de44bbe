r"""The limits that bound a workspace, as margins that are zero on them and positive inside.

Joints and named quantities have a least and a largest value. With a payload the torques that hold the arm count,
at the joints, :math:`|\tau_i| \le \tau_{\max,i}`, and at the motors,
:math:`|(N^{-T} \tau)_k| \le \tau_{\mathrm{rated},k}` (eq:actuator-torque).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.description.display import DEG, MM
from servotwin.description.drive_data import DriveData
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot

SEAM = "full turn"  # a joint without limits: the cut through its circle is no limit


@dataclass(frozen=True)
class Limit:
    """One side of one limit: its kind ('joint', 'quantity', 'payload', 'singular', 'seam') and how people call it."""

    kind: str
    name: str


@dataclass(frozen=True)
class LimitSet:
    """All limits of a robot with what it carries."""

    robot: Robot
    joints: Array  # (2, n) least and largest position; cut at a full turn where there is no limit
    moving: tuple[int, ...]  # joints whose own limits count; the others stand still
    limits: tuple[Limit, ...]
    tau_joint: Array  # (n,) largest holding torque; infinite where none counts
    motor: Array  # (m, n) motor torque per joint torque
    tau_motor: Array  # (m,)

    def margins(self, q: Array) -> Array:
        """Margins (k, m) of all limits at joint positions (k, n) [rad, m, parts of a torque limit]."""
        return np.concatenate([self.linear(q), self.other(q)], axis=1)

    def linear(self, q: Array) -> Array:
        """The first of them, which are linear in q and exist everywhere: joints, and sums of joints."""
        moving, z = list(self.moving), self.robot.quantities
        values = z.values(q)
        parts = [q[:, moving] - self.joints[0, moving], self.joints[1, moving] - q[:, moving]]
        parts += [(values - z.low)[:, np.isfinite(z.low)], (z.high - values)[:, np.isfinite(z.high)]]
        return np.concatenate(parts, axis=1)

    def other(self, q: Array) -> Array:
        """The others (k, m'): quantities between frames, and torques."""
        z = self.robot.frame_quantities
        values = self.robot.frame_quantity_values(q)
        parts = [(values - z.low)[:, np.isfinite(z.low)], (z.high - values)[:, np.isfinite(z.high)]]
        if self.holding:
            parts += self._torque_margins(q)
        return np.concatenate(parts, axis=1)

    @property
    def holding(self) -> bool:
        """True if torques count."""
        return bool(np.isfinite(self.tau_joint).any() or np.isfinite(self.tau_motor).any())

    def _torque_margins(self, q: Array) -> list[Array]:
        tau = self.robot.gravload(q)
        at_motor = tau @ self.motor.T  # eq:actuator-torque
        found = []
        for value, largest in ((tau, self.tau_joint), (at_motor, self.tau_motor)):
            counted = np.isfinite(largest)
            found.append(1.0 - np.abs(value[:, counted]) / largest[counted])
        return found


def limit_set(
    robot: Robot,
    drives: Sequence[DriveData] = (),
    *,
    moving: Sequence[int] | None = None,
    holding: bool = False,
) -> LimitSet:
    """The limits of a robot, for some ``moving`` joints or all; ``holding`` counts the torques against gravity."""
    counted = tuple(range(robot.n)) if moving is None else tuple(moving)
    turning = np.array(robot.joint_units) == "rad"
    low, high = robot.limits.q_min.copy(), robot.limits.q_max.copy()
    for i, name in enumerate(robot.joint_names):
        if i in counted and not turning[i] and not (np.isfinite(low[i]) and np.isfinite(high[i])):
            raise InputError(
                f"{robot.name}: joint '{name}' slides without limits; expected limits.position of its axis"
            )
    one_sided = turning & (np.isfinite(low) != np.isfinite(high))
    low = np.where(one_sided & ~np.isfinite(low), high - 2.0 * np.pi, low)
    high = np.where(one_sided & ~np.isfinite(high), low + 2.0 * np.pi, high)
    free = ~np.isfinite(low)
    low, high = np.where(free, robot.q_home - np.pi, low), np.where(free, robot.q_home + np.pi, high)
    motor, tau_motor = _motor_limits(robot, drives, holding)
    tau_joint = robot.limits.tau_max.copy() if holding else np.full(robot.n, np.inf)
    if holding and not (np.isfinite(tau_joint).any() or np.isfinite(tau_motor).any()):
        raise InputError(
            f"{robot.name}: a payload bounds nothing, as no joint has limits.effort and no motor a rated_torque",
            field="payload",
        )
    joints = np.stack([low, high])
    limits = _named(robot, counted, joints, tau_joint, tau_motor)
    return LimitSet(robot, joints, counted, limits, tau_joint, motor, tau_motor)


def _motor_limits(robot: Robot, drives: Sequence[DriveData], holding: bool) -> tuple[Array, Array]:
    """N^-T and the rated torques of the motors; none if they do not determine the joints one to one."""
    N = robot.mechanism.rotors.N
    named = {drive.name: drive for drive in drives}
    if not holding or N.shape != (robot.n, robot.n) or abs(np.linalg.det(N)) == 0.0:
        return np.zeros((0, robot.n)), np.zeros(0)
    rated = [
        named[name].ratings.rated_torque if name in named else None for name in robot.mechanism.rotors.names
    ]
    return np.asarray(np.linalg.inv(N).T, dtype=np.float64), np.array(
        [np.inf if value is None else value for value in rated]
    )


def _named(
    robot: Robot, moving: tuple[int, ...], joints: Array, tau_joint: Array, tau_motor: Array
) -> tuple[Limit, ...]:
    names: list[Limit] = []
    for side, words, stated in ((0, "at least", robot.limits.q_min), (1, "at most", robot.limits.q_max)):
        for i in moving:
            name = robot.joint_names[i]
            shown = _shown(joints[side, i], robot.joint_units[i] == "m")
            limited = np.isfinite(stated[i])
            names.append(
                Limit("joint", f"{name} {words} {shown}") if limited else Limit("seam", f"{name}: {SEAM}")
            )
    for z in (robot.quantities, robot.frame_quantities):
        for words, bound in (("at least", z.low), ("at most", z.high)):
            for name, value, length in zip(z.names, bound, z.lengths, strict=True):
                if np.isfinite(value):
                    names.append(Limit("quantity", f"{name} {words} {_shown(value, length)}"))
    names += [
        Limit("payload", f"torque of joint {name}")
        for name, most in zip(robot.joint_names, tau_joint, strict=True)
        if np.isfinite(most)
    ]
    names += [
        Limit("payload", f"rated torque of motor {name}")
        for name, most in zip(robot.mechanism.rotors.names, tau_motor, strict=False)
        if np.isfinite(most)
    ]
    return tuple(names)


def _shown(value: float, length: bool) -> str:
    return f"{MM * value:.6g} mm" if length else f"{DEG * value:.6g} deg"
