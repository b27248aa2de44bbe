"""From the rows that the compiled loop recorded to named signals."""

from __future__ import annotations

import numpy as np

from servotwin.drives.kind import Feed
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.simulation.plant import signal_table as table
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.plant.row_layout import positions, velocities
from servotwin.simulation.plant.signal_table import JOINT, MOTOR, ROBOT, TIP
from servotwin.simulation.results.motion_log import CommandedMotion, MotionLog, commanded_tip, tool_poses


def make_signals(
    machine: Machine, plant: Robot, model: Robot, reference: CommandedMotion, log: MotionLog
) -> dict[str, Array]:
    """All recorded signals, with quantity and unit in their names."""
    world = machine.world[0]
    rows = machine.rows[: int(world["record"]["rows"])]
    t, x, qd = rows[:, table.TIME], positions(machine, rows), velocities(machine, rows)
    q = x[:, : int(world["n"])]
    q_ref, qd_ref, _ = reference.sample(t) if len(t) else (q, qd, qd)
    supply = {signal.full_name(): rows[:, number] for number, signal in enumerate(ROBOT)}
    signals = {ROBOT[table.TIME].full_name(): t}
    signals |= joint_signals(plant, q, q_ref, qd, qd_ref)
    signals |= motor_signals(machine, plant, rows)
    signals |= supply
    signals |= tip_signals(plant, model, log, t, x, q_ref)
    return {name: np.ascontiguousarray(values) for name, values in signals.items()}


def joint_signals(plant: Robot, q: Array, q_ref: Array, qd: Array, qd_ref: Array) -> dict[str, Array]:
    """Positions and velocities (rows, n) of the joints, and as they are commanded."""
    values = {table.POSITION: q, table.POSITION_REF: q_ref, table.VELOCITY: qd, table.VELOCITY_REF: qd_ref}
    sliding = joint_kinds(plant)
    return {
        signal.full_name(name, prismatic=sliding[i]): values[number][:, i]
        for i, name in enumerate(plant.joint_names)
        for number, signal in enumerate(JOINT)
    }


def motor_signals(machine: Machine, plant: Robot, rows: Array) -> dict[str, Array]:
    """What the rows hold of every motor; a signal without a column does not exist on its axis."""
    signals: dict[str, Array] = {}
    sliding = pistons(machine)
    for j, (name, columns) in enumerate(zip(plant.mechanism.rotors.names, machine.columns, strict=True)):
        for signal, column in zip(MOTOR, columns, strict=True):
            if column >= 0:
                values = rows[:, column]
                place = signal.full_name(name, prismatic=sliding[j])
                signals[place] = values.astype(np.int64) if signal.whole else values
    return signals


def pistons(machine: Machine) -> tuple[bool, ...]:
    """Which motors are the pistons of cylinders: they travel and have a force."""
    return tuple(bool(record["valve"]) and not record["hydraulic"]["rotary"] for record in machine.motors)


def joint_kinds(robot: Robot) -> tuple[bool, ...]:
    """Which independent joints slide."""
    mechanism = robot.mechanism
    places = {name: i for i, name in enumerate(mechanism.tree_joint_names)}
    return tuple(bool(mechanism.prismatic[places[name]]) for name in mechanism.joint_names)


def tip_signals(
    plant: Robot, model: Robot, log: MotionLog, t: Array, x: Array, q_ref: Array
) -> dict[str, Array]:
    """Where the tool is, where it should be, and the difference along and across the commanded path."""
    names = [signal.full_name() for signal in TIP]
    if not len(x):
        return dict.fromkeys(names, np.zeros(0))
    deflection = None
    if log.deflection is not None:  # of the log, whose instants are close enough for accelerations
        deflection = np.stack([np.interp(t, log.time, part) for part in log.deflection.T], axis=1)
    tip, wanted = tool_poses(plant, x, deflection)[:, :3, 3], commanded_tip(model, q_ref)
    along, across = log.path_errors(t, tip, wanted)
    return dict(zip(names, (*tip.T, *wanted.T, along, across), strict=True))


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
