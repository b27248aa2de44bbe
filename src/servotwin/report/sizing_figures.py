"""Figures of a sizing: the cycle in the plane of torque and speed, margins, temperatures, the Pareto front."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from servotwin.description.display import RPM
from servotwin.design.sizing.evaluate import (
    ActuatorDemand,
    continuous_torques,
    drive_limits_of,
    short_torques,
)
from servotwin.errors import InputError
from servotwin.report.page_style import COLOURS, INK, SOFT, axis, layout
from servotwin.report.traces import colour, level, line, thinned

if TYPE_CHECKING:
    from servotwin.description.power_parts import Power
    from servotwin.design.sizing.evaluate import Rules
    from servotwin.design.sizing.result import Assessment, ParetoPoint, Sizing
    from servotwin.mechanism.model import Array

HEIGHT = 340
POINTS = 201


def torque_speed_of(sizing: Sizing, name: str | None = None) -> go.Figure:
    """The cycle of one actuator in the plane of torque and speed; by default of the one that is used most."""
    found = sizing.assessment
    if found is None:
        raise InputError("a worst case has no cycle to draw", field="plot")
    worst = found.worst
    wanted = name if name is not None else worst[0].name if worst is not None else found.demands[0].name
    for i, demand in enumerate(found.demands):
        if demand.name == wanted:
            return torque_speed(demand, sizing.description.power, found.rules, i)
    raise InputError(f"no axis '{wanted}'; expected {', '.join(found.load.names)}", field="axis")


def torque_speed(demand: ActuatorDemand, power: Power | None, rules: Rules, i: int = 0) -> go.Figure:
    """Instants of a cycle, its RMS point, and the curves of the motor: peak at lowest bus, hot winding; continuous."""
    motor = demand.actuator.motor
    w_top = 1.12 * max(motor.top_speed or 0.0, demand.peak_speed, 1.0)
    w = np.linspace(0.0, w_top, POINTS)
    drive = drive_limits_of(motor, power, rules)
    peak = np.minimum(short_torques(motor, w), np.nan_to_num(drive.torques(w[:, None])[1][:, 0], nan=0.0))
    peak = np.where(w > drive.speed[0], np.nan, np.maximum(peak, 0.0))
    sheet = np.where(w > (motor.top_speed or np.inf), np.nan, continuous_torques(motor, w))
    shown = [x for x in (np.nanmax(_finite(peak)), demand.peak_torque, demand.rms_torque) if np.isfinite(x)]
    top = 1.15 * max(*shown, 1e-9)
    figure = go.Figure(
        layout=layout(
            HEIGHT, hovermode="closest", xaxis=axis("motor speed [rpm]", range=[0, RPM * w_top]),
            yaxis=axis("motor torque [N m]", range=[-top, top]),
        )
    )  # fmt: skip
    _area(figure, w, _finite(peak), top, "peak, lowest bus, hot", COLOURS[0], 0.10)
    _area(figure, w, _finite(sheet), top, "continuous", COLOURS[2], 0.18)
    # a motor that brakes is drawn below the axis, whatever way it turns
    speed, torque = np.abs(demand.speed), demand.torque * np.where(demand.speed < 0.0, -1.0, 1.0)
    keep = thinned([speed, torque], 2500)
    figure.add_trace(
        go.Scatter(
            x=(RPM * speed[keep]).astype(np.float32), y=torque[keep].astype(np.float32), mode="lines", name="cycle",
            line={"color": colour(i), "width": 1.5}, hovertemplate="%{x:.0f} rpm, %{y:.3g} N m<extra></extra>",
        )
    )  # fmt: skip
    figure.add_trace(
        go.Scatter(
            x=[RPM * demand.rms_speed], y=[demand.rms_torque], mode="markers", name="RMS",
            marker={"color": INK, "size": 11, "symbol": "diamond"},
            hovertemplate="RMS %{x:.0f} rpm, %{y:.3g} N m<extra></extra>",
        )
    )  # fmt: skip
    return figure


def _finite(values: Array) -> Array:
    return np.where(np.isfinite(values), values, np.nan)


def _area(figure: go.Figure, w: Array, tau: Array, top: float, name: str, ink: str, opacity: float) -> None:
    there = np.isfinite(tau)
    if not there.any():
        return
    x, y = RPM * w[there], np.minimum(tau[there], 2.0 * top)
    red, green, blue = (int(ink[k : k + 2], 16) for k in (1, 3, 5))
    figure.add_trace(
        go.Scatter(
            x=np.concatenate([x, x[::-1]]).astype(np.float32),
            y=np.concatenate([y, -y[::-1]]).astype(np.float32),
            fill="toself", mode="lines", name=name, hoverinfo="skip",
            fillcolor=f"rgba({red}, {green}, {blue}, {opacity})",
            line={"color": f"rgba({red}, {green}, {blue}, 0.55)", "width": 1},
        )
    )  # fmt: skip


def margins(found: Assessment) -> go.Figure:
    """Every check of every actuator as a bar of the share of its limit."""
    names = list(dict.fromkeys(check.name for demand in found.demands for check in demand.checks))
    figure = go.Figure(
        layout=layout(
            max(260, 60 + 16 * len(names) * len(found.demands) // 2), barmode="group", hovermode="closest",
            xaxis=axis("share of the limit [%]", rangemode="tozero"),
            yaxis={"autorange": "reversed", "automargin": True},
        )
    )  # fmt: skip
    for i, demand in enumerate(found.demands):
        shares = {check.name: check.share for check in demand.checks}
        values: list[Any] = [_percent(shares.get(name)) for name in names]
        figure.add_trace(
            go.Bar(
                x=values, y=names, orientation="h", name=demand.name, marker={"color": colour(i)},
                hovertemplate="%{y}: %{x:.0f} %<extra>" + demand.name + "</extra>",
            )
        )  # fmt: skip
    figure.add_vline(x=100.0, line={"color": INK, "width": 1.5, "dash": "dash"})
    return figure


def _percent(share: float | None) -> float | None:
    return None if share is None else min(100.0 * share, 1000.0)


def temperatures(found: Assessment) -> go.Figure:
    """Winding temperatures over the steady cycle."""
    figure = go.Figure(layout=layout(HEIGHT, yaxis=axis("winding [degC]")))
    limits = set()
    top = 0.0
    for i, demand in enumerate(found.demands):
        heating, thermal = demand.heating, demand.actuator.motor.thermal
        if heating is None or thermal is None or heating.runs_away:
            continue
        figure.add_trace(
            line(heating.t, heating.winding, demand.name, colour(i), hovertemplate="%{y:.1f} degC")
        )
        top = max(top, heating.winding_peak)
        if thermal.limit is not None:
            limits.add(thermal.limit)
    for limit in sorted(limits):
        if limit < 2.5 * max(top, 1.0):
            level(figure, limit, f"limit {limit:g} degC")
    return figure


def torques(found: Assessment) -> go.Figure:
    """Torques at the outputs of the gears over the cycle."""
    figure = go.Figure(layout=layout(HEIGHT, yaxis=axis("gear output [N m, N]")))
    for i, demand in enumerate(found.demands):
        figure.add_trace(
            line(found.load.duty.t, demand.output_torque, demand.name, colour(i), hovertemplate="%{y:.3g}")
        )
    return figure


def front(points: tuple[ParetoPoint, ...]) -> go.Figure:
    """Price against mass, a line for each cycle time."""
    figure = go.Figure(
        layout=layout(HEIGHT, hovermode="closest", xaxis=axis("mass [kg]"), yaxis=axis("price"))
    )
    times = sorted({round(point.cycle_time, 6) for point in points})
    for i, time in enumerate(times):
        some = sorted((p for p in points if round(p.cycle_time, 6) == time), key=lambda p: p.mass)
        figure.add_trace(
            go.Scatter(
                x=[p.mass for p in some], y=[p.price for p in some], mode="lines+markers", name=f"{time:.3g} s",
                line={"color": colour(i), "width": 1.5, "shape": "hv"}, marker={"size": 8},
                text=["; ".join(p.names) for p in some],
                hovertemplate="%{x:.3g} kg, price %{y:.4g}<br>%{text}<extra>" + f"{time:.3g} s" + "</extra>",
            )
        )  # fmt: skip
    figure.update_layout(plot_bgcolor="#ffffff", legend_title_text="cycle time", font_color=SOFT)
    return figure
