"""From the description of a robot, as its controller knows it, to the records of axis controllers and drivers."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from servotwin.control.gains import Gains, Scaling, axis_gains, fixed_gains
from servotwin.control.records import AXIS, TIMING, Law, Sensing, zeros
from servotwin.description.controller_parts import Controller
from servotwin.description.schema import RobotDescription
from servotwin.drives.records import Kind
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.simulation.drive_data import current_limit, motor_of, owners, refuse

HEADROOM = 1.2  # largest speed command over what the joints' speed limits need
SENSING = {"counted": Sensing.COUNTED, "inverse-time": Sensing.INVERSE_TIME, "filtered": Sensing.FILTERED}


def controller_of(description: RobotDescription) -> Controller:
    """The controller section of a robot file; without one there is nothing to simulate."""
    if description.controller is None:
        raise refuse(
            description,
            "controller",
            "missing: a simulation needs the controller's periods and bandwidths; expected main_period, "
            "axis_period, speed_period, current_period, position_bandwidth, speed_bandwidth, current_bandwidth",
        )
    return description.controller


def bus_voltage_of(description: RobotDescription) -> float:
    """Voltage of the bus [V]."""
    if description.power is None:
        kinds = [motor_of(description, name)[2] for name in owners(description)]
        if all(kind is Kind.IDEAL for kind in kinds):
            return 1.0
        raise refuse(
            description, "power.bus_voltage", "missing: what feeds the motors; expected such as '75 V'"
        )
    return description.power.bus_voltage


def shaft_inertia(robot: Robot, N: Array, q: Array) -> Array:
    """Inertia at each motor shaft with the other axes held [kg m2] (m,)."""
    inverse = np.linalg.inv(N)
    return np.asarray(np.diag(inverse.T @ robot.inertia(q) @ inverse), dtype=np.float64)


def speed_limits(description: RobotDescription, robot: Robot, N: Array) -> Array:
    """Largest speed command of each motor [rad/s] (m,)."""
    needed = np.abs(N) @ np.where(np.isfinite(robot.limits.qd_max), robot.limits.qd_max, 0.0)
    top = []
    for j, name in enumerate(owners(description)):
        _, motor, _ = motor_of(description, name)
        stated = motor.max_speed or motor.rated_speed or 300.0
        top.append(HEADROOM * needed[j] if needed[j] > 0.0 else stated)
    return np.array(top)


def axis_gains_of(description: RobotDescription, robot: Robot, N: Array, q: Array) -> list[Gains]:
    """Gains of every axis: from the bandwidths, at the pose q, save where the file states them."""
    control = controller_of(description)
    inertia = shaft_inertia(robot, N, q)
    gains = []
    for j, name in enumerate(owners(description)):
        _, motor, _ = motor_of(description, name)
        L = motor.inductance_q or motor.inductance or 0.0
        designed = axis_gains(
            motor.resistance or 0.0,
            L,
            motor.torque_constant or 1.0,
            (motor.rotor_inertia or 0.0) + float(inertia[j]),
            current_bandwidth=control.current_bandwidth,
            speed_bandwidth=control.speed_bandwidth,
            position_bandwidth=control.position_bandwidth,
            integral_time=control.speed_integral_time,
        )
        stated = control.gains.get(robot.mechanism.rotors.names[j])
        if stated is not None:
            changes = {key: value for key, value in stated.model_dump().items() if value is not None}
            designed = replace(designed, **changes)
        gains.append(designed)
    return gains


def axis_records(
    description: RobotDescription, robot: Robot, N: Array, q: Array, counts_per_rad: Array
) -> Any:
    """Axis controllers and servo drivers of all motors, at rest."""
    control = controller_of(description)
    u_bus, w_max = bus_voltage_of(description), speed_limits(description, robot, N)
    inertia = shaft_inertia(robot, N, robot.mechanism.q_home)
    records = zeros(AXIS, len(N))
    for j, (name, gains) in enumerate(
        zip(owners(description), axis_gains_of(description, robot, N, q), strict=True)
    ):
        _, motor, kind = motor_of(description, name)
        axis = records[j]
        axis["counts_per_rad"], axis["w_max"], axis["u_max"] = counts_per_rad[j], w_max[j], u_bus
        axis["i_max"] = current_limit(description, name)
        axis["K_x"], axis["K_xi"] = gains.position, gains.position_integral
        axis["K_n"], axis["K_ni"] = gains.speed_proportional, gains.speed_integral
        axis["K_i"], axis["K_ii"] = gains.current_proportional, gains.current_integral
        axis["K_hat"] = motor.torque_constant or 1.0
        axis["f_hat"] = motor.viscous_friction or 0.0
        axis["J_hat"] = (motor.rotor_inertia or 0.0) + inertia[j]
        axis["share_velocity"] = control.feedforward.velocity
        axis["share_acceleration"] = control.feedforward.acceleration
        axis["command_bits"] = control.command_bits
        axis["sensing"] = SENSING[control.speed_sensing]
        axis["filter"] = speed_filter(control)
        if kind is Kind.PMSM:
            pole_pairs = motor.pole_pairs or 1
            axis["pole_pairs_hat"] = pole_pairs
            axis["psi_hat"] = (motor.torque_constant or 1.0) / (1.5 * pole_pairs)
            axis["L_d_hat"] = motor.inductance_d or motor.inductance or 0.0
            axis["L_q_hat"] = motor.inductance_q or motor.inductance or 0.0
        if control.arithmetic == "fixed":
            fill_fixed(axis, gains, control, 2.0 * math.pi * float(counts_per_rad[j]), u_bus)
    return records


def speed_filter(control: Controller) -> float:
    """Part of the new value that the speed filter takes at every sample."""
    if control.speed_filter is None:
        return 1.0
    return 1.0 - math.exp(-control.speed_period / control.speed_filter)


def fill_fixed(axis: Any, gains: Gains, control: Controller, counts_per_turn: float, u_bus: float) -> None:
    """Integer gains over 256 (eq:fixed-point)."""
    scaling = Scaling(
        counts_per_turn,
        float(axis["i_max"]),
        u_bus,
        control.axis_period,
        control.speed_period,
        control.current_period,
    )
    integers = asdict(fixed_gains(gains, scaling))
    axis["fixed"] = 1
    for field, name in (
        ("kp_x", "position"),
        ("ki_x", "position_integral"),
        ("kp_n", "speed_proportional"),
        ("ki_n", "speed_integral"),
        ("kp_i", "current_proportional"),
        ("ki_i", "current_integral"),
    ):
        axis[field] = integers[name]


def timing_record(description: RobotDescription) -> Any:
    """Periods and what the axis controller does besides its position loop."""
    control = controller_of(description)
    record = zeros(TIMING, 1)
    record["T_main"], record["T_axis"] = control.main_period, control.axis_period
    record["T_speed"], record["T_current"] = control.speed_period, control.current_period
    record["ratio"] = control.main_period_ns // control.axis_period_ns
    record["delay"] = control.computation_delay
    record["law"] = Law.COMPUTED_TORQUE if control.law == "computed-torque" else Law.CASCADE
    feed = control.feedforward
    record["share_torque"], record["share_gravity"] = feed.torque, feed.gravity
    record["feeds"] = int(bool(feed.acceleration or feed.torque or feed.gravity))
    record["K_p"], record["K_d"] = control.position_bandwidth**2, 2.0 * control.position_bandwidth
    return record
