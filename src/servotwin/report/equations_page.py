"""The equations of a robot as one offline page: formulas drawn by the browser, a picture of the mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.equations.readable.document import FormName
from servotwin.report.page import Card, Figure, Page
from servotwin.robot.derive import RobotEquations
from servotwin.robot.robot import Robot

THINNEST = 0.2  # half the least edge of the box, of the largest extent
VIEW = np.array([1.25, 1.25, 1.0])  # direction from which the picture looks at the box
EYE = 1.5  # distance of the eye, in diagonals of the box
LOWERED = -0.1  # where it looks, below the middle: the ticks of the lower edges need room


def equations_html(equations: RobotEquations, form: FormName = "MCg") -> str:
    """The page as HTML text."""
    robot = equations.robot
    e = equations.closed_form
    page = Page(f"{robot.name}: equations of motion", equations.about.title)
    counts = {name: mul + add for name, mul, add, _ in equations.about.operations}
    cards = [
        Card("Coordinates", str(e.n), "", ", ".join(equations.about.joints)),
        Card("Base parameters", str(len(equations.base_parameters.names)), "", "combinations that matter"),
    ]
    for kind, label in (("rne", "Inverse dynamics"), ("accel", "Forward dynamics")):
        if kind in counts:
            cards.append(Card(label, str(counts[kind]), "operations", "multiplications and additions"))
    page.cards(cards)
    page.section("The mechanism", "Joints, links and the tool at the home pose.")
    page.figures(
        [Figure(mechanism_figure(robot), "Home pose", "Dots are joints; the tool is the open circle.")]
    )
    page.fragment(equations.html_sections(form))
    return page.html()


def mechanism_figure(robot: Robot, q: ArrayLike | None = None) -> Any:
    """Stick figure of the mechanism at q (n,) [rad, m], default its home pose."""
    import plotly.graph_objects as go

    mechanism = robot.mechanism
    poses = robot.fkine_all(robot.q_home if q is None else q)
    frame_of = {frame.body: frame for frame in reversed(mechanism.frames) if frame.body >= 0}
    origins = {}
    for body, frame in frame_of.items():
        X = poses[frame.name] @ np.linalg.inv(frame.X_body_frame)
        origins[body] = X[:3, 3]
    lines: list[np.ndarray] = []
    for body, parent in enumerate(mechanism.parent):
        start = np.zeros(3) if parent < 0 else origins[int(parent)]
        lines += [start, origins[body], np.full(3, np.nan)]
    for loop in mechanism.loops:
        for name in (loop.frame_a, loop.frame_b):
            carrier = mechanism.frame(name).body
            start = np.zeros(3) if carrier < 0 else origins[carrier]
            lines += [start, poses[name][:3, 3], np.full(3, np.nan)]
    tool = mechanism.frame()
    if tool.body >= 0:
        lines += [origins[tool.body], poses[tool.name][:3, 3]]
    x, y, z = np.array(lines).T
    dots = np.array(list(origins.values())).reshape(-1, 3).T
    figure = go.Figure(
        [
            go.Scatter3d(x=x, y=y, z=z, mode="lines", line={"width": 7, "color": "#34495e"}, name="links"),
            go.Scatter3d(
                x=dots[0],
                y=dots[1],
                z=dots[2],
                mode="markers",
                marker={"size": 5, "color": "#c0392b"},
                name="joints",
            ),
            go.Scatter3d(
                x=[poses[tool.name][0, 3]],
                y=[poses[tool.name][1, 3]],
                z=[poses[tool.name][2, 3]],
                mode="markers",
                marker={"size": 8, "color": "#0b6fa4", "symbol": "circle-open"},
                name="tool",
            ),
        ]
    )
    figure.update_layout(
        height=520,
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        scene=scene_box(np.vstack([*lines, *dots.T])),
        legend={"orientation": "h"},
    )
    return figure


def scene_box(points: np.ndarray) -> dict[str, Any]:
    """A box around points (k, 3) [m], seen from so far that its corners, ticks and titles are within the picture.

    Plotly chooses the range -1 to 1 for an axis along which a planar mechanism does not extend, and looks at the box
    from a distance that does not depend on its proportions, which lets the nearest corner fall out of the picture.
    """
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    largest = float((high - low).max()) or 1.0
    half = np.maximum(0.55 * (high - low), THINNEST * largest)
    shape = 2.0 * half / float((2.0 * half).max())  # the longest edge of the box is 1
    away = EYE * float(np.linalg.norm(shape)) * VIEW / float(np.linalg.norm(VIEW))
    scene: dict[str, Any] = {
        "aspectmode": "manual",
        "aspectratio": dict(zip("xyz", map(float, shape), strict=True)),
        "camera": {
            "eye": dict(zip("xyz", map(float, away), strict=True)),
            "center": {"x": 0, "y": 0, "z": LOWERED},
        },
    }
    for k, name in enumerate("xyz"):
        middle = 0.5 * float(low[k] + high[k])
        span = [middle - float(half[k]), middle + float(half[k])]
        scene[f"{name}axis"] = {"title": {"text": f"{name} [m]"}, "range": span, "nticks": 5}
    return scene
