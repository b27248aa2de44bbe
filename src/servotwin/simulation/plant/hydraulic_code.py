"""Compiled code of hydraulic axes and of the supply that they share, called by address where a robot has them.

A piece gets the records of the machine and, in the place of the stops, a whole number that its sentence names.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, piece
from servotwin.compiled.native_calls import records_at
from servotwin.drives.hydraulic.model import axis_rates, draw_rate, relief_flow, seal_friction, supply_rates
from servotwin.drives.hydraulic.records import (
    CUSHIONED,
    FROM_SUPPLY,
    LEAKED,
    PRESSURE_A,
    PRESSURE_B,
    SPOOL,
    SUPPLIED,
    THROTTLED,
)
from servotwin.drives.own import EFFORT
from servotwin.drives.records import MOTOR
from servotwin.simulation.plant.records import WORLD


@helper
def supply_pressure(world: Any, y: Any) -> float:
    """Pressure of the hydraulic supply [Pa]."""
    return y[world.at_supply] if world.at_supply >= 0 else world.supply.pressure  # type: ignore[no-any-return]


@helper
def has_chambers(motor: Any) -> bool:
    """Whether a motor is one of these axes."""
    return motor.chambers_at >= 0  # type: ignore[no-any-return]


@piece
def hydraulic_rates(world_at: int, power_at: int, motors_at: int, j: int, x: float, v: float) -> None:
    """Effort and rates of axis ``j`` at the position x [m, rad] and speed v, on y, dy and dz of the record."""
    world = records_at(world_at, 1, WORLD)[0]
    motor = records_at(motors_at, world.m, MOTOR)[j]
    scratch, axis, k = world.scratch, motor.hydraulic, motor.current_at
    y, dy = scratch.ys, scratch.dy
    i = 0.0 if motor.open else motor.current_command
    p_s = supply_pressure(world, y)
    force, drawn, rate = axis_rates(axis, world.supply, i, x, v, p_s, y, dy, k, scratch.dz, motor.loss_at)
    if world.at_supply >= 0:
        dy[world.at_supply] += drawn
        settling = draw_rate(axis, world.supply, y[k + SPOOL], y[k + PRESSURE_A], y[k + PRESSURE_B], p_s)
        rate = max(rate, world.supply.axes * settling)  # of all axes together: at most as if each drew so
    scratch.fastest = max(scratch.fastest, rate)
    scratch.actuator_out[EFFORT] = force
    motor.seal_torque = seal_friction(
        axis.seal, axis.area_a, axis.area_b, y[k + PRESSURE_A], y[k + PRESSURE_B]
    )


@piece
def hydraulic_supply(
    world_at: int, power_at: int, motors_at: int, unused: int, t: float, span: float
) -> None:
    """Rate of the supply pressure, after the axes have entered what they draw in its place."""
    world = records_at(world_at, 1, WORLD)[0]
    scratch, at = world.scratch, world.at_supply
    scratch.dy[at], rate = supply_rates(
        world.supply, scratch.ys[at], scratch.dy[at], scratch.dz, world.supply_z
    )
    scratch.fastest = max(scratch.fastest, rate)


@piece
def hydraulic_step(world_at: int, power_at: int, motors_at: int, unused: int, t: float, span: float) -> None:
    """After a step: extremes of pressures and openings at this instant."""
    world = records_at(world_at, 1, WORLD)[0]
    motors = records_at(motors_at, world.m, MOTOR)
    y, supply = world.state.y, world.supply
    p_s = supply_pressure(world, y)
    supply.p_low, supply.p_high = min(supply.p_low, p_s), max(supply.p_high, p_s)
    supply.relief_peak = max(supply.relief_peak, relief_flow(supply, p_s))
    for j in range(world.m):
        if not has_chambers(motors[j]):
            continue
        axis, k = motors[j].hydraulic, motors[j].current_at
        p_a, p_b = y[k + PRESSURE_A], y[k + PRESSURE_B]
        axis.p_a_low, axis.p_a_high = min(axis.p_a_low, p_a), max(axis.p_a_high, p_a)
        axis.p_b_low, axis.p_b_high = min(axis.p_b_low, p_b), max(axis.p_b_high, p_b)
        axis.opening_peak = max(axis.opening_peak, abs(y[k + SPOOL]))


@piece
def hydraulic_window(world_at: int, power_at: int, motors_at: int, start: int, t: float, span: float) -> None:
    """After a window since ``start`` [ns]: how long chambers were cavitated, and valves asked for all they have."""
    world = records_at(world_at, 1, WORLD)[0]
    motors = records_at(motors_at, world.m, MOTOR)
    y = world.state.y
    for j in range(world.m):
        motor = motors[j]
        if not has_chambers(motor):
            continue
        axis, k = motor.hydraulic, motor.current_at
        if min(y[k + PRESSURE_A], y[k + PRESSURE_B]) < world.supply.cavitation:
            if axis.cavitated_ns == 0:
                axis.cavitated_from = start
            axis.cavitated_ns += world.state.now - start
        if not motor.open and abs(motor.current_command) >= axis.rated_current:
            axis.limited_ns += world.state.now - start


@piece
def hydraulic_signals(world_at: int, power_at: int, motors_at: int, j: int, dt: float, unused: float) -> None:
    """Signals of axis ``j`` for a row, in the order of ``signal_table``; means are those over ``dt`` [s]."""
    world = records_at(world_at, 1, WORLD)[0]
    motor = records_at(motors_at, world.m, MOTOR)[j]
    y, z, before, k, at = world.state.y, world.state.z, world.record.z_row, motor.current_at, motor.loss_at
    lost = 0.0
    for integral in (THROTTLED, LEAKED, CUSHIONED):
        lost += z[at + integral] - before[at + integral]
    shown = world.scratch.signals
    shown[0], shown[1], shown[2] = y[k + PRESSURE_A], y[k + PRESSURE_B], supply_pressure(world, y)
    shown[3] = 0.0 if motor.open else motor.current_command
    shown[4] = y[k + SPOOL]
    shown[5] = (z[at + FROM_SUPPLY] - before[at + FROM_SUPPLY]) / dt
    shown[6] = (z[at + SUPPLIED] - before[at + SUPPLIED]) / dt
    shown[7] = lost / dt
