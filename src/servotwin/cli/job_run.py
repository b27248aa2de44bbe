"""``servotwin job plan`` and ``servotwin job run``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servotwin.cli.arguments import read_overrides, read_positions, read_quantities
from servotwin.cli.output import print_json, print_line, print_note, print_table, working
from servotwin.cli.simulate import DONE, FAILED, INTERRUPTED, LONG, progress_bar
from servotwin.errors import InputError, SimulationError

if TYPE_CHECKING:
    from servotwin.jobs.program import Program
    from servotwin.report.job_files import JobFiles
    from servotwin.report.job_story import PlannedMove
    from servotwin.report.job_view import Done, JobStory
    from servotwin.robot.robot import Robot
    from servotwin.simulation.job_run import JobSettings

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
    json: bool = False,
) -> int:
    """Print what a job takes and asks of the robot, without simulating its drives; the exit code."""
    changes = read_overrides(overrides)
    with working("planning"):
        from servotwin.jobs.program import load_program
        from servotwin.report.job_story import instructions, planned_moves
        from servotwin.simulation.job_run import rehearse

        program = load_program(job)
        settings = _settings(program, robot, changes, q=q, fit=fit, override=override, time_limit=time_limit)
        log, _, player = rehearse(program, None, robot, changes, io_script=io, settings=settings)
        moves = planned_moves(player.plans, player.robot, player.limits, player.period, player.substeps)
        done = instructions(log, moves)
    if json:
        data = {
            "job": log.job,
            "robot": player.robot.name,
            "duration_s": log.cycle_time_s if log.finished else None,
            "finished": log.finished,
            "alarms": list(log.alarms),
            "main_period_s": player.period,
            "instructions": [_plan_data(step) for step in done],
        }
        print_json(data)
    else:
        print_table(PLAN_COLUMNS, [_plan_row(step) for step in done], text_columns=3)
        print_line()
        _print_plan_end(log.finished, log.cycle_time_s, moves, player.robot)
    return _ended(log.finished, log.alarms, settings.time_limit)


PLAN_COLUMNS = (
    "line",
    "instruction",
    "limits reached",
    "from [s]",
    "time [s]",
    "way [mm]",
    "top speed [m/s]",
    "deviation [um]",
    "chord error [um]",
)


def _plan_row(step: Done) -> list[str]:
    from servotwin.report.job_view import limit_text

    words = [limit_text(*item).replace("\u00a0", " ") for item in step.reached]
    if step.slowed > 1.0 + 1e-9:
        words.append(f"slowed {step.slowed:.3g} times")
    if step.note:
        words.append(step.note)
    return [
        str(step.line),
        step.text,
        ", ".join(words),
        f"{step.begin_s:.3f}",
        f"{step.end_s - step.begin_s:.3f}",
        _scaled(step.length_m, 1e3, 1),
        _scaled(step.top_speed, 1.0, 3),
        _scaled(step.deviation_m, 1e6, 3),
        _scaled(step.chord_error_m, 1e6, 1),
    ]


def _scaled(value: float | None, factor: float, places: int) -> str:
    return "" if value is None else f"{factor * value:.{places}f}"


def _plan_data(step: Done) -> dict[str, Any]:
    return {
        "line": step.line,
        "instruction": step.text,
        "start_s": step.begin_s,
        "duration_s": step.end_s - step.begin_s,
        "length_m": step.length_m,
        "top_tool_speed_m_per_s": step.top_speed,
        "limits_reached": [
            {"what": what, "axis": axis or None, "share": share} for what, axis, share in step.reached
        ],
        "deviation_m": step.deviation_m,
        "chord_error_m": step.chord_error_m,
        "slowed": step.slowed,
        "blend_m": step.blend_m,
        "note": step.note,
    }


def _print_plan_end(finished: bool, cycle: float | None, moves: Sequence[PlannedMove], robot: Robot) -> None:
    if finished and cycle is not None:
        print_line(f"cycle time on {robot.name}: {cycle:.3f} s")
    chords = [move.report.chord_error_m for move in moves]
    if chords:
        print_line(f"commands are off the path by {1e6 * max(chords):.1f} um at most between their samples")


def _ended(finished: bool, alarms: Sequence[str], time_limit: float) -> int:
    """Say why a job did not come to its end; the exit code."""
    sys.stdout.flush()
    for text in alarms:
        print_note(text)
    if finished:
        return DONE
    if not alarms:
        print_note(f"the job did not end within {time_limit:g} s")
    return REFUSED if any(text.startswith("program error") for text in alarms) else FAILED


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
    report: bool = True,
    json: bool = False,
) -> int:
    """Simulate a job on arm, drives and controllers, write the report and say where it is; the exit code."""
    changes, hidden = read_overrides(overrides), _hidden(plant)
    with working("reading the job"):
        from servotwin.jobs.program import load_program
        from servotwin.report.files import make_folder
        from servotwin.report.job_story import planned_moves, story_of
        from servotwin.simulation.job_run import rehearse, run_job

        program = load_program(job)
        settings = _settings(
            program, robot, changes, q=q, fit=fit, override=override, time_limit=time_limit, plant=hidden
        )
        _, _, player = rehearse(program, None, robot, changes, io_script=io, settings=settings)
        folder = out or f"out/{Path(program.job.file).stem}"
        make_folder(folder)  # a place that cannot be written is said before the work is done
    try:
        with progress_bar(f"simulating {Path(program.job.file).stem}") as progress:
            result, log = run_job(
                program, None, robot, changes, io_script=io, settings=settings, progress=progress
            )
    except SimulationError as error:
        return _diverged(error, folder)
    with working("writing the result"):
        from servotwin.report.job_files import write_job_result

        moves = planned_moves(player.plans, player.robot, player.limits, player.period, player.substeps)
        story = story_of(result, log, moves, source=_source(program), gripper=gripper)
        files = write_job_result(story, folder, report=report)
    _print_run(story, files, json=json)
    if not result.complete:
        sys.stdout.flush()
        print_note(f"interrupted at {story.t[-1]:.4g} s; the result up to there is in {folder}")
        return INTERRUPTED
    return _ended(log.finished, log.alarms, settings.time_limit)


def _diverged(error: Any, folder: str) -> int:
    """Keep what there is of a run that failed."""
    from servotwin.report.simulation_files import write_result

    if error.partial is not None:
        write_result(error.partial, folder)
    print_note(f"{error} (what there is of the run: {folder})")
    return FAILED


def _source(program: Program) -> str:
    path = Path(program.job.file)
    return path.read_text(encoding="utf-8-sig") if path.is_file() else ""


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
            str(line.line), line.text, str(len(line.steps)), f"{line.time_s:.3f}",
            _scaled(line.energy_J, 1.0, 2), _scaled(line.largest("off_path_m"), 1e3, 3),
            _scaled(line.largest("chord_error_m"), 1e6, 1),
        ]
        for line in by_line(story.steps, story.source)
    ]  # fmt: skip
    print_table(RUN_COLUMNS, rows, text_columns=2)
    print_line()
    numbers = story.result.summary
    print_line(f"cycle time: {story.cycle_s:.3f} s")
    energy = [step.energy_J for step in story.steps if step.energy_J is not None]
    if energy:
        print_line(f"energy of a cycle: {sum(energy):.1f} J from the source")
    print_line(
        f"speed: {numbers['real_time_factor']:.3g} times real time "
        f"({numbers['simulated_s']:.4g} s in {numbers['wall_s']:.3g} s)"
    )
    if numbers.get("compile_s", 0.0) > LONG:
        print_line(f"compiled in {numbers['compile_s']:.1f} s, once on this machine")
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
)


def _hidden(pairs: Sequence[str] | None) -> dict[str, str]:
    """The ``--plant`` options: what is different in truth."""
    try:
        return read_overrides(pairs)
    except InputError as error:
        raise InputError(error.message, field="--plant") from None


def _settings(
    program: Program,
    robot: str | None,
    changes: Mapping[str, str],
    *,
    q: str | None,
    fit: bool,
    override: int,
    time_limit: str | None,
    plant: Mapping[str, str] | None = None,
) -> JobSettings:
    """The options as settings of the run."""
    from servotwin.robot.load import load_robot
    from servotwin.simulation.job_run import TIME_LIMIT, JobSettings

    start: dict[str, float] = {}
    if q is not None:
        name = robot or program.robot
        if not name:
            raise InputError("the points do not say for which robot they are; expected one", field="--robot")
        model = load_robot(name, dict(changes))
        start = dict(zip(model.joint_names, map(float, read_positions("--q", q, model)), strict=True))
    limit = TIME_LIMIT
    if time_limit is not None:
        limit = float(read_quantities("--time-limit", time_limit, ["time"], ["s"])[0])
        if not limit > 0.0:
            raise InputError(
                f"'{time_limit}'; expected a time above zero, such as '60 s'", field="--time-limit"
            )
    return JobSettings(start=start, plant=dict(plant or {}), override=override, fit=fit, time_limit=limit)
