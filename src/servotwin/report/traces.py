"""Signals as lines on a screen: many samples thinned without losing a peak, bands and marks over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from servotwin.mechanism.model import Array, IntArray
from servotwin.report.page_style import COLOURS, INK, SOFT

POINTS = 4000  # most points of a line; a screen shows about 1100 columns
BAND_LIMIT = 60  # most shaded bands in a figure
BAND_COLOURS = {
    "voltage": "#e69f00",
    "current": "#a4508b",
    "speed": "#56b4e9",
    "end stop": "#1b2430",
    "stuck": "#8a94a0",
    "motor speed": "#0072b2",
    "peak torque": "#d55e00",
    "joint speed": "#009e73",
    "joint effort": "#cc3311",
}


def colour(i: int) -> str:
    """The colour of axis or motor number ``i``."""
    return COLOURS[i % len(COLOURS)]


def thinned(signals: Sequence[Array], points: int = POINTS) -> IntArray:
    """Indices, at most ``points``, that keep first, last and in each stretch of time every signal's extremes."""
    count = len(signals[0])
    if count <= points:
        return np.arange(count)
    stretches = max(1, (points - 2) // (2 * len(signals)))
    edges = np.linspace(0, count, stretches + 1).astype(np.int64)
    kept = [np.array([0, count - 1])]
    for y in signals:
        finite = np.where(np.isfinite(y), y, 0.0)
        for pick in (np.minimum, np.maximum):
            extremes = np.repeat(pick.reduceat(finite, edges[:-1]), np.diff(edges))
            hits = np.flatnonzero(finite == extremes)
            stretch = np.searchsorted(edges, hits, side="right")
            kept.append(hits[np.unique(stretch, return_index=True)[1]])
    return np.unique(np.concatenate(kept))


def line(t: Array, y: Array, name: str, ink: str, points: int = POINTS, **changes: Any) -> go.Scatter:
    """A signal over time, thinned for display; single precision is more than a screen shows."""
    keep = thinned([y], points)
    style = {"color": ink, "width": 2, "simplify": False, **changes.pop("line", {})}
    return go.Scatter(
        x=t[keep].astype(np.float32),
        y=y[keep].astype(np.float32),
        name=name,
        line=style,
        mode="lines",
        **changes,
    )


DOTTED = {"width": 1.4, "dash": "dot"}


def band_key(kind: str) -> str:
    """The kind of limit, as bands and legends name it.

    >>> band_key("current limit"), band_key("end stop")
    ('current', 'end stop')
    """
    return next((key for key in BAND_COLOURS if kind.startswith(key)), "stuck")


def bands(figure: go.Figure, intervals: Iterable[tuple[str, float, float]], duration: float) -> None:
    """Shade intervals (kind, from, to) [s]; near ones are joined, and each kind is named in the legend."""
    shapes = []
    found = list(intervals)
    for kind, ink in BAND_COLOURS.items():
        spans = sorted((a, b) for k, a, b in found if band_key(k) == kind)
        spans = _joined(spans, duration)
        if not spans:
            continue
        for start, end in spans:
            end = max(end, start + 0.002 * duration)  # a shorter one would be invisible
            shapes.append(
                {
                    "type": "rect", "xref": "x", "yref": "paper", "x0": start, "x1": end, "y0": 0, "y1": 1,
                    "fillcolor": ink, "opacity": 0.2, "line": {"width": 0}, "layer": "below",
                }
            )  # fmt: skip
        marker = {"symbol": "square", "size": 11, "color": ink, "opacity": 0.4}
        name = next(k for k, _, _ in found if band_key(k) == kind)  # as the tables call it
        figure.add_trace(
            go.Scatter(x=[None], y=[None], mode="markers", marker=marker, name=name, hoverinfo="skip")
        )
    figure.update_layout(shapes=[*figure.layout.shapes, *shapes])


def _joined(spans: list[tuple[float, float]], duration: float) -> list[tuple[float, float]]:
    """Intervals in order with small gaps closed, so that there are BAND_LIMIT of them at most."""
    gap = 0.002 * duration
    while True:
        found: list[tuple[float, float]] = []
        for start, end in spans:
            if found and start - found[-1][1] <= gap:
                found[-1] = (found[-1][0], max(found[-1][1], end))
            else:
                found.append((start, end))
        if len(found) <= BAND_LIMIT:
            return found
        spans, gap = found, 2.0 * gap


def marks(figure: go.Figure, instants: Sequence[tuple[float, str]], height: float = 0.01) -> None:
    """Thin vertical lines with a word at a ``height`` of 0 to 1."""
    for time, word in instants:
        dotted = {"color": INK, "width": 1, "dash": "dot"}
        figure.add_shape(type="line", x0=time, x1=time, y0=0, y1=1, yref="paper", line=dotted)
        figure.add_annotation(
            x=time, y=height, yref="paper", yanchor="bottom", xanchor="left", text=word, showarrow=False,
            font={"size": 12, "color": INK},
        )  # fmt: skip


def level(figure: go.Figure, value: float, text: str, dash: str = "dash", **changes: Any) -> None:
    """A horizontal line with its name above its right end."""
    figure.add_hline(y=value, line={"color": SOFT, "width": 1.2, "dash": dash}, **changes)
    if text:
        place = {"xref": "x domain", "x": 0.995, "xanchor": "right", "yanchor": "bottom"}
        figure.add_annotation(
            y=value, text=text, showarrow=False, font={"size": 12, "color": SOFT}, **place, **changes
        )
