r"""The plain window for motors with dry friction: some shafts slide, some stick, and none changes its mind.

DC motors, each behind its own stiff gear without loss, on a stiff bus. While the modes of all shafts stay as they are,
friction is a smooth torque (eq:friction-curve), and the window of ``plain`` holds with two changes: friction acts in
every stage of the arm's step, and what sticks stands still (eq:held-arm), as long as stiction holds the torque at every
edge. The inverse inertia of eq:motor-mobility is that of the joints that move. A window in which a shaft would turn
round or let go is taken back and left to the method that goes from edge to edge.
"""

from __future__ import annotations

from typing import Any

from servotwin.drives.friction import dry_torque, holding_slack
from servotwin.drives.records import FREE, MOTOR, STOP, STUCK
from servotwin.dynamics.recursive.jit import helper, part, piece
from servotwin.kernels.address import records_at
from servotwin.simulation.held import free_inertia, held_acceleration, solve, sort_joints
from servotwin.simulation.mobility import (
    carry_on,
    give_up,
    look_ahead,
    new_B,
    open_window,
    past_stop,
    since_last_look,
)
from servotwin.simulation.plain import REFRESH, foretell, put_right, take
from servotwin.simulation.plant import FRICTION
from servotwin.simulation.work import WORLD


@part
def move_rubbing_arm(world: Any, motors: Any, h: float) -> None:
    """``move_arm`` with friction."""
    n = world.n
    for j in range(n):
        world.rubbed[j] = 0.0
    for s in range(4):
        a = 0.0 if s == 0 else (h if s == 3 else 0.5 * h)
        weight = h / 6.0 if s in (0, 3) else h / 3.0
        for j in range(n):
            motor = motors[j]
            v = world.y[n + j] + a * world.k[s, n + j]
            world.inputs[j] = world.y[j] + a * world.k[s, j]
            world.inputs[n + j] = world.k[s + 1, j] = v
            w = world.ratio[j] * v
            dry = dry_torque(motor, w)
            world.rubbed[j] += weight * dry * w
            world.force[j] = world.a0[j] + world.a1[j] * a - motor.f * w - dry
        held_acceleration(world, motors)
        for j in range(n):
            world.k[s + 1, n + j] = world.qdd[j]
    for j in range(n):
        A1, A23, A4 = world.k[1, n + j], world.k[2, n + j] + world.k[3, n + j], world.k[4, n + j]
        world.y1[j] = world.y[j] + h * (world.k[1, j] + h * (A1 + A23) / 6.0)
        world.y1[n + j] = world.y[n + j] + h * (A1 + 2.0 * A23 + A4) / 6.0


@part
def look_at_free_inertia(world: Any, motors: Any) -> None:
    """B of eq:motor-mobility for the joints that move; nothing for the others."""
    n, per = world.n, since_last_look(world)
    for j in range(2 * n):
        world.inputs[j] = world.y[j]
    free_inertia(world, motors)
    for k in range(n):
        for j in range(n):
            world.qdd[j] = 0.0
        if motors[k].mode != STUCK:
            for r in range(world.moving):
                world.X[r] = world.ratio[k] if world.row_of[r] == k else 0.0
            solve(world.A, world.moving, world.X, 0)
            for r in range(world.moving):
                world.qdd[world.row_of[r]] = world.X[r]
        for j in range(n):
            new_B(world, j, k, world.ratio[j] * world.qdd[j], per)


@part
def begin_rubbing(world: Any, motors: Any) -> None:
    """First window after something has changed: accelerations from the currents that flow now."""
    n = world.n
    sort_joints(world, motors)
    world.since = 0.0
    look_at_free_inertia(world, motors)
    for j in range(n):
        motor = motors[j]
        w = world.ratio[j] * world.y[n + j]
        world.a0[j], world.a1[j] = motor.K * world.y[2 * n + j], 0.0
        world.force[j] = world.a0[j] - motor.f * w - dry_torque(motor, w)
    held_acceleration(world, motors)
    for j in range(n):
        world.alpha[j], world.jerk[j] = world.ratio[j] * world.qdd[j], 0.0
    look_ahead(world, 0.0)


