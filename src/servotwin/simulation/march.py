"""RK4 over fine time intervals, for plain robots through their generated step.

DC motors, each behind its own stiff gear, without dry friction, on a stiff bus; everything else, and every
interval with an event in it, goes the general road of ``steps``. The two buffers of ``world.march`` take turns:
what one step writes, the next one reads.
"""

from __future__ import annotations

from typing import Any

from servotwin.drives.records import MOTOR, STOP
from servotwin.dynamics.recursive.jit import helper, piece
from servotwin.kernels.address import call_address, records_at
from servotwin.simulation.steps import WANTING
from servotwin.simulation.work import WORLD

STATES = 3  # blocks of n: position, speed, current (see kernels.emit_step)
INTEGRALS = 4
CLOSE = 1e-15  # s: edges closer than this are one


@helper
def next_edge(world: Any, motors: Any, start: float, t: float, span: float) -> float:
    """Set every bridge as it stands at ``start + t``; the next edge of any motor, or ``span``."""
    following = span
    for j in range(world.m):
        place = world.place[j]
        while place < world.edges[j] and world.times[j, place] - start <= t + CLOSE:
            place += 1
        if place < world.edges[j]:
            following = min(following, world.times[j, place] - start)
        world.place[j] = place
        motors[j].s_a = world.level_a[j, place]
        motors[j].s_b = world.level_b[j, place]
    return following


@helper
def count_intervals(world: Any, T: float) -> None:
    """Note into how many intervals the edges of all bridges cut this period, if it is the most so far."""
    made = 1
    for j in range(world.m):
        made += world.edges[j]
    if made <= world.intervals_max:
        return
    made = 1
    for j in range(world.m):
        for k in range(world.edges[j]):
            at = world.times[j, k]
            if CLOSE < at < T - CLOSE and not switched_before(world, j, k):
                made += 1
    world.intervals_max = max(world.intervals_max, made)


@helper
def switched_before(world: Any, motor: int, edge: int) -> bool:
    """True if an edge that stands before this one in the table falls on the same instant."""
    at = world.times[motor, edge]
    for j in range(motor + 1):
        for k in range(edge if j == motor else world.edges[j]):
            if abs(world.times[j, k] - at) <= CLOSE:
                return True
    return False


@helper
def take_over(world: Any) -> None:
    """State and motors into both buffers."""
    n = world.n
    for side in range(2):
        at = 1
        for i in range(STATES * n):
            world.march[side, at + i] = world.y[i]
        at += STATES * n
        for i in range(INTEGRALS * n):
            world.march[side, at + i] = world.z[i]
        at += INTEGRALS * n
        for j in range(n):
            world.march[side, at + n + j] = world.slope[j]
            world.march[side, at + 2 * n + j] = world.decay[j]
            world.march[side, at + 3 * n + j] = world.back[j]
            world.march[side, at + 4 * n + j] = world.pull[j]
            world.march[side, at + 5 * n + j] = world.drag[j]
            world.march[side, at + 6 * n + j] = world.emf[j]


@helper
def give_back(world: Any, side: int) -> None:
    """State and integrals from a buffer."""
    n = world.n
    for i in range(STATES * n):
        world.y[i] = world.march[side, 1 + i]
    for i in range(INTEGRALS * n):
        world.z[i] = world.march[side, 1 + STATES * n + i]


@helper
def stay_before(world: Any, side: int, t: float) -> None:
    """Leave the rest of the window to the general road; if that is not compiled yet, all of it."""
    if world.advance_piece == 0:
        world.status = WANTING
        for j in range(world.m):
            world.place[j] = 0
    else:
        give_back(world, side)
        world.reached = t


@piece
def march(world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float) -> None:
    """One window, interval by interval; ends early, at ``world.reached``, before an interval with an event."""
    world = records_at(world_at, 1, WORLD)[0]
    motors, stops = records_at(motors_at, world.m, MOTOR), records_at(stops_at, world.n, STOP)
    n, steps = world.n, world.steps
    volts = 1 + (STATES + INTEGRALS) * n
    take_over(world)
    for j in range(n):
        motors[j].i_peak = max(motors[j].i_peak, abs(world.y[2 * n + j]))
    side, t = 0, 0.0
    while span - t > 1e-15:
        following = next_edge(world, motors, start, t, span)
        for j in range(n):
            volt = motors[j].s_a * world.u_bus
            world.march[0, volts + j] = volt
            world.march[1, volts + j] = volt
        h = (following - t) / steps
        world.march[0, 0] = world.march[1, 0] = h
        for part in range(steps):
            if side == 0:
                call_address(
                    world.step_entry, world.march_at, world.march_at + world.march_size, world.step_data
                )
            else:
                call_address(
                    world.step_entry, world.march_at + world.march_size, world.march_at, world.step_data
                )
            side = 1 - side
            for j in range(n):
                if not stops[j].low <= world.march[side, 1 + j] <= stops[j].high:
                    stay_before(world, 1 - side, t + part * h)
                    return
        for j in range(n):
            motors[j].i_peak = max(motors[j].i_peak, abs(world.march[side, 1 + 2 * n + j]))
        t = following
    give_back(world, side)
    world.reached = span
