r"""What motors and their supply can give: torque against speed, and how much of it a motion asks for.

Torque is bounded by the driver's current, speed by the voltage that is left beside the back-EMF. Theory:
docs/theory/envelope.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.description.friction_curve import FrictionCurve, joint_curve, motor_curve
from servotwin.description.motors import owners
from servotwin.description.schema import Gear, Motor, Power, RobotDescription
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot


@dataclass(frozen=True, eq=False)
class DriveLimits:
    r"""Motors with their drivers, an array (m,) for each quantity, infinite where nothing limits.

    ``torque`` [N m] by the current, ``speed`` [rad/s] of the data sheet, ``voltage`` [V] (amplitude of a phase
    for a synchronous motor), ``resistance`` [ohm] with that of the bridge, ``constant`` K_t [N m/A], ``emf`` K_b
    [V s/rad], ``reactance`` p L_q [V s/(A rad)], zero for a DC motor.
    """

    torque: Array
    speed: Array
    voltage: Array
    resistance: Array
    constant: Array
    emf: Array
    reactance: Array

    def share(self, tau: Array, w: Array) -> Array:
        r"""How much of a drive torques and speeds (..., m) use, 1 on the edge of its torque-speed envelope.

        .. math:: r = \max\left(\frac{|\tau|}{\tau_\max}, \frac{|u|}{U}, \frac{|\omega|}{\omega_\max}\right),
                  \quad u^2 = (R i + K_b \omega)^2 + (p \omega L_q i)^2, \quad i = \tau / K_t      (eq:drive-share)

        A motor that drives uses at most r/k in the same motion k times slower, save for the torque that gravity
        and dry friction take. A braking motor has :math:`\tau \omega < 0`: back-EMF and voltage drop oppose each
        other, and only the current limits it.
        """
        by_current, by_voltage, by_speed = self.parts(tau, w)
        return np.asarray(np.maximum(np.maximum(by_current, by_voltage), by_speed))  # eq:drive-share

    def parts(self, tau: Array, w: Array) -> tuple[Array, Array, Array]:
        """The shares of current, voltage and speed, each (..., m)."""
        i = tau / self.constant
        u = np.hypot(self.resistance * i + self.emf * w, self.reactance * w * i)
        return np.abs(tau) / self.torque, u / self.voltage, np.abs(w) / self.speed

    def torques(self, w: Array) -> tuple[Array, Array]:
        r"""Least and largest torque (..., m) [N m] at speeds (..., m): the edges of the envelope, nan beyond it.

        .. math:: (R^2 + p^2 \omega^2 L_q^2)\, i^2 + 2 R K_b \omega\, i + K_b^2 \omega^2 - U^2 \le 0, \quad
                  |K_t i| \le \tau_\max                                                       (eq:torque-speed)
        """
        low, high = self.voltage_torques(w)
        return np.maximum(low, -self.torque), np.minimum(high, self.torque)

    def voltage_torques(self, w: Array) -> tuple[Array, Array]:
        """Least and largest torque (..., m) [N m] that the voltage alone drives; nan where it drives none."""
        limited = np.isfinite(self.voltage)
        U, R = np.where(limited, self.voltage, 1.0), np.where(self.resistance > 0.0, self.resistance, 1.0)
        a, b = R**2 + (self.reactance * w) ** 2, R * self.emf * w
        square = b**2 - a * ((self.emf * w) ** 2 - U**2)
        root = np.sqrt(np.where(square >= 0.0, square, np.nan))
        low, high = self.constant * (-b - root) / a, self.constant * (-b + root) / a  # eq:torque-speed
        return np.where(limited, low, -np.inf), np.where(limited, high, np.inf)


def drive_limits(motors: Sequence[Motor | None], power: Power | None) -> DriveLimits:
    """The limits of motors on a supply; where data is missing, nothing limits."""
    rows = [_drive(motor or Motor(kind="ideal"), power) for motor in motors]
    return DriveLimits(*(np.array(column, dtype=np.float64) for column in zip(*rows, strict=True)))


def _drive(motor: Motor, power: Power | None) -> tuple[float, ...]:
    """The fields of ``DriveLimits`` for one motor."""
    K, current, speed = motor.torque_constant or 1.0, motor.largest_current, motor.max_speed or math.inf
    torque = min(math.inf if current is None else K * current, motor.peak_torque or math.inf)
    fed = power is not None and motor.resistance is not None and motor.torque_constant is not None
    if power is None or not fed or motor.kind in ("ideal", "hydraulic"):
        return torque, speed, math.inf, 0.0, K, 0.0, 0.0
    R, U = (motor.resistance or 0.0) + power.bridge.on_resistance, power.bus_voltage
    if motor.kind != "pmsm":
        return torque, speed, U, R, K, K, 0.0  # one constant, as in eq:dc-motor
    L = motor.inductance_q or motor.inductance or 0.0
    # The amplitude of a phase: U/sqrt(3) from the bridge, 2/3 K_t of back-EMF since 3/2 u i = K_t i w.
    return torque, speed, U / math.sqrt(3.0), R, K, 2.0 / 3.0 * K, (motor.pole_pairs or 1) * L


@dataclass(frozen=True, eq=False)
class Envelope:
    """The motors of a robot: what a motion of its joints asks of them; ``names`` (m) in the order of the shares.

    ``friction`` (m) of the shafts, that of the joints included; ``efficiency`` (m,) of the gears.
    """

    robot: Robot
    names: tuple[str, ...]
    drive: DriveLimits
    friction: tuple[FrictionCurve, ...]
    efficiency: Array

    def shares(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Of every drive (k, m) that joint motions (k, n) use, see ``DriveLimits.share``; above 1 it is too much."""
        return self.drive.share(self.motor_torques(q, qd, qdd), self.motor_speeds(qd))

    def motor_speeds(self, qd: Array) -> Array:
        """Speeds of the motors (k, m) [rad/s]."""
        return np.asarray(qd @ self.robot.mechanism.rotors.N.T)

    def motor_torques(self, q: Array, qd: Array, qdd: Array) -> Array:
        r"""Air-gap torques (k, m) [N m] that a motion needs.

        .. math:: \tau_m = g\,p + J_m \dot\omega_m + \tau_f, \quad
                  p = N^{-T} \tau - J_m \dot\omega_m, \quad \omega_m = N \dot q               (eq:motor-torque)

        with the inverse dynamics tau of arm and rotors, the factor g of the gear (eq:gear-efficiency) and the
        friction of the shaft (eq:friction-curve). In the instant in which a shaft rests, friction may act either way
        and is not counted.
        """
        rotors = self.robot.mechanism.rotors
        w = qd @ rotors.N.T
        tau = self.robot.rne(q, qd, qdd, drives=True) @ np.linalg.inv(rotors.N)
        way = np.sign(w)
        if (self.efficiency < 1.0).any():
            own = rotors.J_m * (qdd @ rotors.N.T)
            passed = tau - own
            loss = np.where(passed * way > 0.0, 1.0 / self.efficiency, self.efficiency)
            tau = np.where(way == 0.0, 1.0, loss) * passed + own  # eq:motor-torque
        return np.asarray(tau + self.friction_torques(w))

    def friction_torques(self, w: Array) -> Array:
        """Friction torques of the shafts (..., m) [N m] at speeds (..., m); zero at rest."""
        return np.stack([curve.torque(w[..., j]) for j, curve in enumerate(self.friction)], axis=-1)

    def dry_torques(self, way: Array) -> Array:
        """Sizes of the friction torques (..., m) [N m] at the slowest motion in the directions ``way`` (..., m).

        The Stribeck part, which a motion soon leaves behind, is left out.
        """
        return np.stack(
            [
                curve.coulomb + curve.of_tables(np.sign(way[..., j]) * 1e-300)
                for j, curve in enumerate(self.friction)
            ],
            axis=-1,
        )

    def growing_torques(self, w: Array) -> Array:
        """What friction torques (..., m) [N m] grow by up to the speeds (..., m); the Stribeck part is left out."""
        sizes = [
            curve.coulomb + curve.viscous * np.abs(w[..., j]) + curve.of_tables(w[..., j])
            for j, curve in enumerate(self.friction)
        ]
        return np.asarray(np.stack(sizes, axis=-1) - self.dry_torques(w))


