r"""What a cycle asks of the actuators: speeds, accelerations and torques at the outputs of their gears.

.. math:: \dot\phi = A\,\dot q, \quad \ddot\phi = A\,\ddot q, \quad T = A^{-T}\,\tau(q, \dot q, \ddot q), \qquad
          A = \mathrm{diag}(n)^{-1} N                                                     (eq:actuator-load)

with the transmission :math:`\theta_m = N q`, the gear ratios n and the inverse dynamics tau of the arm without
rotors. Torques are linear in the masses that the arm carries,

.. math:: T = T_0 + \sum_k m_k\,T_k                                                       (eq:carried-mass)

and a motion k times as fast asks for

.. math:: T = G + k^2\,(T_1 - G)                                                          (eq:load-scaled)

with the torques G that hold the arm still against gravity. Theory: docs/theory/sizing.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from servotwin.description.drive_data import DriveData
from servotwin.description.friction_curve import FrictionCurve
from servotwin.description.inertia import payload_inertia
from servotwin.description.schema import RobotDescription
from servotwin.design.sizing.duty import Duty
from servotwin.errors import InputError
from servotwin.mechanism.model import BASE, Array, IntArray, Mechanism
from servotwin.mechanism.spatial import phi_from, transform_phi
from servotwin.robot.robot import Robot

POSES = 400  # of a cycle at which inertias are looked at
SINGULAR = 1e-9
STILL = 1e-6  # rad/s, m/s at the output: a shaft that is slower rests, and friction has no direction


@dataclass(frozen=True, eq=False)
class Part:
    """Torques (k, m) at the outputs that one share of the mass causes; ``torque`` in motion, ``gravity`` at rest.

    ``coasting`` (p, m): torques in motion without acceleration, ``inertia`` (p, m) [kg m2, kg] felt at each output
    while the others are held, both at the poses that stopping is judged by.
    """

    torque: Array
    gravity: Array
    coasting: Array
    inertia: Array

    def __add__(self, other: Part) -> Part:
        return Part(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    def __mul__(self, factor: float) -> Part:
        return Part(*(factor * a for a in vars(self).values()))

    def only(self, j: int) -> Part:
        """Of one actuator."""
        return Part(*(a[:, j : j + 1] for a in vars(self).values()))

    def faster(self, factor: float) -> Part:
        """The same path ``factor`` times as fast (eq:load-scaled)."""
        k = factor**2
        still = self.gravity[_poses(len(self.gravity))]
        return replace(
            self,
            torque=self.gravity + k * (self.torque - self.gravity),  # eq:load-scaled
            coasting=still + k * (self.coasting - still),
        )


@dataclass(frozen=True, eq=False)
class Load:
    """The load of a cycle on m actuators.

    ``speed``, ``acceleration`` (k, m) at the outputs, ``seconds`` (k,) that each sample stands for; ``arm``: of the
    arm with its payload as the file has them; ``carried``: of 1 kg at the place of each actuator; ``payload``: of 1 kg
    more payload. ``friction`` (m): of joints that one actuator moves alone, at its output.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]  # 'rad' or 'm' at the outputs
    duty: Duty
    speed: Array
    acceleration: Array
    arm: Part
    carried: tuple[Part | None, ...]  # None: the base carries it
    payload: Part
    friction: tuple[FrictionCurve, ...]

    @property
    def seconds(self) -> Array:
        """Time (k,) [s] of each sample."""
        return self.duty.seconds

    def only(self, j: int) -> Load:
        """The load on one actuator alone; the masses that it bears are those of all."""
        return replace(
            self,
            names=(self.names[j],),
            units=(self.units[j],),
            speed=self.speed[:, j : j + 1],
            acceleration=self.acceleration[:, j : j + 1],
            arm=self.arm.only(j),
            carried=tuple(None if part is None else part.only(j) for part in self.carried),
            payload=self.payload.only(j),
            friction=(self.friction[j],),
        )

    def with_masses(self, masses: Sequence[float] | Array) -> Load:
        """The load with further masses [kg] at the places of the actuators (eq:carried-mass)."""
        arm = self.arm
        for mass, part in zip(masses, self.carried, strict=True):
            if part is not None and mass != 0.0:
                arm = arm + part * float(mass)  # eq:carried-mass
        return replace(self, arm=arm)

    def with_payload(self, mass: float) -> Load:
        """The load with a further payload [kg], at the place and with the radii of gyration of the file's."""
        return replace(self, arm=self.arm + self.payload * float(mass))

    def faster(self, factor: float) -> Load:
        """The load of the same path ``factor`` times as fast."""
        return replace(
            self,
            duty=self.duty.faster(factor),
            speed=factor * self.speed,
            acceleration=factor**2 * self.acceleration,
            arm=self.arm.faster(factor),
            carried=tuple(None if part is None else part.faster(factor) for part in self.carried),
            payload=self.payload.faster(factor),
        )


