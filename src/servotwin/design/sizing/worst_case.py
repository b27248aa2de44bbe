r"""The worst case over the workspace: the tool at a speed up to v, accelerating with a, both in any direction.

The tool keeps its orientation. At a pose the joints follow the velocity :math:`v u` and acceleration :math:`a w`
(unit vectors u, w) by

.. math:: \dot q = v J^+ u, \quad \ddot q = J^+ (a\,w - \dot J \dot q), \qquad
          T = G + v^2\,u^T Q\,u + a\,r^T w                                                (eq:worst-direction)

so that the largest torque of an actuator is known in closed form: with the eigenvalues of its symmetric Q,

.. math:: \max T = G + v^2 \max(0, \lambda_{max}(Q)) + a\,\lVert r \rVert                 (eq:worst-torque)

and the same for -T. Poses are drawn evenly within the limits; from the worst of them each torque and speed of each
actuator is climbed, along the limits where they are in the way.
Where a joint would exceed its limits of speed or acceleration, as near singular poses, the tool cannot move so in every
direction; such poses are left out and counted. An arm with too few joints to keep the orientation lets it turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from servotwin.description.drive_data import DriveData
from servotwin.design.sizing.actuators import Actuator
from servotwin.design.sizing.evaluate import Rules
from servotwin.design.sizing.load import output_map
from servotwin.design.sizing.worst_duty import Continuous, continuous_of
from servotwin.errors import InputError
from servotwin.mechanism.model import Array, BoolArray
from servotwin.robot.robot import Robot

POSES = 4000
STARTS, NEARBY, ROUNDS = 6, 24, 20  # poses that are improved, new ones near each, how often
SPREAD, SHRINK = 0.15, 0.7  # of the joint ranges in the first round, and from one to the next
MOVED = (0.3, 0.6, 1.0)  # chances that a joint moves in a step: the worst is often at a corner of the limits
HALVINGS = 12  # of a step that leaves the limits, until it ends on them
_PAIRS = ((0, 1), (0, 2), (1, 2))
TRIED = 20  # poses that tell whether an arm can keep the orientation of its tool
FLAT = 1e-6  # singular value of the Jacobian, relative, below which a direction counts as lost


@dataclass(frozen=True)
class WorstLoad:
    """The worst of one actuator: torque at gear output and motor with their poses, and the largest speeds."""

    name: str
    unit: str
    output_torque: float  # [N m, N]
    output_pose: tuple[float, ...]
    motor_torque: float  # [N m]
    motor_pose: tuple[float, ...]
    holding_torque: float  # at the output against gravity alone
    output_speed: float  # [rad/s, m/s]
    motor_speed: float  # [rad/s]
    output_limit: float | None = None  # repeated peak of the gear
    motor_limit: float | None = None  # peak torque of the motor [N m]
    speed_limit: float | None = None  # largest speed of the motor [rad/s]
    continuous: Continuous | None = None  # holding the arm, in motion for a share of the time
    reserve: float = 1.0  # factor by which every limit must be missed

    @property
    def rms_torque(self) -> float | None:
        """Largest RMS torque of the motor for the stated share of motion [N m]."""
        return None if self.continuous is None else self.continuous.rms_torque

    @property
    def winding(self) -> float | None:
        """Steady winding temperature at that torque [degC]."""
        return None if self.continuous is None else self.continuous.winding

    @property
    def share(self) -> float | None:
        """Largest share of a limit that it uses; None if no limit is known."""
        pairs = (
            (self.output_torque, self.output_limit),
            (self.motor_torque, self.motor_limit),
            (self.motor_speed, self.speed_limit),
        )
        shares = [need / limit for need, limit in pairs if limit is not None]
        if self.continuous is not None:
            shares += self.continuous.shares
        return max((self.reserve * share for share in shares), default=None)


@dataclass(frozen=True)
class WorstCase:
    """All actuators, the tool's speed [m/s] and acceleration [m/s2], and the share of poses that were left out.

    ``moving``: share of the time in motion for what is borne without end, 0 where the arm is only held.
    """

    speed: float
    acceleration: float
    loads: tuple[WorstLoad, ...]
    left_out: float
    poses: int
    moving: float = 0.0

    @property
    def passes(self) -> bool:
        """True if no limit that is known is exceeded."""
        return all(load.share is None or load.share <= 1.0 for load in self.loads)


def worst_case(
    robot: Robot,
    drives: Sequence[DriveData],
    actuators: Sequence[Actuator],
    speed: float,
    acceleration: float,
    *,
    poses: int = POSES,
    seed: int = 1,
    moving: float = 0.0,
    rules: Rules | None = None,
) -> WorstCase:
    """The worst case of a robot over its joint ranges (eq:worst-torque); tool speed [m/s], acceleration [m/s2].

    ``moving``: share of the time in motion, which bounds RMS torque and temperature (eq:worst-duty).
    """
    cone = _Cone(robot, drives, actuators, speed, acceleration)
    rng = np.random.default_rng(seed)
    q = np.concatenate([robot.random_q(rng, poses), robot.q_home[None]])
    found = cone.torques(q)
    usable = np.isfinite(found[0]).all(axis=1)
    if not usable.any():
        raise cone.nowhere(q)
    loads = []
    for j, drive in enumerate(drives):
        out, motor, turn, held = (_climb(cone, (i, j), q, found[i][:, j], rng) for i in range(4))
        n = actuators[j].gear.ratio
        loads.append(
            WorstLoad(
                drive.name, cone.units[j], out[1], tuple(out[0].tolist()), motor[1], tuple(motor[0].tolist()), held[1],
                turn[1], n * turn[1], actuators[j].gear.repeated_torque, _known(actuators[j].motor.torque_limit),
                actuators[j].motor.top_speed,
                continuous_of(
                    actuators[j], cone.friction[j], motor[1], held[1], n * turn[1], moving, rules or Rules()
                ),
            )
        )  # fmt: skip
    if rules is not None:
        loads = [replace(load, reserve=rules.reserve) for load in loads]
    return WorstCase(speed, acceleration, tuple(loads), 1.0 - float(usable.mean()), len(q), moving)


def _known(limit: float) -> float | None:
    return limit if np.isfinite(limit) else None


def _climb(
    cone: _Cone, which: tuple[int, int], q: Array, at: Array, rng: np.random.Generator
) -> tuple[Array, float]:
    """The pose of the largest value: the best of those drawn, improved by poses drawn ever nearer to them.

    ``which``: output torque (0), motor torque (1), speed (2) or held torque (3), and the actuator; ``at``: its values
    at the poses q.
    """
    known = np.where(np.isfinite(at), at, -np.inf)
    top = np.argsort(-known)[:STARTS]
    poses, values = q[top], known[top]
    low, high = cone.range
    for k in range(ROUNDS):
        steps = rng.normal(size=(len(poses), NEARBY, q.shape[1])) * (high - low) * SPREAD * SHRINK**k
        chance = rng.choice(MOVED, (*steps.shape[:2], 1))
        steps *= rng.random(steps.shape) < chance  # some joints stay where they are
        from_ = np.repeat(poses, NEARBY, axis=0)
        near = cone.pulled_back(from_, np.clip(from_ + steps.reshape(from_.shape), low, high))
        fresh = cone.torques(near)[which[0]][:, which[1]]
        poses = np.concatenate([poses, near])
        values = np.concatenate([values, np.where(np.isfinite(fresh), fresh, -np.inf)])
        best = np.argsort(-values)[:STARTS]
        poses, values = poses[best], values[best]
    return poses[0], float(values[0])


class _Cone:
    """All directions of tool speed and acceleration at poses of a robot."""

    def __init__(
        self,
        robot: Robot,
        drives: Sequence[DriveData],
        actuators: Sequence[Actuator],
        speed: float,
        acceleration: float,
    ) -> None:
        self.robot, self.v, self.a = robot, speed, acceleration
        self.A = output_map(robot, drives)
        self.B = np.linalg.inv(self.A)
        self.n = np.array([actuator.gear.ratio for actuator in actuators])
        self.J = np.array([actuator.inertia for actuator in actuators])
        self.eta = np.array([actuator.gear.efficiency for actuator in actuators])
        self.friction = [
            actuator.friction + drive.joint_friction
            for actuator, drive in zip(actuators, drives, strict=True)
        ]
        kinds = dict(zip(robot.joint_names, robot.joint_units, strict=True))
        self.units = tuple(kinds[drive.joints[0]] for drive in drives)
        wide = np.where(np.array(robot.joint_units) == "m", 1.0, np.pi)
        low, high = robot.limits.q_min, robot.limits.q_max
        self.keeps_orientation = True
        if self._inverse(robot.random_q(np.random.default_rng(0), TRIED))[1].all():
            self.keeps_orientation = False  # too few joints: the tool turns as it moves
        self.range = np.where(np.isfinite(low), low, -wide), np.where(np.isfinite(high), high, wide)

    def torques(self, q: Array) -> tuple[Array, Array, Array, Array]:
        """Largest output torque, motor torque, output speed (p, m; NaN where v is not possible), and held torque."""
        inverse, lost = self._inverse(q)
        G = self.robot.gravload(q) @ self.B
        S, R = self._quadratic(q, inverse)
        rows = self.robot.inertia(q) @ inverse[:, :, :3]
        out_rows = np.einsum("ji,pjk->pik", self.B, rows)
        turn_rows = np.einsum("ij,pjk->pik", self.A, inverse[:, :, :3])
        top = self.v * np.linalg.norm(turn_rows, axis=2)
        out = _largest(G, S, out_rows, self.a)
        n = self.n
        motor_rows = out_rows / n[:, None] + (self.J * n)[:, None] * turn_rows
        motor = _largest(G / n, S / n[:, None, None] + (self.J * n)[:, None, None] * R, motor_rows, self.a)
        # what passes the gear costs more than it gives; friction acts against the motion
        motor = motor + out / n * (1.0 / self.eta - 1.0) + self._friction(top)
        beyond = lost | self._too_fast(inverse, R)
        out, motor, top = (np.where(beyond[:, None], np.nan, x) for x in (out, motor, top))
        return out, motor, top, np.abs(G)  # an arm may stand where its tool cannot move so

    def within(self, q: Array) -> BoolArray:
        """Poses (p,) within the limits of named quantities and of angles and distances between frames."""
        beyond = (self.robot.quantities.beyond(q) > 0.0).any(axis=1)
        return np.asarray(~(beyond | (self.robot.frame_quantities_beyond(q) > 0.0).any(axis=1)))

    def pulled_back(self, inner: Array, outer: Array) -> Array:
        """The poses ``outer`` (p, n) where they are within all limits; else the last such ones on the way to them."""
        out = outer.copy()
        rows = np.flatnonzero(~self.within(outer))
        a, b = inner[rows], outer[rows]
        for _ in range(HALVINGS if len(rows) else 0):
            middle = 0.5 * (a + b)
            good = self.within(middle)[:, None]
            a, b = np.where(good, middle, a), np.where(good, b, middle)
        out[rows] = a
        return out

    def _too_fast(self, inverse: Array, R: Array) -> BoolArray:
        """Poses (p,) where a joint would need more than its limits of speed or acceleration."""
        limits, size = self.robot.limits, np.linalg.norm(inverse[:, :, :3], axis=2)
        bent = np.abs(np.linalg.eigvalsh(np.einsum("ij,pjkl->pikl", self.B, R))).max(axis=-1)
        beyond = (self.v * size > limits.qd_max) | (self.a * size + bent > limits.qdd_max)
        return np.asarray(beyond.any(axis=1))

    def nowhere(self, q: Array) -> InputError:
        """Why the tool moves nowhere as asked: the largest speed or acceleration of poses q (p, n), and its axis."""
        inverse, lost = self._inverse(q)
        size = np.maximum(np.linalg.norm(inverse[:, :, :3], axis=2), 1e-300)
        R = self._quadratic(q, inverse)[1]
        bent = np.abs(np.linalg.eigvalsh(np.einsum("ij,pjkl->pikl", self.B, R))).max(axis=-1)
        limits, within = self.robot.limits, (self.v * size <= self.robot.limits.qd_max).all(axis=1) & ~lost
        what, text, room, unit = "speed", f"{self.v:g} m/s", limits.qd_max / size, "m/s"
        if within.any():
            what, unit = "acceleration", "m/s2"
            text = f"{self.v:g} m/s and accelerate with {self.a:g} m/s2"
            room = np.where(within[:, None], (limits.qdd_max - bent) / size, -np.inf)
        room = np.where(lost[:, None], -np.inf, room)
        least = room.min(axis=1)
        best = int(np.argmax(least))
        message = (
            f"{self.robot.name}: nowhere in its workspace can the tool move at {text} in every direction"
        )
        if np.isfinite(least[best]) and least[best] > 0.0:
            axis = self.robot.joint_names[int(np.argmin(room[best]))]
            message += f"; the largest {what} is {least[best]:.3g} {unit}, limited by {axis}"
        return InputError(message, field=f"--tool-{what}")

    def _friction(self, speed: Array) -> Array:
        columns = [
            friction.torque(n * speed[:, j])
            for j, (friction, n) in enumerate(zip(self.friction, self.n, strict=True))
        ]
        return np.stack(columns, axis=1)

    def _inverse(self, q: Array) -> tuple[Array, BoolArray]:
        """Joint per tool motion (p, n, 6), and where some direction of the tool's travel is lost."""
        J = self.robot.jacob0(q)
        inverse = np.zeros((len(q), self.robot.n, 6))
        rows = 6 if self.keeps_orientation else 3
        inverse[:, :, :rows] = np.linalg.pinv(J[:, :rows], rcond=FLAT)
        lost = np.abs(J[:, :3] @ inverse[:, :, :3] - np.eye(3)).max(axis=(1, 2)) > 1e-6
        planar = not (np.abs(J[:, :3]).max(axis=(0, 2)) > 0.0).all()
        return np.asarray(inverse), np.zeros(len(q), dtype=np.bool_) if planar else np.asarray(lost)

    def _quadratic(self, q: Array, inverse: Array) -> tuple[Array, Array]:
        """Symmetric Q (p, m, 3, 3) of output torque and output acceleration over v^2 u (eq:worst-direction)."""
        unit = np.eye(3)
        single = [self._bias(q, inverse, unit[i]) for i in range(3)]
        S, R = (np.zeros((len(q), len(self.n), 3, 3)) for _ in range(2))
        for part, out in ((0, S), (1, R)):
            for i in range(3):
                out[:, :, i, i] = single[i][part]
        for i, k in _PAIRS:
            both = self._bias(q, inverse, unit[i] + unit[k])
            for part, out in ((0, S), (1, R)):
                out[:, :, i, k] = out[:, :, k, i] = 0.5 * (both[part] - single[i][part] - single[k][part])
        return S, R

    def _bias(self, q: Array, inverse: Array, u: Array) -> tuple[Array, Array]:
        """Output torque without gravity and output acceleration (p, m) of an even motion along u at the speed v."""
        qd = self.v * inverse[:, :, :3] @ u
        drift = np.einsum("pij,pj->pi", self.robot.jacob0_dot(q, qd), qd)
        qdd = -np.einsum("pij,pj->pi", inverse, drift)
        tau = self.robot.rne(q, qd, qdd) - self.robot.gravload(q)
        return tau @ self.B, qdd @ self.A.T


def _largest(G: Array, Q: Array, rows: Array, a: float) -> Array:
    """Largest size of G + u^T Q u + a r^T w over unit vectors u, w and speeds up to v (eq:worst-torque)."""
    values = np.linalg.eigvalsh(Q)
    push = a * np.linalg.norm(rows, axis=2)
    up = G + np.maximum(values[..., -1], 0.0) + push  # eq:worst-torque
    down = -G - np.minimum(values[..., 0], 0.0) + push
    return np.asarray(np.maximum(up, down))
