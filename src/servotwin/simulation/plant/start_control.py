r"""The controller of a robot that has stood, or moved evenly, for long: references, measurements, integrators.

Every loop gives what holds the balance, by its integrator where it has one. A loop without integrator gives it
by an error of its own: with K_p e the only way to a current, the motor stands behind its reference by

.. math:: e = \frac{\omega^* - s_v\,\omega}{K_x}, \qquad
          \omega^* = \omega + \frac{i - i_\mathrm{ff}}{K_n}\,[K_{ni} = 0]                 (eq:start-error)

(K_x, K_n: gains of position and speed loop, s_v: share of the speed fed forward), and under computed torque by

.. math:: e = \frac{1}{K_p}\,M^{-1}\,\bigl(N^T(\hat K i - \hat f \omega) - h(q, \dot q)\bigr)   (eq:start-computed)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.control.servo.records import Law, Level
from servotwin.control.servo.valve_loop import OVER_NULL, head_factor
from servotwin.control.tuning.gains import FULL_SCALE, GAIN_ONE, GAIN_SHIFT
from servotwin.drives.harmonics import wave_at
from servotwin.drives.kind import Feed
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.simulation.plant.balance import Balance
from servotwin.simulation.plant.readings import sensed_angles

if TYPE_CHECKING:
    from servotwin.simulation.plant.machine import Machine
    from servotwin.simulation.plant.start import Start


@dataclass(frozen=True)
class Currents:
    """Balance with its counts and, per motor (m,), the motor's currents d and q, and current and voltages d and q
    in the frame of its driver; ``measured``: what the driver takes that current for."""

    state: Balance
    count: Array
    i_d: Array
    i_q: Array
    i: Array
    measured: Array
    u_d: Array
    u_q: Array


def holding_error(machine: Machine, model: Robot, start: Start, currents: Currents, qd: Array) -> Array:
    """Counts (m,) by which the motors stand behind their references for the law to give what holds them."""
    axes = machine.axes
    none = np.zeros(len(axes))
    if start.wound:
        return none
    if machine.servo.servo["computed"][0]:
        return _computed_error(machine, model, currents, qd) if start.settled else none
    if machine.servo.servo["state_feedback"][0]:
        return none  # it has integrators
    wanted = speed_command(machine, model, start, currents, qd)
    behind = wanted - axes["share_velocity"] * (machine_speeds(model, qd))
    K_x = np.where(axes["fixed"] != 0, axes["kp_x"] / GAIN_ONE, axes["K_x"])
    cascade = axes["law"] == Law.CASCADE  # what a law of the user's gives, nobody knows
    by_error = (_integral(axes, "x") == 0) & (K_x > 0.0) & cascade
    out = np.divide(axes["counts_per_rad"] * behind, K_x, out=none, where=by_error)  # eq:start-error
    return np.asarray(out)


def _computed_error(machine: Machine, model: Robot, currents: Currents, qd: Array) -> Array:
    axes = machine.axes
    N = np.asarray(model.mechanism.rotors.N, dtype=np.float64)
    shown = sensed_angles(machine.sensors, currents.state.theta)
    q = machine.inverse @ (shown * machine.sensors["counts_per_rad"] / axes["counts_per_rad"])
    tau = N.T @ (axes["K_hat"] * currents.measured - axes["f_hat"] * (N @ qd))
    h = model.rne(q, qd, np.zeros_like(q))
    M = model.inertia(q, drives=True)
    away = np.linalg.solve(M, tau - h) / machine.servo.servo["K_p"][0]  # eq:start-computed
    return np.asarray(axes["counts_per_rad"] * (N @ away))


def machine_speeds(model: Robot, qd: Array) -> Array:
    """Motor speeds (m,) of joint speeds, as the controller believes."""
    return np.asarray(model.mechanism.rotors.N, dtype=np.float64) @ qd


def _integral(axes: Any, loop: str) -> Array:
    """Integral gains (m,) of the loop x, n or i that are in use, as floats or integers."""
    return np.asarray(np.where(axes["fixed"] != 0, axes[f"ki_{loop}"], axes[f"K_{loop}i"]))


def feed_forward(machine: Machine, model: Robot, counts: Array, qd: Array) -> Array:
    """Currents (m,) that the axis controller feeds forward: its model at the reference, gravity where it counts."""
    axes, timing = machine.axes, machine.servo.servo[0]
    ahead = np.zeros(len(axes))
    if timing["share_torque"] > 0.0:
        q = machine.inverse @ (axes["counts_ref"] / axes["counts_per_rad"])
        tau = machine.inverse.T @ model.rne(q, qd, np.zeros_like(q)) + axes["f_hat"] * machine_speeds(
            model, qd
        )
        ahead += timing["share_torque"] * tau
    if timing["share_gravity"] > 0.0:
        q = machine.inverse @ (counts / axes["counts_per_rad"])
        ahead += timing["share_gravity"] * (machine.inverse.T @ model.gravload(q))
    return np.asarray(ahead / axes["K_hat"] + axes["flow_share"] * machine_speeds(model, qd))


def speed_command(machine: Machine, model: Robot, start: Start, currents: Currents, qd: Array) -> Array:
    """Speeds (m,) that the position loop must command: the motors' own, and what replaces a missing integrator."""
    axes = machine.axes
    counts = sensed_angles(machine.sensors, currents.state.theta) * machine.sensors["counts_per_rad"]
    rest = currents.measured - feed_forward(machine, model, counts, qd)
    given = start.settled & ((axes["level"] == Level.SPEED) | (axes["law"] == Law.CASCADE))
    per_speed = axes["K_n"] + axes["flow_share"]
    lacking = (_integral(axes, "n") == 0) & (per_speed > 0.0) & given
    more = np.divide(rest, per_speed, out=np.zeros(len(axes)), where=lacking)
    return np.asarray(machine_speeds(model, qd) + more)  # eq:start-error


