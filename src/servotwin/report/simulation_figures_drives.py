"""Figures of the drives: torques and currents against their limits, the torque-speed plane, temperatures."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from servotwin.description.display import RPM
from servotwin.mechanism.model import Array
from servotwin.report.page_style import COLOURS, INK, SOFT, axis, layout
from servotwin.report.simulation_view import View
from servotwin.report.traces import DOTTED, bands, colour, level, line, marks, thinned

HEIGHT = 300
SPEEDS = 4.0  # times the speeds of interest that the torque-speed plane may reach
FAR = 1.8  # a limit farther away than this many times the signal is told, not drawn


def motor_torque(view: View, i: int, height: int = HEIGHT) -> go.Figure:
    """Torque of one motor against rated and peak torque; shaded where a limit was met."""
    name = view.result.motors[i]
    rated, peak = view.axis(name).get("rated_torque_N_m"), view.peak_rating(name)
    torque = view.motor_signal(name, "torque_N_m")
    top = 1.15 * max(float(np.max(np.abs(torque))), rated or 0.0, 1e-9)
    if peak and peak < FAR * top:
        top = max(top, 1.12 * peak)
    figure = go.Figure(layout=layout(height, yaxis=axis("motor torque [N m]", range=[-top, top])))
    if rated:
        figure.add_hrect(y0=-rated, y1=rated, fillcolor=colour(i), opacity=0.07, line_width=0, layer="below")
        level(figure, rated, f"rated {rated:.3g} N m")
        level(figure, -rated, "")
    if peak and peak < top:
        level(figure, peak, f"peak {peak:.3g} N m", dash="solid")
        level(figure, -peak, "", dash="solid")
    figure.add_trace(
        line(view.t, torque, "torque", colour(i), view.points, hovertemplate="%{y:.3f} N m", showlegend=False)
    )
    bands(figure, view.saturation(name), view.duration)
    marks(figure, view.incidents(name))
    return figure


class Envelope(NamedTuple):
    """What a drive can do: speeds (k,) [rad/s] with the largest and least torque [N m] at each."""

    w: Array
    upper: Array
    lower: Array
    voltage_upper: Array | None  # the part of it that the supply voltage sets
    voltage_lower: Array | None


def envelope(view: View, name: str, w_top: float, points: int = 241) -> Envelope | None:
    """Torque against speed within current and voltage of the drive that ran (eq:torque-speed); None if unknown.

    Beyond the largest speed of the motor there is none.
    """
    drive = view.drive(name)
    most = float(drive.speed[0])
    w = np.linspace(-w_top, w_top, points)
    if most < w_top:
        w = np.unique(np.append(w, [-most, most]))  # the edge is where it is, not at the next point
    if not np.isfinite([drive.torque, drive.voltage]).any():
        return None
    lower, upper = (np.where(np.abs(w) <= most, edge[:, 0], np.nan) for edge in drive.torques(w[:, None]))
    if not np.isfinite(drive.voltage[0]):
        return Envelope(w, upper, lower, None, None)
    low, high = (edge[:, 0] for edge in drive.voltage_torques(w[:, None]))
    return Envelope(w, upper, lower, high, low)


def _widest_speed(view: View, name: str) -> float | None:
    """Speed [rad/s] up to which the envelope reaches: the motor's largest, or where it brakes with its peak torque."""
    drive = view.drive(name)
    fastest = float(drive.speed[0])
    U, K_b, most = float(drive.voltage[0]), float(drive.voltage_constant[0]), float(drive.torque[0])
    if not np.isfinite(U):
        return fastest if np.isfinite(fastest) else None
    braking = 0.0 if drive.reactance[0] > 0.0 or not np.isfinite(most) else drive.resistance[0] * most
    return min((U + float(braking / drive.torque_constant[0])) / K_b, fastest)


def torque_speed(view: View, i: int) -> go.Figure:
    """The run in the plane of speed and torque, within what motor and drive give."""
    name = view.result.motors[i]
    summary = view.axis(name)
    w, torque = view.mean_speed(name), view.motor_signal(name, "torque_N_m")
    rated, rated_speed = summary.get("rated_torque_N_m"), summary.get("rated_speed_rad_per_s")
    w_top = 1.25 * max(float(np.max(np.abs(w))), rated_speed or 0.0, 1.0)
    widest = _widest_speed(view, name)
    if widest is not None and widest < SPEEDS * w_top:
        w_top = max(w_top, 1.03 * widest)  # the whole of the envelope
    limits = envelope(view, name, w_top)
    peak = view.peak_rating(name)
    tau_top = 1.15 * max(float(np.max(np.abs(torque))), peak or 0.0, rated or 0.0, 1e-9)
    figure = go.Figure(
        layout=layout(
            340,
            hovermode="closest",
            xaxis=axis("motor speed [rpm]", range=[-RPM * w_top, RPM * w_top], exponentformat="none"),
            yaxis=axis("motor torque [N m]", range=[-tau_top, tau_top]),
        )
    )
    if limits is not None:
        _draw_envelope(figure, limits, tau_top)
    if rated:
        _draw_continuous(figure, rated, rated_speed or w_top)
    _draw_largest_speed(figure, float(view.drive(name).speed[0]), w_top, tau_top)
    keep = thinned([w, torque], view.points)
    figure.add_trace(
        go.Scatter(
            x=(RPM * w[keep]).astype(np.float32), y=torque[keep].astype(np.float32), mode="lines",
            name="run", line={"color": colour(i), "width": 1.6},
            hovertemplate="%{x:.0f} rpm, %{y:.3f} N m<extra></extra>",
        )
    )  # fmt: skip
    return figure


