"""How a run begins: arm and motors in balance, and a controller that has held them there.

The encoder counters were homed at joint zero, and the start pose is what the controller believes: its motors
stand at the counts of that pose, and where the joints are follows from the gears and encoders as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.drives.kind import Feed
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.simulation.plant.balance import Arm, Balance, balance, gear_factor, modes
from servotwin.simulation.plant.readings import angles_behind, sensed_angles
from servotwin.simulation.plant.start_control import (
    Currents,
    believed_twist,
    holding_error,
    known_errors,
    set_controller,
    set_references,
)

if TYPE_CHECKING:
    from servotwin.simulation.plant.machine import Machine

ROUNDS = 100
CLOSE = 1e-3  # counts
NEWTON = 8  # steps to the current beside one along d
SQRT3 = 3.0**0.5
LEAST_COSINE = 0.1  # of the error of the commutation, up to which a driver holds a load


@dataclass(frozen=True)
class Start:
    """Where the controller believes the arm: joints q (n,) and their speeds qd (n,).

    ``wound``: the joints stand there and the motors are wound up by the twist of their gears, instead of the
    motors at their references and the joints sagged. ``settled``: a law without integrators has already
    given way to the load; otherwise brakes held the motors until now.
    """

    q: Array
    qd: Array | None = None
    wound: bool = False
    settled: bool = True


@dataclass(frozen=True)
class Started:
    """What became of a start: joints as they are and as believed (n,), and what is odd about it, one line each."""

    start: Start
    q: Array
    qd: Array
    warnings: tuple[str, ...]

    @property
    def words(self) -> str:
        """The start in words."""
        hold = "joints at the pose, motors wound up" if self.start.wound else "motors at their references"
        moving = "moving evenly" if self.qd.any() else "at rest"
        return f"{moving}, in balance, {hold}"

    def plain(self, names: Sequence[str]) -> dict[str, Any]:
        """For the summary: what was asked for and where the joints are [rad, m, and per s], by name."""
        rows = {"position": self.q, "position_ref": self.start.q, "velocity": self.qd}
        values = {key: dict(zip(names, map(float, row), strict=True)) for key, row in rows.items()}
        return {"state": self.words, "hold": "joints" if self.start.wound else "motors", **values}


def begin(machine: Machine, plant: Robot, model: Robot, start: Start) -> Started:
    """Put arm, drives and controller where a run begins, all in balance."""
    N_hat = np.asarray(model.mechanism.rotors.N, dtype=np.float64)
    believed, true = machine.axes["counts_per_rad"], machine.sensors["counts_per_rad"]
    q = np.asarray(start.q, dtype=np.float64)
    qd_hat = np.zeros_like(q) if start.qd is None else np.asarray(start.qd, dtype=np.float64)
    scale = believed / true  # a controller that believes in more counts turns its motors further
    qd = _true_speeds(machine.N, N_hat, scale, qd_hat)
    arm = Arm(plant, machine.motors, machine.stops, machine.N, q, qd)
    theta_hat = N_hat @ q
    if not start.wound:  # the motors stand where the controller wants them
        twist = believed_twist(machine, model, q, N_hat @ qd_hat)
        theta_hat = theta_hat - known_errors(machine.axes, theta_hat) + twist
    theta_ref = theta_hat * scale
    set_references(machine, model, q, N_hat @ qd_hat)
    error, settled = np.zeros(len(true)), True
    for _ in range(ROUNDS):
        shown = theta_ref - error / true
        theta = shown if start.wound else angles_behind(machine.sensors, shown)
        state = balance(arm, theta, wound=start.wound)
        currents = hold_currents(machine, state)
        following = holding_error(machine, model, start, currents, qd_hat)
        if np.abs(following - error).max() <= CLOSE:
            break
        error = following
    else:
        settled = False
        theta = theta_ref if start.wound else angles_behind(machine.sensors, theta_ref)
        state = balance(arm, theta, wound=start.wound)
        currents = hold_currents(machine, state)
    set_plant(machine, plant, state, currents)
    set_controller(machine, model, start, currents, qd_hat)
    return Started(start, state.q, state.qd, _odd(machine, currents, plant.mechanism.rotors.names, settled))


def _true_speeds(N: Array, N_hat: Array, scale: Array, qd_hat: Array) -> Array:
    """Joint speeds (n,) as they are, where the controller believes in ``qd_hat``."""
    if not qd_hat.any() or (np.array_equal(N, N_hat) and (scale == 1.0).all()):
        return qd_hat
    return np.asarray(np.linalg.solve(N, scale * (N_hat @ qd_hat)))


def hold_currents(machine: Machine, state: Balance) -> Currents:
    """Currents and voltages (m,) of motors that give the torques of the balance, in the driver's frame too."""
    motors, axes = machine.motors, machine.axes
    sensors = machine.sensors
    m = len(motors)
    count = np.floor(sensed_angles(sensors, state.theta) * sensors["counts_per_rad"] + 0.5)
    i_d, i_q, i, measured, u_d, u_q = (np.zeros(m) for _ in range(6))
    gain, offset = sensor_gain(machine), sensors["current_offset"]
    held = {j: pair for group in machine.groups for j, pair in group.holding(machine, state).items()}
    for j in range(m):
        motor, R = motors[j], motors["R"][j] + motors["R_bridge"][j]
        tau, w = float(state.tau[j]), float(state.w[j])
        if motor["feed"] != Feed.THREE_PHASE:
            i[j] = i_q[j] = tau / motor["K"]
            if j in machine.own:
                i[j] = i_q[j] = own_command(machine, state, j)
            elif j in held:
                i[j], measured[j] = held[j]
                i_q[j] = i[j]
                continue
            measured[j] = gain[j] * (i[j] + offset[j]) if motor["feed"] != Feed.COMMAND else i[j]
            u_q[j] = R * i[j] + motor["K"] * w if motor["feed"] != Feed.COMMAND else 0.0
            continue
        angle = axes["pole_pairs_hat"][j] * count[j] / axes["counts_per_rad"][j]
        off = motor["pole_pairs"] * float(state.theta[j]) - angle
        along, across = phase_offset(float(offset[j]), angle)
        i[j], i_d[j], i_q[j] = commutated(
            motor, tau, off, -along
        )  # the driver takes this for no current along d
        measured[j] = gain[j] * (i[j] + across)
        w_e = motor["pole_pairs"] * w
        v_d = R * i_d[j] - w_e * motor["L_q"] * i_q[j]
        v_q = R * i_q[j] + w_e * (motor["L_d"] * i_d[j] + motor["psi"])
        u_d[j], u_q[j] = np.cos(off) * v_d - np.sin(off) * v_q, np.sin(off) * v_d + np.cos(off) * v_q
    return Currents(state, count, i_d, i_q, i, measured, u_d, u_q)


