"""The scene in a real browser: kinematics to rounding, and pictures that show the arm where it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from real_browser import launched, needs_browser, opened, snapshot, until
from servotwin.errors import KinematicsError
from servotwin.robot.load import load_robot
from servotwin.robot.robot import Robot
from servotwin.scene import body_poses_flat, describe, looks_of, scene_script
from servotwin.scene.describe import path_scene
from servotwin.scene.skeleton import body_poses, skeleton

pytestmark = needs_browser
OPEN = ("gsis-scara", "puma560", "sixaxis-5kg", "palletizer-4", "daiv-1")
CLOSED = ("delta", "palletizer-4-loops", "five-bar", "four-bar", "stewart")
PICTURES = ("gsis-scara", "palletizer-4", "palletizer-4-loops", "delta", "sixaxis-5kg", "daiv-1")
WIDTH, HEIGHT = 800, 560


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Any]:
    found = opened(browser, WIDTH, HEIGHT)
    yield found
    found[0].close()


@pytest.fixture
def page(tab: Any) -> Iterator[Any]:
    """An empty page: every test loads one, all of them in the same tab."""
    found, wrong = tab
    found.goto("about:blank")
    wrong.clear()
    yield found
    assert wrong == []


def draw(page: Any, description: dict[str, Any], **options: Any) -> None:
    page.set_content(
        f"<body style='margin: 0'><div id='stage' style='width: {WIDTH}px; height: {HEIGHT}px'></div>"
        f"<script>{scene_script()}</script><script>window.scene = ServoTwinScene.create("
        f"document.getElementById('stage'), {json.dumps(description)}, {json.dumps(options)});</script>"
    )


def positions(robot: Robot, count: int) -> np.ndarray:
    """Random positions; for closed chains near home, where the loops close."""
    rng = np.random.default_rng(7)
    if not robot.closed:
        return robot.random_q(rng, count)
    wide = np.where(np.array(robot.joint_units) == "m", 0.03, 0.25)
    found: list[np.ndarray] = []
    while len(found) < count:
        q = robot.q_home + rng.uniform(-1, 1, robot.n) * wide
        try:
            robot.fkine(q)
        except KinematicsError:
            continue
        found.append(q)
    return np.array(found)


@pytest.mark.parametrize("name", [*OPEN, *CLOSED])
def test_forward_kinematics_in_the_browser_is_that_of_the_robot(page: Any, name: str) -> None:
    robot = load_robot(name)
    draw(page, describe(robot))
    q = positions(robot, 25)
    found = page.evaluate(
        "all => all.map(q => { const done = scene.setJoints(q); return [done, scene.getPoses(), scene.toolPose()]; })",
        q.tolist(),
    )
    assert all(done for done, _, _ in found)
    poses = np.array([flat for _, flat, _ in found])
    tool = np.array([flat for _, _, flat in found]).reshape(-1, 3, 4)
    np.testing.assert_allclose(poses, body_poses_flat(robot, q), rtol=0, atol=1e-9)
    np.testing.assert_allclose(tool, robot.fkine(q)[:, :3], rtol=0, atol=1e-9)


def wanted(page: Any, robot: Robot) -> list[list[float]]:
    """Joints, and middles of bars, where the kinematics puts them."""
    drawn = skeleton(robot)
    poses = body_poses(robot, robot.q_home[None])
    points = drawn.positions(poses)[0]
    found = [points[joint.point] for joint in drawn.joints]
    description = page.evaluate("scene.description.bodies")
    for body, shapes in enumerate(entry["shapes"] for entry in description):
        X = poses[body - 1][0]
        bars = [shape for shape in shapes if shape["kind"] == "capsule"]
        found += [X[:3, :3] @ (0.5 * np.add(bar["a"], bar["b"])) + X[:3, 3] for bar in bars]
    return [p.tolist() for p in found]


def places(page: Any, points: list[list[float]]) -> np.ndarray:
    """Where points are in the picture (k, 2), in whole pixels."""
    at = page.evaluate("all => all.map(p => scene.project(p))", points)
    return np.rint(np.array(at)).astype(int)


def seen(page: Any, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Where the points of the arm are in the picture (k, 2), in whole pixels, and the picture."""
    page.evaluate("scene.setLabels(false)")
    return places(page, wanted(page, robot)), snapshot(page, "scene")


