"""The page and the files of a job that was run over a bus: joints, tool path, drives, and times of the cycles."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from servotwin.description.display import UM, of_unit
from servotwin.fieldbus.controller.run import ControlRun
from servotwin.fieldbus.ethercat.master.exchange import Outcome
from servotwin.mechanism.model import Array
from servotwin.report.files import write_bytes, write_json, write_page, write_parquet
from servotwin.report.mcap import mcap_bytes
from servotwin.report.page import Card, Figure, Page
from servotwin.report.page_style import INK, axis, layout
from servotwin.report.tool_path import nearest_on_path
from servotwin.report.traces import DOTTED, colour, line
from servotwin.simulation.results.folder import MCAP, PAGE, RUN_FILES, SIGNALS, SUMMARY, replaced_folder
from servotwin.version import __version__

NANO = 1e-9
BINS = 80


class ControlFiles(NamedTuple):
    """Where the parts of a result are; None for those that were not written."""

    summary: Path
    signals: Path
    page: Path | None
    mcap: Path | None


def write_control(
    run: ControlRun, folder: str | Path, *, report: bool = True, mcap: bool = False, overwrite: bool = False
) -> ControlFiles:
    """Write ``summary.json``, ``signals.parquet``, ``report.html`` and, with ``mcap``, ``signals.mcap``."""
    with replaced_folder(folder, RUN_FILES, overwrite=overwrite) as place:
        write_json(place / SUMMARY, {**run.summary(), "path_um": path_numbers(run)})
        write_parquet(place / SIGNALS, run.columns)
        if mcap:
            times = run.log["time_ns"] - (run.log["time_ns"][0] if len(run.log) else 0)
            write_bytes(place / MCAP, mcap_bytes("/servotwin/control", run.columns, times))
        if report:
            write_page(place / PAGE, control_page(run))
    where = Path(folder)
    return ControlFiles(
        where / SUMMARY, where / SIGNALS, where / PAGE if report else None, where / MCAP if mcap else None
    )


def path_numbers(run: ControlRun) -> dict[str, float] | None:
    """Distance of the tool from the path that was commanded [um]: largest and RMS; None without a motion."""
    if len(run.tool) < 2:
        return None
    far = UM * _off_path(run)
    return {"largest": float(far.max()), "rms": float(np.sqrt(np.mean(far**2)))}


@lru_cache(maxsize=1)
def _off_path(run: ControlRun) -> Array:
    """Distance (k,) of the tool from the stretch of its path around the same instant [m], every so many rows."""
    every, t = _stride(run), run.log["time_ns"] * 1e-9
    tool = run.tool[::every]
    return np.asarray(np.linalg.norm(tool - nearest_on_path(tool, t[::every], run.tool_ref, t), axis=1))


def _stride(run: ControlRun) -> int:
    return max(len(run.tool) // 4000, 1)


def control_page(run: ControlRun) -> str:
    """The page as HTML."""
    page = Page(
        f"{run.name} over the bus",
        f"{run.title}; {len(run.slaves)} slaves; main period {run.period_ns * 1e-6:g} ms; "
        + ("lock-step." if run.settings.lock_step else "real time."),
    )
    _cards(page, run)
    if not run.finished:
        page.warning(f"The job did not come to its end: {run.played.reason or '; '.join(run.alarms)}")
    for text in (*run.alarms, *run.emergencies):
        page.warning(text)
    if len(run.log):
        _joints(page, run)
        _tool(page, run)
        _cycles(page, run)
    _slaves(page, run)
    return page.html(f"ServoTwin {__version__}. The numbers of this page are in {SUMMARY} and {SIGNALS}.")


def _cards(page: Page, run: ControlRun) -> None:
    path, numbers = path_numbers(run), run.summary()
    cards = [Card("Job", "finished" if run.finished else "stopped", "", f"{numbers['duration_s']:.4g} s")]
    if path is not None:
        cards.append(
            Card("Off the path", f"{path['largest']:.3g}", "um", f"RMS {path['rms']:.3g} um, by the encoders")
        )
    counts = run.counts
    cards.append(
        Card("Cycles", str(counts["cycles"]), "", f"{counts['lost']} lost, {counts['wrong']} wrong counters")
    )
    late = numbers["late_us"]
    if late is not None and not run.settings.lock_step:
        cards.append(
            Card(
                "Late",
                f"{late['p99']:.3g}",
                "us",
                f"99 %; most {late['max']:.4g} us, {counts['skipped']} skipped",
            )
        )
    page.cards(cards)


def _joints(page: Page, run: ControlRun) -> None:
    page.section(
        "Joints", "Reference and positions by the drives' encoders; what is behind in time is in both."
    )
    page.figures([Figure(joint_figure(run, k), name) for k, name in enumerate(run.joints)], columns=2)


def joint_figure(run: ControlRun, k: int) -> go.Figure:
    """Reference and position by the drive's encoder of one joint."""
    time, shown = run.log["time_ns"] * NANO, of_unit(run.units[k])
    figure = go.Figure(
        layout=layout(300, xaxis=axis("time [s]"), yaxis=axis(f"{run.joints[k]} [{shown.unit}]"))
    )
    figure.add_trace(line(time, shown.factor * run.log["q_ref"][:, k], "reference", INK, line=DOTTED))
    figure.add_trace(line(time, shown.factor * run.log["q"][:, k], "measured", colour(k)))
    return figure


