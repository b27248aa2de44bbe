"""How long a job may be simulated: its time limit, and what memory and computing time allow."""

from __future__ import annotations

from servotwin.control.main.playback import TASKS_PER_PERIOD
from servotwin.control.servo.axis_data import controller_of
from servotwin.errors import InputError
from servotwin.jobs.length import least_length
from servotwin.jobs.program import Program
from servotwin.simulation.preflight.budget import count_text, duration_text
from servotwin.simulation.preflight.estimate import (
    STEP,
    STEP_BYTES,
    Estimate,
    check_budget,
    estimate,
    longest_within,
)
from servotwin.simulation.scenario.job_settings import JobSettings
from servotwin.simulation.scenario.scenario import Scenario

SHORTER = "give it fewer rounds and shorter waits, "


def job_limit(
    program: Program, scenario: Scenario, chosen: JobSettings, *, rehearsed: bool = False
) -> tuple[float, str]:
    """The longest time [s] that a checked job may be simulated, and the option that raises it.

    InputError for a job that takes longer for certain, found by multiplying the rounds of its loops. ``rehearsed``:
    its drives are not simulated.
    """
    length = least_length(program)
    period = controller_of(scenario.description).main_period
    least = max(length.seconds, length.moves * period / TASKS_PER_PERIOD)
    file = program.job.file or None
    if least > chosen.time_limit:
        moves = f" ({count_text(length.moves)} moves)" if length.moves else ""
        raise InputError(
            f"the job takes {duration_text(least)} at least{moves}; expected at most "
            f"{duration_text(chosen.time_limit)}: {SHORTER}or raise --time-limit",
            file=file,
        )

    def cost(seconds: float) -> Estimate:
        return job_estimate(scenario, chosen, seconds, rehearsed=rehearsed)

    check_budget(cost(least), chosen.budget, file=file, shorter=SHORTER)
    limit, option = longest_within(cost, chosen.budget, chosen.time_limit)
    return limit, option or "--time-limit"


def check_job(scenario: Scenario, chosen: JobSettings, seconds: float) -> None:
    """InputError for a job of known length that takes more memory or computing time than it may."""
    file = None if scenario.path is None else str(scenario.path)
    check_budget(job_estimate(scenario, chosen, seconds), chosen.budget, file=file, shorter=SHORTER)


def job_estimate(
    scenario: Scenario, chosen: JobSettings, seconds: float, *, rehearsed: bool = False
) -> Estimate:
    """What a job of so many seconds takes, simulated or rehearsed."""
    if rehearsed:
        steps = seconds / controller_of(scenario.description).main_period
        return Estimate(seconds, 0, 0, steps * STEP_BYTES, steps * STEP)
    return estimate(scenario.plant_description, seconds, chosen.record.every, chosen.solver, stepped=True)
