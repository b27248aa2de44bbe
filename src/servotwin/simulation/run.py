"""Run a scenario: plan its moves, let the machine run with its faults and laws, collect what it did."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from servotwin.control.servo.axis_data import controller_of
from servotwin.control.servo.user_laws import PythonLaw, UserLaw
from servotwin.description.checks import motor_names
from servotwin.description.fields import nanoseconds
from servotwin.errors import InputError, SimulationError
from servotwin.motion.frame_ranges import check_moves
from servotwin.motion.moving_start import MovingStart
from servotwin.motion.point_moves import PlannedMoves, PointMotion, check_quantities
from servotwin.robot.robot import Robot
from servotwin.simulation.assembly import Run, collect, machine_of, robots_of
from servotwin.simulation.plant.environment import environment_notes
from servotwin.simulation.plant.faults import apply_fault, fault_times
from servotwin.simulation.plant.fit import square_transmission
from servotwin.simulation.plant.machine import Machine
from servotwin.simulation.plant.own_law import LawError, answer, attach_law
from servotwin.simulation.plant.start import Start, begin
from servotwin.simulation.plant.status import LAW_WANTED
from servotwin.simulation.preflight.advice import late_faults, run_warnings
from servotwin.simulation.preflight.budget import Budget, BudgetError, bytes_text, over_time, read_budget
from servotwin.simulation.preflight.estimate import check_budget, estimate, row_count, zoom_bytes, zoom_rows
from servotwin.simulation.results.energy import energies_before
from servotwin.simulation.results.motion_log import CommandedMotion
from servotwin.simulation.results.result import Result
from servotwin.simulation.scenario.law_file import check_allowed, load_law
from servotwin.simulation.scenario.scenario import (
    Scenario,
    plan_scenario,
    read_scenario,
    start_speed,
)

if TYPE_CHECKING:
    from servotwin.motion.shaping import ShapedMotion

CHUNK = 200_000_000  # ns between two looks at the clock, the progress bar and Ctrl-C
MOST_WINDOWS = 100_000  # of the current loop in between
FOREVER = 1e12  # s: beyond every limit of a run


def simulate(
    scenario: str | PathLike[str] | Scenario,
    overrides: Mapping[str, str | None] | None = None,
    *,
    controller: UserLaw | None = None,
    allow_code: bool = False,
    progress: Callable[[float], None] | None = None,
    max_memory: float | str | None = None,
    max_time: float | str | None = None,
    allow_outside: bool = False,
) -> Result:
    """Simulate arm, drives and controller together.

    ``scenario`` is the name of one that ships, the path of a scenario file, or a ``Scenario``; ``overrides``
    changes its fields (``{"solver.method": "rk4", "set.variables.load": "2 kg"}``; None removes a part). A
    ``controller`` of the user's takes the place of position and speed loops, and of a law that the file names;
    a law of the file is Python code, and is run only with ``allow_code``. ``allow_outside`` lets the file name files
    outside of its folder. ``progress`` is called with the part done, 0 to 1. A run that is estimated to take more than
    ``max_memory`` ('2 GB', or in byte) or ``max_time`` of computing ('1 h', or in s) is refused with an InputError. One
    that diverges, or whose law fails, raises SimulationError with ``.partial``; Ctrl-C gives a result that is not
    ``complete``.
    """
    if not isinstance(scenario, Scenario):
        scenario = read_scenario(scenario, overrides, allow_outside=allow_outside)
    elif overrides:
        raise InputError("overrides go with a name or file; expected a scenario that is not read yet")
    run = prepare(scenario, controller, read_budget(max_memory, max_time), allow_code=allow_code)
    return carry_out(run, progress or (lambda part: None))


@dataclass
class ScenarioRun(Run):
    """The run of a scenario: the motion planned as a whole, a law of the user's, and how long it lasts."""

    reference: CommandedMotion
    law: UserLaw | None
    duration_ns: int
    budget: Budget = field(default_factory=Budget)

    @property
    def shaping(self) -> float | None:
        """How much longer the shaped motion is than the planned one [s]; None if it is not shaped."""
        added: float | None = getattr(self.reference, "added", None)
        return added


