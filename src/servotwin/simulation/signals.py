"""From the rows that the compiled loop recorded to named signals."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from servotwin.control.records import Law, Level
from servotwin.drives.records import Kind
from servotwin.errors import KinematicsError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot
from servotwin.simulation.machine import Machine
from servotwin.simulation.recording import HEAD, PER_ROW
from servotwin.simulation.result import BUS_SIGNALS, MOTOR_SIGNALS, SPEED_COMMAND, TIP_SIGNALS, joint_signal

SMALL = 10_000_000  # pairs of points that are compared directly, sooner than SciPy is imported
COMMAND_COLUMN = 12  # voltage of the speed command, as the servo driver read it


class Reference(Protocol):
    """A motion that was commanded: planned as a whole, or handed out by a main controller."""

    @property
    def duration(self) -> float:
        """[s]"""

    @property
    def arrivals(self) -> Array:
        """When its moves have reached their targets (m,) [s]."""

    def sample(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration (k, n) at t (k,) [s]."""


def make_signals(machine: Machine, plant: Robot, model: Robot, reference: Reference) -> dict[str, Array]:
    """All recorded signals, with quantity and unit in their names."""
    world = machine.world[0]
    rows = machine.rows[: int(world["rows"])]
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
        if commands_speed(machine):
            signals[f"motor_{name}_{SPEED_COMMAND}"] = rows[:, at + COMMAND_COLUMN]
    signals |= {name: rows[:, 1 + i] for i, name in enumerate(BUS_SIGNALS)}
    x = rows[:, HEAD : HEAD + n_x]
    signals.update(tip_signals(plant, model, x, q_ref))
    return {name: np.ascontiguousarray(values) for name, values in signals.items()}


def unknown(machine: Machine, j: int) -> tuple[str, ...]:
    """Quantities that motor j does not have.

    An ideal one has no winding, without a constant no current either; without thermal data nobody knows the
    temperature.
    """
    motor = machine.motors[j]
    cold = () if motor["C_w"] > 0.0 else ("winding_temperature_degC",)
    if motor["kind"] != Kind.IDEAL:
        return cold
    currents = () if motor["has_constant"] else ("current_A", "current_ref_A")
    return (*cold, "voltage_V", *currents)


def commands_speed(machine: Machine) -> bool:
    """True if the servo drivers get speeds; currents and voltages are commanded past the speed loop."""
    timing = machine.timing[0]
    return bool(timing["level"] == Level.SPEED and timing["law"] != Law.COMPUTED_TORQUE)


def joint_kinds(robot: Robot) -> tuple[bool, ...]:
    """Which independent joints slide."""
    mechanism = robot.mechanism
    places = {name: i for i, name in enumerate(mechanism.tree_joint_names)}
    return tuple(bool(mechanism.prismatic[places[name]]) for name in mechanism.joint_names)


def tip_signals(plant: Robot, model: Robot, x: Array, q_ref: Array) -> dict[str, Array]:
    """Where the tool is, where it should be, and the difference along and across the commanded path."""
    if not len(x):
        return dict.fromkeys(TIP_SIGNALS, np.zeros(0))
    tip, wanted = plant.fkine_at(x)[:, :3, 3], commanded_tip(model, q_ref)
    along, across = path_errors(tip, wanted)
    signals = {f"tip_{axis}_m": tip[:, i] for i, axis in enumerate("xyz")}
    signals |= {f"tip_ref_{axis}_m": wanted[:, i] for i, axis in enumerate("xyz")}
    return signals | {"tip_error_along_m": along, "tip_error_across_m": across}


def commanded_tip(model: Robot, q_ref: Array) -> Array:
    """Where the tool should be (k, 3) [m].

    A command that no closed loops can follow leaves the tool where it was commanded last.
    """
    try:
        return model.fkine(q_ref)[:, :3, 3]
    except KinematicsError:
        places: list[Array] = []
        for q in q_ref:
            try:
                places.append(model.fkine(q)[:3, 3])
            except KinematicsError:
                if not places:
                    raise
                places.append(places[-1])
        return np.array(places)


def path_errors(tip: Array, wanted: Array) -> tuple[Array, Array]:
    """Lead along the tangent of the commanded path, and distance from the nearest point of that path (k,).

    While the command rests, the tangent is the last one. The distance is measured to the polygon through
    the commanded points, so that lagging behind on the path is no distance from it.
    """
    steps = np.diff(wanted, axis=0, prepend=wanted[:1])
    lengths = np.linalg.norm(steps, axis=1)
    moving = lengths > 1e-12
    last = np.maximum.accumulate(np.where(moving, np.arange(len(steps)), 0))
    tangent = np.divide(steps, lengths[:, None], out=np.zeros_like(steps), where=moving[:, None])[last]
    along = np.einsum("ij,ij->i", tip - wanted, tangent)
    return along, distance_to_path(tip, wanted)


def distance_to_path(points: Array, path: Array) -> Array:
    """Distance of each point from the polygon through ``path`` near its own place in it (k,)."""
    moved = np.concatenate([[True], np.linalg.norm(np.diff(path, axis=0), axis=1) > 1e-12])
    corners = path[moved]
    if len(corners) < 2:
        return np.asarray(np.linalg.norm(points - corners[0], axis=1))
    nearest = nearest_corner(points, corners)
    best = np.full(len(points), np.inf)
    for shift in (-1, 0):
        first = np.clip(nearest + shift, 0, len(corners) - 2)
        a, b = corners[first], corners[first + 1]
        edge = b - a
        part = np.clip(np.einsum("ij,ij->i", points - a, edge) / np.einsum("ij,ij->i", edge, edge), 0.0, 1.0)
        best = np.minimum(best, np.linalg.norm(points - a - part[:, None] * edge, axis=1))
    return best


def nearest_corner(points: Array, corners: Array) -> Array:
    """Index of the corner nearest to each point (k,)."""
    if len(points) * len(corners) > SMALL:
        from scipy.spatial import cKDTree

        return np.asarray(cKDTree(corners).query(points)[1])
    middle = corners.mean(axis=0)  # differences of squares keep their digits near the origin
    c = corners - middle
    squares = np.einsum("ij,ij->i", c, c) - 2.0 * (points - middle) @ c.T
    return np.asarray(np.argmin(squares, axis=1))


def make_zoom(machine: Machine, plant: Robot) -> dict[str, Array]:
    """The recorded detail, empty if none was asked for."""
    rows = machine.zoom[: int(machine.world["zoom_rows"][0])]
    if not len(rows):
        return {}
    zoom = {"time_s": rows[:, 0].copy(), "carrier": rows[:, 1].copy()}
    for j, name in enumerate(plant.mechanism.rotors.names):
        if machine.motors["kind"][j] == Kind.IDEAL:
            continue  # no bridge, no pulses
        for offset, column in enumerate(("voltage_V", "current_A", "modulation")):
            zoom[f"motor_{name}_{column}"] = rows[:, 2 + 3 * j + offset].copy()
    return zoom