def _tool(page: Page, run: ControlRun) -> None:
    page.section("Tool", "Distance of the tool from the commanded path, from the encoders.")
    every = _stride(run)
    time = run.log["time_ns"][::every] * NANO
    far = UM * _off_path(run)
    figure = go.Figure(layout=layout(300, xaxis=axis("time [s]"), yaxis=axis("distance [um]")))
    figure.add_trace(line(time, far, "distance", colour(0)))
    page.figures([Figure(figure, "Distance from the path")])


def _cycles(page: Page, run: ControlRun) -> None:
    page.section("Bus", "Frames around the ring: what was counted, and how long they took.")
    rows = [[name, str(value)] for name, value in run.counts.items()]
    numbers: dict[str, Any] = run.summary()
    for name in ("late_us", "round_trip_us"):
        if numbers[name] is not None and not run.settings.lock_step:
            rows.append([name, ", ".join(f"{k} {v:.4g}" for k, v in numbers[name].items())])
    page.table(("quantity", "value"), rows, text_columns=1)
    if run.settings.lock_step:
        return
    well = run.log[run.log["outcome"] == Outcome.WELL]
    figures = [
        Figure(_histogram(run.log["late_ns"] * 1e-3, "behind the deadline [us]"), "Start of the cycles"),
        Figure(_histogram(well["round_trip_ns"] * 1e-3, "round trip [us]"), "Round trip of the frames"),
    ]
    page.figures(figures, columns=2)


def _histogram(values: Any, title: str) -> go.Figure:
    figure = go.Figure(layout=layout(300, xaxis=axis(title, type="log"), yaxis=axis("cycles", type="log")))
    kept = np.maximum(np.asarray(values, dtype=np.float64), 0.1)
    if len(kept):
        edges = np.geomspace(kept.min(), max(kept.max(), kept.min() * 1.01), BINS)
        counts, _ = np.histogram(kept, edges)
        figure.add_trace(line(np.sqrt(edges[1:] * edges[:-1]), np.maximum(counts, 0.5), "cycles", colour(0)))
    return figure


def _slaves(page: Page, run: ControlRun) -> None:
    page.section(
        "Slaves", "As they were verified before OP; delays and clock differences as they were measured."
    )
    columns = ("slave", "name", "vendor", "product", "delay [ns]", "clock off [ns]")
    page.table(columns, [[str(value) for value in slave.values()] for slave in run.slaves], text_columns=4)
