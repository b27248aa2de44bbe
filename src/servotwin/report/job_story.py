"""From the log of a run, its commands and plans to what the report tells."""

from __future__ import annotations

from collections.abc import Mapping

from servotwin.jobs.player import Player
from servotwin.jobs.program import shown_file
from servotwin.report.job_paths import move_facts
from servotwin.report.job_view import Changes, Done, JobStory
from servotwin.simulation.job_run import JobRun
from servotwin.simulation.results.job_log import Commands, JobLog, LogEntry


def instructions(log: JobLog, commands: Commands, player: Player) -> tuple[Done, ...]:
    """What was carried out, each move with what its commands say."""
    main = player.program.job.file
    return tuple(_done(entry, commands, player, main) for entry in log.entries)


def _done(entry: LogEntry, commands: Commands, player: Player, main: str) -> Done:
    reached = []
    for k, what in ((1, "speed"), (2, "acceleration")):
        if entry.limits:
            worst = max(entry.limits, key=lambda item: float(item[k]))
            reached.append((what, worst[0], float(worst[k])))
    facts = move_facts(entry, commands, player)
    moved = {} if facts is None else vars(facts)
    return Done(
        entry.line,
        entry.text,
        entry.start_s,
        entry.end_s,
        reached=tuple(reached),
        file="" if entry.file == main else entry.file,
        shown_file="" if entry.file == main else shown_file(entry.file, main),
        complete=entry.complete,
        **moved,
    )


def story_of(run: JobRun, *, sources: Mapping[str, str] | None = None, gripper: str = "") -> JobStory:
    """The story of a simulated job; ``sources``: see ``sources_of``; ``gripper``: the output that holds the payload."""
    result, log = run.result, run.log
    alarms = [
        (event.time_s, event.what.removeprefix("alarm: "))
        for event in result.events
        if event.what.startswith("alarm: ")
    ]
    return JobStory(
        log.job,
        result,
        instructions(log, run.commands, run.player),
        dict(sources or {}),
        ((0.0, "running"), *_texts(log, "state")),
        tuple(alarms),
        _signals(log, "input"),
        _signals(log, "output"),
        log.finished,
        gripper,
        log.reason,
        run.player.program.job.file,
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
