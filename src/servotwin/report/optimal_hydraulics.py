"""Servovalves on the page of an optimal motion: opening, force and flow, each within its limits."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from servotwin.description.display import LITRES_PER_MINUTE, PERCENT
from servotwin.mechanism.model import Array
from servotwin.motion.optimal.result import OptimalMotion
from servotwin.report.page import Figure, Page
from servotwin.report.page_style import COLOURS, SOFT, axis, layout

HEIGHT = 300
DASHED = {"color": SOFT, "width": 1.2, "dash": "dash"}


def hydraulic_section(page: Page, motion: OptimalMotion) -> None:
    """One row of figures for every valve."""
    page.section(
        "Servovalves",
        "Dashed: what the valve gives at this instant. The force is bounded by the supply and by the edges of the open "
        "valve, against the motion by cavitation; the flow is that of a fully open valve under this force.",
    )
    for k in motion.valves:
        name = motion.motor_names[k]
        effort = "torque" if name in motion.rotary_valves else "force"
        figures = [
            Figure(opening_figure(motion, k), f"{name}: valve opening"),
            Figure(force_figure(motion, k), f"{name}: {effort}"),
            Figure(flow_figure(motion, k), f"{name}: flow from the supply"),
        ]
        page.figures(figures, columns=3)


def opening_figure(motion: OptimalMotion, k: int) -> go.Figure:
    """How far the valve opens, and how far it may."""
    name = motion.motor_names[k]
    most = [use.value for use in motion.limits if (use.what, use.who) == ("valve flow", name)]
    limits = [PERCENT * sign * np.full(motion.t.size, value) for value in most for sign in (1.0, -1.0)]
    return _figure(motion, "opening", "%", PERCENT * motion.opening[:, k], limits)


def force_figure(motion: OptimalMotion, k: int) -> go.Figure:
    """Force of the piston or torque of the motor between the least and largest at its speed."""
    rotary = motion.motor_names[k] in motion.rotary_valves
    title, unit = ("torque", "N m") if rotary else ("force", "N")
    return _figure(motion, title, unit, motion.current[:, k], list(motion.force_limit[:, :, k]))


def flow_figure(motion: OptimalMotion, k: int) -> go.Figure:
    """Flow from the supply below that of the open valve, and below that of a pump alone."""
    limits = [LITRES_PER_MINUTE * motion.flow_limit[:, k]]
    limits += [np.full(motion.t.size, use.value) for use in motion.limits if use.what == "pump flow"]
    return _figure(motion, "flow", "L/min", LITRES_PER_MINUTE * motion.flow[:, k], limits)


def _figure(motion: OptimalMotion, title: str, unit: str, values: Array, limits: list[Array]) -> go.Figure:
    figure = go.Figure(layout=layout(HEIGHT, xaxis=axis("time [s]"), yaxis=axis(f"{title} [{unit}]")))
    hover = f"%{{y:.4g}} {unit}"
    style = {"color": COLOURS[0], "width": 2}
    figure.add_trace(
        go.Scatter(x=motion.t, y=values, name=title, mode="lines", line=style, hovertemplate=hover)
    )
    for number, edge in enumerate(limits):
        figure.add_trace(
            go.Scatter(
                x=motion.t, y=edge, name="limit", mode="lines", line=DASHED, hovertemplate=hover,
                showlegend=number == 0, legendgroup="limit",
            )
        )  # fmt: skip
    return figure
