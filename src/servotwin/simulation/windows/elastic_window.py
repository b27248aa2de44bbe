r"""The fast method for robots with elastic gears: every motor through its own edges, the arm once per window.

Between motor and arm stands a spring, which lets no ripple of the current through but what its damper passes. A window
goes in three steps, each once:

1. The arm's accelerations at the beginning, without the torques of motors behind stiff gears, and their rate from the
   windows before: how loads turn, and what moves the motors behind stiff gears beside themselves.
2. Every motor through its own edges and events (``elastic_motor``, ``stiff_motors``).
3. The arm, one classic step of fourth order under the torques that the motors and springs gave it (``elastic_arm``).
   Where the loads end elsewhere than the motors saw, all is computed again as the step has shown them (eq:seen-rate).

Where a flank of a gear with play touches or parts, the window ends and another one begins. A window in which a joint
meets its stop, sticks or lets go is rejected and left to the steps from edge to edge.
"""

from __future__ import annotations

import math
from typing import Any

from servotwin.compiled.jit import helper, part, piece
from servotwin.compiled.native_calls import records_at
from servotwin.drives.peaks import update_peaks
from servotwin.drives.records import FREE, MOTOR, POWER, STOP, STUCK
from servotwin.simulation.plant.event_steps import SHORTEST
from servotwin.simulation.plant.rates import ELECTRIC, FRICTION, GEAR, SQUARE, TORQUE, rotor
from servotwin.simulation.plant.records import WORLD
from servotwin.simulation.plant.status import PIECE_MISSING
from servotwin.simulation.plant.stuck_shafts import solve
from servotwin.simulation.windows.choice import Rejection, Window
from servotwin.simulation.windows.dc_stiff_window import dc_stiff_window
from servotwin.simulation.windows.dc_window import REFRESH
from servotwin.simulation.windows.elastic_arm import (
    begin_motion,
    extrapolate_gain,
    lines_of_stiff,
    missed_motion,
    move_joints,
    refresh_gain,
    see_motion,
    spring_parabola,
)
from servotwin.simulation.windows.elastic_motor import NEAR, elastic_motor
from servotwin.simulation.windows.gear_events import settle_contacts
from servotwin.simulation.windows.general_window import bus_voltage, bus_window, restore_modes, save_modes
from servotwin.simulation.windows.held_joints import joints_keep_modes, list_held_joints
from servotwin.simulation.windows.motor_coordinates import at_motor, joint_from_motors
from servotwin.simulation.windows.motor_inverse_inertia import (
    begin_span,
    begin_window,
    past_stop,
    reject,
)
from servotwin.simulation.windows.motors_side_by_side import elastic_lanes
from servotwin.simulation.windows.pmsm_elastic_lanes import begin_electrical_angle
from servotwin.simulation.windows.stiff_motors import factor_stuck, stiff_motors

# what a prediction may miss before the window is computed again with what was found:
MISSED_ANGLE = (
    1.5e-9  # rad between the end of a load and where its motor saw it, less of a load that swings fast,
)
MISSED_VOLTAGE = 4e-6  # and of the voltage of a bus, in its change
ATTEMPTS = 4
# beyond, steps from edge to edge carry the window:
MOST_BENT = (
    3e-8  # rad by which the path of a load bends otherwise than a cubic, less of a load that swings fast
)
MOST_REDONE = 3  # times that a window is computed again for what its loads do
SLOW_SWING = (
    0.01  # rad2: square of the swing of a load on its gear in a window that takes these bounds as they are
)
MOST_OF_BUS = 3e-4  # of its voltage by which a bus changes
MOST_CUTS = 20  # windows into which changes of contact cut one,
MOST_ROUNDS = 12  # and rounds in which each of them is found
ELASTIC, EVENT_STEPS, NONE = int(Window.ELASTIC), int(Window.EVENT_STEPS), int(Rejection.NONE)
JOINT_FRICTION = int(Rejection.JOINT_FRICTION)
END_STOP, MANY_EVENTS = int(Rejection.END_STOP), int(Rejection.MANY_EVENTS)
BUS_CHANGE, BENT_LOAD = int(Rejection.BUS_CHANGE), int(Rejection.BENT_LOAD)


