"""The linear model of a hydraulic axis of a robot at any operating point, by itself or out of the complete model."""

from __future__ import annotations

import numpy as np

from servotwin.description.drive_data import drive_of
from servotwin.description.hydraulic_data import hydraulic_axis, hydraulic_supply, is_hydraulic
from servotwin.description.problems import refuse
from servotwin.design.model_study import ModelStudy
from servotwin.drives.hydraulic.linear import P_A, P_B, POSITION, SPEED, LinearAxis, linear_axis
from servotwin.drives.hydraulic.steady import OperatingPoint, operating_point
from servotwin.errors import InputError
from servotwin.mechanism.build import build_mechanism
from servotwin.robot.described import Given, description_of
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia


def hydraulic_model(
    robot: Given,
    motor: str,
    *,
    position: float | None = None,
    speed: float = 0.0,
    force: float = 0.0,
    mass: float | None = None,
) -> LinearAxis:
    """Linear model of a hydraulic axis of a robot (catalogue name, file or description) at an operating point.

    ``position`` [m] of the piston, default the middle of its stroke; ``speed`` [m/s] and ``force`` [N] that it carries
    evenly; ``mass`` [kg] that it moves, default that of the robot at home. For a hydraulic motor in rad, rad/s, N m,
    kg m2. An operating point beyond stroke, valve or supply is an InputError.
    """
    description = description_of(robot)
    drive = drive_of(description, motor)
    if not is_hydraulic(drive):
        raise refuse(
            description, f"axes.{drive.owner}.motor.kind", f"'{drive.kind}'; expected a hydraulic axis"
        )
    axis, supply = hydraulic_axis(description, drive), hydraulic_supply(description)
    if mass is None:
        whole = Robot(build_mechanism(description))
        inertia = motor_inertia(whole, np.asarray(whole.q_home), held=True)
        mass = float(inertia[list(whole.mechanism.rotors.names).index(motor)])
    middle = 0.0 if axis.rotary else 0.5 * (axis.end_a + axis.end_b)
    point = operating_point(axis, supply, middle if position is None else position, speed, force)
    return linear_axis(axis, supply, point, mass, drive.viscous_friction)


def valve_axes(study: ModelStudy) -> list[str]:
    """Motors of a study whose states are those of a hydraulic axis behind a stiff gear."""
    return [
        s.name
        for s in study.model.shafts
        if s.equations.supply is not None and not s.elastic and sum(map(bool, s.ratios)) == 1
    ]


def hydraulic_axis_of(study: ModelStudy, motor: str) -> LinearAxis:
    r"""The rows and columns of one hydraulic axis in the linear model of a robot, as a ``LinearAxis``.

    All its numbers come from the derivatives of the complete model: the areas from the acceleration that a pressure
    gives, the stiffness of the oil from the rise of the pressures with the speed,

    .. math:: c_h = -A_A \frac{\partial\dot p_A}{\partial v} + A_B \frac{\partial\dot p_B}{\partial v}

    ``third_order()`` reduces it to the model of Perez et al. (1987). The other joints are free.
    """
    model, names = study.model, [quantity.name for quantity in study.model.states]
    if motor not in valve_axes(study):
        known = ", ".join(valve_axes(study)) or "this robot has none"
        raise InputError(
            f"'{motor}'; expected a hydraulic axis that moves one joint by itself: {known}", field="motor"
        )
    j = [shaft.name for shaft in model.shafts].index(motor)
    shaft = model.shafts[j]
    i = next(k for k, ratio in enumerate(shaft.ratios) if ratio)
    places = [i, model.robot.n + i] + [
        names.index(f"{motor}.{name}") for name in ("spool", "spool_speed", "pressure_a", "pressure_b")
    ]
    _, A, B, E = model.linearise(study.point.x, study.point.u, study.directions)
    unit = np.array([shaft.ratios[i]] * 2 + [1.0] * 4)  # at the side of the piston
    own = A[np.ix_(places, places)] * unit[:, None] / unit
    b = B[places, [quantity.name for quantity in model.inputs].index(f"{motor}.valve_current")] * unit
    f = -E[places, j] * unit  # a force against the piston
    axis, supply = shaft.data
    mass, S = -1.0 / f[SPEED], axis.mean_area
    areas = own[SPEED, P_A] * mass, -own[SPEED, P_B] * mass
    stiffness = float(-areas[0] * own[P_A, SPEED] + areas[1] * own[P_B, SPEED])
    direction = (-S * own[P_A, SPEED] / stiffness, -S * own[P_B, SPEED] / stiffness)
    x = study.point.x[places] * unit
    p_s = study.point.x[-1] if model.supply is not None else supply.pressure
    force = areas[0] * x[P_A] - areas[1] * x[P_B]
    point = OperatingPoint(x[POSITION], x[SPEED], float(force), float(p_s), x[2], x[P_A], x[P_B])
    weights = areas[0] / S, -areas[1] / S
    return LinearAxis(point, own, b, f, S, stiffness, float(mass), direction, weights, axis.rated_current)
