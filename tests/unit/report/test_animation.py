"""The animation: small, safe, self-contained, and true to the kinematics of open and closed chains."""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from real_browser import launched, needs_browser, opened, snapshot, until
from servotwin.errors import ShapeError
from servotwin.report.animation import MOST_FRAMES, animation_fragment, animation_player, frame_times
from servotwin.report.page import Page
from servotwin.report.tool_path import nearest_on_path, path_deviation
from servotwin.robot.load import load_robot
from servotwin.robot.robot import Robot
from servotwin.scene.skeleton import body_poses, skeleton

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
def test_drawn_bodies_are_where_kinematics_puts_them(name: str) -> None:
    robot = load_robot(name)
    t, q = motion(robot)
    data = data_of(animation_fragment(robot, t, q, q))
    frames = data["frames"]
    places = np.interp(np.linspace(0, 1, frames), t, t)
    q_frames = np.stack([np.interp(places, t, c) for c in q.T], axis=1)
    tip = unpacked(data["tip"], "<f4").reshape(frames, 3)
    np.testing.assert_allclose(tip, robot.fkine(q_frames)[:, :3, 3], atol=1e-6)  # single precision
    x = unpacked(data["x"], "<f4").reshape(frames, -1).astype(np.float64)
    np.testing.assert_allclose(
        robot.fkine_at(x)[:, :3, 3], tip, atol=3e-6
    )  # the tree of the page, loops closed
    assert data["ghost"]["x"] == data["x"]
    tree = data["scene"]["tree"]
    assert (tree["actuated"], len(tree["x"])) == (robot.n, x.shape[1])
    drawn = skeleton(robot)
    exact = drawn.positions(body_poses(robot, q_frames))
    np.testing.assert_allclose(exact[:, drawn.tool], robot.fkine(q_frames)[:, :3, 3], atol=1e-9)
    low, high = np.array(data["scene"]["fit"]).min(axis=0), np.array(data["scene"]["fit"]).max(axis=0)
    assert (exact.reshape(-1, 3) > low - 1e-2).all()  # what the picture is made to hold
    assert (exact.reshape(-1, 3) < high + 1e-2).all()


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
    whole = fragment + animation_player()
    assert "http" not in whole
    assert not re.search(r"\b(fetch|XMLHttpRequest|import|eval)\s*\(", whole)
    page = Page("arm")
    page.fragment(fragment, animation_player())
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Any]:
    found = opened(browser, 940, 900)
    yield found
    found[0].close()


@pytest.fixture
def shown(tab: Any) -> Iterator[Any]:
    """An empty page: every test loads its own, all of them in the same tab."""
    found, wrong = tab
    found.goto("about:blank")
    wrong.clear()
    yield found
    assert wrong == []


def play(shown: Any, tmp_path: Path, fragment: str, wish: str = "") -> None:
    page = Page("arm")
    page.fragment(fragment, animation_player())
    (tmp_path / "arm.html").write_text(page.html(), encoding="utf-8")
    shown.goto((tmp_path / "arm.html").as_uri() + wish)


MOTION = "document.querySelector('.animation').servotwinMotion"


@needs_browser
def test_two_motions_of_a_page_share_one_player(shown: Any, tmp_path: Path) -> None:
    robot = load_robot("gsis-scara")
    t, q = motion(robot)
    page = Page("arm")
    for arm in (True, False):
        page.fragment(animation_fragment(robot, t, q, arm=arm), animation_player())
    text = page.html()
    assert text.count("class Motion ") == text.count("class Scene ") == 1
    (tmp_path / "arm.html").write_text(text, encoding="utf-8")
    shown.goto((tmp_path / "arm.html").as_uri())
    until(shown, "document.querySelectorAll('.animation').length === 2")
    assert shown.evaluate("[...document.querySelectorAll('.animation')].every(e => e.servotwinMotion.scene)")


@needs_browser
@pytest.mark.parametrize("name", ["gsis-scara", "delta", "palletizer-4-loops"])
def test_scene_of_the_page_follows_the_motion(shown: Any, tmp_path: Path, name: str) -> None:
    page, robot = shown, load_robot(name)
    t, q = motion(robot)
    play(page, tmp_path, animation_fragment(robot, t, q, q), "#t=0.25")
    until(page, f"{MOTION} && {MOTION}.time > 0.2")
    page.wait_for_timeout(100)
    tool = np.array(page.evaluate(f"{MOTION}.scene.toolPose()")).reshape(3, 4)
    np.testing.assert_allclose(tool, robot.fkine(q[75])[:3], atol=5e-6)
    before = snapshot(page, f"{MOTION}.scene")
    assert (before.min(axis=2) < 225).mean() > 0.004
    page.click("[data-part=play]")
    until(page, f"{MOTION}.time !== 0.25")
    page.click("[data-part=play]")
    until(page, "document.querySelector('[data-part=play]').textContent === 'Play'")
    page.fill("[data-part=scrub]", "0.9")
    until(page, f"Math.abs({MOTION}.time - 0.9) < 1e-6")
    page.wait_for_timeout(100)
    assert "tool x" in page.inner_text("[data-part=readings]")
    assert np.abs(snapshot(page, f"{MOTION}.scene") - before).max() > 60


@needs_browser
@pytest.mark.parametrize("name", [*ROBOTS, "met-two-link", "five-bar", "four-bar"])
def test_picture_holds_arm_and_path_in_every_view(shown: Any, tmp_path: Path, name: str) -> None:
    page, robot = shown, load_robot(name)
    t, q = motion(robot, 61)  # as many samples as pictures
    play(page, tmp_path, animation_fragment(robot, t, q), "#renderer=canvas")
    until(page, MOTION)
    points = skeleton(robot).positions(body_poses(robot, q[::6])).reshape(-1, 3)
    points = np.concatenate([points, robot.fkine(q)[:, :3, 3]])
    for view in ("oblique", "above", "front", "side"):
        page.click(f"[data-view={view}]")
        at = page.evaluate(f"all => all.map(p => {MOTION}.scene.project(p))", points.tolist())
        size = page.evaluate(f"[{MOTION}.scene.camera.width, {MOTION}.scene.camera.height]")
        assert (np.array(at) > 0.0).all(), view
        assert (np.array(at) < size).all(), view
