"""``servotwin job plan`` and ``servotwin job run``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servotwin.cli.arguments import read_overrides, read_positions, read_quantity
from servotwin.cli.hung_code import code_can_be_ended
from servotwin.cli.live import job_line
from servotwin.cli.output import (
    compiled_words,
    print_json,
    print_line,
    print_note,
    print_table,
    working,
)
from servotwin.cli.signals import finishing
from servotwin.cli.simulate import DONE, FAILED, INTERRUPTED, LONG, progress_bar, read_limits
from servotwin.description.display import UM
from servotwin.description.nodes import quoted
from servotwin.description.units import expectation
from servotwin.errors import InputError, ServotwinError
from servotwin.workbench.job_checks import found_problems

if TYPE_CHECKING:
    from servotwin.jobs.program import Program
    from servotwin.report.job_files import JobFiles
    from servotwin.report.job_view import Done, JobStory
    from servotwin.robot.robot import Robot
    from servotwin.simulation.preflight.budget import Budget
    from servotwin.simulation.results.job_log import JobLog
    from servotwin.simulation.scenario.job_settings import JobSettings

REFUSED = 2


def plan(
    job: str,
    robot: str | None,
    overrides: Sequence[str] | None,
    *,
    q: str | None = None,
    io: str | None = None,
    fit: bool = False,
    override: int = 100,
    time_limit: str | None = None,
    max_memory: str | None = None,
    max_time: str | None = None,
    json: bool = False,
) -> int:
    """Print what a job takes and asks of the robot, without simulating its drives; the exit code."""
    changes = read_overrides(overrides)
    budget = read_limits(max_memory, max_time)
    with job_line("planning") as look:
        from servotwin.jobs.program import load_program
        from servotwin.report.job_story import instructions
        from servotwin.simulation.job_run import rehearse

        program = load_program(job)
        warnings = _warnings(program, robot, changes)
        settings = job_settings(
            program, robot, changes, q=q, fit=fit, override=override, time_limit=time_limit, budget=budget
        )
        log, commands, player = rehearse(
            program, None, robot, changes, io_script=io, settings=settings, look=look
        )
        done = instructions(log, commands, player)
    for line in warnings:
        print_note(line)
    code = ended(log)  # what went wrong comes first, and a refused job has no table
    if json:
        data = {
            "job": log.job,
            "robot": player.robot.name,
            "duration_s": log.cycle_time_s if log.finished else None,
            "finished": log.finished,
            "reason": log.reason or None,
            "alarms": list(log.alarms),
            "main_period_s": player.period,
            "shaped_motions": log.shaped,
            "shaping_s": log.shaping_s,
            "instructions": [_plan_data(step) for step in done],
        }
        print_json(data)
    elif code != REFUSED:
        print_table(PLAN_COLUMNS, [_plan_row(step) for step in done], text_columns=3)
        print_line()
        _print_plan_end(log, done, player.robot)
    return code


def _warnings(program: Program, robot: str | None, changes: Mapping[str, str]) -> list[str]:
    """What is odd about a job though it can run; errors are raised when it starts."""
    name = robot or program.robot
    return [str(p) for p in found_problems(program, name, changes) if not p.error] if name else []


PLAN_COLUMNS = (
    "line",
    "instruction",
    "limits reached",
    "from [s]",
    "time [s]",
    "way [mm]",
    "top speed [m/s]",
    "deviation [um]",
    "by pulses [um]",
    "chord error [um]",
)


def _plan_row(step: Done) -> list[str]:
    from servotwin.report.job_view import MENTIONED, limit_text, slowed_text

    words = [limit_text(*item).replace("\u00a0", " ") for item in step.reached]
    if step.slowed >= MENTIONED:
        words.append(slowed_text(step.slowed))
    if step.note:
        words.append(step.note)
    return [
        step.place,
        step.said,
        ", ".join(words),
        f"{step.begin_s:.3f}",
        f"{step.end_s - step.begin_s:.3f}",
        _scaled(step.length_m, 1e3, 1),
        _scaled(step.top_speed, 1.0, 3),
        _scaled(step.deviation_m, 1e6, 3),
        _scaled(step.pulse_deviation_m, 1e6, 1),
        _scaled(step.chord_error_m, 1e6, 1),
    ]


def _scaled(value: float | None, factor: float, places: int) -> str:
    return "" if value is None else f"{factor * value:.{places}f}"


def _plan_data(step: Done) -> dict[str, Any]:
    return {
        "file": step.file or None,
        "line": step.line,
        "instruction": step.text,
        "complete": step.complete,
        "start_s": step.begin_s,
        "duration_s": step.end_s - step.begin_s,
        "length_m": step.length_m,
        "top_tool_speed_m_per_s": step.top_speed,
        "limits_reached": [
            {"what": what, "axis": axis or None, "share": share} for what, axis, share in step.reached
        ],
        "deviation_m": step.deviation_m,
        "pulse_deviation_m": step.pulse_deviation_m,
        "chord_error_m": step.chord_error_m,
        "slowed": step.slowed,
        "blend_m": step.blend_m,
        "note": step.note,
    }


def _print_plan_end(log: JobLog, done: Sequence[Done], robot: Robot) -> None:
    if log.finished and log.cycle_time_s is not None:
        print_line(f"cycle time on {robot.name}: {log.cycle_time_s:.3f} s")
    if log.shaping_words:
        print_line(log.shaping_words)
    chords = [step.chord_error_m for step in done if step.chord_error_m is not None]
    if chords:
        print_line(f"commands are off the path by {UM * max(chords):.1f} um at most between their samples")
    rounded = [step.pulse_deviation_m for step in done if step.pulse_deviation_m is not None]
    if rounded:
        print_line(f"whole pulses are off the path by {UM * max(rounded):.1f} um at most")


def ended(log: JobLog) -> int:
    """Say why a job did not come to its end; the exit code."""
    sys.stdout.flush()
    for text in log.alarms:
        print_note(text)
    if log.finished:
        return DONE
    if log.reason not in log.alarms:
        print_note(log.reason)
    return REFUSED if _program_error(log) else FAILED


def _program_error(log: JobLog) -> bool:
    return any(text.startswith("program error") for text in log.alarms)


# --- run -------------------------------------------------------------------------------------------


def run(
    job: str,
    robot: str | None,
    out: str | None,
    overrides: Sequence[str] | None,
    plant: Sequence[str] | None,
    *,
    q: str | None = None,
    io: str | None = None,
    fit: bool = False,
    override: int = 100,
    time_limit: str | None = None,
    gripper: str = "",
    method: str | None = None,
    pwm: str | None = None,
    seed: str | None = None,
    record: str | None = None,
    max_memory: str | None = None,
    max_time: str | None = None,
    report: bool = True,
    overwrite: bool = False,
    allow_code: bool = False,
    json: bool = False,
) -> int:
    """Simulate a job on arm, drives and controllers, write the report and say where it is; the exit code."""
    changes, hidden = read_overrides(overrides), read_overrides(plant, "--plant")
    budget = read_limits(max_memory, max_time)
    with working("reading the job"):
        from servotwin.jobs.check import Signals
        from servotwin.jobs.program import load_program, sources_of
        from servotwin.report.job_files import write_job_result
        from servotwin.report.job_story import story_of
        from servotwin.simulation.job_run import JobFailedError, run_job
        from servotwin.simulation.results.folder import RUN_FILES, claim_folder
        from servotwin.simulation.scenario.job_settings import with_simulation

        program = load_program(job)
        if gripper and gripper not in Signals().outputs:
            known = ", ".join(Signals().outputs)
            raise InputError(f"no output {quoted(gripper)}; expected one of {known}", field="--gripper")
        for line in _warnings(program, robot, changes):
            print_note(line)
        settings = job_settings(
            program, robot, changes, q=q, fit=fit, override=override, time_limit=time_limit, plant=hidden,
            budget=budget,
        )  # fmt: skip
        settings = with_simulation(settings, method=method, pwm=pwm, seed=seed, record=record, option="--")
        folder = out or f"out/{Path(program.job.file).stem}"
        missing = _missing(Path(folder))
        claim_folder(folder, RUN_FILES, overwrite=overwrite)  # a refusal comes before the work is done
    failure: JobFailedError | None = None
    with progress_bar(f"simulating {Path(program.job.file).stem}") as progress, code_can_be_ended():
        try:
            ran = run_job(
                program, None, robot, changes, io_script=io, settings=settings, progress=progress,
                allow_code=allow_code,
            )  # fmt: skip
        except JobFailedError as error:
            failure, ran = error, error.run
        except (ServotwinError, KeyboardInterrupt):
            _remove(missing)
            raise
    if failure is None and _program_error(ran.log) and not ran.commands.qd.any():  # refused before it moved
        _remove(missing)
        return ended(ran.log)
    with working("writing the result"), finishing():
        story = story_of(ran, sources=sources_of(program), gripper=gripper)
        files = write_job_result(story, folder, report=report, overwrite=overwrite)
    _print_run(story, files, json=json)
    if failure is not None:
        sys.stdout.flush()
        print_note(f"{failure} (what there is of the run: {folder})")
        return FAILED
    if not ran.result.complete:
        sys.stdout.flush()
        print_note(f"interrupted at {story.end_s:.4g} s; the result up to there is in {folder}")
        return INTERRUPTED
    return DONE if ended(ran.log) == DONE else FAILED


def _missing(folder: Path) -> list[Path]:
    """The folder and those around it that do not exist yet, the innermost first."""
    return [path for path in (folder, *folder.parents) if not path.exists()]


def _remove(folders: Sequence[Path]) -> None:
    """Remove folders that were made for a result that there is not, the innermost first; one that is used stays."""
    with suppress(OSError):
        for path in folders:
            path.rmdir()


def _print_run(story: JobStory, files: JobFiles, *, json: bool) -> None:
    from servotwin.report.job_view import by_line
    from servotwin.report.simulation_files import json_ready, stored_summary

    if json:
        places = {name: None if path is None else str(path) for name, path in files._asdict().items()}
        places["report"] = places.pop("page")
        steps = [step.numbers() for step in story.steps]
        print_json({**places, **stored_summary(story.result), "instructions_done": json_ready(steps)})
        return
    rows = [
        [
            line.place, line.said, str(len(line.steps)), f"{line.time_s:.3f}",
            _scaled(line.energy_J, 1.0, 2), _scaled(line.largest("off_path_m"), 1e3, 3),
            _scaled(line.largest("chord_error_m"), 1e6, 1), _scaled(line.largest("pulse_deviation_m"), 1e6, 1),
        ]
        for line in by_line(story.steps, story.sources)
    ]  # fmt: skip
    print_table(RUN_COLUMNS, rows, text_columns=2)
    print_line()
    numbers = story.result.summary
    print_line(f"cycle time: {story.cycle_s:.3f} s")
    words = numbers.get("job", {}).get("shaping_words")
    if words:
        print_line(words)
    energy = [step.energy_J for step in story.steps if step.energy_J is not None]
    if energy:
        print_line(f"energy of a cycle: {sum(energy):.1f} J from the source")
    print_line(
        f"speed: {numbers['real_time_factor']:.3g} times real time "
        f"({numbers['simulated_s']:.4g} s in {numbers['wall_s']:.3g} s)"
    )
    if numbers.get("planning_s") is not None:
        print_line(f"planning: {numbers['planning_s']:.3g} s")
    if numbers.get("compile_s", 0.0) > LONG:
        print_line(compiled_words(numbers["compile_s"]))
    for line in numbers.get("warnings", []):
        print_note(f"warning: {line}")
    print_line(f"summary: {files.summary}")
    print_line(f"signals: {files.signals}")
    print_line(f"report: {files.page}" if files.page else f"instructions: {files.instructions}")


RUN_COLUMNS = (
    "line",
    "instruction",
    "times",
    "time [s]",
    "energy [J]",
    "off the path [mm]",
    "chord error [um]",
    "by pulses [um]",
)


def job_settings(
    program: Program,
    robot: str | None,
    changes: Mapping[str, str],
    *,
    q: str | None,
    fit: bool,
    override: int,
    time_limit: str | None,
    plant: Mapping[str, str] | None = None,
    budget: Budget | None = None,
) -> JobSettings:
    """The options as settings of the run."""
    from servotwin.robot.load import load_robot
    from servotwin.simulation.job_play import TIME_LIMIT
    from servotwin.simulation.job_run import no_robot
    from servotwin.simulation.scenario.job_settings import JobSettings

    start: dict[str, float] = {}
    if q is not None:
        name = robot or program.robot
        if not name:
            raise no_robot(program)
        model = load_robot(name, dict(changes))
        start = dict(zip(model.joint_names, map(float, read_positions("--q", q, model)), strict=True))
    limit = TIME_LIMIT
    if time_limit is not None:
        limit = read_quantity("--time-limit", time_limit, "s", example="600 s")
        if not limit > 0.0:
            text = f"{quoted(time_limit)} is not above zero; expected {expectation('s', '600 s')}"
            raise InputError(text, field="--time-limit")
    settings = JobSettings(start=start, plant=dict(plant or {}), override=override, fit=fit, time_limit=limit)
    return settings if budget is None else replace(settings, budget=budget)
