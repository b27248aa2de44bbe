r"""What is known about every motor of a robot and what it drives, resolved once: at the motor's side, in SI.

A file states a motor, its gear, encoder and brake at an axis, ratios at gears or in a matrix, friction at motors and
at joints, stiffness and play on the side of the joint. ``drives_of`` puts them together, one ``DriveData`` for each
motor. It refuses nothing: what is missing is None or has no effect. ``motors.py`` asks for what a model needs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from servotwin.description.checks import motor_names
from servotwin.description.drive_parts import Brake, Encoder, Gear, Motor, Mount, Thermal
from servotwin.description.friction_curve import FrictionCurve, friction_curve, joint_curve, motor_curve
from servotwin.description.schema import Axis, RobotDescription
from servotwin.drives.kind import UNIT_TORQUE_CONSTANT, ActuatorKind, Winding
from servotwin.drives.table import UNKNOWN, kind_named

STOP_MARGIN = 0.05  # end stops lie beyond the position limits by this part of the stroke
FINER = 4096  # times the counts of an encoder whose resolution is switched off
OVERLOAD = 3.0  # current limit over rated current where none is stated


@dataclass(frozen=True)
class DriveGear:
    """A gear as its motor sees it."""

    ratio: float = (
        0.0  # size of the motor angle per joint angle [-] or travel [rad/m]; the largest of several joints
    )
    efficiency: float = 1.0
    stiffness: float | None = None  # [N m/rad]; None: stiff
    damping: float = 0.0  # [N m s/rad]
    half_play: float = 0.0  # [rad]
    stiffening: tuple[tuple[float, float], ...] = ()  # torque [N m] and the stiffness [N m/rad] from there on

    @property
    def elastic(self) -> bool:
        """True if motor and joint move by themselves."""
        return self.stiffness is not None

    @property
    def lossy(self) -> bool:
        """True if a stiff gear loses power."""
        return self.efficiency < 1.0 and not self.elastic


@dataclass(frozen=True)
class Ratings:
    """What data sheet and driver allow; None where nothing is stated."""

    rated_torque: float | None = None  # [N m]
    rated_speed: float | None = None  # [rad/s]
    peak_torque: float | None = None  # [N m]
    max_speed: float | None = None  # [rad/s]
    current_limit: float | None = (
        None  # of the driver [A]: stated, of the peak torque, or OVERLOAD times the rated one
    )

    @property
    def torque_limit(self) -> float:
        """The peak torque [N m], infinite where nothing is stated."""
        return self.peak_torque or math.inf

    @property
    def speed_limit(self) -> float:
        """The largest speed [rad/s], infinite where nothing is stated."""
        return self.max_speed or math.inf


@dataclass(frozen=True)
class DriveData:
    """One motor with its gear, brake, encoder and ratings, at its own side (SI).

    What one kind of motor alone has stands in a part of its own (``winding``); the rest holds for all kinds.
    """

    name: str  # of the motor
    owner: str  # axis that states its data
    kind: str | None = None  # None: no motor is described
    driven: bool = False  # a motor or a gear is described
    ratios: tuple[float, ...] = ()  # motor angle per joint angle [-] or travel [rad/m], in the order of q
    joints: tuple[str, ...] = ()  # that it moves
    alone: bool = False  # it moves one joint, which no other motor moves
    winding: Winding | None = None
    rotor_inertia: float = 0.0  # [kg m2]
    mount: Mount | None = None
    parameters: tuple[tuple[str, str], ...] = ()  # of an actuator of the user's own, as texts with units
    friction: FrictionCurve = field(default_factory=FrictionCurve)  # of its own shaft
    joint_friction: FrictionCurve = field(default_factory=FrictionCurve)  # of the joint that it moves alone
    viscous_friction: float = 0.0  # of its shaft and of its axis' joint, as the loops count it [N m s/rad]
    gear: DriveGear = field(default_factory=DriveGear)
    brake: Brake | None = None
    thermal: Thermal | None = None
    counts_per_turn: float | None = None  # of the encoder
    ratings: Ratings = field(default_factory=Ratings)

    @property
    def actuator(self) -> ActuatorKind:
        """What its kind declares; an axis without a motor counts as an ideal one."""
        return UNKNOWN if self.kind is None else kind_named(self.kind)

    @property
    def electrical(self) -> Winding:
        """Its winding; what no current drives has one that does nothing."""
        return self.winding if self.winding is not None else Winding()

    @property
    def torque_constant(self) -> float:
        """Torque per current of the driver [N m/A]."""
        return self.winding.torque_constant if self.winding is not None else UNIT_TORQUE_CONSTANT

    @property
    def counts_per_rad(self) -> float | None:
        """Counts of the encoder per motor angle [1/rad]."""
        return None if self.counts_per_turn is None else self.counts_per_turn / (2.0 * math.pi)

    @property
    def stiff_joint(self) -> str | None:
        """The joint that it moves alone through a stiff gear: one angle tells the other, and their friction is one."""
        return self.joints[0] if self.alone and not self.gear.elastic else None

    @property
    def shaft_friction(self) -> FrictionCurve:
        """Friction of shaft and joint, as if the gear were stiff and without loss."""
        return self.friction + self.joint_friction


def drives_of(description: RobotDescription) -> tuple[DriveData, ...]:
    """The motors of a robot, in the order of ``motor_names``; built once for a description."""
    stated = (
        description.axes,
        description.transmission,
        description.couplings,
        description.active,
        description.error_sources,
    )
    kept = description._drives
    # a copy with other axes takes the private fields along
    if kept is None or any(now is not then for now, then in zip(stated, kept[0], strict=True)):
        kept = description._drives = (stated, _built(description))
    drives: tuple[DriveData, ...] = kept[1]
    return drives


def chamber_motors(description: RobotDescription) -> tuple[str, ...]:
    """Names of the motors with chambers under pressure."""
    return tuple(drive.name for drive in drives_of(description) if drive.actuator.chambers_at >= 0)


def drive_of(description: RobotDescription, name: str) -> DriveData:
    """The motor with this name, without data if the description has none."""
    return next((drive for drive in drives_of(description) if drive.name == name), DriveData(name, name))


def gear_compliance(description: RobotDescription, axis: str) -> float:
    """How much the gear of an axis gives way at the joint, per torque or force [rad/(N m), m/N]; 0 if it is stiff."""
    gear = description.axes[axis].gear
    return 1.0 / gear.stiffness if gear is not None and gear.stiffness else 0.0


def gear_stiffens(description: RobotDescription, axis: str) -> bool:
    """Whether the gear of an axis is stiffer under load."""
    gear = description.axes[axis].gear
    return gear is not None and gear.stiffening is not None


def _built(description: RobotDescription) -> tuple[DriveData, ...]:
    names, rows = motor_names(description), _rows(description)
    return tuple(
        _drive(description, name, owner, rows, j)
        for j, (name, owner) in enumerate(zip(names, _owners(description, names), strict=True))
    )


def _owners(description: RobotDescription, names: Sequence[str]) -> list[str]:
    """The axis that states each motor's data: that with its name, or else the joint in the same place of q."""
    joints = description.joint_names
    places = joints if len(joints) == len(names) else names
    return [name if name in description.axes else place for name, place in zip(names, places, strict=True)]


