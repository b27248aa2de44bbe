"""RK4 from edge to edge through the step that is generated for a robot (``kernels.emit_step``).

DC motors, each behind its own stiff gear, without dry friction, on a stiff bus; everything else, and every
interval with an event in it, is left to ``event_steps``. The two buffers of ``world.generated.buffers`` take turns:
what one step writes, the next one reads.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, piece
from servotwin.compiled.native_calls import call_address, records_at
from servotwin.drives.records import MOTOR, STOP
from servotwin.simulation.plant.records import WORLD
from servotwin.simulation.plant.status import PIECE_MISSING
from servotwin.simulation.windows.choice import Rejection

STATES = 3  # blocks of n: position, speed, current (see kernels.emit_step)
INTEGRALS = 4
CLOSE = 1e-15  # s: edges closer than this are one
END_STOP = int(Rejection.END_STOP)


@helper
def next_edge(world: Any, motors: Any, start: float, t: float, span: float) -> float:
    """Set every bridge as it stands at ``start + t``; the next edge of any motor, or ``span``."""
    pattern = world.pattern
    following = span
    for j in range(world.m):
        place = pattern.place[j]
        while place < pattern.edges[j] and pattern.times[j, place] - start <= t + CLOSE:
            place += 1
        if place < pattern.edges[j]:
            following = min(following, pattern.times[j, place] - start)
        pattern.place[j] = place
        motors[j].s_a = pattern.level_a[j, place]
        motors[j].s_b = pattern.level_b[j, place]
    return following


@helper
def count_intervals(world: Any, T: float) -> None:
    """Note into how many intervals the edges of all bridges cut this period, if it is the most so far."""
    state, pattern = world.state, world.pattern
    made = 1
    for j in range(world.m):
        made += pattern.edges[j]
    if made <= state.intervals_max:
        return
    made = 1
    for j in range(world.m):
        for k in range(pattern.edges[j]):
            at = pattern.times[j, k]
            if CLOSE < at < T - CLOSE and not switched_before(world, j, k):
                made += 1
    state.intervals_max = max(state.intervals_max, made)


@helper
def switched_before(world: Any, motor: int, edge: int) -> bool:
    """True if an edge that stands before this one in the table falls on the same instant."""
    pattern = world.pattern
    at = pattern.times[motor, edge]
    for j in range(motor + 1):
        for k in range(edge if j == motor else pattern.edges[j]):
            if abs(pattern.times[j, k] - at) <= CLOSE:
                return True
    return False


@helper
def load_buffers(world: Any) -> None:
    """State and motors into both buffers."""
    dc, generated = world.dc, world.generated
    n = world.n
    for side in range(2):
        at = 1
        for i in range(STATES * n):
            generated.buffers[side, at + i] = world.state.y[i]
        at += STATES * n
        for i in range(INTEGRALS * n):
            generated.buffers[side, at + i] = world.state.z[i]
        at += INTEGRALS * n
        for j in range(n):
            generated.buffers[side, at + n + j] = dc.inverse_L[j]
            generated.buffers[side, at + 2 * n + j] = dc.decay[j]
            generated.buffers[side, at + 3 * n + j] = dc.joint_emf_rate[j]
            generated.buffers[side, at + 4 * n + j] = dc.joint_K[j]
            generated.buffers[side, at + 5 * n + j] = world.viscous[j]
            generated.buffers[side, at + 6 * n + j] = dc.K[j]


@helper
def store_state(world: Any, side: int) -> None:
    """State and integrals from a buffer."""
    n = world.n
    for i in range(STATES * n):
        world.state.y[i] = world.generated.buffers[side, 1 + i]
    for i in range(INTEGRALS * n):
        world.state.z[i] = world.generated.buffers[side, 1 + STATES * n + i]


@helper
def leave_rest(world: Any, side: int, t: float) -> None:
    """Leave the rest of the window to ``event_steps``; if the pieces for events are not there yet, all of it."""
    if world.code.change_modes == 0:
        world.state.status = PIECE_MISSING
        for j in range(world.m):
            world.pattern.place[j] = 0
    else:
        store_state(world, side)
        world.scratch.reached, world.scratch.rejected = t, END_STOP


@piece
def generated_rk4(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """One window, interval by interval; ends early, at ``world.scratch.reached``, before an interval with an event."""
    world = records_at(world_at, 1, WORLD)[0]
    code, generated = world.code, world.generated
    motors, stops = records_at(motors_at, world.m, MOTOR), records_at(stops_at, world.n, STOP)
    n, steps = world.n, world.steps
    volts = 1 + (STATES + INTEGRALS) * n
    load_buffers(world)
    for j in range(n):
        motors[j].i_peak = max(motors[j].i_peak, abs(world.state.y[2 * n + j]))
    side, t = 0, 0.0
    while span - t > 1e-15:
        following = next_edge(world, motors, start, t, span)
        for j in range(n):
            volt = motors[j].s_a * world.state.u_bus
            generated.buffers[0, volts + j] = volt
            generated.buffers[1, volts + j] = volt
        h = (following - t) / steps
        generated.buffers[0, 0] = generated.buffers[1, 0] = h
        for part in range(steps):
            if side == 0:
                call_address(
                    code.step_entry,
                    code.buffers_at,
                    code.buffers_at + code.buffer_size,
                    code.step_data,
                )
            else:
                call_address(
                    code.step_entry,
                    code.buffers_at + code.buffer_size,
                    code.buffers_at,
                    code.step_data,
                )
            side = 1 - side
            for j in range(n):
                if not stops[j].low <= generated.buffers[side, 1 + j] <= stops[j].high:
                    leave_rest(world, 1 - side, t + part * h)
                    return
        for j in range(n):
            motors[j].i_peak = max(motors[j].i_peak, abs(generated.buffers[side, 1 + 2 * n + j]))
        t = following
    store_state(world, side)
    world.scratch.reached = span