def envelope_of(robot: Robot, description: RobotDescription) -> Envelope | None:
    """The envelope of a robot's motors; None without data, or where motors and joints do not match one to one."""
    N = robot.mechanism.rotors.N
    if N.shape[0] != N.shape[1] or not N.size or abs(np.linalg.det(N / np.abs(N).max())) < 1e-12:
        return None
    axes = [description.axes.get(name) for name in owners(description)]
    motors = [None if axis is None else axis.motor for axis in axes]
    drive = drive_limits(motors, description.power)
    if not np.isfinite([drive.torque, drive.speed, drive.voltage]).any():
        return None
    gears = [(axis.gear if axis is not None else None) or Gear() for axis in axes]
    friction = tuple(_friction(description, N, j, motor) for j, motor in enumerate(motors))
    eta = np.array([gear.efficiency or 1.0 for gear in gears])
    return Envelope(robot, robot.mechanism.rotors.names, drive, friction, eta)


def _friction(description: RobotDescription, N: Array, j: int, motor: Motor | None) -> FrictionCurve:
    """Friction of a motor, and of the joint that it alone moves; elastic gears are taken as stiff."""
    curve, joints = motor_curve(motor), np.flatnonzero(N[j])
    if len(joints) != 1 or np.count_nonzero(N[:, joints[0]]) != 1:
        return curve
    friction = description.axes[description.joint_names[joints[0]]].friction
    return curve + joint_curve(friction).at_motor(float(N[j, joints[0]]))
