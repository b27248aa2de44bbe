"""A job planned without its drives: how long its paths take as planned, and at best under all limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from servotwin.jobs.player import Planned
from servotwin.jobs.points import Points
from servotwin.jobs.program import Program
from servotwin.jobs.syntax import Job
from servotwin.motion.limits import MotionLimits
from servotwin.motion.retiming import Limiting, limiting, quickest
from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates
from servotwin.robot.robot import Robot
from servotwin.simulation.job_run import rehearse
from servotwin.simulation.results.job_log import JobLog
from servotwin.simulation.scenario.io_script import IoScript
from servotwin.simulation.scenario.job_settings import JobSettings


@dataclass(frozen=True)
class PlannedPath:
    """Moves from rest to rest: their lines and words, their time as planned and at best [s], what limits it."""

    lines: tuple[int, ...]
    text: str
    planned_s: float
    optimal_s: float
    limiting: tuple[Limiting, ...]


@dataclass(frozen=True)
class JobPlan(Plots, Tabulates, Reports, ShowsItself):
    """What a job does on an arm that follows exactly, and its paths; ``log`` has its duration and alarms."""

    log: JobLog
    robot: str
    paths: tuple[PlannedPath, ...]

    def __repr__(self) -> str:
        """A line; the log and the paths have the rest."""
        took = "not finished" if self.duration is None else f"{self.duration:.3f} s"
        return f"<JobPlan of {self.log.job} on {self.robot}: {took}, {len(self.paths)} paths>"

    @property
    def duration(self) -> float | None:
        """Cycle time as planned [s]; None if the job did not finish."""
        return self.log.cycle_time_s if self.log.finished else None

    @property
    def time_optimal_duration(self) -> float | None:
        """Cycle time with time-optimal paths [s]."""
        cycle = self.duration
        return None if cycle is None else cycle - sum(path.planned_s - path.optimal_s for path in self.paths)


def plan_job(
    job: str | Path | Program | Job,
    points: Points | None = None,
    robot: Robot | str | Path | None = None,
    overrides: Mapping[str, str] | None = None,
    *,
    io_script: IoScript | str | Path | None = None,
    settings: JobSettings | None = None,
    allow_outside: bool = False,
    look: Callable[[float, float], None] | None = None,
) -> JobPlan:
    """Plan a job, and every path of it as quickly as torques, voltages, valves and speeds allow.

    Arguments as for ``run_job``; ``look`` is told the time of the job and the longest that it may take [s], again and
    again. Jerks are not limited in the time-optimal paths.
    """
    log, _, player = rehearse(
        job,
        points,
        robot,
        overrides,
        io_script=io_script,
        settings=settings,
        allow_outside=allow_outside,
        look=look,
    )
    # An acceleration that was only assumed from the ramp time does not hold: that is what torques are for.
    limits = replace(player.limits, acceleration=player.robot.limits.qdd_max)
    paths = tuple(planned_path(planned, player.robot, limits) for planned in player.plans)
    return JobPlan(log, player.robot.name, paths)


def planned_path(planned: Planned, robot: Robot, limits: MotionLimits) -> PlannedPath:
    """A planned motion beside the quickest one along its path."""
    way = quickest(robot, planned.trajectory, limits)
    moves = planned.moves
    text = ", ".join(f"{move.kind} {' '.join(target.name for target in move.targets)}" for move in moves)
    what = tuple(limiting(robot, way, limits)) if way.duration > 0.0 else ()
    return PlannedPath(
        tuple(move.where.line for move in moves), text, planned.trajectory.duration, way.duration, what
    )
