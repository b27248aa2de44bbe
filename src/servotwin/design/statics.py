r"""Forces at the tool and torques behind it: Jacobians, ellipsoids, stiffness, in joint and actuator coordinates.

With the tool's velocity :math:`v = J \dot q` and actuator angles :math:`\theta = S q` at the joints' side of their
gears, virtual work gives

.. math:: \tau = J^T F + g(q), \qquad \tau_a = S^{-T} \tau, \qquad J_a = J S^{-1}          (eq:actuator-torque)

``F`` force [N] and moment [N m] that the tool exerts; ``g`` what holds the arm's weight. A row of S is the motor's row
of the transmission N divided by its ratio, so that an actuator of a single joint turns with that joint. Springs
:math:`K_a` at the actuators yield at the tool by

.. math:: C = J_a K_a^{-1} J_a^T, \qquad K_\mathrm{tool} = C^{-1}                          (eq:tool-stiffness)

For closed chains J is that of the actuated joints with the loops closed. Theory: docs/theory/workspace.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.inertia import payload_inertia
from servotwin.description.load import read_description
from servotwin.description.placed import override_mapping
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError, ShapeError
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array
from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates
from servotwin.robot.robot import Robot

SINGULAR = (
    1e-6  # least over largest singular value, lengths in reaches of the tool, below which a pose is singular
)
AXES = ("x", "y", "z")
NOISE = 1e-12  # of the largest value, or of 1 in SI units: rounding in a table


@dataclass(frozen=True)
class Ellipsoid:
    """Semi-axes of an ellipsoid: lengths (k,), the longest first, and their directions in the base, columns (3, k)."""

    lengths: Array
    directions: Array


@dataclass(frozen=True)
class Statics(Plots, Tabulates, Reports, ShowsItself):
    """What a pose is like: Jacobians (6, n), torques (n,), and what follows from them (SI)."""

    robot: Robot
    q: Array
    frame: str
    pose: Array  # (4, 4)
    wrench: Array  # (6,) that the tool exerts
    jacobian: Array  # joints
    actuator_names: tuple[str, ...]
    actuator_jacobian: Array
    tau_gravity: Array
    tau_force: Array
    tau_actuator: Array
    singular_values: Array  # of the position part of the actuator Jacobian [m/rad or 1]
    manipulability: float  # product of all three, sqrt det J_v J_v^T; 0 if it has fewer than three directions
    plane_manipulability: float  # product of the singular values that are not zero
    conditioning: float  # least over largest of the singular values that can be other than zero
    velocity: Ellipsoid  # tool velocity of unit actuator velocity
    force: Ellipsoid  # tool force of unit actuator torque
    stiffness: Array | None  # (3, 3) force per shift of the tool [N/m], others free to turn; None: stiff
    compliance: Array | None  # (6, 6)
    limits: dict[str, float]  # share of the torque limit by joint or motor
    quantities: dict[str, float]
    payload: float | None = None  # [kg] in place of the file's
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """The frame and its place, on one line."""
        at = ", ".join(f"{round(1e3 * v, 1) + 0.0:.1f}" for v in self.pose[:3, 3])  # + 0.0: no -0.0
        return f"<Statics of {self.robot.name}: {self.frame} at ({at}) mm>"

    @property
    def tau(self) -> Array:
        """Torques at the joints (n,): weight and force."""
        return self.tau_gravity + self.tau_force

    @property
    def stiffness_ellipsoid(self) -> Ellipsoid | None:
        """Force per shift along its principal directions [N/m], infinite where nothing yields; the longest first."""
        if self.compliance is None:
            return None
        values, axes = np.linalg.eigh(self.compliance[:3, :3])
        soft = values > 1e-12 * max(float(values[-1]), 1e-300)
        return Ellipsoid(np.where(soft, 1.0 / np.where(soft, values, 1.0), np.inf), axes)

    @property
    def singular(self) -> bool:
        """True if some direction in which the robot usually moves is lost."""
        return self.conditioning < SINGULAR

    def summary(self) -> dict[str, Any]:
        """Everything as plain data."""
        names = self.robot.joint_names
        return {
            "robot": self.robot.name,
            "frame": self.frame,
            "payload_kg": self.payload,
            "q": dict(zip(names, self.q.tolist(), strict=True)),
            "position_m": self.pose[:3, 3].tolist(),
            "wrench": self.wrench.tolist(),
            "tau_gravity": dict(zip(names, self.tau_gravity.tolist(), strict=True)),
            "tau_force": dict(zip(names, self.tau_force.tolist(), strict=True)),
            "tau": dict(zip(names, self.tau.tolist(), strict=True)),
            "tau_actuator": dict(zip(self.actuator_names, self.tau_actuator.tolist(), strict=True)),
            "jacobian": self.jacobian.tolist(),
            "actuator_jacobian": self.actuator_jacobian.tolist(),
            "singular_values": self.singular_values.tolist(),
            "manipulability": self.manipulability,
            "plane_manipulability": self.plane_manipulability,
            "conditioning": self.conditioning,
            "singular": self.singular,
            "velocity_ellipsoid": _ellipsoid_data(self.velocity),
            "force_ellipsoid": _ellipsoid_data(self.force),
            "stiffness_N_per_m": None if self.stiffness is None else self.stiffness.tolist(),
            "compliance": None if self.compliance is None else self.compliance.tolist(),
            "torque_share": self.limits,
            "quantities": self.quantities,
            "notes": list(self.notes),
        }


def _ellipsoid_data(ellipsoid: Ellipsoid) -> dict[str, Any]:
    """Plain data; None stands for an infinite length, a direction in which a singular arm bears any force."""
    lengths = [float(v) if np.isfinite(v) else None for v in ellipsoid.lengths]
    return {"lengths": lengths, "directions": ellipsoid.directions.T.tolist()}


def described(
    robot: Robot | RobotDescription | str | Path,
    changes: Mapping[str, str] | None = None,
    payload: float | None = None,
) -> tuple[Robot, tuple[DriveData, ...], tuple[str, ...]]:
    """The robot of a name, a file, a description or itself, its motors (none behind a ``Robot``), and notes.

    ``payload`` [kg] is the whole payload, in place of the file's.
    """
    if payload is not None and not (np.isfinite(payload) and payload >= 0.0):
        raise InputError(f"{payload:g} kg; expected a mass of at least 0 kg", field="payload")
    if isinstance(robot, Robot):
        if changes:
            raise InputError("a robot that is loaded does not change; expected its name or file with changes")
        if payload is not None:
            raise InputError(
                "a robot that is loaded does not tell its payload from its last link; expected its name or file",
                field="payload",
            )
        return robot, (), ()
    if isinstance(robot, RobotDescription) and changes:
        raise InputError("a description does not change; expected a name or path with changes")
    description = (
        robot if isinstance(robot, RobotDescription) else read_description(robot, override_mapping(changes))
    )
    machine, notes = _carrying(description, payload)
    return machine, drives_of(description), notes


def _carrying(description: RobotDescription, payload: float | None) -> tuple[Robot, tuple[str, ...]]:
    """The robot with a payload [kg] in place of the file's: at its mass centre, with its radii of gyration."""
    stated = description.payload
    if payload is None or stated is None:
        machine = Robot(build_mechanism(description), title=description.title)
        return (machine.with_payload(payload) if payload else machine), ()
    empty = description.model_copy(update={"payload": None})
    machine = Robot(build_mechanism(empty), title=description.title)
    mass, center, inertia = payload_inertia(stated)
    if payload:
        machine = machine.with_payload(payload, center, inertia * (payload / mass) if mass > 0.0 else None)
    same = not mass or payload == mass
    return machine, () if same else (f"payload {payload:g} kg in place of the file's {mass:g} kg",)


