r"""State feedback for a robot as its controller knows it: from the complete model to the matrices of the law.

The plant is the arm with its gears about the home pose, driven by the torques of its motors. These follow the commands
of the axis controller with the lag of the current loop, :math:`\dot\tau = \omega_c (\tau^* - \tau)`, and a period later
if the axis controller is that late. It is sampled exactly at the axis period (eq:hold), and so are its costs and its
noise (eq:sampled-cost). With inertia J_j at motor j, the others held, the weights

.. math:: Q = C^T C, \quad Q_\sigma = T_i^{-2} I, \quad R_j = \frac{1}{J_j^2\,\omega_b^4}, \qquad
          W_j = J_j^2\,\omega_o^4, \quad V = I                                        (eq:feedback-weights)

give a rigid axis the closed loop of bandwidth :math:`\omega_b` and an observer of :math:`\omega_o` in Butterworth's
pattern, whatever its inertia. A servovalve has its current as input, spool and pressures as states that the observer
estimates, and moves its piston at the speed i / F once these have settled:

.. math:: R_j = \frac{1}{F_j^2\,\omega_b^2}, \qquad W_j = F_j^2\,\omega_o^2                 (eq:valve-weights)

The driver of a valve jumps over its overlap; the plant has what it leaves of it. Nothing else of the driver acts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag

from servotwin.control.servo.axis_data import controller_of, feedback_bandwidth, speed_limits
from servotwin.control.servo.ports import MAX_AXES
from servotwin.control.servo.state_feedback import MOST_STATES, STATE_FEEDBACK
from servotwin.control.servo.state_feedback_judgement import Arm, Judgement, Law
from servotwin.control.servo.state_feedback_plant import (
    Driven,
    Push,
    ValveForward,
    as_driven,
    currents_per_speed,
    input_ranges,
    plausible_errors,
    separate_axes,
    valve_forward,
)
from servotwin.description.problems import refuse
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError, UnsupportedError
from servotwin.linear.feedback import closed_loop, kalman, lqr, place, with_integrators
from servotwin.linear.sampling import sampled_noise
from servotwin.linear.system import Array, LinearSystem
from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates
from servotwin.robot.complete_model import robot_of, state_space
from servotwin.robot.described import Given, description_of
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia
from servotwin.robot.state_space import StateSpace

INTEGRAL = 3.0  # integral time, in 1/bandwidth
OBSERVER = 4.0  # bandwidth of the observer over that of the loop
LEAST_SAMPLES = 10.0  # of a period of the bandwidth: the hold alone then takes 18 deg
DAMPED = 0.5  # damping ratio that placing gives to what swings less damped
Complex = NDArray[np.complex128]


@dataclass(frozen=True)
class StateFeedbackDesign(Plots, Tabulates, Reports, ShowsItself):
    """Matrices of eq:state-feedback in torques at the motors, the plant they were made for, and how they do.

    For an axis with a servovalve read valve current [A] for torque, and current per speed for f.
    """

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
    valves: tuple[bool, ...]  # motors that are moved by a servovalve
    ahead: ValveForward  # what is fed forward to these
    arm: Arm  # that it is judged on

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

    @cached_property
    def judgement(self) -> Judgement:
        """How the law does at other poses, and on the nonlinear arm within its limits."""
        return self.arm.judge(Law(self.plant, self.K, self.K_i, self.L))

    @property
    def usable(self) -> bool:
        """Whether the law holds the arm: at its pose, at others, and the nonlinear arm within its limits."""
        return self.stable and self.judgement.usable

    @property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against the law, one line each."""
        found, judged = [], self.judgement
        if not self.stable:
            found.append("the coupled arm is unstable under this law at its pose; expected less bandwidth")
        if judged.unstable:
            pose = ", ".join(
                f"{name} {q:.3g}"
                for name, q in zip(self.arm.model.robot.joint_names, judged.worst, strict=True)
            )
            found.append(
                f"unstable at {judged.unstable} of {judged.poses} poses of the joint ranges, worst at {pose} (rad, m); "
                "expected less bandwidth, separate axes (--plant), a pose of less inertia (--q), or computed torque"
            )
        if judged.settled is None:
            found.append(
                "the nonlinear arm does not settle after a step that every axis could answer "
                f"(inputs reach {judged.peak:.3g} times their limits); expected less bandwidth"
            )
        samples = 2.0 * np.pi / (self.bandwidth * (self.plant.period or 1.0))
        if samples < LEAST_SAMPLES:
            found.append(
                f"{samples:.2g} samples in a period of the bandwidth; expected {LEAST_SAMPLES:g} or more, "
                f"{self.bandwidth * samples / LEAST_SAMPLES:.4g} rad/s at this axis_period"
            )
        return tuple(found)

    @property
    def output_words(self) -> str:
        """What its gains give: 'torque of every motor [N m]'."""
        if not any(self.valves):
            return "torque of every motor [N m]"
        valve = "current of every valve [A]"
        return valve if all(self.valves) else f"torque of every motor [N m], {valve}"

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
        law["amperes"][:m], law["f_back"][:m] = self.valves, self.ahead.F[1]
        law["head"][:m], law["head_forward"][:m], law["head_backward"][:m] = self.ahead.heads
        return record

    def data(self) -> dict[str, Any]:
        """As plain data in SI units."""
        return {
            "motors": list(self.names),
            "outputs": ["valve current [A]" if v else "torque [N m]" for v in self.valves],
            "method": self.method,
            "plant": "separate" if self.separate else "coupled",
            "bandwidth_rad_per_s": self.bandwidth,
            "integral_time_s": self.integral_time,
            "observer_bandwidth_rad_per_s": self.observer_bandwidth,
            "stable": self.stable,
            "usable": self.usable,
            "judgement": {
                "poses": self.judgement.poses,
                "unstable_poses": self.judgement.unstable,
                "worst_pose": self.judgement.worst.tolist(),
                "slowest_decay_1_per_s": self.judgement.decay,
                "nonlinear_settling_s": self.judgement.settled,
                "input_peak_over_limit": self.judgement.peak,
            },
            "warnings": list(self.warnings),
            "plausible_errors": self.arm.spans.tolist(),
            "closed_loop_poles_1_per_s": [[p.real, p.imag] for p in self.poles],
            "states": [q._asdict() for q in self.plant.states],
            "period_s": self.plant.period,
            **{name: getattr(self, name).tolist() for name in ("K", "K_i", "L", "M", "f")},
            "valve_current_per_speed_backward_A_s": self.ahead.F[1].tolist(),
            "Phi": self.plant.A.tolist(),
            "Gamma": self.plant.B.tolist(),
            "C": self.plant.C.tolist(),
        }


