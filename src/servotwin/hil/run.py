"""A substitution scenario in simulated time: the arm's cycle and the rig's twin in one process, as quick as it goes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.compiled.jit import kernel
from servotwin.compiled.native_calls import call_piece
from servotwin.errors import InputError, RobotWarning, SimulationError
from servotwin.hil.cycle import cycle_piece
from servotwin.hil.records import CycleStatus
from servotwin.hil.result import COLUMNS, SubstitutionResult, SubstitutionRun
from servotwin.hil.rig_model import rig_piece
from servotwin.hil.rig_record import RATE, RIG
from servotwin.hil.run_warnings import limit_warnings, twin_limits, with_warnings
from servotwin.hil.scenario import SubstitutionScenario, read_substitution
from servotwin.hil.substitution import Substitution, build_substitution
from servotwin.hil.words import fault_words

if TYPE_CHECKING:
    from servotwin.hil.link.link_report import LinkReport
    from servotwin.hil.link.link_run import LinkRun
    from servotwin.hil.real_time import RealTime

CHUNK = 20_000  # servo periods between two looks at the progress bar and Ctrl-C
MOST_NUMBERS = 200_000_000  # of the rows of a run: 1.6 GB
_SAID = {
    CycleStatus.DIVERGED: "the integration of the arm diverged; expected smaller steps, a higher rate, another method, "
    "or integration.rotor_inertia true",
    CycleStatus.RIG_FAULT: "the rig reported a fault, and the arm was stopped",
    CycleStatus.BAD_RATE: "the rig's rate is not a number, and the arm was stopped",
    CycleStatus.BAD_ANGLE: "the rig's angle is not a number, and the arm was stopped",
    CycleStatus.BAD_CURRENT: "the rig's drive current is not a number, and the arm was stopped",
    CycleStatus.BAD_FORCE: "a force of the environment is not a number, and the arm was stopped",
    CycleStatus.BAD_COMMAND: "a voltage or load torque for the rig is not a number, and the arm was stopped",
    CycleStatus.OPEN_LOOP: "a loop of the arm cannot be closed any more: it met a singularity",
}


@kernel
def run_ticks(
    cycle_at: int,
    rig_at: int,
    arm: Any,
    joints: Any,
    rig: Any,
    command: Any,
    feedback: Any,
    rows: Any,
    count: int,
) -> int:
    """Run ``count`` servo periods from the present one, a row each; the number that were run."""
    a = arm[0]
    for k in range(count):
        span = a.period if a.tick > 0 else 0.0
        if rig.shape[0] > 0:
            call_piece(
                rig_at, rig.ctypes.data, command.ctypes.data, feedback.ctypes.data, rig.shape[0], 0.0, span
            )
        rows[k, 0, :] = a.time
        call_piece(cycle_at, arm.ctypes.data, feedback.ctypes.data, command.ctypes.data, 0, 0.0, 0.0)
        for i in range(a.n):
            record_row(rows[k], i, a, joints[i], rig, feedback[0])
        if a.status != 0:
            return k + 1
    return count


@kernel
def record_row(row: Any, i: int, arm: Any, joint: Any, rig: Any, feedback: Any) -> None:
    """Enter the values of joint i in a row, in the order of ``COLUMNS`` behind the time."""
    row[1, i], row[2, i], row[3, i] = joint.q, joint.qd, joint.qdd
    row[4, i], row[5, i], row[6, i] = joint.w, joint.w_ref, joint.u
    row[7, i], row[8, i] = joint.tau_d, joint.tau_l
    for c in range(9, row.shape[0]):
        row[c, i] = np.nan
    if joint.role == 1:
        s = joint.shaft
        row[9, i], row[10, i] = arm.J_eff[s, s], arm.bias[s]
        row[11, i] = feedback.rate[s]
        if s < rig.shape[0]:
            row[12, i], row[13, i] = rig[s].x[RATE], rig[s].k[3, RATE]


def run_substitution(made: Substitution, progress: Callable[[float], None] | None = None) -> SubstitutionRun:
    """Run an arm that was built to its end, against the rig's twin; SimulationError, with its rows, if it stops."""
    scenario = made.scenario
    count = scenario.ticks + 1
    n = len(made.joints)
    if count * len(COLUMNS) * n > MOST_NUMBERS:
        raise scenario.error(
            f"{count} servo periods are more than are recorded; expected a shorter run", "duration"
        )
    rig = np.zeros(0, RIG)
    if scenario.rig is not None:
        rig = scenario.rig.records(scenario.file.seed, len(scenario.substituted))
        _begin_rig(rig, made)
    rows = np.zeros((count, len(COLUMNS), n))
    done, complete = 0, True
    try:
        while done < count and made.arm["status"][0] == 0:
            part = rows[done : done + CHUNK]
            done += run_ticks(
                cycle_piece.address, rig_piece.address, made.arm, made.joints, rig, made.command, made.feedback, part,
                len(part),
            )  # fmt: skip
            if progress is not None:
                progress(done / count)
    except KeyboardInterrupt:
        if not done:
            raise  # nothing has been simulated: there is no result
        complete = False
    status = CycleStatus(int(made.arm["status"][0]))
    whole = complete and done == count
    run = SubstitutionRun(scenario, made.joint_names, rows[:done], status, whole, made.warnings)
    run = with_warnings(run, limit_warnings(run, *twin_limits(rig)) if len(rig) else [])
    if status != CycleStatus.RUNNING:
        at = float(run.time[-1]) if done else 0.0
        faults = fault_words(made.feedback["fault"][0], scenario.substituted)
        which = f" ({faults})" if status == CycleStatus.RIG_FAULT and faults else ""
        raise SimulationError(f"{scenario.name}: at {at:.6g} s {_SAID[status]}{which}", partial=run)
    return run