def _rows(description: RobotDescription) -> list[tuple[float, ...]]:
    """Motor angle per joint motion, one row for each motor; zeros where nothing drives a joint."""
    if description.transmission is not None:
        return list(description.transmission.matrix)
    joints = description.joint_names
    ratios = [_ratio(description.axes[name]) for name in joints]
    return [tuple(ratio if k == j else 0.0 for k in range(len(joints))) for j, ratio in enumerate(ratios)]


def _ratio(axis: Axis) -> float:
    """Ratio of an axis without transmission matrix.

    A motor without gear drives a turning joint directly, and a cylinder a sliding one: 1 rad of it is 1 m. No other
    motor moves a sliding joint without a gear.
    """
    if axis.motor is None and axis.gear is None:
        return 0.0
    stated = axis.gear.motor_per_joint if axis.gear is not None else None
    linear = axis.motor is not None and axis.motor.cylinder is not None
    direct = 1.0 if linear or not axis.prismatic else 0.0
    return direct if stated is None else stated


def _drive(
    description: RobotDescription, name: str, owner: str, rows: Sequence[tuple[float, ...]], j: int
) -> DriveData:
    axis = description.axes.get(owner)
    gear, brake, encoder = (axis.gear, axis.brake, axis.encoder) if axis is not None else (None, None, None)
    stated = axis.motor if axis is not None else None
    motor, kind = stated or Motor(), None if stated is None else kind_named(stated.kind)
    joints, ratios = description.joint_names, rows[j]
    moved = [i for i, ratio in enumerate(ratios) if ratio != 0.0]
    alone = len(moved) == 1 and sum(row[moved[0]] != 0.0 for row in rows) == 1
    ratio = max(map(abs, ratios), default=0.0)
    winding = kind.winding(motor) if kind is not None and kind.winding is not None else None
    own, joint = motor_curve(motor) + _idle_curve(gear), FrictionCurve()
    if alone:
        joint = joint_curve(description.axes[joints[moved[0]]].friction).at_motor(ratios[moved[0]])
    return DriveData(
        name=name,
        owner=owner,
        kind=None if kind is None else kind.name,
        driven=description.transmission is not None or stated is not None or gear is not None,
        ratios=ratios,
        joints=tuple(joints[i] for i in moved),
        alone=alone,
        winding=winding,
        rotor_inertia=(motor.rotor_inertia or 0.0) + (gear.inertia or 0.0 if gear is not None else 0.0),
        mount=motor.mount,
        parameters=tuple(motor.parameters.items()),
        friction=own,
        joint_friction=joint,
        viscous_friction=own.viscous + _axis_viscous(axis, ratio),
        gear=_gear(gear, ratio),
        brake=brake,
        thermal=motor.thermal,
        counts_per_turn=None if encoder is None else _counts(description, encoder),
        ratings=_ratings(motor, winding),
    )


