"""Compiled code of all kinds of actuators, chosen by the kind of each motor: the compiled half of ``drives.table``.

The rest of the simulator knows what feeds a motor (``feed``) and how many states it has (``width``), not its kind.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.compiled.native_calls import call_actuator
from servotwin.drives.dc import DC as DC_KIND
from servotwin.drives.dc.model import dc_rates, dc_speed_gain, dc_window_interval
from servotwin.drives.dc_reduced import DC_REDUCED as DC_REDUCED_KIND
from servotwin.drives.dc_reduced.model import (
    dc_reduced_current,
    dc_reduced_rates,
    dc_reduced_speed_gain,
    dc_reduced_window_interval,
)
from servotwin.drives.hydraulic import HYDRAULIC as HYDRAULIC_KIND
from servotwin.drives.hydraulic.model import (
    PRESSURE_A,
    PRESSURE_B,
    SPOOL,
    axis_rates,
    draw_rate,
    effort,
    relief_flow,
)
from servotwin.drives.kind import Feed
from servotwin.drives.own import CHARGE, CODE, EFFORT, LOSS, LOST, POWER, WORK
from servotwin.drives.pmsm import PMSM as PMSM_KIND
from servotwin.drives.pmsm.interval import pmsm_interval
from servotwin.drives.pmsm.model import pmsm_rates, pmsm_speed_gain, pmsm_torque, stator_currents

DC, DC_REDUCED, PMSM, OWN = DC_KIND.code, DC_REDUCED_KIND.code, PMSM_KIND.code, CODE
HYDRAULIC = HYDRAULIC_KIND.code
COMMAND, H_BRIDGE, THREE_PHASE = int(Feed.COMMAND), int(Feed.H_BRIDGE), int(Feed.THREE_PHASE)


@helper
def actuator_rates(
    world: Any, motor: Any, u_bus: float, theta: float, w: float, y: Any, dy: Any, dz: Any
) -> tuple[float, float, float, float]:
    """Torque [N m], power from the supply [W], i^2 [A^2], current from the bus [A]; the rates of its states in dy."""
    if motor.kind == DC:
        return dc_rates(motor, u_bus, w, y, dy)
    if motor.kind == PMSM:
        return pmsm_rates(motor, u_bus, theta, w, y, dy)
    if motor.kind == DC_REDUCED:
        return dc_reduced_rates(motor, u_bus, w)
    if motor.kind == OWN:
        return own_rates(world, motor, u_bus, theta, w, dz)
    if motor.kind == HYDRAULIC:
        return hydraulic_rates(world, motor, theta, w, y, dy, dz)
    tau = 0.0 if motor.open else motor.torque_command
    return tau, tau * w, 0.0, 0.0


@helper
def own_rates(
    world: Any, motor: Any, u_bus: float, theta: float, w: float, dz: Any
) -> tuple[float, float, float, float]:
    """The same of an actuator of the user's, whose current is its command; y and dy are always those of the record."""
    code, out, k = world.code, world.scratch.actuator_out, max(motor.current_at, 0)
    command, supply = (0.0, 0.0) if motor.open else (motor.current_command, u_bus)
    call_actuator(
        motor.own_rates, code.ys_at + 8 * k, code.dy_at + 8 * k, code.actuator_out_at, motor.own_parameters,
        theta, w, command, supply,
    )  # fmt: skip
    at = motor.loss_at
    dz[at + LOST], dz[at + WORK], dz[at + CHARGE] = out[LOSS], out[EFFORT] * w, command
    return out[EFFORT], out[POWER], command * command, 0.0


@helper
def own_effort(world: Any, motor: Any, u_bus: float, theta: float, w: float, y: Any) -> float:
    """Torque [N m] of an actuator of the user's in a state y; its rates are left at its place in ``scratch.dy``."""
    scratch = world.scratch
    for k in range(motor.current_at, motor.current_at + motor.width):
        scratch.ys[k] = y[k]
    return own_rates(world, motor, u_bus, theta, w, scratch.dz)[0]


