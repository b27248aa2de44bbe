"""Tests of ISO 9283 beside the pose test: approach from several directions, drift, paths, corners, time, compliance.

Each test names its units of work (``runs``) and reads their results (``evaluate``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from servotwin.design.accuracy.drive_runs import MEASURING, DriveRun, Leg, LegResult
from servotwin.design.accuracy.iso9283 import (
    drift,
    multidirectional_turn,
    multidirectional_variation,
    posing_time,
    position_accuracy,
    position_repeatability,
)
from servotwin.design.accuracy.iso9283_path import (
    Cornering,
    PathCharacteristics,
    Planes,
    VelocityCharacteristics,
    cornering,
    path_characteristics,
    velocity_characteristics,
)
from servotwin.design.accuracy.pose_test import UNIT, Machine, unit_seed
from servotwin.design.accuracy.poses import MeasuredPoses, oriented, reach_from
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot

Results = Sequence[Sequence[LegResult]]
HOUR = 3600.0
MIDDLE = (0.25, 0.75)  # of a path, within which speeds are measured
STEADY = 0.99  # of the largest commanded speed counts as that speed
DIRECTIONS = np.eye(3)
FORCE_AXES = np.concatenate([np.eye(3), -np.eye(3)])


@dataclass(frozen=True)
class Settings:
    """What the standard leaves open, or what public text does not confirm.

    Times [s], lengths [m], force [N]. ``band``: within which the tool counts as having arrived.
    """

    rest: float = 0.5
    measuring: float = MEASURING  # at the end of a rest, over which a pose is measured
    band: float = 1e-4
    plane: int = 1
    approach: float = 0.05  # m from which a pose is approached
    approached: tuple[int, ...] = (0, 1, 3)  # P1, P2, P4
    directional_cycles: int = 30
    path_cycles: int = 10
    planes: int = 40
    corner_cycles: int = 3
    blend: float = 0.02
    posing_cycles: int = 3
    posing_distances: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2, 0.4)
    drift_times: tuple[float, ...] = (0.0, 0.5 * HOUR, HOUR, 2.0 * HOUR, 4.0 * HOUR, 8.0 * HOUR)
    drift_cycles: int = 10
    force: float = 100.0


def _with_more(robot: Robot, poses: MeasuredPoses, more: Sequence[Array]) -> MeasuredPoses:
    """The poses with further ones behind them, each reached on the branch of the pose that is nearest."""
    places = poses.poses[:, :3, 3]
    near = [int(np.argmin(np.linalg.norm(places - pose[:3, 3], axis=1))) for pose in more]
    if poses.turned:
        more = list(oriented(robot, np.array([pose[:3, 3] for pose in more]), turned=True))
    joints = [
        reach_from(robot, pose, poses.joints[k], f"beside {poses.names[k]}")
        for pose, k in zip(more, near, strict=True)
    ]
    names = (*poses.names, *(f"Q{k}" for k in range(len(more))))
    return replace(
        poses,
        names=names,
        poses=np.concatenate([poses.poses, more]),
        joints=np.concatenate([poses.joints, joints]),
    )


@dataclass(frozen=True)
class DirectionalTest:
    """Poses approached along x, y and z of the base, from the side of the cube's middle."""

    machine: Machine
    robot: Robot
    poses: MeasuredPoses
    speed: float
    settings: Settings
    seed: int

    def _beside(self) -> list[Array]:
        middle = self.poses.poses[:, :3, 3].mean(axis=0)
        beside = []
        for k in self.settings.approached:
            for axis in range(3):
                pose = self.poses.poses[k].copy()
                inwards = -1.0 if pose[axis, 3] > middle[axis] else 1.0
                pose[axis, 3] += inwards * self.settings.approach
                beside.append(pose)
        return beside

    def runs(self) -> list[DriveRun]:
        """One unit for a few cycles of all approaches."""
        more = _with_more(self.robot, self.poses, self._beside())
        units, cycles = [], self.settings.directional_cycles
        for k, first in enumerate(range(0, cycles, UNIT)):
            legs = []
            for _ in range(first, min(first + UNIT, cycles)):
                for i, pose in enumerate(self.settings.approached):
                    for axis in range(3):
                        beside = len(self.poses.names) + 3 * i + axis
                        legs.append(Leg(beside, self.speed, 0.1, keep=""))
                        legs.append(Leg(pose, self.speed, self.settings.rest))
            units.append(self.machine.run(more, legs, start=0, seed=unit_seed(self.seed, 100, k)))
        return units

    def evaluate(self, results: Results) -> list[dict[str, Any]]:
        """vAP [m] and [rad] of every pose."""
        X = np.stack([leg.pose for unit in results for leg in unit])
        X = X.reshape(-1, len(self.settings.approached), 3, 4, 4)
        return [
            {
                "name": self.poses.names[k],
                "vAP_m": multidirectional_variation([X[:, i, d, :3, 3] for d in range(3)]),
                "vAP_rad": multidirectional_turn([X[:, i, d, :3, :3] for d in range(3)]),
            }
            for i, k in enumerate(self.settings.approached)
        ]


