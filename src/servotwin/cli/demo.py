"""``servotwin demo``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from servotwin.cli.output import print_json, print_line, working
from servotwin.cli.simulate import LONG, progress_bar, scenario_overrides

if TYPE_CHECKING:
    from servotwin.simulation.result import Result

SCENARIOS = ("scara-a-axis-100deg", "scara-full-range")


def demo(out: str, overrides: Sequence[str] | None, *, json: bool) -> None:
    """Simulate the moves of Lee 1989, write their reports and one over both, and say where it is."""
    changes = scenario_overrides(overrides, None, None, None)
    with working("loading the simulator"):
        from servotwin import simulate
        from servotwin.report.files import make_folder, write_bytes, write_json
        from servotwin.simulation.scenario import read_scenario

        folder = make_folder(out)
        chosen = [read_scenario(name, changes) for name in SCENARIOS]
    results: list[Result] = []
    for scenario in chosen:
        with progress_bar(f"simulating {scenario.name}") as progress:
            results.append(simulate(scenario, progress=progress))
    with working("drawing the reports"):
        from servotwin.report.demo_page import demo_page, findings
        from servotwin.report.simulation_files import json_ready, write_result

        links = {}
        for result in results:
            files = write_result(result, folder / result.scenario.name)
            if files.page is not None:
                links[result.scenario.title] = f"{result.scenario.name}/{files.page.name}"
        numbers = findings(results[0], results[1])
        page = write_bytes(Path(folder) / "report.html", demo_page(results[0], results[1], links).encode())
        summary = write_json(Path(folder) / "summary.json", json_ready(numbers))
    if json:
        print_json({"report": str(page), "summary": str(summary), **json_ready(numbers)})
        return
    _print(results, page, summary)


def _print(results: Sequence[Result], page: Path, summary: Path) -> None:
    single, full = (result.summary for result in results)
    for axis in full["axes"]:
        print_line(
            f"full range, motor {axis['motor']}: peak {axis['peak_torque_mean_N_m']:.3f} N m, "
            f"RMS {axis['rms_torque_N_m']:.3f} N m, rated {axis['rated_torque_N_m']:.3f} N m"
        )
    peak = single["axes"][0]["joint_peak_speed"] * 57.29577951308232
    print_line(
        f"A axis 0 to 100 deg: peak {peak:.1f} deg/s, tip error at rest {1e3 * single['tip_error_final_m']:.3f} mm"
    )
    wall, simulated = (single[key] + full[key] for key in ("wall_s", "simulated_s"))
    print_line(f"speed: {simulated / wall:.0f} times real time ({simulated:.3g} s in {wall:.2g} s)")
    if single["compile_s"] > LONG:
        print_line(f"compiled in {single['compile_s']:.1f} s, once on this machine")
    print_line(f"summary: {summary}")
    print_line(f"report:  {page}")
