"""From the description of a robot, as its controller knows it, to the records of axis controllers and drivers."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from servotwin.control.axis_data import (
    bus_voltage_of,
    controller_of,
    required_scaling,
    robot_gains,
    speed_limits,
)
from servotwin.control.gains import Gains, Scaling, fixed_gains
from servotwin.control.records import AXIS, TIMING, Law, Sensing, zeros
from servotwin.description.checks import motor_names
from servotwin.description.controller_parts import Controller
from servotwin.description.motors import dq_inductances, motor_of, owners
from servotwin.description.schema import RobotDescription
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia
from servotwin.simulation.drive_data import RANGE_MARGIN, counts_per_rad, current_limit

SENSING = {"counted": Sensing.COUNTED, "inverse-time": Sensing.INVERSE_TIME, "filtered": Sensing.FILTERED}


def axis_records(description: RobotDescription, robot: Robot, N: Array, q: Array) -> Any:
    """Axis controllers and servo drivers of all motors, at rest, with gains for the pose q.

    ``description``, ``robot`` and its transmission ``N`` are the controller's own: its encoders count what it
    believes in.
    """
    control = controller_of(description)
    u_bus, w_max = bus_voltage_of(description), speed_limits(description, N, robot.limits.qd_max)
    designs = robot_gains(description, N, motor_inertia(robot, q, held=True))
    names = zip(motor_names(description), owners(description), designs, strict=True)
    records = zeros(AXIS, len(N))
    for j, (name, owner, (model, gains)) in enumerate(names):
        _, motor, kind = motor_of(description, owner)
        axis = records[j]
        axis["counts_per_rad"] = counts_per_rad(description, owner)
        axis["w_max"], axis["u_max"] = w_max[j], u_bus
        axis["i_max"] = current_limit(description, owner)
        axis["current_range_hat"] = believed_range(control, float(axis["i_max"]))
        axis["K_x"], axis["K_xi"] = gains.position, gains.position_integral
        axis["K_n"], axis["K_ni"] = gains.speed_proportional, gains.speed_integral
        axis["K_i"], axis["K_ii"] = gains.current_proportional, gains.current_integral
        axis["K_hat"], axis["f_hat"], axis["J_hat"] = model.K_t, model.friction, model.J
        axis["share_velocity"] = control.feedforward.velocity
        axis["share_acceleration"] = control.feedforward.acceleration
        axis["command_bits"], axis["command_voltage"] = control.command_bits, control.command_voltage
        axis["sensing"] = SENSING[control.speed_sensing]
        axis["filter"] = speed_filter(control)
        if kind == "pmsm":
            pole_pairs = motor.pole_pairs or 1
            axis["pole_pairs_hat"], axis["psi_hat"] = pole_pairs, model.K_t / (1.5 * pole_pairs)
            axis["L_d_hat"], axis["L_q_hat"] = dq_inductances(motor)
        if control.arithmetic == "fixed":
            fill_fixed(axis, gains, required_scaling(description, name))
    return records


def believed_range(control: Controller, limit: float) -> float:
    """Current at the full scale of the sensor, as the controller believes [A]; 0 without range and limit."""
    stated = control.current_sensor.range
    if stated is not None:
        return stated
    return RANGE_MARGIN * limit if math.isfinite(limit) else 0.0


def speed_filter(control: Controller) -> float:
    """Part of the new value that the speed filter takes at every sample."""
    if control.speed_filter is None:
        return 1.0
    return 1.0 - math.exp(-control.speed_period / control.speed_filter)


def fill_fixed(axis: Any, gains: Gains, scaling: Scaling) -> None:
    """Integer gains over 256 (eq:fixed-point)."""
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
    record["speed_delay"], record["axis_delay"] = control.speed_delay, control.axis_delay
    record["law"] = Law.COMPUTED_TORQUE if control.law == "computed-torque" else Law.CASCADE
    feed = control.feedforward
    record["share_torque"], record["share_gravity"] = feed.torque, feed.gravity
    record["feeds"] = int(bool(feed.acceleration or feed.torque or feed.gravity))
    record["K_p"], record["K_d"] = control.position_bandwidth**2, 2.0 * control.position_bandwidth
    return record