@dataclass(frozen=True)
class DriftTest:
    """P1 reached from P2 at several times since the cold start."""

    machine: Machine
    poses: MeasuredPoses
    speed: float
    settings: Settings
    seed: int

    def runs(self) -> list[DriveRun]:
        """One unit for each time."""
        units = []
        for k, elapsed in enumerate(self.settings.drift_times):
            legs = [Leg(0, self.speed, self.settings.rest, keep="")]
            for _ in range(self.settings.drift_cycles):
                legs += [Leg(1, self.speed, 0.1, keep=""), Leg(0, self.speed, self.settings.rest)]
            machine = replace(self.machine, elapsed=elapsed)
            units.append(machine.run(self.poses, legs, start=1, seed=unit_seed(self.seed, 200, k)))
        return units

    def evaluate(self, results: Results) -> dict[str, Any]:
        """dAP and dRP [m], and AP and RP at the times."""
        p_c = self.poses.poses[0, :3, 3]
        clouds = [np.stack([leg.pose[:3, 3] for leg in unit]) for unit in results]
        AP = [float(np.linalg.norm(position_accuracy(cloud, p_c))) for cloud in clouds]
        RP = [position_repeatability(cloud) for cloud in clouds]
        return {
            "times_s": list(self.settings.drift_times), "AP_m": AP, "RP_m": RP, "dAP_m": drift(AP), "dRP_m": drift(RP)
        }  # fmt: skip


@dataclass(frozen=True)
class PathResult:
    """A straight path at one speed: accuracy and repeatability, speed, and the commanded speed [m/s].

    ``steady``: part of the middle half of the path on which the command has that speed.
    """

    speed: float
    commanded_speed: float
    path: PathCharacteristics
    velocity: VelocityCharacteristics
    planes: Planes
    steady: float = 1.0

    def data(self) -> dict[str, Any]:
        """As plain data (SI)."""
        return {
            "speed": self.speed, "commanded_speed_m_s": self.commanded_speed, "steady_part": self.steady,
            "AT_m": self.path.accuracy, "RT_m": self.path.repeatability,
            "AT_abc_rad": self.path.orientation_accuracy.tolist(),
            "RT_abc_rad": self.path.orientation_repeatability.tolist(), "AV": self.velocity.accuracy,
            "RV": self.velocity.repeatability, "FV_m_s": self.velocity.fluctuation,
        }  # fmt: skip


@dataclass(frozen=True)
class PathTest:
    """The straight line from P2 to P4, and back in joints."""

    machine: Machine
    poses: MeasuredPoses
    speed: float
    settings: Settings
    seed: int
    number: int = 0

    def runs(self) -> list[DriveRun]:
        """One unit for a few cycles."""
        target = (self.poses.poses[3].tolist(),)
        units, cycles = [], self.settings.path_cycles
        for k, first in enumerate(range(0, cycles, UNIT)):
            legs = []
            for _ in range(first, min(first + UNIT, cycles)):
                legs.append(Leg(3, self.speed, self.settings.rest, "path", through=_frozen(target)))
                legs.append(Leg(1, 1.0, self.settings.rest, ""))
            units.append(
                self.machine.run(self.poses, legs, start=1, seed=unit_seed(self.seed, 300 + self.number, k))
            )
        return units

    def evaluate(self, results: Results) -> PathResult:
        """AT, RT, AV, RV, FV; speeds within the middle half of the line where the command has its full speed."""
        legs = [leg for unit in results for leg in unit]
        planes = Planes.of_line(self.poses.poses[1], self.poses.poses[3], self.settings.planes)
        path = path_characteristics(
            [leg.poses[:, :3, 3] for leg in legs], [leg.poses[:, :3, :3] for leg in legs], planes
        )
        ends = self.poses.poses[1, :3, 3], self.poses.poses[3, :3, 3]
        v_c, measured = steady_part(legs[0].time, legs[0].commanded[:, :3, 3], *ends)
        speeds = [speeds_within(leg.time, leg.poses[:, :3, 3], *ends, measured) for leg in legs]
        steady = (measured[1] - measured[0]) / (MIDDLE[1] - MIDDLE[0])
        return PathResult(self.speed, v_c, path, velocity_characteristics(speeds, v_c), planes, steady)


def _frozen(poses: Any) -> tuple[Any, ...]:
    """Nested lists as tuples, which can be looked up."""
    return tuple(_frozen(part) if isinstance(part, list | tuple) else part for part in poses)


def steady_part(t: Array, p: Array, begin: Array, end: Array) -> tuple[float, tuple[float, float]]:
    """Largest commanded speed [m/s] within the middle half of a line, and from where to where, as parts of the line,
    the command p (k, 3) has it."""
    part, v = _along(t, p, begin, end)
    middle = (part > MIDDLE[0]) & (part < MIDDLE[1])
    v_c = float(v[middle].max())
    there = part[middle & (v > STEADY * v_c)]
    return v_c, (float(there.min()), float(there.max()))


