"""Blends: inside their radius, continuous, between every pair of moves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import servotwin as st
from servotwin.motion.limits import limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveC, MoveJ, MoveL, Rest, Speed, Spline

Q = np.array([0.3, 0.9, 0.05, 0.2])


@pytest.fixture(scope="module")
def scara():
    return st.load_robot("gsis-scara")


def shifted(robot, *step):
    X = robot.fkine(Q)
    X[:3, 3] += step
    return X


def moves(robot, blend):
    """Moves of every kind to the corner and away from it."""
    corner = shifted(robot, 0.0, -0.1, -0.02)
    there = {
        "joint": MoveJ(robot.ikine(corner, Q), Speed("fraction", 0.4), blend=blend),
        "line": MoveL(corner, Speed("m/s", 0.3), 2.0, blend=blend),
        "circle": MoveC(shifted(robot, 0.02, -0.05, -0.01), corner, Speed("m/s", 0.3), 2.0, blend=blend),
        "spline": Spline(
            [shifted(robot, 0.02, -0.04, 0.0), shifted(robot, 0.01, -0.07, -0.02), corner],
            Speed("m/s", 0.2), 2.0, blend=blend,
        ),
    }  # fmt: skip
    end = shifted(robot, -0.1, -0.12, 0.0)
    away = {
        "joint": MoveJ(robot.ikine(end, Q), Speed("fraction", 0.4)),
        "line": MoveL(end, Speed("m/s", 0.2), 2.0),
        "circle": MoveC(shifted(robot, -0.05, -0.15, 0.0), end, Speed("m/s", 0.3), 2.0),
        "spline": Spline(
            [shifted(robot, -0.04, -0.12, 0.0), shifted(robot, -0.07, -0.1, 0.0), end], Speed("m/s", 0.2), 2.0
        ),
    }  # fmt: skip
    return corner, there, away


PAIRS = list(itertools.product(("joint", "line", "circle", "spline"), repeat=2))


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.parametrize("radius", [0.005, 0.02])
def test_blend_stays_within_its_radius_and_keeps_the_velocity(scara, first, second, radius) -> None:
    limits = limits_of(scara)
    corner, there, away = moves(scara, radius)
    way = plan(scara, Q, [there[first], away[second]], limits, fit=True)
    assert [s.kind for s in way.segments] == [first, "blend", second]
    blend, begin = way.segments[1], way.starts[1]
    q, qd, _ = blend.sample(np.linspace(0.0, blend.duration, 201))
    distance = np.linalg.norm(scara.fkine(q)[:, :3, 3] - corner[:3, 3], axis=1)
    assert distance.max() <= radius * (1 + 1e-9)
    assert distance.min() > 0.0
    for joint in (begin, begin + blend.duration):
        q_pair, qd_pair, _ = way.sample([joint - 1e-9, joint + 1e-9])
        np.testing.assert_allclose(q_pair[1], q_pair[0], atol=1e-8)
        np.testing.assert_allclose(qd_pair[1], qd_pair[0], atol=1e-6)
    assert np.abs(qd).max() > 1e-3  # it does not stop


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_blended_motion_is_the_integral_of_its_velocity_within_limits(scara, first, second) -> None:
    limits = limits_of(scara)
    _, there, away = moves(scara, 0.01)
    way = plan(scara, Q, [there[first], away[second]], limits, fit=True)
    t = np.linspace(0.0, way.duration, 20_001)
    q, qd, qdd = way.sample(t)
    step = t[1]
    assert np.abs(np.diff(q, axis=0) - 0.5 * step * (qd[1:] + qd[:-1])).max() < 1e-7
    assert np.abs(np.diff(qd, axis=0)).max() < 2.0 * step * np.abs(qdd).max() + 1e-6
    assert (np.abs(qd) / limits.speed).max() <= 1.0 + 1e-9
    assert (np.abs(qdd) / limits.acceleration).max() <= 1.0 + 1e-6


def test_blends_save_time_and_the_rest_of_the_path_is_the_line(scara) -> None:
    limits = limits_of(scara)
    places = [(0.0, -0.1, 0.0), (-0.1, -0.1, 0.0), (-0.1, 0.0, 0.0)]
    ways = [
        plan(scara, Q, [MoveL(shifted(scara, *p), Speed("m/s", 0.3), 2.0, blend=r) for p in places], limits)
        for r in (0.0, 0.01)
    ]
    assert ways[1].duration < ways[0].duration
    assert len(ways[1].segments) == 5
    assert ways[1].owners == (0, 0, 1, 1, 2)
    q, _, _ = ways[1].sample(np.linspace(0.0, ways[1].duration, 4001))
    p = scara.fkine(q)[:, :3, 3] - scara.fkine(Q)[:3, 3]
    on_line = (np.abs(p[:, 0]) < 1e-8) | (np.abs(p[:, 1] + 0.1) < 1e-8) | (np.abs(p[:, 0] + 0.1) < 1e-8)
    corners = np.array(places[:2])
    near = np.linalg.norm(p[:, None] - corners, axis=2).min(axis=1) <= 0.01 * (1 + 1e-9)
    assert np.all(on_line | near)


def test_straight_corner_is_passed_at_full_speed(scara) -> None:
    limits = limits_of(scara)
    half, whole = shifted(scara, 0.0, -0.1, 0.0), shifted(scara, 0.0, -0.2, 0.0)
    one = plan(scara, Q, [MoveL(whole, Speed("m/s", 0.3), 2.0)], limits)
    two = plan(
        scara,
        Q,
        [MoveL(half, Speed("m/s", 0.3), 2.0, blend=0.02), MoveL(whole, Speed("m/s", 0.3), 2.0)],
        limits,
    )
    assert two.duration == pytest.approx(one.duration, rel=1e-6)


def test_radius_larger_than_the_legs_is_cut_to_half_of_them(scara) -> None:
    limits = limits_of(scara)
    places = [(0.0, -0.02, 0.0), (-0.02, -0.02, 0.0), (-0.02, 0.0, 0.0)]
    way = plan(
        scara, Q, [MoveL(shifted(scara, *p), Speed("m/s", 0.3), 2.0, blend=1.0) for p in places], limits
    )
    assert [s.kind for s in way.segments] == ["line", "blend", "line", "blend", "line"]
    np.testing.assert_allclose(
        scara.fkine(way.sample([way.duration])[0][0])[:3, 3], shifted(scara, *places[-1])[:3, 3], atol=1e-9
    )


def test_blend_before_a_rest_is_a_stop(scara) -> None:
    X = shifted(scara, 0.0, -0.1, 0.0)
    way = plan(scara, Q, [MoveL(X, blend=0.05), Rest(0.1)], limits_of(scara))
    assert [s.kind for s in way.segments] == ["line", "rest"]
    np.testing.assert_allclose(scara.fkine(way.sample([way.duration])[0][0]), X, atol=1e-9)


def test_reversal_turns_round_within_the_radius(scara) -> None:
    limits = limits_of(scara)
    corner = shifted(scara, 0.0, -0.1, 0.0)
    way = plan(scara, Q, [MoveL(corner, blend=0.01), MoveL(shifted(scara, 0.0, 0.0, 0.0))], limits)
    q, _, qdd = way.sample(np.linspace(0.0, way.duration, 2001))
    assert (np.abs(qdd) / limits.acceleration).max() <= 1.0 + 1e-6
    np.testing.assert_allclose(q[-1], Q, atol=1e-8)


@pytest.mark.parametrize("radius", [0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05])
def test_blend_of_a_symmetric_right_angle_uses_all_of_its_radius(scara, radius) -> None:
    """A quintic with Bezier points at 0, 40 and 80 % of both ways passes the corner at sqrt(2) 6/32 of the radius."""
    limits = limits_of(scara)
    corner = shifted(scara, 0.0, -0.12, 0.0)
    pace = Speed("m/s", 0.1)
    requests = [MoveL(corner, pace, blend=radius), MoveL(shifted(scara, -0.12, -0.12, 0.0), pace)]
    way = plan(scara, Q, requests, limits)
    assert way.blends[0] == pytest.approx(radius, rel=1e-6)
    assert way.notes[0] == ""
    blend = way.segments[1]
    q, _, _ = blend.sample(np.linspace(0.0, blend.duration, 1001))
    away = np.linalg.norm(scara.fkine(q)[:, :3, 3] - corner[:3, 3], axis=1)
    assert away.max() <= radius
    assert away.max() == pytest.approx(radius, abs=5e-8)
    assert away.min() == pytest.approx(np.sqrt(2.0) * 6.0 / 32.0 * radius, rel=1e-4)


def test_blend_that_must_shrink_shrinks_by_what_is_needed(scara) -> None:
    """Behind a joint move the ball bounds the blend: nearly all of it is used, not the next of a few steps."""
    limits = limits_of(scara)
    for first, second in (("joint", "joint"), ("joint", "line"), ("line", "joint")):
        for radius in (0.004, 0.007, 0.013, 0.022):
            corner, there, away = moves(scara, radius)
            way = plan(scara, Q, [there[first], away[second]], limits, fit=True)
            blend = way.segments[1]
            q, _, _ = blend.sample(np.linspace(0.0, blend.duration, 501))
            used = np.linalg.norm(scara.fkine(q)[:, :3, 3] - corner[:3, 3], axis=1).max()
            assert 0.95 * radius <= used <= radius * (1 + 1e-9)
            assert way.blends[0] == pytest.approx(used, rel=1e-3)
