"""Gantries, tracks and lifts: slides run on rails as long as their strokes; pictures have room for all of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from own_robots import GANTRY, lift_files, written
from servotwin.robot.load import load_robot
from servotwin.scene import describe, looks_of
from servotwin.scene.skeleton import skeleton


def boxes(body: dict[str, Any], ink: str) -> list[np.ndarray]:
    return [np.array(s["size"]) for s in body["shapes"] if s["kind"] == "box" and s["ink"] == ink]


def test_carriages_of_a_gantry_run_on_rails_and_its_ram_in_a_sleeve(tmp_path: Path) -> None:
    robot = load_robot(written(tmp_path, "gantry.yaml", GANTRY))
    drawn = skeleton(robot)
    lengths = [float(np.linalg.norm(drawn.places[b] - drawn.places[a])) for a, b in drawn.rails]
    np.testing.assert_allclose(lengths, [2.5, 1.2], rtol=1e-12)
    assert len(drawn.slides) == 1  # Z
    scene = describe(robot)
    base, x_body, y_body = scene["bodies"][:3]
    assert boxes(base, "base")[0].max() > 2.5
    assert boxes(x_body, "link")[0].max() > 1.2
    for body in (x_body, y_body):  # each has its carriage, larger than the rail that it runs on
        assert boxes(body, "sliding")[0].min() > boxes(base, "base")[0].min()
    # Posts below both ends of the first rail, no bar through the middle; all of it is in the picture.
    posts = [s for s in base["shapes"] if s["kind"] == "cylinder"]
    assert [post["a"][2] for post in posts] == [0.0, 0.0]
    reach = max(abs(post["a"][0] - 0.5 * sum(p["a"][0] for p in posts)) + post["r"] for post in posts)
    assert reach < 0.5 * boxes(base, "base")[0].max()  # none looks out of the end of the beam
    assert not [s for s in base["shapes"] if s["kind"] == "capsule"]
    room = np.array(scene["fit"])
    assert room[:, 0].max() > 2.5
    assert room[:, 2].min() <= 0.0


def test_a_slide_without_stroke_is_drawn_with_finite_numbers(tmp_path: Path) -> None:
    text = lift_files()["lift.urdf"].decode()
    stuck = re.sub(
        r'(type="prismatic".*?)lower="[^"]*" upper="[^"]*"',
        r'\1lower="0.3" upper="0.3"',
        text,
        flags=re.DOTALL,
    )
    assert stuck != text
    robot = load_robot(written(tmp_path, "lift.urdf", stuck))
    assert skeleton(robot).rails == ()
    json.dumps(describe(robot), allow_nan=False)


def test_a_quill_stays_a_rod_in_a_sleeve() -> None:
    for name in ("gsis-scara", "stewart", "daiv-1"):
        assert skeleton(load_robot(name)).rails == ()


def test_pictures_have_room_for_the_meshes_of_the_base(tmp_path: Path) -> None:
    for path, data in lift_files().items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(data)
    robot = load_robot(tmp_path / "lift.urdf")
    plain, meshed = describe(robot), describe(robot, looks=looks_of(robot))
    assert np.array(plain["fit"])[:, 2].max() < 1.0
    assert np.array(meshed["fit"])[:, 2].max() >= 1.2 - 1e-6  # the column is 1200 mm high
