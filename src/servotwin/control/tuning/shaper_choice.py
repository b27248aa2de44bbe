"""Shapers for the motions of a robot, chosen from the modes of its controller's model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np

from servotwin.control.servo.axis_data import controller_of
from servotwin.control.tuning.arm_modes import ArmMode, ArmModel, ElasticArm, has_elastic_gears
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription
from servotwin.linear.shapers import MOST_DAMPING, Shaper, shaper
from servotwin.linear.system import Array
from servotwin.motion.shaping import ShapedMode
from servotwin.robot.robot import Robot

POSES = 25  # along a motion whose frequencies are followed
HELD = 1.5  # motion of the motors, over that of the joints, up to which a mode is one of the arm on its gears
FASTEST = 0.5  # of half a swing, in main periods: a mode faster than that is not shaped by them
TURN = 2.0 * math.pi


@dataclass(frozen=True)
class ShaperChoice:
    """How the motions of a robot are shaped; ``modes`` gives the shapers of one motion."""

    description: RobotDescription
    robot: Robot

    @classmethod
    def of(cls, description: RobotDescription, robot: Robot) -> ShaperChoice | None:
        """From ``controller.shaping``; None if nothing is shaped. Refuses a shaper without a mode to shape."""
        settings = controller_of(description).shaping
        if settings.shaper == "none":
            return None
        if settings.frequency is None and not has_elastic_gears(description):
            raise refuse(
                description,
                "controller.shaping.frequency",
                "missing: no gear is elastic, so that the model does not swing; expected the measured frequency, such "
                "as '9 Hz', or axes.*.gear.stiffness",
            )
        if settings.frequency is not None and settings.pose == "path":
            raise refuse(
                description,
                "controller.shaping.pose",
                "path, but a measured frequency is the same everywhere; expected one of the two",
            )
        return cls(description, robot)

    @cached_property
    def _model(self) -> ArmModel:
        return ArmModel.of(self.description, self.robot)

    def modes(self, poses: Array) -> list[ShapedMode]:
        """Shapers of a motion through joints (k, n), from rest to rest: for the modes that it excites most."""
        settings = controller_of(self.description).shaping
        if settings.frequency is not None:
            made = self._made(TURN * settings.frequency, settings.damping or 0.0)
            return [ShapedMode(made)]
        at_end = self._excited(poses)[: settings.modes]
        if not at_end:
            return []
        found = []
        for mode in sorted(at_end, key=lambda mode: mode.frequency):
            damping = mode.damping if settings.damping is None else settings.damping
            made = self._made(mode.frequency, min(damping, MOST_DAMPING))
            found.append(ShapedMode(made, self._followed(mode, poses) if settings.pose == "path" else None))
        return found

    def _made(self, frequency: float, damping: float) -> Shaper:
        settings = controller_of(self.description).shaping
        return shaper(settings.shaper, frequency, damping, tolerance=settings.tolerance)

    def _excited(self, poses: Array) -> list[ArmMode]:
        r"""Modes where the motion ends, those first that its acceleration bends most.

        .. math:: a_k \propto \frac{|\phi_k^T M\,\Delta q|}{\phi_k^T M\,\phi_k\;\omega_k^2}        (eq:excited-mode)

        with the way :math:`\Delta q` of the joints: what an acceleration along it leaves of mode :math:`\phi_k`.
        """
        home = controller_of(self.description).shaping.pose == "home"
        arm = self._model.at(self.robot.q_home if home else poses[-1])
        way = poses[-1] - poses[0]
        if not way.any():
            way = np.ptp(poses, axis=0)
        sizes = []
        for mode in self._arm_modes(arm):
            phi = mode.joints
            modal = float(phi @ arm.M @ phi)
            if modal > 0.0:
                sizes.append(
                    (abs(float(phi @ arm.M @ way)) / (modal * mode.frequency**2), mode)
                )  # eq:excited-mode
        return [mode for _, mode in sorted(sizes, key=lambda pair: -pair[0])]

    def _arm_modes(self, arm: ElasticArm) -> list[ArmMode]:
        """Modes in which the arm swings on its gears, slow enough for the main controller."""
        fastest = math.pi / (FASTEST * controller_of(self.description).main_period)
        return [
            mode
            for mode in arm.under_servo()
            if mode.frequency < fastest and float(np.abs(mode.motors).max()) < HELD
        ]

    def _followed(self, mode: ArmMode, poses: Array) -> FollowedFrequency:
        """The frequency of a mode along a motion: at every pose that of the mode most like it at the next one."""
        wanted, found = mode, []
        for q in poses[::-1]:
            arm = self._model.at(q)
            there = self._arm_modes(arm)
            if there:  # else it is damped away here, and the frequency of the pose before is as good as any
                wanted = max(there, key=lambda other: _likeness(arm.M, wanted.joints, other.joints))
            found.append(wanted.frequency)
        return FollowedFrequency(np.linspace(0.0, 1.0, len(poses)), np.array(found[::-1]))


class MotionShapers:
    """Shapers of the motions of a robot: those of its file, or of the kind that a job asks for."""

    def __init__(self, description: RobotDescription, robot: Robot) -> None:
        self._of = cache(partial(_choice, description, robot))

    def shapes(self, kind: str | None = None) -> bool:
        """Whether motions are shaped; refuses a shaper without a mode to shape."""
        return self._of(kind) is not None

    def modes(self, poses: Array, kind: str | None = None) -> list[ShapedMode]:
        """Shapers of a motion through joints (k, n), from rest to rest."""
        choice = self._of(kind)
        return [] if choice is None else choice.modes(poses)


def _choice(description: RobotDescription, robot: Robot, kind: str | None) -> ShaperChoice | None:
    if kind is None:
        return ShaperChoice.of(description, robot)
    control = controller_of(description)
    shaping = control.shaping.model_copy(update={"shaper": kind})
    changed = control.model_copy(update={"shaping": shaping})
    return ShaperChoice.of(description.model_copy(update={"controller": changed}), robot)


@dataclass(frozen=True)
class FollowedFrequency:
    """Natural frequency of a mode [rad/s] along a motion, by the part of its way."""

    parts: Array
    frequencies: Array

    def __call__(self, part: float) -> float:
        """The frequency after a part of the way."""
        return float(np.interp(part, self.parts, self.frequencies))


def _likeness(M: Array, one: Array, other: Array) -> float:
    """How much two shapes have in common, 0 to 1."""
    sizes = float(one @ M @ one) * float(other @ M @ other)
    return float(one @ M @ other) ** 2 / sizes if sizes > 0.0 else 0.0