def prepare(
    scenario: Scenario,
    law: UserLaw | None = None,
    budget: Budget | None = None,
    *,
    allow_code: bool = False,
    reference: CommandedMotion | None = None,
) -> ScenarioRun:
    """Build everything up to the instant zero; compiles what is not compiled yet.

    ``reference``: the motion that is commanded in the place of the scenario's moves.
    InputError for a run that would take more than the ``budget``.
    """
    allowed = budget or Budget()
    if law is None:
        check_allowed(scenario.law, allow_code)
    model, plant = robots_of(scenario)
    began = time.perf_counter()
    if reference is None:
        planned = plan_scenario(scenario, model.joint_names, model.limits)
        _check_quantities(scenario, planned, model)
        reference = shaped_moves(scenario, model, planned)
    planning = time.perf_counter() - began
    control = controller_of(scenario.description)
    every = nanoseconds(scenario.record.every)
    period = control.current_period_ns
    seconds = min(reference.duration, FOREVER)  # a speed may be so small that the move never ends
    duration = -(-round(seconds * 1e9) // period) * period  # whole current periods
    _check_cost(scenario, duration * 1e-9, law, allowed)
    began = time.perf_counter()
    start = start_of(scenario, model.joint_names)
    machine = machine_of(
        scenario, model, plant, start, rows=row_count(duration, every), row_every_ns=every,
        every_piece=bool(scenario.faults), zoomed=scenario.record.zoom is not None, allow_code=allow_code,
    )  # fmt: skip
    machine.reserve(duration, rows=False)
    set_table(machine, model, reference, control.main_period)
    set_zoom(machine, scenario, control.current_period_ns)
    law = own_law(scenario, law, machine)
    if law is not None:  # which loops hold the arm is known only now
        machine.started = begin(machine, plant, model, start)
    compiled = time.perf_counter() - began
    warnings = [
        *run_warnings(scenario, model, plant, law),
        *late_faults(scenario, duration),
        *environment_notes(machine),
    ]
    before = energies_before(machine, plant)
    return ScenarioRun(
        scenario,
        model,
        plant,
        machine,
        before,
        warnings,
        compiled,
        planning,
        reference,
        law,
        duration,
        allowed,
    )


def shaped_moves(
    scenario: Scenario, model: Robot, planned: PointMotion | MovingStart
) -> PointMotion | MovingStart | ShapedMotion:
    """The moves of a scenario as the main controller shapes them; as they are if it does not."""
    control = controller_of(scenario.description)
    if control.shaping.shaper == "none":
        return planned
    from servotwin.control.tuning.shaper_choice import ShaperChoice  # which most runs do without
    from servotwin.motion.shaping import shaped_joints

    choice = ShaperChoice.of(scenario.description, model)
    if choice is None:
        return planned
    if isinstance(planned, MovingStart):
        raise InputError(
            "a motion that begins with a speed is not shaped; expected rest, or shaper: none",
            file=str(scenario.path or scenario.name),
            field="initial.speed",
        )
    return shaped_joints(
        planned.sample,
        planned.start_times,
        planned.durations,
        planned.duration,
        choice.modes,
        control.main_period,
    )


def _check_cost(scenario: Scenario, seconds: float, law: UserLaw | None, budget: Budget) -> None:
    """InputError for a run that would take more than the budget."""
    robot, record = scenario.plant_description, scenario.record
    calls = 1.0 / law.period if isinstance(law, PythonLaw) else 0.0
    if law is None and scenario.law is not None and scenario.law.period is not None:
        calls = 1.0 / scenario.law.period
    file = None if scenario.path is None else str(scenario.path)
    found = estimate(robot, seconds, record.every, scenario.solver, calls=calls)
    check_budget(found, budget, file=file, shorter="make the moves and dwells shorter, ")
    if record.zoom is not None:
        size = zoom_bytes(robot, record.zoom.span)
        if size > budget.memory:
            raise InputError(
                f"{record.zoom.span:g} s in every detail take {bytes_text(size)} of memory; expected at most "
                f"{bytes_text(budget.memory)}: a shorter time, or raise --max-memory",
                file=file,
                field="record.zoom.span",
            )


def _check_quantities(scenario: Scenario, reference: PlannedMoves, model: Robot) -> None:
    """Complain about a move that takes a quantity out of its range, with the scenario's file."""
    try:
        check_quantities(reference, model.quantities, len(scenario.moves))
        check_moves(model, reference, len(scenario.moves))
    except InputError as error:
        raise InputError(error.message, file=str(scenario.path or scenario.name), field=error.field) from None


def start_of(scenario: Scenario, joints: tuple[str, ...]) -> Start:
    """Where and how a scenario begins, as its controller believes."""
    q = np.array([scenario.start[name] for name in joints])
    return Start(q, start_speed(scenario, joints), wound=scenario.initial.hold == "joints")


def own_law(scenario: Scenario, law: UserLaw | None, machine: Machine) -> UserLaw | None:
    """The law of the call or of the scenario, put in its place; None if the controller's own loops run.

    That of the scenario is allowed (``law_file.check_allowed``) before.
    """
    if law is not None:
        attach_law(machine, law, motor_names(scenario.description))
        return law
    if scenario.law is None:
        return None
    named = load_law(scenario.law, len(machine.motors))
    try:
        attach_law(machine, named, motor_names(scenario.description))
    except InputError as error:
        raise scenario.law.error(error.message, error.field or "law") from error
    return named


def set_table(machine: Machine, model: Robot, reference: CommandedMotion, period: float) -> None:
    """What the main controller will hand out at each of its instants, in the pulses that it believes in."""
    count = int(np.ceil(reference.duration / period)) + 1
    q, qd, qdd = reference.sample((np.arange(count) + 1) * period)
    N, counts = square_transmission(model), machine.axes["counts_per_rad"]
    machine.servo.setpoints = np.ascontiguousarray(
        np.stack([np.floor(q @ N.T * counts + 0.5), qd @ N.T, qdd @ N.T], axis=-1), dtype=np.float64
    )


def set_zoom(machine: Machine, scenario: Scenario, current_ns: int) -> None:
    """Room for the detail of a short time, whole current periods of it."""
    zoom = scenario.record.zoom
    if zoom is None:
        return
    first = int(zoom.at * 1e9 // current_ns) * current_ns
    periods = max(1, round(zoom.span * 1e9 / current_ns))
    machine.world["record"]["zoom_from"][0], machine.world["record"]["zoom_to"][0] = (
        first,
        first + periods * current_ns,
    )
    machine.zoom = np.zeros((periods * zoom_rows(len(machine.motors)), machine.zoom.shape[1]))


def carry_out(run: ScenarioRun, progress: Callable[[float], None]) -> Result:
    """Run to the end, to a failure, or to Ctrl-C."""
    happened: list[tuple[float, str, str]] = []
    failure, refused, over = None, None, None
    began = time.perf_counter()
    try:
        go_on(run, progress, happened)
    except KeyboardInterrupt:
        failure = "interrupted"
    except BudgetError as error:
        over = error
        failure = f"{run.scenario.name}: stopped at {run.now_s:.6g} s: {error}"
    except LawError as error:
        failure, refused = f"{run.scenario.name}: {error}", error
    wall = time.perf_counter() - began - run.machine.compile_s
    result = collect(run, run.reference, wall, happened, failure=failure)
    if run.shaping is not None:
        result.summary["shaping_s"] = run.shaping
    if run.failed or refused is not None or over is not None:
        raise SimulationError(str(result.summary["failure"]), result) from getattr(refused, "__cause__", None)
    return result


def go_on(
    run: ScenarioRun, progress: Callable[[float], None], happened: list[tuple[float, str, str]]
) -> None:
    """Let the machine run to its end or failure; notes the faults that ``happened``."""
    machine, world = run.machine, run.machine.world[0]
    motors = run.plant.mechanism.rotors.names
    faults = fault_times(run.scenario)
    chunk = min(CHUNK, MOST_WINDOWS * controller_of(run.scenario.description).current_period_ns)
    began = time.monotonic()
    while world["state"]["now"] < run.duration_ns and world["state"]["status"] == 0:
        while faults and faults[0][0] <= world["state"]["now"]:
            at, fault = faults.pop(0)
            apply_fault(machine, fault, motors)
            happened.append((at * 1e-9, fault.axis or "supply", f"fault: {fault.kind}"))
        until = min(
            run.duration_ns, int(world["state"]["now"]) + chunk, faults[0][0] if faults else run.duration_ns
        )
        machine.advance(until)
        while world["state"]["status"] == LAW_WANTED and isinstance(run.law, PythonLaw):
            answer(machine, run.law, motors)
            machine.advance(until)
        progress(int(world["state"]["now"]) / max(run.duration_ns, 1))
        if (
            time.monotonic() - began - machine.compile_s > run.budget.time
            and world["state"]["now"] < run.duration_ns
        ):
            raise BudgetError(over_time(run.budget))
