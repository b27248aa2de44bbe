r"""Friction of a shaft or joint: viscous, Coulomb, Stribeck, breakaway, a table over speed, and a closed brake.

While the shaft slides in direction s = +-1 (its *mode*)

.. math:: \tau_f = f\,\omega + s\,D_s(|\omega|), \qquad
          D_s(v) = \tau_c + \sum_k \Delta_k\,e^{-(v/\omega_k)^2} + T_s(v)              (eq:friction-curve)

opposes the motion. The mode is a state, not the sign of a small number: at zero speed the shaft sticks
(mode 0), holds still exactly, and lets go when the torque it must hold leaves the range that stiction and
gear allow. So there is nothing that could chatter. The records of motors and of joints (STOP) carry the same fields.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper
from servotwin.drives.records import FALLS, FREE, STUCK

FORWARD, BACKWARD = 0, 1  # sides of a table
STEP = 1e-6  # of a speed, over which the slope of a table is taken
FALLEN = (
    45.0  # square of the speed in Stribeck speeds from which nothing is left of the excess: e^-45 = 3e-20
)
GONE = math.sqrt(FALLEN)  # the same speed, in Stribeck speeds
MOST_OF_CURVE = 0.1  # of a Stribeck speed by which a shaft may change its speed in one step,
SLOW = 4.0  # below so many of them: e^-16 of the curve is left beyond


@helper
def table_torque(shaft: Any, side: int, v: float) -> float:
    """Torque T of the table of one direction at the speed v [N m]; 0 without one."""
    last = shaft.points[side] - 1
    if last < 0:
        return 0.0
    if v <= shaft.table_w[side, 0]:
        return shaft.table_tau[side, 0]  # type: ignore[no-any-return]
    k = 0
    while k < last - 1 and v > shaft.table_w[side, k + 1]:
        k += 1
    if last == 0:
        return shaft.table_tau[side, 0]  # type: ignore[no-any-return]
    tau = shaft.table_tau[side, k]
    rise = (shaft.table_tau[side, k + 1] - tau) / (shaft.table_w[side, k + 1] - shaft.table_w[side, k])
    if v > shaft.table_w[side, last] and rise < 0.0:
        return shaft.table_tau[side, last]  # type: ignore[no-any-return]
    return tau + rise * (v - shaft.table_w[side, k])  # type: ignore[no-any-return]


@helper
def sliding_torque(shaft: Any, way: int, w: float) -> float:
    """Size D of the dry friction torque at speed w in the direction ``way`` [N m] (eq:friction-curve)."""
    tau = shaft.tau_c
    for k in range(FALLS):
        if shaft.tau_fall[k] > 0.0:
            ratio = w / shaft.w_stribeck[k]
            if ratio * ratio < FALLEN:
                tau += shaft.tau_fall[k] * math.exp(-ratio * ratio)  # eq:friction-curve
    if way < 0:
        return tau + table_torque(shaft, BACKWARD, -w)  # type: ignore[no-any-return]
    return tau + table_torque(shaft, FORWARD, w)  # type: ignore[no-any-return]


@helper
def signed_dry_torque(shaft: Any, w: float) -> float:
    """Dry part of the friction that opposes the motion in the present mode [N m]; none where the shaft sticks.

    A shaft that never sticks may still have a table, which begins at zero torque.
    """
    if shaft.mode == STUCK:
        return 0.0
    if shaft.mode == FREE:
        return table_torque(shaft, FORWARD, w) if w >= 0.0 else -table_torque(shaft, BACKWARD, -w)
    return shaft.mode * sliding_torque(shaft, shaft.mode, w)  # type: ignore[no-any-return]


@helper
def dry_torque(motor: Any, w: float) -> float:
    """Dry friction of a motor's shaft in its present mode, seals under pressure and a closed brake included [N m]."""
    tau = signed_dry_torque(motor, w)
    if motor.mode not in (FREE, STUCK):
        tau += motor.mode * motor.seal_torque
        if motor.brake_closed:
            tau += motor.mode * motor.brake_torque
    return tau


@helper
def friction_torque(motor: Any, w: float) -> float:
    """Torque that opposes the motion of a motor in its mode [N m]; a stuck shaft has its own equation."""
    return motor.f * w + dry_torque(motor, w)  # type: ignore[no-any-return]


