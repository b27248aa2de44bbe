"""The motors of a robot as an optimal motion sees them: numbers of winding, gear, friction and heat, one row each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.schema import RobotDescription
from servotwin.errors import UnsupportedError
from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.motor_limits import drive_limits
from servotwin.motion.optimal.task import Task
from servotwin.motion.optimal.valve_model import ValveModel, valve_model
from servotwin.robot.robot import Robot

SAMPLES = 200  # of a friction curve that a line stands for
COPPER_PHASES = 1.5  # copper loss of three phases over R i^2 of the amplitude


@dataclass(frozen=True, eq=False)
class DriveModel:
    """Arrays (m,), infinite or zero where nothing is known.

    ``N`` (m, n) motor speeds per joint speeds; ``current`` [A] limit; ``K`` [N m/A]; ``R`` [ohm] of the winding,
    ``R_bridge`` beside it; ``L`` [H]; ``K_b`` [V s/rad]; ``reactance`` p L [V s/(A rad)]; ``voltage`` [V] of the
    bridge; ``speed`` [rad/s]; ``phases`` 1 or 1.5, copper loss over R i^2. ``heated``: has a thermal model with
    ``R_wh``, ``R_ha`` [K/W], ``C_w`` [J/K], ``alpha`` [1/K] and ``rise`` [K], the largest over the surroundings.
    ``hold``: the current cannot jump, so that a motion begins and ends with what holds the arm.
    Of a ``valve`` the current stands for the force less ``offset`` [N], and K is one.
    """

    names: tuple[str, ...]
    N: Array
    J_m: Array
    K: Array
    current: Array
    speed: Array
    R: Array
    R_bridge: Array
    L: Array
    K_b: Array
    reactance: Array
    voltage: Array
    phases: Array
    viscous: Array
    coulomb: Array
    efficiency: Array
    heated: BoolArray
    R_wh: Array
    R_ha: Array
    C_w: Array
    alpha: Array
    rise: Array
    ambient: Array
    notes: tuple[str, ...] = ()
    electric: bool = True  # False: torques of joints stand for currents
    valves: ValveModel | None = None

    @property
    def m(self) -> int:
        """Number of motors."""
        return len(self.names)

    @property
    def hold(self) -> BoolArray:
        """Where current has a state of its own."""
        return np.asarray(((self.L > 0.0) & np.isfinite(self.voltage)) | self.valve)

    @property
    def valve(self) -> BoolArray:
        """Which motors are servovalves with cylinder or hydraulic motor."""
        return np.zeros(self.m, dtype=bool) if self.valves is None else self.valves.known

    @property
    def offset(self) -> Array:
        """Torque or force (m,) that a motor gives where its current counts as zero."""
        return np.zeros(self.m) if self.valves is None else self.valves.offset

    def effort(self, j: int) -> tuple[str, str]:
        """What motor j gives, and its unit: a current, or the force or torque of a valve or of an ideal motor."""
        if self.valves is not None and self.valve[j]:
            return ("torque", "N m") if self.valves.rotary[j] else ("force", "N")
        return ("current", "A") if self.electric else ("torque", "N m")

    def share(self, j: int, i: Array) -> tuple[Array, float]:
        """Parts (k,) of its limit that motor j uses with currents i (k,) [A], and the limit that is used most.

        A cylinder with unequal areas has another force either way.
        """
        if not self.valve[j]:
            return np.abs(i) / self.current[j], float(self.current[j])
        force, most = i + self.offset[j], self.offset[j] + self.current[j] * np.array([1.0, -1.0])
        share = np.where(force >= 0.0, force / most[0], force / most[1])
        return share, float(abs(most[0] if force[int(np.argmax(share))] >= 0.0 else most[1]))

    @property
    def K_electric(self) -> Array:
        """Torque constants (m,) of electric motors, zero for others."""
        return np.where(self.valve, 0.0, self.K)

    @property
    def N_inverse(self) -> Array:
        """Joint torques to motor torques: tau_m = N^-T tau."""
        return np.asarray(np.linalg.inv(self.N))


def drive_model(robot: Robot, description: RobotDescription | None) -> DriveModel:
    """The motors of a robot file; without them the torques of the joints, as ideal motors without gear."""
    N = robot.mechanism.rotors.N
    square = N.shape[0] == N.shape[1] and N.size and abs(np.linalg.det(N / np.abs(N).max())) > 1e-12
    if description is None or not square:
        if N.size and not square:
            raise UnsupportedError(f"{robot.name}: an optimal motion needs as many motors as joints")
        return _ideal(robot)
    drives = drives_of(description)
    valves = valve_model(description, drives)
    limits = drive_limits(drives, description.power)
    lines = [_friction_line(drive, top) for drive, top in zip(drives, _fastest(robot, N), strict=True)]
    bridge = 0.0 if description.power is None else description.power.bridge.on_resistance
    fed = np.isfinite(limits.voltage)
    winding = [drive.electrical for drive in drives]
    thermal = [drive.thermal for drive in drives]

    def heat(name: str, default: float) -> Array:
        return np.array([default if part is None else getattr(part, name) for part in thermal], dtype=float)

    ambient = heat("reference_temperature", 25.0)
    rise = np.array(
        [
            math.inf if part is None or part.limit is None else part.limit - part.reference_temperature
            for part in thermal
        ]
    )
    return DriveModel(
        names=robot.mechanism.rotors.names,
        N=N,
        J_m=robot.mechanism.rotors.J_m,
        K=limits.torque_constant if valves is None else np.where(valves.known, 1.0, limits.torque_constant),
        current=limits.torque / limits.torque_constant if valves is None else valves.forces(limits),
        speed=limits.speed,
        R=np.array([part.resistance for part in winding]),
        R_bridge=np.where(fed, bridge, 0.0),
        L=np.where(
            fed, [part.inductance_q if part.phases == 3 else part.inductance for part in winding], 0.0
        ),
        K_b=limits.voltage_constant,
        reactance=limits.reactance,
        voltage=limits.voltage,
        phases=np.array([COPPER_PHASES if part.phases == 3 else 1.0 for part in winding]),
        viscous=np.array([line[0] for line in lines]),
        coulomb=np.array([line[1] for line in lines]),
        efficiency=np.array([drive.gear.efficiency for drive in drives]),
        heated=np.array([part is not None for part in thermal]),
        R_wh=heat("winding_to_housing", 0.0),
        R_ha=heat("housing_to_ambient", 0.0),
        C_w=heat("winding_capacity", 0.0),
        alpha=heat("temperature_coefficient", 0.0),
        rise=rise,
        ambient=ambient,
        notes=tuple(line[2] for line in lines if line[2]),
        valves=valves,
    )


def with_reserve(drives: DriveModel, task: Task) -> DriveModel:
    """The motors with a part of their currents, of valves of force and opening, left to the controller."""
    left = 1.0 - task.reserve
    valves = None if drives.valves is None else replace(drives.valves, open=left)
    return replace(drives, current=left * drives.current, valves=valves) if task.reserve else drives


def _ideal(robot: Robot) -> DriveModel:
    n, zero, many = robot.n, np.zeros(robot.n), np.full(robot.n, np.inf)
    one = np.ones(n)
    return DriveModel(
        names=robot.joint_names, N=np.eye(n), J_m=zero, K=one, current=robot.limits.tau_max, speed=many,
        R=zero, R_bridge=zero, L=zero, K_b=zero, reactance=zero, voltage=many, phases=one, viscous=zero,
        coulomb=zero, efficiency=one, heated=np.zeros(n, dtype=bool), R_wh=zero, R_ha=zero, C_w=zero, alpha=zero,
        rise=many, ambient=zero, electric=False,
    )  # fmt: skip


def _fastest(robot: Robot, N: Array) -> Array:
    """Largest speeds of the motors that the joints allow [rad/s]."""
    speed = robot.limits.qd_max
    return np.abs(N) @ np.where(np.isfinite(speed), speed, 10.0)


def _friction_line(drive: DriveData, top: float) -> tuple[float, float, str]:
    """Viscous and Coulomb friction of a shaft; of a curve with tables or a Stribeck fall the line above it."""
    curve = drive.shaft_friction
    if not curve.falls and not any(curve.tables):
        return curve.viscous, curve.coulomb, ""
    w = np.linspace(top / SAMPLES, top, SAMPLES)
    torque = np.maximum(curve.torque(w), -curve.torque(-w))
    slope = max(float(np.polyfit(w, torque, 1)[0]), 0.0)
    note = f"the friction of {drive.name} is a curve; the optimum counts the line above it"
    return slope, float((torque - slope * w).max()), note
