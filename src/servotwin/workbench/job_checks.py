"""``st.check_job`` and ``st.format_job``: what is wrong with jobs, and their one layout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servotwin.description.nodes import one_line
from servotwin.description.placed import override_mapping
from servotwin.description.regular_file import JOB, read_bytes
from servotwin.errors import InputError, ServotwinError
from servotwin.presentation import ShowsItself, Tabulates
from servotwin.workbench.checks import Checks

if TYPE_CHECKING:
    from servotwin.jobs.problems import Problem
    from servotwin.jobs.program import Program


def check_job(
    *jobs: str | Path, robot: str | None = None, overrides: Mapping[str, str] | None = None
) -> Checks:
    """What is wrong or odd about jobs, each problem with its line, without running them.

    ``robot``: in place of the one that the points were taught with; ``overrides`` change its file.

    >>> import servotwin as st
    >>> st.check_job(*st.list_jobs().names).ok
    True
    """
    changes = override_mapping(overrides)
    return Checks(tuple(_checked(str(job), robot, changes) for job in jobs))


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


@dataclass(frozen=True)
class FormattedJobs(Tabulates, ShowsItself):
    """Job files, and whether their layout was changed, or would be."""

    results: tuple[dict[str, Any], ...]

    @property
    def changed(self) -> bool:
        """Whether one was changed, or would be."""
        return any(result["changed"] for result in self.results)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.results)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each file."""
        return list(self.results)


def format_job(*files: str | Path, only_check: bool = False) -> FormattedJobs:
    """Rewrite job files in the one layout, or say which would change with ``only_check``."""
    from servotwin.jobs.language import format_job as layout
    from servotwin.jobs.language import read_job, write_job

    results = []
    for file in map(str, files):
        if not file.lower().endswith(".job"):
            raise InputError(f"'{one_line(file)}' is not a job file; expected a name that ends in .job")
        job = read_job(file)
        changed = layout(job).encode() != read_bytes(file, JOB)
        if changed and not only_check:
            write_job(job, file)
        results.append({"file": file, "changed": changed})
    return FormattedJobs(tuple(results))
