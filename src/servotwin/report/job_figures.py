"""Figures of a run of a job: where its time and energy go, and what happened when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from servotwin.report.job_view import JobStory, Line, spans
from servotwin.report.page_style import COLOURS, INK, LINE, SOFT, axis, layout
from servotwin.report.traces import marks

KIND_COLOURS = {
    "MOVEJ": COLOURS[0],
    "MOVEL": COLOURS[2],
    "MOVEC": COLOURS[3],
    "SPLINE": COLOURS[4],
    "WAIT": "#b8c1cc",
    "WAITFOR": COLOURS[5],
    "SET": INK,
}
STATE_COLOURS = {
    "ready": "#cfd6de",
    "running": COLOURS[2],
    "stepping": COLOURS[4],
    "pausing": COLOURS[5],
    "paused": COLOURS[5],
    "stopping": COLOURS[5],
    "halting": COLOURS[1],
    "alarm": COLOURS[1],
    "fault": COLOURS[1],
    "emergency": "#a63c06",
    "disabled": "#8a94a0",
    "enabling": COLOURS[4],
}
MOST_BARS = 400
MOST_LINES = 30


def timeline(story: JobStory) -> go.Figure:
    """Instructions, states, inputs and outputs over one axis of time."""
    end = float(story.t[-1])
    rows: list[str] = ["instruction", "state"]
    names = [*story.outputs, *story.inputs]
    figure = go.Figure()
    for kind, ink in KIND_COLOURS.items():
        chosen = [d for d in story.done if d.word == kind][:MOST_BARS]
        blocks = [
            (d.begin_s, max(d.end_s, d.begin_s + 2e-3 * end), f"line {d.place}: {d.said}") for d in chosen
        ]
        figure.add_trace(_blocks("instruction", blocks, ink, kind, legend=True))
    for state in dict.fromkeys(what for _, what in story.states):
        blocks = [(a, b, state) for a, b, what in spans(story.states, end) if what == state]
        figure.add_trace(_blocks("state", blocks[:MOST_BARS], STATE_COLOURS.get(state, SOFT), state))
    for group, ink in ((story.outputs, COLOURS[1]), (story.inputs, COLOURS[0])):
        for name, changes in group.items():
            blocks = [(a, b, f"{name} ON") for a, b, on in spans(changes, end) if on]
            figure.add_trace(_blocks(name, blocks[:MOST_BARS], ink, name))
    order = [*rows, *names]
    figure.update_layout(
        layout(
            110 + 34 * len(order),
            barmode="overlay",
            bargap=0.25,
            hovermode="closest",
            xaxis=axis("time [s]", range=[float(story.t[0]), end]),
            yaxis=axis("", categoryorder="array", categoryarray=order[::-1], type="category", showgrid=False),
        )
    )
    marks(figure, [(time, _cut(text, 60)) for time, text in story.alarms][:4])
    return figure


def _blocks(
    row: str, blocks: Sequence[tuple[float, float, str]], ink: str, name: str, *, legend: bool = False
) -> go.Bar:
    """Intervals as bars in a row; an empty one keeps the row where it belongs."""
    return go.Bar(
        y=[row] * max(len(blocks), 1),
        base=[a for a, _, _ in blocks] or [0.0],
        x=[b - a for a, b, _ in blocks] or [0.0],
        customdata=[[text, a, b] for a, b, text in blocks] or [["", 0.0, 0.0]],
        hovertemplate="%{customdata[0]}<br>%{customdata[1]:.4f} to %{customdata[2]:.4f} s<extra></extra>",
        orientation="h",
        name=name,
        showlegend=legend and bool(blocks),
        marker={"color": ink, "line": {"color": "#fff", "width": 0.5}},
    )


def shares(lines: Sequence[Line]) -> go.Figure:
    """Time and energy of the lines of the job, the costly ones first."""
    chosen = sorted(lines, key=lambda line: -line.time_s)[:MOST_LINES]
    labels = [f"{line.place}: {_cut(line.said, 34)}" for line in chosen]
    figure = go.Figure()
    for place, values, unit in (
        ("x", [line.time_s for line in chosen], "s"),
        ("x2", [line.energy_J or 0.0 for line in chosen], "J"),
    ):
        ink = [KIND_COLOURS.get(line.steps[0].done.word, SOFT) for line in chosen]
        figure.add_trace(
            go.Bar(
                y=labels, x=values, xaxis=place, orientation="h", marker={"color": ink}, showlegend=False,
                hovertemplate=f"%{{y}}: %{{x:.4g}} {unit}<extra></extra>",
            )
        )  # fmt: skip
    figure.update_layout(
        layout(
            90 + 24 * len(chosen),
            hovermode="closest",
            bargap=0.3,
            xaxis=axis("time [s]", domain=[0.0, 0.48], anchor="y"),
            xaxis2=axis("energy from the source [J]", domain=[0.54, 1.0], anchor="y"),
            yaxis=axis("", autorange="reversed", type="category", showgrid=False, tickcolor=LINE),
        )
    )
    return figure


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def tool_speed(story: JobStory) -> go.Figure:
    """Speed of the tool, commanded and actual."""
    import numpy as np

    from servotwin.report.simulation_view import view
    from servotwin.report.traces import DOTTED, line

    shown = view(story.result)
    figure = go.Figure(layout=layout(300, yaxis=axis("tool speed [m/s]")))
    signals: Any = story.result.signals
    for key, name, ink, style in (("tip", "actual", COLOURS[1], {}), ("tip_ref", "commanded", INK, DOTTED)):
        p = np.stack([signals[f"{key}_{a}_m"] for a in "xyz"], axis=1)
        v = np.linalg.norm(np.gradient(p, story.t, axis=0), axis=1)
        figure.add_trace(line(story.t, v, name, ink, shown.points, line=style, hovertemplate="%{y:.4f} m/s"))
    return figure
