"""The compiled functions of planning against plain formulas, other libraries and searches."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.interpolate import BPoly, PPoly
from scipy.spatial.transform import Rotation

import servotwin as st
from servotwin.compiled.jit import kernel
from servotwin.description.frames import rot_rpy, transform
from servotwin.description.load import read_description
from servotwin.errors import InputError
from servotwin.motion import blends, demands, follow
from servotwin.motion.curve_sampling import to_vector_rates
from servotwin.motion.curves import Blend, Line, line, quintic_through
from servotwin.motion.errors import PathError
from servotwin.motion.joint_moves import fill_line, quick_move, slowness_of
from servotwin.motion.joint_path import JointPath
from servotwin.motion.law_sampling import rest_law
from servotwin.motion.laws import (
    KINDS,
    Slowed,
    Uniform,
    breaks,
    make_profile,
    ramped,
    ramps_of_numbers,
    rest_ramps,
)
from servotwin.motion.limits import limits_of
from servotwin.motion.motor_limits import motor_limits_of
from servotwin.motion.pace import bends_of
from servotwin.motion.peaks import farthest_outside
from servotwin.motion.planner import plan
from servotwin.motion.quickest import QUINTIC, RAMPS, TRAPEZOID, quickest_speed
from servotwin.motion.ramps import (
    RampLimits,
    _largest,
    peak_speed,
    ramp_length,
    ramp_time,
    reachable_speed,
    rest_peak,
    stroke_motion,
)
from servotwin.motion.requests import MoveJ
from servotwin.motion.rotations import turning_rates
from servotwin.motion.trajectory import PathSegment
from servotwin.simulation.job_plant import count_joints, look

SHAPES = ("linear", "cubic", "jerk-limited")


def path(rng, points: int = 7, joints: int = 3) -> JointPath:
    s = np.concatenate([[0.0], np.cumsum(rng.uniform(0.1, 0.4, points - 1))])
    return JointPath(s, *rng.normal(size=(3, points, joints)))


def laws(length: float):
    limits = RampLimits("jerk-limited", 2.0, 9.0)
    return [
        make_profile("trapezoid", length, 0.9, 2.0),
        make_profile("cubic-ramp", length, 0.9, 2.0),
        make_profile("s-curve", length, 0.9, 2.0, 6.0),
        make_profile("trapezoid", length, 100.0, 2.0),
        ramped(length, 0.1, 0.4, 0.8, limits),
        Uniform(length, 0.7),
        Slowed(make_profile("s-curve", length, 0.9, 2.0), 1.7),
        Slowed(Slowed(ramped(length, 0.3, 0.0, 0.8, limits), 1.1), 1.3),
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_top_speed_from_rest_to_rest_is_that_of_a_search(shape) -> None:
    rng = np.random.default_rng(1)
    edge = [(share * 2.0 * 2.0**3 / 5.0**2, 2.0, 5.0) for share in (0.97, 1.0, 1.03)]
    for length, a, j in [*10.0 ** rng.uniform(-3, 3, (200, 3)), *edge]:
        limits = RampLimits(shape, a, math.inf if shape != "jerk-limited" and rng.random() < 0.5 else j)
        low, high = 0.0, 1e9  # two ramps, each with the mean speed v/2, are v T(v) long
        for _ in range(200):
            v = 0.5 * (low + high)
            low, high = (v, high) if v * ramp_time(v, limits) <= length else (low, v)
        assert rest_peak(length, limits) == pytest.approx(low, rel=1e-12)
        assert rest_peak(0.0, limits._replace(acceleration=math.inf)) == 0.0


@pytest.mark.parametrize(("length", "speed"), [(2.0, 0.9), (0.3, 0.9), (5.0, 100.0)])
def test_laws_are_the_integrals_of_their_accelerations(length, speed) -> None:
    a, j = 2.0, 6.0
    for kind in ("trapezoid", "s-curve"):
        law = make_profile(kind, length, speed, a, j if kind == "s-curve" else None)
        peak = min(a, math.sqrt(j * law.top)) if kind == "s-curve" else a
        heights = [0.0, peak, peak, 0.0, 0.0, -peak, -peak, 0.0] if kind == "s-curve" else [peak, 0.0, -peak]
        corners = breaks(law)
        kept = np.diff(corners) > 1e-12
        begin = np.array(heights[: kept.size])[kept]
        slopes = (
            np.diff(heights)[kept] / np.diff(corners)[kept] if kind == "s-curve" else np.zeros(begin.size)
        )
        other = PPoly(np.array([slopes, begin]), np.append(corners[:-1][kept], corners[-1]))
        t = np.linspace(0.0, law.duration, 488)[1:-1]
        for x, rate in zip(law.sample(t), (2, 1, 0), strict=True):
            expected = other.antiderivative(rate)(t)
            np.testing.assert_allclose(x, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["cubic-ramp", "trapezoid", "s-curve"])
@pytest.mark.parametrize(("a", "j"), [(2.0, 3.0), (2.0, 1e-300), (1e200, 3.0)])
def test_law_without_a_limit_of_speed_is_that_with_a_large_one(kind, a, j) -> None:
    unlimited, large = (make_profile(kind, 1.0, v, a, j) for v in (math.inf, 1e6))
    assert unlimited.duration == pytest.approx(large.duration, rel=1e-12)
    assert unlimited.duration > 1.0


def test_cubic_ramps_are_strokes_of_the_paper() -> None:
    law = make_profile("cubic-ramp", 2.0, 0.9, 2.0, 6.0)
    t = np.linspace(0.0, law.duration, 200)
    s, _, v, a = stroke_motion(t, np.array(2.0), np.array(law.top), np.array(law.times[0]))
    for x, expected in zip(law.sample(t), (s, v, a), strict=True):
        np.testing.assert_allclose(x, expected, rtol=0.0, atol=1e-13 * np.abs(expected).max())


def test_paths_are_the_quintics_of_scipy() -> None:
    rng = np.random.default_rng(2)
    way = path(rng)
    other = BPoly.from_derivatives(way.s, np.stack([way.q, way.dq, way.ddq], axis=1))
    s = np.append(rng.uniform(0.0, way.length, 200), way.s)
    for k, x in enumerate(way.at(s)):
        expected = other.derivative(k)(s) if k else other(s)
        # the second rate of a path with free rates at its points is steep: 1e4 at intervals of 0.1
        np.testing.assert_allclose(x, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("which", range(8))
def test_segment_is_its_law_along_its_path(which) -> None:
    way = path(np.random.default_rng(3))
    law = laws(way.length)[which]
    t = np.linspace(-0.1, law.duration + 0.1, 487)  # meets no instant in which an acceleration jumps
    s, v, a = (x[:, None] for x in law.sample(t))
    q, dq, ddq = way.at(s[:, 0])
    for one, two in zip(
        PathSegment("line", way, law).sample(t), (q, dq * v, ddq * v * v + dq * a), strict=True
    ):
        np.testing.assert_allclose(one, two, rtol=0.0, atol=1e-11 * np.abs(two).max())


@pytest.mark.parametrize("which", range(8))
@pytest.mark.parametrize("points", [2, 7, 40])
def test_cells_of_a_segment_are_those_of_every_other_law(which, points, monkeypatch) -> None:
    way = path(np.random.default_rng(4), points)
    segment = PathSegment("line", way, laws(way.length)[which])
    cells = demands.cells_of(segment)
    monkeypatch.setattr(demands, "numbers_of", lambda _: None)
    plain = demands.cells_of(segment)
    for one, two in ((cells.edges, plain.edges), (cells.at, plain.at)):
        np.testing.assert_allclose(one, two, rtol=0.0, atol=1e-9 * segment.duration)
    np.testing.assert_allclose(
        segment.law.sample(cells.edges)[0][-1], way.length, rtol=1e-14
    )  # the whole way


@pytest.mark.parametrize("angle", [0.0, 1e-6, 9e-5, 1.1e-4, 0.3, 2.0, 3.14])
def test_line_turns_as_scipy_turns(angle) -> None:
    rng = np.random.default_rng(5)
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = Rotation.random(random_state=1).as_matrix(), rng.normal(size=3)
    axis, direction = rng.normal(size=(2, 3))
    turn = angle * axis / np.linalg.norm(axis)
    s = np.linspace(0.0, 1.0, 9)
    poses, first, second = Line(X, X, direction, turn, 1.0, metric=True).sample(s)
    expected = Rotation.from_matrix(X[:3, :3]) * Rotation.from_rotvec(s[:, None] * turn)
    np.testing.assert_allclose(poses[:, :3, :3], expected.as_matrix(), rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(poses[:, :3, 3], X[:3, 3] + s[:, None] * direction, atol=1e-15)
    assert (poses[:, 3] == [0.0, 0.0, 0.0, 1.0]).all()
    np.testing.assert_allclose(first, np.tile(np.append(direction, X[:3, :3] @ turn), (9, 1)), atol=1e-15)
    assert not second.any()


def test_blend_is_its_polynomial_turned() -> None:
    rng = np.random.default_rng(6)
    corner = np.eye(4)
    corner[:3, :3] = Rotation.random(random_state=2).as_matrix()
    c = quintic_through(*(tuple(x) for x in 0.5 * rng.normal(size=(2, 3, 6))))
    u = np.linspace(0.0, 1.0, 21)
    values = [np.stack([np.polynomial.Polynomial(row).deriv(k)(u) for row in c.T], axis=1) for k in (1, 2)]
    y = np.stack([np.polynomial.Polynomial(row)(u) for row in c.T], axis=1)
    omega, alpha = turning_rates(y[:, 3:], values[0][:, 3:], values[1][:, 3:])
    poses, first, second = Blend(corner, c).sample(u)
    R = corner[:3, :3]
    np.testing.assert_allclose(poses[:, :3, 3], y[:, :3], atol=1e-13)
    np.testing.assert_allclose(
        poses[:, :3, :3], R @ Rotation.from_rotvec(y[:, 3:]).as_matrix(), rtol=0.0, atol=1e-13
    )
    np.testing.assert_allclose(first, np.hstack([values[0][:, :3], omega @ R.T]), atol=1e-12)
    np.testing.assert_allclose(second, np.hstack([values[1][:, :3], alpha @ R.T]), atol=1e-11)


@pytest.mark.parametrize("angle", [0.0, 1e-5, 9e-3, 1.1e-2, 1.0, 3.1])
def test_rates_of_the_rotation_vector_give_the_turning_back(angle) -> None:
    rng = np.random.default_rng(7)
    corner = np.eye(4)
    corner[:3, :3] = Rotation.random(random_state=3).as_matrix()
    w, wd, wdd = rng.normal(size=(3, 3))
    w *= angle / np.linalg.norm(w)
    omega, alpha = (x[0] for x in turning_rates(w[None], wd[None], wdd[None]))
    y = np.zeros((3, 6))
    y[0, 3:], y[1, 3:], y[2, 3:] = w, corner[:3, :3] @ omega, corner[:3, :3] @ alpha
    to_vector_rates(corner, y)
    np.testing.assert_allclose(y[1, 3:], wd, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(y[2, 3:], wdd, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("law", [RAMPS, TRAPEZOID, QUINTIC])
@pytest.mark.parametrize("tool_push", [0.0, 3.0])
def test_quickest_speed_is_that_of_a_fine_search(law, tool_push) -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        push, bend = rng.uniform(0.05, 0.5, 30), rng.uniform(0.0, 0.3, 30)
        tool, length, share = np.array([tool_push, rng.uniform(0.0, 0.3)]), rng.uniform(0.1, 5.0), 0.8
        most = 1.0 / math.sqrt(max(bend.max(), tool[1]))
        v = np.linspace(0.0, most, 20_002)[1:-1]
        need = (push / (1.0 - bend * v[:, None] ** 2)).max(axis=1)
        need = np.maximum(need, tool_push / np.sqrt(1.0 - (tool[1] * v**2) ** 2))
        by_push = np.sqrt(10.0 / math.sqrt(3.0) * length * need / share)
        times = {
            RAMPS: length / v + 1.5 * v * need / share,
            TRAPEZOID: length / v + v * need / share,
            QUINTIC: np.maximum(15.0 / 8.0 * length / v, by_push),
        }[law]
        found = quickest_speed(np.array([push, bend]), tool, length, most, share, law, 0.0)
        # on the falling side: below the best by at most two steps of the second grid
        best = v[np.argmin(times)]
        assert best - 2.0 * (2.0 * most / 32**2) - v[0] <= found <= best + v[0]


@pytest.mark.parametrize("name", ["gsis-scara", "puma560", "palletizer-4"])
def test_shares_of_drives_are_those_of_their_torques(name) -> None:
    robot, rng = st.load_robot(name), np.random.default_rng(9)
    found = motor_limits_of(robot, read_description(name))
    assert found is not None
    for eta in (1.0, 0.7):
        # so that current, voltage with its reactance, and speed decide in turn
        drive = replace(found.drive, reactance=rng.uniform(0.1, 1.0, robot.n))
        for limit in rng.choice(["torque", "voltage", "speed"], 2, replace=False):
            drive = replace(drive, **{limit: np.full(robot.n, 1e3)})
        motors = replace(found, drive=drive, efficiency=np.where(np.arange(robot.n) % 2, 1.0, eta))
        q = np.array([robot.random_q(rng) for _ in range(50)])
        qd, qdd = rng.normal(size=(2, 50, robot.n))
        qd[::7] = 0.0
        w = qd @ robot.mechanism.rotors.N.T
        friction = np.stack([curve.torque(w[:, j]) for j, curve in enumerate(motors.friction)], axis=-1)
        np.testing.assert_allclose(motors.friction_torques(w), friction, rtol=1e-13)
        expected = motors.drive.share(motors.motor_torques(q, qd, qdd), w)
        np.testing.assert_allclose(motors.shares(q, qd, qdd), expected, rtol=1e-9, atol=1e-12)


def test_miss_between_the_points_of_a_path_is_that_of_the_forward_kinematics(monkeypatch) -> None:
    robot, rng = st.load_robot("puma560"), np.random.default_rng(10)
    tracker = follow.Tracker(robot, np.eye(4), True)
    s = np.array([0.0, 0.1, 0.25, 0.3])
    q, dq, ddq = robot.q_home + 0.1 * rng.normal(size=(3, 4, 6))
    X = robot.fkine(robot.q_home + 0.1 * rng.normal(size=(3, 6)))
    assert follow.kernel_entries(robot) is not None
    guess, miss = tracker.halfway(s, X, q, (dq, ddq, s))
    monkeypatch.setattr(follow, "kernel_entries", lambda _: None)
    plain_guess, plain = tracker.halfway(s, X, q, (dq, ddq, s))
    np.testing.assert_allclose(guess, plain_guess, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(miss, plain, rtol=1e-11)
    assert miss.min() > 0.0


STARTS = {
    "gsis-scara": [0.3, 0.9, 0.05, 0.2],
    "puma560": [0.1, 0.8, -2.6, 0.3, 0.9, 0.0],
    "met-two-link": [0.3, 0.9],
}


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("offset", [None, (0.02, -0.01, 0.0)])
def test_clear_paths_are_those_of_the_search_with_numpy(name, offset, monkeypatch) -> None:
    robot, rng = st.load_robot(name), np.random.default_rng(12)
    X_tool = np.eye(4) if offset is None else transform(rot_rpy((0.0, 0.0, 0.4)), offset)
    tracker = follow.Tracker(robot, X_tool, robot.n > 3)
    counts = []
    for _ in range(5):
        start = np.array(STARTS[name])
        one, two, three = (
            robot.fkine(start + rng.uniform(-0.2, 0.2, (3, robot.n)) * [[0.0], [1.0], [1.0]]) @ X_tool
        )
        places = [np.append(X[:3, 3], np.zeros(3)) for X in (one, two, three)]
        rates = 2.0 * np.diff(places, axis=0)
        bend = quintic_through((places[0], rates[0], 0.0 * rates[0]), (places[2], rates[1], 0.0 * rates[1]))
        for curve in (line(one, two), Blend(one, bend)):
            found = follow._clear_path(tracker, curve, start)
            assert found is not None
            with monkeypatch.context() as without:
                without.setattr(follow, "kernel_entries", lambda _: None)
                plain = follow.follow(tracker, curve, start)
            assert np.array_equal(found.s, plain.s)
            for x, y in ((found.q, plain.q), (found.dq, plain.dq), (found.ddq, plain.ddq)):
                np.testing.assert_allclose(x, y, rtol=0.0, atol=1e-8 * max(1.0, np.abs(y).max()))
            counts.append(found.s.size)
    assert max(counts) > follow.INTERVALS + 1  # points were added


def test_path_to_a_singular_position_is_not_clear() -> None:
    robot = st.load_robot("gsis-scara")
    start = np.array([0.3, 0.9, 0.05, 0.2])
    stretched = robot.fkine(np.array([0.3, 0.0, 0.05, 0.2]))
    curve, tracker = line(robot.fkine(start), stretched), follow.Tracker(robot)
    assert follow._clear_path(tracker, curve, start) is None
    with pytest.raises(PathError, match="singular"):
        follow.follow(tracker, curve, start)


@pytest.mark.parametrize("name", ["gsis-scara", "puma560"])
@pytest.mark.parametrize("offset", [None, (0.02, -0.01, 0.1)])
def test_peaks_of_a_blend_are_those_of_its_samples(name, offset, monkeypatch) -> None:
    robot, rng = st.load_robot(name), np.random.default_rng(13)
    X_tool = np.eye(4) if offset is None else transform(rot_rpy((0.2, -0.1, 0.4)), offset)
    leg = SimpleNamespace(tracker=follow.Tracker(robot, X_tool, True))
    limits = replace(limits_of(robot), jerk=rng.uniform(10.0, 100.0, robot.n))
    way = JointPath(np.linspace(0.0, 1.0, 9), *rng.uniform(0.2, 0.6, (3, 9, robot.n)))
    corner = rng.normal(size=3)
    for tool in (True, False):
        found = np.array(blends._peaks(way, leg, corner, limits, tool=tool))
        with monkeypatch.context() as without:
            without.setattr(blends, "kernel_entries", lambda _: None)
            plain = np.array(blends._peaks(way, leg, corner, limits, tool=tool))
        np.testing.assert_allclose(found, plain, rtol=1e-9, atol=1e-12)
        assert (found[:, 0] > 0.0).tolist() == [True, tool, tool, tool, True, True, True]


@pytest.mark.parametrize("which", range(8))
def test_first_look_at_a_motion_finds_the_peaks_of_its_samples(which, monkeypatch) -> None:
    way = path(np.random.default_rng(14))
    segment = PathSegment("line", way, laws(way.length)[which])
    table = np.array([[-9.0] * 3, [9.0] * 3, [1.0, 2.0, 0.5], [3.0, 1.0, 7.0], [np.inf] * 3])
    limits = SimpleNamespace(joint_table=table, speed=table[2], acceleration=table[3])
    cells, state, peaks = demands._first_look(segment, limits)
    for one, two in zip(state, segment.sample(cells.at), strict=True):
        np.testing.assert_allclose(one, two, rtol=0.0, atol=1e-12 * np.abs(two).max())
    for one, two in zip(peaks, demands._rate_peaks(cells, state, limits), strict=True):
        assert one == pytest.approx(two, rel=1e-9, abs=1e-12)


def test_line_of_a_joint_move_has_the_slowness_of_its_joints() -> None:
    robot, rng = st.load_robot("puma560"), np.random.default_rng(11)
    limits = replace(limits_of(robot), jerk=rng.uniform(10.0, 100.0, 6))
    for _ in range(20):
        rows = np.empty((6, 6))
        rows[0], rows[1] = robot.random_q(rng), robot.random_q(rng)
        step = rows[1] - rows[0]
        expected = slowness_of(np.abs(step).tolist(), limits.joint_rates)
        assert fill_line(rows, limits.joint_table) == pytest.approx(expected, rel=1e-14)
        assert np.array_equal(rows[2:], [step, step, 0.0 * step, 0.0 * step])
        for k in (0, 1):
            for wrong in (math.nan, math.inf, limits.q_max[2] + 1e-9):
                out = rows.copy()
                out[k, 2] = wrong
                assert fill_line(out, limits.joint_table) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("name", ["speed", "acceleration", "jerk"])
@pytest.mark.parametrize("wrong", [0.0, math.nan, -1.0])
def test_joint_move_within_limits_that_are_none_is_refused(name, wrong) -> None:
    robot = st.load_robot("puma560")
    limits = limits_of(robot)
    rates = getattr(limits, name).copy()
    rates[1] = wrong
    with pytest.raises(
        InputError, match=rf"the {name} of a joint is limited to .*; expected a number above zero"
    ):
        quick_move(MoveJ(robot.q_home + 0.1), robot.q_home, replace(limits, **{name: rates}))


def test_joint_move_of_an_unknown_profile_is_refused() -> None:
    robot = st.load_robot("puma560")
    for limits in (limits_of(robot), replace(limits_of(robot), torque=np.full(6, 1e3))):
        with pytest.raises(InputError, match="'square' is no profile; expected cubic-ramp, trapezoid"):
            plan(robot, robot.q_home, [MoveJ(robot.q_home + 0.1, profile="square")], limits)


def test_joint_move_within_limits_of_another_count_of_joints_is_left_to_legs() -> None:
    robot = st.load_robot("puma560")
    limits, names = limits_of(robot), ("q_min", "q_max", "speed", "acceleration", "jerk")
    for joints in (slice(5), [0, 1, 2, 3, 4, 5, 5]):
        other = replace(limits, **{name: getattr(limits, name)[joints] for name in names})
        assert quick_move(MoveJ(robot.q_home + 0.1), robot.q_home, other) is None


def test_look_measures_and_judges_in_one_call() -> None:
    rng = np.random.default_rng(12)
    counts, per_rad = rng.integers(-(10**6), 10**6, 4), rng.uniform(1e4, 1e6, 4)
    inverse, A, q = rng.normal(size=(4, 4)), rng.normal(size=(1, 4)), np.empty(4)
    count_joints(counts, per_rad, inverse, q)
    np.testing.assert_allclose(q, inverse @ (counts / per_rad), rtol=1e-12)
    z = float(A[0] @ q)
    last = np.array([q - 0.01, q + 0.02])
    joints = np.stack([np.full(4, 0.021), np.full(4, 0.011), q - 1.0, q + 1.0], axis=1)
    bounds, none = np.array([[0.5, z + 0.4, z + 0.6]]), np.zeros(4, dtype=np.int64)

    def clear(faults=none, last=last, joints=joints, bounds=bounds) -> bool:
        return look(counts, per_rad, inverse, faults, last, joints, A, bounds, np.empty(4))

    assert clear()
    assert not clear(faults=np.array([0, 0, 0, 3]))
    assert not clear(last=last - [[0.002], [0.0]])
    assert not clear(last=last - [[0.0], [-0.002]])
    assert not clear(last=np.where(np.arange(4) == 2, math.nan, last))
    for column, change in ((2, 1.1), (3, -1.1)):
        moved = joints.copy()
        moved[3, column] += change
        assert not clear(joints=moved)
    assert not clear(bounds=bounds - [[0.0, -0.2, -0.2]])
    assert not clear(bounds=bounds - [[0.0, 0.2, 0.2]])


@pytest.mark.parametrize("shape", ["linear", "cubic", "jerk-limited"])
def test_laws_from_rest_to_rest_are_the_same_compiled(shape) -> None:
    rng = np.random.default_rng(13)
    for k in range(200):
        length, v, a, j = 10.0 ** rng.uniform(-2.0, 2.0, 4)
        jerk = math.inf if shape == "linear" or (shape == "cubic" and k % 2) else j
        law = rest_ramps(length, v, RampLimits(shape, a, jerk))
        given = np.empty(9)
        fill_rest_law(KINDS[shape], length, v, a, jerk, given)
        assert given == pytest.approx(law.numbers[1], rel=1e-12, abs=1e-13 * law.duration)
        assert ramps_of_numbers(KINDS[shape], law.numbers[1]) == law


@kernel
def fill_rest_law(kind, length, v, a, jerk, out):
    rest_law(kind, length, v, a, jerk, out)


@pytest.mark.parametrize("shape", ["linear", "cubic"])
def test_speeds_of_ramps_in_closed_form_are_those_that_a_search_finds(shape) -> None:
    rng = np.random.default_rng(14)
    for _ in range(200):
        length, v_from, v_to, most, a = 10.0 ** rng.uniform(-1.0, 1.0, 5)
        limits, least = RampLimits(shape, a), max(v_from, v_to)

        def way(v, v_from=v_from, limits=limits):
            return ramp_length(v_from, v, limits)

        def ways(v, v_to=v_to, limits=limits, way=way):
            return way(v) + ramp_length(v_to, v, limits)

        reached = reachable_speed(v_from, length, most, limits)
        assert reached == pytest.approx(_largest(way, v_from, most, length), rel=1e-12)
        top = peak_speed(length, v_from, v_to, most, limits)
        assert top == pytest.approx(_largest(ways, least, most, length), rel=1e-12)


def test_joint_move_makes_path_and_law_when_they_are_asked_for() -> None:
    robot = st.load_robot("puma560")
    start, target = robot.q_home, np.asfortranarray(robot.q_home + 0.3)
    target.flags.writeable = False
    made = plan(robot, start, [MoveJ(target, acceleration=0.5)], limits_of(robot))
    (segment,) = made.segments
    assert not {"path", "law"} & set(vars(segment))
    assert made.duration == segment.law.duration
    q, qd, _ = made.sample([0.0, made.duration])
    np.testing.assert_allclose(q, [start, target], atol=1e-15)
    np.testing.assert_allclose(qd, 0.0, atol=1e-15)
    slower = replace(segment, law=Slowed(segment.law, 2.0))
    assert slower.duration == 2.0 * made.duration
    assert slower.path is segment.path


def test_farthest_outside_is_that_of_numpy() -> None:
    rng = np.random.default_rng(15)
    for _ in range(50):
        stands = np.cumsum(rng.normal(size=(7, 3)), axis=0)
        low, high = -rng.uniform(0.5, 4.0, 3), rng.uniform(0.5, 4.0, 3)
        reach = np.empty(3, dtype=np.bool_)
        worst, axis, row = farthest_outside(stands, low, high, reach)
        beyond = np.maximum(low - stands, stands - high)
        assert worst == beyond.max() == beyond[row, axis]
        steps = np.abs(np.diff(stands, axis=0)).max(axis=0)
        np.testing.assert_array_equal(reach, -beyond.max(axis=0) <= steps)


def test_bends_of_a_path_are_those_of_its_polynomials() -> None:
    robot, rng = st.load_robot("gsis-scara"), np.random.default_rng(16)
    limits = replace(limits_of(robot), jerk=np.array([50.0, 40.0, 30.0, 20.0]))
    path = JointPath(np.array([0.0, 0.2, 0.5, 0.6]), *rng.normal(size=(3, 4, 4)))
    found = bends_of(path, SimpleNamespace(metric=False), limits)
    s = np.array([0.0, 0.1, 0.2, 0.35, 0.5, 0.55, 0.6])
    np.testing.assert_allclose(found.s, s, rtol=1e-15)
    _, dq, ddq = path.at(s)
    third = np.abs(np.diff(ddq, axis=0) / np.diff(s)[:, None])
    third = np.maximum(np.vstack([third, third[-1:]]), np.vstack([third[:1], third]))
    pairs = [
        (found.first, np.abs(dq) / limits.speed), (found.push, np.abs(dq) / limits.acceleration),
        (found.bend, np.abs(ddq) / limits.acceleration), (found.jolt, np.abs(dq) / limits.jerk),
        (found.bend_jolt, np.abs(ddq) / limits.jerk), (found.twist, third / limits.jerk),
    ]  # fmt: skip
    for ours, expected in pairs:
        np.testing.assert_allclose(ours, expected, rtol=1e-9)
