"""``servotwin simulate`` of a substitution scenario: an arm with joints on the twin of a motor test bed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from servotwin.cli.arguments import read_overrides
from servotwin.cli.output import number, print_json, print_line, print_note, print_table, working
from servotwin.cli.signals import finishing
from servotwin.description.nodes import Origin
from servotwin.description.placed import Placed
from servotwin.errors import InputError, SimulationError

if TYPE_CHECKING:
    from servotwin.hil.result import SubstitutionResult
    from servotwin.hil.scenario import SubstitutionScenario
    from servotwin.report.substitution_page import SubstitutionFiles

DONE, FAILED, INTERRUPTED = 0, 1, 130
OWN_FIELDS = frozenset(
    ("title", "robot", "set", "rates", "duration", "start", "command", "servo", "integration", "substitute")
) | {"environment", "seed"}


def substitution_overrides(overrides: Sequence[str] | None, seed: str | None) -> dict[str, str | None]:
    """``--set`` of the scenario or, where it has no such field, of its robot; ``--seed``."""
    changes: dict[str, str | None] = {}
    for field, value in read_overrides(overrides).items():
        changes[field if field.split(".")[0] in OWN_FIELDS else f"set.{field}"] = value
    if seed is not None:
        changes["seed"] = Placed(seed, Origin("--seed"))
    return changes


def refuse_options(options: dict[str, object]) -> None:
    """Complain about options of ``simulate`` that a substitution scenario does not have."""
    remedies = {"--method": "--set integration.method=rk4", "--record": "rows at every servo period"}
    for option, value in options.items():
        if value:
            remedy = remedies.get(option, "an ordinary scenario")
            raise InputError(f"a substitution scenario does not have it; expected {remedy}", field=option)


def simulate_substitution(
    name: str,
    out: str | None,
    overrides: Sequence[str] | None,
    *,
    seed: str | None = None,
    allow_code: bool = False,
    report: bool = True,
    overwrite: bool = False,
    json: bool = False,
) -> int:
    """Run the scenario in simulated time, write its result and say where it is; the exit code."""
    with working("reading the scenario"):
        from servotwin.hil.scenario import read_substitution

        scenario = read_substitution(name, substitution_overrides(overrides, seed))
    folder = out or f"out/{scenario.name}"
    from servotwin.simulation.results.folder import RUN_FILES, claimed_folder

    with claimed_folder(folder, RUN_FILES, overwrite=overwrite):  # a refusal comes before the work is done
        result, failure = _run(scenario, allow_code)
    with working("writing the result"), finishing():
        from servotwin.report.substitution_page import write_substitution

        files = write_substitution(result, folder, report=report, overwrite=overwrite)
    print_substitution(result, files, json=json)
    sys.stdout.flush()
    if failure is not None:
        print_note(f"{failure} (what there is of the run: {folder})")
        return FAILED
    if not result.complete:
        print_note(f"interrupted at {result.run.time[-1]:.4g} s; the result up to there is in {folder}")
        return INTERRUPTED
    return DONE


def note_warning(text: str) -> None:
    """A warning of a run, on standard error."""
    print_note(f"warning: {text}")


def _run(
    scenario: SubstitutionScenario, allow_code: bool
) -> tuple[SubstitutionResult, SimulationError | None]:
    from servotwin.cli.simulate import progress_bar

    with progress_bar(f"simulating {scenario.name}") as progress:
        from servotwin.hil.result import SubstitutionResult, SubstitutionRun
        from servotwin.hil.run import substitute

        try:
            return substitute(scenario, allow_code=allow_code, progress=progress, warn=note_warning), None
        except SimulationError as error:
            if not isinstance(error.partial, SubstitutionRun):
                raise
            return SubstitutionResult(error.partial, None), error


def print_substitution(result: SubstitutionResult, files: SubstitutionFiles, *, json: bool) -> None:
    """The numbers of a result, and where its files are."""
    places = {"report": files.page, "summary": files.summary, "signals": files.signals}
    if json:
        shown = {name: None if path is None else str(path) for name, path in places.items()}
        print_json({**shown, **result.summary()})
        return
    gaps = result.differences
    rows = []
    for name in result.run.arm_joints:
        role = "substituted" if name in result.scenario.substituted else "simulated"
        rate = result.run.joint(name, "qd")[-1]
        gap = gaps.get(name)
        more = ("", "") if gap is None else (number(gap.largest), number(gap.rms))
        rows.append((name, role, number(float(rate)), *more))
    print_table(
        ("joint", "is", "final rate [rad/s, m/s]", "largest difference to pure", "RMS"), rows, text_columns=2
    )
    print_line()
    for name, path in places.items():
        if path is not None:
            print_line(f"{name}: {path}")