def set_controller(machine: Machine, model: Robot, start: Start, currents: Currents, qd: Array) -> None:
    """References, measurements and integrators of all loops."""
    axes, timing, w = machine.axes, machine.servo.servo[0], machine_speeds(model, qd)
    set_references(machine, model, start.q, w)
    set_measurements(machine, currents, w)
    ahead = feed_forward(machine, model, currents.count, qd)
    wanted = speed_command(machine, model, start, currents, qd)
    error = axes["counts_ref"] - axes["count"]
    if start.wound:  # the error of the twist is there, and what it commands with it
        wanted = axes["K_x"] * error / axes["counts_per_rad"] + axes["share_velocity"] * w
    axes["sum_x"] = np.where(
        (_integral(axes, "x") != 0) & (not start.wound),
        axes["counts_per_rad"] * (wanted - axes["share_velocity"] * w),
        0.0,
    )
    axes["w_command"] = axes["next_w"] = axes["w_ref"] = wanted
    rest = currents.measured - ahead - axes["K_n"] * (wanted - w)
    axes["sum_n"] = np.where(_integral(axes, "n") != 0, rest, 0.0)
    if timing["computed"]:
        ahead, axes["sum_n"] = currents.measured, 0.0
    if timing["state_feedback"]:
        ahead = ahead - axes["flow_share"] * w  # the law has a current per speed of its own
        hold_by_feedback(machine, currents.measured - ahead, w)
    axes["i_ref"] = axes["next_i"] = currents.measured
    for axis in axes:
        settle_filters(axis)
    axes["i_feedforward"] = axes["next_feedforward"] = ahead
    set_voltages(machine, currents, w)
    set_valves(machine, currents)
    for j in np.flatnonzero(axes["fixed"]):
        set_integers(axes[j], currents.measured[j] - (wanted[j] - w[j]) * axes["K_n"][j], float(ahead[j]))


def settle_filters(axis: Any) -> None:
    """Filters of the torque command that have passed the current of the start on for long (eq:sampled-filter)."""
    for taps, memory in zip(axis["filter_taps"], axis["filter_memory"], strict=True):
        memory[1] = (taps[2] - taps[4]) * axis["i_ref"]
        memory[0] = (taps[1] - taps[3]) * axis["i_ref"] + memory[1]


def set_valves(machine: Machine, currents: Currents) -> None:
    """Valve currents that act now (eq:valve-loop)."""
    valves = machine.motors["valve"] != 0
    for name in ("m_a", "next_a"):
        machine.axes[name] = np.where(valves, currents.i, machine.axes[name])


def asked_current(axis: Any, i: float, p_load: float) -> float:
    """What the speed loop must ask for so that the driver of a valve gives the current i [A]: its law backwards."""
    small, over, size = OVER_NULL * axis["valve_max"], axis["overlap"], abs(i)
    if over > 0.0:
        half = 0.5 * (size - over - small)
        size = half + np.sqrt(half * half + size * small)
    counted = axis["head_share"] * p_load
    factor = head_factor(axis["head"], axis["head_forward"], axis["head_backward"], i, counted)
    return float(np.copysign(size, i) / factor)


