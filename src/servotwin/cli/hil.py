"""``servotwin hil``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from servotwin.cli.live import live_line
from servotwin.cli.output import print_json, print_line, print_note, working_or_compiling
from servotwin.cli.signals import finishing
from servotwin.cli.substitution import note_warning, print_substitution, substitution_overrides
from servotwin.errors import SimulationError

if TYPE_CHECKING:
    from servotwin.hil.link.link_run import LinkRun
    from servotwin.hil.real_time import RealTime
    from servotwin.hil.result import SubstitutionResult
    from servotwin.hil.scenario import SubstitutionScenario
    from servotwin.report.substitution_page import SubstitutionFiles

DONE, FAILED, INTERRUPTED = 0, 1, 130


def hil(
    scenario: str,
    transport: str,
    *,
    overrun: str | None = None,
    tolerance: int = 3,
    simulated: bool = False,
    key: str | None = None,
    allow_network: bool = False,
    cpu: int | None = None,
    guard: float = 100.0,
    out: str | None = None,
    report: bool = True,
    overwrite: bool = False,
    overrides: Sequence[str] | None = None,
    seed: str | None = None,
    allow_code: bool = False,
    json: bool = False,
) -> int:
    """Run a substitution scenario against a rig and write its result; the exit code."""
    how = _how(transport, overrun, tolerance, simulated, key, allow_network, cpu, guard)
    with working_or_compiling(f"preparing {scenario}"):
        from servotwin.hil.scenario import read_substitution

        chosen = read_substitution(scenario, substitution_overrides(overrides, seed))
    if not chosen.substituted:
        raise chosen.error("no joint is substituted; expected one at least for a rig", "substitute")
    from servotwin.simulation.results.folder import RUN_FILES, claimed_folder

    folder = out or f"out/{chosen.name}"
    with claimed_folder(folder, RUN_FILES, overwrite=overwrite):  # a refusal comes before the work is done
        result, failure = _run(chosen, how, allow_code)
    files = _write(result, folder, report, overwrite)
    _print(result, files, json=json)
    sys.stdout.flush()
    if failure is not None:
        print_note(f"{failure} (what there is of the run: {folder})")
        return FAILED
    if not result.complete:
        print_note(
            f"interrupted; the arm and the rig are in their safe state, the result up to there is in {folder}"
        )
        return INTERRUPTED
    return DONE


def _how(
    transport: str,
    overrun: str | None,
    tolerance: int,
    simulated: bool,
    key: str | None,
    network: bool,
    cpu: int | None,
    guard: float,
) -> RealTime:
    from servotwin.hil.real_time import RealTime

    how = RealTime(
        transport,
        not simulated,
        overrun,
        tolerance,
        key,
        network,
        cpu,
        guard=guard * 1e-6,
        rehearse=guard > 0.0,
    )
    how.check()
    return how


def _run(
    scenario: SubstitutionScenario, how: RealTime, allow_code: bool
) -> tuple[SubstitutionResult, SimulationError | None]:
    from servotwin.hil.real_time import substitute_real_time

    title = f"{scenario.name} at {how.transport}"
    with live_line(f"preparing {title}") as show:
        told = sys.stderr.isatty()  # a person sees the live line

        def look(run: LinkRun) -> None:
            nonlocal told
            if not told and run.executive["done"][0] > 0:
                told = True
                print_note(f"{title}: running")
            show(lambda: _words(title, run))

        try:
            return substitute_real_time(
                scenario, how, allow_code=allow_code, look=look, warn=note_warning
            ), None
        except SimulationError as error:
            if error.partial is None:
                raise
            return error.partial, error


def _words(title: str, run: LinkRun) -> str:
    from servotwin.realtime.histogram import read_times

    executive, supervision = run.executive[0], run.link["supervision"][0, 0]
    wake, cycle = read_times(executive["wake_up"]), read_times(executive["compute"])
    done = int(executive["done"])
    return (
        f"{title}: {100 * done / max(run.cycles, 1):.0f} %, {done} cycles, cycle p99 {cycle.p99 * 1e-3:.3g} us, "
        f"wake-up p99 {wake.p99 * 1e-3:.3g} us, {int(executive['overruns'])} overruns, "
        f"{int(supervision['disturbed'])} disturbed"
    )


def _write(result: SubstitutionResult, folder: str, report: bool, overwrite: bool) -> SubstitutionFiles:
    from servotwin.report.shown_files import of_substitution

    with finishing():
        return of_substitution(result, folder, report=report, overwrite=overwrite)


def _print(result: SubstitutionResult, files: SubstitutionFiles, *, json: bool) -> None:
    from servotwin.report.link_figures import link_numbers

    assert result.link is not None
    if json:
        places = {"report": files.page, "summary": files.summary, "signals": files.signals}
        shown = {name: None if path is None else str(path) for name, path in places.items()}
        print_json({**shown, **result.summary(), "link": link_numbers(result.link)})
        return
    for line in result.link.lines():
        print_line(line)
    for line in result.link.grants:
        print_note(line)
    print_line()
    print_substitution(result, files, json=False)
