"""Pictures of a workspace: views with the arm and the limits that bind, maps, the solid."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import plotly.graph_objects as go

from servotwin.description.display import MM
from servotwin.design.workspace.inscribed import Cube
from servotwin.design.workspace.maps import MEASURES, Measure
from servotwin.design.workspace.mesh import Mesh
from servotwin.design.workspace.workspace import PlaneSet, Workspace
from servotwin.errors import KinematicsError
from servotwin.mechanism.model import Array, IntArray
from servotwin.report.page_style import COLOURS, INK, SOFT, axis, layout
from servotwin.scene.skeleton import body_poses, skeleton

FILL = "rgba(86, 130, 170, 0.14)"
EXTRA = ("#8c564b", "#7f7f7f", "#bcbd22", "#17becf")
MAP_CELLS = 130  # along the longer side of a map
BEYOND = 0.005  # of the longest extent: farther than facets of a turn are from the circle
RIM = 0.03  # of the longest extent about a solid in its picture
EYE = {"x": 1.4, "y": 1.4, "z": 1.0}  # of the camera, in lengths of the longest axis


def limit_colours(ws: Workspace) -> dict[str, str]:
    """A colour for every limit that binds somewhere, in the order of the boundary's length."""
    names = list(dict.fromkeys(name for view in ws.views for name in view.binding()))
    if ws.mesh is not None:
        names += [ws.mesh_limits[k].name for k in np.unique(ws.mesh.labels)]
    palette = (*COLOURS, *EXTRA)
    return {name: palette[i % len(palette)] for i, name in enumerate(dict.fromkeys(names))}


def view_figure(ws: Workspace, view: PlaneSet, *, height: int = 560) -> go.Figure:
    """A view: the set, its boundary by the limit that binds, the arm at home and at the ends of its reach."""
    figure = go.Figure()
    _filled(figure, view)
    _boundary(figure, view, limit_colours(ws))
    for q, ink, width in _poses(ws, view):
        _arm(figure, ws, view, q, ink, width)
    if view is ws.views[0]:
        low, high = ws.rectangle.low * MM, ws.rectangle.high * MM
        figure.add_trace(
            go.Scatter(
                x=[low[0], high[0], high[0], low[0], low[0]], y=[low[1], low[1], high[1], high[1], low[1]],
                mode="lines", name="largest rectangle", line={"color": INK, "width": 1.2, "dash": "dash"},
            )
        )  # fmt: skip
    figure.update_layout(**_equal(view, height))
    return figure


def _equal(view: PlaneSet, height: int) -> dict[str, Any]:
    names = view.axis_names
    return layout(
        height,
        hovermode="closest",
        xaxis=axis(f"{names[0]} [mm]"),
        yaxis=axis(f"{names[1]} [mm]", scaleanchor="x", scaleratio=1),
        legend={"orientation": "v", "x": 1.02, "y": 1.0, "xanchor": "left", "yanchor": "top"},
        margin={"l": 64, "r": 14, "t": 10, "b": 46},
    )


