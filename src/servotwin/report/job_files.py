"""A simulated job on disk: summary, instructions, signals and report, each written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from servotwin.report.files import make_folder, write_bytes, write_json
from servotwin.report.job_view import JobStory
from servotwin.report.simulation_files import json_ready, write_result
from servotwin.simulation.stored import PAGE

INSTRUCTIONS = "instructions.json"


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
    payload: str = "",
    progress: Callable[[str], None] = lambda step: None,
) -> JobFiles:
    """Write ``summary.json``, ``instructions.json``, ``signals.parquet`` and ``report.html`` into a folder."""
    target = make_folder(folder)
    files = write_result(story.result, target, report=False, progress=progress)
    steps = [step.numbers() for step in story.steps]
    instructions = write_json(target / INSTRUCTIONS, json_ready(steps))
    page = None
    if report:
        progress("drawing the report")
        from servotwin.report.job_page import job_page

        page = write_bytes(target / PAGE, job_page(story, payload).encode())
    return JobFiles(files.summary, instructions, files.signals, page)