def speeds_within(t: Array, p: Array, begin: Array, end: Array, where: tuple[float, float]) -> Array:
    """Speeds (k,) [m/s] of a path along a line while it is within a part of it, or at the sample nearest to that."""
    part, v = _along(t, p, begin, end)
    there = (part >= where[0]) & (part <= where[1])
    return np.asarray(v[there] if there.any() else v[[int(np.argmin(np.abs(part - np.mean(where))))]])


def _along(t: Array, p: Array, begin: Array, end: Array) -> tuple[Array, Array]:
    """Place as a part of a line, and speed [m/s] along it, of a path (k, 3)."""
    length = float(np.linalg.norm(end - begin))
    s = (p - begin) @ (end - begin) / length
    return np.asarray(s / length), np.asarray(np.gradient(s, t))


@dataclass(frozen=True)
class CornerTest:
    """Straight from P2 over P3 to P4 with a blend at P3."""

    machine: Machine
    poses: MeasuredPoses
    speed: float
    settings: Settings
    seed: int

    def runs(self) -> list[DriveRun]:
        """One unit."""
        over = _frozen((self.poses.poses[2].tolist(), self.poses.poses[3].tolist()))
        legs = []
        for _ in range(self.settings.corner_cycles):
            legs.append(
                Leg(3, self.speed, self.settings.rest, "path", through=over, blend=self.settings.blend)
            )
            legs.append(Leg(1, 1.0, self.settings.rest, ""))
        return [self.machine.run(self.poses, legs, start=1, seed=unit_seed(self.seed, 400))]

    def evaluate(self, results: Results) -> dict[str, Any]:
        """CR and CO [m], attained and commanded, means of the cycles."""
        corners = self.poses.poses[1:4, :3, 3]
        found = [cornering(leg.poses[:, :3, 3], *corners) for leg in results[0]]
        wanted: Cornering = cornering(results[0][0].commanded[:, :3, 3], *corners)
        return {
            "blend_m": self.settings.blend,
            "CR_m": float(np.mean([c.round_off for c in found])),
            "CO_m": float(np.mean([c.overshoot for c in found])),
            "commanded_CR_m": wanted.round_off,
        }


@dataclass(frozen=True)
class PosingTest:
    """Moves from P1 towards P2 over several distances: how long until the tool stays within the band."""

    machine: Machine
    robot: Robot
    poses: MeasuredPoses
    speed: float
    settings: Settings
    seed: int

    def _targets(self) -> tuple[list[float], list[Array]]:
        way = self.poses.poses[1, :3, 3] - self.poses.poses[0, :3, 3]
        length = float(np.linalg.norm(way))
        reached = [d for d in self.settings.posing_distances if d <= length]
        if not reached:
            raise InputError(
                f"no distance is below {length:.3g} m from P1 to P2; expected shorter ones",
                field="posing_distances",
            )
        targets = []
        for d in reached:
            pose = self.poses.poses[0].copy()
            pose[:3, 3] += d / length * way
            targets.append(pose)
        return reached, targets

    def runs(self) -> list[DriveRun]:
        """One unit."""
        distances, targets = self._targets()
        more = _with_more(self.robot, self.poses, targets)
        legs = []
        for _ in range(self.settings.posing_cycles):
            for k in range(len(distances)):
                legs.append(Leg(len(self.poses.names) + k, self.speed, self.settings.rest, "path"))
                legs.append(Leg(0, self.speed, self.settings.rest, ""))
        return [self.machine.run(more, legs, start=0, seed=unit_seed(self.seed, 500))]

    def evaluate(self, results: Results) -> list[dict[str, float]]:
        """Time [s] for each distance [m], mean of the cycles, and what the command alone takes."""
        distances, _ = self._targets()
        legs = results[0]
        rows = []
        for k, d in enumerate(distances):
            mine = legs[k :: len(distances)]
            times = [
                posing_time(leg.time, leg.poses[:, :3, 3], leg.pose[:3, 3], self.settings.band, 0.0)
                for leg in mine
            ]
            rows.append({"distance_m": d, "time_s": float(np.mean(times)), "commanded_s": mine[0].arrival})
        return rows


@dataclass(frozen=True)
class ComplianceTest:
    """A force at the tool along +-x, +-y, +-z at P1, with the controller on."""

    machine: Machine
    poses: MeasuredPoses
    settings: Settings
    seed: int

    def runs(self) -> list[DriveRun]:
        """One unit without a force and one for each direction."""
        forces = [(), *(self.settings.force * axis for axis in FORCE_AXES)]
        legs = (Leg(0, 1.0, 0.1, ""), Leg(0, 1.0, self.settings.rest))
        return [
            self.machine.run(
                self.poses, legs, start=0, seed=unit_seed(self.seed, 600), force=tuple(map(float, force))
            )
            for force in forces
        ]

    def evaluate(self, results: Results) -> list[dict[str, Any]]:
        """Displacement per force (3,) [m/N] in each direction."""
        places = [unit[-1].pose[:3, 3] for unit in results]
        return [
            {"direction": name, "m_per_N": ((p - places[0]) / self.settings.force).tolist()}
            for name, p in zip(("+x", "+y", "+z", "-x", "-y", "-z"), places[1:], strict=True)
        ]
