r"""What a move asks of joints and motors.

Motor torques follow from the joint torques with the rotors included:

.. math:: \tau_m = N^{-T} \left( M(q) \ddot q + h(q, \dot q) + N^T \mathrm{diag}(J_m) N \ddot q \right)

Friction and losses of the gears are not part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.description.schema import Motor, RobotDescription
from servotwin.errors import UnsupportedError
from servotwin.mechanism.model import Array
from servotwin.report.demo_move import Move
from servotwin.report.labels import finite, joint_units, unit_key
from servotwin.robot.robot import Robot


@dataclass(frozen=True)
class TorqueStudy:
    """A move and what follows from it, one row per sample (k): joint side (k, n), motor side (k, motors)."""

    robot: Robot
    description: RobotDescription
    move: Move
    tau: Array  # joint torques and forces without rotors [N m, N]
    tau_drives: Array  # with rotors
    tau_m: Array  # motor torques [N m]
    tau_m_load: Array  # the part of them that does not turn the rotors
    w_m: Array  # motor speeds [rad/s]
    tool: Array  # (k, 3) position in the base [m]
    tool_speed: Array  # (k,) [m/s]
    M: Array  # (k, n, n) mass matrix without rotors

    @property
    def motor_names(self) -> tuple[str, ...]:
        """Names of the motors, the columns of the motor side."""
        return self.robot.mechanism.rotors.names

    @property
    def power(self) -> Array:
        """Mechanical power of the motors (k, motors) [W]; negative where the load drives them."""
        return self.tau_m * self.w_m

    def motor(self, name: str) -> Motor:
        """The data of a motor; all fields empty where the description has none."""
        axis = self.description.axes.get(name)
        return axis.motor if axis is not None and axis.motor is not None else Motor()


def study_torques(robot: Robot, description: RobotDescription, move: Move) -> TorqueStudy:
    """Evaluate the whole move at once."""
    rotors = robot.mechanism.rotors
    if rotors.N.shape != (robot.n, robot.n) or np.linalg.matrix_rank(rotors.N) < robot.n:
        raise UnsupportedError(f"{robot.name}: motor torques need one motor for every joint")
    tau = robot.rne(move.q, move.qd, move.qdd)
    tau_drives = robot.rne(move.q, move.qd, move.qdd, drives=True)
    to_motor = np.linalg.inv(rotors.N)  # tau = N^T tau_m, so that rows give tau_m = tau N^-1
    jac = robot.jacob0(move.q)[:, :3]
    return TorqueStudy(
        robot=robot,
        description=description,
        move=move,
        tau=tau,
        tau_drives=tau_drives,
        tau_m=tau_drives @ to_motor,
        tau_m_load=tau @ to_motor,
        w_m=move.qd @ rotors.N.T,
        tool=robot.fkine(move.q)[:, :3, 3],
        tool_speed=np.linalg.norm(np.einsum("kij,kj->ki", jac, move.qd), axis=-1),
        M=robot.inertia(move.q),
    )


def rms(values: Array) -> Array:
    """Root mean square over the samples, the load that warms a motor."""
    return np.asarray(np.sqrt(np.mean(np.square(values), axis=0)))


def summary(study: TorqueStudy) -> dict[str, Any]:
    """The results as plain data in SI units, units in the names of the keys."""
    move = study.move
    payload = study.description.payload
    return {
        "robot": study.robot.name,
        "payload_kg": payload.mass if payload is not None else 0.0,
        "duration_s": float(move.t[-1]),
        "samples": len(move.t),
        "peak_tool_speed_m_per_s": float(study.tool_speed.max()),
        "peak_total_power_W": float(study.power.sum(axis=-1).max()),
        "axes": [_axis_summary(study, i) for i in range(study.robot.n)],
        "motors": [_motor_summary(study, i) for i in range(len(study.motor_names))],
    }


def _axis_summary(study: TorqueStudy, i: int) -> dict[str, Any]:
    move, unit = study.move, joint_units(study.robot.joint_units[i])
    values = {
        unit_key("position_min", unit.position): move.q[:, i].min(),
        unit_key("position_max", unit.position): move.q[:, i].max(),
        unit_key("peak_speed", unit.speed): np.abs(move.qd[:, i]).max(),
        unit_key("peak_acceleration", unit.acceleration): np.abs(move.qdd[:, i]).max(),
        unit_key("peak_effort_without_rotors", unit.effort): np.abs(study.tau[:, i]).max(),
        unit_key("peak_effort", unit.effort): np.abs(study.tau_drives[:, i]).max(),
        unit_key("rms_effort", unit.effort): rms(study.tau_drives[:, i]),
    }
    return {"name": study.robot.joint_names[i], **{key: float(value) for key, value in values.items()}}


def _motor_summary(study: TorqueStudy, i: int) -> dict[str, Any]:
    motor = study.motor(study.motor_names[i])
    peak, mean = float(np.abs(study.tau_m[:, i]).max()), float(rms(study.tau_m[:, i]))
    speed, power = float(np.abs(study.w_m[:, i]).max()), float(study.power[:, i].max())

    def share(value: float, rated: float | None) -> float | None:
        return finite(value / rated) if rated else None

    return {
        "name": study.motor_names[i],
        "peak_torque_N_m": peak,
        "rms_torque_N_m": mean,
        "rated_torque_N_m": motor.rated_torque,
        "torque_limit_N_m": _torque_limit(motor),
        "peak_torque_over_rated": share(peak, motor.rated_torque),
        "rms_torque_over_rated": share(mean, motor.rated_torque),
        "peak_speed_rad_per_s": speed,
        "rated_speed_rad_per_s": motor.rated_speed,
        "peak_speed_over_rated": share(speed, motor.rated_speed),
        "peak_power_W": power,
        "rated_output_W": motor.rated_output,
    }


def _torque_limit(motor: Motor) -> float | None:
    """What the motor gives at most: its stated peak torque, or its torque at the drive's current limit."""
    if motor.peak_torque is not None:
        return motor.peak_torque
    if motor.torque_constant is not None and motor.current_limit is not None:
        return motor.torque_constant * motor.current_limit
    return None


def signals(study: TorqueStudy) -> dict[str, Array]:
    """Every signal of the move as a column (k,) with axis and unit in its name."""
    move, robot = study.move, study.robot
    columns: dict[str, Array] = {"t_s": move.t}
    units = [joint_units(unit) for unit in robot.joint_units]
    for i, (name, unit) in enumerate(zip(robot.joint_names, units, strict=True)):
        columns |= {
            unit_key(f"q_{name}", unit.position): move.q[:, i],
            unit_key(f"qd_{name}", unit.speed): move.qd[:, i],
            unit_key(f"qdd_{name}", unit.acceleration): move.qdd[:, i],
            unit_key(f"tau_{name}", unit.effort): study.tau[:, i],
            unit_key(f"tau_with_rotor_{name}", unit.effort): study.tau_drives[:, i],
        }
    for i, name in enumerate(study.motor_names):
        columns |= {
            unit_key(f"tau_m_{name}", "N*m"): study.tau_m[:, i],
            unit_key(f"w_m_{name}", "rad/s"): study.w_m[:, i],
            unit_key(f"power_m_{name}", "W"): study.power[:, i],
        }
    columns |= {f"tool_{axis}_m": study.tool[:, i] for i, axis in enumerate("xyz")}
    return columns | {"tool_speed_m_per_s": study.tool_speed}
