"""The figures of a torque report."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from servotwin.mechanism.model import Array, IntArray
from servotwin.report.envelope import two_link_outlines
from servotwin.report.labels import JointUnits, joint_units, plain_unit
from servotwin.report.page_style import COLOURS, INK, SOFT, axis, layout
from servotwin.report.torque_study import TorqueStudy

HEIGHT = 300
POSES = 6  # arm poses in the picture of the arm


def _line(study: TorqueStudy, values: Array, name: str, colour: str, **changes: Any) -> go.Scatter:
    """A signal over the even time grid of the move; single precision is more than a screen shows."""
    style = {"color": colour, "width": 2, "simplify": False, **changes.pop("line", {})}
    return go.Scatter(
        x0=0.0,
        dx=study.move.step,
        y=values.astype(np.float32),
        name=name,
        line=style,
        mode="lines",
        **changes,
    )


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]


def motor_torque(study: TorqueStudy, i: int, height: int = HEIGHT) -> go.Figure:
    """Torque of one motor against its rated torque, with the share of the load alone."""
    name = study.motor_names[i]
    rated = study.motor(name).rated_torque
    figure = go.Figure(layout=layout(height, yaxis=axis("motor torque [N m]")))
    if rated:
        figure.add_hrect(y0=-rated, y1=rated, fillcolor=_colour(i), opacity=0.07, line_width=0, layer="below")
        for level in (-rated, rated):
            figure.add_hline(y=level, line={"color": SOFT, "width": 1.2, "dash": "dash"})
        figure.add_annotation(
            x=0.5, xref="paper", xanchor="center", y=rated, yanchor="bottom", showarrow=False,
            text=f"rated {rated:.3g} N m", font={"size": 12, "color": SOFT},
        )  # fmt: skip
    hover = {"hovertemplate": "%{y:.3f} N m"}
    without = {"line": {"width": 1.4, "dash": "dot"}, **hover}
    figure.add_trace(_line(study, study.tau_m[:, i], "with rotor", _colour(i), **hover))
    figure.add_trace(_line(study, study.tau_m_load[:, i], "load alone", INK, **without))
    return figure


def joint_torque(study: TorqueStudy, i: int) -> go.Figure:
    """Torque or force of one joint with and without the rotor behind its gear."""
    unit = joint_units(study.robot.joint_units[i])
    quantity = "force" if unit.effort == "N" else "torque"
    figure = go.Figure(layout=layout(HEIGHT, yaxis=axis(f"joint {quantity} [{plain_unit(unit.effort)}]")))
    hover = {"hovertemplate": f"%{{y:.4g}} {plain_unit(unit.effort)}"}
    without = {"line": {"width": 1.4, "dash": "dot"}, **hover}
    figure.add_trace(_line(study, study.tau_drives[:, i], "with rotor", _colour(i), **hover))
    figure.add_trace(_line(study, study.tau[:, i], "without rotor", INK, **without))
    return figure


def motion(study: TorqueStudy, values: Array, quantity: str, per: str) -> go.Figure:
    """Positions or velocities of all axes: turning axes on the left scale, sliding ones below them."""
    robot = study.robot
    units = [joint_units(unit) for unit in robot.joint_units]
    kinds: list[JointUnits] = sorted(set(units), key=units.index)
    figure = go.Figure(layout=layout(360))
    spans = {1: [(0.0, 1.0)], 2: [(0.42, 1.0), (0.0, 0.30)]}[len(kinds)]
    for k, (kind, span) in enumerate(zip(kinds, spans, strict=True)):
        suffix = "" if k == 0 else str(k + 1)
        title = f"{quantity} [{kind.shown}{per}]"
        figure.update_layout({f"yaxis{suffix}": axis(title, domain=span, anchor="x")})
        for i, unit in enumerate(units):
            if unit is kind:
                hover = f"%{{y:.1f}} {kind.shown}{per}"
                shown = {"yaxis": f"y{suffix}", "hovertemplate": hover}
                figure.add_trace(
                    _line(study, unit.factor * values[:, i], robot.joint_names[i], _colour(i), **shown)
                )
    figure.update_xaxes(anchor=f"y{len(kinds)}" if len(kinds) > 1 else "y")
    return figure


def power(study: TorqueStudy) -> go.Figure:
    """Mechanical power of every motor and their sum."""
    figure = go.Figure(layout=layout(360, yaxis=axis("power at the motors [W]")))
    hover = {"hovertemplate": "%{y:.0f} W"}
    for i, name in enumerate(study.motor_names):
        figure.add_trace(_line(study, study.power[:, i], name, _colour(i), **hover))
    whole = {"line": {"width": 1.4, "dash": "dot"}, **hover}
    figure.add_trace(_line(study, study.power.sum(axis=-1), "sum", INK, **whole))
    return figure


def tool_speed(study: TorqueStudy) -> go.Figure:
    """Speed of the tool over time."""
    figure = go.Figure(
        layout=layout(360, yaxis=axis("tool speed [m/s]", rangemode="tozero"), showlegend=False)
    )
    figure.add_trace(_line(study, study.tool_speed, "tool", _colour(0), hovertemplate="%{y:.2f} m/s"))
    return figure


def mass_matrix(study: TorqueStudy) -> go.Figure:
    """Entries of the mass matrix that belong to the first two axes, against the rotors' reflected inertia."""
    names = study.robot.joint_names
    reflected = np.diag(study.robot.mechanism.rotors.reflected_inertia)
    figure = go.Figure(layout=layout(HEIGHT, yaxis=axis("inertia [kg m2]")))
    hover = {"hovertemplate": "%{y:.3f} kg m2"}
    for k, (i, j) in enumerate(((0, 0), (1, 1), (0, 1))):
        figure.add_trace(
            _line(study, study.M[:, i, j], f"M<sub>{names[i]}{names[j]}</sub>", _colour(k), **hover)
        )
    for i in (0, 1):
        dotted = {"line": {"width": 1.4, "dash": "dot"}, **hover}
        constant = np.full(len(study.move.t), reflected[i])
        figure.add_trace(_line(study, constant, f"rotor {names[i]}", _colour(i), **dotted))
    return figure


