r"""What a robot can do at many positions at once: dexterity, torque margin, stiffness, speed and acceleration.

Everything is computed in batches by the robot's compiled kernels. Two joints of a section count in their plane, all
joints in space; actuator coordinates where the file has a transmission.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.description.drive_data import DriveData
from servotwin.design.statics import (
    actuator_matrix,
    isotropic_speed,
    joint_compliance,
)
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot

BATCH = 200_000  # positions at a time


@dataclass(frozen=True)
class Measure:
    """One map: its key, what people call it, its unit and a factor for display."""

    key: str
    title: str
    unit: str
    factor: float = 1.0


MEASURES = (
    Measure("dexterity", "Dexterity", ""),
    Measure("manipulability", "Manipulability", ""),
    Measure("torque_margin", "Torque margin while holding still", "%", 100.0),
    Measure("stiffness", "Least stiffness in any direction", "N/mm", 1e-3),
    Measure("speed", "Largest speed in any direction", "m/s"),
    Measure("acceleration", "Largest acceleration in any direction", "m/s2"),
)


@dataclass(frozen=True)
class Mapper:
    """What the maps need: directions (d, 3) that count, the joints that give them, and limits of the actuators."""

    robot: Robot
    drives: tuple[DriveData, ...]
    frame: str
    directions: Array
    joints: tuple[int, ...]

    def __call__(self, q: Array) -> dict[str, Array]:
        """All maps (k,) at joint positions (k, n); NaN or infinite where nothing limits."""
        parts = [self._batch(q[k : k + BATCH]) for k in range(0, len(q), BATCH)]
        return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]} if parts else {}

    def _batch(self, q: Array) -> dict[str, Array]:
        robot, joints = self.robot, list(self.joints)
        _, S = actuator_matrix(robot)
        inverse: Array = np.asarray(np.linalg.inv(S), dtype=np.float64)
        J = robot.jacob0(q, self.frame)
        reduced = np.einsum("di,kij->kdj", self.directions, J[:, :3])[:, :, joints]
        moved = S[np.ix_(self._rows(S), joints)]  # actuators that the joints turn
        values = singular_values(reduced @ np.linalg.pinv(moved))
        out = {
            "dexterity": values[:, -1] / np.maximum(values[:, 0], 1e-300),
            "manipulability": np.prod(values, axis=1),
        }
        tau = robot.gravload(q)
        out["torque_margin"] = self._torque_margin(tau)
        compliance = joint_compliance(robot, self.drives)
        if compliance is not None:
            moved_by = np.einsum("di,kij->kdj", self.directions, J[:, :3])
            C = moved_by @ compliance @ np.swapaxes(moved_by, 1, 2)  # eq:tool-stiffness
            out["stiffness"] = 1.0 / np.maximum(np.linalg.eigvalsh(C)[:, -1], 1e-300)
        speeds = self._speed_limits(S)
        if reduced.shape[1] == reduced.shape[2]:
            out["speed"] = self._speed(reduced, S, joints, speeds)
            out["acceleration"] = self._acceleration(q, reduced, inverse, joints, tau)
        return {key: np.asarray(value) for key, value in out.items() if np.isfinite(value).any()}

    def _rows(self, S: Array) -> list[int]:
        return [k for k in range(len(S)) if np.any(S[k, list(self.joints)] != 0.0)]

    def _speed_limits(self, S: Array) -> Array:
        """Largest speeds of the actuators behind their gears, from the motors; infinite where nothing is stated."""
        ratings = {drive.name: drive for drive in self.drives}
        names, _ = actuator_matrix(self.robot)
        found = [
            ratings[name].ratings.speed_limit / max(ratings[name].gear.ratio, 1e-300)
            if name in ratings
            else np.inf
            for name in names
        ]
        return np.array(found) if len(found) == len(S) else np.full(len(S), np.inf)

    def _speed(self, reduced: Array, S: Array, joints: list[int], speeds: Array) -> Array:
        """Joint limits and motors, whichever is less."""
        own = isotropic_speed(reduced, self.robot.limits.qd_max[joints])
        rows = self._rows(S)
        if len(rows) != len(joints):
            return own
        moved = S[np.ix_(rows, joints)]
        return np.minimum(own, isotropic_speed(reduced @ np.linalg.inv(moved), speeds[rows]))

    def _torque_limits(self) -> tuple[Array, Array]:
        """Largest torques of joints, and of actuators behind their gears by the motors' peak torques."""
        names, _ = actuator_matrix(self.robot)
        ratings = {drive.name: drive for drive in self.drives}
        peak = [
            ratings[name].ratings.torque_limit * max(ratings[name].gear.ratio, 1e-300)
            if name in ratings
            else np.inf
            for name in names
        ]
        return self.robot.limits.tau_max, np.array(peak)

    def _acceleration(self, q: Array, reduced: Array, inverse: Array, joints: list[int], tau: Array) -> Array:
        M = self.robot.inertia(q, drives=True)[:, :, joints]
        joint_max, actuator_max = self._torque_limits()
        jac_inverse = _inverse(reduced)
        own = _rows_limit(M @ jac_inverse, tau, joint_max)
        at = np.einsum("ji,kjd->kid", inverse, M @ jac_inverse), tau @ inverse
        return np.minimum(own, _rows_limit(*at, actuator_max))

    def _torque_margin(self, tau: Array) -> Array:
        """Least of 1 - |tau| / tau_max over joints and over motors at their rated torque."""
        margin = np.full(len(tau), np.inf)
        joint_max = self.robot.limits.tau_max
        for k in np.flatnonzero(np.isfinite(joint_max)):
            margin = np.minimum(margin, 1.0 - np.abs(tau[:, k]) / joint_max[k])
        N = self.robot.mechanism.rotors.N
        if N.shape == (self.robot.n, self.robot.n) and np.linalg.matrix_rank(N) == self.robot.n:
            at_motor = tau @ np.linalg.inv(N)
            ratings = {drive.name: drive.ratings.rated_torque for drive in self.drives}
            for at, name in zip(at_motor.T, self.robot.mechanism.rotors.names, strict=True):
                rated = ratings.get(name)
                if rated:
                    margin = np.minimum(margin, 1.0 - np.abs(at) / rated)
        return margin


def singular_values(J: Array) -> Array:
    """Singular values (k, d), the largest first; of two by two matrices in closed form."""
    if J.shape[1:] != (2, 2):
        return np.asarray(np.linalg.svd(J, compute_uv=False), dtype=np.float64)
    a, b, c, d = J[:, 0, 0], J[:, 0, 1], J[:, 1, 0], J[:, 1, 1]
    plus, minus = np.hypot(a + d, b - c), np.hypot(a - d, b + c)
    return np.stack([0.5 * (plus + minus), 0.5 * np.abs(plus - minus)], axis=1)


def _inverse(J: Array) -> Array:
    det = np.linalg.det(J)
    safe = np.where((det == 0.0)[:, None, None], np.eye(J.shape[-1]), J)
    return np.where((det == 0.0)[:, None, None], np.inf, np.linalg.inv(safe))


def _rows_limit(rows: Array, tau: Array, largest: Array) -> Array:
    """min_i (largest_i - |tau_i|) / |rows_i|, eq:isotropic-acceleration."""
    room = np.maximum(largest - np.abs(tau), 0.0)
    size = np.linalg.norm(rows, axis=-1)
    with np.errstate(all="ignore"):
        share = np.where(np.isfinite(room) & (size > 0.0), room / np.maximum(size, 1e-300), np.inf)
    return np.asarray(share.min(axis=-1))
