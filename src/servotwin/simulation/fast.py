r"""The fast method for the switched system: exact currents, the arm at its own pace.

Over a window of the PWM pattern the currents are propagated exactly from edge to edge (eq:exact-current).
The arm does not follow every edge; it gets the straight line :math:`\tau(t) = a_0 + a_1 t` with the same
impulse and the same moment as the pulsed torque,

.. math:: a_1 = \frac{12}{S^3}\Bigl(\int_0^S \tau t\,dt - \frac S2 \int_0^S \tau\,dt\Bigr), \qquad
          a_0 = \frac1S \int_0^S \tau\,dt - \frac S2 a_1                                (eq:moment-match)

so that speed and angle at the end of the window are those of the pulsed torque up to the change of the
inertia within the window. A third-order step with an embedded second-order one carries the arm. The speed
that the currents saw is compared with the speed that came out; where it matters, the window is redone. A window
in which something sticks, slips or meets a stop is taken back and left to ``loop``, which goes from edge to edge.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.drives.exact import dc_interval
from servotwin.drives.motors import note_peaks, pmsm_torque
from servotwin.drives.records import MOTOR, POWER, STOP
from servotwin.drives.synchronous import pmsm_interval
from servotwin.dynamics.recursive.jit import helper, part, piece
from servotwin.kernels.address import call_piece, records_at
from servotwin.simulation.plant import (
    DC,
    ELECTRIC,
    IDEAL,
    PMSM,
    REDUCED,
    SQUARE,
    TORQUE,
    rotor,
)
from servotwin.simulation.steps import acceleration_in, speed
from servotwin.simulation.work import PER_MOTOR, WORLD

REDO = (
    1.0  # rad/s of a rotor per unit of tolerance: a window that misses more is redone with the better guess
)
ATTEMPTS = 4


@helper
def bus_voltage(world: Any) -> float:
    """Voltage of the bus now [V]."""
    return world.y[world.at_bus] if world.at_bus >= 0 else world.u_bus  # type: ignore[no-any-return]


@part
def window_currents(world: Any, motors: Any, u: float, start: float, span: float, mean: int) -> None:
    """Currents of all motors over a window, their integrals, and their torque as a line.

    With ``mean`` they answer to the mean of the pulses only: a cheap and close first guess.
    """
    for j in range(world.m):
        motor = motors[j]
        k = motor.current_at
        i = world.y[k] if k >= 0 else 0.0
        i_q = flux_d = flux_q = g_d = g_q = cos = sin = c = s = 0.0
        if motor.kind == PMSM:
            i_q, g_d, g_q = world.y[k + 1], 1.0 / motor.L_d, 1.0 / motor.L_q
            flux_d, flux_q = motor.L_d * i + motor.psi, motor.L_q * i_q
            cos, sin = math.cos(motor.pole_pairs * motor.theta), math.sin(motor.pole_pairs * motor.theta)
            c, s = cos, sin
        torque = moment = square = energy = charge = passed = 0.0
        R, L, K = motor.R + motor.R_bridge, motor.L, motor.K
        most, strongest = abs(i), abs(K * i)
        if motor.kind == PMSM:
            most, strongest = math.hypot(i, i_q), abs(pmsm_torque(motor, i, i_q))
        edges = 0 if mean else world.edges[j]
        for e in range(edges + 1):
            begin = start if e == 0 else max(start, world.times[j, e - 1])
            end = start + span if e == edges else min(start + span, world.times[j, e])
            tau = end - begin
            if tau <= 0.0:
                continue
            level = world.mean_a[j] if mean else world.level_a[j, e]
            level_b = world.mean_b[j] if mean else world.level_b[j, e]
            w = motor.w + passed * (motor.w_dot + passed * motor.w_ddot / 2)
            slope = motor.w_dot + motor.w_ddot * passed
            first = lever = i2 = gained = i_q_passed = 0.0
            if motor.kind == DC:
                if not motor.open:
                    i, first, lever, i2 = dc_interval(R, L, K, level * u, i, w, slope, motor.w_ddot, tau)
                    gained = level * u * first
                    first, lever = K * first, K * lever
            elif motor.kind == PMSM and not motor.open:
                flux_d, flux_q, c, s, first, lever, _, _, gained, i2, i_q_passed = pmsm_interval(
                    world.points, R, g_d, g_q, motor.psi, motor.pole_pairs, motor.w, motor.w_dot, motor.w_ddot,
                    cos, sin, c, s, level * u, level_b * u, flux_d, flux_q, passed, tau, passed,
                )  # fmt: skip
                i, i_q = (flux_d - motor.psi) * g_d, flux_q * g_q
            elif motor.kind == REDUCED and not motor.open:
                i, rate, bend = (level * u - K * w) / R, -K * slope / R, -K * motor.w_ddot / R
                first = tau * (i + tau * (rate / 2 + tau * bend / 6))
                lever = tau * tau * (i / 2 + tau * (rate / 3 + tau * bend / 8))
                third = (rate * rate + i * bend) / 3 + tau * (rate * bend / 4 + tau * bend * bend / 20)
                i2 = tau * (i * i + tau * (i * rate + tau * third))
                most, strongest = max(most, abs(i)), max(strongest, abs(K * i))
                i += tau * (rate + tau * bend / 2)
                gained = level * u * first
                first, lever = K * first, K * lever
            torque, moment = torque + first, moment + lever + passed * first
            square, energy, charge = square + i2, energy + gained, charge + i_q_passed
            if motor.kind == PMSM:
                most = max(most, math.hypot(i, i_q))
                strongest = max(strongest, abs(pmsm_torque(motor, i, i_q)))
            else:
                most, strongest = max(most, abs(i)), max(strongest, abs(K * i))
            passed += tau
        if motor.kind == IDEAL and not motor.open:
            torque, moment = motor.torque_command * span, motor.torque_command * span * span / 2
            most, strongest = abs(motor.torque_command / K), abs(motor.torque_command)
        world.most[j, 0], world.most[j, 1] = most, strongest
        if k >= 0:
            world.next_i[k] = i
            if motor.kind == PMSM:
                world.next_i[k + 1] = i_q
                world.window[motor.charge_at] = charge
        world.a1[j] = 12.0 / span**3 * (moment - torque * span / 2)  # eq:moment-match
        world.a0[j] = torque / span - world.a1[j] * span / 2
        world.window[ELECTRIC * world.m + j] = energy
        world.window[SQUARE * world.m + j] = square
        world.window[TORQUE * world.m + j] = torque


@helper
def look_back(world: Any, motors: Any, span: float) -> float:
    """Derivatives of the motor speeds over the window, as the arm gave them; how far the guess was off.

    The measure is the speed of a rotor that the missed current would have made, by the most of all motors.
    """
    worst = 0.0
    for j in range(world.m):
        motor = motors[j]
        w_dot = acceleration_in(world, motor, j, 0)
        w_ddot = 2.0 * (speed(world, motors, world.y, j) - motor.w - w_dot * span) / (span * span)
        off = abs(w_dot - motor.w_dot) + abs(w_ddot - motor.w_ddot) * span
        gain = 0.0
        if motor.kind == DC:
            gain = motor.K * motor.K * span**3 / (6 * motor.L * motor.J)
        elif motor.kind == PMSM:
            gain = motor.K * motor.psi * motor.pole_pairs * span**3 / (6 * motor.L_q * motor.J)
        elif motor.kind == REDUCED:
            gain = motor.K * motor.K * span**2 / (2 * motor.R * motor.J)
        worst = max(worst, off * gain)
        motor.w_dot, motor.w_ddot = w_dot, w_ddot
    return worst


@helper
def save_modes(world: Any, motors: Any, stops: Any) -> None:
    """Remember what events change beside the state."""
    for j in range(world.m):
        motor = motors[j]
        world.saved[j, 0], world.saved[j, 1] = motor.mode, motor.slack
        world.saved[j, 2], world.saved[j, 3] = motor.contact, motor.g
    for i in range(world.n):
        stop, at = stops[i], world.m + i
        world.saved[at, 0], world.saved[at, 1], world.saved[at, 2] = stop.state, stop.reaction, stop.touched
        world.saved[at, 3], world.saved[at, 4] = stop.mode, stop.slack


@helper
def restore_modes(world: Any, motors: Any, stops: Any) -> None:
    """Go back to what ``save_modes`` remembered."""
    for j in range(world.m):
        motor = motors[j]
        motor.mode, motor.slack = int(world.saved[j, 0]), world.saved[j, 1]
        motor.contact, motor.g = int(world.saved[j, 2]), world.saved[j, 3]
    for i in range(world.n):
        stop, at = stops[i], world.m + i
        stop.state, stop.reaction = int(world.saved[at, 0]), world.saved[at, 1]
        stop.touched = int(world.saved[at, 2])
        stop.mode, stop.slack = int(world.saved[at, 3]), world.saved[at, 4]


@piece
def fast_window(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """Carry the plant over a window that begins ``start`` seconds after the PWM period."""
    world = records_at(world_at, 1, WORLD)[0]
    power, motors = records_at(power_at, 1, POWER), records_at(motors_at, world.m, MOTOR)
    u = bus_voltage(world)
    if world.at_bus >= 0:
        u += 0.5 * world.bus_step  # in the middle of the window, as the bus went in the last one
    for i in range(world.n_y):
        world.y0[i] = world.y[i]
    for i in range(world.n_z):
        world.z0[i] = world.z[i]
    error, events = world.error, world.events
    stops = records_at(stops_at, world.n, STOP)
    save_modes(world, motors, stops)
    impact_J, simple = world.impact_J, world.simple
    for attempt in range(ATTEMPTS):
        window_currents(world, motors, u, start, span, 1 if attempt == 0 else 0)
        call_piece(world.advance_piece, world_at, power_at, motors_at, stops_at, 0.0, span)
        worst = look_back(world, motors, span)
        happened = world.events != events or world.status != 0
        if not happened and attempt > 0 and (worst <= REDO * world.tolerance or attempt == ATTEMPTS - 1):
            break
        for i in range(world.n_y):
            world.y[i] = world.y0[i]
        for i in range(world.n_z):
            world.z[i] = world.z0[i]
        world.error = error
        if happened:  # what stuck, slipped, met a stop or ran away is for the method that sees every edge
            restore_modes(world, motors, stops)
            world.impact_J, world.simple, world.events, world.redo = impact_J, simple, events, 1
            world.status = 0
            return
    world.missed = max(world.missed, worst)
    for j in range(world.m):
        k = motors[j].current_at
        if k >= 0:
            world.y[k] = world.next_i[k]
            if motors[j].kind == PMSM:
                world.y[k + 1] = world.next_i[k + 1]
                world.z[motors[j].charge_at] += world.window[motors[j].charge_at]
        note_peaks(motors[j], world.most[j, 0], world.most[j, 1])
        if motors[j].kind == IDEAL:
            turned = rotor(world, motors, world.y, j)[0] - motors[j].theta
            world.window[ELECTRIC * world.m + j] = world.window[TORQUE * world.m + j] / span * turned
        for kind in (ELECTRIC, SQUARE, TORQUE):
            world.z[kind * world.m + j] += world.window[kind * world.m + j]
    if world.at_bus >= 0:
        bus_window(world, power, motors, span)


@part
def bus_window(world: Any, power: Any, motors: Any, span: float) -> None:
    """Bus voltage after a window, from the energy that went in and out (eq:dc-bus in energies)."""
    p, at, base = power[0], world.at_bus, PER_MOTOR * world.m
    u0, spent = world.y[at], 0.0
    for j in range(world.m):
        if motors[j].kind != IDEAL:  # which has no bridge
            spent += world.window[ELECTRIC * world.m + j]
    low, high = 0.0, 4.0 * max(u0, p.u_source)
    for _ in range(60):
        u1 = 0.5 * (low + high)
        middle = 0.5 * (u0 + u1)
        supply = max(0.0, (p.u_source - middle) / p.R_supply)
        resistor = middle / p.R_brake if p.braking else 0.0
        gained = middle * (supply - resistor) * span - spent
        if 0.5 * p.C * (u1 * u1 - u0 * u0) > gained:
            high = u1
        else:
            low = u1
    world.y[at], world.bus_step = u1, u1 - u0
    world.z[base] += p.u_source * supply * span
    world.z[base + 1] += middle * resistor * span
    world.z[base + 2] += (p.u_source - middle) * supply * span
