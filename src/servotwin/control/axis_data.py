"""From a robot's description to the numbers that its loops run with: the one place for tuning and simulation."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from servotwin.control.gains import GAIN_ONE, Gains, Scaling, axis_gains, fixed_gains, gain_units
from servotwin.control.sampled import Array, AxisModel, Timing
from servotwin.description.checks import motor_names
from servotwin.description.motors import (
    dq_inductances,
    motor_of,
    owner_by_motor,
    owners,
    required_current_limit,
)
from servotwin.description.problems import refuse
from servotwin.description.schema import Controller, RobotDescription

HEADROOM = 1.2  # largest speed command over what the joints' speed limits need
TOP_SPEED = 300.0  # rad/s: largest speed command of a motor whose limits nobody states


def controller_of(description: RobotDescription) -> Controller:
    """The controller of a robot file, or an error that says that there is none."""
    if description.controller is None:
        raise refuse(
            description,
            "controller",
            "missing: the loops need their periods and bandwidths; expected main_period, axis_period, "
            "speed_period, current_period, position_bandwidth, speed_bandwidth, current_bandwidth",
        )
    return description.controller


def bus_voltage_of(description: RobotDescription) -> float:
    """Voltage of the bus [V]; ideal motors do without one, and 1 V stands for it."""
    if description.power is not None:
        return description.power.bus_voltage
    if all(motor_of(description, owner)[2] == "ideal" for owner in owners(description)):
        return 1.0
    raise refuse(description, "power.bus_voltage", "missing: what feeds the motors; expected such as '75 V'")


def timing_of(controller: Controller) -> Timing:
    """Clocks and delays of the loops. Whatever way pulses become a speed, it is the mean over one period."""
    return Timing(
        current_ns=controller.current_period_ns,
        speed_ns=controller.speed_period_ns,
        axis_ns=controller.axis_period_ns,
        current_delay=controller.computation_delay,
        speed_delay=controller.speed_delay,
        axis_delay=controller.axis_delay,
        speed_filter=(controller.speed_filter or 0.0) if controller.speed_sensing == "filtered" else 0.0,
    )


def gear_ratios(N: Array) -> Array:
    """What turns the stiffness of each motor's gear to its shaft (m,): the largest entry of its row of N."""
    return np.asarray(np.abs(N).max(axis=1))


def axis_model(description: RobotDescription, owner: str, ratio: float, J: float) -> AxisModel:
    """The motor of an axis behind a gear of this ratio, with the inertia ``J`` of rotor and load [kg m2].

    An ideal motor has no winding: R and L are zero, and one ampere is one newton metre unless a torque
    constant says otherwise.
    """
    axis, motor, kind = motor_of(description, owner)
    K, J_m = motor.torque_constant or 1.0, motor.rotor_inertia or 0.0
    joint_viscous = axis.friction.viscous or 0.0 if axis.friction is not None else 0.0
    windings = {"dc": motor.inductance or 0.0, "pmsm": dq_inductances(motor)[1]}
    gear = axis.gear if axis.gear is not None and axis.gear.stiffness is not None else None
    return AxisModel(
        R=(motor.resistance or 0.0) if kind != "ideal" else 0.0,
        L=windings.get(kind, 0.0),
        K_t=K,
        # Field-oriented control takes the back-EMF out; the driver of a DC motor leaves it to its current loop,
        # and torque and voltage constant are one number (eq:dc-motor).
        K_b=K if kind in ("dc", "dc-reduced") else 0.0,
        J_m=J_m,
        J_load=max(J - J_m, 0.0),
        friction=(motor.viscous_friction or 0.0) + joint_viscous / ratio**2,
        stiffness=(gear.stiffness or 0.0) / ratio**2 if gear is not None else None,
        damping=(gear.damping or 0.0) / ratio**2 if gear is not None else 0.0,
    )


def axis_models(description: RobotDescription, N: Array, J: Array) -> list[AxisModel]:
    """Every motor with its load: transmission N (m, n), inertias J at the shafts (m,) [kg m2]."""
    ratios = gear_ratios(N)
    return [
        axis_model(description, owner, float(ratio), float(inertia))
        for owner, ratio, inertia in zip(owners(description), ratios, J, strict=True)
    ]