def hold_by_feedback(machine: Machine, i: Array, w: Array) -> None:
    r"""Estimate and integrals of state feedback that give currents i (m,) with what it feeds forward, without an error.

    The observer does not know the load: under the torque that holds it its estimate stands where

    .. math:: (I - \Phi (I - L C))\,\bar\epsilon = -\Gamma \tau, \qquad
              K_i \sigma = \tau - K (I - L C)\,\bar\epsilon                                (eq:start-feedback)
    """
    law, m = machine.servo.feedback_law[0], len(i)
    s = int(law["states"])
    Phi, Gamma, C = law["Phi"][:s, :s], law["Gamma"][:s, :m], law["C"][:m, :s]
    valves = law["amperes"][:m] != 0
    own = valves | (machine.servo.servo["share_torque"][0] == 0.0)  # else the model feeds forward
    ahead = np.where(valves & (w < 0.0), law["f_back"][:m], law["f"][:m]) * w
    for j in np.flatnonzero(valves):  # eq:valve-forward
        head, forward, backward = (float(law[name][j]) for name in ("head", "head_forward", "head_backward"))
        ahead[j] *= head_factor(head, forward, backward, float(w[j]), float(machine.axes["p_slow"][j]))
    torque = np.where(valves, 1.0, machine.axes["K_hat"]) * i - np.where(own, ahead, 0.0)
    left = np.eye(s) - law["L"][:s, :m] @ C
    before = np.linalg.solve(np.eye(s) - Phi @ left, -Gamma @ torque)  # eq:start-feedback
    law["before"][:s], law["after"][:s] = before, left @ before
    law["sigma"][:m] = np.linalg.solve(law["K_i"][:m, :m], torque - law["K"][:m, :s] @ left @ before)


def set_references(machine: Machine, model: Robot, q: Array, w: Array) -> None:
    """The path begins at the nearest counts of the pose, as the main controller hands them out."""
    axes = machine.axes
    counts = np.floor(machine_speeds(model, q) * axes["counts_per_rad"] + 0.5)
    for name in ("counts_ref", "from_counts", "to_counts"):
        axes[name] = counts
    axes["counts_ref"] -= known_errors(axes, counts / axes["counts_per_rad"]) * axes["counts_per_rad"]
    axes["twist"] = axes["twist_before"] = believed_twist(machine, model, q, w)
    axes["counts_ref"] += axes["twist"] * axes["counts_per_rad"]
    for name in ("w_path", "from_speed", "to_speed"):
        axes[name] = w
    for name in ("a_path", "from_acceleration", "to_acceleration"):
        axes[name] = 0.0


def known_errors(axes: Any, theta: Array) -> Array:
    """Angles (m,) by which encoders stand short of references ``theta`` (m,) (eq:corrected-reading)."""
    pairs = list(zip(axes, theta, strict=True))
    first = [wave_at(axis, "known", float(angle)) for axis, angle in pairs]
    return np.array(
        [wave_at(axis, "known", float(angle) - e) for (axis, angle), e in zip(pairs, first, strict=True)]
    )


def believed_twist(machine: Machine, model: Robot, q: Array, w: Array) -> Array:
    """Angles (m,) by which references are turned ahead of joints q (n,) and motor speeds w (m,) (eq:turned-ahead)."""
    axes, servo = machine.axes, machine.servo.servo[0]
    if not servo["twists"]:
        return np.zeros(len(axes))
    moving = servo["share_twist"] > 0.0
    tau = model.rne(q, machine.inverse @ w, np.zeros_like(q)) if moving else model.gravload(q)
    share = servo["share_twist"] if moving else servo["share_gravity_twist"]
    torque = share * (machine.inverse.T @ tau)
    out = np.divide(
        torque, axes["k_hat"], out=np.zeros(len(axes)), where=axes["k_hat"] > 0.0
    )  # eq:turned-ahead
    return np.asarray(out)


