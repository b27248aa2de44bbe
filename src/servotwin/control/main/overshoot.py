r"""By how much the arm may be faster than its reference while that speeds up, as the controller's own model has it.

A loop whose speed follows a step of the commanded speed as s(t) answers a ramp of the acceleration a, from t_1 to t_2
before now, with a speed that is beyond the commanded one by

.. math:: v - v_\mathrm{ref} = a \int_{t_1}^{t_2} (s - 1) \, dt \le a c, \quad
          c = \max_{t_1 \le t_2} (E(t_2) - E(t_1)), \quad E(t) = \int_0^t (s - 1) \, dt             (eq:overshoot)

A position loop of gain K whose angle follows a step as y(t) has s = y + phi y' / K with the share phi of the speed that
is fed forward. The acceleration of another axis k pushes axis i with the torque D_ik a_k, which changes its speed by at
most P_i D_ik a_k / D_ii, with the largest angle P_i [s] that it goes by after a speed of 1. Theory:
docs/theory/time-scaling.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from servotwin.control.servo.axis_data import controller_of, feedback_bandwidth, robot_gains, timing_of
from servotwin.control.tuning.gains import Gains
from servotwin.control.tuning.sampled import ANGLE, SPEED, AxisModel, Timing
from servotwin.control.tuning.step_response import axis_run
from servotwin.control.tuning.valve import ValveModel
from servotwin.description.drive_data import drives_of
from servotwin.description.frames import Array
from servotwin.description.schema import RobotDescription
from servotwin.errors import KinematicsError, UnsupportedError
from servotwin.motion.limits import MotionLimits
from servotwin.robot.robot import Robot
from servotwin.robot.shafts import motor_inertia

POSES = 24  # at which the inertias of the motors are looked at
LASTING = 8.0  # times 1/K that a response is followed for
MOST_BEATS = 4000
REBOUND = 0.5  # of a speed: more of it is never made up for
CREEP = 1e-3  # rad/s of a motor, whose friction is the dry one
LARGEST = 0.1  # s: a loop that is worse than this is not tuned


@dataclass(frozen=True)
class Overshoot:
    """Of joints' speeds: ``ramps`` (n, n) [s] over accelerations (eq:overshoot), ``friction`` (n,) [rad/s, m/s]."""

    ramps: Array
    friction: Array

    def beyond(self, speed: Array) -> Array:
        """By how much joints are faster than sizes (..., n) of speeds once their friction is overcome."""
        return np.minimum(self.friction, REBOUND * speed)


def overshoot_of(robot: Robot, limits: MotionLimits, description: RobotDescription) -> Overshoot:
    """By how much the joints are faster than their reference.

    Loops are those of home; loads are those of home and the lightest and heaviest of some poses.
    """
    control, nothing = controller_of(description), np.zeros(robot.n)
    if control.law != "cascade":
        return Overshoot(min(1.0 / feedback_bandwidth(control), LARGEST) * np.eye(robot.n), nothing)
    try:
        home = motor_inertia(robot, robot.q_home, held=True)
    except UnsupportedError:
        return Overshoot(min(1.0 / control.position_bandwidth, LARGEST) * np.eye(robot.n), nothing)
    low = np.where(np.isfinite(limits.q_min), limits.q_min, -np.pi)
    high = np.where(np.isfinite(limits.q_max), limits.q_max, np.pi)
    poses = np.random.default_rng(0).uniform(low, high, (POSES, robot.n))
    N = np.asarray(robot.mechanism.rotors.N, dtype=np.float64)
    back = np.linalg.inv(N)
    D = np.stack(
        [back.T @ M @ back for M in [robot.inertia(robot.q_home, drives=True), *_inertias(robot, poses)]]
    )
    loads = np.diagonal(D, axis1=1, axis2=2)
    pushed = (np.abs(D) / loads[:, :, None]).max(axis=0)  # D_ik / D_ii
    found, freed = np.zeros((len(N), len(N))), np.zeros(len(N))
    designs = robot_gains(description, home)
    for j, (drive, (model, gains)) in enumerate(zip(drives_of(description), designs, strict=True)):
        timing, share = timing_of(control, drive.name), control.feedforward.velocity
        models: list[AxisModel | ValveModel] = [model]
        if isinstance(model, AxisModel):
            models += [model.with_load(float(J)) for J in (loads[:, j].min(), loads[:, j].max())]
        own, angle, after = np.max([_excess(one, gains, timing, share) for one in models], axis=0)
        found[j] = angle * pushed[j]
        found[j, j] = own
        # the integral may hold the friction of the other direction still
        dry = float(abs(drive.shaft_friction.torque(CREEP)))
        freed[j] = 2.0 * after * dry / min(home[j], loads[:, j].min())
    return Overshoot(np.abs(back) @ found @ np.abs(N), np.abs(back) @ freed)


def _inertias(robot: Robot, poses: Array) -> Iterator[Array]:
    """Mass matrices (n, n) at those of the poses (k, n) at which the loops of a closed chain close."""
    for q in poses:
        with suppress(KinematicsError):
            yield robot.inertia(q, drives=True)


def settling_rate_of(description: RobotDescription) -> float:
    """Rate [1/s] of the slowest position loop: what is left of a speed after a time t fades by e^-(rate t)."""
    control = controller_of(description)
    if control.law != "cascade":
        return feedback_bandwidth(control)
    return min(
        (control.bandwidth("position_bandwidth", drive.name) for drive in drives_of(description)),
        default=control.position_bandwidth,
    )


def _excess(
    model: AxisModel | ValveModel, gains: Gains, timing: Timing, share: float
) -> tuple[float, float, float]:
    """c [s] of one axis (eq:overshoot), and the largest angles [s] that it goes by after a speed of 1 rad/s.

    The second of these angles is the one against that speed, with which the loop makes up for it.
    """
    K = gains.position
    if K <= 0.0:
        return LARGEST, LARGEST, LARGEST
    if isinstance(model, AxisModel) and max(model.R, model.L) <= 0.0:  # no winding: nothing to sample
        most = min(1.0 / K, LARGEST)
        return most, most, most
    run = axis_run(model, gains, timing)
    T = math.lcm(timing.speed_ns, timing.axis_ns) * 1e-9
    beat, states = run.beat(), np.zeros((len(run.tick_axis), 2))
    states[run.reference["position"], 0] = states[SPEED, 1] = 1.0
    y = np.zeros((min(math.ceil(LASTING / (K * T)), MOST_BEATS) + 1, 2))
    with np.errstate(all="ignore"):  # a loop that explodes may overflow
        for k in range(1, len(y)):
            states = beat @ states
            y[k] = states[ANGLE]
        ramp = y[:, 0]
        E = np.concatenate([[0.0], np.cumsum(0.5 * (ramp[1:] + ramp[:-1]) - 1.0) * T]) + share / K * ramp
        angle, after = (
            min(float(one.max()), LARGEST) if np.isfinite(one).all() else LARGEST
            for one in (np.abs(y[:, 1]), -y[:, 1])
        )
    return min(rise(E), LARGEST), angle, after


def rise(values: Array) -> float:
    """The most by which a later one of some values is above an earlier one."""
    with np.errstate(all="ignore"):
        most = float(np.max(values - np.minimum.accumulate(values)))
    return most if np.isfinite(most) else np.inf
