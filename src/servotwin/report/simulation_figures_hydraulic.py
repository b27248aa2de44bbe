"""Figures of hydraulic axes: pressures, valve, flow, power and losses, and the plane of force and speed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from servotwin.description.display import BAR, LITRES_PER_MINUTE, MA, PERCENT
from servotwin.description.hydraulic_data import hydraulic_axis, hydraulic_supply
from servotwin.mechanism.model import Array
from servotwin.motion.motor_limits import DriveLimits
from servotwin.report.page_style import COLOURS, INK, axis, layout
from servotwin.report.simulation_view import View
from servotwin.report.traces import DOTTED, bands, line, marks, shade, spans_where, thinned

HEIGHT = 300
RELIEF = "#e69f00"
SUPPLY = "supply"  # whose faults concern every hydraulic axis


def pressures(view: View, name: str) -> go.Figure:
    """Pressures of both chambers and of the supply."""
    figure = go.Figure(layout=layout(HEIGHT, yaxis=axis("pressure [bar]")))
    hover: dict[str, Any] = {"hovertemplate": "%{y:.2f} bar"}
    for k, (what, label) in enumerate((("pressure_a", "chamber A"), ("pressure_b", "chamber B"))):
        values = BAR * view.motor_signal(name, f"{what}_Pa")
        figure.add_trace(line(view.t, values, label, COLOURS[k], view.points, **hover))
    supply = BAR * view.motor_signal(name, "supply_pressure_Pa")
    figure.add_trace(line(view.t, supply, "supply", INK, view.points, line=DOTTED, **hover))
    relief = hydraulic_supply(view.truth).relief_pressure
    shade(figure, "relief valve open", RELIEF, spans_where(view.t, supply > BAR * relief), view.duration)
    marks(figure, view.incidents(name, SUPPLY))
    return figure


def valve(view: View, name: str) -> go.Figure:
    """Opening of the valve, and the current that asks for it, both over their rated value."""
    figure = go.Figure(layout=layout(HEIGHT, yaxis=axis("of the rated stroke [%]")))
    hover: dict[str, Any] = {"hovertemplate": "%{y:.2f} %"}
    opening = PERCENT * view.motor_signal(name, "valve_opening")
    figure.add_trace(line(view.t, opening, "spool", COLOURS[2], view.points, **hover))
    rated = hydraulic_axis(view.truth, view.motor(name)).rated_current
    wanted = PERCENT * view.motor_signal(name, "valve_command_A") / rated
    label = f"current ({MA * rated:.3g} mA)"
    figure.add_trace(line(view.t, wanted, label, INK, view.points, line=DOTTED, **hover))
    bands(figure, view.saturation(name), view.duration)
    return figure


def flow(view: View, name: str) -> go.Figure:
    """Oil from the supply."""
    figure = go.Figure(layout=layout(HEIGHT, yaxis=axis("flow [L/min]"), showlegend=False))
    values = LITRES_PER_MINUTE * view.motor_signal(name, "flow_m3_per_s")
    hover = {"hovertemplate": "%{y:.3f} L/min"}
    figure.add_trace(line(view.t, values, "from the supply", COLOURS[3], view.points, **hover))
    marks(figure, view.incidents(name, SUPPLY))
    return figure


def power(view: View, name: str) -> go.Figure:
    """Power from the supply, what of it becomes heat, and what the piston gives."""
    figure = go.Figure(layout=layout(HEIGHT, yaxis=axis("power [W]")))
    hover: dict[str, Any] = {"hovertemplate": "%{y:.2f} W"}
    work = view.motor_signal(name, "torque_N_m") * view.mean_speed(name)
    for k, (label, values) in enumerate(
        (
            ("from the supply", view.motor_signal(name, "hydraulic_power_W")),
            ("lost in valve, leaks, cushions", view.motor_signal(name, "hydraulic_loss_W")),
            ("work of the piston", work),
        )
    ):
        figure.add_trace(line(view.t, values, label, COLOURS[k], view.points, **hover))
    return figure


def _open_valve(drive: DriveLimits) -> tuple[Array, Array]:
    """Speeds and forces (k,) around what an open valve gives, up to the speeds without load."""
    top, least = (math.sqrt(float(F[0] / drive.drag[0])) for F in (drive.forward, drive.backward))
    v = np.concatenate([np.linspace(-least, -1e-9, 61), np.linspace(1e-9, top, 61)])
    low, high = (edge[:, 0] for edge in drive.valve_forces(v[:, None]))
    return np.concatenate([v, v[::-1]]), np.concatenate([high, low[::-1]])


def force_speed(view: View, name: str) -> go.Figure:
    """The run in the plane of speed and force, within what the open valve gives (eq:valve-envelope)."""
    w, force = view.mean_speed(name), view.motor_signal(name, "torque_N_m")
    drive = view.drive(name)
    across, up = ("speed [m/s]", "force [N]") if view.is_piston(name) else ("speed [rad/s]", "torque [N m]")
    figure = go.Figure(layout=layout(340, hovermode="closest", xaxis=axis(across), yaxis=axis(up)))
    if drive.valve.all():
        x, y = _open_valve(drive)
        figure.add_trace(
            go.Scatter(
                x=x.astype(np.float32), y=y.astype(np.float32), fill="toself", mode="lines", name="open valve",
                line={"color": "rgba(31, 119, 180, 0.45)", "width": 1}, fillcolor="rgba(31, 119, 180, 0.09)",
                hoverinfo="skip",
            )
        )  # fmt: skip
    keep = thinned([w, force], view.points)
    figure.add_trace(
        go.Scatter(
            x=w[keep].astype(np.float32), y=force[keep].astype(np.float32), mode="lines", name="run",
            line={"color": COLOURS[1], "width": 1.6}, hovertemplate="%{x:.4f}, %{y:.2f}<extra></extra>",
        )
    )  # fmt: skip
    return figure