@pytest.mark.parametrize("renderer", ["webgl", "canvas"])
@pytest.mark.parametrize("name", PICTURES)
def test_picture_shows_the_arm_where_its_joints_are(page: Any, name: str, renderer: str) -> None:
    robot = load_robot(name)
    draw(page, describe(robot), renderer=renderer)
    assert page.evaluate("scene.kind") == renderer
    at, picture = seen(page, robot)
    assert picture.shape == (HEIGHT, WIDTH, 3)
    dark = picture.min(axis=2) < 225  # links are grey, joints blue; paper and grid are lighter
    for x, y in at:
        assert dark[y, x], (x, y, picture[y, x])
    assert 0.005 < dark.mean() < 0.5
    # Another pose is another picture.
    q = positions(robot, 1)[0]
    page.evaluate("q => scene.setJoints(q)", q.tolist())
    assert np.abs(snapshot(page, "scene") - picture).max() > 60


@pytest.mark.parametrize("name", [*PICTURES, "stewart", "met-two-link", "five-bar"])
def test_arm_is_inside_the_picture_in_every_view(page: Any, name: str) -> None:
    robot = load_robot(name)
    draw(page, describe(robot), renderer="canvas")
    page.evaluate("scene.setLabels(false)")
    points = wanted(page, robot)
    for view in ("iso", "front", "side", "top"):
        page.evaluate("name => scene.view(name)", view)
        at = places(page, points)
        assert (at > 5).all(), view
        assert (at < [WIDTH - 5, HEIGHT - 5]).all(), view


def test_meshes_of_a_urdf_are_drawn(page: Any) -> None:
    data = pytest.importorskip("pinocchio", reason="example-robot-data comes with the extra 'verify'")
    share = Path(data.__file__).parents[4] / "share/example-robot-data/robots"
    file = share / "xarm_description/urdf/xarm7.urdf"
    if not file.exists():
        pytest.skip("example-robot-data is not installed")
    robot = load_robot(str(file), allow_outside=True)
    looks = looks_of(robot)
    assert looks.notes == []
    assert len(looks.meshes) == 8
    description = describe(robot, looks=looks)
    draw(page, description)
    at, picture = seen(page, robot)
    meshed = picture.min(axis=2) < 225
    assert sum(bool(meshed[y, x]) for x, y in at) >= 0.8 * len(at)
    # Without blue drums and with the outline of the meshes it is another picture than that of capsules.
    draw(page, describe(robot))
    page.evaluate("scene.setLabels(false)")
    assert (np.abs(snapshot(page, "scene") - picture).max(axis=2) > 40).mean() > 0.01


def test_ghosts_traces_targets_and_the_rest_change_the_picture(page: Any) -> None:
    robot = load_robot("gsis-scara")
    draw(page, describe(robot))
    page.evaluate("scene.setLabels(false)")
    before = snapshot(page, "scene")
    ghost = body_poses_flat(robot, robot.q_home + np.array([0.6, 0.4, 0.0, 0.0])).tolist()
    pose = [1, 0, 0, 0.3, 0, 1, 0, 0.3, 0, 0, 1, 0.1]
    calls = {
        "ghosts": (f"scene.setGhosts([{ghost}])", "scene.setGhosts([])"),
        "trace": ("scene.setTrace('t', [[0.3,-0.2,0],[0.3,0.2,0.1]])", "scene.clearTrace('t')"),
        "targets": (f"scene.setTargets([{{name: 'P1', pose: {pose}}}])", "scene.setTargets([])"),
        "pallet": (f"scene.setPallet({{pose: {pose}, size: [0.2, 0.2, 0.05]}})", "scene.setPallet(null)"),
        "workspace": (
            "scene.setWorkspace({points: [0.3,0.3,0.1, 0.3,-0.3,0.1, 0.2,0.3,0.2]})",
            "scene.setWorkspace(null)",
        ),
        "ellipsoid": (
            "scene.setEllipsoid([0.3,0.3,0], [0.1,0,0,0,0.1,0,0,0,0.1])",
            "scene.setEllipsoid(null)",
        ),
        "frames": ("scene.setFrames(true)", "scene.setFrames(false)"),
        "ranges": ("scene.setLimits(true)", "scene.setLimits(false)"),
        "highlight": ("scene.highlight(2)", "scene.highlight(null)"),
    }
    for name, (on, off) in calls.items():
        page.evaluate(on)
        assert (np.abs(snapshot(page, "scene") - before).max(axis=2) > 8).sum() > 8, name
        page.evaluate(off)
        assert np.abs(snapshot(page, "scene") - before).max() <= 2, name