@helper
def begin_motors(world: Any, motors: Any) -> None:
    """Currents and electrical angles of all motors, integrals at zero; B in the middle of the gains."""
    state, elastic = world.state, world.elastic_window
    elastic.events = 0
    for j in range(world.m):
        motor, k = motors[j], motors[j].current_at
        elastic.i[j] = state.y[k]
        elastic.i_q[j] = state.y[k + 1] if motor.charge_at >= 0 else 0.0
        if motor.charge_at >= 0:
            begin_electrical_angle(world, motor, j)
        elastic.impulse[j] = elastic.square[j] = elastic.electric[j] = elastic.charge[j] = 0.0
        elastic.friction[j] = elastic.gear[j] = elastic.passed[j, 0] = elastic.passed[j, 1] = 0.0
        elastic.peak[j, 0] = elastic.i[j] * elastic.i[j] + elastic.i_q[j] * elastic.i_q[j]
        elastic.peak[j, 1], elastic.place[j] = 0.0, 0
        if motor.flexible >= 0:
            elastic.theta[j] = state.y[world.at_theta + motor.flexible]
            elastic.w[j] = state.y[world.at_w + motor.flexible]
    for r in range(elastic.stiff_count):
        for q in range(elastic.stiff_count):
            gain = elastic.gain[:, elastic.stiff[q]]
            elastic.B[r, q] = at_motor(world, elastic.stiff[r], gain, 0)  # eq:motor-inverse-inertia


@part
def hold_stuck(world: Any, motors: Any) -> None:
    """Bring motors that stick to rest by impulses of their gears, which the other joints feel (eq:stuck-motors)."""
    scratch, elastic, n, count = world.scratch, world.elastic_window, world.n, 0
    factor_stuck(world, motors)
    if elastic.stuck_count == 0:
        return
    for r in range(elastic.stiff_count):
        if motors[elastic.stiff[r]].mode == STUCK:
            scratch.reaction[count] = -at_motor(world, elastic.stiff[r], scratch.y1, n)
            count += 1
    solve(scratch.S, count, scratch.reaction, 0)
    count = 0
    for r in range(elastic.stiff_count):
        if motors[elastic.stiff[r]].mode == STUCK:
            for i in range(n):
                scratch.y1[n + i] += elastic.gain[i, elastic.stiff[r]] * scratch.reaction[count]
            count += 1


@helper
def settle_motors(world: Any, motors: Any) -> None:
    """Let motors that stick stand still, and none that slides go backward by what the arm rounds."""
    y1, n, elastic = world.scratch.y1, world.n, world.elastic_window
    changed = False
    hold_stuck(world, motors)
    for j in range(world.m):
        motor = motors[j]
        w = at_motor(world, j, y1, n)
        elastic.settled[j] = w
        if motor.flexible < 0 and (motor.mode == STUCK or (motor.mode != FREE and motor.mode * w < 0.0)):
            elastic.settled[j] = 0.0
            changed = changed or w != 0.0
    if changed:
        for i in range(n):
            y1[n + i] = joint_from_motors(world, i, elastic.settled)
    stays = elastic.events == 0 and elastic.stiff_count > 0
    if not stays:
        return
    changed = False
    for j in range(world.m):
        motor = motors[j]
        elastic.settled[j] = at_motor(world, j, y1, 0)
        if motor.flexible < 0 and motor.mode == STUCK and at_motor(world, j, world.state.y, n) == 0.0:
            elastic.settled[j] = at_motor(world, j, world.state.y, 0)
            changed = True
    if changed:
        for i in range(n):
            y1[i] = joint_from_motors(world, i, elastic.settled)


