"""``st.size``: what a cycle asks of the drives of a robot, and which motors and gears of a catalogue can give it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.description.drive_data import DriveData, drives_of
from servotwin.description.load import read_description
from servotwin.description.placed import override_mapping
from servotwin.description.schema import RobotDescription
from servotwin.design.sizing.actuators import Actuator, actuator_of
from servotwin.design.sizing.axis_choices import AxisChoices
from servotwin.design.sizing.choices import STANDS, gears_of, motors_of
from servotwin.design.sizing.cycle import cycle_of
from servotwin.design.sizing.duty import Duty
from servotwin.design.sizing.evaluate import Rules, demand_of
from servotwin.design.sizing.load import Load, load_of, payload_per_kg
from servotwin.design.sizing.nearest import uses
from servotwin.design.sizing.pareto import pareto_front
from servotwin.design.sizing.result import Assessment, ParetoPoint, Rejection, Sizing, assess, payload_of
from servotwin.design.sizing.search import TIME_LIMIT, Choice, Problem, search
from servotwin.design.sizing.what_if import what_if as how_far
from servotwin.design.sizing.worst_case import worst_case
from servotwin.errors import InputError
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array
from servotwin.robot.described import Given, source_of
from servotwin.robot.robot import Robot

if TYPE_CHECKING:
    from servotwin.description.sheets.catalogue import Catalogue

    Listed = str | Path | Catalogue

OBJECTIVES = ("price", "mass", "size")
FAVOURITES = 5  # cheaper entries per axis that are explained
BAND = 0.02  # of the RMS torque, that friction at rest may change without a word
HEAVY = 50.0  # load over motor inertia from which a loop is hard to close
SMALL = 4  # joints; arms with more have wrists that can be singular anywhere in the workspace
NEAR_SINGULAR = (
    "the file states no acceleration limits of some joints: poses near singular ones count, where tool acceleration in "
    "any direction asks for more than any drive gives"
)
Quiet = Callable[[str], None]


def size(
    robot: Given,
    *,
    job: str | Path | None = None,
    scenario: str | Path | None = None,
    duty: Duty | None = None,
    tool_speed: float | None = None,
    tool_acceleration: float | None = None,
    moving: float | None = None,
    catalogue: Listed | Sequence[Listed] | None = None,
    minimise: str | None = None,
    what_if: Sequence[str] = (),
    pareto: bool = False,
    rest: float = 0.0,
    rules: Rules | None = None,
    overrides: Mapping[str, str] | None = None,
    time_limit: float = TIME_LIMIT,
    progress: Quiet | None = None,
) -> Sizing:
    """Size the drives of a robot for a cycle.

    The cycle is a ``job``, the moves of a ``scenario``, a ``duty`` of samples, or the worst case over the joint ranges
    at ``tool_speed`` [m/s] and ``tool_acceleration`` [m/s2] in any direction; there ``moving``, the share of the time
    in motion, bounds RMS torque and temperature, and without it they are those of holding the arm. The drives that the
    file describes are judged by it. With ``minimise`` ('price', 'mass' or 'size') the best motors and gears of a
    ``catalogue`` (one or several files of data sheets, default the generic series) are searched for all axes together;
    ``pareto``: also the front of price, mass and cycle time. ``what_if``: 'payload', 'speed': how far they can go.
    ``rest`` [s] after each cycle.
    """
    if not isinstance(robot, RobotDescription):
        robot = source_of(robot)
    told, chosen = progress or (lambda text: None), rules or Rules()
    _check_request(job, scenario, duty, tool_speed, tool_acceleration)
    _check_moving(moving, tool_speed)
    asked = minimise or ("price" if catalogue is not None or pareto else None)
    if asked is not None and asked not in OBJECTIVES:
        raise InputError(f"'{asked}' is unknown; expected {', '.join(OBJECTIVES)}", field="--minimise")
    told("planning")
    changes = override_mapping(overrides)
    bare = _bare(robot, changes) if asked is not None else {}
    description, cycle = cycle_of(robot, job, scenario, duty, rest, {**bare, **changes})
    model = Robot(build_mechanism(description), title=description.title)
    drives = drives_of(description)
    present = tuple(actuator_of(drive, description.axes.get(drive.owner)) for drive in drives)
    if cycle is None:
        if asked is not None or what_if:
            raise InputError(
                "a worst case has no cycle to search for or to change; expected a job or a scenario",
                field="--minimise" if asked is not None else "--what-if",
            )
        tool = (tool_speed or 0.0, tool_acceleration or 0.0, moving or 0.0)
        return _worst(description, model, drives, present, tool, chosen)
    told("inverse dynamics")
    load = load_of(model, drives, cycle, *payload_per_kg(description))
    now = assess(load, present, description.power, chosen)
    study = _Study(description, drives, load, present, chosen, time_limit, told)
    choice: Choice | None = None
    rejected: tuple[Rejection, ...] = ()
    front: tuple[ParetoPoint, ...] = ()
    gaps: list[str] = []
    if asked is not None:
        listed = _catalogue(catalogue)
        choice = study.best(listed, asked)
        rejected = study.rejections(listed, asked, choice)
        if pareto:
            front, gaps = study.front(listed)
    shown = now if choice is None else assess(choice.load, choice.actuators, description.power, chosen)
    told("what if")
    chosen_set, carried = [d.actuator for d in shown.demands], payload_of(description)
    answers = tuple(
        how_far(question, shown.load, chosen_set, description.power, chosen, carried) for question in what_if
    )
    return Sizing(
        description, model, now, choice, None if choice is None else shown, asked, rejected, answers, front, None,
        (*study.notes(cycle, choice, shown), *gaps),
        None if isinstance(robot, RobotDescription) else os.fspath(robot),
        changes,
    )  # fmt: skip


def _bare(robot: str | Path | RobotDescription, overrides: dict[str, str]) -> dict[str, str]:
    """Changes of the file that put a gear of ratio 1 where neither motor nor gear is described: for a search."""
    if isinstance(robot, RobotDescription):
        return {}
    found = read_description(robot, overrides)
    undriven = [drive.owner for drive in drives_of(found) if drive.gear.ratio == 0.0]
    return {f"axes.{name}.gear.ratio": "1 rad/m" if found.axes[name].prismatic else "1" for name in undriven}


def _check_request(*given: Any) -> None:
    job, scenario, duty, speed, acceleration = given
    worst = speed is not None or acceleration is not None
    if sum(x is not None for x in (job, scenario, duty)) + worst != 1:
        raise InputError(
            "expected one of: a job, a scenario, a duty, or tool speed and acceleration", field="--job"
        )
    for value, name in ((speed, "--tool-speed"), (acceleration, "--tool-acceleration")):
        if worst and (value is None or value < 0.0 or not np.isfinite(value)):
            raise InputError("missing or negative; expected tool speed and acceleration together", field=name)


def _check_moving(moving: float | None, speed: float | None) -> None:
    if moving is None:
        return
    if speed is None:
        raise InputError("a cycle states by itself when it moves; expected --tool-speed", field="--moving")
    if not 0.0 <= moving <= 1.0:
        raise InputError(f"{100 * moving:g} % of the time; expected 0 to 100 %", field="--moving")


def _catalogue(given: Listed | Sequence[Listed] | None) -> Catalogue:
    """All that is given together; the generic series if nothing is."""
    from servotwin.description.sheets.catalogue import Catalogue, read_catalogue

    if given is None:
        return read_catalogue()
    several = [given] if isinstance(given, str | Path | Catalogue) else list(given)
    read = [one if isinstance(one, Catalogue) else read_catalogue(one) for one in several]
    return reduce(add, read) if read else read_catalogue()


def _worst(
    description: RobotDescription,
    model: Robot,
    drives: Sequence[DriveData],
    present: tuple[Actuator, ...],
    tool: tuple[float, float, float],
    rules: Rules,
) -> Sizing:
    """The worst case; ``tool``: its speed, its acceleration, and the share of the time in motion."""
    speed, acceleration, moving = tool
    found = worst_case(model, drives, present, speed, acceleration, moving=moving, rules=rules)
    notes: tuple[str, ...] = ()
    if np.isinf(model.limits.qdd_max).any() and model.n > SMALL:
        notes = (NEAR_SINGULAR,)
    return Sizing(description, model, None, None, None, None, (), (), (), found, notes)


@dataclass(frozen=True, eq=False)
class _Study:
    """A robot under the load of a cycle, and the choices for it."""

    description: RobotDescription
    drives: tuple[DriveData, ...]
    load: Load
    present: tuple[Actuator, ...]
    rules: Rules
    time_limit: float
    told: Quiet

    def _bus(self, catalogue: Catalogue) -> float | None:
        """The bus voltage [V]; needed where the catalogue has motors for several."""
        if self.description.power is not None:
            return self.description.power.bus_voltage
        made_for = sorted({m.bus_voltage for m in catalogue.motors.values() if m.bus_voltage is not None})
        if made_for and made_for[0] < STANDS * made_for[-1]:
            listed = ", ".join(f"{U:g} V" for U in made_for[:6])
            raise InputError(
                f"missing: {catalogue.name} has motors for {listed}, and all share one bus; expected its voltage",
                field="power.bus_voltage",
            )
        return None

    def problem(self, catalogue: Catalogue, load: Load, cost: Callable[[AxisChoices], Array]) -> Problem:
        """The choices of a catalogue for every axis under a load."""
        axes = []
        for j, drive in enumerate(self.drives):
            if not self.present[j].motor.electric:
                raise InputError("hydraulic: no catalogue has its drive", field=f"axes.{drive.owner}.motor")
            motors = motors_of(catalogue, self._bus(catalogue), drive.brake)
            gears = list(gears_of(catalogue, load.units[j]).values())
            if not motors or not gears:
                what = "motors" if not motors else "screws" if load.units[j] == "m" else "gears"
                raise InputError(
                    f"{catalogue.name}: no {what} for axis {drive.name}; expected some, or those of the generic series "
                    "beside it (--catalogue generic)",
                    field="--catalogue",
                )
            axes.append(AxisChoices(load, j, motors, gears, self.description.power, self.rules))
        masses = tuple(actuator.mass for actuator in self.present)
        return Problem(load, tuple(axes), tuple(cost(axis) for axis in axes), masses)

    def best(self, catalogue: Catalogue, objective: str) -> Choice:
        """The best set of a catalogue."""
        self.told(f"searching {catalogue.name} for the least {objective}")
        problem = self.problem(catalogue, self.load, lambda axis: cost_table(axis, objective))
        return search(problem, self.time_limit, self.told)

    def rejections(self, catalogue: Catalogue, objective: str, choice: Choice) -> tuple[Rejection, ...]:
        """For every axis the favourites that are better by themselves, and why they do not fit the chosen set."""
        problem = self.problem(catalogue, choice.load, lambda axis: cost_table(axis, objective))
        found = []
        for j, (axis, cost) in enumerate(zip(problem.axes, problem.costs, strict=True)):
            own = cost[choice.indices[j]]
            for m, g in _favourites(axis, cost, float(own)):
                demand = demand_of(axis.load, 0, axis.pair(m, g), axis.power, axis.rules)
                if demand.worst is not None:
                    found.append(
                        Rejection(axis.name, demand.actuator, float(cost[m, g]), float(own), demand.worst)
                    )
        return tuple(found)

    def front(self, catalogue: Catalogue) -> tuple[tuple[ParetoPoint, ...], list[str]]:
        """Sets that no other beats in price, mass and cycle time at once, at several speeds; what is open in them."""

        def problem_at(load: Load) -> tuple[Problem, tuple[Array, ...], tuple[Array, ...]]:
            problem = self.problem(catalogue, load, partial(cost_table, objective="price"))
            masses = tuple(cost_table(axis, "mass") for axis in problem.axes)
            return problem, problem.costs, masses

        return pareto_front(self.load, problem_at, self.time_limit, self.told)

    def notes(self, cycle: Duty, choice: Choice | None, shown: Assessment) -> list[str]:
        """What a reader should know about the numbers."""
        out = [*self._uncounted_friction(), *_stick_bands(shown)]
        if cycle.beyond_drives:
            out.append(
                "the drives of the file are too weak for the job; it is planned without limits of torques"
            )
        if not cycle.closed:
            out.append(
                "the cycle does not end where it begins: temperatures and RMS values repeat it without the way back"
            )
        oil = [
            drive.name for drive, has in zip(self.drives, self.present, strict=True) if not has.motor.electric
        ]
        if oil:
            out.append(f"{', '.join(oil)}: hydraulic, forces in N; neither judged nor fed by the bus")
        if choice is not None:
            out += self._heavy_loads(choice)
            out += self._slow_axes(choice)
            kept = [d.name for d in self.drives if d.brake is not None]
            if kept and not any(a.motor.printed and a.motor.printed.brake_torque for a in choice.actuators):
                out.append(
                    f"the catalogue has no motor with a brake; that of the file stays on {', '.join(kept)}"
                )
            unknown = [a.motor.name for a in self.present if a.motor.mass is None]
            if unknown:
                out.append(
                    f"the file states no mass of the motors {', '.join(unknown)}: its links count as bare, and the "
                    "whole mass of a chosen motor and gear is added before the joint that it moves"
                )
        return out

    def _slow_axes(self, choice: Choice) -> list[str]:
        """Axes of the chosen set that cannot turn as fast as the file's limits allow."""
        slow = []
        for drive, chosen in zip(self.drives, choice.actuators, strict=True):
            wanted = self.description.axes[drive.joints[0]].limits.speed
            most = min(chosen.motor.top_speed or np.inf, chosen.gear.max_speed or np.inf) / chosen.gear.ratio
            if drive.alone and wanted is not None and wanted > most * (1.0 + 1e-9):
                slow.append(f"{drive.name} {100.0 * most / wanted:.0f} %")
        words = "the chosen set is fast enough for the cycle, not for the speed limits of the file, of which it reaches"
        return [f"{words}: {', '.join(slow)}"] if slow else []

    def _heavy_loads(self, choice: Choice) -> list[str]:
        """Motors of the chosen set that are far lighter than what they move."""
        if self.rules.inertia_ratio is not None:
            return []
        demands = (demand_of(choice.load, j, chosen) for j, chosen in enumerate(choice.actuators))
        heavy = [f"{d.name} {d.inertia_ratio:.0f}" for d in demands if d.inertia_ratio > HEAVY]
        words = f"load inertia over that of the motor: {', '.join(heavy)}; --inertia-ratio 10 asks for less"
        return [words] if heavy else []

    def _uncounted_friction(self) -> list[str]:
        """Joints that several motors move: their friction is no part of the load."""
        shared = {name for drive in self.drives if not drive.alone for name in drive.joints}
        axes = self.description.axes
        rubbing = [name for name in axes if name in shared and axes[name].friction is not None]
        return (
            [f"friction of {', '.join(rubbing)} is not counted: several motors move them"] if rubbing else []
        )


