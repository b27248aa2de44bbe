"""Figures of a prediction after ISO 9283: poses, clouds, path, drift, tornado, distribution over tolerances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from servotwin.description.display import MM, UM
from servotwin.errors import InputError
from servotwin.report.page_style import COLOURS, INK, SOFT, axis, layout
from servotwin.report.traces import colour

if TYPE_CHECKING:
    from servotwin.design.accuracy.budget import ErrorBudget, Share
    from servotwin.design.accuracy.other_tests import PathResult
    from servotwin.design.accuracy.pose_test import PoseResult
    from servotwin.design.accuracy.predict import Accuracy
    from servotwin.design.accuracy.tolerances import Tolerances

CLOUDS = 6  # poses whose clouds are drawn
HOURS = 1.0 / 3600.0
PERCENT = 100.0
PALE = 0.35  # opacity of what is within its standard errors


def figure_of(found: Accuracy, what: str | None = None) -> go.Figure:
    """One of the figures by its name."""
    made: dict[str, tuple[Any, Callable[[], go.Figure]]] = {
        "poses": (found.pose, lambda: poses_figure(found)),
        "clouds": (found.pose, lambda: clouds_figure(found.pose[0])),
        "path": (found.path, lambda: path_figure(found.path[0])),
        "drift": (found.drift, lambda: drift_figure(found.drift or {})),
        "tornado": (found.budget, lambda: tornado_of(found)),
        "tolerances": (found.tolerances, lambda: tolerances_of(found)),
    }
    wanted = what or ("tornado" if found.budget is not None else "poses")
    if wanted not in made:
        raise InputError(f"'{wanted}'; expected one of {', '.join(made)}", field="plot")
    there, draw = made[wanted]
    if not there:
        raise InputError(f"'{wanted}' was not asked for; expected its test to be run", field="plot")
    return draw()


def tornado_of(found: Accuracy) -> go.Figure:
    """The tornado of the spread."""
    if found.budget is None:
        raise InputError("no budget was asked for", field="plot")
    return tornado(found.budget)


def tolerances_of(found: Accuracy) -> go.Figure:
    """The distribution over robots of a series."""
    if found.tolerances is None:
        raise InputError("no robots were drawn", field="plot")
    return tolerances_figure(found.tolerances)


def poses_figure(found: Accuracy) -> go.Figure:
    """AP and RP of every pose, a pair of bars for each speed."""
    figure = go.Figure(
        layout=layout(
            320, barmode="group", hovermode="x", xaxis=axis("pose", type="category"),
            yaxis=axis("[um], logarithmic", type="log", dtick=1),
        )
    )  # fmt: skip
    for k, result in enumerate(found.pose):
        names = list(result.poses.names)
        label = "" if len(found.pose) == 1 else f", {PERCENT * result.speed:g} %"
        for values, word, pattern in ((result.accuracy, "AP", ""), (result.repeatability, "RP", "/")):
            figure.add_trace(
                go.Bar(
                    x=names, y=UM * values, name=f"{word}{label}",
                    marker={"color": colour(k if len(found.pose) > 1 else int(word == "RP")),
                            "pattern": {"shape": pattern if len(found.pose) > 1 else ""}},
                    hovertemplate="%{y:.3g} um",
                )
            )  # fmt: skip
    return figure


def clouds_figure(result: PoseResult) -> go.Figure:
    """Attained positions about their mean, seen from above and from the front, with the circle of RP."""
    count = min(len(result.poses.names), CLOUDS)
    away = UM * (result.positions - result.positions.mean(axis=0))[:, :count]
    radius = UM * result.repeatability[:count]
    reach = 1.15 * max(float(radius.max()), float(np.abs(away).max()), 1e-6)
    figure = go.Figure(layout=layout(430, hovermode="closest", showlegend=False))
    changes: dict[str, Any] = {}
    phi = np.linspace(0.0, 2.0 * np.pi, 73)
    for k in range(count):
        for row, (second, word) in enumerate(((1, "y"), (2, "z"))):
            number = row * count + k + 1
            suffix = "" if number == 1 else str(number)
            left, width = k / count, 0.86 / count
            span = (0.56, 1.0) if row == 0 else (0.0, 0.44)
            changes[f"xaxis{suffix}"] = axis(
                f"{result.poses.names[k]}: x [um]" if row == 1 else "",
                domain=(left, left + width), anchor=f"y{suffix}",
                range=[-reach, reach], nticks=4,
            )  # fmt: skip
            changes[f"yaxis{suffix}"] = axis(
                f"{word} [um]" if k == 0 else "", domain=span, anchor=f"x{suffix}", range=[-reach, reach],
                showticklabels=k == 0, nticks=5, scaleanchor=f"x{suffix}",
            )  # fmt: skip
            style = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
            figure.add_trace(
                go.Scatter(x=radius[k] * np.cos(phi), y=radius[k] * np.sin(phi), mode="lines", hoverinfo="skip",
                           line={"color": SOFT, "width": 1.2, "dash": "dot"}, **style)
            )  # fmt: skip
            figure.add_trace(
                go.Scatter(x=away[:, k, 0], y=away[:, k, second], mode="markers",
                           marker={"color": COLOURS[0], "size": 5, "opacity": 0.7},
                           hovertemplate="%{x:.3g}, %{y:.3g} um<extra></extra>", **style)
            )  # fmt: skip
    figure.update_layout(**changes)
    return figure


def path_figure(result: PathResult) -> go.Figure:
    """Deviation of the mean path from the commanded one along it, and the spread."""
    p, d = result.planes.points, UM * result.path.deviation
    s = MM * np.linalg.norm(p - p[0], axis=1)
    figure = go.Figure(
        layout=layout(320, xaxis=axis("along the path [mm]"), yaxis=axis("[um]", rangemode="tozero"))
    )
    for values, name, ink in (
        (np.linalg.norm(d, axis=1), "deviation of the mean path (its largest: AT)", COLOURS[0]),
        (UM * result.path.spread, "spread l + 3 S (its largest: RT)", COLOURS[1]),
    ):
        figure.add_trace(
            go.Scatter(
                x=s,
                y=values,
                name=name,
                mode="lines",
                line={"color": ink, "width": 2},
                hovertemplate="%{y:.3g} um",
            )
        )
    return figure


def drift_figure(drift: dict[str, Any]) -> go.Figure:
    """AP and RP over the time since the cold start."""
    figure = go.Figure(
        layout=layout(
            300, xaxis=axis("time since the cold start [h]"), yaxis=axis("[um]", rangemode="tozero")
        )
    )
    for k, word in enumerate(("AP", "RP")):
        figure.add_trace(
            go.Scatter(
                x=HOURS * np.array(drift["times_s"]), y=UM * np.array(drift[f"{word}_m"]), name=word,
                mode="lines+markers", line={"color": COLOURS[k], "width": 2}, hovertemplate="%{y:.3g} um",
            )
        )  # fmt: skip
    return figure


def tornado(budget: ErrorBudget, *, accuracy: bool = False) -> go.Figure:
    """What sources contribute, the largest on top: of the variance [%], or along the whole mean error [um]."""
    rows = sorted(budget.rows, key=lambda row: -abs(row.along if accuracy else row.variance))
    title = "along the whole mean error [um]" if accuracy else "share of the variance [%]"
    figure = go.Figure(
        layout=layout(
            100 + 26 * len(rows), hovermode="closest", showlegend=False, xaxis=axis(title),
            yaxis={"autorange": "reversed", "automargin": True},
        )
    )  # fmt: skip
    for trace in _mean_bars(rows) if accuracy else _spread_bars(budget, rows):
        figure.add_trace(trace)
    return figure


def _spread_bars(budget: ErrorBudget, rows: Sequence[Share]) -> list[go.Bar]:
    """Shares of the variance with two standard errors; what these explain is pale."""
    total = float(np.trace(budget.covariance)) or 1.0
    part = [PERCENT * row.variance / total for row in rows]
    doubt = [2.0 * PERCENT * row.error / abs(total) for row in rows]
    return [
        go.Bar(
            y=[row.name.replace("_", " ") for row in rows], x=part, orientation="h",
            marker={"color": [COLOURS[int(v < 0.0)] for v in part],
                    "opacity": [1.0 if abs(v) > d else PALE for v, d in zip(part, doubt, strict=True)]},
            error_x={"type": "data", "array": doubt, "color": INK, "thickness": 1.2, "width": 4},
            customdata=[UM * signed_root(row.variance) for row in rows],
            hovertemplate="%{y}: %{x:.3g} %, as a deviation %{customdata:.3g} um<extra></extra>",
        )
    ]  # fmt: skip


def _mean_bars(rows: Sequence[Share]) -> list[Any]:
    """Lengths along the whole mean error, and the size of each contribution by itself."""
    names = [row.name.replace("_", " ") for row in rows]
    along = [UM * row.along for row in rows]
    sizes = [UM * row.size if row.along >= 0.0 else -UM * row.size for row in rows]
    return [
        go.Bar(
            y=names, x=along, orientation="h", marker={"color": [COLOURS[int(v < 0.0)] for v in along]},
            hovertemplate="%{y}: %{x:.3g} um along the whole error<extra></extra>",
        ),
        go.Scatter(
            y=names, x=sizes, mode="markers",
            marker={"symbol": "line-ns", "size": 14, "color": INK, "line": {"width": 2, "color": INK}},
            hovertemplate="%{y}: size %{x:.3g} um<extra></extra>",
        ),
    ]  # fmt: skip


def signed_root(variance: float) -> float:
    """The deviation that a variance would have by itself, negative where it takes spread away."""
    return float(np.copysign(np.sqrt(abs(variance)), variance))


def tolerances_figure(found: Tolerances) -> go.Figure:
    """Part of the robots of a series that are better than an AP, pose by pose and at the worst of them."""
    figure = go.Figure(
        layout=layout(
            320, hovermode="closest", xaxis=axis("AP [um]", rangemode="tozero"),
            yaxis=axis("robots below [%]", range=[0, 100]),
        )
    )  # fmt: skip
    part = PERCENT * (np.arange(len(found.accuracy)) + 0.5) / len(found.accuracy)
    shown = [(found.worst_accuracy, "worst pose", INK, 3.0)]
    shown += [(found.accuracy[:, k], name, colour(k), 1.5) for k, name in enumerate(found.names[:CLOUDS])]
    for values, name, ink, width in shown:
        figure.add_trace(
            go.Scatter(
                x=UM * np.sort(values), y=part, name=name, mode="lines", line={"color": ink, "width": width},
                hovertemplate="%{y:.0f} % below %{x:.3g} um",
            )
        )  # fmt: skip
    return figure
