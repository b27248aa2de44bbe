r"""The DC window for motors with dry friction: no shaft changes between sticking and sliding within the window.

DC motors, each behind its own stiff gear without loss, on a stiff bus. While the modes of all shafts stay as they are,
friction is a smooth torque (eq:friction-curve), and ``dc_window`` holds with two changes: friction acts in every stage
of the arm's step, and stuck shafts stand still (eq:stuck-arm) as long as stiction holds the torque at every edge. The
inverse inertia of eq:motor-inverse-inertia is that of the joints that move. A window in which a shaft would turn round
or break away is rejected and left to the steps from edge to edge.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part, piece
from servotwin.compiled.native_calls import records_at
from servotwin.drives.friction import dry_torque, holding_slack, part_on_curve
from servotwin.drives.records import FREE, MOTOR, STOP, STUCK
from servotwin.simulation.plant.rates import FRICTION, call_on_plant
from servotwin.simulation.plant.records import WORLD
from servotwin.simulation.plant.status import PIECE_MISSING
from servotwin.simulation.plant.stuck_shafts import (
    list_moving_joints,
    moving_inertia,
    solve,
    stuck_acceleration,
)
from servotwin.simulation.windows.choice import Rejection, Window
from servotwin.simulation.windows.dc_window import REFRESH, accept, correct, predict
from servotwin.simulation.windows.motor_inverse_inertia import (
    begin_window,
    extrapolate_inertia,
    past_stop,
    refresh_rate,
    reject,
    set_B,
    update_drift,
)

ELASTIC = int(Window.ELASTIC)
EVENT = int(Rejection.EVENT)


@part
def move_arm_with_friction(world: Any, motors: Any, h: float) -> None:
    """``move_arm`` with dry friction, and with stuck shafts; the work of dry friction is in ``dc.dry_work``."""
    state, scratch = world.state, world.scratch
    n = world.n
    for j in range(n):
        world.dc.dry_work[j] = 0.0
    for s in range(4):
        a = 0.0 if s == 0 else (h if s == 3 else 0.5 * h)
        weight = h / 6.0 if s in (0, 3) else h / 3.0
        for j in range(n):
            motor = motors[j]
            v = state.y[n + j] + a * scratch.k[s, n + j]
            scratch.inputs[j] = state.y[j] + a * scratch.k[s, j]
            scratch.inputs[n + j] = scratch.k[s + 1, j] = v
            w = world.ratio[j] * v
            dry = dry_torque(motor, w)
            world.dc.dry_work[j] += weight * dry * w
            scratch.motor_torque[j] = world.line.a0[j] + world.line.a1[j] * a - motor.f * w - dry
        stuck_acceleration(world, motors)
        for j in range(n):
            scratch.k[s + 1, n + j] = scratch.qdd[j]
    for j in range(n):
        A1, A23, A4 = scratch.k[1, n + j], scratch.k[2, n + j] + scratch.k[3, n + j], scratch.k[4, n + j]
        scratch.y1[j] = state.y[j] + h * (scratch.k[1, j] + h * (A1 + A23) / 6.0)
        scratch.y1[n + j] = state.y[n + j] + h * (A1 + 2.0 * A23 + A4) / 6.0


@part
def refresh_moving_inertia(world: Any, motors: Any) -> None:
    """Compute B of eq:motor-inverse-inertia for the joints that move; it is zero for the others."""
    scratch = world.scratch
    n, per = world.n, refresh_rate(world)
    for j in range(2 * n):
        scratch.inputs[j] = world.state.y[j]
    moving_inertia(world, motors)
    for k in range(n):
        for j in range(n):
            scratch.qdd[j] = 0.0
        if motors[k].mode != STUCK:
            for r in range(scratch.moving):
                scratch.X[r] = world.ratio[k] if scratch.moving_joints[r] == k else 0.0
            solve(scratch.A, scratch.moving, scratch.X, 0)
            for r in range(scratch.moving):
                scratch.qdd[scratch.moving_joints[r]] = scratch.X[r]
        for j in range(n):
            set_B(world, j, k, world.ratio[j] * scratch.qdd[j], per)


@part
def first_friction_window(world: Any, motors: Any) -> None:
    """First window after a change of modes: accelerations from the currents that flow now."""
    line, prediction = world.line, world.prediction
    n = world.n
    list_moving_joints(world, motors)
    prediction.since = 0.0
    refresh_moving_inertia(world, motors)
    for j in range(n):
        motor = motors[j]
        w = world.ratio[j] * world.state.y[n + j]
        line.a0[j], line.a1[j] = motor.K * world.state.y[2 * n + j], 0.0
        world.scratch.motor_torque[j] = line.a0[j] - motor.f * w - dry_torque(motor, w)
    stuck_acceleration(world, motors)
    for j in range(n):
        prediction.alpha[j], prediction.jerk[j] = world.ratio[j] * world.scratch.qdd[j], 0.0
    update_drift(world, 0.0)


@part
def stays_stuck(world: Any, motors: Any) -> bool:
    """True if stiction holds every stuck shaft at every edge, whatever the ripple of the others adds to its load.

    A shaft at rest has no back-EMF, so that its current is the answer to the pulses.
    """
    scratch = world.scratch
    n = world.n
    for j in range(n):
        motor = motors[j]
        if motor.mode != STUCK:
            continue
        sway = 0.0  # of the load: the arm's inertia, left over from the last stage, times the swing of accelerations
        for r in range(scratch.moving):
            i = scratch.moving_joints[r]
            sway += abs(scratch.outputs[n * j + i] * world.inverse_ratio[i]) * acceleration_ripple(
                world, motors, i
            )
        sway *= abs(world.inverse_ratio[j])
        if holding_slack(motor, motor.K * world.state.y[2 * n + j], motor.transmitted) < sway:
            return False
        for s in range(world.pattern.edges[j] + 1):
            if holding_slack(motor, motor.K * world.dc.at_edges[j, s], motor.transmitted) < sway:
                return False
    return True


@helper
def torque_swing(world: Any, motors: Any, k: int) -> float:
    r"""The most by which the torque of motor k can change within the window [N m].

    At a constant speed the current runs to its end value between two edges, so that its extremes are at edges. The
    speed that is gained, :math:`\alpha t + \tfrac12 j t^2`, changes it by :math:`\tfrac KL(\alpha G_1 + j G_2)` at the
    end of the window (eq:window-current), and before by less than the sum of both magnitudes: G_1 and G_2 grow.
    """
    dc, prediction = world.dc, world.prediction
    gained = abs(prediction.alpha[k]) * dc.G[1, k] + abs(prediction.jerk[k]) * dc.G[2, k]
    return motors[k].K * (dc.swing[k] + abs(dc.emf_rate[k]) * gained)  # type: ignore[no-any-return]


@helper
def acceleration_ripple(world: Any, motors: Any, i: int) -> float:
    """How far the torques of the window can shake the acceleration of motor i [rad/s2]."""
    total = 0.0
    for k in range(world.n):
        total += abs(world.prediction.B[i, k]) * torque_swing(world, motors, k)
    return total


@helper
def keeps_modes(world: Any, motors: Any, stops: Any, span: float) -> bool:
    """True if every sliding shaft moves on by more than the ripple shakes it and no joint is beyond its stop.

    Ripple and step go along little of its Stribeck curve: the arm feels friction without the ripple of the speed.
    """
    n = world.n
    if past_stop(world, stops):
        return False
    for j in range(n):
        if motors[j].mode in (FREE, STUCK):
            continue
        ripple = acceleration_ripple(world, motors, j)
        shaken = 0.25 * span * (span * abs(world.prediction.drift[j, 1]) + ripple)
        forward = motors[j].mode * world.ratio[j]
        first, middle, last = world.state.y[n + j], world.scratch.k[2, j], world.scratch.y1[n + j]
        slowest = min(forward * first, forward * middle, forward * last)
        change = abs(forward * (last - first)) + shaken
        if slowest < shaken or part_on_curve(motors[j], slowest - shaken, change) < 1.0:
            return False
    return True


@helper
def carry_events(world: Any, start: float, span: float) -> None:
    """Let the window of elastic gears go through edges and events; it goes on as long as windows have events."""
    scratch, events, prediction = world.scratch, world.state.events, world.prediction
    scratch.rejected = 0
    call_on_plant(world, world.code.windows[ELASTIC], start, span)
    prediction.eventful = 1 if scratch.rejected == 0 and world.state.events != events else 0
    if not prediction.eventful:
        prediction.windows = 0  # nothing of it is known to this window


@piece
def dc_friction_window(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """Carry the plant over a window of DC motors behind stiff gears with dry friction."""
    world = records_at(world_at, 1, WORLD)[0]
    prediction = world.prediction
    motors, stops = records_at(motors_at, world.m, MOTOR), records_at(stops_at, world.n, STOP)
    n = world.n
    if world.choice.event_window == ELASTIC and world.code.windows[ELASTIC] == 0:
        world.state.status = PIECE_MISSING
        return
    if prediction.eventful and world.choice.event_window == ELASTIC:
        carry_events(world, start, span)
        return
    if prediction.windows == 0:
        first_friction_window(world, motors)
    begin_window(world, span)
    predict(world, motors, start, span)
    move_arm_with_friction(world, motors, span)
    steady = stays_stuck(world, motors)
    if steady:
        correct(world, span)
        steady = keeps_modes(world, motors, stops, span)
    if not steady:
        reject(world, EVENT)
        if world.choice.event_window == ELASTIC:
            carry_events(world, start, span)
        return
    accept(world, motors, start, span)
    for j in range(n):
        world.state.z[FRICTION * n + j] += world.dc.dry_work[j]
    prediction.since += span
    if prediction.windows % REFRESH == 0:
        refresh_moving_inertia(world, motors)
    else:
        extrapolate_inertia(world, span)
    update_drift(world, span)
