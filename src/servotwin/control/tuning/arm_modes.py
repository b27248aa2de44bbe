r"""Modes of an arm with elastic gears at a pose: let go, held by its motors, and under its servo loops.

With joints q, motors :math:`\theta` behind elastic gears (e) and stiff ones (s), small motions about rest obey

.. math::

    (M + N_s^T J_s N_s)\,\ddot q + G\,q &= N_e^T \bigl(k (\theta - N_e q) + c (\dot\theta - N_e \dot q)\bigr)
        + N_s^T \tau_s \\
    J_e\,\ddot\theta &= \tau_e - k (\theta - N_e q) - c (\dot\theta - N_e \dot q)           (eq:elastic-arm)

with :math:`G = \partial g/\partial q` of gravity. Motors that stand still give the modes that a motion leaves behind if
the servo is stiff; seen from one motor they are its antiresonances. The cascade puts

.. math:: \tau = K_t \Bigl(K_n e + K_{ni} \int e\,dt\Bigr), \quad e = -K_x \theta - \dot\theta   (eq:servo-mode)

behind a lag, which moves them and damps them. Theory: docs/theory/input-shaping.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from servotwin.control.servo.axis_data import controller_of, robot_gains, timing_of
from servotwin.control.tuning.gains import Gains
from servotwin.description.motors import required_drives
from servotwin.description.schema import RobotDescription
from servotwin.errors import UnsupportedError
from servotwin.linear.system import Array
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia

if TYPE_CHECKING:
    from servotwin.linear.modes import Complex

STEP = 1e-5  # rad, m: of differences of the gravity torque
SWINGS = 0.9  # damping up to which a mode counts as one that swings
AT_ZERO = (
    1e-6  # of the fastest pole: a shaft that turns freely has two poles at zero, which rounding parts by less
)
APART = 1e-3  # relative distance below which a resonance and an antiresonance hide each other


@dataclass(frozen=True)
class ArmMode:
    """A mode: natural ``frequency`` [rad/s], ``damping``, and how far the joints move in it (n,), the most 1."""

    frequency: float
    damping: float
    joints: Array
    motors: Array  # the same of the motors, over their gears; in the unit of ``joints``

    @property
    def hertz(self) -> float:
        """Natural frequency [Hz]."""
        return self.frequency / (2.0 * math.pi)


@dataclass(frozen=True)
class MotorView:
    """What a motor sees between its torque and its speed, the others held: frequencies [rad/s] with their damping."""

    motor: str
    resonances: tuple[tuple[float, float], ...]  # natural frequency, damping
    antiresonances: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class ElasticArm:
    """Matrices of eq:elastic-arm at a pose, and the loops of the motors; k, c, J (m,) at the motors, k 0 if stiff."""

    joints: tuple[str, ...]
    motors: tuple[str, ...]
    M: Array  # of the joints, without rotors (n, n)
    G: Array  # gradient of the gravity torque (n, n)
    N: Array  # motors per joints (m, n)
    J: Array
    k: Array
    c: Array
    f: Array  # viscous friction at the motors
    K_t: Array
    gains: tuple[Gains, ...]
    lag: Array  # from a measured speed to the torque that answers it [s]
    law: str = "cascade"
    K_p: float = 0.0  # of computed torque
    K_d: float = 0.0

    @cached_property
    def elastic(self) -> NDArray[np.intp]:
        """Numbers of the motors behind elastic gears."""
        return np.flatnonzero(self.k > 0.0)

    @cached_property
    def stiff(self) -> NDArray[np.intp]:
        """Numbers of the others."""
        return np.flatnonzero(self.k <= 0.0)

    @cached_property
    def matrices(self) -> tuple[Array, Array, Array, Array]:
        """Mass, damping and stiffness of the coordinates (q, theta_e), and motor angles of them (m, n + e)."""
        n, e, s = len(self.M), self.elastic, self.stiff
        N_e, N_s, k, c = self.N[e], self.N[s], np.diag(self.k[e]), np.diag(self.c[e])
        spring = np.hstack([-N_e, np.eye(len(e))])  # twist of the gears
        mass = np.zeros((n + len(e),) * 2)
        mass[:n, :n] = self.M + N_s.T @ (self.J[s, None] * N_s)
        mass[n:, n:] = np.diag(self.J[e])
        stiffness, damping = spring.T @ k @ spring, spring.T @ c @ spring
        stiffness[:n, :n] += self.G
        angles = np.zeros((len(self.motors), n + len(e)))
        angles[s, :n] = N_s
        angles[e, n + np.arange(len(e))] = 1.0
        return mass, damping + angles.T @ (self.f[:, None] * angles), stiffness, angles  # eq:elastic-arm

    def held(self, free: Sequence[int] = ()) -> list[ArmMode]:
        """Modes with all motors but the ``free`` ones standing still, slowest first."""
        mass, damping, stiffness, angles = self.matrices
        fixed = [j for j in range(len(self.motors)) if j not in free]
        kept = _null_space(angles[fixed])
        A = _first_order(*(kept.T @ X @ kept for X in (mass, damping, stiffness)))
        return self._modes(A, kept)

    def free(self) -> list[ArmMode]:
        """Modes without any motor torque."""
        return self.held(range(len(self.motors)))

    def under_servo(self) -> list[ArmMode]:
        """Modes while the loops hold all motors (eq:servo-mode); those of held motors under state feedback."""
        if self.law == "state-feedback":
            return self.held()
        mass, damping, stiffness, angles = self.matrices
        size, m = len(mass), len(self.motors)
        A = np.zeros((2 * size + 2 * m,) * 2)
        A[: 2 * size, : 2 * size] = _first_order(mass, damping, stiffness)
        x, v, torque, total = (
            slice(0, size), slice(size, 2 * size), slice(2 * size, 2 * size + m), slice(2 * size + m, None),
        )  # fmt: skip
        A[v, torque] = np.linalg.solve(mass, angles.T)
        A[torque, torque] = -np.diag(1.0 / self.lag)
        if self.law == "computed-torque":
            back = np.linalg.inv(self.N)
            D = np.diag(self.J) + back.T @ self.M @ back
            A[torque, x], A[torque, v] = (-(D * K) @ angles / self.lag[:, None] for K in (self.K_p, self.K_d))
            A = A[: 2 * size + m, : 2 * size + m]
            return self._modes(A, np.eye(size))
        K_x, K_n, K_ni = (
            np.array([getattr(g, name) for g in self.gains])
            for name in ("position", "speed_proportional", "speed_integral")
        )
        K_n, K_ni = self.K_t * K_n, self.K_t * K_ni
        error_x, error_v = -K_x[:, None] * angles, -angles  # eq:servo-mode
        A[total, x], A[total, v] = error_x, error_v
        A[torque, x], A[torque, v] = (
            (K_n[:, None] * error) / self.lag[:, None] for error in (error_x, error_v)
        )
        A[torque, total] = np.diag(K_ni / self.lag)
        return self._modes(A, np.eye(size))

    def view(self, motor: int) -> MotorView:
        """Resonances and antiresonances between torque and speed of a motor, the others held."""
        poles = [(mode.frequency, mode.damping) for mode in self.held([motor]) if mode.frequency > 0.0]
        zeros = [(mode.frequency, mode.damping) for mode in self.held()]
        seen = []
        for pole in poles:
            same = [zero for zero in zeros if abs(zero[0] - pole[0]) < APART * pole[0]]
            if same:
                zeros.remove(same[0])
            else:
                seen.append(pole)
        return MotorView(self.motors[motor], tuple(seen), tuple(zeros))

    def response(self, motor: int, w: Array) -> Complex:
        """Speed of a motor over its torque (k,) [rad/(s N m)] at frequencies w (k,) [rad/s], the other motors held."""
        mass, damping, stiffness, angles = self.matrices
        kept = _null_space(np.delete(angles, motor, axis=0))
        mass, damping, stiffness = (kept.T @ X @ kept for X in (mass, damping, stiffness))
        push = (angles[motor] @ kept).astype(np.complex128)
        square = (-(w**2))[:, None, None] * mass + 1j * w[:, None, None] * damping + stiffness
        moved = np.linalg.solve(square, np.broadcast_to(push[:, None], (len(w), len(push), 1)))[:, :, 0]
        return np.asarray(1j * w * (moved @ push))

    def _modes(self, A: Array, coordinates: Array) -> list[ArmMode]:
        """What swings of a first-order system whose first states are ``coordinates`` times (q, theta_e)."""
        values, vectors = np.linalg.eig(A)
        n, found, slowest = len(self.M), [], AT_ZERO * float(np.abs(values).max(initial=0.0))
        for k in np.argsort(np.abs(values)):
            pole = complex(values[k])
            if pole.imag <= 0.0 or -pole.real > SWINGS * abs(pole) or abs(pole) < slowest:
                continue
            shape: Complex = coordinates @ vectors[: coordinates.shape[1], k]
            joints, motors = self._shares(shape[:n], self.matrices[3] @ shape)
            found.append(ArmMode(abs(pole), -pole.real / abs(pole), joints, motors))
        return found

    def _shares(self, q: Complex, theta: Complex) -> tuple[Array, Array]:
        """Joints and motors of a mode at the instant at which most joints are far out, signs kept, the most 1."""
        largest = int(np.argmax(np.abs(q)))
        turn = q[largest] / abs(q[largest]) if abs(q[largest]) > 0.0 else 1.0
        size = abs(q[largest]) or 1.0
        back = np.linalg.pinv(self.N)
        return np.real(q / turn) / size, np.real((back @ theta) / turn) / size


def _null_space(rows: Array) -> Array:
    """Columns that span what these rows leave free."""
    if not len(rows):
        return np.eye(rows.shape[1])
    _, sizes, axes = np.linalg.svd(rows)
    rank = int((sizes > 1e-10 * sizes.max(initial=1e-300)).sum())
    return np.asarray(axes[rank:].T)


def _first_order(mass: Array, damping: Array, stiffness: Array) -> Array:
    n = len(mass)
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    A[n:, :n], A[n:, n:] = -np.linalg.solve(mass, stiffness), -np.linalg.solve(mass, damping)
    return A


def has_elastic_gears(description: RobotDescription) -> bool:
    """Whether some gear of a robot is elastic as its controller knows it."""
    return any(drive.gear.elastic for drive in required_drives(description))


@dataclass(frozen=True)
class ArmModel:
    """A robot as its controller knows it, for modes at many poses; the loops keep the gains of the home pose."""

    description: RobotDescription
    robot: Robot
    gains: tuple[Gains, ...]

    @classmethod
    def of(cls, description: RobotDescription, robot: Robot) -> ArmModel:
        """From a description and its robot."""
        rotors = robot.mechanism.rotors
        if rotors.N.shape != (robot.n, robot.n):
            raise UnsupportedError(
                f"{robot.name}: {rotors.N.shape[0]} motors for {robot.n} joints; expected one motor for every joint"
            )
        J = motor_inertia(robot, robot.mechanism.q_home, held=True)
        return cls(description, robot, tuple(gains for _, gains in robot_gains(description, J)))

    def at(self, q: Array) -> ElasticArm:
        """The elastic arm at the pose q (n,)."""
        robot, control = self.robot, controller_of(self.description)
        drives = required_drives(self.description)
        steps = STEP * np.eye(robot.n)
        g = robot.gravload(np.concatenate([q + steps, q - steps]))
        lags = []
        for drive in drives:
            timing = timing_of(control, drive.name)
            ahead = 1.0 / control.bandwidth("current_bandwidth", drive.name)
            lags.append(ahead + timing.T_speed * (1.0 + timing.speed_delay) + timing.speed_filter)
        return ElasticArm(
            joints=tuple(robot.joint_names),
            motors=tuple(robot.mechanism.rotors.names),
            M=np.asarray(robot.inertia(q)),
            G=np.asarray((g[: robot.n] - g[robot.n :]).T / (2.0 * STEP)),
            N=np.asarray(robot.mechanism.rotors.N, dtype=np.float64),
            J=np.array([drive.rotor_inertia for drive in drives]),
            k=np.array([drive.gear.stiffness or 0.0 for drive in drives]),
            c=np.array([drive.gear.damping if drive.gear.elastic else 0.0 for drive in drives]),
            f=np.array([drive.viscous_friction for drive in drives]),
            K_t=np.array([drive.torque_constant for drive in drives]),
            gains=self.gains,
            lag=np.array(lags),
            law=control.law,
            K_p=control.position_bandwidth**2,
            K_d=2.0 * control.position_bandwidth,
        )