@helper
def hydraulic_rates(
    world: Any, motor: Any, x: float, v: float, y: Any, dy: Any, dz: Any
) -> tuple[float, float, float, float]:
    """The same of a hydraulic axis; its energy comes from the hydraulic supply, whose integrals are its own."""
    i = 0.0 if motor.open else motor.current_command
    p_s = supply_pressure(world, y)
    force, drawn, rate = axis_rates(
        motor.hydraulic, world.supply, i, x, v, p_s, y, dy, motor.current_at, dz, motor.loss_at
    )
    if world.at_supply >= 0:
        dy[world.at_supply] += drawn
        k = motor.current_at
        settling = draw_rate(
            motor.hydraulic, world.supply, y[k + SPOOL], y[k + PRESSURE_A], y[k + PRESSURE_B], p_s
        )
        rate = max(rate, world.supply.axes * settling)  # of all axes together: at most as if each drew so
    world.scratch.fastest = max(world.scratch.fastest, rate)
    return force, 0.0, 0.0, 0.0


@helper
def supply_pressure(world: Any, y: Any) -> float:
    """Pressure of the hydraulic supply [Pa]."""
    return y[world.at_supply] if world.at_supply >= 0 else world.supply.pressure  # type: ignore[no-any-return]


@part
def watch_pressures(world: Any, motors: Any) -> None:
    """Extremes of pressures and openings at this instant."""
    y, supply = world.state.y, world.supply
    p_s = supply_pressure(world, y)
    supply.p_low, supply.p_high = min(supply.p_low, p_s), max(supply.p_high, p_s)
    supply.relief_peak = max(supply.relief_peak, relief_flow(supply, p_s))
    for j in range(world.m):
        motor = motors[j]
        if motor.kind != HYDRAULIC:
            continue
        axis, k = motor.hydraulic, motor.current_at
        p_a, p_b = y[k + PRESSURE_A], y[k + PRESSURE_B]
        axis.p_a_low, axis.p_a_high = min(axis.p_a_low, p_a), max(axis.p_a_high, p_a)
        axis.p_b_low, axis.p_b_high = min(axis.p_b_low, p_b), max(axis.p_b_high, p_b)
        axis.opening_peak = max(axis.opening_peak, abs(y[k + SPOOL]))


@part
def watch_hydraulics(world: Any, motors: Any, start: int) -> None:
    """After a window since ``start`` [ns]: how long chambers were cavitated, and valves asked for all they have."""
    y = world.state.y
    for j in range(world.m):
        motor = motors[j]
        if motor.kind != HYDRAULIC:
            continue
        axis, k = motor.hydraulic, motor.current_at
        if min(y[k + PRESSURE_A], y[k + PRESSURE_B]) < world.supply.cavitation:
            if axis.cavitated_ns == 0:
                axis.cavitated_from = start
            axis.cavitated_ns += world.state.now - start
        if not motor.open and abs(motor.current_command) >= axis.rated_current:
            axis.limited_ns += world.state.now - start


@helper
def current_and_torque(
    world: Any, motor: Any, u_bus: float, theta: float, w: float, y: Any
) -> tuple[float, float]:
    """Current [A] and torque [N m] in a state y; the current of a synchronous motor is its amplitude.

    The torque is computed from y: ``motor.tau`` is that of the last stage, which may be of a step that was rejected.
    """
    k = motor.current_at
    if motor.kind == DC:
        return y[k], motor.K * y[k]
    if motor.kind == PMSM:
        return math.hypot(y[k], y[k + 1]), pmsm_torque(motor, y[k], y[k + 1])
    if motor.kind == OWN:
        return asked_current(motor), own_effort(world, motor, u_bus, theta, w, y)
    if motor.kind == HYDRAULIC:
        return asked_current(motor), effort(motor.hydraulic, y[k + PRESSURE_A], y[k + PRESSURE_B])
    if motor.open:
        return 0.0, 0.0
    if motor.kind == DC_REDUCED:
        i = dc_reduced_current(motor, motor.s_a * u_bus, w)
        return i, motor.K * i
    return motor.torque_command / motor.K, motor.torque_command


@helper
def asked_current(motor: Any) -> float:
    """Current that the servo asks for, and that the wire carries [A]."""
    return 0.0 if motor.open else motor.current_command