def own_balance(machine: Machine, state: Balance, j: int) -> tuple[float, Array]:
    """Command and states of an actuator of the user's that gives the torque of the balance."""
    supply = float(machine.world["state"]["u_bus"][0])
    numbers = (float(state.tau[j]), float(state.theta[j]), float(state.w[j]))
    return machine.own[j].balance(*numbers, supply, float(machine.motors["K"][j]))


def own_command(machine: Machine, state: Balance, j: int) -> float:
    """The same, its command alone [A]."""
    return own_balance(machine, state, j)[0]


def sensor_gain(machine: Machine) -> Array:
    """What the drivers take a current for, as a factor (m,): believed over true full scale where both are stated."""
    believed, true = machine.axes["current_range_hat"], machine.sensors["current_full_scale"]
    known = (believed > 0.0) & (true > 0.0)
    return np.asarray(np.divide(believed, true, out=np.ones(len(believed)), where=known))


def phase_offset(offset: float, angle: float) -> tuple[float, float]:
    """Currents d and q [A] that a driver sees of none, by the offsets of its two sensors (eq:phase-currents)."""
    alpha, beta = offset, SQRT3 * offset
    return np.cos(angle) * alpha + np.sin(angle) * beta, np.cos(angle) * beta - np.sin(angle) * alpha


