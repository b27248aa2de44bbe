r"""State feedback for a robot as its controller knows it: from the complete model to the matrices of the law.

The plant is the arm with its gears about the home pose, driven by the torques of its motors. These follow the commands
of the axis controller with the lag of the current loop, :math:`\dot\tau = \omega_c (\tau^* - \tau)`, and a period later
if the axis controller is that late. It is sampled exactly at the axis period (eq:hold). With inertia J_j at motor j,
the others held, the weights

.. math:: Q = C^T C, \quad Q_\sigma = T_i^{-2} I, \quad R_j = \frac{1}{J_j^2\,\omega_b^4}, \qquad
          W_j = J_j^2\,\omega_o^4, \quad V = I                                        (eq:feedback-weights)

give a rigid axis the closed loop of bandwidth :math:`\omega_b` and an observer of :math:`\omega_o` in Butterworth's
pattern, whatever its inertia.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag

from servotwin.control.servo.axis_data import controller_of
from servotwin.control.servo.ports import MAX_AXES
from servotwin.control.servo.state_feedback import MOST_STATES, STATE_FEEDBACK
from servotwin.description.controller_parts import Controller
from servotwin.description.drive_data import drives_of
from servotwin.description.load import read_description
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError, UnsupportedError
from servotwin.linear.feedback import closed_loop, kalman, lqr, place, with_integrators
from servotwin.linear.sampling import delayed, sampled
from servotwin.linear.system import Array, LinearSystem, Quantity
from servotwin.robot.complete_model import robot_of, state_space
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia
from servotwin.robot.state_space import StateSpace

INTEGRAL = 3.0  # integral time, in 1/bandwidth
OBSERVER = 4.0  # bandwidth of the observer over that of the loop
DAMPED = 0.5  # damping ratio that placing gives to what swings less damped
Complex = NDArray[np.complex128]


@dataclass(frozen=True)
class StateFeedbackDesign:
    """Matrices of eq:state-feedback in torques at the motors, the plant they were made for, and how they do."""

    names: tuple[str, ...]  # of the motors
    plant: LinearSystem  # sampled; what the law believes
    coupled: LinearSystem  # sampled; the coupled arm, which it must hold in any case
    K: Array  # [N m per unit of the state]
    K_i: Array  # [N m/(rad s)]
    L: Array
    M: Array  # inertia at the motors that is fed forward [kg m2]
    f: Array  # viscous friction at the motors [N m s/rad]
    bandwidth: float
    integral_time: float
    observer_bandwidth: float
    method: str
    separate: bool

    @cached_property
    def poles(self) -> Complex:
        """Poles of the coupled arm under the law, in the s plane [1/s], slowest first; delays are left out."""
        matrix = closed_loop(self.coupled, self.plant, self.K, self.K_i, self.L)
        values = np.linalg.eigvals(matrix).astype(np.complex128)
        values = values[np.abs(values) > 1e-6]
        poles = np.log(values) / (self.plant.period or 1.0)
        return np.asarray(poles[np.argsort(np.abs(poles))], dtype=np.complex128)

    @property
    def stable(self) -> bool:
        """Whether the coupled arm is stable under the law, near the pose of the design."""
        return bool((self.poles.real < 0.0).all())

    def record(self) -> Any:
        """The law as the axis controller reads it."""
        s, m = self.plant.order, len(self.names)
        if s > MOST_STATES or m > MAX_AXES:
            raise UnsupportedError(
                f"state feedback with {s} states of {m} motors; there is room for {MOST_STATES} of {MAX_AXES}"
            )
        record = np.zeros(1, STATE_FEEDBACK)
        law = record[0]
        law["states"], law["motors"], law["T"] = s, m, self.plant.period
        law["Phi"][:s, :s], law["Gamma"][:s, :m] = self.plant.A, self.plant.B
        law["C"][:m, :s], law["L"][:s, :m] = self.plant.C, self.L
        law["K"][:m, :s], law["K_i"][:m, :m] = self.K, self.K_i
        law["M"][:m, :m], law["f"][:m] = self.M, self.f
        return record

    def data(self) -> dict[str, Any]:
        """As plain data in SI units."""
        return {
            "motors": list(self.names),
            "method": self.method,
            "plant": "separate" if self.separate else "coupled",
            "bandwidth_rad_per_s": self.bandwidth,
            "integral_time_s": self.integral_time,
            "observer_bandwidth_rad_per_s": self.observer_bandwidth,
            "stable": self.stable,
            "closed_loop_poles_1_per_s": [[p.real, p.imag] for p in self.poles],
            "states": [q._asdict() for q in self.plant.states],
            "period_s": self.plant.period,
            **{name: getattr(self, name).tolist() for name in ("K", "K_i", "L", "M", "f")},
            "Phi": self.plant.A.tolist(),
            "Gamma": self.plant.B.tolist(),
            "C": self.plant.C.tolist(),
        }


def design_state_feedback(
    robot: str | Path | RobotDescription,
    q: ArrayLike | None = None,
    *,
    method: str | None = None,
    separate: bool | None = None,
    bandwidth: float | None = None,
    integral_time: float | None = None,
    observer_bandwidth: float | None = None,
) -> StateFeedbackDesign:
    """The law for a pose (default: home), as ``controller.state_feedback`` of the file says, or as asked for here.

    >>> import servotwin as st
    >>> st.design_state_feedback("gsis-scara", bandwidth=60.0).stable
    True
    """
    _check_wishes(
        method, bandwidth=bandwidth, integral_time=integral_time, observer_bandwidth=observer_bandwidth
    )
    description = robot if isinstance(robot, RobotDescription) else read_description(robot)
    _check_drives(description)
    control = controller_of(description)
    asked = control.state_feedback
    w_b = bandwidth or asked.bandwidth or float(np.sqrt(control.position_bandwidth * control.speed_bandwidth))
    T_i = integral_time or asked.integral_time or INTEGRAL / w_b
    w_o = observer_bandwidth or asked.observer_bandwidth or OBSERVER * w_b
    alone = asked.plant == "separate" if separate is None else separate
    model = state_space(description, motors="ideal")
    arm = robot_of(description)
    pose = arm.q_home if q is None else np.asarray(q, dtype=np.float64)
    J = motor_inertia(arm, pose, held=True)
    coupled = _driven(_centred(model, pose), control)
    plant = _driven(_separate(model, J), control) if alone else coupled
    K, K_i = _gains(plant, J, w_b, T_i, method or asked.method)
    M, f = _fed_forward(model, arm, pose, J, alone=alone)
    return StateFeedbackDesign(
        tuple(shaft.name for shaft in model.shafts),
        plant,
        coupled,
        K,
        K_i,
        _observer(plant, J, w_o),
        M,
        f,
        w_b,
        T_i,
        w_o,
        method or asked.method,
        alone,
    )


def _check_wishes(method: str | None, **wishes: float | None) -> None:
    if method not in (None, "lqr", "poles"):
        raise InputError(f"'{method}'; expected lqr or poles", field="method")
    for name, value in wishes.items():
        if value is not None and not (value > 0.0 and np.isfinite(value)):
            unit = "s" if name == "integral_time" else "rad/s"
            raise InputError(f"{value:g} {unit}; expected more than zero", field=name)


def _check_drives(description: RobotDescription) -> None:
    """The law commands currents that are torques; that of a servovalve is a flow."""
    valves = [drive.owner for drive in drives_of(description) if drive.actuator.valve]
    if valves:
        raise UnsupportedError(
            f"state feedback does not go with the servovalve of axis {valves[0]}; expected electric motors"
        )


def _centred(model: StateSpace, q: Array) -> LinearSystem:
    return model.linear(model.operating_point(q))


def _separate(model: StateSpace, J: Array) -> LinearSystem:
    """Every axis by itself at its motor, the others held: one mass, or two with the gear between them."""
    A, B, C, names = [], [], [], []
    for shaft, inertia in zip(model.shafts, J, strict=True):
        f, J_m = shaft.viscous, shaft.rotor_inertia
        if not shaft.elastic:
            A.append(np.array([[0.0, 1.0], [0.0, -f / inertia]]))
            B.append(np.array([[0.0], [1.0 / inertia]]))
            C.append(np.array([[1.0, 0.0]]))
            names += [Quantity(f"{shaft.name}.angle", "rad"), Quantity(f"{shaft.name}.speed", "rad/s")]
            continue
        k, c, J_l = shaft.stiffness, shaft.damping, max(inertia - J_m, 1e-3 * J_m)
        # load angle and speed at the motor's side, twist, motor speed (eq:gear-torsion)
        A.append(
            np.array(
                [
                    [0.0, 1.0, 0.0, 0.0],
                    [0.0, -c / J_l, k / J_l, c / J_l],
                    [0.0, -1.0, 0.0, 1.0],
                    [0.0, c / J_m, -k / J_m, -(c + f) / J_m],
                ]
            )
        )
        B.append(np.array([[0.0], [0.0], [0.0], [1.0 / J_m]]))
        C.append(np.array([[1.0, 0.0, 1.0, 0.0]]))
        words = (("load_angle", "rad"), ("load_speed", "rad/s"), ("twist", "rad"), ("motor_speed", "rad/s"))
        names += [Quantity(f"{shaft.name}.{word}", unit) for word, unit in words]
    outputs = tuple(Quantity(f"{shaft.name}.encoder", "rad") for shaft in model.shafts)
    m = len(model.shafts)
    return LinearSystem(
        block_diag(*A), block_diag(*B), block_diag(*C), np.zeros((m, m)), tuple(names), model.inputs, outputs
    )


def _driven(arm: LinearSystem, control: Controller) -> LinearSystem:
    """The arm behind its current loops, sampled at the axis period, a period late if the axis controller is."""
    n, m, w_c = arm.order, len(arm.inputs), control.current_bandwidth
    A = np.block([[arm.A, arm.B], [np.zeros((m, n)), -w_c * np.eye(m)]])
    B = np.vstack([np.zeros((n, m)), w_c * np.eye(m)])
    torques = tuple(Quantity(f"{q.name}_now", q.unit) for q in arm.inputs)
    lagged = replace(
        arm,
        A=A,
        B=B,
        C=np.hstack([arm.C, np.zeros((m, m))]),
        states=(*arm.states, *torques),
        x0=np.zeros(0),
        u0=np.zeros(0),
    )
    return delayed(sampled(lagged, control.axis_period), control.axis_delay)


def _gains(plant: LinearSystem, J: Array, w_b: float, T_i: float, method: str) -> tuple[Array, Array]:
    A, B = with_integrators(plant)
    T, n, m = plant.period or 1.0, plant.order, len(plant.inputs)
    if method == "poles":
        K = place(A, B, np.exp(T * _wanted(A, T, m, w_b)))
    else:
        Q = block_diag(plant.C.T @ plant.C, np.eye(m) / T_i**2)  # eq:feedback-weights
        R = np.diag(1.0 / (J**2 * w_b**4))
        K = lqr(A, B, T * Q, T * R)
    return K[:, :n], K[:, n:]


def _wanted(A: Array, T: float, m: int, w_b: float) -> Complex:
    """Poles to place [1/s]: three of each axis in Butterworth's pattern, the others at their frequency, damped."""
    values = np.linalg.eigvals(A).astype(np.complex128)
    with np.errstate(divide="ignore"):
        s = np.log(np.where(np.abs(values) < 1e-9, 1e-9, values)) / T
    rest = s[np.argsort(np.abs(s))][3 * m :]
    swinging = rest[np.abs(rest.imag) > 1e-6 * np.abs(rest)]
    low = np.abs(swinging.real) < DAMPED * np.abs(swinging)
    w = np.abs(swinging)
    damped = -DAMPED * w + 1j * np.sign(swinging.imag) * np.sqrt(1.0 - DAMPED**2) * w
    kept = rest[np.abs(rest.imag) <= 1e-6 * np.abs(rest)].real.astype(np.complex128)
    slow = w_b * np.array([-1.0, -0.5 + 0.75**0.5 * 1j, -0.5 - 0.75**0.5 * 1j])
    return np.concatenate([np.tile(slow, m), np.where(low, damped, swinging), kept])


def _observer(plant: LinearSystem, J: Array, w_o: float) -> Array:
    T = plant.period or 1.0
    W = plant.B @ np.diag(J**2 * w_o**4 / T) @ plant.B.T  # eq:feedback-weights
    W = W + 1e-12 * np.trace(W) / plant.order * np.eye(plant.order)
    return kalman(plant.A, plant.C, W, np.eye(len(plant.outputs)) / T)


def _fed_forward(model: StateSpace, arm: Robot, q: Array, J: Array, *, alone: bool) -> tuple[Array, Array]:
    """Inertia and viscous friction at the motors for the reference."""
    f = np.array([shaft.viscous for shaft in model.shafts])
    if alone:
        return np.diag(J), f
    inverse = np.linalg.inv(model.N)
    return np.asarray(inverse.T @ arm.inertia(q, drives=True) @ inverse), f