@part
def stick_on(world: Any, motors: Any, start: float, span: float) -> bool:
    """True if stiction holds every stuck shaft at every edge, whatever the ripple of the others adds to its load.

    A shaft at rest has no back-EMF, so that its current is the answer to the pulses.
    """
    n = world.n
    for j in range(n):
        motor = motors[j]
        if motor.mode != STUCK:
            continue
        sway = 0.0  # of the load: the arm's inertia, left over from the last stage, times the swing of accelerations
        for r in range(world.moving):
            i = world.row_of[r]
            sway += abs(world.outputs[n * j + i] * world.unratio[i]) * shaken_acceleration(
                world, motors, i, start, span
            )
        sway *= abs(world.unratio[j])
        if holding_slack(motor, motor.K * world.y[2 * n + j], motor.transmitted) < sway:
            return False
        for s in range(world.edges[j] + 1):
            if holding_slack(motor, motor.K * world.at_edges[j, s], motor.transmitted) < sway:
                return False
    return True


@helper
def torque_swing(world: Any, motors: Any, k: int, start: float, span: float) -> float:
    """Difference between the largest and the smallest torque of motor k at the edges of the window [N m].

    The answer to the pulses, less that to the back-EMF of the speed at the beginning, which grows nearly evenly.
    """
    motor = motors[k]
    faded = motor.K * motor.w * world.conductance[k] * world.decay[k] * world.G[k, 0] / span
    least = most = world.y[2 * world.n + k]
    for s in range(world.edges[k] + 1):
        t = span if s == world.edges[k] else min(span, max(0.0, world.times[k, s] - start))
        i = world.at_edges[k, s] - faded * t
        least, most = min(least, i), max(most, i)
    return motor.K * (most - least)  # type: ignore[no-any-return]


@helper
def shaken_acceleration(world: Any, motors: Any, i: int, start: float, span: float) -> float:
    """How far the torques of the window can shake the acceleration of motor i [rad/s2]."""
    total = 0.0
    for k in range(world.n):
        total += abs(world.B[i, k]) * torque_swing(world, motors, k, start, span)
    return total


@helper
def stays_so(world: Any, motors: Any, stops: Any, start: float, span: float) -> bool:
    """True if every sliding shaft moves on by more than the ripple shakes it and no joint is beyond its stop."""
    n = world.n
    if past_stop(world, stops):
        return False
    for j in range(n):
        if motors[j].mode in (FREE, STUCK):
            continue
        shaken = (
            0.25 * span * (span * abs(world.drift[j, 1]) + shaken_acceleration(world, motors, j, start, span))
        )
        forward = motors[j].mode * world.ratio[j]
        if min(forward * world.y[n + j], forward * world.k[2, j], forward * world.y1[n + j]) < shaken:
            return False
    return True


@piece
def rubbing_window(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """``plain_window`` with dry friction."""
    world = records_at(world_at, 1, WORLD)[0]
    motors, stops = records_at(motors_at, world.m, MOTOR), records_at(stops_at, world.n, STOP)
    n = world.n
    if world.windows == 0:
        begin_rubbing(world, motors)
    open_window(world, span)
    foretell(world, motors, start, span)
    move_rubbing_arm(world, motors, span)
    steady = stick_on(world, motors, start, span)
    if steady:
        put_right(world, motors, span)
        steady = stays_so(world, motors, stops, start, span)
    if not steady:
        give_up(world)
        return
    take(world, motors, start, span)
    for j in range(n):
        world.z[FRICTION * n + j] += world.rubbed[j]
    world.since += span
    if world.windows % REFRESH == 0:
        look_at_free_inertia(world, motors)
    else:
        carry_on(world, span)
    look_ahead(world, span)
