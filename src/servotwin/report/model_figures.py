"""Figures of a complete model: pole map, modes, frequency responses."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from servotwin.description.display import DEG
from servotwin.design.hydraulic import hydraulic_axis_of, valve_axes
from servotwin.design.model_study import ModelStudy
from servotwin.linear.response import Complex
from servotwin.mechanism.model import Array
from servotwin.report.page_style import COLOURS, SOFT, axis, layout

LEAST = 0.5  # 1/s: within this the axes of the pole map are linear, beyond logarithmic


def spread(value: Array | float) -> Array:
    """Poles from 1 to 10 000 1/s on one map: logarithmic away from zero, linear next to it."""
    return np.asarray(np.arcsinh(np.asarray(value) / LEAST))


def ticks(most: float) -> tuple[list[float], list[str]]:
    """Places and names of the decades on an axis of the map."""
    decades = [10.0**k for k in range(int(np.ceil(np.log10(max(most, 1.0)))) + 1)]
    values = [*(-v for v in reversed(decades)), 0.0, *decades]
    return [float(spread(v)) for v in values], [f"{v:g}" for v in values]


def pole_map(study: ModelStudy) -> go.Figure:
    """Poles, and the zeros of every motor's own channel."""
    poles = np.array(
        [p for m in study.modes for p in ([m.pole, m.pole.conjugate()] if m.oscillates else [m.pole])]
    )
    most = float(np.abs(poles).max(initial=1.0))
    places, names = ticks(most)
    figure = go.Figure(layout=layout(430, hovermode="closest"))
    reach = float(spread(2.0 * most))
    figure.update_layout(
        xaxis=axis("real part [1/s]", tickvals=places, ticktext=names, range=[-reach, reach / 2.5]),
        yaxis=axis("imaginary part [rad/s]", tickvals=places, ticktext=names, range=[-reach, reach]),
    )
    figure.add_vline(x=0.0, line={"color": SOFT, "width": 1.2})
    marker = {"symbol": "x-thin", "size": 10, "line": {"width": 2, "color": COLOURS[0]}}
    figure.add_trace(_points(poles, "poles", marker))
    zeros = [study.transfer(j).zeros for j in range(len(study.model.shafts))]
    for j, values in enumerate(zeros):
        if len(values):
            colour = COLOURS[(j + 1) % len(COLOURS)]
            open_circle = {"symbol": "circle-open", "size": 9, "line": {"width": 1.6}, "color": colour}
            figure.add_trace(_points(values, f"zeros of {study.model.shafts[j].name}", open_circle))
    return figure


def _points(values: Complex, name: str, marker: dict[str, object]) -> go.Scatter:
    return go.Scatter(
        x=spread(values.real),
        y=spread(values.imag),
        mode="markers",
        name=name,
        marker=marker,
        customdata=np.stack([values.real, values.imag, np.abs(values)], axis=-1),
        hovertemplate="%{customdata[0]:.4g} %{customdata[1]:+.4g}j 1/s, %{customdata[2]:.4g} rad/s",
    )


def participation(study: ModelStudy) -> go.Figure:
    """Who takes part in which mode."""
    shares = np.array([mode.participation for mode in study.modes]).T
    names = [q.name for q in study.linear.states]
    labels = [mode_label(k, mode.pole) for k, mode in enumerate(study.modes)]
    figure = go.Figure(layout=layout(max(430, 220 + 20 * len(names)), hovermode="closest"))
    figure.add_trace(
        go.Heatmap(
            z=shares.astype(np.float32),
            x=labels,
            y=names,
            colorscale=[[0.0, "#ffffff"], [1.0, COLOURS[0]]],
            zmin=0.0,
            zmax=1.0,
            xgap=1,
            ygap=1,
            colorbar={"title": {"text": "share", "side": "right"}, "thickness": 12},
            hovertemplate="%{y} in %{x}: %{z:.2f}",
        )
    )
    figure.update_layout(xaxis=axis("mode", tickangle=-60), yaxis=axis("", autorange="reversed", dtick=1))
    return figure


def mode_label(k: int, pole: complex) -> str:
    """'3: -12 ± 40j'."""
    return f"{k + 1}: {pole_text(pole)}"


def pole_text(pole: complex) -> str:
    """'-12 ± 40j'."""
    return f"{pole.real:.3g} ± {pole.imag:.3g}j" if pole.imag else f"{pole.real:.3g}"


def bode(study: ModelStudy, motor: int) -> go.Figure:
    """Magnitude and phase from a motor's input to every output; its own drawn thick."""
    w, response = study.response()
    own, source = study.channel(motor)
    figure = go.Figure(layout=layout(430))
    figure.update_layout(
        yaxis=axis("gain [dB]", domain=(0.52, 1.0)),
        yaxis2=axis("phase [deg]", domain=(0.0, 0.46), anchor="x", dtick=90),
        xaxis=axis("frequency [rad/s]", type="log", anchor="y2", dtick=1),
    )
    outputs = study.linear.outputs
    floor = np.abs(response[:, own, source]).max() * 1e-9
    for k in range(len(outputs)):
        values = response[:, k, source]
        if np.abs(values).max() <= floor:
            continue  # nothing but rounding
        style = {"color": COLOURS[k % len(COLOURS)], "width": 2.4 if k == own else 1.1}
        name = outputs[k].name
        figure.add_trace(
            go.Scatter(
                x=w,
                y=20.0 * np.log10(np.maximum(np.abs(values), 1e-300)),
                name=f"{name} [{outputs[k].unit}]",
                legendgroup=name,
                line=style,
                hovertemplate="%{y:.1f} dB",
            )
        )
        if k == own:
            phase = DEG * np.unwrap(np.angle(values))
            figure.add_trace(
                go.Scatter(
                    x=w,
                    y=phase,
                    yaxis="y2",
                    name=name,
                    legendgroup=name,
                    showlegend=False,
                    line=style,
                    hovertemplate="%{y:.0f} deg",
                )
            )
    shaft = study.model.shafts[motor]
    if shaft.name in valve_axes(study) and outputs[own].name == f"{shaft.name}.encoder":
        _third_order(figure, study, shaft.name, w)
    return figure


def _third_order(figure: go.Figure, study: ModelStudy, motor: str, w: Array) -> None:
    """The reduced model of a hydraulic axis beside the whole one."""
    A, b, _ = hydraulic_axis_of(study, motor).third_order()
    values = np.array([np.linalg.solve(1j * v * np.eye(3) - A, b)[0] for v in w])
    style = {"color": "#6b7280", "width": 1.2, "dash": "dash"}
    phase = DEG * np.unwrap(np.angle(values))
    for k, y in enumerate((20.0 * np.log10(np.abs(values)), phase)):
        figure.add_trace(
            go.Scatter(
                x=w, y=y, yaxis="y2" if k else "y", name="third order", legendgroup="third", showlegend=not k,
                line=style, hovertemplate="%{y:.1f} " + ("deg" if k else "dB"),
            )
        )  # fmt: skip