@pytest.mark.parametrize("renderer", ["webgl", "canvas"])
def test_a_long_bar_has_one_colour_along_its_length(page: Any, renderer: str) -> None:
    """On a canvas, faces of the far side would show through as streaks."""
    scene = path_scene("bar")
    ends = {"kind": "capsule", "a": [-0.5, 0, 0], "b": [0.5, 0, 0], "r": 0.05, "ink": "link"}
    room = [[x, y, 0.0] for x in (-0.6, 0.6) for y in (-0.4, 0.4)]
    floor = {"centre": [0.0, 0.0], "reach": 1.0, "step": 0.2, "z": -0.3}
    scene["bodies"][0]["shapes"] = [ends]
    scene |= {"size": 1.0, "fit": room, "floor": floor, "tool": {**scene["tool"], "body": 0}}
    draw(page, scene, renderer=renderer)
    page.evaluate("scene.setTip([9, 9, 9])")
    picture = snapshot(page, "scene")
    for height in (0.0, 0.02, 0.03):
        at = [[x, 0.0, height] for x in np.linspace(-0.45, 0.45, 60).tolist()]
        pixels = np.rint(page.evaluate("all => all.map(p => scene.project(p))", at)).astype(int)
        found = picture[pixels[:, 1], pixels[:, 0]]
        assert float(np.ptp(found, axis=0).max()) < 26, height


def test_picture_goes_on_without_the_graphics_card(page: Any) -> None:
    robot = load_robot("gsis-scara")
    draw(page, describe(robot))
    page.evaluate("scene.renderer.gl.getExtension('WEBGL_lose_context').loseContext()")
    until(page, "scene.kind === 'canvas'")
    at, picture = seen(page, robot)
    assert all(picture[y, x].min() < 225 for x, y in at)


def test_mouse_and_wheel_turn_and_zoom(page: Any) -> None:
    draw(page, describe(load_robot("gsis-scara")), wheel=True)
    before = page.evaluate("[scene.camera.azimuth, scene.camera.distance]")
    page.mouse.move(300, 300)
    page.mouse.down()
    page.mouse.move(380, 320, steps=4)
    page.mouse.up()
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(100)
    after = page.evaluate("[scene.camera.azimuth, scene.camera.distance]")
    assert after[0] != pytest.approx(before[0])
    assert after[1] < before[1]
    page.evaluate("scene.dispose()")
    assert page.evaluate("document.querySelectorAll('canvas').length") == 0


def test_saved_picture_of_a_robot_moves_and_asks_for_nothing(page: Any, tmp_path: Path) -> None:
    robot = load_robot("palletizer-4-loops")
    path = robot.show().save(tmp_path / "arm.html")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    until(page, "window.picture")
    page.evaluate(
        "() => { const s = document.querySelector('.joints input'); s.value = 0.4; "
        "s.dispatchEvent(new Event('input')); }"
    )
    q = page.evaluate("picture.q")
    assert q[0] == pytest.approx(0.4)
    tool = np.array(page.evaluate("picture.scene.toolPose()")).reshape(3, 4)
    np.testing.assert_allclose(tool, robot.fkine(q)[:3], rtol=0, atol=1e-9)
    assert asked == [path.as_uri()]


def test_sliders_of_a_saved_picture_show_whole_names(page: Any, tmp_path: Path) -> None:
    """Names of a dozen letters: the longest sets the width of all."""
    text = "format: servotwin/1\nname: arm\naxes:\n"
    names = ("track", "shoulder", "wrist-tilt-2")
    text += "".join(f"  {name}: {{dh: {{a: 300 mm}}, link: {{mass: 1 kg}}}}\n" for name in names)
    (tmp_path / "arm.yaml").write_text(text)
    page.goto(load_robot(tmp_path / "arm.yaml").show().save(tmp_path / "arm.html").as_uri())
    until(page, "window.picture")
    cut = "[...document.querySelectorAll('.joints span')].filter(s => s.scrollWidth > s.clientWidth).length"
    assert page.evaluate(cut) == 0
    widths = page.evaluate("[...document.querySelectorAll('.joints input')].map(s => s.clientWidth)")
    assert min(widths) > 50
