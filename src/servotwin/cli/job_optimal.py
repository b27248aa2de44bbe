"""``servotwin job plan --time-optimal``: how quick the paths of a job could be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from servotwin.cli.arguments import read_overrides
from servotwin.cli.job_run import REFUSED, ended, job_settings
from servotwin.cli.output import print_json, print_line, print_table, working_or_compiling
from servotwin.cli.simulate import read_limits
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.jobs.player import Planned
    from servotwin.motion.limits import MotionLimits
    from servotwin.motion.retiming import Limiting
    from servotwin.robot.robot import Robot

COLUMNS = ("lines", "moves", "limited by (share of the time)", "planned [s]", "time-optimal [s]", "ratio")
SHOWN = 4  # limits of a path in the table


@dataclass(frozen=True)
class Quickened:
    """Moves from rest to rest: their lines and words, their time as planned and at best, what limits it."""

    lines: tuple[int, ...]
    text: str
    planned_s: float
    optimal_s: float
    limiting: tuple[Limiting, ...]


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
    with working_or_compiling("planning"):
        from servotwin.jobs.program import load_program
        from servotwin.simulation.job_run import rehearse

        program = load_program(job)
        settings = job_settings(
            program, robot, changes, q=q, fit=fit, override=100, time_limit=time_limit,
            budget=read_limits(max_memory, max_time),
        )  # fmt: skip
        log, _, player = rehearse(program, None, robot, changes, io_script=io, settings=settings)
        # An acceleration that was only assumed from the ramp time does not hold: that is what torques are for.
        limits = replace(player.limits, acceleration=player.robot.limits.qdd_max)
        found = [quickened(planned, player.robot, limits) for planned in player.plans]
    saved = sum(path.planned_s - path.optimal_s for path in found)
    cycle = log.cycle_time_s if log.finished else None
    code = ended(log)
    if json:
        data = {
            "job": log.job,
            "robot": player.robot.name,
            "finished": log.finished,
            "alarms": list(log.alarms),
            "duration_s": cycle,
            "time_optimal_duration_s": None if cycle is None else cycle - saved,
            "paths": [_data(path) for path in found],
        }
        print_json(data)
    elif code != REFUSED:
        print_table(COLUMNS, [_row(path) for path in found], text_columns=3)
        print_line()
        if cycle is not None:
            print_line(
                f"cycle time on {player.robot.name}: {cycle:.3f} s, with time-optimal paths {cycle - saved:.3f} s"
            )
    return code


def quickened(planned: Planned, robot: Robot, limits: MotionLimits) -> Quickened:
    """A planned motion beside the quickest one along its path."""
    from servotwin.motion.retiming import limiting, quickest

    way = quickest(robot, planned.trajectory, limits)
    moves = planned.moves
    text = ", ".join(f"{move.kind} {' '.join(target.name for target in move.targets)}" for move in moves)
    what = tuple(limiting(robot, way, limits)) if way.duration > 0.0 else ()
    return Quickened(
        tuple(move.where.line for move in moves), text, planned.trajectory.duration, way.duration, what
    )


def _row(path: Quickened) -> list[str]:
    first, last = path.lines[0], path.lines[-1]
    words = [
        f"{item.what}{f' {item.axis}' if item.axis else ''} {100 * item.share:.0f} %"
        for item in path.limiting
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


def _data(path: Quickened) -> dict[str, Any]:
    return {
        "lines": list(path.lines),
        "moves": path.text,
        "planned_s": path.planned_s,
        "time_optimal_s": path.optimal_s,
        "limited_by": [
            {"what": item.what, "axis": item.axis, "share_of_time": item.share} for item in path.limiting
        ],
    }
