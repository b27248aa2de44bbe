"""``st.demo``: the moves of Lee 1989 on arm, drives and controllers, from the transistor to the tip."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servotwin.description.placed import override_mapping
from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates
from servotwin.simulation.results.result import Result
from servotwin.simulation.scenario.scenario import Scenario, read_scenario

if TYPE_CHECKING:
    from servotwin.report.simulation_files import ResultFiles

SCENARIOS = ("scara-a-axis-100deg", "scara-full-range")
PAGE, SUMMARY = "report.html", "summary.json"


@dataclass(frozen=True)
class Demo(Plots, Tabulates, Reports, ShowsItself):
    """The runs of the demo: one axis alone, and the full range of all axes."""

    runs: tuple[Result, ...]

    def findings(self) -> dict[str, Any]:
        """What the runs show, as plain data."""
        from servotwin.report.demo_page import findings
        from servotwin.report.simulation_files import json_ready

        return dict(json_ready(findings(self.runs[0], self.runs[1])))

    def rows(self) -> list[dict[str, Any]]:
        """Torques of every motor in every run."""
        keys = ("motor", "peak_torque_N_m", "rms_torque_N_m", "rated_torque_N_m")
        return [
            {"scenario": run.scenario.name, **{key: axis[key] for key in keys}}
            for run in self.runs
            for axis in run.summary["axes"]
        ]


def demo(
    overrides: Mapping[str, str] | None = None, *, progress: Callable[[float], None] | None = None
) -> Demo:
    """Simulate a SCARA from the transistor to the tip: one axis by 100 degrees, then all axes over their full range.

    ``overrides`` change both scenarios. ``.report(folder)`` writes the reports of both and a page over them.
    """
    from servotwin.simulation.run import simulate

    chosen = demo_scenarios(overrides)
    tell = progress or (lambda part: None)
    runs = [
        simulate(scenario, progress=lambda part, k=k: tell((k + part) / len(chosen)))  # type: ignore[misc]
        for k, scenario in enumerate(chosen)
    ]
    return Demo(tuple(runs))


def demo_scenarios(overrides: Mapping[str, str] | None = None) -> list[Scenario]:
    """The scenarios of the demo in their order."""
    return [read_scenario(name, override_mapping(overrides)) for name in SCENARIOS]


def demo_files(scenarios: Sequence[Scenario]) -> list[str]:
    """The files that a demo writes, as paths below its folder."""
    from servotwin.simulation.results.folder import RUN_FILES

    return [PAGE, SUMMARY, *(f"{scenario.name}/{file}" for scenario in scenarios for file in RUN_FILES)]


def write_runs(runs: Sequence[Result], folder: Path) -> dict[str, str]:
    """Write every run with its report; the reports by title, as seen from the folder."""
    from servotwin.report.simulation_files import write_result

    links = {}
    for result in runs:
        files: ResultFiles = write_result(result, folder / result.scenario.name)
        if files.page is not None:
            links[result.scenario.title or result.scenario.name] = f"{result.scenario.name}/{files.page.name}"
    return links


def put_demo(demo: Demo, folder: Path) -> dict[str, Any]:
    """Write the runs, the page over both and its numbers into a folder that is there; the numbers."""
    from servotwin.report.demo_page import demo_page
    from servotwin.report.files import write_json, write_page

    links, numbers = write_runs(demo.runs, folder), demo.findings()
    write_page(folder / PAGE, demo_page(demo.runs[0], demo.runs[1], links))
    write_json(folder / SUMMARY, numbers)
    return numbers


def write_demo(demo: Demo, folder: str | Path, *, overwrite: bool = False) -> dict[str, str]:
    """Write the reports of both runs and a page over them; where they are."""
    from servotwin.simulation.results.folder import replaced_folder

    own = demo_files([run.scenario for run in demo.runs])
    with replaced_folder(folder, own, overwrite=overwrite) as staged:
        put_demo(demo, staged)
    return {"report": str(Path(folder) / PAGE), "summary": str(Path(folder) / SUMMARY)}