@helper
def shown_current(world: Any, motor: Any, u_bus: float, theta: float, w: float, y: Any) -> float:
    """Current of the winding, or of phase a of three [A]."""
    if motor.kind == PMSM:
        return stator_currents(motor, theta, y[motor.current_at], y[motor.current_at + 1])[0]
    return current_and_torque(world, motor, u_bus, theta, w, y)[0]


@helper
def currents_at_start(motor: Any, y: Any) -> tuple[float, float, float, float, float, float, float, float]:
    """Currents i and i_q, fluxes d and q, cosine and sine of the electrical angle, size of current and torque."""
    k = motor.current_at
    if motor.kind != PMSM:
        i = y[k] if k >= 0 else 0.0
        return i, 0.0, 0.0, 0.0, 0.0, 0.0, abs(i), abs(motor.K * i)
    i, i_q = y[k], y[k + 1]
    cos, sin = math.cos(motor.pole_pairs * motor.theta), math.sin(motor.pole_pairs * motor.theta)
    flux_d, flux_q = motor.L_d * i + motor.psi, motor.L_q * i_q
    return i, i_q, flux_d, flux_q, cos, sin, math.hypot(i, i_q), abs(pmsm_torque(motor, i, i_q))


@helper
def window_interval(
    world: Any, motor: Any, u: float, u_b: float, i: float, i_q: float, flux_d: float, flux_q: float,
    cos: float, sin: float, c: float, s: float, passed: float, tau: float,
) -> tuple[
    float, float, float, float, float, float, float, float, float, float, float, float, float
]:  # fmt: skip
    """A motor over ``tau`` seconds of a window, between two edges, exactly.

    ``u``, ``u_b``: voltage, of three phases alpha and beta; ``passed``: time since the window began; ``cos``, ``sin``
    and ``c``, ``s``: of the electrical angle when the window and when the interval began. Gives i, i_q, fluxes, c, s,
    then impulse and moment of the torque, integral of i^2, energy, integral of i_q, largest current and torque.
    """
    w = motor.w + passed * (motor.w_dot + passed * motor.w_ddot / 2)
    slope = motor.w_dot + motor.w_ddot * passed
    first = lever = square = gained = charge = 0.0
    if motor.kind == DC:
        i, first, lever, square, gained = dc_window_interval(motor, u, i, w, slope, tau)
    elif motor.kind == PMSM:
        if not motor.open:
            g_d, g_q = 1.0 / motor.L_d, 1.0 / motor.L_q
            flux_d, flux_q, c, s, first, lever, _, _, gained, square, charge = pmsm_interval(
                world.scratch.flux_points, motor.R + motor.R_bridge, g_d, g_q, motor.psi, motor.pole_pairs,
                motor.w, motor.w_dot, motor.w_ddot, cos, sin, c, s, u, u_b, flux_d, flux_q, passed, tau, passed,
            )  # fmt: skip
            i, i_q = (flux_d - motor.psi) * g_d, flux_q * g_q
        most, strongest = math.hypot(i, i_q), abs(pmsm_torque(motor, i, i_q))
        return i, i_q, flux_d, flux_q, c, s, first, lever, square, gained, charge, most, strongest
    elif motor.kind == DC_REDUCED:
        i, before, first, lever, square, gained = dc_reduced_window_interval(motor, u, w, slope, tau)
        most = max(abs(before), abs(i))
        return i, i_q, flux_d, flux_q, c, s, first, lever, square, gained, charge, most, abs(motor.K) * most
    return i, i_q, flux_d, flux_q, c, s, first, lever, square, gained, charge, abs(i), abs(motor.K * i)


@helper
def speed_gain(motor: Any, span: float) -> float:
    """Speed of the rotor by the current that a missed acceleration makes in a window [s]."""
    if motor.kind == DC:
        return dc_speed_gain(motor, span)
    if motor.kind == PMSM:
        return pmsm_speed_gain(motor, span)
    if motor.kind == DC_REDUCED:
        return dc_reduced_speed_gain(motor, span)
    return 0.0
