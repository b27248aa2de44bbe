"""Servovalves along a given path: their rows at points and between them, and their power."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from servotwin.equations.derivation import Derivation
from servotwin.motion.optimal.drive_model import DriveModel
from servotwin.motion.optimal.hydraulic_energy import mean_supply_power
from servotwin.motion.optimal.point_problem import one_way, valve_rows
from servotwin.motion.optimal.task import Task
from servotwin.motion.optimal.transcription import NamedRow

UNKNOWN = 0.0  # sign of a speed that the program decides


class ValveForm(Protocol):
    """What of a ``PathForm`` decides about the rows of valves."""

    @property
    def feed(self) -> tuple[str, ...]:
        """Kind of every motor, 'valve' of those with a servovalve."""
        ...

    @property
    def valves(self) -> tuple[int, ...]:
        """Motors whose valves bound them."""
        ...

    @property
    def pump(self) -> bool:
        """Whether the flow of all of them is bounded."""
        ...


def valve_node_rows(d: Derivation, form: ValveForm, w: Sequence[Any], i: Sequence[Any]) -> list[Any]:
    """Open and braking valves, and the flow of their pump, at the speeds w of all motors at a point."""
    rows = valve_rows(d, form.valves, [w[j] for j in form.valves], i, [UNKNOWN] * len(i))
    if form.pump:
        total: Any = 0.0
        for j in form.valves:
            ahead, back = one_way(d, j, w[j])
            total = total + d.number(f"oAa{j}") * ahead + d.number(f"oAb{j}") * back
        rows.append(total / d.number("oPump"))
    return rows


def valve_link_rows(
    d: Derivation,
    form: ValveForm,
    w: Sequence[Sequence[Any]],
    i: tuple[Sequence[Any], Sequence[Any]],
    dt: Any,
) -> list[Any]:
    """The same half-way between two points, where a force that changes compresses oil."""
    flowing = [
        0.5 * (w[0][j] + w[1][j]) + (i[1][j] - i[0][j]) / (dt * d.number(f"oOil{j}")) for j in form.valves
    ]
    middle = [0.5 * (x + y) for x, y in zip(*i, strict=True)]
    return valve_rows(d, form.valves, flowing, middle, [UNKNOWN] * len(middle))


def valve_power(d: Derivation, form: ValveForm, w: Sequence[Sequence[Any]]) -> Any:
    """Mean power [W] that all valves take from their supply between two points (eq:hydraulic-energy)."""
    total: Any = 0.0
    for j in [j for j, kind in enumerate(form.feed) if kind == "valve"]:
        total = total + mean_supply_power(d, j, [w[0][j], 0.5 * (w[0][j] + w[1][j]), w[1][j]])
    return total


def valve_fields(drives: DriveModel, task: Task, feed: tuple[str, ...]) -> dict[str, Any]:
    """The fields of a ``PathForm`` about motors and valves; ``feed``: how electric motors are fed."""
    valves = tuple(int(j) for j in np.flatnonzero(drives.valve)) if task.flow else ()
    pump = bool(valves) and drives.valves is not None and math.isfinite(drives.valves.pump)
    kinds = tuple("valve" if valve else kind for valve, kind in zip(drives.valve, feed, strict=True))
    return {"feed": kinds, "valves": valves, "pump": pump}


def node_names(drives: DriveModel, form: ValveForm) -> list[NamedRow]:
    """Group, owner and bounds of ``valve_node_rows``."""
    pump: list[NamedRow] = [("pump flow", "supply", -math.inf, 1.0)] if form.pump else []
    return _both_ways(drives, form, "") + pump


def link_names(drives: DriveModel, form: ValveForm) -> list[NamedRow]:
    """The same of ``valve_link_rows``."""
    return _both_ways(drives, form, " between")


def _both_ways(drives: DriveModel, form: ValveForm, where: str) -> list[NamedRow]:
    return [
        (f"valve {way}{where}", drives.names[j], -math.inf, 1.0)
        for way in ("forward", "backward")
        for j in form.valves
    ]
