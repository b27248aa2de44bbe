"""From the rows that the compiled loop recorded to named signals."""

from __future__ import annotations

import numpy as np

from servotwin.control.servo.records import Law, Level
from servotwin.drives.kind import Feed
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.plant.recording import HEAD, PER_ROW
from servotwin.simulation.results.motion_log import MotionLog, Reference, commanded_tip
from servotwin.simulation.results.result import (
    BUS_SIGNALS,
    INTEGRATORS,
    MOTOR_SIGNALS,
    SPEED_COMMAND,
    TIP_SIGNALS,
    joint_signal,
)

COMMAND_COLUMN = 12  # voltage of the speed command, as the servo driver read it; behind it the integrators


def make_signals(
    machine: Machine, plant: Robot, model: Robot, reference: Reference, log: MotionLog
) -> dict[str, Array]:
    """All recorded signals, with quantity and unit in their names."""
    world = machine.world[0]
    rows = machine.rows[: int(world["record"]["rows"])]
    n, n_x = int(world["n"]), int(world["n_x"])
    t, q, qd = rows[:, 0], rows[:, HEAD : HEAD + n], rows[:, HEAD + n_x : HEAD + n_x + n]
    q_ref, qd_ref, _ = reference.sample(t) if len(t) else (q, qd, qd)
    signals: dict[str, Array] = {"time_s": t}
    sliding = joint_kinds(plant)
    for i, name in enumerate(plant.joint_names):
        for quantity, values, wanted in (("position", q, q_ref), ("velocity", qd, qd_ref)):
            signals[joint_signal(name, quantity, prismatic=sliding[i])] = values[:, i]
            signals[joint_signal(name, quantity, prismatic=sliding[i], reference=True)] = wanted[:, i]
    for j, name in enumerate(plant.mechanism.rotors.names):
        at = HEAD + n_x + n + PER_ROW * j
        for offset, column in enumerate(MOTOR_SIGNALS):
            if column in unknown(machine, j):
                continue
            values = rows[:, at + offset]
            whole = column in ("count", "saturation")
            signals[f"motor_{name}_{column}"] = values.astype(np.int64) if whole else values
        if commands_speed(machine, j):
            signals[f"motor_{name}_{SPEED_COMMAND}"] = rows[:, at + COMMAND_COLUMN]
        for offset, (column, there) in enumerate(zip(INTEGRATORS, integrators(machine, j), strict=True), 1):
            if there:
                signals[f"motor_{name}_{column}"] = rows[:, at + COMMAND_COLUMN + offset]
    signals |= {name: rows[:, 1 + i] for i, name in enumerate(BUS_SIGNALS)}
    x = rows[:, HEAD : HEAD + n_x]
    signals.update(tip_signals(plant, model, log, t, x, q_ref))
    return {name: np.ascontiguousarray(values) for name, values in signals.items()}


def unknown(machine: Machine, j: int) -> tuple[str, ...]:
    """Quantities that motor j does not have.

    An ideal one has no winding, without a constant no current either; without thermal data nobody knows the
    temperature.
    """
    motor = machine.motors[j]
    cold = () if motor["C_w"] > 0.0 else ("winding_temperature_degC",)
    if motor["feed"] != Feed.COMMAND:
        return cold
    currents = () if motor["has_constant"] else ("current_A", "current_ref_A")
    return (*cold, "voltage_V", *currents)


def commands_speed(machine: Machine, j: int) -> bool:
    """True if the servo driver of motor j gets a speed; currents and voltages are commanded past the speed loop."""
    axis = machine.axes[j]
    return bool(axis["level"] == Level.SPEED and axis["law"] != Law.COMPUTED_TORQUE)


def integrators(machine: Machine, j: int) -> tuple[bool, bool, bool, bool]:
    """Whether position, speed and current loop of motor j run and have an integrator; a fourth one along d."""
    axis, feed = machine.axes[j], machine.motors["feed"][j]
    position = axis["law"] == Law.CASCADE and bool(axis["K_xi"] or axis["ki_x"])
    turning = feed == Feed.THREE_PHASE  # its driver finds the voltage vector whatever is commanded
    current = turning or (feed != Feed.COMMAND and axis["level"] != Level.VOLTAGE)
    closed = commands_speed(machine, j) or axis["law"] == Law.CASCADE
    speed = closed and "current_ref_A" not in unknown(machine, j)
    return position, speed, bool(current), bool(turning)


def joint_kinds(robot: Robot) -> tuple[bool, ...]:
    """Which independent joints slide."""
    mechanism = robot.mechanism
    places = {name: i for i, name in enumerate(mechanism.tree_joint_names)}
    return tuple(bool(mechanism.prismatic[places[name]]) for name in mechanism.joint_names)


def tip_signals(
    plant: Robot, model: Robot, log: MotionLog, t: Array, x: Array, q_ref: Array
) -> dict[str, Array]:
    """Where the tool is, where it should be, and the difference along and across the commanded path."""
    if not len(x):
        return dict.fromkeys(TIP_SIGNALS, np.zeros(0))
    tip, wanted = plant.fkine_at(x)[:, :3, 3], commanded_tip(model, q_ref)
    along, across = log.path_errors(t, tip, wanted)
    signals = {f"tip_{axis}_m": tip[:, i] for i, axis in enumerate("xyz")}
    signals |= {f"tip_ref_{axis}_m": wanted[:, i] for i, axis in enumerate("xyz")}
    return signals | {"tip_error_along_m": along, "tip_error_across_m": across}


def make_zoom(machine: Machine, plant: Robot) -> dict[str, Array]:
    """The recorded detail, empty if none was asked for."""
    rows = machine.zoom[: int(machine.world["record"]["zoom_rows"][0])]
    if not len(rows):
        return {}
    zoom = {"time_s": rows[:, 0].copy(), "carrier": rows[:, 1].copy()}
    for j, name in enumerate(plant.mechanism.rotors.names):
        if machine.motors["feed"][j] == Feed.COMMAND:
            continue  # no bridge, no pulses
        for offset, column in enumerate(("voltage_V", "current_A", "modulation")):
            zoom[f"motor_{name}_{column}"] = rows[:, 2 + 3 * j + offset].copy()
    return zoom