def _counts(description: RobotDescription, encoder: Encoder) -> float:
    """Counts per turn; many times finer where the resolution is switched off, for sensor and controller alike."""
    section = description.error_sources
    return encoder.counts * (FINER if section is not None and "resolution" in section.off else 1)


def _idle_curve(gear: Gear | None) -> FrictionCurve:
    """What a gear takes at its motor's shaft without load."""
    if gear is None or gear.no_load_torque is None:
        return FrictionCurve()
    return friction_curve(None, None, gear.starting_torque, None, gear.no_load_torque)


def _axis_viscous(axis: Axis | None, ratio: float) -> float:
    """Viscous friction of the joint of an axis, seen at its motor [N m s/rad]."""
    if axis is None or axis.friction is None or ratio == 0.0:
        return 0.0
    return (axis.friction.viscous or 0.0) / ratio**2  # eq:friction-at-motor


def _gear(gear: Gear | None, ratio: float) -> DriveGear:
    """Losses, torsion and play of a gear, counted at the motor."""
    if gear is None:
        return DriveGear(ratio)
    efficiency = gear.efficiency if gear.efficiency is not None else 1.0
    half_play = 0.5 * (gear.backlash or 0.0) * ratio
    if gear.stiffness is None:
        return DriveGear(ratio, efficiency, half_play=half_play)
    if ratio == 0.0:
        return DriveGear(ratio, efficiency, math.inf)
    stiffness, damping = gear.stiffness / ratio**2, (gear.damping or 0.0) / ratio**2
    stiffening = tuple((torque / ratio, k / ratio**2) for torque, k in gear.stiffening or ())
    return DriveGear(ratio, efficiency, stiffness, damping, half_play, stiffening)


def _ratings(motor: Motor, winding: Winding | None) -> Ratings:
    K = winding.torque_constant if winding is not None else UNIT_TORQUE_CONSTANT
    return Ratings(
        motor.rated_torque, motor.rated_speed, motor.peak_torque, motor.max_speed, _current_limit(motor, K)
    )


def _current_limit(motor: Motor, K: float) -> float | None:
    """Limit of the driver's current [A]: as stated, of the peak torque, or three times the rated one."""
    if motor.current_limit is not None:
        return motor.current_limit
    if motor.valve is not None:
        return motor.valve.rated_current
    if motor.peak_torque is not None:
        return motor.peak_torque / K
    rated = motor.rated_current or (motor.rated_torque / K if motor.rated_torque else None)
    return None if rated is None else OVERLOAD * rated
