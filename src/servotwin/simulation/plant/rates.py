r"""The plant's right-hand side: motors, gears and arm as one system of differential equations.

State y: free coordinates x of the arm (joints, then passive joints of closed chains), joint speeds, angles
and speeds of motors behind elastic gears, currents, bus voltage. Stiff gears tie the motor to the joints,
:math:`\theta_m = N q`, so that (eq 13 and 20 of Lee 1989, with losses of the gears)

.. math:: \bigl(M(q) + N^T \tfrac{J_m}{g} N\bigr)\,\ddot q + h(q, \dot q)
          = N^T \tfrac1g (\tau_e - \tau_f) + N_e^T \tau_l                                   (eq:integrated-model)

Shafts that stick and joints at an end stop are constraints on the acceleration, with their reactions as
multipliers.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part, piece
from servotwin.compiled.native_calls import call_address, call_piece, records_at
from servotwin.drives.friction import friction_torque, holding_slack
from servotwin.drives.gears import (
    gear_error,
    hysteresis_rate,
    lossy_torque,
    spring_torque,
    torsion_torque,
)
from servotwin.drives.records import BETWEEN, FREE, MOTOR, STOP, STUCK
from servotwin.simulation.plant.actuators import actuator_rates
from servotwin.simulation.plant.joint_friction import apply_joint_friction, held_joint, hold_joint
from servotwin.simulation.plant.records import PER_BUS, PER_MOTOR, WORLD
from servotwin.simulation.plant.stuck_shafts import (
    factor,
    list_moving_joints,
    solve,
    stuck_acceleration,
)

ELECTRIC, SQUARE, TORQUE, FRICTION, GEAR = range(PER_MOTOR)
FEW = 4  # rounds in which the direction of power through lossy gears settles


@helper
def call_on_plant(world: Any, piece: int, t: float, span: float) -> None:
    """Call a piece by its address with the records of this machine."""
    code = world.code
    call_piece(piece, code.world_at, code.power_at, code.motors_at, code.stops_at, t, span)


@helper
def shaft(world: Any, motors: Any, y: Any, j: int) -> tuple[float, float]:
    """Angle and speed of the load at motor j, counted at the motor."""
    if world.diagonal:
        return world.N[j, j] * y[j], world.N[j, j] * y[world.n_x + j]
    theta = w = 0.0
    for i in range(world.n):
        theta += world.N[j, i] * y[i]
        w += world.N[j, i] * y[world.n_x + i]
    return theta, w


@helper
def rotor(world: Any, motors: Any, y: Any, j: int) -> tuple[float, float]:
    """Angle and speed of motor j itself, which an elastic gear lets differ from its load's."""
    e = motors[j].flexible
    if e >= 0:
        return y[world.at_theta + e], y[world.at_w + e]
    return shaft(world, motors, y, j)


@helper
def gear_twist(motor: Any, theta: float, w: float, theta_l: float, w_l: float) -> tuple[float, float, float]:
    """Twist of an elastic gear, its rate, and motor torque per transmitted torque (eq:transmission-error)."""
    if motor.gear_waves == 0:
        return theta - theta_l, w - w_l, 1.0
    error, lever = gear_error(motor, theta)
    return theta + error - theta_l, lever * w - w_l, lever


@helper
def hysteresis_torque(motor: Any, y: Any, dy: Any, dz: Any, rate: float) -> float:
    """Torque of a gear's hysteresis [N m]; enters the rate of its twist, and the power that it loses."""
    twist = y[motor.hysteresis_at]
    follows = hysteresis_rate(motor, twist, rate)
    torque = motor.hysteresis_stiffness * twist
    dy[motor.hysteresis_at] = follows
    dz[motor.hysteresis_z] = torque * (rate - follows)  # eq:hysteresis
    return torque  # type: ignore[no-any-return]


