"""Inertias about the mass centre from every way of stating them, against bodies whose inertia is known."""

from __future__ import annotations

import numpy as np
import pytest

from servotwin.description.frames import link_frame, rot_rpy
from servotwin.description.inertia import link_inertia, physical_problem
from servotwin.description.schema import Axis

MASS, CENTER = 2.0, np.array([0.1, -0.2, 0.3])
I_C = np.array([[0.5, 0.01, -0.02], [0.01, 0.4, 0.03], [-0.02, 0.03, 0.3]])


def steiner(r: np.ndarray) -> np.ndarray:
    """m (|r|^2 E - r r^T) of MASS."""
    return MASS * (r @ r * np.eye(3) - np.outer(r, r))


def tensor(I: np.ndarray) -> dict[str, float]:
    return {a + b: float(I["xyz".index(a), "xyz".index(b)]) for a, b in ("xx", "yy", "zz", "xy", "xz", "yz")}


def axis(**link: object) -> Axis:
    dh = {"theta": 0.3, "d": 0.4, "a": 0.5, "alpha": 0.7}
    return Axis.model_validate({"dh": dh, "link": {"mass": MASS, "center": CENTER.tolist(), **link}})


@pytest.mark.parametrize("about", ["center", "link", "joint"])
def test_tensor_about_each_point_gives_the_same_body(about: str) -> None:
    X = link_frame(axis())
    origins = {"center": CENTER, "link": np.zeros(3), "joint": -X[:3, :3].T @ X[:3, 3]}
    I = I_C + steiner(CENTER - origins[about])
    mass, center, moments = link_inertia(axis(inertia={"tensor": tensor(I), "about": about}))
    assert mass == MASS
    np.testing.assert_array_equal(center, CENTER)
    # sums of terms up to ten times larger than the result
    np.testing.assert_allclose(moments, I_C, atol=1e-15)


@pytest.mark.parametrize("about", ["center", "link", "joint"])
def test_body_given_in_the_joint_frame_is_moved_to_the_link_frame(about: str) -> None:
    X = link_frame(axis())
    R, p = X[:3, :3], X[:3, 3]
    center = R @ CENTER + p
    origins = {"center": center, "link": p, "joint": np.zeros(3)}
    I = R @ I_C @ R.T + steiner(center - origins[about])
    link = {"frame": "joint", "center": center.tolist(), "inertia": {"tensor": tensor(I), "about": about}}
    _, found, moments = link_inertia(axis(**link))
    np.testing.assert_allclose(found, CENTER, rtol=1e-14, atol=1e-16)
    np.testing.assert_allclose(moments, I_C, atol=1e-14)


def test_rpy_turns_the_axes_of_the_tensor() -> None:
    rpy = (0.1, 0.2, 0.3)
    R = rot_rpy(rpy)
    _, _, moments = link_inertia(axis(inertia={"tensor": tensor(R.T @ I_C @ R), "rpy": list(rpy)}))
    np.testing.assert_allclose(moments, I_C, atol=1e-15)


def test_gyration_of_one_axis_makes_a_plate() -> None:
    _, _, moments = link_inertia(axis(inertia={"gyration": {"radius": 0.3, "axes": ["z"]}}))
    np.testing.assert_allclose(moments, MASS * 0.09 * np.diag([0.5, 0.5, 1.0]), rtol=1e-15)


def test_gyration_of_two_axes_makes_a_rod() -> None:
    _, _, moments = link_inertia(axis(inertia={"gyration": {"radius": 0.3, "axes": ["x", "z"]}}))
    np.testing.assert_allclose(moments, MASS * 0.09 * np.diag([1.0, 0.0, 1.0]), rtol=1e-15)


def test_gyration_per_axis_is_taken_as_stated() -> None:
    _, _, moments = link_inertia(axis(inertia={"gyration": {"x": 0.1, "y": 0.2, "z": 0.2}}))
    np.testing.assert_allclose(moments, MASS * np.diag([0.01, 0.04, 0.04]), rtol=1e-15)


def test_gyration_about_the_joint_keeps_the_moment_about_the_joint_axis() -> None:
    # a rod of length l about its end: k^2 = l^2/3, about its centre l^2/12
    l = 0.6
    link = {"frame": "joint", "center": [l / 2, 0.0, 0.0]}
    inertia = {"gyration": {"radius": l / 3**0.5, "axes": ["y", "z"]}, "about": "joint"}
    model = Axis.model_validate({"dh": {"a": l}, "link": {"mass": MASS, "inertia": inertia, **link}})
    _, center, moments = link_inertia(model)
    np.testing.assert_allclose(center, [-l / 2, 0.0, 0.0], rtol=1e-15)
    # the difference of l^2/3 and l^2/4 loses two bits
    np.testing.assert_allclose(moments, MASS * l**2 / 12 * np.diag([0.0, 1.0, 1.0]), rtol=1e-14)


def test_gyration_of_one_axis_about_the_joint_fills_the_others_about_the_centre() -> None:
    k, r = 0.5, 0.3
    inertia = {"gyration": {"z": k}, "about": "joint"}
    link = {"frame": "joint", "center": [r, 0.0, 0.0], "inertia": inertia, "mass": MASS}
    _, _, moments = link_inertia(Axis.model_validate({"mdh": {}, "link": link}))
    np.testing.assert_allclose(moments, MASS * (k**2 - r**2) * np.diag([0.5, 0.5, 1.0]), rtol=1e-14)
    assert physical_problem(moments) == ""
