"""Figures of a simulated motion: joints against their commands, and the tip against its path."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from servotwin.description.display import MM, MS, UM
from servotwin.mechanism.model import Array
from servotwin.report.labels import PRISMATIC, REVOLUTE, JointUnits
from servotwin.report.page_style import COLOURS, INK, SOFT, axis, layout
from servotwin.report.simulation_view import View
from servotwin.report.traces import DOTTED, bands, colour, line, marks, thinned
from servotwin.report.view_plane import ViewPlane, view_plane
from servotwin.simulation.results.repeatability import Visits

CLOSE = 0.35  # s, most that the picture of the settling shows


def joint_motion(view: View, i: int, height: int = 420) -> go.Figure:
    """Position above, velocity below; dotted what was commanded."""
    unit, name = view.units(i), view.result.joints[i]
    figure = go.Figure(layout=layout(height))
    rows = (("position", unit.shown, (0.54, 1.0), "y"), ("velocity", f"{unit.shown}/s", (0.0, 0.44), "y2"))
    for quantity, shown, span, place in rows:
        least = 0.05 if quantity == "position" else 1.0
        actual = unit.factor * view.joint(i, quantity)
        wanted = unit.factor * view.joint(i, quantity, reference=True)
        title = axis(f"{quantity} [{shown}]", domain=span, anchor="x", **_wide([actual, wanted], least))
        figure.update_layout({place.replace("y", "yaxis"): title})
        style = {"yaxis": place, "hovertemplate": f"%{{y:.4g}} {shown}"}
        first = quantity == "position"
        figure.add_trace(line(view.t, actual, "actual", colour(i), view.points, showlegend=first, **style))
        dotted = {**style, "line": DOTTED, "showlegend": first}
        figure.add_trace(line(view.t, wanted, "commanded", INK, view.points, **dotted))
    figure.update_xaxes(anchor="y2")
    limits = [item for item in view.saturation(name) if item[0].startswith(("end", "stuck", "joint"))]
    bands(figure, limits, view.duration)
    marks(figure, view.incidents(name), 0.46)
    return figure


def _wide(signals: list[Array], least: float) -> dict[str, Any]:
    """A range of at least ``least``: the trembling of a standing axis is not magnified into a motion."""
    low, high = min(float(s.min()) for s in signals), max(float(s.max()) for s in signals)
    if high - low >= least:
        return {}
    middle = 0.5 * (low + high)
    return {"range": [middle - least, middle + least]}


def following_error(view: View) -> go.Figure:
    """Commanded minus actual position of all joints, turning ones above sliding ones."""
    kinds = [kind for kind in (REVOLUTE, PRISMATIC) if any(view.units(i) is kind for i in _all(view))]
    spans = {1: [(0.0, 1.0)], 2: [(0.40, 1.0), (0.0, 0.30)]}[len(kinds)]
    figure = go.Figure(layout=layout(360))
    suffixes = ("", "2")
    for kind, span, suffix in zip(kinds, spans, suffixes, strict=False):
        title = axis(f"error [{kind.shown}]", domain=span, anchor="x")
        figure.update_layout({f"yaxis{suffix}": title})
    for i in _all(view):  # in the order of the axes, whichever plot they stand in: so the legend lists them
        kind = view.units(i)
        figure.add_trace(_error_line(view, i, kind, f"y{suffixes[kinds.index(kind)]}"))
    figure.update_xaxes(anchor=f"y{len(kinds)}" if len(kinds) > 1 else "y")
    marks(figure, view.incidents(), 0.31 if len(kinds) > 1 else 0.01)
    return figure


def _error_line(view: View, i: int, kind: JointUnits, place: str) -> go.Scatter:
    hover = f"%{{y:.4g}} {kind.shown}"
    values = kind.factor * view.following_error(i)
    name = view.result.joints[i]
    return line(view.t, values, name, colour(i), view.points, yaxis=place, hovertemplate=hover)


def _all(view: View) -> range:
    return range(view.joint_count)


def tip_path(view: View) -> go.Figure:
    """The way of the tip seen from where most of it shows, commanded and actual."""
    actual, wanted = (MM * points for points in tip(view))
    plane = tip_plane(view)
    across, upwards = "xyz"[plane.right], "xyz"[plane.up]
    (left, bottom), (right, top) = plane.low, plane.high
    figure = go.Figure(
        layout=layout(
            360,
            hovermode="closest",
            xaxis=axis(f"{across} [mm]", constrain="domain", range=[left, right]),
            yaxis=axis(f"{upwards} [mm]", scaleanchor="x", constrain="domain", range=[bottom, top]),
        )
    )
    hover = f"{across} %{{x:.2f}} mm, {upwards} %{{y:.2f}} mm"
    for points, name, style in (
        (actual, "actual", {"color": COLOURS[1], "width": 2.5}),
        (wanted, "commanded", {"color": INK, **DOTTED}),
    ):
        keep = thinned([*plane.of(points)], view.points)
        x, y = (values[keep].astype(np.float32) for values in plane.of(points))
        figure.add_trace(go.Scatter(x=x, y=y, name=name, mode="lines", line=style, hovertemplate=hover))
    for name, k, symbol in (("start", 0, "circle"), ("end", -1, "square")):
        marker = {"symbol": symbol, "size": 10, "color": COLOURS[1], "line": {"color": "#fff", "width": 1.5}}
        x, y = (values.astype(np.float32) for values in plane.of(actual[[k]]))
        figure.add_trace(go.Scatter(x=x, y=y, name=name, mode="markers", marker=marker, hovertemplate=hover))
    return figure


def tip_plane(view: View) -> ViewPlane:
    """How the way of the tip is looked at [mm]."""
    return view_plane(MM * np.concatenate(tip(view)), 1.0)


def visits(target: Visits) -> go.Figure:
    """Where the tool rested around a target, with the circle of its repeatability."""
    offsets = UM * (target.places - target.target)
    plane = view_plane(offsets, 0.1)
    shown = [plane.right, plane.up]
    across, upwards = "xyz"[plane.right], "xyz"[plane.up]
    offsets = offsets[:, shown]
    mean, radius = offsets.mean(axis=0), UM * target.repeatability
    reach = 1.15 * max(float(np.abs(mean).max()) + radius, float(np.abs(offsets).max()), 0.1)
    figure = go.Figure(
        layout=layout(
            380,
            hovermode="closest",
            xaxis=axis(f"{across} - target [µm]", constrain="domain", range=[-reach, reach]),
            yaxis=axis(
                f"{upwards} - target [µm]", scaleanchor="x", constrain="domain", range=[-reach, reach]
            ),
        )
    )
    turn = np.linspace(0.0, 2.0 * np.pi, 121)
    figure.add_trace(
        go.Scatter(
            x=mean[0] + radius * np.cos(turn), y=mean[1] + radius * np.sin(turn), name="RP", mode="lines",
            line={"color": SOFT, "dash": "dash"}, hoverinfo="skip",
        )
    )  # fmt: skip
    hover = f"{across} %{{x:.2f}} µm, {upwards} %{{y:.2f}} µm"
    for name, points, symbol, tint in (
        ("visits", offsets, "circle", COLOURS[0]),
        ("mean", mean[None], "cross", COLOURS[1]),
        ("target", np.zeros((1, 2)), "x", INK),
    ):
        marker = {"symbol": symbol, "size": 9, "color": tint, "line": {"color": "#fff", "width": 1}}
        x, y = points.T
        figure.add_trace(go.Scatter(x=x, y=y, name=name, mode="markers", marker=marker, hovertemplate=hover))
    return figure


def tip(view: View) -> tuple[Array, Array]:
    """Actual and commanded positions of the tip (k, 3) [m]."""
    signals = view.result.signals
    return (
        np.stack([signals[f"tip_{a}_m"] for a in "xyz"], axis=-1),
        np.stack([signals[f"tip_ref_{a}_m"] for a in "xyz"], axis=-1),
    )


def tip_error(view: View) -> go.Figure:
    """Actual minus commanded position of the tip in base axes."""
    actual, wanted = tip(view)
    figure = go.Figure(layout=layout(360, yaxis=axis("actual - commanded [mm]")))
    for k, name in enumerate("xyz"):
        style = {"hovertemplate": "%{y:.4f} mm"}
        error = MM * (actual - wanted)[:, k]
        figure.add_trace(line(view.t, error, name, colour(k), view.points, **style))
    return figure


def tip_path_error(view: View) -> go.Figure:
    """Error of the tip along its path, which is lateness, and across it."""
    figure = go.Figure(layout=layout(360))
    spans = {"along": ((0.54, 1.0), "y"), "across": ((0.0, 0.44), "y2")}
    for k, (name, (span, place)) in enumerate(spans.items()):
        title = axis(f"{name} [mm]", domain=span, anchor="x")
        figure.update_layout({place.replace("y", "yaxis"): title})
        error = MM * view.result.signals[f"tip_error_{name}_m"]
        style = {"yaxis": place, "hovertemplate": "%{y:.4f} mm"}
        figure.add_trace(line(view.t, error, name, colour(k), view.points, **style))
    figure.update_xaxes(anchor="y2")
    return figure


def settling(view: View) -> go.Figure:
    """The tip's error from shortly before the end of the command on, in a scale that shows the rest.

    Without data where the run has fewer than two rows there.
    """
    actual, wanted = tip(view)
    error = MM * (actual - wanted)
    size = np.linalg.norm(error, axis=1)
    t, start = view.t, view.standstill
    settled = view.result.summary.get("settling_s")
    shown = min(CLOSE, float(t[-1]) - start, max(0.05, 2.5 * settled) if settled else CLOSE)
    window = (t >= start - 0.15 * shown) & (t <= start + shown)
    figure = go.Figure(layout=layout(360, xaxis=axis("time after the end of the command [ms]")))
    if window.sum() < 2:
        return figure
    ms = MS * (t[window] - start)
    figure.update_xaxes(range=[float(ms[0]), float(ms[-1])])
    hover = {"hovertemplate": "%{y:.4f} mm"}
    for k, name in enumerate("xyz"):
        figure.add_trace(line(ms, error[window, k], name, colour(k), view.points, **hover))
    figure.add_trace(line(ms, size[window], "distance", INK, view.points, line=DOTTED, **hover))
    band = view.result.summary.get("settling_band_m")
    late = size[(t >= start + 0.3 * shown)]
    top = 4.0 * MM * band if band else max(4.0 * float(late.max()) if len(late) else 0.0, 0.01)
    figure.update_layout(yaxis=axis("error [mm]", range=[-top, top]))
    if band:
        figure.add_hrect(
            y0=-MM * band, y1=MM * band, fillcolor=COLOURS[2], opacity=0.12, line_width=0, layer="below"
        )
    if settled is not None:
        note = {"text": f"settled after {MS * settled:.0f} ms", "font": {"size": 12, "color": SOFT}}
        note["bgcolor"] = "rgba(255, 255, 255, 0.8)"  # curves may pass behind
        figure.add_vline(x=MS * settled, line={"color": INK, "width": 1, "dash": "dash"})
        side = "left" if settled < 0.5 * shown else "right"
        figure.add_annotation(
            x=MS * settled,
            y=0.98,
            yref="paper",
            xanchor=side,
            xshift=4 if side == "left" else -4,
            showarrow=False,
            **note,
        )
    return figure