@part
def accept_window(world: Any, power: Any, motors: Any, span: float) -> None:
    """Accept the window: state, currents, energies."""
    state, scratch, elastic = world.state, world.scratch, world.elastic_window
    n, m = world.n, world.m
    if elastic.stiff_count > 0:
        settle_motors(world, motors)
    for j in range(m):
        motor, k, e = motors[j], motors[j].current_at, motors[j].flexible
        state.y[k] = elastic.i[j]
        if motor.charge_at >= 0:
            state.y[k + 1] = elastic.i_q[j]
            state.z[motor.charge_at] += elastic.charge[j]
        if e >= 0:
            state.y[world.at_theta + e], state.y[world.at_w + e] = elastic.theta[j], elastic.w[j]
        update_peaks(motor, math.sqrt(elastic.peak[j, 0]), elastic.peak[j, 1])
        world.general.z_window[ELECTRIC * m + j] = elastic.electric[j]
        state.z[ELECTRIC * m + j] += elastic.electric[j]
        state.z[SQUARE * m + j] += elastic.square[j]
        state.z[TORQUE * m + j] += elastic.impulse[j]
        state.z[FRICTION * m + j] += elastic.friction[j] + elastic.joint_friction[j]
        state.z[GEAR * m + j] += elastic.gear[j]
        motor.w_dot, motor.w_ddot = (elastic.w[j] - motor.w) * world.line.per_span, 0.0
        state.y[j], state.y[n + j] = scratch.y1[j], scratch.y1[n + j]
        # against the midpoint rule that the step of the arm contains
        fast = scratch.k[1, j] - scratch.k[2, j] - scratch.k[3, j] + scratch.k[4, j]
        bent = scratch.k[1, n + j] - scratch.k[2, n + j] - scratch.k[3, n + j] + scratch.k[4, n + j]
        state.error = max(state.error, span * max(abs(fast), abs(bent)) / 6.0)
    state.events += elastic.events
    if world.at_bus >= 0:
        bus_window(world, power, motors, span)


@helper
def change_of_bus(world: Any, power: Any, step: float, span: float) -> float:
    """By how much the voltage of the bus changes in the window, by its middle; motors saw a change by ``step`` [V].

    What the supply gives and the resistor takes depends on the change itself, so that a stiff supply, whose time
    constant is shorter than the window, is met at once.
    """
    p, u, spent = power[0], bus_voltage(world), 0.0
    for j in range(world.m):
        spent += world.elastic_window.electric[j]
    drawn = spent / (u + 0.5 * step)  # A s
    gives, takes = 1.0 / p.R_supply, 1.0 / p.R_brake if p.braking else 0.0
    change = ((gives * p.u_source - (gives + takes) * u) * span - drawn) / (
        p.C + 0.5 * span * (gives + takes)
    )
    if u + 0.5 * change > p.u_source:  # the rectifier blocks
        change = -(takes * u * span + drawn) / (p.C + 0.5 * span * takes)
    return change  # type: ignore[no-any-return]


@helper
def carry_motors(world: Any, motors: Any, u: float, start: float, span: float) -> bool:
    """Every motor over the window; true if that went well."""
    elastic, steady = world.elastic_window, True
    elastic.until = span
    begin_motors(world, motors)
    if elastic.stiff_count > 0:
        # without elastic gears the window comes here because something may happen
        at_once = world.elastic > 0 and dc_stiff_window(world, motors, u, start, span)
        steady = at_once or stiff_motors(world, motors, u, start, span)
    lines_of_stiff(world, span)
    elastic_lanes(world, motors, u, start, span)
    for j in range(world.m):
        if motors[j].flexible >= 0:
            if not world.lanes.margin[j] >= 0.0:  # NaN after divergence is no motor in its lane either
                steady = steady and elastic_motor(world, motors[j], j, u, start, elastic.until)
            spring_parabola(world, j, span)
    return steady


@helper
def carry_on_bus(world: Any, power: Any, motors: Any, stops: Any, start: float, span: float) -> int:
    """Every motor over the window at the voltage in its middle; again where that was not the voltage assumed.

    Gives the ``Rejection``, if any.
    """
    u = bus_voltage(world)
    if world.at_bus < 0:
        return NONE if carry_motors(world, motors, u, start, span) else MANY_EVENTS
    step = world.state.bus_step  # as the bus went in the last window
    for attempt in range(ATTEMPTS):
        if attempt > 0:
            restore_modes(world, motors, stops)
        if not carry_motors(world, motors, u + 0.5 * step, start, span):
            return MANY_EVENTS
        if world.elastic_window.until < span - NEAR:  # the window ends there
            return NONE
        better = change_of_bus(world, power, step, span)
        if not abs(better) <= MOST_OF_BUS * u:
            return BUS_CHANGE
        if abs(better - step) <= MISSED_VOLTAGE * u:
            break
        step = better
    return NONE