@helper
def electric(
    world: Any, motor: Any, t: float, theta: float, w: float, y: Any, dy: Any, dz: Any, j: int
) -> float:
    """Torque of a motor; rates of its currents and of its electrical energy. Returns the torque."""
    u_bus = y[world.at_bus] if world.at_bus >= 0 else world.state.u_bus
    k = motor.current_at
    at = ELECTRIC * world.m + j
    if (
        world.scratch.exact_currents and motor.exact
    ):  # currents are solved apart; the torque of the window is known
        dz[at] = dz[SQUARE * world.m + j] = dz[TORQUE * world.m + j] = 0.0
        for s in range(motor.width):
            dy[k + s] = 0.0
        if motor.charge_at >= 0:
            dz[motor.charge_at] = 0.0
        return world.line.a0[j] + world.line.a1[j] * t  # type: ignore[no-any-return]
    tau, dz[at], dz[SQUARE * world.m + j], load = actuator_rates(world, motor, u_bus, theta, w, y, dy, dz)
    if motor.charge_at >= 0:
        dz[motor.charge_at] = y[k + 1]  # i_q
    dz[TORQUE * world.m + j] = tau
    if world.at_bus >= 0:
        dy[world.at_bus] -= load
    return tau


@helper
def rates(world: Any, power: Any, motors: Any, stops: Any, t: float, y: Any, dy: Any, dz: Any) -> None:
    """dy and dz at y, ``t`` seconds after the window began."""
    scratch, code = world.scratch, world.code
    n, n_x, m = world.n, world.n_x, world.m
    inputs = scratch.inputs
    for i in range(n_x + n):
        inputs[i] = y[i]
    for i in range(n):
        inputs[n_x + n + i] = 0.0
    if world.at_bus >= 0:
        dy[world.at_bus] = 0.0
        for i in range(PER_MOTOR * m, PER_MOTOR * m + PER_BUS):
            dz[i] = 0.0
    if world.at_supply >= 0:
        dy[world.at_supply] = 0.0
    for j in range(m):
        motor = motors[j]
        theta_l, w_l = shaft(world, motors, y, j)
        e = motor.flexible
        theta = theta_l if e < 0 else y[world.at_theta + e]
        w = w_l if e < 0 else y[world.at_w + e]
        tau = electric(world, motor, t, theta, w, y, dy, dz, j)
        friction = friction_torque(motor, w)
        motor.tau = tau
        motor.net = tau - friction
        dz[FRICTION * world.m + j], dz[GEAR * world.m + j] = friction * w, 0.0
        passed = motor.net
        if e >= 0:
            twist, rate, lever = gear_twist(motor, theta, w, theta_l, w_l)
            spring = torsion_torque(motor, twist, rate)
            elastic = spring_torque(motor, twist)
            lost = (spring - elastic) * rate
            if motor.hysteresis_at >= 0:
                spring += hysteresis_torque(motor, y, dy, dz, rate)
            passed = lossy_torque(motor, spring, w_l)
            dz[GEAR * world.m + j] = lost + (spring - passed) * w_l
            dy[world.at_theta + e] = w
            if lever != 1.0:
                spring *= lever  # what it takes from its motor
            if motor.mode == STUCK:
                dy[world.at_w + e] = 0.0
                motor.slack = holding_slack(motor, tau, spring)
                motor.transmitted = spring
            else:
                dy[world.at_w + e] = (motor.net - spring) / motor.J
        elif not world.choice.unconstrained:
            continue  # its torque enters with the losses of the gear
        if world.diagonal:
            inputs[n_x + n + j] += world.N[j, j] * passed
        else:
            for i in range(n):
                inputs[n_x + n + i] += world.N[j, i] * passed
    if world.joint_friction:
        apply_joint_friction(world, stops, y, dz, FRICTION * m)
    if code.environment != 0:
        call_on_plant(world, code.environment, t, 0.0)  # on the same y and dz
    if world.choice.unconstrained:
        call_address(code.accel, code.inputs_at, code.outputs_at, code.accel_data)
        for i in range(n):
            dy[i] = y[n_x + i]
            dy[n_x + i] = scratch.outputs[i]
        for i in range(n, n_x):
            dy[i] = scratch.outputs[i]
    else:
        # on the same y, dy and dz: they are always those of the record
        call_on_plant(world, world.code.constrained_arm, 0.0, 0.0)
    if world.at_bus >= 0 and not scratch.exact_currents:
        bus_rate(world, power, y, dy, dz)
    if world.at_supply >= 0:
        call_on_plant(world, code.supply_rates, 0.0, 0.0)  # on the same y, dy and dz


