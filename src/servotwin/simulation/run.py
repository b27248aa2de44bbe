"""Run a scenario: build the machine, let it run, collect what it did."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike

import numpy as np

from servotwin.control.servo.axis_data import controller_of
from servotwin.control.servo.user_laws import PythonLaw, UserLaw
from servotwin.description.checks import motor_names
from servotwin.description.fields import nanoseconds
from servotwin.errors import InputError, SimulationError
from servotwin.mechanism.build import build_mechanism
from servotwin.motion.point_moves import PlannedMoves, check_quantities
from servotwin.robot.arguments import position_text
from servotwin.robot.robot import Robot
from servotwin.simulation.plant.drive_records import highest_voltage
from servotwin.simulation.plant.faults import apply_fault, fault_times
from servotwin.simulation.plant.machine import Machine, build_machine, square_transmission
from servotwin.simulation.plant.own_actuator import troubles
from servotwin.simulation.plant.own_law import LawError, answer, attach_law
from servotwin.simulation.plant.start import Start, begin
from servotwin.simulation.plant.status import DIVERGED, LAW_NOT_A_NUMBER, LAW_WANTED, SINGULAR
from servotwin.simulation.preflight.advice import coarse_steps, late_faults, run_warnings
from servotwin.simulation.preflight.budget import Budget, BudgetError, bytes_text, over_time, read_budget
from servotwin.simulation.preflight.estimate import check_budget, estimate, row_count, zoom_bytes, zoom_rows
from servotwin.simulation.results.energy import account, balance_warnings, stored
from servotwin.simulation.results.limits_met import bus_summary, bus_warnings, excess_warnings, limit_warnings
from servotwin.simulation.results.motion_log import Reference, make_log
from servotwin.simulation.results.repeatability import visit_summary
from servotwin.simulation.results.result import Event, Result
from servotwin.simulation.results.signals import joint_kinds, make_signals, make_zoom
from servotwin.simulation.results.summary import axis_summaries, events_of, tip_errors
from servotwin.simulation.scenario.law_file import check_allowed, load_law
from servotwin.simulation.scenario.scenario import (
    Scenario,
    plan_scenario,
    read_scenario,
    start_speed,
)

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
class Run:
    """A machine that stands ready, and what is known about its run."""

    scenario: Scenario
    model: Robot
    plant: Robot
    reference: Reference
    machine: Machine
    law: UserLaw | None
    warnings: list[str]
    duration_ns: int
    before: dict[str, float]
    compile_s: float
    budget: Budget = field(default_factory=Budget)


def prepare(
    scenario: Scenario, law: UserLaw | None = None, budget: Budget | None = None, *, allow_code: bool = False
) -> Run:
    """Build everything up to the instant zero; compiles what is not compiled yet.

    InputError for a run that would take more than the ``budget``.
    """
    allowed = budget or Budget()
    if law is None:
        check_allowed(scenario.law, allow_code)
    belief, truth = scenario.description, scenario.plant_description
    model = Robot(build_mechanism(belief), title=belief.title)
    plant = Robot(build_mechanism(truth), title=truth.title) if scenario.plant_set else model
    reference = plan_scenario(scenario, model.joint_names, model.limits)
    _check_quantities(scenario, reference, model)
    control = controller_of(belief)
    every = nanoseconds(scenario.record.every)
    period = control.current_period_ns
    seconds = min(reference.duration, FOREVER)  # a speed may be so small that the move never ends
    duration = -(-round(seconds * 1e9) // period) * period  # whole current periods
    _check_cost(scenario, duration * 1e-9, law, allowed)
    began = time.perf_counter()
    start = start_of(scenario, model.joint_names)
    machine = build_machine(
        belief, truth, model, plant, start, scenario.solver,
        seed=scenario.seed, rows=row_count(duration, every), row_every_ns=every,
        every_piece=scenario.record.zoom is not None or bool(scenario.faults), allow_code=allow_code,
    )  # fmt: skip
    machine.reserve(duration, rows=False)
    set_table(machine, model, reference, control.main_period)
    set_zoom(machine, scenario, control.current_period_ns)
    law = own_law(scenario, law, machine)
    if law is not None:  # which loops hold the arm is known only now
        machine.started = begin(machine, plant, model, start)
    compiled = time.perf_counter() - began
    warnings = [*run_warnings(scenario, model, plant, law), *late_faults(scenario, duration)]
    return Run(
        scenario,
        model,
        plant,
        reference,
        machine,
        law,
        warnings,
        duration,
        stored(machine, plant),
        compiled,
        allowed,
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


def set_table(machine: Machine, model: Robot, reference: Reference, period: float) -> None:
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


def carry_out(run: Run, progress: Callable[[float], None]) -> Result:
    """Run to the end, to a failure, or to Ctrl-C."""
    machine, world = run.machine, run.machine.world[0]
    happened: list[tuple[float, str, str]] = []
    failure, refused, over = None, None, None
    began = time.perf_counter()
    try:
        go_on(run, progress, happened)
    except KeyboardInterrupt:
        failure = "interrupted"
    except BudgetError as error:
        over = error
        failure = f"{run.scenario.name}: stopped at {int(world['state']['now']) * 1e-9:.6g} s: {error}"
    except LawError as error:
        failure, refused = f"{run.scenario.name}: {error}", error
    wall = time.perf_counter() - began - machine.compile_s
    failed = int(world["state"]["status"])
    if (
        failed == LAW_WANTED
    ):  # the law was asked and did not answer; the machine stands well before that instant
        failed = 0
    if failed:
        failure = failure_text(failed, int(world["state"]["now"]) * 1e-9, run)
    result = collect(run, wall, happened, complete=failure is None, failure=failure)
    if failure is not None and (failed or refused is not None or over is not None):
        raise SimulationError(failure, result) from getattr(refused, "__cause__", None)
    return result


def go_on(run: Run, progress: Callable[[float], None], happened: list[tuple[float, str, str]]) -> None:
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


def failure_text(status: int, at: float, run: Run) -> str:
    """Why a run ended early, in one line."""
    name = run.scenario.name
    if status == DIVERGED:
        own = troubles(run.machine.own.values())
        if own:
            return f"{name}: stopped at {at:.6g} s: {own[0]}"
        return (
            f"{name}: diverged at {at:.6g} s: a motor or joint left all bounds of speed or torque; "
            f"{coarse_steps(run.machine, run.scenario.solver, run.plant.mechanism.rotors.names)}look at the gains "
            "(servotwin tune) and at the data of motors and loads"
        )
    if status == LAW_NOT_A_NUMBER:
        return f"{name}: stopped at {at:.6g} s: the control law returned a value that is not a number"
    if status == SINGULAR:
        robot = run.plant
        sliding = [unit == "m" for unit in robot.joint_units]
        joints = position_text(run.machine.x[: robot.n], robot.joint_names, sliding)
        return (
            f"{name}: stopped at {at:.6g} s: {run.plant.name} came to a singular position ({joints}), where the "
            "actuated joints no longer determine the passive ones; keep the motion away from it"
        )
    fastest = float(run.machine.world["scratch"]["fastest"][0])
    if fastest > 0.0:
        return (
            f"{name}: stalled at {at:.6g} s: oil that changes within {1e6 / fastest:.3g} us needs too many steps; look at "
            "dead_volume and laminar_drop of the hydraulic axes, or take a shorter current_period"
        )
    return (
        f"{name}: stalled at {at:.6g} s: too many events in one PWM interval; look at friction, stiffness and play, or "
        "raise solver.steps"
    )


@np.errstate(all="ignore")  # a run may contain NaN after divergence
def collect(
    run: Run,
    wall: float,
    faults: list[tuple[float, str, str]],
    *,
    complete: bool,
    failure: str | None = None,
) -> Result:
    """The result of a run that has ended; ``failure`` says why before its time."""
    machine, plant, scenario = run.machine, run.plant, run.scenario
    if machine.world["state"]["status"][0] in (
        0,
        LAW_WANTED,
        LAW_NOT_A_NUMBER,
        SINGULAR,
    ):  # otherwise it failed within the window
        machine.close()
    log = make_log(machine, plant, run.model, run.reference)
    signals = make_signals(machine, plant, run.model, run.reference, log)
    errors = tip_errors(log, float(run.reference.arrivals[-1]))
    repeatability = visit_summary(log.tip_signals())
    now = int(machine.world["state"]["now"][0]) * 1e-9
    sliding = joint_kinds(plant)
    motors = plant.mechanism.rotors.names
    axes = axis_summaries(
        machine, scenario.plant_description, log, plant.joint_names, sliding, motors, now,
        float(run.reference.arrivals[-1]),
    )  # fmt: skip
    events: tuple[Event, ...] = events_of(axes, faults)
    energy = account(machine, plant, run.before)
    bus = bus_summary(machine, energy["brake_resistor_J"], now)
    warnings = [*run.warnings, *machine.started.warnings, *limit_warnings(axes)]
    if machine.world["state"]["status"][0] != DIVERGED:  # which leaves all limits behind
        power = scenario.plant_description.power
        warnings += excess_warnings(axes)
        warnings += bus_warnings(bus, highest_voltage(power)[1] if power is not None else "")
        warnings += balance_warnings(energy, scenario.solver)
    summary = {
        "scenario": scenario.name,
        "title": scenario.title,
        "robot": plant.name,
        "method": scenario.solver.method,
        "pwm": scenario.solver.pwm,
        "seed": scenario.seed,
        "start": machine.started.plain(plant.joint_names),
        "failure": failure,
        "simulated_s": now,
        "wall_s": wall,
        "compile_s": run.compile_s + machine.compile_s,
        "real_time_factor": now / wall if wall > 0.0 else None,
        **errors,
        "repeatability": repeatability,
        "energy": energy,
        "bus": bus,
        "axes": axes,
        "warnings": warnings,
        "intervals_per_current_period_max": int(machine.world["state"]["intervals_max"][0]),
        "estimated_step_error": None
        if scenario.solver.method == "rk4"
        else float(machine.world["state"]["error"][0]),
    }
    return Result(
        scenario=scenario,
        robot=run.model,
        joints=plant.joint_names,
        prismatic=sliding,
        motors=tuple(motors),
        signals=signals,
        zoom=make_zoom(machine, plant),
        summary=summary,
        events=events,
        complete=complete,
        log=log,
        plant=plant,
    )
