"""The figures of a tuning: frequency responses and step responses of the loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from servotwin.control.tuning.arm_modes import ElasticArm
from servotwin.control.tuning.loops import Loop
from servotwin.description.display import DEG, MS
from servotwin.design.tuning import LOADS, AxisTuning
from servotwin.mechanism.model import Array
from servotwin.report.page_style import COLOURS, SOFT, axis, layout

TURN = 2.0 * math.pi
LOOPS = ("current", "speed", "position")
DASHES = {"lightest": "dot", "design": "solid", "heaviest": "dash"}
LONGEST = 2.0  # [s] step response
POINTS = 240  # of a drawn frequency response
_CROSSOVERS = {"current": 6.0, "speed": 10.0, "position": 7.0}  # length of a step response, in 1/crossover


def bode(tuning: AxisTuning) -> go.Figure:
    """Magnitude and phase of the open loops of one axis, lightest and heaviest load."""
    figure = go.Figure(layout=layout(460))
    figure.update_layout(
        yaxis=axis("gain [dB]", domain=(0.52, 1.0), range=[-45, 65], dtick=20),
        yaxis2=axis("phase [deg]", domain=(0.0, 0.46), anchor="x", range=[-280, 5], dtick=45),
        xaxis=axis("frequency [rad/s]", type="log", anchor="y2", range=[0.5, 4.3], dtick=1),
    )
    figure.add_hline(y=0.0, line={"color": SOFT, "width": 1.2, "dash": "dash"})
    figure.add_hline(y=-180.0, yref="y2", line={"color": SOFT, "width": 1.2, "dash": "dash"})
    for k, name in enumerate(LOOPS):
        for load in ("lightest", "heaviest"):
            loop: Loop = getattr(tuning.case(load).loops, name)
            if not np.abs(loop.open).any():  # a valve without pressure feedback
                continue
            pick = np.unique(np.linspace(0, len(loop.w) - 1, POINTS).astype(int))
            w, response = loop.w[pick], loop.open[pick]
            style = {"color": COLOURS[k], "width": 2, "dash": DASHES[load]}
            shared: dict[str, Any] = {"legendgroup": f"{name} {load}", "line": style, "mode": "lines"}
            phase = _phase(loop)[pick]
            figure.add_trace(
                _line(w, 20.0 * np.log10(np.abs(response)), f"{loop.name}, {load}", "%{y:.1f} dB", **shared)
            )
            figure.add_trace(
                _line(w, phase, f"{name}, {load}", "%{y:.0f} deg", yaxis="y2", showlegend=False, **shared)
            )
            _mark_margin(figure, loop, COLOURS[k])
    return figure


def _phase(loop: Loop) -> Array:
    """Phase [deg], continuous; it starts within -270 and 90 deg."""
    phase = DEG * np.unwrap(np.angle(loop.open))
    return np.asarray(phase - 360.0 if phase[0] > 90.0 else phase)


def _mark_margin(figure: go.Figure, loop: Loop, colour: str) -> None:
    """A dot in both diagrams where gain one leaves the least phase margin."""
    if loop.margin_at is None:
        return
    phase = float(np.interp(math.log(loop.margin_at), np.log(loop.w), _phase(loop)))
    marker = {"color": colour, "size": 7, "line": {"color": "#fff", "width": 1}}
    for y, scale in ((0.0, "y"), (phase, "y2")):
        figure.add_trace(
            go.Scatter(
                x=[loop.margin_at],
                y=[y],
                yaxis=scale,
                mode="markers",
                marker=marker,
                showlegend=False,
                hoverinfo="skip",
            )
        )


def torque_to_speed(arm: ElasticArm, motor: int) -> go.Figure:
    """Speed of a motor over its torque, the others held: its resonances and antiresonances."""
    w = np.geomspace(TURN * 1.0, TURN * 1000.0, 6 * POINTS)
    view = arm.view(motor)
    near = [
        x for pair in (*view.resonances, *view.antiresonances) for x in np.linspace(0.95, 1.05, 21) * pair[0]
    ]
    w = np.union1d(w, np.array(near))
    gain = 20.0 * np.log10(np.abs(arm.response(motor, w)))
    figure = go.Figure(
        layout=layout(
            280,
            xaxis=axis("frequency [Hz]", type="log", dtick=1),
            yaxis=axis("speed / torque [dB rad/(s N m)]"),
            showlegend=False,
        )
    )
    style = {"color": COLOURS[motor % len(COLOURS)], "width": 2}
    figure.add_trace(_line(w / TURN, gain, arm.motors[motor], "%{y:.1f} dB", line=style, mode="lines"))
    for pairs, dash in ((view.resonances, "dash"), (view.antiresonances, "dot")):
        for frequency, _ in pairs:
            figure.add_vline(x=frequency / TURN, line={"color": SOFT, "width": 1.2, "dash": dash})
    return figure


def steps(axis_tuning: AxisTuning, level: str) -> go.Figure:
    """Answer of one loop to a unit step of its reference, for every load."""
    crossovers = [getattr(case.loops, level).crossover or 1.0 for case in axis_tuning.cases]
    duration = min(_CROSSOVERS[level] / min(crossovers), LONGEST)
    figure = go.Figure(
        layout=layout(
            260,
            xaxis=axis("time [ms]", rangemode="tozero"),
            yaxis=axis(f"{level} / step", range=[0.0, 1.5]),
        )
    )
    figure.add_hline(y=1.0, line={"color": SOFT, "width": 1.2, "dash": "dash"})
    for load in LOADS:
        case = axis_tuning.case(load)
        t, y = case.step_response(axis_tuning.gains, axis_tuning.timing, level, duration)
        pick = np.unique(np.linspace(0, len(t) - 1, 2 * POINTS).astype(int))
        style = {"color": COLOURS[LOOPS.index(level)], "width": 2, "dash": DASHES[load]}
        values = np.clip(y[pick], -10.0, 10.0)  # an unstable loop would leave nothing else to see
        figure.add_trace(_line(MS * t[pick], values, load, "%{y:.3f}", line=style, mode="lines"))
    return figure


def _line(x: Array, y: Array, name: str, hover: str, **style: Any) -> go.Scatter:
    return go.Scatter(x=x.astype(np.float32), y=y.astype(np.float32), name=name, hovertemplate=hover, **style)