def load_of(
    robot: Robot,
    drives: Sequence[DriveData],
    duty: Duty,
    center: Sequence[float] | Array = (0.0, 0.0, 0.0),
    gyration: Array | None = None,
) -> Load:
    """The load of a cycle on the actuators of a robot.

    ``center`` (3,) [m] of its payload in the tool frame; ``gyration`` (3, 3) [m2]: its inertia about the centre per
    kilogram, which more payload keeps; None for a point mass.
    """
    if duty.q.shape[1] != robot.n:
        raise InputError(f"the cycle moves {duty.q.shape[1]} joints; {robot.name} has {robot.n}")
    A = output_map(robot, drives)
    base = _torques(robot, duty, A)
    mounts = [mount_of(robot.mechanism, drive) for drive in drives]
    point = np.zeros((3, 3))
    carried = tuple(
        _of_mass(robot, duty, A, base, body, phi_from(1.0, place, point)) for body, place in mounts
    )
    tool = robot.mechanism.frame(None)
    unit = phi_from(1.0, np.asarray(center, dtype=np.float64), point if gyration is None else gyration)
    payload = _of_mass(robot, duty, A, base, tool.body, transform_phi(tool.X_body_frame, unit)) or base * 0.0
    friction = tuple(
        drive.joint_friction.at_motor(1.0 / drive.gear.ratio) if drive.alone else FrictionCurve()
        for drive in drives
    )
    return Load(
        tuple(drive.name for drive in drives),
        _units(robot, drives),
        duty,
        _resting(duty.qd @ A.T),
        duty.qdd @ A.T,
        base,
        carried,
        payload,
        friction,
    )


def payload_per_kg(description: RobotDescription) -> tuple[Array, Array | None]:
    """Mass centre (3,) [m] in the tool frame and inertia (3, 3) [m2] of a kilogram of a robot's payload."""
    if description.payload is None:
        return np.zeros(3), None
    mass, center, inertia = payload_inertia(description.payload)
    return center, inertia / mass if mass > 0.0 else None


def _resting(speed: Array) -> Array:
    """Speeds with those below ``STILL`` as zero."""
    return np.where(np.abs(speed) < STILL, 0.0, speed)


def output_map(robot: Robot, drives: Sequence[DriveData]) -> Array:
    """Output speed of every actuator per joint speed, A (m, n) (eq:actuator-load)."""
    N = robot.mechanism.rotors.N
    ratios = np.array([drive.gear.ratio for drive in drives])
    undriven = [drive.name for drive in drives if drive.gear.ratio == 0.0]
    if undriven:
        raise InputError(
            f"{robot.name}: {', '.join(undriven)}: neither motor nor gear is described; expected both, a ratio, or a "
            "search of a catalogue (--minimise price)",
            field=f"axes.{undriven[0]}.gear",
        )
    A = N / ratios[:, None]
    if A.shape[0] != A.shape[1] or abs(np.linalg.det(A)) < SINGULAR:
        raise InputError(
            f"{robot.name}: {A.shape[0]} motors on {A.shape[1]} joints do not share the load in one way only"
        )
    return np.asarray(A)  # eq:actuator-load


def _units(robot: Robot, drives: Sequence[DriveData]) -> tuple[str, ...]:
    kinds = dict(zip(robot.joint_names, robot.joint_units, strict=True))
    return tuple(kinds[drive.joints[0]] for drive in drives)


def mount_of(mechanism: Mechanism, drive: DriveData) -> tuple[int, Array]:
    """The body that carries a motor, and where on it (3,) [m]: before the first joint that it moves, on its axis.

    A motor that moves th2 + th3 stands on the body before th2. A ``mount`` of the file names another body.
    """
    tree = mechanism.tree_joint_names
    first = min(tree.index(name) for name in drive.joints)
    body, place = int(mechanism.parent[first]), mechanism.X_tree[first][:3, 3]
    if drive.mount is not None:
        stated = BASE if drive.mount.link == "base" else _body_of(mechanism, drive.mount.link)
        if stated != body:
            return stated, np.zeros(3)
    return body, place


def _body_of(mechanism: Mechanism, link: str) -> int:
    return mechanism.tree_joint_names.index(link) if link in mechanism.tree_joint_names else BASE


def _of_mass(robot: Robot, duty: Duty, A: Array, base: Part, body: int, unit: Array) -> Part | None:
    """What 1 kg with the inertial parameters ``unit`` in a body's frame adds; None on the base: nothing."""
    if body == BASE:
        return None
    phi = robot.mechanism.phi.copy()
    phi[body] += unit
    heavier = Robot(robot.mechanism.with_(phi=phi), engine=robot.engine_name)
    return _torques(heavier, duty, A) + base * -1.0


def _poses(count: int) -> IntArray:
    return np.unique(np.linspace(0, count - 1, min(POSES, count)).astype(np.int64))


def _torques(robot: Robot, duty: Duty, A: Array) -> Part:
    """The torques of a cycle at the outputs (eq:actuator-load)."""
    B = np.linalg.inv(A)
    at = _poses(len(duty.t))
    zero = np.zeros_like(duty.qdd[at])
    M = robot.inertia(duty.q[at])
    return Part(
        robot.rne(duty.q, duty.qd, duty.qdd) @ B,  # eq:actuator-load
        robot.gravload(duty.q) @ B,
        robot.rne(duty.q[at], duty.qd[at], zero) @ B,
        np.einsum("ji,kjl,li->ki", B, M, B),
    )