@helper
def bus_rate(world: Any, power: Any, y: Any, dy: Any, dz: Any) -> None:
    r"""Bus capacitor between rectifier, bridges and braking resistor.

    .. math::

        C\,\dot u = \max\Bigl(0, \frac{u_s - u}{R_s}\Bigr) - \sum_j s_j i_j - \frac{u}{R_b}\,[\text{resistor on}]
        (eq:dc-bus)
    """
    at = world.at_bus
    u = y[at]
    supply = max(0.0, (power[0].u_source - u) / power[0].R_supply)
    resistor = u / power[0].R_brake if power[0].braking else 0.0
    dy[at] = (dy[at] + supply - resistor) / power[0].C  # eq:dc-bus
    dz[PER_MOTOR * world.m] = power[0].u_source * supply
    dz[PER_MOTOR * world.m + 1] = u * resistor
    dz[PER_MOTOR * world.m + 2] = (power[0].u_source - u) * supply


@piece
def constrained_arm(
    world_at: int, power_at: int, motors_at: int, stops_at: int, t: float, span: float
) -> None:
    """Accelerations of the arm with lossy gears, stuck shafts and end stops."""
    world = records_at(world_at, 1, WORLD)[0]
    scratch, code = world.scratch, world.code
    motors, stops = records_at(motors_at, world.m, MOTOR), records_at(stops_at, world.n, STOP)
    y, dy, dz = scratch.ys, scratch.dy, scratch.dz
    n, n_x = world.n, world.n_x
    for i in range(n):
        dy[i] = y[n_x + i]
    if world.separate and code.environment == 0 and not stopped(world, stops):
        for j in range(n):
            scratch.motor_torque[j] = motors[j].net
        list_moving_joints(world, motors)
        stuck_acceleration(world, motors)
        for i in range(n):
            dy[n_x + i] = scratch.qdd[i]
        return
    call_address(code.motion, code.inputs_at, code.outputs_at, code.motion_data)
    for i in range(n, n_x):
        dy[i] = scratch.outputs[n * n + i]
    for _ in range(FEW):
        assemble(world, motors)
        count = constraints(world, motors, stops)
        accelerate(world, count)
        if not turned(world, motors, y):
            break
    for r in range(count):  # stuck shafts and stopped joints stand still to the last bit
        row = scratch.row_of[r]
        if row >= world.m:
            scratch.qdd[row - world.m] = 0.0
        elif world.diagonal:
            scratch.qdd[row] = 0.0
    for i in range(n):
        dy[n_x + i] = scratch.qdd[i]
    reactions(world, motors, stops, y, dz, count)


@helper
def stopped(world: Any, stops: Any) -> bool:
    """True if a joint is at its end stop."""
    for i in range(world.n):
        if stops[i].state != BETWEEN:
            return True
    return False


@part
def assemble(world: Any, motors: Any) -> None:
    """Left and right side of eq:integrated-model for the present directions of power."""
    scratch = world.scratch
    n, n_x = world.n, world.n_x
    for i in range(n):
        scratch.force[i] = scratch.inputs[n_x + n + i] - scratch.outputs[n * n + i]
        for k in range(n):
            scratch.A[i, k] = scratch.outputs[n * i + k]
    for j in range(world.m):
        motor = motors[j]
        if motor.flexible >= 0:
            continue
        for i in range(n):
            share = world.N[j, i] / motor.g
            if share != 0.0:
                scratch.force[i] += share * motor.net
                for k in range(n):
                    scratch.A[i, k] += share * motor.J * world.N[j, k]


