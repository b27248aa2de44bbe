r"""The fast method for the switched system: exact currents, the arm at its own pace.

Over a window of the PWM pattern the currents are propagated exactly from edge to edge (eq:exact-current).
The arm does not follow every edge; it gets the straight line :math:`\tau(t) = a_0 + a_1 t` with the same
impulse and the same moment as the pulsed torque,

.. math:: a_1 = \frac{12}{S^3}\Bigl(\int_0^S \tau t\,dt - \frac S2 \int_0^S \tau\,dt\Bigr), \qquad
          a_0 = \frac1S \int_0^S \tau\,dt - \frac S2 a_1                                (eq:moment-match)

so that speed and angle at the end of the window are those of the pulsed torque up to the change of the
inertia within the window. A third-order step with an embedded second-order one carries the arm. The speed
that the currents saw is compared with the speed that came out; where it matters, the window is redone. A window
in which something sticks, slips, meets a stop or jumps is rejected and left to ``event_steps``, from edge to edge.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part, piece
from servotwin.compiled.native_calls import call_piece, records_at
from servotwin.drives.peaks import update_peaks
from servotwin.drives.records import MOTOR, POWER, STOP
from servotwin.simulation.plant.actuators import (
    COMMAND,
    current_and_torque,
    currents_at_start,
    speed_gain,
    window_interval,
)
from servotwin.simulation.plant.event_steps import (
    SHORTEST,
    acceleration_in,
    acceleration_of,
    speed,
    until_jump,
)
from servotwin.simulation.plant.rates import ELECTRIC, SQUARE, TORQUE, rotor
from servotwin.simulation.plant.records import PER_MOTOR, WORLD
from servotwin.simulation.windows.choice import Rejection, Window, select_window

EVENT_STEPS = int(Window.EVENT_STEPS)
EVENT, FORCE_JUMP, COARSE_STEP = int(Rejection.EVENT), int(Rejection.FORCE_JUMP), int(Rejection.COARSE_STEP)
REDO = (
    1.0  # rad/s of a rotor per unit of tolerance: a window that misses more is redone with the better guess
)
ATTEMPTS = 4
LONGEST_WINDOW = (
    1.0  # of the time constants of actuators of the user's: a longer window goes from edge to edge
)
LONGEST_SWING = 0.4  # rad by which a rotor swings against its elastic gear in a window that is not left
FARTHEST = (
    1e-6  # rad/s of a rotor: a window whose last round missed more is left to the steps from edge to edge
)
COARSE = 100.0  # of the tolerance: estimated error, of second order, of an actuator that Runge-Kutta carries


@helper
def bus_voltage(world: Any) -> float:
    """Voltage of the bus now [V]."""
    return world.state.y[world.at_bus] if world.at_bus >= 0 else world.state.u_bus  # type: ignore[no-any-return]


@part
def window_currents(world: Any, motors: Any, u: float, start: float, span: float, mean: int) -> None:
    """Currents of all motors over a window, their integrals, and their torque as a line.

    With ``mean`` they answer to the mean of the pulses only: a cheap and close first guess.
    """
    pattern, line, general = world.pattern, world.line, world.general
    for j in range(world.m):
        motor = motors[j]
        if not motor.exact:  # Runge-Kutta carries it with the arm
            general.peak[j, 0], general.peak[j, 1] = current_and_torque(
                world, motor, u, motor.theta, motor.w, world.state.y
            )
            continue
        k = motor.current_at
        i, i_q, flux_d, flux_q, cos, sin, most, strongest = currents_at_start(motor, world.state.y)
        c, s = cos, sin
        torque = moment = square = energy = charge = passed = 0.0
        edges = 0 if mean else pattern.edges[j]
        for e in range(edges + 1):
            begin = start if e == 0 else max(start, pattern.times[j, e - 1])
            end = start + span if e == edges else min(start + span, pattern.times[j, e])
            tau = end - begin
            if tau <= 0.0:
                continue
            level = pattern.mean_a[j] if mean else pattern.level_a[j, e]
            level_b = pattern.mean_b[j] if mean else pattern.level_b[j, e]
            i, i_q, flux_d, flux_q, c, s, first, lever, i2, gained, i_q_passed, high, strong = (
                window_interval(
                    world, motor, level * u, level_b * u, i, i_q, flux_d, flux_q, cos, sin, c, s, passed, tau
                )
            )
            torque, moment = torque + first, moment + lever + passed * first
            square, energy, charge = square + i2, energy + gained, charge + i_q_passed
            most, strongest = max(most, high), max(strongest, strong)
            passed += tau
        if motor.feed == COMMAND and not motor.open:
            torque, moment = motor.torque_command * span, motor.torque_command * span * span / 2
            most, strongest = abs(motor.torque_command / motor.K), abs(motor.torque_command)
        general.peak[j, 0], general.peak[j, 1] = most, strongest
        if k >= 0:
            general.next_i[k] = i
            if motor.charge_at >= 0:
                general.next_i[k + 1] = i_q
                general.z_window[motor.charge_at] = charge
        line.a1[j] = 12.0 / span**3 * (moment - torque * span / 2)  # eq:moment-match
        line.a0[j] = torque / span - line.a1[j] * span / 2
        general.z_window[ELECTRIC * world.m + j] = energy
        general.z_window[SQUARE * world.m + j] = square
        general.z_window[TORQUE * world.m + j] = torque


@helper
def look_back(world: Any, motors: Any, span: float) -> float:
    """Derivatives of the motor speeds over the window, as the arm gave them; how far the guess was off.

    The measure is the speed of a rotor that the missed current would have made, by the most of all motors.
    """
    worst = 0.0
    for j in range(world.m):
        motor = motors[j]
        if world.runge_kutta:
            w_dot = acceleration_of(world, motor, j, world.scratch.k_first)
        else:
            w_dot = acceleration_in(world, motor, j, 0)
        w_ddot = 2.0 * (speed(world, motors, world.state.y, j) - motor.w - w_dot * span) / (span * span)
        off = abs(w_dot - motor.w_dot) + abs(w_ddot - motor.w_ddot) * span
        worst = max(worst, off * speed_gain(motor, span))
        motor.w_dot, motor.w_ddot = w_dot, w_ddot
    return worst


@helper
def step_error(world: Any, motors: Any, span: float) -> float:
    """Estimated error of the actuators that Runge-Kutta carries over the window, relative to 1 + |y|."""
    worst = 0.0
    for j in range(world.m):
        motor = motors[j]
        if motor.exact:
            continue
        for k in range(motor.current_at, motor.current_at + motor.width):
            total = 0.0
            for stage in range(world.rk_n[1]):
                total += world.rk_e[1, stage] * world.scratch.k[stage, k]
            worst = max(worst, abs(span * total) / (1.0 + abs(world.state.y[k])))
    return worst


@helper
def save_modes(world: Any, motors: Any, stops: Any) -> None:
    """Remember what events change beside the state."""
    general = world.general
    for j in range(world.m):
        motor = motors[j]
        general.saved[j, 0], general.saved[j, 1] = motor.mode, motor.slack
        general.saved[j, 2], general.saved[j, 3] = motor.contact, motor.g
    for i in range(world.n):
        stop, at = stops[i], world.m + i
        general.saved[at, 0], general.saved[at, 1], general.saved[at, 2] = (
            stop.state,
            stop.reaction,
            stop.touched,
        )
        general.saved[at, 3], general.saved[at, 4] = stop.mode, stop.slack


@helper
def restore_modes(world: Any, motors: Any, stops: Any) -> None:
    """Go back to what ``save_modes`` remembered."""
    general = world.general
    for j in range(world.m):
        motor = motors[j]
        motor.mode, motor.slack = int(general.saved[j, 0]), general.saved[j, 1]
        motor.contact, motor.g = int(general.saved[j, 2]), general.saved[j, 3]
    for i in range(world.n):
        stop, at = stops[i], world.m + i
        stop.state, stop.reaction = int(general.saved[at, 0]), general.saved[at, 1]
        stop.touched = int(general.saved[at, 2])
        stop.mode, stop.slack = int(general.saved[at, 3]), general.saved[at, 4]


@piece
def general_window(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """Carry the plant over a window that begins ``start`` seconds after the PWM period."""
    world = records_at(world_at, 1, WORLD)[0]
    state, general = world.state, world.general
    power, motors = records_at(power_at, 1, POWER), records_at(motors_at, world.m, MOTOR)
    if state.own_fastest * span > LONGEST_WINDOW or world.gear_rate * span > LONGEST_SWING:
        world.scratch.rejected = COARSE_STEP
        return
    if until_jump(world, 0.0, span) < span - SHORTEST:
        world.scratch.rejected = FORCE_JUMP
        return
    u = bus_voltage(world)
    if world.at_bus >= 0:
        u += 0.5 * state.bus_step  # in the middle of the window, as the bus went in the last one
    for i in range(world.n_y):
        general.y0[i] = state.y[i]
    for i in range(world.n_z):
        general.z0[i] = state.z[i]
    error, events = state.error, state.events
    stops = records_at(stops_at, world.n, STOP)
    save_modes(world, motors, stops)
    impact_J = state.impact_J
    for attempt in range(ATTEMPTS):
        window_currents(world, motors, u, start, span, 1 if attempt == 0 else 0)
        call_piece(world.code.windows[EVENT_STEPS], world_at, power_at, motors_at, stops_at, 0.0, span)
        worst = look_back(world, motors, span)
        happened = state.events != events or state.status != 0
        if world.runge_kutta and not happened:  # too coarse a step for an actuator: from edge to edge then
            happened = step_error(world, motors, span) > COARSE * world.tolerance
        if not happened and attempt > 0 and (worst <= REDO * world.tolerance or attempt == ATTEMPTS - 1):
            if worst <= max(REDO * world.tolerance, FARTHEST):
                break
            happened = True  # the rounds do not meet
        for i in range(world.n_y):
            state.y[i] = general.y0[i]
        for i in range(world.n_z):
            state.z[i] = general.z0[i]
        state.error = error
        if happened:  # what stuck, slipped, met a stop or ran away is for the method that sees every edge
            restore_modes(world, motors, stops)
            select_window(world, motors, stops)
            world.scratch.rejected = EVENT if state.events != events else COARSE_STEP
            state.impact_J, state.events, state.status = impact_J, events, 0
            return
    state.missed = max(state.missed, worst)
    for j in range(world.m):
        k = motors[j].current_at
        if not motors[j].exact:
            update_peaks(motors[j], general.peak[j, 0], general.peak[j, 1])
            continue
        if k >= 0:
            state.y[k] = general.next_i[k]
            if motors[j].charge_at >= 0:
                state.y[k + 1] = general.next_i[k + 1]
                state.z[motors[j].charge_at] += general.z_window[motors[j].charge_at]
        update_peaks(motors[j], general.peak[j, 0], general.peak[j, 1])
        if motors[j].feed == COMMAND:
            turned = rotor(world, motors, state.y, j)[0] - motors[j].theta
            general.z_window[ELECTRIC * world.m + j] = general.z_window[TORQUE * world.m + j] / span * turned
        for kind in (ELECTRIC, SQUARE, TORQUE):
            state.z[kind * world.m + j] += general.z_window[kind * world.m + j]
    if world.at_bus >= 0:
        bus_window(world, power, motors, span)


@part
def bus_window(world: Any, power: Any, motors: Any, span: float) -> None:
    """Bus voltage after a window, from the energy that went in and out (eq:dc-bus in energies)."""
    state = world.state
    p, at, base = power[0], world.at_bus, PER_MOTOR * world.m
    u0, spent = state.y[at], 0.0
    for j in range(world.m):
        if motors[j].feed != COMMAND:  # which has no bridge
            spent += world.general.z_window[ELECTRIC * world.m + j]
    low, high, u1 = 0.0, 4.0 * max(u0, p.u_source), u0 + state.bus_step
    if p.C * u1 * p.R_supply <= 0.5 * span * p.u_source:  # near zero the slope leads astray
        u1 = 0.5 * high
    middle, supply, resistor = u0, 0.0, 0.0
    for _ in range(60):  # by Newton's rule, and by halves where that leads astray
        middle = 0.5 * (u0 + u1)
        supply = max(0.0, (p.u_source - middle) / p.R_supply)
        resistor = middle / p.R_brake if p.braking else 0.0
        beyond = 0.5 * p.C * (u1 * u1 - u0 * u0) + spent - middle * (supply - resistor) * span
        if beyond > 0.0:
            high = u1
        else:
            low = u1
        falls = (1.0 / p.R_supply if supply > 0.0 else 0.0) + (1.0 / p.R_brake if p.braking else 0.0)
        better = u1 - beyond / (p.C * u1 + 0.5 * span * (middle * falls - supply + resistor))
        if not low <= better <= high:
            better = 0.5 * (low + high)
        if abs(better - u1) <= 1e-14 * high:
            break
        u1 = better
    state.y[at], state.bus_step = u1, u1 - u0
    state.z[base] += p.u_source * supply * span
    state.z[base + 1] += middle * resistor * span
    state.z[base + 2] += (p.u_source - middle) * supply * span
