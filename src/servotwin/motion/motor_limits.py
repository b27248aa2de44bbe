r"""Limits of the motors: torque over speed that they and their supply can give, and how much of it a motion needs.

Torque is bounded by the driver's current, speed by the voltage that is left beside the back-EMF. Theory:
docs/theory/envelope.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.friction_curve import FrictionCurve
from servotwin.description.hydraulic_data import ValveEnvelope, pump_flow, valve_envelopes
from servotwin.description.schema import Power, RobotDescription
from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.drive_shares import drive_shares
from servotwin.robot.robot import Robot

NO_VALVE = ValveEnvelope(math.inf, math.inf, 0.0, math.inf, math.inf, 0.0, 0.0)
BRAKING = 1e-3  # of the forces that drive: least one that brakes


@dataclass(frozen=True, eq=False)
class DriveLimits:
    r"""Motors with their drivers, an array (m,) for each quantity, infinite where nothing limits.

    ``torque`` [N m] by the current, ``speed`` [rad/s] of the data sheet, ``voltage`` [V] (amplitude of a phase
    for a synchronous motor), ``resistance`` [ohm] with that of the bridge, ``torque_constant``
    K_t [N m/A], ``voltage_constant`` K_b [V s/rad], ``reactance`` p L_q [V s/(A rad)], zero for a DC motor.
    Of a servovalve ``forward``, ``backward``, ``drag``, ``brake_forward``, ``brake_backward``, ``area_a``, ``area_b``
    are those of ``ValveEnvelope``, infinite and zero for other motors.
    """

    torque: Array
    speed: Array
    voltage: Array
    resistance: Array
    torque_constant: Array
    voltage_constant: Array
    reactance: Array
    forward: Array
    backward: Array
    drag: Array
    brake_forward: Array
    brake_backward: Array
    area_a: Array
    area_b: Array

    @property
    def valve(self) -> BoolArray:
        """Which motors (m,) are servovalves with their cylinder or hydraulic motor."""
        return np.isfinite(self.forward)

    @cached_property
    def has_valves(self) -> bool:
        """Whether one of them is a servovalve."""
        return bool(self.valve.any())

    def share(self, tau: Array, w: Array) -> Array:
        r"""How much of a drive torques and speeds (..., m) use, 1 where it reaches its limit.

        .. math:: r = \max\left(\frac{|\tau|}{\tau_\max}, \frac{|u|}{U}, \frac{|\omega|}{\omega_\max}\right),
                  \quad u^2 = (R i + K_b \omega)^2 + (p \omega L_q i)^2, \quad i = \tau / K_t      (eq:drive-share)

        A motor that drives uses at most r/k in the same motion k times slower, save for the torque that gravity
        and dry friction take. A braking motor has :math:`\tau \omega < 0`: back-EMF and voltage drop oppose each
        other, and only the current limits it.
        """
        by_current, by_voltage, by_speed = self.parts(tau, w)
        if not self.has_valves:
            return np.maximum(np.maximum(by_current, by_voltage), by_speed)
        by_valve = np.sqrt(np.maximum(*self.valve_parts(tau, w)))
        return np.asarray(np.maximum.reduce([by_current, by_voltage, by_speed, by_valve]))  # eq:drive-share

    def parts(self, tau: Array, w: Array) -> tuple[Array, Array, Array]:
        """The shares of current, voltage and speed, each (..., m)."""
        i = tau / self.torque_constant
        u = np.hypot(self.resistance * i + self.voltage_constant * w, self.reactance * w * i)
        return np.abs(tau) / self.torque, u / self.voltage, np.abs(w) / self.speed

    def valve_parts(self, force: Array, v: Array) -> tuple[Array, Array]:
        r"""Squared shares (..., m) of open valves and of the forces that hold or brake; zero for other motors.

        .. math:: r^2 = \frac{s F + c\,v^2}{F_s}, \quad r^2 = \frac{-s F}{B_s}, \quad s = \mathrm{sign}(v)
                                                                                          (eq:valve-envelope)

        F_s drives and B_s brakes in the direction s of the motion (eq:valve-limit, eq:valve-braking); at rest the force
        counts either way. Both fall as k^-2 in a motion k times slower, but for the force that holds.
        """
        ahead = np.where(v >= 0.0, self.forward, self.backward)
        along = np.where(v >= 0.0, force, -force)
        brake = np.where(v > 0.0, self.brake_forward, np.where(v < 0.0, self.brake_backward, self.backward))
        opened = np.maximum(along + self.drag * v**2, 0.0) / ahead
        return opened, np.maximum(-along, 0.0) / brake  # eq:valve-envelope

    def torques(self, w: Array) -> tuple[Array, Array]:
        r"""Least and largest torque (..., m) [N m] at speeds (..., m), nan where no torque is possible.

        .. math:: (R^2 + p^2 \omega^2 L_q^2)\, i^2 + 2 R K_b \omega\, i + K_b^2 \omega^2 - U^2 \le 0, \quad
                  |K_t i| \le \tau_\max                                                       (eq:torque-speed)
        """
        low, high = self.voltage_torques(w)
        return np.maximum(low, -self.torque), np.minimum(high, self.torque)

    def voltage_torques(self, w: Array) -> tuple[Array, Array]:
        """Least and largest torque (..., m) [N m] that the voltage alone drives; nan where it drives none."""
        limited = np.isfinite(self.voltage)
        U, R = np.where(limited, self.voltage, 1.0), np.where(self.resistance > 0.0, self.resistance, 1.0)
        a, b = R**2 + (self.reactance * w) ** 2, R * self.voltage_constant * w
        square = b**2 - a * ((self.voltage_constant * w) ** 2 - U**2)
        root = np.sqrt(np.where(square >= 0.0, square, np.nan))
        K = self.torque_constant
        low, high = K * (-b - root) / a, K * (-b + root) / a  # eq:torque-speed
        return np.where(limited, low, -np.inf), np.where(limited, high, np.inf)

    def valve_forces(self, v: Array) -> tuple[Array, Array]:
        """Least and largest force (..., m) [N] of servovalves at speeds (..., m), fully open or braking."""
        drag = self.drag * v**2
        low = np.where(v < 0.0, drag - self.backward, np.where(v > 0.0, -self.brake_forward, -self.backward))
        high = np.where(v > 0.0, self.forward - drag, np.where(v < 0.0, self.brake_backward, self.forward))
        return low, high


def drive_limits(
    drives: Sequence[DriveData], power: Power | None, valves: Mapping[str, ValveEnvelope] | None = None
) -> DriveLimits:
    """The limits of motors on a supply; where data is missing, nothing limits.

    ``valves``: what fully open servovalves leave, by the name of their motor.
    """
    known = valves or {}
    rows = [(*_drive(drive, power), *_valve(known.get(drive.name, NO_VALVE))) for drive in drives]
    return DriveLimits(*(np.array(column, dtype=np.float64) for column in zip(*rows, strict=True)))


def _valve(envelope: ValveEnvelope) -> ValveEnvelope:
    """The envelope; of a cylinder that its valve cannot brake without cavitation hardly any force against motion."""
    least = BRAKING * min(envelope.forward, envelope.backward)
    brakes = max(envelope.brake_forward, least), max(envelope.brake_backward, least)
    return envelope._replace(brake_forward=brakes[0], brake_backward=brakes[1])


def _drive(drive: DriveData, power: Power | None) -> tuple[float, ...]:
    """The fields of ``DriveLimits`` for one motor, without those of a servovalve."""
    K, winding, ratings = drive.torque_constant, drive.winding, drive.ratings
    if drive.actuator.valve:  # no current makes a force by itself
        return ratings.torque_limit, ratings.speed_limit, math.inf, 0.0, K, 0.0, 0.0
    current = math.inf if ratings.current_limit is None else ratings.current_limit
    torque, speed = min(K * current, ratings.torque_limit), ratings.speed_limit
    fed = winding is not None and winding.resistance > 0.0 and winding.has_torque_constant
    if power is None or winding is None or not fed:
        return torque, speed, math.inf, 0.0, K, 0.0, 0.0
    # The amplitude of a phase that the bridge reaches is U/sqrt(3).
    U = power.bus_voltage / math.sqrt(3.0) if winding.phases == 3 else power.bus_voltage
    R, reactance = winding.resistance + power.bridge.on_resistance, winding.pole_pairs * winding.inductance_q
    return torque, speed, U, R, K, winding.voltage_constant, reactance


@dataclass(frozen=True, eq=False)
class MotorLimits:
    """The motors of a robot and the torques and speeds that a motion of its joints needs; ``names`` (m) of the motors.

    ``friction`` (m) of the shafts, that of the joints included (elastic gears are taken as stiff);
    ``efficiency`` (m,) of the gears.
    """

    robot: Robot
    names: tuple[str, ...]
    drive: DriveLimits
    friction: tuple[FrictionCurve, ...]
    efficiency: Array
    pump: float = math.inf  # [m3/s], which all servovalves take together at most

    @cached_property
    def _N_inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self.robot.mechanism.rotors.N))

    @cached_property
    def _lossy(self) -> bool:
        return bool((self.efficiency < 1.0).any())

    @cached_property
    def _straight_friction(self) -> tuple[Array, Array] | None:
        """Coulomb and viscous friction (m,) of shafts that have no other; None where one has."""
        if any(curve.falls or any(curve.tables) for curve in self.friction):
            return None
        return np.array([c.coulomb for c in self.friction]), np.array([c.viscous for c in self.friction])

    @cached_property
    def _numbers(self) -> tuple[Array, Array, Array] | None:
        """Transmission (m, n), its inverse and the drives (11, m) for compiled code; None with valves, or where
        friction has a curve."""
        if self.drive.has_valves or self._straight_friction is None:
            return None
        rotors, d = self.robot.mechanism.rotors, self.drive
        rows = (
            d.torque,
            d.speed,
            d.voltage,
            d.resistance,
            d.torque_constant,
            d.voltage_constant,
            d.reactance,
        )
        table = np.array([*rows, *self._straight_friction, self.efficiency, rotors.J_m], dtype=np.float64)
        return np.array(rotors.N, dtype=np.float64), np.ascontiguousarray(self._N_inverse), table

    def shares(self, q: Array, qd: Array, qdd: Array) -> Array:
        """The share (k, m) of each drive that joint motions (k, n) use (``DriveLimits.share``); above 1 is too much."""
        numbers = self._numbers
        if numbers is not None:
            out = np.empty(np.shape(qd))
            tau = self.robot.rne(q, qd, qdd, drives=True)
            drive_shares(tau, np.ascontiguousarray(qd), np.ascontiguousarray(qdd), *numbers, out)
            return out
        w = self.motor_speeds(qd)
        used = self.drive.share(self.motor_torques(q, qd, qdd), w)
        pumped = (self.pump_flows(w) / self.pump)[..., None]
        return np.where(self.drive.valve, np.maximum(used, pumped), used)

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
        tau = self.robot.rne(q, qd, qdd, drives=True) @ self._N_inverse
        if self._lossy:
            way = np.sign(w)
            own = rotors.J_m * (qdd @ rotors.N.T)
            passed = tau - own
            loss = np.where(passed * way > 0.0, 1.0 / self.efficiency, self.efficiency)
            tau = np.where(way == 0.0, 1.0, loss) * passed + own  # eq:motor-torque
        return np.asarray(tau + self.friction_torques(w))

    def pump_flows(self, w: Array) -> Array:
        """Flow (...,) [m3/s] that the servovalves take from their supply at speeds (..., m)."""
        areas = np.where(w >= 0.0, self.drive.area_a, self.drive.area_b)
        return np.asarray((areas * np.abs(w)).sum(axis=-1))

    def friction_torques(self, w: Array) -> Array:
        """Friction torques of the shafts (..., m) [N m] at speeds (..., m); zero at rest."""
        if self._straight_friction is not None:
            coulomb, viscous = self._straight_friction
            return np.asarray(viscous * w + np.sign(w) * coulomb)
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


def motor_limits_of(robot: Robot, description: RobotDescription) -> MotorLimits | None:
    """The limits of a robot's motors; None without data, or where the joints do not determine the motors."""
    N = robot.mechanism.rotors.N
    if N.shape[0] != N.shape[1] or not N.size or abs(np.linalg.det(N / np.abs(N).max())) < 1e-12:
        return None
    drives = drives_of(description)
    limits = drive_limits(drives, description.power, valve_envelopes(description))
    if not np.isfinite([limits.torque, limits.speed, limits.voltage, limits.forward]).any():
        return None
    eta = np.array([drive.gear.efficiency for drive in drives])
    friction = tuple(drive.shaft_friction for drive in drives)
    pump = pump_flow(description) if limits.valve.any() else math.inf
    return MotorLimits(robot, robot.mechanism.rotors.names, limits, friction, eta, pump)