def _filled(figure: go.Figure, view: PlaneSet) -> None:
    """The set without its lines; holes are rings the other way round."""
    x: list[float | None] = []
    y: list[float | None] = []
    path = ""
    for ring in view.region.rings:
        path += (
            "M" + "L".join(f"{MM * a:.2f},{MM * b:.2f}" for a, b in ring[:: max(1, len(ring) // 400)]) + "Z"
        )
    figure.add_shape(
        type="path", path=path, fillcolor=FILL, line={"width": 0}, layer="below", fillrule="evenodd"
    )
    low, high = view.region.extent
    x += [MM * low[0], MM * high[0]]
    y += [MM * low[1], MM * high[1]]
    figure.add_trace(
        go.Scatter(x=x, y=y, mode="markers", marker={"opacity": 0}, hoverinfo="skip", showlegend=False)
    )


def _runs(labels: IntArray) -> list[tuple[int, int]]:
    """Stretches of equal labels as (first, past the last)."""
    cuts = np.flatnonzero(np.diff(labels)) + 1
    ends = [0, *cuts.tolist(), len(labels)]
    return list(itertools.pairwise(ends))


def _boundary(figure: go.Figure, view: PlaneSet, colours: dict[str, str]) -> None:
    lines: dict[str, tuple[list[float | None], list[float | None]]] = {
        name: ([], []) for name in view.binding()
    }
    for ring, labels in zip(view.region.rings, view.region.labels, strict=True):
        closed = np.concatenate([ring, ring[:1]])
        for start, end in _runs(labels):
            part = closed[start : end + 1]
            x, y = lines[view.limits[labels[start]].name]
            x += [*(MM * part[:, 0]).round(3).tolist(), None]
            y += [*(MM * part[:, 1]).round(3).tolist(), None]
    for name, (x, y) in lines.items():
        style = {"color": colours[name], "width": 3}
        figure.add_trace(go.Scatter(x=x, y=y, mode="lines", name=name, line=style))


def _poses(ws: Workspace, view: PlaneSet) -> list[tuple[Array, str, float]]:
    """Joint positions to draw, with colour and width: home, and where the reach is largest and least."""
    found = [(ws.robot.q_home, INK, 3.0)]
    if view is not ws.views[0]:
        return found
    points = np.concatenate(view.region.rings)
    middle = 0.5 * (view.region.extent[0] + view.region.extent[1])
    ends = [points[np.argmax(points[:, 0])], points[np.argmin(points[:, 1])]]
    inward = [p + 1e-4 * (middle - p) for p in ends]
    q = ws.inverse(np.array(inward))
    return found + [(each, "#9aa4af", 1.6) for each in q if np.isfinite(each).all() and _drawable(ws, each)]


def _drawable(ws: Workspace, q: Array) -> bool:
    """False where a closed chain is singular: its passive joints are not known from q there."""
    try:
        body_poses(ws.robot, q[None])
    except KinematicsError:
        return False
    return True


def _arm(figure: go.Figure, ws: Workspace, view: PlaneSet, q: Array, ink: str, width: float) -> None:
    bones = skeleton(ws.robot)
    place = bones.positions(body_poses(ws.robot, q[None]))[0]
    flat = MM * (place - view.origin) @ np.stack([view.right, view.up]).T
    x: list[float | None] = []
    y: list[float | None] = []
    for path in bones.lines:
        x += [*(float(flat[i, 0]) for i in path), None]
        y += [*(float(flat[i, 1]) for i in path), None]
    name = "arm at home" if ink == INK else "arm at the ends of its reach"
    common = {"legendgroup": name, "hoverinfo": "skip"}
    shown = not any(trace.legendgroup == name for trace in figure.data)
    figure.add_trace(
        go.Scatter(
            x=x, y=y, mode="lines", name=name, line={"color": ink, "width": width}, showlegend=shown, **common
        )
    )
    joints = sorted({joint.point for joint in bones.joints})
    marker = {"color": "#ffffff", "size": 5 + width, "line": {"color": ink, "width": 1.4}}
    figure.add_trace(
        go.Scatter(
            x=flat[joints, 0], y=flat[joints, 1], mode="markers", marker=marker, showlegend=False, **common
        )
    )


def map_grid(ws: Workspace, cells: int = MAP_CELLS) -> tuple[Array, Array, dict[str, Array]]:
    """Coordinates of a grid over the first view and the maps on it (rows, columns); NaN outside."""
    low, high = ws.region.extent
    step = float((high - low).max()) / cells
    x, y = (np.arange(low[k] + 0.5 * step, high[k], step) for k in range(2))
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    inside = ws.contains(grid.reshape(-1, 2))
    out = {}
    for key, values in ws.maps(grid.reshape(-1, 2)[inside]).items():
        full = np.full(len(inside), np.nan)
        full[inside] = values
        out[key] = full.reshape(grid.shape[:2])
    return x, y, out


def map_figure(view: PlaneSet, x: Array, y: Array, values: Array, measure: Measure) -> go.Figure:
    """One map over the first view."""
    shown = measure.factor * np.where(np.isfinite(values), values, np.nan)
    bounds = np.nanquantile(shown, [0.01, 0.99])  # a peak at a singularity must not flatten the rest
    figure = go.Figure(
        go.Heatmap(
            zmin=float(bounds[0]), zmax=float(bounds[1]),
            x=MM * x, y=MM * y, z=np.round(shown, 6), colorscale="Viridis", hoverongaps=False,
            colorbar={"title": {"text": measure.unit or " "}, "thickness": 12, "len": 0.9},
        )
    )  # fmt: skip
    for ring in view.region.rings:
        closed = MM * np.concatenate([ring, ring[:1]])[:: max(1, len(ring) // 400)]
        line = {"color": INK, "width": 1.0}
        figure.add_trace(
            go.Scatter(
                x=closed[:, 0], y=closed[:, 1], mode="lines", line=line, showlegend=False, hoverinfo="skip"
            )
        )
    figure.update_layout(**_equal(view, 380))
    return figure


def measures_of(maps: dict[str, Array]) -> list[Measure]:
    """The measures that a robot has, in their order."""
    return [measure for measure in MEASURES if measure.key in maps and np.isfinite(maps[measure.key]).any()]


def solid_figure(ws: Workspace) -> go.Figure:
    """The solid in space with the arm at home and the largest cube."""
    assert ws.mesh is not None
    colours = limit_colours(ws)
    figure = go.Figure()
    mesh = _outer_faces(ws, ws.mesh)
    for k in np.unique(mesh.labels):
        figure.add_trace(_surface(mesh, int(k), ws.mesh_limits[int(k)].name, colours))
    bones = skeleton(ws.robot)
    place = MM * bones.positions(body_poses(ws.robot, ws.robot.q_home[None]))[0]
    paths = list(bones.lines)
    figure.add_trace(_lines([place[list(path)] for path in paths], "arm at home", INK, 6))
    if ws.cube is not None:
        figure.add_trace(_lines(_cube_edges(ws.cube), "largest cube", SOFT, 4))
    figure.update_layout(
        **layout(620, margin={"l": 0, "r": 0, "t": 10, "b": 0}, hovermode="closest"),
        scene=_scene(figure),
    )
    return figure


def _scene(figure: go.Figure) -> dict[str, Any]:
    """Axes of one scale about all traces, the longest of length 1: a flat solid stays within the picture."""
    points = np.concatenate([np.stack([trace.x, trace.y, trace.z], axis=1) for trace in figure.data])
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    rim = RIM * float((high - low).max())
    low, high = low - rim, high + rim
    size = (high - low) / float((high - low).max())
    axes = {
        f"{name}axis": {"title": {"text": f"{name} [mm]"}, "range": [float(a), float(b)]}
        for name, a, b in zip("xyz", low, high, strict=True)
    }
    ratio = dict(zip("xyz", size.tolist(), strict=True))
    camera = {"eye": EYE, "center": {"x": 0.0, "y": 0.0, "z": -0.08}}
    return {"aspectmode": "manual", "aspectratio": ratio, "camera": camera, **axes}


def _outer_faces(ws: Workspace, mesh: Mesh) -> Mesh:
    """The surface without the faces on which two parts of a turned solid touch: beyond them the solid goes on."""
    if ws.turn is None or not ws.region.extent[0][0] < 0.0 < ws.region.extent[1][0]:
        return mesh
    p = mesh.points[mesh.triangles]
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    size = np.linalg.norm(normal, axis=1)
    step = BEYOND * float((mesh.extent[1] - mesh.extent[0]).max())
    beyond = p.mean(axis=1) + step * normal / np.maximum(size, 1e-300)[:, None]
    shown = (size > 0.0) & ~ws.reaches(beyond)
    return Mesh(mesh.points, mesh.triangles[shown], mesh.labels[shown], mesh.deviation)


def _surface(mesh: Mesh, label: int, name: str, colours: dict[str, str]) -> go.Mesh3d:
    """The faces of one limit, with their own corners alone: each trace of a page holds all it needs."""
    faces = mesh.triangles[mesh.labels == label]
    corners = (MM * mesh.points[faces.ravel()]).round(1)
    p, number = np.unique(corners, axis=0, return_inverse=True)
    chosen = number.reshape(-1, 3)
    return go.Mesh3d(
        x=p[:, 0], y=p[:, 1], z=p[:, 2], i=chosen[:, 0], j=chosen[:, 1], k=chosen[:, 2],
        color=colours.get(name, SOFT), opacity=0.5, name=name, showlegend=True, flatshading=False, hoverinfo="name",
    )  # fmt: skip


def _lines(paths: list[Array], name: str, ink: str, width: int) -> go.Scatter3d:
    gaps = [np.concatenate([path, np.full((1, 3), np.nan)]) for path in paths]
    p = np.concatenate(gaps)
    return go.Scatter3d(
        x=p[:, 0],
        y=p[:, 1],
        z=p[:, 2],
        mode="lines",
        name=name,
        line={"color": ink, "width": width},
        hoverinfo="name",
    )


def _cube_edges(cube: Cube) -> list[Array]:
    signs = list(itertools.product((-1, 1), repeat=3))
    corners = {sign: MM * (cube.center + 0.5 * cube.edge * np.array(sign)) for sign in signs}
    return [
        np.array([corners[a], corners[b]])
        for a in corners
        for b in corners
        if a < b and sum(u != v for u, v in zip(a, b, strict=True)) == 1
    ]
