"""How a job is run: integration, record, seed, where the arm stands, what differs in truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from servotwin.errors import InputError
from servotwin.simulation.job_play import SETTLE, TIME_LIMIT
from servotwin.simulation.preflight.budget import Budget
from servotwin.simulation.scenario.parts import SEED, Record, Solver


@dataclass(frozen=True)
class JobSettings:
    """How a job is run: integration, record, seed, where the arm stands, what differs in truth."""

    solver: Solver = field(default_factory=Solver)
    record: Record = field(default_factory=Record)
    seed: int = 1
    start: Mapping[str, float] = field(default_factory=dict)  # rad, m; default the robot's home
    plant: Mapping[str, str] = field(default_factory=dict)  # changes that the controller does not know
    override: int = 100  # percent
    fit: bool = False
    torques: bool = True  # False: plans may ask for more than the drives of the file give
    settle: float = SETTLE
    time_limit: float = TIME_LIMIT
    budget: Budget = field(default_factory=Budget)  # memory and computing time


def with_simulation(
    settings: JobSettings,
    *,
    method: str | None = None,
    pwm: str | None = None,
    seed: int | str | None = None,
    record: float | str | None = None,
    option: str = "",
) -> JobSettings:
    """The settings with those of the simulation that are given, as a scenario file has them; texts carry units.

    A value that is not accepted is called by its name behind ``option``.
    """
    solver, rows = settings.solver, settings.record
    if method is not None:
        solver = solver.model_copy(update={"method": _read(f"{option}method", Solver, "method", method)})
    if pwm is not None:
        solver = solver.model_copy(update={"pwm": _read(f"{option}pwm", Solver, "pwm", pwm)})
    if record is not None:
        rows = rows.model_copy(update={"every": _read(f"{option}record", Record, "every", record)})
    number = settings.seed if seed is None else _seed(f"{option}seed", seed)
    return replace(settings, solver=solver, record=rows, seed=number)


def _read(name: str, part: type[Solver] | type[Record], key: str, value: object) -> Any:
    """A field of a part of scenario files, checked as there."""
    try:
        return getattr(part.model_validate({key: value}), key)
    except ValidationError as error:
        raise InputError(error.errors()[0]["msg"], field=name) from None


def _seed(name: str, value: int | str) -> int:
    try:
        return SEED.read(value)
    except ValueError as error:
        raise InputError(str(error), field=name) from None
