"""The description of a scene: plain data, bodies in order, closed chains as they are built."""

from __future__ import annotations

import json

import numpy as np
import pytest

from servotwin.description.load import catalogue_names
from servotwin.robot.load import load_robot
from servotwin.scene import body_poses_flat, describe
from servotwin.scene.body_shapes import inertia_box
from servotwin.scene.skeleton import body_poses


@pytest.mark.parametrize("name", catalogue_names())
def test_every_robot_of_the_catalogue_is_plain_finite_data(name: str) -> None:
    robot = load_robot(name)
    scene = describe(robot)
    assert len(json.dumps(scene, allow_nan=False)) < 60_000
    assert len(scene["bodies"]) == len(scene["poses"]) == robot.mechanism.n_tree + 1
    np.testing.assert_allclose(np.ravel(scene["poses"]), body_poses_flat(robot, robot.q_home), atol=1e-12)
    assert any(body["shapes"] for body in scene["bodies"][1:])
    assert [joint["name"] for joint in scene["joints"]] == list(robot.joint_names)


def test_first_picture_of_a_planar_arm_has_room_for_its_first_joint() -> None:
    """Its frames lie in a plane and begin at the axis; the joint around that axis would stand half outside."""
    scene = describe(load_robot("met-two-link"))
    room = np.array(scene["fit"])
    joint = next(shape for body in scene["bodies"] for shape in body["shapes"] if shape["kind"] == "cylinder")
    assert room[:, 0].min() <= joint["a"][0] - joint["r"]
    assert room[:, 2].max() - room[:, 2].min() >= abs(joint["b"][2] - joint["a"][2])


@pytest.mark.parametrize("name", ["delta", "delta-4"])
def test_forearms_of_a_delta_are_rods_of_equal_length_wherever_it_stands(name: str) -> None:
    robot = load_robot(name)
    rods = describe(robot)["rods"]
    assert len(rods) == 6
    q = robot.q_home + 0.2 * np.vstack([np.zeros(robot.n), np.eye(robot.n), -np.eye(robot.n)])
    poses = body_poses(robot, q)

    def at(end: dict[str, object]) -> np.ndarray:
        X = poses[int(end["body"]) - 1]  # type: ignore[call-overload]
        return X[:, :3, :3] @ np.array(end["place"]) + X[:, :3, 3]

    lengths = np.array([np.linalg.norm(at(rod["b"]) - at(rod["a"]), axis=1) for rod in rods])
    np.testing.assert_allclose(lengths, lengths[0, 0], rtol=1e-9)


@pytest.mark.parametrize("name", ["stewart", "five-bar", "palletizer-4-loops", "sixaxis-5kg"])
def test_other_arms_have_no_forearms_of_two_rods(name: str) -> None:
    robot = load_robot(name)
    slides = sum(unit == "m" for unit in robot.joint_units)
    assert len(describe(robot)["rods"]) == slides


def test_box_has_the_inertia_of_the_body() -> None:
    m, a, b, c = 2.0, 0.05, 0.08, 0.11  # a cuboid of these sides
    moments = m / 12.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    phi = np.array([m, 0, 0, 0, moments[0], 0, moments[1], 0, 0, moments[2]])
    box = inertia_box(phi, 0.03)
    assert box is not None
    np.testing.assert_allclose(np.sort(box["size"]), [a, b, c], rtol=1e-12)
    assert inertia_box(np.zeros(10), 0.03) is None


def test_pictures_in_notebooks_are_one_frame_without_addresses() -> None:
    picture = load_robot("gsis-scara").show()
    html = picture._repr_html_()
    assert html.startswith("<iframe srcdoc=")
    assert html.count("<iframe") == 1
    page = picture.html()
    assert "http:" not in page
    assert "https:" not in page
    assert len(page) < 120_000
    assert "unsafe-eval" not in page


def test_nasty_names_stay_data_in_pictures() -> None:
    from servotwin.robot.robot import Robot

    robot = load_robot("gsis-scara")
    evil = "</script><script>alert(1)</script>"
    page = Robot(robot.mechanism.with_(name=evil), title=evil).show().html()
    assert "<script>alert" not in page
