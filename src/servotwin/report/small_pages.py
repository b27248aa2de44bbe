"""``report(folder)`` of small results: one page with picture and table, and everything as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servotwin.report.files import write_json, write_page
from servotwin.report.fragments import shown
from servotwin.report.page import Figure, Page
from servotwin.simulation.results.folder import replaced_folder
from servotwin.version import __version__

if TYPE_CHECKING:
    from servotwin.simulation.job_plan import JobPlan


def write_small(
    page: Page, name: str, data: Any, folder: str | Path, *, overwrite: bool = False
) -> dict[str, str]:
    """Write ``NAME.html`` and ``NAME.json``; where they are."""
    html, json = f"{name}.html", f"{name}.json"
    with replaced_folder(folder, frozenset((html, json)), overwrite=overwrite) as place:
        write_json(place / json, data)
        write_page(place / html, page.html(f"ServoTwin {__version__}. All numbers are in {json}."))
    return {"report": str(Path(folder) / html), "data": str(Path(folder) / json)}


def small_page(title: str, subtitle: str, figure: Figure | None, rows: Sequence[Mapping[str, Any]]) -> Page:
    """A page with one picture and one table; columns that are empty in every row are left out."""
    page = Page(title, subtitle)
    if figure is not None:
        page.figures([figure])
    keys = [
        k
        for k in dict.fromkeys(k for row in rows for k in row)
        if any(row.get(k) not in (None, "") for row in rows)
    ]
    if keys:
        page.table(
            [key.replace("_", " ") for key in keys], [[shown(row.get(k)) for k in keys] for row in rows]
        )
    return page


def of_info(info: Any, folder: str | Path, *, overwrite: bool = False) -> dict[str, str]:
    """Write ``info.html`` and ``info.json``: axes, sources, what is assumed and why."""
    page = small_page(info["name"], info["title"], Figure(info.plot(), "The arm at home"), info.rows())
    for text in info["warnings"]:
        page.warning(text)
    assumed = [[a["field"], str(a["value"]), a["why"]] for a in info["assumptions"]]
    if assumed:
        page.section("Assumed", "Values that no source states.")
        page.table(["field", "value", "why"], assumed, text_columns=3)
    return write_small(page, "info", info.data(), folder, overwrite=overwrite)


def of_poses(poses: Any, folder: str | Path, *, overwrite: bool = False) -> dict[str, str]:
    """Write ``poses.html`` and ``poses.json``."""
    page = small_page(
        poses.robot.name, "Frames in the base.", Figure(poses.plot(), "The arm and the frames"), poses.rows()
    )
    if poses.outside_limits:
        page.warning(f"Outside the limits: {', '.join(poses.outside_limits)}.")
    return write_small(page, "poses", poses.data(), folder, overwrite=overwrite)


def of_solutions(solutions: Any, folder: str | Path, *, overwrite: bool = False) -> dict[str, str]:
    """Write ``solutions.html`` and ``solutions.json``."""
    from servotwin.report.shown_figures import MOST_LINES

    rows = [{"solution": k, **row} for k, row in enumerate(solutions.rows(), 1)]
    words = "Joint positions that reach the pose, a row for each solution."
    name = "The arm at each solution" if len(rows) <= MOST_LINES else f"The first {MOST_LINES} solutions"
    page = small_page(solutions.robot.name, words, Figure(solutions.plot(), name), rows)
    return write_small(page, "solutions", solutions.data(), folder, overwrite=overwrite)


def of_torques(torques: Any, folder: str | Path, *, overwrite: bool = False) -> dict[str, str]:
    """Write ``torques.html`` and ``torques.json``."""
    words = "Inverse dynamics: tau = M qdd + C qd + g - J^T f."
    page = small_page(
        torques.robot.name, words, Figure(torques.plot(), "Torques and their parts"), torques.rows()
    )
    if torques.outside_limits:
        page.warning(f"Outside the limits: {', '.join(torques.outside_limits)}.")
    return write_small(page, "torques", torques.data(), folder, overwrite=overwrite)


def of_plan(plan: JobPlan, folder: str | Path, *, overwrite: bool = False) -> dict[str, str]:
    """Write ``plan.html`` and ``plan.json``: paths as planned, and as quickly as can be."""
    from servotwin.report.frames import path_rows

    cycle, best, rows = plan.duration, plan.time_optimal_duration, path_rows(plan)
    words = "The job did not finish." if cycle is None else f"Cycle time {cycle:.3f} s as planned"
    words += "" if best is None else f", {best:.3f} s with time-optimal paths."
    page = small_page(
        f"Plan of {plan.log.job}", words, Figure(plan.plot(), "Time of the paths") if rows else None, rows
    )
    for alarm in plan.log.alarms:
        page.warning(alarm)
    data = {
        "job": plan.log.job, "robot": plan.robot, "duration_s": cycle, "time_optimal_duration_s": best,
        "alarms": list(plan.log.alarms), "paths": rows,
    }  # fmt: skip
    return write_small(page, "plan", data, folder, overwrite=overwrite)
