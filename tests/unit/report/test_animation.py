"""The animation: small, safe, self-contained, and true to the kinematics of open and closed chains."""

from __future__ import annotations

import base64
import itertools
import json
import re
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

from servotwin.errors import ShapeError
from servotwin.report.animation import MOST_FRAMES, SCRIPT, STEPS, animation_fragment, frame_times
from servotwin.report.page import Page
from servotwin.report.skeleton import body_poses, skeleton
from servotwin.report.tool_path import nearest_on_path, path_deviation
from servotwin.robot.load import load_robot
from servotwin.robot.robot import Robot

ROBOTS = ("gsis-scara", "puma560", "delta", "palletizer-4", "palletizer-4-loops", "stewart")


def motion(robot: Robot, samples: int = 301, duration: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    t = np.linspace(0.0, duration, samples)
    size = np.where(np.array(robot.joint_units) == "m", 0.03, 0.2)
    return t, robot.q_home + np.sin(2 * np.pi * t / duration)[:, None] * size * np.linspace(1, -0.5, robot.n)


def data_of(fragment: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json">(.*?)</script>', fragment, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found.group(1))
    return data


def unpacked(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)


@pytest.mark.parametrize("name", ROBOTS)
def test_drawn_points_are_where_kinematics_puts_them(name: str) -> None:
    robot = load_robot(name)
    t, q = motion(robot)
    data = data_of(animation_fragment(robot, t, q, q))
    frames = data["frames"]
    places = np.interp(np.linspace(0, 1, frames), t, t)
    q_frames = np.stack([np.interp(places, t, c) for c in q.T], axis=1)
    tip = unpacked(data["tip"], "<f4").reshape(frames, 3)
    np.testing.assert_allclose(tip, robot.fkine(q_frames)[:, :3, 3], atol=1e-6)  # single precision
    packed = unpacked(data["points"], "<u2").reshape(frames, data["count"], 3)
    points = np.array(data["low"]) + data["step"] * packed
    drawn = skeleton(robot)
    exact = drawn.positions(body_poses(robot, q_frames))
    assert np.abs(points - exact).max() <= 0.51 * data["step"] + 1e-8  # 16 bits over the whole picture
    assert np.ptp(exact.reshape(-1, 3), axis=0).max() / STEPS < 1e-4
    np.testing.assert_allclose(exact[:, drawn.tool], robot.fkine(q_frames)[:, :3, 3], atol=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_skeleton_holds_together(name: str) -> None:
    robot = load_robot(name)
    drawn = skeleton(robot)
    points = drawn.positions(body_poses(robot, robot.q_home[None]))[0]
    # Points at one place are one node; every bar, slide and plate joins nodes; the tool hangs on the base.
    nodes = {tuple(np.round(p, 6) + 0.0): i for i, p in enumerate(points)}
    node = [nodes[tuple(np.round(p, 6) + 0.0)] for p in points]
    reached = {node[i] for i, body in enumerate(drawn.bodies) if body == -1}
    links = [
        *drawn.bars,
        *drawn.slides,
        *(pair for plate in drawn.plates for pair in itertools.pairwise(plate)),
    ]
    # The tool of a plate may stand within its corners.
    links += [
        (plate[0], drawn.tool) for plate in drawn.plates if drawn.bodies[plate[0]] == drawn.bodies[drawn.tool]
    ]
    for _ in links:
        for a, b in links:
            if {node[a], node[b]} & reached:
                reached |= {node[a], node[b]}
    assert node[drawn.tool] in reached
    assert {joint.name for joint in drawn.joints if joint.driven} == set(robot.joint_names)


def test_bars_keep_their_length() -> None:
    robot = load_robot("palletizer-4-loops")
    _, q = motion(robot, 50)
    drawn = skeleton(robot)
    points = drawn.positions(body_poses(robot, q))
    for a, b in drawn.bars:
        length = np.linalg.norm(points[:, a] - points[:, b], axis=1)
        np.testing.assert_allclose(length, length[0], rtol=1e-9)


def test_frames_are_few_however_long_the_run() -> None:
    assert len(frame_times(np.linspace(0.0, 1.0, 100_001))) == 61
    assert len(frame_times(np.linspace(0.0, 3600.0, 1001))) == MOST_FRAMES
    assert len(frame_times(np.array([2.0]))) == 1
    robot = load_robot("gsis-scara")
    t, q = motion(robot, 40_001, 100.0)
    assert len(animation_fragment(robot, t, q)) < 400_000


def test_fragment_refers_to_nothing_outside_and_escapes_text() -> None:
    robot = load_robot("gsis-scara")
    t, q = motion(robot)
    evil = "</script><script>alert('x')</script>"
    fragment = animation_fragment(
        robot, t, q, q, payload=evil, marks=[(0.0, evil)], heading=evil, caption=evil
    )
    assert "<script>alert" not in fragment
    assert data_of(fragment)["marks"] == [[0.0, evil]]
    assert "http" not in fragment
    assert not re.search(r"\b(fetch|XMLHttpRequest|import|eval)\s*\(", fragment)
    page = Page("arm")
    page.fragment(fragment)
    assert "plotly" not in page.html().lower().replace("js-plotly-plot", "")


def test_rows_that_are_not_finite_are_left_out() -> None:
    robot = load_robot("gsis-scara")
    t, q = motion(robot)
    q[200:] = np.nan
    data = data_of(animation_fragment(robot, t, q))
    assert data["dt"] * (data["frames"] - 1) == pytest.approx(t[199])
    assert "nothing to animate" in animation_fragment(robot, t, np.full_like(q, np.nan))


def test_pose_that_cannot_be_assembled_is_said() -> None:
    robot = load_robot("delta")
    fragment = animation_fragment(robot, np.array([0.0, 1.0]), np.array([[0, 0, 0], [-3.0, 3.0, 3.0]]))
    assert "cannot be drawn" in fragment


def test_arrays_of_wrong_shape_are_refused() -> None:
    robot = load_robot("gsis-scara")
    t, q = motion(robot)
    with pytest.raises(ShapeError, match="expected"):
        animation_fragment(robot, t[:-1], q)
    with pytest.raises(ShapeError, match="q_ref"):
        animation_fragment(robot, t, q, q[:-1])
    with pytest.raises(ShapeError, match="order of time"):
        animation_fragment(robot, t[::-1], q)


def test_payload_shows_while_it_is_carried() -> None:
    robot = load_robot("gsis-scara")
    t, q = motion(robot)
    data = data_of(animation_fragment(robot, t, q, payload="4 kg", carried=t > 0.5))
    held = unpacked(data["carried"], "u1")
    assert held[0] == 0
    assert held[-1] == 1
    assert abs(held.mean() - 0.5) < 0.05


def test_lateness_is_no_deviation() -> None:
    t = np.linspace(0.0, 1.0, 2001)
    circle = np.stack([np.cos(3 * t), np.sin(3 * t), 0 * t], axis=1)
    late = np.stack([np.cos(3 * (t - 0.02)), np.sin(3 * (t - 0.02)), 0 * t], axis=1)[100:]
    chord = (3 * t[1]) ** 2 / 8  # between the samples of the circle
    assert path_deviation(t[100:], late, circle[100:])[50:].max() < 1.01 * chord
    wide = 1.01 * circle
    np.testing.assert_allclose(path_deviation(t, wide, circle), 0.01, rtol=1e-3)


def test_path_that_crosses_itself_is_compared_with_its_own_branch() -> None:
    t = np.linspace(0.0, 4.0, 401)
    there = np.where(t < 2.0, t, 4.0 - t)
    path = np.stack([there, np.where(t < 2.0, 0.0, 0.001), 0 * t], axis=1)
    actual = path + np.array([0.0, 0.0009, 0.0])
    assert path_deviation(t, actual, path)[100] == pytest.approx(0.0009, rel=1e-6)


def test_path_of_one_point_is_that_point() -> None:
    foot = nearest_on_path(np.ones((2, 3)), np.zeros(2), np.zeros((1, 3)), np.zeros(1))
    np.testing.assert_array_equal(foot, 0.0)


HARNESS = """
const data = JSON.parse(require('fs').readFileSync(0, 'utf8'));
global.window = { devicePixelRatio: 1 };
const seen = [];
const pen = new Proxy({}, { get: (_, name) => {
  if (name === 'moveTo' || name === 'lineTo') return (x, y) => seen.push([x, y]);
  return () => undefined;
}, set: () => true });
const canvas = { getContext: () => pen, getBoundingClientRect: () => ({ width: 900, height: 500 }) };
const box = { querySelector: () => canvas };
const source = require('fs').readFileSync(process.argv[1], 'utf8')
  .replace('window.servotwinAnimation = box', 'window.Arm = Arm; window.servotwinAnimation = box');
new Function('window', 'document', source)(global.window, {});
const arm = new global.window.Arm(box, data), out = {};
arm.shown.shadow = false; arm.floor = () => undefined; arm.scalebar = () => undefined; arm.write = () => undefined;
for (const view of ['oblique', 'above', 'front', 'side']) {
  arm.look(view); seen.length = 0;
  for (let k = 0; k <= 10; k++) { arm.time = arm.end * k / 10; arm.draw(); }
  out[view] = [0, 1].map(c => [Math.min(...seen.map(p => p[c])), Math.max(...seen.map(p => p[c]))]);
}
console.log(JSON.stringify(out));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="runs the script of the page in node")
@pytest.mark.parametrize("name", [*ROBOTS, "met-two-link", "five-bar", "four-bar"])
def test_picture_holds_arm_axes_and_triads_in_every_view(name: str) -> None:
    """A planar arm has no extent across its plane, but its joint axes and triads have."""
    robot = load_robot(name)
    data = data_of(animation_fragment(robot, *motion(robot)))
    command = ["node", "-e", HARNESS, str(SCRIPT)]
    ran = subprocess.run(
        command, input=json.dumps(data), capture_output=True, text=True, timeout=60, check=True
    )
    for view, ((left, right), (top, bottom)) in json.loads(ran.stdout).items():
        assert left >= 0.0, view
        assert right <= 900.0, view
        assert top >= 0.0, view
        assert bottom <= 500.0, view