def gains_of(
    description: RobotDescription, motor: str, model: AxisModel, **bandwidths: float | None
) -> Gains:
    """Gains of an axis: of the bandwidths, unless the file states them under ``controller.gains``.

    ``bandwidths`` (current_bandwidth, speed_bandwidth, position_bandwidth)
    replace those of the controller; a gain that the file states does not stand
    against a bandwidth asked for here.
    """
    controller = controller_of(description)
    asked = {key: value for key, value in bandwidths.items() if value is not None}
    names = ("current_bandwidth", "speed_bandwidth", "position_bandwidth")
    designed = axis_gains(
        model.R,
        model.L,
        model.K_t,
        model.J,
        integral_time=controller.speed_integral_time,
        **{name: asked.get(name, getattr(controller, name)) for name in names},
    )
    loops = {name.split("_")[0] for name in asked}
    stated = _stated_gains(description, motor)
    kept = {name: value for name, value in stated.items() if name.split("_")[0] not in loops}
    return Gains(**{f.name: kept.get(f.name, getattr(designed, f.name)) for f in fields(Gains)})


def _stated_gains(description: RobotDescription, motor: str) -> dict[str, float]:
    """The gains of ``controller.gains``; integers over 256 in SI units (eq:fixed-point)."""
    stated = controller_of(description).gains.get(motor)
    if stated is None:
        return {}
    found = {f.name: getattr(stated, f.name) for f in fields(Gains)}
    if stated.integers is not None:
        units = gain_units(required_scaling(description, motor))
        for f in fields(Gains):
            integer = getattr(stated.integers, f.name)
            if integer is not None:
                found[f.name] = integer / GAIN_ONE * getattr(units, f.name)  # eq:fixed-point
    return {name: value for name, value in found.items() if value is not None}


def scaling_of(description: RobotDescription, motor: str) -> Scaling | None:
    """Scaling of integer gains; None where encoder, current limit or bus voltage are not known."""
    axis = description.axes.get(owner_by_motor(description)[motor])
    if axis is None or axis.motor is None or axis.encoder is None or axis.motor.largest_current is None:
        return None
    if description.power is None and axis.motor.kind != "ideal":
        return None
    return required_scaling(description, motor)


def required_scaling(description: RobotDescription, motor: str) -> Scaling:
    """Scaling of integer gains, or an error that names what it lacks."""
    owner = owner_by_motor(description)[motor]
    limit = required_current_limit(description, owner, ": integers count currents in parts of it")
    encoder = description.axes[owner].encoder
    if encoder is None:
        raise refuse(
            description,
            f"axes.{owner}.encoder",
            "missing: integers count its pulses; expected '{lines: 1000}'",
        )
    controller = controller_of(description)
    return Scaling(
        counts_per_turn=encoder.counts,
        current_limit=limit,
        bus_voltage=bus_voltage_of(description),
        axis_period=controller.axis_period,
        speed_period=controller.speed_period,
        current_period=controller.current_period,
    )


def word_warnings(description: RobotDescription, motor: str, gains: Gains) -> list[str]:
    """Integer gains that the words of a fixed-point controller do not hold, one line each."""
    controller = controller_of(description)
    if controller.arithmetic != "fixed":
        return []
    integers = fixed_gains(gains, required_scaling(description, motor))
    most = 2 ** (controller.word_bits - 1) - 1
    return [
        f"axis {motor}: integer gain {f.name} {getattr(integers, f.name)} is beyond {most}, the most that "
        f"controller.word_bits = {controller.word_bits} holds"
        for f in fields(integers)
        if getattr(integers, f.name) > most
    ]


def speed_limits(description: RobotDescription, N: Array, qd_max: Array) -> Array:
    """Largest speed command of each motor [rad/s] (m,): what ``command_voltage`` stands for."""
    needed = np.abs(N) @ np.where(np.isfinite(qd_max), qd_max, 0.0)
    top = []
    for owner, speed in zip(owners(description), needed, strict=True):
        _, motor, _ = motor_of(description, owner)
        top.append(HEADROOM * speed if speed > 0.0 else motor.max_speed or motor.rated_speed or TOP_SPEED)
    return np.array(top)


def robot_gains(
    description: RobotDescription, N: Array, J: Array, **bandwidths: float | None
) -> list[tuple[AxisModel, Gains]]:
    """Model and gains of every motor, from inertias J at the shafts (m,) [kg m2]."""
    models = axis_models(description, N, J)
    return [
        (model, gains_of(description, motor, model, **bandwidths))
        for motor, model in zip(motor_names(description), models, strict=True)
    ]
