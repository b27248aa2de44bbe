r"""Where the arm and its motors are in balance: gears twisted by what they carry, torques that keep it so.

The motors stand (or turn evenly) at angles theta; each elastic gear twists by delta = theta - N q until it carries
its share p of what holds the arm:

.. math:: k\,\mathrm{dz}(\delta) = p(q), \qquad p = N^{-T}\,(\mathrm{rne}(q, \dot q, 0) + \tau_f), \qquad
          q = N^{-1}(\theta - \delta)                                                   (eq:start-balance)

with dz the part of the twist beyond half of the play: the load decides which flank it lies on, and without load
the gear stands in the middle of its play. Stiff gears do not twist. At rest rne is the gravity torque. tau_f is the
friction of joints that move; at rest it is not counted on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.compiled.jit import kernel
from servotwin.drives.friction import friction_torque, joint_friction_torque
from servotwin.drives.gears import LOSS_SPEED
from servotwin.drives.harmonics import slope_at, wave_at
from servotwin.drives.records import FREE, STUCK
from servotwin.errors import SimulationError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot

ROUNDS = 60
HALVINGS = 30
EXACT = 1e-12  # of the largest torque: what may be left over
LEAST = 1e-14  # N m at a motor: less is rounding
NUDGE = 1e-6  # rad at a motor, for differences


@dataclass(frozen=True)
class Balance:
    """Joints q, qd (n,); per motor (m,): angle, speed, twist, torque passed to the load and torque of the motor."""

    q: Array
    qd: Array
    theta: Array
    w: Array
    twist: Array
    load: Array
    tau: Array


class Arm:
    """The arm as it is behind its transmission ``N`` (n, n), near the pose ``q0``, joints moving at ``qd``.

    ``stops``: records of the joints, with friction of their own.
    """

    def __init__(self, plant: Robot, motors: Any, stops: Any, N: Array, q0: Array, qd: Array) -> None:
        sliding = stops.copy()
        sliding["mode"] = modes(stops, qd)
        self.joint_friction = np.zeros(len(qd))
        if sliding["has_friction"].any():  # most joints have none, and half a second of compiling is spared
            joint_friction_of(sliding, np.ascontiguousarray(qd), self.joint_friction)
        self.plant, self.motors, self.N, self.q0, self.qd = plant, motors, N, q0, qd
        self.inverse = np.linalg.inv(N)
        self.w = N @ qd
        self.elastic = np.flatnonzero(motors["flexible"] >= 0)
        self.stiffness = motors["stiffness"][self.elastic]
        self.half_play = motors["half_play"][self.elastic]
        self.bends = np.array([motors[f"bend_{i}"][self.elastic] for i in (1, 2)])
        self.added = np.array([motors[f"added_{i}"][self.elastic] for i in (1, 2)])

    def joints(self, theta: Array, twist: Array) -> Array:
        """Positions (n,) of the joints; exactly q0 where the motors stand at N q0 and nothing twists."""
        return np.asarray(self.q0 + self.inverse @ (theta + self.errors(theta) - self.N @ self.q0 - twist))

    def errors(self, theta: Array) -> Array | float:
        """Transmission errors (m,) of the elastic gears behind motors at ``theta`` (m,) (eq:transmission-error)."""
        if not self.motors["gear_waves"].any():
            return 0.0
        pairs = zip(self.motors, theta, strict=True)
        return np.array([wave_at(motor, "gear", float(angle)) for motor, angle in pairs])

    def levers(self, theta: Array) -> Array | float:
        """Torque (m,) that an elastic gear takes from its motor per torque that it transmits."""
        if not self.motors["gear_waves"].any():
            return 1.0
        pairs = zip(self.motors, theta, strict=True)
        return np.array([1.0 + slope_at(motor, "gear", float(angle)) for motor, angle in pairs])

    def load(self, q: Array) -> Array:
        """Torque p (m,) that every gear passes on, counted at its motor."""
        moving = self.qd.any()
        tau = self.plant.rne(q, self.qd, np.zeros_like(q)) if moving else self.plant.gravload(q)
        return np.asarray(self.inverse.T @ (tau + self.joint_friction))

    def torsion(self, load: Array) -> Array:
        """Torques of the elastic gears before their losses, which grow with the speed (eq:gear-loss)."""
        p, w, eta = load[self.elastic], self.w[self.elastic], self.motors["eta"][self.elastic]
        share = np.tanh(np.abs(w) / LOSS_SPEED)
        driving = 1.0 - (1.0 - eta) * share
        return np.asarray(p / np.where(p * w > 0.0, driving, 1.0 + (1.0 / eta - 1.0) * share))

    def spring(self, delta: Array) -> Array:
        """Torques of the elastic gears twisted by ``delta``."""
        beyond = np.maximum(np.abs(delta) - self.half_play, 0.0)
        more = (self.added * np.maximum(np.abs(delta) - self.bends, 0.0)).sum(axis=0)  # eq:gear-stiffening
        return np.asarray(self.stiffness * np.sign(delta) * beyond + np.sign(delta) * more)

    def slope(self, delta: Array) -> Array:
        """Stiffness of the elastic gears twisted by ``delta``; none in their play."""
        more = (self.added * (np.abs(delta) > self.bends)).sum(axis=0)  # eq:gear-stiffening
        return np.asarray(self.stiffness * (np.abs(delta) > self.half_play) + more)

    def unsprung(self, torque: Array) -> Array:
        """The twist under a torque: on the flank that it presses on, or in the middle without one."""
        flank = np.where(np.abs(torque) > LEAST, np.sign(torque), 0.0) * self.half_play
        size, straight = np.abs(torque), self.stiffness * self.bends[0]
        second = straight + (self.stiffness + self.added[0]) * (self.bends[1] - self.bends[0])
        twist = np.asarray(torque / self.stiffness + flank)
        bent = (self.added != 0.0).any(axis=0)
        for i, (start, begins) in enumerate(((self.bends[0], straight), (self.bends[1], second))):
            stiffer = self.stiffness + self.added[: i + 1].sum(axis=0)
            beyond = bent & (start > 0.0) & (size > begins)
            twist = np.where(beyond, np.sign(torque) * (start + (size - begins) / stiffer), twist)
        return np.asarray(twist)

    def whole(self, delta: Array) -> Array:
        """Twist of all motors (m,), zero behind stiff gears."""
        twist = np.zeros(len(self.motors))
        twist[self.elastic] = delta
        return twist

    def missing(self, theta: Array, delta: Array) -> tuple[Array, Array]:
        """What the springs give too much (eq:start-balance), and what they should give."""
        wanted = self.torsion(self.load(self.joints(theta, self.whole(delta))))
        return self.spring(delta) - wanted, wanted


def hanging(arm: Arm, theta: Array) -> Array:
    """Twist (m,) of the gears in balance behind motors at ``theta`` (m,): Newton's method on eq:start-balance."""
    if not len(arm.elastic):
        return np.zeros(len(arm.motors))
    delta = arm.unsprung(arm.torsion(arm.load(arm.joints(theta, arm.whole(np.zeros(len(arm.elastic)))))))
    for _ in range(ROUNDS):
        off, wanted = arm.missing(theta, delta)
        if np.abs(off).max() <= max(EXACT * np.abs(wanted).max(), LEAST):
            return arm.whole(delta)
        delta = _improved(arm, theta, delta, off, wanted)
    raise SimulationError(
        f"{arm.plant.name}: no pose found in which the elastic gears carry the arm; look at their stiffness, or begin "
        "with initial.hold: joints"
    )