@helper
def friction_series(motor: Any, w: float, later: float) -> tuple[float, float, float]:
    """Friction of a sliding shaft at the speed w, and its first two derivatives by the speed.

    A table has the slope of the line on which the shaft moves towards the speed ``later``.
    """
    tau, slope, bend = motor.tau_c + motor.seal_torque, 0.0, 0.0
    if motor.brake_closed:
        tau += motor.brake_torque
    for k in range(FALLS):
        if motor.tau_fall[k] > 0.0:
            per = 1.0 / motor.w_stribeck[k]
            ratio = w * per
            if ratio * ratio < FALLEN:
                rest = motor.tau_fall[k] * math.exp(-ratio * ratio)  # eq:friction-curve
                tau += rest
                slope -= 2.0 * ratio * per * rest
                bend += (4.0 * ratio * ratio - 2.0) * per * per * rest
    way = motor.mode
    if motor.mode == FREE:
        tau, slope, bend, way = 0.0, 0.0, 0.0, 1 if w >= 0.0 else -1
    side = BACKWARD if way < 0 else FORWARD
    if motor.points[side] > 0:
        here = table_torque(motor, side, way * w)
        tau += here
        step = math.copysign(STEP * (1.0 + abs(w)), later - w)
        if way * (w + step) < 0.0:
            step = -step
        slope += way * (table_torque(motor, side, way * (w + step)) - here) / step
    return motor.f * w + way * tau, motor.f + way * slope, way * bend


@helper
def friction_moments(
    friction: float, slope: float, bend: float, alpha: float, jerk: float, h: float
) -> tuple[float, float]:
    r"""Impulse and moment of a friction given by ``friction_series`` over h seconds of a speed.

    The speed gains :math:`x = \alpha t + \tfrac12 j t^2`, which may come back within h, so that all of x^2 counts.
    """
    impulse = friction + h * slope * (alpha / 2.0 + h * jerk / 6.0)
    moment = friction / 2.0 + h * slope * (alpha / 3.0 + h * jerk / 8.0)
    gained = h * jerk
    impulse += h * h * bend * (alpha * alpha / 6.0 + gained * (alpha / 8.0 + gained / 40.0))
    moment += h * h * bend * (alpha * alpha / 8.0 + gained * (alpha / 10.0 + gained / 48.0))
    return h * impulse, h * h * moment


@helper
def part_on_curve(shaft: Any, slowest: float, change: float) -> float:
    """How much of a step, 0 to 1, follows the Stribeck curves of a shaft.

    ``slowest``: its least speed in the direction in which it slides; ``change``: by how much its speed changes.
    """
    part = 1.0
    for k in range(FALLS):
        most = MOST_OF_CURVE * shaft.w_stribeck[k]
        if shaft.tau_fall[k] > 0.0 and change > most and slowest < SLOW * shaft.w_stribeck[k]:
            part = min(part, most / change)
    return part


@helper
def joint_friction_torque(joint: Any, w: float) -> float:
    """The same for a joint at the speed w [N m, N]."""
    return joint.f * w + signed_dry_torque(joint, w)  # type: ignore[no-any-return]


@helper
def holding_slack(motor: Any, tau_e: float, load: float) -> float:
    r"""How far a stuck shaft is from moving [N m]; negative: it moves.

    With p the torque that the gear passes on to hold the load, the shaft stays where

    .. math:: p\,g_- - \tau_s^- \le \tau_e \le p\,g_+ + \tau_s^+                     (eq:stiction-cone)

    with :math:`g_\pm` the factor of the gear for motion in either direction (eq:gear-efficiency).
    """
    brake = motor.seal_torque + (motor.brake_torque if motor.brake_closed else 0.0)
    up = 1.0 / motor.eta if load > 0.0 else motor.eta
    down = motor.eta if load > 0.0 else 1.0 / motor.eta
    forward = load * up + motor.tau_s[FORWARD] + brake - tau_e
    return min(forward, tau_e + motor.tau_s[BACKWARD] + brake - load * down)  # type: ignore[no-any-return]


@helper
def joint_slack(joint: Any) -> float:
    r"""How far a stuck joint is from moving [N m, N]: the torque r that holds it is at most the static one.

    .. math:: -\tau_s^+ \le r \le \tau_s^-                                           (eq:joint-stiction)

    A holding torque r > 0 keeps the joint from going backward.
    """
    return min(joint.tau_s[BACKWARD] - joint.holding, joint.tau_s[FORWARD] + joint.holding)  # type: ignore[no-any-return]


@helper
def breakaway_direction(motor: Any, tau_e: float, load: float) -> int:
    """Direction in which a stuck shaft starts to move."""
    return 1 if tau_e > load else -1