def _draw_envelope(figure: go.Figure, limits: Envelope, tau_top: float) -> None:
    there = np.isfinite(limits.upper) | np.isfinite(limits.lower)
    inside = there & (limits.upper >= limits.lower)
    w = RPM * limits.w[inside]
    if len(w):
        upper = np.clip(limits.upper[inside], -2 * tau_top, 2 * tau_top)
        lower = np.clip(limits.lower[inside], -2 * tau_top, 2 * tau_top)
        _area(
            figure,
            np.concatenate([w, w[::-1]]),
            np.concatenate([upper, lower[::-1]]),
            "peak",
            COLOURS[0],
            0.09,
        )
    for k, edge in enumerate((limits.voltage_upper, limits.voltage_lower)):
        if edge is not None:
            shown = np.where(np.abs(edge) <= 3 * tau_top, edge, np.nan).astype(np.float32)
            style = {"color": SOFT, "width": 1.3, "dash": "dash"}
            figure.add_trace(
                go.Scatter(
                    x=(RPM * limits.w).astype(np.float32), y=shown, mode="lines", line=style,
                    name="supply voltage", legendgroup="voltage", showlegend=k == 0, hoverinfo="skip",
                )
            )  # fmt: skip


def _draw_continuous(figure: go.Figure, rated: float, speed: float) -> None:
    edge = RPM * speed
    x = np.array([-edge, edge, edge, -edge, -edge])
    y = np.array([-rated, -rated, rated, rated, -rated])
    _area(figure, x, y, "continuous", COLOURS[2], 0.16)


def _draw_largest_speed(figure: go.Figure, most: float, w_top: float, tau_top: float) -> None:
    """Upright lines where the data sheet ends, if they are in the picture."""
    if not most < w_top:
        return
    x = RPM * np.array([-most, -most, np.nan, most, most])
    figure.add_trace(
        go.Scatter(
            x=x, y=tau_top * np.array([-1.0, 1.0, np.nan, -1.0, 1.0]), mode="lines", name="largest speed",
            line={"color": INK, "width": 1.2, "dash": "dot"}, hoverinfo="skip",
        )
    )  # fmt: skip


def _area(figure: go.Figure, x: Array, y: Array, name: str, ink: str, opacity: float) -> None:
    red, green, blue = (int(ink[k : k + 2], 16) for k in (1, 3, 5))
    figure.add_trace(
        go.Scatter(
            x=x.astype(np.float32), y=y.astype(np.float32), fill="toself", mode="lines", name=name,
            fillcolor=f"rgba({red}, {green}, {blue}, {opacity})", hoverinfo="skip",
            line={"color": f"rgba({red}, {green}, {blue}, 0.45)", "width": 1},
        )
    )  # fmt: skip


def currents(view: View, i: int) -> go.Figure:
    """Current of one motor, and what the speed controller asked for."""
    name = view.result.motors[i]
    actual, wanted = (view.motor_signal(name, f"current_{kind}A") for kind in ("", "ref_"))
    size = max(float(np.max(np.abs(actual))), float(np.max(np.abs(wanted))), 1e-9)
    limit = view.current_limit(name)
    figure = go.Figure(layout=layout(HEIGHT, yaxis=axis("current [A]")))
    if limit and limit < FAR * size:
        figure.update_layout(yaxis_range=[-1.12 * max(limit, size), 1.12 * max(limit, size)])
        level(figure, limit, f"limit {limit:.3g} A", dash="solid")
        level(figure, -limit, "", dash="solid")
    hover: dict[str, Any] = {"hovertemplate": "%{y:.3f} A"}
    figure.add_trace(line(view.t, actual, "actual", colour(i), view.points, **hover))
    figure.add_trace(line(view.t, wanted, "reference", INK, view.points, line=DOTTED, **hover))
    bands(figure, view.saturation(name), view.duration)
    marks(figure, view.incidents(name))
    return figure


def temperatures(view: View) -> go.Figure:
    """Winding temperatures of motors with thermal data, against the limits that are near."""
    figure = go.Figure(layout=layout(HEIGHT, yaxis=axis("winding temperature [°C]")))
    for i, name in enumerate(view.result.motors):
        if not view.has_temperature(name):
            continue
        values = view.motor_signal(name, "winding_temperature_degC")
        style = {"hovertemplate": "%{y:.2f} °C"}
        figure.add_trace(line(view.t, values, name, colour(i), view.points, **style))
        thermal = view.motor(name).thermal
        limit = thermal.limit if thermal is not None else None
        if limit is not None and float(values.max()) > 0.8 * limit:
            level(figure, limit, f"limit of {name}: {limit:.0f} °C")
    return figure
