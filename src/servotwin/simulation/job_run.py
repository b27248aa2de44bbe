"""Run a job: the main controller in Python, once every main period, on the compiled machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np

from servotwin.control.exchange import Feedback
from servotwin.control.main_controller import MainController
from servotwin.control.states import Event, Mode, State
from servotwin.description.load import read_description
from servotwin.errors import InputError, SimulationError
from servotwin.jobs.player import Player
from servotwin.jobs.points import Points
from servotwin.jobs.program import Program, load_program
from servotwin.jobs.syntax import Job
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array
from servotwin.motion.limits import limits_of
from servotwin.motion.point_moves import Reference
from servotwin.robot.robot import Robot
from servotwin.simulation.controller_data import controller_of
from servotwin.simulation.energy import stored
from servotwin.simulation.io_script import IoScript, Surroundings, read_io_script
from servotwin.simulation.job_log import Change, Commands, JobLog, log_entries
from servotwin.simulation.job_plant import IdealPlant, MachinePlant, Plant
from servotwin.simulation.live import make_controller
from servotwin.simulation.machine import build_machine
from servotwin.simulation.result import Result
from servotwin.simulation.run import Run, collect, failure_text, loop_warnings, record_period
from servotwin.simulation.scenario import Scenario
from servotwin.simulation.scenario_parts import Record, Solver

ROWS = 50_000  # room for recorded rows, made larger when it is full
SETTLE = 0.25  # s after the end of a job
COAST = 1.0  # s after the power is gone
TIME_LIMIT = 600.0  # s of simulated time
NANO = 1e-9


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
    settle: float = SETTLE
    time_limit: float = TIME_LIMIT


@dataclass
class Played:
    """What came of playing a job: the commands, what changed, whether it was neither interrupted nor failed."""

    commands: Commands
    changes: list[Change]
    finished_ns: int | None  # when the job came to its end
    complete: bool


def get_ready(controller: MainController, q: Array, player: Player, override: int = 100) -> None:
    """Power on before the time zero, the job loaded and started."""
    T = controller.period_ns
    now = -T * (4 + controller.settings.brake_ns // T)
    controller.step(now, Feedback(q))
    replies = [controller.press(Event.ENABLE)]
    while now < -T:
        now += T
        controller.step(now, Feedback(q))
    replies.append(controller.press(Event.MODE, mode=Mode.PLAY))
    replies.append(controller.press(Event.OVERRIDE, percent=override))
    replies.append(controller.press(Event.LOAD, program=player))
    replies.append(controller.press(Event.RUN))
    for reply in replies:
        if not reply:
            raise InputError(f"the controller does not start: {reply.reason}")


def play(
    controller: MainController,
    plant: Plant,
    script: IoScript | None,
    *,
    settle: float = SETTLE,
    time_limit: float = TIME_LIMIT,
    progress: Callable[[float], None] | None = None,
    expected: float = math.nan,
) -> Played:
    """Step the controller and its plant until the job is done or cannot go on."""
    T = controller.period_ns
    around = Surroundings(script)
    changes: list[Change] = []
    rows = [(controller.reference.q.copy(), *(np.zeros(controller.robot.n),) * 2)]
    state, ended, finished, now = controller.state, None, None, 0
    complete = True
    try:
        while now < time_limit / NANO and (ended is None or now < ended):
            q, fault = plant.feedback()
            _act(controller, around, changes, now)
            command = controller.step(
                now, Feedback(q, drive_fault=fault, inputs=around.inputs, circuit_closed=around.circuit)
            )
            rows.append((command.q, command.qd, command.qdd))
            for name, on in around.outputs(now, command.outputs):
                changes.append(Change(now * NANO, "output", f"{name} {'ON' if on else 'OFF'}"))
            if command.state is not state:
                changes.append(Change(now * NANO, "state", command.state.value))
                if command.state is State.READY and state in (State.RUNNING, State.STEPPING):
                    finished = now
                state = command.state
                ended = _end(state, now, settle)
            if not plant.carry_on(command, now, now + T):
                complete = False
                break
            now += T
            if ended is None and not around.pending:
                stalled = _stalled(controller, around)
                if stalled:
                    changes.append(Change(now * NANO, "stalled", stalled))
                    ended = now + round(settle / NANO)
            if progress is not None and expected > 0.0:
                progress(min(now * NANO / expected, 1.0))
        if ended is None and complete:
            changes.append(Change(now * NANO, "time limit", f"{time_limit:g} s"))
    except KeyboardInterrupt:
        complete = False
    t = np.arange(len(rows), dtype=np.float64) * (T * NANO)
    q_all, qd_all, qdd_all = (np.array(column) for column in zip(*rows, strict=True))
    return Played(Commands(t, q_all, qd_all, qdd_all), changes, finished, complete)


def _act(controller: MainController, around: Surroundings, changes: list[Change], now: int) -> None:
    """Inputs and keys whose time has come."""
    for action in around.due(now):
        for name, on in action.inputs.items():
            changes.append(Change(now * NANO, "input", f"{name} {'ON' if on else 'OFF'}"))
        if action.circuit is not None:
            changes.append(Change(now * NANO, "circuit", "closed" if action.circuit else "open"))
        if action.press is None:
            continue
        arguments = {} if action.percent is None else {"percent": action.percent}
        reply = controller.press(action.press, **arguments)
        text = action.press if reply else f"{action.press} refused: {reply.reason}"
        changes.append(Change(now * NANO, "key", text))


def _stalled(controller: MainController, around: Surroundings) -> str:
    """What a job waits for that will never come; empty if it goes on."""
    if controller.state is State.PAUSED:
        return "paused, and nothing presses resume"
    playback = controller.reference.playback
    task = playback.awaited if playback is not None else None
    if task is None or around.inputs.get(task.signal, False) == task.on:
        return ""
    return f"waits for {task.signal} {'ON' if task.on else 'OFF'}, which nothing switches"


def _end(state: State, now: int, settle: float) -> int | None:
    """When the run ends [ns] that has come to a state; None while it goes on."""
    if state in (State.READY, State.ALARM):
        return now + round(settle / NANO)
    if state in (State.FAULT, State.EMERGENCY, State.DISABLED):
        return now + round(COAST / NANO)
    return None


def rehearse(
    job: str | Path | Program | Job,
    points: Points | None = None,
    robot: str | Path | None = None,
    overrides: Mapping[str, str] | None = None,
    *,
    io_script: IoScript | str | Path | None = None,
    settings: JobSettings | None = None,
) -> tuple[JobLog, Commands, Player]:
    """A job on an arm that follows exactly: how long it takes and what it commands, without a simulation."""
    chosen = settings or JobSettings()
    program = _program(job, points)
    scenario = job_scenario(program, robot, overrides, chosen)
    model = Robot(build_mechanism(scenario.description), title=scenario.title)
    controller, player = _start(program, scenario, model, chosen)
    played = play(
        controller, IdealPlant(_start_pose(scenario, model)), _script(io_script), settle=0.0,
        time_limit=chosen.time_limit,
    )  # fmt: skip
    return _log(scenario, controller, played, None), played.commands, player


def run_job(
    job: str | Path | Program | Job,
    points: Points | None = None,
    robot: str | Path | None = None,
    overrides: Mapping[str, str] | None = None,
    *,
    io_script: IoScript | str | Path | None = None,
    settings: JobSettings | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[Result, JobLog]:
    """Simulate a job on arm, drives and controller.

    ``job``: the name of one that ships, the path of a file (its points next to it), a ``Program``, or a ``Job``
    with its ``points``; ``robot``: catalogue name or file, default the one that the points were taught with;
    ``overrides``: changes of the robot file. A run that diverges raises SimulationError with ``.partial``;
    Ctrl-C gives a result that is not ``complete``.
    """
    chosen, script = settings or JobSettings(), _script(io_script)
    program = _program(job, points)
    expected = math.nan
    if progress is not None:
        expected = rehearse(program, None, robot, overrides, io_script=script, settings=chosen)[1].duration
    scenario = job_scenario(program, robot, overrides, chosen)
    belief, truth = scenario.description, scenario.plant_description
    model = Robot(build_mechanism(belief), title=belief.title)
    plant = Robot(build_mechanism(truth), title=truth.title) if scenario.plant_set else model
    controller, _ = _start(program, scenario, model, chosen)
    q = _start_pose(scenario, model)
    began = time.perf_counter()
    machine = build_machine(
        belief, truth, model, plant, q, chosen.solver, seed=chosen.seed, rows=ROWS,
        row_every_ns=record_period(scenario, controller_of(belief).current_period_ns),
    )  # fmt: skip
    machine.advance(0)  # compiles, or reads the compiled loop from disk
    compiled = time.perf_counter() - began
    before = stored(machine, plant)
    began = time.perf_counter()
    played = play(
        controller, MachinePlant(machine, truth), script, settle=chosen.settle,
        time_limit=chosen.time_limit, progress=progress, expected=expected + chosen.settle,
    )  # fmt: skip
    wall = time.perf_counter() - began
    run = Run(
        scenario, model, plant, cast(Reference, played.commands), machine, None,
        [*belief.warnings, *loop_warnings(scenario, model)], int(machine.world["now"][0]), before, compiled,
    )  # fmt: skip
    noted = [
        (c.time_s, "controller", f"{c.kind}: {c.text}")
        for c in played.changes
        if c.kind in ("key", "circuit")
    ]
    noted += [(a.time_ns * NANO, a.axis or "controller", f"alarm: {a}") for a in controller.alarms]
    result = collect(run, wall, noted, complete=played.complete)
    log = _log(scenario, controller, played, result)
    result.summary["job"] = log.plain()
    failed = int(machine.world["status"][0])
    if failed:
        raise SimulationError(failure_text(failed, int(machine.world["now"][0]) * NANO, run), result)
    return result, log


def _log(scenario: Scenario, controller: MainController, played: Played, result: Result | None) -> JobLog:
    signals = None if result is None else result.signals
    robot = controller.robot
    entries = log_entries(controller.journal, played.commands, controller.limits, robot.joint_names, signals)
    energy = None if signals is None or not len(signals["time_s"]) else float(signals["bus_energy_J"][-1])
    finished = played.finished_ns
    return JobLog(
        scenario.name,
        entries,
        tuple(played.changes),
        tuple(str(alarm) for alarm in controller.alarms),
        finished is not None and played.complete,
        None if finished is None or not entries else entries[-1].end_s,
        energy,
        controller.state.value,
    )


def _program(job: str | Path | Program | Job, points: Points | None) -> Program:
    if isinstance(job, Job):
        return Program(job, points or Points())
    program = job if isinstance(job, Program) else load_program(job)
    return program if points is None else Program(program.job, points, program.called)


def _script(io_script: IoScript | str | Path | None) -> IoScript | None:
    return read_io_script(io_script) if isinstance(io_script, str | Path) else io_script


def _start(
    program: Program, scenario: Scenario, model: Robot, chosen: JobSettings
) -> tuple[MainController, Player]:
    """A controller under power with the job begun."""
    description = scenario.description
    sliding = [description.axes[name].prismatic for name in model.joint_names]
    for problem in program.check(model.joint_names, None, sliding):
        if problem.error:
            raise problem.exception()
    limits = limits_of(model, description)
    control = controller_of(description)
    substeps = control.main_period_ns // control.axis_period_ns
    player = Player(
        program, model, limits, fit=chosen.fit, period=control.main_period, substeps=int(substeps)
    )
    controller = make_controller(model, limits, description)
    get_ready(controller, _start_pose(scenario, model), player, chosen.override)
    return controller, player


def _start_pose(scenario: Scenario, model: Robot) -> Array:
    return np.array([scenario.start[name] for name in model.joint_names])


def job_scenario(
    program: Program, robot: str | Path | None, overrides: Mapping[str, str] | None, chosen: JobSettings
) -> Scenario:
    """The run of a job as a scenario without moves, which results and reports know how to treat."""
    name = str(robot or program.robot)
    if not name:
        raise InputError(
            "the points do not say for which robot they are; expected --robot",
            file=program.points.file or None,
        )
    changes, hidden = dict(overrides or {}), dict(chosen.plant)
    known = read_description(name, changes)
    truth = read_description(name, {**changes, **hidden}) if hidden else known
    for axis in chosen.start:
        if axis not in known.joint_names:
            raise InputError(f"no axis '{axis}'; expected {', '.join(known.joint_names)}", field="start")
    file = Path(program.job.file or "job")
    return Scenario(
        name=file.stem,
        title=f"{file.stem} on {known.title or known.name}",
        robot=name,
        set=changes,
        plant_set=hidden,
        start={axis: chosen.start.get(axis, known.home.get(axis, 0.0)) for axis in known.joint_names},
        moves=(),
        repeat=1,
        solver=chosen.solver,
        seed=chosen.seed,
        record=chosen.record,
        faults=(),
        path=file if program.job.file else None,
        description=known,
        plant_description=truth,
    )
