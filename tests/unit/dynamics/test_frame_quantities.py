"""Angles and distances between frames: values, limits in inverse kinematics and workspaces, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import servotwin as st
from servotwin.dynamics.frame_quantities import segment_distance
from servotwin.mechanism.store import pack, unpack
from servotwin.motion.errors import PathError
from servotwin.motion.limits import limits_of
from servotwin.motion.planner import plan
from servotwin.motion.requests import MoveJ

FIELD = "frame_quantities"


def with_quantity(text: str, name: str = "palletizer-4") -> st.Robot:
    return st.load_robot(name, {FIELD: text})


def test_angle_and_distance_as_closed_forms():
    robot = with_quantity(
        "{elbow: {angle: [th2.x, th3.x]}, reach: {distance: [th1, tool], radius: 50 mm}, "
        "column: {distance: [base, th2, th3]}}"
    )
    q = robot.random_q(np.random.default_rng(0), 50)
    values = robot.quantity_values(q)
    assert values["elbow"] == pytest.approx(np.abs(q[:, 2]))
    p, shoulder = robot.fkine(q)[:, :3, 3], robot.fkine(q, "th1-link")[:, :3, 3]
    assert values["reach"] == pytest.approx(np.linalg.norm(p - shoulder, axis=1) - 0.05)
    a, b = robot.fkine(q, "th2-link")[:, :3, 3], robot.fkine(q, "th3-link")[:, :3, 3]
    t = np.linspace(0.0, 1.0, 20_001)[:, None, None]
    dense = np.linalg.norm(a + t * (b - a), axis=-1).min(axis=0)
    assert values["column"] == pytest.approx(dense, abs=1e-8)
    assert tuple(values)[:3] == ("incidence-1", "incidence-2", "incidence-3")


def test_incidence_angles_of_the_closed_linkage_are_those_of_the_bars():
    """th_p1 between crank and link 2, as Kim (2018) has it, measured on the bars of the linkage themselves."""
    robot = with_quantity("{bars: {angle: [crank.x, th2.x]}}", "palletizer-4-loops")
    q = np.radians([0.0, 80.0, -100.0, 0.0])
    assert robot.quantity_values(q)["bars"] == pytest.approx(np.radians(180.0 + 9.971 - 100.0), abs=1e-9)


def test_segment_distance_is_the_least_of_all_pairs():
    rng = np.random.default_rng(1)
    for a, b, c, d in rng.normal(size=(60, 4, 3)):

        def gap(v, a=a, b=b, c=c, d=d):
            return float(np.linalg.norm(a + v[0] * (b - a) - c - v[1] * (d - c)))

        starts = [(x, y) for x in (0.0, 0.5, 1.0) for y in (0.0, 0.5, 1.0)]
        best = min(minimize(gap, s, bounds=[(0, 1), (0, 1)]).fun for s in starts)
        assert segment_distance(a, b, c, d) == pytest.approx(best, abs=1e-5)


def test_parallel_segments_and_points():
    zero, x, y = np.zeros(3), np.array([1.0, 0, 0]), np.array([0, 1.0, 0])
    assert segment_distance(zero, x, y, y + x) == pytest.approx(1.0)
    assert segment_distance(zero, x, y + 3 * x, y + 4 * x) == pytest.approx(np.hypot(2.0, 1.0))
    assert segment_distance(zero, zero, y, y) == pytest.approx(1.0)


def test_limit_keeps_inverse_kinematics_away():
    free = st.load_robot("palletizer-4")
    robot = with_quantity("{elbow: {angle: [th2.x, th3.x], limits: [60 deg, 110 deg]}}")
    T = free.fkine(np.radians([10.0, 60.0, -120.0, 0.0]))
    assert free.ikine(T) == pytest.approx(np.radians([10.0, 60.0, -120.0, 0.0]))
    with pytest.raises(st.UnreachableError, match=r"elbow would be out of 60 \.\. 110 deg by 10 deg"):
        robot.ikine(T)
    assert robot.ikine(T, respect_limits=False) == pytest.approx(np.radians([10.0, 60.0, -120.0, 0.0]))
    q = robot.random_q(np.random.default_rng(0), 100)
    assert (robot.frame_quantities_beyond(q) <= 0.0).all()


def test_limit_bounds_the_workspace_like_the_joint_that_it_measures():
    """The elbow's angle is -th3: the limit on it is the same limit, and has its own name."""
    by_frames = st.workspace(
        "palletizer-4", changes={FIELD: "{elbow: {angle: [th2.x, th3.x], limits: [60 deg, 110 deg]}}"}
    )
    by_joint = st.workspace("palletizer-4", changes={"axes.th3.limits.position": "[-110 deg, -60 deg]"})
    # chords of 0.01 mm at most along 3 m of boundary
    assert by_frames.area == pytest.approx(by_joint.area, rel=5e-5)
    assert {"elbow at least 60 deg", "elbow at most 110 deg"} <= set(by_frames.views[0].binding())


def test_planned_motion_that_breaks_a_limit_is_refused():
    """The column at -60 and at 60 deg is allowed; on the way it passes 0 deg."""
    robot = with_quantity("{heading: {angle: [base.x, th1.x], limits: [30 deg, 180 deg]}}")
    left, right, apart = np.radians([[-60.0, 60, -80, 0], [60.0, 60, -80, 0], [-90.0, 60, -80, 0]])
    assert robot.quantity_values(np.stack([left, right]))["heading"] == pytest.approx(
        np.radians([60.0, 60.0])
    )
    limits = limits_of(robot)
    plan(robot, left, [MoveJ(apart)], limits)
    with pytest.raises(
        PathError, match=r"move 2, .* heading would be .* deg, beyond its limits; allowed are 30 to 180"
    ):
        plan(robot, left, [MoveJ(apart), MoveJ(right)], limits)


def test_mechanism_is_stored_with_its_quantities():
    mechanism = with_quantity("{reach: {distance: [base, tool], radius: 1 mm, limits: [0 m, 1 m]}}").mechanism
    again = unpack(*pack(mechanism)).frame_quantities
    assert (again.names, again.frames, again.radius) == (("reach",), (("base", "tool"),), (0.001,))
    assert again.high == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{a: {angle: [th2.x, th9.x]}}", "'th9' is not an axis"),
        ("{a: {angle: [th2.x]}}", "1 axes; expected two"),
        ("{a: {angle: [th2.w, th3.x]}}", "a frame and one of its axes"),
        ("{a: {distance: [th2]}}", "1 frames; expected two, three or four"),
        ("{a: {distance: [th2, tool], limits: [0 deg, 1 deg]}}", "expected a length"),
        ("{a: {distance: [th2, tool], limits: [2 m, 1 m]}}", "2 m"),
        ("{a: {angle: [th2.x, th3.x], distance: [th2, th3]}}", "exactly one of angle and distance"),
        ("{th2: {distance: [th2, th3]}}", "cannot name a quantity"),
        ("{a: {angle: [th2.x, th3.x], radius: 1 mm}}", "an angle has no radius"),
    ],
)
def test_mistakes_are_named(text, message):
    with pytest.raises(st.InputError, match=message):
        with_quantity(text)