def tool_path(study: TorqueStudy) -> go.Figure:
    """The way of the tool seen from above, in the area it can reach."""
    outlines = [1000 * outline for outline in two_link_outlines(study.robot)]
    half = len(study.move.t) // 2  # the way back is the same line
    path = 1000 * study.tool[:half, :2]
    size = 1.08 * float(np.max(np.abs(np.concatenate([path, *outlines]))))
    figure = go.Figure(
        layout=layout(
            460,
            hovermode="closest",
            xaxis=axis("x [mm]", constrain="domain", range=[-size, size]),
            yaxis=axis("y [mm]", scaleanchor="x", range=[-size, size]),
        )
    )
    area = {
        "fill": "toself",
        "fillcolor": "rgba(0, 114, 178, 0.08)",
        "hoverinfo": "skip",
        "legendgroup": "area",
    }
    for k, outline in enumerate(outlines):
        thin = {"color": "rgba(0, 114, 178, 0.35)", "width": 1}
        figure.add_trace(_flat(outline, "reachable area", mode="lines", line=thin, showlegend=k == 0, **area))
    hover = "x %{x:.0f} mm, y %{y:.0f} mm"
    line = {"color": COLOURS[1], "width": 2.5}
    figure.add_trace(_flat(path, "tool", mode="lines", line=line, hovertemplate=hover))
    for name, k, symbol in (("start", 0, "circle"), ("far end", -1, "square")):
        marker = {"symbol": symbol, "size": 10, "color": COLOURS[1], "line": {"color": "#fff", "width": 1.5}}
        figure.add_trace(_flat(path[[k]], name, mode="markers", marker=marker, hovertemplate=hover))
    return figure


def _flat(points: Array, name: str, **style: Any) -> go.Scatter:
    """Points (k, 2) in a plane."""
    x, y = points.T.astype(np.float32)
    return go.Scatter(x=x, y=y, name=name, **style)


def arm_poses(study: TorqueStudy) -> go.Figure:
    """The arm as a stick figure at several instants of the way out."""
    out = _outward_samples(study)
    poses = study.robot.fkine_all(study.move.q[out])
    chains = np.stack([1000 * T[:, :3, 3] for T in poses.values()], axis=1)  # (poses, frames, 3)
    figure = go.Figure(layout=layout(460, hovermode="closest", margin={"l": 0, "r": 0, "t": 10, "b": 0}))
    foot = np.array([[0.0, 0.0, chains[..., 2].min()], [0.0, 0.0, 0.0]])
    figure.add_trace(_solid(foot, "base axis", mode="lines", line={"color": SOFT, "width": 14}))
    for k, chain in enumerate(chains):
        share = k / (len(chains) - 1)
        colour = f"rgb({round(176 - 176 * share)}, {round(205 - 91 * share)}, {round(228 - 50 * share)})"
        style = {"line": {"color": colour, "width": 9}, "marker": {"size": 3.5, "color": INK}}
        figure.add_trace(_solid(chain, f"{study.move.t[out[k]]:.2f} s", mode="lines+markers", **style))
    path = 1000 * study.tool[: len(study.move.t) // 2 : 4]
    figure.add_trace(_solid(path, "tool", mode="lines", line={"color": COLOURS[1], "width": 3}))
    ticks = {"gridcolor": "#d5dbe2", "zerolinecolor": "#d5dbe2", "backgroundcolor": "#ffffff"}
    scene = {f"{name}axis": {**ticks, "title": {"text": f"{name} [mm]"}, "dtick": 400} for name in "xy"}
    scene["zaxis"] = {**ticks, "title": {"text": "z [mm]"}, "dtick": 100}
    camera = {"eye": {"x": -0.75, "y": -1.75, "z": 1.05}, "center": {"x": 0.0, "y": 0.0, "z": -0.12}}
    box = {"aspectmode": "manual", "aspectratio": {"x": 1.15, "y": 1.3, "z": 0.4}}
    figure.update_layout(scene={**scene, **box, "camera": camera, "dragmode": "turntable"})
    return figure


def _solid(points: Array, name: str, **style: Any) -> go.Scatter3d:
    """Points (k, 3) in space."""
    x, y, z = points.T.astype(np.float32)
    hover = "x %{x:.0f}, y %{y:.0f}, z %{z:.0f} mm"
    return go.Scatter3d(x=x, y=y, z=z, name=name, hovertemplate=hover, **style)


def _outward_samples(study: TorqueStudy) -> IntArray:
    """Indices of POSES instants, evenly from the start to the arrival of the first axis at the far end."""
    moving = np.flatnonzero(np.abs(study.move.qd[: len(study.move.t) // 2, 0]) > 0)
    return np.linspace(0, moving[-1], POSES).astype(np.int64)