def set_measurements(machine: Machine, currents: Currents, w: Array) -> None:
    """Counts now and a speed period ago, speeds and currents as the drivers have measured them."""
    axes, true = machine.axes, machine.sensors["counts_per_rad"]
    timing = machine.servo.servo[0]
    together = (axes["law"] == Law.CASCADE) & (axes["level"] == Level.CURRENT)  # position and speed loop
    before = currents.state.theta - currents.state.w * np.where(together, timing["T_axis"], timing["T_speed"])
    before = sensed_angles(machine.sensors, before)
    axes["count"], axes["last_count"] = currents.count, np.floor(before * true + 0.5)
    axes["w_meas"], axes["i_meas"], axes["i_d_meas"] = w, currents.measured, 0.0


def set_voltages(machine: Machine, currents: Currents, w: Array) -> None:
    """Current loops: their integrators give the voltage at the bus as it is, beside what is taken out (eq:foc)."""
    axes, timing = machine.axes, machine.servo.servo[0]
    u_bus = float(machine.world["state"]["u_bus"][0])
    command = axes["u_max"] / u_bus
    angle = axes["pole_pairs_hat"] * (axes["count"] / axes["counts_per_rad"] + 0.5 * timing["T_current"] * w)
    late_d, late_q = late_voltages(machine, currents, angle)
    u_d, u_q = command * (currents.u_d + late_d), command * (currents.u_q + late_q)
    w_e = axes["pole_pairs_hat"] * w
    axes["sum_i"] = u_q - w_e * axes["psi_hat"]
    axes["sum_d"] = u_d + w_e * axes["L_q_hat"] * currents.measured
    axes["u_ref"] = u_q
    c, s = np.cos(angle), np.sin(angle)
    synchronous = machine.motors["feed"] == Feed.THREE_PHASE
    axes["m_a"] = axes["next_a"] = np.where(synchronous, c * u_d - s * u_q, u_q) / axes["u_max"]
    axes["m_b"] = axes["next_b"] = np.where(synchronous, s * u_d + c * u_q, 0.0) / axes["u_max"]


def late_voltages(machine: Machine, currents: Currents, angle: Array) -> tuple[Array, Array]:
    r"""Voltages (m,) that dead and storage time take, in d and q of drivers at electric angles (m,) (eq:pwm-mean).

    .. math:: u_x = u_{bus}\,\mathrm{sign}(i_x)\,(t_d - t_s)/T                             (eq:start-dead-time)

    of every phase x with the current that flows in it, :math:`i_x = i_d \cos\theta_x - i_q \sin\theta_x` in the frame
    of the rotor; twice that of the two legs of an H-bridge, which is the q voltage of a motor with brushes.
    """
    power, motors = machine.power[0], machine.motors
    lost = float(machine.world["state"]["u_bus"][0]) * (power["dead_time"] - power["storage_time"])
    lost = lost / float(machine.servo.servo["T_current"][0])
    apart = np.array([0.0, 2.0, 4.0]) * np.pi / 3.0
    rotor = (motors["pole_pairs"] * currents.state.theta)[:, np.newaxis] - apart
    along, across = currents.i_d[:, np.newaxis], currents.i_q[:, np.newaxis]
    signs = np.sign(along * np.cos(rotor) - across * np.sin(rotor))  # of the currents of the phases
    places = angle[:, np.newaxis] - apart
    # The phases' own directions: what all three have in common does not act.
    u_d, u_q = (2.0 / 3.0 * np.sum(signs * part, axis=1) for part in (np.cos(places), -np.sin(places)))
    synchronous = motors["feed"] == Feed.THREE_PHASE
    driven = motors["feed"] != Feed.COMMAND
    return (
        np.where(synchronous, lost * u_d, 0.0),
        np.where(synchronous, lost * u_q, 2.0 * lost * np.sign(currents.i)) * driven,
    )  # eq:start-dead-time


def set_integers(axis: Any, current: float, ahead: float) -> None:
    """The integrators of a fixed-point controller, in its own units (eq:fixed-point)."""
    fed = np.floor(ahead / axis["i_max"] * FULL_SCALE)
    speed = round(current / axis["i_max"] * FULL_SCALE - fed) if axis["ki_n"] else 0
    axis["acc_n"] = int(speed) << GAIN_SHIFT
    axis["acc_i"] = round(axis["sum_i"] / axis["u_max"] * FULL_SCALE) << GAIN_SHIFT
    axis["acc_d"] = round(axis["sum_d"] / axis["u_max"] * FULL_SCALE) << GAIN_SHIFT
    axis["acc_x"] = round(axis["sum_x"]) << GAIN_SHIFT if axis["ki_x"] else 0
