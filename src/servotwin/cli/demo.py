"""``servotwin demo``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servotwin.cli.output import compiled_words, print_json, print_line, working
from servotwin.cli.signals import finishing
from servotwin.cli.simulate import DONE, LONG, how_it_ended, run_scenario, scenario_overrides
from servotwin.description.display import DEG, MM

if TYPE_CHECKING:
    from servotwin.simulation.results.result import Result
    from servotwin.simulation.scenario.scenario import Scenario

SCENARIOS = ("scara-a-axis-100deg", "scara-full-range")
PAGE, SUMMARY = "report.html", "summary.json"


def demo(out: str, overrides: Sequence[str] | None, *, overwrite: bool = False, json: bool) -> int:
    """Simulate the moves of Lee 1989, write their reports and one over both, and say where it is; the exit code."""
    changes = scenario_overrides(overrides, None)
    with working("loading the simulator"):
        from servotwin.simulation.results.folder import claimed_folder, replaced_folder
        from servotwin.simulation.scenario.scenario import read_scenario

        folder = Path(out)
        chosen = [read_scenario(name, changes) for name in SCENARIOS]
        own = _own(chosen)
    results: list[Result] = []
    with claimed_folder(folder, own, overwrite=overwrite):  # a refusal comes before the work is done
        for scenario in chosen:
            result, failure = run_scenario(scenario)
            results.append(result)
            if failure is not None or not result.complete:
                break
    with finishing(), replaced_folder(folder, own, overwrite=overwrite) as staged:
        if failure is not None or not result.complete:
            _write_runs(results, staged)  # without a page over both: one of another demo is removed
        else:
            numbers = _write_demo(results, staged)
    if failure is not None or not result.complete:
        return how_it_ended(result, failure, folder / result.scenario.name)
    page, summary = folder / PAGE, folder / SUMMARY
    if json:
        print_json({"report": str(page), "summary": str(summary), **numbers})
    else:
        _print(results, page, summary)
    return DONE


def _own(scenarios: Sequence[Scenario]) -> list[str]:
    """The files that a demo writes, as paths below its folder."""
    from servotwin.simulation.results.folder import RUN_FILES

    return [PAGE, SUMMARY, *(f"{scenario.name}/{file}" for scenario in scenarios for file in RUN_FILES)]


def _write_runs(results: Sequence[Result], folder: Path) -> dict[str, str]:
    """Write every run with its report; the reports by title, as seen from the folder."""
    from servotwin.report.simulation_files import write_result

    links = {}
    with working("drawing the reports"):
        for result in results:
            name = result.scenario.name
            page = write_result(result, folder / name).page
            if page is not None:
                links[result.scenario.title or name] = f"{name}/{page.name}"
    return links


def _write_demo(results: Sequence[Result], folder: Path) -> dict[str, Any]:
    """Write the runs, the page over both and its numbers; the numbers."""
    from servotwin.report.demo_page import demo_page, findings
    from servotwin.report.files import write_json, write_page
    from servotwin.report.simulation_files import json_ready

    links = _write_runs(results, folder)
    numbers = json_ready(findings(results[0], results[1]))
    with working("drawing the page over both"):
        write_page(folder / PAGE, demo_page(results[0], results[1], links))
    write_json(folder / SUMMARY, numbers)
    return dict(numbers)


def _print(results: Sequence[Result], page: Path, summary: Path) -> None:
    from servotwin.report.demo_page import stroke

    single, full = (result.summary for result in results)
    for axis in full["axes"]:
        peak, rms, mean, rated = (
            f"{axis[key]:.3f} N m"
            for key in ("peak_torque_N_m", "rms_torque_N_m", "peak_torque_mean_N_m", "rated_torque_N_m")
        )
        print_line(
            f"full range, motor {axis['motor']}: with ripple peak {peak}, RMS {rms}; "
            f"without ripple peak {mean}; rated {rated}"
        )
    top = DEG * single["axes"][0]["joint_peak_speed"]
    print_line(
        f"{stroke(results[0])}: peak {top:.1f} deg/s, tip error at rest {MM * single['tip_error_final_m']:.3f} mm"
    )
    wall, simulated = (single[key] + full[key] for key in ("wall_s", "simulated_s"))
    print_line(f"speed: {simulated / wall:.0f} times real time ({simulated:.3g} s in {wall:.2g} s)")
    if single["compile_s"] > LONG:
        print_line(compiled_words(single["compile_s"]))
    print_line(f"summary: {summary}")
    print_line(f"report:  {page}")
