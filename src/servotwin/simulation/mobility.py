"""How the motors of a plain robot answer to their torques: B and the drift of eq:motor-mobility (see ``plain``)."""

from __future__ import annotations

from typing import Any

from servotwin.dynamics.recursive.jit import helper
from servotwin.kernels.address import call_address


@helper
def expect(world: Any) -> None:
    """Speeds from the torque lines (eq:motor-mobility)."""
    n = world.n
    for j in range(n):
        alpha, jerk = world.drift[j, 0], world.drift[j, 1]
        for k in range(n):
            alpha += world.B[j, k] * world.a0[k]  # eq:motor-mobility
            jerk += world.B[j, k] * world.a1[k]
        world.alpha[j], world.jerk[j] = alpha, jerk


@helper
def since_last_look(world: Any) -> float:
    """One over the time since B was looked at, which is now; 0 if it never was."""
    per = 1.0 / world.since if world.since > 0.0 else 0.0
    world.since = 0.0
    return per


@helper
def new_B(world: Any, j: int, k: int, value: float, per: float) -> None:
    """An entry of B as it is now, and how fast it changes."""
    world.B_rate[j, k] = (value - world.B_seen[j, k]) * per
    world.B[j, k] = world.B_seen[j, k] = value


@helper
def look_at_inertia(world: Any) -> None:
    """B of eq:motor-mobility where the arm is now, for its acceleration is affine in the torque; how fast B changes."""
    n, per = world.n, since_last_look(world)
    for j in range(2 * n):
        world.inputs[j] = world.y[j]
    for j in range(n):
        world.inputs[2 * n + j] = 0.0
    call_address(world.accel, world.inputs_at, world.outputs_at, world.accel_data)
    for j in range(n):
        world.qdd[j] = world.outputs[j]
    for k in range(n):
        world.inputs[2 * n + k] = world.ratio[k]
        call_address(world.accel, world.inputs_at, world.outputs_at, world.accel_data)
        world.inputs[2 * n + k] = 0.0
        for j in range(n):
            new_B(world, j, k, world.ratio[j] * (world.outputs[j] - world.qdd[j]), per)


@helper
def carry_on(world: Any, span: float) -> None:
    """B of the next window along its line."""
    for j in range(world.n):
        for k in range(world.n):
            world.B[j, k] += world.B_rate[j, k] * span


@helper
def look_ahead(world: Any, span: float) -> None:
    """Drift of eq:motor-mobility in the next window, from this one."""
    n = world.n
    for j in range(n):
        alpha, jerk = world.alpha[j], world.jerk[j]
        for k in range(n):
            alpha -= world.B[j, k] * world.a0[k]
            jerk -= world.B[j, k] * world.a1[k]
        world.drift[j, 0], world.drift[j, 1] = alpha + jerk * span, jerk


@helper
def open_window(world: Any, span: float) -> None:
    """One more window in a row, of this length."""
    world.windows += 1
    world.per_span = 1.0 / span
    world.per_cube = 12.0 * world.per_span * world.per_span * world.per_span


@helper
def past_stop(world: Any, stops: Any) -> bool:
    """True if a joint would end the window beyond its end stop."""
    past = False
    for i in range(world.n):
        past = past or world.y1[i] < stops[i].low or world.y1[i] > stops[i].high
    return past


@helper
def give_up(world: Any) -> None:
    """Leave the window to the method that sees every edge and finds the instant of an event."""
    world.redo, world.windows = 1, 0