def actuator_matrix(robot: Robot) -> tuple[tuple[str, ...], Array]:
    """Names of the actuators and S of theta = S q: the transmission without its ratios; joints without motors."""
    N = robot.mechanism.rotors.N
    if N.shape != (robot.n, robot.n) or np.linalg.matrix_rank(N) < robot.n:
        return robot.joint_names, np.eye(robot.n)
    names, rows = robot.mechanism.rotors.names, []
    for row in N:
        rows.append(row / row[np.argmax(np.abs(row))])
    return names, np.array(rows)


def actuator_units(robot: Robot) -> tuple[str, ...]:
    """Unit of the actuators' coordinates, 'rad' or 'm': that of the joint with which each turns one to one."""
    _, S = actuator_matrix(robot)
    return tuple(robot.joint_units[int(np.argmax(np.abs(row)))] for row in S)


def without_noise(values: ArrayLike) -> Array:
    """Values with those set to zero that are rounding beside the largest."""
    v = np.asarray(values, dtype=np.float64)
    largest = float(np.abs(v[np.isfinite(v)]).max(initial=0.0))
    return np.where(np.abs(v) <= NOISE * max(largest, 1.0), 0.0, v)


def actuator_jacobian(robot: Robot, q: ArrayLike, frame: str | None = None) -> Array:
    """Velocity of a frame per actuator velocity (..., 6, n), eq:actuator-torque."""
    _, S = actuator_matrix(robot)
    return robot.jacob0(q, frame) @ np.linalg.inv(S)  # eq:actuator-torque


