"""From the description of a robot, as its controller knows it, to the records of axis controllers and drivers."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from servotwin.control.servo.axis_data import (
    bus_voltage_of,
    controller_of,
    feedback_bandwidth,
    required_scaling,
    robot_gains,
    speed_filters,
    speed_limits,
    timing_of,
)
from servotwin.control.servo.records import AXIS, SERVO, InnerLoop, Law, Sensing, Task, zeros
from servotwin.control.servo.unit import ServoUnit, servo_unit, task_table
from servotwin.control.servo.user_laws import LEVELS
from servotwin.control.tuning.filters import Biquad
from servotwin.control.tuning.gains import Gains, Scaling, fixed_gains
from servotwin.control.tuning.valve import ValveModel, slow_part
from servotwin.description.checks import motor_names
from servotwin.description.controller_parts import Controller
from servotwin.description.drive_data import DriveData
from servotwin.description.drive_errors import known_waves
from servotwin.description.hydraulic_data import valve_data
from servotwin.description.motors import current_limit, required_counts, required_drives
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription
from servotwin.drives.harmonics import fill_waves
from servotwin.drives.kind import ActuatorKind
from servotwin.kernels.kernel_store import entry
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia
from servotwin.simulation.plant.drive_records import RANGE_MARGIN

LAWS = {
    "cascade": Law.CASCADE,
    "computed-torque": Law.COMPUTED_TORQUE,
    "state-feedback": Law.STATE_FEEDBACK,
}
SENSING = {"counted": Sensing.COUNTED, "inverse-time": Sensing.INVERSE_TIME, "filtered": Sensing.FILTERED}
# Corner of the load pressure that a state feedback feeds forward with, over its bandwidth. Counted faster, it takes
# away the damping that the load gives to a moving valve, which nothing in the law replaces.
SLOW_LOAD = 1.0 / 30.0


def axis_records(description: RobotDescription, robot: Robot, q: Array) -> Any:
    """Axis controllers and servo drivers of all motors, at rest, with gains for the pose q.

    ``description`` and ``robot`` are the controller's own: its encoders count what it believes in.
    """
    control = controller_of(description)
    u_bus, w_max = bus_voltage_of(description), speed_limits(description, robot.limits.qd_max)
    designs = robot_gains(description, motor_inertia(robot, q, held=True))
    drives = required_drives(description)
    records = zeros(AXIS, len(drives))
    for j, (drive, (model, gains)) in enumerate(zip(drives, designs, strict=True)):
        axis = records[j]
        axis["counts_per_rad"] = required_counts(description, drive)
        axis["w_max"], axis["u_max"] = w_max[j], u_bus
        axis["i_max"] = current_limit(description, drive)
        axis["current_range_hat"] = believed_range(control, float(axis["i_max"]))
        axis["K_x"], axis["K_xi"] = gains.position, gains.position_integral
        axis["K_n"], axis["K_ni"] = gains.speed_proportional, gains.speed_integral
        axis["K_i"], axis["K_ii"] = gains.current_proportional, gains.current_integral
        axis["K_hat"], axis["f_hat"], axis["J_hat"] = model.torque_constant, model.friction, model.J
        axis["k_hat"], axis["J_rotor_hat"] = drive.gear.stiffness or 0.0, drive.rotor_inertia
        fill_waves(axis, "known", known_waves(description, drive))
        fill_filters(axis, speed_filters(control, drive.name))
        axis["share_velocity"] = control.feedforward.velocity
        axis["share_acceleration"] = control.feedforward.acceleration
        axis["command_bits"], axis["command_voltage"] = control.command_bits, control.command_voltage
        axis["sensing"] = SENSING[control.speed_sensing]
        axis["filter"] = speed_filter(control, timing_of(control, drive.name).T_speed)
        axis["law"] = LAWS[control.law]
        axis["level"] = LEVELS[control.level_of(drive.name)]
        axis["inner"] = inner_loop(drive.actuator)
        if isinstance(model, ValveModel):
            fill_valve(axis, description, drive, model)
        if drive.winding is not None and drive.winding.phases == 3:
            axis["pole_pairs_hat"], axis["psi_hat"] = drive.winding.pole_pairs, drive.winding.flux
            axis["L_d_hat"], axis["L_q_hat"] = drive.winding.inductance_d, drive.winding.inductance_q
        if control.arithmetic == "fixed":
            fill_fixed(axis, gains, required_scaling(description, drive.name))
    return records


def inner_loop(kind: ActuatorKind) -> InnerLoop:
    """The innermost loop of the driver of a kind of actuator."""
    if kind.valve:
        return InnerLoop.VALVE
    return InnerLoop.FIELD_ORIENTED if kind.three_phase else InnerLoop.CURRENT


def fill_valve(axis: Any, description: RobotDescription, drive: DriveData, model: ValveModel) -> None:
    """What the driver of a servovalve counts on (eq:valve-loop)."""
    control, data = controller_of(description), valve_data(description, drive)
    if control.arithmetic == "fixed" or control.law == "computed-torque":
        name, value = ("arithmetic", "fixed") if control.arithmetic == "fixed" else ("law", control.law)
        raise refuse(
            description,
            f"controller.{name}",
            f"{value} does not go with the servovalve of axis {drive.owner}; expected "
            f"{'float' if name == 'arithmetic' else 'cascade or state-feedback'}",
        )
    S = data.axis.mean_area
    axis["flow_share"], axis["K_pressure"] = model.flow_share, model.pressure_gain
    linear = control.law == "state-feedback"  # which is designed for the valve and its oil as they are
    if linear:
        axis["K_pressure"] = 0.0
        model = replace(model, pressure_corner=SLOW_LOAD * feedback_bandwidth(control))
    elif model.schedule:
        axis["K_stroke"] = model.schedule
        axis["stroke_from"], axis["stroke_step"] = model.stroke[0], model.stroke[1] - model.stroke[0]
    axis["slow_part"] = slow_part(model, control.current_period)
    axis["area_a_hat"], axis["area_b_hat"] = data.axis.area_a / S, data.axis.area_b / S
    axis["valve_max"] = min(float(axis["i_max"]), data.axis.rated_current)
    axis["overlap"] = (
        control.valve.overlap_compensation * max(-data.axis.underlap, 0.0) * data.axis.rated_current
    )
    if not linear:
        axis["head"], axis["head_share"] = data.head, float(control.valve.linearised)
        axis["head_forward"], axis["head_backward"] = data.heads


def believed_range(control: Controller, limit: float) -> float:
    """Current at the full scale of the sensor, as the controller believes [A]; 0 without range and limit."""
    stated = control.current_sensor.range
    if stated is not None:
        return stated
    return RANGE_MARGIN * limit if math.isfinite(limit) else 0.0


def speed_filter(control: Controller, period: float) -> float:
    """Part of the new value that the speed filter takes at every sample, a ``period`` [s] after the last."""
    if control.speed_filter is None:
        return 1.0
    return 1.0 - math.exp(-period / control.speed_filter)


def fill_filters(axis: Any, filters: tuple[Biquad, ...]) -> None:
    """Filters of the torque command (eq:sampled-filter)."""
    axis["filters"] = len(filters)
    for k, one in enumerate(filters):
        axis["filter_taps"][k] = one.b0, one.b1, one.b2, one.a1, one.a2


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


def servo_record(description: RobotDescription) -> Any:
    """Periods and what the axis controller does besides its position loop."""
    control = controller_of(description)
    record = zeros(SERVO, 1)
    record["T_main"], record["T_axis"] = control.main_period, control.axis_period
    record["T_speed"], record["T_current"] = control.speed_period, control.current_period
    record["ratio"] = control.main_period_ns // control.axis_period_ns
    record["delay"] = control.computation_delay
    record["speed_delay"], record["axis_delay"] = control.speed_delay, control.axis_delay
    record["computed"] = int(control.law == "computed-torque")
    record["closes_speed"] = int(
        any(control.speed_in_axis_controller(name) for name in motor_names(description))
    )
    feed = control.feedforward
    record["share_torque"], record["share_gravity"] = feed.torque, feed.gravity
    record["feeds"] = int(bool(feed.acceleration or feed.torque or feed.gravity))
    record["share_twist"], record["share_gravity_twist"] = feed.twist, feed.gravity_twist
    record["twists"] = int(bool(feed.twist or feed.gravity_twist))
    record["K_p"], record["K_d"] = control.position_bandwidth**2, 2.0 * control.position_bandwidth
    return record


def build_servo(
    description: RobotDescription, robot: Robot, N: Array, seed: int, ports: tuple[Any, Any] | None = None
) -> ServoUnit:
    """The servo of a robot as its controller knows it; ``ports``: see ``servo_unit``."""
    control = controller_of(description)
    tasks = task_table(
        {
            Task.MAIN: control.main_period_ns,
            Task.AXIS: control.axis_period_ns,
            Task.SPEED: control.speed_period_ns,
            Task.CURRENT: control.current_period_ns,
        },
        round(control.jitter * 1e9),
    )
    axes = axis_records(description, robot, robot.mechanism.q_home)
    inverse = np.linalg.inv(N).astype(np.float64)
    unit = servo_unit(servo_record(description), axes, tasks, inverse, seed, ports)
    attach_model(unit, robot)
    if control.law == "state-feedback":
        attach_state_feedback(unit, description)
    return unit


def attach_state_feedback(unit: ServoUnit, description: RobotDescription) -> None:
    """Design the feedback from the robot as its controller knows it, and give it to the axis controllers."""
    from servotwin.control.servo.state_feedback_design import (
        design_state_feedback,
    )  # SciPy: for this law only

    record = design_state_feedback(description).record()
    unit.servo["state_feedback"], unit.servo["feedback_at"] = 1, record.ctypes.data
    unit.kept.append(record)
    unit.feedback_law = record


def attach_model(unit: ServoUnit, model: Robot) -> None:
    """Give the axis controllers the inverse dynamics of the robot as they know it."""
    servo = unit.servo[0]
    if not (servo["computed"] or servo["share_torque"] or servo["share_gravity"] or servo["twists"]):
        return
    if model.closed:
        attach_closed_model(unit, model)
        return
    rne = entry("rne", model.numbers, drives=True)
    servo["model"], servo["model_data"] = rne.address, rne.data.ctypes.data
    unit.kept.append(rne)


def attach_closed_model(unit: ServoUnit, model: Robot) -> None:
    """The same of a closed chain, with the kernel that closes its loops; they are closed at home."""
    servo, home = unit.servo[0], model.mechanism.q_home
    x = np.asarray(model.coordinates(home), dtype=np.float64)
    rne = entry("closed_rne", model.numbers, drives=True)
    track = entry("closed_track", model.numbers)
    (length,) = track.outputs[0]
    buffer = np.zeros(2 * (len(x) + model.n) + length + model.n)
    buffer[: len(x)] = x
    servo["model"], servo["model_data"] = rne.address, rne.data.ctypes.data
    servo["track"], servo["track_data"], servo["track_n"] = track.address, track.data.ctypes.data, length
    servo["passive"], servo["closure_at"] = len(x) - model.n, buffer.ctypes.data
    unit.kept += [rne, track, buffer]
