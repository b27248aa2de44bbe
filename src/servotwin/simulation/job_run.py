"""Run a job: the main controller in Python, once every main period, on the compiled machine."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from servotwin.control.main.main_controller import MainController
from servotwin.control.servo.axis_data import controller_of
from servotwin.control.tuning.arm_modes import has_elastic_gears
from servotwin.description.as_built import as_built
from servotwin.description.load import read_description
from servotwin.description.placed import override_mapping
from servotwin.description.plain_text import visible
from servotwin.description.reach import outside
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError, SimulationError
from servotwin.jobs.flow import walk
from servotwin.jobs.player import Player
from servotwin.jobs.points import Points
from servotwin.jobs.problems import JobError
from servotwin.jobs.program import Program, load_program
from servotwin.jobs.syntax import Job, ShaperDefault
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array
from servotwin.motion.limits import limits_of
from servotwin.presentation import present
from servotwin.robot.described import source_of
from servotwin.robot.robot import Robot
from servotwin.simulation.assembly import Run, collect, machine_of, robots_of
from servotwin.simulation.job_plant import IdealPlant, MachinePlant
from servotwin.simulation.job_play import Played, get_ready, play
from servotwin.simulation.live_robot import counted_pose, make_controller
from servotwin.simulation.plant.start import Start
from servotwin.simulation.preflight.advice import run_warnings
from servotwin.simulation.preflight.budget import read_budget
from servotwin.simulation.preflight.job_limits import check_job, job_limit
from servotwin.simulation.results.energy import energies_before
from servotwin.simulation.results.job_log import Commands, JobLog, log_entries
from servotwin.simulation.results.result import Result
from servotwin.simulation.scenario.checks import row_period
from servotwin.simulation.scenario.io_script import IoScript, Surroundings, read_io_script
from servotwin.simulation.scenario.job_settings import JobSettings, with_simulation
from servotwin.simulation.scenario.scenario import Scenario

ROWS = 50_000  # room for recorded rows, made larger when it is full
NANO = 1e-9


class Rehearsal(NamedTuple):
    """A job on an arm that follows exactly: the log, the commands, and the player with its plans."""

    log: JobLog
    commands: Commands
    player: Player


class JobRun(NamedTuple):
    """A job on the simulated drives: the result, the log, the commands, and the player with its plans."""

    result: Result
    log: JobLog
    commands: Commands
    player: Player

    def plot(self, what: str | None = None) -> Any:
        """A picture as a Plotly figure: 'timeline', 'time', 'speed', or one of its result."""
        return present(self, "plot", what)

    def to_frame(self, library: str | None = None) -> Any:
        """The instructions that were carried out as a table of pandas or polars."""
        return present(self, "to_frame", library)

    def report(self, folder: str | Path, *, overwrite: bool = False, gripper: str = "") -> Any:
        """Write page, summary, instructions and signals; ``gripper``: the output that holds the payload."""
        return present(self, "report", folder, overwrite=overwrite, gripper=gripper)

    def _repr_html_(self) -> str:
        return str(present(self, "html"))

    def __repr__(self) -> str:
        """How it went, in a line; log and result have the rest."""
        end = "finished" if self.log.finished else f"not finished: {self.log.reason}"
        alarms = f", {len(self.log.alarms)} alarms" if self.log.alarms else ""
        return f"<JobRun of {self.result.scenario.robot}: {self.log.cycle_time_s:.3f} s, {end}{alarms}>"


class JobFailedError(SimulationError):
    """The simulation of a job could not be carried to its end; ``run`` is what there is of it."""

    def __init__(self, message: str, run: JobRun) -> None:
        self.run = run
        super().__init__(message, run.result)


def rehearse(
    job: str | Path | Program | Job,
    points: Points | None = None,
    robot: Robot | str | Path | None = None,
    overrides: Mapping[str, str] | None = None,
    *,
    io_script: IoScript | str | Path | None = None,
    settings: JobSettings | None = None,
    allow_outside: bool = False,
    look: Callable[[float, float], None] | None = None,
) -> Rehearsal:
    """A job on an arm that follows exactly: how long it takes and what it commands, without a simulation.

    ``look`` is told the time of the job and the longest that it may take [s], again and again.
    """
    chosen = settings or JobSettings()
    with outside(allow_outside):
        program = _program(job, points)
        scenario = job_scenario(program, robot, overrides, chosen)
    model = Robot(build_mechanism(scenario.description), title=scenario.title)
    controller, player = _start(program, scenario, model, chosen)
    limit, option = job_limit(program, scenario, chosen, rehearsed=True)
    played = play(
        controller,
        IdealPlant(
            counted_pose(controller, _start_pose(scenario, model)), Surroundings(_script(io_script))
        ),
        settle=0.0, time_limit=limit, budget=chosen.budget, option=option, keep_interrupted=False,
        progress=None if look is None else lambda part: look(part * limit, limit), expected=limit,
    )  # fmt: skip
    return Rehearsal(_log(scenario, controller, played, None), played.commands, player)


def run_job(
    job: str | Path | Program | Job,
    points: Points | None = None,
    robot: Robot | str | Path | None = None,
    overrides: Mapping[str, str] | None = None,
    *,
    io_script: IoScript | str | Path | None = None,
    settings: JobSettings | None = None,
    method: str | None = None,
    pwm: str | None = None,
    seed: int | str | None = None,
    record: float | str | None = None,
    progress: Callable[[float], None] | None = None,
    max_memory: float | str | None = None,
    max_time: float | str | None = None,
    allow_outside: bool = False,
    allow_code: bool = False,
) -> JobRun:
    """Simulate a job on arm, drives and controller.

    ``job``: the name of one that ships, the path of a file (its points next to it), a ``Program``, or a ``Job``
    with its ``points``; ``robot``: as elsewhere, default the one that the points were taught with;
    ``overrides``: changes of the robot file; ``method``, ``pwm``, ``seed``, ``record`` (time between two rows, '2 ms'
    or seconds): as in scenario files, instead of those in ``settings``. With ``progress`` the job is rehearsed first,
    to know how long it takes. A job that takes more than ``max_memory`` ('2 GB', or in byte) or ``max_time`` of
    computing ('1 h', or in s) for certain is refused with an InputError; one whose length depends on what happens is
    stopped there. ``allow_outside``: the files may name files outside of the job's folder; ``allow_code``: the Python
    code of actuators that the robot file names is run. A run that diverges raises JobFailedError with ``.run``; Ctrl-C
    gives a result that is not ``complete``.
    """
    chosen = with_simulation(settings or JobSettings(), method=method, pwm=pwm, seed=seed, record=record)
    if max_memory is not None or max_time is not None:
        memory = chosen.budget.memory if max_memory is None else max_memory
        seconds = chosen.budget.time if max_time is None else max_time
        chosen = replace(chosen, budget=read_budget(memory, seconds))
    with outside(allow_outside):
        script, program = _script(io_script), _program(job, points)
        scenario = job_scenario(program, robot, overrides, chosen)
    every = row_period(chosen.record.every, controller_of(scenario.description).current_period_ns)
    check_program(program, scenario)
    limit, option = job_limit(program, scenario, chosen)
    expected = math.nan
    if progress is not None:
        rehearsed = rehearse(
            program, None, robot, overrides, io_script=script, settings=chosen, allow_outside=allow_outside,
            look=lambda now, most: progress(0.0),
        )  # fmt: skip
        expected = rehearsed.commands.duration
        if rehearsed.log.finished:
            check_job(scenario, chosen, expected + chosen.settle)
    model, plant = robots_of(scenario)
    controller, player = _start(program, scenario, model, chosen)
    start = Start(_start_pose(scenario, model), settled=False)  # the brakes have held the arm until now
    began = time.perf_counter()
    machine = machine_of(scenario, model, plant, start, rows=ROWS, row_every_ns=every, allow_code=allow_code)
    acted_on = MachinePlant(machine, scenario.plant_description, Surroundings(script))
    acted_on.load_code(controller.quick_watch)
    compiled = time.perf_counter() - began
    before = energies_before(machine, plant)
    began = time.perf_counter()
    played = play(
        controller, acted_on,
        settle=chosen.settle, time_limit=limit, progress=progress, expected=expected + chosen.settle,
        budget=chosen.budget, option=option,
    )  # fmt: skip
    wall = time.perf_counter() - began - machine.compile_s - played.planning_s
    warnings = run_warnings(scenario, model, plant)
    run = Run(scenario, model, plant, machine, before, warnings, compiled, played.planning_s)
    failure = None if played.complete else "interrupted"
    result = collect(run, played.commands, wall, _happened(controller, played), failure=failure)
    if run.failed:
        played = replace(played, reason=str(result.summary["failure"]))
    log = _log(scenario, controller, played, result)
    result.summary["job"] = log.plain()
    ran = JobRun(result, log, played.commands, player)
    if run.failed:
        raise JobFailedError(played.reason, ran)
    return ran


def _happened(controller: MainController, played: Played) -> list[tuple[float, str, str]]:
    """Keys, the safety circuit and alarms, with their times [s]."""
    noted = [
        (c.time_s, "controller", f"{c.kind}: {c.text}")
        for c in played.changes
        if c.kind in ("key", "circuit")
    ]
    return noted + [(a.time_ns * NANO, a.axis or "controller", f"alarm: {a}") for a in controller.alarms]


def _log(scenario: Scenario, controller: MainController, played: Played, result: Result | None) -> JobLog:
    followed = None if result is None else result.log
    robot = controller.robot
    entries = log_entries(controller.journal, played.commands, controller.limits, robot.joint_names, followed)
    energy = None if followed is None or not len(followed.time) else float(followed.energy[-1])
    finished = played.finished_ns
    return JobLog(
        scenario.name,
        entries,
        tuple(played.changes),
        tuple(str(alarm) for alarm in controller.alarms),
        finished is not None and played.complete,
        None if finished is None or not entries else entries[-1].end_s - entries[0].start_s,
        energy,
        controller.state.value,
        played.reason,
        len(controller.reference.shaped),
        float(sum(controller.reference.shaped)),
    )


def _program(job: str | Path | Program | Job, points: Points | None) -> Program:
    if isinstance(job, Job):
        return Program(job, points or Points())
    if not isinstance(job, Program | str | os.PathLike):
        raise InputError(
            f"a {type(job).__name__} is no job; expected the name of one, a file, or a program", field="job"
        )
    program = job if isinstance(job, Program) else load_program(job)
    return program if points is None else Program(program.job, points, program.called, program.reach)


def _script(io_script: IoScript | str | Path | None) -> IoScript | None:
    return read_io_script(io_script) if isinstance(io_script, str | Path) else io_script


def _start(
    program: Program, scenario: Scenario, model: Robot, chosen: JobSettings
) -> tuple[MainController, Player]:
    """A controller under power with the job begun."""
    description = scenario.description
    check_program(program, scenario)
    limits = limits_of(model, description)
    limits = limits if chosen.torques else limits.without_torques()
    control = controller_of(description)
    substeps = control.main_period_ns // control.axis_period_ns
    player = Player(
        program, model, limits, fit=chosen.fit, period=control.main_period, substeps=int(substeps)
    )
    controller = make_controller(model, limits, description)
    get_ready(controller, counted_pose(controller, _start_pose(scenario, model)), player, chosen.override)
    return controller, player


def check_program(program: Program, scenario: Scenario) -> None:
    """Raise the first error of a job for its robot."""
    robot = scenario.description
    sliding = [robot.axes[name].prismatic for name in robot.joint_names]
    for problem in program.check(robot.joint_names, None, sliding):
        if problem.error:
            raise problem.exception()
    _check_shapers(program, robot)


def _check_shapers(program: Program, robot: RobotDescription) -> None:
    """Refuse a SHAPER of a robot that has no mode to shape."""
    if controller_of(robot).shaping.frequency is not None or has_elastic_gears(robot):
        return
    for one in program.all:
        bodies = (one.job.body, *(sub.body for sub in one.job.subs.values()))
        for statement in chain.from_iterable(walk(body) for body in bodies):
            if isinstance(statement, ShaperDefault) and statement.shaper is not None:
                raise JobError(
                    f"SHAPER {statement.shaper}, but no gear of {robot.name} is elastic; expected the measured "
                    "frequency in controller.shaping.frequency, such as '9 Hz', or axes.*.gear.stiffness",
                    file=one.job.file,
                    place=statement.place,
                )


def _start_pose(scenario: Scenario, model: Robot) -> Array:
    return np.array([scenario.start[name] for name in model.joint_names])


def no_robot(program: Program) -> InputError:
    """The error for a job of which nothing says what robot it is for."""
    file = program.points.file
    if file and not Path(file).exists():
        return InputError("no such file; expected points beside the job, or --robot", file=file)
    return InputError("the points do not say for which robot they are; expected --robot", file=file or None)


def job_scenario(
    program: Program,
    robot: Robot | str | Path | None,
    overrides: Mapping[str, str] | None,
    chosen: JobSettings,
) -> Scenario:
    """The run of a job as a scenario without moves, which results and reports know how to treat."""
    name = source_of(robot) if isinstance(robot, Robot) else robot or program.robot
    if not name:
        raise no_robot(program)
    changes, hidden = override_mapping(overrides), dict(chosen.plant)
    if chosen.shaper is not None:
        changes["controller.shaping.shaper"] = chosen.shaper
    known = read_description(name, changes)
    truth = read_description(name, {**changes, **hidden}) if hidden else known
    for axis in chosen.start:
        if axis not in known.joint_names:
            raise InputError(f"no axis '{axis}'; expected {', '.join(known.joint_names)}", field="start")
    file = Path(program.job.file or "job")
    job = visible(file.stem)
    return Scenario(
        name=job,
        title=f"{job} on {known.title or known.name}",
        robot=name if isinstance(name, str) else str(name),
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
        plant_description=as_built(truth),
    )
