"""Canonical frames and grouped parameters: exact, sparse, and harmless."""

from __future__ import annotations

import numpy as np
import pytest

from servotwin.mechanism.canonical import canonical_tree, modified_dh
from servotwin.mechanism.grouping import moments, placement
from servotwin.mechanism.store import pack, unpack
from tests.random_trees import random_mechanism, random_pose


def _turn(axis: str, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    X = np.eye(4)
    X[:3, :3] = {"x": [[1, 0, 0], [0, c, -s], [0, s, c]], "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]]}[axis]
    return X


def _shift(x: float = 0, z: float = 0) -> np.ndarray:
    X = np.eye(4)
    X[0, 3], X[2, 3] = x, z
    return X


def _rebuilt(X: np.ndarray) -> np.ndarray:
    gamma, b, twist, alpha, d, theta, r = modified_dh(X)
    return (
        _turn("z", gamma)
        @ _shift(d, b)
        @ _turn("z", twist)
        @ _turn("x", alpha)
        @ _turn("z", theta)
        @ _shift(0, r)
    )


@pytest.mark.parametrize("seed", range(50))
def test_modified_dh_rebuilds_any_placement(seed):
    X = random_pose(np.random.default_rng(seed))
    np.testing.assert_allclose(_rebuilt(X), X, atol=1e-12)


@pytest.mark.parametrize(
    "tilt", [0.0, np.pi, 1e-12, 1e-9, 3e-8, 2e-7, 1e-6, np.pi - 1e-9, np.pi / 2 - 1.8e-9]
)
def test_modified_dh_rebuilds_parallel_and_almost_parallel_axes(tilt):
    X = _turn("z", 0.3) @ _shift(0.4, 0.2) @ _turn("z", 1.0) @ _turn("x", tilt) @ _turn("z", 0.7)
    # the common normal of almost parallel axes lies up to 1/PARALLEL away; that costs as many digits
    np.testing.assert_allclose(_rebuilt(X), X, atol=1e-8 if 1e-8 < tilt < 1e-5 else 1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_canonical_frames_leave_every_placement_as_it_was(seed):
    mechanism = random_mechanism(np.random.default_rng(seed), 7)
    tree = canonical_tree(mechanism)
    for i, p in enumerate(mechanism.parent):
        before = np.eye(4) if p < 0 else tree.X_old_new[p]
        np.testing.assert_allclose(
            before @ placement(tree, i), mechanism.X_tree[i] @ tree.X_old_new[i], atol=1e-12
        )


def test_grouping_leaves_no_mass_behind_revolute_joints():
    mechanism = random_mechanism(np.random.default_rng(2), 8)
    tree = canonical_tree(mechanism)
    grouped = moments(mechanism, tree)
    revolute = ~mechanism.prismatic
    carries_slider = {int(p) for i, p in enumerate(mechanism.parent) if mechanism.prismatic[i]}
    assert np.all(grouped[revolute][:, [0, 3, 9]] == 0.0)
    assert np.all(grouped[~revolute][:, 4:] == 0.0)
    assert carries_slider or revolute.all()


def test_store_returns_the_same_mechanism():
    mechanism = random_mechanism(np.random.default_rng(5), 6)
    layout, numbers = pack(mechanism)
    back = unpack(layout, numbers)
    assert back.joint_names == mechanism.joint_names
    assert [f.name for f in back.frames] == [f.name for f in mechanism.frames]
    for name in ("parent", "prismatic", "X_tree", "phi", "gravity"):
        np.testing.assert_array_equal(getattr(back, name), getattr(mechanism, name))
    with pytest.raises(ValueError, match="do not fit"):
        unpack(layout, numbers + b"\0" * 8)
