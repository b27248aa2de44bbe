"""``servotwin demo``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from servotwin.cli.output import compiled_words, print_json, print_line, working
from servotwin.cli.signals import finishing
from servotwin.cli.simulate import DONE, LONG, how_it_ended, run_scenario, scenario_overrides
from servotwin.description.display import DEG, MM

if TYPE_CHECKING:
    from servotwin.simulation.results.result import Result


def demo(out: str, overrides: Sequence[str] | None, *, overwrite: bool = False, json: bool) -> int:
    """Simulate the moves of Lee 1989, write their reports and one over both, and say where it is; the exit code."""
    changes = scenario_overrides(overrides, None)
    with working("loading the simulator"):
        from servotwin.simulation.results.folder import claimed_folder, replaced_folder
        from servotwin.workbench.demonstration import (
            PAGE,
            SUMMARY,
            Demo,
            demo_files,
            demo_scenarios,
            put_demo,
            write_runs,
        )

        folder = Path(out)
        chosen = demo_scenarios(changes)
        own = demo_files(chosen)
    results: list[Result] = []
    with claimed_folder(folder, own, overwrite=overwrite):  # a refusal comes before the work is done
        for scenario in chosen:
            result, failure = run_scenario(scenario)
            results.append(result)
            if failure is not None or not result.complete:
                break
    with (
        finishing(),
        working("drawing the reports"),
        replaced_folder(folder, own, overwrite=overwrite) as staged,
    ):
        if failure is not None or not result.complete:
            write_runs(results, staged)  # without a page over both: one of another demo is removed
        else:
            numbers = put_demo(Demo(tuple(results)), staged)
    if failure is not None or not result.complete:
        return how_it_ended(result, failure, folder / result.scenario.name)
    page, summary = folder / PAGE, folder / SUMMARY
    if json:
        print_json({"report": str(page), "summary": str(summary), **numbers})
    else:
        _print(results, page, summary)
    return DONE


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
