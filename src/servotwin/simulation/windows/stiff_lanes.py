r"""One interval of the motors behind stiff gears, side by side: a motor in every lane of the processor.

The equations are those of ``stiff_motors``. A loop over all lanes without a branch or a call becomes vector
instructions; lanes beyond the last motor hold zeros, and nothing happens to them. Currents of DC motors are the series
of eq:current-series: an interval in which a current would decay by more than ``BRIEF`` is cut. Windings of synchronous
motors go one by one (``motor_interval``), everything else side by side.

Of Stribeck curves the exponential is computed at one speed; near it eq:stribeck-series holds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, part
from servotwin.drives.friction import BACKWARD, FALLEN, FORWARD, GONE, friction_moments
from servotwin.drives.records import FALLS, FREE, STUCK
from servotwin.simulation.plant.actuators import (
    CHARGED,
    COS,
    ENERGY,
    I_Q,
    IMPULSE,
    MOMENT,
    SIN,
    SQUARE,
    I,
    is_dc,
    late_speed,
    motor_interval,
    motor_torque,
    torque_rate,
    winding_decay,
)
from servotwin.simulation.plant.event_steps import FAR
from servotwin.simulation.windows.dc_stiff_lanes import BRIEF, keep_dc, wind_dc
from servotwin.simulation.windows.elastic_lanes import SERIES, small_exp
from servotwin.simulation.windows.motor_coordinates import at_motor

NARROW = 4  # lanes of robots with up to so many motors behind stiff gears: loops over them are written out
WIDTH = 8  # lanes of others are a multiple of it, so that a loop over them needs no rest beside its vectors
MOST_DECAY = 8.0  # of a current in a window; beyond, its series would need too many intervals


@helper
def fill_mode(world: Any, motor: Any, r: int) -> None:
    """What the mode of a shaft changes in its lane."""
    lanes = world.stiff_lanes
    sticks, dry = motor.mode == STUCK, motor.mode != FREE
    brake = motor.seal_torque + (motor.brake_torque if motor.brake_closed else 0.0)
    lanes.sticks[r], lanes.moves[r] = (1.0, 0.0) if sticks else (0.0, 1.0)
    lanes.way[r] = motor.mode if dry and not sticks else 0.0
    lanes.coulomb[r] = motor.tau_c + brake
    lanes.hold_up[r], lanes.hold_down[r] = motor.tau_s[FORWARD] + brake, motor.tau_s[BACKWARD] + brake
    lanes.spare[r] = 0.0 if dry else FAR
    fill_falls(world, motor, r)


@helper
def fill_falls(world: Any, motor: Any, r: int) -> None:
    """Stribeck curves of a shaft at its present speed."""
    lanes = world.stiff_lanes
    w = lanes.w[r]
    lanes.w_0[r], lanes.back[r] = w, 0.0
    for k in range(FALLS):
        lanes.fall[k, r] = lanes.per_fall[k, r] = 0.0
        if motor.tau_fall[k] > 0.0 and motor.mode not in (FREE, STUCK):
            ratio = w / motor.w_stribeck[k]
            if ratio * ratio < FALLEN:
                lanes.fall[k, r] = motor.tau_fall[k] * math.exp(-ratio * ratio)
                lanes.per_fall[k, r] = 1.0 / motor.w_stribeck[k]
            else:
                lanes.back[r] = max(lanes.back[r], GONE * motor.w_stribeck[k])


@helper
def empty_lanes(world: Any) -> None:
    """Zeros beyond the last motor: 0 times what a window that went wrong left there need not be 0."""
    lanes = world.stiff_lanes
    for r in range(lanes.count, lanes.width):
        lanes.spare[r] = FAR
        lanes.w[r] = lanes.i[r] = lanes.tau[r] = lanes.rate[r] = 0.0
        lanes.impulse[r] = lanes.moment[r] = lanes.tau_end[r] = lanes.late[r] = 0.0


@part
def begin_stiff_lanes(world: Any, motors: Any, span: float) -> None:
    """Motors as the window begins, integrals at zero; the longest interval for which the series of currents hold."""
    lanes, elastic = world.stiff_lanes, world.elastic_window
    count, fastest = elastic.stiff_count, 0.0
    lanes.count, lanes.dc, lanes.dry, lanes.falls = count, 1, 0, 0
    for r in range(count):
        j = elastic.stiff[r]
        motor = motors[j]
        w = at_motor(world, j, world.state.y, world.n_x)
        lanes.w[r], lanes.i[r] = w if motor.mode != STUCK else 0.0, elastic.i[j]
        lanes.tau[r], lanes.f[r] = motor_torque(motor, elastic.i[j], elastic.i_q[j]), motor.f
        if is_dc(motor):
            lanes.per_L[r], lanes.K[r] = 1.0 / motor.L, motor.K
            lanes.decay[r] = (motor.R + motor.R_bridge) * lanes.per_L[r]
        else:
            lanes.dc = 0
        fastest = max(fastest, winding_decay(motor))
        lanes.dry = 1 if motor.mode != FREE else lanes.dry
        for k in range(FALLS):
            lanes.falls = 1 if motor.tau_fall[k] > 0.0 else lanes.falls
        lanes.sum_torque[r] = lanes.sum_square[r] = lanes.sum_energy[r] = lanes.sum_charge[r] = 0.0
        lanes.sum_friction[r] = lanes.passed[r] = lanes.passed_moment[r] = 0.0
        lanes.most[r], lanes.high[r] = elastic.peak[j, 0], 0.0
        fill_mode(world, motor, r)
    lanes.width = NARROW if count <= NARROW else WIDTH * ((count + WIDTH - 1) // WIDTH)
    empty_lanes(world)
    if fastest * span > MOST_DECAY:
        lanes.dc = 0
    lanes.longest = BRIEF / fastest if fastest * span > BRIEF else 2.0 * span


@part
def end_stiff_lanes(world: Any) -> None:
    """Motors as the window ends."""
    lanes, elastic = world.stiff_lanes, world.elastic_window
    for r in range(lanes.count):
        j = elastic.stiff[r]
        elastic.i[j], elastic.w[j] = lanes.i[r], lanes.w[r]
        elastic.impulse[j], elastic.square[j] = lanes.sum_torque[r], lanes.sum_square[r]
        elastic.electric[j], elastic.charge[j] = lanes.sum_energy[r], lanes.sum_charge[r]
        elastic.friction[j] = lanes.sum_friction[r]
        elastic.passed[j, 0], elastic.passed[j, 1] = lanes.passed[r], lanes.passed_moment[r]
        elastic.peak[j, 0], elastic.peak[j, 1] = lanes.most[r], lanes.high[r]


@helper
def add_answers(world: Any, torque: Any, out: Any, k: int, width: np.uint64) -> None:
    """What the torques of four motors, from the k-th on, add to ``answer_to``."""
    lanes = world.stiff_lanes
    t_0, t_1, t_2, t_3 = torque[k], torque[k + 1], torque[k + 2], torque[k + 3]
    for r in range(np.uint64(0), width):
        low = lanes.answer[k, r] * t_0 + lanes.answer[k + 1, r] * t_1
        out[r] += low + (lanes.answer[k + 2, r] * t_2 + lanes.answer[k + 3, r] * t_3)


@helper
def answer_to(world: Any, torque: Any, beta_0: float, beta_1: float, out: Any, width: np.uint64) -> None:
    """Accelerations of the moving motors by these torques, and what the stuck ones pass on (eq:stuck-motors).

    beta is ``beta_0`` drift + ``beta_1`` its rate.
    """
    lanes = world.stiff_lanes
    t_0, t_1, t_2, t_3 = torque[0], torque[1], torque[2], torque[3]
    for r in range(np.uint64(0), width):
        low = lanes.answer[0, r] * t_0 + lanes.answer[1, r] * t_1
        high = lanes.answer[2, r] * t_2 + lanes.answer[3, r] * t_3
        out[r] = (beta_0 * lanes.answer_drift[0, r] + beta_1 * lanes.answer_drift[1, r]) + (low + high)
    if lanes.count > 4:
        add_answers(world, torque, out, 4, width)
        if lanes.count > 8:
            add_answers(world, torque, out, 8, width)
            add_answers(world, torque, out, 12, width)


@helper
def refresh_falls(world: Any, motors: Any) -> None:
    """Compute the exponentials of Stribeck curves again where the speed is too far from where they were computed."""
    lanes, stiff = world.stiff_lanes, world.elastic_window.stiff
    for r in range(lanes.count):
        more = (lanes.w[r] - lanes.w_0[r]) * (lanes.w[r] + lanes.w_0[r])
        per = max(lanes.per_fall[0, r], lanes.per_fall[1, r])
        if abs(more) * per * per > SERIES or abs(lanes.w[r]) < lanes.back[r]:
            fill_falls(world, motors[stiff[r]], r)


@helper
def add_falls(world: Any, width: np.uint64) -> None:
    """Stribeck curves in friction and its derivatives (eq:stribeck-series)."""
    lanes = world.stiff_lanes
    for r in range(np.uint64(0), width):
        w, more = lanes.w[r], (lanes.w[r] - lanes.w_0[r]) * (lanes.w[r] + lanes.w_0[r])
        per, per_2, way = lanes.per_fall[0, r], lanes.per_fall[1, r], lanes.way[r]
        rest = lanes.fall[0, r] * small_exp(more * per * per)  # eq:stribeck-series
        rest_2 = lanes.fall[1, r] * small_exp(more * per_2 * per_2)
        ratio, ratio_2 = w * per, w * per_2
        lanes.friction[r] += way * (rest + rest_2)
        lanes.torque[r] -= way * (rest + rest_2)
        lanes.slope[r] -= 2.0 * way * (ratio * per * rest + ratio_2 * per_2 * rest_2)
        lanes.bend[r] += way * (
            (4.0 * ratio * ratio - 2.0) * per * per * rest
            + (4.0 * ratio_2 * ratio_2 - 2.0) * per_2 * per_2 * rest_2
        )


@helper
def begin_friction(world: Any, motors: Any, width: np.uint64) -> None:
    """Friction where an interval begins, its derivatives by the speed, and what is left of the torque."""
    lanes = world.stiff_lanes
    if lanes.falls:
        refresh_falls(world, motors)
    for r in range(np.uint64(0), width):
        lanes.friction[r] = lanes.f[r] * lanes.w[r] + lanes.way[r] * lanes.coulomb[r]
        lanes.slope[r], lanes.bend[r] = lanes.f[r], 0.0
        lanes.torque[r] = lanes.tau[r] - lanes.friction[r]
    if lanes.falls:
        add_falls(world, width)


@helper
def begin_rates(world: Any, motors: Any, width: np.uint64) -> None:
    """How fast the torques less friction change where an interval begins."""
    lanes, elastic = world.stiff_lanes, world.elastic_window
    if lanes.dc:
        for r in range(np.uint64(0), width):
            K, emf = lanes.K[r], lanes.K[r] * lanes.w[r]
            rate = K * (lanes.per_L[r] * (lanes.u_a[r] - emf) - lanes.decay[r] * lanes.i[r])
            lanes.rate[r] = rate - lanes.slope[r] * lanes.moves[r] * lanes.now[r]
        return
    for r in range(lanes.count):
        j = elastic.stiff[r]
        rate = torque_rate(
            motors[j], lanes.u_a[r], lanes.u_b[r], lanes.i[r], elastic.i_q[j], elastic.cos[j], elastic.sin[j],
            lanes.w[r],
        )  # fmt: skip
        lanes.rate[r] = rate - lanes.slope[r] * lanes.moves[r] * lanes.now[r]


@helper
def begin_lanes(world: Any, motors: Any, t: float, width: np.uint64) -> None:
    """``begin_interval`` with so many lanes."""
    lanes = world.stiff_lanes
    begin_friction(world, motors, width)
    answer_to(world, lanes.torque, 1.0, t, lanes.now, width)
    begin_rates(world, motors, width)
    answer_to(world, lanes.rate, 0.0, 1.0, lanes.now_rate, width)


@part
def begin_interval(world: Any, motors: Any, t: float) -> None:
    """Torques and accelerations at the beginning of an interval, and their rates."""
    if world.stiff_lanes.width == NARROW:
        begin_lanes(world, motors, t, np.uint64(NARROW))
    else:
        begin_lanes(world, motors, t, np.uint64(world.stiff_lanes.width))


@helper
def wind_any(world: Any, motors: Any, h: float) -> None:
    """The same of motors of all kinds, one by one."""
    lanes, elastic, got = world.stiff_lanes, world.elastic_window, world.stiff_lanes.got
    for r in range(lanes.count):
        j = elastic.stiff[r]
        alpha, jerk = lanes.moves[r] * lanes.now[r], lanes.moves[r] * lanes.now_rate[r]
        new = motor_interval(
            world, motors[j], lanes.u_a[r], lanes.u_b[r], lanes.i[r], elastic.i_q[j], elastic.cos[j], elastic.sin[j],
            lanes.w[r], alpha, jerk, h,
        )  # fmt: skip
        for k in range(9):
            got[r, k] = new[k]
        rubbing, rubbing_lever = friction_moments(
            lanes.friction[r], lanes.slope[r], lanes.bend[r], alpha, jerk, h
        )
        lanes.impulse[r], lanes.moment[r] = new[IMPULSE] - rubbing, new[MOMENT] - rubbing_lever
        lanes.tau_end[r] = motor_torque(motors[j], new[I], new[I_Q])


@helper
def add_late_torques(world: Any, motors: Any, h: float, width: np.uint64) -> None:
    """What currents (eq:late-speed) and friction answer to the end of a speed: impulses, moments, speeds gained.

    The excess of a current grows as the fourth power of time: its impulse acts after five sixths of the step.
    """
    lanes, elastic = world.stiff_lanes, world.elastic_window
    for r in range(np.uint64(0), width):
        parabola = h * (lanes.now[r] + 0.5 * h * lanes.now_rate[r])
        lanes.rest[r] = lanes.moves[r] * (lanes.gained[r] - parabola)
    if lanes.dc:
        for r in range(np.uint64(0), width):
            K, x = lanes.K[r], h * lanes.decay[r]
            lanes.late[r] = -K * K * lanes.per_L[r] * h * h * lanes.rest[r] / (20.0 + x * (10.0 / 3.0))
    else:
        for r in range(lanes.count):
            j, got = elastic.stiff[r], lanes.got[r]
            lanes.late[r] = late_speed(
                motors[j], lanes.u_a[r], lanes.u_b[r], lanes.i[r], elastic.i_q[j], got[I], got[I_Q], got[COS],
                got[SIN], lanes.rest[r], h,
            )[2]  # fmt: skip
    for r in range(np.uint64(0), width):
        rubs = 0.25 * h * lanes.slope[r] * lanes.rest[r]  # eq:late-torques
        lanes.moment[r] += h * (lanes.late[r] * (5.0 / 6.0) - 0.8 * rubs)
        lanes.late[r] -= rubs
        lanes.impulse[r] += lanes.late[r]
    answer_to(world, lanes.late, 0.0, 0.0, lanes.late_gained, width)
    for r in range(np.uint64(0), width):
        lanes.gained[r] += lanes.late_gained[r]


@helper
def speeds_at_end(world: Any, h: float, width: np.uint64) -> None:
    """Speeds and torques less friction as an interval ends, and the least speed that it may have had."""
    lanes = world.stiff_lanes
    for r in range(np.uint64(0), width):
        more, way = lanes.moves[r] * lanes.gained[r], lanes.way[r]
        friction = lanes.friction[r] + more * (lanes.slope[r] + 0.5 * more * lanes.bend[r])
        lanes.w_end[r], lanes.torque_end[r] = lanes.w[r] + more, lanes.tau_end[r] - friction
        # a shaft that slows down and speeds up again is nowhere slower than if it went on to slow down
        slowest = way * lanes.w[r] + min(way * lanes.now[r] * h, 0.0)
        lanes.slowest[r] = slowest + (lanes.spare[r] + lanes.sticks[r])
        lanes.margin[r] = way * lanes.w_end[r] + lanes.spare[r]


@helper
def least(world: Any, values: Any) -> float:
    """The smallest of all lanes."""
    found = values[0]
    for r in range(1, world.stiff_lanes.count):
        found = min(found, values[r])
    return found  # type: ignore[no-any-return]


@helper
def step_lanes(world: Any, motors: Any, t: float, h: float, width: np.uint64) -> float:
    """``stiff_step`` with so many lanes."""
    lanes = world.stiff_lanes
    if lanes.dc:
        wind_dc(world, h, width)
    else:
        wind_any(world, motors, h)
    answer_to(world, lanes.impulse, h, h * (t + 0.5 * h), lanes.gained, width)
    add_late_torques(world, motors, h, width)
    speeds_at_end(world, h, width)
    if not lanes.dry:
        return FAR
    if world.elastic_window.stuck_count > 0:
        answer_to(world, lanes.torque_end, 1.0, t + h, lanes.end, width)
        for r in range(np.uint64(0), width):
            tau, held = lanes.tau_end[r], lanes.end[r]
            slack = min(held + lanes.hold_up[r] - tau, tau + lanes.hold_down[r] - held)
            lanes.margin[r] += lanes.sticks[r] * slack
    return least(world, lanes.margin)


@part
def stiff_step(world: Any, motors: Any, t: float, h: float) -> float:
    """All motors after ``h`` seconds without an edge in their present modes; how far the end is from an event."""
    if world.stiff_lanes.width == NARROW:
        return step_lanes(world, motors, t, h, np.uint64(NARROW))
    return step_lanes(world, motors, t, h, np.uint64(world.stiff_lanes.width))


@helper
def keep_any(world: Any, motors: Any, h: float) -> None:
    """The same of motors of all kinds, one by one."""
    lanes, elastic = world.stiff_lanes, world.elastic_window
    for r in range(lanes.count):
        j, got = elastic.stiff[r], lanes.got[r]
        more = late_speed(
            motors[j], lanes.u_a[r], lanes.u_b[r], lanes.i[r], elastic.i_q[j], got[I], got[I_Q], got[COS], got[SIN],
            lanes.rest[r], h,
        )  # fmt: skip
        lanes.i[r], elastic.i_q[j] = got[I] + more[0], got[I_Q] + more[1]
        elastic.cos[j], elastic.sin[j] = got[COS], got[SIN]
        lanes.sum_torque[r] += got[IMPULSE] + more[2]
        lanes.sum_square[r] += got[SQUARE] + more[3]
        lanes.sum_energy[r] += got[ENERGY] + more[4]
        lanes.sum_charge[r] += got[CHARGED] + more[5]
        i, i_q = lanes.i[r], elastic.i_q[j]
        lanes.tau[r] = motor_torque(motors[j], i, i_q)
        lanes.most[r] = max(lanes.most[r], i * i + i_q * i_q)
        lanes.high[r] = max(lanes.high[r], abs(lanes.tau[r]))


@helper
def keep_motion(world: Any, t: float, h: float, width: np.uint64) -> None:
    """Take the speeds of a step, the work of friction in it, and what the motors passed on."""
    lanes = world.stiff_lanes
    for r in range(np.uint64(0), width):
        w, end, moves = lanes.w[r], lanes.w_end[r], lanes.moves[r]
        friction, slope, bend = lanes.friction[r], lanes.slope[r], 0.5 * lanes.bend[r]
        alpha, jerk = moves * lanes.now[r], moves * lanes.now_rate[r]
        rest = end - w - h * (alpha + 0.5 * h * jerk)
        more, most = 0.5 * h * (alpha + 0.25 * h * jerk) + 0.125 * rest, end - w
        at_middle, at_end = friction + more * (slope + more * bend), friction + most * (slope + most * bend)
        lanes.sum_friction[r] += h / 6.0 * (friction * w + 4.0 * at_middle * (w + more) + at_end * end)
        passed = moves * lanes.impulse[r] + lanes.sticks[r] * lanes.gained[r]
        moment = moves * lanes.moment[r] + lanes.sticks[r] * lanes.gained_moment[r]
        lanes.passed[r] += passed
        lanes.passed_moment[r] += moment + t * passed
        lanes.w[r] = end


@helper
def keep_lanes(world: Any, motors: Any, t: float, h: float, width: np.uint64) -> None:
    """``keep_step`` with so many lanes."""
    lanes = world.stiff_lanes
    if world.elastic_window.stuck_count > 0:
        answer_to(world, lanes.moment, 0.5 * h * h, h * h * (0.5 * t + h / 3.0), lanes.gained_moment, width)
    if lanes.dc:
        keep_dc(world, h, width)
    else:
        keep_any(world, motors, h)
    keep_motion(world, t, h, width)


@part
def keep_step(world: Any, motors: Any, t: float, h: float) -> None:
    """Take the step that was computed last."""
    if world.stiff_lanes.width == NARROW:
        keep_lanes(world, motors, t, h, np.uint64(NARROW))
    else:
        keep_lanes(world, motors, t, h, np.uint64(world.stiff_lanes.width))
