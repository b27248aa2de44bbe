"""Signals as lines on a screen: many samples thinned without losing a peak, bands and marks over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from servotwin.mechanism.model import Array, IntArray
from servotwin.report.page_style import COLOURS, INK, SOFT

POINTS = 4000  # most points of a line; a screen shows about 1100 columns
LETTER = 0.021  # of the width of a small figure: a letter of a label
ROW = 0.085  # of the height of a small figure: a line of labels
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
    found = list(intervals)
    for kind, ink in BAND_COLOURS.items():
        spans = sorted((a, b) for k, a, b in found if band_key(k) == kind)
        if spans:
            name = next(k for k, _, _ in found if band_key(k) == kind)  # as the tables call it
            shade(figure, name, ink, spans, duration)


def shade(figure: go.Figure, name: str, ink: str, spans: list[tuple[float, float]], duration: float) -> None:
    """Shade intervals [s] of one kind, in order, near ones joined, and name it in the legend."""
    shapes = []
    for start, end in _joined(spans, duration):
        end = max(end, start + 0.002 * duration)  # a shorter one would be invisible
        shapes.append(
            {
                "type": "rect", "xref": "x", "yref": "paper", "x0": start, "x1": end, "y0": 0, "y1": 1,
                "fillcolor": ink, "opacity": 0.2, "line": {"width": 0}, "layer": "below",
            }
        )  # fmt: skip
    if not shapes:
        return
    marker = {"symbol": "square", "size": 11, "color": ink, "opacity": 0.4}
    figure.add_trace(
        go.Scatter(x=[None], y=[None], mode="markers", marker=marker, name=name, hoverinfo="skip")
    )
    figure.update_layout(shapes=[*figure.layout.shapes, *shapes])


def spans_where(t: Array, holds: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """Intervals [s] in which something holds, from samples of it."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], holds, [False]]).astype(np.int8)))
    return [(float(t[a]), float(t[b - 1])) for a, b in edges.reshape(-1, 2)]


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
    """Thin vertical lines with a word from a ``height`` of 0 to 1 upwards; words that would overlap are stacked.

    What happens at one instant has one line and one word.
    """
    words: dict[float, list[str]] = {}
    for time, word in instants:
        words.setdefault(time, []).append(word)
    labels = [(time, ", ".join(dict.fromkeys(found))) for time, found in sorted(words.items())]
    first, last = _reach(figure, [time for time, _ in labels])
    for (time, text), (row, left) in zip(labels, stacked(labels, first, last), strict=True):
        dotted = {"color": INK, "width": 1, "dash": "dot"}
        figure.add_shape(type="line", x0=time, x1=time, y0=0, y1=1, yref="paper", line=dotted)
        figure.add_annotation(
            x=time, y=height + row * ROW, yref="paper", yanchor="bottom", xanchor="left" if left else "right",
            text=text, showarrow=False, font={"size": 12, "color": INK}, bgcolor="rgba(255, 255, 255, 0.75)",
        )  # fmt: skip


def stacked(labels: Sequence[tuple[float, str]], first: float, last: float) -> list[tuple[int, bool]]:
    """Row of every label, from 0 upwards, and whether it stands to the right of its line, so that none overlap.

    ``labels``: times in order and texts; a label that would leave the figure stands to the left of its line.
    """
    placed: list[tuple[int, bool, float, float]] = []
    for time, text in labels:
        width = LETTER * max(last - first, 1e-12) * len(text)
        right = time + width <= last or time - width < first
        start = time if right else time - width
        row = 0
        while any(row == r and start < end and begin < start + width for r, _, begin, end in placed):
            row += 1
        placed.append((row, right, start, start + width))
    return [(row, right) for row, right, _, _ in placed]


def _reach(figure: go.Figure, times: Sequence[float]) -> tuple[float, float]:
    """First and last time of a figure."""
    ends = [x for trace in figure.data if trace.x is not None for x in (*trace.x[:1], *trace.x[-1:])]
    found = [float(x) for x in ends if x is not None]
    found += times
    return min(found, default=0.0), max(found, default=1.0)


def level(figure: go.Figure, value: float, text: str, dash: str = "dash", **changes: Any) -> None:
    """A horizontal line with its name above its right end."""
    figure.add_hline(y=value, line={"color": SOFT, "width": 1.2, "dash": dash}, **changes)
    if text:
        place = {"xref": "x domain", "x": 0.995, "xanchor": "right", "yanchor": "bottom"}
        figure.add_annotation(
            y=value, text=text, showarrow=False, font={"size": 12, "color": SOFT}, **place, **changes
        )
