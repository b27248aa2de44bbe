"""``servotwin job plan --time-optimal``: how quick the paths of a job could be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from servotwin.cli.arguments import read_overrides
from servotwin.cli.job_run import REFUSED, ended, job_settings
from servotwin.cli.live import job_line
from servotwin.cli.output import print_json, print_line, print_table
from servotwin.cli.simulate import read_limits
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.simulation.job_plan import PlannedPath

COLUMNS = ("lines", "moves", "limited by (share of the time)", "planned [s]", "time-optimal [s]", "ratio")
SHOWN = 4  # limits of a path in the table
SHORTEST = 0.005  # share of the time from which a limit is listed


def plan(
    job: str, robot: str | None, overrides: Sequence[str] | None, *, q: str | None = None,
    io: str | None = None, fit: bool = False, override: int = 100, time_limit: str | None = None,
    max_memory: str | None = None, max_time: str | None = None, json: bool = False,
) -> int:  # fmt: skip
    """Print how long the paths of a job take as planned, and at best under torques and speeds; the exit code."""
    if override != 100:
        text = f"{override} %: paths are compared at full pace; expected 100 % beside --time-optimal"
        raise InputError(text, field="--override")
    changes = read_overrides(overrides)
    with job_line("planning") as look:
        from servotwin.jobs.program import load_program
        from servotwin.simulation.job_plan import plan_job

        program = load_program(job)
        settings = job_settings(
            program, robot, changes, q=q, fit=fit, override=100, time_limit=time_limit,
            budget=read_limits(max_memory, max_time),
        )  # fmt: skip
        planned = plan_job(program, None, robot, changes, io_script=io, settings=settings, look=look)
    log, found = planned.log, planned.paths
    cycle, best = planned.duration, planned.time_optimal_duration
    code = ended(log)
    if json:
        data = {
            "job": log.job,
            "robot": planned.robot,
            "finished": log.finished,
            "alarms": list(log.alarms),
            "duration_s": cycle,
            "time_optimal_duration_s": best,
            "paths": [_data(path) for path in found],
        }
        print_json(data)
    elif code != REFUSED:
        print_table(COLUMNS, [_row(path) for path in found], text_columns=3)
        print_line()
        if cycle is not None and best is not None:
            print_line(f"cycle time on {planned.robot}: {cycle:.3f} s, with time-optimal paths {best:.3f} s")
    return code


def _row(path: PlannedPath) -> list[str]:
    first, last = path.lines[0], path.lines[-1]
    words = [
        f"{item.what}{f' {item.axis}' if item.axis else ''} {100 * item.share:.0f} %"
        for item in path.limiting
        if item.share >= SHORTEST
    ]
    ratio = path.optimal_s / path.planned_s if path.planned_s > 0.0 else 1.0
    return [
        str(first) if first == last else f"{first} to {last}",
        path.text,
        ", ".join(words[:SHOWN]),
        f"{path.planned_s:.3f}",
        f"{path.optimal_s:.3f}",
        f"{ratio:.2f}",
    ]


def _data(path: PlannedPath) -> dict[str, Any]:
    return {
        "lines": list(path.lines),
        "moves": path.text,
        "planned_s": path.planned_s,
        "time_optimal_s": path.optimal_s,
        "limited_by": [
            {"what": item.what, "axis": item.axis, "share_of_time": item.share} for item in path.limiting
        ],
    }