@part
def carry_all(world: Any, power: Any, motors: Any, stops: Any, start: float, span: float) -> int:
    """Motors and arm over the window, again where loads turn otherwise than motors saw; the ``Rejection``, if any.

    Where a flank of a gear touches or parts the window ends, after ``span`` of the record.
    """
    elastic, redone = world.elastic_window, 0
    elastic.span = span
    for _ in range(MOST_ROUNDS):
        failed = carry_on_bus(world, power, motors, stops, start, elastic.span)
        if failed != NONE:
            return failed
        if elastic.until < elastic.span - NEAR:
            elastic.span = elastic.until
            begin_span(world, elastic.span)
            restore_modes(world, motors, stops)
            continue
        move_joints(world, stops, elastic.span)
        if world.elastic == 0:
            return NONE
        missed, bent = missed_motion(world, elastic.span)
        finer = max(elastic.load_rate * elastic.span * elastic.span / SLOW_SWING, 1.0)  # eq:light-load
        if not bent * finer <= MOST_BENT:
            return BENT_LOAD
        if missed * finer <= MISSED_ANGLE:
            return NONE
        if redone == MOST_REDONE:
            return BENT_LOAD
        redone += 1
        restore_modes(world, motors, stops)
        see_motion(world)
    return MANY_EVENTS


@helper
def rejected(world: Any, motors: Any, stops: Any, span: float) -> int:
    """The ``Rejection`` of a window that has been computed, if any: joints at their stops, or that stick or let go."""
    if past_stop(world, stops):
        return END_STOP
    if world.joint_friction and not joints_keep_modes(world, motors, stops, span):
        return JOINT_FRICTION
    return NONE


@part
def carry_to_contact(world: Any, power: Any, motors: Any, stops: Any, start: float, span: float) -> int:
    """One window up to its end or the first change of contact, taken or left as it was; the ``Rejection``, if any."""
    elastic, prediction = world.elastic_window, world.prediction
    save_modes(world, motors, stops)
    list_held_joints(world, motors, stops)
    if elastic.stiff_count > 0 and prediction.windows % REFRESH == 0:
        if prediction.windows == 0:
            prediction.since = 0.0
        refresh_gain(world)
    begin_motion(world, motors, stops)
    begin_window(world, span)
    failed = JOINT_FRICTION
    if elastic.stiff_count > 0 or elastic.first_margin >= 0.0:
        failed = carry_all(world, power, motors, stops, start, span)
    if failed == NONE:
        failed = rejected(world, motors, stops, elastic.span)
    if failed != NONE:
        restore_modes(world, motors, stops)
        return failed
    accept_window(world, power, motors, elastic.span)
    elastic.per_last = world.line.per_span
    elastic.smooth_windows += 1
    prediction.since += elastic.span
    if elastic.stiff_count > 0:
        extrapolate_gain(world, elastic.span)
    return NONE


@helper
def change_contacts(world: Any, motors: Any, cut: bool) -> None:
    """Let flanks touch and part; where the window was ``cut`` for it, the next one begins without what it foretold."""
    changed = settle_contacts(world, motors)
    if changed:
        world.state.events += 1
    if changed or cut:
        world.elastic_window.smooth_windows = 0
    if cut:
        for j in range(world.m):  # what begins with angle and speed of the rotor finds those of now
            motors[j].theta, motors[j].w = rotor(world, motors, world.state.y, j)


@piece
def elastic_window(
    world_at: int, power_at: int, motors_at: int, stops_at: int, start: float, span: float
) -> None:
    """Carry the plant over a window of motors of which some have elastic gears."""
    world = records_at(world_at, 1, WORLD)[0]
    power, motors = records_at(power_at, 1, POWER), records_at(motors_at, world.m, MOTOR)
    stops = records_at(stops_at, world.n, STOP)
    if world.play and (world.code.windows[EVENT_STEPS] == 0 or world.code.change_modes == 0):
        world.state.status = PIECE_MISSING  # a window that is cut cannot be begun again
        return
    world.scratch.carrier = ELASTIC
    t, windows = 0.0, 0
    while span - t > SHORTEST:
        windows += 1
        if world.play:
            change_contacts(world, motors, windows > 1)
        failed = MANY_EVENTS
        if windows <= MOST_CUTS:
            failed = carry_to_contact(world, power, motors, stops, start + t, span - t)
        if failed != NONE:
            world.scratch.reached = t
            reject(world, failed)
            return
        t += world.elastic_window.span
