"""The numbers of the page of equations: counts, and the drawn mechanism against its kinematics."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from seen import Seen, numbers
from servotwin.report.equations_page import equations_html, mechanism_figure
from servotwin.robot.derive import derive
from servotwin.robot.load import load_robot


@pytest.mark.parametrize("name", ["puma560", "gsis-scara"])
def test_drawn_mechanism_is_the_arm_at_home(name: str) -> None:
    robot = load_robot(name)
    page = Seen(equations_html(derive(robot)))
    (figure,) = [item for item in page.figures if any(trace["type"] == "scatter3d" for trace in item.data)]
    drawn = {
        trace["mode"]: np.stack([np.asarray(trace[a], dtype=float) for a in "xyz"], axis=1)
        for trace in figure.data
        if len(trace["x"]) > 1
    }
    poses = robot.fkine_all(robot.q_home)
    mechanism = robot.mechanism
    origin = {-1: np.zeros(3)}
    for frame in mechanism.frames:
        if frame.body >= 0:
            back = np.linalg.inv(frame.X_body_frame)
            origin[frame.body] = (poses[frame.name] @ back)[:3, 3]
    np.testing.assert_allclose(
        np.sort(drawn["markers"], axis=0),
        np.sort([origin[b] for b in range(mechanism.n_tree)], axis=0),
        atol=1e-9,
    )
    lines = drawn["lines"]
    for body, parent in enumerate(mechanism.parent):
        start, end, gap = lines[3 * body : 3 * body + 3]
        np.testing.assert_allclose(start, origin[int(parent)], atol=1e-9)
        np.testing.assert_allclose(end, origin[body], atol=1e-9)
        assert np.isnan(gap).all()
    tip = robot.fkine(robot.q_home)[:3, 3]
    np.testing.assert_allclose(lines[-1], tip, atol=1e-9)
    (tool,) = [trace for trace in figure.data if len(trace["x"]) == 1]
    np.testing.assert_allclose([float(tool[a][0]) for a in "xyz"], tip, atol=1e-9)


def test_cards_are_the_counts_of_the_equations() -> None:
    equations = derive(load_robot("puma560"))
    page = Seen(equations_html(equations))
    counts = {kind: mul + add for kind, mul, add, _ in equations.about.operations}
    shown = [numbers(card.value)[0] for card in page.cards]
    assert shown[:2] == [6, len(equations.base_parameters.names)]
    assert shown[2:] == [counts["rne"], counts["accel"]]


@pytest.mark.parametrize("name", ["five-bar", "planar-fourbar", "double-pendulum", "gsis-scara", "stewart"])
def test_corners_of_the_drawn_box_are_within_the_picture(name: str) -> None:
    """Plotly sees a box of the edges ``aspectratio`` about 0 from ``eye`` within 45 deg from top to bottom."""
    scene = mechanism_figure(load_robot(name)).layout.scene
    edges, eye, at = (
        np.array([getattr(part, a) for a in "xyz"])
        for part in (scene.aspectratio, scene.camera.eye, scene.camera.center)
    )
    ahead = (at - eye) / np.linalg.norm(at - eye)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, ahead)
    for signs in itertools.product((-0.5, 0.5), repeat=3):
        seen = np.array(signs) * edges - eye
        half_height = float(seen @ ahead) * np.tan(np.pi / 8.0)
        assert abs(seen @ up) < 0.85 * half_height  # the rest is for ticks and titles
        assert abs(seen @ right) < 1.0 * half_height
