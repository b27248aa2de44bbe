"""Writing URDF: what the text says, and what the format cannot say."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from random_trees import random_mechanism, random_rotation
from servotwin.description.frames import rot_rpy
from servotwin.description.load import read_description
from servotwin.errors import UnsupportedError
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Coupling, Frame, Limits, Mechanism
from servotwin.mechanism.urdf_export import roll_pitch_yaw, urdf_text


def chain(n: int = 3) -> Mechanism:
    return random_mechanism(np.random.default_rng(5), n, serial=True)


def coupled(row: list[float], offset: float = 0.0) -> Mechanism:
    """Three revolute joints; the last follows the first two by ``row`` and ``offset``."""
    limits = Limits(np.array([-1.0, -2.0]), np.array([0.5, 2.0]), *np.array([[2.0, 3.0]] * 3))
    return chain().with_(
        prismatic=np.zeros(3, dtype=np.bool_),
        joint_names=("j1", "j2"),
        coupling=Coupling(np.array([[1.0, 0.0], [0.0, 1.0], row]), np.array([0.0, 0.0, offset])),
        limits=limits,
    )


def joints(text: str) -> dict[str, ET.Element]:
    return {element.attrib["name"]: element for element in ET.fromstring(text).iter("joint")}


def part(joint: ET.Element, tag: str) -> dict[str, str]:
    found = joint.find(tag)
    assert found is not None
    return found.attrib


def test_joint_following_one_other_becomes_a_mimic_with_its_range() -> None:
    follower = joints(urdf_text(coupled([-2.0, 0.0], 0.25)))["j3"]
    assert part(follower, "mimic") == {"joint": "j1", "multiplier": "-2", "offset": "0.25"}
    limit = part(follower, "limit")
    assert (float(limit["lower"]), float(limit["upper"])) == (-0.75, 2.25)
    assert float(limit["velocity"]) == 4.0


def test_joint_that_is_held_becomes_a_mimic_with_factor_zero() -> None:
    assert part(joints(urdf_text(coupled([0.0, 0.0], 0.25)))["j3"], "mimic")["multiplier"] == "0"


def test_joint_following_two_others_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="'j3' follows j1 and j2; a URDF mimic follows one joint"):
        urdf_text(coupled([1.0, 1.0]))


def test_loop_closures_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"delta: URDF cannot express loop closures \(cut2, cut3\)"):
        urdf_text(build_mechanism(read_description("delta")))


def test_first_moments_without_mass_are_refused() -> None:
    phi = chain().phi.copy()
    phi[0, :4] = (0.0, 1.0, 0.0, 0.0)
    with pytest.raises(UnsupportedError, match="first moments but no mass"):
        urdf_text(chain().with_(phi=phi))


def test_joints_without_limits_are_continuous_or_as_wide_as_the_format_allows() -> None:
    mechanism = chain(2).with_(prismatic=np.array([False, True]))
    found = joints(urdf_text(mechanism))
    assert found["j1"].attrib["type"] == "continuous"
    assert "lower" not in part(found["j1"], "limit")
    assert part(found["j2"], "limit") == {
        "lower": "-1e+16",
        "upper": "1e+16",
        "effort": "1e+16",
        "velocity": "1e+16",
    }


def test_names_made_up_for_bodies_and_frames_avoid_names_in_use() -> None:
    frames = (
        Frame("base", -1, np.eye(4)),
        Frame("j1-body", 0, np.eye(4)),
        Frame("tool", 1, np.eye(4)),
        Frame("x", 1, np.eye(4)),
    )
    frames[1].X_body_frame[0, 3] = 0.5
    mechanism = chain(2).with_(frames=frames, prismatic=np.zeros(2, dtype=np.bool_))
    mechanism = mechanism.with_(tree_joint_names=("j1", "x-joint"), joint_names=("j1", "x-joint"))
    robot = ET.fromstring(urdf_text(mechanism))
    assert [link.attrib["name"] for link in robot.iter("link")] == [
        "base",
        "j1-body-2",
        "tool",
        "j1-body",
        "x",
    ]
    assert list(joints(urdf_text(mechanism))) == ["j1", "x-joint", "j1-body-joint", "x-joint-2"]


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-15, 1e-9, 1e-4]), st.sampled_from([-1.0, 1.0]))
def test_roll_pitch_yaw_reproduces_the_rotation_also_near_gimbal_lock(
    seed: int, distance: float, sign: float
) -> None:
    rng = np.random.default_rng(seed)
    roll, yaw = rng.uniform(-math.pi, math.pi, 2)
    upright = rot_rpy((roll, sign * (math.pi / 2 - distance), yaw))
    for R in (upright, random_rotation(rng)):
        # rounding of a handful of products; rot_rpy takes entries below 1e-11 for zero
        np.testing.assert_allclose(rot_rpy(roll_pitch_yaw(R)), R, rtol=0, atol=2e-11)