@part
def constraints(world: Any, motors: Any, stops: Any) -> int:
    """Rows C of C qdd = 0: stuck shafts behind stiff gears, joints that stick or lie at their stops; their number."""
    scratch = world.scratch
    n, count = world.n, 0
    for i in range(n):
        if held_joint(stops[i]):
            for k in range(n):
                scratch.C[count, k] = 1.0 if k == i else 0.0
            scratch.row_of[count] = world.m + i
            count += 1
    for j in range(world.m):
        if motors[j].flexible < 0 and motors[j].mode == STUCK:
            loose = False
            for k in range(n):
                loose = loose or (world.N[j, k] != 0.0 and not held_joint(stops[k]))
            if not loose:
                continue  # its joints are held already
            for k in range(n):
                scratch.C[count, k] = world.N[j, k]
            scratch.row_of[count] = j
            count += 1
    return count


@part
def accelerate(world: Any, count: int) -> None:
    """qdd = A^-1 (force + C^T lambda) with C qdd = 0."""
    scratch = world.scratch
    n = world.n
    factor(scratch.A, n)
    for i in range(n):
        scratch.qdd[i] = scratch.force[i]
    solve(scratch.A, n, scratch.qdd, 0)
    if count == 0:
        return
    for r in range(count):
        for i in range(n):
            scratch.X[n * r + i] = scratch.C[r, i]
        solve(scratch.A, n, scratch.X, n * r)
    for r in range(count):
        total = 0.0
        for i in range(n):
            total += scratch.C[r, i] * scratch.qdd[i]
        scratch.reaction[r] = -total
        for c in range(count):
            total = 0.0
            for i in range(n):
                total += scratch.C[r, i] * scratch.X[n * c + i]
            scratch.S[r, c] = total
        scratch.S[r, r] *= 1.0 + 1e-14  # rows that repeat each other share their reaction
    factor(scratch.S, count)
    solve(scratch.S, count, scratch.reaction, 0)
    for r in range(count):
        for i in range(n):
            scratch.qdd[i] += scratch.X[n * r + i] * scratch.reaction[r]


@part
def turned(world: Any, motors: Any, y: Any) -> bool:
    """Set g of every lossy stiff gear by the direction of its power; true if one has changed."""
    changed = False
    for j in range(world.m):
        motor = motors[j]
        if motor.flexible >= 0 or motor.eta >= 1.0:
            continue
        if motor.mode == STUCK:
            wanted = 1.0
        else:
            total = 0.0
            for i in range(world.n):
                total += world.N[j, i] * world.scratch.qdd[i]
            passed = motor.net - motor.J * total
            wanted = 1.0 / motor.eta if passed * motor.mode > 0.0 else motor.eta  # eq:gear-efficiency
        if wanted != motor.g:
            motor.g = wanted
            changed = True
    return changed


@part
def reactions(world: Any, motors: Any, stops: Any, y: Any, dz: Any, count: int) -> None:
    """What stuck shafts and stops must hold, and what lossy gears lose."""
    scratch = world.scratch
    for r in range(count):
        row = scratch.row_of[r]
        if row >= world.m:
            hold_joint(stops[row - world.m], scratch.reaction[r])
        else:
            motor = motors[row]
            motor.transmitted = motor.net + scratch.reaction[r]
            motor.slack = holding_slack(motor, motor.net, motor.transmitted)
    for j in range(world.m):
        motor = motors[j]
        if motor.flexible < 0 and motor.eta < 1.0 and motor.mode not in (STUCK, FREE):
            total = 0.0
            for i in range(world.n):
                total += world.N[j, i] * scratch.qdd[i]
            passed = (motor.net - motor.J * total) / motor.g
            _, w = shaft(world, motors, y, j)
            dz[GEAR * world.m + j] = (motor.g - 1.0) * passed * w
