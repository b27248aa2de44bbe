"""The page of a line test: position and error of the tool, errors of the motors in pulses, all laws side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from servotwin.description.display import MM, MS
from servotwin.design.line_test import LineRun, LineTest
from servotwin.mechanism.model import Array
from servotwin.report.files import write_json, write_page
from servotwin.report.page import Card, Figure, Page
from servotwin.report.page_style import COLOURS, SOFT, axis, layout
from servotwin.simulation.results.folder import LINE_FILES, replaced_folder
from servotwin.version import __version__

POINTS = 1500


def write_line_test(test: LineTest, folder: str | Path, *, overwrite: bool = False) -> dict[str, str]:
    """Write ``linetest.html`` and ``linetest.json``."""
    with replaced_folder(folder, LINE_FILES, overwrite=overwrite) as place:
        write_json(place / "linetest.json", test.data())
        write_page(place / "linetest.html", line_page(test))
    return {"report": str(Path(folder) / "linetest.html"), "data": str(Path(folder) / "linetest.json")}


def line_page(test: LineTest) -> str:
    """The page as HTML."""
    begin, end = (", ".join(f"{MM * v:g}" for v in point) for point in (test.begin, test.end))
    page = Page(
        f"{test.robot.name}: line test",
        f"The tool from ({begin}) to ({end}) mm with {test.speed:g} m/s and {test.acceleration:g} m/s².",
    )
    page.cards(_cards(test))
    first = test.runs[0]
    page.section(
        "Position of the tool, and its error",
        f"As the paper's figure 8 shows them, for the law '{first.law}': commanded and actual position, the error of "
        "each coordinate. The error is the way that the tool goes during its delay.",
    )
    page.figures([Figure(_position(first), "Position"), Figure(_error(first), "Error")], columns=2)
    page.section(
        "Errors of the motors in encoder pulses",
        "Commanded less counted, in pulses of each motor's encoder. Dashed: what the position loop alone explains, "
        "e' + K_x e = w (eq:line-lag).",
    )
    page.figures(
        [Figure(pulse_figure(test, run), run.law[0].upper() + run.law[1:]) for run in test.runs], columns=2
    )
    page.section(
        "Laws side by side", "Largest errors at the ends of the line, where it rests, and in between."
    )
    page.table(*_table(test), text_columns=1)
    page.section("The tool", "Delay in the middle of the line; distance from the line; error after it.")
    page.table(*_tool_table(test), text_columns=1)
    return page.html(f"ServoTwin {__version__}. All numbers are in linetest.json.")


def _cards(test: LineTest) -> list[Card]:
    first, best = test.runs[0], min(test.runs, key=lambda run: float(np.abs(run.error).max()))
    return [
        Card("Delay", f"{MS * test.delay(first):.2f}", "ms", f"of the tool, {first.law}"),
        Card("Explained", f"{MS * test.predicted_delay:.2f}", "ms", "1 / K_x of the position loop"),
        Card("At set points", f"{first.at_set_points().max():.0f}", "pulses", f"at most, {first.law}"),
        Card("In between", f"{first.in_between().max():,.0f}", "pulses", f"at most, {first.law}"),
        Card(
            "Least error of the tool",
            f"{MM * float(np.linalg.norm(best.error, axis=1).max()):.3f}",
            "mm",
            f"at most, {best.law}",
            "good",
        ),
    ]


def _picked(values: Array) -> Array:
    return np.unique(np.linspace(0, len(values) - 1, POINTS).astype(int))


def _position(run: LineRun) -> go.Figure:
    figure = go.Figure(layout=layout(320, yaxis=axis("position [mm]")))
    pick = _picked(run.time)
    for k, name in enumerate("xyz"):
        for values, dash, word in ((run.tool_ref, "dash", "commanded"), (run.tool, "solid", "actual")):
            figure.add_trace(
                go.Scatter(
                    x=run.time[pick], y=MM * values[pick, k], name=f"{name}, {word}", mode="lines",
                    line={"color": COLOURS[k], "dash": dash, "width": 2}, hovertemplate="%{y:.3f} mm",
                )
            )  # fmt: skip
    return figure


def _error(run: LineRun) -> go.Figure:
    figure = go.Figure(layout=layout(320, yaxis=axis("error [mm]")))
    pick = _picked(run.time)
    for k, name in enumerate("xyz"):
        figure.add_trace(
            go.Scatter(
                x=run.time[pick], y=MM * run.error[pick, k], name=name, mode="lines",
                line={"color": COLOURS[k], "width": 2}, hovertemplate="%{y:.4f} mm",
            )
        )  # fmt: skip
    return figure


def pulse_figure(test: LineTest, run: LineRun) -> go.Figure:
    """Errors of the motors in pulses under one law; dashed what the position loop explains."""
    figure = go.Figure(layout=layout(300, yaxis=axis("error [pulses]")))
    pick = _picked(run.time)
    for k, motor in enumerate(test.motors):
        style = {"color": COLOURS[k % len(COLOURS)], "width": 2}
        figure.add_trace(
            go.Scatter(
                x=run.time[pick], y=run.pulses[pick, k], name=motor, mode="lines", line=style,
                hovertemplate="%{y:.0f}",
            )
        )  # fmt: skip
        if run.predicted.any():
            figure.add_trace(
                go.Scatter(
                    x=run.time[pick], y=run.predicted[pick, k], mode="lines", showlegend=False, hoverinfo="skip",
                    line={"color": SOFT, "width": 1.2, "dash": "dash"},
                )
            )  # fmt: skip
    return figure


def _table(test: LineTest) -> tuple[list[str], list[list[str]]]:
    columns = ["law", *(f"{motor}, set points" for motor in test.motors)]
    columns += [f"{motor}, in between" for motor in test.motors]
    rows = []
    for run in test.runs:
        numbers = [*run.at_set_points(), *run.in_between()]
        rows.append([run.law, *(f"{value:,.0f}" for value in numbers)])
    return columns, rows


def _tool_table(test: LineTest) -> tuple[list[str], list[list[str]]]:
    columns = ["law", "delay [ms]", "error, at most [mm]", "off the line [mm]", "error at the end [mm]"]
    rows = [
        [
            run.law,
            f"{MS * test.delay(run):.3f}",
            f"{MM * float(np.linalg.norm(run.error, axis=1).max()):.4f}",
            f"{MM * test.across(run):.4f}",
            f"{MM * float(np.linalg.norm(run.error[-1])):.4f}",
        ]
        for run in test.runs
    ]
    return columns, rows
