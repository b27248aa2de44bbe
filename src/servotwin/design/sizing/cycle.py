"""The robot that is sized and the cycle that it runs, from what the caller gives."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

from servotwin.description.load import read_description
from servotwin.description.schema import RobotDescription
from servotwin.design.sizing.duty import Duty, duty_of_job, duty_of_scenario
from servotwin.errors import InputError


def cycle_of(
    robot: str | Path | RobotDescription,
    job: str | Path | None,
    scenario: str | Path | None,
    duty: Duty | None,
    rest: float,
    overrides: dict[str, str],
) -> tuple[RobotDescription, Duty | None]:
    """The robot and its cycle with a ``rest`` [s] after it; None for the worst case."""
    if not (math.isfinite(rest) and rest >= 0.0):
        raise InputError(f"{rest:g} s; expected zero or more", field="--rest")
    if isinstance(robot, RobotDescription):
        if job is not None or scenario is not None:
            raise InputError("a job or a scenario reads its robot from a file; expected a name or path")
        if overrides:
            raise InputError("a description does not change; expected a name or path with overrides")
        return robot, _rested(duty, rest)
    if job is not None:
        return read_description(robot, overrides), _of_job(robot, job, rest, overrides)
    if scenario is not None:
        return _of_scenario(robot, scenario, rest, overrides)
    return read_description(robot, overrides), _rested(duty, rest)


def _rested(duty: Duty | None, rest: float) -> Duty | None:
    return None if duty is None else replace(duty, rest=duty.rest + rest)


def _of_job(robot: str | Path, job: str | Path, rest: float, overrides: dict[str, str]) -> Duty:
    """The job as it is commanded; planned without limits of torques where the file's drives are too weak for it."""
    from servotwin.simulation.job_run import rehearse
    from servotwin.simulation.scenario.job_settings import JobSettings

    file = os.fspath(robot)
    rehearsed = rehearse(job, None, file, overrides)
    if rehearsed.log.finished:
        return duty_of_job(rehearsed, rest=rest)
    stronger = rehearse(job, None, file, overrides, settings=JobSettings(torques=False))
    if not stronger.log.finished:
        return duty_of_job(rehearsed, rest=rest)  # raises what stops the job
    return replace(duty_of_job(stronger, rest=rest), beyond_drives=True)


def _of_scenario(
    robot: str | Path, scenario: str | Path, rest: float, overrides: dict[str, str]
) -> tuple[RobotDescription, Duty]:
    """The moves of a scenario made by the given robot, which need not be the file that the scenario names."""
    from servotwin.simulation.scenario.scenario import ROBOT_SUFFIXES, read_scenario

    own, given = read_scenario(scenario), read_description(robot)
    if own.description.name != given.name:
        raise InputError(f"moves {own.description.name}; expected one of {given.name}", field="--scenario")
    named = os.fspath(robot)
    if named.lower().endswith(ROBOT_SUFFIXES):  # a path in a scenario is relative to its folder
        named = str(Path(named).absolute())
    changes = {f"set.{field}": value for field, value in overrides.items()}
    found = read_scenario(scenario, {**changes, "robot": named})
    return found.description, duty_of_scenario(found, rest=rest)
