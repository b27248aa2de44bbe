"""Figures of single switching periods: carrier and command, switched voltage, ripple of the current."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from servotwin.description.display import US
from servotwin.mechanism.model import Array
from servotwin.report.page_style import INK, SOFT, axis, layout
from servotwin.report.simulation_view import View
from servotwin.report.traces import colour, line

HEIGHT = 460


def zoomed_motors(view: View) -> list[int]:
    """Numbers of the motors that have signals in the zoom."""
    zoom = view.result.zoom
    return [i for i, name in enumerate(view.result.motors) if f"motor_{name}_voltage_V" in zoom]


def span(view: View) -> tuple[float, float]:
    """First and last instant of the zoom [s]."""
    t = view.result.zoom["time_s"]
    return float(t[0]), float(t[-1])


def switching(view: View, i: int) -> go.Figure:
    """Three panels over the same microseconds: comparison, voltage, current."""
    zoom, name = view.result.zoom, view.result.motors[i]
    start, end = span(view)
    us = US * (zoom["time_s"] - start)
    time = axis("time [µs]", anchor="y3", range=[0.0, US * (end - start)])
    figure = go.Figure(layout=layout(HEIGHT, xaxis=time))
    phases = three_phase(view, i)
    volts, current = zoom[f"motor_{name}_voltage_V"], zoom[f"motor_{name}_current_A"]
    bus = max(float(np.max(np.abs(volts))), 1e-9)
    switched = [float(volts.min()) - 0.15 * bus, float(volts.max()) + 0.15 * bus]
    figure.update_layout(
        yaxis=axis("modulation", domain=(0.71, 1.0), anchor="x", range=[-1.1, 1.1]),
        yaxis2=axis(
            f"voltage{', alpha' if phases else ''} [V]", domain=(0.38, 0.65), anchor="x", range=switched
        ),
        yaxis3=axis(
            f"current{', q' if phases else ''} [A]", domain=(0.0, 0.32), anchor="x", **_current_range(current)
        ),
    )
    points = view.points
    if "carrier" in zoom and not phases:
        thin = {"width": 1.2}
        figure.add_trace(line(*carrier(view), "carrier", SOFT, points, line=thin, hovertemplate="%{y:.3f}"))
    if f"motor_{name}_modulation" in zoom:
        command = zoom[f"motor_{name}_modulation"]
        step = {"shape": "hv", "width": 2}
        word = "command, alpha" if phases else "command"
        figure.add_trace(line(us, command, word, INK, points, line=step, hovertemplate="%{y:.3f}"))
        if _unipolar(view) and not phases:  # the second half bridge is switched by the mirrored command
            dotted = {"shape": "hv", "width": 1.2, "dash": "dot"}
            figure.add_trace(line(us, -command, "mirrored", INK, points, line=dotted, hoverinfo="skip"))
    style = {"yaxis": "y2", "hovertemplate": "%{y:.1f} V", "showlegend": False}
    figure.add_trace(line(us, volts, "voltage", colour(i), points, line={"shape": "hv"}, **style))
    style = {"yaxis": "y3", "hovertemplate": "%{y:.4f} A", "showlegend": False}
    figure.add_trace(line(us, current, "current", colour(i), points, **style))
    return figure


def three_phase(view: View, i: int) -> bool:
    """Whether a motor has three phases: a vector is modulated then, not a voltage that a carrier meets."""
    winding = view.motor(view.result.motors[i]).winding
    return winding is not None and winding.phases == 3


def carrier(view: View) -> tuple[Array, Array]:
    """Corners of the triangle that the commands are compared with: times since the zoom began [us], values.

    The zoom has rows at the edges of the bridges, not where the triangle turns.
    """
    zoom, control = view.result.zoom, view.description.controller
    start, end = span(view)
    if control is None:
        return US * (zoom["time_s"] - start), zoom["carrier"]
    corners = np.arange(round(2.0 * (end - start) / control.current_period) + 1, dtype=np.float64)
    first = float(zoom["carrier"][0])  # a zoom begins with a period
    return 0.5e6 * control.current_period * corners, np.where(corners % 2 == 0, first, -first)


def _unipolar(view: View) -> bool:
    power = view.truth.power
    return power is None or power.bridge.modulation == "unipolar"


def _current_range(current: np.ndarray) -> dict[str, list[float]]:
    """The ripple fills the panel, unless there is none."""
    low, high = float(current.min()), float(current.max())
    pad = max(0.15 * (high - low), 1e-3)
    return {"range": [low - pad, high + pad]}