def _improved(arm: Arm, theta: Array, delta: Array, off: Array, wanted: Array) -> Array:
    """A Newton step, shortened until it helps; the twist of the present load where it never does."""
    size = len(delta)
    slope = np.diag(arm.slope(delta))
    for k in range(size):
        step = np.where(np.arange(size) == k, NUDGE, 0.0)
        ahead, behind = (arm.missing(theta, delta + sign * step)[1] for sign in (1.0, -1.0))
        slope[:, k] -= (ahead - behind) / (2.0 * NUDGE)
    change = np.linalg.lstsq(slope, -off, rcond=None)[0]
    for _ in range(HALVINGS):
        if np.abs(arm.missing(theta, delta + change)[0]).max() < np.abs(off).max():
            return np.asarray(delta + change)
        change = 0.5 * change
    return arm.unsprung(wanted)


def balance(arm: Arm, theta: Array, *, wound: bool = False) -> Balance:
    """The arm in balance behind motors at ``theta`` (m,); ``wound``: joints there, motors wound up by the twist."""
    twist = np.zeros(len(arm.motors))
    if not wound:
        twist = hanging(arm, theta)
    q = arm.joints(theta, twist + arm.errors(theta) if wound else twist)
    load = arm.load(q)
    if wound and len(arm.elastic):
        twist = arm.whole(arm.unsprung(arm.torsion(load)))
        theta = wound_up(arm, theta, twist)
    return Balance(q, arm.qd, theta, arm.w, twist, load, motor_torque(arm, load) * arm.levers(theta))


def wound_up(arm: Arm, load: Array, twist: Array) -> Array:
    """Angles (m,) of motors whose loads stand at ``load`` (m,) and whose gears are twisted."""
    theta = load + twist
    for _ in range(ROUNDS if arm.motors["gear_waves"].any() else 0):
        theta = load + twist - arm.errors(theta)
    return np.asarray(theta)


def motor_torque(arm: Arm, load: Array) -> Array:
    """Torque (m,) of the motors: what the gears take, and friction. Dry friction at rest is not counted on."""
    motors, w = arm.motors, arm.w
    passed = gear_factor(motors, load, w) * load
    passed[arm.elastic] = arm.torsion(load)
    if not w.any():
        return np.asarray(passed)
    friction = np.zeros(len(motors))
    sliding = motors.copy()
    sliding["mode"] = modes(motors, w)
    friction_of(sliding, np.ascontiguousarray(w), friction)
    return np.asarray(passed + friction)


def gear_factor(motors: Any, load: Array, w: Array) -> Array:
    """Motor torque per torque that a stiff gear passes on (m,), 1 at rest (eq:gear-efficiency)."""
    eta = motors["eta"]
    return np.where(load * w > 0.0, 1.0 / eta, np.where(load * w < 0.0, eta, 1.0))


def modes(motors: Any, w: Array) -> Array:
    """Modes of shafts or joints at the speeds w (m,): without dry friction, stuck, or sliding in their direction."""
    return np.where(motors["mode"] == FREE, FREE, np.where(w == 0.0, STUCK, np.sign(w))).astype(np.int64)


@kernel
def friction_of(motors: Any, w: Any, out: Any) -> None:
    """Friction torque of every motor at its speed."""
    for j in range(motors.shape[0]):
        out[j] = friction_torque(motors[j], w[j])


@kernel
def joint_friction_of(stops: Any, qd: Any, out: Any) -> None:
    """Friction torque of every joint with friction of its own, at its speed."""
    for i in range(stops.shape[0]):
        if stops[i].has_friction:
            out[i] = joint_friction_torque(stops[i], qd[i])
