"""A simulated job on disk: summary, instructions, signals and report, which replace those of an earlier run as one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from servotwin.report.files import write_json, write_page
from servotwin.report.job_view import JobStory
from servotwin.report.simulation_files import json_ready, put_run, result_files
from servotwin.simulation.results.folder import INSTRUCTIONS, PAGE, RUN_FILES, replaced_folder


class JobFiles(NamedTuple):
    """Where the parts of a job's result are; None for those that were not written."""

    summary: Path
    instructions: Path
    signals: Path
    page: Path | None


def write_job_result(
    story: JobStory,
    folder: str | Path,
    *,
    report: bool = True,
    overwrite: bool = False,
    payload: str = "",
    progress: Callable[[str], None] = lambda step: None,
) -> JobFiles:
    """Write ``summary.json``, ``instructions.json``, ``signals.parquet`` and ``report.html`` into a folder.

    ``overwrite``: as in ``write_result``.
    """
    with replaced_folder(folder, RUN_FILES, overwrite=overwrite) as place:
        put_run(story.result, place, progress)
        write_json(place / INSTRUCTIONS, json_ready([step.numbers() for step in story.steps]))
        if report:
            progress("drawing the report")
            from servotwin.report.job_page import job_page

            write_page(place / PAGE, job_page(story, payload))
    files = result_files(story.result, folder, report=report)
    return JobFiles(files.summary, Path(folder) / INSTRUCTIONS, files.signals, files.page)