def static_torques(robot: Robot, q: ArrayLike, wrench: ArrayLike, frame: str | None = None) -> Array:
    """Joint torques (..., n) that hold the arm while the tool exerts a wrench (..., 6), eq:actuator-torque."""
    pushed = np.einsum("...ij,...i->...j", robot.jacob0(q, frame), np.asarray(wrench, dtype=np.float64))
    return np.asarray(robot.gravload(q) + pushed)  # eq:actuator-torque


def isotropic_speed(jacobian: Array, qd_max: Array) -> Array:
    r"""Largest speed (...) that the tool has in every direction, within the speeds of the joints.

    .. math:: v = \min_i \dot q_{\max,i} / \lVert (J^{-1})_i \rVert                    (eq:isotropic-speed)

    ``jacobian`` (..., d, d) of the directions that count; rows of its inverse.
    """
    rows = np.linalg.norm(_inverse(jacobian), axis=-1)
    return np.asarray(np.min(_share(qd_max, rows), axis=-1))  # eq:isotropic-speed


def isotropic_acceleration(jacobian: Array, inertia: Array, gravity: Array, tau_max: Array) -> Array:
    r"""Largest acceleration (...) that the tool has from rest in every direction, within the torques of the joints.

    .. math:: a = \min_i (\tau_{\max,i} - |g_i|) / \lVert (M J^{-1})_i \rVert          (eq:isotropic-acceleration)
    """
    rows = np.linalg.norm(inertia @ _inverse(jacobian), axis=-1)
    room = np.maximum(tau_max - np.abs(gravity), 0.0)
    return np.asarray(np.min(_share(room, rows), axis=-1))  # eq:isotropic-acceleration


def _share(limit: Array, rows: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(limit), limit / np.maximum(rows, 1e-300), np.inf)


def _inverse(jacobian: Array) -> Array:
    """Inverse (..., d, d), infinite where there is none."""
    det = np.linalg.det(jacobian)
    safe = np.where((det == 0.0)[..., None, None], np.eye(jacobian.shape[-1]), jacobian)
    return np.where((det == 0.0)[..., None, None], np.inf, np.linalg.inv(safe))


