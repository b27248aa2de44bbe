"""Planned paths made quicker: the same path, within all limits, at rest where it was."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import servotwin as st
from servotwin.description.load import read_description
from servotwin.motion.limits import limits_of
from servotwin.motion.path_limits import shares_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveJ, MoveL, Rest, Speed
from servotwin.motion.retiming import limiting, quickest

START = np.array([0.3, 0.8, 0.05, 0.2])


@pytest.fixture(scope="module")
def scara():
    return st.load_robot("gsis-scara")


@pytest.fixture(scope="module")
def limits(scara):
    full = limits_of(scara, read_description("gsis-scara"))
    return replace(full, acceleration=np.full(4, np.inf))


def farthest(robot, one, two) -> float:
    """Largest distance [m] of a point of the first path from the polyline of the second."""
    p, x = (
        robot.fkine(way.sample(np.linspace(0, way.duration, k))[0])[:, :3, 3]
        for way, k in ((one, 500), (two, 8000))
    )
    a, d = x[:-1], np.diff(x, axis=0)
    share = np.einsum("pkj,kj->pk", p[:, None] - a, d) / np.maximum(np.sum(d * d, axis=1), 1e-300)
    near = a + np.clip(share, 0.0, 1.0)[..., None] * d
    return float(np.linalg.norm(p[:, None] - near, axis=2).min(axis=1).max())


def line(robot, shift) -> np.ndarray:
    X = robot.fkine(START).copy()
    X[:3, 3] += shift
    return X


def test_blended_moves_keep_their_path_and_get_quicker(scara, limits) -> None:
    moves = [
        MoveL(line(scara, [-0.05, 0.05, 0.0]), Speed("m/s", 0.3), blend=0.02),
        MoveL(line(scara, [-0.15, 0.02, -0.02]), Speed("m/s", 0.3), blend=0.02),
        MoveJ(START + np.array([0.2, 0.1, 0.02, 0.5])),
    ]
    slow = plan(scara, START, moves, limits_of(scara))
    fast = quickest(scara, slow, limits)
    assert len(fast.segments) == 1  # without a stop
    assert fast.duration < 0.5 * slow.duration
    assert farthest(scara, fast, slow) < 1e-6
    q, qd, qdd = fast.sample(np.linspace(0, fast.duration, 4001)[1:-1])
    assert shares_of(scara, q, qd, qdd, limits).values.max() <= 1.0 + 2e-3
    np.testing.assert_allclose(
        fast.sample([0.0, fast.duration])[0], slow.sample([0.0, slow.duration])[0], atol=1e-9
    )


def test_corners_and_rests_stay_stops(scara, limits) -> None:
    moves = [
        MoveL(line(scara, [-0.1, 0.0, 0.0])),
        Rest(0.3),
        MoveL(line(scara, [-0.05, 0.05, 0.0])),
        MoveJ(START),
    ]
    slow = plan(scara, START, moves, limits_of(scara))
    fast = quickest(scara, slow, limits)
    assert [segment.kind for segment in fast.segments] == ["optimal", "rest", "optimal", "optimal"]
    assert fast.owners == (0, 1, 2, 3)
    assert fast.segments[1].duration == 0.3
    for at in fast.starts[1:]:
        np.testing.assert_allclose(fast.sample([at - 1e-9, at + 1e-9])[1], 0.0, atol=1e-5)


def test_what_limits_is_named(scara, limits) -> None:
    """A long turn of the first axis alone: motor torque at both ends, its speed in between."""
    fast = quickest(
        scara, plan(scara, START, [MoveJ(START + np.array([1.4, 0, 0, 0]))], limits_of(scara)), limits
    )
    found = limiting(scara, fast, limits)
    assert {(item.what, item.axis) for item in found} == {("motor torque", "A"), ("speed", "A")}
    assert sum(item.share for item in found) == pytest.approx(1.0)