def commutated(motor: Any, tau: float, off: float, along: float = 0.0) -> tuple[float, float, float]:
    r"""Current of the driver [A], and the motor's i_d and i_q, that give a torque.

    The driver puts its current along its own q axis, which the motor's leads by ``off`` (electrical), so that
    :math:`i_d = i \sin\varepsilon`, :math:`i_q = i \cos\varepsilon`; a quarter turn off, nothing holds, and the
    current is that of a right commutation. ``along`` [A] flows along its d axis besides.
    """
    s, c = float(np.sin(off)), float(np.cos(off))
    if c < LEAST_COSINE:
        return tau / motor["K"], 0.0, tau / motor["K"]
    a = 1.5 * motor["pole_pairs"] * (motor["L_d"] - motor["L_q"]) * s * c  # eq:pmsm
    b = motor["K"] * c
    under = b * b + 4.0 * a * tau
    i = 2.0 * tau / (b + np.sqrt(under)) if under >= 0.0 else tau / b
    salient = 1.5 * motor["pole_pairs"] * (motor["L_d"] - motor["L_q"])
    for _ in range(NEWTON if along else 0):
        i_d, i_q = along * c + i * s, i * c - along * s
        missing = tau - (motor["K"] + salient * i_d) * i_q
        i += missing / ((motor["K"] + salient * i_d) * c + salient * s * i_q)
    return i, along * c + i * s, i * c - along * s


def set_plant(machine: Machine, plant: Robot, state: Balance, currents: Currents) -> None:
    """The state of arm, gears, windings and sensors."""
    world, motors, sensors, y = machine.world[0], machine.motors, machine.sensors, machine.y
    x = plant.coordinates(state.q) if plant.closed else state.q
    y[: len(x)] = x
    y[len(x) : len(x) + len(state.qd)] = state.qd
    if world["at_bus"] >= 0:
        y[int(world["at_bus"])] = machine.power["u_source"][0]
    for j, motor in enumerate(motors):
        e, at = int(motor["flexible"]), int(motor["current_at"])
        if e >= 0:
            y[int(world["at_theta"]) + e], y[int(world["at_w"]) + e] = state.theta[j], state.w[j]
            beyond = abs(state.twist[j]) >= motor["half_play"] > 0.0
            motor["contact"] = int(np.sign(state.twist[j])) if beyond else 0
        if j in machine.own:
            y[at : at + machine.own[j].width] = own_balance(machine, state, j)[1]
        elif at >= 0 and not any(j in group.motors for group in machine.groups):
            synchronous = motor["feed"] == Feed.THREE_PHASE
            y[at] = currents.i_d[j] if synchronous else currents.i[j]
            if synchronous:
                y[at + 1] = currents.i_q[j]
    for group in machine.groups:
        group.begin(machine, state)
    motors["g"] = np.where(motors["flexible"] < 0, gear_factor(motors, state.load, state.w), 1.0)
    motors["theta"], motors["w"] = state.theta, state.w
    motors["tau"] = motors["torque_command"] = state.tau
    motors["current_command"] = currents.i
    motors["mode"], machine.stops["mode"] = modes(motors, state.w), modes(machine.stops, state.qd)
    rate = state.w * sensors["counts_per_rad"]
    sensors["count"] = machine.axes["edge_count"] = currents.count
    machine.axes["edge_rate"] = rate
    counts = sensed_angles(sensors, state.theta) * sensors["counts_per_rad"]
    machine.axes["edge_time"] = _last_edges(counts, currents.count, rate)


def _last_edges(counts: Array, count: Array, rate: Array) -> Array:
    """When the encoders gave their last edges [s], zero at rest."""
    edge = np.where(rate >= 0.0, count - 0.5, count + 0.5)
    return np.asarray(-np.divide(counts - edge, rate, out=np.zeros_like(counts), where=rate != 0.0))


def _odd(machine: Machine, currents: Currents, names: Sequence[str], settled: bool) -> tuple[str, ...]:
    """What keeps the arm from standing, or moving on, as it begins."""
    lines = [
        f"start: motor {name} needs {abs(i):.4g} A, more than its driver's limit of {limit:.4g} A, and gives way"
        for name, i, limit in zip(names, currents.measured, machine.axes["i_max"], strict=True)
        if abs(i) > limit
    ]
    if not settled:
        law = "computed torque" if machine.servo.servo["computed"][0] else "the speed loop"
        lines.append(f"start: {law} does not hold the arm near its pose; it begins there and gives way")
    return tuple(lines)
