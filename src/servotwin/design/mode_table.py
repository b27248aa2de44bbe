"""Modes of an arm and limits of its speed loops in rows, for the terminal and for pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from servotwin.control.tuning.arm_modes import ArmMode, ArmModel, ElasticArm, has_elastic_gears
from servotwin.control.tuning.bandwidth_limit import BandwidthLimit
from servotwin.control.tuning.valve import ValveModel
from servotwin.design.tuning import AxisTuning
from servotwin.errors import UnsupportedError
from servotwin.mechanism.build import build_mechanism
from servotwin.robot.described import Given, description_of
from servotwin.robot.robot import Robot

LIMIT_COLUMNS = ("axis", "speed loop [rad/s]", "at most [rad/s]", "with a notch [rad/s]", "notch")


def mode_groups(arm: ElasticArm) -> list[tuple[str, list[ArmMode]]]:
    """The modes of an arm: under its loops, with the motors held, and let go."""
    return [("under servo", arm.under_servo()), ("held", arm.held()), ("let go", arm.free())]


def arm_modes(
    robot: Given,
    q: ArrayLike | None = None,
    overrides: Mapping[str, str] | None = None,
) -> ElasticArm:
    """The arm of a robot on its elastic gears at q (n,), by default at home: ``held()``, ``free()``, ``under_servo()``.

    >>> import servotwin as st
    >>> arm = st.arm_modes("palletizer-4-elastic")
    >>> [round(mode.hertz, 1) for mode in arm.held()]
    [22.0, 29.3, 36.6]
    """
    description = description_of(robot, overrides)
    model = Robot(build_mechanism(description), title=description.title)
    if not has_elastic_gears(description):
        raise UnsupportedError(f"{model.name}: no gear is elastic; expected axes.*.gear.stiffness")
    pose = model.q_home if q is None else np.asarray(q, dtype=np.float64)
    return ArmModel.of(description, model).at(pose)


def shape_cells(mode: ArmMode) -> list[str]:
    """Motions of the joints in a mode, rounded; what is next to nothing is zero."""
    return [f"{round(float(value), 2) + 0.0:.2f}" for value in mode.joints]


def hertz(found: Sequence[tuple[float, float]]) -> str:
    """Frequencies [rad/s] with their damping, in Hz."""
    return ", ".join(f"{w / (2.0 * math.pi):.2f}" for w, _ in found) or "-"


def limit_row(axis: AxisTuning, limit: BandwidthLimit) -> tuple[str, ...]:
    """The speed loop of an axis as it is, at most, and with a notch."""
    now = f"{present_bandwidth(axis):.0f}"
    if limit.notch is None:
        return axis.motor, now, f"{limit.bandwidth:.0f}", "-", "none helps"
    notch = limit.notch
    words = f"{notch.hertz:.1f} Hz, width {notch.width:g}, depth {notch.depth:g}"
    return axis.motor, now, f"{limit.bandwidth:.0f}", f"{limit.with_notch:.0f}", words


def present_bandwidth(axis: AxisTuning) -> float:
    """Of the speed loop with its present gain at the design pose [rad/s] (eq:speed-gains)."""
    model = axis.case("design").model
    if isinstance(model, ValveModel):
        return math.nan
    return axis.gains.speed_proportional * model.torque_constant / model.J
