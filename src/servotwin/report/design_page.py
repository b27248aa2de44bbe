"""The page of a state-feedback design: gains, poles, and how it does beside the other laws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from servotwin.control.servo.state_feedback_design import StateFeedbackDesign
from servotwin.design.law_comparison import LawRun
from servotwin.report.files import write_json, write_page
from servotwin.report.labels import joint_units, plain_unit
from servotwin.report.model_figures import spread, ticks
from servotwin.report.page import Card, Cell, Figure, Page
from servotwin.report.page_style import COLOURS, SOFT, axis, layout
from servotwin.simulation.results.folder import DESIGN_FILES, replaced_folder
from servotwin.version import __version__

HIDDEN = 15.0  # times the least RMS error, beyond which a curve would flatten the others
POINTS = 1200  # of a drawn error


def write_design(
    design: StateFeedbackDesign, runs: Sequence[LawRun], folder: str | Path, *, overwrite: bool = False
) -> dict[str, str]:
    """Write ``design.html`` and ``design.json``."""
    with replaced_folder(folder, DESIGN_FILES, overwrite=overwrite) as place:
        write_json(place / "design.json", design_data(design, runs))
        write_page(place / "design.html", design_page(design, runs))
    return {"report": str(Path(folder) / "design.html"), "data": str(Path(folder) / "design.json")}


def design_data(design: StateFeedbackDesign, runs: Sequence[LawRun]) -> dict[str, Any]:
    """Design and comparison as plain data."""
    return {
        "robot": design.coupled.name,
        "state_feedback": design.data(),
        "comparison": [run.data() for run in runs],
    }


def design_page(design: StateFeedbackDesign, runs: Sequence[LawRun]) -> str:
    """The page as HTML."""
    plant = "one law for each axis, the others held" if design.separate else "one law for the coupled arm"
    page = Page(
        f"{design.coupled.name}: state feedback",
        f"{'Placed poles' if design.method == 'poles' else 'LQR'}, {plant}; loop {design.bandwidth:.4g} rad/s, "
        f"integral time {1e3 * design.integral_time:.4g} ms, observer {design.observer_bandwidth:.4g} rad/s, sampled "
        f"every {1e3 * (design.plant.period or 0.0):.4g} ms.",
    )
    slowest = design.poles[0] if len(design.poles) else 0.0
    damped = min((-p.real / abs(p) for p in design.poles), default=1.0)
    page.cards(
        [
            Card(
                "Law", "usable" if design.usable else "not usable", "", "at its pose, at others, and nonlinear",
                "good" if design.usable else "warn",
            ),
            Card(
                "Closed loop", "stable" if design.stable else "unstable", "", "the coupled arm about the pose",
                "good" if design.stable else "warn",
            ),
            Card("Slowest pole", f"{abs(slowest):.3g}", "rad/s"),
            Card("Least damping", f"{damped:.2f}", "", "", "warn" if damped < 0.3 else "good"),
            Card("States", str(design.plant.order), "", "of the observer"),
        ]
    )  # fmt: skip
    for line in design.warnings:
        page.warning(line)
    page.section("Judged beyond its linear model", "; ".join(design.judgement.lines) + ".")
    if runs:
        _comparison(page, runs)
    _gains(page, design)
    page.section("Closed-loop poles", "Of the coupled arm with observer and integrators, in the s plane.")
    page.figures([Figure(pole_figure(design), "Poles")])
    return page.html(f"ServoTwin {__version__}. All matrices are in design.json.")


def _comparison(page: Page, runs: Sequence[LawRun]) -> None:
    page.section(
        "Laws compared",
        "The same motion, robot and seed. Errors are those of the joints against the path of the main controller; a "
        "cascade without feed-forward follows its path later by 1/K_x, which is most of its error.",
    )
    done = [run for run in runs if not run.failure]
    for run in runs:
        if run.failure:
            page.warning(f"{run.law}: {run.failure}")
    columns = [
        "law",
        "largest tip error [mm]",
        "energy from the source [J]",
        "copper losses [J]",
        "at current limit [ms]",
    ]
    least = min((run.tip_error for run in done), default=0.0)
    page.table(
        columns,
        [
            [
                run.law,
                Cell(f"{1e3 * run.tip_error:.4g}", "good" if run.tip_error == least else ""),
                f"{run.source_energy:.5g}",
                f"{run.copper_energy:.5g}",
                f"{1e3 * run.saturated:.4g}",
            ]
            for run in done
        ],
    )
    _axes(page, done)
    page.figures([_errors(done, i) for i in range(len(done[0].axes))] if done else [], columns=2)
    lines = [[run.law, line] for run in done for line in run.warnings]
    if lines:
        page.details("Warnings of the runs", ["law", "warning"], lines)


def _axes(page: Page, done: Sequence[LawRun]) -> None:
    columns = ["axis", "law", "RMS error", "largest error", "unit", "peak current [A]", "RMS current [A]"]
    rows: list[list[str | Cell]] = []
    for i, first in enumerate(done[0].axes if done else ()):
        unit = joint_units(first.unit)
        least = min(run.axes[i].error_rms for run in done)
        for run in done:
            numbers = run.axes[i]
            best = "good" if numbers.error_rms == least else ""
            rows.append(
                [
                    numbers.joint,
                    run.law,
                    Cell(f"{unit.factor * numbers.error_rms:.4g}", best),
                    f"{unit.factor * numbers.error_max:.4g}",
                    unit.shown,
                    _or_dash(numbers.current_peak),
                    _or_dash(numbers.current_rms),
                ]
            )
    page.table(columns, rows, text_columns=2)


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _errors(done: Sequence[LawRun], i: int) -> Figure:
    numbers = done[0].axes[i]
    unit = joint_units(numbers.unit)
    figure = go.Figure(layout=layout(380, yaxis=axis(f"error [{unit.shown}]")))
    least = min(run.axes[i].error_rms for run in done)
    for k, run in enumerate(done):
        if run.t is None or run.errors is None:
            continue
        pick = np.unique(np.linspace(0, len(run.t) - 1, POINTS).astype(int))
        figure.add_trace(
            go.Scatter(
                x=run.t[pick].astype(np.float32),
                y=(unit.factor * run.errors[pick, i]).astype(np.float32),
                name=run.law,
                line={"color": COLOURS[k % len(COLOURS)], "width": 1.6},
                hovertemplate="%{y:.4g}",
                visible=True if run.axes[i].error_rms <= HIDDEN * least else "legendonly",
            )
        )
    caption = "Reference less position. A click on a law shows or hides it; those with much larger errors are hidden."
    return Figure(figure, f"Joint {numbers.joint}", caption)


def _gains(page: Page, design: StateFeedbackDesign) -> None:
    words = design.output_words
    page.section(
        "Gains",
        f"{words[0].upper()}{words[1:]} per deviation of each state from its reference, and per integral of the "
        "errors of the encoders; deviations that no encoder shows are estimated. One linear law: it knows inertia, "
        "coupling and valve gains of the pose that it was designed for.",
    )
    valves = design.valves or (False,) * len(design.names)
    columns = [
        "state",
        "unit",
        *(f"{name} [{'A' if valve else 'N m'}]" for name, valve in zip(design.names, valves, strict=True)),
    ]
    rows = [
        [q.name, plain_unit(q.unit), *(f"{v:.4g}" for v in design.K[:, k])]
        for k, q in enumerate(design.plant.states)
    ]
    rows += [
        [f"integral of {q.name}", plain_unit(f"{q.unit}*s"), *(f"{v:.4g}" for v in design.K_i[:, k])]
        for k, q in enumerate(design.plant.outputs)
    ]
    page.table(columns, rows, text_columns=2)


def pole_figure(design: StateFeedbackDesign) -> go.Figure:
    """Closed-loop poles of the coupled arm in the s plane."""
    poles = design.poles
    most = float(np.abs(poles).max(initial=1.0))
    places, names = ticks(most)
    reach = float(spread(2.0 * most))
    figure = go.Figure(layout=layout(380, hovermode="closest"))
    figure.update_layout(
        xaxis=axis("real part [1/s]", tickvals=places, ticktext=names, range=[-reach, reach / 2.5]),
        yaxis=axis("imaginary part [rad/s]", tickvals=places, ticktext=names, range=[-reach, reach]),
    )
    figure.add_vline(x=0.0, line={"color": SOFT, "width": 1.2})
    figure.add_trace(
        go.Scatter(
            x=spread(poles.real),
            y=spread(poles.imag),
            mode="markers",
            name="poles",
            marker={"symbol": "x-thin", "size": 10, "line": {"width": 2, "color": COLOURS[0]}},
            customdata=np.stack([poles.real, poles.imag], axis=-1),
            hovertemplate="%{customdata[0]:.4g} %{customdata[1]:+.4g}j 1/s",
        )
    )
    return figure
