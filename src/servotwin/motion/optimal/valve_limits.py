"""Limits of servovalves and their pump of a solved program: how much of them is used, and what more would buy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.optimal.between_nodes import Motion
from servotwin.motion.optimal.drive_model import DriveModel
from servotwin.motion.optimal.ipopt import Solution
from servotwin.motion.optimal.transcription import Rows


@dataclass(frozen=True, eq=False)
class Limit:
    """One limit of all instants: name, owner, value, unit, shares used (N + 1,), gain per unit (scaled objective).

    ``at`` (N + 1,): where it decides, if its share alone does not say so.
    """

    what: str
    who: str
    value: float
    unit: str
    share: Array
    gain: float
    at: Array | None = None


class ValveProgram(Protocol):
    """A program between two points or along a path, as far as its valves go."""

    @property
    def form(self) -> Any:
        """With ``valves`` and ``pump``."""
        ...

    @property
    def mesh(self) -> Array:
        """One number for each node."""
        ...

    @property
    def rows(self) -> Rows:
        """Where each group of rows stands."""
        ...

    def row_values(self, name: str, values: Array) -> Array:
        """The values of a group of rows (blocks, columns)."""
        ...


WAYS = (("forward", 1.0), ("backward", -1.0))


def valve_limits(
    drives: DriveModel, program: ValveProgram, solution: Solution, motion: Motion
) -> list[Limit]:
    """Flow of servovalves, as how far they open, and of their pump."""
    if drives.valves is None:
        return []
    out, most = [], drives.valves.open
    for j in program.form.valves:
        used, gain = np.zeros(program.mesh.size), 0.0
        for way, sign in WAYS:
            F_most = float(getattr(drives.valves, way)[j])
            for group, w, force in _valve_loads(drives, motion, j, f"valve {way}"):
                drag = drives.valves.drag[j] * np.maximum(sign * w, 0.0) ** 2
                opening = np.sqrt(drag / np.maximum(F_most - sign * force, 1e-9 * F_most))  # eq:valve-limit
                used[: w.size] = np.maximum(used[: w.size], opening)
                price = np.maximum(_valve_prices(drives, program, solution, group, j), 0.0)
                gain += float((price * 2.0 * drag).sum()) / (F_most * most**3)
        out.append(Limit("valve flow", drives.names[j], most, "strokes", used / most, gain))
    if program.form.pump:
        values, price = (program.row_values("pump flow", x)[:, 0] for x in (solution.g, solution.mult_g))
        flow = 6e4 * drives.valves.pump
        out.append(Limit("pump flow", "supply", flow, "L/min", values, float(price.sum()) / flow))
    return out


def _valve_loads(
    drives: DriveModel, motion: Motion, j: int, group: str
) -> tuple[tuple[str, Array, Array], tuple[str, Array, Array]]:
    """Speeds, compression of oil counted, and forces of a valve at nodes and half-way between them, with their rows."""
    assert drives.valves is not None
    h, force = np.diff(motion.t), motion.i[:, j] + drives.offset[j]
    w, wd = motion.v @ drives.N[j], motion.a @ drives.N[j]
    middle = (
        0.5 * (w[1:] + w[:-1]) + h * (wd[:-1] - wd[1:]) / 8.0 + np.diff(force) / (h * drives.valves.oil[j])
    )
    return (group, w, force), (f"{group} between", middle, 0.5 * (force[1:] + force[:-1]))


def _valve_prices(drives: DriveModel, program: ValveProgram, solution: Solution, group: str, j: int) -> Array:
    column = program.rows[group][3].index(drives.names[j])
    return program.row_values(group, solution.mult_g)[:, column]


def force_gain(drives: DriveModel, program: ValveProgram, solution: Solution, j: int) -> float:
    """What one more newton both ways buys by the rows of a valve: they share the price of a force with its bounds."""
    if j not in program.form.valves:
        return 0.0
    total = 0.0
    for way, _ in WAYS:
        for group in (f"valve {way}", f"valve {way} between"):
            price = _valve_prices(drives, program, solution, group, j)
            total += float(np.maximum(price, 0.0).sum()) / float(getattr(drives.valves, way)[j])
    return total


def valve_rows_used(drives: DriveModel, program: ValveProgram, solution: Solution, j: int) -> Array | None:
    """Parts (N + 1,) of the force that a valve leaves at its speed; None where it does not count."""
    if j not in program.form.valves:
        return None
    used = np.zeros(program.mesh.size)
    for way, _ in WAYS:
        for group in (f"valve {way}", f"valve {way} between"):
            column = program.rows[group][3].index(drives.names[j])
            values = program.row_values(group, solution.g)[:, column]
            used[: values.size] = np.maximum(used[: values.size], values)
    return used