def design_state_feedback(
    robot: Given,
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
    description = description_of(robot)
    control = controller_of(description)
    asked = control.state_feedback
    w_b = bandwidth or feedback_bandwidth(control)
    T_i = integral_time or asked.integral_time or INTEGRAL / w_b
    w_o = observer_bandwidth or asked.observer_bandwidth or OBSERVER * w_b
    stated = observer_bandwidth or asked.observer_bandwidth or 0.0
    _check_sampling(description, control.axis_period, bandwidth=w_b, observer_bandwidth=stated)
    alone = asked.plant == "separate" if separate is None else separate
    model = as_driven(state_space(description, motors="valves"), control.valve.overlap_compensation)
    arm = robot_of(description)
    pose = arm.q_home if q is None else np.asarray(q, dtype=np.float64)
    J = motor_inertia(arm, pose, held=True)
    valves = tuple(shaft.equations.start is not None for shaft in model.shafts)
    about = _centred(model, pose)
    coupled = Driven.of(about, control, valves)
    driven = Driven.of(separate_axes(model, about, J), control, valves) if alone else coupled
    plant, push = driven.sampled, Push(J, currents_per_speed(model, about, valves), np.array(valves))
    w_max, ranges = speed_limits(description, arm.limits.qd_max), input_ranges(description)
    spans = plausible_errors(push, ranges, w_b, w_max)
    K, K_i = _gains(driven, push, spans, w_b, T_i, method or asked.method)
    ahead = valve_forward(model, about, push.F, w_max, description)
    M, f = _fed_forward(model, arm, pose, replace(push, F=ahead.F[0]), alone=alone)
    return StateFeedbackDesign(
        tuple(shaft.name for shaft in model.shafts),
        plant,
        coupled.sampled,
        K,
        K_i,
        _observer(driven, push, spans, w_o),
        M,
        f,
        w_b,
        T_i,
        w_o,
        method or asked.method,
        alone,
        valves,
        ahead,
        Arm(model, about, control, valves, spans, ranges, w_b),
    )


def _check_wishes(method: str | None, **wishes: float | None) -> None:
    if method not in (None, "lqr", "poles"):
        raise InputError(f"'{method}'; expected lqr or poles", field="method")
    for name, value in wishes.items():
        if value is not None and not (value > 0.0 and np.isfinite(value)):
            unit = "s" if name == "integral_time" else "rad/s"
            raise InputError(f"{value:g} {unit}; expected more than zero", field=name)


def _check_sampling(description: RobotDescription, T: float, **wishes: float) -> None:
    """Refuse loops beyond half of the sampling frequency: no sampled law has them."""
    nyquist = np.pi / T
    for name, w in wishes.items():
        if w >= nyquist:
            raise refuse(
                description,
                f"controller.state_feedback.{name}",
                f"{w:.4g} rad/s is beyond half of the sampling frequency, {nyquist:.4g} rad/s at the axis_period of "
                f"{1e3 * T:.4g} ms; expected at most {2.0 * nyquist / LEAST_SAMPLES:.4g} rad/s, or a shorter period",
            )


def _centred(model: StateSpace, q: Array) -> LinearSystem:
    return model.linear(model.operating_point(q))


def _gains(
    driven: Driven, push: Push, spans: Array, w_b: float, T_i: float, method: str
) -> tuple[Array, Array]:
    plant = driven.sampled
    A, B = with_integrators(plant)
    T, n, m = plant.period or 1.0, plant.order, len(plant.inputs)
    own = driven.units
    units = np.concatenate([own, np.abs(plant.C * own).max(axis=1) / w_b])
    A, B = A * units / units[:, None], B / units[:, None]
    if method == "poles":
        K = _placed(driven, A, B, push.valves, w_b)
    else:
        seen = driven.whole.C / spans[:, None]
        Q, N, R = driven.cost(seen.T @ seen)  # eq:feedback-weights
        # integrals are held as inputs are
        weights = block_diag(Q, np.diag(T / (T_i * spans) ** 2)) * np.outer(units, units)
        cross = np.vstack([N, np.zeros((m, m))]) * units[:, None]
        K = lqr(A, B, weights, R + np.diag(T / (spans * push.at(w_b)) ** 2), cross)
    K = K / units * driven.coupling
    return K[:, :n], K[:, n:]


def _placed(driven: Driven, A: Array, B: Array, valves: NDArray[np.bool_], w_b: float) -> Array:
    """Placed poles, for every part of the plant that is coupled with no other by itself."""
    T, K = driven.sampled.period or 1.0, np.zeros(B.T.shape)
    for states, inputs in driven.parts():
        own = np.concatenate([states, driven.sampled.order + inputs])  # with the integrals of its outputs
        a, b = A[np.ix_(own, own)], B[np.ix_(own, inputs)]
        K[np.ix_(inputs, own)] = place(a, b, np.exp(T * _wanted(a, T, valves[inputs], w_b)))
    return K


def _wanted(A: Array, T: float, valves: NDArray[np.bool_], w_b: float) -> Complex:
    """Poles to place [1/s]: in Butterworth's pattern three of each axis, two of a valve's, the others damped."""
    values = np.linalg.eigvals(A).astype(np.complex128)
    with np.errstate(divide="ignore"):
        s = np.log(np.where(np.abs(values) < 1e-9, 1e-9, values)) / T
    three, two = int((~valves).sum()), int(valves.sum())
    rest = s[np.argsort(np.abs(s))][3 * three + 2 * two :]
    swinging = rest[np.abs(rest.imag) > 1e-6 * np.abs(rest)]
    low = np.abs(swinging.real) < DAMPED * np.abs(swinging)
    w = np.abs(swinging)
    damped = -DAMPED * w + 1j * np.sign(swinging.imag) * np.sqrt(1.0 - DAMPED**2) * w
    kept = rest[np.abs(rest.imag) <= 1e-6 * np.abs(rest)].real.astype(np.complex128)
    slow = w_b * np.array([-1.0, -0.5 + 0.75**0.5 * 1j, -0.5 - 0.75**0.5 * 1j])
    pair = w_b * np.array([-1.0 + 1.0j, -1.0 - 1.0j]) * 0.5**0.5
    return np.concatenate([np.tile(slow, three), np.tile(pair, two), np.where(low, damped, swinging), kept])


def _observer(driven: Driven, push: Push, spans: Array, w_o: float) -> Array:
    plant, n = driven.sampled, driven.whole.order
    T, units = plant.period or 1.0, driven.units
    W = np.zeros((plant.order, plant.order))
    W[:n, :n] = sampled_noise(driven.whole, np.diag((spans * push.at(w_o)) ** 2), T)  # eq:feedback-weights
    W = W / np.outer(units, units)
    for states, _ in driven.parts():
        W[states, states] += 1e-12 * W[states, states].mean()
    A, C = plant.A * units / units[:, None], plant.C * units
    L = units[:, None] * kalman(A, C, W, np.diag(spans**2) / T)
    return np.asarray(L * driven.coupling[:, : plant.order].T)


def _fed_forward(model: StateSpace, arm: Robot, q: Array, push: Push, *, alone: bool) -> tuple[Array, Array]:
    """Inertia and viscous friction at the motors for the reference; the current per speed of a valve."""
    f = np.where(push.valves, push.F, [shaft.viscous for shaft in model.shafts])
    M = np.diag(push.J)
    if not alone:
        inverse = np.linalg.inv(model.N)
        M = inverse.T @ arm.inertia(q, drives=True) @ inverse
    return np.where(push.valves[:, None], 0.0, M), f
