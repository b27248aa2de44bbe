"""``servotwin job list``, ``check`` and ``format``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from servotwin.cli.arguments import read_overrides
from servotwin.cli.output import print_json, print_line, print_note, print_table, working
from servotwin.cli.simulate import DONE
from servotwin.description.nodes import one_line
from servotwin.description.regular_file import JOB, read_bytes
from servotwin.errors import InputError, ServotwinError

if TYPE_CHECKING:
    from servotwin.jobs.problems import Problem
    from servotwin.jobs.program import Program

WOULD_CHANGE, REFUSED = 1, 2


def list_jobs(*, json: bool) -> int:
    """Print the jobs that ship with the package."""
    from servotwin.jobs.program import job_names, load_program

    found = [(name, load_program(name)) for name in job_names()]
    rows = [(name, program.robot, _first_comment(program)) for name, program in found]
    if json:
        print_json([{"name": name, "robot": robot, "about": about} for name, robot, about in rows])
    else:
        print_table(("name", "robot", "about"), rows, text_columns=3)
    return DONE


def _first_comment(program: Program) -> str:
    return next((statement.comment for statement in program.job.body if statement.comment), "")


# --- check and format ------------------------------------------------------------------------------


def check(jobs: Sequence[str], robot: str | None, overrides: Sequence[str] | None, *, json: bool) -> int:
    """Print what is wrong with jobs, one line for each problem; 0, or 2 if one cannot run."""
    changes = read_overrides(overrides)
    results = []
    for number, job in enumerate(jobs, 1):
        of = f" ({number} of {len(jobs)})" if len(jobs) > 1 else ""
        with working(f"checking {one_line(job, 60)}{of}"):
            results.append(_checked(job, robot, changes))
    for result in results:
        for problem in result["problems"]:
            print_note(problem["text"])
        if result["ok"] and not json:
            on = f" on {result['robot']}" if result["robot"] else ", points not compared with a robot"
            print_line(f"{one_line(result['job'], 200)}: ok{on}")
    if json:
        print_json(results)
    return DONE if all(result["ok"] for result in results) else REFUSED


def _checked(job: str, robot: str | None, changes: Mapping[str, str]) -> dict[str, Any]:
    from servotwin.jobs.program import load_program

    name = robot or ""
    try:
        program = load_program(job)
        name = robot or program.robot
        problems = [_problem_data(problem) for problem in found_problems(program, name, changes)]
        if not name and program.points.absent:  # a job without moves: nothing says what could run it
            from servotwin.simulation.job_run import no_robot

            problems.append(_error_data(no_robot(program)))
    except ServotwinError as error:
        problems = [_error_data(error)]
    bad = any(problem["error"] for problem in problems)
    return {"job": job, "robot": name, "ok": not bad, "problems": problems}


def found_problems(program: Program, robot: str, changes: Mapping[str, str]) -> list[Problem]:
    """What is wrong or odd about a job on a robot; without its name points are not compared."""
    from servotwin.description.load import read_description

    if not robot:
        return program.check()
    description = read_description(robot, dict(changes))
    names = tuple(description.joint_names)
    sliding = [description.axes[name].prismatic for name in names]
    limits = {name: description.axes[name].limits.position for name in names}
    ranges = {name: span for name, span in limits.items() if span is not None}
    return program.check(names, None, sliding, robot=(robot, description.name), ranges=ranges)


def _problem_data(problem: Problem) -> dict[str, Any]:
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "message": problem.message,
        "error": problem.error,
        "text": str(problem),
    }


def _error_data(error: ServotwinError) -> dict[str, Any]:
    place = {key: getattr(error, key, None) for key in ("file", "line", "column")}
    message = getattr(error, "message", str(error))
    return {**place, "message": message, "error": True, "text": str(error)}


def format_jobs(files: Sequence[str], *, only_check: bool, json: bool) -> int:
    """Rewrite job files in the one layout, or say which would change; 0, or 1 if ``only_check`` finds one."""
    from servotwin.jobs.language import format_job, read_job, write_job

    results = []
    for file in files:
        if not file.lower().endswith(".job"):
            raise InputError(f"'{one_line(file)}' is not a job file; expected a name that ends in .job")
        job = read_job(file)
        changed = format_job(job).encode() != read_bytes(file, JOB)
        if changed and not only_check:
            write_job(job, file)
        results.append({"file": file, "changed": changed})
    if json:
        print_json(results)
    else:
        for result in results:
            state = ("would change" if only_check else "rewritten") if result["changed"] else "unchanged"
            print_line(f"{one_line(str(result['file']), 200)}: {state}")
    return WOULD_CHANGE if only_check and any(result["changed"] for result in results) else DONE
