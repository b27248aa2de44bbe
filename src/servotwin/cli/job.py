"""``servotwin job list``, ``check`` and ``format``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from servotwin.cli.arguments import read_overrides
from servotwin.cli.output import print_json, print_line, print_note, print_table, working
from servotwin.cli.simulate import DONE
from servotwin.description.nodes import one_line

WOULD_CHANGE, REFUSED = 1, 2


def list_jobs(*, json: bool) -> int:
    """Print the jobs that ship with the package."""
    from servotwin.workbench.listing import list_jobs as run

    found = run()
    if json:
        print_json(list(found))
    else:
        rows = [(entry["name"], entry["robot"], entry["about"]) for entry in found]
        print_table(("name", "robot", "about"), rows, text_columns=3)
    return DONE


def check(jobs: Sequence[str], robot: str | None, overrides: Sequence[str] | None, *, json: bool) -> int:
    """Print what is wrong with jobs, one line for each problem; 0, or 2 if one cannot run."""
    changes = read_overrides(overrides)
    results: list[dict[str, Any]] = []
    for number, job in enumerate(jobs, 1):
        of = f" ({number} of {len(jobs)})" if len(jobs) > 1 else ""
        with working(f"checking {one_line(job, 60)}{of}"):
            from servotwin.workbench.job_checks import check_job

            results += check_job(job, robot=robot, overrides=changes)
    for result in results:
        for problem in result["problems"]:
            print_note(problem["text"])
        if result["ok"] and not json:
            on = f" on {result['robot']}" if result["robot"] else ", points not compared with a robot"
            print_line(f"{one_line(result['job'], 200)}: ok{on}")
    if json:
        print_json(results)
    return DONE if all(result["ok"] for result in results) else REFUSED


def format_jobs(files: Sequence[str], *, only_check: bool, json: bool) -> int:
    """Rewrite job files in the one layout, or say which would change; 0, or 1 if ``only_check`` finds one."""
    from servotwin.workbench.job_checks import format_job

    found = format_job(*files, only_check=only_check)
    if json:
        print_json(list(found))
    else:
        for result in found:
            state = ("would change" if only_check else "rewritten") if result["changed"] else "unchanged"
            print_line(f"{one_line(str(result['file']), 200)}: {state}")
    return WOULD_CHANGE if only_check and found.changed else DONE
