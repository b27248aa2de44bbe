"""What a calibration found: parameters, errors before and after, the robot as built and its inverse kinematics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.schema import RobotDescription
from servotwin.design.calibration.identify import Dependent, Estimate
from servotwin.design.calibration.model import JOINT_ERRORS, CalibrationModel
from servotwin.design.calibration.noise import Noise
from servotwin.design.calibration.observation import Measured
from servotwin.design.calibration.validation import Errors
from servotwin.dynamics.ik.pose import pose_error
from servotwin.errors import UnreachableError
from servotwin.mechanism.model import Array, IntArray
from servotwin.robot.robot import Robot

IK_STEPS = 25


@dataclass(frozen=True)
class Found:
    """A parameter that was estimated (SI)."""

    name: str
    value: float
    sigma: float
    unit: str
    typical: float


@dataclass(frozen=True)
class Calibration:
    """What measurements say about a robot."""

    description: RobotDescription | None
    model: CalibrationModel
    measured: Measured
    noise: Noise
    estimate: Estimate
    dependent: tuple[Dependent, ...]
    fitted: Errors
    held_out: Errors
    held_out_units: IntArray
    ratio: float  # white error held out over what the bound predicts (eq:held-out)
    predicted: float  # that prediction, in units of the noise
    prior: bool
    notes: tuple[str, ...]

    @property
    def robot(self) -> Robot:
        """The robot as drawn."""
        return self.model.robot

    @cached_property
    def calibrated(self) -> Robot:
        """The robot as built, as far as placements, offsets and scales say it."""
        return self.robot.with_deviations(self.model.deviations(self.estimate.theta))

    @property
    def found(self) -> tuple[Found, ...]:
        """The parameters that were estimated."""
        e = self.estimate
        return tuple(
            Found(p.name, self.model.value(e.theta, k), float(s), p.unit, p.typical)
            for k, s in zip(e.chosen, e.sigma, strict=True)
            for p in [self.model.parameters[k]]
        )

    @property
    def not_identified(self) -> dict[str, str]:
        """Parameters that are not identified by themselves, and what does the same."""
        return {self.model.parameters[d.index].name: self._same(d) for d in self.dependent}

    def _same(self, d: Dependent) -> str:
        if not d.effect:
            return "has no effect on what is measured"
        if not d.combination:
            return "is the same as another place of the measuring device"
        parts = [f"{factor:+.4g} {self.model.parameters[j].name}" for j, factor in d.combination]
        return "does the same as " + " ".join(parts)

    def poses(self, q: ArrayLike) -> Array:
        """Poses of the tool (K, 4, 4) in the base at commanded positions q (K, n), all that was found counted."""
        return self.model.poses(self.estimate.theta, np.atleast_2d(np.asarray(q, dtype=np.float64)))

    def pose_covariance(self, q: ArrayLike) -> Array:
        """Covariance (K, 6, 6) [m, rad] of the poses that are predicted at q (K, n), from that of the estimate."""
        e = self.estimate
        _, J = self.model.jacobian(e.theta, np.atleast_2d(np.asarray(q, dtype=np.float64)))
        J = J[:, :, list(e.chosen)]
        return np.asarray(J @ e.covariance[e.unknowns :, e.unknowns :] @ np.swapaxes(J, 1, 2))

    def ikine(self, T: ArrayLike, q0: ArrayLike | None = None) -> Array:
        """The command (n,) that brings the tool of the robot as built to T (4, 4), compliance and eccentricity counted.

        An arm with fewer than six joints meets the place, and the nearest orientation.
        """
        goal = np.asarray(T, dtype=np.float64)
        q = self.calibrated.ikine(goal, q0=q0)
        extra = [k for k, p in enumerate(self.model.parameters) if p.kind in JOINT_ERRORS]
        if not np.any(self.estimate.theta[extra]) and not self.model.compliance:
            return q
        from servotwin.dynamics.ik.deviated import place_first

        for _ in range(IK_STEPS):
            error = pose_error(goal, self.poses(q)[0])
            step = place_first(self.calibrated.jacob0(q), error)
            q = q + step
            if np.abs(step).max() < 1e-13:
                break
        left = float(np.linalg.norm(pose_error(goal, self.poses(q)[0])[:3]))
        if left > 1e-9:
            raise UnreachableError(f"{self.robot.name}: the search ends {left:.3g} m away from the pose")
        return q


def summary(found: Calibration) -> dict[str, Any]:
    """The numbers as plain data (SI)."""
    rms = Errors.rms
    held, fitted = found.held_out, found.fitted
    data = {
        "robot": found.robot.name,
        "measured": found.measured.words,
        "poses": found.measured.units,
        "poses_held_out": len(found.held_out_units),
        "error_before_m": rms(fitted.before),
        "error_after_m": rms(fitted.after),
        "held_out_before_m": rms(held.before),
        "held_out_after_m": rms(held.after),
        "held_out_worst_m": float(held.after.max(initial=0.0)),
        "held_out_over_prediction": found.ratio,
        "turn_before_rad": rms(held.turn_before),
        "turn_after_rad": rms(held.turn_after),
        "noise_factor": found.estimate.factor,
        "iterations": found.estimate.iterations,
        "parameters": [
            {"name": p.name, "value": p.value, "sigma": p.sigma, "unit": p.unit} for p in found.found
        ],
        "not_identified": found.not_identified,
        "notes": list(found.notes),
    }
    # what was not measured is null
    return {key: None if isinstance(v, float) and not np.isfinite(v) else v for key, v in data.items()}
