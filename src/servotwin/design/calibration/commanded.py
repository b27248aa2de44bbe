"""Poses that a robot attains when joint positions are commanded, with all that its file says about it as built.

``robot.fkine`` has the joints at q. Here the encoders stand at q, and the joints where gears, encoders and weight leave
them (eq:calibration-joint).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.schema import RobotDescription
from servotwin.design.calibration.calibrated_file import owner_of
from servotwin.design.calibration.model import CalibrationModel
from servotwin.design.calibration.parameters import FAMILIES, Kind, Parameter, parameters_of
from servotwin.design.calibration.robot_model import robot_and_description, stated_compliance
from servotwin.errors import ServotwinError, ShapeError
from servotwin.mechanism.build import stated_deviations
from servotwin.mechanism.model import Array


def commanded_poses(
    robot: RobotDescription | str | Path, q: ArrayLike, *, payload: float | None = None
) -> Array:
    """Poses of the tool (K, 4, 4) in the base when the encoders of a robot stand at q (K, n) [rad, m].

    Counts deviations, harmonics (first and second) of encoders and gears, and the twist of elastic gears under the
    weight that the file has, with ``payload`` [kg] at the tool besides; not play, friction, and what ``error_sources``
    states.
    """
    description, arm = robot_and_description(robot, None)
    if description is None:
        raise ServotwinError("a robot made in Python has no gears; expected a robot file or its description")
    positions = np.atleast_2d(np.asarray(q, dtype=np.float64))
    if positions.ndim != 2 or positions.shape[1] != arm.n:
        raise ShapeError(f"q has shape {positions.shape}; expected (K, {arm.n})")
    if payload is not None:
        arm = arm.with_payload(payload)
    arm = arm.with_deviations({})
    gears = stated_compliance(description, arm.n)
    model = CalibrationModel(arm, tuple(parameters_of(arm.mechanism, FAMILIES, 1.0, base=True)), gears)
    theta = np.array([stated_value(description, p) for p in model.parameters])
    return model.poses(theta, positions)


def stated_value(description: RobotDescription, p: Parameter) -> float:
    """What a file says about a parameter of a calibration (SI)."""
    if p.kind is Kind.COMPLIANCE:
        return 0.0  # beside what the gears of the file have
    if p.kind in (Kind.SINE, Kind.COSINE):
        deviation = description.axes[owner_of(description, p)].deviation
        wave = np.sin if p.kind is Kind.COSINE else np.cos
        stated = (deviation.harmonics if deviation is not None else None) or ()
        return float(sum(a * wave(phase or 0.0) for o, a, phase in stated if o == p.order))
    part = stated_deviations(description).get(p.place)
    if part is None:
        return 0.0
    value = getattr(part, p.kind.value)
    return float(value[p.index] if p.kind in (Kind.POSITION, Kind.ROTATION) else value)