def actuator_yield(
    robot: Robot, drives: tuple[DriveData, ...], given: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Turn of the actuators per torque [rad/(N m), m/N], at the joint's side; 0 where nothing yields.

    From ``given`` stiffness by name, or from the gears of the file.
    """
    names, _ = actuator_matrix(robot)
    found = dict.fromkeys(names, 0.0)
    for drive in drives:
        if drive.name in names and drive.gear.stiffness is not None:
            found[drive.name] = 1.0 / (drive.gear.stiffness * drive.gear.ratio**2)
    for name, value in (given or {}).items():
        if name not in names:
            raise InputError(f"no actuator '{name}'; expected some of {', '.join(names)}", field="stiffness")
        if not value > 0.0:
            raise InputError(f"{value:g} of '{name}' is not above zero", field="stiffness")
        found[name] = 1.0 / value
    return found


def rigid_note(yielding: Mapping[str, float]) -> tuple[str, ...]:
    """Which actuators count as rigid beside others that yield."""
    rigid = [name for name, value in yielding.items() if not value]
    if not rigid or len(rigid) == len(yielding):
        return ()
    return (f"stiffness: {', '.join(rigid)} without one, counted as rigid",)


def joint_compliance(
    robot: Robot, drives: tuple[DriveData, ...], given: Mapping[str, float] | None = None
) -> Array | None:
    """Turn of the joints per torque (n, n): S^-1 K^-1 S^-T; None if everything is stiff.

    Stiffness at the actuators, on the side of the joint, as in ``actuator_yield``.
    """
    _, S = actuator_matrix(robot)
    yielding = np.array(list(actuator_yield(robot, drives, given).values()))
    if not yielding.any():
        return None
    inverse = np.linalg.inv(S)
    return np.asarray(inverse @ np.diag(yielding) @ inverse.T)


def tool_stiffness(jacobian: Array, compliance: Array) -> Array:
    """Force per shift of the tool (..., 3, 3) [N/m], free to turn; infinite where it cannot yield, eq:tool-stiffness.

    ``jacobian`` (..., 6, n) of the joints, ``compliance`` (n, n) of ``joint_compliance``.
    """
    position = jacobian[..., :3, :]
    C = position @ compliance @ np.swapaxes(position, -1, -2)  # eq:tool-stiffness
    values, axes = np.linalg.eigh(C)
    soft = values > 1e-12 * np.maximum(values[..., -1:], 1e-300)
    with np.errstate(all="ignore"):
        stiff = np.where(soft, 1.0 / values, 0.0)
    return np.asarray((axes * stiff[..., None, :]) @ np.swapaxes(axes, -1, -2))


def statics(
    robot: Robot | RobotDescription | str | Path,
    q: ArrayLike | None = None,
    *,
    pose: ArrayLike | None = None,
    force: ArrayLike = (0.0, 0.0, 0.0),
    moment: ArrayLike = (0.0, 0.0, 0.0),
    frame: str | None = None,
    payload: float | None = None,
    stiffness: Mapping[str, float] | None = None,
    changes: Mapping[str, str] | None = None,
) -> Statics:
    """Torques, singular values, ellipsoids and stiffness at joint positions q (n,) or at a pose (4, 4); default home.

    ``force`` [N] and ``moment`` [N m] are what the tool exerts, in base axes at the frame's origin; ``payload``
    [kg] the whole payload in place of the file's, at its mass centre; ``stiffness`` of actuators [N m/rad, N/m] by
    name, at the joint's side.

    >>> import servotwin as st
    >>> st.statics("palletizer-4", force=(0, 0, -100)).tau_force.round(3) + 0.0
    array([  0., -65., -65.,   0.])
    """
    machine, drives, notes = described(robot, changes, payload)
    if q is not None and pose is not None:
        raise InputError("q and pose exclude each other; give one of them")
    name = machine._frame(frame)
    place = machine.q_home if q is None else finite_position(machine, q)
    if pose is not None:
        place = machine.ikine(pose, frame=frame)
    if place.shape != (machine.n,):
        raise ShapeError(f"q has shape {place.shape}; expected ({machine.n},)")
    wrench = np.concatenate([_vector("force", force), _vector("moment", moment)])
    notes = (*notes, *rigid_note(actuator_yield(machine, drives, stiffness)))
    return replace(_at(machine, drives, place, name, wrench, stiffness), payload=payload, notes=notes)


def finite_position(robot: Robot, q: ArrayLike) -> Array:
    """Joint positions (..., n) that are numbers."""
    place = robot._joint_array("q", q)
    finite = np.asarray(np.isfinite(place).reshape(-1, robot.n).all(axis=0))
    wrong = [name for name, good in zip(robot.joint_names, finite, strict=True) if not good]
    if wrong:
        raise InputError(f"{robot.name}: {', '.join(wrong)}: expected finite positions", field="q")
    return place


def _vector(name: str, value: ArrayLike) -> Array:
    vector = np.asarray(value, dtype=np.float64)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ShapeError(f"{name} has shape {vector.shape}; expected 3 finite numbers")
    return vector


def _at(
    robot: Robot,
    drives: tuple[DriveData, ...],
    q: Array,
    frame: str,
    wrench: Array,
    stiffness: Mapping[str, float] | None,
) -> Statics:
    J = robot.jacob0(q, frame)
    names, S = actuator_matrix(robot)
    gravity, pushed = robot.gravload(q), J.T @ wrench
    compliance = joint_compliance(robot, drives, stiffness)
    J_a = J @ np.linalg.inv(S)
    U, values, _ = np.linalg.svd(J_a[:3])
    rank = _usual_rank(robot, frame)
    used = values[:rank]
    with np.errstate(all="ignore"):
        force = Ellipsoid(np.where(used > 0.0, 1.0 / used, np.inf)[::-1], U[:, :rank][:, ::-1])
    tau = gravity + pushed
    z = {name: float(value) for name, value in robot.quantity_values(q).items()}
    return Statics(
        robot=robot, q=q, frame=frame, pose=robot.fkine(q, frame), wrench=wrench, jacobian=J,
        actuator_names=names, actuator_jacobian=J_a, tau_gravity=gravity, tau_force=pushed,
        tau_actuator=np.asarray(np.linalg.solve(S.T, tau), dtype=np.float64), singular_values=values,
        manipulability=float(np.prod(values)) if len(values) == 3 else 0.0,
        plane_manipulability=float(np.prod(used)),
        conditioning=float(used[-1] / used[0]) if rank and used[0] > 0.0 else 0.0,
        velocity=Ellipsoid(used, U[:, :rank]), force=force,
        stiffness=None if compliance is None else tool_stiffness(J, compliance),
        compliance=None if compliance is None else J @ compliance @ J.T,
        limits=torque_shares(robot, drives, tau), quantities=z,
    )  # fmt: skip


def _usual_rank(robot: Robot, frame: str) -> int:
    """Directions that the joints usually move a frame in: the largest rank near the home pose."""
    rng = np.random.default_rng(0)
    spread = np.where(np.array(robot.joint_units) == "m", 0.01, 0.1)
    home = np.clip(robot.q_home, robot.limits.q_min, robot.limits.q_max)
    q = home + rng.uniform(-1.0, 1.0, (8, robot.n)) * spread
    values = np.linalg.svd(robot.jacob0(q, frame)[:, :3], compute_uv=False)
    return int((values > 1e-9 * values.max(initial=1e-300)).sum(axis=1).max())


def torque_shares(robot: Robot, drives: tuple[DriveData, ...], tau: Array) -> dict[str, float]:
    """Share of the torque limits: of joints where the file has one, and of the rated torques of motors."""
    shares = {
        f"joint {name}": float(abs(value) / most)
        for name, value, most in zip(robot.joint_names, tau, robot.limits.tau_max, strict=True)
        if np.isfinite(most)
    }
    N = robot.mechanism.rotors.N
    if N.shape == (robot.n, robot.n) and np.linalg.matrix_rank(N) == robot.n:
        at_motor = dict(zip(robot.mechanism.rotors.names, np.linalg.solve(N.T, tau), strict=True))
        for drive in drives:
            if drive.name in at_motor and drive.ratings.rated_torque:
                shares[f"motor {drive.name}"] = float(abs(at_motor[drive.name]) / drive.ratings.rated_torque)
    return shares