def _begin_rig(rig: Any, made: Substitution) -> None:
    """Shafts of the twin stand at the angles of their joints."""
    for joint in made.joints:
        if joint["role"] == 1:
            rig["x"][int(joint["shaft"]), 0] = rig["angle_last"][int(joint["shaft"])] = joint["theta"]


def tell_warnings(made: Substitution, warn: Callable[[str], None] | None) -> None:
    """Say what is doubtful about an arm before it runs; by a RobotWarning if nobody else listens."""
    for text in made.warnings:
        _tell(text, warn)


def tell_new_warnings(made: Substitution, run: SubstitutionRun, warn: Callable[[str], None] | None) -> None:
    """Say what turned out to be doubtful once an arm has run."""
    for text in run.warnings[len(made.warnings) :]:
        _tell(text, warn)


def _tell(text: str, warn: Callable[[str], None] | None) -> None:
    if warn is None:
        warnings.warn(text, RobotWarning, stacklevel=4)
    else:
        warn(text)


def _as_look(progress: Callable[[float], None] | None) -> Callable[[LinkRun], None] | None:
    if progress is None:
        return None
    tell = progress
    return lambda run: tell(int(run.executive["done"][0]) / run.cycles)


def substitute(
    scenario: str | PathLike[str] | SubstitutionScenario,
    overrides: Mapping[str, str | None] | None = None,
    *,
    compare: bool = True,
    allow_code: bool = False,
    allow_outside: bool = False,
    progress: Callable[[float], None] | None = None,
    transport: str | None = None,
    real_time: RealTime | None = None,
    warn: Callable[[str], None] | None = None,
) -> SubstitutionResult:
    """Run a simulated arm with joints handed to a motor test bed, or its twin, in simulated or in real time.

    ``scenario`` is the name of one that ships (met-pure, met-substituted), the path of a file, or a
    ``SubstitutionScenario``; ``overrides`` change its fields (``{"substitute.estimator": "observer"}``). With
    ``compare`` the same arm runs with all joints simulated too, and the result has the ``differences``. Functions that
    the file names are Python code, and run only with ``allow_code``. Raises SimulationError with ``.partial`` if the
    integration diverges or the rig trips; a pure arm that diverges beside it is a warning of the result only.

    ``transport``: where a rig is, such as ``udp://127.0.0.1:47010``, or ``in-process`` for the twin; the run is in real
    time then, its result has a ``link``, and SimulationError says why it went to its safe state. ``real_time``: the
    same with all settings (``st.RealTime``). ``warn`` is told what is doubtful before anything moves (an integration
    that diverges); default a RobotWarning. The result has the same as ``run.warnings``.
    """
    if not isinstance(scenario, SubstitutionScenario):
        scenario = read_substitution(scenario, overrides, allow_outside=allow_outside)
    elif overrides:
        raise InputError("overrides go with a name or file; expected a scenario that is not read yet")
    if transport is not None or real_time is not None:
        from servotwin.hil.real_time import RealTime, substitute_real_time

        how = RealTime(transport or "in-process") if real_time is None else real_time
        return substitute_real_time(
            scenario, how, compare=compare, allow_code=allow_code, look=_as_look(progress), warn=warn
        )
    both = compare and bool(scenario.substituted)
    share = 0.5 if both else 1.0
    tell = progress or (lambda part: None)
    made = build_substitution(scenario, allow_code=allow_code)
    tell_warnings(made, warn)
    try:
        run = run_substitution(made, lambda part: tell(share * part))
    except SimulationError as error:
        tell_new_warnings(made, error.partial, warn)
        raise
    tell_new_warnings(made, run, warn)
    if not both:
        return SubstitutionResult(run, None)
    return with_pure(run, allow_code=allow_code, progress=lambda part: tell(0.5 + 0.5 * part), warn=warn)


def with_pure(
    run: SubstitutionRun,
    link: LinkReport | None = None,
    *,
    allow_code: bool = False,
    progress: Callable[[float], None] | None = None,
    warn: Callable[[str], None] | None = None,
) -> SubstitutionResult:
    """A run beside the same arm with all joints simulated.

    Where the pure arm fails or is interrupted, the run stays what it is: beside what there is of the pure one, with a
    warning.
    """
    try:
        made = build_substitution(run.scenario.pure(), allow_code=allow_code)
        return SubstitutionResult(run, run_substitution(made, progress), link)
    except (SimulationError, InputError, KeyboardInterrupt) as error:
        pure = error.partial if isinstance(error, SimulationError) else None
        interrupted = isinstance(error, KeyboardInterrupt)
        what = "was interrupted before its first row" if interrupted else f"failed: {error}"
        said = f"the pure arm beside the substituted one {what}"
        _tell(said, warn)
        return SubstitutionResult(replace(run, warnings=(*run.warnings, said)), pure, link)
