"""From the log of a run and the plans of its moves to what the report tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from servotwin.mechanism.model import Array
from servotwin.motion.limits import MotionLimits
from servotwin.motion.reports import SUBSTEPS, SegmentReport, report
from servotwin.report.job_view import MOVES, Changes, Done, JobStory
from servotwin.robot.robot import Robot
from servotwin.simulation.job_log import JobLog, LogEntry
from servotwin.simulation.result import Result

if TYPE_CHECKING:
    from servotwin.jobs.player import Planned


class PlannedMove(NamedTuple):
    """A move of the job: its line, what the planner says of it, its tool point in the robot's tool frame."""

    line: int
    kind: str
    report: SegmentReport
    X_tool: Array | None


def planned_moves(
    plans: Sequence[Planned], robot: Robot, limits: MotionLimits, period: float, substeps: int = SUBSTEPS
) -> list[PlannedMove]:
    """The moves of all plans in the order of time; ``substeps`` of the axis controllers in a ``period`` [s]."""
    found = []
    for planned in plans:
        told = {item.index: item for item in report(planned.trajectory, robot, limits, period, substeps)}
        for i, move in enumerate(planned.moves):
            if i in told:
                tool = None if move.tool is None else move.X_tool
                found.append(PlannedMove(move.where.line, move.kind, told[i], tool))
    return found


def instructions(log: JobLog, moves: Sequence[PlannedMove] = ()) -> tuple[Done, ...]:
    """What was carried out, each move with its plan; plans of moves that were not carried out are passed over."""
    rest = list(moves)
    found = []
    for entry in log.entries:
        plan = None
        if entry.text.split(" ", 1)[0] in MOVES:
            while rest and plan is None:
                candidate = rest.pop(0)
                plan = candidate if candidate.line == entry.line else None
        found.append(_done(entry, plan))
    return tuple(found)


def _done(entry: LogEntry, plan: PlannedMove | None) -> Done:
    reached = []
    for k, what in ((1, "speed"), (2, "acceleration")):
        if entry.limits:
            worst = max(entry.limits, key=lambda item: float(item[k]))
            reached.append((what, worst[0], float(worst[k])))
    basic = (entry.line, entry.text, entry.start_s, entry.end_s)
    if plan is None:
        return Done(*basic, reached=tuple(reached))
    told = plan.report
    return Done(
        *basic,
        told.length_m,
        told.top_tool_speed,
        None if plan.kind == "MOVEJ" else told.deviation_m,
        told.chord_error_m,
        tuple(reached),
        told.slowed,
        plan.X_tool,
        told.blend_m,
        told.note,
    )


def story_of(
    result: Result,
    log: JobLog,
    moves: Sequence[PlannedMove] = (),
    *,
    source: str = "",
    gripper: str = "",
) -> JobStory:
    """The story of a simulated job; ``gripper``: the output that holds the payload."""
    alarms = [
        (event.time_s, event.what.removeprefix("alarm: "))
        for event in result.events
        if event.what.startswith("alarm: ")
    ]
    return JobStory(
        log.job,
        result,
        instructions(log, moves),
        source,
        ((0.0, "running"), *_texts(log, "state")),
        tuple(alarms),
        _signals(log, "input"),
        _signals(log, "output"),
        log.finished,
        gripper,
    )


def _texts(log: JobLog, kind: str) -> Changes:
    return tuple((change.time_s, change.text) for change in log.changes if change.kind == kind)


def _signals(log: JobLog, kind: str) -> dict[str, tuple[tuple[float, bool], ...]]:
    """The changes of inputs or outputs by name."""
    found: dict[str, list[tuple[float, bool]]] = {}
    for time, text in _texts(log, kind):
        name, _, state = text.rpartition(" ")
        found.setdefault(name, []).append((time, state == "ON"))
    return {name: tuple(changes) for name, changes in sorted(found.items())}