def _stick_bands(shown: Assessment) -> list[str]:
    """Axes whose RMS torque depends on how they come to rest."""
    wide = [
        f"{d.name} {d.rms_least:.3g} to {d.rms_torque:.3g} N m"
        for d in shown.demands
        if d.rms_least < (1.0 - BAND) * d.rms_torque
    ]
    words = "at rest a servo gives any torque that friction and gear loss leave it; RMS torque and heat count the most"
    return [f"{words}: {', '.join(wide)}"] if wide else []


def cost_table(axis: AxisChoices, objective: str) -> Array:
    """What every pair costs (M, G): price, mass [kg] or size [m]; infinite where an entry does not state it."""
    columns = [[getattr(part, objective) for part in parts] for parts in (axis.motors, axis.gears)]
    motors, gears = (
        np.array([np.inf if x is None else x for x in column], dtype=np.float64) for column in columns
    )
    for values, word in ((motors, "motor"), (gears, "gear")):
        if not np.isfinite(values).any():
            raise InputError(f"no {word} of the catalogue states its {objective}", field="--minimise")
    return np.asarray(motors[:, None] + gears[None])


def _favourites(axis: AxisChoices, cost: Array, own: float) -> list[tuple[int, int]]:
    """Pairs that cost less than the chosen one, those that come nearest to fitting first."""
    m, g = np.nonzero((cost < own * (1.0 - 1e-12)) & axis.possible)
    order = np.argsort(uses(axis, axis.load.arm.torque[:, 0], m, g), kind="stable")[:FAVOURITES]
    return [(int(m[i]), int(g[i])) for i in order]
